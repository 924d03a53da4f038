"""
Markers that show a mechanism or a task in a viewer, as plain data without ROS.

A viewer converts each marker. An object always has the same namespace and the same number within the namespace, so that
its new marker replaces the old one.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, TURN
from ssik_ros.value_class import dataclass

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, each from 0 to 1."""
ARC_STEP = math.radians(10.0)


def angles_of_arc(lower: float, upper: float) -> FloatArray:
    """
    Return angles along an arc, about ten degrees apart, both ends included; at most a full circle from ``lower`` on.

    :param lower, upper: ends of the arc [rad].
    """
    upper = min(upper, lower + TURN)
    return np.linspace(lower, upper, max(1, math.ceil((upper - lower) / ARC_STEP)) + 1)


@dataclass(frozen=True)
class Marker:
    """
    One shape to draw in a viewer; ``namespace`` and ``number`` together identify it.

    The function that returns it says in which frame its points are.
    """

    namespace: str
    number: int
    shape: str
    """``line_list``, ``sphere``, ``cube``, ``cylinder`` (between two points), ``triangle_list`` or ``text``."""
    color: Color
    """Red, green, blue and opacity, each from 0 to 1."""
    size: float
    """Width of lines, diameter, edge, or height of letters [m]; 0 for triangles."""
    points: NDArray[np.float64]
    """(k, 3) ends of lines by twos, ends of the cylinder, centres, or corners of triangles by threes [m]."""
    text: str = ''
    """The letters of a text; empty for other shapes."""
