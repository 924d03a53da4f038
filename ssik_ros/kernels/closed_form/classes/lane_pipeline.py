"""
Eight candidates at once: choose the windings of their joints, and measure errors and distances from the seed.

:func:`place` chooses windings, :func:`measure` writes the errors, and :func:`write_distances` writes the distances.

Problem
-------
Joint vectors from a closed form are given. Choose the windings of their joints, and measure the error between the pose
of the tip and the target.

Method
------
1. Choose winding and limit as :mod:`ranking`. This comes first, so that the returned values are the measured ones.
   Values just outside a limit are moved onto it; if the move is too large, the candidate no longer reaches the pose.
2. FK(q) maps the axes x, y and the origin of M, the tip's pose at zero, by E_n, then E_(n-1), down to E_1; z = x cross
   y. E_i is the motion of joint i.
3. Compute residuals as :mod:`certify`, the Frobenius norms of FK(q) - T.
4. Duplicates differ little in every joint. So every weighted sum of their sines and cosines differs little, too. Two
   such sums for each candidate show which candidates must be compared.

Degeneracies
------------
The kernel has no special cases. Angles too large for :func:`lanes.sine_cosine` get a residual that sends the candidate
to the certification of one candidate. So do candidates that miss the pose by more than rounding.

Cost
----
One forward pass in SIMD lanes for eight candidates.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification import ranking
from ssik_ros.kernels.closed_form.certification.chain import is_slide, triple
from ssik_ros.kernels.geometry import lane_angles, lanes, so3, vectors
from ssik_ros.kernels.geometry.joint_values import PER_RADIAN
from ssik_ros.kernels.geometry.lanes import LANES

# Rows of an area after the n rows of joint values, each with a number for every candidate.
# The first three are in the order of certify.write_errors.
POSITION, ROTATION, RESIDUAL, DISTANCE, MARK, OTHER_MARK = 0, 1, 2, 3, 4, 5
ROWS = 6


@inline_kernel
def area_size(n):
    """
    Return how many numbers an area needs, the array in which eight candidates are measured at once.

    :param n: number of joints.
    """
    return LANES * (n + ROWS)


@inline_kernel
def row_of(n, what):
    """
    Return the offset in an area of a row of eight numbers, one for each candidate.

    The rows of the n joint values come before.

    :param n: number of joints.
    :param what: POSITION [m], ROTATION [rad] or RESIDUAL (Frobenius norm of FK - T); DISTANCE from the seed; MARK or
        OTHER_MARK, two sums of sines and cosines that are nearly equal for duplicates.
    """
    return LANES * (n + what)


@inline_kernel
def read_candidates(area, rows, start, count, n):
    """
    Copy the joint values of up to eight candidates into an area, joint by joint; the last one fills unused lanes.

    An area is the array in which eight candidates are measured at once.

    :param area: (area_size(n),) out: eight numbers for each joint.
    :param rows: (., n) candidates.
    :param start: index of the first candidate to read.
    :param count: number of candidates, 1 to 8.
    :param n: number of joints.
    """
    for lane in range(LANES):
        row = start + min(lane, count - 1)
        for k in range(n):
            area[LANES * k + lane] = rows[row, k]


@inline_kernel
def read_lane(q, area, lane, n):
    """Write the joint values of candidate number ``lane`` in an area into ``q`` (n or more,)."""
    for k in range(n):
        q[k] = area[LANES * k + lane]


@inline_kernel
def _place_in_limits(value, lower, upper, wish):
    """
    Return (winding of ``value`` within limits that is nearest to ``wish``, mask of lanes that have such a winding).

    Values outside by at most FOLD_LIMIT_ROUNDING count as inside. Returned windings are clipped to the limits, also in
    lanes that have none inside.

    :param value, wish: angles in eight lanes [rad].
    :param lower, upper: limits of the joint; may be infinite.
    """
    # No if: whether another winding is needed differs from pose to pose.
    value = value + so3.TWO_PI * lanes.floor((wish - value) * PER_RADIAN + 0.5)
    high, low = (
        value > upper + ranking.FOLD_LIMIT_ROUNDING,
        value < lower - ranking.FOLD_LIMIT_ROUNDING,
    )
    down = lanes.floor((upper + ranking.FOLD_LIMIT_ROUNDING - value) * PER_RADIAN)
    up = lanes.ceil((lower - ranking.FOLD_LIMIT_ROUNDING - value) * PER_RADIAN)
    value = value + so3.TWO_PI * lanes.select(high, down, lanes.select(low, up, 0.0))
    is_inside = (value >= lower - ranking.FOLD_LIMIT_ROUNDING) & (
        value <= upper + ranking.FOLD_LIMIT_ROUNDING
    )
    return lanes.lesser(lanes.greater(value, lanes.spread(lower)), lanes.spread(upper)), is_inside


@kernel
def place(area, n, slides, lower, upper, seed, has_seed, mode):
    """
    Choose the windings of eight candidates, in place; return a bit mask of the candidates outside the limits.

    The mask is 0 unless ``mode`` is WITHIN_LIMITS. Joints outside by at most FOLD_LIMIT_ROUNDING are moved onto the
    limit, except in mode KEEP_ALL.

    :param area: (area_size(n),) joint values, eight for each joint.
    :param n: number of joints.
    :param slides: bit mask of the prismatic joints.
    :param lower, upper: (n,) limits [rad or m]; may be infinite.
    :param seed: (n,) preferred joint values, read if ``has_seed``; else the winding nearest to (-pi, pi] is preferred.
    :param mode: WITHIN_LIMITS; KEEP_ALL, which only wraps angles to (-pi, pi]; or WRAP_ONLY, which moves joints into
        their limits if possible.
    """
    lost = lanes.places() < 0.0
    for k in range(n):
        value = lanes.load(area, LANES * k)
        turns = not is_slide(slides, k)
        if turns:
            value = lanes.wrap_to_pi(value)
        if mode != ranking.KEEP_ALL:
            wish = value
            if has_seed and turns:
                wish = lanes.spread(ranking.sensible_wish(seed[k], lower[k], upper[k]))
            placed, is_inside = _place_in_limits(value, lower[k], upper[k], wish)
            if not turns:
                is_inside = (value >= lower[k] - ranking.FOLD_LIMIT_ROUNDING) & (
                    value <= upper[k] + ranking.FOLD_LIMIT_ROUNDING
                )
            value = lanes.select(is_inside, placed, value)
            lost = lost | (lanes.select(is_inside, 0.0, 1.0) > 0.0)
        lanes.store(area, LANES * k, value)
    return lanes.bits_of(lost) if mode == ranking.WITHIN_LIMITS else 0


@inline_kernel
def turn_pose(h, o, s, c, x, y, t):
    """
    Return (x, y, t) of a frame after a rotation about a line: two of its unit directions and its origin.

    :param h, o: unit direction and a point of the line.
    :param s, c: sine and cosine of the angle.
    :param x, y, t: the directions and the origin before.
    """
    d = 1.0 - c
    dx, dy, dz = d * h[0], d * h[1], d * h[2]
    sx, sy, sz = s * h[0], s * h[1], s * h[2]
    xy, xz, yz = dx * h[1], dx * h[2], dy * h[2]
    r0 = (c + dx * h[0], xy - sz, xz + sy)
    r1 = (xy + sz, c + dy * h[1], yz - sx)
    r2 = (xz - sy, yz + sx, c + dz * h[2])
    v = vectors.subtract(t, o)
    return (
        (vectors.dot(r0, x), vectors.dot(r1, x), vectors.dot(r2, x)),
        (vectors.dot(r0, y), vectors.dot(r1, y), vectors.dot(r2, y)),
        (vectors.dot(r0, v) + o[0], vectors.dot(r1, v) + o[1], vectors.dot(r2, v) + o[2]),
    )


@inline_kernel
def _squared_difference(v, array, start, step):
    """
    Return |v - w|^2, in each lane, for a vector w that is stored in an array.

    :param v: vector of three lane values.
    :param array: the array, one number for each component.
    :param start, step: offset of the first component of w, and distance to the next components.
    """
    a, b, c = v[0] - array[start], v[1] - array[start + step], v[2] - array[start + 2 * step]
    return a * a + b * b + c * c


@kernel
def measure(area, axes, points, home, n, slides, target, doubtful):
    """
    Write position error [m], rotation error [rad] and Frobenius norm of FK - T of eight candidates into their area.

    The rotation error is exact for small errors only. Two marks of each candidate are written, too. They are sums of
    sines and cosines that are nearly equal for duplicates.

    :param area: (area_size(n),) joint values; all rows after them but DISTANCE are written.
    :param axes, points, home, n, slides: the chain, as for :func:`certify.evaluate`.
    :param target: (12,) T, target pose of the tip: rotation row by row, then translation.
    :param doubtful: residual to write for candidates whose angles are too large to be measured here.
    """
    x = lane_angles.spread_vector((home[0], home[3], home[6]))
    y = lane_angles.spread_vector((home[1], home[4], home[7]))
    t = lane_angles.spread_vector((home[9], home[10], home[11]))
    mark = other = lanes.spread(0.0)
    is_large = mark > 0.0
    for k in range(n - 1, -1, -1):
        value, h = lanes.load(area, LANES * k), triple(axes, k)
        if is_slide(slides, k):
            t = vectors.add(t, vectors.scale(value, h))
            mark = mark + (1.0 + k) * value
            other = other + (1.0 + n - k) * value
            continue
        is_large = is_large | (lanes.absolute(value) >= so3.LARGEST_ANGLE)
        s, c = lanes.sine_cosine(value)
        x, y, t = turn_pose(h, triple(points, k), s, c, x, y, t)
        mark = mark + (0.5 * (1.0 + k) * s + 0.4 * (2.0 + k) * c)
        other = other + (0.4 * (n - k) * c - 0.5 * (1.0 + n - k) * s)
    turned = _squared_difference(x, target, 0, 3) + _squared_difference(y, target, 1, 3)
    turned = turned + _squared_difference(vectors.cross(x, y), target, 2, 3)
    moved = _squared_difference(t, target, 9, 1)
    residual = lanes.select(is_large, doubtful, lanes.root(turned + moved))
    lanes.store(area, row_of(n, RESIDUAL), residual)
    lanes.store(area, row_of(n, POSITION), lanes.root(moved))
    # Twice the arc sine of certify.write_errors: at rounding, where this is read, it is its argument.
    lanes.store(area, row_of(n, ROTATION), 2.0 * lanes.root(0.125 * turned))
    lanes.store(area, row_of(n, MARK), mark)
    lanes.store(area, row_of(n, OTHER_MARK), other)


@kernel
def find_alike(area, n, count, same):
    """
    Return a bit mask of the candidates that may be duplicates of another candidate.

    Candidates are compared by MARK and OTHER_MARK, two sums of sines and cosines that :func:`measure` has written. A
    candidate without a bit surely differs from all others by more than ``same`` in some joint.

    :param area: (area_size(n),) after :func:`measure`.
    :param n: number of joints.
    :param count: number of candidates, up to eight.
    :param same: largest difference of a joint between duplicates [rad or m].
    """
    mark, other = lanes.load(area, row_of(n, MARK)), lanes.load(area, row_of(n, OTHER_MARK))
    # The weights of all sines, cosines and lengths sum to less than this in either mark.
    reach = same * n * (0.5 * n + 1.6)
    bits, every = 0, (1 << count) - 1
    for lane in range(count):
        gap = lanes.absolute(mark - area[row_of(n, MARK) + lane])
        other_gap = lanes.absolute(other - area[row_of(n, OTHER_MARK) + lane])
        near = lanes.bits_of((gap <= reach) & (other_gap <= reach))
        bits |= near & every & ~(1 << lane)
    return bits


@kernel
def write_distances(area, seed, n, slides, lower, upper, metric):
    """
    Write the distances of eight candidates from the seed: sums of squared joint differences, or largest differences.

    Revolute joints with two infinite limits are compared modulo 2 pi.

    :param area: (area_size(n),) joint values; DISTANCE is written.
    :param seed: (n,) joint values [rad or m].
    :param n: number of joints.
    :param slides: bit mask of the prismatic joints.
    :param lower, upper: (n,) limits; may be infinite.
    :param metric: SUM_OF_SQUARES or LARGEST_DIFFERENCE of :mod:`ranking`.
    """
    total = lanes.spread(0.0)
    for k in range(n):
        d = lanes.load(area, LANES * k) - seed[k]
        if math.isinf(lower[k]) and math.isinf(upper[k]) and not is_slide(slides, k):
            d = lanes.wrap_to_pi(d)
        total = (
            lanes.greater(total, lanes.absolute(d))
            if metric == ranking.LARGEST_DIFFERENCE
            else total + d * d
        )
    lanes.store(area, row_of(n, DISTANCE), total)


@kernel
def order_few(keys, indices, count, scratch):
    """
    Write the indices that sort up to eight keys in ascending order; equal keys keep their order.

    :param keys: (8 or more,) numbers, of which ``count`` are read.
    :param indices: (8 or more,) out: the first ``count`` are the order.
    :param scratch: (8,) numbers.
    """
    place = lanes.places()
    value = lanes.select(place < 1.0 * count, lanes.load(keys, 0), math.inf)
    lanes.store(scratch, 0, value)
    rank = lanes.spread(0.0)
    for lane in range(LANES):
        key = scratch[lane]
        comes_after = (value > key) | ((value == key) & (place > 1.0 * lane))
        rank = rank + lanes.select(comes_after, 1.0, 0.0)
    lanes.store(scratch, 0, rank)
    for lane in range(LANES):
        indices[int(scratch[lane])] = lane
