"""Findings of a check-up: one line for each check."""

from enum import IntEnum
from typing import NamedTuple


class Level(IntEnum):
    """How bad a finding is."""

    FINE = 0
    NOTE = 1
    """Works, though perhaps not as meant."""
    FAULT = 2
    """Does not work."""


class Finding(NamedTuple):
    """One thing that was looked at."""

    level: Level
    where: str
    """File, group, joint or package."""
    what: str
    mend: str = ''
    """What to do about it."""
