"""
Find postures on self-motions along which the held joint hardly moves; sampling this joint misses such curves.

The held joint is the joint that the closed form of the arm keeps at one value while it solves for the others.
"""

import itertools
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import are_inside, FloatArray, whole_turns, wrap_angles
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING
from ssik_ros.kernels.geometry.rotations import invert_pose, pose_from_numbers
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL, PLAIN
from ssik_ros.solvers.self_motions.curve import JOINTS, TracedPose

VALUES, MORE_VALUES = 16, 32
"""Number of sampled values of another held joint; of the arm's held joint if no other joint can be held."""
SLOW = (4, 2, 0, 5, 1, 3, 6)
"""Joints in the order in which elimination tries to hold them."""
SLOW_JOINTS = 2
"""Number of joints that elimination holds if the arm has no closed form with any joint held."""
NEAREST, SLIDES, FINE = 8, 4, 128
"""Two joints turn against each other: at most NEAREST postures, by SLIDES of FINE equally spaced angles."""
ALIGNED_START_DISTANCE, ALIGNED_DISTANCE = 0.5, 0.1
"""Largest distance of the joint between from its aligned angle: in starts, and in solutions [rad]."""
AROUND = 64
"""Number of starts with four parallel axes."""
ALIGNMENT_TOLERANCE = 1e-9
"""Largest deviation of parallel or collinear axes: sine of their angle [1], or distance as a share of the arm's size
[1]."""
PARALLEL_AXES_DISTANCE = 0.02
"""Largest distance from the pose at which four parallel axes are tried, as a share of the arm's size."""


class Alignment(NamedTuple):
    """
    Three successive joints: the axes of the first and the last are parallel if the middle one has the angle ``angle``.

    ``first``, ``between`` and ``last`` are the indices of the three joints.
    """

    first: int
    between: int
    last: int
    angle: float
    """Angle of the joint between [rad]."""
    side: float
    """1 if the axes then point in the same direction, -1 if they point in opposite directions."""
    is_line: bool
    """True if the axes are then collinear, so that both joints can turn against each other without effect."""


