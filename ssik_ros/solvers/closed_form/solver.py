"""
The IK solver ``ssik_ros/Analytic``: the branches of an arm from the geometry of its axes, checked on the arm itself.

This module translates a request into arrays and the outcome into a result. The mathematics is in
:mod:`ssik_ros.kernels.closed_form`.
"""

import dataclasses
import functools
import math

import numpy as np

from ssik_ros.arrays import FloatArray, freeze, IntArray
from ssik_ros.errors import InvalidLimits
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.search import causes
from ssik_ros.model.default_seed import default_seed
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.contract import BranchSet, is_plain, ONE_TIP, SolveRequest
from ssik_ros.problem.request_fields import checked_flag, nanoseconds, RequestReader
from ssik_ros.problem.request_limits import locked_joints, narrow_limits, Variables
from ssik_ros.results import Cause, CAUSES, error_norm, IkResult, IkStatus, OneSolution
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_block import PlainBranches
from ssik_ros.solvers.closed_form.branch_request import (
    Branches,
    BranchRequest,
    cause_of_absence,
    Holding,
    METRICS,
)
from ssik_ros.solvers.closed_form.labels import name_branches
from ssik_ros.solvers.closed_form.options import AnalyticOptions
from ssik_ros.solvers.closed_form.plan import LARGEST_CAPACITY
from ssik_ros.solvers.search.settings import SearchSettings
from ssik_ros.solvers.search.solver import SearchSolver

ERRORS = 3
"""Columns of a branch after its joint values: position error, rotation error and Frobenius norm of FK - T."""
NEAREST_TOLERANCE = 1e-5
"""Tolerance of the search for the nearest posture: norm over position [m] and rotation [rad] error."""
SOLVED, NO_CAUSE = IkStatus.SOLVED, Cause.NONE
"""Enum members as module names, because access is faster; see docs/explanation/performance.md."""


