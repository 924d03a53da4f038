"""
Final checks of a joint path: forward kinematics, limits, steps, collisions, and the tool's deviation between waypoints.

Between waypoints each joint moves at a constant rate. Consider a part of length h of such a step, and the chord between
the ends of this part. The tip deviates from the chord by at most h^2 / 8 times its largest second derivative. This
derivative is at most ``sum |dq_i| |dq_j| r`` over pairs of joints whose earlier one turns. Here r bounds the distance
of the tip from the axis of the later joint, and is 1 for a slide. A box of tolerated positions adds further terms,
because it turns with the waypoint.
"""

from collections.abc import Callable
import math

import numpy as np

from ssik_ros.arrays import are_inside, FloatArray
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.paths.bounding.tip_ways import tip_levers
from ssik_ros.paths.collisions.obstacles import Obstacles
from ssik_ros.paths.control import do_nothing
from ssik_ros.paths.pose_freedom import PoseFreedom
from ssik_ros.paths.rotations import rotation_vectors, rotations
from ssik_ros.paths.steps import StepLimits
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.paths.travel import TravelSearch

STEP_ROUNDING = 1e-9
"""Distance by which rounding may make a step larger than its limit [rad or m]."""
PARTS = 8
"""Parts of a step in which the tool is looked at."""


def check_path(
    chain: ToolChain, q: FloatArray, poses: FloatArray, limits: StepLimits, freedom: PoseFreedom
) -> str:
    """
    Return the first error of a path as text; empty if it keeps joint limits, largest steps and tolerances.

    :param chain: the joints.
    :param q: (m, n) one posture per waypoint.
    :param poses: (m, 4, 4) waypoints.
    :param limits: largest steps.
    :param freedom: tolerance of the tool's pose at each waypoint.
    """
    if not np.isfinite(q).all():
        return 'a joint value is not finite'
    if not _keeps_limits(chain, q):
        return 'a joint is outside its limits'
    if not (np.abs(np.diff(q, axis=0)) <= limits.largest[1:] + STEP_ROUNDING).all():
        return 'a step is too large'
    miss = freedom.miss(np.arange(len(q)), poses, chain.poses(q))
    wrong = np.flatnonzero(miss.is_missed)
    if len(wrong):
        first = int(wrong[0])
        return f'waypoint {first} is missed by {miss.position[first]:.3g} m and {miss.angle[first]:.3g} rad'
    return ''


def _keeps_limits(chain: ToolChain, q: FloatArray) -> bool:
    """Return whether all joint values of postures ``q`` (k, n) are within their limits, up to rounding."""
    serial = chain.chain
    return bool(are_inside(q, serial.lower, serial.upper, LIMIT_ROUNDING).all())


def check_collisions(
    q: FloatArray,
    obstacles: Obstacles,
    limits: StepLimits,
    look_up: Callable[[int], None] = lambda waypoint: None,
) -> str:
    """
    Return a text about a collision of a path; empty if postures and motions are free.

    All waypoints are checked first, then the motions between them. The text is about the first colliding waypoint, or
    else about the first colliding motion, with the names of the two bodies.

    :param q: (m, n) one posture per waypoint, angles not wrapped.
    :param obstacles: the collision checks, with the requested clearance.
    :param limits: tells which steps are free travel; their straight motions are not checked.
    :param look_up: called with the index of each waypoint, and with the last index during the check of the motions; it
        raises an exception to stop.
    """
    for waypoint, posture in enumerate(q):
        look_up(waypoint)
        if obstacles.is_colliding(posture):
            return f'waypoint {waypoint} collides'
    reached, pairs = obstacles.follow(q, lambda: look_up(len(q) - 1))
    blocked = np.flatnonzero((reached < 1.0) & ~limits.is_travel)
    if len(blocked):
        first = int(blocked[0])
        return f'{obstacles.describe(int(pairs[first]))} on the way to waypoint {first + 1}'
    return ''


