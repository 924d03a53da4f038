"""
Traced curves, parted where the held joint turns back and where curves cross.

Problem
-------
Between two knots the held joint's part of the tangent changes its sign. Wanted is the posture at which it vanishes: there two
branches of the six other joints meet. Curves end there, and at crossings, and the next ones begin.

Solutions
---------
One fold between two knots with different signs.

Method
------
1. The place by the cubic, then chords of the tangent's part on the curve itself, eight folds side by side.
2. A closed curve with any such place begins at the first of them.
3. Ends of curves in the same posture are found by comparing all of them.

Degeneracies
------------
Two folds between two knots have no trace in the signs: the curve is not parted there, nor where the held joint stands still.

Cost
----
About twelve forward passes for eight folds.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.closed_form.self_motions import (
    curve_points as cp,
    lane_points as lp,
    segments,
    trace,
)
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.closed_form.self_motions.segments import ARC, KIND, TANGENT
from ssik_ros.kernels.geometry.lanes import LANES

LOOKS = 60
"""Newton steps at most towards the folds of eight segments."""
AT_FOLD = 1e-10
"""Part of the held joint in the tangent that counts as none."""
STILL = 1e-5
"""Part of the held joint in the tangents of both knots up to which its sign is one of rounding: there it stands still."""
ON_CURVE = 1e-8
"""Last Newton step of a posture whose tangent is looked at [rad]."""
SAME_POSTURE = 1e-4
"""Distance of two ends below which one curve continues the other [rad]."""
OTHERS = 3
"""Most curves that are named at an end."""
FIRST_ROW, ROWS = 0, 1
"""Columns of the heads; behind them the curves at the beginning, and those at the end."""
COLUMNS = 2 + 2 * OTHERS
ROOM = 6
"""Rows of knots needed for each given one."""
ROW, LOW, HIGH, F_LOW, F_HIGH, SHARE, SIDE = range(7)
"""Numbers of a segment with a fold: its first knot, the bracket, the tangent's parts there, the share that is looked at, and
which end has stayed."""
STATE = 7


@inline_kernel
def scratch_size():
    """Return how many numbers :func:`part_curves` needs."""
    return cp.scratch_size() + N + LANES * STATE + lp.numbers_size()


@kernel
def part_curves(out, heads, fold_at, knots, rows, ints, reals, target, free, work):
    """
    Write the parted curves; return how many there are.

    :param out: (ROOM k, segments.COLUMNS) out, curve behind curve, arc lengths from 0 on.
    :param heads: (2 k, COLUMNS) integers out: first row and number of rows of each, and the curves at both ends, -1 for none.
    :param fold_at: (k,) integers, scratch.
    :param knots: (k, segments.COLUMNS) of all curves.
    :param rows: (c,) how many knots each of them has.
    :param ints, reals: the plan of seven joints.
    :param target: (12,) T.
    :param free: (7,) integers, 0 to 6.
    :param work: (scratch_size(),).
    """
    c = cp.open_curve(ints, reals, target, free, work)
    own = cp.scratch_size()
    q, state = vector(work, own, N), matrix(work, own + N, LANES, STATE)
    numbers = vector(work, own + N + LANES * STATE, lp.numbers_size())
    _write_folds(c, q, out, fold_at, knots, rows, state, numbers)
    count, first, written = 0, 0, 0
    for curve in range(rows.shape[0]):
        more, written = _part(out, heads, count, written, fold_at, knots, first, rows[curve])
        count += more
        first += rows[curve]
    for curve in range(count):
        for end in range(2):
            _link(out, heads, count, curve, end, c.lower)
    return count


@kernel
def _write_folds(c, q, out, fold_at, knots, rows, state, numbers):
    """Write a knot for each fold at the end of the table, from the last row on, and its row behind which knot, or -1."""
    found, waiting, first = out.shape[0], 0, 0
    for curve in range(rows.shape[0]):
        for row in range(first, first + rows[curve]):
            fold_at[row] = -1
            if row + 1 == first + rows[curve]:
                continue
            before, behind = knots[row, TANGENT + c.held], knots[row + 1, TANGENT + c.held]
            if before * behind < 0.0 and max(abs(before), abs(behind)) > STILL:
                found -= 1
                fold_at[row] = found
                lane = state[waiting]
                lane[ROW], lane[LOW], lane[HIGH], lane[SIDE] = row, 0.0, 1.0, 0.0
                lane[F_LOW], lane[F_HIGH] = before, behind
                waiting += 1
            if waiting == LANES:
                _find_folds(c, q, out, fold_at, knots, state, numbers, waiting)
                waiting = 0
        first += rows[curve]
    if waiting > 0:
        _find_folds(c, q, out, fold_at, knots, state, numbers, waiting)


@kernel
def _find_folds(c, q, out, fold_at, knots, state, numbers, count):
    """Write the knots of up to eight folds, eight at once."""
    for lane in range(LANES):
        for k in range(STATE):
            # Those that are missing are the first one once more.
            state[lane, k] = state[lane, k] if lane < count else state[0, k]
        _look_at(q, knots, state[lane], numbers, lane)
    for _ in range(LOOKS):
        lp.solve_there(c, numbers)
        open_lanes = 0
        for lane in range(LANES):
            size = lp.number_of(numbers, lp.SIZE, lane)
            f = lp.number_of(numbers, lp.TANGENT + c.held, lane)
            is_there = abs(f) < AT_FOLD and size < ON_CURVE
            if is_there or not size <= cp.LONGEST:
                continue
            open_lanes += 1
            if size >= ON_CURVE:
                lp.take_step(numbers, lane)
                continue
            _narrow(state[lane], f)
            _look_at(q, knots, state[lane], numbers, lane)
        if open_lanes == 0:
            break
    for lane in range(count):
        row = int(state[lane, ROW])
        at = fold_at[row]
        for k in range(N):
            out[at, k] = lp.number_of(numbers, lp.Q + k, lane)
            out[at, TANGENT + k] = lp.number_of(numbers, lp.TANGENT + k, lane)
        width = knots[row + 1, ARC] - knots[row, ARC]
        out[at, ARC] = knots[row, ARC] + state[lane, SHARE] * width
        out[at, KIND] = trace.FOLD
        out[at, segments.ROOM] = lp.number_of(numbers, lp.ROOM, lane)


@kernel
def _narrow(lane, f):
    """Take the tangent's part at the share that was looked at into the bracket."""
    # The end that stays twice counts half: then both ends come near.
    if f * lane[F_LOW] > 0.0:
        lane[LOW], lane[F_LOW] = lane[SHARE], f
        lane[F_HIGH] *= 0.5 if lane[SIDE] > 0.0 else 1.0
        lane[SIDE] = 1.0
    else:
        lane[HIGH], lane[F_HIGH] = lane[SHARE], f
        lane[F_LOW] *= 0.5 if lane[SIDE] < 0.0 else 1.0
        lane[SIDE] = -1.0


