"""
Split the curves on which seven joints keep a pose at folds, where the held joint turns back, and at crossings.

:func:`part_curves` does this for all curves of a pose, and tells which parts meet.

Problem
-------
The held joint's component of the tangent changes its sign between two knots. Find the posture where it vanishes: two
branches of the other six joints meet there. Curves end at folds and crossings, and the next curves begin there.

Solutions
---------
One fold between two knots with different signs.

Method
------
1. Estimate the fold on the cubic. Then find the zero of the component on the curve itself by a secant method, for eight
   folds at once.
2. A closed curve with a fold or crossing begins at the first of them.
3. Compare all ends of curves to find ends in the same posture.

Degeneracies
------------
Two folds between two knots leave no sign change, so the curve is not split there. Nor is it split where the held joint
does not move.

Cost
----
About twelve forward passes for eight folds.
"""

from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.self_motions import (
    curve_points as cp,
    lane_points as lp,
    segments,
    trace,
)
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.closed_form.self_motions.segments import ARC, KIND, TANGENT
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.rows.views import Floats, Memory

LOOKS = 60
"""Most Newton steps for the folds of eight segments."""
AT_FOLD = 1e-10
"""Largest component of the held joint in the tangent at a fold."""
STILL_COMPONENT = 1e-5
"""If the held joint's component is at most this at both knots, its sign is rounding and the joint counts as still."""
FOLD_LAST_STEP = 1e-8
"""Largest last Newton step of a posture at which the tangent is used [rad]."""
SAME_POSTURE = 1e-4
"""Largest difference of a joint between two ends at which the curves continue each other [rad]."""
OTHERS = 3
"""Most continuing curves that are listed at an end."""
FIRST_ROW, ROWS = 0, 1
"""Columns of the heads. The curves at the first knot and the curves at the last knot follow."""
COLUMNS = 2 + 2 * OTHERS
ROWS_PER_KNOT = 6
"""Rows of the output for each given knot."""
ROW, LOW, HIGH, F_LOW, F_HIGH, SHARE, SIDE = range(7)
"""Numbers of a segment with a fold: its first knot, the bracket, the components at both ends of the bracket, the
examined share, and the end that was kept last."""
STATE = 7


class FoldScratch(NamedTuple):
    """Scratch of :func:`part_curves`, which finds the folds of eight segments at a time."""

    curve: Annotated[Floats, 'cp.scratch_size()']
    """Scratch of :mod:`curve_points`."""
    state: Annotated[Floats, LANES, STATE]
    """Numbers of eight segments with a fold, such as ROW."""
    numbers: Annotated[Floats, LANES * lp.NUMBERS]
    """Numbers of :mod:`lane_points`."""


SCRATCH = Memory(FoldScratch, '', globals())
scratch_size = SCRATCH.size('scratch_size')
_view = SCRATCH.kernel('_view')


@kernel
def part_curves(out, heads, fold_at, knots, rows, ints, reals, target, free, work):
    """
    Split curves at folds and crossings, and list which of the new curves end in the same posture; return their number.

    At a fold the held joint turns back; at a crossing two curves meet.

    :param out: (ROWS_PER_KNOT k, segments.COLUMNS) out: knots of all new curves in turn, with arc lengths from 0.
    :param heads: (2 k, COLUMNS) integers out, a row for each new curve: first row, number of rows, up to OTHERS curves
        that continue at its first knot, and up to OTHERS that continue at its last knot; -1 fills empty places.
    :param fold_at: (k,) integers, scratch.
    :param knots: (k, segments.COLUMNS) knots of all given curves: postures with tangent and arc length.
    :param rows: (m,) number of knots of each given curve.
    :param ints, reals: the plan of seven joints.
    :param target: (12,) target pose of the tip: rotation row by row, then translation.
    :param free: (7,) indices of the joints: 0 to 6.
    :param work: (scratch_size(),) scratch.
    """
    room = _view(work)
    c = cp.open_curve(ints, reals, target, free, room.curve)
    _write_folds(c, out, fold_at, knots, rows, room.state, room.numbers)
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
def _write_folds(c, out, fold_at, knots, rows, state, numbers):
    """
    Find the folds of all curves and write a knot for each: the first into the last row of ``out``, the next before it.

    At a fold the held joint turns back: its component of the tangent vanishes. A fold is looked for between two
    neighbouring knots, stored postures, where this component changes its sign. If it is at most STILL_COMPONENT at
    both, the sign is ignored.

    :param c: a :class:`curve_points.Curve`: chain, pose and held joint.
    :param out: (., segments.COLUMNS) knots.
    :param fold_at: (k,) out: row in ``out`` of the fold between a knot and the next; -1 without a fold.
    :param knots: (k, segments.COLUMNS) knots of all curves: postures with tangent and arc length.
    :param rows: (m,) number of knots of each of m curves.
    :param state, numbers: scratch of eight segments.
    """
    fold_row, waiting, first = out.shape[0], 0, 0
    for curve in range(rows.shape[0]):
        for row in range(first, first + rows[curve]):
            fold_at[row] = -1
            if row + 1 == first + rows[curve]:
                continue
            before, after = knots[row, TANGENT + c.held], knots[row + 1, TANGENT + c.held]
            if before * after < 0.0 and max(abs(before), abs(after)) > STILL_COMPONENT:
                fold_row -= 1
                fold_at[row] = fold_row
                lane = state[waiting]
                lane[ROW], lane[LOW], lane[HIGH], lane[SIDE] = row, 0.0, 1.0, 0.0
                lane[F_LOW], lane[F_HIGH] = before, after
                waiting += 1
            if waiting == LANES:
                _find_folds(c, out, fold_at, knots, state, numbers, waiting)
                waiting = 0
        first += rows[curve]
    if waiting > 0:
        _find_folds(c, out, fold_at, knots, state, numbers, waiting)


