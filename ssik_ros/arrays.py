"""Types of numpy arrays for annotations, tables of arrays, read-only arrays, and turns, limits and sizes of values."""

from array import array
from collections.abc import Sequence
import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Table = TypeVar('Table', bound=tuple[Any, ...])
"""A named tuple of arrays with a common first axis, its rows; a field may be such a tuple itself."""
TURN = 2.0 * math.pi
LARGEST_REQUEST_VALUE = 1e9
"""Largest length or joint value of a request [m or rad]; powers of larger values would overflow."""
FEW = 64
TOO_FAR = f'beyond {LARGEST_REQUEST_VALUE:g} m'


def whole_turns(angles: ArrayLike) -> FloatArray:
    """
    Return for each angle the nearest multiple of 2 pi [rad], in an array of the same shape.

    :param angles: angles in an array of any shape [rad].
    """
    return np.asarray(TURN * np.round(np.asarray(angles) / TURN))


def wrap_angles(angles: FloatArray) -> FloatArray:
    """
    Return angles, or differences of angles, moved by multiples of 2 pi into [-pi, pi] [rad].

    Angles in that range keep every digit. Rounding may put the result slightly outside; for angles of
    about 1e16 the result is any number of a few radians.

    :param angles: angles in an array of any shape [rad].
    """
    return np.asarray(angles - whole_turns(angles))


def wrap_angle(angle: float) -> float:
    """
    Return an angle, or a difference of angles, moved by a multiple of 2 pi into [-pi, pi] [rad], without rounding.

    Both ends stay: of two multiples that are equally near, the even one is taken.

    :param angle: a finite number [rad].
    """
    return math.remainder(angle, TURN)


def with_length(vector: FloatArray) -> tuple[FloatArray, float]:
    """
    Return a vector and its length; if the square of the length overflows, both divided by the largest absolute value.

    A length below about 1e-162 is 0, because its square underflows.

    :param vector: (n,) numbers; if one is not finite, the length is not either.
    """
    length = math.sqrt(np.vdot(vector, vector))
    if length == math.inf and np.isfinite(vector).all():
        return with_length(vector / np.abs(vector).max())
    return vector, length


def turns_within(
    angles: ArrayLike, lower: ArrayLike, upper: ArrayLike, slack: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """
    Return the least and the largest number of turns that move each angle into its range, as whole floats.

    Both arrays have the shape of ``angles``. If no number of turns moves an angle into its range, the least number is
    larger than the largest. Without a limit, the number is infinite.

    :param angles: angles in an array of any shape [rad].
    :param lower, upper: limits of the range; infinite for no limit [rad].
    :param slack: distance from the range that still counts as inside [rad].
    """
    values, room = np.asarray(angles, dtype=np.float64), np.asarray(slack, dtype=np.float64)
    least = np.ceil((np.asarray(lower) - room - values) / TURN)
    return least, np.floor((np.asarray(upper) + room - values) / TURN)


def finite_range(lower: ArrayLike, upper: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """
    Return limits with numbers in place of infinite ones, to draw values from: arrays of the shape of ``lower``.

    A joint without limits gets -pi and pi. A joint with one limit gets a range of 2 pi from this limit.

    :param lower, upper: limits of joints; infinite for no limit [rad or m].
    """
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    low = np.where(has_upper, np.asarray(upper) - TURN, -math.pi)
    high = np.where(has_lower, np.asarray(lower) + TURN, math.pi)
    return np.where(has_lower, lower, low), np.where(has_upper, upper, high)


def are_inside(
    values: FloatArray, lower: FloatArray, upper: FloatArray, slack: float = 0.0
) -> BoolArray:
    """
    Return which joint values are within their limits, in an array of the shape of ``values``; one that is NaN is not.

    :param values: joint values in the last axis [rad or m].
    :param lower, upper: (n,) limits; infinite for no limit [rad or m].
    :param slack: distance from the limits that still counts as inside [rad or m].
    """
    if slack:
        lower, upper = lower - slack, upper + slack
    return np.asarray((values >= lower) & (values <= upper))


def is_within_reason(values: ArrayLike) -> bool:
    """
    Return whether all numbers are finite and at most ``LARGEST_REQUEST_VALUE`` (1e9) in absolute value.

    :param values: lengths [m] or joint values [rad or m].
    """
    # Below a few dozen numbers, a loop over Python's own numbers is faster than numpy's calls.
    if type(values) is array and len(values) <= FEW:
        return are_within_reason(values)
    if isinstance(values, np.ndarray) and values.size <= FEW:
        return are_within_reason(values.ravel().tolist())
    return bool((np.abs(values) <= LARGEST_REQUEST_VALUE).all())


def are_within_reason(numbers: Sequence[float]) -> bool:
    """
    Return the same as :func:`is_within_reason`, for a few numbers of Python.

    :param numbers: lengths [m] or joint values [rad or m].
    """
    # No number is above the norm, which takes less time than a look at each.
    return math.hypot(*numbers) <= LARGEST_REQUEST_VALUE or all(
        abs(number) <= LARGEST_REQUEST_VALUE for number in numbers
    )


def freeze(*arrays: 'np.ndarray[Any, Any]') -> None:
    """
    Make arrays read-only, in place.

    :param arrays: numpy arrays of any kind.
    """
    for each in arrays:
        each.setflags(write=False)


def freeze_fields(instance: object) -> None:
    """
    Make all arrays among the attributes of an object read-only, in place.

    :param instance: object with attributes, such as a data class.
    """
    freeze(*(value for value in vars(instance).values() if isinstance(value, np.ndarray)))


def chosen_rows(table: Table, rows: Any) -> Table:
    """
    Return some rows of a table, as a table.

    :param table: named tuple of arrays with a common first axis.
    :param rows: indices, a slice, or a mask.
    """
    make: Any = type(table)
    chosen: Table = make(
        *(chosen_rows(part, rows) if isinstance(part, tuple) else part[rows] for part in table)
    )
    return chosen


def joined_rows(tables: Sequence[Table]) -> Table:
    """
    Return the rows of several tables, one table below the other, as one table.

    :param tables: at least one named tuple of arrays, all of the same class.
    """
    make: Any = type(tables[0])
    joined: Table = make(
        *(
            joined_rows(parts) if isinstance(parts[0], tuple) else np.concatenate(parts)
            for parts in zip(*tables, strict=True)
        )
    )
    return joined
