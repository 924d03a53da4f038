"""
Plain questions to arms of six joints whose closed form needs no elimination: one pose, one seed, one answer.

Nearly all questions of planners and control loops are of this kind, and their answer costs less than the translation of a
general request. Everything else returns None here and goes the general way.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ssik_ros.kernels.analytic import near_seed
from ssik_ros.kernels.analytic import search
from ssik_ros.results import Cause
from ssik_ros.results import IkResult
from ssik_ros.results import IkStatus
from ssik_ros.solvers.analytic.arm import AnalyticArm
from ssik_ros.solvers.analytic.arm import Question
from ssik_ros.solvers.base import SolveRequest
from ssik_ros.tolerances import DEFAULT_TOLERANCES

FloatArray = NDArray[np.float64]

FARTHEST = 0.3
"""Frobenius norm of FK(seed) - T up to which Newton starts at the seed: four times that of a joint turned by 0.05 rad on
an arm of a metre."""
LONGEST_WAY = 0.5
"""Largest change of a joint on the way from the seed [rad or m]."""

SOLVED, NO_CAUSE = IkStatus.SOLVED, Cause.NONE
"""Members of enumerations by plain names: looking them up costs time at every solve."""


class PlainQuestions:
    """The answers of one arm; may be asked from several threads at once."""

    def __init__(
        self, arm: AnalyticArm, seed: FloatArray, tolerance: float, *, follows_seed: bool
    ) -> None:
        """
        Prepare the arrays.

        :param arm: a complete closed form of six joints.
        :param seed: (6,) reference of a question without one [rad or m].
        :param tolerance: norm over position [m] and rotation [rad] error up to which a pose is reached.
        :param follows_seed: whether an answer next to the seed will do where another one may be nearer.
        """
        self._arm = arm
        self._n = n = arm.plan.size
        self._middle = seed
        self._tolerance = tolerance
        self._follows_seed = follows_seed
        self._prepared = arm.prepare(Question(seed=seed, max_solutions=1))
        plan = arm.plan
        self._ints = np.array([n, plan.ints[search.SLIDES], *range(n)], dtype=np.int64)
        options = np.zeros(near_seed.OPTIONS)
        options[near_seed.TOLERANCE] = tolerance
        options[near_seed.FARTHEST] = FARTHEST
        options[near_seed.LONGEST_WAY] = LONGEST_WAY
        options[near_seed.RIGID] = DEFAULT_TOLERANCES.rigid
        chain, home = arm.chain, plan.reals[6 * n : 6 * n + 12]
        axes, points = chain.axes.ravel(), chain.points.ravel()
        self._reals = np.concatenate([options, axes, points, home, chain.lower, chain.upper])
        self._pool: list[_Arrays] = []

    def answer(self, request: SolveRequest) -> IkResult | None:
        """
        Return the answer to a plain question; None where there is none, and for all other questions.

        :param request: any request.
        """
        if not is_plain(request):
            return None
        try:
            arrays = self._pool.pop()
        except IndexError:
            arrays = _Arrays(self._n)
        try:
            return self._answer(request, arrays)
        finally:
            self._pool.append(arrays)

    def _answer(self, request: SolveRequest, arrays: '_Arrays') -> IkResult | None:
        """Return the answer, calculated in these arrays."""
        targets, seed, n = request.targets, request.seed, self._n
        if seed is None:
            seed = self._middle
        if not isinstance(targets, np.ndarray):
            targets = np.asarray(targets)
        if not isinstance(seed, np.ndarray):
            seed = np.asarray(seed)
        if targets.shape not in ((4, 4), (1, 4, 4)) or seed.shape != (n,):
            return None
        arrays.target[...] = targets
        arrays.seed[...] = seed
        if not math.isfinite(arrays.seed.dot(arrays.seed)):
            return None
        if self._follows_seed:
            found = near_seed.follow(self._ints, self._reals, arrays.question)
            if found != near_seed.NOT_HERE:
                steps = 0 if found == near_seed.THE_SEED else 1
                return self._result(arrays.answer.copy().reshape(1, -1), steps)
        rows = self._arm.rows(arrays.target, self._prepared, arrays.seed, n + 2)
        return None if rows is None or not len(rows) else self._result(rows, 0)

    def _result(self, rows: FloatArray, steps: int) -> IkResult | None:
        """Return the first row as the answer; None where its errors are above the tolerance."""
        n = self._n
        residual = math.hypot(rows.item(0, n), rows.item(0, n + 1))
        if not residual <= self._tolerance:
            return None
        rows.setflags(write=False)
        return IkResult(
            SOLVED, NO_CAUSE, rows[:, :n], rows[:, n:], None, residual, steps, 1, False
        )


class _Arrays:
    """The arrays of one running question."""

    __slots__ = ('answer', 'question', 'seed', 'target')

    def __init__(self, n: int) -> None:
        """Allocate for ``n`` joints."""
        self.question = np.zeros(near_seed.question_size(n))
        at = n + near_seed.LEFT
        self.answer = self.question[: n + 2]
        self.seed = self.question[at : at + n]
        self.target = self.question[at + n : at + n + 16].reshape(4, 4)


def is_plain(request: SolveRequest) -> bool:
    """
    Return whether a request asks for one answer to a pose and a seed, and nothing else.

    :param request: any request.
    """
    return (
        request.max_solutions == 1
        and request.validate is None
        and request.tolerance is None
        and request.tool_offsets is None
        and request.lower is None
        and request.upper is None
        and request.consistency_limits is None
        and not request.locked
    )
