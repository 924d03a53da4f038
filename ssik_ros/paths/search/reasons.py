"""Explain why a search has found no joint path through all waypoints."""

from collections import Counter
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import counted
from ssik_ros.paths.collisions.obstacles import Obstacles
from ssik_ros.paths.search.layered_search import Layers
from ssik_ros.paths.search_space import SearchSpace
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.paths.windings import wrap_steps
from ssik_ros.results import Cause
from ssik_ros.solvers.search.bounded_refinement import BoundedRefinement, unlimited

MOST_ROWS = 400
"""Rows of a layer that are compared to name the joint whose step is too large."""
REPORTED_LIMIT_SHARE = 0.02
"""Distance from a limit, as a share of the range, below which a joint is reported as at that limit [1]."""

MOST_CONTINUED = 60
"""Postures that are followed to the next waypoint to find the limit, step or collision that stops them."""
CONVERGED, OTHER_BRANCH_STEP = 1e-6, 1.5
"""Pose error below which a posture reaches the waypoint; joint step that means another branch."""


class WaysOn(NamedTuple):
    """Postures of one waypoint that were continued to the next waypoint, with the postures that they reach there."""

    starts: FloatArray
    """(k, n) postures that reach the next waypoint."""
    ends: FloatArray
    """(k, n) the postures that they reach there."""
    largest: FloatArray
    """(n,) largest step that each joint may take between the two waypoints [rad or m]."""
    is_bounded: NDArray[np.bool_]
    """(n,) False for joints whose winding is chosen for the whole path: they have no limits here."""
    followed: int
    """Number of postures that were followed, including those that do not reach the next waypoint."""


class PathFailure(NamedTuple):
    """
    Why a search has no path: index of the first waypoint that it did not reach, a cause, and a sentence for the user.

    The waypoint is -1 if the failure concerns the whole path.
    """

    waypoint: int
    cause: Cause
    text: str


def explain(
    space: SearchSpace,
    poses: FloatArray,
    layers: Layers,
    counts: IntArray,
    waypoints: IntArray,
    obstacles: Obstacles | None,
    reached: int,
) -> PathFailure:
    """
    Return why a search failed: the first waypoint that no path reaches from the start, with cause and sentence.

    :param space: the joints and their free parameters.
    :param poses: (m, 4, 4) waypoints.
    :param layers: the postures of some waypoints, after a search that did not reach the last one. Postures of the
        waypoint that is not reached are checked for collisions here.
    :param counts: for each layer: branches, branches outside the limits, and whether more may exist.
    :param waypoints: index of the waypoint of each layer.
    :param obstacles: the collision checks; None if collisions are not checked.
    :param reached: number of layers that a path with free motions reaches.
    """
    broken = min(layers.first_broken(), reached)
    rows = layers.rows_of(broken)
    waypoint = int(waypoints[broken])
    if not len(rows):
        is_proved = space.is_out_of_reach(waypoint, poses[waypoint])
        return _no_postures(waypoint, counts[broken], is_proved)
    if obstacles is not None:
        layers.check(rows, obstacles)
    free = rows[np.isfinite(layers.row_costs[rows])]
    if not len(free):
        if obstacles is None or layers.refusals[broken]:
            text = f'Waypoint {waypoint}: no posture is allowed.'
            if layers.refusals[broken]:
                text = f'Waypoint {waypoint}: no posture that is free is accepted by the caller.'
            return PathFailure(waypoint, Cause.CONSTRAINTS, text)
        pairs, times = np.unique(layers.culprits[rows], return_counts=True)
        pair = int(pairs[np.argmax(times)])
        text = f'Waypoint {waypoint}: each of {counted(len(rows), "posture")} collides'
        text += (
            f', most often {obstacles.describe(pair)}.'
            if pair >= 0
            else ', or a motion to it or from it does.'
        )
        return PathFailure(waypoint, Cause.COLLISION, text)
    before = layers.rows_of(broken - 1)
    last = before[layers.lengths[before] == broken]
    names = int(waypoints[broken - 1]), waypoint
    onward = _ways_on(space, poses[waypoint], layers, _some(last, MOST_CONTINUED), waypoint)
    failure = None if onward is None else _way_on_fails(space.chain, onward, names, obstacles)
    return failure or _no_step(space.chain, layers, last, free, names)