@kernel
def _look_at(q, knots, state, numbers, lane):
    """Let a lane look where the chord of the bracket vanishes."""
    row = int(state[ROW])
    share = state[LOW] + (state[HIGH] - state[LOW]) * state[F_LOW] / (state[F_LOW] - state[F_HIGH])
    width, aim = knots[row + 1, ARC] - knots[row, ARC], 0.0
    state[SHARE] = share
    segments.write_point(q, knots, row, row + 1, width, share)
    for k in range(N):
        lp.set_number(numbers, lp.Q + k, lane, q[k])
    segments.write_slope(q, knots, row, row + 1, width, share)
    for k in range(N):
        aim += q[k] * lp.number_of(numbers, lp.Q + k, lane)
        lp.set_number(numbers, lp.ROW + k, lane, q[k])
    lp.set_number(numbers, lp.AIM, lane, aim)


@kernel
def _part(out, heads, count, written, fold_at, knots, first, rows):
    """
    Write the pieces of one curve; return how many there are, and how many rows are written in all.

    What stands on the curve is counted: 2 row for a knot, 2 row + 1 for the fold behind it.
    """
    last, begun = first + rows - 1, count
    begin = _beginning(fold_at, knots, first, last)
    item, lap, base = max(begin, 2 * first), False, 0.0
    heads[count, FIRST_ROW] = written
    base = _put(out, written, fold_at, knots, item, first, last, lap)
    out[written, ARC] = 0.0
    written += 1
    while True:
        item += 1
        if item > 2 * last:
            if begin < 0:
                break
            # The last knot is the first one.
            item, lap = 2 * first, True
            continue
        if item % 2 == 1 and fold_at[item // 2] < 0:
            continue
        arc = _put(out, written, fold_at, knots, item, first, last, lap)
        out[written, ARC] = arc - base
        written += 1
        if _is_end(fold_at, knots, item) and item < 2 * last:
            heads[count, ROWS] = written - heads[count, FIRST_ROW]
            count += 1
            if item == begin:
                return count - begun, written
            heads[count, FIRST_ROW] = written
            base = _put(out, written, fold_at, knots, item, first, last, lap)
            out[written, ARC] = 0.0
            written += 1
    heads[count, ROWS] = written - heads[count, FIRST_ROW]
    return count + 1 - begun, written


@inline_kernel
def _is_end(fold_at, knots, item):
    """Return whether curves end there."""
    row = item // 2
    if item % 2 == 1:
        return fold_at[row] >= 0
    return knots[row, KIND] == trace.FOLD or knots[row, KIND] == trace.CROSSING


@inline_kernel
def _beginning(fold_at, knots, first, last):
    """Return where a closed curve begins, -1 where it stays whole or is not closed."""
    begins, ends = knots[first, KIND], knots[last, KIND]
    is_whole = begins != trace.SINGULAR and ends != trace.SINGULAR
    if is_whole and (begins == trace.CLOSED or ends == trace.CLOSED):
        for item in range(2 * first + 1, 2 * last):
            if _is_end(fold_at, knots, item):
                return item
    return -1


@inline_kernel
def _put(out, at, fold_at, knots, item, first, last, lap):
    """Write what stands on a curve as a row; return its arc length, with a whole lap more and its windings if so."""
    row = item // 2
    fold = fold_at[row] if item % 2 == 1 else 0
    for column in range(segments.COLUMNS):
        out[at, column] = out[fold, column] if item % 2 == 1 else knots[row, column]
    if lap:
        for k in range(N):
            turns = (knots[last, k] - knots[first, k]) / (2.0 * math.pi)
            out[at, k] += 2.0 * math.pi * math.floor(turns + 0.5)
        out[at, ARC] += knots[last, ARC]
    return out[at, ARC]


@inline_kernel
def _row_of(heads, curve, end):
    """Return the row of an end of a curve: 0 for the first, 1 for the last one."""
    return heads[curve, FIRST_ROW] + (heads[curve, ROWS] - 1 if end == 1 else 0)


@kernel
def _link(out, heads, count, curve, end, lower):
    """Write the curves that have an end in the same posture."""
    place, start, found = _row_of(heads, curve, end), 2 + end * OTHERS, 0
    for i in range(OTHERS):
        heads[curve, start + i] = -1
    if out[place, KIND] != trace.FOLD and out[place, KIND] != trace.CROSSING:
        return
    for other in range(count):
        for side in range(2):
            row, is_same = _row_of(heads, other, side), other != curve or side != end
            if out[row, KIND] != trace.FOLD and out[row, KIND] != trace.CROSSING:
                continue
            for k in range(N):
                away = segments.wrapped(out[row, k] - out[place, k], lower[k])
                is_same = is_same and abs(away) < SAME_POSTURE
            is_new = found == 0 or heads[curve, start + found - 1] != other
            if is_same and is_new and found < OTHERS:
                heads[curve, start + found] = other
                found += 1
