"""Checks of a candidate posture that reaches the pose: constraints first, then collisions."""

from collections.abc import Callable, Sequence

from ssik_ros.errors import quote
from ssik_ros.results import Cause
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.scene.constraint_check import ConstraintCheck

PairFinder = Callable[[FullState], Sequence[str] | None]
"""Returns the names of two bodies that collide in a state, or None."""


class CandidateChecks:
    """The checks of one request; remembers why the last candidates were refused."""

    def __init__(self, constraints: ConstraintCheck | None, colliding: PairFinder | None) -> None:
        """
        Take the checks.

        :param constraints: constraints of the request, if it has any.
        :param colliding: finds colliding bodies, if collisions are to be avoided.
        """
        self.constraints = constraints
        self._colliding = colliding
        self.pair: Sequence[str] | None = None
        """The bodies of the last candidate that kept the constraints and was in collision."""
        self._complaint = ''

    def __call__(self, state: FullState) -> bool:
        """Return whether a full state may be handed out."""
        if self.constraints is not None:
            complaint = self.constraints.complaint(state)
            if complaint:
                self._complaint = complaint
                return False
        pair = None if self._colliding is None else self._colliding(state)
        if pair is not None:
            self.pair = pair
        return pair is None

    @property
    def cause(self) -> Cause:
        """Return why candidates were refused: collisions if one kept all constraints, else constraints."""
        if self._complaint and self.pair is None:
            return Cause.CONSTRAINTS
        return Cause.COLLISION

    def describe(self) -> str:
        """Return a sentence part about the candidates that were refused."""
        if self._complaint and self.pair is None:
            return f'no candidate keeps the constraints; of the last one, {self._complaint}'
        which = (
            'every candidate'
            if not self._complaint
            else 'every candidate that keeps the constraints'
        )
        if self.pair is None:
            return f'{which} is in collision'
        return f'{which} is in collision, the last one {quote(self.pair[0])} with {quote(self.pair[1])}'
