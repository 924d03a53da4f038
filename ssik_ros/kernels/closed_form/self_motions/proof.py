"""
Prove that consecutive knots lie on one curve on which seven joints keep a pose, and find given postures on this curve.

A knot is a stored posture of the curve.

Problem
-------
A step between knots may have jumped to another curve. Prove that it has not, and that given postures lie on the curve.

Solutions
---------
For each segment a chain of balls. In each ball the solutions form one arc, and neighbouring balls share their arc.

Method
------
1. F are six functions of the seven joints that vanish at the solutions. Three are the differences of a point on joint
   ``e``, placed from the base and from the tip, divided by a length. Three are twice the vector part of the quaternion
   between both placements. A number ``bend`` bounds the second derivative of F everywhere.
2. At a point c near the curve: J = DF, its null vector t, the step s = J^+ F, and kappa = bend ||L^-1||_F with the
   factor L of :mod:`lane_points`; g = kappa (|s| + remaining rotation). If g < 0.1, the solutions within f / kappa of c
   form one arc, f^2 = 3/4 - 2 g, see docs/math/self_motions.md.
3. Take the next point from the cubic between the knots; correct it by Newton steps if g is large. If a solution of one
   ball is known to be in the other ball, both arcs are the same. Otherwise choose a nearer point.
4. Postures inside a ball lie on the curve.

Degeneracies
------------
Near a singular posture balls are small, and at a singular posture the proof fails. If Newton steps fail or balls become
smaller than LEAST_RADIUS, the proof ends and reports one such segment. If too many balls are needed, it reports any
segment.

Cost
----
A forward pass and about six hundred multiplications for eight balls. The number of balls is the integral of kappa along
the curves.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.certification import newton_lanes
from ssik_ros.kernels.closed_form.self_motions import (
    curve_points as cp,
    lane_points as lp,
    segments,
)
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.closed_form.self_motions.segments import ARC, TANGENT
from ssik_ros.kernels.geometry import lane_angles, lanes, vectors
from ssik_ros.kernels.geometry.lane_poses import load_vector
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.rows.views import Floats, Memory

JOINT, ALONG, LENGTH, BEND = range(4)
"""Numbers of a bound: revolute joint whose axis contains the point; distance of the point from the joint's reference
point along the axis; length that counts as one radian; bound of the second derivative."""
BOUND = 4

MOST_SLACK = 0.05
"""Largest g of a ball; the proof holds below 0.1."""
SAFETY_FACTOR = 1.01
"""Factor by which computed bounds are enlarged. It covers rounding, and the sine of a small angle used for twice the
sine of its half."""
LARGEST_REMAINING_SINE = 0.05
"""Largest sine of the remaining rotation for which this factor holds."""
BALL_STRIDE = 1.15
"""Distance of the next point, in units of 1 / kappa."""
INSIDE_SHARE = 0.9
"""Share of a ball in which postures count as inside, because a candidate misses its solution by rounding."""
CLOSER = 0.6
"""Factor on the distance of the next point if the last distance was too long."""
LEAST_RADIUS = 1e-7
"""Smallest radius of a ball; below it, the proof fails [rad]."""
NEWTON_STEPS = 4
MOST_ROUNDS = 100_000
"""Most rounds of eight balls for one pose."""

LEFT, INVERSE = lp.LEAST_DIAGONAL, lp.SIGN
"""Rows of eight numbers that are reused after the solution: the remaining rotation, and the norm of L^-1."""

IDLE, BEGIN, GO = 0.0, 1.0, 2.0
PHASE, ROW, HERE, NEXT, COUNT, INVERSE_KAPPA, REACH, LOW, POINT = range(9)
"""Numbers of a lane: phase; knot before; share of the last ball and of the next one; count of Newton steps; 1 / kappa
of the last ball, its radius, largest distance of a solution from its centre; its centre; its tangent."""
DIRECTION = POINT + N
STATE = DIRECTION + N


class Proving(NamedTuple):
    """
    Arrays of a running proof that knots lie on curves.

    A lane proves one segment after another by a chain of balls around points of the segment. In each ball the solutions
    form one arc. ``state`` and ``numbers`` belong to the eight lanes. ``knots`` and ``goes_on`` (0 for the last knot of
    a curve) are the curves; ``seeds`` the given postures, ``is_on`` 1 for those that are proved to lie on a curve.
    ``bound`` and ``curve`` define the equations.
    """

    scratch: Annotated[Floats, 'cp.scratch_size()']
    """Scratch of ``curve``."""
    state: Annotated[Floats, LANES, STATE]
    """Numbers of the eight lanes."""
    numbers: Annotated[Floats, LANES * lp.NUMBERS]
    """Numbers of :mod:`lane_points`."""
    held: Annotated[Floats, 'LANES * ((size + LANES - 1) // LANES)']
    """Held joint of the given postures, padded to eights; NaN for postures already found on a curve."""
    is_on: np.ndarray
    """(size,) integers: 1 for given postures that are proved to lie on a curve, else 0."""
    seeds: np.ndarray
    """(size, 7) given postures."""
    knots: np.ndarray
    """(k, segments.COLUMNS) knots of all curves in turn."""
    goes_on: np.ndarray
    """(k,) integers: 0 for the last knot of each curve, else 1."""
    curve: cp.Curve
    """The chain and the pose."""
    bound: np.ndarray
    """(BOUND,) numbers JOINT, ALONG, LENGTH and BEND, which define the six functions that vanish at solutions."""


SCRATCH = Memory(Proving, 'size', globals())
scratch_size = SCRATCH.size('scratch_size')
_view = SCRATCH.kernel('_view')


@kernel
def prove(is_on, knots, goes_on, seeds, bound, ints, reals, target, free, work):
    """
    Try to prove that neighbouring knots are joined by curves, and mark the given postures proved to lie on these.

    A knot is a stored posture of a curve on which seven joints keep a pose.

    :param is_on: (m,) integers out: 1 for postures that are proved to lie on a curve, else 0.
    :param knots: (k, segments.COLUMNS) knots of all curves in turn, postures with tangent and arc length.
    :param goes_on: (k,) integers: 0 for the last knot of each curve, else 1.
    :param seeds: (m, 7) given postures.
    :param bound: (BOUND,) numbers that define the six functions that vanish at solutions. JOINT is the joint whose axis
        has the compared point, ALONG the place of the point on that axis [m]. LENGTH is the length that counts as one
        radian [m]. BEND is a bound on the second derivative of the functions.
    :param ints, reals: the plan of seven joints.
    :param target: (12,) target pose of the tip: rotation row by row, then translation.
    :param free: (7,) indices of the joints: 0 to 6.
    :param work: (scratch_size(m),) scratch.
    :returns: -1 if all segments are proved; otherwise the row of the first knot of a segment at which the proof failed.
        After MOST_ROUNDS rounds the proof is given up; then the row is any row.
    """
    run = _open(is_on, knots, goes_on, seeds, bound, ints, reals, target, free, work)
    row = 0
    for _ in range(MOST_ROUNDS):
        active = 0
        for lane in range(LANES):
            if run.state[lane, PHASE] == IDLE and row < knots.shape[0]:
                run.state[lane, PHASE], run.state[lane, ROW] = BEGIN, row
                _aim(run, lane, 0.0)
                row += 1
            active += run.state[lane, PHASE] != IDLE
        if active == 0:
            return -1
        turns = _write_equations(run)
        lp.solve_equations(run.numbers)
        lanes.store(run.numbers, LANES * LEFT, turns)
        lanes.store(run.numbers, LANES * INVERSE, lp.inverse_norm(run.numbers))
        for lane in range(LANES):
            if run.state[lane, PHASE] != IDLE and not _advance(run, lane):
                return int(run.state[lane, ROW])
    return int(run.state[0, ROW])


@inline_kernel
def _open(is_on, knots, goes_on, seeds, bound, ints, reals, target, free, work):
    """
    Return a :class:`Proving` of views of the scratch, with every lane idle; ``is_on`` is set to 0.

    :param is_on, knots, goes_on, seeds, bound, ints, reals, target, free, work: output, curves, given postures, arm,
        pose and scratch, as for :func:`prove`.
    """
    c, size = cp.open_curve(ints, reals, target, free, work), seeds.shape[0]
    run = _view(work, size, is_on, seeds, knots, goes_on, c, bound)
    for i in range(run.held.shape[0]):
        run.held[i] = seeds[i, c.held] if i < size else math.nan
    vectors.fill(is_on, 0)
    vectors.fill(c.q, 0.0)
    for lane in range(LANES):
        run.state[lane, PHASE] = IDLE
        # Idle lanes are computed, too, so give them valid numbers.
        lp.place_holding(run.numbers, lane, c.q, 0)
    return run


@kernel
def _aim(run, lane, share):
    """
    Put the posture at a share of a segment's cubic into a lane, with a seventh equation across the cubic.

    If the lane's knot is the last knot of its curve, the posture of this knot is used.

    :param run: a :class:`Proving`; a lane proves one segment after another by a chain of balls.
    :param lane: index of the lane, whose ROW is the first knot of the segment.
    :param share: 0 at the first knot of the segment, 1 at the second knot.
    """
    state, knots, c = run.state[lane], run.knots, run.curve
    row = int(state[ROW])
    state[NEXT], state[COUNT] = share, 0.0
    if run.goes_on[row] == 0:
        lp.place_across(run.numbers, lane, knots[row], knots[row, TANGENT:])
    else:
        width = knots[row + 1, ARC] - knots[row, ARC]
        segments.write_point(c.q, knots, row, row + 1, width, share)
        segments.write_slope(c.row, knots, row, row + 1, width, share)
        lp.place_across(run.numbers, lane, c.q, c.row)


@kernel
def _write_equations(run):
    """
    Write the six functions F, which vanish at solutions, and their Jacobian J at eight postures into ``run.numbers``.

    :param run: a :class:`Proving` with the postures.
    :returns: sine of the remaining rotation between tip and target in each lane; 2 if the rotation may exceed a quarter
        turn.
    """
    c, numbers, bound = run.curve, run.numbers, run.bound
    area, at = vector(numbers, LANES * lp.Q, LANES * N), lp.ROWS * int(bound[JOINT])
    x, y, z, t = newton_lanes.write_screws(area, c.axes, c.points, c.home, N, c.slides, numbers)
    point, axis = load_vector(numbers, 0, at), load_vector(numbers, 0, at + 3)
    point = vectors.add(point, vectors.scale(bound[ALONG], axis))
    newton_lanes.write_columns(N, c.slides, point, numbers)
    scale = 1.0 / bound[LENGTH]
    for k in range(N):
        for row in range(3):
            entry = lanes.load(numbers, lp.entry_at(row, k))
            lanes.store(numbers, lp.entry_at(row, k), scale * entry)
    # The same point, placed from the target pose of the tip.
    offset = vectors.subtract(point, t)
    local_offset = vectors.dot(x, offset), vectors.dot(y, offset), vectors.dot(z, offset)
    left, turn = newton_lanes.error_at(x, y, z, t, c.target)
    same = lanes.spread(0.0)
    for row in range(3):
        there = vectors.dot(
            (c.target[3 * row], c.target[3 * row + 1], c.target[3 * row + 2]), local_offset
        )
        shift = left[row] - offset[row] + there
        lanes.store(numbers, LANES * (lp.ERROR + row), scale * shift)
        lanes.store(numbers, LANES * (lp.ERROR + 3 + row), turn[row])
        same = same + x[row] * c.target[3 * row] + y[row] * c.target[3 * row + 1]
    sine = lanes.root(vectors.dot(turn, turn))
    # Near a half turn the sine is small, too, so report a large value.
    return lanes.select(same >= 1.0, sine, lanes.spread(2.0))


@kernel
def _advance(run, lane):
    """
    Advance a lane by one round, after its equations were solved.

    If the posture is near enough to the curve, a ball is made around it. Then given postures in the ball are marked,
    and the lane aims at the next point of its segment. Otherwise the lane takes a Newton step, or chooses a nearer
    point.

    :param run: a :class:`Proving` with solved equations; a lane proves one segment by a chain of balls.
    :param lane: index of the lane; it becomes idle at the end of its segment.
    :returns: False if the proof fails.
    """
    state, numbers = run.state[lane], run.numbers
    size, turn = lp.number_of(numbers, lp.SIZE, lane), lp.number_of(numbers, LEFT, lane)
    free = 1.0 / (SAFETY_FACTOR * run.bound[BEND] * lp.number_of(numbers, INVERSE, lane))
    slack = SAFETY_FACTOR * (size + turn) / free
    if not (slack <= MOST_SLACK and turn <= LARGEST_REMAINING_SINE):
        state[COUNT] += 1.0
        if not (size <= cp.LONGEST_NEWTON_STEP and state[COUNT] <= NEWTON_STEPS):
            return _come_closer(run, lane)
        lp.take_step(numbers, lane)
        return True
    reach = free * math.sqrt(0.75 - 2.0 * slack)
    low = 2.0 * slack * free
    if state[PHASE] == GO and not _is_joined(run, lane, reach, low):
        return _come_closer(run, lane)
    if not reach >= LEAST_RADIUS:
        return False
    lp.read(state[POINT:], numbers, lp.Q, lane)
    lp.read(state[DIRECTION:], numbers, lp.TANGENT, lane)
    state[INVERSE_KAPPA], state[REACH], state[LOW] = free, reach, low
    state[HERE], state[PHASE] = state[NEXT], GO
    _mark(run, state)
    row = int(state[ROW])
    if state[HERE] >= 1.0 or run.goes_on[row] == 0:
        state[PHASE] = IDLE
        return True
    width = run.knots[row + 1, ARC] - run.knots[row, ARC]
    if not width > 0.0:
        return False
    _aim(run, lane, min(1.0, state[HERE] + BALL_STRIDE * free / width))
    return True


@kernel
def _come_closer(run, lane):
    """
    Let a lane try a point nearer to the centre of its last ball.

    :param run: a :class:`Proving`; a lane proves one segment after another by a chain of balls.
    :param lane: index of the lane.
    :returns: False, so that the proof fails, if the lane has no ball yet or the distance gets below LEAST_RADIUS.
    """
    state, row = run.state[lane], int(run.state[lane, ROW])
    step = CLOSER * (state[NEXT] - state[HERE])
    if state[PHASE] == BEGIN or run.goes_on[row] == 0:
        return False
    if not step * (run.knots[row + 1, ARC] - run.knots[row, ARC]) >= LEAST_RADIUS:
        return False
    _aim(run, lane, state[HERE] + step)
    return True


@kernel
def _is_joined(run, lane, reach, low):
    """
    Return whether the last ball of a lane and a new ball at its posture are proved to contain parts of the same curve.

    In each ball the solutions form one arc; both balls must share a solution.

    :param run: a :class:`Proving` with the new posture in the lane.
    :param lane: index of the lane.
    :param reach: radius of the new ball [rad].
    :param low: largest distance of a solution from the centre of the new ball [rad].
    """
    state, numbers = run.state[lane], run.numbers
    half, straight, ahead = 0.5 * state[INVERSE_KAPPA], 0.0, 0.0
    for k in range(N):
        change = lp.number_of(numbers, lp.Q + k, lane) - state[POINT + k]
        straight += change * change
        ahead += (change - half * state[DIRECTION + k]) ** 2
    straight = math.sqrt(straight)
    if straight + low <= state[REACH] or straight + state[LOW] <= reach:
        return True
    # The solution halfway is at most this far from the tangent.
    return math.sqrt(ahead) + state[INVERSE_KAPPA] - state[REACH] <= reach


@kernel
def _mark(run, state):
    """
    Set ``is_on`` to 1 for the given postures inside the last ball of a lane.

    A posture counts as inside up to INSIDE_SHARE of the radius.

    :param run: a :class:`Proving`; a lane proves one segment after another by a chain of balls.
    :param state: (STATE,) numbers of the lane.
    """
    c, size, seeds = run.curve, INSIDE_SHARE * state[REACH], run.seeds
    middle, is_free = state[POINT + c.held], not c.lower[c.held] > -math.inf
    for start in range(0, run.held.shape[0], LANES):
        offset = lanes.load(run.held, start) - middle
        if is_free:
            offset = lane_angles.wrapped(offset)
        bits = lanes.bits_of(lanes.absolute(offset) <= size)
        for i in range(LANES if bits != 0 else 0):
            seed = start + i
            if (bits >> i) & 1 == 0:
                continue
            square = 0.0
            for k in range(N):
                square += segments.wrapped(seeds[seed, k] - state[POINT + k], c.lower[k]) ** 2
            if square <= size * size:
                run.is_on[seed], run.held[seed] = 1, math.nan
