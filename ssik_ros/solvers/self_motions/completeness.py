"""The proof that the curves of a pose miss none: what it needs of an arm, and what it leaves open."""

import itertools
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.closed_form.self_motions import proof, segments, trace
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.labels import move_axes
from ssik_ros.solvers.self_motions.curve import JOINTS, TracedPose

POSTURES = 16
"""Random postures at which bounds are compared."""
SHARES = (0.125, 0.25, 0.5)
"""Lengths that may count as one radian, as a share of the arm's."""
STILL = 0.05
"""Part of the held joint in the unit tangent up to which it hardly moves."""
REACHES = 1e-4
"""Largest change of an entry of the pose by which a candidate is a solution: next to a fold it is off by the root of rounding."""


class PointBound(NamedTuple):
    """A point of a joint's axis, and how fast the Jacobian changes that is taken there."""

    joint: int
    along: float
    """Distance from the joint's own point along the axis [m]."""
    length: float
    """What counts as one radian [m]."""
    bend: float
    """Bound of the second derivative [1/rad]."""


def choose_bound(chain: SerialChain) -> FloatArray:
    """
    Return the bound (proof.BOUND,) with which the proof needs the fewest steps at some random postures.

    :param chain: seven joints.
    """
    size = float(np.linalg.norm(np.diff([*chain.points, chain.home[:3, 3]], axis=0), axis=1).sum())
    low, high = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    q = low + (high - low) * np.random.default_rng(0).random((POSTURES, len(low)))
    axes, points = move_axes(chain, q)
    revolute = np.flatnonzero(chain.kinds != JointKind.PRISMATIC).tolist()
    bounds = [
        bound_at(chain, joint, along, share * size)
        for joint, share in itertools.product(revolute, SHARES)
        for along in _places(chain, joint)
    ]
    return np.array(min(bounds, key=lambda bound: _steps(chain, axes, points, bound)))


def _places(chain: SerialChain, joint: int) -> set[float]:
    """Return where an axis is nearest to those beside it, as distances from its own point [m]."""
    places = set()
    for other in {max(joint - 1, 0), min(joint + 1, len(chain.axes) - 1)} - {joint}:
        both = np.stack([chain.axes[joint], -chain.axes[other]], axis=1)
        away = chain.points[other] - chain.points[joint]
        places.add(float(np.linalg.lstsq(both, away, rcond=None)[0][0]))
    return places


def bound_at(chain: SerialChain, joint: int, along: float, length: float) -> PointBound:
    """
    Return a point with a bound of the second derivative of what is left at it, see docs/math/self_motions.md.

    :param chain: seven joints.
    :param joint: a revolute one.
    :param along: distance of the point from the joint's own one along the axis [m].
    :param length: what counts as one radian [m].
    """
    n, slides = len(chain.axes), chain.kinds == JointKind.PRISMATIC
    reach = np.zeros(n)
    for way in (range(joint - 1, -1, -1), range(joint + 1, n)):
        point, total = chain.points[joint] + along * chain.axes[joint], 0.0
        for k in way:
            if slides[k]:
                total += max(abs(chain.lower[k]), abs(chain.upper[k]))
                reach[k] = 1.0
                continue
            foot = chain.points[k] + chain.axes[k] * (chain.axes[k] @ (point - chain.points[k]))
            total += float(np.linalg.norm(point - foot))
            reach[k], point = total, foot
    turns, matrix = ~slides, np.zeros((n, n))
    for half in (np.arange(joint), np.arange(n - 1, joint, -1)):
        # The joint that is nearer to the point moves it by its reach, the other one rotates that.
        for a, b in itertools.combinations_with_replacement(half.tolist(), 2):
            matrix[a, b] = matrix[b, a] = reach[b] / length if turns[a] else 0.0
    matrix = np.sqrt(matrix**2 + 0.25 * np.outer(turns, turns))
    beside = np.append(reach[joint + 1 :] / length, np.sqrt(n / 4.0))
    bend = max(np.linalg.norm(matrix, 2), np.linalg.norm(beside))
    return PointBound(joint, along, length, float(bend))


def _steps(chain: SerialChain, axes: FloatArray, points: FloatArray, bound: PointBound) -> float:
    """Return the mean of the bound over the least singular value at postures with these axes, infinity for none."""
    if not np.isfinite(bound.bend):
        return np.inf
    at = points[:, bound.joint] + bound.along * axes[:, bound.joint]
    jacobians = _jacobians(chain, axes, points, at, bound.length)
    least = np.linalg.svd(jacobians, compute_uv=False)[:, -1]
    return float(np.mean(bound.bend / np.maximum(least, 1e-9)))


def _jacobians(
    chain: SerialChain, axes: FloatArray, points: FloatArray, at: FloatArray, length: float
) -> FloatArray:
    """
    Return the transposed Jacobians (k, 7, 6) of a point at some postures.

    :param chain: seven joints.
    :param axes, points: (k, 7, 3) directions of the axes and a point of each.
    :param at: (k, 3) the point.
    :param length: what counts as one radian [m].
    """
    turns = (chain.kinds != JointKind.PRISMATIC)[:, None]
    moves = np.where(turns, np.cross(axes, at[..., None, :] - points), axes) / length
    return np.concatenate([moves, np.where(turns, axes, 0.0)], axis=2)


def find_gap(
    pose: TracedPose, knots: FloatArray, rows: IntArray, candidates: FloatArray, bound: FloatArray
) -> str:
    """
    Return why a curve may be missing, empty when none is.

    :param pose: what the curves share.
    :param knots: (k, segments.COLUMNS) of all curves.
    :param rows: (c,) how many knots each has.
    :param candidates: (m, 7) all postures that were found at values of the held joint.
    :param bound: of :func:`choose_bound`.
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
    where = pose.plan.ints, pose.reals, pose.target, JOINTS, work
    if len(knots) and proof.prove(is_on, knots, goes_on, candidates, bound, *where) >= 0:
        return 'a curve passes too near a singular posture for a proof'
    for q in candidates[is_on == 0]:
        if np.abs(pose.plan.chain.pose(q) - _matrix(pose.target)).max() < REACHES:
            return _name_gap(pose.plan.chain, pose.plan.held, q)
    return ''


def _name_gap(chain: SerialChain, held: int, q: FloatArray) -> str:
    """
    Return what is left open by a posture that is on no curve.

    :param chain: seven joints.
    :param held: index of the held joint.
    :param q: (7,) the posture.
    """
    axes, points = move_axes(chain, q[None])
    tangent = np.linalg.svd(_jacobians(chain, axes, points, points[0, 0], 1.0)[0].T)[2][6]
    if abs(tangent[held]) > STILL:
        return 'a posture was not proved to lie on a curve'
    values = ', '.join(f'{value:.4g}' for value in q)
    return (
        f"'{chain.joint_names[held]}', the joint that is held, hardly moves along a curve that was not followed: "
        f'the one through [{values}]'
    )


def _matrix(target: FloatArray) -> FloatArray:
    """Return a pose (4, 4) of twelve numbers."""
    whole = np.eye(4)
    whole[:3, :3], whole[:3, 3] = target[:9].reshape(3, 3), target[9:]
    return whole
