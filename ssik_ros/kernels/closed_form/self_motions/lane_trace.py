"""
Curves through given postures, eight of them followed side by side.

Problem
-------
That of :mod:`trace`.

Solutions
---------
The same curves, in another order.

Method
------
1. Each lane follows one curve: the steps of :mod:`trace`, of which only the equations are solved for all lanes at once. A
   lane whose step has not arrived takes its next Newton step in the next round, while others begin a new one.
2. A posture from which a lane has begun may lie on the curve of another lane: then the first one stops.
3. A curve that is not plain, because its steps shrink or the determinant changes its sign, is left to :mod:`trace`.

Degeneracies
------------
Those of :mod:`trace`.

Cost
----
A round of all lanes costs as much as one step of one curve in :mod:`trace`.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.closed_form.self_motions import (
    curve_points as cp,
    lane_points as lp,
    segments,
    trace,
)
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.closed_form.self_motions.segments import ARC, KIND, TANGENT
from ssik_ros.kernels.geometry import lanes
from ssik_ros.kernels.geometry.lanes import LANES

ROOM = 128
"""Knots of one curve at most: longer ones are left to :mod:`trace`."""
LEAST_ROOM = 1e-9
"""Least diagonal element below which a posture counts as singular."""
LANDED = 1e-6
"""Last step after which a posture on a limit is exact to rounding [rad or m]."""
REACHED = 1e-4
"""Error at the tip of a given posture that counts as a solution: next to a fold candidates are off by the root of rounding."""
FOLLOWED = 2
"""Added to the number of a lane: mark of the postures that its curve has passed."""

IDLE, START, STEP, LAND = 0.0, 1.0, 2.0, 3.0
"""What a lane does."""
PHASE, SEED, ROW, WIDTH, BEFORE, FIRST_SIGN, COUNT, MISS, JOINT, SIDE, LANDINGS, TURNED = range(12)
"""Numbers of a lane: what it does; index of the posture it began from; its last knot; length of its step; sign of the
determinant at its last knot, and at its first one; Newton steps; how far the prediction was off; the joint that is put on a
limit, and the side; how many were; whether the second direction is followed."""
STATE = 12


class Lanes(NamedTuple):
    """Eight curves under way."""

    state: np.ndarray
    """(8, STATE)."""
    numbers: np.ndarray
    """Of :mod:`lane_points`."""
    joints: np.ndarray
    """The given postures joint by joint, in full eights; the held joint of those that need not be looked at is no number."""
    limits: np.ndarray
    """(16,) lower and upper limits, eight each, the last ones infinite."""
    own_numbers: np.ndarray
    """Knots of the eight curves, flat."""
    own: trace.Tracing
    """With a table of eight times ROOM knots."""
    whole: trace.Tracing
    """With the table of all knots."""


@inline_kernel
def scratch_size(seeds):
    """
    Return how many numbers of scratch :func:`follow` needs.

    :param seeds: number of postures.
    """
    return (
        trace.scratch_size()
        + LANES * STATE
        + lp.numbers_size()
        + LANES * ROOM * segments.COLUMNS
        + 2 * LANES
        + N * (seeds + LANES)
    )


@kernel
def follow(knots, heads, ints, reals, target, seeds, is_done, free, work):
    """
    Write the curves through given postures; return how many there are, -1 where there is no room for their knots.

    :param knots, heads, ints, reals, target, seeds, is_done, free: as for :func:`trace.trace`.
    :param work: (scratch_size(len(seeds)),).
    """
    if seeds.shape[0] == 0:
        return 0
    run = _open(knots, ints, reals, target, seeds, is_done, free, work)
    count, first, is_spent = 0, 0, False
    while True:
        active = 0
        for lane in range(LANES):
            if run.state[lane, PHASE] == IDLE and not is_spent:
                is_spent = not _begin(run, lane)
            active += run.state[lane, PHASE] != IDLE
        if active == 0:
            return count
        lp.solve_there(run.own.curve, run.numbers)
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
                # A curve that is left to others gives back the postures of its lane.
                is_spent = False


@inline_kernel
def _open(knots, ints, reals, target, seeds, is_done, free, work):
    """Return the lanes, all idle."""
    cp.write_limits(work, ints, reals)
    c = cp.open_curve(ints, reals, target, free, work)
    q, at = vector(work, cp.scratch_size(), N), trace.scratch_size()
    state = matrix(work, at, LANES, STATE)
    numbers = vector(work, at + LANES * STATE, lp.numbers_size())
    at += LANES * STATE + lp.numbers_size()
    own = matrix(work, at, LANES * ROOM, segments.COLUMNS)
    own_numbers = vector(work, at, LANES * ROOM * segments.COLUMNS)
    at += LANES * ROOM * segments.COLUMNS
    limits = vector(work, at, 2 * LANES)
    size = LANES * ((seeds.shape[0] + LANES - 1) // LANES)
    joints = vector(work, at + 2 * LANES, N * size)
    limits[LANES - 1], limits[2 * LANES - 1] = -math.inf, math.inf
    for k in range(N):
        limits[k], limits[LANES + k] = c.lower[k], c.upper[k]
        for i in range(size):
            is_open = i < seeds.shape[0] and is_done[i] == 0
            joints[k * size + i] = seeds[i, k] if is_open else math.nan
    for lane in range(LANES):
        state[lane, PHASE], state[lane, SEED] = IDLE, 0.0
        for k in range(N):
            # Idle lanes are computed, too.
            lp.set_number(numbers, lp.Q + k, lane, seeds[0, k])
            lp.set_number(numbers, lp.ROW + k, lane, 1.0 if k == c.held else 0.0)
        lp.set_number(numbers, lp.AIM, lane, 0.0)
    return Lanes(
        state,
        numbers,
        joints,
        limits,
        own_numbers,
        trace.Tracing(own, seeds, is_done, c, q),
        trace.Tracing(knots, seeds, is_done, c, q),
    )


@kernel
def _begin(run, lane):
    """Let an idle lane begin at the next posture that no curve has passed; return whether there is one."""
    c, is_done, count = run.own.curve, run.own.is_done, run.own.seeds.shape[0]
    # Neighbours are often on one curve: lanes begin far from each other.
    seed = (lane * count) // LANES
    for _ in range(count):
        seed = seed + 1 if seed + 1 < count else 0
        if is_done[seed] != 0:
            continue
        is_done[seed] = FOLLOWED + lane
        run.state[lane, SEED], run.state[lane, PHASE] = seed, START
        for k in range(N):
            lp.set_number(run.numbers, lp.Q + k, lane, run.own.seeds[seed, k])
            lp.set_number(run.numbers, lp.ROW + k, lane, 1.0 if k == c.held else 0.0)
        lp.set_number(run.numbers, lp.AIM, lane, run.own.seeds[seed, c.held])
        return True
    return False


@kernel
def _advance(run, lane, first):
    """
    Take in what was solved for a lane.

    :param first: row of all knots at which a finished curve is written.
    :returns: number of knots that were written there, -1 where there is no room.
    """
    state = run.state[lane]
    along = lp.number_of(run.numbers, lp.ALONG, lane)
    is_regular = lp.number_of(run.numbers, lp.ROOM, lane) > LEAST_ROOM
    if state[PHASE] == START:
        if not _reaches(run, lane):
            # A candidate of a closed form that is no solution.
            _replace_marks(run, FOLLOWED + lane, 1)
            state[PHASE] = IDLE
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
        # Most likely a step across a narrow gap onto another curve, if not a crossing.
        if not lp.number_of(run.numbers, lp.SIGN, lane) * state[BEFORE] > 0.0:
            return _shorten(run, lane, first, 0.25)
        if not along >= trace.LEAST_COSINE:
            return _shorten(run, lane, first, 0.4)
    return _meet_limit(run, lane, first)


@inline_kernel
def _reaches(run, lane):
    """Return whether the posture of a lane reaches the pose."""
    square = 0.0
    for row in range(lp.ROWS):
        square += lp.number_of(run.numbers, lp.ERROR + row, lane) ** 2
    return square <= REACHED * REACHED


@inline_kernel
def _is_good(run, lane):
    """Count a Newton step; return whether it is one that leads to the curve."""
    state, size = run.state[lane], lp.number_of(run.numbers, lp.SIZE, lane)
    state[COUNT] += 1.0
    if state[PHASE] == LAND:
        return size <= cp.LONGEST and state[COUNT] <= cp.EXACT_STEPS
    if state[COUNT] > 1.0:
        return size <= cp.LONGEST and state[COUNT] <= trace.STEPS
    state[MISS] = size
    return size <= max(min(trace.LARGEST_MISS, 0.3 * state[WIDTH]), 1e-7)


@kernel
def _write_first(run, lane):
    """Write the knot at which a curve begins; it is followed against the tangent at first."""
    knots, state, row = run.own.knots, run.state[lane], lane * ROOM
    for k in range(N):
        knots[row, k] = lp.number_of(run.numbers, lp.Q + k, lane)
        knots[row, TANGENT + k] = -lp.number_of(run.numbers, lp.TANGENT + k, lane)
    knots[row, ARC], knots[row, KIND] = 0.0, trace.REGULAR
    knots[row, segments.ROOM] = lp.number_of(run.numbers, lp.ROOM, lane)
    state[FIRST_SIGN] = lp.number_of(run.numbers, lp.SIGN, lane)
    state[BEFORE], state[ROW], state[WIDTH] = -state[FIRST_SIGN], row, trace.FIRST
    state[TURNED] = 0.0


@kernel
def _predict(run, lane):
    """Let a lane take its next step."""
    state = run.state[lane]
    q = run.own.q
    aim = trace.write_prediction(q, run.own, int(state[ROW]), lane * ROOM, state[WIDTH])
    for k in range(N):
        lp.set_number(run.numbers, lp.Q + k, lane, q[k])
        lp.set_number(run.numbers, lp.ROW + k, lane, run.own.knots[int(state[ROW]), TANGENT + k])
    lp.set_number(run.numbers, lp.AIM, lane, aim)
    state[PHASE], state[COUNT], state[LANDINGS] = STEP, 0.0, 0.0


@kernel
def _shorten(run, lane, first, factor):
    """Let a lane repeat its step with another length; return the code of :func:`_advance`."""
    run.state[lane, WIDTH] *= factor
    if not run.state[lane, WIDTH] >= trace.SHORTEST:
        return _leave(run, lane, first)
    _predict(run, lane)
    return 0


@kernel
def _meet_limit(run, lane, first):
    """Write the knot that a lane has arrived at, and go on; return the code of :func:`_advance`."""
    state, knots, numbers = run.state[lane], run.own.knots, run.numbers
    row = int(state[ROW])
    side = 1.0
    if state[PHASE] == LAND:
        joint = int(state[JOINT])
        limit = run.own.curve.upper[joint] if state[SIDE] > 0.0 else run.own.curve.lower[joint]
        lp.set_number(numbers, lp.Q + joint, lane, limit)
        along = 0.0
        for k in range(N):
            along += lp.number_of(numbers, lp.TANGENT + k, lane) * knots[row, TANGENT + k]
        side = 1.0 if along >= 0.0 else -1.0
    for k in range(N):
        knots[row + 1, k] = lp.number_of(numbers, lp.Q + k, lane)
        knots[row + 1, TANGENT + k] = side * lp.number_of(numbers, lp.TANGENT + k, lane)
    knots[row + 1, segments.ROOM] = lp.number_of(numbers, lp.ROOM, lane)
    width = segments.length_of(knots, row, row + 1)
    joint, side, share, is_peak = -1, 1.0, 2.0, False
    if _comes_near_limit(run, row, width, state[MISS]):
        joint, side, share, is_peak = trace.first_beyond(run.own, row, width, state[MISS])
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
    """Return whether a joint may come near a limit between a knot and the next, all joints at once."""
    first, last = segments.COLUMNS * row, segments.COLUMNS * (row + 1)
    a, b = lanes.load(run.own_numbers, first), lanes.load(run.own_numbers, last)
    low, high = lanes.lesser(a, b), lanes.greater(a, b)
    # The inner two of the points that span a cubic.
    a = a + (width / 3.0) * lanes.load(run.own_numbers, first + TANGENT)
    b = b - (width / 3.0) * lanes.load(run.own_numbers, last + TANGENT)
    low, high = lanes.lesser(low, lanes.lesser(a, b)), lanes.greater(high, lanes.greater(a, b))
    near = max(segments.LEAST_RISE, segments.MISS_SHARE * miss)
    beyond = lanes.bits_of(high > lanes.load(run.limits, LANES) - near)
    return (beyond | lanes.bits_of(low < lanes.load(run.limits, 0) + near)) != 0


@kernel
def _aim_at_limit(run, lane, width, share, joint, side):
    """Let a lane put a joint on a limit that it passes at a share of the last step."""
    state, c, q = run.state[lane], run.own.curve, run.own.q
    limit = c.upper[joint] if side > 0.0 else c.lower[joint]
    segments.write_point(q, run.own.knots, int(state[ROW]), int(state[ROW]) + 1, width, share)
    q[joint] = limit
    for k in range(N):
        lp.set_number(run.numbers, lp.Q + k, lane, q[k])
        lp.set_number(run.numbers, lp.ROW + k, lane, 1.0 if k == joint else 0.0)
    lp.set_number(run.numbers, lp.AIM, lane, limit)
    state[PHASE], state[COUNT], state[JOINT], state[SIDE] = LAND, 0.0, joint, side
    state[LANDINGS] += 1.0


@kernel
def _keep_knot(run, lane, first, width, kind):
    """Take the last knot of a lane into its curve, and go on; return the code of :func:`_advance`."""
    state, knots, base = run.state[lane], run.own.knots, lane * ROOM
    row = int(state[ROW])
    new = row + 1
    knots[new, ARC], knots[new, KIND] = knots[row, ARC] + width, trace.REGULAR
    state[BEFORE] = lp.number_of(run.numbers, lp.SIGN, lane)
    _cross_off(run, lane, row)
    is_first = state[TURNED] == 0.0
    may_close = kind == trace.REGULAR and is_first and row > base
    if may_close and trace.is_closed(run.own, row, new, base):
        kind = trace.CLOSED
    state[ROW] = new
    if kind == trace.REGULAR:
        if new + 4 >= base + ROOM:
            return _leave(run, lane, first)
        state[WIDTH] = trace.next_step(state[WIDTH], state[MISS])
        _predict(run, lane)
        return 0
    knots[new, KIND] = kind
    if kind == trace.CLOSED or not is_first:
        return _finish(run, lane, first)
    trace.turn_round(knots, base, new)
    state[TURNED], state[BEFORE], state[WIDTH] = 1.0, state[FIRST_SIGN], trace.FIRST
    _predict(run, lane)
    return 0


@kernel
def _cross_off(run, lane, row):
    """Mark the given postures that lie between a row and the next; lanes that began from one of them stop."""
    own, c = run.own, run.own.curve
    knots, mark = own.knots, FOLLOWED + lane
    width = knots[row + 1, ARC] - knots[row, ARC]
    size, aside = run.joints.shape[0] // N, trace.aside_of(width)
    for start in range(0, size, LANES):
        bits = _beside(run, row, c.held, start, aside)
        for k in range(N if bits != 0 else 0):
            bits &= _beside(run, row, k, start, aside)
        for i in range(LANES if bits != 0 else 0):
            seed = start + i
            if (bits >> i) & 1 == 0 or own.is_done[seed] == mark:
                continue
            if trace.lies_on(own, row, row + 1, own.seeds[seed], width):
                other = own.is_done[seed] - FOLLOWED
                own.is_done[seed], run.joints[c.held * size + seed] = mark, math.nan
                if other >= 0:
                    _replace_marks(run, FOLLOWED + other, mark)
                    run.state[other, PHASE] = IDLE


@inline_kernel
def _beside(run, row, k, start, aside):
    """Return the bits of eight postures of which a joint may be that of one between a row and the next."""
    knots, c = run.own.knots, run.own.curve
    before, behind = knots[row, k], knots[row + 1, k]
    away = lanes.load(run.joints, k * (run.joints.shape[0] // N) + start) - 0.5 * (before + behind)
    if not c.lower[k] > -math.inf:
        away = away - 2.0 * math.pi * lanes.floor(away * (0.5 / math.pi) + 0.5)
    reach = segments.BESIDE_CHORD * abs(behind - before) + aside
    return lanes.bits_of(lanes.absolute(away) <= reach)


@kernel
def _replace_marks(run, mark, new):
    """Give all postures with a mark another one."""
    is_done = run.own.is_done
    for seed in range(run.own.seeds.shape[0]):
        if is_done[seed] == mark:
            is_done[seed] = new
            _look_at(run, seed, new == 0)


@inline_kernel
def _look_at(run, seed, is_open):
    """Say whether a posture is looked for on curves."""
    held = run.own.curve.held
    value = run.own.seeds[seed, held] if is_open else math.nan
    run.joints[held * (run.joints.shape[0] // N) + seed] = value


@kernel
def _finish(run, lane, first):
    """Write the curve of a lane behind the others; return how many knots it has, -1 where there is no room."""
    base = lane * ROOM
    rows = int(run.state[lane, ROW]) - base + 1
    if first + rows > run.whole.knots.shape[0]:
        return -1
    for row in range(rows):
        for column in range(segments.COLUMNS):
            run.whole.knots[first + row, column] = run.own.knots[base + row, column]
    _replace_marks(run, FOLLOWED + lane, 1)
    run.state[lane, PHASE] = IDLE
    return rows


@kernel
def _leave(run, lane, first):
    """Leave the curve of a lane to :mod:`trace`; return as :func:`_finish` does."""
    is_done, begun = run.own.is_done, int(run.state[lane, SEED])
    _replace_marks(run, FOLLOWED + lane, 0)
    _rest(run, lane)
    rows = trace.trace_one(run.whole, begun, first)
    for seed in range(run.own.seeds.shape[0]):
        if is_done[seed] == 1:
            _look_at(run, seed, False)
    for other in range(LANES):
        if run.state[other, PHASE] != IDLE and is_done[int(run.state[other, SEED])] == 1:
            _replace_marks(run, FOLLOWED + other, 0)
            _rest(run, other)
    return rows


@inline_kernel
def _rest(run, lane):
    """Let a lane be idle, and look through all postures again for its next one."""
    run.state[lane, PHASE], run.state[lane, SEED] = IDLE, 0.0
