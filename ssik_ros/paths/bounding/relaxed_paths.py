"""
A lower bound on the cost of any joint path along waypoints, by sequences of boxes in joint space.

Problem
-------
Find a bound as close to the cost of a known path as time allows: a proof that no path is much cheaper.

Method
------
1. Some of the waypoints are layers. The steps between two layers together cost at least as much as one straight step
   from layer to layer, by the triangle inequality. For squares and the largest step, the weights of the best split are
   used. The straight step is at most as large as all single steps together.
2. The boxes of a layer hold all postures of its waypoint within the limits (:mod:`ssik_ros.paths.bounding.enclosures`).
   The cheapest sequence of boxes, one of each layer, costs no more than any path (:mod:`ssik_ros.kernels.paths.boxes`).
3. If the objective is a sum over steps, each box has a price for each joint. The price times the joint is taken off the
   cost of the step to the box, and added to the cost of the next step. Any prices give a valid bound. The prices used
   are halfway between the derivatives of the least costs from both ends, to raise the bound. Both halves of a box take
   its prices.
4. If no sequence through a box is cheaper than the known path, the box is dropped: a cheaper path cannot visit it. In
   the first rounds, all boxes are halved whose branch is not proved to exist, unless there are too many boxes. In later
   rounds, boxes on the cheapest sequences are halved. A cell is halved along the parameter that makes its boxes
   smallest. Then steps 2 to 4 are repeated.

The bound is the largest one of all rounds, at most the cost of the known path. Collisions are ignored, so that a path
around obstacles may keep a gap.

References: Land and Doig 1960 (branch and bound).
"""

from collections.abc import Callable
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import BoolArray, FloatArray, IntArray, joined_rows, TURN, whole_turns
from ssik_ros.kernels.paths import boxes as kernels
from ssik_ros.kernels.paths.layers import LARGEST_STEP, SUM_OF_SQUARES
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.paths.bounding.enclosures import make_nodes, Nodes
from ssik_ros.paths.bounding.wrist_arms import BOUND_ROUNDING, ParameterCells, WristArm
from ssik_ros.paths.steps import StepLimits
from ssik_ros.paths.tool_chain import ToolChain

FIRST_CELLS = {1: (512,), 2: (8, 64), 3: (4, 4, 16)}
"""Cells of each parameter at the beginning, by the number of parameters."""
FEWEST_LAYERS, MOST_LAYERS, ENOUGH = 16, 60, 0.985
"""Layers at least and at most, and how long the known path is with straight steps between them, as a part of its length."""
MOST_NODES = 400_000
"""Boxes at the same time: about 200 MB."""
CELLS_AT_ONCE = 200
"""Cells whose boxes are made between two looks at the clock: about 10 ms."""
BITS = 16
"""Binary digits of a parameter that tell where a box is."""
PAIRS_AT_ONCE = 120_000
"""Pairs of boxes of one kernel call: at most about 10 ms."""
COST_GAP = 1e-3
"""Gap between the bounds on the cost at which the search ends, as a share of the cost [1]."""
MOST_ROUNDS = 60
FOCUS = 0.1
"""Boxes are halved if their cost exceeds the cheapest one by at most this part of its gap to the known path."""
LOOSE_ROUNDS = 6
"""Rounds in which all boxes of branches that are not proved to be there are halved: the cheapest sequences visit these."""


class KnownPath(NamedTuple):
    """A joint path through all waypoints with its cost; the lower bound is compared with this cost."""

    q: FloatArray
    """(m, n) postures without jumps of whole turns."""
    cost: float
    """Value of the objective and penalties."""


class Sweep(NamedTuple):
    """For each of k boxes, the least cost of a sequence of boxes from one end of the path to it, with derivatives."""

    costs: FloatArray
    """(k,) least cost, in units of the objective."""
    multipliers: FloatArray
    """(k, n) derivatives of this cost by the joint values in the box."""


