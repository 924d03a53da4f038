"""
Choose the winding of each joint of a solution, and compute and sort the distances of solutions from a seed.

A winding of an angle is the angle plus a multiple of 2 pi. :func:`place` moves a solution into the limits, or tells
that the limits exclude it; :func:`distance` and :func:`order` serve to sort solutions.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification.chain import is_slide
from ssik_ros.kernels.geometry import so3
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING, PER_RADIAN, winding

FOLD_LIMIT_ROUNDING = 1e-6
"""LIMIT_ROUNDING of solutions near a fold, which are known only to the square root of rounding [rad or m]."""
FARTHEST_WISH = 1e6
"""Largest wish for a joint without limits [rad]; for larger ones rounding would lose a turn."""

KEEP_ALL = 0
WITHIN_LIMITS = 1
WRAP_ONLY = 2

SUM_OF_SQUARES = 0
LARGEST_DIFFERENCE = 1


@inline_kernel
def sensible_wish(wish, lower, upper):
    """
    Return a preferred angle, moved so near to the limits that computing the nearest winding loses no digits [rad].

    The result is within FARTHEST_WISH of zero, and within 2 pi of limits that are within FARTHEST_WISH. If the wish and
    the limits are, the same winding inside the limits is nearest to wish and result.

    :param wish: preferred angle [rad], finite.
    :param lower, upper: limits [rad]; may be infinite.
    """
    least, most = max(lower - so3.TWO_PI, -FARTHEST_WISH), min(upper + so3.TWO_PI, FARTHEST_WISH)
    return min(max(wish, least), most)


@inline_kernel
def place_in_limits(value, lower, upper, wish):
    """
    Return the winding of an angle within the limits that is nearest to a preferred value [rad]; NaN if none is inside.

    A winding that is outside by at most LIMIT_ROUNDING is moved onto the limit.

    :param value: the angle [rad].
    :param lower, upper: limits [rad]; may be infinite.
    :param wish: preferred value [rad].
    """
    return _place_beside_limits(value, lower, upper, wish, LIMIT_ROUNDING)


@inline_kernel
def _place_beside_limits(value, lower, upper, wish, near):
    """
    Return the winding of an angle within the limits that is nearest to ``wish`` [rad]; NaN if none is inside.

    A winding that is outside by at most ``near`` is moved onto the limit.

    :param value: the angle [rad].
    :param lower, upper: limits [rad]; may be infinite.
    :param wish: preferred value [rad].
    :param near: accepted distance outside a limit [rad].
    """
    best = winding(value, sensible_wish(wish, lower, upper))
    # Rounding has put such a value just outside: it belongs on the limit, not at another winding.
    if best > upper + near:
        best -= so3.TWO_PI * math.ceil((best - upper - near) * PER_RADIAN)
    elif best < lower - near:
        best += so3.TWO_PI * math.ceil((lower - near - best) * PER_RADIAN)
    if lower - near <= best <= upper + near:
        return min(max(best, lower), upper)
    return math.nan


@inline_kernel
def _wrap(value, slides):
    """
    Return a joint value: wrapped to (-pi, pi] for a revolute joint, unchanged for a prismatic joint.

    :param slides: True for a prismatic joint.
    """
    return value if slides else so3.wrap_to_pi(value)


@kernel
def place(q, n, slides, lower, upper, wishes, mode):
    """
    Choose the winding of each joint of a solution, in place; return False if the limits exclude the solution.

    A value that is outside its limits by at most LIMIT_ROUNDING is moved onto the limit, except in mode KEEP_ALL.

    :param q: (n,) the solution [rad or m]; it may be changed in part if False is returned.
    :param n: number of joints.
    :param slides: bit mask of the prismatic joints, which have no windings.
    :param lower, upper: (n,) limits [rad or m]; may be infinite.
    :param wishes: (n,) preferred joint values: the nearest winding inside the limits is chosen.
    :param mode: WITHIN_LIMITS; KEEP_ALL, which ignores limits and wraps angles to (-pi, pi]; or WRAP_ONLY, which moves
        joints into their limits if possible and wraps the others. The last two return True for every solution.
    """
    return place_beside(q, n, slides, lower, upper, wishes, mode, LIMIT_ROUNDING)


@kernel
def place_beside(q, n, slides, lower, upper, wishes, mode, near):
    """
    Choose the winding of each joint of a solution, in place, as :func:`place`, with a given rounding of the limits.

    :param q, n, slides, lower, upper, wishes, mode: solution, joints, limits and preferences, as for :func:`place`.
    :param near: largest distance outside a limit of a value that is moved onto this limit [rad or m].
    :returns: False if the limits exclude the solution.
    """
    if mode == KEEP_ALL:
        for i in range(n):
            q[i] = _wrap(q[i], is_slide(slides, i))
        return True
    for i in range(n):
        if is_slide(slides, i):
            inside = lower[i] - near <= q[i] <= upper[i] + near
            value = min(max(q[i], lower[i]), upper[i]) if inside else math.nan
        else:
            value = _place_beside_limits(so3.wrap_to_pi(q[i]), lower[i], upper[i], wishes[i], near)
        if value == value:
            q[i] = value
        elif mode == WITHIN_LIMITS:
            return False
        else:
            q[i] = _wrap(q[i], is_slide(slides, i))
    return True


@kernel
def distance(q, seed, n, slides, lower, upper, metric):
    """
    Return the distance of a solution from the seed: the sum of squared joint differences, or the largest difference.

    Revolute joints with two infinite limits are compared modulo 2 pi.

    :param q, seed: (n,) joint values [rad or m].
    :param n: number of joints.
    :param slides: bit mask of the prismatic joints.
    :param lower, upper: (n,) limits; may be infinite.
    :param metric: SUM_OF_SQUARES, or LARGEST_DIFFERENCE.
    """
    total = 0.0
    for i in range(n):
        d = q[i] - seed[i]
        if math.isinf(lower[i]) and math.isinf(upper[i]) and not is_slide(slides, i):
            d = so3.wrap_to_pi(d)
        if metric == LARGEST_DIFFERENCE:
            total = max(total, abs(d))
        else:
            total += d * d
    return total


@kernel
def order(keys, indices, count):
    """
    Write the indices that sort keys in ascending order; equal keys keep their order, and the keys are not moved.

    :param keys: (count or more,) numbers.
    :param indices: (count or more,) out.
    :param count: number of keys.
    """
    for i in range(count):
        key, j = keys[i], i
        while j > 0 and keys[indices[j - 1]] > key:
            indices[j] = indices[j - 1]
            j -= 1
        indices[j] = i