def passes_not_joined(
    number: int, waypoint: int, tried: tuple[int, int], bodies: str
) -> PathFailure:
    """
    Return the failure of two neighbouring passes between which no collision-free travel was found.

    :param number: number of the first of the two passes, from 1.
    :param waypoint: index of the last waypoint of that pass.
    :param tried: number of motions of the last search, and number of pairs of end postures.
    :param bodies: names of the two bodies that collided most often; empty if none did.
    """
    text = (
        f'Passes {number} and {number + 1} are not joined: no free travel was found from waypoint {waypoint} to '
        f'{waypoint + 1}, in {counted(tried[0], "motion")} between {counted(tried[1], "pair")} of postures'
    )
    text += f'; most often {bodies}.' if bodies else '.'
    return PathFailure(waypoint + 1, Cause.COLLISION, text)


def _no_postures(waypoint: int, counts: IntArray, is_proved: bool) -> PathFailure:
    """
    Return the failure of a path at a waypoint for which no posture was found.

    :param waypoint: index of the waypoint.
    :param counts: (3,) branches of all samples, branches outside the limits, and whether more may exist.
    :param is_proved: whether all poses within the tolerance are proved out of reach.
    """
    outside, name = int(counts[1]), f'Waypoint {waypoint}'
    if is_proved:
        return PathFailure(waypoint, Cause.UNREACHABLE, f'{name} is out of reach.')
    if outside > 0:
        text = f'{name}: each of {counted(outside, "posture")} that were tried is outside the joint limits.'
        return PathFailure(waypoint, Cause.LIMITS, text)
    return PathFailure(waypoint, Cause.NOT_FOUND, f'{name}: no posture was found that reaches it.')


def _some(rows: IntArray, most: int) -> IntArray:
    """Return at most ``most`` of the rows, evenly spread over all, in their order."""
    return np.asarray(rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int)])


def _ways_on(
    space: SearchSpace, pose: FloatArray, layers: Layers, rows: IntArray, waypoint: int
) -> WaysOn | None:
    """
    Continue postures to the next waypoint by small steps without joint limits; return those that reach it.

    A posture that would change its branch does not count. Return None for a chain whose inverse kinematics finds the
    spin.

    :param pose: (4, 4) pose of the next waypoint.
    :param rows: the postures, as rows of ``layers``.
    :param waypoint: index of the next waypoint.
    """
    chain, start = space.chain, layers.q[rows]
    if chain.has_spin:
        return None
    begin = chain.outer
    values = layers.parameters[rows][:, begin : begin + len(space.freedom.columns)]
    targets = space.freedom.poses(
        np.repeat(pose[None], len(rows), axis=0), np.full(len(rows), waypoint), values
    )
    refinement = BoundedRefinement(chain.chain)
    q, good = start.copy(), np.zeros(len(start), dtype=bool)
    for row, target in enumerate(targets):
        end = refinement.refine(target, start[row], unlimited(chain.size), CONVERGED)
        if end is not None and np.abs(end - start[row]).max() < OTHER_BRANCH_STEP:
            q[row], good[row] = end, True
    largest = layers.limits.largest[int(layers.layer_of(rows[:1])[0]) + 1]
    return WaysOn(start[good], q[good], largest, layers.limits.turning == 0, len(rows))


