"""A reach map as a cloud of points: at each position a value and a colour for a measure of the reachable orientations."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.reach.exports import cloud_to_show, DexterityCloud
from ssik_ros.reach.reach_map import ReachMap
from ssik_ros.reach.store import STATUS
from ssik_ros.view.sessions.posture_session import PostureSession


class ReachPoints(NamedTuple):
    """Positions of a reach map to be drawn, with a value and a colour for each."""

    places: FloatArray
    """(k, 3) in the model frame [m]."""
    values: FloatArray
    """(k,) value of the measure at each position."""
    colours: NDArray[np.uint8]
    """(k, 3) red, green, blue of each position, 0 to 255."""
    top: float
    """The value of the brightest colour."""
    step: float
    """Distance of neighbouring positions [m]."""


class ReachCloud:
    """A reach map placed in the model frame of a robot, which gives its positions as coloured points."""

    def __init__(self, reach: ReachMap, session: PostureSession) -> None:
        """
        Place the map at its base link; its cells are read only when :meth:`points` asks for a measure.

        :param reach: the map.
        :param session: a session of the robot for which the map was made.
        :raises SsikError: if the robot does not have the base link of the map.
        """
        self._reach, self._base = reach, session.tip_pose(reach.chain.base_link)
        self._clouds: dict[str, tuple[DexterityCloud, int]] = {}

    @property
    def measures(self) -> tuple[str, ...]:
        """Return the names of the measures that can colour the points, such as ``dexterity``; the map decides."""
        return self._reach.measures

    def points(self, measure: str, least: float = 0.0) -> ReachPoints:
        """
        Return the points whose value is at least ``least`` times the value of the brightest colour.

        That value is 1 for shares such as dexterity, else the largest finite value. Points are positions with a
        reachable orientation, thinned to a regular grid if there are too many.

        For the measure ``status``, all positions with a mapped orientation that is not out of reach are points, and
        ``least`` does not count.

        :param measure: one of :attr:`measures`.
        :param least: from 0 to 1.
        :raises InvalidOption: for another measure, and for a map that is too large to be read.
        """
        if measure not in self._clouds:
            self._clouds[measure] = cloud_to_show(self._reach, measure)
        cloud, stride = self._clouds[measure]
        kept = np.full(len(cloud.shown), measure == STATUS) | (cloud.shown >= least * cloud.top)
        places = cloud.positions[kept] @ self._base[:3, :3].T + self._base[:3, 3]
        step = stride * float(self._reach.grid.step)
        return ReachPoints(places, cloud.shown[kept], cloud.colours[kept], cloud.top, step)
