"""
The poses that tolerances allow at each waypoint, described by nine numbers with a range each.

A pose is waypoint * translation(x, y, z) * tilt * spin * yaw * pitch * roll. A tilt turns the tool axis: its rotation
vector has the two components u and v across the axis, and its length is at most the cone angle. The spin turns about
the tool axis.
"""

from collections.abc import Sequence
import copy
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arguments import read_float, read_numbers
from ssik_ros.arrays import BoolArray, FloatArray, IntArray
from ssik_ros.errors import InvalidOption
from ssik_ros.paths.requests import CommonSpin, PathTolerance
from ssik_ros.paths.rotations import angles_about, roll_pitch_yaw, rotations, tilts_of

X, Y, Z, TILT, TILT_ACROSS, SPIN, ROLL, PITCH, YAW = range(9)
COLUMNS = 9
FULL_TURN = 2.0 * math.pi - 1e-9
"""Range of the spin above which the spin is free [rad]."""
LARGEST_BOX = 10.0
"""Largest distance from a waypoint that a tolerance may allow [m]."""


POSITION, ANGLE = 1e-6, 1e-6
"""Errors that a waypoint may have [m, rad]."""


class PoseMiss(NamedTuple):
    """Distance and angle by which each of k poses is outside the tolerance of its waypoint; 0 inside."""

    position: FloatArray
    """(k,) distance from the box of allowed positions [m]."""
    angle: FloatArray
    """(k,) norm of the angles by which tilt, spin, roll, pitch and yaw are outside their ranges [rad]."""

    @property
    def is_missed(self) -> BoolArray:
        """Return whether each pose misses its waypoint by more than rounding (k,)."""
        return np.asarray((self.position > POSITION) | (self.angle > ANGLE))


