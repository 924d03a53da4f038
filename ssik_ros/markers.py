"""
Markers of a mechanism or of a task, as plain data.

A drawing tool converts each marker. Namespace and number of an object's marker never change, so that a new drawing
replaces the old one.
"""

import numpy as np
from numpy.typing import NDArray

from ssik_ros.value_class import dataclass

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, each from 0 to 1."""


@dataclass(frozen=True)
class Marker:
    """One marker to draw: its shape, colour, size and points."""

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
