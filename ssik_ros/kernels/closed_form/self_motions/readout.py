"""
Compute exact postures of a followed curve: at given arc lengths, and nearest to a given posture.

:func:`write_postures` reads at arc lengths, :func:`write_nearest` finds the nearest posture.

Problem
-------
On a curve seven joints keep a pose. Its stored postures, the knots, are near the curve, and the cubics between knots
are a little farther away. Find postures that reach the pose exactly, up to rounding.

Solutions
---------
One posture for each arc length between 0 and the arc length of the last knot.

Method
------
1. Take the cubic's point at the arc length, then Newton steps in the plane perpendicular to the cubic.
2. If rounding puts a joint beyond a limit, put it on the limit and solve for the other six joints. If these exceed
   their limits by rounding, clip them, too. Measure the error for exactly these numbers.
3. Nearest posture: find where the scalar product of the tangent and the difference to the posture changes its sign from
   negative to positive. Use the cubics first, then bisections and secants on the curve itself.

Degeneracies
------------
A curve of one knot consists of this posture only.

Cost
----
Two or three forward passes and eliminations for each posture.
"""

import math
from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.self_motions import curve_points as cp, segments
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.closed_form.self_motions.segments import ARC, TANGENT
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.rows.views import Floats, Memory

MISSED_PEAK = 1e-5
"""Largest distance of a posture beyond a limit that a cubic below the joint's peak can explain [rad or m]."""
CORRECTION_ROUNDING = 1e-10
"""Largest distance of a corrected posture beyond a limit; it is clipped before errors are measured [rad or m]."""
LEAST_PART = 1e-3
"""Least component of a joint in the tangent at which the joint can be put on its limit."""
LOOKS = 40
ARRIVED = 1e-13
"""Bracket around the nearest posture at which the search ends, as a share of the segment."""
DOUBTFUL_DISTANCE = 0.02
"""Cubics whose distances differ by less than this are compared on the curve itself [rad]."""


class ReadoutScratch(NamedTuple):
    """Scratch of :func:`write_postures` and :func:`write_nearest`, which compute exact postures of one curve."""

    curve: Annotated[Floats, 'cp.scratch_size()']
    """Scratch of :mod:`curve_points`."""
    aim: Annotated[Floats, N]
    """Given posture, at windings nearest to a segment; the nearest posture to it is searched for."""


SCRATCH = Memory(ReadoutScratch, '', globals())
scratch_size = SCRATCH.size('scratch_size')
_view = SCRATCH.kernel('_view')


@kernel
def write_postures(out, errors, arcs, knots, ints, reals, target, free, work):
    """
    Write the postures of a curve at given arc lengths, exact up to rounding, and their errors.

    If Newton's method fails, a posture is not exact; its errors tell.

    :param out: (m, 7) out.
    :param errors: (m, 3) out: position error [m], rotation error [rad], Frobenius norm of FK - T.
    :param arcs: (m,) arc lengths from the first knot [rad], clipped to the curve.
    :param knots: (k, segments.COLUMNS) knots of the curve: postures with tangent and arc length.
    :param ints, reals: the plan of seven joints.
    :param target: (12,) target pose of the tip: rotation row by row, then translation.
    :param free: (7,) indices of the joints: 0 to 6.
    :param work: (scratch_size(),) scratch.
    """
    c = cp.open_curve(ints, reals, target, free, _view(work).curve)
    q = c.q
    for i in range(arcs.shape[0]):
        _read(c, q, knots, arcs[i])
        for k in range(N):
            # A joint that is put on its limit moves the others by rounding, perhaps beyond their limits.
            if c.lower[k] - CORRECTION_ROUNDING <= q[k] <= c.upper[k] + CORRECTION_ROUNDING:
                q[k] = min(max(q[k], c.lower[k]), c.upper[k])
            out[i, k] = q[k]
        cp.measure(c, q, errors[i])


@kernel
def _segment_of(knots, arc):
    """
    Return the row of the first knot of the segment that contains an arc length; 0 for a curve of one knot.

    A segment is the curve between two neighbouring knots. An arc length beyond the curve belongs to the first or the
    last segment.

    :param knots: (k, segments.COLUMNS) knots of a curve.
    :param arc: the arc length [rad].
    """
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
    """
    Write into q (7,) the posture at an arc length, moved onto the curve, and its unit tangent into ``c.tangent``.

    If Newton's method fails, q is not exact.

    :param c: from :func:`curve_points.open_curve`.
    :param knots: (k, segments.COLUMNS) knots of the curve.
    :param arc: arc length [rad], clipped to the curve.
    """
    row = _segment_of(knots, arc)
    if knots.shape[0] == 1:
        vectors.copy(q, knots[0])
        vectors.copy(c.tangent, knots[0, TANGENT:])
        return
    width = knots[row + 1, ARC] - knots[row, ARC]
    share = min(max((arc - knots[row, ARC]) / width, 0.0), 1.0) if width > 0.0 else 0.0
    _read_share(c, q, knots, row, width, share)


