"""
Trace curves on which six or fewer joints move while the tip does not move; they exist only at singular poses.

Only curves through given postures are followed. The tracer needs seven joints, so joints are added to the chain, with
the value zero. A curve along which an added joint moves is left out. A curve is stored as knots: postures with tangents
and arc lengths.
"""

import dataclasses
import itertools

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray, wrap_angles
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.self_motions import segments, trace
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.plan import AnalyticPlan, CERTIFIED_ERROR
from ssik_ros.solvers.self_motions.curve import (
    JOINTS,
    orthonormal_numbers,
    split_curves,
    TracedPose,
)
from ssik_ros.solvers.self_motions.motions import SelfMotions
from ssik_ros.solvers.self_motions.objectives import ClearanceMaker
from ssik_ros.solvers.self_motions.tracer import follow_curves

SEVEN = len(JOINTS)
LEAST_JOINTS = 2
STANDS = 1e-7
"""Largest motion of an added joint along a curve that counts as rounding [rad]."""
SINGULAR_VALUE = 1e-6
"""Smallest singular value below which a posture counts as singular, with metres as shares of the arm's size."""
RESOLVED = 1e-4
"""Smallest useful singular value of the Jacobian of all seven joints."""
STARTS = 256
"""Number of starts of Newton's method in the search for further curves of a pose."""
COMPARED_SPACING = 0.03
"""Spacing of the points of a curve that are compared with postures [rad]."""
REFERENCES = 8
"""Most postures that are tried as the reference of the joints added at the tip."""
PER_JOINT = ('joint_names', 'kinds', 'axes', 'points', 'lower', 'upper', 'joint_indices', 'idx_q')
"""Attributes of a chain with one entry for each joint."""
OPEN = 'only the curves through the postures that were met are followed: six joints have curves at singular poses only'


def follow_continuum(
    chain: SerialChain, postures: FloatArray, clearance: ClearanceMaker | None = None
) -> SelfMotions | None:
    """
    Return the curves of postures through given postures of one singular pose, within the limits.

    Return None if no curve is found, also if no given posture is singular. Other curves of the pose may exist.

    The chain is filled up to seven joints with joints that must not move along a curve. They complete the rank of the
    Jacobian, which may change along a curve, as at a straight wrist. So each place in the chain is tried for them.

    :param chain: two to six joints.
    :param postures: (k, n) solutions of the pose. They may be outside the limits if their curves pass inside.
    :param clearance: makes the objective ``clearance``; None if the robot has no geometry.
    """
    n = len(chain.axes)
    rows = np.atleast_2d(np.asarray(postures, dtype=np.float64))
    rows = rows[find_singular(chain, rows)] if LEAST_JOINTS <= n < SEVEN else rows[:0]
    if not len(rows):
        return None
    target, left, parts = chain.pose(rows[0]), rows, []
    while len(left):
        inside_limits, whole = _follow_best(chain, left[0], target)
        parts += inside_limits
        left = left[1:]
        for part in whole:
            left = left[~_lie_on(left, part)]
    last = _complete_at_tip(chain, rows)
    if not parts or last is None:
        return None
    counts = np.array([len(part) for part in parts], dtype=np.int64)
    shared = _share(last, n, target, clearance)
    return SelfMotions(shared, np.vstack(parts), counts, 0.0, lambda: OPEN)


