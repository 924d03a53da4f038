"""
Find the branches of a pose for one group: by a closed form, or by a search for several solutions.

:class:`BranchFinder` does this; :class:`GroupClosedForm` makes the closed form once. A posture is returned only after
forward kinematics has measured its errors, whatever solver returned it.
"""

from collections.abc import Sequence
import logging
import threading
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted
from ssik_ros.model.forward_kinematics import pose_errors
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.problem.contract import BranchSet, BranchSolver, IkSolver, SolveRequest
from ssik_ros.results import Cause, CLOCK_ENDED, no_solution
from ssik_ros.server.groups.group_server import GroupServer, StateCheck
from ssik_ros.server.requests.ik_requests import (
    Branch,
    BranchesResponse,
    BranchOptions,
    BranchReport,
    FullState,
    LinkGoal,
)
from ssik_ros.server.requests.posture_order import PostureOrder, Postures
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.scene.candidate_checks import CandidateChecks
from ssik_ros.server.scene.led_links import LedLink
from ssik_ros.solvers.auto.policy import (
    choose,
    find_closed_form,
    knowledge_of,
    SolveMethod,
    Wanted,
)
from ssik_ros.solvers.closed_form.labels import number_branches
from ssik_ros.solvers.closed_form.solver import AnalyticSolver

_LOGGER = logging.getLogger('ssik_ros.server')


SEARCHED_SOLUTIONS = 256
"""Solutions that a search collects before they are sorted into branches."""
SEARCHES = 1000
"""Starts of such a search."""
ONE_BRANCH = 0.05
"""Solutions of a search that are nearer than this in every joint count as one branch [rad or m]."""
CLAIMED_ERROR_SLACK = 1e-7
"""Largest difference between the measured error and the error that the solver claims [m or rad]."""
NO_POSES: FloatArray = np.empty((0, 0))
"""The pose of a goal of which only the link matters."""
SEARCHED = 'several distinct solutions found by a search, not all there are'


class GroupClosedForm:
    """The closed form of a group, made when it is first needed; several threads may call it at once."""

    def __init__(self, server: GroupServer) -> None:
        """
        Keep a group; the closed form is made by the first :meth:`find`.

        :param server: the group.
        """
        self.server = server
        self._lock = threading.Lock()
        self._result: tuple[AnalyticSolver | None, str] | None = None

    def find(self) -> tuple[AnalyticSolver | None, str]:
        """
        Return the closed-form solver and an empty text; or None, and why the chain has no closed form.

        The first call makes the solver; later calls return the same one.
        """
        with self._lock:
            if self._result is None:
                self._result = find_closed_form(self._make)
            return self._result

    def _make(self) -> AnalyticSolver:
        solver = AnalyticSolver(self.server.robot, self.server.group)
        solver.warm_up()
        return solver


class _Gate:
    """Checks of candidate states that refuse every state after a deadline or a cancel, and count refusals."""

    def __init__(self, accepts: StateCheck, seconds: float, cancel: NDArray[np.int64]) -> None:
        self._accepts, self._cancel = accepts, cancel
        self._deadline = time.monotonic() + seconds
        self.refused = 0
        self.unchecked = 0

    def __call__(self, state: FullState) -> bool:
        """
        Return whether a full state passes the checks; count a refusal in ``refused``.

        After the deadline or a cancel return false without a check, and count it in ``unchecked``.
        """
        if self._cancel[0] or time.monotonic() > self._deadline:
            self.unchecked += 1
            return False
        is_free = self._accepts(state)
        self.refused += not is_free
        return is_free


class _Outcome(NamedTuple):
    """The branches that one solver returned for a request, why this solver was tried, and how long it took."""

    solver: IkSolver
    reason: str
    solve_request: SolveRequest
    branch_set: BranchSet
    spent: int
    """Time in the solver [ns]."""


