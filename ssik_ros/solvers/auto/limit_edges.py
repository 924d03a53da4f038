"""
Postures on edges and faces of the limits, as seeds of a search that has found no posture within the limits.

A search seldom finds a posture with nearly all joints on their limits, or next to them.
"""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ModelError
from ssik_ros.kernels.closed_form.singular.limit_edges import MOST_JOINTS
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.solvers.search.bounded_refinement import BoundedRefinement


class LimitEdges:
    """The edges of the limits of one group."""

    def __init__(self, robot: RobotModel, group: JointGroup) -> None:
        """Prepare the refinement if the group is a chain to one tip that moves nothing else; else there are no edges."""
        self._chain = _chain_of(robot, group)
        self._refinement = None if self._chain is None else BoundedRefinement(self._chain)

    def posture(self, request: SolveRequest, tolerance: float) -> FloatArray | None:
        """
        Return a posture (n,) that reaches the pose of a request, refined from an edge or a face of the limits, or None.

        :param request: valid; with locked joints or limits around the seed there are no edges.
        :param tolerance: largest norm over position [m] and rotation [rad] error.
        """
        chain, refinement = self._chain, self._refinement
        if chain is None or refinement is None:
            return None
        if request.locked or request.consistency_limits is not None:
            return None
        pose = np.reshape(request.targets, (4, 4)).astype(np.float64)
        if request.tool_offsets is not None:
            pose = pose @ invert_pose(np.reshape(request.tool_offsets, (4, 4)))
        bounds = np.array([chain.lower, chain.upper])
        if request.lower is not None:
            bounds[0] = np.maximum(bounds[0], request.lower)
        if request.upper is not None:
            bounds[1] = np.minimum(bounds[1], request.upper)
        beginnings = refinement.near_limits(pose, bounds)
        return refinement.first_refined(pose, beginnings, bounds, tolerance)


def _chain_of(robot: RobotModel, group: JointGroup) -> SerialChain | None:
    """Return the chain of a group, or None if it has other joints or tips, or too many joints."""
    if len(group.tips) != 1:
        return None
    try:
        chain = SerialChain.from_group(robot, group)
    except ModelError:
        return None
    is_served = chain.joint_names == group.joint_names and len(chain.axes) <= MOST_JOINTS
    return chain if is_served else None