class Bound(NamedTuple):
    """A lower bound on the cost of all paths, the number of rounds of the search, and whether time ended it."""

    value: float
    """The bound, in units of the objective."""
    rounds: int
    """Number of rounds that halved boxes for a next round."""
    is_late: bool
    """Whether the search ended because time was up."""


class RelaxedPaths:
    """
    Search for a lower bound on the cost of any joint path along waypoints, by branch and bound.

    Boxes in joint space hold all postures at some waypoints, the layers. The cost of the cheapest sequence of boxes is
    the bound; smaller boxes can raise it.
    """

    def __init__(
        self,
        arm: WristArm,
        limits: StepLimits,
        poses: FloatArray,
        known_path: KnownPath,
        is_over: Callable[[], bool],
    ) -> None:
        """
        Choose the waypoints that are layers, and make the first boxes of postures for each of them.

        :param arm: the arm with its free parameters.
        :param limits: the objective and the largest steps.
        :param poses: (m, 4, 4) waypoints.
        :param known_path: a path through the waypoints, and its cost.
        :param is_over: returns True when time is up; the search then ends with the bound so far.
        """
        self._arm, self._known_path, self._asks_whether_over = arm, known_path, is_over
        self._is_late = False
        self._rows = _layers(limits, known_path.q)
        self._limits = joined_limits(limits, self._rows)
        self._poses = poses[self._rows]
        self._nodes = self._made(self._first_cells(), None)
        self.best = 0.0

    def _is_over(self) -> bool:
        """Return whether time is up; once True, it stays True, and the result says so in ``is_late``."""
        self._is_late = self._is_late or self._asks_whether_over()
        return self._is_late

    def _first_cells(self) -> ParameterCells:
        """
        Return the cells of a grid over the whole ranges of all free parameters, repeated for each layer.

        Angles without limits, or with at least a full turn, range from -pi to pi.
        """
        serial, joints = self._arm.chain.chain, self._arm.parameters
        low, high = serial.lower[joints].copy(), serial.upper[joints].copy()
        wide = (high - low >= TURN) & (serial.kinds[joints] != JointKind.PRISMATIC)
        low[wide], high[wide] = -math.pi, math.pi
        counts = FIRST_CELLS.get(len(joints), (4,) * len(joints))
        axes = [
            a + (np.arange(count) + 0.5) / count * (b - a)
            for a, b, count in zip(low, high, counts, strict=True)
        ]
        grid = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, len(joints))
        layers = np.repeat(np.arange(len(self._rows)), len(grid))
        halves = 0.5 * (high - low) / np.array(counts)
        count = len(self._rows)
        return ParameterCells(layers, np.tile(grid, (count, 1)), np.tile(halves, (len(layers), 1)))

    def _made(
        self, cells: ParameterCells, parents: tuple[IntArray, BoolArray, FloatArray] | None
    ) -> Nodes | None:
        """
        Return the sorted boxes of the branches over some cells; None if time is up.

        If the cells are halves of older cells, only the branches that the older cells still have are kept.

        :param cells: the cells.
        :param parents: for each cell the index (k,) of its older cell; for each older cell a mask (p, 8) of its
            branches, and their prices (p, 8, n). The new boxes take the prices over. None keeps all branches, with zero
            prices.
        """
        parts = []
        for begin in range(0, len(cells.layers), CELLS_AT_ONCE):
            if self._is_over():
                return None
            batch = slice(begin, begin + CELLS_AT_ONCE)
            part = cells.chosen(batch)
            boxes = make_nodes(self._arm, part, self._poses, self._limits.turning)
            if parents is not None:
                rows, is_alive, prices = parents
                boxes = boxes.chosen(is_alive[rows[batch][boxes.owners], boxes.labels])
                boxes.prices[:] = prices[rows[batch][boxes.owners], boxes.labels]
            parts.append(boxes._replace(owners=boxes.owners + begin))
        return self._sorted(joined_rows(parts))

    def _sorted(self, nodes: Nodes) -> Nodes:
        """
        Return the boxes sorted by layer, branch and winding, then by the place of their cell among the parameters.

        The place is a Morton code, so that boxes of neighbouring cells mostly follow each other.
        """
        turns = whole_turns(nodes.q)[:, self._limits.turning == 0].T
        keys = [_place(nodes.cells.centers), *turns, nodes.labels, nodes.cells.layers]
        return nodes.chosen(np.lexsort(keys))

    def run(self, rounds: int = MOST_ROUNDS) -> Bound:
        """
        Improve the bound round by round and return it.

        It ends when the bound is within COST_GAP of the known cost, after ``rounds``, when there are too many boxes, or
        when time is up.

        :param rounds: largest number of rounds.
        """
        for done in range(rounds):
            if self._nodes is None or not self._round(done < LOOSE_ROUNDS):
                return Bound(self.best, done, self._is_late)
        return Bound(self.best, rounds, self._is_late)

    def _round(self, is_early: bool) -> bool:
        """
        Do one round of branch and bound; return False if the search is to end.

        A round computes the cheapest sequences, raises ``best`` to their cost, drops boxes of costlier paths, and
        halves some of the others.

        :param is_early: True halves all boxes whose branch is not proved to exist, unless there are many boxes.
            Otherwise the boxes on the cheapest sequences are halved.
        """
        nodes, cost = self._nodes, self._known_path.cost
        assert nodes is not None
        result = self._through(nodes)
        if result is None:
            return False
        total, through, nodes.prices[:] = result
        self.best = max(self.best, min(cost, total))
        if self._is_over():
            return False
        kept = np.flatnonzero(through < cost)
        if self.best >= (1.0 - COST_GAP) * cost or not len(kept):
            self.best = self.best if len(kept) else cost
            return False
        if len(kept) > MOST_NODES:
            return False
        nodes = nodes.chosen(kept)
        through = through[kept]
        least = float(through.min())
        chosen = through <= least + FOCUS * (cost - least)
        if is_early and len(kept) < MOST_NODES / 4:
            chosen = nodes.is_loose
        self._nodes = self._halved(nodes, chosen)
        return self._nodes is not None

    def _through(self, nodes: Nodes) -> tuple[float, FloatArray, FloatArray] | None:
        """
        Return the least cost of a sequence of boxes, the least cost through each box (k,), and new prices (k, n).

        Also raise ``best`` to the least cost, at most to the known cost. Return None if time is up; ``best`` may have
        risen before.
        """
        layers = np.arange(len(self._rows) + 1)
        starts = np.searchsorted(nodes.cells.layers, layers).astype(np.int64)
        ahead = self._swept(nodes, starts, 1)
        if ahead is None:
            return None
        total = float(ahead.costs[starts[-2] :].min(initial=math.inf))
        self.best = max(self.best, min(self._known_path.cost, total))
        back = self._swept(nodes, starts, -1)
        if back is None:
            return None
        prices = 0.5 * (ahead.multipliers - back.multipliers)
        if self._limits.objective == LARGEST_STEP:
            return total, np.maximum(ahead.costs, back.costs), prices
        return total, ahead.costs + back.costs, prices

    def _swept(self, nodes: Nodes, starts: IntArray, sign: int) -> 'Sweep | None':
        """
        Return the least cost of a sequence of boxes from one end of the path to each box; None if time is up.

        All costs are infinite if a layer has no box, apart from the last layer in this direction.

        :param nodes: the boxes, sorted by layer.
        :param starts: (layers + 1,) first row of each layer, then the number of boxes.
        :param sign: 1 for sequences from the first layer, -1 for sequences from the last layer.
        """
        count, limits = len(starts) - 1, self._limits
        sweep = Sweep(np.zeros(len(nodes.q)), np.zeros_like(nodes.q))
        prices = np.einsum('kn,knr->kr', nodes.prices, nodes.slopes)
        prices[: starts[1]] = prices[starts[-2] :] = 0.0
        boxes = nodes.q, nodes.halves, nodes.slopes, nodes.errors, nodes.spans, prices
        stakes = (np.abs(prices) * nodes.spans).sum(axis=1)
        low, high = nodes.q - nodes.halves, nodes.q + nodes.halves
        for layer in range(1, count) if sign > 0 else range(count - 2, -1, -1):
            begin, end = starts[layer - sign : layer - sign + 2].tolist()
            blocks = np.arange(begin, end, kernels.BLOCK)
            if not len(blocks):
                sweep.costs[:] = math.inf
                return sweep
            least = np.minimum.reduceat((sweep.costs - stakes)[:end], blocks)
            bottom = np.minimum.reduceat(low[:end], blocks)
            top = np.maximum.reduceat(high[:end], blocks)
            around = 0.5 * (bottom + top), 0.5 * (top - bottom) + BOUND_ROUNDING, least
            work = np.empty(kernels.scratch_size(nodes.q.shape[1], prices.shape[1], len(blocks)))
            step = max(layer, layer - sign)
            tail = limits.turning, limits.largest[step], limits.weights[step], limits.objective
            rows = max(1, PAIRS_AT_ONCE // max(1, end - begin))
            for first in range(int(starts[layer]), int(starts[layer + 1]), rows):
                if self._is_over():
                    return None
                last = min(int(starts[layer + 1]), first + rows)
                kernels.connect_boxes(
                    *(sweep.costs, sweep.multipliers, *boxes, *around, begin, end),
                    *(first, last, *tail, sign, work),
                )
        return sweep

    def _halved(self, nodes: Nodes, chosen: BoolArray) -> Nodes | None:
        """
        Return all boxes, after the cells of the boxes in the mask ``chosen`` (k,) were cut in two; None if time is up.

        Each cell is cut along the parameter that contributes most to the size of its boxes.
        """
        if not chosen.any():
            return nodes
        others, nodes = nodes.chosen(~chosen), nodes.chosen(chosen)
        cells, owners = _distinct(nodes)
        is_alive = np.zeros((len(cells.layers), 8), dtype=bool)
        is_alive[owners, nodes.labels] = True
        prices = np.zeros((*is_alive.shape, nodes.prices.shape[1]))
        prices[owners, nodes.labels] = nodes.prices
        # The parameter whose half makes the boxes smallest.
        sizes = np.abs(nodes.slopes).sum(axis=1) * nodes.cells.halves
        sizes[nodes.is_loose] = nodes.cells.halves[nodes.is_loose]
        worst = np.zeros(cells.halves.shape)
        np.maximum.at(worst, owners, sizes)
        split = np.argmax(worst, axis=1)
        rows = np.arange(len(split))
        halves = cells.halves.copy()
        halves[rows, split] *= 0.5
        shift = np.zeros_like(halves)
        shift[rows, split] = halves[rows, split]
        children = ParameterCells(
            np.tile(cells.layers, 2),
            np.vstack([cells.centers - shift, cells.centers + shift]),
            np.vstack([halves, halves]),
        )
        halved = self._made(children, (np.tile(rows, 2), is_alive, prices))
        if halved is None or not len(others.q):
            return halved
        others = others._replace(owners=others.owners + len(children.layers))
        return self._sorted(joined_rows([others, halved]))


def _layers(limits: StepLimits, q: FloatArray) -> IntArray:
    """
    Return the indices (l,) of few waypoints that describe a path well: straight steps between them are nearly as long.

    They are FEWEST_LAYERS evenly spread waypoints, the first and the last waypoint of each pass, and the waypoints that
    improve the description most. The last ones are added until the description is good, or MOST_LAYERS are chosen. A
    shorter path has all its waypoints.

    :param limits: its weights of the joints measure lengths; its free travel shows where passes begin.
    :param q: (m, n) the known path.
    """
    places = q * limits.weights.mean(axis=0)
    travels = np.flatnonzero(limits.is_travel)
    spread = np.linspace(0, len(q) - 1, min(len(q), FEWEST_LAYERS)).astype(int)
    rows = np.unique(np.concatenate([spread, travels, travels + 1]))
    whole = float(np.abs(np.diff(places, axis=0)).sum())
    every = np.arange(len(q))
    while len(rows) < MOST_LAYERS:
        next_rows = np.minimum(np.searchsorted(rows, every, side='right'), len(rows) - 1)
        first, last = places[rows[next_rows - 1]], places[rows[next_rows]]
        gains = np.abs(places - first) + np.abs(last - places) - np.abs(last - first)
        length = float(np.abs(np.diff(places[rows], axis=0)).sum())
        best = int(np.argmax(gains.sum(axis=1)))
        if length >= ENOUGH * whole or gains[best].sum() <= 0.0:
            break
        rows = np.sort(np.append(rows, best))
    return rows


def joined_limits(limits: StepLimits, rows: IntArray) -> StepLimits:
    """
    Return limits and weights of steps from one chosen waypoint to the next, for a valid lower bound.

    A step over several waypoints may be as large as all its single steps together. Its weights make it cost at most as
    much as they do.

    :param limits: of steps from one waypoint to the next.
    :param rows: (l,) indices of the chosen waypoints, ascending.
    """
    begins = rows[:-1] + 1
    largest = np.add.reduceat(limits.largest, begins)
    weights = limits.weights
    if limits.objective == SUM_OF_SQUARES or limits.objective == LARGEST_STEP:
        power = 2.0 if limits.objective == SUM_OF_SQUARES else 1.0
        with np.errstate(divide='ignore'):
            sums = np.add.reduceat(weights**-power, begins)
        joined_weights = sums ** (-1.0 / power)
    else:
        joined_weights = np.minimum.reduceat(weights, begins)
    return limits._replace(
        largest=np.vstack([limits.largest[:1], largest]),
        weights=np.vstack([weights[:1], joined_weights]),
    )


def _place(centers: FloatArray) -> IntArray:
    """
    Return the Morton code (k,) of the centres of cells (k, r): it interleaves the bits of all parameters.

    Cells with neighbouring codes are mostly close together.
    """
    low = centers.min(axis=0, initial=0.0)
    width = np.maximum(centers.max(axis=0, initial=0.0) - low, 1e-12)
    scaled = ((centers - low) / width * (2**BITS - 1)).astype(np.int64)
    codes = np.zeros(len(centers), dtype=np.int64)
    for bit in range(BITS - 1, -1, -1):
        for column in scaled.T:
            codes = 2 * codes + ((column >> bit) & 1)
    return codes


def _distinct(nodes: Nodes) -> tuple[ParameterCells, IntArray]:
    """Return the cells of some boxes, each cell once, and for each box the index (k,) of its cell among them."""
    _, first, owners = np.unique(nodes.owners, return_index=True, return_inverse=True)
    return nodes.cells.chosen(first), owners.ravel()


def relaxed_bound(
    chain: ToolChain,
    limits: StepLimits,
    poses: FloatArray,
    known_path: KnownPath,
    is_over: Callable[[], bool],
    rounds: int = MOST_ROUNDS,
) -> Bound | None:
    """
    Return a proved lower bound on the cost of any joint path along exact poses; None for an arm that it cannot treat.

    The arm must be a :class:`~ssik_ros.paths.bounding.wrist_arms.WristArm`: seven turning joints with a spherical
    wrist, and maybe further joints before them. The bound is at most the cost of ``known_path``.

    :param chain, limits, poses: the joints, the objective and the largest steps, (m, 4, 4) waypoints.
    :param known_path: a path through the waypoints, and its cost.
    :param is_over: returns True when time is up; the bound so far is returned then.
    :param rounds: largest number of rounds in which boxes are halved.
    """
    arm = WristArm.of_chain(chain)
    if arm is None:
        return None
    return RelaxedPaths(arm, limits, poses, known_path, is_over).run(rounds)
