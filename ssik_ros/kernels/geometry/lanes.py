"""
Eight numbers side by side in SIMD lanes, for steps that eight poses or candidates share.

Use a value of :func:`load` like a number: ``+ - * /``, comparisons (which return masks), and the functions of this
module. The formulas of :mod:`ssik_ros.kernels.geometry.vectors` and of other modules without branches work on it
unchanged. Instead of ``if``, :func:`select` chooses in each lane. If neighbours need the same steps, :func:`load_half`
and similar functions work on four lanes, and :func:`in_pairs` returns to eight. With NUMBA_DISABLE_JIT=1 a value is a
numpy array with the same numbers.

References: [Cody1980] and [Ng1992] for the trigonometric functions, as in :mod:`ssik_ros.kernels.geometry.so3`.
"""

import math
from typing import Any

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, JIT_DISABLED
from ssik_ros.kernels.geometry import so3

if JIT_DISABLED:
    LANES = 8
    """Number of lanes."""
    HALF_LANES = 4
    """Half the number of lanes."""

    def load(array: Any, start: int) -> Any:
        """Return eight lanes that hold the numbers ``start`` to ``start + 7`` of a flat array."""
        return np.array(array[start : start + LANES])

    def load_half(array: Any, start: int) -> Any:
        """Return four lanes that hold the numbers ``start`` to ``start + 3`` of a flat array."""
        return np.array(array[start : start + HALF_LANES])

    def store(array: Any, start: int, value: Any) -> None:
        """
        Write the lanes of ``value`` into neighbouring places of a flat array, from index ``start`` on.

        If ``value`` is a plain number, it is written into eight places.
        """
        count = np.size(value) if np.ndim(value) else LANES
        array[start : start + count] = value

    def spread(value: float) -> Any:
        """Return eight lanes that all hold ``value``."""
        return np.full(LANES, value)

    def spread_half(value: float) -> Any:
        """Return four lanes that all hold ``value``."""
        return np.full(HALF_LANES, value)

    def places() -> Any:
        """Return the index of each lane, 0.0 to 7.0."""
        return np.arange(LANES) + 0.0

    def places_half() -> Any:
        """Return the index of each of four lanes, 0.0 to 3.0."""
        return np.arange(HALF_LANES) + 0.0

    def in_pairs(value: Any) -> Any:
        """Return eight lanes from four: the number of lane i is copied into the lanes 2 i and 2 i + 1."""
        return np.repeat(value, 2)

    def select(mask: Any, a: Any, b: Any) -> Any:
        """Return, lane by lane, ``a`` where the mask is true and ``b`` elsewhere."""
        return np.where(mask, a, b)

    def bits_of(mask: Any) -> int:
        """Return a mask as an integer: bit i is 1 if lane i is true."""
        return sum(1 << lane for lane in range(len(mask)) if mask[lane])

    def floor(value: Any) -> Any:
        """Return the number of each lane rounded down to a whole number."""
        return np.floor(value)

    def root(value: Any) -> Any:
        """Return the square root of the number in each lane."""
        return np.sqrt(value)

    def absolute(value: Any) -> Any:
        """Return the absolute value of the number in each lane."""
        return np.abs(value)

else:
    from ssik_ros.kernels.native.lane_types import (
        absolute,
        bits_of,
        floor,
        HALF_LANES,
        in_pairs,
        LANES,
        load,
        load_half,
        places,
        places_half,
        root,
        select,
        spread,
        spread_half,
        store,
    )

__all__ = (
    'HALF_LANES',
    'LANES',
    'absolute',
    'arc_tangent',
    'bits_of',
    'ceil',
    'floor',
    'greater',
    'in_pairs',
    'lesser',
    'load',
    'load_half',
    'places',
    'places_half',
    'root',
    'select',
    'sine_cosine',
    'spread',
    'spread_half',
    'store',
    'wrap_to_pi',
)