def _way_on_fails(
    chain: ToolChain, onward: WaysOn, names: tuple[int, int], obstacles: Obstacles | None
) -> PathFailure | None:
    """
    Return the most frequent failure of motions to the next waypoint: a limit, too large a step, or a collision.

    Return None if fewer than half of the continued postures fail in this way.

    :param onward: the postures and their continuations.
    :param names: indices of both waypoints.
    """
    faults: Counter[tuple[int, int, str]] = Counter()
    low, high = chain.chain.lower, chain.chain.upper
    for start, end in zip(onward.starts, onward.ends, strict=True):
        excess = np.where(onward.is_bounded, np.maximum(low - end, end - high), -math.inf)
        steps = np.abs(end - start) / onward.largest
        joint, fast = int(np.argmax(excess)), int(np.argmax(steps))
        if excess[joint] > 0.0:
            side = 'lower' if end[joint] < low[joint] else 'upper'
            faults[Cause.LIMITS.value, joint, side] += 1
        elif steps[fast] > 1.0:
            faults[Cause.CONSISTENCY.value, fast, ''] += 1
        elif obstacles is not None:
            pair = _pair_on(obstacles, start, end)
            if pair >= 0:
                faults[Cause.COLLISION.value, pair, ''] += 1
    if not faults:
        return None
    (kind, index, side), times = faults.most_common(1)[0]
    if 2 * times < onward.followed:
        return None
    text = f'Waypoints {names[0]} and {names[1]} are not joined: {times} of {counted(onward.followed, "posture")} would '
    if kind == Cause.COLLISION.value and obstacles is not None:
        text += f'go on into a collision, {obstacles.describe(index)}.'
    elif kind == Cause.LIMITS.value:
        text += f"go on with joint '{chain.chain.joint_names[index]}' beyond its {side} limit."
    else:
        name, most = chain.chain.joint_names[index], onward.largest[index]
        step = float(np.median(np.abs(onward.ends - onward.starts)[:, index]))
        text += f"have joint '{name}' move by {step:.3g}, at most {most:.3g}."
    return PathFailure(names[1], Cause(kind), text)


def _pair_on(obstacles: Obstacles, start: FloatArray, end: FloatArray) -> int:
    """
    Return the index of a pair of bodies that collides at ``end``, else on the straight motion from ``start`` to it.

    Return -1 if neither collides.
    """
    judged = obstacles.check(end[None])
    if judged.are_hits[0]:
        return int(judged.pairs[0])
    reached, pairs = obstacles.follow(np.array([start, end]))
    return int(pairs[0]) if reached[0] < 1.0 else -1


def _no_step(
    chain: ToolChain, layers: Layers, reached: IntArray, free: IntArray, names: tuple[int, int]
) -> PathFailure:
    """
    Return a failure that says which joint would have to take too large a step between two waypoints.

    Of all pairs of free postures, the pair with the smallest step, relative to the largest allowed, is described.

    :param reached, free: rows of ``layers`` at the first and at the second waypoint.
    :param names: indices of both waypoints.
    """
    broken = int(layers.layer_of(free[:1])[0])
    reached, free = _some(reached, MOST_ROWS), _some(free, MOST_ROWS)
    steps = layers.q[free][None, :, :] - layers.q[reached][:, None, :]
    steps = wrap_steps(steps, layers.limits.turning)
    largest = layers.limits.largest[broken]
    excess = np.abs(steps) / largest
    worst = excess.max(axis=2)
    a, b = np.unravel_index(int(np.argmin(worst)), worst.shape)
    joint = int(np.argmax(excess[a, b]))
    name, step = chain.chain.joint_names[joint], abs(float(steps[a, b, joint]))
    text = (
        f'Waypoints {names[0]} and {names[1]} are not joined: of all pairs of postures that are free, the nearest have '
        f"joint '{name}' move by {step:.3g}, at most {largest[joint]:.3g}"
    )
    limit = _limit_near(chain, joint, layers.q[[reached[a], free[b]], joint])
    if limit:
        return PathFailure(names[1], Cause.LIMITS, f"{text}; '{name}' is at its {limit} limit.")
    return PathFailure(names[1], Cause.CONSISTENCY, f'{text}; different self-motions or branches.')


def _limit_near(chain: ToolChain, joint: int, values: FloatArray) -> str:
    """
    Return 'lower' or 'upper' if a value is near that limit of the joint, an empty text otherwise.

    Near is within REPORTED_LIMIT_SHARE of the joint's range. If values are near both limits, return 'lower'.

    :param values: values of the joint in several postures [rad or m].
    """
    low, high = chain.chain.lower[joint], chain.chain.upper[joint]
    if not math.isfinite(high - low):
        return ''
    room = REPORTED_LIMIT_SHARE * (high - low)
    if values.min() < low + room:
        return 'lower'
    return 'upper' if values.max() > high - room else ''
