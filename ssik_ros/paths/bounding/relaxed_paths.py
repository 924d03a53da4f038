"""
A lower bound by sequences of boxes that hold all postures.

Problem
-------
A bound on the cost of any joint path along waypoints, as close to the cost of a known path as time allows.

Method
------
1. Some of the waypoints are layers. A step over several waypoints costs at least what its straight step costs (triangle
   inequality; for squares and the largest step with the weights that the best split gives), and is at most as large as all of
   its steps together.
2. The boxes of a layer hold all postures of its waypoint within the limits (:mod:`ssik_ros.paths.bounding.enclosures`). The
   cheapest sequence of boxes costs no more than any path (:mod:`ssik_ros.kernels.paths.boxes`).
3. For sums of steps any numbers |y| <= w for each step and joint give such a bound (duality). Good ones are the multipliers of
   the linear program in which the postures of a sequence move along their tangents.
4. A box through which no sequence is cheaper than the known path is dropped: a cheaper path does not visit it. The cells of all
   others are halved where that makes their boxes smallest, and 2 to 4 begin again.

The bound is the largest one met, at most the cost of the known path. Collisions are not looked at, so that a path around
obstacles may keep a gap.

References: Land and Doig 1960 (branch and bound); Shapiro 1979 (multipliers for shortest paths with side constraints).
"""

from collections.abc import Callable, Sequence
import math
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.paths import boxes as kernels
from ssik_ros.kernels.paths.layers import LARGEST_STEP, SUM_OF_SQUARES, SUM_OF_STEPS
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.paths.bounding.enclosures import make_nodes, Nodes
from ssik_ros.paths.bounding.wrist_arms import BoolArray, ParameterCells, WristArm
from ssik_ros.paths.control import import_library
from ssik_ros.paths.layered_search import StepLimits
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.paths.windings import TURN, unwind

FIRST_CELLS = {1: (512,), 2: (8, 64), 3: (4, 4, 16)}
"""Cells of each parameter at the beginning, by the number of parameters."""
FEWEST_LAYERS, MOST_LAYERS, ENOUGH = 6, 60, 0.97
"""Layers at least and at most, and how long the known path is with straight steps between them, as a part of its length."""
MOST_NODES = 400_000
"""Boxes at the same time: about 200 MB."""
CELLS_AT_ONCE = 200
"""Cells whose boxes are made between two looks at the clock: about 10 ms."""
PAIRS_AT_ONCE = 120_000
"""Pairs of boxes of one kernel call: at most about 10 ms."""
NARROW = 0.05
"""Half width up to which boxes are looked up by their centres [rad or m]."""
TRUST = 0.3
"""How far postures may move along their tangents in the linear program [rad or m]."""
CLOSE = 1e-3
"""Gap at which the search ends, as a part of the cost."""
MOST_ROUNDS = 60
FOCUS = 0.4
"""Boxes are halved up to this part of the way from the cheapest sequence's cost to that of the known path."""
LOOSE_ROUNDS = 2
"""Halvings of loose cells before the first round."""
NEAR = 0.9
"""Bound, as a part of the cost, from which on multipliers are tried: with large boxes they give nothing."""


class KnownPath(NamedTuple):
    """A path whose cost is to be compared."""

    q: FloatArray
    """(m, n) without jumps."""
    cost: float


class Bound(NamedTuple):
    """What a search proved."""

    value: float
    rounds: int


