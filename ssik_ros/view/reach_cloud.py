"""A reach map as points with values: what is known of the orientations at each position."""

from collections.abc import Callable

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption
from ssik_ros.reach.reach_map import ReachMap
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.view.posture_session import PostureSession

MOST_POINTS = 150_000
"""Points that a page gets; of more, every k-th."""
LARGEST = 200_000_000
"""Cells of a map that is read as a whole."""
SCALE = np.array(((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)))
"""Colours from the lowest to the highest value: even in brightness, and for colour-blind eyes."""
SHARES = {
    'reachable': CellStatus.REACHABLE,
    'proved out of reach': CellStatus.OUT_OF_REACH,
    'unknown': CellStatus.UNKNOWN,
    'colliding': CellStatus.COLLIDES,
}
Values = tuple[FloatArray, FloatArray]
"""Points (k, 3) [m] and their values (k)."""


class ReachCloud:
    """The points of a map in the model frame of a robot."""

    def __init__(self, reach: ReachMap, session: PostureSession) -> None:
        """
        Read which quantities the map has.

        :param reach: the map.
        :param session: of the robot that the map is of; the links of the map place it.
        :raises SsikError: when the robot has no such base link.
        """
        if np.prod(reach.grid.shape, dtype=float) > LARGEST:
            raise InvalidOption(
                f"The map '{reach.path}' has more than {LARGEST} cells, too many for a page."
            )
        self._reach, self.step = reach, float(reach.grid.step)
        self._status = reach.read()
        base = session.tip_pose(reach.chain.base_link)
        places = reach.positions().reshape(-1, 3)
        self._places = places @ base[:3, :3].T + base[:3, 3]
        self._asked = (self._status != CellStatus.NOT_ASKED).any(axis=3).ravel()
        present = np.unique(self._status).tolist()
        self._readers: dict[str, Callable[[], FloatArray]] = {
            f'orientations {name} [%]': self._share(status)
            for name, status in SHARES.items()
            if int(status) in present
        }
        for name in ('branches', 'manipulability', 'limit_margin'):
            if name in reach.attributes.get('arrays', ('branches',)):
                self._readers[f'{name.replace("_", " ")}, largest'] = self._largest(name)

    @property
    def quantities(self) -> tuple[str, ...]:
        """Return the names of what the points can be coloured by."""
        return tuple(self._readers)

    def _share(self, status: CellStatus) -> Callable[[], FloatArray]:
        def read() -> FloatArray:
            share: FloatArray = 100.0 * (self._status == status).mean(axis=3)
            return share

        return read

    def _largest(self, name: str) -> Callable[[], FloatArray]:
        def read() -> FloatArray:
            values = np.where(
                self._status == CellStatus.REACHABLE, self._reach.read(name).astype(float), 0.0
            )
            return np.asarray(np.nan_to_num(values).max(axis=3), dtype=np.float64)

        return read

    def points(self, quantity: str, least: float = 0.0) -> Values:
        """
        Return the points with a value above the least one.

        :param quantity: one of :attr:`quantities`.
        :param least: as a part of the largest value.
        """
        values = self._readers[quantity]().ravel()
        top = float(values.max(initial=0.0))
        kept = np.flatnonzero(self._asked & (values > 0.0) & (values >= least * top))
        kept = kept[:: max(1, -(-len(kept) // MOST_POINTS))]
        return self._places[kept], values[kept]


def colour_values(values: FloatArray) -> np.ndarray:
    """
    Return the colours (k, 3) of values, from zero to the largest one.

    :param values: (k) numbers of at least zero.
    """
    part = values / max(float(values.max(initial=0.0)), 1e-300)
    stops = np.linspace(0.0, 1.0, len(SCALE))
    channels = [np.interp(part, stops, SCALE[:, channel]) for channel in range(3)]
    return np.stack(channels, axis=1).round().astype(np.uint8)
