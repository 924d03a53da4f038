"""
Plain questions: one pose, one seed, one answer.

Nearly all questions of planners and control loops are of this kind, and their answer costs less than the translation of a
general request. Everything else is for others to answer.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.kernels import plain_question
from ssik_ros.kernels import pose_search
from ssik_ros.results import Cause
from ssik_ros.results import IkResult
from ssik_ros.results import IkStatus
from ssik_ros.solvers.analytic.arm import AnalyticArm
from ssik_ros.solvers.analytic.arm import Question
from ssik_ros.solvers.analytic.branch_block import BranchBlock
from ssik_ros.solvers.base import SolveRequest
from ssik_ros.solvers.iterative_solver import checked_flag
from ssik_ros.solvers.iterative_solver import nanoseconds
from ssik_ros.solvers.newton.single import SingleArrays
from ssik_ros.solvers.newton.solver import NewtonSolver

FloatArray = NDArray[np.float64]

FARTHEST = 0.3
"""Error at the seed up to which a descent starts there: more than that of joints turned by 0.05 rad on an arm of a metre."""
LONGEST_WAY = 0.5
"""Largest change of a joint on the way from the seed [rad or m]."""
SOLVED, NO_CAUSE, FOUND = IkStatus.SOLVED, Cause.NONE, pose_search.FOUND
"""Members of enumerations by plain names: looking them up costs time at every solve."""
NDARRAY, FLOAT64, EMPTY = np.ndarray, np.dtype(np.float64), np.empty
POSE, TWO_ERRORS = (4, 4), (1, 2)
NEW = tuple.__new__


class ClosedForm(NamedTuple):
    """A complete closed form that answers in less time than a search."""

    arm: AnalyticArm
    tolerance: float
    """Norm over position [m] and rotation [rad] error up to which a pose is reached."""
    follows_seed: bool
    """Whether an answer next to the seed will do where another one may be nearer."""


class PlainQuestions:
    """The answers of one arm; may be asked from several threads at once."""

    def __init__(self, solver: NewtonSolver, closed_form: ClosedForm | None = None) -> None:
        """
        Load or compile the call.

        :param solver: the search for one tip, without variables that a state would have to tell; beside a closed
            form, for poses that are just out of reach.
        :param closed_form: what answers first.
        """
        self._solver = solver
        self._size = solver.problem.group_size
        self._shape = (self._size,)
        self._out, self._middle = (1, self._size), solver.middle[: self._size].copy()
        self._never = self._known_flag = solver.never
        self._closed_form = closed_form
        self._search, self._answer = plain_question.direct_calls()
        self._pool: list[tuple[SingleArrays, BranchBlock | None]] = []

    def ask(self, request: SolveRequest) -> IkResult | None:
        """
        Return what came of a plain question; None for all others, and for those that were asked wrongly.

        :param request: any request.
        """
        if (
            request.max_solutions != 1
            or request.validate is not None
            or request.tolerance is not None
            or request.tool_offsets is not None
            or request.lower is not None
            or request.upper is not None
            or request.consistency_limits is not None
            or request.max_searches is not None
            or request.wants_nearest
            or request.locked
        ):
            return None
        target, seed, cancel = request.targets, request.seed, request.cancel
        if seed is None:
            seed = self._middle
        if type(target) is not NDARRAY or type(seed) is not NDARRAY:
            return None
        if target.shape != POSE:
            if target.shape != (1, 4, 4):
                return None
            target = target[0]
        if seed.shape != self._shape:
            return None
        if target.dtype is not FLOAT64 or seed.dtype is not FLOAT64:
            return None
        try:
            own = self._pool.pop()
        except IndexError:
            own = self._make_arrays()
        arrays, block = own
        timeout = 0 if request.timeout is None else nanoseconds(request.timeout)
        if cancel is None:
            cancel = self._never
        elif cancel is not self._known_flag:
            # A server has one flag for all of its questions.
            self._known_flag = cancel = checked_flag(cancel)
        q, errors = EMPTY(self._out), EMPTY(TWO_ERRORS)
        if block is None:
            report = self._search(arrays.address, timeout, seed, target, cancel, q, errors)
        else:
            report = self._answer(
                arrays.address, block.address, timeout, seed, target, cancel, q, errors
            )
        code, iterations, searches, residual, _ = report
        result = None
        if code == FOUND:
            # Without the name of the argument (write), and without the constructor of the tuple: half the time.
            q.setflags(False)  # type: ignore[call-arg]
            errors.setflags(False)  # type: ignore[call-arg]
            result = NEW(
                IkResult,
                (SOLVED, NO_CAUSE, q, errors, None, residual, iterations, searches, False),
            )
        elif code not in (pose_search.BAD_TARGET, pose_search.BAD_STATE, pose_search.UNSAMPLED):
            result = self._unsolved(code, arrays, q, report)
        self._pool.append(own)
        return result

    def _unsolved(
        self,
        code: int,
        arrays: SingleArrays,
        q: FloatArray,
        report: tuple[int, int, int, float, int],
    ) -> IkResult:
        """Return what a question without an answer has to say."""
        _, iterations, searches, residual, branches = report
        status, cause = self._solver.explain(code, arrays.counters)
        clock_ended = code in (pose_search.DEADLINE, pose_search.CANCELLED)
        if branches != plain_question.NOT_ASKED and not clock_ended:
            # No branch at all: a proof, for which no start was needed.
            cause = Cause.LIMITS if branches else Cause.UNREACHABLE
            searches = 1 if branches else 0
        empty = np.empty((0, self._size)), np.empty((0, 2)), q[0]
        for array in empty:
            array.setflags(write=False)
        return IkResult(status, cause, *empty, residual, iterations, searches, clock_ended)

    def _make_arrays(self) -> tuple[SingleArrays, BranchBlock | None]:
        """Return fresh arrays."""
        known = self._closed_form
        block = None if known is None else _make_block(known)
        return self._solver.single.make_arrays(seeded=True), block


def _make_block(known: ClosedForm) -> BranchBlock:
    """Return the arrays of one running question to a closed form, as :func:`plain_question.answer` wants them."""
    asked = known.arm.prepare(Question(seed=np.zeros(known.arm.plan.size), max_solutions=1))
    numbers = np.zeros(plain_question.NUMBERS)
    numbers[plain_question.TOLERANCE] = known.tolerance
    numbers[plain_question.FARTHEST] = FARTHEST if known.follows_seed else 0.0
    numbers[plain_question.LONGEST_WAY] = LONGEST_WAY
    return BranchBlock(asked, numbers)
