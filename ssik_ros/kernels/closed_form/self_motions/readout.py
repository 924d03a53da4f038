"""
Postures of a traced curve: at given arc lengths, and the nearest one to a posture.

Problem
-------
Knots are near a curve and the cubics between them a little farther. Wanted are postures that reach the pose to rounding.

Solutions
---------
One for each arc length between 0 and that of the last knot.

Method
------
1. Of the segment that holds the arc length, the cubic's point, then Newton in the plane across the cubic.
2. What is beyond a limit by rounding is put on it, and the six other joints are solved for. What these leave beyond their
   limits by rounding is put there, too, and the error is measured for exactly these numbers.
3. The nearest posture: where the scalar product of the tangent and the way from the posture changes its sign upwards,
   between two knots, by the cubics; then by halvings and chords on the curve itself.

Degeneracies
------------
A curve of one knot is that posture.

Cost
----
Two or three forward passes and eliminations for each posture.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.closed_form.self_motions import curve_points as cp, segments
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.closed_form.self_motions.segments import ARC, TANGENT

BESIDE = 1e-5
"""How far a posture of a curve may be beyond a limit where the cubic has missed the joint's peak [rad or m]."""
ROUNDING = 1e-10
"""The same after it was put there: errors are measured on the limit [rad or m]."""
LEAST_PART = 1e-3
"""Part of a joint in the tangent from which on it can be put on its limit."""
LOOKS = 40
ARRIVED = 1e-13
"""Width of a bracket around the nearest posture [rad], relative to the segment."""
DOUBTFUL = 0.02
"""Distances that differ by less are compared on the curve itself [rad]."""


@inline_kernel
def scratch_size():
    """Return how many numbers of scratch the functions here need."""
    return cp.scratch_size() + 4 * N + certify.scratch_size(N)


@kernel
def write_postures(out, errors, arcs, knots, ints, reals, target, free, work):
    """
    Write the postures of a curve at some arc lengths.

    :param out: (m, 7).
    :param errors: (m, 3) position error [m], rotation error [rad], Frobenius norm of FK - T.
    :param arcs: (m,) arc lengths [rad].
    :param knots: (k, segments.COLUMNS) of the curve.
    :param ints, reals: the plan of seven joints.
    :param target: (12,) T.
    :param free: (7,) integers, 0 to 6.
    :param work: (scratch_size(),).
    """
    c = cp.open_curve(ints, reals, target, free, work)
    q = vector(work, cp.scratch_size(), N)
    scratch = vector(work, cp.scratch_size() + 4 * N, certify.scratch_size(N))
    for i in range(arcs.shape[0]):
        _read(c, q, knots, arcs[i])
        for k in range(N):
            # Each joint that is put on its limit moves the others, which may be on theirs, by rounding.
            if c.lower[k] - ROUNDING <= q[k] <= c.upper[k] + ROUNDING:
                q[k] = min(max(q[k], c.lower[k]), c.upper[k])
            out[i, k] = q[k]
        certify.measure(c.axes, c.points, c.home, N, c.slides, q, c.target, errors[i], scratch)


@kernel
def _segment_of(knots, arc):
    """Return the row at which the segment begins that holds an arc length."""
    low, high = 0, knots.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if knots[middle, ARC] <= arc:
            low = middle
        else:
            high = middle
    return low


@kernel
def _read(c, q, knots, arc):
    """Write the posture at an arc length, its tangent stays in ``c``."""
    row = _segment_of(knots, arc)
    if knots.shape[0] == 1:
        for k in range(N):
            q[k] = knots[0, k]
            c.tangent[k] = knots[0, TANGENT + k]
        return
    width = knots[row + 1, ARC] - knots[row, ARC]
    share = min(max((arc - knots[row, ARC]) / width, 0.0), 1.0) if width > 0.0 else 0.0
    _read_share(c, q, knots, row, width, share)


@kernel
def _read_share(c, q, knots, row, width, share):
    """Write the posture at a share of a segment, its tangent stays in ``c``."""
    segments.write_point(q, knots, row, row + 1, width, share)
    segments.write_slope(c.row, knots, row, row + 1, width, share)
    if cp.dot(c.row, c.row) < 0.5:
        for k in range(N):
            c.row[k] = knots[row, TANGENT + k]
    cp.correct_exactly(c, q, cp.dot(c.row, q))
    for k in range(N):
        low, high = c.lower[k], c.upper[k]
        if low - BESIDE <= q[k] < low or high < q[k] <= high + BESIDE:
            limit = low if q[k] < low else high
            q[k] = limit
            along = c.tangent[k]
            if abs(along) > LEAST_PART:
                cp.fix_joint(c, k)
                cp.correct_exactly(c, q, limit)
                q[k] = limit
                for j in range(N):
                    # With that row the joint's part is positive.
                    c.tangent[j] = c.tangent[j] if along > 0.0 else -c.tangent[j]


