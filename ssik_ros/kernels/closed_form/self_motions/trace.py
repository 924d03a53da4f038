"""
Follow the curve on which seven joints keep a pose within their limits, starting from a posture.

:func:`trace_one` follows one curve in both directions.

Problem
-------
A posture that reaches a pose is given. Follow its curve to both ends.

Solutions
---------
Knots that are close enough for cubics between them. A curve ends where a joint reaches its limit, where it returns to
its first knot, or at a singular posture. After MOST_STEPS steps it ends as at a singular posture. A crossing with
another curve gets a knot, too.

Method
------
1. Start at a posture that lies on no curve yet. Predict the next knot from the tangent and its last changes, then apply
   Newton steps across the curve. The first Newton step measures the error of the prediction and sets the next step
   length.
2. Between two knots each joint is a cubic. If a joint passes a limit, put it on the limit and solve for the other six
   joints. If a joint peaks near its limit, put a knot at the peak.
3. [J; tangent] is the Jacobian with the tangent as seventh row. If its determinant changes its sign within a short
   step, another curve crosses.
4. Mark the given postures that a segment passes. The least pivot of [J; tangent] bounds the distance of other curves.
   Within a share of this bound, a posture near the cubic lies on the curve. Otherwise compare the posture with the
   exact point at the same place along the chord. :mod:`proof` proves the result.

Degeneracies
------------
If several joints at their limits leave no direction, the curve has one point, up to rounding. Singular postures without
a tangent give a curve of one point, too; its knot has the kind SINGULAR. Near another curve the tangent turns fast and
steps are short. The caller starts a new curve at a given posture that no curve passes.

Cost
----
About two forward passes and two eliminations of seven equations for each knot.

References
----------
[Shimizu2008] describes such curves in closed form, for arms with two spherical joints.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.self_motions import curve_points as cp, segments
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.closed_form.self_motions.segments import ARC, KIND, TANGENT
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING

REGULAR, LIMIT, CLOSED, FOLD, CROSSING, SINGULAR = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0
"""Kinds of a knot. A LIMIT knot stores joint and side as LIMIT + (2 joint + is_upper + 1) / 32."""
NO_ROOM = -1
"""Returned in place of the number of curves if their knots do not fit."""
FULL = -1.0
"""Returned in place of a kind if the table of knots is full."""
FIRST_ROW, ROWS = 0, 1
"""Columns of the heads: first knot of a curve, and its number of knots."""

FIRST_ARC_STEP, LONGEST_ARC_STEP, SHORTEST_ARC_STEP = 0.5, 1.3, 1e-6
"""First, longest and shortest step along a curve [rad]."""
WANTED_PREDICTION_MISS, LARGEST_PREDICTION_MISS = 0.05, 0.2
"""Wanted distance of the prediction from the curve, and the distance above which a step is repeated [rad]."""
LARGEST_BEND = 0.5
"""Largest difference between the progress of a prediction along the tangent and the step, as a share of the step."""
LEAST_COSINE = 0.7
"""Least cosine of the angle between the tangents of neighbouring knots."""
NEAR_ENOUGH = 2e-3
"""Largest last Newton step of a knot [rad]; the remaining error is about its square."""
PART_OF_STEP = 0.01
"""Like NEAR_ENOUGH, as a share of the step: short steps follow sharp turns."""
STEPS = 5
CROSSES = 1e-4
"""Longest step in which a sign change of the determinant counts as a crossing [rad]; longer steps are repeated."""
ON_CHORD = 1e-4
"""Largest distance of a posture on the curve from the cubic [rad]."""
SHARE_OF_PIVOT = 0.1
"""Like ON_CHORD, as a share of the least pivot: other curves are farther away."""
CHORD_POINT_DISTANCE = 1e-5
"""Largest distance of a posture from the exact point of the curve at the same place along the chord [rad]."""
LOOKS = 20
"""Number of bisections towards a crossing."""
MOST_STEPS = 5000
"""Most knots of one curve."""


class Tracing(NamedTuple):
    """
    Arrays of a running trace, which follows curves of a pose one after the other and writes their knots.

    A knot is a stored posture of a curve, with tangent and arc length; ``knots`` gets the knots of all curves in turn.
    ``seeds`` (m, 7) are the given postures, and ``is_done`` (m,) is 1 for those that a curve has passed. ``curve`` has
    the chain and the pose; its posture ``curve.q`` is scratch.
    """

    knots: np.ndarray
    """(., segments.COLUMNS) out: knots of all curves in turn."""
    seeds: np.ndarray
    """(m, 7) given postures; they reach the pose within the limits."""
    is_done: np.ndarray
    """(m,) integers: 1 for postures that a curve has passed."""
    curve: cp.Curve
    """The chain, the pose, and scratch for points of a curve."""


@inline_kernel
def limit_kind(joint, side):
    """
    Return the number for column KIND of a knot, a stored posture of a curve, at which a joint is on its limit.

    It is LIMIT + (2 joint + is_upper + 1) / 32.

    :param joint: index of the joint.
    :param side: 1 for its upper limit, -1 for its lower limit.
    """
    return LIMIT + (2.0 * joint + (1.0 if side > 0.0 else 0.0) + 1.0) / 32.0


@kernel
def trace_one(run, seed, first):
    """
    Write the whole curve through a given posture, in both directions, and mark the given postures on it.

    A curve ends where a joint reaches a limit, where it closes, or at a singular posture.

    :param run: a :class:`Tracing`; ``is_done`` becomes 1 for the postures on the curve.
    :param seed: index of the posture.
    :param first: row of the first knot.
    :returns: number of knots, 1 for a curve of one point, such as a singular posture without a tangent; -1 if they do
        not fit.
    """
    knots, c = run.knots, run.curve
    if first + 2 >= knots.shape[0]:
        return -1
    run.is_done[seed] = 1
    vectors.put(knots[first], run.seeds[seed], N)
    knots[first, ARC], knots[first, KIND], knots[first, segments.LEAST_PIVOT] = 0.0, REGULAR, 0.0
    sign = cp.write_first_tangent(c, knots[first])
    if sign == 0.0:
        vectors.fill(knots[first, TANGENT:ARC], 0.0)
        knots[first, KIND] = SINGULAR
        return 1
    for k in range(N):
        knots[first, TANGENT + k] = -c.tangent[k]
    knots[first, segments.LEAST_PIVOT] = c.facts[cp.PIVOT]
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
    Reverse a traced curve, in place: the order of its knots, their tangents, and their arc lengths.

    :param knots: (., segments.COLUMNS) table of knots.
    :param first, last: first and last row to reverse.
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
    Follow a curve from the knot in row ``first`` in the direction of its tangent, and write the knots up to its end.

    :param run: a :class:`Tracing`.
    :param first: row of the knot; the next knots are written after it.
    :param sign: a number with the sign of the determinant of [J; tangent] at ``first``, with the Jacobian J.
    :returns: (row, kind) of the last knot. The kind is CLOSED; a joint limit; SINGULAR, also after MOST_STEPS steps; or
        FULL if the table is full.
    """
    knots, c = run.knots, run.curve
    row, step, before = first, FIRST_ARC_STEP, sign
    for _ in range(MOST_STEPS):
        if row + 4 >= knots.shape[0]:
            return row, FULL
        determinant = _take_step(run, row, first, step)
        if determinant == 0.0:
            step *= 0.4
            if step < SHORTEST_ARC_STEP:
                knots[row, KIND] = SINGULAR
                return row, SINGULAR
            continue
        if before * determinant < 0.0 and step > CROSSES:
            # Most likely the step has jumped over a narrow gap to another curve.
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
    Return the length of the next step along a curve [rad].

    It is longer if the last prediction was more exact than WANTED_PREDICTION_MISS, otherwise shorter. The factor is 0.4
    to 2, and the result is at most LONGEST_ARC_STEP.

    :param step: length of the accepted step.
    :param miss: distance of its prediction from the curve.
    """
    return min(
        step * min(2.0, max(0.4, (WANTED_PREDICTION_MISS / max(miss, 1e-9)) ** 0.4)),
        LONGEST_ARC_STEP,
    )


@kernel
def write_prediction(q, run, row, first, step):
    """
    Write the posture predicted one step after a knot, from the tangents of up to three last knots; it is not corrected.

    :param q: (7,) out.
    :param run: a :class:`Tracing`.
    :param row: row of the knot.
    :param first: row of the first knot of the curve.
    :param step: distance along the curve [rad].
    """
    knots, ahead = run.knots, 0.0
    width = knots[row, ARC] - knots[row - 1, ARC] if row > first else 0.0
    before = knots[row - 1, ARC] - knots[row - 2, ARC] if row > first + 1 else 0.0
    # Integrate the tangent as a polynomial through the last three knots.
    bend = 1.0 / width if width > SHORTEST_ARC_STEP else 0.0
    is_third = bend > 0.0 and before > SHORTEST_ARC_STEP
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
    # If tangents turn sharply, the polynomial may lead backwards.
    if not abs(ahead - step) <= LARGEST_BEND * step:
        for k in range(N):
            q[k] = knots[row, k] + step * knots[row, TANGENT + k]


@kernel
def _take_step(run, row, first, step):
    """
    Write the knot one step after knot ``row``, and its tangent; return the determinant of [J; tangent] there.

    J is the Jacobian. The determinant is 0 if the step must be shortened: Newton fails, the prediction misses too far,
    or the tangent turns too much.

    :param run: a :class:`Tracing`.
    :param row: row of the last knot.
    :param first: row of the first knot of the curve.
    :param step: length of the step [rad].
    """
    knots, c = run.knots, run.curve
    write_prediction(knots[row + 1], run, row, first, step)
    vectors.copy(c.row, knots[row, TANGENT:])
    aim = cp.dot(c.row, knots[row + 1])
    determinant = cp.correct(c, knots[row + 1], aim, min(NEAR_ENOUGH, PART_OF_STEP * step), STEPS)
    if determinant == 0.0 or not c.facts[cp.MISS] <= max(
        min(LARGEST_PREDICTION_MISS, 0.3 * step), 1e-7
    ):
        return 0.0
    vectors.put(knots[row + 1, TANGENT:], c.tangent, N)
    knots[row + 1, segments.LEAST_PIVOT] = c.facts[cp.PIVOT]
    return determinant if cp.dot(c.tangent, c.row) >= LEAST_COSINE else 0.0


@kernel
def _meet_limit(run, row, width, miss):
    """
    If a joint passes a limit between knot ``row`` and the next, move the next knot to the posture on the limit.

    :param run: a :class:`Tracing`.
    :param row: row of the first of both knots.
    :param width: length of the segment, the curve between both knots [rad].
    :param miss: error of the prediction of the next knot [rad]; it widens the margin to the limits.
    :returns: (kind, share): kind of the next knot, REGULAR or a joint limit; and a share. A positive share asks for a
        step shortened by this factor, because a joint peaks near its limit or the knot could not be moved.
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
        segments.write_point(c.q, knots, row, row + 1, width, share)
        vectors.write_unit(c.row, joint)
        c.q[joint] = limit
        if cp.correct_exactly(c, c.q, limit) == 0.0:
            return REGULAR, 0.5
        c.q[joint] = limit
        along = cp.dot(c.tangent, knots[row, TANGENT:])
        for k in range(N):
            knots[row + 1, k] = c.q[k]
            knots[row + 1, TANGENT + k] = c.tangent[k] if along >= 0.0 else -c.tangent[k]
        width = segments.length_of(knots, row, row + 1)
        kind = limit_kind(joint, side)
    return kind, 0.0


