"""
Sequences of postures on grids of the free parameters: first coarse grids over everything, then finer ones around the best.

A corridor is a sequence with its parameters. A finer grid around it holds the corridor itself, so that the cost never rises.
"""

from collections.abc import Callable, Sequence
import functools
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray, wrap_angles
from ssik_ros.kernels.paths.layers import LARGEST_STEP, SUM_OF_POWERS
from ssik_ros.paths.control import PlanControl
from ssik_ros.paths.layered_search import (
    Layers,
    make_layers,
    Piece,
    search_layers,
    StepLimits,
)
from ssik_ros.paths.newton_steps import Corridor, newton_steps
from ssik_ros.paths.obstacles import Obstacles
from ssik_ros.paths.penalties import PostureCosts
from ssik_ros.paths.reasons import explain, PathFailure
from ssik_ros.paths.search_space import Samples, SearchSpace
from ssik_ros.paths.windings import every_winding, unwind, wrap_steps

WIDEST_STEP = 1.0
"""Largest step over several waypoints at once, unless one may be as long [rad or m]."""
WIDEST_SPREAD = 1.5
"""Largest step that is spread over its neighbours [rad or m]."""
EASED = 0.1
"""Step that the first grid may have, if its limit is smaller; twice the limit otherwise [rad or m]."""
LEAST_ROUND_GAIN = 1e-4
"""Part of the largest step that another round has to save while it is too large."""
MOST_CORRIDORS = 3
"""Different sequences of the first grid that are refined."""
AVERSION = 0.5
"""Cost of the rows near a chosen corridor for the next one, as a part of the mean cost of a step."""
DOUBT = 0.5
"""Joint step that a row may cost more when it is sure not to collide [rad or m]."""
NEIGHBOUR_SPACINGS = 8.0
"""Distance of the parameters of neighbours, in spacings of the grid."""
BRANCH = 0.5
"""Difference of a joint above which rows are not near [rad or m]."""
FINER_SPACING = 0.4
"""Spacing of a finer grid as a part of the spacing before."""
GAIN = 4e-3
"""Part of the cost that another grid of the same spacing has to save."""
SAME_BRANCH = 1.0
"""Difference of a joint above which a finer grid leaves a posture out [rad or m]."""
MOST_ROUNDS = 40
MOST_STEPS = 12
LONGEST_GAUSS_NEWTON_STEP = 4.0
"""Longest Gauss-Newton step, in the first grid's spacing."""
HARDER = 0.4
"""Factor by which each Gauss-Newton step lowers the joint step that counts as small."""
MOST_REPAIRS = 40
"""Motions of one grid that collide and are led around."""


class Checks(NamedTuple):
    """Collision checks, penalties and the caller's filter for postures."""

    obstacles: tuple[Obstacles, Obstacles] | None
    """For waypoints, and for the motions between them; None for no checks."""
    costs: PostureCosts
    """Penalties."""
    accepts: Callable[[FloatArray], bool] | None = None
    """Tells of a posture (n,) whether the caller wants it; None for any."""


