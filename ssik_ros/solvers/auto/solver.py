"""
Auto: the name to write in a kinematics.yaml when in doubt.

:mod:`ssik_ros.solvers.auto.policy` chooses the methods for each chain and request; this module runs them in order.
``solve_mode: optimize_distance`` asks for the solution nearest to the seed. Parameters that only PoseIK has select PoseIK.
"""

from collections.abc import Callable
import dataclasses
import functools
import math
import time

import numpy as np

from ssik_ros.errors import counted, list_names
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import LEAST_USUAL, MOST_USUAL
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import position_rows, Rows
from ssik_ros.results import Cause, IkResult, IkStatus
from ssik_ros.solvers.auto.limit_edges import LimitEdges
from ssik_ros.solvers.auto.plain_requests import AT_THE_EDGE, ClosedForm, PlainRequests
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
LAST_TRY = 0.05
"""Least time for a try that begins at the limits, which no clock ends [s]."""
SECOND_SEQUENCE = 1
"""Seed of the second sequence of starts, which does not repeat the first one."""


class AutoSolver:
    """The solvers of one group, called in the order of the policy; several threads may call it at once."""

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        options: PoseIkOptions | None = None,
        *,
        position_only: bool = False,
    ) -> None:
        """
        Find the closed form of the chain, if it has one, and prepare the search.

        :param robot: the robot.
        :param group: one of its groups.
        :param options: parameters; None means the defaults.
        :param position_only: leave the orientation of targets free.
        """
        self.name = NAME
        self.robot, self.group = robot, group
        self.options = options or PoseIkOptions()
        self.joint_names = group.joint_names
        self.base_frame, self.tip_frames = group.base_link, group.tips
        self._position_only = position_only
        is_nearest = self.options.solve_mode == 'optimize_distance'
        self._wanted = Wanted.NEAREST if is_nearest else Wanted.ONE
        defaults = PoseIkOptions()
        self._tuned = [
            name
            for name in ONLY_OF_POSE_IK
            if getattr(self.options, name) != getattr(defaults, name)
        ]
        self._closed_form, self._no_closed_form = self._find_closed_form()
        known = self._closed_form
        self._knowledge = Knowledge.NOTHING if known is None else knowledge_of_arm(known.arm)
        self._methods = choose(self._knowledge, self._wanted, is_tuned=bool(self._tuned))
        self._first_starts = self._search(self._count_first_starts(), 0)
        self.plain = self._make_plain()
        """The fast path for plain requests; None if this chain needs the general one."""
        self.solve: Callable[[SolveRequest], IkResult]
        self.solve = self.plain.solve if self.plain else self._go_on
        """Solve one request; see :meth:`ssik_ros.solvers.auto.plain_requests.PlainRequests.solve`."""

    def _find_closed_form(self) -> tuple[AnalyticSolver | None, str]:
        """Return the closed form and an empty text, or None and the reason why it cannot be used."""
        if self._tuned:
            return None, f'{", ".join(self._tuned)} given, which PoseIK alone knows'
        if self._position_only:
            return None, 'the orientation is left free'
        if len(self.tip_frames) != 1:
            return None, counted(len(self.tip_frames), 'tip')
        return find_closed_form(lambda: AnalyticSolver(self.robot, self.group, name=NAME))

    def _search(self, starts: int, sequence: int) -> SearchSolver:
        """Return Levenberg-Marquardt with at most ``starts`` starts; ``sequence`` is their seed, 0 for the default."""
        return SearchSolver(
            self.robot,
            self.group,
            SearchSettings(
                tolerance=self.options.target_tolerance, slimit=starts, seed=sequence or None
            ),
            name=NAME,
            rows=position_rows() if self._position_only else Rows(),
        )

    def _count_first_starts(self) -> int:
        """Return the number of starts before the closed form, or after a fast closed form."""
        if self._knowledge == Knowledge.ALL_AT_ONCE:
            return STARTS_AT_THE_EDGE
        return FEW_STARTS if self._is_complete else MANY_STARTS

    def _make_plain(self) -> PlainRequests | None:
        """Return the fast path for plain requests; None if this chain needs the general one."""
        first = self._first_starts
        reads_state = first.problem.nq != first.problem.group_size
        if self._uses_pose_ik or len(self.tip_frames) != 1 or reads_state:
            return None
        is_fast = self._knowledge == Knowledge.ALL_AT_ONCE
        if self._wanted == Wanted.NEAREST and not is_fast:
            return None
        if self._closed_form is None or not self._is_complete:
            return PlainRequests(first, self._go_on)
        follows_seed = self._wanted == Wanted.ONE
        tolerance = self.options.target_tolerance
        known = ClosedForm(self._closed_form.arm, tolerance, follows_seed, is_fast)
        return PlainRequests(first, self._go_on, known)

    @functools.cached_property
    def _has_unusual_size(self) -> bool:
        """Return whether metres and radians differ so much in size that starts of an arm may all get stuck."""
        reach = self._first_starts.problem.reach
        return math.isfinite(reach) and not LEAST_USUAL <= reach <= MOST_USUAL

    @property
    def _is_complete(self) -> bool:
        """Return whether the closed form finds every branch of any pose: then an empty result is a proof."""
        return self._knowledge >= Knowledge.ALL

    @property
    def _uses_pose_ik(self) -> bool:
        """Return whether PoseIK solves every request."""
        return self._methods[0] == SolveMethod.POSE_IK

    @property
    def knowledge(self) -> Knowledge:
        """Return the knowledge that this solver has of the branches of a pose."""
        return Knowledge.NOTHING if self._uses_pose_ik else self._knowledge

    @property
    def search(self) -> SearchSolver:
        """Return the search that begins with a request: PoseIK if it solves every request."""
        return self._pose_ik if self._uses_pose_ik else self._first_starts

    @property
    def has_closed_form(self) -> bool:
        """Return whether some requests are solved by a closed form."""
        return self._closed_form is not None and not self._uses_pose_ik

    @functools.cached_property
    def _pose_ik(self) -> PoseIkSolver:
        """Return PoseIK with the parameters of this solver."""
        solver = PoseIkSolver(
            self.robot, self.group, self.options, position_only=self._position_only
        )
        solver.name = NAME
        return solver

    @functools.cached_property
    def _edges(self) -> LimitEdges:
        return LimitEdges(self._first_starts, position_only=self._position_only)

    @functools.cached_property
    def _starts_at_the_edge(self) -> SearchSolver:
        return self._search(STARTS_AT_THE_EDGE, 0)

    @functools.cached_property
    def _more_starts(self) -> SearchSolver:
        return self._search(MANY_STARTS, SECOND_SEQUENCE)

    @property
    def tier(self) -> str:
        """Return the tier of the closed form if it comes first, otherwise ``iterative``."""
        first = self._methods[0] == SolveMethod.CLOSED_FORM
        return self._closed_form.tier if first and self._closed_form else 'iterative'

    @property
    def reason(self) -> str:
        """Return which method solves, and why."""
        first = self._methods[0].value
        if self._closed_form is None:
            return f'{first}, as there is no closed form ({self._no_closed_form})'
        if self._methods[0] == SolveMethod.CLOSED_FORM:
            return self._closed_form.reason
        if self._uses_pose_ik:
            return f'{first}, as the nearest posture is no sample of {self._closed_form.reason}'
        return f'{first} for one solution; for several {self._closed_form.reason}'

    def reason_for(self, request: SolveRequest) -> str:
        """
        Return which method solves a request, and why.

        :param request: any request.
        """
        known, methods = self._closed_form, self._methods_for(request)
        if known is None or self._uses_pose_ik:
            return self.reason
        if SolveMethod.CLOSED_FORM not in methods:
            held = list_names(request.locked or ())
            return f'{methods[0].value}, as with {held} locked a pose is reached by chance only'
        if request.max_solutions > 1:
            return f'{known.reason}; it knows several solutions'
        if self._wanted == Wanted.NEAREST:
            return f'{known.reason}; it knows which of all branches is the nearest'
        if methods[0] == SolveMethod.CLOSED_FORM:
            return f'{known.reason}; a seed that is near is followed by {methods[1].value} instead'
        starts = self._first_starts.settings.slimit
        return (
            f'{methods[0].value}, as one solution takes less time than {known.reason}, which is called '
            f'when {counted(starts, "start")} find nothing'
        )

    def _methods_for(self, request: SolveRequest) -> tuple[SolveMethod, ...]:
        """Return the methods for a request, in the order in which they are tried."""
        most = request.max_solutions
        several = self._wanted == Wanted.ONE and isinstance(most, int | np.integer) and most > 1
        return choose(
            self._knowledge,
            Wanted.SEVERAL if several else self._wanted,
            is_tuned=bool(self._tuned),
            is_locked=bool(request.locked),
        )

    def warm_up(self) -> None:
        """Do all set-up that would otherwise delay the first request."""
        if self._uses_pose_ik or self._closed_form is None:
            self._pose_ik.warm_up()
        self._first_starts.warm_up()
        if self._closed_form is not None:
            self._closed_form.warm_up()
            home = self._closed_form.chain.home
            self.solve(SolveRequest(targets=home.copy()))

    def _go_on(
        self, request: SolveRequest, tried: IkResult | None = None, began: float | None = None
    ) -> IkResult:
        """
        Return the result of any request.

        :param tried: result of the fast path; None if the fast path has not run.
        :param began: monotonic time at which the fast path began, if the request has a budget [s]; None means now.
        """
        began = time.monotonic() if began is None else began
        if tried is not None and (self._is_complete or _is_final(tried)):
            return tried
        methods, stop = self._methods_for(request), _Deadline(request, began)
        if methods[0] == SolveMethod.POSE_IK:
            return self._pose_ik.solve(request)
        if self._closed_form is None or SolveMethod.CLOSED_FORM not in methods:
            return self._search_only(request, tried, stop)
        if tried is None and methods[0] == SolveMethod.SEARCH:
            tried = self._first_starts.solve(request)
            if _is_final(tried):
                return tried
        return self._search_and_know(self._closed_form, request, tried, stop)

    def _search_only(
        self, request: SolveRequest, tried: IkResult | None, stop: '_Deadline'
    ) -> IkResult:
        """
        Return the result of a search without the closed form. Long searches run in PoseIK, which waits for free slots.

        :param tried: result of the first starts; None if they have not run yet.
        """
        if tried is None:
            many = self._first_starts if self._closed_form is None else self._more_starts
            tried = many.solve(request)
        is_hopeless = tried.cause == Cause.NOT_FOUND and not self._has_unusual_size
        if _is_final(tried) or is_hopeless or self._closed_form is not None:
            return tried
        left = stop.remaining(request)
        if left is None:
            return tried._replace(cause=Cause.DEADLINE, clock_ended=True)
        found = self._pose_ik.solve(left)
        if _is_final(found) or not stop.leaves(LAST_TRY):
            return found
        return self._edges.solve(request, found, self._tolerance(request))

    def _search_and_know(
        self,
        closed_form: AnalyticSolver,
        request: SolveRequest,
        tried: IkResult | None,
        stop: '_Deadline',
    ) -> IkResult:
        """
        Return the result of the closed form or, if it has no solution, of more starts of the search.

        :param tried: result of the first starts; None if the closed form comes first.
        """
        # If all first starts got stuck, sampling a joint takes longer and hardly ever finds a solution.
        is_stuck = tried is not None and tried.cause == Cause.NOT_FOUND
        is_hopeless = is_stuck and not (self._is_complete or self._has_unusual_size)
        if tried is not None and is_hopeless and closed_form.arm.plan.held >= 0:
            return tried
        known = closed_form.solve(request)
        if known.status == IkStatus.REFUSED or _is_within(known, self._tolerance(request)):
            return known
        if tried is not None and is_hopeless:
            return self._with_nearest(known, tried, request) if known.is_proved else tried
        if self._is_complete and (tried is not None or known.cause == Cause.VALIDATION):
            return known if tried is None else self._with_nearest(known, tried, request)
        left = stop.remaining(request)
        if left is None:
            return _unsolved(known, Cause.DEADLINE)
        more = self._starts_at_the_edge if self._is_complete else self._more_starts
        found = more.solve(left)
        if found.solved or found.clock_ended or known.solved:
            return found
        return self._with_nearest(known, found, request) if self._is_complete else found

    def _with_nearest(
        self, known: IkResult, searched: IkResult, request: SolveRequest
    ) -> IkResult:
        """
        Return the result ``known`` of a closed form with the nearest posture of the search ``searched``.

        The exact pose has no branch. If a search has nearly met the tolerance, this proves nothing for poses within it.
        """
        cause, searches = known.cause, known.searches
        is_near = searched.residual <= AT_THE_EDGE * self._tolerance(request)
        if cause == Cause.UNREACHABLE and is_near:
            cause, searches = Cause.NOT_FOUND, searched.searches
        return known._replace(
            cause=cause,
            nearest=searched.nearest,
            residual=searched.residual,
            iterations=searched.iterations,
            searches=searches,
        )

    def _tolerance(self, request: SolveRequest) -> float:
        """Return the largest norm over position [m] and rotation [rad] error of a solution."""
        own = self.options.target_tolerance if request.tolerance is None else request.tolerance
        return float(np.min(own))


