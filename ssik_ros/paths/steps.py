"""Joint steps of a path: the largest steps from waypoint to waypoint, and their cost in the objective."""

from collections.abc import Mapping, Sequence
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arguments import check_listed, read_count
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.paths.layers import (
    LARGEST_STEP,
    SUM_OF_LARGEST,
    SUM_OF_POWERS,
    SUM_OF_SQUARES,
    SUM_OF_STEPS,
)
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.paths.requests import ToolPathRequest
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.paths.waypoints import step_times


class StepLimits(NamedTuple):
    """Largest joint steps from waypoint to waypoint, with the objective and weights that give the cost of a step."""

    turning: IntArray
    """
    (n,) 1 for turning joints whose windings are chosen for the whole path, else 0.

    These joints have a range of a full turn or more. Whole turns are left out of their steps.
    """
    largest: FloatArray
    """(m, n) largest step of each joint to each waypoint; the first row is not read. Infinite for free travel."""
    weights: FloatArray
    """(m, n) factors on the steps in the objective; the first row is not read."""
    objective: int
    """
    Number of the objective: SUM_OF_STEPS, SUM_OF_SQUARES, LARGEST_STEP, SUM_OF_LARGEST or SUM_OF_POWERS of the kernels.
    """

    @property
    def is_travel(self) -> 'np.ndarray[tuple[int], np.dtype[np.bool_]]':
        """Return a mask (m - 1,) of the steps that are free travel between passes: their largest step is infinite."""
        return np.asarray(np.isinf(self.largest[1:]).all(axis=1))

    def with_windings_apart(self, joint: int) -> 'StepLimits':
        """
        Return limits with which values of a joint that differ by whole turns are different postures.

        :param joint: index of the joint.
        """
        turning = self.turning.copy()
        turning[joint] = 0
        return self._replace(turning=turning)

    def relaxed(self, widest: float) -> 'StepLimits':
        """
        Return limits that allow steps of at least ``widest``, with the sum of squares as objective and all weights 1.

        The sum of squares spreads a motion evenly over the steps, so that the steps come close to the original limits.

        :param widest: step that is allowed for each joint, if its limit is smaller [rad or m].
        """
        largest, ones = np.maximum(self.largest, widest), np.ones_like(self.weights)
        return self._replace(largest=largest, weights=ones, objective=SUM_OF_SQUARES)

    def levelled(self, widest: float) -> 'StepLimits':
        """
        Return twice the limits, with an objective that evens out the steps as shares of the original limits.

        :param widest: step that is allowed for each joint, if twice its limit is smaller [rad or m].
        """
        return self._replace(
            largest=np.maximum(2.0 * self.largest, widest),
            weights=1.0 / self.largest,
            objective=SUM_OF_POWERS,
        )

    def every_nth(self, stride: int) -> IntArray:
        """
        Return the indices of every n-th waypoint, with both ends of each pass (part of a path without free travel).

        :param stride: n; 1 for all waypoints.
        """
        count, travels = len(self.largest), np.flatnonzero(self.is_travel)
        some = (np.arange(0, count, stride), np.array([count - 1]), travels, travels + 1)
        return np.unique(np.concatenate(some))

    def between(self, waypoints: IntArray, widest: float) -> 'StepLimits':
        """
        Return limits and weights of steps from layer to layer, if only some waypoints are layers.

        If all waypoints are layers, the limits are returned unchanged.

        :param waypoints: (l,) index of the waypoint of each layer, ascending.
        :param widest: bound on a step over several waypoints, unless one of its single steps may be larger [rad or m].
        """
        if len(waypoints) == len(self.largest):
            return self
        begins = waypoints[:-1] + 1
        sums = np.add.reduceat(self.largest, begins)
        longest = np.maximum(np.maximum.reduceat(self.largest, begins), widest)
        largest = np.vstack([self.largest[:1], np.minimum(sums, longest)])
        counts = np.diff(waypoints)[:, None].astype(np.float64)
        weights = np.add.reduceat(self.weights, begins) / counts
        # As if the way was made in equal steps.
        power = {SUM_OF_SQUARES: 0.5, LARGEST_STEP: 1.0, SUM_OF_POWERS: 1.0}.get(
            self.objective, 0.0
        )
        weights = np.vstack([self.weights[:1], weights / counts**power])
        return self._replace(largest=largest, weights=weights)


