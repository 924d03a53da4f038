"""Measure each posture of a planned path: distances from joint limits, clearance, and how singular it is."""

from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.paths.penalties import limit_margins
from ssik_ros.paths.planner import ToolPathPlanner
from ssik_ros.paths.requests import ToolPath

LARGEST_CLEARANCE = 0.5
"""Largest distance between bodies that is measured; larger distances count as this [m]."""


class PathMeasures(NamedTuple):
    """
    Limit margins, smallest singular values and clearances of the k postures of a path.

    If the plan failed, the postures are the longest part of a path that was found.
    """

    waypoints: IntArray
    """(k,) index of the waypoint of each posture."""
    positions: FloatArray
    """(k, n) [rad or m]."""
    lower: FloatArray
    """(n,) lower limits, -inf for joints without one [rad or m]."""
    upper: FloatArray
    """(n,) upper limits, +inf for joints without one [rad or m]."""
    units: tuple[str, ...]
    """(n,) ``rad`` or ``m``."""
    margins: FloatArray
    """(k, n) distance from the nearer limit, as a share of the joint's range; infinite if a limit is missing."""
    singular: FloatArray
    """(k,) smallest singular value of the Jacobian, which has lengths in units of the arm's length."""
    clearance: FloatArray | None
    """
    (k,) lower bound on the distance of bodies that joints of the path move towards each other, with meshes as hulls
    [m].

    It is at most ``LARGEST_CLEARANCE``. None if collisions are not checked.
    """


def measure_path(planner: ToolPathPlanner, path: ToolPath) -> PathMeasures:
    """
    Return limit margins, smallest singular values and clearance of each posture of a path.

    :param planner: the planner that made the path.
    :param path: the result of :meth:`ToolPathPlanner.plan`.
    """
    serial, q = planner.chain.chain, np.ascontiguousarray(path.positions)
    clearance = None
    if planner.obstacles is not None and len(q):
        exact = planner.obstacles[1]
        clearance = np.minimum(
            exact.distances(q, LARGEST_CLEARANCE) + exact.distance, LARGEST_CLEARANCE
        )
    return PathMeasures(
        waypoints=path.first_waypoint + np.arange(len(q)),
        positions=q,
        lower=serial.lower,
        upper=serial.upper,
        units=tuple('m' if kind == JointKind.PRISMATIC else 'rad' for kind in serial.kinds),
        margins=limit_margins(serial, q),
        singular=planner.costs.smallest_values(q),
        clearance=clearance,
    )
