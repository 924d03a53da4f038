"""
A lower bound on the cost of any joint path along waypoints.

While joint j turns by dq_j, the tip moves by at most |dq_j| r_j and turns by at most |dq_j|: r_j is the largest distance
of the tip from the axis in any posture. A step over a distance d and an angle a therefore has sum r_j |dq_j| >= d and
sum |dq_j| >= a. Each objective is bounded by that, step by step.
"""

import math

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.paths.layers import (
    LARGEST_STEP,
    SUM_OF_LARGEST,
    SUM_OF_SQUARES,
    SUM_OF_STEPS,
)
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.paths.layered_search import StepLimits
from ssik_ros.paths.tool_chain import ToolChain


def lower_bound(
    chain: ToolChain, poses: FloatArray, limits: StepLimits, spin_axis: FloatArray | None
) -> float:
    """
    Return a proved lower bound on the cost of any joint path.

    :param chain: the joints.
    :param poses: (m, 4, 4) waypoints.
    :param limits: the objective, with its weights.
    :param spin_axis: axis about which the tool may turn; None for exact poses.
    """
    ways = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
    angles = _angles(poses[:, :3, :3], spin_axis)
    levers, turns = tip_levers(chain), (chain.chain.kinds != JointKind.PRISMATIC).astype(float)
    steps = np.maximum(_bound(ways, levers, limits), _bound(angles, turns, limits))
    return float(steps.max(initial=0.0) if limits.objective == LARGEST_STEP else steps.sum())


def _bound(ways: FloatArray, levers: FloatArray, limits: StepLimits) -> FloatArray:
    """Return the least cost (m - 1,) of steps with sum levers |dq| >= ways."""
    # In units of the objective, w_j |dq_j| = s_j: sum (levers_j / w_j) s_j >= way.
    own = levers / limits.weights
    best: dict[int, float] = {
        SUM_OF_STEPS: float(own.max()),
        SUM_OF_SQUARES: float(np.sqrt(own @ own)),
        LARGEST_STEP: float(own.sum()),
        SUM_OF_LARGEST: float(own.sum()),
    }
    least = ways / best[limits.objective] if best[limits.objective] > 0.0 else np.zeros(len(ways))
    return least**2 if limits.objective == SUM_OF_SQUARES else least


def tip_levers(chain: ToolChain) -> FloatArray:
    """
    Return the largest distance (n,) of the tip from the axis of each joint in any posture; 1 for slides.

    :param chain: the joints.
    """
    own = chain.chain
    slides = own.kinds == JointKind.PRISMATIC
    places = np.vstack([own.points, own.home[:3, 3]])
    lengths = np.linalg.norm(np.diff(places, axis=0), axis=1)
    furthest = np.maximum(np.abs(own.lower), np.abs(own.upper))
    lengths[slides] += furthest[slides]
    reach = np.cumsum(lengths[::-1])[::-1]
    return np.asarray(np.where(slides, 1.0, reach))


def _angles(rotations: FloatArray, spin_axis: FloatArray | None) -> FloatArray:
    """Return the angles (m - 1,) between neighbouring orientations, or between their spin axes [rad]."""
    if spin_axis is not None:
        axes = rotations @ spin_axis
        sines = np.linalg.norm(np.cross(axes[:-1], axes[1:]), axis=1)
        cosines = np.einsum('mi,mi->m', axes[:-1], axes[1:])
        return np.asarray(np.arctan2(sines, cosines))
    # The Frobenius norm of the difference is 2 sqrt(2) sin(angle / 2); a cosine would lose small angles.
    chords = np.linalg.norm(np.diff(rotations, axis=0), axis=(1, 2))
    return np.asarray(2.0 * np.arcsin(np.clip(chords / math.sqrt(8.0), 0.0, 1.0)))