def make_step_limits(chain: ToolChain, request: ToolPathRequest, poses: FloatArray) -> StepLimits:
    """
    Return largest steps, weights and objective of a request.

    :param chain: the joints.
    :param request: largest steps, objective, tool speed and passes are read.
    :param poses: (m, 4, 4) waypoints.
    :raises InvalidOption: if velocity limits are missing that the objective needs, and for passes that do not ascend.
    """
    slides = chain.chain.kinds == JointKind.PRISMATIC
    shape = (len(poses), chain.size)
    largest = np.where(slides, request.largest_slide, request.largest_turn)
    largest = np.tile(largest.astype(np.float64), (len(poses), 1))
    weights, velocity = np.ones(shape), chain.velocity
    if request.objective.value in (LARGEST_STEP, SUM_OF_LARGEST):
        if not (np.isfinite(velocity) & (velocity > 0.0)).all():
            raise InvalidOption('This objective needs velocity limits of all joints in the URDF.')
        weights /= velocity
    if request.tool_speed is not None:
        spans = step_times(poses, request.tool_speed)[:, None]
        largest[1:] = np.minimum(largest[1:], velocity * spans)
        if request.objective.value == LARGEST_STEP:
            weights[1:] /= spans
    travels = _passes(request.passes, len(poses))
    largest[travels] = math.inf
    if request.objective.value == LARGEST_STEP:
        weights[travels] = 0.0
    turning = chain.has_windings.astype(np.int64)
    return StepLimits(turning, largest, weights, request.objective.value)


def _passes(passes: Sequence[int], count: int) -> list[int]:
    """
    Return the waypoint indices at which the second and each further pass begins.

    Raise InvalidOption unless they ascend and are between 1 and ``count - 1``.
    """
    indices = [read_count('passes', index) for index in check_listed('passes', passes)]
    if indices != sorted(set(indices)) or (indices and not 0 < indices[0] <= indices[-1] < count):
        raise InvalidOption(
            f'passes are indices of waypoints from 1 to {count - 1} in ascending order, not {passes!r}.'
        )
    return indices


def path_cost(
    q: FloatArray, limits: StepLimits, travel_paths: Mapping[int, FloatArray] | None = None
) -> float:
    """
    Return the value of the objective for a path, without penalties.

    :param q: (m, n) postures at the waypoints, without jumps of whole turns.
    :param limits: the objective.
    :param travel_paths: free travel (k, n) from the waypoint with this index to the next one; None if all motions are
        straight.
    """
    detours = 0.0
    for step, corners in (travel_paths or {}).items():
        weights, straight = limits.weights[step + 1], q[step : step + 2]
        detour, short = (
            travel_cost(each, weights, limits.objective) for each in (corners, straight)
        )
        detours += detour - short
    return detours + _straight_cost(q, limits)


def _straight_cost(q: FloatArray, limits: StepLimits) -> float:
    """
    Return the value of the objective for straight motions between postures ``q`` (m, n), without penalties.

    Steps are not wrapped: a whole turn of a joint counts.
    """
    steps = np.abs(np.diff(q, axis=0)) * limits.weights[1:]
    if limits.objective == SUM_OF_SQUARES:
        return float((steps**2).sum())
    if limits.objective == SUM_OF_STEPS:
        return float(steps.sum())
    slowest = steps.max(axis=1, initial=0.0)
    is_largest = limits.objective == LARGEST_STEP
    return float(slowest.max(initial=0.0) if is_largest else slowest.sum())


def travel_cost(corners: FloatArray, weights: FloatArray, objective: int) -> float:
    """
    Return the cost of a polyline of free travel; 0 for the objective LARGEST_STEP.

    For the sum of squares, the polyline counts as one step of the same length.

    :param corners: (k, n) corners.
    :param weights: (n,) of the objective.
    :param objective: as in :class:`StepLimits`.
    """
    steps = np.abs(np.diff(corners, axis=0)) * weights
    if objective == LARGEST_STEP:
        return 0.0
    if objective == SUM_OF_STEPS:
        return float(steps.sum())
    if objective == SUM_OF_SQUARES:
        return float(np.linalg.norm(steps, axis=1).sum() ** 2)
    return float(steps.max(axis=1).sum())
