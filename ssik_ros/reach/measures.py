"""How good the postures of a pose are: manipulability and distance to the limits, of many postures at once."""

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.labels import move_axes


def best_measures(
    chain: SerialChain, q: FloatArray, counts: IntArray
) -> tuple[NDArray[np.float32], ...]:
    """
    Return the best manipulability and the largest limit margin of each pose (m,), NaN for poses without posture.

    :param chain: the arm.
    :param q: (k, n) postures, those of one pose behind those of the pose before.
    :param counts: (m,) how many postures each pose has.
    """
    return tuple(
        _largest(values, counts) for values in (manipulability(chain, q), limit_margin(chain, q))
    )


def manipulability(chain: SerialChain, q: FloatArray) -> FloatArray:
    """
    Return the root of the determinant of J J^T of postures (k,), or of J^T J for less than six joints: 0 at a singularity.

    :param chain: the arm; J is its Jacobian at the tip, in metres and radians.
    :param q: (k, n) postures.
    """
    n = q.shape[1]
    axes, points = move_axes(chain, q)
    tip = _tips(chain, q)
    turns = (chain.kinds != JointKind.PRISMATIC)[:, None]
    jacobian = np.empty((len(q), n, 6))
    jacobian[:, :, :3] = np.where(turns, np.cross(axes, tip[:, None] - points), axes)
    jacobian[:, :, 3:] = np.where(turns, axes, 0.0)
    if n == 6:
        volume: FloatArray = np.abs(np.linalg.det(jacobian))
        return volume
    flipped = np.swapaxes(jacobian, 1, 2)
    square = flipped @ jacobian if n > 6 else jacobian @ flipped
    determinants: FloatArray = np.sqrt(np.maximum(np.linalg.det(square), 0.0))
    return determinants


def limit_margin(chain: SerialChain, q: FloatArray) -> FloatArray:
    """
    Return how far each posture is from the nearest limit (k,) [rad or m]; infinite where no joint has limits.

    :param chain: the arm.
    :param q: (k, n) postures.
    """
    margin: FloatArray = np.minimum(q - chain.lower, chain.upper - q).min(axis=1)
    return margin


def _tips(chain: SerialChain, q: FloatArray) -> FloatArray:
    """Return the places of the tip (k, 3)."""
    places = np.broadcast_to(chain.home[:3, 3], (len(q), 3))
    for joint in reversed(range(len(chain.axes))):
        axis, point, values = chain.axes[joint], chain.points[joint], q[:, joint, None]
        if chain.kinds[joint] == JointKind.PRISMATIC:
            places = places + values * axis
            continue
        arm = places - point
        cosine, sine = np.cos(values), np.sin(values)
        along = (arm @ axis)[:, None] * axis * (1.0 - cosine)
        places = point + cosine * arm + sine * np.cross(axis, arm) + along
    moved: FloatArray = np.asarray(places)
    return moved


def _largest(values: FloatArray, counts: IntArray) -> NDArray[np.float32]:
    """Return the largest value of each pose (m,), NaN for none."""
    largest = np.full(len(counts), np.nan, dtype=np.float32)
    some = counts > 0
    if some.any():
        starts = np.concatenate([[0], np.cumsum(counts[some])[:-1]])
        largest[some] = np.maximum.reduceat(values, starts)
    return largest
