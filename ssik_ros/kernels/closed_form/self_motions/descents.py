"""
Find postures on the curves on which seven joints keep a pose, by Newton's method from arbitrary postures.

Problem
-------
A short closed curve may lie between two sampled values of the held joint. Newton's method may still find it, because
its basin is as wide as the basin of a long curve. If the curve shrinks to a point, this point is a minimum of the
error.

Solutions
---------
For each start at most one posture, on some curve.

Method
------
1. Move eight postures at a time by the shortest steps that remove the error to first order, none longer than
   LONGEST_DESCENT_STEP.
2. Keep the postures that arrive within the limits, at the winding nearest to the middle of the limits.

Degeneracies
------------
At a singular posture the steps have no direction. Postures that have not arrived after STEPS steps are dropped.

Cost
----
About ten forward passes and ten solutions of seven equations for eight postures.
"""

import math
from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.self_motions import (
    curve_points as cp,
    inside,
    lane_points as lp,
    segments,
    trace,
)
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.geometry.vectors import copy
from ssik_ros.kernels.rows.views import Floats, Memory

STEPS = 40
NO_POSTURE = -1.0
"""Remaining steps of a lane without a posture."""
LONGEST_DESCENT_STEP = 0.7
"""Longest step of a posture towards a curve [rad or m]."""
LAST_DESCENT_STEP = 1e-8
"""Largest last step of a posture that is exact up to rounding [rad or m]."""
SINGULAR_PIVOT = 1e-3
"""Least pivot of a knot (:data:`segments.LEAST_PIVOT`) below which a singular posture is near."""
ARRIVED_ERROR = 1e-9
"""Largest Frobenius norm of FK - T of a posture that reaches the pose."""


class DescentScratch(NamedTuple):
    """Scratch of :func:`descend`, which moves postures onto curves by Newton steps, eight at a time."""

    curve: Annotated[Floats, 'cp.scratch_size()']
    """Scratch of :mod:`curve_points`."""
    numbers: Annotated[Floats, LANES * lp.NUMBERS]
    """Numbers of :mod:`lane_points`."""
    left: Annotated[Floats, LANES]
    """Steps that are left to each lane, NO_POSTURE for an idle one."""


SCRATCH = Memory(DescentScratch, '', globals())
scratch_size = SCRATCH.size('scratch_size')
_view = SCRATCH.kernel('_view')


@kernel
def are_wanted(knots):
    """
    Return whether searches from arbitrary postures may find further curves.

    They may if a traced curve crosses another curve, or comes near or ends at a singular posture. Curves on which the
    held joint does not move may pass there.

    :param knots: (k, segments.COLUMNS) knots of all curves: postures with tangent and arc length.
    """
    for row in range(knots.shape[0]):
        if (
            knots[row, segments.KIND] >= trace.CROSSING
            or not knots[row, segments.LEAST_PIVOT] > SINGULAR_PIVOT
        ):
            return True
    return False


@kernel
def descend(rows, ints, reals, target, free, work):
    """
    Move postures onto curves by Newton steps; return how many arrive at the pose and within the limits.

    These are written to the first rows, in the order of their arrival, at the windings nearest to the middle of the
    limits. The other rows are undefined afterwards. Several starts may arrive on the same curve.

    :param rows: (m, 7), at least one row: starts in; postures on the curves out, at most m.
    :param ints, reals: the plan of seven joints with the limits.
    :param target: (12,) target pose of the tip: rotation row by row, then translation.
    :param free: (7,) indices of the joints: 0 to 6.
    :param work: (scratch_size(),) scratch.
    """
    room = _view(work)
    c, numbers, left = (
        cp.open_curve(ints, reals, target, free, room.curve),
        room.numbers,
        room.left,
    )
    begun, count, active = 0, 0, 0
    for lane in range(LANES):
        # Idle lanes are computed, too, so give them valid numbers.
        lp.place_holding(numbers, lane, rows[begun], c.held)
        left[lane] = STEPS if lane < rows.shape[0] else NO_POSTURE
        active += lane < rows.shape[0]
        begun = min(begun + 1, rows.shape[0] - 1)
    begun = active
    while active > 0:
        lp.solve_there(c, numbers)
        for lane in range(LANES):
            if left[lane] > 0.0 and _step(numbers, lane) > LAST_DESCENT_STEP:
                left[lane] -= 1.0
                continue
            if left[lane] == NO_POSTURE:
                continue
            lp.read(c.q, numbers, lp.Q, lane)
            cp.measure(c, c.q, c.errors)
            if c.errors[2] <= ARRIVED_ERROR and inside.wind(c, c.q, 0.0):
                # The overwritten row is free: its own posture has begun before.
                copy(rows[count], c.q)
                count += 1
            left[lane] = NO_POSTURE
            if begun < rows.shape[0]:
                lp.place_holding(numbers, lane, rows[begun], c.held)
                left[lane] = STEPS
                begun += 1
            else:
                active -= 1
    return count


@kernel
def _step(numbers, lane):
    """
    Move the posture of a lane by the shortest step that removes its pose error to first order.

    :param numbers: (8 lane_points.NUMBERS,) solved equations of eight postures; the posture of the lane is moved, and
        its next seventh equation is written.
    :param lane: index of the lane.
    :returns: length of the step [rad or m], before it was cut to LONGEST_DESCENT_STEP.
    """
    along = aim = square = 0.0
    for k in range(N):
        step = lp.number_of(numbers, lp.STEP + k, lane)
        along += step * lp.number_of(numbers, lp.TANGENT + k, lane)
        square += step * step
    size = math.sqrt(max(square - along * along, 0.0))
    share = LONGEST_DESCENT_STEP / size if size > LONGEST_DESCENT_STEP else 1.0
    for k in range(N):
        tangent = lp.number_of(numbers, lp.TANGENT + k, lane)
        value = lp.number_of(numbers, lp.Q + k, lane)
        value += share * (lp.number_of(numbers, lp.STEP + k, lane) - along * tangent)
        lp.set_number(numbers, lp.Q + k, lane, value)
        lp.set_number(numbers, lp.ROW + k, lane, tangent)
        aim += tangent * value
    lp.set_number(numbers, lp.AIM, lane, aim)
    return size
