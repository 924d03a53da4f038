"""
Make a candidate for a joint path cheaper, by Gauss-Newton steps and finer grids of its parameters: :class:`Refinement`.

A candidate is a corridor: a posture at some or all waypoints. A finer grid holds the corridor itself, and a step that
makes it costlier is not taken, so that the cost never rises.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.paths.layers import LARGEST_STEP, SUM_OF_POWERS
from ssik_ros.paths.control import PlanControl
from ssik_ros.paths.search.newton_steps import newton_steps
from ssik_ros.paths.search.sequences import (
    Corridor,
    GridSearch,
    make_corridor,
    StepRule,
    WIDEST_SPREAD,
    WIDEST_STEP,
)
from ssik_ros.paths.search_space import Samples
from ssik_ros.paths.steps import StepLimits
from ssik_ros.paths.windings import unwind, wrap_steps

LEAST_ROUND_GAIN = 1e-4
"""Part of the largest step that another round has to save while it is too large."""
FINER_SPACING = 0.4
"""Spacing of a finer grid as a part of the spacing before."""
GAIN = 4e-3
"""Part of the cost that another grid of the same spacing has to save."""
MOST_ROUNDS = 40
MOST_STEPS = 12
LONGEST_GAUSS_NEWTON_STEP = 4.0
"""Longest Gauss-Newton step, in the first grid's spacing."""
HARDER = 0.4
"""Factor by which each Gauss-Newton step lowers the joint step that counts as small."""


