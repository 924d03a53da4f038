"""
A quick lower bound on the cost of any joint path along waypoints, from distances and angles between the waypoints.

While joint j turns by dq_j, the tip moves by at most |dq_j| r_j and turns by at most |dq_j|. The lever r_j bounds the
distance of the tip from the axis in any posture. A slide has the lever 1 and does not turn the tip. On each step the
tip moves at least a distance d and turns at least an angle a, after the tolerances are subtracted. So ``sum r_j |dq_j|
>= d`` and, over turning joints, ``sum |dq_j| >= a`` hold. A step costs at least the larger of the least costs that
either of these allows. The bound is the sum over all steps; if the objective is the largest step, it is their maximum.
"""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.paths.layers import (
    LARGEST_STEP,
    SUM_OF_SQUARES,
    SUM_OF_STEPS,
)
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.paths.pose_freedom import PoseFreedom, ROLL, SPIN, TILT
from ssik_ros.paths.rotations import angles_between
from ssik_ros.paths.steps import StepLimits
from ssik_ros.paths.tool_chain import ToolChain


def lower_bound(
    chain: ToolChain, poses: FloatArray, limits: StepLimits, freedom: PoseFreedom
) -> float:
    """
    Return a proved lower bound on the cost of any joint path along waypoints, in units of the objective.

    :param chain: the joints.
    :param poses: (m, 4, 4) waypoints.
    :param limits: the objective and its weights.
    :param freedom: tolerance of the tool's pose at each waypoint.
    """
    distances, angles = _least_motions(poses, freedom)
    levers, turns = tip_levers(chain), (chain.chain.kinds != JointKind.PRISMATIC).astype(float)
    steps = np.maximum(_bound(distances, levers, limits), _bound(angles, turns, limits))
    return float(steps.max(initial=0.0) if limits.objective == LARGEST_STEP else steps.sum())


def _bound(motions: FloatArray, levers: FloatArray, limits: StepLimits) -> FloatArray:
    """
    Return the least cost (m - 1,) of each joint step dq that moves the tool far enough: ``levers @ |dq| >= motions``.

    :param motions: (m - 1,) least distance [m] or angle [rad] of the tool from each waypoint to the next.
    :param levers: (n,) largest motion of the tool per unit of each joint.
    :param limits: the objective and its weights.
    """
    # In units of the objective, w_j |dq_j| = s_j: sum (levers_j / w_j) s_j >= motion.
    gains = levers / np.maximum(limits.weights[1:], 1e-300)
    if limits.objective == SUM_OF_STEPS:
        best = gains.max(axis=1)
    elif limits.objective == SUM_OF_SQUARES:
        best = np.sqrt((gains * gains).sum(axis=1))
    else:
        best = gains.sum(axis=1)
    least = np.where(best > 0.0, motions / np.where(best > 0.0, best, 1.0), 0.0)
    return np.asarray(least**2 if limits.objective == SUM_OF_SQUARES else least)


def tip_levers(chain: ToolChain) -> FloatArray:
    """
    Return the levers (n,) of the tip: a bound on its distance from each joint axis in any posture [m]; 1 for slides.

    The bound is infinite for a turning joint before a slide without limits.

    :param chain: the joints.
    """
    serial = chain.chain
    slides = serial.kinds == JointKind.PRISMATIC
    places = np.vstack([serial.points, serial.home[:3, 3]])
    lengths = np.linalg.norm(np.diff(places, axis=0), axis=1)
    furthest = np.maximum(np.abs(serial.lower), np.abs(serial.upper))
    lengths[slides] += furthest[slides]
    reach = np.cumsum(lengths[::-1])[::-1]
    return np.asarray(np.where(slides, 1.0, reach))


def _least_motions(poses: FloatArray, freedom: PoseFreedom) -> tuple[FloatArray, FloatArray]:
    """
    Return lower bounds (m - 1,) on the distance [m] and the angle [rad] that the tool must move between waypoints.

    The tolerances of both waypoints are subtracted; a bound is 0 if they overlap. The angle is 0 also if one of them
    tolerates roll, pitch or yaw, or if the spin is tolerated and the tool axes differ.

    :param poses: (m, 4, 4) waypoints.
    """
    corners = np.maximum(np.abs(freedom.lower[:, :3]), np.abs(freedom.upper[:, :3]))
    largest_offsets = np.linalg.norm(corners, axis=1)
    distances = (
        np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
        - largest_offsets[:-1]
        - largest_offsets[1:]
    )
    is_tolerated = (freedom.lower != 0.0) | (freedom.upper != 0.0)
    has_spin, has_more = is_tolerated[:, SPIN], is_tolerated[:, ROLL:].any(axis=1)
    axes, cones = np.einsum('mij,mj->mi', poses[:, :3, :3], freedom.axes), freedom.upper[:, TILT]
    sines = np.linalg.norm(np.cross(axes[:-1], axes[1:]), axis=1)
    angles = np.arctan2(sines, np.einsum('mi,mi->m', axes[:-1], axes[1:])) - cones[:-1] - cones[1:]
    is_same_axis = np.abs(np.diff(freedom.axes, axis=0)).max(axis=1) == 0.0
    full_angles = angles_between(poses[:-1, :3, :3], poses[1:, :3, :3]) - cones[:-1] - cones[1:]
    is_spun = has_spin[:-1] | has_spin[1:]
    angles = np.where(is_spun, np.where(is_same_axis, angles, 0.0), full_angles)
    angles[has_more[:-1] | has_more[1:]] = 0.0
    return np.maximum(distances, 0.0), np.maximum(angles, 0.0)
