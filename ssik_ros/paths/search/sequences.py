"""
Find the best sequence of postures, one for each waypoint, on a grid of the free parameters: :class:`GridSearch`.

A grid gives the postures of each waypoint as a layer; a sequence takes one posture of each layer. A :class:`Corridor`
is such a sequence with its parameters.
"""

from collections.abc import Callable, Sequence
import functools
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import BoolArray, FloatArray, IntArray
from ssik_ros.kernels.paths.layers import LARGEST_STEP
from ssik_ros.paths.collisions.obstacles import Obstacles
from ssik_ros.paths.penalties import PostureCosts
from ssik_ros.paths.search.layered_search import (
    Layers,
    make_layers,
    Piece,
    search_layers,
)
from ssik_ros.paths.search_space import Samples, SearchSpace
from ssik_ros.paths.steps import StepLimits
from ssik_ros.paths.windings import every_winding, unwind, wrap_steps

WIDEST_STEP = 1.0
"""Largest step between layers several waypoints apart; a larger limit of one single step wins [rad or m]."""
WIDEST_SPREAD = 1.5
"""Largest step that is spread over its neighbours [rad or m]."""
BRANCH = 0.5
"""Joint difference above which two postures are not neighbours [rad or m]."""
SAME_BRANCH = 1.0
"""Difference of a joint above which a finer grid leaves a posture out [rad or m]."""
MOST_REPAIRS = 40
"""Motions of one grid that collide and are led around."""


class Corridor(NamedTuple):
    """A candidate for a path: a posture at some or all waypoints, with the values of the r free parameters, and the cost."""

    q: FloatArray
    """(m, n) postures [rad or m]."""
    parameters: FloatArray
    """(m, r) values of the free parameters [m or rad]."""
    cost: float
    """Value of the objective and penalties on these waypoints; infinite if not known."""
    spacing: FloatArray
    """(r,) distance of neighbouring parameter values on the grid that it comes from [m or rad]."""
    rows: IntArray
    """(m,) index of the waypoint of each posture."""

    def before(self, count: int) -> 'Corridor':
        """Return the first ``count`` postures."""
        q, parameters = self.q[:count], self.parameters[:count]
        return self._replace(q=q, parameters=parameters, rows=self.rows[:count])


class Checks(NamedTuple):
    """Checks that postures of a path must pass (collisions, the caller's filter), and penalties that they cost."""

    obstacles: tuple[Obstacles, Obstacles] | None
    """For waypoints, and for the motions between them; None for no checks."""
    costs: PostureCosts
    """Penalties of postures near limits, singularities and obstacles."""
    accepts: Callable[[FloatArray], bool] | None = None
    """Tells of a posture (n,) whether the caller wants it; None for any."""

    @property
    def of_waypoints(self) -> Obstacles | None:
        """Return the collision checks of waypoints; None for no checks."""
        return None if self.obstacles is None else self.obstacles[0]

    def without_spare_distance(self) -> 'Checks':
        """Return checks whose waypoints keep no larger distance from obstacles than motions do."""
        if self.obstacles is None:
            return self
        return self._replace(obstacles=(self.obstacles[1], self.obstacles[1]))


class StepRule(NamedTuple):
    """Rule for sequences of postures: largest joint steps and objective, and whether penalties of postures count."""

    limits: StepLimits
    """Largest steps, objective and weights."""
    has_penalties: bool = True
    """Whether the penalties of postures count; False if only the steps are to become small."""