class RelaxedPaths:
    """Boxes of some layers of a tool path, halved again and again."""

    def __init__(
        self,
        arm: WristArm,
        limits: StepLimits,
        poses: FloatArray,
        known: KnownPath,
        is_over: Callable[[], bool],
    ) -> None:
        """
        Choose the layers and make the first boxes.

        :param arm: the arm.
        :param limits: the objective and the largest steps.
        :param poses: (m, 4, 4) waypoints.
        :param known: a path through them.
        :param is_over: tells whether time is up.
        """
        self._arm, self._known, self._is_over = arm, known, is_over
        self._rows = _layers(limits, known.q)
        self._limits = _joined(limits, self._rows)
        self._poses = poses[self._rows]
        own = arm.chain.chain
        bounded = np.flatnonzero((limits.turning == 0) & (own.kinds != JointKind.PRISMATIC))
        self._key = int(bounded[0]) if len(bounded) else 0
        self._nodes = self._made(self._first_cells(), None, None)
        self._tangents_at: FloatArray = known.q[self._rows]
        self.best = 0.0
        for _ in range(LOOSE_ROUNDS):
            if self._nodes is not None and len(self._nodes.q) < MOST_NODES / 4:
                self._nodes = self._halved(self._nodes, self._nodes.is_loose)

    def _first_cells(self) -> ParameterCells:
        """Return the cells of a grid over all parameters."""
        own, joints = self._arm.chain.chain, self._arm.parameters
        low, high = own.lower[joints].copy(), own.upper[joints].copy()
        wide = (high - low >= TURN) & (own.kinds[joints] != JointKind.PRISMATIC)
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
        self, cells: ParameterCells, parents: IntArray | None, is_alive: BoolArray | None
    ) -> Nodes | None:
        """Return the boxes of cells, of branches that were alive in their parents; None when time is up."""
        parts = []
        for begin in range(0, len(cells.layers), CELLS_AT_ONCE):
            if self._is_over():
                return None
            own = slice(begin, begin + CELLS_AT_ONCE)
            found = make_nodes(self._arm, cells.chosen(own), self._poses)
            if parents is not None and is_alive is not None:
                found = found.chosen(is_alive[parents[own][found.owners], found.labels])
            parts.append(found._replace(owners=found.owners + begin))
        nodes = _joined_nodes(parts)
        return self._sorted(nodes)

    def _sorted(self, nodes: Nodes) -> Nodes:
        """Return boxes layer by layer, each in the order of the key."""
        is_narrow = nodes.halves[:, self._key] <= NARROW
        return nodes.chosen(np.lexsort([nodes.q[:, self._key], is_narrow, nodes.cells.layers]))

    def run(self, rounds: int = MOST_ROUNDS) -> Bound:
        """
        Return the bound.

        :param rounds: how often boxes are halved at most.
        """
        for done in range(rounds):
            if self._nodes is None or not self._round():
                return Bound(self.best, done)
        return Bound(self.best, rounds)

    def _round(self) -> bool:
        """Improve the bound and halve the boxes that matter; return whether to go on."""
        nodes, cost = self._nodes, self._known.cost
        assert nodes is not None
        through = np.zeros(len(nodes.q))
        for slopes in self._slopes():
            total, own = self._through(nodes, slopes)
            through = np.maximum(through, own)
            self.best = max(self.best, min(cost, total))
            if self._is_over():
                return False
        kept = np.flatnonzero(through < cost)
        if self.best >= (1.0 - CLOSE) * cost or not len(kept):
            self.best = self.best if len(kept) else cost
            return False
        if len(kept) > MOST_NODES:
            return False
        nodes = nodes.chosen(kept)
        through = through[kept]
        least = float(through.min())
        self._nodes = self._halved(nodes, through <= least + FOCUS * (cost - least))
        return self._nodes is not None

    def _slopes(self) -> list[FloatArray]:
        """Return the numbers y (layers, n) to try: zero, and the multipliers at the known path and at the cheapest sequence."""
        zero = np.zeros_like(self._limits.weights)
        if self._limits.objective != SUM_OF_STEPS or self.best < NEAR * self._known.cost:
            return [zero]
        found = [zero, self._multipliers(self._known.q[self._rows])]
        if self._tangents_at is not None:
            found.append(self._multipliers(self._tangents_at))
        return found

    def _multipliers(self, q: FloatArray) -> FloatArray:
        """Return the multipliers (layers, n) of steps at a sequence of postures."""
        # SciPy's programs take long to import and only bounds with time need them.
        import_library('scipy.optimize', self._is_over)
        jacobians = self._arm.chain.jacobians(q)
        _, _, rows = np.linalg.svd(jacobians)
        tangents = np.swapaxes(rows[:, 6:], 1, 2)
        y = _solve_program(q, tangents, self._limits)
        is_travel = np.isinf(self._limits.largest).all(axis=1)
        y[np.ix_(is_travel, self._limits.turning != 0)] = 0.0
        return y

    def _through(self, nodes: Nodes, slopes: FloatArray) -> tuple[float, FloatArray]:
        """Return the least cost of a sequence, and that of one through each box (k,); zeros where time is up before."""
        limits, k = self._limits, len(nodes.q)
        own = _own_costs(nodes, slopes)
        starts = np.searchsorted(nodes.cells.layers, np.arange(len(self._rows) + 1)).astype(
            np.int64
        )
        is_narrow = nodes.halves[:, self._key] <= NARROW
        narrow = starts[:-1] + np.bincount(
            nodes.cells.layers[~is_narrow], minlength=len(self._rows)
        )
        found = self._connected((nodes.q, nodes.halves, starts, narrow, own), limits, slopes)
        if found is None:
            return 0.0, np.zeros(k)
        ahead, parents = found
        last = np.arange(starts[-2], starts[-1])
        if not len(last) or not np.isfinite(ahead[last]).any():
            return math.inf, np.full(k, math.inf)
        self._remember(nodes, parents, int(last[np.argmin(ahead[last])]))
        total = float(ahead[last].min())
        # The same backwards: layers in reverse and values negated, so that steps keep their signs.
        layers = nodes.cells.layers
        order = np.lexsort([-nodes.q[:, self._key], is_narrow, -layers])
        ends = k - starts[::-1]
        narrow = ends[:-1] + (narrow - starts[:-1])[::-1]
        turned = limits._replace(
            largest=_backwards(limits.largest), weights=_backwards(limits.weights)
        )
        rows = -nodes.q[order], nodes.halves[order], ends, narrow, own[order]
        found = self._connected(rows, turned, _backwards(slopes))
        if found is None:
            return total, np.zeros(k)
        back = np.empty(k)
        back[order] = found[0]
        if limits.objective == LARGEST_STEP:
            return total, np.maximum(ahead, back)
        return total, ahead + back - own

    def _connected(
        self, boxes: Sequence[Any], limits: StepLimits, slopes: FloatArray
    ) -> tuple[FloatArray, IntArray] | None:
        """
        Return what sequences to each box cost at least (k,), and the boxes before (k,); None when time is up.

        :param boxes: as the kernel takes them: q, halves, starts, narrow, own.
        :param limits: the objective, and the largest steps and weights (layers, n) to each layer.
        :param slopes: (layers, n).
        """
        q, halves, starts, narrow, own = boxes
        costs, parents = own.copy(), np.full(len(q), -1, dtype=np.int64)
        tail = (own, limits.turning, limits.largest, limits.weights, slopes, limits.objective)
        for layer in range(1, len(starts) - 1):
            begin, middle, end = starts[layer - 1 : layer + 2].tolist()
            count = max(1, PAIRS_AT_ONCE // max(1, middle - begin))
            for first in range(middle, end, count):
                if self._is_over():
                    return None
                last = min(end, first + count)
                kernels.connect_boxes(
                    *(costs, parents, q, halves, starts, narrow),
                    *(*tail, self._key, layer, first, last),
                )
        return costs, parents

    def _remember(self, nodes: Nodes, parents: IntArray, row: int) -> None:
        """Keep the centres of the cheapest sequence."""
        rows = [row]
        while parents[rows[-1]] >= 0:
            rows.append(int(parents[rows[-1]]))
        if len(rows) == len(self._rows):
            self._tangents_at = unwind(nodes.q[rows[::-1]], self._limits.turning)

    def _halved(self, nodes: Nodes, chosen: BoolArray) -> Nodes | None:
        """Return the boxes with those of the cells of chosen ones (k,) replaced by their halves'; None when time is up."""
        touched = np.isin(nodes.owners, nodes.owners[chosen])
        others, nodes = nodes.chosen(~touched), nodes.chosen(touched)
        cells, owners = _distinct(nodes)
        is_alive = np.zeros((len(cells.layers), 8), dtype=bool)
        is_alive[owners, nodes.labels] = True
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
        found = self._made(children, np.tile(rows, 2), is_alive)
        if found is None or not len(others.q):
            return found
        others = others._replace(owners=others.owners + len(children.layers))
        return self._sorted(_joined_nodes([others, found]))


def _layers(limits: StepLimits, q: FloatArray) -> IntArray:
    """Return few waypoints whose straight steps are nearly as long as a path: both ends, and those that add most, one by one."""
    places = q * limits.weights.mean(axis=0)
    travels = np.flatnonzero(limits.is_travel)
    spread = np.linspace(0, len(q) - 1, min(len(q), FEWEST_LAYERS)).astype(int)
    rows = np.unique(np.concatenate([spread, travels, travels + 1]))
    whole = float(np.abs(np.diff(places, axis=0)).sum())
    every = np.arange(len(q))
    while len(rows) < MOST_LAYERS:
        behind = np.minimum(np.searchsorted(rows, every, side='right'), len(rows) - 1)
        first, last = places[rows[behind - 1]], places[rows[behind]]
        gains = np.abs(places - first) + np.abs(last - places) - np.abs(last - first)
        length = float(np.abs(np.diff(places[rows], axis=0)).sum())
        best = int(np.argmax(gains.sum(axis=1)))
        if length >= ENOUGH * whole or gains[best].sum() <= 0.0:
            break
        rows = np.sort(np.append(rows, best))
    return rows


def _joined(limits: StepLimits, rows: IntArray) -> StepLimits:
    """Return the limits of steps from one layer to the next, and weights that cost no more than the steps between."""
    begins = rows[:-1] + 1
    largest = np.add.reduceat(limits.largest, begins)
    weights = limits.weights
    if limits.objective == SUM_OF_SQUARES or limits.objective == LARGEST_STEP:
        power = 2.0 if limits.objective == SUM_OF_SQUARES else 1.0
        with np.errstate(divide='ignore'):
            sums = np.add.reduceat(weights**-power, begins)
        own = sums ** (-1.0 / power)
    else:
        own = np.minimum.reduceat(weights, begins)
    return limits._replace(
        largest=np.vstack([limits.largest[:1], largest]), weights=np.vstack([weights[:1], own])
    )


def _joined_nodes(parts: list[Nodes]) -> Nodes:
    """Return several sets of boxes as one."""

    def column(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    cells = [part.cells for part in parts]
    joined = ParameterCells(
        np.concatenate([own.layers for own in cells]),
        np.concatenate([own.centers for own in cells]),
        np.concatenate([own.halves for own in cells]),
    )
    names = ('labels', 'q', 'halves', 'slopes', 'errors', 'is_loose')
    return Nodes(column('owners'), joined, *(column(name) for name in names))


def _own_costs(nodes: Nodes, slopes: FloatArray) -> FloatArray:
    """Return what the numbers y make each box cost by itself at least (k,)."""
    behind = np.vstack([slopes[1:], np.zeros_like(slopes[:1])])
    before = slopes.copy()
    before[0] = 0.0
    prices = (before - behind)[nodes.cells.layers]
    along = np.einsum('kn,knr->kr', prices, nodes.slopes)
    spread = (np.abs(along) * nodes.cells.halves).sum(axis=1)
    spread += (np.abs(prices) * nodes.errors).sum(axis=1)
    return np.asarray((prices * nodes.q).sum(axis=1) - spread)


def _backwards(rows: FloatArray) -> FloatArray:
    """Return rows of steps (m, n) for the layers in reverse."""
    return np.ascontiguousarray(np.vstack([rows[:1], rows[1:][::-1]]))


def _distinct(nodes: Nodes) -> tuple[ParameterCells, IntArray]:
    """Return the cells of boxes, each once, and the cell of each box."""
    _, first, owners = np.unique(nodes.owners, return_index=True, return_inverse=True)
    return nodes.cells.chosen(first), owners.ravel()


def _solve_program(q: FloatArray, tangents: FloatArray, limits: StepLimits) -> FloatArray:
    """Return multipliers (m, n) of the steps of postures that may move along their tangents."""
    from scipy.optimize import linprog
    from scipy.sparse import block_diag, csr_array, diags_array, hstack, vstack

    m, n, r = tangents.shape
    steps = np.diff(q, axis=0).ravel()
    moves = csr_array(block_diag(list(tangents)))
    ahead = moves[n:] - moves[:-n]
    ones = diags_array(np.ones(len(steps)))
    rows = vstack([hstack([ahead, -ones]), hstack([-ahead, -ones])])
    costs = np.concatenate([np.zeros(m * r), limits.weights[1:].ravel()])
    program: Any = linprog
    found = program(
        costs,
        A_ub=rows,
        b_ub=np.concatenate([-steps, steps]),
        bounds=[(-TRUST, TRUST)] * (m * r) + [(0.0, None)] * len(steps),
        method='highs',
    )
    y = np.zeros((m, n))
    if found.status == 0:
        duals = -found.ineqlin.marginals
        y[1:] = (duals[: len(steps)] - duals[len(steps) :]).reshape(m - 1, n)
    most = limits.weights.copy()
    return np.clip(y, -most, most)


def relaxed_bound(
    chain: ToolChain,
    limits: StepLimits,
    poses: FloatArray,
    known: KnownPath,
    is_over: Callable[[], bool],
    rounds: int = MOST_ROUNDS,
) -> Bound | None:
    """
    Return a lower bound on the cost of any joint path along exact poses; None for arms of other classes.

    :param chain, limits, poses: the joints, the objective and the largest steps, (m, 4, 4) waypoints.
    :param known: a path through them.
    :param is_over: tells whether time is up.
    :param rounds: how often boxes are halved at most.
    """
    arm = WristArm.of_chain(chain)
    if arm is None:
        return None
    return RelaxedPaths(arm, limits, poses, known, is_over).run(rounds)
