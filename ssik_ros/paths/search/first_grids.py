"""
Find candidates for a joint path on coarse grids of the free parameters.

A candidate is a corridor: a posture at some or all waypoints, with its parameters. :func:`first_corridors` keeps the
step limits, except on scattered points; :func:`corridors_of_larger_steps` allows larger steps for a later refinement.
"""

import math

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray, wrap_angles
from ssik_ros.paths.search.layered_search import Layers, Piece, search_layers
from ssik_ros.paths.search.reasons import explain, PathFailure
from ssik_ros.paths.search.sequences import (
    BRANCH,
    Corridor,
    GridSearch,
    make_corridor,
    StepRule,
)
from ssik_ros.paths.steps import StepLimits
from ssik_ros.paths.windings import wrap_steps

EASED = 0.1
"""Step that the first grid may have, if its limit is smaller; twice the limit otherwise [rad or m]."""
MOST_CORRIDORS = 3
"""Different sequences of the first grid that are refined."""
AVERSION = 0.5
"""Cost of the rows near a chosen corridor for the next one, as a part of the mean cost of a step."""
DOUBT = 0.5
"""Joint step that a row may cost more when it is sure not to collide [rad or m]."""
NEIGHBOUR_SPACINGS = 8.0
"""Distance of the parameters of neighbours, in spacings of the grid."""


def first_corridors(
    grids: GridSearch, limits: StepLimits, stride: int, density: int
) -> tuple[list[Corridor], PathFailure | None]:
    """
    Return the best few corridors (candidate paths) on the first grid and None, or after a failure (corridors, failure).

    After a failure with stride 1, the list has the longest candidate that was found, up to its first step above the
    limits. It is empty if no posture was found, and with other strides.

    :param grids: the search on each grid.
    :param limits: largest steps and objective.
    :param stride: number of waypoints from one layer of the grid to the next.
    :param density: factor on the number of values of each parameter.
    :raises PlanStopped, PlanCancelled: as :meth:`PlanControl.pause`.
    """
    space, obstacles = grids.space, grids.checks.of_waypoints
    waypoints = limits.every_nth(stride)
    spacing = space.spacing / density
    samples = space.grid(waypoints, density)
    layers, counts = grids.layers(
        waypoints, samples, StepRule(limits), is_rough=space.is_scattered
    )
    if obstacles is not None:
        for layer in range(layers.count):
            layers.check_quickly(layers.rows_of(layer), obstacles)
            grids.pause(int(waypoints[layer]))
        layers.prefer_sure_rows(DOUBT)
    piece = grids.find(layers, stride == 1)
    if len(piece.rows) == len(waypoints):
        pieces = _different(grids, layers, piece, spacing)
        return [make_corridor(layers, each, waypoints, spacing) for each in pieces], None
    grids.pause()
    reached = len(piece.rows)
    failure = explain(space, grids.poses, layers, counts, waypoints, obstacles, reached)
    if stride > 1 or not len(piece.rows):
        return [], failure
    piece = _before_wide_step(layers, piece, limits)
    return [make_corridor(layers, piece, waypoints, spacing)], failure


def corridors_of_larger_steps(
    grids: GridSearch, limits: StepLimits, density: int
) -> list[Corridor]:
    """
    Return a list with the candidate path on the first grid whose joint steps are most even; empty if none is found.

    The candidate has the least sum of high powers of the largest steps, as shares of their limits. Its steps may be
    twice as large as their limits, or EASED: values of the grid may be far from each other. A refinement has to reduce
    them. The cost of the candidate is set to infinity.

    :param grids: the search on each grid.
    :param limits: largest steps.
    :param density: factor on the number of values of each parameter.
    """
    waypoints = np.arange(len(grids.poses))
    rule = StepRule(limits.levelled(EASED), has_penalties=False)
    layers, _ = grids.layers(waypoints, grids.space.grid(waypoints, density), rule)
    piece = grids.find(layers, True)
    if len(piece.rows) < len(waypoints):
        return []
    corridor = make_corridor(layers, piece, waypoints, grids.space.spacing / density)
    return [corridor._replace(cost=math.inf)]


def _before_wide_step(layers: Layers, piece: Piece, limits: StepLimits) -> Piece:
    """
    Return a piece (postures of consecutive layers), cut before its first joint step above ``limits``.

    Steps of turning joints are compared modulo whole turns.
    """
    steps = np.abs(wrap_steps(np.diff(layers.q[piece.rows], axis=0), layers.limits.turning))
    largest = limits.largest[piece.first + 1 : piece.first + len(piece.rows)]
    wide = np.flatnonzero((steps > largest).any(axis=1))
    return piece._replace(rows=piece.rows[: int(wide[0]) + 1]) if len(wide) else piece


def _different(grids: GridSearch, layers: Layers, best: Piece, spacing: FloatArray) -> list[Piece]:
    """
    Return the best piece first, and then up to MOST_CORRIDORS - 1 other cheap pieces through all layers.

    A piece is a sequence of rows (postures) of consecutive layers. Rows near a piece that is found get an extra cost
    for the next search, so that the pieces differ. Without free parameters only the best piece is returned.
    """
    if not grids.space.size:
        return [best]
    pieces, before = [best], layers.row_costs.copy()
    extra = AVERSION * best.cost / layers.count
    for _ in range(MOST_CORRIDORS - 1):
        layers.row_costs[_rows_near(grids, layers, pieces[-1], spacing)] += extra
        piece = search_layers(layers, grids.checks.of_waypoints, grids.pause)
        if len(piece.rows) < layers.count:
            break
        pieces.append(piece)
    finite = np.isfinite(layers.row_costs)
    layers.row_costs[finite] = before[finite]
    return pieces


def _rows_near(grids: GridSearch, layers: Layers, piece: Piece, spacing: FloatArray) -> IntArray:
    """
    Return the indices of rows that are near the row which a piece takes in the same layer.

    Near is measured in the parameters, by the spacing of the grid, and in the joints.
    """
    of_row = piece.rows[layers.layer_of(np.arange(len(layers.q)))]
    changes = layers.parameters - layers.parameters[of_row]
    changes = np.abs(np.where(grids.space.is_endless, wrap_angles(changes), changes))
    steps = np.abs(wrap_steps(layers.q - layers.q[of_row], layers.limits.turning))
    near = (changes < NEIGHBOUR_SPACINGS * spacing).all(axis=1) & (steps < BRANCH).all(axis=1)
    return np.flatnonzero(near)
