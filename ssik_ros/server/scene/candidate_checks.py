"""
Check candidates of a search: constraints first, then collisions.

A candidate is a posture that reaches the pose. :class:`CandidateChecks` has the checks of one request, and tells
afterwards why candidates were refused.
"""

from collections.abc import Callable, Sequence

from ssik_ros.errors import quote
from ssik_ros.results import Cause
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.scene.constraint_check import ConstraintCheck

PairFinder = Callable[[FullState], Sequence[str] | None]
"""Returns the names of two bodies that collide in a state, or None."""


class CandidateChecks:
    """
    The checks of one request: called with a full state, it tells whether constraints hold and nothing collides.

    It keeps the last violated constraint and the last two colliding bodies, for the cause and the text of a failure.
    """

    def __init__(self, constraints: ConstraintCheck | None, colliding: PairFinder | None) -> None:
        """
        Keep the checks.

        :param constraints: constraints of the request; None for no constraints.
        :param colliding: finds two colliding bodies in a state; None if collisions do not matter.
        """
        self.constraints = constraints
        self._colliding = colliding
        self.pair: Sequence[str] | None = None
        """The bodies of the last candidate that kept the constraints and was in collision."""
        self._complaint = ''

    def __call__(self, state: FullState) -> bool:
        """Return whether a full state keeps the constraints and is free of collisions; keep the reason if not."""
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
        """
        Return the cause for a search whose candidates were all refused: CONSTRAINTS or COLLISION.

        It is CONSTRAINTS if a candidate broke a constraint and none collided, else COLLISION.
        """
        if self._complaint and self.pair is None:
            return Cause.CONSTRAINTS
        return Cause.COLLISION

    def cause_of(self, clock_ended: bool) -> Cause:
        """
        Return the cause for a search without a solution whose candidates were all refused.

        :param clock_ended: whether the clock ended the search: then it is DEADLINE, else ``cause``.
        """
        return Cause.DEADLINE if clock_ended else self.cause

    def describe(self) -> str:
        """
        Return a clause that follows the text of ``cause`` in a message; it may be empty.

        If no candidate collided, it tells how the last refused one breaks a constraint. Otherwise it names the two
        bodies of the last candidate that collided, and says whether others broke constraints.
        """
        if self.cause == Cause.CONSTRAINTS:
            return f'; of the last one, {self._complaint}'
        text = ' or breaks the constraints' if self._complaint else ''
        if self.pair is None:
            return text
        return f'{text}, the last one {quote(self.pair[0])} with {quote(self.pair[1])}'
