"""
Auto: the name to write in a kinematics.yaml when in doubt.

Which of the package's solvers answers depends on the chain and on the question:

=============================================  ===========================================================================
chain                                          how a question is answered
=============================================  ===========================================================================
six joints, closed form without elimination    a seed that is near is followed by Levenberg-Marquardt; otherwise the
                                               closed form, which knows all branches and proves that there are none
any other closed form                          starts of Levenberg-Marquardt; the closed form where they find nothing,
                                               where several or the nearest solutions are wanted, and for the cause
all other chains, several tips, partial poses  Levenberg-Marquardt with restarts, in the end PoseIK with more of them
=============================================  ===========================================================================

``solve_mode: optimize_distance`` asks for the solution nearest to the seed: the closed form knows it where it is
complete; PoseIK looks for it everywhere else. Parameters that only PoseIK has are honoured by asking PoseIK.
"""

import dataclasses
import functools
import time

import numpy as np

from ssik_ros.errors import counted, list_names, ModelError, TopologyMismatch, UnsupportedJoint
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import position_rows, Rows
from ssik_ros.results import Cause, IkResult, IkStatus
from ssik_ros.solvers.auto.plain_requests import AT_THE_EDGE, ClosedForm, PlainRequests
from ssik_ros.solvers.closed_form.arm import TURNING
from ssik_ros.solvers.closed_form.solver import AnalyticSolver
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.solvers.search.newton.solver import NewtonSolver
from ssik_ros.solvers.search.newton_settings import NewtonSettings
from ssik_ros.solvers.search.pose_ik.options import PARAMETERS_FILE, PoseIkOptions
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver

NAME = 'ssik_ros/Auto'
SOLVED = IkStatus.SOLVED
"""By a plain name: looking up a member of an enumeration costs time at every solve."""
FEW_STARTS = 16
"""Starts before a complete closed form that takes as long as ten descents is asked: fewer than three poses of a thousand need
more."""
STARTS_AT_THE_EDGE = 8
"""Starts for a pose that a complete closed form does not reach: within tolerance it may be reachable."""
MANY_STARTS = 100
"""Starts after which, when all of them get stuck, more of them are hardly worth their time."""
SECOND_SEQUENCE = 1
"""Seed of the second sequence of starts, which does not repeat the first one."""
OWN_OF_POSE_IK = (
    'gd_max_iters',
    'gd_jacobian_damping',
    'gd_step_multiplier',
    'gd_adaptive_threshold',
)
"""Parameters that have a meaning for PoseIK alone."""


