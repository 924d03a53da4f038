"""The result of one check of an installation or of a robot's files: a :class:`Finding` with its :class:`Level`."""

from enum import IntEnum
from typing import NamedTuple


class Level(IntEnum):
    """Severity of a finding: FINE, NOTE (works, though perhaps not as meant) or FAULT (does not work)."""

    FINE = 0
    NOTE = 1
    """Works, though perhaps not as meant."""
    FAULT = 2
    """Does not work."""


class Finding(NamedTuple):
    """The result of one check: its level, the checked thing, the result in words, and a remedy."""

    level: Level
    where: str
    """Name of the thing that was checked, such as a file, a group, a named posture or a package."""
    what: str
    """The result in words."""
    mend: str = ''
    """Advice for the user; empty if nothing is wrong."""
