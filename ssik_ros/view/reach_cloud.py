"""A reach map as points with values and colours: a measure of the reachable orientations at each position."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.reach.exports import cloud_to_show, DexterityCloud
from ssik_ros.reach.reach_map import ReachMap
from ssik_ros.reach.store import STATUS
from ssik_ros.view.posture_session import PostureSession


class ReachPoints(NamedTuple):
    """Points of a map."""

    places: FloatArray
    """(k, 3) in the model frame [m]."""
    values: FloatArray
    """(k)."""
    colours: NDArray[np.uint8]
    """(k, 3) red, green, blue."""
    top: float
    """The value of the brightest colour."""
    step: float
    """Distance of neighbouring positions [m]."""


class ReachCloud:
    """The points of a map in the model frame of a robot."""

    def __init__(self, reach: ReachMap, session: PostureSession) -> None:
        """
        Place the map; cells are read when a measure is asked for.

        :param reach: the map.
        :param session: of the robot that the map is of; the links of the map place it.
        :raises SsikError: when the robot has no such base link.
        """
        self._reach, self._base = reach, session.tip_pose(reach.chain.base_link)
        self._clouds: dict[str, tuple[DexterityCloud, int]] = {}

    @property
    def measures(self) -> tuple[str, ...]:
        """Return the names of the measures that can colour the points, as for :class:`ReachMap`."""
        return self._reach.measures

    def points(self, measure: str, least: float = 0.0) -> ReachPoints:
        """
        Return the points whose value is at least ``least`` times the largest value; for the status, all points.

        :param measure: one of :attr:`measures`.
        :param least: from 0 to 1.
        :raises InvalidOption: for a map that is too large to be read.
        """
        if measure not in self._clouds:
            self._clouds[measure] = cloud_to_show(self._reach, measure)
        cloud, stride = self._clouds[measure]
        kept = np.full(len(cloud.shown), measure == STATUS) | (cloud.shown >= least * cloud.top)
        places = cloud.positions[kept] @ self._base[:3, :3].T + self._base[:3, 3]
        step = stride * float(self._reach.grid.step)
        return ReachPoints(places, cloud.shown[kept], cloud.colours[kept], cloud.top, step)