@kernel
def first_beyond(run, row, width, miss):
    """
    Find the joint that passes or nearly touches a limit first on a segment, the curve between two neighbouring knots.

    :param run: a :class:`Tracing`.
    :param row: row of the first knot of the segment.
    :param width: length of the segment [rad].
    :param miss: error of the prediction of its last knot [rad]; it widens the margin to the limit.
    :returns: (joint, side, share, is_peak). ``joint`` is -1 if no joint comes near a limit; ``side`` is 1 for an upper
        limit, -1 for a lower limit; ``share`` is the place on the segment, 0 to 1; ``is_peak`` is True if the joint
        only turns back near the limit.
    """
    knots, c, new = run.knots, run.curve, row + 1
    first_joint, first_side, least, is_peak = -1, 1.0, 2.0, False
    near = max(segments.LEAST_RISE, segments.MISS_SHARE * miss)
    for k in range(N):
        if not c.lower[k] > -math.inf:
            continue
        for s in range(2):
            side = 1.0 if s == 1 else -1.0
            limit = c.upper[k] if s == 1 else c.lower[k]
            if side * (knots[new, k] - limit) > LIMIT_ROUNDING:
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
                first_joint, first_side, least, is_peak = k, side, share, peaks
    return first_joint, first_side, least, is_peak


