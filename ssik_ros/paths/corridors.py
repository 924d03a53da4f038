"""
Sequences of postures on grids of the free parameters: first coarse grids over everything, then finer ones around the best.

A corridor is a sequence with its parameters. A finer grid around it holds the corridor itself, so that the cost never rises.
"""

from collections.abc import Callable, Sequence
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.paths.layered_search import (
    Layers,
    make_layers,
    Piece,
    search_layers,
    StepLimits,
)
from ssik_ros.paths.obstacles import Obstacles
from ssik_ros.paths.reasons import explain, PathFailure
from ssik_ros.paths.search_space import SearchSpace
from ssik_ros.paths.windings import every_winding, unwind, wrap_steps

WIDEST_STEP = 1.0
"""Largest step over several waypoints at once, unless one may be as long [rad or m]."""
MOST_CORRIDORS = 3
"""Different sequences of the first grid that are refined."""
AVERSION = 0.5
"""What the rows near one of them cost the next one, as a part of its mean cost of a step."""
NEAR = 8.0
"""Distance of parameters, in those of the grid, up to which rows are near."""
BRANCH = 0.5
"""Difference of a joint from which on rows are no longer near [rad or m]."""
SHRINK = 0.4
"""Spacing of a finer grid in that of the one before."""
GAIN = 4e-3
"""Part of the cost that another grid of the same spacing has to save."""
SAME_BRANCH = 1.0
"""Difference of a joint from which on a posture is not looked at in a finer grid [rad or m]."""
MOST_ROUNDS = 40
MOST_REPAIRS = 40
"""Motions of one grid that collide and are led around."""


class Corridor(NamedTuple):
    """A sequence of postures with its parameters."""

    q: FloatArray
    """(m, n)."""
    parameters: FloatArray
    """(m, r)."""
    cost: float
    spacing: FloatArray
    """(r,) of the grid that it comes from."""
    first: int = 0
    """Waypoint of the first row."""


