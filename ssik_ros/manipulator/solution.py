"""Results of ``Manipulator.solve``: the list of solutions, candidates with their counts, and facts about the solver."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import tells_near_names
from ssik_ros.manipulator.diagnostic import Diagnostic
from ssik_ros.results import Cause

RefinementMode = Literal['none', 'lm']
"""How a solution came about: from a closed form as it is, or by an iteration."""


class Continuum(NamedTuple):
    """
    A curve of solutions through one solution: its direction there, and its length within the limits.

    Arms of six joints have such curves at some singular poses.
    """

    direction: NDArray[np.float64]
    """(dof,) unit tangent of the curve at the solution."""
    range: tuple[float, float]
    """
    How far the curve stays within the limits against the tangent, as a negative number, and along it [rad].

    Both are the whole length of a curve that closes before a limit. At most 24 rad are followed in each direction.
    """


@tells_near_names
class Solution(NamedTuple):
    """
    One joint vector that reaches the target, with its residual.

    If a curve of solutions leads through it, as at some singular poses, ``continuum`` has the curve.
    """

    q: NDArray[np.float64]
    """(dof,) joint vector [rad or m]."""
    fk_residual: float
    """Frobenius norm of FK(q) - T_target."""
    refinement_used: RefinementMode = 'none'
    """``'none'``, or ``'lm'`` when an iteration produced or rescued the solution."""
    continuum: Continuum | None = None
    """The curve of solutions that this one is a point of; None for an isolated solution."""


@tells_near_names
class Solutions(list[Solution]):
    """
    The solutions of a pose: the nearest to the seed first or, if a cost was given, the least cost first.

    An empty list has the ``cause`` and the ``reason`` of the failure.
    """

    __slots__ = ('_explain',)
    _explain: Callable[[], Diagnostic]
    """Makes the report; only lists that were returned empty have it."""

    @property
    def success(self) -> bool:
        """Return whether there is a solution."""
        return len(self) > 0

    @property
    def cause(self) -> Cause:
        """
        Return the cause of an empty list; NONE if there are solutions.

        NONE is also returned if ``max_solutions=0`` cut off all solutions, and for a list that no solve has returned.
        """
        report = self._report()
        return Cause.NONE if report is None else report.cause

    @property
    def reason(self) -> str:
        """Return why the list is empty, as text; empty if there are solutions, or if no solve has returned the list."""
        report = self._report()
        return '' if report is None else report.summary()

    def _report(self) -> Diagnostic | None:
        """Return the report of a failed solve; None if the list has solutions or was not returned by a solve."""
        return None if self or not hasattr(self, '_explain') else self._explain()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return constructor and arguments for copies and pickles, which keep the report but no reference to the arm."""
        return _with_report, (list(self), self._report())


def _with_report(rows: list[Solution], report: Diagnostic | None) -> Solutions:
    """Return solutions as a list; if ``report`` is given, return an empty list with this report instead."""
    return Solutions(rows) if report is None else no_solutions(lambda: report)


class Candidates(NamedTuple):
    """
    The solutions of one solve in the order of :class:`Solutions`, counts of candidates, and the cause of a failure.

    Fields that :class:`ssik_ros.manipulator.diagnostic.Diagnostic` has, too, mean the same there.
    """

    q: FloatArray
    """(k, n) joint vectors [rad or m]."""
    residuals: FloatArray
    """(k,) Frobenius norm of FK - T at each."""
    refinement: RefinementMode = 'none'
    """``refinement_used`` of every solution."""
    raw_candidates: int = 0
    dropped_by_limits: int = 0
    dropped_by_hold: int = 0
    dropped_by_seed_tolerance: int = 0
    dropped_by_max_solutions: int = 0
    geometric_branches: int = 0
    winding_representatives: int = 0
    refinement_engaged: int = 0
    cause: Cause = Cause.NONE
    clock_ended: bool = False
    detail: str = ''
    curves: FloatArray | None = None
    """(k, n + 2) curve of solutions through each, see :class:`ssik_ros.solvers.closed_form.singular_poses.Settled`; None if
    all solutions are isolated."""


def no_solutions(explain: Callable[[], Diagnostic]) -> Solutions:
    """
    Return an empty list whose ``cause`` and ``reason`` come from a report.

    :param explain: returns the report; it is called each time the cause or the reason is read.
    """
    empty = Solutions()
    empty._explain = explain
    return empty


def as_solutions(candidates: Candidates) -> Solutions:
    """
    Return candidates as a list of solutions, without a report.

    :param candidates: the candidates.
    """
    count, n = len(candidates.q), candidates.q.shape[1]
    curves = np.zeros((count, n + 2)) if candidates.curves is None else candidates.curves
    return Solutions(
        Solution(q, residual, candidates.refinement, _continuum(curve, n))
        for q, residual, curve in zip(
            candidates.q, candidates.residuals.tolist(), curves, strict=True
        )
    )


def _continuum(curve: FloatArray, n: int) -> Continuum | None:
    """
    Return the curve through a solution of n joints; None for an isolated solution, whose ``curve`` is zeros.

    :param curve: (n + 2,) unit tangent, then the lengths of the curve against the tangent and along it [rad].
    """
    if not curve.any():
        return None
    return Continuum(curve[:n].copy(), (-float(curve[n]), float(curve[n + 1])))


class SolverFacts(NamedTuple):
    """
    Name and tier of the solver of an arm, and the reason for its choice.

    For a closed form it has the held joint and the drift, too.
    """

    solver_name: str
    """Dotted name, such as ``ikgeo.three_parallel``."""
    tier: int
    """As :attr:`Diagnostic.solver_tier`: 0 and 1 closed form, 2 numeric elimination, 3 iteration."""
    reason: str
    held_joint: str | None = None
    """Name of the joint of seven whose values are sampled; None if no joint is held."""
    is_analytic: bool = True
    """True for a closed form or an elimination, False for a search."""
    drift: float = 0.0
    """Distance of the axes from the class of the closed form [m]."""
