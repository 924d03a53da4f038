"""
Find the cheapest joint path: one posture for each waypoint, by dynamic programming.

:func:`connect` does this layer by layer; :func:`join` is the cost of one step.

Problem
-------
Layer i has the possible postures of waypoint i, one in each row. Choose one posture of each layer with the least sum of
step costs and costs of the rows; for the objective LARGEST_STEP the largest cost counts instead of the sum. No joint
may move further between neighbouring waypoints than its largest step.

Method
------
1. For each posture, store the largest number of consecutive layers of a path that ends there. Also store the least cost
   of such a path (Bellman). This path is the *piece* of the posture.
2. More layers rank before less cost. So if no path reaches the last layer, the longest piece is still known.
3. Rows of a layer are sorted by one joint, the key. Only rows within its largest step are compared, the nearest first
   in each direction. A direction ends when the step of only the key makes a path as costly as the best one.

Cost
----
Number of layers times pairs of rows within the key's window.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import joint_values, so3

SUM_OF_STEPS, SUM_OF_SQUARES, LARGEST_STEP, SUM_OF_LARGEST, SUM_OF_POWERS = 0, 1, 2, 3, 4
"""Objectives: sum of weighted |dq|; sum of their squares; largest weighted |dq|; sum of the largest weighted |dq| of
each step; sum of the 16th powers of these, which makes large steps equal."""
NOWHERE = -1
"""Parent of a row without a connection to the layer before."""


class Steps(NamedTuple):
    """Largest steps of the joints from one waypoint to the next, and weights and objective for the cost of a step."""

    turning: np.ndarray
    """(n,) 1 for joints that may turn without end, else 0."""
    largest: np.ndarray
    """(n,) largest steps [rad or m]."""
    weights: np.ndarray
    """(n,) factors on the motions of the joints."""
    objective: int
    """SUM_OF_STEPS, SUM_OF_SQUARES, LARGEST_STEP, SUM_OF_LARGEST or SUM_OF_POWERS."""


class Pieces(NamedTuple):
    """
    The piece of each of k postures, the best path that ends there: its cost, its length and the posture before.

    A layer has the possible postures of one waypoint, one in each row. A path takes one posture from each of several
    consecutive layers. The best path is the one through the most layers, and among these the cheapest.
    """

    costs: np.ndarray
    """(k,) cost of the piece of each row."""
    lengths: np.ndarray
    """(k,) number of layers of the piece; 0 for a row that must not be used."""
    parents: np.ndarray
    """(k,) row of the posture before in the piece, or NOWHERE."""


@inline_kernel
def step_of(a, b, is_turning):
    """
    Return the step b - a between two joint values [rad or m].

    If ``is_turning`` (the joint may turn without end), whole turns are removed, so that the step is in [-pi, pi).
    """
    return joint_values.wrapped(b - a) if is_turning else b - a


@inline_kernel
def first_not_below(q, key, begin, end, value):
    """
    Return the first row from ``begin`` to ``end`` - 1 whose joint ``key`` is at least ``value``, else ``end``.

    :param q: (k, n) postures; in these rows the values of joint ``key`` ascend.
    """
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if q[middle, key] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inline_kernel
def _part(objective, motion):
    """
    Return the least cost that a step can have if one joint moves by ``motion`` in it.

    :param objective: one of SUM_OF_STEPS, SUM_OF_SQUARES, LARGEST_STEP, SUM_OF_LARGEST or SUM_OF_POWERS.
    :param motion: absolute motion of the joint times its weight.
    """
    if objective == SUM_OF_POWERS:
        return motion**16
    return motion * motion if objective == SUM_OF_SQUARES else motion


@kernel
def join(q, a, b, steps, most):
    """
    Return the cost of the step from posture ``a`` to posture ``b``.

    It is infinite if a joint moves further than its largest step, or if the cost is above ``most``.

    :param q: (k, n) postures [rad or m].
    :param a, b: rows of both postures.
    :param steps: largest steps and objective, see :class:`Steps`.
    :param most: largest cost that is of use to the caller.
    """
    total = 0.0
    for j in range(q.shape[1]):
        motion = abs(step_of(q[a, j], q[b, j], steps.turning[j] != 0))
        if motion > steps.largest[j]:
            return math.inf
        motion *= steps.weights[j]
        if steps.objective == SUM_OF_STEPS:
            total += motion
        elif steps.objective == SUM_OF_SQUARES:
            total += motion * motion
        else:
            total = max(total, _part(steps.objective, motion))
        if total > most:
            return math.inf
    return total


@kernel
def connect(
    costs,
    lengths,
    parents,
    q,
    starts,
    row_costs,
    turning,
    largest,
    weights,
    objective,
    key,
    first,
    last,
):
    """
    Write for each posture of some layers the longest and then cheapest path that ends there: cost, length and parent.

    :param costs: (k,) out: least cost of the path to each row.
    :param lengths: (k,) out: number of consecutive layers of this path; 1 without a parent, 0 for a row that must not
        be used.
    :param parents: (k,) out: row of the posture before, in the layer before; NOWHERE (-1) for the begin of a path. Of
        these three arrays, layers before ``first`` are read.
    :param q: (k, n) postures [rad or m], layer by layer, each layer sorted by the joint ``key``.
    :param starts: (m + 1,) first row of each layer, then k.
    :param row_costs: (k,) cost of using the row itself; infinite for a row that must not be used.
    :param turning: (n,) 1 for joints that may turn without end, else 0.
    :param objective: how steps add up to a cost: SUM_OF_STEPS, SUM_OF_SQUARES, LARGEST_STEP, SUM_OF_LARGEST or
        SUM_OF_POWERS.
    :param largest, weights: (m, n) largest steps and weights for the step to each layer; the first rows are ignored.
    :param key: index of the joint by which rows are sorted.
    :param first, last: first layer to work on, and the layer after the last one.
    """
    pieces = Pieces(costs, lengths, parents)
    for layer in range(first, last):
        steps = Steps(turning, largest[layer], weights[layer], objective)
        begin = starts[layer - 1] if layer > 0 else 0
        end = starts[layer] if layer > 0 else 0
        longest, least = _best_before(costs, lengths, begin, end)
        for row in range(starts[layer], starts[layer + 1]):
            costs[row], lengths[row], parents[row] = 0.0, 1, NOWHERE
            if math.isinf(row_costs[row]):
                lengths[row] = 0
            elif longest > 0:
                _reach(pieces, q, begin, end, row, steps, key, longest, least)
            if objective == LARGEST_STEP:
                costs[row] = max(costs[row], row_costs[row])
            else:
                costs[row] += row_costs[row]


@inline_kernel
def _best_before(costs, lengths, begin, end):
    """
    Return (length, cost) of the best path that ends in the rows ``begin`` to ``end`` - 1.

    The best path is the longest one, and of several the cheapest. The length is 0 and the cost infinite if no row may
    be used.

    :param costs, lengths: (k,) of all rows, as :func:`connect` wrote them.
    """
    longest, least = 0, math.inf
    for row in range(begin, end):
        if lengths[row] > longest:
            longest, least = lengths[row], costs[row]
        elif lengths[row] == longest:
            least = min(least, costs[row])
    return longest, least


@kernel
def _reach(pieces, q, begin, end, row, steps, key, longest, least):
    """
    Choose the parent of ``row`` among the rows ``begin`` to ``end`` - 1 of the layer before.

    It updates cost, length and parent of the row. Rows are tried upwards and downwards from the value of the joint
    ``key`` in ``row``. Each direction ends when the step of this joint is too long or costs too much. The rows are rows
    of ``q``.

    :param pieces: costs, lengths and parents of all rows, see :class:`Pieces`.
    :param q: (k, n) postures of all layers [rad or m]; each layer is sorted by the joint ``key``.
    :param steps: largest steps and objective for the step to this layer.
    :param longest, least: length and cost of the best path to one of these rows, from :func:`_best_before`.
    """
    largest, objective = steps.largest[key], steps.objective
    sides = 1 if steps.turning[key] != 0 else 0
    for side in range(-sides, sides + 1):
        value = q[row, key] + side * so3.TWO_PI
        middle = first_not_below(q, key, begin, end, value)
        for direction in range(2):
            at = middle if direction == 0 else middle - 1
            while begin <= at < end:
                motion = abs(q[at, key] - value)
                if motion > largest:
                    break
                if pieces.lengths[row] > longest:
                    motion *= steps.weights[key]
                    bound = least + _part(objective, motion)
                    if objective == LARGEST_STEP:
                        bound = max(least, motion)
                    if bound >= pieces.costs[row]:
                        break
                _try(pieces, q, at, row, steps)
                at += 1 if direction == 0 else -1


@kernel
def _try(pieces, q, at, row, steps):
    """
    Make row ``at`` the parent of ``row`` if this makes the path to ``row`` longer, or as long but cheaper.

    It then writes cost, length and parent of ``row``. Nothing changes if a joint would move further than its largest
    step.

    :param pieces: costs, lengths and parents of all rows.
    :param q: (k, n) postures of all layers [rad or m].
    :param steps: largest steps and objective for this step, see :class:`Steps`.
    """
    costs, lengths = pieces.costs, pieces.lengths
    is_longer = lengths[at] + 1 > lengths[row]
    is_close = lengths[at] + 1 == lengths[row] and costs[at] < costs[row]
    if lengths[at] == 0 or not (is_longer or is_close):
        return
    most = math.inf
    if not is_longer:
        most = costs[row] if steps.objective == LARGEST_STEP else costs[row] - costs[at]
    step = join(q, at, row, steps, most)
    if math.isinf(step):
        return
    total = max(costs[at], step) if steps.objective == LARGEST_STEP else costs[at] + step
    if is_longer or total < costs[row]:
        costs[row], lengths[row], pieces.parents[row] = total, lengths[at] + 1, at
