"""
Postures on the curves of a pose by Newton's method, from any postures.

Problem
-------
A short closed curve may lie between two values at which a joint was held. Its surroundings are as wide as those of a long
one: where it shrinks to a point, that point is where the error has a minimum.

Solutions
---------
For each posture one on some curve, or none.

Method
------
1. Eight postures at a time go to where the error vanishes to first order, by the shortest steps, none longer than LONGEST.
2. What has arrived within the limits is kept, in the winding next to their middle.

Degeneracies
------------
At a singular posture steps have no direction: what does not arrive after STEPS is dropped.

Cost
----
About ten forward passes and solutions of seven equations for eight postures.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.closed_form.self_motions import (
    curve_points as cp,
    inside,
    lane_points as lp,
    segments,
    trace,
)
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.geometry.lanes import LANES

STEPS = 40
IDLE = -1.0
"""Steps that are left to a lane without a posture."""
LONGEST = 0.7
"""Longest step [rad or m]."""
EXACT = 1e-8
"""Step after which a posture is exact to rounding [rad or m]."""
NEAR = 1e-3
"""Room of a knot up to which a singular posture is near."""
REACHES = 1e-9
"""Frobenius norm of FK - T of a posture that reaches the pose."""


@inline_kernel
def scratch_size():
    """Return how many numbers of scratch :func:`descend` needs."""
    return cp.scratch_size() + N + 3 + certify.scratch_size(N) + lp.numbers_size() + LANES


@kernel
def are_wanted(knots):
    """
    Return whether curves cross or pass near a singular posture: others may pass there on which the held joint stands still.

    :param knots: (k, segments.COLUMNS) of all curves.
    """
    for row in range(knots.shape[0]):
        if knots[row, segments.KIND] >= trace.CROSSING or not knots[row, segments.ROOM] > NEAR:
            return True
    return False


@kernel
def descend(rows, ints, reals, target, free, work):
    """
    Move postures onto curves; return how many have arrived within the limits, which stand first then.

    :param rows: (m, 7) postures in, and out.
    :param ints, reals: the plan of seven joints with the limits.
    :param target: (12,) T.
    :param free: (7,) integers, 0 to 6.
    :param work: (scratch_size(),).
    """
    c = cp.open_curve(ints, reals, target, free, work)
    at = cp.scratch_size()
    q, errors = vector(work, at, N), vector(work, at + N, 3)
    scratch = vector(work, at + N + 3, certify.scratch_size(N))
    at += N + 3 + certify.scratch_size(N)
    numbers = vector(work, at, lp.numbers_size())
    left = vector(work, at + lp.numbers_size(), LANES)
    begun, count, active = 0, 0, 0
    for lane in range(LANES):
        # Idle lanes are computed, too.
        _begin(c, numbers, lane, rows[begun])
        left[lane] = STEPS if lane < rows.shape[0] else IDLE
        active += lane < rows.shape[0]
        begun = min(begun + 1, rows.shape[0] - 1)
    begun = active
    while active > 0:
        lp.solve_there(c, numbers)
        for lane in range(LANES):
            if left[lane] > 0.0 and _step(numbers, lane) > EXACT:
                left[lane] -= 1.0
                continue
            if left[lane] == IDLE:
                continue
            for k in range(N):
                q[k] = lp.number_of(numbers, lp.Q + k, lane)
            certify.measure(c.axes, c.points, c.home, N, c.slides, q, c.target, errors, scratch)
            if errors[2] <= REACHES and inside.wind(c, q, 0.0):
                # Those that stood there have begun long ago.
                for k in range(N):
                    rows[count, k] = q[k]
                count += 1
            left[lane] = IDLE
            if begun < rows.shape[0]:
                _begin(c, numbers, lane, rows[begun])
                left[lane] = STEPS
                begun += 1
            else:
                active -= 1
    return count


@inline_kernel
def _begin(c, numbers, lane, posture):
    """Let a lane begin at a posture."""
    for k in range(N):
        lp.set_number(numbers, lp.Q + k, lane, posture[k])
        lp.set_number(numbers, lp.ROW + k, lane, 1.0 if k == c.held else 0.0)
    lp.set_number(numbers, lp.AIM, lane, posture[c.held])


@kernel
def _step(numbers, lane):
    """Take the shortest step to where the error of a lane vanishes, or a share of it; return its length."""
    along = aim = square = 0.0
    for k in range(N):
        step = lp.number_of(numbers, lp.STEP + k, lane)
        along += step * lp.number_of(numbers, lp.TANGENT + k, lane)
        square += step * step
    size = math.sqrt(max(square - along * along, 0.0))
    share = LONGEST / size if size > LONGEST else 1.0
    for k in range(N):
        tangent = lp.number_of(numbers, lp.TANGENT + k, lane)
        value = lp.number_of(numbers, lp.Q + k, lane)
        value += share * (lp.number_of(numbers, lp.STEP + k, lane) - along * tangent)
        lp.set_number(numbers, lp.Q + k, lane, value)
        lp.set_number(numbers, lp.ROW + k, lane, tangent)
        aim += tangent * value
    lp.set_number(numbers, lp.AIM, lane, aim)
    return size