class GridSearch(NamedTuple):
    """
    Finds sequences of postures along the waypoints of one path, on a given grid of the free parameters.

    Free parameters are the value of the held joint, values of joints before the last seven, and numbers of the tool's
    pose within its tolerance. :meth:`layers` makes the postures of a grid, one layer for each chosen waypoint.
    :meth:`find` returns the longest sequence of postures that pass the checks, one from each of consecutive layers. Of
    several, it returns the cheapest.
    """

    space: SearchSpace
    """The free parameters."""
    poses: FloatArray
    """(m, 4, 4) waypoints."""
    checks: Checks
    pause: Callable[..., None]
    """Ends the search in time, see :meth:`PlanControl.pause`."""
    ends: tuple[FloatArray | None, FloatArray | None] = (None, None)
    """Given postures (n,) at the first and the last waypoint; None leaves an end free."""
    shut_in: Sequence[tuple[int, FloatArray]] = ()
    """Waypoints at an end of a pass, each with a posture (n,) that could not be joined to the other pass without
    collisions; postures near it are skipped."""

    def layers(
        self,
        waypoints: IntArray,
        samples: Samples,
        rule: StepRule,
        near: FloatArray | None = None,
        is_rough: bool = False,
    ) -> tuple[Layers, IntArray]:
        """
        Return the exact postures of samples, as one layer for each of some waypoints, and counts (l, 3) of the layers.

        Counts are: branches, branches outside the limits, and whether more may exist. If a posture is given for an end
        of the path, it is the only one there. Postures near one of ``shut_in`` are forbidden.

        :param waypoints: (l,) index of the waypoint of each layer.
        :param samples: values of the parameters.
        :param rule: largest steps, and whether penalties count.
        :param near: (l, n) postures; others that are far from them are left out. None keeps all postures.
        :param is_rough: True allows steps as large as WIDEST_SPREAD, for a scattered grid.
        """
        turning = rule.limits.turning
        keep = None if near is None else functools.partial(_is_near, near, turning)
        branches, parameters = self.space.postures(waypoints, self.poses[waypoints], samples, keep)
        q, owners = branches.q, branches.owners
        chain = self.space.chain.chain
        for joint in np.flatnonzero(self.space.chain.has_windings & (turning == 0)).tolist():
            q, origin = every_winding(q, joint, chain.lower[joint], chain.upper[joint])
            owners, parameters = owners[origin], parameters[origin]
        for layer, posture in zip((0, len(waypoints) - 1), self.ends, strict=True):
            if posture is not None:
                kept = owners != layer
                waypoint = int(waypoints[layer])
                values = self.space.parameters_of(posture, waypoint, self.poses[waypoint])
                q, owners = np.vstack([q[kept], posture]), np.append(owners[kept], layer)
                parameters = np.vstack([parameters[kept], values])
        limits = rule.limits.between(waypoints, WIDEST_STEP)
        if is_rough:
            limits = limits._replace(largest=np.maximum(limits.largest, WIDEST_SPREAD))
        penalties = self._penalties(q, len(waypoints), rule)
        layers = make_layers(q, owners, parameters, len(waypoints), limits, penalties)
        self._forbid_shut_in(layers, waypoints)
        return layers, branches.counts

    def _penalties(self, q: FloatArray, layers: int, rule: StepRule) -> FloatArray | None:
        """
        Return the penalty (k,) of each posture, scaled to its share of the path's cost; None if penalties do not count.

        :param layers: number of layers of the path.
        """
        if not rule.has_penalties or not self.checks.costs.is_used:
            return None
        is_largest = rule.limits.objective == LARGEST_STEP
        penalties = self.checks.costs.values(q, rule.limits.turning)
        return penalties / (1 if is_largest else layers)

    def _forbid_shut_in(self, layers: Layers, waypoints: IntArray) -> None:
        """Forbid the rows (postures) of layers that are near the postures in ``shut_in`` of the same waypoint."""
        for waypoint, posture in self.shut_in:
            for layer in np.flatnonzero(waypoints == waypoint).tolist():
                rows = layers.rows_of(layer)
                steps = np.abs(wrap_steps(layers.q[rows] - posture, layers.limits.turning))
                layers.forbid(rows[(steps < BRANCH).all(axis=1)])

    def find(self, layers: Layers, are_motions_checked: bool) -> Piece:
        """
        Return the longest sequence of collision-free postures of consecutive layers; of several, the cheapest.

        With ``are_motions_checked``, a posture at the end of a colliding motion is forbidden, and the search is
        repeated up to MOST_REPAIRS times. If motions still collide then, the sequence ends before the first of them.
        Free travel between passes is not checked.

        :param layers: the postures; forbidden ones are marked in it.
        :param are_motions_checked: whether the motions between waypoints must be free of collisions too.
        """
        obstacles = self.checks.obstacles
        for _ in range(MOST_REPAIRS):
            piece = self._accepted_piece(layers)
            if obstacles is None or not are_motions_checked or len(piece.rows) < 2:
                return piece
            q = unwind(layers.q[piece.rows], layers.limits.turning)
            reached, _ = obstacles[1].follow(q, self.pause)
            travels = layers.limits.is_travel[piece.first : piece.first + len(reached)]
            blocked = np.flatnonzero((reached < 1.0) & ~travels)
            if not len(blocked):
                return piece
            # Half of the motion or less: the row before is the nearer one to the collision.
            early = reached[blocked] < 0.5
            layers.forbid(piece.rows[np.where(early, blocked, blocked + 1)])
        return piece._replace(rows=piece.rows[: int(blocked[0]) + 1])

    def _accepted_piece(self, layers: Layers) -> Piece:
        """
        Return the best sequence of postures that are collision-free and accepted by the caller's filter.

        Rows (postures) that the filter refuses are forbidden in ``layers``.
        """
        accepts = self.checks.accepts
        while True:
            piece = search_layers(layers, self.checks.of_waypoints, self.pause)
            if accepts is None or not layers.ask(piece.rows, accepts, self.pause):
                return piece


def make_corridor(
    layers: Layers, piece: Piece, waypoints: IntArray, spacing: FloatArray
) -> Corridor:
    """
    Return a piece (a sequence of rows of ``layers``) as a corridor.

    :param layers: the postures.
    :param piece: a sequence of their rows.
    :param waypoints: index of the waypoint of each layer.
    :param spacing: (r,) spacing of the grid that the rows come from.
    """
    rows = waypoints[piece.first : piece.first + len(piece.rows)]
    return Corridor(layers.q[piece.rows], layers.parameters[piece.rows], piece.cost, spacing, rows)


def _is_near(near: FloatArray, turning: IntArray, q: FloatArray, owners: IntArray) -> BoolArray:
    """
    Return a mask (k,) of postures whose joints all differ from ``near`` by less than SAME_BRANCH.

    :param near: (l, n) a posture for each layer.
    :param turning: (n,) 1 for joints whose differences are wrapped, else 0.
    :param q: (k, n) postures.
    :param owners: (k,) layer of each posture.
    """
    steps = np.abs(wrap_steps(q - near[owners], turning))
    return np.asarray((steps < SAME_BRANCH).all(axis=1))