class AutoSolver:
    """The solvers of one group, and who answers what; may be asked from several threads at once."""

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        options: PoseIkOptions | None = None,
        *,
        position_only: bool = False,
    ) -> None:
        """
        Find out what the chain is.

        :param options: parameters; None means the defaults.
        :param position_only: leave the orientation of targets free.
        """
        self.name = NAME
        self.robot, self.group = robot, group
        given = dataclasses.asdict(options or PoseIkOptions())
        self.options = load_schema(PARAMETERS_FILE).resolve(given, PoseIkOptions)
        self.joint_names = group.joint_names
        self.base_frame, self.tip_frames = group.base_link, group.tips
        self._position_only = position_only
        self._wants_nearest = self.options.solve_mode == 'optimize_distance'
        defaults = PoseIkOptions()
        self._tuned = [
            name
            for name in OWN_OF_POSE_IK
            if getattr(self.options, name) != getattr(defaults, name)
        ]
        self._closed_form: AnalyticSolver | None = None
        self._no_closed_form = self._find_closed_form()
        self._first_starts = self._search(self._count_first_starts(), 0)
        plain = self._make_plain()
        # The bound method: looking it up costs time at every solve.
        self._ask_plain = None if plain is None else plain.ask

    def _find_closed_form(self) -> str:
        """Make the closed form; return why there is none, nothing where there is one."""
        if self._tuned:
            return f'{", ".join(self._tuned)} given, which PoseIK alone knows'
        if self._position_only:
            return 'the orientation is left free'
        if len(self.tip_frames) != 1:
            return f'{counted(len(self.tip_frames), "tip")}'
        try:
            self._closed_form = AnalyticSolver(self.robot, self.group, name=NAME)
        except (TopologyMismatch, UnsupportedJoint, ModelError) as error:
            return str(error)
        return ''

    def _search(self, starts: int, sequence: int) -> NewtonSolver:
        """Return Levenberg-Marquardt with a budget of starts."""
        return NewtonSolver(
            self.robot,
            self.group,
            NewtonSettings(
                tolerance=self.options.target_tolerance, slimit=starts, seed=sequence or None
            ),
            name=NAME,
            rows=position_rows() if self._position_only else Rows(),
        )

    def _count_first_starts(self) -> int:
        """Return how many starts come before the closed form, or behind it where it is fast."""
        if self.is_fast:
            return STARTS_AT_THE_EDGE
        return FEW_STARTS if self.is_complete else MANY_STARTS

    def _make_plain(self) -> PlainRequests | None:
        """Return the fast way for plain questions; None where it is not for this chain."""
        search = self._first_starts
        reads_state = search.problem.nq != search.problem.group_size
        if self._asks_pose_ik or len(self.tip_frames) != 1 or reads_state:
            return None
        if self._wants_nearest and not self.is_fast:
            return None
        if self._closed_form is None or not self.is_complete:
            return PlainRequests(search)
        tolerance, follows_seed = self.options.target_tolerance, not self._wants_nearest
        known = ClosedForm(self._closed_form.arm, tolerance, follows_seed, self.is_fast)
        return PlainRequests(search, known)

    @functools.cached_property
    def is_complete(self) -> bool:
        """Return whether a closed form knows every branch of any pose, so that it can prove that there is none."""
        known = self._closed_form
        return known is not None and known.is_complete and len(self.joint_names) == 6

    @functools.cached_property
    def is_fast(self) -> bool:
        """Return whether a complete closed form answers in less time than a descent takes."""
        if self._closed_form is None or not self.is_complete:
            return False
        return bool(self._closed_form.arm.plan.ints[search.KIND] in TURNING)

    @property
    def knows_branches(self) -> bool:
        """Return whether several solutions of a pose are those of a closed form, and not found by chance."""
        return self._closed_form is not None and not self._asks_pose_ik

    @functools.cached_property
    def _pose_ik(self) -> PoseIkSolver:
        """Return PoseIK with the parameters given."""
        return PoseIkSolver(
            self.robot, self.group, self.options, position_only=self._position_only, name=NAME
        )

    @functools.cached_property
    def _starts_at_the_edge(self) -> NewtonSolver:
        return self._search(STARTS_AT_THE_EDGE, 0)

    @functools.cached_property
    def _more_starts(self) -> NewtonSolver:
        return self._search(MANY_STARTS, SECOND_SEQUENCE)

    @property
    def tier(self) -> str:
        """Return ``closed_form`` where one answers at once, ``iterative`` where a search comes first."""
        at_once = self.is_fast or (self._wants_nearest and self.is_complete)
        return self._closed_form.tier if at_once and self._closed_form else 'iterative'

    @property
    def reason(self) -> str:
        """Return who answers, and why."""
        if self._closed_form is None:
            who = 'PoseIK' if self._tuned or self._wants_nearest else 'Levenberg-Marquardt'
            return f'{who}, as there is no closed form to ask ({self._no_closed_form})'
        if self.is_fast or (self._wants_nearest and self.is_complete):
            return self._closed_form.reason
        if self._wants_nearest:
            return f'PoseIK, as the nearest posture is no sample of {self._closed_form.reason}'
        return f'Levenberg-Marquardt for one answer; for several {self._closed_form.reason}'

    def reason_for(self, request: SolveRequest) -> str:
        """
        Return who answers a request, and why.

        :param request: any request.
        """
        known = self._closed_form
        if known is None or self._asks_pose_ik:
            return self.reason
        if request.locked and self.is_complete:
            held = list_names(request.locked)
            return f'Levenberg-Marquardt, as with {held} locked a pose is reached by chance only'
        if request.max_solutions > 1:
            return f'{known.reason}; it knows several solutions'
        if self._wants_nearest:
            return f'{known.reason}; it knows which of all branches is the nearest'
        if self.is_fast:
            return (
                f'{known.reason}; a seed that is near is followed by Levenberg-Marquardt instead'
            )
        starts = self._first_starts.settings.slimit
        return (
            f'Levenberg-Marquardt, as one answer takes less time than {known.reason}, which is asked '
            f'when {counted(starts, "start")} find nothing'
        )

    def warm_up(self) -> None:
        """Set up everything that a request may need."""
        if self._asks_pose_ik or self._closed_form is None:
            self._pose_ik.warm_up()
        self._first_starts.warm_up()
        if self._closed_form is not None:
            self._closed_form.warm_up()
            home = self._closed_form.chain.home
            self.solve(SolveRequest(targets=home.copy()))

    @property
    def _asks_pose_ik(self) -> bool:
        """Return whether PoseIK answers everything."""
        return bool(self._tuned) or (self._wants_nearest and not self.is_complete)

    def solve(self, request: SolveRequest) -> IkResult:
        """
        Answer one request.

        :raises RequestError: when an array has a wrong shape or an option a wrong value.
        :raises InvalidLimits: when a joint would have to be sampled that has no range, by name.
        """
        # The clock is read only where it counts.
        began = 0.0 if request.timeout is None else time.monotonic()
        ask = self._ask_plain
        tried = None if ask is None else ask(request)
        if tried is not None and (tried.status is SOLVED or self.is_complete or _is_final(tried)):
            return tried
        if self._asks_pose_ik:
            return self._pose_ik.solve(request)
        stop = _Deadline(request, began)
        # A locked joint leaves too few others to reach a pose exactly: what is within tolerance has to be looked for.
        if self._closed_form is None or (request.locked and self.is_complete):
            return self._search_only(request, tried, stop)
        return self._search_and_know(self._closed_form, request, tried, stop)

    def _search_only(
        self, request: SolveRequest, tried: IkResult | None, stop: '_Deadline'
    ) -> IkResult:
        """
        Return the answer of starts alone: PoseIK's, which share processors with other questions, if it takes many.

        :param tried: what came of the first starts; None when there were none yet.
        """
        if tried is None:
            many = self._first_starts if self._closed_form is None else self._more_starts
            tried = many.solve(request)
        if _is_final(tried) or tried.cause == Cause.NOT_FOUND or self._closed_form is not None:
            return tried
        left = stop.remaining(request)
        if left is None:
            return tried._replace(cause=Cause.DEADLINE, clock_ended=True)
        return self._pose_ik.solve(left)

    def _search_and_know(
        self,
        closed_form: AnalyticSolver,
        request: SolveRequest,
        tried: IkResult | None,
        stop: '_Deadline',
    ) -> IkResult:
        """
        Return the answer of the first starts, of the closed form, or of more starts.

        :param tried: what came of the first starts; None when there were none yet.
        """
        if tried is None and not (
            self.is_fast or self._wants_nearest or request.max_solutions > 1
        ):
            tried = self._first_starts.solve(request)
            if _is_final(tried):
                return tried
        # Where as many starts got stuck, samples of a joint, which take longer, find hardly a pose more.
        if tried is not None and tried.cause == Cause.NOT_FOUND and not self.is_complete:
            return tried
        known = closed_form.solve(request)
        if known.status == IkStatus.REFUSED or _is_answer(known, self._tolerance(request)):
            return known
        if self.is_complete and (tried is not None or known.cause == Cause.VALIDATION):
            return known if tried is None else self._with_nearest(known, tried, request)
        left = stop.remaining(request)
        if left is None:
            return _unsolved(known, Cause.DEADLINE)
        more = self._starts_at_the_edge if self.is_complete else self._more_starts
        found = more.solve(left)
        if found.solved or found.clock_ended or known.solved:
            return found
        return self._with_nearest(known, found, request) if self.is_complete else found

    def _with_nearest(
        self, known: IkResult, searched: IkResult, request: SolveRequest
    ) -> IkResult:
        """
        Return the cause that a closed form knows with the nearest posture that a search has seen.

        The exact pose has no branch then. Where a search has nearly met the tolerance, that proves nothing of poses within it.
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
        """Return the norm of both errors up to which an answer counts."""
        if request.tolerance is None:
            return self.options.target_tolerance
        return float(np.min(request.tolerance))


class _Deadline:
    """When a request has to be answered, over several solvers."""

    def __init__(self, request: SolveRequest, began: float) -> None:
        """Take the clock's reading at the beginning [s]."""
        timeout = request.timeout
        self._is_set = timeout is not None and timeout > 0.0
        self._stop = began + (timeout or 0.0)

    def remaining(self, request: SolveRequest) -> SolveRequest | None:
        """Return the request with the time that is left; None where none is, or where the caller has cancelled."""
        if request.cancel is not None and request.cancel[0]:
            return None
        if not self._is_set:
            return request
        left = self._stop - time.monotonic()
        return dataclasses.replace(request, timeout=left) if left > 0.0 else None


def _is_final(result: IkResult) -> bool:
    """Return whether nothing is to be gained by asking anybody else."""
    return (
        result.solved
        or result.is_proved
        or result.clock_ended
        or result.status == IkStatus.REFUSED
    )


def _is_answer(result: IkResult, tolerance: float) -> bool:
    """Return whether a closed form's result is an answer within a tolerance that may be below what it certifies."""
    return result.solved and result.residual <= tolerance


def _unsolved(result: IkResult, cause: Cause) -> IkResult:
    """Return a result without a solution, ended by the clock."""
    nearest = result.q if result.nearest is None else result.nearest
    return result._replace(
        status=IkStatus.UNSOLVED,
        cause=cause,
        solutions=result.solutions[:0],
        errors=result.errors[:0],
        nearest=nearest,
        clock_ended=True,
    )


def make_auto(
    robot: RobotModel,
    group: JointGroup,
    options: PoseIkOptions | None = None,
    *,
    position_only: bool = False,
) -> AutoSolver:
    """
    Return the solver ``ssik_ros/Auto``.

    :param options: its parameters; None means the defaults.
    :param position_only: leave the orientation of targets free.
    """
    return AutoSolver(robot, group, options, position_only=position_only)