TANGENT_OF_PI_8 = 0.41421356237309503
"""tan(pi/8). For a larger t, the arc tangent is pi/4 plus the arc tangent of (t - 1) / (t + 1)."""
QUARTER, QUARTER_REST = 0.7853981633974483, 3.061616997868383e-17
"""pi/4 in two parts."""
HALF, HALF_REST = 1.5707963267948966, 6.123233995736766e-17
"""pi/2 in two parts."""
WHOLE, WHOLE_REST = 3.141592653589793, 1.2246467991473532e-16
"""pi in two parts."""


@inline_kernel
def lesser(a, b):
    """Return the smaller of a and b in each lane; b if a or b is NaN."""
    return select(a < b, a, b)


@inline_kernel
def greater(a, b):
    """Return the larger of a and b in each lane; b if a or b is NaN."""
    return select(a > b, a, b)


@inline_kernel
def ceil(value):
    """Return the number of each lane rounded up to a whole number."""
    return -floor(-value)


@inline_kernel
def sine_cosine(angle):
    """
    Return (sine, cosine) of the angle in each lane, bitwise equal to :func:`so3.sine_cosine`.

    :param angle: angles whose absolute values are below :data:`so3.LARGEST_ANGLE` [rad].
    """
    quarters = floor(angle * so3.TO_QUARTERS + 0.5)
    x = (angle - quarters * so3.QUARTER_HIGH) - quarters * so3.QUARTER_MIDDLE
    x = x - quarters * so3.QUARTER_LOW
    sine, cosine = so3.within_a_quarter(x)
    # The last two binary digits of the count of quarters: which function, and which sign.
    halves = floor(0.5 * quarters)
    odd = quarters - 2.0 * halves
    sign = 1.0 - 2.0 * (halves - 2.0 * floor(0.5 * halves))
    is_odd = odd > 0.5
    return (
        sign * select(is_odd, cosine, sine),
        (sign - 2.0 * sign * odd) * select(is_odd, sine, cosine),
    )


@inline_kernel
def arc_tangent(y, x):
    """
    Return atan2(y, x) in each lane, in [-pi, pi] [rad], within two units in the last place; 0 where x = y = 0.

    Signs of zeros do not count: pi for a negative x with y = -0.0. The smaller component is divided by the larger one
    and reduced to at most tan(pi/8), so that one polynomial serves.
    """
    across, along = absolute(y), absolute(x)
    is_steep = across > along
    small, large = select(is_steep, along, across), select(is_steep, across, along)
    is_folded = small > TANGENT_OF_PI_8 * large
    below = select(is_folded, small + large, large)
    t = select(is_folded, small - large, small) / select(below == 0.0, 1.0, below)
    z = t * t
    w = z * z
    even = 4.97687799461593236017e-02 + w * 1.62858201153657823623e-02
    even = 6.66107313738753120669e-02 + w * even
    even = 9.09088713343650656196e-02 + w * even
    even = 1.42857142725034663711e-01 + w * even
    even = 3.33333333333329318027e-01 + w * even
    odd = -5.83357013379057348645e-02 + w * -3.65315727442169155270e-02
    odd = -7.69187620504482999495e-02 + w * odd
    odd = -1.11111104054623557880e-01 + w * odd
    odd = -1.99999999998764832476e-01 + w * odd
    bend = t * (z * even + w * odd)
    angle = select(is_folded, QUARTER, 0.0) - ((bend - select(is_folded, QUARTER_REST, 0.0)) - t)
    angle = select(is_steep, HALF - (angle - HALF_REST), angle)
    angle = select(x < 0.0, WHOLE - (angle - WHOLE_REST), angle)
    return select(y < 0.0, -angle, angle)


@inline_kernel
def wrap_to_pi(angle):
    """
    Return the angle in each lane moved by whole turns into (-pi, pi] [rad].

    The results are bitwise equal to :func:`so3.wrap_to_pi`.
    """
    if bits_of((angle > math.pi) | (angle <= -math.pi)) == 0:
        return angle
    wrapped = angle - so3.TWO_PI * ceil((angle - math.pi) / so3.TWO_PI)
    wrapped = select(wrapped > math.pi, wrapped - so3.TWO_PI, wrapped)
    return select(wrapped <= -math.pi, math.pi, wrapped)
