"""
The cheapest sequence of postures, one from each layer, by dynamic programming.

Problem
-------
Layer i holds the postures of waypoint i. Choose one posture of each layer so that no joint moves further than it may between
neighbouring waypoints and the sum of the costs of all steps is least.

Method
------
1. Of each posture remember how many layers in a row it can be reached over, and the least cost of such a piece (Bellman).
2. More layers come before less cost: where no sequence reaches the last layer, the longest piece is known all the same.
3. Rows of a layer are ordered by one joint, the key. Only rows within its largest step are compared.

Cost
----
Number of layers times pairs of rows within the key's window.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel

SUM_OF_STEPS, SUM_OF_SQUARES, LARGEST_STEP, SUM_OF_LARGEST = 0, 1, 2, 3
"""Objectives: sum of weighted |dq|; of their squares; the largest weighted |dq|; the sum of each step's largest one."""
NOWHERE = -1
"""Parent of a row that no row of the layer before joins."""
TWO_PI = 2.0 * math.pi


@inline_kernel
def step_of(a, b, is_turning):
    """Return the step from one joint value to another; the short way round for joints that may turn without end."""
    away = b - a
    if is_turning:
        away -= TWO_PI * math.floor(away / TWO_PI + 0.5)
    return away


@inline_kernel
def first_not_below(q, key, begin, end, value):
    """Return the first of the rows begin to end whose key is not below a value."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if q[middle, key] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def join(q, a, b, turning, largest, weights, objective, most):
    """
    Return the cost of a step, infinite where a joint moves further than it may, and where the cost is above ``most``.

    :param q: (k, n) postures.
    :param a, b: rows.
    :param turning: (n,) 1 for joints that may turn without end.
    :param largest: (n,) largest steps.
    :param weights: (n,) of the objective.
    :param objective: SUM_OF_STEPS, ...
    :param most: cost from which on a step is of no use.
    """
    total = 0.0
    for j in range(q.shape[1]):
        away = abs(step_of(q[a, j], q[b, j], turning[j] != 0))
        if away > largest[j]:
            return math.inf
        away *= weights[j]
        if objective == SUM_OF_STEPS:
            total += away
        elif objective == SUM_OF_SQUARES:
            total += away * away
        else:
            total = max(total, away)
        if total > most:
            return math.inf
    return total


@kernel
def connect(
    costs, lengths, parents, q, starts, own, turning, largest, weights, objective, key, first, last
):
    """
    Write the least cost of each row, the number of layers of its piece, and the row before it.

    :param costs, lengths, parents: (k,) out; layers before ``first`` are read as they are.
    :param q: (k, n) postures, layer by layer, each layer in ascending order of the joint ``key``.
    :param starts: (m + 1,) first row of each layer, then k.
    :param own: (k,) what a row costs by itself; infinite for a row that must not be taken.
    :param turning, largest, weights, objective: as for :func:`join`.
    :param key: index of a joint.
    :param first, last: layers to work on, the last one excluded.
    """
    for layer in range(first, last):
        for row in range(starts[layer], starts[layer + 1]):
            costs[row], lengths[row], parents[row] = own[row], 1, NOWHERE
            if math.isinf(own[row]):
                lengths[row] = 0
            elif layer > 0:
                _reach(
                    costs,
                    lengths,
                    parents,
                    q,
                    starts[layer - 1],
                    starts[layer],
                    row,
                    turning,
                    largest,
                    weights,
                    objective,
                    key,
                )
                if objective == LARGEST_STEP:
                    costs[row] = max(costs[row], own[row])


@kernel
def _reach(
    costs,
    lengths,
    parents,
    q,
    begin,
    end,
    row,
    turning,
    largest,
    weights,
    objective,
    key,
):
    """Choose the row before one row among the rows begin to end of the layer before."""
    own, sides = costs[row], 1 if turning[key] != 0 else 0
    for side in range(-sides, sides + 1):
        value = q[row, key] + side * TWO_PI
        at = first_not_below(q, key, begin, end, value - largest[key])
        while at < end and q[at, key] <= value + largest[key]:
            is_longer = lengths[at] + 1 > lengths[row]
            is_close = lengths[at] + 1 == lengths[row] and costs[at] < costs[row]
            if lengths[at] > 0 and (is_longer or is_close):
                most = math.inf if is_longer else costs[row]
                if objective != LARGEST_STEP:
                    most -= costs[at] + own
                step = join(q, at, row, turning, largest, weights, objective, most)
                total = costs[at] + step + own
                if objective == LARGEST_STEP:
                    total = max(costs[at], step)
                if not math.isinf(step) and (is_longer or total < costs[row]):
                    costs[row], lengths[row], parents[row] = total, lengths[at] + 1, at
            at += 1
