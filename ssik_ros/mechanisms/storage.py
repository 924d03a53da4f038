"""
The memory of all frames of a mechanism: numbers such as poses and joint values, and flags, one row for each frame.

:class:`Storage` has the tables, and :func:`gather` moves frames into one. :class:`LiveArray` is an array that users may
change in place.
"""

from collections.abc import Sequence
import threading
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms.names import DOF


def six_from(column: int) -> slice:
    """
    Return the columns of a table that hold one number for each of the six degrees of freedom of a frame.

    :param column: the first of them, such as ``layout.LOWER``.
    """
    return slice(column, column + len(DOF))


class Storage:
    """
    The numbers (``reals``) and ``flags`` of some frames, one row for each frame.

    Numbers are poses, joint values, limits, targets, rest poses and weights; :mod:`ssik_ros.kernels.mechanisms.layout`
    names their columns. Another thread may replace the array ``reals`` by a new one, when a solve applies its result.
    To read several numbers of one state, read the attribute ``reals`` once. To write, hold ``lock``.
    """

    def __init__(self, rows: int = 1) -> None:
        """
        Make tables of frames at the origin, without limits.

        :param rows: number of frames.
        """
        self.lock = threading.RLock()
        self.reals: FloatArray = np.zeros((rows, layout.FRAME_REALS))
        self.flags: IntArray = np.zeros((rows, layout.FRAME_FLAGS), dtype=np.int64)
        self.reals[:, layout.QUATERNION + 3] = 1.0
        self.reals[:, layout.ROTATION + 3] = 1.0
        self.reals[:, six_from(layout.LOWER)] = -np.inf
        self.reals[:, six_from(layout.UPPER)] = np.inf
        self.reals[:, six_from(layout.REST_WEIGHT)] = 1.0
        self.reals[:, layout.TARGET_WEIGHT] = 1.0
        self.stale = False
        """Whether the structure of these frames has changed since it was compiled."""


class LiveArray(np.ndarray):
    """A copy of three or four numbers of a frame; setting items, ``+=``, ``-=`` and ``*=`` write to the frame, too."""

    _write: Any = None

    def _changed(self) -> 'LiveArray':
        if self._write is not None:
            self._write(*self)
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set some of the numbers, in this array and in the frame."""
        super().__setitem__(key, value)
        self._changed()

    def __iadd__(self, other: Any) -> 'LiveArray':  # type: ignore[misc]
        """Add in place, in this array and in the frame."""
        np.ndarray.__iadd__(self, other)
        return self._changed()

    def __isub__(self, other: Any) -> 'LiveArray':  # type: ignore[misc, override]
        """Subtract in place, in this array and in the frame."""
        np.ndarray.__isub__(self, other)
        return self._changed()

    def __imul__(self, other: Any) -> 'LiveArray':  # type: ignore[misc]
        """Multiply in place, in this array and in the frame."""
        np.ndarray.__imul__(self, other)
        return self._changed()


def live(numbers: FloatArray, write: Any) -> LiveArray:
    """Return an array with a copy of ``numbers``; after each change of an item, ``write`` gets the whole array."""
    array = np.array(numbers).view(LiveArray)
    array._write = write
    return array


def frozen(numbers: FloatArray) -> FloatArray:
    """Return a read-only copy of an array."""
    copied = np.array(numbers)
    copied.flags.writeable = False
    return copied


def gather(frames: Sequence[Any]) -> Storage:
    """
    Move the numbers of frames into one new table, row by row in their order, and return it.

    The frames then use the new table; their former tables become stale.

    :param frames: objects with ``_storage`` and ``_row``.
    """
    shared = Storage(len(frames))
    for row, frame in enumerate(frames):
        former = frame._storage
        with former.lock:
            shared.reals[row] = former.reals[frame._row]
            shared.flags[row] = former.flags[frame._row]
            # Another solver that had this frame has to gather anew.
            former.stale = True
            frame._storage, frame._row = shared, row
    return shared
