"""
Prove that the curves found for a pose are complete, or say why the proof fails.

Complete means that no curve is missing on which the held joint moves by more than the resolution.
"""

import itertools
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.closed_form.self_motions import proof, segments, trace
from ssik_ros.kernels.geometry.rotations import pose_from_numbers
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import MovedChain, SerialChain
from ssik_ros.solvers.self_motions.curve import TracedPose

POSTURES = 16
"""Number of random postures at which bounds are compared."""
SHARES = (0.125, 0.25, 0.5)
"""Candidates for the length that counts as one radian, as shares of the arm's length."""
HARDLY_MOVING = 0.05
"""Largest component of the held joint in the unit tangent at which it counts as hardly moving."""
CANDIDATE_ENTRY_ERROR = 1e-4
"""Largest error in an entry of the pose at which a candidate is a solution: near a fold, rounding grows to its square
root."""


class PointBound(NamedTuple):
    """
    A point on a joint axis, and a bound on how fast the Jacobian of this point changes.

    A curve is stored as knots: postures on it. The proof of completeness uses the bound to show that no other curve
    passes near the curve between two knots. ``joint`` is the index of the joint.
    """

    joint: int
    along: float
    """Signed distance of the point from the joint's point of the chain, along the axis [m]."""
    length: float
    """Length that counts as one radian [m]."""
    bend: float
    """Bound on the second derivative of the pose error along a unit joint motion, with lengths divided by ``length``
    [1/rad]."""


def choose_bound(chain: SerialChain) -> FloatArray:
    """
    Return the :class:`PointBound` with which the proof of completeness probably needs the fewest steps, as (4,) array.

    The proof shows that no curve is missing. The numbers are the fields: joint index, signed distance along its axis
    [m], length of one radian [m], bound. The cost of each candidate is estimated at random postures, which are the same
    at each call.

    :param chain: seven joints.
    """
    size = chain.length
    low, high = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    q = low + (high - low) * np.random.default_rng(0).random((POSTURES, len(low)))
    moved = chain.moved(q)
    revolute = np.flatnonzero(chain.kinds != JointKind.PRISMATIC).tolist()
    bounds = [
        bound_at(chain, joint, along, share * size)
        for joint, share in itertools.product(revolute, SHARES)
        for along in _places(chain, joint)
    ]
    return np.array(min(bounds, key=lambda bound: _steps(moved, bound)))


def _places(chain: SerialChain, joint: int) -> set[float]:
    """
    Return the points on a joint's axis that are nearest to the axes of the joints before and after.

    Each point is a signed distance from the joint's reference point along the axis [m].
    """
    places = set()
    for other in {max(joint - 1, 0), min(joint + 1, len(chain.axes) - 1)} - {joint}:
        both = np.stack([chain.axes[joint], -chain.axes[other]], axis=1)
        offset = chain.points[other] - chain.points[joint]
        places.add(float(np.linalg.lstsq(both, offset, rcond=None)[0][0]))
    return places


def bound_at(chain: SerialChain, joint: int, along: float, length: float) -> PointBound:
    """
    Return the bound for a given point: a limit on the second derivative of the pose error along any joint motion.

    The formula is in docs/math/self_motions.md. The bound is infinite if a prismatic joint has no limits.

    :param chain: seven joints.
    :param joint: index of a revolute joint.
    :param along: signed distance of the point from the joint's reference point along the axis [m].
    :param length: length that counts as one radian [m].
    """
    n, slides = len(chain.axes), chain.kinds == JointKind.PRISMATIC
    reach = np.zeros(n)
    for joints in (range(joint - 1, -1, -1), range(joint + 1, n)):
        point, total = chain.points[joint] + along * chain.axes[joint], 0.0
        for k in joints:
            if slides[k]:
                total += max(abs(chain.lower[k]), abs(chain.upper[k]))
                reach[k] = 1.0
                continue
            foot = chain.points[k] + chain.axes[k] * (chain.axes[k] @ (point - chain.points[k]))
            total += float(np.linalg.norm(point - foot))
            reach[k], point = total, foot
    turns, matrix = ~slides, np.zeros((n, n))
    for half in (np.arange(joint), np.arange(n - 1, joint, -1)):
        # The joint nearer to the point moves it by its reach; the other joint rotates this velocity.
        for a, b in itertools.combinations_with_replacement(half.tolist(), 2):
            matrix[a, b] = matrix[b, a] = reach[b] / length if turns[a] else 0.0
    matrix = np.sqrt(matrix**2 + 0.25 * np.outer(turns, turns))
    tip_side = np.append(reach[joint + 1 :] / length, np.sqrt(n / 4.0))
    bend = max(np.linalg.norm(matrix, 2), np.linalg.norm(tip_side))
    return PointBound(joint, along, length, float(bend))


