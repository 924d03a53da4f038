"""
Find postures within the limits on curves that were followed within wider limits.

On a curve seven joints keep a pose.

Problem
-------
Sampled values of a joint miss short curves. Curves that are traced within wider limits are longer, and some of their
stretches lie within the limits.

Solutions
---------
At least one posture on every such stretch, unless it is very short.

Method
------
1. For each segment between two knots, find the shares at which a joint's cubic passes a limit or turns back.
2. Between two neighbouring shares nothing changes, so the middle decides whether the stretch is inside. The shares
   themselves are tested, too: where a joint turns back, the cubic may miss a short stretch.
3. Move each of these postures onto the curve.

Degeneracies
------------
For very short stretches the error of the cubic decides, so the middle is tested on the curve itself. If the middle is
outside, the stretch is left out.

Cost
----
About a hundred evaluations of cubics for each segment.
"""

import math
from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification.chain import is_slide
from ssik_ros.kernels.closed_form.self_motions import curve_points as cp, segments
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.closed_form.self_motions.segments import ARC
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.geometry.vectors import copy
from ssik_ros.kernels.rows.views import Floats, Memory

PIECES = 8
"""Number of parts of a segment; in each, a joint is assumed to pass a limit at most once."""
MARKS = 2 + N * (2 * PIECES + 2)
CUBIC = 0.03
"""Largest distance of a posture on the cubic of a segment beyond the limits [rad or m]."""


class InsideScratch(NamedTuple):
    """Scratch of :func:`write_inside`, which finds postures of one curve within the limits."""

    curve: Annotated[Floats, 'cp.scratch_size()']
    """Scratch of :mod:`curve_points`."""
    marks: Annotated[Floats, MARKS]
    """Shares of a segment, ascending."""


SCRATCH = Memory(InsideScratch, '', globals())
scratch_size = SCRATCH.size('scratch_size')
_view = SCRATCH.kernel('_view')


