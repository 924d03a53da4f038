"""
Constraints on a posture as a service receives them: joints near values, points in regions, links near orientations.

:class:`ConstraintsGiven` has all constraints of a request. Names are not looked up yet;
:class:`ssik_ros.server.scene.constraint_check.ConstraintCheck` does this and tests states.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ssik_ros.arrays import FloatArray
from ssik_ros.server.requests.regions import RegionPart


class JointConstraintGiven(NamedTuple):
    """Constraint: a joint is between ``position - below`` and ``position + above`` [rad or m]."""

    joint: str
    """A joint with one variable, or a variable as ``joint/x``."""
    position: float
    """Desired value [rad or m]."""
    above: float
    """Tolerance above the value, at least 0 [rad or m]."""
    below: float
    """Tolerance below the value, at least 0 [rad or m]."""
    weight: float = 1.0
    """Factor of the distance in the verdict; 1 if it is not positive and finite."""


class PositionConstraintGiven(NamedTuple):
    """Constraint: a point of a link lies in a region."""

    link: str
    frame: str
    """Frame of the region; empty for the model frame."""
    point: FloatArray
    """(3,) in the frame of the link [m]."""
    parts: Sequence[RegionPart]
    """Solids whose union is the region."""
    weight: float = 1.0
    """Factor of the distance in the verdict; 1 if it is not positive and finite."""


class OrientationConstraintGiven(NamedTuple):
    """Constraint: the orientation of a link is within tolerances of a given orientation."""

    link: str
    frame: str
    """Frame of the orientation; empty for the model frame."""
    pose: FloatArray
    """(4, 4) pose of which only the rotation is used."""
    tolerances: tuple[float, float, float]
    """Largest deviation about x, y, z, to either side [rad]."""
    is_vector: bool = False
    """Whether the three numbers are a rotation vector rather than angles about x, then y, then z."""
    weight: float = 1.0
    """Factor of the distance in the verdict; 1 if it is not positive and finite."""
    kind: int = 0
    """The number of the parameterization in the message, for error texts."""


class ConstraintsGiven(NamedTuple):
    """All constraints of one request; all of them are to hold at once."""

    joints: Sequence[JointConstraintGiven] = ()
    positions: Sequence[PositionConstraintGiven] = ()
    orientations: Sequence[OrientationConstraintGiven] = ()
    others: Sequence[str] = ()
    """Kinds of constraints in the message that are not understood."""

    @property
    def are_none(self) -> bool:
        """Return whether the request has no constraints."""
        return not any(self)


NO_CONSTRAINTS = ConstraintsGiven()
