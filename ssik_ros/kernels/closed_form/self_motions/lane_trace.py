"""
Follow the curves on which seven joints keep a pose, through given postures, eight curves at a time in SIMD lanes.

Problem
-------
Postures that reach a pose are given. Follow the curve through each of them to both ends, each curve once.

Solutions
---------
The same curves as :mod:`trace`, in another order.

Method
------
1. Each lane follows a curve in one direction by the steps of :mod:`trace`; the equations are solved for all lanes at
   once. If a lane's step has not arrived, its next Newton step is part of the next round, while other lanes begin a new
   step.
2. An idle lane takes the second direction of a curve that is being followed. Of the other idle lanes, only half begin a
   new curve.
3. The start of a curve may turn out to lie on another curve: then the lanes of this curve stop.
4. If steps shrink too far or a curve gets too long, :mod:`trace` follows the curve.

Degeneracies
------------
As in :mod:`trace`: a given posture that no curve is seen to pass starts a new curve, and at singular postures curves
end.

Cost
----
A round of all lanes costs as much as one step of one curve in :mod:`trace`.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.self_motions import (
    curve_points as cp,
    lane_points as lp,
    segments,
    trace,
)
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.closed_form.self_motions.segments import ARC, KIND, TANGENT
from ssik_ros.kernels.geometry import lane_angles, lanes, vectors
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.rows.views import Floats, Memory

MOST_LANE_KNOTS = 128
"""Most knots of a curve in each direction; :mod:`trace` follows longer curves."""
LEAST_ROOM = 1e-9
"""Least diagonal element; if it is not larger, the posture counts as singular."""
LANDED = 1e-6
"""If the last step is at most this, a posture on a limit is exact up to rounding [rad or m]."""
REACHED = 1e-4
"""Largest error at the tip of a given posture that counts as a solution: near a fold, rounding grows to its square
root."""
FOLLOWED = 2
"""Offset of the marks in ``is_done``: FOLLOWED + curve marks a posture that this curve has passed."""

IDLE, START, STEP, LAND = 0.0, 1.0, 2.0, 3.0
"""Phases of a lane."""
PHASE, CURVE, DIRECTION, ROW, WIDTH, BEFORE, COUNT, MISS, JOINT, SIDE, LANDINGS = range(11)
"""Numbers of a lane: phase; curve; direction, 0 or 1; last knot; step length; sign of the determinant at the last knot;
count of Newton steps; error of the prediction; joint that is put on a limit; side of the limit; count of limits so
far."""
STATE = 11

SEED, SIGN, DIRECTION_STATES, LAST, TURN = 0, 1, 2, 4, 6
"""Numbers of a curve: index of its first posture, NONE for an unused place; sign of the determinant there; states of
both directions; last knots of both directions; knot of the first posture in the second direction."""
CURVES = 7
NONE = -1.0
OPEN, ACTIVE, DONE = 0.0, 1.0, 2.0
"""States of a direction."""


class Lanes(NamedTuple):
    """
    Arrays of up to eight curves that are followed at the same time, and of the eight lanes that follow them.

    A lane follows one direction of a curve. Its phase is IDLE; START, at the first posture; STEP, towards the next
    knot; or LAND, towards a joint limit. ``state`` belongs to the lanes, ``curves`` to the curves, ``numbers`` to the
    equations. ``joints`` has the given postures for comparison, ``limits`` the joint limits. ``knots`` has the knots of
    unfinished curves, ``out`` the knots of finished curves. A knot is a stored posture with tangent and arc length.
    """

    scratch: Annotated[Floats, 'cp.scratch_size()']
    """Scratch of ``curve``."""
    state: Annotated[Floats, LANES, STATE]
    """Numbers of each lane, such as PHASE."""
    curves: Annotated[Floats, LANES, CURVES]
    """Numbers of each curve, such as SEED, the index of its first posture."""
    numbers: Annotated[Floats, LANES * lp.NUMBERS]
    """Numbers of :mod:`lane_points`."""
    knots: Annotated[Floats, 2 * LANES * MOST_LANE_KNOTS, segments.COLUMNS]
    """MOST_LANE_KNOTS knots for each of eight curves and two directions."""
    limits: Annotated[Floats, 2 * LANES]
    """Seven lower limits and -inf, then seven upper limits and +inf."""
    joints: Annotated[Floats, N, 'LANES * ((size + LANES - 1) // LANES)']
    """Given postures joint by joint, padded to eights. The held joint is NaN for postures that need no more tests."""
    out: np.ndarray
    """(., segments.COLUMNS) out: knots of finished curves in turn."""
    seeds: np.ndarray
    """(size, 7) given postures; those that do not reach the pose give no curve."""
    is_done: np.ndarray
    """
    (size,) integers, one for each given posture: FOLLOWED + i if the unfinished curve i passes it.

    It is 1 if a finished curve passes the posture or it does not reach the pose, else 0.
    """
    curve: cp.Curve
    """The chain, the pose, and scratch for points of a curve."""


SCRATCH = Memory(Lanes, 'size', globals())
scratch_size = SCRATCH.size('scratch_size')
_view = SCRATCH.kernel('_view')


@kernel
def follow(knots, heads, ints, reals, target, seeds, is_done, free, work):
    """
    Write the curves through given postures; return their number, -1 if their knots do not fit.

    A given posture that is seen on a followed curve starts no other curve, so that each curve is mostly written once.
    If a posture is not seen there, its curve is written again.

    :param knots: (., segments.COLUMNS) out: knots of all curves in turn, postures with tangent and arc length.
    :param heads: (m, 2) integers out: first row and number of rows of each curve.
    :param ints, reals: the plan of seven joints with the limits.
    :param target: (12,) target pose of the tip: rotation row by row, then translation.
    :param seeds: (m, 7) given postures; those that do not reach the pose give no curve.
    :param is_done: (m,) integers, in and out. The caller sets 0 for postures to follow; the kernel sets 1 for postures
        that a curve has passed or that do not reach the pose.
    :param free: (7,) indices of the joints: 0 to 6.
    :param work: (scratch_size(len(seeds)),) scratch.
    """
    if seeds.shape[0] == 0:
        return 0
    run = _open(knots, ints, reals, target, seeds, is_done, free, work)
    count, first, is_spent = 0, 0, False
    while True:
        idle = 0
        for lane in range(LANES):
            if run.state[lane, PHASE] == IDLE:
                idle += not _take_second(run, lane)
        begun = 0
        for lane in range(LANES):
            if run.state[lane, PHASE] == IDLE and not is_spent and 2 * begun < idle:
                is_spent = not _begin(run, lane)
                begun += not is_spent
        if idle - begun == LANES:
            return count
        lp.solve_there(run.curve, run.numbers)
        for lane in range(LANES):
            if run.state[lane, PHASE] == IDLE:
                continue
            rows = _advance(run, lane, first)
            if rows < 0:
                return -1
            if rows > 0:
                heads[count, trace.FIRST_ROW], heads[count, trace.ROWS] = first, rows
                count += 1
                first += rows
                # A curve that is left to :mod:`trace` frees the postures that its lanes have marked.
                is_spent = False


@inline_kernel
def _open(knots, ints, reals, target, seeds, is_done, free, work):
    """
    Return the arrays of a new search as a :class:`Lanes` of views of ``work``, with every lane idle.

    :param knots, ints, reals, target, seeds, is_done, free, work: output, arm, pose, given postures and scratch, as for
        :func:`follow`.
    """
    c, size = cp.open_curve(ints, reals, target, free, work), seeds.shape[0]
    run = _view(work, size, knots, seeds, is_done, c)
    joints, limits = run.joints, run.limits
    limits[LANES - 1], limits[2 * LANES - 1] = -math.inf, math.inf
    for k in range(N):
        limits[k], limits[LANES + k] = c.lower[k], c.upper[k]
        for i in range(joints.shape[1]):
            is_open = i < size and is_done[i] == 0
            joints[k, i] = seeds[i, k] if is_open else math.nan
    for lane in range(LANES):
        run.state[lane, PHASE], run.curves[lane, SEED] = IDLE, NONE
        # Idle lanes are computed, too, so give them valid numbers.
        lp.place_holding(run.numbers, lane, seeds[0], c.held)
    return run


@inline_kernel
def _partial(run):
    """Return the unfinished curves of a :class:`Lanes` as a :class:`trace.Tracing`, for functions of :mod:`trace`."""
    return trace.Tracing(run.knots, run.seeds, run.is_done, run.curve)


@kernel
def _begin(run, lane):
    """
    Let an idle lane start a new curve at a given posture that is on no curve yet.

    The posture's number in ``is_done`` becomes FOLLOWED plus the index of the new curve.

    :param run: a :class:`Lanes`; a lane follows one direction of a curve.
    :param lane: index of the lane.
    :returns: False if all given postures are on a curve already.
    """
    c, is_done, count = run.curve, run.is_done, run.seeds.shape[0]
    curve = 0
    while run.curves[curve, SEED] != NONE:
        curve += 1
    # Neighbouring postures are often on one curve, so lanes begin far from each other.
    seed = (lane * count) // LANES
    for _ in range(count):
        seed = seed + 1 if seed + 1 < count else 0
        if is_done[seed] != 0:
            continue
        is_done[seed] = FOLLOWED + curve
        run.curves[curve, SEED], run.curves[curve, DIRECTION_STATES + 1] = seed, ACTIVE
        run.state[lane, CURVE], run.state[lane, PHASE] = curve, START
        lp.place_holding(run.numbers, lane, run.seeds[seed], c.held)
        return True
    return False


@kernel
def _take_second(run, lane):
    """
    Let an idle lane follow the second direction of some curve that only one lane follows.

    :param run: a :class:`Lanes`; a lane follows one direction of a curve.
    :param lane: index of the lane.
    :returns: False if both directions of all curves are followed already; then the lane stays idle.
    """
    for curve in range(LANES):
        if run.curves[curve, SEED] != NONE and run.curves[curve, DIRECTION_STATES + 1] == OPEN:
            _follow_second(run, lane, curve)
            return True
    return False


@kernel
def _follow_second(run, lane, number):
    """
    Let a lane follow curve ``number`` from its first posture in the second direction.

    Up to three knots of the first direction are copied, reversed, so that the first prediction is good.

    :param run: a :class:`Lanes`; a lane follows one direction of a curve.
    :param lane: index of the lane.
    """
    knots, curve, state = run.knots, run.curves[number], run.state[lane]
    base = 2 * number * MOST_LANE_KNOTS
    last_copied = min(int(curve[LAST]) - base, 2)
    for i in range(last_copied + 1):
        for column in range(segments.COLUMNS):
            value = knots[base + last_copied - i, column]
            is_reversed = TANGENT <= column <= ARC
            knots[base + MOST_LANE_KNOTS + i, column] = -value if is_reversed else value
    curve[DIRECTION_STATES + 1], curve[TURN] = ACTIVE, base + MOST_LANE_KNOTS + last_copied
    state[CURVE], state[DIRECTION], state[BEFORE] = number, 1.0, curve[SIGN]
    state[ROW], state[WIDTH] = curve[TURN], trace.FIRST_ARC_STEP
    _predict(run, lane)


@kernel
def _advance(run, lane, first):
    """
    Advance a lane by one round, after its equations were solved.

    The lane takes a Newton step, keeps a knot and predicts the next one, shortens its step, or finishes its curve.

    :param run: a :class:`Lanes`; a lane follows one direction of a curve.
    :param lane: index of a lane that is not idle.
    :param first: row of the output where a finished curve is written.
    :returns: number of knots of a curve that was written there; 0 if no curve is finished, -1 if the knots do not fit.
    """
    state = run.state[lane]
    along = lp.number_of(run.numbers, lp.ALONG, lane)
    is_regular = lp.number_of(run.numbers, lp.LEAST_DIAGONAL, lane) > LEAST_ROOM
    if state[PHASE] == START:
        if not _reaches(run, lane):
            # A candidate of the closed form that does not reach the pose.
            _drop(run, int(state[CURVE]), 1)
            return 0
        if not is_regular:
            return _leave(run, lane, first)
        _write_first(run, lane)
        _predict(run, lane)
        return 0
    is_step = state[PHASE] == STEP
    if not (is_regular and _is_good(run, lane)):
        return _shorten(run, lane, first, 0.4 if is_step else 0.5)
    lp.take_step(run.numbers, lane)
    enough = min(trace.NEAR_ENOUGH, trace.PART_OF_STEP * state[WIDTH]) if is_step else LANDED
    if not lp.number_of(run.numbers, lp.SIZE, lane) <= enough:
        return 0
    if is_step:
        # Unless it is a crossing, the step has most likely jumped over a narrow gap to another curve.
        if not lp.number_of(run.numbers, lp.SIGN, lane) * state[BEFORE] > 0.0:
            return _shorten(run, lane, first, 0.25)
        if not along >= trace.LEAST_COSINE:
            return _shorten(run, lane, first, 0.4)
    return _meet_limit(run, lane, first)


@inline_kernel
def _reaches(run, lane):
    """
    Return whether the posture of a lane reaches the pose: the norm of its pose error is at most REACHED.

    :param run: a :class:`Lanes` with solved equations; a lane follows one direction of a curve.
    """
    square = 0.0
    for row in range(lp.ROWS):
        square += lp.number_of(run.numbers, lp.ERROR + row, lane) ** 2
    return square <= REACHED * REACHED


@inline_kernel
def _is_good(run, lane):
    """
    Count a Newton step of a lane; return False if the step is too long or there are too many steps.

    The length of the first step of a prediction is stored as MISS, the prediction's error.

    :param run: a :class:`Lanes` with solved equations; a lane follows one direction of a curve.
    :param lane: index of the lane.
    """
    state, size = run.state[lane], lp.number_of(run.numbers, lp.SIZE, lane)
    state[COUNT] += 1.0
    if state[PHASE] == LAND:
        return size <= cp.LONGEST_NEWTON_STEP and state[COUNT] <= cp.EXACT_STEPS
    if state[COUNT] > 1.0:
        return size <= cp.LONGEST_NEWTON_STEP and state[COUNT] <= trace.STEPS
    state[MISS] = size
    return size <= max(min(trace.LARGEST_PREDICTION_MISS, 0.3 * state[WIDTH]), 1e-7)


@kernel
def _write_first(run, lane):
    """
    Store the posture at which a lane has started as the first knot of its curve, and choose the direction of the lane.

    The lane goes against the solved tangent; the second direction is open for another lane.

    :param run: a :class:`Lanes` with solved equations; a lane follows one direction of a curve.
    """
    state, number = run.state[lane], int(run.state[lane, CURVE])
    knots, curve, row = run.knots, run.curves[number], 2 * number * MOST_LANE_KNOTS
    lp.read(knots[row], run.numbers, lp.Q, lane)
    lp.read(knots[row, TANGENT:], run.numbers, lp.TANGENT, lane)
    vectors.stretch(knots[row, TANGENT:], -1.0, N)
    knots[row, ARC], knots[row, KIND] = 0.0, trace.REGULAR
    knots[row, segments.LEAST_PIVOT] = lp.number_of(run.numbers, lp.LEAST_DIAGONAL, lane)
    curve[SIGN] = lp.number_of(run.numbers, lp.SIGN, lane)
    curve[DIRECTION_STATES], curve[DIRECTION_STATES + 1], curve[LAST] = ACTIVE, OPEN, row
    state[BEFORE], state[ROW] = -curve[SIGN], row
    state[WIDTH], state[DIRECTION] = trace.FIRST_ARC_STEP, 0.0


@inline_kernel
def _table_of(state):
    """
    Return the first row of the knots that a lane writes, in the table of all lanes, for its curve and direction.

    :param state: (STATE,) numbers of the lane.
    """
    return (2 * int(state[CURVE]) + int(state[DIRECTION])) * MOST_LANE_KNOTS


@kernel
def _predict(run, lane):
    """
    Put into a lane the posture that is predicted one step after its last knot; the next Newton steps start there.

    :param run: a :class:`Lanes`; a lane follows one direction of a curve.
    :param lane: index of the lane; its phase becomes STEP.
    """
    state, q, row = run.state[lane], run.curve.q, int(run.state[lane, ROW])
    trace.write_prediction(q, _partial(run), row, _table_of(state), state[WIDTH])
    lp.place_across(run.numbers, lane, q, run.knots[row, TANGENT:])
    state[PHASE], state[COUNT], state[LANDINGS] = STEP, 0.0, 0.0


@kernel
def _shorten(run, lane, first, factor):
    """
    Multiply the step length of a lane by ``factor`` and predict again from its last knot.

    If the step gets too short, :mod:`trace` follows the whole curve instead and finishes it.

    :param run: a :class:`Lanes`; a lane follows one direction of a curve.
    :param lane: index of the lane.
    :param first: row of the output where a finished curve is written.
    :returns: number of knots of a finished curve; 0 if it is not finished, -1 if the knots do not fit.
    """
    run.state[lane, WIDTH] *= factor
    if not run.state[lane, WIDTH] >= trace.SHORTEST_ARC_STEP:
        return _leave(run, lane, first)
    _predict(run, lane)
    return 0


@kernel
def _meet_limit(run, lane, first):
    """
    Store the posture at which a lane has arrived after its last knot, and check the limits between both.

    If a joint passes a limit, the lane aims at the posture on the limit, at most seven times in a step. If a joint
    peaks near a limit, the step is shortened. Otherwise the knot is kept.

    :param run: a :class:`Lanes` with solved equations; a lane follows one direction of a curve.
    :param lane: index of the lane.
    :param first: row of the output where a finished curve is written.
    :returns: number of knots of a finished curve; 0 if it is not finished, -1 if the knots do not fit.
    """
    state, knots, numbers, c = run.state[lane], run.knots, run.numbers, run.curve
    row = int(state[ROW])
    lp.read(knots[row + 1], numbers, lp.Q, lane)
    lp.read(knots[row + 1, TANGENT:], numbers, lp.TANGENT, lane)
    if state[PHASE] == LAND:
        joint = int(state[JOINT])
        knots[row + 1, joint] = c.upper[joint] if state[SIDE] > 0.0 else c.lower[joint]
        if not cp.dot(knots[row + 1, TANGENT:], knots[row, TANGENT:]) >= 0.0:
            vectors.stretch(knots[row + 1, TANGENT:], -1.0, N)
    knots[row + 1, segments.LEAST_PIVOT] = lp.number_of(numbers, lp.LEAST_DIAGONAL, lane)
    width = segments.length_of(knots, row, row + 1)
    joint, side, share, is_peak = -1, 1.0, 2.0, False
    if _comes_near_limit(run, row, width, state[MISS]):
        joint, side, share, is_peak = trace.first_beyond(_partial(run), row, width, state[MISS])
    if joint >= 0 and is_peak:
        return _shorten(run, lane, first, share)
    if joint >= 0 and state[LANDINGS] < N:
        _aim_at_limit(run, lane, width, share, joint, side)
        return 0
    kind = trace.REGULAR
    if state[PHASE] == LAND:
        kind = trace.limit_kind(state[JOINT], state[SIDE])
    return _keep_knot(run, lane, first, width, kind)


@inline_kernel
def _comes_near_limit(run, row, width, miss):
    """
    Return whether the cubic of some joint may come near a limit between knot ``row`` and the next.

    :param run: a :class:`Lanes` with the knots and the limits.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    :param miss: error of the prediction of its last knot [rad]; it widens the margin.
    """
    first, last = run.knots[row], run.knots[row + 1]
    a, b = lanes.load(first, 0), lanes.load(last, 0)
    low, high = lanes.lesser(a, b), lanes.greater(a, b)
    # Inner control points of the cubics.
    a = a + (width / 3.0) * lanes.load(first, TANGENT)
    b = b - (width / 3.0) * lanes.load(last, TANGENT)
    low, high = lanes.lesser(low, lanes.lesser(a, b)), lanes.greater(high, lanes.greater(a, b))
    near = max(segments.LEAST_RISE, segments.MISS_SHARE * miss)
    beyond = lanes.bits_of(high > lanes.load(run.limits, LANES) - near)
    return (beyond | lanes.bits_of(low < lanes.load(run.limits, 0) + near)) != 0


@kernel
def _aim_at_limit(run, lane, width, share, joint, side):
    """
    Let a lane solve for the posture at which a joint is exactly on a limit that its last step has passed.

    :param run: a :class:`Lanes`; a lane follows one direction of a curve.
    :param lane: index of the lane; its phase becomes LAND.
    :param width: length of the segment, the curve between two neighbouring knots [rad].
    :param share: share of the segment, 0 to 1, at which the limit is passed.
    :param joint, side: index of the joint; 1 for its upper limit, -1 for its lower limit.
    """
    state, c, q = run.state[lane], run.curve, run.curve.q
    limit = c.upper[joint] if side > 0.0 else c.lower[joint]
    segments.write_point(q, run.knots, int(state[ROW]), int(state[ROW]) + 1, width, share)
    q[joint] = limit
    lp.place_holding(run.numbers, lane, q, joint)
    state[PHASE], state[COUNT], state[JOINT], state[SIDE] = LAND, 0.0, joint, side
    state[LANDINGS] += 1.0


@kernel
def _keep_knot(run, lane, first, width, kind):
    """
    Append the posture at which a lane has arrived to its curve, and mark the given postures on the last segment.

    Then the lane begins its next step. If the table of knots is full, :mod:`trace` follows the curve anew. If the
    lane's direction has ended, it becomes idle or takes the second direction. A curve with both directions finished is
    written to the output.

    :param run: a :class:`Lanes` with solved equations; a lane follows one direction of a curve.
    :param lane: index of the lane.
    :param first: row of the output where a finished curve is written.
    :param width: length of the last segment [rad].
    :param kind: kind of the knot, REGULAR or a joint limit.
    :returns: number of knots of a finished curve; 0 if it is not finished, -1 if the knots do not fit.
    """
    state, knots, base = run.state[lane], run.knots, _table_of(run.state[lane])
    number, direction, row = int(state[CURVE]), int(state[DIRECTION]), int(state[ROW])
    curve, new = run.curves[number], row + 1
    begin = base if direction == 0 else int(curve[TURN])
    knots[new, ARC], knots[new, KIND] = knots[row, ARC] + width, trace.REGULAR
    state[BEFORE] = lp.number_of(run.numbers, lp.SIGN, lane)
    _cross_off(run, lane, row)
    may_close = (
        kind == trace.REGULAR and row > begin and curve[DIRECTION_STATES + 1 - direction] != DONE
    )
    if may_close and trace.is_closed(_partial(run), row, new, begin):
        kind = trace.CLOSED
    state[ROW], curve[LAST + direction] = new, new
    if kind == trace.REGULAR:
        if new + 4 >= base + MOST_LANE_KNOTS:
            return _leave(run, lane, first)
        state[WIDTH] = trace.next_step(state[WIDTH], state[MISS])
        _predict(run, lane)
        return 0
    knots[new, KIND], curve[DIRECTION_STATES + direction], state[PHASE] = kind, DONE, IDLE
    if kind == trace.CLOSED:
        return _finish(run, number, first, begin, new, 0, -1)
    if curve[DIRECTION_STATES + 1 - direction] == OPEN:
        _follow_second(run, lane, number)
    if curve[DIRECTION_STATES] != DONE or curve[DIRECTION_STATES + 1] != DONE:
        return 0
    begin, last = 2 * number * MOST_LANE_KNOTS, int(curve[LAST])
    trace.turn_round(knots, begin, last)
    return _finish(run, number, first, begin, last, int(curve[TURN]) + 1, int(curve[LAST + 1]))


@kernel
def _cross_off(run, lane, row):
    """
    Mark the given postures between knots ``row`` and ``row + 1`` as passed by the lane's curve.

    If another curve that is being followed has passed one of them, both are the same curve, so the other curve is
    dropped.

    :param run: a :class:`Lanes`, whose ``is_done`` has the marks.
    :param lane: index of the lane.
    """
    knots, mark, held = run.knots, FOLLOWED + int(run.state[lane, CURVE]), run.curve.held
    is_done, width = run.is_done, knots[row + 1, ARC] - knots[row, ARC]
    aside = trace.aside_of(width)
    for start in range(0, run.joints.shape[1], LANES):
        bits = _fit_segment(run, row, held, start, aside)
        for k in range(N):
            if bits == 0:
                break
            bits &= _fit_segment(run, row, k, start, aside)
        for i in range(LANES if bits != 0 else 0):
            seed = start + i
            if (bits >> i) & 1 == 0 or is_done[seed] == mark:
                continue
            if trace.lies_on(_partial(run), row, row + 1, run.seeds[seed], width):
                other = is_done[seed] - FOLLOWED
                is_done[seed], run.joints[held, seed] = mark, math.nan
                if other >= 0:
                    _drop(run, other, mark)


@inline_kernel
def _fit_segment(run, row, k, start, aside):
    """
    Return a bit mask of eight given postures, from number ``start`` on, whose joint ``k`` fits a segment.

    The middle and the change are those between knots ``row`` and ``row + 1``. The joint may differ from the middle by
    BESIDE_CHORD (0.6) times the change, plus ``aside`` [rad or m].

    :param run: a :class:`Lanes` with the knots and the given postures.
    """
    knots, c = run.knots, run.curve
    before, after = knots[row, k], knots[row + 1, k]
    offset = lanes.load(run.joints[k], start) - 0.5 * (before + after)
    if not c.lower[k] > -math.inf:
        offset = lane_angles.wrapped(offset)
    reach = segments.BESIDE_CHORD * abs(after - before) + aside
    return lanes.bits_of(lanes.absolute(offset) <= reach)


@kernel
def _replace_marks(run, mark, new):
    """
    Replace a mark of given postures by another mark; a mark is their number in ``is_done``.

    :param run: a :class:`Lanes`; a lane follows one direction of a curve.
    :param mark: the mark to replace.
    :param new: the new mark. With 0, segments are tested against the postures again; with any other mark they are not.
    """
    is_done = run.is_done
    for seed in range(run.seeds.shape[0]):
        if is_done[seed] == mark:
            is_done[seed] = new
            _look_at(run, seed, new == 0)


@inline_kernel
def _look_at(run, seed, is_open):
    """
    Set whether further segments are tested against the given posture with index ``seed``.

    :param run: a :class:`Lanes`; a lane follows one direction of a curve.
    :param is_open: True lets segments be tested against it.
    """
    held = run.curve.held
    value = run.seeds[seed, held] if is_open else math.nan
    run.joints[held, seed] = value


@kernel
def _drop(run, curve, new):
    """
    Stop following a curve: make its lanes idle, free its place, and change the marks of the postures on it.

    :param run: a :class:`Lanes`; a lane follows one direction of a curve.
    :param curve: index of the curve.
    :param new: new mark of its postures in ``is_done``: 0 lets other curves begin there, 1 marks them as passed; or the
        mark of another curve, FOLLOWED plus its index.
    """
    _replace_marks(run, FOLLOWED + curve, new)
    run.curves[curve, SEED] = NONE
    for lane in range(LANES):
        if run.state[lane, CURVE] == curve:
            run.state[lane, PHASE] = IDLE


@kernel
def _finish(run, curve, first, begin, last, more, end):
    """
    Append a finished curve to the output and free its place; return its number of knots, -1 if they do not fit.

    :param run: a :class:`Lanes`; a lane follows one direction of a curve.
    :param curve: index of the curve.
    :param first: first row of the output to write.
    :param begin, last: rows of its first part in the table of the lanes.
    :param more, end: rows of its second part; its arc lengths count from the end of the first part. ``more`` is 0 if
        there is one part only.
    """
    knots, out, rows = run.knots, run.out, last - begin + 1
    count = rows + end - more + 1 if more > 0 else rows
    if first + count > out.shape[0]:
        return -1
    for i in range(count):
        row = begin + i if i < rows else more + i - rows
        for column in range(segments.COLUMNS):
            out[first + i, column] = knots[row, column]
        if i >= rows:
            out[first + i, ARC] += knots[last, ARC]
    _drop(run, curve, 1)
    return count


@kernel
def _leave(run, lane, first):
    """
    Give up a lane's curve, and let :mod:`trace` follow it anew from its first posture and write it to the output.

    Other curves that began at a posture on it are dropped.

    :param run: a :class:`Lanes`; a lane follows one direction of a curve.
    :param lane: index of the lane.
    :param first: first row of the output to write.
    :returns: number of knots, -1 if they do not fit.
    """
    is_done, number = run.is_done, int(run.state[lane, CURVE])
    begun = int(run.curves[number, SEED])
    _drop(run, number, 0)
    whole = trace.Tracing(run.out, run.seeds, is_done, run.curve)
    rows = trace.trace_one(whole, begun, first)
    for seed in range(run.seeds.shape[0]):
        if is_done[seed] == 1:
            _look_at(run, seed, False)
    for other in range(LANES):
        if run.curves[other, SEED] != NONE and is_done[int(run.curves[other, SEED])] == 1:
            _drop(run, other, 0)
    return rows
