"""
Find a lower bound on the cost of joint paths whose postures are known only up to boxes.

:func:`connect_boxes` writes the bounds of one layer from the bounds of the layer before.

Problem
-------
A path has one posture for each waypoint. The possible postures of a waypoint are a layer, which is cut into boxes. The
postures of a box are c + D p + e: a centre c, free parameters |p| <= h (a cell) with slopes D, and a bounded error e.
A step from a posture in box a to a posture in box b costs the sum of w_j |s_j|, where s_j is the step of joint j, or as
another objective says. Each box has prices z, for this sum only: a step that arrives in the box costs z p less, and the
step that leaves it costs z p more. This changes no path's cost. Find the cheapest sequence of boxes, one of each layer,
with each step at a lower bound of its cost.

Method
------
1. The step of each joint is between c - h and c + h, with the difference c of the centres and the sum h of the half
   widths. The sum over joints of w times the least |s|, less the largest share of the prices, is a lower bound. For
   other objectives it is the only bound.
2. All joints follow the same parameters. For any |y| <= w a step costs at least y s. Its least value over both cells is
   ``sum (y_j c_j - |y_j| e_j) - |y D_a - z_a| h_a - |y D_b - z_b| h_b``. The larger of both bounds is used. First y has
   the signs of the steps, then y is improved joint by joint in two rounds.
3. Joints that turn without end take the step nearest to zero. If such a step may be half a turn, the joint has no part
   in 2.
4. If the least step of a joint is larger than allowed, the boxes are not connected.

Cost
----
Number of layers times pairs of a box and a block of boxes, plus the pairs of boxes that no block excludes.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.paths.layers import (
    LARGEST_STEP,
    step_of,
    Steps,
    SUM_OF_SQUARES,
    SUM_OF_STEPS,
)

BLOCK = 32
"""Number of neighbouring boxes of a layer that are first tested together."""
SWEEPS = 2
"""Number of rounds that improve the multipliers of a step, joint by joint."""


class Boxes(NamedTuple):
    """
    Boxes that hold the possible postures of all waypoints: k boxes of n joints and r free parameters, one in each row.

    A posture of box i is q[i] + slopes[i] p + e, with parameters |p| <= cells[i] and an error |e| <= errors[i].
    """

    q: np.ndarray
    """(k, n) centres [rad or m]."""
    halves: np.ndarray
    """(k, n) half widths [rad or m]."""
    slopes: np.ndarray
    """(k, n, r) slopes of the postures with the free parameters."""
    errors: np.ndarray
    """(k, n) largest distances of postures from the linear form [rad or m]."""
    cells: np.ndarray
    """(k, r) half widths of the free parameters."""
    prices: np.ndarray
    """(k, r) discount of a step to a posture for each unit of a parameter; the step from the posture costs as much more."""


class Blocks(NamedTuple):
    """Larger boxes, each around BLOCK neighbouring boxes of the layer before: b boxes of n joints, one in each row."""

    q: np.ndarray
    """(b, n) centres [rad or m]."""
    halves: np.ndarray
    """(b, n) half widths [rad or m]."""
    costs: np.ndarray
    """(b,) least cost of a path to a box inside, less the largest share of the prices; infinite if no path reaches one."""


def scratch_size(n: int, free: int, blocks: int) -> int:
    """
    Return how many numbers the scratch of :func:`connect_boxes` needs.

    :param n, free, blocks: number of joints, of free parameters and of larger boxes.
    """
    return 3 * n + 2 * free + blocks


@inline_kernel
def _places(n, free):
    """
    Return where the parts of the scratch begin that follow the multipliers y (n,), as a tuple of five indices.

    The parts are the steps c between the centres (n,), the sums e of both errors (n,), the terms y D_a - z_a (r,) and
    y D_b - z_b (r,), and the bounds of the larger boxes (b,).

    :param n, free: number of joints and of free parameters.
    """
    steps = n
    errors = steps + n
    before = errors + n
    after = before + free
    return steps, errors, before, after, after + free


@inline_kernel
def _apart(first, a, second, b, steps):
    """
    Return a lower bound on the cost of a step between two boxes, from the gap between them in each joint.

    It is infinite if a joint would have to move further than its largest step. Prices are not included.

    :param first, a: boxes or blocks, and the row of the one in which the step begins.
    :param second, b: boxes, and the row of the one in which the step ends.
    :param steps: largest steps and objective, see :class:`Steps`.
    """
    total = 0.0
    for j in range(first.q.shape[1]):
        distance = abs(step_of(first.q[a, j], second.q[b, j], steps.turning[j] != 0))
        apart = max(0.0, distance - first.halves[a, j] - second.halves[b, j])
        if apart > steps.largest[j]:
            return math.inf
        if steps.objective == SUM_OF_STEPS:
            total += steps.weights[j] * apart
        elif steps.objective == SUM_OF_SQUARES:
            total += (steps.weights[j] * apart) ** 2
        else:
            total = max(total, steps.weights[j] * apart)
    return total


@inline_kernel
def _value(y, c, e, before, after, boxes, a, b, j):
    """
    Return the terms of the lower bound of :func:`_follow` that depend on the multiplier of one joint.

    :param y: the multiplier of joint ``j``, between minus and plus its weight: a step s costs at least y s.
    :param c, e: step of joint ``j`` between the centres of both boxes, and the sum of both errors.
    :param before, after: (r,) y D_a - z_a and y D_b - z_b, summed over the other joints only.
    :param boxes, a, b: the boxes, and the rows of both.
    """
    cells, slopes = boxes.cells, boxes.slopes
    total = y * c - abs(y) * e
    for r in range(cells.shape[1]):
        total -= abs(before[r] + y * slopes[a, j, r]) * cells[a, r]
        total -= abs(after[r] + y * slopes[b, j, r]) * cells[b, r]
    return total


@inline_kernel
def _follow(boxes, a, b, steps, sign, work):
    """
    Return a lower bound on the cost of a step from box ``a`` to box ``b``, prices included.

    It uses that all joint values of a posture depend on the same free parameters, which gaps of single joints ignore.
    This is step 2 of the module's method, for the objective SUM_OF_STEPS only.

    :param boxes, a, b: the boxes, and the rows of those where the step begins and ends.
    :param steps: largest steps and weights of the joints, see :class:`Steps`.
    :param sign: -1 for sequences that go backwards through the layers, else 1.
    :param work: the scratch of :func:`connect_boxes`; it begins with the multipliers y (n,), which are written.
    """
    q, halves, slopes, cells = boxes.q, boxes.halves, boxes.slopes, boxes.cells
    n, free, weights = q.shape[1], cells.shape[1], steps.weights
    centers, sums, first, second, end = _places(n, free)
    y, c, e = work[:centers], work[centers:sums], work[sums:first]
    before, after = work[first:second], work[second:end]
    for r in range(free):
        before[r], after[r] = -sign * boxes.prices[a, r], -sign * boxes.prices[b, r]
    for j in range(n):
        c[j] = step_of(q[a, j], q[b, j], steps.turning[j] != 0)
        e[j] = boxes.errors[a, j] + boxes.errors[b, j]
        y[j] = 0.0
        if steps.turning[j] != 0 and abs(c[j]) + halves[a, j] + halves[b, j] > math.pi:
            e[j] = math.inf
        if abs(c[j]) > e[j]:
            y[j] = math.copysign(weights[j], c[j])
        for r in range(free):
            before[r] += y[j] * slopes[a, j, r]
            after[r] += y[j] * slopes[b, j, r]
    for _ in range(SWEEPS):
        for j in range(n):
            room = e[j]
            for r in range(free):
                room += abs(slopes[a, j, r]) * cells[a, r] + abs(slopes[b, j, r]) * cells[b, r]
            if abs(c[j]) >= room or math.isinf(e[j]):
                continue
            for r in range(free):
                before[r] -= y[j] * slopes[a, j, r]
                after[r] -= y[j] * slopes[b, j, r]
            best, least = y[j], -math.inf
            for choice in range(3 + 2 * free):
                other = y[j]
                if choice == 1 or choice == 2:
                    other = (2 * choice - 3) * weights[j]
                elif choice >= 3:
                    r = (choice - 3) // 2
                    rate, rest = slopes[a, j, r], before[r]
                    if choice % 2 == 0:
                        rate, rest = slopes[b, j, r], after[r]
                    other = 0.0
                    if rate != 0.0:
                        other = min(max(-rest / rate, -weights[j]), weights[j])
                value = _value(other, c[j], e[j], before, after, boxes, a, b, j)
                if value > least:
                    best, least = other, value
            y[j] = best
            for r in range(free):
                before[r] += y[j] * slopes[a, j, r]
                after[r] += y[j] * slopes[b, j, r]
    total = 0.0
    for j in range(n):
        if y[j] != 0.0:
            total += y[j] * c[j] - abs(y[j]) * e[j]
    for r in range(free):
        total -= abs(before[r]) * cells[a, r] + abs(after[r]) * cells[b, r]
    return total


@kernel
def connect_boxes(
    costs,
    multipliers,
    q,
    halves,
    slopes,
    errors,
    cells,
    prices,
    block_q,
    block_halves,
    block_costs,
    begin,
    end,
    first,
    last,
    turning,
    largest,
    weights,
    objective,
    sign,
    work,
):
    """
    Write for some boxes of a layer a lower bound on the cost of all paths from the first layer to the box.

    The bound is infinite if no path reaches the box. Boxes of a layer do not depend on each other. So a caller may
    split a layer into several calls and check its deadline in between.

    :param costs: (k,) bounds of all boxes of all layers; the layer before is read, rows ``first`` to ``last`` - 1 are
        written.
    :param multipliers: (k, n) out for SUM_OF_STEPS only: derivative of the bound with respect to the step of each
        joint.
    :param q, halves: (k, n) centres and half widths of the boxes [rad or m].
    :param slopes, errors: (k, n, r) slopes D of the postures with the free parameters, and (k, n) largest distances of
        postures from this linear form.
    :param cells, prices: (k, r) half widths of the free parameters, and their prices: a step to a posture is cheaper by
        price times parameter, and the step away from it dearer by the same amount.
    :param block_q, block_halves, block_costs: (b, n), (b, n), (b,) centres and half widths of larger boxes, and the
        least cost in each. A larger box contains BLOCK neighbouring boxes of the layer before. Its cost is reduced by
        the largest share of the prices.
    :param begin, end: first row of the layer before, and the row after its last one.
    :param first, last: first row to write, and the row after the last one.
    :param turning: (n,) 1 for joints that may turn without end, else 0.
    :param largest, weights: (n,) largest steps [rad or m] and weights of the joints.
    :param objective: cost of a path, such as SUM_OF_STEPS of :mod:`ssik_ros.kernels.paths.layers`, but not
        SUM_OF_POWERS; prices are used for SUM_OF_STEPS only.
    :param sign: -1 for sequences that go backwards through the layers, else 1.
    :param work: (scratch_size(n, r, b),) scratch.
    """
    boxes = Boxes(q, halves, slopes, errors, cells, prices)
    blocks = Blocks(block_q, block_halves, block_costs)
    steps = Steps(turning, largest, weights, objective)
    n, free, count = q.shape[1], cells.shape[1], len(block_costs)
    _, _, _, _, at_bounds = _places(n, free)
    bounds = work[at_bounds:]
    for row in range(first, last):
        costs[row] = math.inf
        stake = _stake(boxes, row)
        best = _bound_blocks(bounds, blocks, boxes, row, stake, steps)
        # Begin with the nearest block: its cost excludes most of the others.
        for turn in range(-1, count):
            block = max(turn, 0)
            if turn < 0:
                block = best
            elif block == best:
                continue
            if bounds[block] >= costs[row]:
                continue
            block_end = min(end, begin + (block + 1) * BLOCK)
            for at in range(begin + block * BLOCK, block_end):
                if math.isinf(costs[at]):
                    continue
                step = _apart(boxes, at, boxes, row, steps)
                if objective == SUM_OF_STEPS:
                    step -= stake + _stake(boxes, at)
                    if costs[at] + step < costs[row]:
                        step = max(step, _follow(boxes, at, row, steps, sign, work))
                total = max(costs[at], step)
                if objective != LARGEST_STEP:
                    total = costs[at] + step
                if total < costs[row]:
                    costs[row] = total
                    if objective == SUM_OF_STEPS:
                        for j in range(n):
                            multipliers[row, j] = work[j]


@inline_kernel
def _bound_blocks(bounds, blocks, boxes, row, stake, steps):
    """
    Write for each block of the layer before a lower bound on the cost of paths that reach a box through this block.

    A block is a group of BLOCK neighbouring boxes.

    :param bounds: (b,) out; infinite for blocks that no path reaches.
    :param blocks: the blocks of the layer before.
    :param boxes, row: the boxes, and the row of the box that is reached.
    :param stake: largest discount of a step to the box, from :func:`_stake`.
    :param steps: largest steps and objective, see :class:`Steps`.
    :returns: index of the block with the least bound; 0 if all are infinite.
    """
    best = 0
    for block in range(len(blocks.costs)):
        bounds[block] = math.inf
        if blocks.costs[block] < math.inf:
            step = _apart(blocks, block, boxes, row, steps)
            bounds[block] = max(blocks.costs[block], step)
            if steps.objective != LARGEST_STEP:
                bounds[block] = blocks.costs[block] + step - stake
        if bounds[block] < bounds[best]:
            best = block
    return best


@inline_kernel
def _stake(boxes, row):
    """
    Return the largest discount that the prices of the box ``row`` can give to a step to or from the box.

    A posture of the box has r free parameters between minus and plus their half widths. A price is the discount of a
    step to the posture for each unit of a parameter. So the result is the sum of |price| times half width.

    :param boxes: half widths of the free parameters, and their prices, are read.
    """
    total = 0.0
    for r in range(boxes.cells.shape[1]):
        total += abs(boxes.prices[row, r]) * boxes.cells[row, r]
    return total