def spread_postures(chain: SerialChain, target: FloatArray, rows: FloatArray) -> FloatArray:
    """
    Return singular postures of a pose (k, n): those in ``rows``, and others that Newton's method finds.

    Limits of revolute joints are ignored; limits of prismatic joints are kept. A posture may come several times.

    Newton's method starts at random postures of the chain with added joints, up to seven in all. A solution counts only
    if its added joints are zero. If no posture in ``rows`` is singular and the chain has fewer than six joints, the
    result is empty.

    :param chain: two to six joints.
    :param target: (4, 4) pose of the tip in the base.
    :param rows: (k, n) solutions of the pose.
    """
    n, rows = len(chain.axes), rows[find_singular(chain, rows)]
    tip = chain.home[:3, 3]
    if len(rows):
        wholes = [(place, _complete(chain, rows[0], place)) for place in range(n + 1)]
    elif n == SEVEN - 1:
        axes = chain.home[:3, :3].T
        wholes = [(n, insert_joint(chain, 'added', axis, tip, n)) for axis in axes]
    else:
        wholes = []
    for place, whole in wholes:
        if whole is None:
            continue
        shared, added = _share(whole, SEVEN, target), list(range(place, place + SEVEN - n))
        slides = whole.kinds == JointKind.PRISMATIC
        low, high = np.where(slides, whole.lower, -np.pi), np.where(slides, whole.upper, np.pi)
        q = low + (high - low) * np.random.default_rng(place).random((STARTS, SEVEN))
        met = shared.without_limits(np.flatnonzero(~slides)).descend(q)
        met = met[(np.abs(met[:, added]) < STANDS).all(axis=1)]
        met = np.delete(met, added, axis=1)
        rows = np.vstack([rows, met[find_singular(chain, met)]])
    return rows


def _follow_best(
    chain: SerialChain, posture: FloatArray, target: FloatArray
) -> tuple[list[FloatArray], list[FloatArray]]:
    """
    Return two lists of curves through a posture: within the limits, and without limits of revolute joints.

    Each curve is an array of its knots: postures with tangents and arc lengths. The added joints are put at the place
    in the chain where the fewest curves end in crossings or singular postures. Both lists are empty if no place yields
    a curve.
    """
    best: tuple[int, tuple[list[FloatArray], list[FloatArray]]] | None = None
    for place in range(len(chain.axes), -1, -1):
        whole = _complete(chain, posture, place)
        curves = _follow(whole, place, target, posture[None]) if whole else ([], [])
        cost = sum(int((part[:, segments.KIND] >= trace.CROSSING).sum()) for part in curves[1])
        if curves[1] and (best is None or cost < best[0]):
            best = cost, curves
        if best is not None and best[0] == 0:
            break
    return best[1] if best else ([], [])


def _lie_on(rows: FloatArray, part: FloatArray) -> NDArray[np.bool_]:
    """
    Return a mask (k,) of the postures on a curve: their joint difference from a point of it has a norm below 0.03.

    :param rows: (k, n) postures of the arm.
    :param part: stored postures of the curve with tangents and arc lengths, the added joints last.
    """
    points = []
    for a, b in itertools.pairwise(part):
        width = b[segments.ARC] - a[segments.ARC]
        u = np.linspace(0.0, 1.0, int(np.ceil(width / COMPARED_SPACING)) + 1)[:, None]
        v, m, k = 1.0 - u, segments.TANGENT, rows.shape[1]
        rise = v * width * a[m : m + k] - u * width * b[m : m + k]
        ends = v * v * (1.0 + 2.0 * u) * a[:k] + u * u * (1.0 + 2.0 * v) * b[:k]
        points.append(ends + u * v * rise)
    differences = rows[:, None] - np.vstack([part[:1, : rows.shape[1]], *points])
    return np.asarray(
        np.linalg.norm(wrap_angles(differences), axis=2).min(axis=1) < COMPARED_SPACING
    )


def _complete_at_tip(chain: SerialChain, rows: FloatArray) -> SerialChain | None:
    """
    Return the chain with joints added at the tip, up to seven, or None if no posture yields enough joints.

    The added joints are chosen at one of the first REFERENCES (8) postures: the one at which they suit all postures (k,
    n) best.
    """
    best, largest = None, 0.0
    for q in rows[:REFERENCES]:
        whole = _complete(chain, q, len(chain.axes))
        if whole is None:
            continue
        zeros = np.zeros(SEVEN - len(q))
        least = min(np.linalg.svd(_jacobian(whole, np.append(row, zeros)))[1][-1] for row in rows)
        if best is None or least > largest:
            best, largest = whole, least
    return best


