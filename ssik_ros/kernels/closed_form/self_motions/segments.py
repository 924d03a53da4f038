"""
Evaluate the cubic between two neighbouring knots, the stored postures of a curve on which seven joints keep a pose.

A knot is a row of numbers: seven joints, unit tangent (TANGENT), arc length (ARC), kind (KIND) and LEAST_PIVOT. The
last is a least pivot, which is small near other curves: of the Jacobian J with one joint held, or of [J; tangent] if
:mod:`trace` wrote the knot. A segment is the curve between two neighbouring knots. A share gives a place on a segment:
0 at its first knot, 1 at its second knot. Angles are continuous along a curve, so joints without limits may leave
(-pi, pi].
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.geometry import joint_values

TANGENT, ARC, KIND, LEAST_PIVOT = N, 2 * N, 2 * N + 1, 2 * N + 2
"""Columns of a knot after its joints. LEAST_PIVOT is the least pivot, a measure of the distance of other curves."""
COLUMNS = 2 * N + 3
HALVINGS, LOOKS = 40, 14
BESIDE_CHORD = 0.6
"""Largest distance of a posture on a segment from the segment's middle, as a share of the change of each joint."""
LEAST_RISE, MISS_SHARE = 1e-3, 0.1
"""A segment is examined for a limit if a joint comes nearer to it than the first number [rad or m]. The second number
is the same as a share of the prediction's error, which exceeds the error of the cubic."""


@inline_kernel
def chord_of(knots, a, b):
    """
    Return the Euclidean distance in joint space of the knots in rows a and b [rad].

    :param knots: (., COLUMNS) knots of a curve: stored postures.
    """
    total = 0.0
    for k in range(N):
        total += (knots[b, k] - knots[a, k]) ** 2
    return math.sqrt(total)


@kernel
def length_of(knots, a, b):
    """
    Return the length of the curve between two neighbouring knots, stored postures with tangents [rad].

    It is estimated from chord and tangents, accurate to fourth order.

    :param knots: (., COLUMNS) knots of a curve.
    :param a, b: rows of both knots.
    """
    along = 0.0
    for k in range(N):
        along += knots[a, TANGENT + k] * knots[b, TANGENT + k]
    # An arc of a circle is longer than its chord by the factor 1 + angle^2 / 24.
    return chord_of(knots, a, b) * (1.0 + max(0.0, 1.0 - along) / 12.0)


@inline_kernel
def joint_at(knots, a, b, width, u, k):
    """
    Return the value of a joint [rad or m] on the cubic between two knots.

    :param knots, a, b: table of knots, and the rows of both knots.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    :param u: share of the segment, from 0 at a to 1 at b.
    :param k: index of the joint.
    """
    v = 1.0 - u
    p, q = knots[a, k], knots[b, k]
    m, n = width * knots[a, TANGENT + k], width * knots[b, TANGENT + k]
    return v * v * (1.0 + 2.0 * u) * p + u * u * (1.0 + 2.0 * v) * q + u * v * (v * m - u * n)


@inline_kernel
def slope_at(knots, a, b, width, u, k):
    """
    Return the derivative of joint ``k`` on the cubic from knot a to knot b with respect to the share u, 0 to 1.

    :param knots, a, b: table of knots, and the rows of both knots.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    """
    v = 1.0 - u
    p, q = knots[a, k], knots[b, k]
    m, n = width * knots[a, TANGENT + k], width * knots[b, TANGENT + k]
    return 6.0 * u * v * (q - p) + v * (1.0 - 3.0 * u) * m + u * (3.0 * u - 2.0) * n


@kernel
def write_point(q, knots, a, b, width, u):
    """
    Write the posture at a share of the cubic between two knots.

    :param q: (7,) out [rad or m].
    :param knots, a, b: table of knots, and the rows of both knots.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    :param u: share of the segment, from 0 at a to 1 at b.
    """
    for k in range(N):
        q[k] = joint_at(knots, a, b, width, u, k)


@kernel
def write_slope(out, knots, a, b, width, u):
    """
    Write the direction of the cubic between two knots at a share, as a unit vector.

    :param out: (7,) out; zeros if the cubic does not move at this share.
    :param knots, a, b: table of knots, and the rows of both knots.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    :param u: share of the segment, from 0 at a to 1 at b.
    """
    size = 0.0
    for k in range(N):
        out[k] = slope_at(knots, a, b, width, u, k)
        size += out[k] * out[k]
    size = 1.0 / math.sqrt(size) if size > 0.0 else 0.0
    for k in range(N):
        out[k] *= size


