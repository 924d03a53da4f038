"""Compute the quality of many postures at once: manipulability, distance to the joint limits, and singularity."""

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.model.serial_chain import SerialChain

SINGULAR_POSTURE_RATIO = 1e-5
"""Largest ratio of smallest to largest singular value of a Jacobian at which a posture counts as singular."""

JACOBIANS_PER_BLOCK = 16_384
"""Postures whose Jacobians are in memory at once."""


def best_measures(
    chain: SerialChain, q: FloatArray, counts: IntArray
) -> tuple[NDArray[np.float32], ...]:
    """
    Return for each pose (largest manipulability (m,), largest limit margin (m,) [rad or m]) of its postures.

    Both are NaN for poses without a posture.

    :param chain: the arm.
    :param q: (k, n) postures, ordered by pose.
    :param counts: (m,) how many postures each pose has.
    """
    return tuple(
        largest_of(values, counts) for values in (manipulability(chain, q), limit_margin(chain, q))
    )


def manipulability(chain: SerialChain, q: FloatArray) -> FloatArray:
    """
    Return Yoshikawa's manipulability (k,) of postures: sqrt(det(J J^T)), 0 at a singularity.

    With fewer than six joints it is sqrt(det(J^T J)). J is the Jacobian at the tip, in metres and radians.

    :param chain: the arm.
    :param q: (k, n) postures.
    """
    parts = [
        q[start : start + JACOBIANS_PER_BLOCK]
        for start in range(0, max(1, len(q)), JACOBIANS_PER_BLOCK)
    ]
    return np.concatenate([_volumes(chain.moved(part).jacobians()) for part in parts])


def _volumes(jacobian: FloatArray) -> FloatArray:
    """Return sqrt(det(J J^T)) (k,) of Jacobians J (k, 6, n); sqrt(det(J^T J)) for n < 6."""
    n = jacobian.shape[2]
    if n == 6:
        volume: FloatArray = np.abs(np.linalg.det(jacobian))
        return volume
    flipped = np.swapaxes(jacobian, 1, 2)
    square = jacobian @ flipped if n > 6 else flipped @ jacobian
    determinants: FloatArray = np.sqrt(np.maximum(np.linalg.det(square), 0.0))
    return determinants


def are_singular(chain: SerialChain, q: FloatArray) -> NDArray[np.bool_]:
    """
    Return a mask (k,) of postures that are singular within rounding errors.

    At such a posture, a closed form may miss other postures of the same pose.

    :param chain: the arm.
    :param q: (k, n) postures.
    """
    if not len(q):
        return np.zeros(0, dtype=np.bool_)
    sizes = np.linalg.svd(chain.moved(q).jacobians(), compute_uv=False)
    singular: NDArray[np.bool_] = sizes[:, -1] <= SINGULAR_POSTURE_RATIO * sizes[:, 0]
    return singular


def limit_margin(chain: SerialChain, q: FloatArray) -> FloatArray:
    """
    Return the distance (k,) of each posture from the nearest limit [rad or m]; infinite if no joint has limits.

    :param chain: the arm.
    :param q: (k, n) postures.
    """
    margin: FloatArray = np.minimum(q - chain.lower, chain.upper - q).min(axis=1)
    return margin


def largest_of(values: FloatArray, counts: IntArray) -> NDArray[np.float32]:
    """
    Return the largest value (m,) that belongs to each pose; NaN for poses without values.

    :param values: (k,) ordered by pose.
    :param counts: (m,) how many values each pose has.
    """
    largest = np.full(len(counts), np.nan, dtype=np.float32)
    some = counts > 0
    if some.any():
        starts = np.concatenate([[0], np.cumsum(counts[some])[:-1]])
        largest[some] = np.maximum.reduceat(values, starts)
    return largest