@kernel
def _insert_crossing(run, row):
    """
    Insert a knot of kind CROSSING after ``row``, where the determinant of [J; tangent] changes its sign.

    J is the Jacobian. Another curve crosses there.

    :param run: a :class:`Tracing`.
    :param row: row of the knot before the crossing.
    :returns: ``row + 2``, the row of the knot that came after ``row`` before.
    """
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
    vectors.copy(knots[row + 2], knots[row + 1])
    middle = 0.5 * (low + high)
    segments.write_point(knots[row + 1], knots, row, row + 2, width, middle)
    segments.write_slope(knots[row + 1, TANGENT:], knots, row, row + 2, width, middle)
    knots[row + 1, ARC] = knots[row, ARC] + middle * width
    knots[row + 1, KIND], knots[row + 1, segments.LEAST_PIVOT] = CROSSING, 0.0
    return row + 2


@kernel
def _determinant_at(run, row, width, share):
    """
    Return the determinant of the Jacobian with a seventh row, the unit direction of the curve, between two knots.

    Posture and direction are taken from the cubic between the knots ``row`` and ``row + 1``. The result is exactly 0
    if the matrix is singular. ``run.curve`` is overwritten.

    :param run: a :class:`Tracing`.
    :param width: length of the segment between both knots [rad].
    :param share: place on the segment's cubic, from 0 to 1.
    """
    c = run.curve
    segments.write_point(c.q, run.knots, row, row + 1, width, share)
    segments.write_slope(c.row, run.knots, row, row + 1, width, share)
    return cp.solve_there(c, c.q, cp.dot(c.row, c.q))


