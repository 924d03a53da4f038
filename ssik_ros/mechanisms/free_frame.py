"""Frames with up to six degrees of freedom, their values and their limits."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssik_ros.arguments import as_integer, read_choice, read_float, read_numbers, shown
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import DimensionMismatch, InvalidLimits, InvalidOption, InvalidTarget
from ssik_ros.kernels.geometry.rotations import (
    matrix_of_quaternion,
    matrix_of_rpy,
    pose_matrix,
    quaternion_of_matrix,
    rpy_of_matrix,
)
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms.frame import Frame
from ssik_ros.mechanisms.names import DOF, DOF_NAMES, read_dof
from ssik_ros.mechanisms.storage import frozen, six_from

ANGLES = (DOF.EX, DOF.EY, DOF.EZ)
ROTATIONS = ('euler', 'quaternion')


def six_numbers(start: int, text: str) -> property:
    """
    Return a read-only property: six consecutive numbers of a frame in its table, one for each degree of freedom.

    :param start: column of the first number in the table.
    :param text: docstring of the property.
    """
    return property(lambda frame: frozen(frame._read(start, 6)), doc=text)


class FreeFrame(Frame):
    """
    A frame that moves: a fixed pose in the parent, followed by up to six degrees of freedom with values and limits.

    After the fixed pose comes Trans(x, y, z) Rz(ez) Ry(ey) Rx(ex). A method raises InvalidOption for an argument of a
    wrong type, unless it names another error.
    """

    def __init__(self, name: str = '') -> None:
        """
        Make a frame without degrees of freedom.

        :param name: for messages, results and markers.
        """
        super().__init__(name)
        self._dof: tuple[DOF, ...] = ()
        self._rotation = 'euler'
        self._followed: dict[DOF, tuple[FreeFrame, DOF, float, float]] = {}
        """Leader, its degree of freedom, multiplier and offset of each degree of freedom that follows another one."""

    # Degrees of freedom.

    @property
    def dof(self) -> tuple[DOF, ...]:
        """The free degrees of freedom, ascending."""
        return self._dof

    @property
    def dof_flags(self) -> NDArray[np.uint8]:
        """(6,) 1 for each free degree of freedom."""
        flags = np.zeros(6, dtype=np.uint8)
        flags[list(self._dof)] = 1
        flags.flags.writeable = False
        return flags

    def set_dof(self, *dof: DOF) -> None:
        """
        Choose the free degrees of freedom, and reset the numbers of all six.

        Values, targets and rest poses become 0, limits infinite, nothing is locked, and no degree of freedom of this
        frame follows a leader. Weights stay, and so do ``target_set`` and ``rest_pose_set``.

        :param dof: in the order X, Y, Z, EX, EY, EZ, each at most once.
        :raises InvalidOption: if they are unknown, repeated or in another order.
        """
        is_valid = all(
            (number := as_integer(d)) is not None and 0 <= number < len(DOF) for d in dof
        )
        if not is_valid or any(a >= b for a, b in pairwise(dof)):
            text = f'Degrees of freedom must be among {DOF_NAMES}, ascending, each once: dof is {shown(dof)}.'
            raise InvalidOption(text, value=dof)
        self._dof = tuple(DOF(d) for d in dof)
        self._followed = {}
        if len(set(ANGLES) & set(self._dof)) < 3:
            self._rotation = 'euler'
        with self._storage.lock:
            row = self._storage.reals[self._row]
            row[layout.VALUES : layout.LOWER] = 0.0
            row[layout.ROTATION + 3] = 1.0
            row[six_from(layout.LOWER)] = -np.inf
            row[six_from(layout.UPPER)] = np.inf
            self._storage.flags[self._row, six_from(layout.LOCKED)] = 0
        self._restructured()

    def clear_dof(self) -> None:
        """Make this joint rigid: remove all degrees of freedom."""
        self.set_dof()

    @property
    def rotation(self) -> str:
        """
        How three free angles are stored: ``euler``, or ``quaternion`` (a ball joint, never singular).

        Setting ``quaternion`` raises InvalidOption unless EX, EY and EZ are free, have no limits and follow no leader.
        """
        return self._rotation

    @rotation.setter
    def rotation(self, kind: str) -> None:
        read_choice('rotation', kind, ROTATIONS)
        if kind == 'quaternion':
            angles = [d for d in self._dof if d in ANGLES]
            limited = np.isfinite(self._read(layout.LOWER, 12).reshape(2, 6)[:, 3:]).any()
            followed = any(d in self._followed for d in angles)
            if len(angles) < 3 or limited or followed:
                text = (
                    f'{self!r} can be a ball with EX, EY and EZ free, without limits and leaders.'
                )
                raise InvalidOption(text, joint=self)
        self._rotation = kind
        self._restructured()

    @property
    def dof_quaternion(self) -> FloatArray:
        """
        The rotation of the degrees of freedom as x, y, z, w; setting it also sets the three angles.

        The angles are clamped into their limits, and the property then returns the clamped rotation.

        Setting raises InvalidOption unless EX, EY and EZ are free and follow no leader, and for values that are not
        real numbers. Angles before one with a leader are then set already. It raises InvalidTarget unless four finite
        numbers with a norm of at least 1e-9 are given.
        """
        return frozen(quaternion_of_matrix(self.matrix_dof[:3, :3]))

    @dof_quaternion.setter
    def dof_quaternion(self, quaternion: ArrayLike) -> None:
        values = read_numbers('dof_quaternion', quaternion).ravel()
        norm = np.linalg.norm(values)
        if values.size != 4 or not np.isfinite(norm) or norm < 1e-9:
            raise InvalidTarget(
                f'dof_quaternion has four numbers, not {shown(quaternion)}.', value=values
            )
        if not set(ANGLES) <= set(self._dof):
            raise InvalidOption(f'{self!r} does not have all three angles free.', joint=self)
        angles = rpy_of_matrix(matrix_of_quaternion(values))
        for dof, angle in zip(ANGLES, angles, strict=True):
            self.set_dof_value(dof, angle)
        self._write(layout.ROTATION, values / norm)

    @property
    def matrix_dof(self) -> FloatArray:
        """The (4, 4) transform of the degrees of freedom."""
        row = self._storage.reals[self._row]
        values = row[six_from(layout.VALUES)]
        if self._rotation == 'quaternion':
            rotation = matrix_of_quaternion(row[layout.ROTATION : layout.ROTATION + 4])
        else:
            rotation = matrix_of_rpy(*values[3:])
        return frozen(pose_matrix(values[:3], rotation))

    # Six numbers each; zero or infinite if a degree of freedom is not free.

    dof_values = six_numbers(layout.VALUES, '(6,) values [m, rad].')
    min_dof_limit = six_numbers(layout.LOWER, '(6,) lower limits.')
    max_dof_limit = six_numbers(layout.UPPER, '(6,) upper limits.')

    def _check_free(self, dof: int) -> DOF:
        if as_integer(dof) not in self._dof:
            names = ', '.join(d.name for d in self._dof) or 'none'
            text = f'dof {shown(dof)} is not free in {self!r}; free are: {names}.'
            raise InvalidOption(text, joint=self, dof=dof)
        return DOF(dof)

    @staticmethod
    def _check_number(what: str, value: float, infinite: bool = False) -> float:
        number = read_float(what, value)
        if np.isnan(number) or (np.isinf(number) and not infinite):
            raise InvalidTarget(f'{what} must be a number, not {value}.', value=value)
        return number

    def _for_each(self, change: Callable[[DOF, float], Any], values: Sequence[float]) -> list[Any]:
        """
        Call a function with each free degree of freedom and its value; return the list of results.

        :param change: the function; an exception in it ends the calls and propagates.
        :param values: one for each free degree of freedom.
        :raises DimensionMismatch: for another number of values.
        """
        if len(values) != len(self._dof):
            text = f'{self!r} has {len(self._dof)} degrees of freedom, not {len(values)}.'
            raise DimensionMismatch(text, joint=self, values=values)
        return [change(dof, value) for dof, value in zip(self._dof, values, strict=True)]

    def set_dof_value(self, dof: DOF, value: float) -> bool:
        """
        Set the value of one degree of freedom, clamped into the limits [m or rad].

        :returns: whether the given value is at or beyond a limit.
        :raises InvalidOption: when the degree of freedom is not free, or follows another one.
        :raises InvalidTarget: when the value is not finite.
        """
        dof = self._check_free(dof)
        number = self._check_number('value', value)
        if dof in self._followed:
            raise InvalidOption(
                f'{dof.name} of {self!r} follows another one.', joint=self, dof=dof
            )
        low, high = self._limits(dof)
        self._write(layout.VALUES + dof, min(max(number, low), high))
        if dof >= DOF.EX:
            self._update_quaternion()
        return number <= low or number >= high

    def _update_quaternion(self) -> None:
        """Compute the stored quaternion from the three angles."""
        rotation = matrix_of_rpy(*self._read(layout.VALUES + 3, 3))
        self._write(layout.ROTATION, quaternion_of_matrix(rotation))

    def _number(self, column: int) -> float:
        return float(self._storage.reals[self._row, column])

    def _limits(self, dof: DOF) -> tuple[float, float]:
        return self._number(layout.LOWER + dof), self._number(layout.UPPER + dof)

    def set_dof_values(self, *values: float) -> bool:
        """
        Set the values of all free degrees of freedom, clamped into the limits.

        Return whether one of the given values is at or beyond a limit.

        :param values: as many as there are free degrees of freedom [m or rad].
        :raises DimensionMismatch: for another number of values.
        :raises InvalidOption: if a degree of freedom follows another one; the values before the wrong one are set.
        :raises InvalidTarget: if a value is not finite; the values before the wrong one are set.
        """
        return any(self._for_each(self.set_dof_value, values))

    def get_dof_value(self, dof: DOF) -> float:
        """
        Return the value of one degree of freedom [m or rad]; 0 if it is not free.

        :raises InvalidOption: for an unknown degree of freedom.
        """
        return self._number(layout.VALUES + read_dof(dof))

    def set_min_limit(self, dof: DOF, value: float) -> bool:
        """
        Set one lower limit [m or rad], clamp the value into the limits, and return whether the value is at a limit.

        The value of a degree of freedom that follows a leader is not clamped.

        :param value: the limit; -inf for none.
        :raises InvalidLimits: if the limit is above the upper limit, or inf.
        :raises InvalidTarget: if the limit is NaN.
        :raises InvalidOption: if the limit is not a number, or the degree of freedom is not free. Also for a finite
            limit of an angle of a ball joint.
        """
        return self._set_limit(dof, value, self.get_max_limit(dof))

    def set_max_limit(self, dof: DOF, value: float) -> bool:
        """
        Set one upper limit [m or rad], clamp the value into the limits, and return whether the value is at a limit.

        The value of a degree of freedom that follows a leader is not clamped.

        :param value: the limit; inf for none.
        :raises InvalidLimits: if the limit is below the lower limit, or -inf.
        :raises InvalidTarget: if the limit is NaN.
        :raises InvalidOption: if the limit is not a number, or the degree of freedom is not free. Also for a finite
            limit of an angle of a ball joint.
        """
        return self._set_limit(dof, self.get_min_limit(dof), value)

    def set_limits(self, dof: DOF, low: float, high: float) -> bool:
        """
        Set both limits of one degree of freedom, clamp the value into them, and return whether the value is at a limit.

        The value of a degree of freedom that follows a leader is not clamped.

        :param low, high: limits [m or rad]; -inf or inf for none.
        :raises InvalidLimits: if ``low`` is above ``high``, if ``low`` is inf, or if ``high`` is -inf.
        :raises InvalidTarget: if a limit is NaN.
        :raises InvalidOption: if a limit is not a number, or the degree of freedom is not free. Also for a finite limit
            of an angle of a ball joint.
        """
        return self._set_limit(dof, low, high)

    def _set_limit(self, dof: DOF, low: float, high: float) -> bool:
        dof = self._check_free(dof)
        low, high = (
            self._check_number(name, v, infinite=True)
            for name, v in (('low', low), ('high', high))
        )
        if low > high or low == np.inf or high == -np.inf:
            text = f'{dof.name} of {self!r}: the limits {low} and {high} leave no range.'
            raise InvalidLimits(text, joint=self, dof=dof)
        if self._rotation == 'quaternion' and dof >= DOF.EX and np.isfinite([low, high]).any():
            text = f'{self!r} is a ball: limits of angles need rotation = "euler".'
            raise InvalidOption(text, joint=self, dof=dof)
        self._write(layout.LOWER + dof, low)
        self._write(layout.UPPER + dof, high)
        value = self.get_dof_value(dof)
        if dof not in self._followed and not low <= value <= high:
            return self.set_dof_value(dof, value)
        return value in (low, high)

    def set_min_limits(self, *values: float) -> None:
        """
        Set the lower limits of all free degrees of freedom; clamp their values at once.

        :param values: as many limits as there are free degrees of freedom [m or rad].
        :raises DimensionMismatch: for another number of limits.
        :raises InvalidLimits: when a limit is above the upper limit, or inf; the limits before it are set.
        :raises InvalidTarget: for NaN; the limits before it are set.
        :raises InvalidOption: when a limit is not a number, or an angle of a ball joint gets a finite limit; the limits
            before it are set.
        """
        self._for_each(self.set_min_limit, values)

    def set_max_limits(self, *values: float) -> None:
        """
        Set the upper limits of all free degrees of freedom; clamp their values at once.

        :param values: as many limits as there are free degrees of freedom [m or rad].
        :raises DimensionMismatch: for another number of limits.
        :raises InvalidLimits: when a limit is below the lower limit, or -inf; the limits before it are set.
        :raises InvalidTarget: for NaN; the limits before it are set.
        :raises InvalidOption: when a limit is not a number, or an angle of a ball joint gets a finite limit; the limits
            before it are set.
        """
        self._for_each(self.set_max_limit, values)

    def get_min_limit(self, dof: DOF) -> float:
        """
        Return the lower limit of one degree of freedom [m or rad]; -inf without a limit.

        :raises InvalidOption: for an unknown degree of freedom.
        """
        return self._number(layout.LOWER + read_dof(dof))

    def get_max_limit(self, dof: DOF) -> float:
        """
        Return the upper limit of one degree of freedom [m or rad]; inf without a limit.

        :raises InvalidOption: for an unknown degree of freedom.
        """
        return self._number(layout.UPPER + read_dof(dof))
