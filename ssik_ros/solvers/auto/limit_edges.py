"""
Search for postures with nearly all joints on their limits, after an ordinary search has failed.

On an edge of the limits, all joints but one are on a limit; on a face, all but two or three. A search seldom finds a
solution on an edge or a face, or next to one.
"""

import dataclasses

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.singular.limit_edges import MOST_JOINTS
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.request_limits import narrow_by_own, Variables
from ssik_ros.results import IkResult
from ssik_ros.solvers.auto.policy import find_closed_form
from ssik_ros.solvers.search.bounded_refinement import BoundedRefinement
from ssik_ros.solvers.search.solver import SearchSolver


class LimitEdges:
    """Searches for one group that begin at postures with nearly all joints on their limits."""

    def __init__(self, search: SearchSolver, *, position_only: bool) -> None:
        """
        Prepare the searches; for a group that is not a chain of at most 8 joints to one tip, they find nothing.

        :param search: search of the group.
        :param position_only: whether the orientation of targets is free; if so, the searches find nothing, too.
        """
        self._search = search
        self._chain = None if position_only else _chain_of(search.robot, search.group)
        self._refinement = None if self._chain is None else BoundedRefinement(self._chain)

    def solve(self, request: SolveRequest, tried: IkResult, tolerance: float) -> IkResult:
        """
        Find a posture by :meth:`posture`, and return the result of one search that starts there.

        Return ``tried`` if no posture is found or the search has no solution.

        :param request: the request, whose seed is replaced.
        :param tried: result of the search that failed.
        :param tolerance: largest Frobenius norm of FK - T of the posture, with lengths in metres.
        """
        q = self.posture(request, tolerance)
        if q is None:
            return tried
        result = self._search.solve(dataclasses.replace(request, seed=q, max_searches=1))
        return result if result.solved else tried

    def posture(self, request: SolveRequest, tolerance: float) -> FloatArray | None:
        """
        Return a posture (n,) within the limits that reaches the pose of a request; None if none is found.

        The posture is refined from a posture on an edge or a face of the limits.

        :param request: a valid request; a request with locked joints or consistency limits gets None.
        :param tolerance: largest Frobenius norm of FK - T of the posture, with lengths in metres.
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
        narrow_by_own(request, Variables.of_group(self._search.group), bounds[0], bounds[1])
        beginnings = refinement.near_limits(pose, bounds)
        return refinement.first_refined(pose, beginnings, bounds, tolerance)


def _chain_of(robot: RobotModel, group: JointGroup) -> SerialChain | None:
    """
    Return the chain of a group; None if the group is not one chain of at most 8 joints.

    It is not one chain if it has several tips, joints outside the chain to the tip, or joints with several variables.
    """
    chain, _ = find_closed_form(lambda: SerialChain.from_whole_group(robot, group))
    return chain if chain is not None and len(chain.axes) <= MOST_JOINTS else None