class StillCurves:
    """
    Finds postures of one arm on curves along which the held joint hardly moves.

    Such a curve exists, for example, if two collinear axes turn against each other. Searches hold other joints, or
    start at postures with parallel axes. They may miss a curve.
    """

    def __init__(self, arm: AnalyticArm) -> None:
        """
        Choose the other joints to hold, and find the joints whose axes can become parallel.

        :param arm: closed form of seven joints, one of them held.
        """
        self._arm, chain = arm, arm.chain
        self._size = float(np.linalg.norm(np.diff(chain.points, axis=0), axis=1).sum())
        self._joints = _choose_joints(arm)
        covered = {arm.plan.held, *self._joints}
        alignments = [
            each for each in find_alignments(chain) if not covered & {each.first, each.last}
        ]
        self._lines = [each for each in alignments if each.is_line]
        self._planes = [each for each in alignments if _is_plane(chain, each, covered)]
        self._requests = [self._request(joint, VALUES) for joint in self._joints]
        if self._lines:
            count = VALUES if self._joints else MORE_VALUES
            self._requests.append(self._request(arm.plan.held, count))
        # Constants that wind joints into their limits; prismatic joints have no windings.
        self._lower, self._upper = chain.lower - LIMIT_ROUNDING, chain.upper + LIMIT_ROUNDING
        has_middle, self._middle = np.isfinite(chain.upper - chain.lower), np.zeros(7)
        self._middle[has_middle] = 0.5 * (chain.lower[has_middle] + chain.upper[has_middle])
        self._is_turning = chain.kinds != JointKind.PRISMATIC

    def postures(self, pose: TracedPose) -> FloatArray:
        """
        Return postures (m, 7) within the limits that reach a pose, found without sampling the held joint densely.

        Each curve along which the held joint hardly moves is likely to pass through one of them.

        :param pose: data shared by the curves of the pose.
        """
        target = pose_from_numbers(pose.target)
        branches = [self._arm.branches(target, request) for request in self._requests]
        met = np.vstack([np.empty((0, 7)), *(each.q for each in branches if each)])
        seeds = [self._around(target, each) for each in self._planes]
        seeds += [self._along(pose, met, each) for each in self._lines]
        moved = pose.descend(np.vstack([np.empty((0, 7)), *seeds]))
        return np.vstack([self._inside(met, list(JOINTS)), moved])

    def _along(self, pose: TracedPose, rows: FloatArray, each: Alignment) -> FloatArray:
        """
        Return starts (m, 7) for a search: two axes are nearly collinear, and their joints turn against each other.

        From each posture near the pose with such axes, several starts differ in the angles of the two joints. Only
        these two joints are sure to be within their limits.

        :param rows: (k, 7) postures at which the search for collinear axes begins.
        :param each: the two joints.
        """
        seeds = slide(rows, each)
        if not len(seeds):
            return seeds
        met = pose.without_limits(JOINTS).descend(seeds)
        met = _nearly_aligned(met, each, ALIGNED_DISTANCE)
        starts = []
        for q in met:
            turned = np.repeat(q[None], FINE, axis=0)
            turned[:, each.first] += 2.0 * np.pi * np.arange(FINE) / FINE
            turned[:, each.last] -= each.side * 2.0 * np.pi * np.arange(FINE) / FINE
            turned = self._inside(turned, [each.first, each.last])
            starts.append(turned[:: max(1, len(turned) // SLIDES)])
        return np.vstack([np.empty((0, 7)), *starts])

    def _request(self, joint: int, count: int) -> BranchRequest:
        """
        Return a request for the branches at ``count`` values of a joint to hold, spread over its range.

        If this joint is revolute, limits are ignored; if it is prismatic, branches are within the limits.
        """
        if self._arm.requests.is_slide(joint):
            return BranchRequest(samples=count, held=joint)
        low, high = self._arm.requests.held_range(joint, PLAIN)
        values = low + (high - low) * (np.arange(count) + 0.5) / count
        return BranchRequest(mode=KEEP_ALL, held=joint, held_values=values)

    def _inside(self, rows: FloatArray, joints: list[int]) -> FloatArray:
        """
        Move joints by whole turns next to the middle of their limits, and return the postures (m, 7) within the limits.

        :param rows: (k, 7) postures; they are not changed.
        :param joints: indices of the joints whose limits count.
        """
        rows = rows - np.where(self._is_turning, whole_turns(rows - self._middle), 0.0)
        is_inside = are_inside(rows, self._lower, self._upper)
        return rows[is_inside[:, joints].all(axis=1)]

    def _around(self, target: FloatArray, each: Alignment) -> FloatArray:
        """
        Return starts (m, 7) for a search: postures with four parallel axes, whose four joints then get random angles.

        The four joints are all but the first, the last, and joint ``between`` of the alignment. Their angles are
        uniform within their limits, at most half a turn from zero, and the same at every call. There are 64 starts, or
        none if the postures with parallel axes miss the pose by too much.

        :param target: (4, 4) pose of the tip in the base.
        :param each: the joint between the parallel axes, and its angle.
        """
        chain = self._arm.chain
        rows = [
            q
            for q, miss in align(chain, target, each)
            if miss < PARALLEL_AXES_DISTANCE * self._size
        ]
        if not rows:
            return np.empty((0, 7))
        seeds = np.repeat(rows, AROUND // len(rows), axis=0)
        four = [k for k in range(7) if k not in (0, each.between, 6)]
        low, high = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
        random = np.random.default_rng(0).random((len(seeds), len(four)))
        seeds[:, four] = low[four] + (high - low)[four] * random
        return seeds


def _choose_joints(arm: AnalyticArm) -> list[int]:
    """
    Return the indices of further joints to hold, without the joint that the arm's plan holds.

    An arc is an interval of a held joint's range in which a branch is within the limits. If the arm is searched on
    arcs, all joints that can be held in such a search are returned. Otherwise the result has the first two joints, in
    the order of SLOW, that can be held in a search without arcs.
    """
    fast: list[int] = []
    slow: list[int] = []
    for joint in filter(arm.requests.can_hold_instead, SLOW):
        has_class = arm.requests.has_arcs(PLAIN._replace(held=joint))
        (fast if has_class else slow).append(joint)
    return fast if arm.requests.has_arcs(PLAIN) else slow[:SLOW_JOINTS]


def find_alignments(chain: SerialChain) -> list[Alignment]:
    """
    Return the pairs of revolute joints, with one joint between, whose axes can become parallel within the limits.

    The limits of the joint between may be exceeded by 0.1 rad.

    :param chain: seven joints.
    """
    alignments = []
    size = float(np.linalg.norm(np.diff(chain.points, axis=0), axis=1).sum())
    for first, side in itertools.product(range(5), (1.0, -1.0)):
        between, last = first + 1, first + 2
        a, m, b = chain.axes[[first, between, last]]
        has_slide = (chain.kinds[[first, between, last]] == JointKind.PRISMATIC).any()
        is_fixed = np.linalg.norm(_cross(a, m)) < ALIGNMENT_TOLERANCE
        if has_slide or is_fixed or abs(side * (a @ m) - b @ m) > ALIGNMENT_TOLERANCE:
            continue
        angle = _angle(m, b, side * a)
        beyond = max(chain.lower[between] - angle, angle - chain.upper[between])
        if beyond > ALIGNED_DISTANCE:
            continue
        point = _moved(chain, between, angle, chain.points[last])
        miss = np.linalg.norm(_cross(point - chain.points[first], a))
        alignments.append(
            Alignment(first, between, last, angle, side, bool(miss < ALIGNMENT_TOLERANCE * size))
        )
    return alignments


def _is_plane(chain: SerialChain, each: Alignment, covered: set[int]) -> bool:
    """
    Return whether four of joints 2 to 6, with the pair of ``each`` among them, get parallel axes.

    Return False if the chain has a prismatic joint, or if one of the four joints is in ``covered``.

    :param covered: indices of the joints that are held in other searches.
    """
    four = [1, 2, 3, 5] if each.first == 3 else [1, 3, 4, 5]
    three = four[:3] if each.first == 3 else four[1:]
    is_there = each.first in (1, 3) and not covered & set(four)
    turns = (chain.kinds != JointKind.PRISMATIC).all()
    across = [np.linalg.norm(_cross(chain.axes[k], chain.axes[three[0]])) for k in three]
    return bool(is_there and turns and max(across) < ALIGNMENT_TOLERANCE)


def slide(rows: FloatArray, each: Alignment) -> FloatArray:
    """
    Return starts (m, 7): the axes of a pair are collinear, and its joints turn against each other by equal steps.

    Up to NEAREST (8) postures with nearly collinear axes are used, with SLIDES (4) steps each; m is 0 without any.

    :param rows: (k, 7) postures.
    :param each: the two joints.
    """
    rows = _nearly_aligned(rows, each, ALIGNED_START_DISTANCE)
    angles = 2.0 * np.pi * np.arange(SLIDES) / SLIDES
    seeds = np.repeat(rows, SLIDES, axis=0)
    turned = np.tile(angles, len(rows))
    seeds[:, each.between] = each.angle
    seeds[:, each.first] += turned
    seeds[:, each.last] -= each.side * turned
    return seeds


def _nearly_aligned(rows: FloatArray, each: Alignment, distance: float) -> FloatArray:
    """
    Return the postures near which two axes are parallel, the nearest first, at most NEAREST (8).

    :param rows: (k, n) postures to choose from.
    :param each: three joints, of which the middle one makes the axes of the other two parallel at its ``angle``.
    :param distance: the middle joint is nearer to this angle than this, modulo 2 pi [rad].
    """
    distances = np.abs(wrap_angles(rows[:, each.between] - each.angle))
    near = np.argsort(distances, kind='stable')[: np.count_nonzero(distances < distance)]
    return rows[near[:NEAREST]]


def align(
    chain: SerialChain, target: FloatArray, each: Alignment
) -> list[tuple[FloatArray, float]]:
    """
    Return two postures at which four of joints 2 to 6 have parallel axes, each with its distance from the pose [m].

    The distance is measured along these axes. The list is empty if the axes cannot have such a direction at this pose.

    :param chain: seven joints.
    :param target: (4, 4) pose of the tip in the base.
    :param each: the joint between the parallel axes, and its angle. All other joints except the first and the last are
        zero.
    """
    placed = target @ invert_pose(chain.home)
    base, tip = chain.axes[0], placed[:3, :3] @ chain.axes[6]
    near, far = chain.axes[1], placed[:3, :3] @ (each.side * chain.axes[5])
    # The direction of the four axes has fixed angles to the first axis and to the last axis.
    cosine, normal = base @ tip, _cross(base, tip)
    square = normal @ normal
    if square < ALIGNMENT_TOLERANCE:
        return []
    a, b = near @ base, far @ tip
    along = ((a - b * cosine) * base + (b - a * cosine) * tip) / square
    left = (1.0 - along @ along) / square
    if left < -PARALLEL_AXES_DISTANCE:
        return []
    rise = (_moved(chain, each.between, each.angle, chain.points[5]) - chain.points[1]) @ near
    postures = []
    for sign in (1.0, -1.0):
        direction = along + sign * np.sqrt(max(left, 0.0)) * normal
        q = np.zeros(7)
        q[0], q[each.between] = _angle(base, near, direction), each.angle
        q[6] = -_angle(tip, far, direction)
        first = _moved(chain, 0, q[0], chain.points[1])
        last = placed @ np.append(_moved(chain, 6, -q[6], chain.points[5]), 1.0)
        postures.append((q, abs(float((last[:3] - first) @ direction) - rise)))
    return postures


def _angle(axis: FloatArray, a: FloatArray, b: FloatArray) -> float:
    """Return the angle about a unit axis (3,) that turns vector ``a`` as near as possible to vector ``b`` [rad]."""
    across = _cross(axis, a)
    return float(np.arctan2(across @ b, a @ b - (a @ axis) * (b @ axis)))


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the vector product of two vectors (3,), faster than numpy's."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def _moved(chain: SerialChain, joint: int, angle: float, point: FloatArray) -> FloatArray:
    """
    Return the position (3,) of a point after one joint has turned by ``angle`` [rad], with all other joints at zero.

    :param point: (3,) position before the turn, in the base frame.
    """
    axis, offset = chain.axes[joint], point - chain.points[joint]
    along = axis * (axis @ offset)
    turned = np.cos(angle) * (offset - along) + np.sin(angle) * _cross(axis, offset)
    return np.asarray(chain.points[joint] + along + turned)