class PoseFreedom:
    """
    The tolerances of the tool's pose at all m waypoints: a range for each of nine numbers that describe a pose.

    The numbers are x, y, z [m], two components of the tilt, spin, roll, pitch and yaw [rad], relative to the waypoint.
    ``columns`` has the indices of the numbers that a search may vary. The others are zero, apart from a spin that the
    inverse kinematics finds.
    """

    def __init__(self, tolerances: Sequence[PathTolerance | None], count: int) -> None:
        """
        Store the ranges of all tolerances after a check.

        :param tolerances: one for each waypoint, or one for all; None for an exact pose.
        :param count: number of waypoints.
        :raises InvalidOption: for ranges that make no sense, and for the wrong number of tolerances.
        """
        if len(tolerances) not in (1, count):
            raise InvalidOption(
                f'There are {len(tolerances)} tolerances for {count} waypoints: give one for all, or one for each.'
            )
        kinds = {id(tolerance): tolerance for tolerance in tolerances}
        rows = {key: _ranges(tolerance) for key, tolerance in kinds.items()}
        index = [id(tolerance) for tolerance in tolerances] * (
            count if len(tolerances) == 1 else 1
        )
        self.lower = np.array([rows[key][0] for key in index])
        """(m, COLUMNS) least value of each number [m, rad]; ``upper`` has the largest values."""
        self.upper = np.array([rows[key][1] for key in index])
        self.axes = np.array([rows[key][2] for key in index])
        """(m, 3) tool axis in the tip frame."""
        across = {key: _across(row[2]) for key, row in rows.items()}
        self.across = np.array([across[key] for key in index])
        """(m, 2, 3) two unit axes at right angles to the tool axis, for the components of the tilt."""
        used = (self.lower != 0.0) | (self.upper != 0.0)
        self.columns: IntArray = np.flatnonzero(used.any(axis=0))
        """Indices of the numbers that have a range at some waypoint, or of a part of them."""
        self._used = self.columns

    @property
    def count(self) -> int:
        """Return the number of waypoints."""
        return len(self.lower)

    def without_narrow(self, wide: float) -> 'PoseFreedom | None':
        """
        Return a copy in which a search varies only numbers with wide ranges; numbers with narrow ranges are zero.

        Return None if no range is narrow, or if a narrow range does not contain zero.

        :param wide: ranges up to this width at all waypoints are narrow [rad or m].
        """
        widths = (self.upper - self.lower).max(axis=0)
        narrow = self.columns[widths[self.columns] <= wide]
        is_within = (self.lower[:, narrow] <= 0.0) & (self.upper[:, narrow] >= 0.0)
        if not len(narrow) or not is_within.all():
            return None
        return self._with_columns(self.columns[widths[self.columns] > wide])

    def without_spin(self) -> 'PoseFreedom':
        """Return a copy in which a search does not vary the spin, since the inverse kinematics finds it."""
        return self._with_columns(self.columns[self.columns != SPIN])

    def with_all_numbers(self) -> 'PoseFreedom':
        """
        Return a copy in which a search varies all numbers that have a range.

        It undoes :meth:`without_spin` and :meth:`without_narrow`.
        """
        return self._with_columns(self._used)

    def _with_columns(self, columns: IntArray) -> 'PoseFreedom':
        """
        Return a copy in which a search varies only the numbers of the tool's pose with the indices ``columns``.

        The other numbers of the nine are zero, apart from a spin that the inverse kinematics finds.
        """
        freedom = copy.copy(self)
        freedom.columns = columns
        return freedom

    def cell_sizes(self, halves: FloatArray) -> FloatArray:
        """
        Return bounds (k, 2) on the distance [m] and the angle [rad] between any pose of a cell and its middle pose.

        A cell holds all poses whose numbers are within half widths of the middle pose's numbers.

        :param halves: (k, c) half widths of each cell, one for each of the c numbers in ``columns`` [m or rad].
        """
        numbers = np.zeros((len(halves), COLUMNS))
        numbers[:, self.columns] = halves
        distances = np.linalg.norm(numbers[:, :TILT], axis=1)
        tilts = np.linalg.norm(numbers[:, TILT:SPIN], axis=1)
        return np.stack([distances, tilts + numbers[:, SPIN:].sum(axis=1)], axis=1)

    @property
    def common_spin(self) -> CommonSpin | None:
        """Return the spin that all waypoints allow; None if its axis or its range differ, or if the spin may not vary."""
        low, high = self.lower[:, SPIN], self.upper[:, SPIN]
        differences = np.ptp(low) + np.ptp(high) + np.ptp(self.axes, axis=0).max()
        if SPIN not in self.columns or differences > 0.0:
            return None
        if self.is_free_spin(SPIN):
            return CommonSpin(self.axes[0], -math.inf, math.inf)
        return CommonSpin(self.axes[0], float(low[0]), float(high[0]))

    def is_free_spin(self, column: int) -> bool:
        """
        Return whether a number of the pose is the spin, and the spin may have any angle at every waypoint.

        :param column: index of the number: X, Y, Z, TILT, TILT_ACROSS, SPIN, ROLL, PITCH or YAW of this module.
        """
        widths = self.upper[:, SPIN] - self.lower[:, SPIN]
        return column == SPIN and bool((widths >= FULL_TURN).all())

    def poses(self, waypoints: FloatArray, rows: IntArray, values: FloatArray) -> FloatArray:
        """
        Return the poses (k, 4, 4) that result from waypoints and values of the c numbers in ``columns``.

        :param waypoints: (k, 4, 4) poses of the waypoints.
        :param rows: (k,) index of each waypoint, which selects the tool axis.
        :param values: (k, c) values of ``columns`` [m or rad].
        """
        if not len(self.columns):
            return waypoints
        numbers = np.zeros((COLUMNS, len(rows)))
        numbers[self.columns] = values.T
        motion = np.tile(np.eye(4), (len(rows), 1, 1))
        motion[:, :3, 3] = numbers[:3].T
        motion[:, :3, :3] = self._rotations(rows, numbers)
        return waypoints @ motion

    def _rotations(self, rows: IntArray, numbers: FloatArray) -> FloatArray:
        """
        Return the rotations (k, 3, 3) tilt * spin * yaw * pitch * roll, relative to the waypoints.

        :param rows: (k,) index of each waypoint, which selects the tool axis.
        :param numbers: (COLUMNS, k) the nine numbers of each pose [m, rad].
        """
        parts = []
        if {TILT, TILT_ACROSS}.intersection(self.columns.tolist()):
            tilts = np.einsum('ck,kci->ki', numbers[[TILT, TILT_ACROSS]], self.across[rows])
            parts.append(rotations(tilts))
        if SPIN in self.columns:
            parts.append(rotations(numbers[SPIN][:, None] * self.axes[rows]))
        for column, axis in ((YAW, 2), (PITCH, 1), (ROLL, 0)):
            if column in self.columns:
                parts.append(rotations(numbers[column][:, None] * np.eye(3)[axis]))
        turned = np.tile(np.eye(3), (len(rows), 1, 1)) if not parts else parts[0]
        for part in parts[1:]:
            turned = turned @ part
        return turned

    def clip(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """
        Return values of the c numbers in ``columns``, clipped to their ranges; tilts are shortened to the cone angle.

        A free spin is not clipped.

        :param rows: (k,) index of each waypoint.
        :param values: (k, ..., c) values of ``columns`` [m or rad].
        """
        shape = (len(rows), *(1,) * (values.ndim - 2), len(self.columns))
        low, high = (
            ends[rows][:, self.columns].reshape(shape) for ends in (self.lower, self.upper)
        )
        is_free = [self.is_free_spin(int(column)) for column in self.columns]
        values = np.where(is_free, values, np.clip(values, low, high))
        if TILT in self.columns:
            at = int(np.flatnonzero(self.columns == TILT)[0])
            cones = self.upper[rows, TILT].reshape(shape[:-1])
            lengths = np.hypot(values[..., at], values[..., at + 1])
            values[..., at : at + 2] *= (cones / np.maximum(lengths, np.maximum(cones, 1e-300)))[
                ..., None
            ]
        return values

    def numbers_of(self, rows: IntArray, waypoints: FloatArray, reached: FloatArray) -> FloatArray:
        """
        Return nine numbers (k, COLUMNS) for each given pose relative to its waypoint [m, rad].

        They are x, y, z, two components of the tilt, spin, roll, pitch, yaw. If the waypoint has ranges of roll, pitch
        or yaw, these give the rotation, and tilt and spin are zero; otherwise tilt and spin give the rotation, and
        roll, pitch and yaw are zero.

        :param rows: (k,) index of each waypoint.
        :param waypoints, reached: (k, 4, 4) waypoints and given poses.
        """
        numbers = np.zeros((len(rows), COLUMNS))
        between = np.swapaxes(waypoints[:, :3, :3], 1, 2)
        numbers[:, :3] = np.einsum('kij,kj->ki', between, reached[:, :3, 3] - waypoints[:, :3, 3])
        turned = between @ reached[:, :3, :3]
        has_rpy = (self.upper[rows, ROLL:] != 0.0) | (self.lower[rows, ROLL:] != 0.0)
        is_rpy = has_rpy.any(axis=1)
        numbers[is_rpy, ROLL:] = roll_pitch_yaw(turned[is_rpy])
        axes = self.axes[rows]
        tilts = tilts_of(axes, turned)
        spun = np.swapaxes(rotations(tilts), 1, 2) @ turned
        numbers[~is_rpy, TILT : TILT + 2] = np.einsum('kci,ki->kc', self.across[rows], tilts)[
            ~is_rpy
        ]
        numbers[~is_rpy, SPIN] = angles_about(axes, spun)[~is_rpy]
        return numbers

    def values_of(self, row: int, waypoint: FloatArray, reached: FloatArray) -> FloatArray:
        """
        Return the values (c,) of the numbers in ``columns`` for a given pose relative to its waypoint [m or rad].

        :param row: index of the waypoint.
        :param waypoint, reached: (4, 4) the waypoint and the given pose.
        """
        numbers = self.numbers_of(np.array([row]), waypoint[None], reached[None])
        return np.asarray(numbers[0, self.columns])

    def miss(
        self,
        rows: IntArray,
        waypoints: FloatArray,
        reached: FloatArray,
        room: IntArray | None = None,
    ) -> PoseMiss:
        """
        Return the distance [m] and the angle [rad] by which poses are outside their tolerances; 0 inside.

        :param rows: (k,) index of the waypoint whose ranges are used.
        :param waypoints, reached: (k, 4, 4) waypoints and given poses.
        :param room: (k,) index of a second waypoint for each pose: its ranges are allowed too, as for poses between two
            waypoints. None uses only the first.
        """
        low, high = self.lower[rows], self.upper[rows]
        if room is not None:
            low, high = np.minimum(low, self.lower[room]), np.maximum(high, self.upper[room])
        numbers = self.numbers_of(rows, waypoints, reached)
        tilts = np.hypot(numbers[:, TILT], numbers[:, TILT_ACROSS])
        numbers[:, TILT_ACROSS] = 0.0
        numbers[:, TILT] = tilts
        outside = np.maximum(np.maximum(low - numbers, numbers - high), 0.0)
        is_free = high[:, SPIN] - low[:, SPIN] >= FULL_TURN
        # The same spin a turn further may be within the range.
        for turn in (-2.0 * math.pi, 2.0 * math.pi):
            spin = numbers[:, SPIN] + turn
            other = np.maximum(np.maximum(low[:, SPIN] - spin, spin - high[:, SPIN]), 0.0)
            outside[:, SPIN] = np.minimum(outside[:, SPIN], other)
        outside[is_free, SPIN] = 0.0
        return PoseMiss(
            np.linalg.norm(outside[:, :3], axis=1), np.linalg.norm(outside[:, TILT:], axis=1)
        )


def _ranges(tolerance: PathTolerance | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """
    Return lower and upper ends (COLUMNS,) of the ranges of a tolerance [m, rad], and its unit tool axis (3,).

    The ranges are of x, y, z, two components of the tilt, spin, roll, pitch and yaw. None is an exact pose. Raise
    InvalidOption for ranges that make no sense.
    """
    ranges = tolerance if tolerance is not None else PathTolerance()
    lower, upper = np.zeros(COLUMNS), np.zeros(COLUMNS)
    box = read_numbers('position', ranges.position)
    if box.shape != (2, 3):
        raise InvalidOption(f'position takes two corners of a box, not {ranges.position!r}.')
    lower[:3], upper[:3] = box
    for column, name in ((SPIN, 'spin'), (ROLL, 'roll'), (PITCH, 'pitch'), (YAW, 'yaw')):
        values = read_numbers(name, getattr(ranges, name))
        if values.shape != (2,):
            raise InvalidOption(f'{name} takes two angles [rad], not {getattr(ranges, name)!r}.')
        lower[column], upper[column] = values
    cone = read_float('cone', ranges.cone)
    upper[TILT : TILT + 2], lower[TILT : TILT + 2] = cone, -cone
    if not (np.isfinite(lower).all() and np.isfinite(upper).all() and (lower <= upper).all()):
        raise InvalidOption('Ranges of a tolerance are finite and in ascending order.')
    if np.abs([lower, upper]).max() > LARGEST_BOX:
        raise InvalidOption(f'Ranges of a tolerance stay below {LARGEST_BOX:g} [m, rad].')
    if not 0.0 <= cone < math.pi:
        raise InvalidOption(f'cone takes an angle from 0 to below pi [rad], not {cone!r}.')
    if np.abs([lower[PITCH], upper[PITCH]]).max() >= 0.5 * math.pi:
        raise InvalidOption('pitch stays below a quarter turn; put the waypoint elsewhere.')
    is_rpy = bool(lower[ROLL:].any() or upper[ROLL:].any())
    if is_rpy and (lower[TILT:ROLL].any() or upper[TILT:ROLL].any()):
        raise InvalidOption('A tolerance has spin and cone, or roll, pitch and yaw; not both.')
    if upper[SPIN] - lower[SPIN] >= FULL_TURN:
        lower[SPIN], upper[SPIN] = -math.pi, math.pi
    return lower, upper, unit(ranges.axis)


def unit(axis: Sequence[float]) -> FloatArray:
    """
    Return an axis (3,) scaled to length 1.

    :param axis: three numbers.
    :raises InvalidOption: for an axis without direction.
    """
    vector = read_numbers('The tool axis', axis)
    length = float(np.linalg.norm(vector)) if vector.shape == (3,) else 0.0
    if not 1e-9 < length < math.inf:
        raise InvalidOption(f'The tool axis takes three numbers with a direction, not {axis!r}.')
    return vector / length


def _across(axis: FloatArray) -> FloatArray:
    """Return two unit axes (2, 3) that are perpendicular to a unit axis and to each other."""
    first = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(axis, first)])