@kernel
def _cross_off(run, row, last):
    """
    Set ``is_done`` to 1 for the given postures that lie on the curve between knots ``row`` and ``last``.

    :param run: a :class:`Tracing` with the given postures and ``is_done``.
    """
    held, low = run.curve.held, run.curve.lower
    for a in range(row, last):
        width = run.knots[a + 1, ARC] - run.knots[a, ARC]
        middle, half = held_range(run, a, a + 1, width)
        for seed in range(run.seeds.shape[0]):
            if run.is_done[seed] == 1:
                continue
            offset = segments.wrapped(run.seeds[seed, held] - middle, low[held])
            if abs(offset) <= half and lies_on(run, a, a + 1, run.seeds[seed], width):
                run.is_done[seed] = 1


@inline_kernel
def held_range(run, a, b, width):
    """
    Return the range of the held joint in which postures between two knots are sought: (middle, half width) [rad].

    It assumes that the curve is near the straight line between both knots, see :func:`aside_of`.

    :param run: a :class:`Tracing`.
    :param a, b: rows of the knots.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    """
    before, after = run.knots[a, run.curve.held], run.knots[b, run.curve.held]
    return 0.5 * (before + after), 0.5 * abs(after - before) + aside_of(width)


@inline_kernel
def aside_of(width):
    """
    Return the assumed largest distance of a curve from the straight line between two neighbouring knots [rad].

    :param width: length of the segment, the curve between two neighbouring knots [rad].
    """
    return 0.15 * width + CHORD_POINT_DISTANCE


