"""
Postures on edges and faces of the limits, as seeds of a search that has found no posture within the limits.

A search seldom finds a posture with nearly all joints on their limits, or next to them.
"""

import dataclasses

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ModelError
from ssik_ros.kernels.closed_form.singular.limit_edges import MOST_JOINTS
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.request_limits import narrow_by_own
from ssik_ros.results import IkResult
from ssik_ros.solvers.search.bounded_refinement import BoundedRefinement
from ssik_ros.solvers.search.solver import SearchSolver


class LimitEdges:
    """The search from postures on edges and faces of the limits of one group."""

    def __init__(self, search: SearchSolver, *, position_only: bool) -> None:
        """
        Prepare the refinement if the group is a chain to one tip; else there are no edges.

        :param search: search of the group.
        :param position_only: whether the orientation of targets is free; then there are no edges either.
        """
        self._search = search
        self._chain = None if position_only else _chain_of(search.robot, search.group)
        self._refinement = None if self._chain is None else BoundedRefinement(self._chain)

    def solve(self, request: SolveRequest, tried: IkResult, tolerance: float) -> IkResult:
        """
        Search once from a posture on an edge or a face of the limits; return ``tried`` if that finds no solution.

        :param request, tolerance: as for :meth:`posture`.
        :param tried: result of the search.
        """
        q = self.posture(request, tolerance)
        if q is None:
            return tried
        found = self._search.solve(dataclasses.replace(request, seed=q, max_searches=1))
        return found if found.solved else tried

    def posture(self, request: SolveRequest, tolerance: float) -> FloatArray | None:
        """
        Return a posture (n,) that reaches the pose of a request, refined from an edge or a face of the limits, or None.

        :param request: a valid request; a request with locked joints or consistency limits gets None.
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
        narrow_by_own(request, chain.joint_names, bounds[0], bounds[1])
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
