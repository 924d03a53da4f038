"""The last word on a joint path: forward kinematics, limits, steps, collisions."""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.paths.layered_search import StepLimits
from ssik_ros.paths.obstacles import Obstacles
from ssik_ros.paths.tool_chain import ToolChain

POSITION, ANGLE = 1e-6, 1e-6
"""Errors that a waypoint may have [m, rad]."""
ROUNDING = 1e-9


def check_path(
    chain: ToolChain,
    q: FloatArray,
    poses: FloatArray,
    limits: StepLimits,
    spin_axis: FloatArray | None,
) -> str:
    """
    Return what is wrong with a path; empty for nothing.

    :param chain: the joints.
    :param q: (m, n) one row per waypoint.
    :param poses: (m, 4, 4) waypoints.
    :param limits: largest steps.
    :param spin_axis: axis about which the tool may turn; None for exact poses.
    """
    if not np.isfinite(q).all():
        return 'a joint value is not finite'
    own = chain.chain
    if not ((q >= own.lower - ROUNDING) & (q <= own.upper + ROUNDING)).all():
        return 'a joint is outside its limits'
    if len(q) > 1 and not (np.abs(np.diff(q, axis=0)) <= limits.largest + ROUNDING).all():
        return 'a step is too large'
    for waypoint, (posture, pose) in enumerate(zip(q, poses, strict=True)):
        reached = chain.pose(posture)
        error = float(np.linalg.norm(reached[:3, 3] - pose[:3, 3]))
        between = pose[:3, :3].T @ reached[:3, :3]
        turned = between - np.eye(3) if spin_axis is None else between @ spin_axis - spin_axis
        if error > POSITION or np.linalg.norm(turned) > ANGLE:
            return f'waypoint {waypoint} is missed by {error:.3g} m'
    return ''


def check_collisions(q: FloatArray, obstacles: Obstacles) -> str:
    """
    Return what is wrong with a path among obstacles; empty for nothing.

    :param q: (m, n).
    :param obstacles: what must not be touched, with the clearance that was asked.
    """
    for waypoint, posture in enumerate(q):
        if obstacles.is_colliding(posture):
            return f'waypoint {waypoint} collides'
    reached, pairs = obstacles.follow(q)
    blocked = np.flatnonzero(reached < 1.0)
    if len(blocked):
        first = int(blocked[0])
        return f'{obstacles.describe(int(pairs[first]))} on the way to waypoint {first + 1}'
    return ''
