"""
The cheapest sequence of boxes, one from each layer: a lower bound on sequences of postures in them.

Problem
-------
Each layer holds boxes of postures. A step from a posture in box a to one in box b costs the sum of w_j |s_j|, s_j the step of
joint j. With any numbers y_j, |y_j| <= w_j, the sum over a path of w_j |s_j| is that of w_j |s_j| - y_j s_j and of y_j s_j. The
second part belongs to the ends of steps, and is counted with the boxes. Find the cheapest sequence of boxes by what the first part
costs at least.

Method
------
1. For each joint the step lies within c - h and c + h, c the difference of the centres and h the sum of the half widths.
   The least of w |s| - y s over it is 0 where it holds zero, and at its end next to zero otherwise.
2. Joints that turn without end take the step nearest to zero; k whole turns that are left out then count as 2 pi k y.
3. Where the least step of a joint is larger than allowed there is no step.

Cost
----
Number of layers times pairs of boxes within the key's window.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.paths.layers import (
    first_not_below,
    LARGEST_STEP,
    SUM_OF_SQUARES,
    SUM_OF_STEPS,
)

TWO_PI = 2.0 * math.pi


@inline_kernel
def _least(low, high, weight, slope):
    """Return the least of weight |s| - slope s for s between low and high."""
    if low > 0.0:
        return (weight - slope) * low
    if high < 0.0:
        return (weight + slope) * -high
    return 0.0


@inline_kernel
def _least_turning(low, high, turns, largest, weight, slope):
    """Return the same for a joint that turns without end, with ``turns`` whole turns left out; wide boxes leave a choice of these."""
    best = math.inf
    for more in range(-2, 3):
        least = max(low + TWO_PI * more, -largest)
        most = min(high + TWO_PI * more, largest)
        if least <= most:
            left_out = TWO_PI * (turns - more) * slope
            best = min(best, _least(least, most, weight, slope) - left_out)
    return best


@kernel
def step_cost(q, halves, a, b, turning, largest, weights, slopes, objective, most):
    """
    Return the least cost of a step from one box to another, infinite where there is none.

    :param q, halves: (k, n) centres and half widths.
    :param a, b: rows.
    :param turning: (n,) 1 for joints that may turn without end.
    :param largest, weights, slopes: (n,) of the step; the slopes are read for SUM_OF_STEPS alone.
    :param objective: as in :mod:`ssik_ros.kernels.paths.layers`.
    :param most: cost from which on a step is of no use.
    """
    total, n = 0.0, q.shape[1]
    # Joints that turn without end may lower the total, all others cannot: these come last.
    for count in range(2 * n):
        j = count % n
        if (turning[j] == 0) == (count < n):
            continue
        away, room, turns = q[b, j] - q[a, j], halves[a, j] + halves[b, j], 0.0
        if turning[j] != 0:
            turns = math.floor(away / TWO_PI + 0.5)
            away -= TWO_PI * turns
        low, high = away - room, away + room
        apart = max(low, -high, 0.0)
        if apart > largest[j]:
            return math.inf
        if objective == SUM_OF_STEPS and turning[j] != 0 and slopes[j] != 0.0:
            total += _least_turning(low, high, turns, largest[j], weights[j], slopes[j])
        elif objective == SUM_OF_STEPS:
            total += _least(low, high, weights[j], slopes[j])
        elif objective == SUM_OF_SQUARES:
            total += (weights[j] * apart) ** 2
        else:
            total = max(total, weights[j] * apart)
        if count >= n and total >= most:
            return math.inf
    return total


@kernel
def connect_boxes(
    costs,
    parents,
    q,
    halves,
    starts,
    narrow,
    own,
    turning,
    largest,
    weights,
    slopes,
    objective,
    key,
    layer,
    first,
    last,
):
    """
    Write a lower bound on what sequences to some boxes of one layer cost, infinite where there is none.

    Boxes of one layer are independent: a caller may split them into several calls and look at the clock in between.

    :param costs: (k,) in and out: those of the layer before are read.
    :param parents: (k,) out: the box before, -1 for none.
    :param q, halves: (k, n) centres and half widths, layer by layer; narrow boxes in ascending order of the key's centre.
    :param starts: (m + 1,) first row of each layer, then k.
    :param narrow: (m,) first narrow box of each layer; wide ones come before them.
    :param own: (k,) what a box costs by itself.
    :param turning, objective: as for :func:`step_cost`.
    :param largest, weights, slopes: (m, n) of the step to each layer; the first rows are not read.
    :param key: index of a joint that has limits.
    :param layer: any but the first one, whose boxes cost what they cost by themselves.
    :param first, last: rows of the layer, the last one excluded.
    """
    begin, end = starts[layer - 1], starts[layer]
    widest, least = 0.0, math.inf
    for row in range(begin, end):
        least = min(least, costs[row])
        if row >= narrow[layer - 1]:
            widest = max(widest, halves[row, key])
    # What a step costs at least per unit of the key; unknown where left out turns may pay.
    rate = weights[layer, key] - abs(slopes[layer, key])
    for j in range(q.shape[1]):
        if turning[j] != 0 and slopes[layer, j] != 0.0:
            rate = 0.0
    for row in range(first, last):
        costs[row], parents[row] = math.inf, -1
        if not math.isinf(least):
            _reach_box(
                costs,
                parents,
                q,
                halves,
                begin,
                narrow[layer - 1],
                end,
                row,
                own[row],
                turning,
                largest[layer],
                weights[layer],
                slopes[layer],
                objective,
                key,
                widest,
                least,
                rate,
            )


@inline_kernel
def _reach_box(
    costs,
    parents,
    q,
    halves,
    begin,
    narrow,
    end,
    row,
    own,
    turning,
    largest,
    weights,
    slopes,
    objective,
    key,
    widest,
    least,
    rate,
):
    """Choose the box before one box among the rows begin to end, the nearest in the key first, wide ones last."""
    value = q[row, key]
    middle = first_not_below(q, key, narrow, end, value)
    for way in range(3):
        at = middle if way == 0 else middle - 1
        last = narrow
        if way == 2:
            at, last = narrow - 1, begin
        while last <= at < end:
            apart = max(0.0, abs(q[at, key] - value) - widest - halves[row, key])
            if way < 2 and apart > largest[key]:
                break
            gain = least + rate * apart + own
            if way < 2 and objective == SUM_OF_STEPS and rate > 0.0 and gain >= costs[row]:
                break
            if costs[at] < math.inf:
                most = math.inf if objective == LARGEST_STEP else costs[row] - own - costs[at]
                step = step_cost(
                    q, halves, at, row, turning, largest, weights, slopes, objective, most
                )
                total = max(costs[at], step, own)
                if objective != LARGEST_STEP:
                    total = costs[at] + step + own
                if total < costs[row]:
                    costs[row], parents[row] = total, at
            at += 1 if way == 0 else -1
