"""
Frames whose degrees of freedom a solver moves, with targets, rest poses, locks and weights for them.

A target is a value to be reached, weighted against closures and goals. A rest pose is a value that is preferred if
freedom is left.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ssik_ros.arguments import read_flag, read_float
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms.free_frame import ANGLES, FreeFrame, six_numbers
from ssik_ros.mechanisms.names import DOF, read_dof


def _flag(column: int, text: str) -> property:
    """
    Return a property that reads and sets a boolean flag of a frame.

    :param column: column of the flag in the table.
    :param text: docstring of the property.
    """
    return property(
        lambda frame: bool(frame._storage.flags[frame._row, column]),
        lambda frame, value: frame._set_flag(column, value),
        doc=text,
    )


class GuidedFrame(FreeFrame):
    """
    A frame that moves, with targets, rest poses, locks and weights of its degrees of freedom, for the solver.

    A method raises InvalidOption for an argument of a wrong type.
    """

    dof_target = six_numbers(layout.TARGET, '(6,) targets.')
    dof_rest_pose = six_numbers(layout.REST, '(6,) rest pose.')

    def set_target_value(self, dof: DOF, value: float) -> bool:
        """
        Set the target of one degree of freedom: a value that the solver tries to reach [m or rad].

        The solver heeds targets only while ``target_set`` is True.

        :returns: whether the value is at or beyond a limit; a solve clamps it to the limit.
        :raises InvalidOption: if the degree of freedom is not free.
        :raises InvalidTarget: for a value that is not finite.
        """
        return self._set_wanted(layout.TARGET, dof, value)

    def set_target_values(self, *values: float) -> bool:
        """
        Set the targets of all free degrees of freedom: values that the solver tries to reach [m or rad].

        :returns: whether one of the values is at or beyond a limit; a solve clamps it to the limit.
        :raises DimensionMismatch: for another number of values than of free degrees of freedom.
        :raises InvalidTarget: for a value that is not finite; the values before it are set.
        """
        return any(self._for_each(self.set_target_value, values))

    def get_target_value(self, dof: DOF) -> float:
        """
        Return the target of one degree of freedom [m or rad]; 0 before it is set.

        :raises InvalidOption: for an unknown degree of freedom.
        """
        return self._number(layout.TARGET + read_dof(dof))

    def set_rest_pose_value(self, dof: DOF, value: float) -> bool:
        """
        Set the value that the solver prefers in one degree of freedom if freedom is left [m or rad].

        The solver heeds rest values only while ``rest_pose_set`` is True.

        :returns: whether the value is at or beyond a limit; a solve clamps it to the limit.
        :raises InvalidOption: if the degree of freedom is not free.
        :raises InvalidTarget: for a value that is not finite.
        """
        return self._set_wanted(layout.REST, dof, value)

    def set_rest_pose_values(self, *values: float) -> bool:
        """
        Set the values that the solver prefers in all free degrees of freedom if freedom is left [m or rad].

        :returns: whether one of the values is at or beyond a limit; a solve clamps it to the limit.
        :raises DimensionMismatch: for another number of values than of free degrees of freedom.
        :raises InvalidTarget: for a value that is not finite; the values before it are set.
        """
        return any(self._for_each(self.set_rest_pose_value, values))

    def get_rest_pose_value(self, dof: DOF) -> float:
        """
        Return the value that the solver prefers in one degree of freedom [m or rad]; 0 before it is set.

        :raises InvalidOption: for an unknown degree of freedom.
        """
        return self._number(layout.REST + read_dof(dof))

    def _set_wanted(self, start: int, dof: DOF, value: float) -> bool:
        dof = self._check_free(dof)
        number = self._check_number('value', value)
        self._write(start + dof, number)
        low, high = self._limits(dof)
        return number <= low or number >= high

    # Flags and weights.

    def _set_flag(self, place: int, value: Any) -> None:
        with self._storage.lock:
            self._storage.flags[self._row, place] = read_flag('The flag', value)

    target_set = _flag(
        layout.TARGET_SET, 'Whether the solver moves the values towards the targets.'
    )
    rest_pose_set = _flag(
        layout.REST_SET,
        'Whether the solver moves the values towards the rest pose where closures and goals leave room.',
    )
    track_wrap = _flag(
        layout.TRACK_WRAP,
        'Whether targets and rest poses of angles are exact, not equal modulo 2 pi.',
    )

    @property
    def locked(self) -> bool:
        """
        Whether the solver moves no degree of freedom of this joint; setting it locks or unlocks all.

        It is True for a joint without degrees of freedom.
        """
        return bool(self._storage.flags[self._row, list(self._dof)].all())

    @locked.setter
    def locked(self, value: bool) -> None:
        self.lock(*self._dof) if read_flag('locked', value) else self.unlock(*self._dof)

    @property
    def locked_dof(self) -> tuple[DOF, ...]:
        """The degrees of freedom that the solver does not move."""
        return tuple(d for d in self._dof if self._storage.flags[self._row, layout.LOCKED + d])

    def lock(self, *dof: DOF) -> None:
        """
        Lock degrees of freedom at their present values; the three angles of a ball joint are locked together.

        Raise InvalidOption if one of them is not free; nothing is locked then.
        """
        self._lock(dof, True)

    def unlock(self, *dof: DOF) -> None:
        """
        Unlock degrees of freedom; the three angles of a ball joint are unlocked together.

        Raise InvalidOption if one of them is not free; nothing is unlocked then.
        """
        self._lock(dof, False)

    def _lock(self, dof: Iterable[DOF], value: bool) -> None:
        chosen = {self._check_free(d) for d in dof}
        if self._rotation == 'quaternion' and chosen & set(ANGLES):
            chosen |= set(ANGLES)
        for d in chosen:
            self._set_flag(layout.LOCKED + d, value)

    @property
    def target_weight(self) -> float:
        """
        Weight of this joint's targets in the cost of a solve, relative to closures and goals; 1 by default.

        Setting it raises InvalidOption for a number that is negative or not finite.
        """
        return self._number(layout.TARGET_WEIGHT)

    @target_weight.setter
    def target_weight(self, value: float) -> None:
        self._write(layout.TARGET_WEIGHT, self._check_weight(value))

    def set_rest_pose_weights(self, *values: float) -> None:
        """
        Set how strongly the solver prefers the rest value of each free degree of freedom; 1 by default.

        :param values: as many as there are free degrees of freedom, none of them negative.
        :raises DimensionMismatch: for another number of values.
        :raises InvalidOption: for a weight that is negative or not finite; the weights before it are set.
        """
        self._for_each(
            lambda dof, value: self._write(layout.REST_WEIGHT + dof, self._check_weight(value)),
            values,
        )

    def _check_weight(self, value: float) -> float:
        weight = read_float('weight', value)
        if not 0.0 <= weight < np.inf:
            raise InvalidOption(f'A weight is not negative and finite: not {value}.', value=value)
        return weight

    def save_rest_pose(self) -> None:
        """Make the present values the rest pose, and set ``rest_pose_set``."""
        self._write(layout.REST, self._read(layout.VALUES, 6))
        self.rest_pose_set = True