@kernel
def peak(knots, a, b, width, k, side):
    """
    Return the share, 0 to 1, at which a joint's cubic has its maximum or minimum inside a segment.

    The result is -1 if the slopes at both ends show no maximum (or minimum) between them.

    :param knots, a, b: table of knots, and the rows of both knots.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    :param k: index of the joint.
    :param side: 1 for the maximum, -1 for the minimum.
    """
    m, n = width * knots[a, TANGENT + k], width * knots[b, TANGENT + k]
    if side * m <= 0.0 or side * n >= 0.0:
        return -1.0
    # The slope m + linear u + square u^2 changes its sign once: choose the root inside the segment.
    rise = 6.0 * (knots[b, k] - knots[a, k])
    linear, square = rise - 4.0 * m - 2.0 * n, 3.0 * (m + n) - rise
    half = math.sqrt(max(0.0, linear * linear - 4.0 * square * m))
    half = -0.5 * (linear + math.copysign(half, linear))
    share = m / half if half != 0.0 else 0.5
    if not 0.0 <= share <= 1.0 and square != 0.0:
        share = half / square
    return min(max(share, 0.0), 1.0)


@inline_kernel
def highest(knots, a, b, width, k, side):
    """
    Return an upper bound of ``side`` times joint ``k`` on the cubic between knots a and b.

    With ``side`` = 1 this bounds the joint from above; with -1 it is minus a lower bound of the joint.

    :param knots, a, b: table of knots, and the rows of both knots.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    """
    first, last = side * knots[a, k], side * knots[b, k]
    third = side * width / 3.0
    inner = max(first + third * knots[a, TANGENT + k], last - third * knots[b, TANGENT + k])
    return max(inner, max(first, last))


@kernel
def reach(knots, a, b, width, k, limit, side):
    """
    Return the share, 0 to 1, at which joint ``k`` reaches a limit on the cubic between knots a and b.

    A share is 0 at a and 1 at b. The joint must exceed the limit at b and not at a. The share is accurate to 1e-4.

    :param knots, a, b: table of knots, and the rows of both knots.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    :param limit: the limit [rad or m].
    :param side: 1 for an upper limit, -1 for a lower limit.
    """
    low, high = 0.0, 1.0
    for _ in range(LOOKS):
        middle = 0.5 * (low + high)
        if side * (joint_at(knots, a, b, width, middle, k) - limit) > 0.0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


@inline_kernel
def wrapped(difference, low):
    """
    Return a difference of two values of a joint, wrapped to [-pi, pi) if the joint has no limits.

    :param difference: difference of the values [rad or m].
    :param low: lower limit of the joint; -inf for a joint without limits.
    """
    if low > -math.inf:
        return difference
    return joint_values.wrapped(difference)


@kernel
def share_of(knots, a, b, q, lower, reach_aside):
    """
    Return the share of the chord between knots a and b that is nearest to a posture, from -0.1 to 1.1.

    A share is 0 at a and 1 at b. The result is -1 if the posture is not near the segment. It is 0 if both knots
    coincide near the posture.

    :param knots, a, b: table of knots, and the rows of both knots.
    :param q: (7,) the posture.
    :param lower: (7,) lower limits; -inf for joints that are compared modulo 2 pi.
    :param reach_aside: largest distance of the posture from the chord in joint space [rad].
    """
    along = square = square_distance = 0.0
    for k in range(N):
        step = knots[b, k] - knots[a, k]
        aside = wrapped(q[k] - knots[a, k] - 0.5 * step, lower[k])
        if abs(aside) > BESIDE_CHORD * abs(step) + reach_aside:
            return -1.0
        offset = aside + 0.5 * step
        along += step * offset
        square += step * step
        square_distance += offset * offset
    if not square > 0.0:
        return 0.0 if square_distance <= reach_aside * reach_aside else -1.0
    u = along / square
    if u < -0.1 or u > 1.1:
        return -1.0
    return u if square_distance - u * along <= reach_aside * reach_aside else -1.0
