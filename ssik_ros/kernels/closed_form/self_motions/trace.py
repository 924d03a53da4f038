"""
The curve on which seven joints keep a pose within their limits, from a posture on it.

Problem
-------
Given a posture that reaches a pose: follow its curve to both ends.

Solutions
---------
Knots, near enough to each other for cubics between them. A curve ends where a joint reaches its limit, where it
comes back to its beginning, or where no direction is left. Places where another curve crosses are knots of their own.

Method
------
1. From a posture that lies on no curve yet: a step along the tangent and half the last change of the tangent, then Newton
   across it. The first Newton step says how much the prediction missed by, and with that how long the next step may be.
2. Between two knots each joint is a cubic. Where it passes a limit, that joint is put on its limit and the six others are
   solved for. A joint that peaks near its limit gets a knot at its peak.
3. Where the determinant of [J; tangent] changes its sign within a short step, another curve crosses.
4. The given postures that a segment passes are crossed off. Whether one lies on the curve is judged by the least pivot of
   [J; tangent], which says how far other curves are, or by the exact point that has the same place along the chord. What
   proves it is :mod:`proof`.

Degeneracies
------------
A posture in which several joints stand on their limits so that no direction is left: a curve of one point. Singular
postures without a tangent: the same, and marked. A curve that comes near another one: steps are short where the
tangent rotates, and a given posture that no curve passes is followed on its own.

Cost
----
About two forward passes and eliminations of seven equations for each knot.

References
----------
[Shimizu2008] for such curves in closed form, for arms with two spherical joints.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.self_motions import curve_points as cp, segments
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.closed_form.self_motions.segments import ARC, KIND, TANGENT

REGULAR, LIMIT, CLOSED, FOLD, CROSSING, SINGULAR = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0
"""What stands at a knot. LIMIT knots carry the joint and the side as LIMIT + (2 joint + is_upper + 1) / 32."""
NO_ROOM = -1
"""Returned in place of the number of curves where their knots do not fit."""
FULL = -1.0
"""There was no room for more knots."""
FIRST_ROW, ROWS = 0, 1
"""Columns of the heads: first knot of a curve, and how many it has."""

FIRST, LONGEST, SHORTEST = 0.5, 1.3, 1e-6
"""Lengths of steps [rad]."""
GOOD_MISS, LARGEST_MISS = 0.05, 0.2
"""Distance of the prediction from the curve that is aimed at, and above which a step is repeated [rad]."""
LARGEST_BEND = 0.5
"""By how much a prediction may be behind or ahead of the step, as a share of it."""
LEAST_COSINE = 0.7
"""Of the angle between two tangents."""
NEAR_ENOUGH = 2e-3
"""Last Newton step of a knot [rad]: its square is left."""
PART_OF_STEP = 0.01
"""The same as a share of the step: short ones follow sharp turns."""
STEPS = 5
CROSSES = 1e-4
"""Step within which the determinant has to change its sign where curves cross: wider gaps are none [rad]."""
ON_CHORD = 1e-4
"""Distance from the cubic below which a posture lies on the curve [rad]."""
SHARE_OF_PIVOT = 0.1
"""The same, as a share of the least pivot: other curves are farther away than that."""
SAME = 1e-5
"""Distance of a posture from the exact point beside it below which it lies on the curve [rad]."""
OUTSIDE = 1e-9
"""How far a joint may be beyond its limit by rounding [rad or m]."""
LOOKS = 20
"""Halvings towards a crossing."""
MOST_STEPS = 5000
"""Knots of one curve at most."""


class Tracing(NamedTuple):
    """What tracing works on."""

    knots: np.ndarray
    """(., segments.COLUMNS) out, curve behind curve."""
    seeds: np.ndarray
    """(m, 7) postures that reach the pose within the limits."""
    is_done: np.ndarray
    """(m,) integers: 1 for those that a curve has passed."""
    curve: cp.Curve
    q: np.ndarray
    """(7,) scratch."""


@inline_kernel
def scratch_size():
    """Return how many numbers of scratch tracing needs."""
    return cp.scratch_size() + N


@inline_kernel
def limit_kind(joint, side):
    """Return the kind of a knot at which a joint is on a limit; ``side`` is 1 for the upper, -1 for the lower one."""
    return LIMIT + (2.0 * joint + (1.0 if side > 0.0 else 0.0) + 1.0) / 32.0


@kernel
def trace_one(run, seed, first):
    """
    Write the curve through a given posture; return how many knots it has, -1 where there is no room.

    :param run: what tracing works on.
    :param seed: number of the posture.
    :param first: row of the first knot.
    """
    knots, c = run.knots, run.curve
    if first + 2 >= knots.shape[0]:
        return -1
    run.is_done[seed] = 1
    for k in range(N):
        knots[first, k] = run.seeds[seed, k]
    knots[first, ARC], knots[first, KIND], knots[first, segments.ROOM] = 0.0, REGULAR, 0.0
    sign = cp.write_first_tangent(c, knots[first])
    if sign == 0.0:
        for k in range(N):
            knots[first, TANGENT + k] = 0.0
        knots[first, KIND] = SINGULAR
        return 1
    for k in range(N):
        knots[first, TANGENT + k] = -c.tangent[k]
    knots[first, segments.ROOM] = c.facts[cp.PIVOT]
    last, kind = _follow(run, first, -sign)
    if kind == FULL:
        return -1
    turn_round(knots, first, last)
    if kind != CLOSED:
        last, kind = _follow(run, last, sign)
    return -1 if kind == FULL else last - first + 1


@kernel
def turn_round(knots, first, last):
    """
    Write knots in the other order, with their tangents and arc lengths reversed.

    :param knots: (., segments.COLUMNS).
    :param first, last: rows.
    """
    whole = knots[last, ARC]
    for row in range((last - first) // 2 + 1):
        a, b = first + row, last - row
        for column in range(segments.COLUMNS):
            knots[a, column], knots[b, column] = knots[b, column], knots[a, column]
    for row in range(first, last + 1):
        knots[row, ARC] = whole - knots[row, ARC]
        for k in range(N):
            knots[row, TANGENT + k] = -knots[row, TANGENT + k]


@kernel
def _follow(run, first, sign):
    """
    Write the knots behind one, along its tangent, up to the end of the curve.

    :param sign: a number with the sign of the determinant of [J; tangent] there.
    :returns: the last row, and what stands there; FULL where there is no room.
    """
    knots, c = run.knots, run.curve
    row, step, before = first, FIRST, sign
    for _ in range(MOST_STEPS):
        if row + 4 >= knots.shape[0]:
            return row, FULL
        determinant = _take_step(run, row, first, step)
        if determinant == 0.0:
            step *= 0.4
            if step < SHORTEST:
                knots[row, KIND] = SINGULAR
                return row, SINGULAR
            continue
        if before * determinant < 0.0 and step > CROSSES:
            # Most likely a step across a narrow gap onto another curve.
            step *= 0.25
            continue
        miss, new = c.facts[cp.MISS], row + 1
        width = segments.length_of(knots, row, new)
        kind, share = _meet_limit(run, row, width, miss)
        if kind == REGULAR and share > 0.0:
            step *= share
            continue
        if kind != REGULAR:
            width = segments.length_of(knots, row, new)
        knots[new, ARC], knots[new, KIND] = knots[row, ARC] + width, REGULAR
        last = _insert_crossing(run, row) if before * determinant < 0.0 else new
        before = determinant
        _cross_off(run, row, last)
        if kind == REGULAR and row > first and is_closed(run, row, last, first):
            kind = CLOSED
        row = last
        if kind != REGULAR:
            knots[row, KIND] = kind
            return row, kind
        step = next_step(step, miss)
    knots[row, KIND] = SINGULAR
    return row, SINGULAR


@inline_kernel
def next_step(step, miss):
    """
    Return how long the step behind a good one shall be.

    :param step: length of that one.
    :param miss: distance of its prediction from the curve.
    """
    return min(step * min(2.0, max(0.4, (GOOD_MISS / max(miss, 1e-9)) ** 0.4)), LONGEST)


@kernel
def write_prediction(q, run, row, first, step):
    """
    Write the posture so far ahead of a knot, as far as the tangents say; return its place along the tangent.

    :param q: (7,) out.
    :param run: what tracing works on.
    :param row: of the knot.
    :param first: row of the first knot of the curve.
    :param step: how far.
    """
    knots, aim, ahead = run.knots, 0.0, 0.0
    width = knots[row, ARC] - knots[row - 1, ARC] if row > first else 0.0
    before = knots[row - 1, ARC] - knots[row - 2, ARC] if row > first + 1 else 0.0
    # The tangent as a polynomial through the last three knots, integrated.
    bend = 1.0 / width if width > SHORTEST else 0.0
    is_third = bend > 0.0 and before > SHORTEST
    for k in range(N):
        tangent, rate, second = knots[row, TANGENT + k], 0.0, 0.0
        if bend > 0.0:
            rate = bend * (tangent - knots[row - 1, TANGENT + k])
        if is_third:
            last = (knots[row - 1, TANGENT + k] - knots[row - 2, TANGENT + k]) / before
            second = (rate - last) / (width + before)
        rise = rate / 2.0 + second * (step / 3.0 + width / 2.0)
        q[k] = knots[row, k] + step * (tangent + step * rise)
        ahead += tangent * (q[k] - knots[row, k])
    # Where tangents change sharply the parabola may lead backwards.
    is_ahead = abs(ahead - step) <= LARGEST_BEND * step
    for k in range(N):
        if not is_ahead:
            q[k] = knots[row, k] + step * knots[row, TANGENT + k]
        aim += knots[row, TANGENT + k] * q[k]
    return aim


@kernel
def _take_step(run, row, first, step):
    """Write the knot behind a row, so far ahead; return the determinant of [J; tangent], 0 where the step is too long."""
    knots, c = run.knots, run.curve
    aim = write_prediction(knots[row + 1], run, row, first, step)
    for k in range(N):
        c.row[k] = knots[row, TANGENT + k]
    determinant = cp.correct(c, knots[row + 1], aim, min(NEAR_ENOUGH, PART_OF_STEP * step), STEPS)
    if determinant == 0.0 or not c.facts[cp.MISS] <= max(min(LARGEST_MISS, 0.3 * step), 1e-7):
        return 0.0
    cosine = 0.0
    for k in range(N):
        knots[row + 1, TANGENT + k] = c.tangent[k]
        knots[row + 1, segments.ROOM] = c.facts[cp.PIVOT]
        cosine += c.tangent[k] * knots[row, TANGENT + k]
    return determinant if cosine >= LEAST_COSINE else 0.0


@kernel
def _meet_limit(run, row, width, miss):
    """
    Put the knot behind a row on the first limit that is passed between them.

    :returns: kind of that knot, REGULAR where no limit is passed; a share below 1 where the step shall be that much
        shorter, for a joint peaks there near its limit.
    """
    knots, c = run.knots, run.curve
    kind = REGULAR
    for _ in range(N):
        joint, side, share, is_peak = first_beyond(run, row, width, miss)
        if joint < 0:
            break
        if is_peak:
            return REGULAR, share
        limit = c.upper[joint] if side > 0.0 else c.lower[joint]
        segments.write_point(run.q, knots, row, row + 1, width, share)
        cp.fix_joint(c, joint)
        run.q[joint] = limit
        if cp.correct_exactly(c, run.q, limit) == 0.0:
            return REGULAR, 0.5
        run.q[joint] = limit
        along = 0.0
        for k in range(N):
            along += c.tangent[k] * knots[row, TANGENT + k]
        for k in range(N):
            knots[row + 1, k] = run.q[k]
            knots[row + 1, TANGENT + k] = c.tangent[k] if along >= 0.0 else -c.tangent[k]
        width = segments.length_of(knots, row, row + 1)
        kind = limit_kind(joint, side)
    return kind, 0.0


@kernel
def first_beyond(run, row, width, miss):
    """
    Return the joint that is beyond a limit first, the side, where it passes the limit, and whether it only peaks there.

    :param run: what tracing works on.
    :param row: of the knot before.
    :param width: length of the segment behind it.
    :param miss: distance of the prediction of the knot behind it.
    """
    knots, c, new = run.knots, run.curve, row + 1
    found, found_side, least, is_peak = -1, 1.0, 2.0, False
    near = max(segments.LEAST_RISE, segments.MISS_SHARE * miss)
    for k in range(N):
        if not c.lower[k] > -math.inf:
            continue
        for s in range(2):
            side = 1.0 if s == 1 else -1.0
            limit = c.upper[k] if s == 1 else c.lower[k]
            if side * (knots[new, k] - limit) > OUTSIDE:
                share, peaks = segments.reach(knots, row, new, width, k, limit, side), False
            elif segments.highest(knots, row, new, width, k, side) - side * limit < -near:
                continue
            else:
                share = segments.peak(knots, row, new, width, k, side)
                peaks = True
                high = segments.joint_at(knots, row, new, width, max(share, 0.0), k)
                is_near = 0.003 < share < 0.997 and side * (high - limit) > -near
                if not is_near:
                    continue
            if share < least:
                found, found_side, least, is_peak = k, side, share, peaks
    return found, found_side, least, is_peak


@kernel
def _insert_crossing(run, row):
    """Write a knot between a row and the next where the determinant changes its sign; return the last row."""
    knots = run.knots
    width = knots[row + 1, ARC] - knots[row, ARC]
    low, high = 0.0, 1.0
    first = _determinant_at(run, row, width, 0.0)
    for _ in range(LOOKS):
        middle = 0.5 * (low + high)
        if _determinant_at(run, row, width, middle) * first > 0.0:
            low = middle
        else:
            high = middle
    for column in range(segments.COLUMNS):
        knots[row + 2, column] = knots[row + 1, column]
    middle = 0.5 * (low + high)
    segments.write_point(knots[row + 1], knots, row, row + 2, width, middle)
    segments.write_slope(run.q, knots, row, row + 2, width, middle)
    for k in range(N):
        knots[row + 1, TANGENT + k] = run.q[k]
    knots[row + 1, ARC] = knots[row, ARC] + middle * width
    knots[row + 1, KIND], knots[row + 1, segments.ROOM] = CROSSING, 0.0
    return row + 2


@kernel
def _determinant_at(run, row, width, share):
    """Return the determinant of [J; tangent] at a share of a segment."""
    c = run.curve
    segments.write_point(run.q, run.knots, row, row + 1, width, share)
    segments.write_slope(c.row, run.knots, row, row + 1, width, share)
    return cp.solve_there(c, run.q, cp.dot(c.row, run.q))


@kernel
def _cross_off(run, row, last):
    """Mark the given postures that lie between some rows as done."""
    held, low = run.curve.held, run.curve.lower
    for a in range(row, last):
        width = run.knots[a + 1, ARC] - run.knots[a, ARC]
        middle, half = held_range(run, a, a + 1, width)
        for seed in range(run.seeds.shape[0]):
            if run.is_done[seed] == 1:
                continue
            away = segments.wrapped(run.seeds[seed, held] - middle, low[held])
            if abs(away) <= half and lies_on(run, a, a + 1, run.seeds[seed], width):
                run.is_done[seed] = 1


@inline_kernel
def held_range(run, a, b, width):
    """
    Return middle and half width of the range in which the held joint of a posture between two knots is.

    :param run: what tracing works on.
    :param a, b: rows.
    :param width: length of the segment.
    """
    before, behind = run.knots[a, run.curve.held], run.knots[b, run.curve.held]
    return 0.5 * (before + behind), 0.5 * abs(behind - before) + aside_of(width)


@inline_kernel
def aside_of(width):
    """
    Return how far a curve may be from the chord of a segment.

    :param width: length of the segment.
    """
    return 0.15 * width + SAME


@kernel
def lies_on(run, a, b, q, width):
    """
    Return whether a posture lies on the curve between two knots.

    :param run: what tracing works on.
    :param a, b: rows.
    :param q: (7,) the posture.
    :param width: length of the segment.
    """
    knots, c = run.knots, run.curve
    share = segments.share_of(knots, a, b, q, c.lower, aside_of(width))
    if share == -1.0:
        return False
    clear = SHARE_OF_PIVOT * min(knots[a, segments.ROOM], knots[b, segments.ROOM])
    if _gap(run, a, b, q, width, share) <= max(ON_CHORD, clear):
        return True
    segments.write_slope(c.row, knots, a, b, width, min(max(share, 0.0), 1.0))
    aim = 0.0
    for k in range(N):
        away = segments.wrapped(q[k] - run.q[k], c.lower[k])
        aim += c.row[k] * (run.q[k] + away)
    if cp.correct_exactly(c, run.q, aim) == 0.0:
        return False
    total = 0.0
    for k in range(N):
        total += segments.wrapped(q[k] - run.q[k], c.lower[k]) ** 2
    return math.sqrt(total) <= SAME


@kernel
def _gap(run, a, b, q, width, share):
    """Return the distance of a posture from the cubic, whose point is left in the scratch."""
    segments.write_point(run.q, run.knots, a, b, width, share)
    total = 0.0
    for k in range(N):
        total += segments.wrapped(q[k] - run.q[k], run.curve.lower[k]) ** 2
    return math.sqrt(total)


@kernel
def is_closed(run, row, last, first):
    """
    Return whether the curve passes its beginning; the last knot is put there then.

    :param run: what tracing works on.
    :param row, last: the rows between which is looked.
    :param first: row of the beginning.
    """
    knots, low = run.knots, run.curve.lower
    for a in range(row, last):
        width, along = knots[a + 1, ARC] - knots[a, ARC], 0.0
        for k in range(N):
            along += knots[a, TANGENT + k] * knots[first, TANGENT + k]
        if along <= 0.0 or not lies_on(run, a, a + 1, knots[first], width):
            continue
        for k in range(N):
            away = segments.wrapped(knots[first, k] - knots[a + 1, k], low[k])
            knots[last, k] = knots[a + 1, k] + away
            knots[last, TANGENT + k] = knots[first, TANGENT + k]
        knots[last, ARC] = knots[last - 1, ARC] + segments.length_of(knots, last - 1, last)
        return True
    return False
