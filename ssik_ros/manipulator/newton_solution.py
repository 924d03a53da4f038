"""Results of ``ik_NR``, ``ik_GN`` and ``ik_LM``: the toolbox's five values, and properties such as errors and cause."""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import are_inside, FloatArray, IntArray, wrap_angles
from ssik_ros.errors import tells_near_names
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.results import Cause, CAUSE_TEXT

Report = tuple[int, int, int, float, float, float]
"""Code of the search, updates, searches, E, position error [m], rotation error [rad]."""


@tells_near_names
class IkSolution(tuple[Any, ...]):
    """
    The result for one pose; unpacks as ``(q, success, iterations, searches, residual)``.

    Without success, ``q`` is the best state seen; residual and errors are those at this state.
    """

    _facts: tuple[Report, JointGroup, Cause, bool]
    """Report of the search, joints, cause, and whether the clock ended the search."""

    @property
    def q(self) -> FloatArray:
        """Return the joint vector (n,) [rad or m]."""
        return self[0]  # type: ignore[no-any-return]

    @property
    def success(self) -> bool:
        """Return whether ``q`` is a solution: all tolerances are met, and all limits if they were to be kept."""
        return self[1]  # type: ignore[no-any-return]

    @property
    def iterations(self) -> int:
        """Return the number of joint updates, summed over all searches."""
        return self[2]  # type: ignore[no-any-return]

    @property
    def searches(self) -> int:
        """Return the number of starts tried."""
        return self[3]  # type: ignore[no-any-return]

    @property
    def residual(self) -> float:
        """Return E = e^T W e / 2 at ``q``: half the sum of the squared pose errors e, weighted by the mask W."""
        return self[4]  # type: ignore[no-any-return]

    @property
    def position_error(self) -> float:
        """Return the norm of the position errors in x, y and z that have a weight in the mask [m]."""
        return self._facts[0][4]

    @property
    def rotation_error(self) -> float:
        """Return the norm of the rotation errors about the axes that have a weight in the mask [rad]."""
        return self._facts[0][5]

    @property
    def cause(self) -> Cause:
        """Return why the solve failed; NONE if it found a solution."""
        return self._facts[2]

    @property
    def reason(self) -> str:
        """Return the cause of a failure as text; empty if there is a solution."""
        return '' if self.cause == Cause.NONE else CAUSE_TEXT[self.cause]

    @property
    def limits_ok(self) -> bool:
        """Return whether every joint is inside its limits, whether or not limits were to be kept."""
        group = self._facts[1]
        return bool(are_inside(self.q, group.lower, group.upper).all())

    @property
    def clock_ended(self) -> bool:
        """Return whether a timeout ended the search."""
        return self._facts[3]

    def __repr__(self) -> str:
        """Return a text with q, success, iterations, searches, residual and the cause."""
        values = ', '.join(f'{name}={getattr(self, name)!r}' for name in _FIVE)
        return f'IkSolution({values}, cause={self.cause.name})'


_new = tuple.__new__
_FIVE = ('q', 'success', 'iterations', 'searches', 'residual')


def make_solution(
    values: tuple[Any, ...], facts: tuple[Report, JointGroup, Cause, bool]
) -> IkSolution:
    """
    Return the result for one pose as an :class:`IkSolution`.

    :param values: (q, success, iterations, searches, residual).
    :param facts: (report of the search, joint group, cause, whether the clock ended the search).
    """
    solution = _new(IkSolution, values)
    solution._facts = facts
    return solution


class IkSolutions(tuple[Any, ...]):
    """
    The results for N poses; unpacks as ``(q, success, iterations, searches, residual)``, arrays of N rows.

    A pose that is not a rigid transform has a row of NaN, no success and the cause BAD_TARGET.
    """

    causes: tuple[Cause, ...]
    """(N,) cause of each failure; NONE for a solved pose."""
    position_errors: FloatArray
    """(N,) norm of the position error of each pose [m]."""
    rotation_errors: FloatArray
    """(N,) norm of the rotation error of each pose [rad]."""
    jump_threshold: float
    """Step above which :attr:`jumps` names a pose [rad or m]."""
    endless: NDArray[np.bool_]
    """(n,) joints that are compared modulo 2 pi."""

    @property
    def q(self) -> FloatArray:
        """Return the joint vectors (N, n) [rad or m]."""
        return self[0]  # type: ignore[no-any-return]

    @property
    def success(self) -> NDArray[np.bool_]:
        """Return a mask (N,) of the solved poses."""
        return self[1]  # type: ignore[no-any-return]

    @property
    def iterations(self) -> IntArray:
        """Return the number of joint updates of each pose (N,), summed over its searches."""
        return self[2]  # type: ignore[no-any-return]

    @property
    def searches(self) -> IntArray:
        """Return the number of starts tried for each pose (N,)."""
        return self[3]  # type: ignore[no-any-return]

    @property
    def residual(self) -> FloatArray:
        """Return E = e^T W e / 2 of each pose (N,): half the sum of squared pose errors e, weighted by the mask W."""
        return self[4]  # type: ignore[no-any-return]

    @functools.cached_property
    def steps(self) -> FloatArray:
        """
        Return the largest joint difference of each pose from the pose before (N,) [rad or m].

        The first step is 0. A step from or to a pose whose row is NaN is NaN. Joints without limits are compared modulo
        2 pi.
        """
        if len(self.q) == 0:
            return np.zeros(0)
        change = np.diff(self.q, axis=0)
        change = np.where(self.endless, wrap_angles(change), change)
        return np.concatenate([[0.0], np.abs(change).max(axis=1)])

    @property
    def jumps(self) -> IntArray:
        """Return the indices (k,) of the poses whose step from the pose before is above :attr:`jump_threshold` or NaN."""
        return np.flatnonzero(~(self.steps <= self.jump_threshold))

    def __repr__(self) -> str:
        """Return a text with the number of solved poses and the number of jumps."""
        solved = f'{int(self.success.sum())} of {len(self.success)} solved'
        return f'<IkSolutions: {solved}, {len(self.jumps)} jumps>'
