"""
Arms and poses of the oracle for self-motions.

``NAME`` is an arm of the catalogue with seven joints. ``NAME+z`` is an arm with six joints whose tool may spin about
z, and ``rail+NAME`` an arm with six joints on a rail. Poses come from random postures, or from postures of a hard
kind.
"""

from typing import NamedTuple

import numpy as np

from ssik_ros import load_robot, Manipulator
from ssik_ros.manipulator.self_motion_arms import add_spin, TOOL_AXES
from ssik_ros.model.catalogue import arm_data, make_urdf
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain

KINDS = ('random', 'limits', 'aligned', 'singular', 'edge')
RAIL = '<link name="rail_base"/><joint name="rail" type="prismatic"><parent link="rail_base"/><child link="{}"/>'
RAIL += '<origin xyz="0.2 0 0.5" rpy="0.1 0 0.3"/><axis xyz="0 1 0"/>'
RAIL += '<limit lower="-0.4" upper="0.9" effort="1" velocity="1"/></joint></robot>'
TRIES = 300
"""Random postures of which the most nearly singular one is taken."""
CLIMBS = 400
"""Steps towards the edge of reach."""


class Case(NamedTuple):
    """An arm with one redundant joint."""

    arm: Manipulator
    free_axis: str | None
    chain: SerialChain
    """Seven joints; if the case has a free axis, the last joint is the spin."""


def make_case(name: str) -> Case:
    """
    Return an arm.

    :param name: see the module.
    """
    plain, _, axis = name.partition('+')
    if plain == 'rail':
        data = arm_data(axis)
        text = make_urdf(data).replace('</robot>', RAIL.format(data.base_link))
        robot = load_robot(text)
        arm = Manipulator(robot, robot.group_from_links('rail_base', data.tip_link))
        axis = ''
    else:
        arm = Manipulator.from_prebuilt(plain)
    chain = SerialChain.from_group(arm.robot, arm.group)
    return Case(arm, axis or None, add_spin(chain, np.array(TOOL_AXES[axis])) if axis else chain)


def ranges_of(chain: SerialChain) -> np.ndarray:
    """Return the limits (2, n) within a turn."""
    both, turns = np.array([chain.lower, chain.upper]), chain.kinds != JointKind.PRISMATIC
    return np.where(turns, both.clip(-np.pi, np.pi), both)


def draw_postures(chain: SerialChain, kind: str, count: int, seed: int) -> np.ndarray:
    """
    Return postures (count, n) within the limits.

    :param kind: one of :data:`KINDS`. ``limits``: about half of the joints are at or near a limit. ``aligned``: about
        half are at or     near a multiple of a quarter turn. ``singular``: nearly singular. ``edge``: nearly at the
        edge of reach.
    """
    rng, (low, high) = np.random.default_rng(seed), ranges_of(chain)
    size = len(low)
    if kind == 'singular':
        return np.array([_nearly_singular(chain, low, high, rng) for _ in range(count)])
    q = low + (high - low) * rng.random((count, size))
    if kind == 'edge':
        return np.array([_far(chain, row, low, high, rng) for row in q])
    beside = 10.0 ** rng.uniform(-9.0, -1.0, (count, size)) * rng.choice((0.0, 1.0), (count, size))
    is_moved = rng.random((count, size)) < 0.5
    if kind == 'limits':
        is_low = rng.random((count, size)) < 0.5
        q = np.where(is_moved, np.where(is_low, low + beside, high - beside), q)
    if kind == 'aligned':
        quarters = 0.5 * np.pi * np.round(q / (0.5 * np.pi)) + beside
        q = np.where(is_moved & (quarters <= high) & (quarters >= low), quarters, q)
    return q.clip(low, high)


def least_singular(chain: SerialChain, q: np.ndarray) -> np.ndarray:
    """Return the least singular value (m,) of the Jacobians at postures (m, n)."""
    return np.linalg.svd(chain.moved(q).jacobians(), compute_uv=False)[:, -1]


def _nearly_singular(
    chain: SerialChain, low: np.ndarray, high: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return a nearly singular posture: the best of random postures, improved by random steps of shrinking radius."""
    q, best = low + (high - low) * rng.random((TRIES, len(low))), np.empty(0)
    width = 10.0 ** rng.uniform(-6.0, -0.5)
    radius = 0.3
    while True:
        best = q[np.argmin(least_singular(chain, q))]
        if radius < width:
            return best
        q = (best + radius * rng.standard_normal((TRIES // 10, len(low)))).clip(low, high)
        q[0] = best
        radius *= 0.5


def _far(
    chain: SerialChain, q: np.ndarray, low: np.ndarray, high: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return a posture whose tip cannot be much farther along some direction."""
    way, step = rng.standard_normal(3), 0.3
    most, last = chain.pose(q)[:3, 3] @ way, 10.0 ** rng.uniform(-6.0, -1.0)
    for _ in range(CLIMBS):
        other = (q + step * rng.standard_normal(len(q))).clip(low, high)
        reached = chain.pose(other)[:3, 3] @ way
        if reached > most:
            q, most = other, reached
        else:
            step = max(0.97 * step, last)
    return q
