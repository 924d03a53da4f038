"""
The result of a solve, as a value with a status and a cause that all solvers share; a failure is not an exception.

Arrays are read-only, except in results of services. ``n`` is the number of joint variables of the group, ``t`` the
number of target poses, ``k`` the number of solutions.
"""

from collections import namedtuple
from collections.abc import Iterator
from enum import IntEnum
import math
from operator import attrgetter
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted
from ssik_ros.value_class import NEW_TUPLE


class IkStatus(IntEnum):
    """Outcome of a solve; :class:`Cause` gives the reason of a failure."""

    SOLVED = 0
    """At least one verified solution."""
    APPROXIMATE = 1
    """No exact solution, but an approximate one that a request accepts; no solver of this package returns it."""
    UNSOLVED = 2
    """No solution was found, or it is proved that none exists."""
    REFUSED = 3
    """The request could not be searched at all (not finite, inconsistent)."""


class Cause(IntEnum):
    """
    The reason why a request has no solution, or why a path or a control step ends early; NONE without such a reason.

    All solvers, task sets and services use this enumeration; the node ``ik_stream`` has causes of its own.
    """

    NONE = 0
    UNREACHABLE = 1
    """
    Proved: no configuration reaches the target, whatever the joint limits and the locked joints.

    A closed form proves this for the exact target. A search from its candidates then came near no target within the
    tolerance.
    """
    LIMITS = 2
    """
    The joint limits or locked joints keep the target out of reach.

    This is proved if no start was tried. Otherwise the search reached the target only outside of them.
    """
    COLLISION = 3
    """Each candidate collides or breaks the constraints, and at least one collides; or collisions cannot be checked."""
    CONSTRAINTS = 4
    """
    No candidate satisfies the constraints, or the values at which a request holds joints.

    Also for a refused request with a wrong tolerance, step or option.
    """
    CONSISTENCY = 5
    """
    The same as LIMITS, for limits that the request narrows around the seed (consistency limits).

    For a step of a control cycle: joints cannot move so far in one cycle. For a path: a step is too long.
    """
    SINGULAR = 6
    """Every start of the search ended at a singular posture."""
    BUDGET = 7
    """An iteration or search budget ended the search."""
    DEADLINE = 8
    """The wall clock, or the caller's cancel flag, ended the search."""
    BAD_TARGET = 9
    """The target is not a finite rigid transform."""
    BAD_STATE = 10
    """The seed or the state is not finite, is too large, or has the wrong size."""
    UNKNOWN_GROUP = 11
    UNKNOWN_LINK = 12
    """The link is unknown, or not rigidly attached to a tip of the group."""
    FRAME = 13
    """The frame of a pose is unknown."""
    VALIDATION = 14
    """Every candidate was refused by the validation callback."""
    LOOP = 15
    """A kinematic loop could not be closed."""
    NOT_FOUND = 16
    """
    No start of the search converged, or a closed form that may miss branches found none.

    This does not prove that the target is out of reach.
    """


CAUSES = tuple(Cause)
"""All causes by their numbers; faster than a call of ``Cause``."""
CAUSE_TEXT: dict[Cause, str] = {
    Cause.NONE: 'solved',
    Cause.UNREACHABLE: 'the target is out of reach',
    Cause.LIMITS: 'the joint limits keep the target out of reach',
    Cause.COLLISION: 'every candidate is in collision',
    Cause.CONSTRAINTS: 'no candidate satisfies the constraints',
    Cause.CONSISTENCY: 'no candidate lies within the consistency limits around the seed',
    Cause.SINGULAR: 'the search stopped at a singular configuration',
    Cause.BUDGET: 'the iteration budget ended before a solution was found',
    Cause.DEADLINE: 'the deadline was reached, or the caller cancelled, before a solution was found',
    Cause.BAD_TARGET: 'the target is not a finite rigid transform',
    Cause.BAD_STATE: 'the seed or the state is not finite, is beyond 1e150, or has the wrong size',
    Cause.UNKNOWN_GROUP: 'the group is unknown',
    Cause.UNKNOWN_LINK: 'the link is unknown or not rigidly attached to a tip of the group',
    Cause.FRAME: 'the reference frame is unknown or cannot be transformed',
    Cause.VALIDATION: 'every candidate was refused by the validation callback',
    Cause.LOOP: 'a kinematic loop could not be closed',
    Cause.NOT_FOUND: 'no start of the search converged, though the target may be reachable',
}
CAUSE_ADVICE: dict[Cause, str] = {
    Cause.UNREACHABLE: ' (move it closer, or check its frame and its unit)',
    Cause.LIMITS: ' (move or turn it, or choose another base)',
    Cause.NOT_FOUND: ' (try another seed, more time, or a looser tolerance)',
    Cause.BUDGET: ' (allow more searches, or give another seed)',
    Cause.DEADLINE: ' (give more time)',
    Cause.CONSISTENCY: ' (widen them, or give another seed)',
}
"""What to do about a cause, as it follows its text."""
PROOF = 'proved by the geometry of its links'
CLOCK_ENDED = 'The clock ended the search.'
"""Sentence of a response; clients of services know by it that more time might have helped."""