class CorridorSearch:
    """Searches sequences of postures for one path on grids of the free parameters."""

    def __init__(
        self,
        space: SearchSpace,
        limits: StepLimits,
        poses: FloatArray,
        checks: Checks,
        control: PlanControl,
    ) -> None:
        """
        Store the settings that all grids share.

        :param space: the parameters.
        :param limits: largest steps and objective.
        :param poses: (m, 4, 4) waypoints.
        :param checks: collision checks, penalties and the caller's filter.
        :param control: ends the search in time.
        """
        self.space, self.limits, self.poses = space, limits, poses
        self.obstacles, self._costs, self._accepts = checks
        self._control, self.pause = control, control.pause
        self.rows: IntArray = np.arange(len(poses))
        """The waypoints that corridors are refined on."""
        self.ends: tuple[FloatArray | None, FloatArray | None] = (None, None)
        """Given postures at the first and the last waypoint."""
        self.shut_in: Sequence[tuple[int, FloatArray]] = ()
        """Waypoints with a posture (n,) that no free travel joins to the other pass; postures near them are skipped."""
        self._is_level = False
        """Whether the largest step counts, and nothing else."""

    def thin_out(self, most: int) -> None:
        """
        Refine corridors on about ``most`` waypoints from now on; motions are only checked when all waypoints are used.

        :param most: number of waypoints to use, about; all are used if there are fewer.
        """
        self.rows = self._every_nth(max(1, len(self.poses) // most))

    def _every_nth(self, stride: int) -> IntArray:
        """Return the indices of every n-th waypoint, with both ends of each pass."""
        count, travels = len(self.poses), np.flatnonzero(self.limits.is_travel)
        some = (np.arange(0, count, stride), np.array([count - 1]), travels, travels + 1)
        return np.unique(np.concatenate(some))

    @property
    def is_whole(self) -> bool:
        """Return whether corridors are refined on all waypoints."""
        return len(self.rows) == len(self.poses)

    def first_grid(self, stride: int, density: int) -> tuple[list[Corridor], PathFailure | None]:
        """
        Return the best different corridors on the first grid, and None; or the failure if none leads through.

        With the failure, the list holds the longest part of a corridor if the stride is 1, and is empty otherwise.

        :param stride: waypoints from one layer to the next.
        :param density: see :meth:`SearchSpace.grid`.
        """
        waypoints = self._every_nth(stride)
        samples = self.space.grid(waypoints, density)
        spacing = self.space.spacing / density
        layers, counts = self._layers(waypoints, samples, is_rough=self.space.is_scattered)
        if self.obstacles is not None:
            for layer in range(layers.count):
                layers.check_quickly(layers.rows_of(layer), self.obstacles[0])
                self.pause(int(waypoints[layer]))
            layers.prefer_sure_rows(DOUBT)
        piece = self._search(layers, stride == 1)
        if len(piece.rows) == len(waypoints):
            pieces = self._different(layers, piece, spacing)
            return [self._corridor(layers, own, waypoints, spacing) for own in pieces], None
        checks = self.obstacles[0] if self.obstacles else None
        self.pause()
        reached = len(piece.rows)
        failure = explain(self.space, self.poses, layers, counts, waypoints, checks, reached)
        if stride > 1 or not len(piece.rows):
            return [], failure
        # Rough steps may be larger than they may be in the end.
        steps = np.abs(wrap_steps(np.diff(layers.q[piece.rows], axis=0), layers.limits.turning))
        own = self.limits.largest[piece.first + 1 : piece.first + len(piece.rows)]
        wide = np.flatnonzero((steps > own).any(axis=1))
        if len(wide):
            piece = piece._replace(rows=piece.rows[: int(wide[0]) + 1])
        return [self._corridor(layers, piece, waypoints, spacing)], failure

    def spare_nothing(self) -> bool:
        """Drop the extra distance that waypoints keep from obstacles; return False if collisions are not checked."""
        if self.obstacles is None:
            return False
        self.obstacles = self.obstacles[1], self.obstacles[1]
        return True

    def first_grid_of_larger_steps(self, density: int) -> list[Corridor]:
        """
        Return the corridor with the smallest steps on the first grid, in a list; the steps may exceed their limits.

        The list is empty if no corridor leads through all waypoints.

        The step between neighbouring values of a grid may exceed its limit, or no step between two values of the grid
        may be nearly as large as its limit.

        :param density: see :meth:`SearchSpace.grid`.
        """
        waypoints, own = np.arange(len(self.poses)), self.limits
        self.limits, self._is_level = own.levelled(EASED), True
        try:
            layers, _ = self._layers(waypoints, self.space.grid(waypoints, density))
            piece = self._search(layers, True)
        finally:
            self.limits, self._is_level = own, False
        if len(piece.rows) < len(waypoints):
            return []
        found = self._corridor(layers, piece, waypoints, self.space.spacing / density)
        return [found._replace(cost=math.inf)]

    def refine(self, corridor: Corridor, finest: FloatArray) -> Corridor | None:
        """
        Return the best sequence near a corridor; None if none leads through.

        :param corridor: on any waypoints.
        :param finest: (r,) spacing at which to stop.
        """
        corridor = self._between(corridor)
        spacing, best = corridor.spacing, corridor
        if not math.isfinite(corridor.cost):
            found = self._around(corridor, spacing, self.space.offsets)
            found = found or self._around(
                corridor._replace(q=corridor.q[:0]), spacing, 2 * self.space.offsets
            )
            found = found or self._spread(corridor)
            if found is None:
                return None
            best = found
        if not self.space.size:
            return best
        best = self._descend(best)
        for _ in range(MOST_ROUNDS):
            found = self._around(best, spacing, self.space.offsets) or best
            saved, best = best.cost - found.cost, found
            if self.is_whole:
                self._control.found(best.cost)
            if not saved > GAIN * found.cost:
                if (spacing <= finest).all():
                    break
                spacing = spacing * FINER_SPACING
                best = self._descend(best)
        return best

    def _around(self, best: Corridor, spacing: FloatArray, reach: int) -> Corridor | None:
        """Return the best sequence on a grid of ``reach`` values to each side; None as in :meth:`_sequence`."""
        samples = self.space.window(self.rows, best.parameters, spacing, reach)
        return self._sequence(samples, best, spacing)

    def _spread(self, corridor: Corridor) -> Corridor | None:
        """Spread too large steps of a corridor over their neighbours and return it; None if one stays too large."""
        own = self.limits
        self.limits = own.relaxed(WIDEST_SPREAD)
        try:
            found = self._around(corridor, corridor.spacing, self.space.offsets)
            found = None if found is None else self._descend(found)
        finally:
            self.limits = own
        if found is None:
            return None
        samples = self.space.window(self.rows, found.parameters, found.spacing, 0)
        found = found._replace(cost=math.inf)
        return self._sequence(samples, found, found.spacing) or self._level(found)

    def _level(self, corridor: Corridor) -> Corridor | None:
        """Make the largest steps smaller until all are within their limits; return the corridor, or None on failure."""
        own, best = self.limits, corridor
        eased = own.levelled(WIDEST_SPREAD)
        self._is_level = True
        try:
            for objective in (SUM_OF_POWERS, LARGEST_STEP):
                self.limits, best = (
                    eased._replace(objective=objective),
                    best._replace(cost=math.inf),
                )
                for _ in range(MOST_ROUNDS):
                    samples = self.space.fan(self.rows, best.parameters, corridor.spacing)
                    found = self._sequence(samples, best, corridor.spacing) or best
                    saved, best = best.cost - found.cost, found
                    if not saved > LEAST_ROUND_GAIN * found.cost or self._keeps(best, own):
                        break
                if self._keeps(best, own):
                    break
        finally:
            self.limits, self._is_level = own, False
        samples = self.space.window(self.rows, best.parameters, corridor.spacing, 0)
        return self._sequence(samples, best._replace(cost=math.inf), corridor.spacing)

    def _keeps(self, corridor: Corridor, limits: StepLimits) -> bool:
        """Return whether the steps of a corridor are within ``limits``."""
        own = limits.between(self.rows, WIDEST_STEP)
        steps = np.abs(wrap_steps(np.diff(corridor.q, axis=0), own.turning))
        return bool((steps <= own.largest[1:]).all())

    def _descend(self, best: Corridor) -> Corridor:
        """Return a corridor after Gauss-Newton steps, until they save little; each waypoint takes part of a step."""
        softness = float(np.abs(np.diff(best.q, axis=0)).mean()) + 1e-9
        limits, poses = self.limits.between(self.rows, WIDEST_STEP), self.poses[self.rows]
        for _ in range(MOST_STEPS):
            steps = newton_steps(self.space, limits, poses, best, softness)
            reach = LONGEST_GAUSS_NEWTON_STEP * self.space.spacing
            samples = self.space.line(self.rows, best.parameters, np.clip(steps, -reach, reach))
            found = self._sequence(samples, best, best.spacing) or best
            saved, best = best.cost - found.cost, found
            if not saved > GAIN * found.cost:
                break
            softness *= HARDER
        return best

    def _sequence(self, samples: Samples, best: Corridor, spacing: FloatArray) -> Corridor | None:
        """Return the best sequence of samples near a corridor; None if none leads through or all cost more."""
        near = best.q if len(best.q) else None
        layers, _ = self._layers(self.rows, samples, near)
        piece = self._search(layers, self.is_whole)
        if len(piece.rows) < len(self.rows) or piece.cost > best.cost:
            return None
        return self._corridor(layers, piece, self.rows, spacing)

    def _between(self, corridor: Corridor) -> Corridor:
        """Return a corridor on the waypoints ``rows``; its cost is infinite after interpolation or a scattered grid."""
        known = corridor.rows
        if len(known) == len(self.rows):
            is_rough = self.space.is_scattered
            return corridor._replace(cost=math.inf) if is_rough else corridor
        own = corridor.parameters.copy()
        for p in np.flatnonzero(self.space.is_endless):
            own[:, p] = np.unwrap(own[:, p])
        q = unwind(corridor.q, self.limits.turning)
        parameters, q = (
            np.stack([np.interp(self.rows, known, column) for column in values.T], axis=1)
            if values.shape[1]
            else np.zeros((len(self.rows), 0))
            for values in (own, q)
        )
        return Corridor(q, parameters, math.inf, corridor.spacing, self.rows)

    def _corridor(
        self, layers: Layers, piece: Piece, waypoints: IntArray, spacing: FloatArray
    ) -> Corridor:
        """Return a piece of layers as a corridor; ``waypoints`` are the indices of the layers' waypoints."""
        own = waypoints[piece.first : piece.first + len(piece.rows)]
        return Corridor(
            layers.q[piece.rows], layers.parameters[piece.rows], piece.cost, spacing, own
        )

    def _different(self, layers: Layers, best: Piece, spacing: FloatArray) -> list[Piece]:
        """Return ``best`` and up to two other full pieces; each search makes rows near earlier pieces cost more."""
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
        """Return the rows whose parameters and joints are near the row of the piece in the same layer."""
        of_row = piece.rows[layers.layer_of(np.arange(len(layers.q)))]
        away = layers.parameters - layers.parameters[of_row]
        away = np.abs(np.where(self.space.is_endless, wrap_angles(away), away))
        steps = np.abs(wrap_steps(layers.q - layers.q[of_row], layers.limits.turning))
        near = (away < NEIGHBOUR_SPACINGS * spacing).all(axis=1) & (steps < BRANCH).all(axis=1)
        return np.flatnonzero(near)

    def _layers(
        self,
        waypoints: IntArray,
        samples: Samples,
        near: FloatArray | None = None,
        is_rough: bool = False,
    ) -> tuple[Layers, IntArray]:
        """
        Return the postures of samples as layers, and the counts (m, 3) of branches at each waypoint.

        The counts are: branches, how many of them are outside the limits, and whether more may exist. A given posture
        at an end replaces all others there. Postures near a posture of ``shut_in`` are forbidden.

        :param waypoints: index of the waypoint of each layer.
        :param samples: values of the parameters.
        :param near: (m, n) postures; others that are far from them are left out. None keeps all postures.
        :param is_rough: whether steps may be as large as the coarse grid needs.
        """
        keep = None if near is None else functools.partial(self._is_near, near)
        found, parameters = self.space.postures(waypoints, self.poses[waypoints], samples, keep)
        q, owners = found.q, found.owners
        chain = self.space.chain.chain
        for joint in self.space.chain.wound:
            q, origin = every_winding(q, joint, chain.lower[joint], chain.upper[joint])
            owners, parameters = owners[origin], parameters[origin]
        for layer, posture in zip((0, len(waypoints) - 1), self.ends, strict=True):
            if posture is not None:
                kept = owners != layer
                waypoint = int(waypoints[layer])
                own = self.space.parameters_of(posture, waypoint, self.poses[waypoint])
                q, owners = np.vstack([q[kept], posture]), np.append(owners[kept], layer)
                parameters = np.vstack([parameters[kept], own])
        limits = self.limits.between(waypoints, WIDEST_STEP)
        if is_rough:
            limits = limits._replace(largest=np.maximum(limits.largest, WIDEST_SPREAD))
        layers = make_layers(
            q, owners, parameters, len(waypoints), limits, self._own_costs(q, len(waypoints))
        )
        for waypoint, posture in self.shut_in:
            for at in np.flatnonzero(waypoints == waypoint).tolist():
                rows = layers.rows_of(at)
                away = np.abs(wrap_steps(layers.q[rows] - posture, limits.turning))
                layers.forbid(rows[(away < BRANCH).all(axis=1)])
        return layers, found.counts

    def _is_near(self, near: FloatArray, q: FloatArray, owners: IntArray) -> FloatArray:
        """Return a mask (k,) of postures (k, n) whose joints differ little from ``near`` (m, n) at their layer."""
        away = np.abs(wrap_steps(q - near[owners], self.limits.turning))
        return np.asarray((away < SAME_BRANCH).all(axis=1))

    def _own_costs(self, q: FloatArray, layers: int) -> FloatArray | None:
        """Return the part (k,) of the path's cost that is the penalty of each posture; None without penalties."""
        if self._is_level or not self._costs.is_used:
            return None
        return self._costs.values(q) / (1 if self.limits.objective == LARGEST_STEP else layers)

    def _search(self, layers: Layers, are_motions_checked: bool) -> Piece:
        """
        Return the best piece without collisions, also of its motions if these are checked.

        Rows next to colliding motions are forbidden. If motions still collide after MOST_REPAIRS searches, the piece is
        cut before the first of them.
        """
        checks = self.obstacles[0] if self.obstacles else None
        for _ in range(MOST_REPAIRS):
            piece = self._accepted_piece(layers, checks)
            if self.obstacles is None or not are_motions_checked or len(piece.rows) < 2:
                return piece
            q = unwind(layers.q[piece.rows], layers.limits.turning)
            reached, _ = self.obstacles[1].follow(q, self.pause)
            travels = layers.limits.is_travel[piece.first : piece.first + len(reached)]
            blocked = np.flatnonzero((reached < 1.0) & ~travels)
            if not len(blocked):
                return piece
            # Half of the motion or less: the row before is the nearer one to the collision.
            early = reached[blocked] < 0.5
            layers.forbid(piece.rows[np.where(early, blocked, blocked + 1)])
        return piece._replace(rows=piece.rows[: int(blocked[0]) + 1])

    def _accepted_piece(self, layers: Layers, checks: Obstacles | None) -> Piece:
        """Return the best piece whose postures the caller all accepts; forbid the rows that the caller refuses."""
        while True:
            piece = search_layers(layers, checks, self.pause)
            if self._accepts is None or not layers.ask(piece.rows, self._accepts, self.pause):
                return piece
