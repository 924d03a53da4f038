"""
Find the cheapest sequence of postures, one from each layer, by dynamic programming.

Problem
-------
Layer i has the postures of waypoint i. Choose one posture of each layer with the least sum of step costs. No joint may
move further between neighbouring waypoints than its limit.

Method
------
1. For each posture store the number of consecutive layers over which it can be reached, and the least cost of this
   piece (Bellman).
2. More layers rank before less cost. So if no sequence reaches the last layer, the longest piece is still known.
3. Rows of a layer are sorted by one joint, the key. Only rows within its largest step are compared, the nearest first.
   The comparison stops when the key's own step costs more than the best row.

Cost
----
Number of layers times pairs of rows within the key's window.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel

SUM_OF_STEPS, SUM_OF_SQUARES, LARGEST_STEP, SUM_OF_LARGEST, SUM_OF_POWERS = 0, 1, 2, 3, 4
"""Objectives: sum of weighted |dq|; sum of their squares; largest weighted |dq|; sum of the largest weighted |dq| of
each step; sum of the 16th powers of these, which makes large steps equal."""
NOWHERE = -1
"""Parent of a row without a connection to the layer before."""
TWO_PI = 2.0 * math.pi


@inline_kernel
def step_of(a, b, is_turning):
    """Return the step b - a between two joint values; in [-pi, pi) for joints that may turn without end."""
    away = b - a
    if is_turning:
        away -= TWO_PI * math.floor(away / TWO_PI + 0.5)
    return away


@inline_kernel
def first_not_below(q, key, begin, end, value):
    """Return the first of the rows ``begin`` .. ``end`` - 1 whose joint ``key`` is at least a value, else ``end``."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if q[middle, key] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inline_kernel
def _part(objective, away):
    """
    Return the least cost of a step in which one joint has the weighted step ``away``.

    :param objective: as for :func:`join`.
    """
    if objective == SUM_OF_POWERS:
        return away**16
    return away * away if objective == SUM_OF_SQUARES else away


@kernel
def join(q, a, b, turning, largest, weights, objective, most):
    """
    Return the cost of a step; infinite if a joint moves too far or the cost is above ``most``.

    :param q: (k, n) postures.
    :param a, b: rows of both postures.
    :param turning: (n,) 1 for joints that may turn without end.
    :param largest: (n,) largest steps.
    :param weights: (n,) weights of the objective.
    :param objective: SUM_OF_STEPS, SUM_OF_SQUARES, LARGEST_STEP, SUM_OF_LARGEST or SUM_OF_POWERS.
    :param most: largest useful cost of the step.
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
            total = max(total, _part(objective, away))
        if total > most:
            return math.inf
    return total


@kernel
def connect(
    costs, lengths, parents, q, starts, own, turning, largest, weights, objective, key, first, last
):
    """
    Write the least cost of each row, the number of layers of its piece, and its parent row.

    :param costs, lengths, parents: (k,) out; layers before ``first`` are read.
    :param q: (k, n) postures, layer by layer, each layer sorted by the joint ``key``.
    :param starts: (m + 1,) first row of each layer, then k.
    :param own: (k,) cost of the row itself; infinite for a row that must not be used.
    :param turning, objective: as for :func:`join`.
    :param largest, weights: (m, n) largest steps and weights for the step to each layer; the first rows are ignored.
    :param key: index of the sorted joint.
    :param first, last: layers to work on, without ``last``.
    """
    for layer in range(first, last):
        begin = starts[layer - 1] if layer > 0 else 0
        end = starts[layer] if layer > 0 else 0
        longest, least = _best_before(costs, lengths, begin, end)
        for row in range(starts[layer], starts[layer + 1]):
            costs[row], lengths[row], parents[row] = 0.0, 1, NOWHERE
            if math.isinf(own[row]):
                lengths[row] = 0
            elif longest > 0:
                _reach(
                    costs,
                    lengths,
                    parents,
                    q,
                    begin,
                    end,
                    row,
                    turning,
                    largest[layer],
                    weights[layer],
                    objective,
                    key,
                    longest,
                    least,
                )
            if objective == LARGEST_STEP:
                costs[row] = max(costs[row], own[row])
            else:
                costs[row] += own[row]


@inline_kernel
def _best_before(costs, lengths, begin, end):
    """
    Return the length of the longest pieces that end in the rows ``begin`` to ``end`` - 1, and their least cost.

    The length is 0 and the cost infinite if no row is connected.
    """
    longest, least = 0, math.inf
    for row in range(begin, end):
        if lengths[row] > longest:
            longest, least = lengths[row], costs[row]
        elif lengths[row] == longest:
            least = min(least, costs[row])
    return longest, least


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
    longest,
    least,
):
    """
    Choose the parent of ``row`` among the rows ``begin`` to ``end`` - 1 of the layer before.

    Writes costs, lengths and parents of the row. The search goes up and down from the row's value of the joint ``key``,
    and ends when the step of this joint costs too much. Other arguments as for :func:`connect`.

    :param largest, weights: (n,) largest steps and weights for the step to this layer.
    :param longest, least: results of :func:`_best_before`.
    """
    sides = 1 if turning[key] != 0 else 0
    for side in range(-sides, sides + 1):
        value = q[row, key] + side * TWO_PI
        middle = first_not_below(q, key, begin, end, value)
        for way in range(2):
            at = middle if way == 0 else middle - 1
            while begin <= at < end:
                away = abs(q[at, key] - value)
                if away > largest[key]:
                    break
                if lengths[row] > longest:
                    away *= weights[key]
                    bound = least + _part(objective, away)
                    if objective == LARGEST_STEP:
                        bound = max(least, away)
                    if bound >= costs[row]:
                        break
                _try(costs, lengths, parents, q, at, row, turning, largest, weights, objective)
                at += 1 if way == 0 else -1


@kernel
def _try(costs, lengths, parents, q, at, row, turning, largest, weights, objective):
    """
    Make row ``at`` the parent of ``row`` if the piece gets longer, or stays as long and gets cheaper.

    Writes costs, lengths and parents of ``row``; nothing changes if a joint would move too far.
    """
    is_longer = lengths[at] + 1 > lengths[row]
    is_close = lengths[at] + 1 == lengths[row] and costs[at] < costs[row]
    if lengths[at] == 0 or not (is_longer or is_close):
        return
    most = math.inf
    if not is_longer:
        most = costs[row] if objective == LARGEST_STEP else costs[row] - costs[at]
    step = join(q, at, row, turning, largest, weights, objective, most)
    if math.isinf(step):
        return
    total = max(costs[at], step) if objective == LARGEST_STEP else costs[at] + step
    if is_longer or total < costs[row]:
        costs[row], lengths[row], parents[row] = total, lengths[at] + 1, at