def no_solution(cause: Cause, rest: str = '') -> str:
    """
    Return the text of a failure: "No solution: ", the words of its cause, and the rest.

    Clients of the node read the cause back from these words.

    :param cause: reason of the failure.
    :param rest: details, with the full stop; they follow the words of the cause without a space between.
    """
    return f'No solution: {CAUSE_TEXT[cause]}{rest}'


def error_norm(position: float, rotation: float) -> float:
    """Return the norm of a position error [m] and a rotation error [rad], with the same digits as in kernels."""
    # Not hypot, which versions of Python round differently.
    return math.sqrt(position * position + rotation * rotation)


_SOLVED = IkStatus.SOLVED
"""The member under a plain name: looking it up in the enumeration costs time at every solve."""
Report = tuple[Any, int, int, float, float, float, Any]
"""(code, iterations, searches, residual, position error [m], rotation error [rad], branches), as a kernel returns it."""


_SOLVED_TEXT = '{}; the first is off by {:.3g} m and {:.3g} rad ({}, {}).'.format
"""Returns the sentence about a success from its number of solutions, errors, searches and iterations."""


class IkResult:
    """
    The result of any solver: the solutions, and all numbers needed to judge them.

    Read-only; unpacks as a tuple of the fields in the order below. ``IkResult(...)`` takes all fields.
    :class:`OneSolution` has the same fields, but makes its arrays each time they are read. Values that follow from the
    fields are properties. A result that was read from the response of a service is not verified, and its errors are
    unknown.
    """

    __slots__ = ()

    status: IkStatus
    cause: Cause
    solutions: FloatArray
    """(k, n) verified joint vectors, best first; (0, n) without a solution [rad or m]."""
    errors: FloatArray
    """(k, 2 t) position error [m] and rotation error [rad] of each solution at each target, one after the other."""
    nearest: FloatArray | None
    """
    (n,) on failure the state with the smallest error that a search saw, or the seed without a search.

    A closed form searches for it if ``wants_nearest`` of the request is set. None when solved, and in results of
    services.
    """
    residual: float
    """
    Norm of the error of the first solution or of ``nearest`` [m and rad mixed].

    Infinite if it was not measured; NaN in results of services.
    """
    iterations: int
    """Joint updates over all searches."""
    searches: int
    """Starts tried, the seed included; a closed form also counts its values of a held joint, or 1 without one."""
    clock_ended: bool
    """True when a wall-clock budget or a cancel flag, not the search itself, ended the solve."""

    def __new__(
        cls,
        status: IkStatus,
        cause: Cause,
        solutions: FloatArray,
        errors: FloatArray,
        nearest: FloatArray | None,
        residual: float,
        iterations: int,
        searches: int,
        clock_ended: bool,
    ) -> 'IkResult':
        """Return a result with all fields given, kept as a tuple."""
        said = (
            status,
            cause,
            solutions,
            errors,
            nearest,
            residual,
            iterations,
            searches,
            clock_ended,
        )
        return NEW_TUPLE(_AllFields, said)

    def __len__(self) -> int:
        """Return the number of fields."""
        return len(FIELDS)

    def __getitem__(self, place: Any) -> Any:
        """Return the field at an index, or the fields of a slice."""
        return tuple(self)[place]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the fields."""
        return (getattr(self, name) for name in FIELDS)

    def __eq__(self, other: object) -> bool:
        """Return whether another result has equal fields."""
        if not isinstance(other, IkResult):
            return NotImplemented
        return all(map(np.array_equal, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return all fields by name."""
        values = ', '.join(f'{name}={value!r}' for name, value in zip(FIELDS, self, strict=True))
        return f'IkResult({values})'

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and the fields; copy and pickle make an equal result from them."""
        return IkResult, tuple(self)

    def _replace(self, **changes: Any) -> 'IkResult':
        """Return a copy of the result with other values of some fields."""
        return IkResult(**(dict(zip(FIELDS, self, strict=True)) | changes))

    @property
    def solved(self) -> bool:
        """Return whether there is at least one verified solution."""
        return self.status == _SOLVED

    success = solved
    """The same as ``solved``; all results have the attribute ``success``."""

    @property
    def is_proved(self) -> bool:
        """
        Return whether the failure is proved: no solution exists, either at all or within the robot's limits.

        The proof of a closed form holds for the exact pose. In rare cases a posture within the tolerance exists.
        """
        if self.cause == Cause.UNREACHABLE:
            return True
        return self.cause == Cause.LIMITS and self.searches == 0

    @property
    def q(self) -> FloatArray:
        """
        Return the first solution (n,); after a failure ``nearest``, which without a search is the seed.

        :raises IndexError: if the result has neither, such as the failure of a service.
        """
        return self.solutions[0] if self.nearest is None else self.nearest

    @property
    def position_errors(self) -> FloatArray:
        """Return the position error (k, t) of each solution at each target [m]."""
        return self.errors[:, 0::2]

    @property
    def orientation_errors(self) -> FloatArray:
        """Return the rotation angle (k, t) between each solution and each target [rad]."""
        return self.errors[:, 1::2]

    def summary(self, left_over: str = '') -> str:
        """
        Return a text about the outcome and the effort: numbers of searches and iterations.

        A success gives the number of solutions, and the largest position and rotation errors of the first one. A
        failure gives cause, advice, proof, and the distance of the nearest state from the target, as far as they exist.

        :param left_over: text about that distance; if empty, the residual is printed. If ``searches`` is 0, neither is.
        """
        work = counted(self.searches, 'search'), counted(self.iterations, 'iteration')
        if self.status == _SOLVED:
            rows = self.errors.tolist()
            position, rotation = (max(rows[0][kind::2], default=0.0) for kind in (0, 1))
            return _SOLVED_TEXT(counted(len(rows), 'solution'), position, rotation, *work)
        nearest_text = ''
        # Without a search, the nearest state is the seed, whose error says nothing.
        if self.searches and math.isfinite(self.residual):
            off = left_over or f'{self.residual:.4g} (norm over m and rad)'
            nearest_text = f'; the nearest state seen is off by {off}'
        clock = f' {CLOCK_ENDED}' if self.clock_ended else ''
        sure = ''
        if self.is_proved:
            sure = f', {PROOF}'
        elif self.cause == Cause.LIMITS:
            sure = ', as far as a search can tell'
        advice = CAUSE_ADVICE.get(self.cause, '')
        return no_solution(self.cause, f'{advice}{sure}{nearest_text} ({", ".join(work)}).{clock}')


FIELDS = tuple(IkResult.__annotations__)
_Fields: Any = namedtuple('IkResult', FIELDS)  # type: ignore[misc]


class _AllFields(_Fields, IkResult):  # type: ignore[misc]
    """A result that holds its fields as a tuple."""

    __slots__ = ()
    # These methods of IkResult replace the tuple's.
    __eq__, __repr__, __reduce__ = IkResult.__eq__, IkResult.__repr__, IkResult.__reduce__
    __ne__ = object.__ne__
    __hash__ = None  # type: ignore[assignment]


class OneSolution(IkResult):
    """
    A solved result with one solution for one tip, made from the output of a kernel.

    It is cheap to make, because ``solutions`` and ``errors`` are made each time they are read.
    """

    __slots__ = ('_q', '_report')

    _q: FloatArray
    _report: Report
    status, cause, nearest, clock_ended = _SOLVED, Cause.NONE, None, False
    solved = True
    success = True

    def __new__(cls, q: FloatArray, report: Report) -> 'OneSolution':
        """
        Return a result that keeps the output of a kernel.

        :param q: (n,) read-only joint vector.
        :param report: the kernel's report, a tuple in the order of :data:`Report`.
        """
        result = object.__new__(cls)
        result._q, result._report = q, report
        return result

    q = property(attrgetter('_q'), doc='Return (n,): the solution.')

    @property
    def solutions(self) -> FloatArray:  # type: ignore[override]
        """Return (1, n): the joint vector of the solution."""
        return self._q[None]

    @property
    def errors(self) -> FloatArray:  # type: ignore[override]
        """Return (1, 2), read-only: position error [m] and rotation error [rad]."""
        errors = np.array([self._report[4:6]])
        errors.setflags(write=False)
        return errors

    @property
    def residual(self) -> float:  # type: ignore[override]
        """Return the norm of position and rotation error [m and rad mixed]."""
        return self._report[3]

    @property
    def iterations(self) -> int:  # type: ignore[override]
        """Return the number of joint updates over all searches."""
        return self._report[1]

    @property
    def searches(self) -> int:  # type: ignore[override]
        """Return the number of starts tried, the seed included."""
        return self._report[2]

    def summary(self, left_over: str = '') -> str:
        """
        Return one sentence about the outcome.

        :param left_over: not read, because the solve succeeded.
        """
        iterations, searches, _, position, rotation = self._report[1:6]
        work = counted(searches, 'search'), counted(iterations, 'iteration')
        return _SOLVED_TEXT('1 solution', position, rotation, *work)