def check_travel(
    chain: ToolChain, corners: FloatArray, ends: FloatArray, travel: TravelSearch | None
) -> str:
    """
    Return the first error of free travel as text; empty if it joins its ends, keeps the limits and is free.

    :param chain: the joints.
    :param corners: (k, n) corners.
    :param ends: (2, n) postures that the free travel has to begin and end with.
    :param travel: the search that tells whether motions are free; None for no collision checks.
    """
    if not np.isfinite(corners).all() or (corners[[0, -1]] != ends).any():
        return 'free travel does not join its passes'
    if not _keeps_limits(chain, corners):
        return 'free travel leaves the joint limits'
    return '' if travel is None or travel.is_free(corners) else 'free travel collides'


def deviations(
    chain: ToolChain,
    q: FloatArray,
    poses: FloatArray,
    limits: StepLimits,
    freedom: PoseFreedom,
    look_up: Callable[[], None] = do_nothing,
) -> FloatArray:
    """
    Return bounds (m - 1,) on the distance by which the tool leaves its tolerance between two waypoints [m].

    The pose between two waypoints is interpolated, and the ranges of both tolerances are allowed around it. The value
    for free travel is 0.

    :param chain: the joints.
    :param q: (m, n) one posture per waypoint.
    :param poses: (m, 4, 4) waypoints.
    :param limits: tells which steps are free travel.
    :param freedom: tolerance of the tool's pose at each waypoint.
    :param look_up: called for each of several parts of the steps; it raises an exception to stop.
    """
    steps = np.diff(q, axis=0)
    rows = np.arange(len(steps))
    turns = rotation_vectors(np.swapaxes(poses[:-1, :3, :3], 1, 2) @ poses[1:, :3, :3])
    worst = np.zeros(len(steps))
    for part in np.arange(1, PARTS) / PARTS:
        look_up()
        there = poses[:-1].copy()
        there[:, :3, :3] = there[:, :3, :3] @ rotations(part * turns)
        there[:, :3, 3] += part * (poses[1:, :3, 3] - poses[:-1, :3, 3])
        reached = chain.poses(q[:-1] + part * steps)
        worst = np.maximum(worst, freedom.miss(rows, there, reached, rows + 1).position)
    worst += _bulge(chain, steps, turns, poses, freedom) / (8.0 * PARTS**2)
    return np.where(limits.is_travel, 0.0, worst)


def _bulge(
    chain: ToolChain, steps: FloatArray, turns: FloatArray, poses: FloatArray, freedom: PoseFreedom
) -> FloatArray:
    """
    Return bounds (m - 1,) on the second derivative of the tool's position during each step [m].

    The derivative is by the share of the step, 0 to 1, with the position in the frame of the interpolated waypoint.

    :param steps: (m - 1, n) joint steps.
    :param turns: (m - 1, 3) rotation vectors from each waypoint to the next [rad].
    """
    levers = tip_levers(chain)
    is_turn = chain.chain.kinds != JointKind.PRISMATIC
    sizes, total = np.abs(steps), np.zeros(len(steps))
    for joint, lever in enumerate(levers):
        # Pairs whose later joint is this one; the product of a slide with a later turn bends the slide's way.
        earlier = (
            2.0 * (sizes[:, :joint] * is_turn[:joint]).sum(axis=1)
            + sizes[:, joint] * is_turn[joint]
        )
        total += sizes[:, joint] * lever * earlier
    room = np.maximum(np.abs(freedom.lower[:, :3]), np.abs(freedom.upper[:, :3]))
    if not room.any():
        return total
    # A box turns with the waypoint: (R^T v)'' has the further terms 2 |w| |v'| and |w|^2 |v|.
    speeds = sizes @ levers + np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
    rates = np.linalg.norm(turns, axis=1)
    widths = np.linalg.norm(room, axis=1)
    sizes_of_v = np.maximum(widths[:-1], widths[1:]) + speeds
    return np.asarray(total + 2.0 * rates * speeds + rates**2 * math.sqrt(3.0) * sizes_of_v)