@kernel
def _find_folds(c, out, fold_at, knots, state, numbers, count):
    """
    Find the folds of up to eight segments at once and write their knots.

    At a fold the held joint turns back: its component of the tangent vanishes. A segment is the curve between two
    neighbouring knots. A fold that has not converged is written at the last examined posture.

    :param c: a :class:`curve_points.Curve`: chain, pose and held joint.
    :param out, fold_at: knots out, and for each given knot the row in ``out`` of the fold after it.
    :param knots: (k, segments.COLUMNS) knots of all curves: postures with tangent and arc length.
    :param state: (8, STATE) segments; LOW and HIGH bracket the share of the segment at which the fold is.
    :param numbers: scratch of :mod:`lane_points`.
    :param count: number of segments.
    """
    for lane in range(LANES):
        for k in range(STATE):
            # Unused lanes repeat the first fold.
            state[lane, k] = state[lane, k] if lane < count else state[0, k]
        _look_at(c, knots, state[lane], numbers, lane)
    for _ in range(LOOKS):
        lp.solve_there(c, numbers)
        open_lanes = 0
        for lane in range(LANES):
            size = lp.number_of(numbers, lp.SIZE, lane)
            f = lp.number_of(numbers, lp.TANGENT + c.held, lane)
            is_there = abs(f) < AT_FOLD and size < FOLD_LAST_STEP
            if is_there or not size <= cp.LONGEST_NEWTON_STEP:
                continue
            open_lanes += 1
            if size >= FOLD_LAST_STEP:
                lp.take_step(numbers, lane)
                continue
            _narrow(state[lane], f)
            _look_at(c, knots, state[lane], numbers, lane)
        if open_lanes == 0:
            break
    for lane in range(count):
        row = int(state[lane, ROW])
        at = fold_at[row]
        lp.read(out[at], numbers, lp.Q, lane)
        lp.read(out[at, TANGENT:], numbers, lp.TANGENT, lane)
        width = knots[row + 1, ARC] - knots[row, ARC]
        out[at, ARC] = knots[row, ARC] + state[lane, SHARE] * width
        out[at, KIND] = trace.FOLD
        out[at, segments.LEAST_PIVOT] = lp.number_of(numbers, lp.LEAST_DIAGONAL, lane)


@kernel
def _narrow(lane, f):
    """
    Narrow the bracket of a fold to the examined share of its segment, in place (Illinois method).

    :param lane: (STATE,) numbers of the segment: SHARE replaces LOW or HIGH.
    :param f: the held joint's component of the tangent at this share; its sign says which end is replaced.
    """
    # Halve the component at the end that stays twice (Illinois method), so that both ends approach the fold.
    if f * lane[F_LOW] > 0.0:
        lane[LOW], lane[F_LOW] = lane[SHARE], f
        lane[F_HIGH] *= 0.5 if lane[SIDE] > 0.0 else 1.0
        lane[SIDE] = 1.0
    else:
        lane[HIGH], lane[F_HIGH] = lane[SHARE], f
        lane[F_LOW] *= 0.5 if lane[SIDE] < 0.0 else 1.0
        lane[SIDE] = -1.0


@kernel
def _look_at(c, knots, state, numbers, lane):
    """
    Choose the next share of a segment to examine for its fold, and put the posture there into a lane.

    The share is where a straight line through both ends of the bracket vanishes. The seventh equation of the lane is
    written, too.

    :param c: a :class:`curve_points.Curve`; its ``q`` and ``row`` are overwritten.
    :param knots: knots of all curves.
    :param state: (STATE,) numbers of the segment; SHARE is written.
    :param numbers: (8 lane_points.NUMBERS,) out.
    :param lane: index of the lane.
    """
    row = int(state[ROW])
    share = state[LOW] + (state[HIGH] - state[LOW]) * state[F_LOW] / (state[F_LOW] - state[F_HIGH])
    width = knots[row + 1, ARC] - knots[row, ARC]
    state[SHARE] = share
    segments.write_point(c.q, knots, row, row + 1, width, share)
    segments.write_slope(c.row, knots, row, row + 1, width, share)
    lp.place_across(numbers, lane, c.q, c.row)


