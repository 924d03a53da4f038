"""Check postures of the two arms of a work cell for collisions with the other arm."""

from collections.abc import Sequence

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.model.collision.checks import import_coal
from ssik_ros.model.collision.scene import find_touching_links, PlacedLinks
from ssik_ros.reach.placement import PlacedArm


class ArmPair:
    """
    Two arms at given places of a work cell; checks each new posture of one arm against the other arm.

    While one arm works, the other arm waits in its rest posture. If one of the arms has no rest posture, both may work
    at the same time. Then each accepted posture of one arm must not collide with any accepted posture of the other.
    Links that no joint moves are always checked.
    """

    def __init__(self, arms: Sequence[PlacedArm], places: Sequence[FloatArray]) -> None:
        """
        Place both arms in the cell; no posture is accepted yet.

        :param arms: two arms that have collision geometry.
        :param places: for each arm, the coordinates (6,) of its base: x, y, z [m], roll, pitch, yaw [rad].
        """
        self._arms, self._places, self._coal = arms, places, import_coal()
        self._accepted: tuple[list[PlacedLinks], ...] = ([], [])
        self._standing = [
            _fixed_links(arm.place_links(place, _middle(arm)))
            if arm.rest is None
            else arm.place_links(place, arm.rest)
            for arm, place in zip(arms, places, strict=True)
        ]
        """Links of the arms while they do nothing."""

    def at_rest(self) -> tuple[str, str] | None:
        """
        Return a link of each arm that collide while both arms wait, or None.

        For an arm without a rest posture, only links that no joint moves are checked.
        """
        first, second = self._standing
        return find_touching_links(first, second, self._coal)

    def accept(self, arm: int, q: FloatArray) -> tuple[str, str] | None:
        """
        Accept a posture of one arm if it does not collide with the other arm, and return None.

        Otherwise return a link of this arm and a link of the other arm that collide; nothing is stored then.

        :param arm: index of the arm, 0 or 1.
        :param q: (n,) posture.
        """
        other = 1 - arm
        placed_links = self._arms[arm].place_links(self._places[arm], q)
        obstacles = [self._standing[other]]
        if self._arms[arm].rest is None or self._arms[other].rest is None:
            obstacles += self._accepted[other]
        for links in obstacles:
            pair = find_touching_links(placed_links, links, self._coal)
            if pair is not None:
                return pair
        self._accepted[arm].append(placed_links)
        return None


def _middle(arm: PlacedArm) -> FloatArray:
    """Return the posture (n,) of an arm that is nearest to zero within the limits."""
    return np.clip(np.zeros(len(arm.chain.lower)), arm.chain.lower, arm.chain.upper)


def _fixed_links(placed: PlacedLinks) -> PlacedLinks:
    """Return the links of a placed arm that no joint moves."""
    kept = [k for k, shape in enumerate(placed.shapes) if shape.carrier < 0]
    _, *arrays = placed
    return PlacedLinks(tuple(placed.shapes[k] for k in kept), *(array[kept] for array in arrays))