class BranchFinder:
    """
    Finds branches of a pose for one group, by its closed form or the group's solver; several threads may call it.

    :meth:`find` returns the branches, and tells whether they are all. Other finders take forward kinematics and a
    complete solver from here.
    """

    def __init__(self, server: GroupServer, closed_form: GroupClosedForm | None = None) -> None:
        """
        Keep a group.

        :param server: the group with its own solver.
        :param closed_form: closed form of the same group, to be shared; None makes it when a request needs it.
        """
        self.server = server
        self._closed_form = closed_form or GroupClosedForm(server)
        self._links: dict[tuple[str, str], ChainKinematics] = {}
        self._order = PostureOrder(server.robot, server.group)

    def with_server(self, server: GroupServer) -> 'BranchFinder':
        """
        Return a finder for the same group with another solver; it shares the closed form.

        :param server: the group with its new solver.
        """
        return BranchFinder(server, self._closed_form)

    def warm_up(self) -> None:
        """
        Make the closed form that requests will try first, and load the kernels that measure postures.

        Without a solver of the group, do nothing. A solver that returns branches itself, or leaves orientations free,
        needs no closed form.
        """
        server = self.server
        if server.solver is None:
            return
        self._choose(server.solver)
        q = server.robot.default_positions()[server.group.idx_q]
        self._order.arrange(q[None], q, BranchOptions(enumerate_windings=True))
        for link in server.solver.tip_frames:
            self.link_kinematics(server.solver.base_frame, link).pose(q)

    def find(
        self,
        goals: Sequence[LinkGoal],
        state: FullState,
        options: BranchOptions,
        *,
        timeout: float,
        accepts: CandidateChecks | None,
    ) -> BranchesResponse:
        """
        Return the branches of the goals within the limits, nearest to the seed first.

        A complete closed form finds every branch, unless the pose is singular. A closed form with a held joint finds
        the branches at samples of this joint, and a search finds several solutions. The report names the solver. Its
        field ``complete`` is true if a complete closed form made the branches and none was left out; this proves
        nothing at a singular pose.

        Without a branch, the response has a cause. If forward kinematics contradicts the errors that the solver claims
        for each of its postures, the response has the refusal FAULT instead.

        :param goals: poses in the model frame, at most one for each tip; other tips keep their poses in ``state``.
        :param state: seed, joints outside the group, and pose of the root link.
        :param options: largest number of postures, windings and tolerance.
        :param timeout: wall-clock budget for searches and checks [s]; zero or less means the budget of the group.
        :param accepts: checks of a full state; None accepts every state.
        :raises RequestRefused: for a group without solver, links that are not fixed to a tip, and two goals of one tip.
        """
        server = self.server
        attempts = self._choose(server.require_solver())
        seconds = timeout if timeout > 0.0 else server.kinematics.timeout
        gate = None if accepts is None else _Gate(accepts, seconds, server.cancel)
        outcomes: list[_Outcome] = []
        for solver, reason in attempts:
            solve_request = server.make_request(
                solver, goals, state, timeout=timeout, accepts=gate
            )
            if options.tolerance > 0.0:
                solve_request.tolerance = options.tolerance
            start = time.perf_counter_ns()
            branch_set = self._solve(solver, solve_request)
            spent = time.perf_counter_ns() - start
            outcomes.append(_Outcome(solver, reason, solve_request, branch_set, spent))
            if branch_set.certified:
                break
        # If no solver reaches the pose, the first one gives the best reason.
        chosen = outcomes[-1] if outcomes[-1].branch_set.certified else outcomes[0]
        solver, reason, solve_request, branch_set, _ = chosen
        postures = self._order.arrange(branch_set.q, np.asarray(solve_request.seed), options)
        branches = self._measure(solver, goals, solve_request, branch_set, postures, options)
        report = BranchReport(
            solver=solver.name,
            tier=str(getattr(solver, 'tier', '')),
            reason=reason,
            redundancy_samples=branch_set.samples,
            searches=branch_set.searches,
            raw_candidates=branch_set.raw,
            certified=branch_set.certified,
            different=branch_set.different,
            dropped_by_limits=branch_set.dropped,
            dropped_by_collision=0 if gate is None else gate.refused,
            dropped_by_clock=0 if gate is None else gate.unchecked,
            dropped_by_verification=len(postures.q) - len(branches),
            dropped_by_max=postures.total - len(postures.q),
            clock_ended=branch_set.clock_ended or bool(gate and gate.unchecked),
            solver_time=1e-9 * sum(outcome.spent for outcome in outcomes),
        )
        return self._respond(solver, branch_set, branches, report, accepts)

    def _choose(self, solver: IkSolver) -> list[tuple[IkSolver, str]]:
        """
        Return the solvers to try one after the other, each with the reason of the choice as text.

        They are the closed form of the group and ``solver``, the solver of the group. Only ``solver`` is returned if it
        returns branches itself, if it leaves orientations free, or if the group has no closed form.
        """
        if isinstance(solver, BranchSolver):
            return [(solver, str(getattr(solver, 'reason', '')))]
        if self.server.kinematics.position_only:
            return [(solver, f'the orientation is left free: {SEARCHED}')]
        closed_form, why_none = self._closed_form.find()
        if closed_form is None:
            return [(solver, f'no closed form ({why_none}): {SEARCHED}')]
        origin = f'closed form made beside the solver of the group, {solver.name}'
        solvers: dict[SolveMethod, tuple[IkSolver, str]] = {
            SolveMethod.CLOSED_FORM: (closed_form, f'{origin}; {closed_form.reason}'),
            # Its tolerance is wider: a pose typed by hand for an arm of five joints, or at the end of its reach.
            SolveMethod.SEARCH: (solver, f'the closed form does not reach the pose: {SEARCHED}'),
        }
        return [solvers[method] for method in choose(knowledge_of(closed_form), Wanted.SEVERAL)]

    def _solve(self, solver: IkSolver, solve_request: SolveRequest) -> BranchSet:
        """
        Return the postures that a solver finds for a request, as a set of branches.

        A branch solver returns its branches. Any other solver searches for several solutions; near duplicates are
        dropped, and the nearest to the seed comes first. For such a search, the numbers of solutions and searches in
        ``solve_request`` are replaced.
        """
        if isinstance(solver, BranchSolver):
            return solver.solve_all(solve_request)
        solve_request.max_solutions, solve_request.max_searches = SEARCHED_SOLUTIONS, SEARCHES
        result = solver.solve(solve_request)
        seed = np.asarray(solve_request.seed)
        near = self._order.nearest_windings(result.solutions, seed)
        order = np.argsort(self._order.distances(near, seed), kind='stable')
        keep = self._order.first_of_each(near, order.tolist(), ONE_BRANCH)
        q = near[keep]
        return BranchSet(
            q,
            result.errors[keep],
            tuple(f'branch {number}' for number in number_branches(q)),
            result.cause,
            len(near),
            len(near),
            len(keep),
            0,
            0,
            result.searches,
            result.clock_ended,
        )

    def _measure(
        self,
        solver: IkSolver,
        goals: Sequence[LinkGoal],
        solve_request: SolveRequest,
        branch_set: BranchSet,
        postures: Postures,
        options: BranchOptions,
    ) -> list[Branch]:
        """
        Measure the errors of postures by forward kinematics, and return the acceptable ones as branches.

        A posture is acceptable if it is within the limits and :meth:`_holds` accepts its errors. ``postures.rows`` has
        the row of ``branch_set`` of each posture; postures of one row get the same branch number, counted from 0.
        """
        kinematics = self._kinematics(solver, goals)
        targets = np.reshape(solve_request.targets, (-1, 4, 4))
        seed = np.asarray(solve_request.seed)
        distances = self._order.distances(postures.q, seed).tolist()
        margins = self._order.margins(postures.q).tolist()
        numbers: dict[int, int] = {}
        branches: list[Branch] = []
        for q, row, distance, margin in zip(
            postures.q, postures.rows.tolist(), distances, margins
        ):
            pairs = zip(kinematics, targets, strict=True)
            errors = np.array([pose_errors(k.pose(q, solve_request.state), t) for k, t in pairs])
            if not (margin >= 0.0 and self._holds(errors, branch_set.errors[row], options)):
                continue
            position, orientation = errors.max(axis=0).tolist()
            branches.append(
                Branch(
                    q,
                    position,
                    orientation,
                    distance,
                    margin,
                    branch_set.labels[row],
                    numbers.setdefault(row, len(numbers)),
                    self._order.count_windings(q) if options.enumerate_windings else (),
                )
            )
        return branches

    def _holds(self, errors: FloatArray, claimed: FloatArray, options: BranchOptions) -> bool:
        """
        Return whether measured errors (t, 2) are as small as the solver claimed and as the request's tolerance demands.

        ``claimed`` (2 t,) are the solver's errors: position [m], then angle [rad] of each tip. A tolerance above 0
        bounds the norm of both. Each comparison allows ``CLAIMED_ERROR_SLACK``. Position-only kinematics ignores the
        angles.
        """
        used = errors[:, :1] if self.server.kinematics.position_only else errors
        claims = claimed.reshape(-1, 2)[:, : used.shape[1]]
        if not (used <= claims + CLAIMED_ERROR_SLACK).all():
            return False
        norms = np.sqrt((used**2).sum(axis=1))
        return options.tolerance <= 0.0 or bool(
            (norms <= options.tolerance + CLAIMED_ERROR_SLACK).all()
        )

    def _kinematics(self, solver: IkSolver, goals: Sequence[LinkGoal]) -> list[LedLink]:
        """
        Return, for each tip of a solver, forward kinematics of the frame whose pose is the target.

        This frame is the link or carried object of the goal; for a tip without a goal it is the tip itself.
        """
        led = [self.led_link(solver, LinkGoal(tip, NO_POSES)) for tip in solver.tip_frames]
        for goal in goals:
            led[self.server.tip_of(solver, goal.link)] = self.led_link(solver, goal)
        return led

    def led_link(self, solver: IkSolver, goal: LinkGoal) -> LedLink:
        """
        Return forward kinematics, in a solver's base frame, of the link or carried object that a goal places.

        :param solver: of this group.
        :param goal: the link and its tool; the pose is ignored.
        :raises RequestRefused: for a link that is not fixed to a tip of the solver.
        """
        tip = self.server.tip_of(solver, goal.link)
        link = goal.link or solver.tip_frames[tip]
        return LedLink(self.link_kinematics(solver.base_frame, link), goal.tool)

    def complete_solver(self) -> IkSolver | None:
        """
        Return a solver of the group that finds all postures of every pose that is not singular; None without one.

        :raises RequestRefused: for a group without solver.
        """
        for solver, _ in self._choose(self.server.require_solver()):
            if isinstance(solver, BranchSolver) and solver.is_complete:
                return solver
        return None

    def link_kinematics(self, base: str, link: str) -> ChainKinematics:
        """
        Return forward kinematics of a link in the frame of a base link; kept for later calls.

        :param base, link: names of links.
        :raises FrameNotFound: for a link that the robot does not have.
        """
        kinematics = self._links.get((base, link))
        if kinematics is None:
            kinematics = ChainKinematics(self.server.robot, self.server.group, base, link)
            self._links[base, link] = kinematics
        return kinematics

    def _respond(
        self,
        solver: IkSolver,
        branch_set: BranchSet,
        branches: list[Branch],
        report: BranchReport,
        checks: CandidateChecks | None,
    ) -> BranchesResponse:
        """
        Return the response: branches and report; without branches, the cause of the failure and a text.

        If the solver returned postures but forward kinematics refused all of them, the refusal is FAULT.
        """
        names = self.server.group.variable_names
        if branches:
            left_out = report.dropped_by_max or report.dropped_by_clock
            whole = bool(getattr(solver, 'is_complete', False)) and not left_out
            report = report._replace(complete=whole and not report.dropped_by_verification)
            text = _describe(branches, report)
            return BranchesResponse(Refusal.NONE, Cause.NONE, text, names, branches, report)
        if len(branch_set.q):
            text = (
                f'None of the {report.dropped_by_verification} postures of {report.solver} holds: their errors '
                'are not what it claims.'
            )
            return BranchesResponse(Refusal.FAULT, Cause.NONE, text, names, (), report)
        cause = branch_set.cause
        rest = f'. {CLOCK_ENDED}' if report.clock_ended else '.'
        if cause == Cause.VALIDATION and checks is not None:
            cause = checks.cause_of(report.clock_ended)
            if cause != Cause.DEADLINE:
                rest = f'{checks.describe()}.'
        text = no_solution(cause, rest)
        return BranchesResponse(Refusal.NONE, cause, text, names, (), report)


def _describe(branches: Sequence[Branch], report: BranchReport) -> str:
    """
    Return a sentence with the numbers of postures and branches, and the solver.

    It says that the result is complete, or how many postures were left out because a request limits their number.

    :param branches: at least one; ``branch`` numbers them from 0, and windings of one branch share a number.
    """
    count = max(branch.branch for branch in branches) + 1
    what = f'{counted(len(branches), "posture")} of {counted(count, "branch")}'
    if report.complete:
        return f'{what}, all within limits, by {report.solver}.'
    more = f', {report.dropped_by_max} more left out' if report.dropped_by_max else ''
    return f'{what}{more}, by {report.solver}.'