def _steps(moved: MovedChain, bound: PointBound) -> float:
    """
    Return the expected cost of a proof with a bound, in arbitrary units: the larger, the more steps.

    The cost is the mean of bound / least singular value of the Jacobian over some postures; infinite for an infinite
    bound.
    """
    if not np.isfinite(bound.bend):
        return np.inf
    at = moved.points[:, bound.joint] + bound.along * moved.axes[:, bound.joint]
    least = np.linalg.svd(moved.jacobians(at, bound.length), compute_uv=False)[:, -1]
    return float(np.mean(bound.bend / np.maximum(least, 1e-9)))


def find_gap(
    pose: TracedPose, knots: FloatArray, rows: IntArray, candidates: FloatArray, bound: FloatArray
) -> str:
    """
    Return a text that says why a curve may be missing; an empty text if the curves are proved to be complete.

    Complete means that no curve is missing on which the held joint moves by more than the resolution.

    :param pose: data shared by the curves.
    :param knots: (k, segments.COLUMNS) stored postures with tangents and arc lengths of all curves, in turn.
    :param rows: (c,) number of rows of ``knots`` of each curve.
    :param candidates: (m, 7) all postures that were found at values of the held joint.
    :param bound: result of :func:`choose_bound`.
    """
    kinds = knots[:, segments.KIND]
    if (kinds == trace.SINGULAR).any():
        return 'a curve ends in a singular posture'
    if (kinds == trace.CROSSING).any():
        return 'two curves cross, or nearly do'
    goes_on = np.ones(len(knots), dtype=np.int64)
    goes_on[np.cumsum(rows) - 1] = 0
    is_on = np.zeros(len(candidates), dtype=np.int64)
    work = np.empty(proof.scratch_size(len(candidates)))
    where = *pose.arguments, work
    if len(knots) and proof.prove(is_on, knots, goes_on, candidates, bound, *where) >= 0:
        return 'a curve passes too near a singular posture for a proof'
    target = pose_from_numbers(pose.target)
    for q in candidates[is_on == 0]:
        if np.abs(pose.plan.chain.pose(q) - target).max() < CANDIDATE_ENTRY_ERROR:
            return _name_gap(pose.plan.chain, pose.plan.held, q)
    return ''


def _name_gap(chain: SerialChain, held: int, q: FloatArray) -> str:
    """
    Return a text about a posture of the pose that was not proved to lie on one of the curves.

    If the held joint hardly moves along the curve through the posture, the text names this joint and the posture.

    :param chain: seven joints.
    :param held: index of the held joint.
    :param q: (7,) the posture.
    """
    moved = chain.moved(q[None])
    tangent = np.linalg.svd(moved.jacobians(moved.points[:, 0])[0])[2][6]
    if abs(tangent[held]) > HARDLY_MOVING:
        return 'a posture was not proved to lie on a curve'
    values = ', '.join(f'{value:.4g}' for value in q)
    return (
        f"'{chain.joint_names[held]}', the joint that is held, hardly moves along a curve that was not followed: "
        f'the one through [{values}]'
    )