@kernel
def _read_share(c, q, knots, row, width, share):
    """
    Write into q (7,) the posture at a share of a segment, moved onto the curve; also write its tangent.

    A joint that is beyond its limit by at most MISSED_PEAK is put on the limit. The other joints are then solved again,
    unless its component of the tangent is at most LEAST_PART. If Newton's method fails, q is not exact.

    :param c: from :func:`curve_points.open_curve`; the unit tangent is written into ``c.tangent``.
    :param knots, row: knots of the curve, and the first row of the segment.
    :param width, share: length of the segment [rad], and share of it, 0 to 1.
    """
    segments.write_point(q, knots, row, row + 1, width, share)
    segments.write_slope(c.row, knots, row, row + 1, width, share)
    if cp.dot(c.row, c.row) < 0.5:
        vectors.copy(c.row, knots[row, TANGENT:])
    cp.correct_exactly(c, q, cp.dot(c.row, q))
    for k in range(N):
        low, high = c.lower[k], c.upper[k]
        if low - MISSED_PEAK <= q[k] < low or high < q[k] <= high + MISSED_PEAK:
            limit = low if q[k] < low else high
            q[k] = limit
            along = c.tangent[k]
            if abs(along) > LEAST_PART:
                vectors.write_unit(c.row, k)
                cp.correct_exactly(c, q, limit)
                q[k] = limit
                # With the row of this joint, its component of the tangent is positive: restore the direction.
                vectors.stretch(c.tangent, math.copysign(1.0, along), N)


@kernel
def write_nearest(q, knots, posture, count, ints, reals, target, free, work):
    """
    Write the posture of a curve nearest to a given posture; return its arc length [rad].

    The distance is Euclidean over the first ``count`` joints. Angles of joints without limits are compared modulo 2 pi.
    On each segment between two knots one minimum of the distance is examined. A nearer posture may be missed if the
    distance has several minima on a segment. If Newton's method fails, q is not exact.

    :param q: (7,) out.
    :param knots: (k, segments.COLUMNS) knots of the curve: postures with tangent and arc length.
    :param posture: (7,) given posture.
    :param count: number of leading joints in the distance.
    :param ints, reals, target, free, work: arm, target pose and scratch, as for :func:`write_postures`.
    """
    room = _view(work)
    c, aim = cp.open_curve(ints, reals, target, free, room.curve), room.aim
    there = c.q
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
            elif distance <= about + DOUBTFUL_DISTANCE:
                if last:
                    _read(c, there, knots, 0.0)
                else:
                    share = _refine(c, there, knots, row, width, share, aim, count)
                distance = 0.0
                for k in range(count):
                    distance += (there[k] - aim[k]) ** 2
                if distance < best:
                    best, best_arc = distance, knots[row, ARC] + share * width
                    vectors.copy(q, there)
    return best_arc


@kernel
def _write_aim(aim, knots, a, b, posture, lower):
    """
    Write a posture into ``aim``, with joints without limits at the winding nearest to a segment.

    :param aim: (7,) out.
    :param a, b: rows of the segment's knots; its middle decides about the winding.
    :param posture: (7,) the posture.
    :param lower: (7,) lower limits; -inf for joints without limits.
    """
    for k in range(N):
        middle = 0.5 * (knots[a, k] + knots[b, k])
        aim[k] = middle + segments.wrapped(posture[k] - middle, lower[k])


@kernel
def _nearest_on_cubic(knots, row, width, aim, count):
    """
    Return the share, 0 to 1, at which the cubic of a segment is nearest to the posture ``aim``.

    If the distance has several minima on the cubic, it is one of them.

    :param knots: knots of the curve.
    :param row, width: row of the segment's first knot, and length of the segment [rad].
    :param aim: (7,) the posture.
    :param count: number of leading joints in the distance.
    """
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
    """
    Return half the derivative, by the share, of the squared distance between a cubic and the posture ``aim``.

    :param knots: knots of the curve.
    :param row, width: row of the segment's first knot, and length of the segment [rad].
    :param share: place on the cubic, 0 to 1.
    :param count: number of leading joints in the distance.
    """
    total = 0.0
    for k in range(count):
        offset = segments.joint_at(knots, row, row + 1, width, share, k) - aim[k]
        total += offset * segments.slope_at(knots, row, row + 1, width, share, k)
    return total


@kernel
def _true_rate(c, q, knots, row, width, share, aim, count):
    """
    Return the derivative of half the squared distance of the curve from ``aim``, by arc length, at a share.

    This is the scalar product of the unit tangent and q - ``aim``. The posture q (7,) at the share of the segment,
    moved onto the curve, and the tangent, in ``c.tangent``, are written.

    :param c: from :func:`curve_points.open_curve`.
    :param knots, row, width, share: knots, the segment and the share, as for :func:`_read_share`.
    :param aim: (7,) the given posture.
    :param count: number of leading joints in the product.
    """
    _read_share(c, q, knots, row, width, share)
    total = 0.0
    for k in range(count):
        total += c.tangent[k] * (q[k] - aim[k])
    return total


@kernel
def _refine(c, q, knots, row, width, share, aim, count):
    """
    Find a posture on the curve with the least distance from ``aim``, near a share of a segment; return its share.

    The search stays within the segment, shares 0 to 1. If the distance falls up to an end of it, this end is the
    result.

    :param c: from :func:`curve_points.open_curve`.
    :param q: (7,) out: the nearest posture.
    :param knots, row, width: knots, first row of the segment, and its length [rad].
    :param share: first guess, such as the nearest point of the cubic.
    :param aim: (7,) the given posture.
    :param count: number of leading joints in the distance.
    """
    half, f_low, f_high, low, high = 0.02, 1.0, -1.0, share, share
    while half < 2.0 and (f_low >= 0.0 or f_high <= 0.0):
        # Widen the bracket: the nearest point of the cubic may differ from the curve's.
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