@kernel
def write_nearest(q, knots, posture, count, ints, reals, target, free, work):
    """
    Write the posture of a curve that is nearest to a posture; return its arc length [rad].

    Angles of joints without limits are compared modulo 2 pi.

    :param q: (7,) out.
    :param posture: (7,).
    :param count: how many of the first joints count in the distance.
    :param knots, ints, reals, target, free, work: as for :func:`write_postures`.
    """
    c = cp.open_curve(ints, reals, target, free, work)
    there = vector(work, cp.scratch_size(), N)
    aim = vector(work, cp.scratch_size() + N, N)
    best, best_arc, about = math.inf, 0.0, math.inf
    for turn in range(2):
        for row in range(knots.shape[0]):
            last = row + 1 == knots.shape[0]
            if last and row > 0:
                continue
            width = 0.0 if last else knots[row + 1, ARC] - knots[row, ARC]
            _write_aim(aim, knots, row, row if last else row + 1, posture, c.lower)
            share = 0.0 if last else _nearest_on_cubic(knots, row, width, aim, count)
            distance = 0.0
            for k in range(count):
                at = knots[row, k]
                if not last:
                    at = segments.joint_at(knots, row, row + 1, width, share, k)
                distance += (at - aim[k]) ** 2
            distance = math.sqrt(distance)
            if turn == 0:
                about = min(about, distance)
            elif distance <= about + DOUBTFUL:
                if last:
                    _read(c, there, knots, 0.0)
                else:
                    share = _refine(c, there, knots, row, width, share, aim, count)
                distance = 0.0
                for k in range(count):
                    distance += (there[k] - aim[k]) ** 2
                if distance < best:
                    best, best_arc = distance, knots[row, ARC] + share * width
                    for k in range(N):
                        q[k] = there[k]
    return best_arc


@kernel
def _write_aim(aim, knots, a, b, posture, lower):
    """Write a posture, with the windings of joints without limits that are nearest to a segment."""
    for k in range(N):
        middle = 0.5 * (knots[a, k] + knots[b, k])
        aim[k] = middle + segments.wrapped(posture[k] - middle, lower[k])


@kernel
def _nearest_on_cubic(knots, row, width, aim, count):
    """Return the share at which a cubic is nearest to a posture."""
    low, high = 0.0, 1.0
    if _rate(knots, row, width, 0.0, aim, count) >= 0.0:
        return 0.0
    if _rate(knots, row, width, 1.0, aim, count) <= 0.0:
        return 1.0
    for _ in range(LOOKS):
        middle = 0.5 * (low + high)
        if _rate(knots, row, width, middle, aim, count) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@inline_kernel
def _rate(knots, row, width, share, aim, count):
    """Return half the change of the squared distance of a cubic from a posture, per share."""
    total = 0.0
    for k in range(count):
        away = segments.joint_at(knots, row, row + 1, width, share, k) - aim[k]
        total += away * segments.slope_at(knots, row, row + 1, width, share, k)
    return total


@kernel
def _true_rate(c, q, knots, row, width, share, aim, count):
    """Return the scalar product of the tangent and the way from a posture, on the curve."""
    _read_share(c, q, knots, row, width, share)
    total = 0.0
    for k in range(count):
        total += c.tangent[k] * (q[k] - aim[k])
    return total


@kernel
def _refine(c, q, knots, row, width, share, aim, count):
    """Write the posture nearest to another one around a share of a segment, and return its share."""
    half, f_low, f_high, low, high = 0.02, 1.0, -1.0, share, share
    while half < 2.0 and (f_low >= 0.0 or f_high <= 0.0):
        # The cubic may be that far from the curve.
        if f_low >= 0.0:
            low = max(0.0, share - half)
            f_low = _true_rate(c, q, knots, row, width, low, aim, count)
        if f_high <= 0.0:
            high = min(1.0, share + half)
            f_high = _true_rate(c, q, knots, row, width, high, aim, count)
        half *= 4.0
    if f_low >= 0.0 or f_high <= 0.0:
        share = low if f_low >= 0.0 else high
        _true_rate(c, q, knots, row, width, share, aim, count)
        return share
    for look in range(LOOKS):
        share = low + (high - low) * f_low / (f_low - f_high)
        if look % 4 == 3:
            share = 0.5 * (low + high)
        f = _true_rate(c, q, knots, row, width, share, aim, count)
        if f < 0.0:
            low, f_low = share, f
        else:
            high, f_high = share, f
        if abs(f) < ARRIVED or high - low < ARRIVED:
            break
    return share