class _Deadline:
    """The deadline of a request, shared by several solvers."""

    def __init__(self, request: SolveRequest, began: float) -> None:
        """Set the deadline of a request that began at the monotonic time ``began`` [s]; a timeout of 0 sets none."""
        timeout = request.timeout
        self._is_set = timeout is not None and timeout > 0.0
        self._stop = began + (timeout or 0.0)

    def leaves(self, seconds: float) -> bool:
        """Return whether at least ``seconds`` are left until the deadline [s]; True without a deadline."""
        return not self._is_set or self._stop - time.monotonic() >= seconds

    def remaining(self, request: SolveRequest) -> SolveRequest | None:
        """Return the request with the time left; None if no time is left or the caller has cancelled."""
        if request.cancel is not None and request.cancel[0]:
            return None
        if not self._is_set:
            return request
        left = self._stop - time.monotonic()
        return dataclasses.replace(request, timeout=left) if left > 0.0 else None


def _is_final(result: IkResult) -> bool:
    """Return whether no other method can change the result."""
    return (
        result.solved
        or result.is_proved
        or result.clock_ended
        or result.status == IkStatus.REFUSED
    )


def _is_within(result: IkResult, tolerance: float) -> bool:
    """Return whether a result is within a tolerance, which may be tighter than the closed form's."""
    return result.solved and result.residual <= tolerance


def _unsolved(result: IkResult, cause: Cause) -> IkResult:
    """Return a copy of a result without its solutions, with a cause, as ended by the clock."""
    nearest = result.q if result.nearest is None else result.nearest
    return result._replace(
        status=IkStatus.UNSOLVED,
        cause=cause,
        solutions=result.solutions[:0],
        errors=result.errors[:0],
        nearest=nearest,
        clock_ended=True,
    )
