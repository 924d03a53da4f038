"""
Layers of exact postures, one for each of some or all waypoints, and the cheapest collision-free sequence through them.

A row is one posture of a layer. A piece is a sequence of rows from consecutive layers.
"""

from collections.abc import Callable
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.paths import clearance, layers as kernels
from ssik_ros.kernels.paths.layers import SUM_OF_SQUARES
from ssik_ros.paths.collisions.obstacles import Obstacles
from ssik_ros.paths.steps import StepLimits
from ssik_ros.paths.windings import wrap_steps
from ssik_ros.value_class import dataclass

ROWS_AT_ONCE = 4000
"""Rows of one kernel call, about, so that a cancelled plan ends soon."""
ASKED = 4
"""Rows near a refused one that the caller is asked about too; twice as many after each further one of the layer."""
CHECKED_LAYERS_SHARE = 0.03
"""Part of all layers around one with a collision whose postures are checked at the same time."""


class Piece(NamedTuple):
    """A sequence of rows (postures), one of each of several consecutive layers, with its cost."""

    rows: IntArray
    """Indices of the rows in :class:`Layers`, one for each layer of the sequence."""
    first: int
    """Layer of the first row."""
    cost: float
    """Objective of the steps, plus the costs of the rows; infinite without rows."""


@dataclass(eq=False)
class Layers:
    """
    The k postures of m layers in one table, for the search of the cheapest sequence through all layers.

    A row is a posture. The rows of a layer are consecutive, and ascend in the joint ``key``.
    """

    q: FloatArray
    """(k, n) [rad or m]; angles of joints with ``limits.turning`` are in [-pi, pi)."""
    parameters: FloatArray
    """(k, r) values of the free parameters of each posture [rad or m]."""
    starts: IntArray
    """(m + 1,) first row of each layer, then k."""
    row_costs: FloatArray
    """(k,) cost of each row; infinite for rows that must not be taken."""
    key: int
    """Index of the joint in whose values the rows of a layer ascend."""
    limits: StepLimits
    """Largest steps between layers, and the objective."""
    is_checked: 'np.ndarray[tuple[int], np.dtype[np.bool_]]'
    """(k,) whether it is known if a row collides."""
    is_doubtful: 'np.ndarray[tuple[int], np.dtype[np.bool_]]'
    """(k,) whether the kernels could not decide if a row collides."""
    culprits: IntArray
    """(k,) index of the pair of bodies that collides, -1 if the row is free or not checked yet."""
    lengths: IntArray
    """(k,) number of layers of the best piece (sequence over consecutive layers) that ends at a row."""
    costs: FloatArray
    """(k,) cost of this piece."""
    parents: IntArray
    """(k,) row before the row in this piece, -1 at its beginning."""
    is_asked: 'np.ndarray[tuple[int], np.dtype[np.bool_]]'
    """(k,) whether the caller has been asked about a row."""
    refusals: IntArray
    """(m,) number of refused rows of each layer, without those asked about because a neighbour was refused."""
    doubt: float = 0.0
    """Extra cost of rows that may collide."""

    @property
    def count(self) -> int:
        """Return the number of layers."""
        return len(self.starts) - 1

    def rows_of(self, layer: int) -> IntArray:
        """
        Return the indices of the rows (postures) of a layer, ascending.

        :param layer: index of the layer.
        """
        return np.arange(self.starts[layer], self.starts[layer + 1])

    def layer_of(self, rows: IntArray) -> IntArray:
        """
        Return the index (m,) of the layer of each row.

        :param rows: (m,) indices of rows.
        """
        return np.searchsorted(self.starts, rows, side='right') - 1

    def connect(self, pause: Callable[[], None], begin: int = 0) -> None:
        """
        Find, for each row (posture), the best sequence of rows from consecutive layers that ends at it.

        The longest one is best, and among equally long ones the cheapest. ``costs`` and ``lengths`` get its cost and
        number of rows, ``parents`` the row before; -1 for a sequence of one row.

        :param pause: called after each block of layers; it raises an exception to stop.
        :param begin: the first layer in which something has changed; results of earlier layers stay.
        """
        at_once = max(1, ROWS_AT_ONCE * self.count // max(1, len(self.q)))
        for first in range(begin, self.count, at_once):
            kernels.connect(
                self.costs,
                self.lengths,
                self.parents,
                self.q,
                self.starts,
                self.row_costs,
                *self.limits,
                self.key,
                first,
                min(self.count, first + at_once),
            )
            pause()

    def piece_to(self, row: int) -> Piece:
        """
        Return the best sequence of rows (postures) that ends at a row, by the results of the last :meth:`connect`.

        :param row: index of the row.
        """
        rows = [row]
        while self.parents[rows[-1]] >= 0:
            rows.append(int(self.parents[rows[-1]]))
        last = int(self.layer_of(np.array([row]))[0])
        backwards = np.array(rows[::-1], dtype=np.int64)
        return Piece(backwards, last - len(rows) + 1, float(self.costs[row]))

    def best_piece(self) -> Piece:
        """
        Return the longest sequence of rows from consecutive layers; of equally long ones, the cheapest.

        Without usable rows, return an empty one.
        """
        if not len(self.q) or not self.lengths.any():
            return Piece(np.zeros(0, dtype=np.int64), 0, math.inf)
        longest = np.flatnonzero(self.lengths == self.lengths.max())
        return self.piece_to(int(longest[np.argmin(self.costs[longest])]))

    def first_broken(self) -> int:
        """
        Return the index of the first layer (waypoint) that no sequence of rows from layer 0 reaches.

        It is the number of layers if all are reached.
        """
        for layer in range(self.count):
            if not (self.lengths[self.rows_of(layer)] == layer + 1).any():
                return layer
        return self.count

    def forbid(self, rows: IntArray) -> None:
        """
        Make the cost of some rows (postures) infinite, so that no sequence takes them.

        :param rows: (m,) indices of rows.
        """
        self.row_costs[rows] = math.inf

    def check(self, rows: IntArray, obstacles: Obstacles) -> int:
        """
        Check rows (postures) for collisions, forbid colliding ones, and return how many of the new rows collide.

        The collision library decides where the kernels cannot. Checked rows lose the extra cost that
        :meth:`prefer_sure_rows` has added.

        :param rows: (m,) indices of rows; rows that were checked before are skipped and do not count.
        :param obstacles: the collision checks.
        """
        rows = rows[~self.is_checked[rows]]
        judged = obstacles.check(self.q[rows])
        hits = judged.are_hits
        self.is_checked[rows] = True
        self.culprits[rows[hits]] = judged.pairs[hits]
        self.row_costs[rows[self.is_doubtful[rows]]] -= self.doubt
        self.is_doubtful[rows] = False
        self.forbid(rows[hits])
        return int(hits.sum())

    def ask(
        self, rows: IntArray, accepts: Callable[[FloatArray], bool], pause: Callable[[], None]
    ) -> int:
        """
        Ask the caller's filter about rows, and forbid the rows that it refuses.

        After a refusal, the nearest rows of the same layer are asked about too, more of them after each further
        refusal.

        :param rows: (m,) indices of rows; rows asked about before are skipped.
        :param accepts: the filter: returns whether the path may use a posture (n,).
        :param pause: called between rows; it raises an exception to stop.
        :returns: number of refused rows among ``rows``; their neighbours do not count.
        """
        refused = 0
        for row in rows[~self.is_asked[rows]].tolist():
            layer = int(self.layer_of(np.array([row]))[0])
            if self._ask(row, accepts):
                continue
            refused += 1
            self.refusals[layer] += 1
            others = self.rows_of(layer)
            others = others[~self.is_asked[others] & np.isfinite(self.row_costs[others])]
            distances = np.abs(self.q[others] - self.q[row]).max(axis=1, initial=0.0)
            count = ASKED << min(int(self.refusals[layer]), 20)
            for other in others[np.argsort(distances, kind='stable')[:count]].tolist():
                pause()
                self._ask(other, accepts)
            pause()
        return refused

    def _ask(self, row: int, accepts: Callable[[FloatArray], bool]) -> bool:
        """Mark one row as asked, forbid it if the filter of the caller refuses it, and return whether it passes."""
        self.is_asked[row] = True
        is_accepted = accepts(self.q[row])
        if not is_accepted:
            self.row_costs[row] = math.inf
        return is_accepted

    def prefer_sure_rows(self, doubt: float) -> None:
        """
        Add an extra cost to doubtful rows, for which the kernels could not decide whether they collide.

        Most doubtful rows do collide. :meth:`check` takes the extra cost off again.

        :param doubt: the extra cost is the cost of a joint step of this size [rad or m].
        """
        weight = doubt * float(self.limits.weights.mean())
        self.doubt = weight**2 if self.limits.objective == SUM_OF_SQUARES else weight
        self.row_costs[self.is_doubtful] += self.doubt

    def check_quickly(self, rows: IntArray, obstacles: Obstacles) -> None:
        """
        Check rows for collisions by the kernels only: forbid the colliding rows, and mark undecided rows as doubtful.

        :param rows: (m,) indices of rows; rows that were checked before are skipped.
        :param obstacles: the collision checks.
        """
        rows = rows[~(self.is_checked[rows] | self.is_doubtful[rows])]
        judged = obstacles.judge(self.q[rows])
        self.is_doubtful[rows] = judged.verdicts == clearance.DOUBTFUL
        self.is_checked[rows] = judged.verdicts != clearance.DOUBTFUL
        collides = judged.verdicts == clearance.COLLIDES
        self.culprits[rows[collides]] = judged.pairs[collides]
        self.forbid(rows[collides])


def make_layers(
    q: FloatArray,
    owners: IntArray,
    parameters: FloatArray,
    count: int,
    limits: StepLimits,
    row_costs: FloatArray | None = None,
) -> Layers:
    """
    Return postures as :class:`Layers`, sorted by layer, then by the joint whose values spread most.

    Nothing is connected yet: call :meth:`Layers.connect` next.

    :param q: (k, n) postures.
    :param owners: (k,) index of the layer of each posture.
    :param parameters: (k, r) free parameters of each posture.
    :param count: number of layers.
    :param limits: largest steps and objective.
    :param row_costs: (k,) cost of using each posture; None for zeros.
    """
    q = wrap_steps(q, limits.turning)
    key = _best_key(q, limits)
    order = np.lexsort((q[:, key], owners))
    starts = np.searchsorted(owners[order], np.arange(count + 1)).astype(np.int64)
    k = len(q)
    return Layers(
        q=np.ascontiguousarray(q[order]),
        parameters=parameters[order],
        starts=starts,
        row_costs=np.zeros(k) if row_costs is None else row_costs[order],
        key=key,
        limits=limits,
        is_checked=np.zeros(k, dtype=bool),
        is_doubtful=np.zeros(k, dtype=bool),
        is_asked=np.zeros(k, dtype=bool),
        refusals=np.zeros(count, dtype=np.int64),
        culprits=np.full(k, -1, dtype=np.int64),
        lengths=np.zeros(k, dtype=np.int64),
        costs=np.full(k, math.inf),
        parents=np.full(k, -1, dtype=np.int64),
    )


def _best_key(q: FloatArray, limits: StepLimits) -> int:
    """
    Return the index of the joint to sort rows by: the one with the largest ratio of standard deviation to step limit.

    The deviation is of all rows. The step limit is the largest finite one of all layers; a joint without such a limit
    comes first, unless its values are all equal.

    :param q: (k, n) postures, the rows.
    """
    spread = q.std(axis=0) if len(q) else np.ones(q.shape[1])
    largest = np.where(np.isfinite(limits.largest[1:]), limits.largest[1:], 0.0).max(axis=0)
    return int(np.argmax(spread / np.maximum(largest, 1e-12)))


def search_layers(layers: Layers, obstacles: Obstacles | None, pause: Callable[[], None]) -> Piece:
    """
    Return the longest sequence of postures from consecutive layers that do not collide; of several, the cheapest.

    Only postures of the best sequence so far are checked, and postures of layers near a collision. Colliding postures
    are forbidden. Motions between postures are not checked.

    :param layers: the postures.
    :param obstacles: the collision checks; None for no checks.
    :param pause: called between steps of the search; it raises an exception to stop.
    """
    reach, changed = max(1, round(CHECKED_LAYERS_SHARE * layers.count)), 0
    while True:
        layers.connect(pause, changed)
        piece = layers.best_piece()
        if obstacles is None or not len(piece.rows):
            return piece
        hits = layers.check(piece.rows, obstacles)
        pause()
        if hits == 0:
            return piece
        bad = np.unique(layers.layer_of(piece.rows[np.isinf(layers.row_costs[piece.rows])]))
        near = np.unique((bad[:, None] + np.arange(-reach, reach + 1)).ravel())
        near = near[(near >= 0) & (near < layers.count)]
        changed = int(near[0])
        for layer in near:
            layers.check_quickly(layers.rows_of(int(layer)), obstacles)
            pause()
