"""
Marker data: what is to be drawn of a mechanism or of an element of an IK environment.

Markers are plain data; whoever draws them turns each into a marker of his tool. Names and numbers of a marker stay the
same as long as what it stands for does, so that drawing again replaces what was drawn before.
"""

import numpy as np
from numpy.typing import NDArray

from ssik_ros.value_class import dataclass

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, each from 0 to 1."""


@dataclass(frozen=True)
class Marker:
    """One thing to draw."""

    namespace: str
    number: int
    shape: str
    """``line_list``, ``sphere``, ``cube``, ``cylinder`` (between two points), ``triangle_list`` or ``text``."""
    color: Color
    size: float
    """Width of lines, diameter, edge, or height of letters [m]; 0 for triangles."""
    points: NDArray[np.float64]
    """(k, 3) ends of lines by twos, ends of the cylinder, centres, or corners of triangles by threes [m]."""
    text: str = ''
