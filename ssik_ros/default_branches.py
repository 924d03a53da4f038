"""All branches of a pose for a solve without arguments, which most solves are: read, asked and returned at the least cost."""

import numpy as np
from numpy.typing import ArrayLike
from numpy.typing import NDArray

from ssik_ros.analytic_answers import AnalyticAnswers
from ssik_ros.solve_settings import read_seed
from ssik_ros.solve_settings import read_target
from ssik_ros.solve_settings import SolveSettings
from ssik_ros.solvers.analytic.branch_block import PlainBranches

FloatArray = NDArray[np.float64]


class DefaultBranches:
    """What a closed form answers to all defaults; may be asked from several threads at once."""

    def __init__(self, analytic: AnalyticAnswers, settings: SolveSettings) -> None:
        """
        Prepare the question, once.

        :param settings: the defaults.
        """
        self._analytic, self._settings = analytic, settings
        self._question = analytic.question(settings)
        arm = analytic.arm
        self._size = size = arm.plan.size
        self._plain = PlainBranches(arm, self._question) if PlainBranches.serves(arm) else None
        self._prepared = None
        if arm.plan.held < 0:
            seeded = self._question._replace(seed=np.zeros(size))
            self._prepared = arm.prepare(self._question), arm.prepare(seeded)

    @property
    def is_plain(self) -> bool:
        """Return whether one kernel call answers."""
        return self._plain is not None

    def find(self, T_target: ArrayLike, q_seed: ArrayLike | None, with_errors: bool) -> FloatArray:
        """
        Return all branches, best first.

        :param T_target: (4, 4) pose of the end effector in the base.
        :param q_seed: (n,) reference of the order, or None.
        :param with_errors: what to return: joint vectors (k, n), or also their errors (k, n + 3).
        :raises ValueError, TypeError: for what is no pose, or no seed.
        """
        if self._plain is not None:
            rows = self._plain.find(T_target, q_seed, with_errors)
            if rows is not None:
                return rows
        return self._read_and_find(T_target, q_seed, self._size + 3 * with_errors)

    def _read_and_find(
        self, T_target: ArrayLike, q_seed: ArrayLike | None, columns: int
    ) -> FloatArray:
        """Return the first columns of joint vectors and errors for whatever can be read as a pose and a seed."""
        target = read_target(T_target)
        seed = None if q_seed is None else read_seed(q_seed, self._size)
        if self._prepared is not None:
            plain, seeded = self._prepared
            rows = (
                self._analytic.arm.rows(target, plain, plain.seed, columns)
                if seed is None
                else self._analytic.arm.rows(target, seeded, seed, columns)
            )
            if rows is not None:
                return rows
        question = self._question._replace(seed=seed)
        found = self._analytic.branches(target, self._settings, question)
        return np.ascontiguousarray(np.hstack([found.q, found.errors])[:, :columns])