@kernel
def lies_on(run, a, b, q, width):
    """
    Return whether a posture lies on the curve between two neighbouring knots; ``run.curve.q`` is overwritten.

    The test proves nothing. The posture must be near the chord. It lies on the curve if it is within ON_CHORD, or
    within a share of the least pivot, of the cubic between the knots. Otherwise it must be within CHORD_POINT_DISTANCE
    of the exact point at the same place along the chord; False if Newton's method fails there.

    :param run: a :class:`Tracing`.
    :param a, b: rows of the knots.
    :param q: (7,) the posture.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    """
    knots, c = run.knots, run.curve
    share = segments.share_of(knots, a, b, q, c.lower, aside_of(width))
    if share == -1.0:
        return False
    clear = SHARE_OF_PIVOT * min(knots[a, segments.LEAST_PIVOT], knots[b, segments.LEAST_PIVOT])
    if _gap(run, a, b, q, width, share) <= max(ON_CHORD, clear):
        return True
    segments.write_slope(c.row, knots, a, b, width, min(max(share, 0.0), 1.0))
    aim = 0.0
    for k in range(N):
        change = segments.wrapped(q[k] - c.q[k], c.lower[k])
        aim += c.row[k] * (c.q[k] + change)
    if cp.correct_exactly(c, c.q, aim) == 0.0:
        return False
    return _distance(c, q) <= CHORD_POINT_DISTANCE


@kernel
def _gap(run, a, b, q, width, share):
    """
    Return the distance in joint space between q (7,) and the cubic of knots a and b, at a share of the cubic [rad].

    The cubic's posture at this share is written into ``run.curve.q``.

    :param run: a :class:`Tracing`.
    :param a, b: rows of the knots.
    :param width: length of the segment, the curve between both knots [rad].
    :param share: place on the cubic, 0 at a, 1 at b.
    """
    segments.write_point(run.curve.q, run.knots, a, b, width, share)
    return _distance(run.curve, q)


@inline_kernel
def _distance(c, q):
    """Return the distance in joint space between ``q`` (7,) and the posture ``c.q`` of a curve [rad]."""
    total = 0.0
    for k in range(N):
        total += segments.wrapped(q[k] - c.q[k], c.lower[k]) ** 2
    return math.sqrt(total)


@kernel
def is_closed(run, row, last, first):
    """
    Return whether a curve has come back to its first knot; if so, move knot ``last`` onto the first knot.

    It must come back in the direction of its first tangent. The windings of the angles stay, and the arc length of the
    last knot becomes the length of the closed curve.

    :param run: a :class:`Tracing`.
    :param row, last: the segments between these rows are examined; ``last`` is the last knot of the curve.
    :param first: row of the first knot of the curve.
    """
    knots, low = run.knots, run.curve.lower
    for a in range(row, last):
        width = knots[a + 1, ARC] - knots[a, ARC]
        along = cp.dot(knots[a, TANGENT:], knots[first, TANGENT:])
        if along <= 0.0 or not lies_on(run, a, a + 1, knots[first], width):
            continue
        for k in range(N):
            change = segments.wrapped(knots[first, k] - knots[a + 1, k], low[k])
            knots[last, k] = knots[a + 1, k] + change
            knots[last, TANGENT + k] = knots[first, TANGENT + k]
        knots[last, ARC] = knots[last - 1, ARC] + segments.length_of(knots, last - 1, last)
        return True
    return False