class CorridorSearch:
    """The grids of one path."""

    def __init__(
        self,
        space: SearchSpace,
        limits: StepLimits,
        poses: FloatArray,
        obstacles: tuple[Obstacles, Obstacles] | None,
        pause: Callable[[], None],
    ) -> None:
        """
        Keep what all grids share.

        :param space: the parameters.
        :param limits: what a step may be.
        :param poses: (m, 4, 4) waypoints.
        :param obstacles: for waypoints, and for the motions between them; None for no checks.
        :param pause: is called between steps of the search.
        """
        self.space, self.limits, self.poses = space, limits, poses
        self.obstacles, self.pause = obstacles, pause
        self.ends: tuple[FloatArray | None, FloatArray | None] = (None, None)
        """Given postures at the first and the last waypoint."""

    def first_grid(self, stride: int, density: int) -> tuple[list[Corridor], PathFailure | None]:
        """
        Return the best different sequences on the first grid; if there are none, the longest one and why.

        :param stride: waypoints from one layer to the next.
        :param density: see :meth:`SearchSpace.grid`.
        """
        last = len(self.poses) - 1
        waypoints = np.unique(np.append(np.arange(0, last + 1, stride), last))
        values = self.space.grid(len(waypoints), density)
        spacing = self.space.spacing / density
        layers, counts = self._layers(waypoints, values, float(stride))
        if self.obstacles is not None:
            for layer in range(layers.count):
                layers.check_quickly(layers.rows_of(layer), self.obstacles[0])
                self.pause()
        piece = self._search(layers, stride == 1)
        if len(piece.rows) == len(waypoints):
            pieces = self._different(layers, piece, spacing)
            return [self._corridor(layers, own, waypoints, spacing) for own in pieces], None
        checks = self.obstacles[0] if self.obstacles else None
        failure = explain(self.space.chain, layers, counts, waypoints, checks)
        longest = self._corridor(layers, piece, waypoints, spacing)
        return [longest] if stride == 1 else [], failure

    def refine(self, corridor: Corridor, finest: FloatArray) -> Corridor | None:
        """
        Return the best sequence near a corridor; None if none leads through.

        :param corridor: of all waypoints, or of some (then its parameters are interpolated by the caller).
        :param finest: (r,) spacing at which to stop.
        """
        spacing, best = corridor.spacing, corridor
        is_new = not math.isfinite(corridor.cost)
        for _ in range(MOST_ROUNDS):
            reach = self.space.offsets * (2 if is_new else 1)
            values = self.space.window(best.parameters, spacing, reach)
            every = np.arange(len(self.poses))
            layers, _ = self._layers(every, values, 1.0, None if is_new else best.q)
            piece = self._search(layers, True)
            if len(piece.rows) < len(self.poses):
                return None if is_new else best
            found = self._corridor(layers, piece, every, spacing)
            saved = best.cost - found.cost
            best, is_new = found, False
            if not saved > GAIN * found.cost:
                if (spacing <= finest).all():
                    break
                spacing = spacing * SHRINK
        return best

    def between(self, corridor: Corridor, stride: int) -> Corridor:
        """
        Return a corridor of some waypoints with parameters interpolated at the others, and no cost yet.

        :param corridor: from the first grid.
        :param stride: of that grid.
        """
        if stride == 1:
            return corridor
        last = len(self.poses) - 1
        known = np.unique(np.append(np.arange(0, last + 1, stride), last))
        own = corridor.parameters.copy()
        for p in np.flatnonzero(self.space.is_endless):
            own[:, p] = np.unwrap(own[:, p])
        every = np.arange(last + 1)
        between = [np.interp(every, known, own[:, p]) for p in range(self.space.size)]
        return Corridor(corridor.q, np.column_stack(between), math.inf, corridor.spacing)

    def _corridor(
        self, layers: Layers, piece: Piece, waypoints: IntArray, spacing: FloatArray
    ) -> Corridor:
        """Return a piece as a corridor."""
        first = int(waypoints[piece.first]) if len(piece.rows) else 0
        return Corridor(
            layers.q[piece.rows], layers.parameters[piece.rows], piece.cost, spacing, first
        )

    def _different(self, layers: Layers, best: Piece, spacing: FloatArray) -> list[Piece]:
        """Return the best piece and others, each the cheapest where all rows near those before it cost more."""
        if not self.space.size:
            return [best]
        pieces, before = [best], layers.own.copy()
        extra = AVERSION * best.cost / layers.count
        for _ in range(MOST_CORRIDORS - 1):
            layers.own[self._rows_near(layers, pieces[-1], spacing)] += extra
            piece = search_layers(
                layers, self.obstacles[0] if self.obstacles else None, self.pause
            )
            if len(piece.rows) < layers.count:
                break
            pieces.append(piece)
        finite = np.isfinite(layers.own)
        layers.own[finite] = before[finite]
        return pieces

    def _rows_near(self, layers: Layers, piece: Piece, spacing: FloatArray) -> IntArray:
        """Return the rows that have nearly the parameters, and the branch, of a piece in their layer."""
        of_row = piece.rows[layers.layer_of(np.arange(len(layers.q)))]
        away = layers.parameters - layers.parameters[of_row]
        turn = np.round(away / (2.0 * math.pi)) * (2.0 * math.pi)
        away = np.abs(np.where(self.space.is_endless, away - turn, away))
        steps = np.abs(wrap_steps(layers.q - layers.q[of_row], layers.limits.turning))
        near = (away < NEAR * spacing).all(axis=1) & (steps < BRANCH).all(axis=1)
        return np.flatnonzero(near)

    def _layers(
        self,
        waypoints: IntArray,
        values: Sequence[FloatArray],
        scale: float,
        near: FloatArray | None = None,
    ) -> tuple[Layers, IntArray]:
        """Return the postures on a grid as layers, only those near given ones (m, n), and what was counted for each."""
        found, parameters = self.space.postures(self.poses[waypoints], values)
        q, owners = found.q, found.owners
        if near is not None:
            away = np.abs(wrap_steps(q - near[owners], self.limits.turning))
            kept = np.flatnonzero((away < SAME_BRANCH).all(axis=1))
            q, owners, parameters = q[kept], owners[kept], parameters[kept]
        for layer, posture in zip((0, len(waypoints) - 1), self.ends, strict=True):
            if posture is not None:
                kept = owners != layer
                own = self.space.parameters_of(posture, self.poses[waypoints[layer]])
                q, owners = np.vstack([q[kept], posture]), np.append(owners[kept], layer)
                parameters = np.vstack([parameters[kept], own])
        chain = self.space.chain.chain
        for joint in self.space.chain.wound:
            q, origin = every_winding(q, joint, chain.lower[joint], chain.upper[joint])
            owners, parameters = owners[origin], parameters[origin]
        own = self.limits.largest
        limits = self.limits._replace(
            largest=np.minimum(scale * own, np.maximum(own, WIDEST_STEP))
        )
        return make_layers(q, owners, parameters, len(waypoints), limits), found.counts

    def _search(self, layers: Layers, are_motions_checked: bool) -> Piece:
        """Return the best piece, whose motions collide nowhere either."""
        checks = self.obstacles[0] if self.obstacles else None
        for _ in range(MOST_REPAIRS):
            piece = search_layers(layers, checks, self.pause)
            if self.obstacles is None or not are_motions_checked or len(piece.rows) < 2:
                return piece
            q = unwind(layers.q[piece.rows], layers.limits.turning)
            reached, _ = self.obstacles[1].follow(q)
            blocked = np.flatnonzero(reached < 1.0)
            if not len(blocked):
                return piece
            # Half of the motion or less: the row before is the nearer one to the collision.
            early = reached[blocked] < 0.5
            layers.forbid(piece.rows[np.where(early, blocked, blocked + 1)])
        return piece._replace(rows=piece.rows[: int(blocked[0]) + 1])