@kernel
def _part(out, heads, count, written, fold_at, knots, first, rows):
    """
    Write the parts of one curve between its folds and crossings; return (number of parts, rows written in all).

    A closed curve with a fold or crossing begins at the first of them. The rows written in all include the first
    ``written`` rows.

    :param out: knots of the split curves, of which ``written`` rows are written before.
    :param heads: first row and number of rows of each split curve; ``count`` heads are written before.
    :param fold_at: row in ``out`` of the fold after each knot, or -1.
    :param knots: knots of all curves.
    :param first, rows: first row and number of rows of the curve in ``knots``.
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
            # The last knot repeats the first one.
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
    """
    Return whether a curve is split at an item: it is a fold or a crossing with another curve.

    Items count along the curve: item 2 row is the knot in this row, item 2 row + 1 the fold between this knot and the
    next.

    :param fold_at: row of the fold after each knot, -1 without a fold.
    :param knots: knots of all curves, with their kind.
    """
    row = item // 2
    if item % 2 == 1:
        return fold_at[row] >= 0
    return knots[row, KIND] == trace.FOLD or knots[row, KIND] == trace.CROSSING


@inline_kernel
def _beginning(fold_at, knots, first, last):
    """
    Return the item at which the first part of a closed curve begins: its first fold or crossing.

    Item 2 row is a knot, 2 row + 1 the fold after this knot. The first and the last knot do not count. The result is -1
    if the curve is not closed, an end of it is singular, or it has neither fold nor crossing.

    :param fold_at, knots: row of the fold after each knot, or -1; knots of all curves.
    :param first, last: first and last row of the curve.
    """
    begins, ends = knots[first, KIND], knots[last, KIND]
    is_whole = begins != trace.SINGULAR and ends != trace.SINGULAR
    if is_whole and (begins == trace.CLOSED or ends == trace.CLOSED):
        for item in range(2 * first + 1, 2 * last):
            if _is_end(fold_at, knots, item):
                return item
    return -1


@inline_kernel
def _put(out, at, fold_at, knots, item, first, last, lap):
    """
    Copy a knot or a fold of a curve into row ``at`` of ``out``; return its arc length [rad].

    :param out: knots of the split curves; its end has the knots of the folds.
    :param fold_at, knots: row of the fold after each knot, or -1; knots of all curves.
    :param item: 2 row for a knot, 2 row + 1 for the fold after it.
    :param first, last: first and last row of the curve.
    :param lap: True adds the length and the windings of one lap of the closed curve.
    """
    row = item // 2
    fold = fold_at[row] if item % 2 == 1 else 0
    for column in range(segments.COLUMNS):
        out[at, column] = out[fold, column] if item % 2 == 1 else knots[row, column]
    if lap:
        for k in range(N):
            out[at, k] += joint_values.whole_turns(knots[last, k] - knots[first, k])
        out[at, ARC] += knots[last, ARC]
    return out[at, ARC]


@inline_kernel
def _row_of(heads, curve, end):
    """
    Return the row of the first knot (``end`` 0) or the last knot (``end`` 1) of a split curve.

    :param heads: (., COLUMNS) first row and number of rows of each curve.
    :param curve: index of the curve.
    """
    return heads[curve, FIRST_ROW] + (heads[curve, ROWS] - 1 if end == 1 else 0)


@kernel
def _link(out, heads, count, curve, end, lower):
    """
    List at one end of a split curve the curves that end in the same posture, in the heads of the curve.

    The curve itself is listed if its other end is there too. At most OTHERS indices are written, -1 fills the other
    places. An end that is neither a fold nor a crossing gets -1 only.

    :param out: knots of the split curves.
    :param heads: (., COLUMNS) of which ``count`` rows are in use: first row and number of rows of each curve, then the
        lists of both ends.
    :param count: number of split curves.
    :param curve, end: index of the curve; 0 for its first knot, 1 for its last knot.
    :param lower: (7,) lower limits; joints with -inf are compared modulo 2 pi.
    """
    place, start, n_others = _row_of(heads, curve, end), 2 + end * OTHERS, 0
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
                change = segments.wrapped(out[row, k] - out[place, k], lower[k])
                is_same = is_same and abs(change) < SAME_POSTURE
            is_new = n_others == 0 or heads[curve, start + n_others - 1] != other
            if is_same and is_new and n_others < OTHERS:
                heads[curve, start + n_others] = other
                n_others += 1