class AnalyticSolver:
    """The IK solver ``ssik_ros/Analytic`` for a group, by the closed form of its chain; several threads may call it."""

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        options: AnalyticOptions | None = None,
        *,
        name: str = 'ssik_ros/Analytic',
    ) -> None:
        """
        Choose the closed form of the group's chain.

        :param robot: the robot.
        :param group: one of its groups, with one tip and no joints outside the chain to the tip.
        :param options: parameters; None means the defaults.
        :param name: name of the solver, for messages.
        :raises TopologyMismatch: if the chain has no closed form, or if the group has joints outside the chain.
        :raises ModelError: unless the group has one tip, and its chain only joints of the group with one variable.
        """
        self.name = name
        self.robot = robot
        self.group = group
        self.options = options or AnalyticOptions()
        self.chain = SerialChain.from_whole_group(robot, group)
        self.joint_names = group.joint_names
        self.base_frame = group.base_link
        self.tip_frames = group.tips
        self.arm = AnalyticArm(self.chain, self.options.redundancy_samples)
        """Closed form of the chain."""
        self._reader = RequestReader(name, robot, group, group.tips)
        self._variables = Variables.of_group(group)
        self._last_flag: IntArray | None = None
        self._last_tolerance: float | FloatArray | None = None
        self._metric = METRICS[self.options.seed_metric]
        n = len(self.joint_names)
        self._start = default_seed(robot, group)
        self._nothing = (np.empty((0, n)), np.empty((0, 2)))
        freeze(*self._nothing)
        one = BranchRequest(seed=self._start, metric=self._metric, max_solutions=1)
        self._plain = PlainBranches.of(self.arm, one)

    @property
    def tier(self) -> str:
        """Return ``closed_form``, ``elimination``, or ``search`` if values of a held joint are sampled."""
        return self.arm.plan.tier

    @property
    def reason(self) -> str:
        """Return the name of the class and why it fits the arm."""
        return f'{self.arm.plan.name}: {self.arm.plan.reason}'

    @property
    def is_complete(self) -> bool:
        """
        Return whether :meth:`solve_all` finds all branches of any pose that is not singular.

        False if values of a held joint are sampled, or if the axes fit their class only nearly.
        """
        return self.arm.plan.is_complete

    def warm_up(self) -> None:
        """Solve one pose and run the posture search once, so that later calls are fast."""
        home = self.chain.home.copy()
        self.solve(SolveRequest(targets=home))
        self.arm.difficult.warm_up_search(home)

    def solve(self, request: SolveRequest) -> IkResult:
        """
        Return the branches within the limits, at most ``max_solutions``, as a result; nearest to the seed first.

        ``tolerance``, ``max_searches``, ``timeout`` and ``cancel`` are only checked. If ``validate`` is set, only
        branches that it accepts are returned and counted. Without a branch, the result has the cause of the failure.
        Then its ``nearest`` is the nearest posture of a search if ``wants_nearest`` is set, otherwise the seed. It is
        also the seed if ``validate`` refuses all branches, or if a search could not draw starts. ``searches`` counts
        tried values of a held joint (1 without one) and starts of posture searches; it is 0 after a proof. The status
        is REFUSED for a pose that is not rigid, or an unusable seed or state; ``nearest`` is then the default seed.

        :raises RequestError: if an array has a wrong shape or an option a wrong value.
        :raises JointNotFound: if a locked joint does not exist.
        :raises InvalidLimits: if prismatic joints without limits leave the range of a held prismatic joint unbounded.
            Also for a lower limit above an upper limit, and for a joint that is locked outside its limits.
        :raises TopologyMismatch: if a joint of seven is locked, and the other six have no closed form.
        """
        if (
            self._plain is not None
            and is_plain(request)
            and (request.state is None or self._reader.is_state_usable(request.state))
        ):
            solution = self._solve_plain(self._plain, request)
            if solution is not None:
                return solution
        result = self._solve_any(request)
        if not request.wants_nearest or result.status != IkStatus.UNSOLVED:
            return result
        is_open = result.cause != Cause.VALIDATION
        return self._search_nearest(request, result) if is_open else result

    def _solve_any(self, request: SolveRequest) -> IkResult:
        """
        Return the result of any request by the closed form.

        Without a branch, its nearest posture is the seed; for a refused request, it is the default seed.
        """
        seed = self._seed(request)
        outcome = self._find(request, seed)
        if isinstance(outcome, IkResult):
            return outcome
        q, errors = outcome.q, outcome.errors[:, :2]
        if request.validate is not None:
            keep = _first_valid(request, q)
            q, errors = q[keep], errors[keep]
        if not len(q):
            return self._explain(request, outcome, seed)
        freeze(q, errors)
        residual = error_norm(*errors[0].tolist())
        searches = outcome.samples + outcome.starts
        return IkResult(SOLVED, NO_CAUSE, q, errors, None, residual, 0, searches, False)

    def _search_nearest(self, request: SolveRequest, exact: IkResult) -> IkResult:
        """
        Return a result without solutions with the nearest posture of a search, which ``validate`` does not check.

        If starts cannot be drawn for a joint without limits, return the result unchanged.

        :param exact: the result of the closed form.
        """
        try:
            searched = self._nearest_search.solve(
                dataclasses.replace(request, max_solutions=1, validate=None)
            )
        except InvalidLimits:
            return exact
        tolerance = (
            NEAREST_TOLERANCE if request.tolerance is None else float(np.min(request.tolerance))
        )
        return with_nearest(exact, searched, tolerance)

    @functools.cached_property
    def _nearest_search(self) -> SearchSolver:
        """Return the search for nearest postures, made at the first access."""
        settings = SearchSettings(tolerance=NEAREST_TOLERANCE)
        return SearchSolver(self.robot, self.group, settings, self.name)

    def solve_all(self, request: SolveRequest) -> BranchSet:
        """
        Return the branches within the limits that ``request.validate`` accepts, best first; if none, the cause.

        They are all branches if :attr:`is_complete` is True and the pose is not (nearly) singular. Otherwise further
        branches may exist.

        :param request: the request. ``max_solutions`` is not read, and budgets are only checked. ``tolerance`` is the
            Frobenius norm of FK - T, which is at least the norm over position and rotation error.
        :raises RequestError: if an array has a wrong shape or an option a wrong value.
        :raises JointNotFound: if a locked joint does not exist.
        :raises InvalidLimits: if prismatic joints without limits leave the range of a held prismatic joint unbounded.
            Also for a lower limit above an upper limit, and for a joint that is locked outside its limits.
        :raises TopologyMismatch: if a joint of seven is locked, and the other six have no closed form.
        """
        request = dataclasses.replace(request, max_solutions=LARGEST_CAPACITY)
        seed = self._seed(request)
        tolerance = None
        if request.tolerance is not None:
            tolerance = float(self._reader.tolerance(request.tolerance).min())
        outcome = self._find(request, seed, tolerance)
        if isinstance(outcome, IkResult):
            return BranchSet(
                outcome.solutions, outcome.errors, (), outcome.cause, 0, 0, 0, 0, 0, 0, False
            )
        labels = name_branches(self.arm.plan, outcome.q)
        keep = list(range(len(outcome.q)))
        if request.validate is not None:
            keep = _first_valid(request, outcome.q)
        return BranchSet(
            outcome.q[keep],
            outcome.errors[keep, :2],
            tuple(labels[row] for row in keep),
            NO_CAUSE if keep else self._explain(request, outcome, seed).cause,
            outcome.raw,
            outcome.certified,
            outcome.branches,
            outcome.dropped,
            outcome.samples,
            outcome.starts,
            False,
        )

    def _solve_plain(self, plain: PlainBranches, request: SolveRequest) -> IkResult | None:
        """
        Return the branch nearest to the seed by one kernel call; None if the general path has to decide.

        It decides if the call finds no branch, at a (nearly) singular pose, and for a pose or a seed of another form.

        :param plain: the kernel call, for one branch.
        :param request: a plain request.
        :raises RequestError: for a wrong timeout, tolerance or cancel flag.
        """
        if request.timeout is not None:
            nanoseconds(request.timeout)
        tolerance, flag = request.tolerance, request.cancel
        # Callers have one tolerance and one flag for all of their requests.
        if tolerance is not None and tolerance is not self._last_tolerance:
            self._reader.tolerance(tolerance)
            self._last_tolerance = tolerance
        if flag is not None and flag is not self._last_flag:
            self._last_flag = checked_flag(flag)
        target = request.targets
        if getattr(target, 'shape', None) == ONE_TIP:
            target = target[0]
        rows = plain.find(target, request.seed, with_errors=True)
        if rows is None or not len(rows):
            return None
        rows.setflags(write=False)
        *_, position, rotation, _ = rows[0].tolist()
        report = SOLVED, 0, 1, error_norm(position, rotation), position, rotation, 1
        return OneSolution(rows[0, :-ERRORS], report)

    def _find(
        self, request: SolveRequest, seed: FloatArray, tolerance: float | None = None
    ) -> Branches | IkResult:
        """
        Return the branches of a request, or a result without solutions if no search can run.

        The cause of such a result is BAD_STATE for an unusable seed or state, BAD_TARGET for a pose that is not rigid, and
        CONSISTENCY if a joint has no value within its limits and the consistency limits.

        :param tolerance: largest Frobenius norm of FK - T of a branch; None means the default.
        """
        target = self._reader.poses(request.targets)
        if target.shape == ONE_TIP:
            target = target[0]
        # The kernel accepts only arrays that are contiguous and writable.
        if not target.flags.carray:
            target = target.copy()
        self._reader.check_budgets(request)
        is_usable = request.state is None or self._reader.is_state_usable(request.state)
        if not (is_usable and joint_values.are_usable(seed)):
            return self._empty(IkStatus.REFUSED, Cause.BAD_STATE, 0, None)
        wanted = self._branch_request(request, seed)
        if wanted is None:
            return self._empty(IkStatus.UNSOLVED, Cause.CONSISTENCY, 0, seed)
        if tolerance is not None:
            wanted = wanted._replace(tolerance=tolerance)
        branches = self.arm.branches_refined(target, wanted)
        return (
            self._empty(IkStatus.REFUSED, Cause.BAD_TARGET, 0, None)
            if branches is None
            else branches
        )

    def _explain(self, request: SolveRequest, branches: Branches, seed: FloatArray) -> IkResult:
        """
        Return a result without solutions, with the cause why no branch is within the limits or passes the validation.

        If joints are locked, the pose may be searched again without locks, to tell whether the locks are the cause.

        :param branches: branches of the pose before the validation.
        :param seed: (n,) becomes the nearest state of the result.
        """
        if branches.certified == 0 and request.locked and self.arm.plan.held >= 0:
            # The locked value may be the cause: search again over all values of the held joint.
            others = self._find(dataclasses.replace(request, locked=None), seed)
            branches = others._replace(q=branches.q) if isinstance(others, Branches) else branches
        if len(branches.q):
            cause = Cause.VALIDATION
        else:
            narrow = request.consistency_limits is not None
            beyond = Cause.CONSISTENCY if narrow else Cause.LIMITS
            cause = cause_of_absence(self.arm.plan, branches, beyond)
        searches = 0 if cause == Cause.UNREACHABLE else branches.samples + branches.starts
        return self._empty(IkStatus.UNSOLVED, cause, searches, seed)

    def _empty(
        self, status: IkStatus, cause: Cause, searches: int, seed: FloatArray | None
    ) -> IkResult:
        """Return a result without solutions, whose nearest state is a copy of ``seed``, or of the default seed for None."""
        nearest = (self._start if seed is None else seed).copy()
        nearest.setflags(write=False)
        return IkResult(status, cause, *self._nothing, nearest, math.inf, 0, searches, False)

    def _seed(self, request: SolveRequest) -> FloatArray:
        """Return the seed (n,) of a request, or the default seed."""
        return self._start if request.seed is None else self._reader.seed(request.seed).copy()

    def _branch_request(self, request: SolveRequest, seed: FloatArray) -> BranchRequest | None:
        """
        Convert a request to a :class:`BranchRequest`; return None if a joint has no value within all limits.

        With ``request.validate``, it asks for as many solutions as possible, because some may be refused later.
        """
        lower = upper = None
        holding, tool = Holding(), request.tool_offsets
        if tool is not None:
            tool = self._reader.tools(tool)[0]
        if (
            request.locked
            or request.lower is not None
            or request.upper is not None
            or request.consistency_limits is not None
        ):
            lower, upper = self.chain.lower.copy(), self.chain.upper.copy()
            if not narrow_limits(request, self._variables, seed, lower, upper):
                return None
            locked = [self.joint_names.index(name) for name in locked_joints(request)]
            holding = Holding.among(self.arm.plan, {at: float(lower[at]) for at in locked})
        return BranchRequest(
            seed=seed,
            metric=self._metric,
            max_solutions=request.max_solutions if request.validate is None else LARGEST_CAPACITY,
            lower=lower,
            upper=upper,
            tool=tool,
            held=holding.held,
            held_values=holding.held_values,
        )


def with_nearest(exact: IkResult, searched: IkResult, tolerance: float) -> IkResult:
    """
    Return a closed form's result without solutions, with the nearest posture of a search.

    If the search has nearly met the tolerance, the cause UNREACHABLE becomes NOT_FOUND. If the clock ended the search,
    the cause is DEADLINE. Residual and iterations come from the search, too.

    :param exact: result of the closed form.
    :param searched: result of the search.
    :param tolerance: largest norm over position [m] and rotation [rad] error of a solution.
    """
    both = exact.cause, searched.cause
    cause = CAUSES[causes.of_both(*both, searched.residual, tolerance)]
    return exact._replace(
        cause=cause,
        nearest=searched.q,
        residual=searched.residual,
        iterations=searched.iterations,
        searches=exact.searches if cause == exact.cause else searched.searches,
        clock_ended=searched.clock_ended,
    )


def _first_valid(request: SolveRequest, solutions: FloatArray) -> list[int]:
    """Return the indices of the first ``max_solutions`` solutions that ``request.validate`` accepts; it must be set."""
    keep: list[int] = []
    for index, q in enumerate(solutions):
        if len(keep) == request.max_solutions:
            break
        if request.validate is not None and request.validate(q.copy()):
            keep.append(index)
    return keep