def find_singular(chain: SerialChain, rows: FloatArray) -> IntArray:
    """
    Return the indices of the postures at which the joints can move while the tip does not, to first order.

    :param chain: up to seven joints.
    :param rows: (k, n) postures.
    """
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    # The rank does not depend on the point whose velocity is used.
    moved = chain.moved(rows)
    jacobians = moved.jacobians(moved.points[:, -1], _size(chain))
    least = np.linalg.svd(jacobians, compute_uv=False)[:, -1]
    return np.asarray(np.flatnonzero(least < SINGULAR_VALUE), dtype=np.int64)


def insert_joint(
    chain: SerialChain, name: str, axis: FloatArray, point: FloatArray, place: int
) -> SerialChain:
    """
    Return a chain with an added revolute joint, without limits.

    :param chain: the arm.
    :param name: name of the new joint.
    :param axis: (3,) unit vector in the base, with all joints at zero.
    :param point: (3,) point on the axis in the base, with all joints at zero [m].
    :param place: number of joints before the new joint.
    """
    names = list(chain.joint_names)
    names.insert(place, name)
    return SerialChain(
        base_link=chain.base_link,
        tip_link=chain.tip_link,
        joint_names=tuple(names),
        kinds=np.insert(chain.kinds, place, JointKind.CONTINUOUS),
        axes=np.insert(chain.axes, place, axis, axis=0),
        points=np.insert(chain.points, place, point, axis=0),
        home=chain.home.copy(),
        lower=np.insert(chain.lower, place, -np.inf),
        upper=np.insert(chain.upper, place, np.inf),
        joint_indices=np.insert(chain.joint_indices, place, -1),
        idx_q=np.insert(chain.idx_q, place, -1),
    )


def _jacobian(chain: SerialChain, q: FloatArray) -> FloatArray:
    """
    Return the Jacobian of the tip (6, n) in the base frame at a posture (n,).

    It has three linear rows, then three angular ones. Linear rows are divided by the arm's length.
    """
    return np.asarray(chain.moved(q[None]).jacobians(length=_size(chain))[0])


def _size(chain: SerialChain) -> float:
    """Return the length of an arm, summed from axis to axis [m]; 1 for an arm of length zero."""
    return chain.length or 1.0


def _complete(chain: SerialChain, q: FloatArray, place: int) -> SerialChain | None:
    """
    Return the chain filled up to seven joints, so that the Jacobian has full rank at a singular posture.

    The new joints move the tip in the directions in which the posture cannot. Return None if too few such joints are
    found.

    :param chain: two to six joints.
    :param q: (n,) a singular posture.
    :param place: number of joints before the new joints.
    """
    n, size, tip = len(chain.axes), _size(chain), chain.pose(q)[:3, 3]
    points = chain.moved(q[None]).points[0]
    places = [points[min(place, n - 1)], *points, tip, tip + 0.5 * size * np.eye(3)[0]]
    before = {name: getattr(chain, name)[:place] for name in PER_JOINT}
    here = dataclasses.replace(chain, **before, home=np.eye(4))
    link = here.pose(q[:place]) if place else np.eye(4)
    whole = chain
    for rank in range(n, SEVEN):
        # Take a force and moment on the tip that no joint feels. The axis is their moment about a point.
        force = np.linalg.svd(_jacobian(whole, q))[0][:, rank - 1]
        for point in places:
            moment = force[3:] + np.cross(tip - point, force[:3] / size)
            length = float(np.linalg.norm(moment))
            if length < RESOLVED:
                continue
            line = link[:3, :3].T @ moment / length, link[:3, :3].T @ (point - link[:3, 3])
            longer = insert_joint(whole, f'added_{rank}', *line, place)
            moved = np.insert(q, place, 0.0)
            if np.linalg.svd(_jacobian(longer, moved))[1][rank - 1] > RESOLVED:
                whole, q = longer, moved
                break
        else:
            return None
    return whole


