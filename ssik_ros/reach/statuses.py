"""What is known of a cell of a reach map."""

import enum


class CellStatus(enum.IntEnum):
    """What is known of one pose. REACHABLE and OUT_OF_REACH are facts."""

    NOT_ASKED = 0
    """Outside of the region of the map."""
    REACHABLE = 1
    """A posture within the limits reaches the pose, by forward kinematics of this posture."""
    OUT_OF_REACH = 2
    """No posture within the limits reaches the pose: proved."""
    UNKNOWN = 3
    """The search found no posture, and there is no proof that there is none."""
    COLLIDES = 4
    """Postures within the limits reach the pose, and each that is known collides."""