class Refinement(NamedTuple):
    """Makes candidates for a path (corridors: sequences of postures at waypoints) cheaper, on some or all waypoints."""

    grids: GridSearch
    limits: StepLimits
    """Largest steps and objective."""
    control: PlanControl
    """Is told the cost of each better corridor on all waypoints."""
    rows: IntArray
    """The waypoints that corridors are refined on; motions are only checked when these are all waypoints."""

    @property
    def is_whole(self) -> bool:
        """Return whether corridors are refined on all waypoints, instead of a part of them."""
        return len(self.rows) == len(self.grids.poses)

    def refine(self, corridor: Corridor, finest: FloatArray) -> Corridor | None:
        """
        Return the best corridor (candidate path) that finer and finer grids around a given corridor give.

        Return None if no sequence of postures within the step limits is found that passes all waypoints in ``rows``.

        :param corridor: a corridor on some of the waypoints; postures are interpolated to the others.
        :param finest: (r,) spacing of the parameters at which to stop [rad or m].
        """
        corridor = self._between(corridor)
        best = corridor if math.isfinite(corridor.cost) else self._within_limits(corridor)
        if best is None or not self.grids.space.size:
            return best
        spacing, rule = corridor.spacing, StepRule(self.limits)
        best = self._descend(best, rule)
        for _ in range(MOST_ROUNDS):
            next_best = self._around(best, spacing, self.grids.space.offsets, rule) or best
            saved, best = best.cost - next_best.cost, next_best
            if self.is_whole:
                self.control.store_cost(best.cost)
            if not saved > GAIN * best.cost:
                if (spacing <= finest).all():
                    break
                spacing = spacing * FINER_SPACING
                best = self._descend(best, rule)
        return best

    def _within_limits(self, corridor: Corridor) -> Corridor | None:
        """Return a corridor within the step limits near a given one, which may break them; None if none is found."""
        spacing, offsets, rule = corridor.spacing, self.grids.space.offsets, StepRule(self.limits)
        return (
            self._around(corridor, spacing, offsets, rule)
            or self._around(corridor._replace(q=corridor.q[:0]), spacing, 2 * offsets, rule)
            or self._spread(corridor)
        )

    def _around(
        self, best: Corridor, spacing: FloatArray, reach: int, rule: StepRule
    ) -> Corridor | None:
        """
        Return the cheapest corridor (candidate path) on a grid around the parameters of ``best``.

        Return None if no sequence of postures passes all waypoints in ``rows``, or if the cheapest costs more than
        ``best``.

        :param spacing: (r,) distance of neighbouring values.
        :param reach: number of values to each side.
        """
        samples = self.grids.space.window(self.rows, best.parameters, spacing, reach)
        return self._sequence(samples, best, spacing, rule)

    def _spread(self, corridor: Corridor) -> Corridor | None:
        """
        Reduce too large steps of a corridor by spreading them over neighbouring steps; return the new corridor.

        Return None if a step stays larger than its limit.
        """
        relaxed = StepRule(self.limits.relaxed(WIDEST_SPREAD))
        spread = self._around(corridor, corridor.spacing, self.grids.space.offsets, relaxed)
        if spread is None:
            return None
        spread = self._descend(spread, relaxed)._replace(cost=math.inf)
        kept = self._around(spread, spread.spacing, 0, StepRule(self.limits))
        return kept or self._level(spread)

    def _level(self, corridor: Corridor) -> Corridor | None:
        """Reduce the largest joint steps of a corridor; return the new corridor, None if some step stays too large."""
        spacing, best = corridor.spacing, corridor
        eased = self.limits.levelled(WIDEST_SPREAD)
        for objective in (SUM_OF_POWERS, LARGEST_STEP):
            rule = StepRule(eased._replace(objective=objective), has_penalties=False)
            best = best._replace(cost=math.inf)
            for _ in range(MOST_ROUNDS):
                samples = self.grids.space.fan(self.rows, best.parameters, spacing)
                next_best = self._sequence(samples, best, spacing, rule) or best
                saved, best = best.cost - next_best.cost, next_best
                if not saved > LEAST_ROUND_GAIN * best.cost or self._keeps_limits(best):
                    break
            if self._keeps_limits(best):
                break
        return self._around(best._replace(cost=math.inf), spacing, 0, StepRule(self.limits))

    def _keeps_limits(self, corridor: Corridor) -> bool:
        """Return whether all steps of a corridor are at most as large as the limits allow."""
        limits = self.limits.between(self.rows, WIDEST_STEP)
        steps = np.abs(wrap_steps(np.diff(corridor.q, axis=0), limits.turning))
        return bool((steps <= limits.largest[1:]).all())

    def _descend(self, best: Corridor, rule: StepRule) -> Corridor:
        """
        Return a corridor (candidate path) after Gauss-Newton steps of its parameters, until a step saves little cost.

        Each waypoint takes the share of a step, 0 to 1, that gives the cheapest sequence.
        """
        space = self.grids.space
        softness = float(np.abs(np.diff(best.q, axis=0)).mean()) + 1e-9
        limits, poses = rule.limits.between(self.rows, WIDEST_STEP), self.grids.poses[self.rows]
        for _ in range(MOST_STEPS):
            steps = newton_steps(space, limits, poses, best, softness)
            reach = LONGEST_GAUSS_NEWTON_STEP * space.spacing
            samples = space.line(self.rows, best.parameters, np.clip(steps, -reach, reach))
            next_best = self._sequence(samples, best, best.spacing, rule) or best
            saved, best = best.cost - next_best.cost, next_best
            if not saved > GAIN * best.cost:
                break
            softness *= HARDER
        return best

    def _sequence(
        self, samples: Samples, best: Corridor, spacing: FloatArray, rule: StepRule
    ) -> Corridor | None:
        """
        Return the best corridor whose parameters are among given samples.

        Return None if no sequence of postures passes all waypoints in ``rows``, or if the cheapest costs more than
        ``best``.

        :param samples: values of the parameters at the waypoints ``rows``.
        :param best: the present corridor; postures far from its postures are left out.
        :param spacing: (r,) spacing to store in the result.
        """
        near = best.q if len(best.q) else None
        layers, _ = self.grids.layers(self.rows, samples, rule, near)
        piece = self.grids.find(layers, self.is_whole)
        if len(piece.rows) < len(self.rows) or piece.cost > best.cost:
            return None
        return make_corridor(layers, piece, self.rows, spacing)

    def _between(self, corridor: Corridor) -> Corridor:
        """
        Return a corridor with a posture at each waypoint in ``rows``, interpolated where the given one has none.

        Its cost is infinite if it was interpolated, or if the first grid is scattered points.
        """
        space = self.grids.space
        if len(corridor.rows) == len(self.rows):
            return corridor._replace(cost=math.inf) if space.is_scattered else corridor
        parameters = corridor.parameters.copy()
        for p in np.flatnonzero(space.is_endless):
            parameters[:, p] = np.unwrap(parameters[:, p])
        q = unwind(corridor.q, self.limits.turning)
        return Corridor(
            self._interpolated(q, corridor.rows),
            self._interpolated(parameters, corridor.rows),
            math.inf,
            corridor.spacing,
            self.rows,
        )

    def _interpolated(self, values: FloatArray, rows: IntArray) -> FloatArray:
        """
        Return the values at all waypoints in ``self.rows``, linearly interpolated.

        :param values: (k, c) values at some waypoints.
        :param rows: (k,) indices of these waypoints, ascending.
        """
        columns = [np.interp(self.rows, rows, column) for column in values.T]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.rows), 0))