def _share(
    whole: SerialChain, dof: int, target: FloatArray, clearance: ClearanceMaker | None = None
) -> TracedPose:
    """
    Return the data that all curves of one pose share, for a chain filled up to seven joints.

    :param whole: seven joints, the added ones included.
    :param dof: number of leading joints that results show.
    :param target: (4, 4) pose of the tip in the base.
    :param clearance: makes the objective ``clearance``; None leaves it out.
    """
    plan, numbers, limits = (
        _bare_plan(whole),
        orthonormal_numbers(target),
        (whole.lower, whole.upper),
    )
    return TracedPose(plan, dof, plan.reals, numbers, CERTIFIED_ERROR, *limits, clearance)


def _follow(
    whole: SerialChain, place: int, target: FloatArray, rows: FloatArray
) -> tuple[list[FloatArray], list[FloatArray]]:
    """
    Return two lists of curves: within the limits, and without limits of revolute joints; each curve as its knots.

    Knots are postures with tangents and arc lengths. Curves along which an added joint moves are left out. The added
    joints are last in the knots.

    :param whole: seven joints, the added ones included.
    :param place: index of the first added joint.
    :param target: (4, 4) pose of the tip in the base.
    :param rows: (k, n) postures without the added joints.
    """
    shared, added = _share(whole, SEVEN, target), range(place, place + SEVEN - rows.shape[1])
    seeds = np.insert(rows, [place] * len(added), 0.0, axis=1)
    turning = np.flatnonzero(whole.kinds != JointKind.PRISMATIC)
    free = _still_parts(*follow_curves(shared.without_limits(turning), seeds), added)
    met = shared.starts_inside(seeds, free)
    parts = _still_parts(*follow_curves(shared, met), added) if len(met) else []
    return [_put_last(part, added) for part in parts], [_put_last(part, added) for part in free]


def _still_parts(knots: FloatArray, counts: IntArray, added: range) -> list[FloatArray]:
    """
    Return the knots of each curve along which the added joints do not move; other curves are left out.

    :param knots: knots, postures with tangents and arc lengths, of all curves in turn.
    :param counts: number of knots of each curve.
    :param added: indices of the added joints.
    """
    parts = split_curves(knots, counts)
    return [part for part in parts if np.abs(part[:, added]).max() < STANDS]


def _put_last(part: FloatArray, added: range) -> FloatArray:
    """
    Return a copy of a curve's knots with the added joints moved to the end and set to zero.

    A knot is a posture with a tangent, an arc length and a code of its kind. If the code names a joint at its limit, it
    gets the new index of this joint.
    """
    order = [k for k in range(SEVEN) if k not in added]
    moved, kinds = part.copy(), part[:, segments.KIND]
    for first in (0, segments.TANGENT):
        moved[:, first : first + len(order)] = part[:, [first + k for k in order]]
        moved[:, first + len(order) : first + SEVEN] = 0.0
    for row in np.flatnonzero((kinds > trace.LIMIT) & (kinds < trace.CLOSED)):
        joint, is_upper = divmod(round(32.0 * (kinds[row] - trace.LIMIT)) - 1, 2)
        code = 2 * order.index(joint) + is_upper + 1
        moved[row, segments.KIND] = trace.LIMIT + code / 32.0
    return np.ascontiguousarray(moved)


def _bare_plan(chain: SerialChain) -> AnalyticPlan:
    """Return a plan for a chain of seven joints that has only its kinematics and limits, and no closed form."""
    ints = np.zeros(search.PLAN_INTS, dtype=np.int64)
    ints[search.N], ints[search.HELD] = SEVEN, SEVEN - 1
    ints[search.SLIDES] = chain.packed.slides
    axes, points, home, _ = chain.packed
    reals = np.concatenate([axes, points, home, np.zeros(12), chain.lower, chain.upper])
    return AnalyticPlan(chain, 'continuum', 'search', '', SEVEN - 1, ints, reals)
