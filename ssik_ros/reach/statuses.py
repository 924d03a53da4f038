"""Possible results for a cell of a reach map, or for a pose that a map is asked about: :class:`CellStatus`."""

import enum


class CellStatus(enum.IntEnum):
    """
    Result for one cell of a reach map, which is one pose of the tip, or for one pose of a query.

    REACHABLE, OUT_OF_REACH and COLLIDES are proved; UNKNOWN means that no posture and no proof was found. NOT_ASKED is
    a cell outside the region, a cell of an unfinished map that is not decided yet, or a queried pose outside the map.
    """

    NOT_ASKED = 0
    """Outside of the region of the map, or not decided yet."""
    REACHABLE = 1
    """A posture within the limits reaches the pose, by forward kinematics; with collisions checked it collides with nothing."""
    OUT_OF_REACH = 2
    """No posture within the limits reaches the pose: proved."""
    UNKNOWN = 3
    """No such posture was found, and it is not proved that none exists."""
    COLLIDES = 4
    """Postures within the limits reach the pose, all of them are known, and each collides."""

    @property
    def words(self) -> str:
        """Return the name as words in lower case for people, such as 'out of reach'."""
        return self.name.lower().replace('_', ' ')


FACTS = (CellStatus.REACHABLE, CellStatus.OUT_OF_REACH, CellStatus.COLLIDES)
"""Statuses that are proved."""
