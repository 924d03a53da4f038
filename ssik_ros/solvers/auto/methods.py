"""
The IK solvers that ``ssik_ros/Auto`` uses for one group, and the order in which a request tries them.

:class:`GroupMethods` has the closed form of the chain, if any, Levenberg-Marquardt searches, PoseIK, and a search that
begins at joint limits. Solvers that few requests need are created at their first use.
"""

import functools
import math

import numpy as np

from ssik_ros.errors import counted
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import LEAST_USUAL, MOST_USUAL
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import position_rows, Rows
from ssik_ros.solvers.auto.limit_edges import LimitEdges
from ssik_ros.solvers.auto.policy import (
    choose,
    find_closed_form,
    Knowledge,
    knowledge_of_arm,
    ONLY_OF_POSE_IK,
    SolveMethod,
    Wanted,
)
from ssik_ros.solvers.closed_form.solver import AnalyticSolver
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver
from ssik_ros.solvers.search.settings import SearchSettings
from ssik_ros.solvers.search.solver import SearchSolver

NAME = 'ssik_ros/Auto'
FEW_STARTS = 16
"""Starts of the search before a slow complete closed form. Fewer than three poses of a thousand need more starts."""
STARTS_AT_THE_EDGE = 8
"""Starts for a pose that a complete closed form does not reach: the pose may be reachable within the tolerance."""
MANY_STARTS = 100
"""Starts of a search without a complete closed form. If all of them get stuck, more starts seldom help."""
SECOND_SEQUENCE = 1
"""Seed of the second sequence of starts, which does not repeat the first one."""


