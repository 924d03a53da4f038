"""Why no joint path leads through all waypoints."""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import counted
from ssik_ros.paths.layered_search import Layers
from ssik_ros.paths.obstacles import Obstacles
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.paths.windings import wrap_steps
from ssik_ros.results import Cause

MOST_ROWS = 400
"""Rows of a layer that are compared to name the joint that stands in the way."""
NEAR_LIMIT = 0.02
"""Distance from a limit, as a part of the joint's range, from which on the limit is named."""


class PathFailure(NamedTuple):
    """Where a path ends, and why."""

    waypoint: int
    cause: Cause
    text: str


def explain(
    chain: ToolChain,
    layers: Layers,
    counts: IntArray,
    waypoints: IntArray,
    obstacles: Obstacles | None,
) -> PathFailure:
    """
    Return the first waypoint that no path from the start reaches, and why.

    :param chain: the joints.
    :param layers: connected, without a full path.
    :param counts: (m, 3) of each layer: branches, branches outside the limits, and values that a proof refused.
    :param waypoints: (m,) index of the waypoint of each layer.
    :param obstacles: None where collisions are not checked.
    """
    broken = layers.first_broken()
    rows = layers.rows_of(broken)
    waypoint = int(waypoints[broken])
    if not len(rows):
        return _no_postures(waypoint, counts[broken])
    if obstacles is not None:
        layers.check(rows, obstacles)
    free = rows[np.isfinite(layers.own[rows])]
    if not len(free):
        if obstacles is None or layers.refusals[broken]:
            text = f'Waypoint {waypoint}: no posture is allowed.'
            if layers.refusals[broken]:
                text = f'Waypoint {waypoint}: no posture that is free is accepted by the caller.'
            return PathFailure(waypoint, Cause.CONSTRAINTS, text)
        pairs, times = np.unique(layers.culprits[rows], return_counts=True)
        pair = int(pairs[np.argmax(times)])
        text = f'Waypoint {waypoint}: each of {counted(len(rows), "posture")} collides'
        text += f', most often {obstacles.describe(pair)}.' if pair >= 0 else '.'
        return PathFailure(waypoint, Cause.COLLISION, text)
    before = layers.rows_of(broken - 1)
    reached = before[layers.lengths[before] == broken]
    return _no_step(chain, layers, reached, free, (int(waypoints[broken - 1]), waypoint))


def passes_not_joined(
    number: int, waypoint: int, tried: tuple[int, int], bodies: str
) -> PathFailure:
    """
    Return that no free travel was found from one pass to the next.

    :param number: of the pass before, from 1.
    :param waypoint: its last one.
    :param tried: motions of the last search, and pairs of postures that were tried.
    :param bodies: names of the pair that was in the way most often; may be empty.
    """
    text = (
        f'Passes {number} and {number + 1} are not joined: no free travel was found from waypoint {waypoint} to '
        f'{waypoint + 1}, in {counted(tried[0], "motion")} between {counted(tried[1], "pair")} of postures'
    )
    text += f'; most often {bodies}.' if bodies else '.'
    return PathFailure(waypoint + 1, Cause.COLLISION, text)


def _no_postures(waypoint: int, counts: IntArray) -> PathFailure:
    """Return why a waypoint has no posture at all."""
    branches, outside, refused = (int(value) for value in counts)
    name = f'Waypoint {waypoint}'
    if branches == 0 and refused > 0:
        return PathFailure(waypoint, Cause.UNREACHABLE, f'{name} is out of reach.')
    if outside > 0:
        text = f'{name}: each of {counted(outside, "posture")} is outside the joint limits.'
        return PathFailure(waypoint, Cause.LIMITS, text)
    return PathFailure(waypoint, Cause.NOT_FOUND, f'{name}: no posture was found that reaches it.')


def _no_step(
    chain: ToolChain, layers: Layers, reached: IntArray, free: IntArray, names: tuple[int, int]
) -> PathFailure:
    """Return which joint stands between two neighbouring waypoints, by the pair of postures that are nearest."""
    broken = int(layers.layer_of(free[:1])[0])
    reached = reached[np.linspace(0, len(reached) - 1, min(len(reached), MOST_ROWS)).astype(int)]
    free = free[np.linspace(0, len(free) - 1, min(len(free), MOST_ROWS)).astype(int)]
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
    """Return which limit of a joint one of its values is near; empty for none."""
    low, high = chain.chain.lower[joint], chain.chain.upper[joint]
    if not math.isfinite(high - low):
        return ''
    room = NEAR_LIMIT * (high - low)
    if values.min() < low + room:
        return 'lower'
    return 'upper' if values.max() > high - room else ''
