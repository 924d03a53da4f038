"""
All branches of a pose for a solve without arguments, which most solves are: read, asked and returned at the least cost.

So are those with options that ask no more of an arm that one kernel call answers for: limits or none, another metric or
tolerance, a cap.
"""

from collections.abc import Mapping
import contextlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray
from ssik_ros.manipulator.analytic_solutions import AnalyticSolutions, is_plain
from ssik_ros.manipulator.solve_settings import read_seed, read_target, SolveSettings
from ssik_ros.solvers.closed_form.branch_block import PlainBranches

MOST_OPTIONS = 64
"""Combinations of options that an arm keeps in mind."""


class DefaultBranches:
    """What a closed form answers to plain settings; may be asked from several threads at once."""

    def __init__(self, analytic: AnalyticSolutions, settings: SolveSettings) -> None:
        """
        Prepare the question, once.

        :param settings: the defaults, or others without a seed.
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


class BranchesByOptions:
    """What answers solves with options that were asked before, where one kernel call does."""

    def __init__(self) -> None:
        """Know none."""
        self._known: dict[Any, DefaultBranches] = {}
        self._last: tuple[dict[str, Any], DefaultBranches | None] = ({}, None)

    def get(self, options: Mapping[str, Any]) -> DefaultBranches | None:
        """
        Return what answers a solve with options; None where they are new, or they or the arm need more than one call.

        :param options: keywords of a solve, right or wrong.
        """
        last, found = self._last
        if len(options) == len(last):
            for name, value in options.items():
                # The same object has the same type, too, which equal ones need not have.
                if last.get(name, self) is not value:
                    break
            else:
                return found
        try:
            found = self._known.get(key_of(options))
        except TypeError:
            return None
        if found is not None:
            self._last = dict(options), found
        return found

    def keep(
        self, options: Mapping[str, Any], analytic: AnalyticSolutions, settings: SolveSettings
    ) -> None:
        """
        Prepare the next solve with the same options, if one kernel call answers it.

        :param analytic: the closed form of the arm.
        :param settings: what the options have come to.
        """
        is_alone = is_plain(settings) and not settings.allow_refinement
        if is_alone and len(self._known) < MOST_OPTIONS and PlainBranches.serves(analytic.arm):
            with contextlib.suppress(TypeError):
                own = settings._replace(seed=None)
                self._known[key_of(options)] = DefaultBranches(analytic, own)


def key_of(options: Mapping[str, Any]) -> tuple[Any, ...]:
    """
    Return options as a key, with their types: 1, 1.0 and True are equal as keys, but not as values.

    :param options: keywords of a solve; not all of them can be keys.
    """
    return (*options.items(), *map(type, options.values()))