class GroupMethods:
    """
    The IK solvers for one group: closed form, Levenberg-Marquardt searches and PoseIK, with the order of their use.

    ``closed_form`` may be None; then ``why_no_closed_form`` has the reason. The chain may lack a closed form, the
    orientation may be free, the group may have several tips, or a parameter may be set that only PoseIK has. Several
    threads may use the solvers at once.
    """

    def __init__(
        self, robot: RobotModel, group: JointGroup, options: PoseIkOptions, *, position_only: bool
    ) -> None:
        """
        Find the closed form of the chain, if it has one, and prepare the first search.

        :param robot: the robot.
        :param group: one of its groups.
        :param options: parameters.
        :param position_only: leave the orientation of targets free.
        """
        self.robot, self.group, self.options = robot, group, options
        self.position_only = position_only
        is_nearest = options.solve_mode == 'optimize_distance'
        self.wanted = Wanted.NEAREST if is_nearest else Wanted.ONE
        """Which solution the parameters ask for."""
        defaults = PoseIkOptions()
        self._tuned = [
            name for name in ONLY_OF_POSE_IK if getattr(options, name) != getattr(defaults, name)
        ]
        self.closed_form, self.why_no_closed_form = self._find_closed_form()
        self.knowledge = (
            Knowledge.NOTHING
            if self.closed_form is None
            else knowledge_of_arm(self.closed_form.arm)
        )
        """The knowledge that the closed form has of the branches of a pose."""
        self.usual = choose(self.knowledge, self.wanted, is_tuned=bool(self._tuned))
        """The methods for a request of one solution without locked joints, in the order in which they are tried."""
        self.first_starts = self._search(self._count_first_starts(), 0)
        """The first Levenberg-Marquardt search: before the closed form, after a fast one, or without a closed form."""

    def _find_closed_form(self) -> tuple[AnalyticSolver | None, str]:
        """Return the closed form and '', or None and a text that says why it cannot be used."""
        if self._tuned:
            noun, verb = ('parameter', 'is') if len(self._tuned) == 1 else ('parameters', 'are')
            return None, f'{noun} {", ".join(self._tuned)} {verb} set, which only PoseIK has'
        if self.position_only:
            return None, 'the orientation is left free'
        if len(self.group.tips) != 1:
            return None, counted(len(self.group.tips), 'tip')
        return find_closed_form(lambda: AnalyticSolver(self.robot, self.group, name=NAME))

    def _search(self, starts: int, sequence: int) -> SearchSolver:
        """
        Return a Levenberg-Marquardt search with at most ``starts`` starts.

        :param sequence: seed of the sequence of starts; 0 for the default sequence.
        """
        return SearchSolver(
            self.robot,
            self.group,
            SearchSettings(
                tolerance=self.options.target_tolerance, slimit=starts, seed=sequence or None
            ),
            name=NAME,
            rows=position_rows() if self.position_only else Rows(),
        )

    def _count_first_starts(self) -> int:
        """
        Return the number of starts of the first search: 8 with a fast complete closed form, 16 with a slower one.

        A group without a complete closed form gets 100 starts.
        """
        if self.knowledge == Knowledge.ALL_AT_ONCE:
            return STARTS_AT_THE_EDGE
        return FEW_STARTS if self.is_complete else MANY_STARTS

    @functools.cached_property
    def has_unusual_size(self) -> bool:
        """
        Return whether the arm is so small or so large that errors in metres and radians differ much in size.

        Then all starts of a search may get stuck although the pose is reachable. It is False for an unbounded reach.
        """
        reach = self.first_starts.problem.reach
        return math.isfinite(reach) and not LEAST_USUAL <= reach <= MOST_USUAL

    @property
    def is_complete(self) -> bool:
        """
        Return whether the closed form finds every branch of any pose that is not singular.

        Then an empty result is a proof, unless the pose is singular or nearly singular.
        """
        return self.knowledge >= Knowledge.ALL

    @property
    def uses_pose_ik(self) -> bool:
        """
        Return whether PoseIK solves every request.

        This is so if a parameter is set that only PoseIK has, or if the nearest solution is wanted and no complete
        closed form exists.
        """
        return self.usual[0] == SolveMethod.POSE_IK

    @functools.cached_property
    def pose_ik(self) -> PoseIkSolver:
        """Return the PoseIK solver with the parameters of this solver, made at the first access."""
        solver = PoseIkSolver(
            self.robot, self.group, self.options, position_only=self.position_only
        )
        solver.name = NAME
        return solver

    @functools.cached_property
    def edges(self) -> LimitEdges:
        """Return the search that begins at joint limits, for use after all other searches have failed."""
        return LimitEdges(self.first_starts, position_only=self.position_only)

    @functools.cached_property
    def starts_at_the_edge(self) -> SearchSolver:
        """
        Return a Levenberg-Marquardt search with 8 starts, for poses at which a complete closed form has no branch.

        Such a pose may still be reachable within the tolerance.
        """
        return self._search(STARTS_AT_THE_EDGE, 0)

    @functools.cached_property
    def more_starts(self) -> SearchSolver:
        """Return a Levenberg-Marquardt search with 100 starts, none of which ``first_starts`` has."""
        return self._search(MANY_STARTS, SECOND_SEQUENCE)

    def for_request(self, request: SolveRequest) -> tuple[SolveMethod, ...]:
        """
        Return the methods for a request, in the order in which they are tried.

        :param request: any request.
        """
        most = request.max_solutions
        wants_several = (
            self.wanted == Wanted.ONE and isinstance(most, int | np.integer) and most > 1
        )
        return choose(
            self.knowledge,
            Wanted.SEVERAL if wants_several else self.wanted,
            is_tuned=bool(self._tuned),
            is_locked=bool(request.locked),
        )

    def tolerance(self, request: SolveRequest) -> float:
        """
        Return the largest norm over position [m] and rotation [rad] error that a solution of a request may have.

        If the request has several tolerances, this is the smallest one; if it has none, the parameter
        ``target_tolerance``.
        """
        if request.tolerance is not None:
            return float(np.min(request.tolerance))
        tolerance: float = self.options.target_tolerance
        return tolerance