@kernel
def write_inside(out, knots, ints, reals, target, free, work):
    """
    Write postures of one curve that are within the limits; return their number.

    A stretch is a part of the curve with all joints within their limits. Mostly each stretch gets at least one posture.
    A stretch is missed if it is very short, Newton's method fails there, or ``out`` is full. A curve of one knot gives
    no posture.

    :param out: (m, 7) out; further postures are left out if it is full.
    :param knots: (k, segments.COLUMNS) knots of one curve, postures with tangent and arc length; they may exceed the
        limits.
    :param ints, reals: the plan of seven joints with the limits.
    :param target: (12,) target pose of the tip: rotation row by row, then translation.
    :param free: (7,) indices of the joints: 0 to 6.
    :param work: (scratch_size(),) scratch.
    """
    room = _view(work)
    c, count = cp.open_curve(ints, reals, target, free, room.curve), 0
    for row in range(knots.shape[0] - 1):
        size = _write_marks(c, room.marks, knots, row)
        width = knots[row + 1, ARC] - knots[row, ARC]
        for place in range(2 * size - 1):
            # Test the marks, too: where a joint turns back, the cubic may be just outside.
            share = 0.5 * (room.marks[place // 2] + room.marks[(place + 1) // 2])
            if count < out.shape[0] and _is_inside(c, knots, row, width, share):
                copy(out[count], c.q)
                count += 1
    return count


@inline_kernel
def _winding(c, k, value, near):
    """
    Return the winding of a joint value nearest to ``near``: the value plus a multiple of 2 pi.

    The value of a prismatic joint stays unchanged.

    :param c: a :class:`curve_points.Curve`, which tells the prismatic joints.
    :param k: index of the joint.
    :param value: value of the joint [rad or m].
    """
    return value if is_slide(c.slides, k) else joint_values.winding(value, near)


@kernel
def _write_marks(c, marks, knots, row):
    """
    Write the shares of a segment at which some joint passes a limit or turns back, ascending; return their number.

    A share is 0 at the first knot of the segment and 1 at the second knot. The segment is cut into PIECES equal parts.
    In each, a joint's pass of a limit is seen if it is the only one and no peak of the joint precedes it there.

    :param c: a :class:`curve_points.Curve` with the limits.
    :param marks: (MARKS,) out; 0 and 1 are always among them.
    :param knots, row: knots of a curve, and the first row of the segment.
    """
    width = knots[row + 1, ARC] - knots[row, ARC]
    marks[0], marks[1], count = 0.0, 1.0, 2
    for k in range(N):
        if not c.lower[k] > -math.inf:
            continue
        for s in range(2):
            side = 1.0 if s == 1 else -1.0
            limit = c.upper[k] if s == 1 else c.lower[k]
            limit = _winding(c, k, limit, 0.5 * (knots[row, k] + knots[row + 1, k]))
            turn = segments.peak(knots, row, row + 1, width, k, side)
            if turn > 0.0:
                count = _add(marks, count, turn)
            before = side * (knots[row, k] - limit)
            for piece in range(PIECES):
                low, high = piece / PIECES, (piece + 1) / PIECES
                if low < turn < high:
                    high = turn
                after = side * (segments.joint_at(knots, row, row + 1, width, high, k) - limit)
                if before * after < 0.0:
                    root = _pass_at(knots, row, width, k, limit, low, high)
                    count = _add(marks, count, root)
                before = side * (
                    segments.joint_at(knots, row, row + 1, width, (piece + 1) / PIECES, k) - limit
                )
    return count


@kernel
def _add(marks, count, share):
    """
    Insert a share into ``count`` ascending shares; return the new number of shares.

    If the array is full, nothing is inserted.

    :param marks: (MARKS,) shares of a segment, changed in place.
    """
    if count >= marks.shape[0]:
        return count
    place = count
    while place > 0 and marks[place - 1] > share:
        marks[place] = marks[place - 1]
        place -= 1
    marks[place] = share
    return count + 1


@kernel
def _pass_at(knots, row, width, k, limit, low, high):
    """
    Return the share of a segment, between ``low`` and ``high``, at which joint ``k`` passes the value ``limit``.

    A share is 0 at the first knot of the segment and 1 at the second knot. The joint must be on different sides of
    ``limit`` at ``low`` and ``high``; the cubic is bisected.

    :param knots, row: knots of a curve, and the first row of the segment.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    """
    first = segments.joint_at(knots, row, row + 1, width, low, k) - limit
    for _ in range(segments.HALVINGS):
        middle = 0.5 * (low + high)
        if (segments.joint_at(knots, row, row + 1, width, middle, k) - limit) * first > 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@kernel
def _is_inside(c, knots, row, width, share):
    """
    Write into ``c.q`` the posture at a share of a segment, moved onto the curve; return whether it is in the limits.

    The result is also False if Newton's method fails. If it is False, ``c.q`` may be incomplete.

    :param c: from :func:`curve_points.open_curve`; its seventh equation and tangent are overwritten.
    :param knots, row: knots of a curve, and the first row of the segment.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    :param share: place on the segment, 0 at its first knot, 1 at its second knot.
    """
    segments.write_point(c.q, knots, row, row + 1, width, share)
    if not wind(c, c.q, CUBIC):
        return False
    segments.write_slope(c.row, knots, row, row + 1, width, share)
    if cp.correct_exactly(c, c.q, cp.dot(c.row, c.q)) == 0.0:
        return False
    return wind(c, c.q, joint_values.LIMIT_ROUNDING)


@kernel
def wind(c, q, beyond):
    """
    Move joints with limits to the winding nearest to the middle of their limits; return whether all are inside.

    :param c: from :func:`curve_points.open_curve`: the limits.
    :param q: (7,) the posture, changed in place; prismatic joints and joints after the first one that is outside stay
        unchanged.
    :param beyond: accepted distance outside the limits [rad or m].
    """
    for k in range(N):
        if c.lower[k] > -math.inf:
            q[k] = _winding(c, k, q[k], 0.5 * (c.lower[k] + c.upper[k]))
        if not c.lower[k] - beyond <= q[k] <= c.upper[k] + beyond:
            return False
    return True
