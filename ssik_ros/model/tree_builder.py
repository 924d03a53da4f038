"""Build the kinematic tree of a checked URDF, with its effective limits and its rules of mimic joints."""

from collections.abc import Mapping
import math

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.model.joint_limits import JointLimits, limited_variables
from ssik_ros.model.kinematic_tree import JointKind, KinematicTree, POSITION_SIZE
from ssik_ros.model.urdf.data import Mimic, MOVING_TYPES, Urdf, UrdfJoint


def build_tree(
    urdf: Urdf,
    limits: Mapping[str, JointLimits],
    followers: Mapping[str, Mimic],
) -> KinematicTree:
    """
    Return the kinematic tree of a description.

    :param urdf: a checked description.
    :param limits: effective limits by the names of the position variables.
    :param followers: resolved mimic rules.
    """
    order = urdf.depth_first()
    joints = [joint for joint in order if joint.type in MOVING_TYPES]
    index = {joint.name: i for i, joint in enumerate(joints)}
    kinds = [_kind_of(joint, limits) for joint in joints]
    sizes = [POSITION_SIZE[kind] for kind in kinds]
    parents, placements, carriers, link_placements = _place(order)
    lower, upper, velocity = _stack_limits(joints, limits, sizes)
    identity = Mimic('', 1.0, 0.0)
    rules = [followers.get(joint.name, identity) for joint in joints]
    return KinematicTree(
        name=urdf.name,
        root_link=urdf.root,
        joint_names=tuple(index),
        kinds=np.array(kinds, dtype=np.int64),
        parents=parents,
        placements=placements,
        axes=np.array([joint.axis for joint in joints]).reshape(-1, 3),
        idx_q=np.concatenate([[0], np.cumsum(sizes)])[: len(joints)].astype(np.int64),
        lower=lower,
        upper=upper,
        velocity=velocity,
        leaders=np.array([index.get(rule.joint, -1) for rule in rules], dtype=np.int64),
        multipliers=np.array([rule.multiplier for rule in rules], dtype=np.float64),
        offsets=np.array([rule.offset for rule in rules], dtype=np.float64),
        link_names=(urdf.root, *(joint.child for joint in order)),
        link_joints=carriers,
        link_placements=link_placements,
    )


def _kind_of(joint: UrdfJoint, limits: Mapping[str, JointLimits]) -> JointKind:
    """Return the kind of a moving joint; a continuous joint with limits from a joint_limits.yaml becomes revolute."""
    kind = JointKind[joint.type.upper()]
    if kind == JointKind.CONTINUOUS:
        bound = limits[joint.name]
        if math.isfinite(bound.lower) or math.isfinite(bound.upper):
            return JointKind.REVOLUTE
    return kind


def _place(order: list[UrdfJoint]) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """
    Return which moving joint carries each moving joint and each link, and their poses on these joints.

    The carrier is the last moving joint above; -1 stands for the root link. Poses are in the frame of the carrier after
    its motion, or in the root link. Fixed joints become part of the poses.

    :param order: all joints in model order.
    :returns: (nj,) carrier and (nj, 4, 4) pose of each moving joint; then (nl,) carrier and (nl, 4, 4) pose of each
        link, the root first, then the child links in the order of the joints.
    """
    identity = np.eye(4)
    carriers, link_poses = [-1], [identity]
    row = {order[0].parent: 0} if order else {}
    parents: list[int] = []
    poses: list[FloatArray] = []
    for joint, local in zip(order, _local_poses(order), strict=True):
        above = row[joint.parent]
        row[joint.child] = len(carriers)
        carrier, pose = carriers[above], link_poses[above]
        pose = local if pose is identity else pose @ local
        if joint.type in MOVING_TYPES:
            carrier, moved = len(parents), identity
            parents.append(carriers[above])
            poses.append(pose)
            pose = moved
        carriers.append(carrier)
        link_poses.append(pose)
    return (
        np.array(parents, dtype=np.int64),
        np.array(poses, dtype=np.float64).reshape(-1, 4, 4),
        np.array(carriers, dtype=np.int64),
        np.array(link_poses, dtype=np.float64),
    )


def _local_poses(joints: list[UrdfJoint]) -> FloatArray:
    """Return the pose (n, 4, 4) of each joint's origin in its parent link, by unit quaternions as in urdfdom."""
    half = 0.5 * np.array([joint.rpy for joint in joints], dtype=np.float64).reshape(-1, 3)
    (sr, sp, sy), (cr, cp, cy) = np.sin(half).T, np.cos(half).T
    quaternions = np.stack(
        [
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        ]
    )
    x, y, z, w = quaternions / np.sqrt((quaternions * quaternions).sum(axis=0))
    poses = np.zeros((len(joints), 4, 4))
    poses[:, 0, 0] = 1.0 - (2.0 * y * y + 2.0 * z * z)
    poses[:, 0, 1] = 2.0 * y * x - 2.0 * z * w
    poses[:, 0, 2] = 2.0 * z * x + 2.0 * y * w
    poses[:, 1, 0] = 2.0 * y * x + 2.0 * z * w
    poses[:, 1, 1] = 1.0 - (2.0 * x * x + 2.0 * z * z)
    poses[:, 1, 2] = 2.0 * z * y - 2.0 * x * w
    poses[:, 2, 0] = 2.0 * z * x - 2.0 * y * w
    poses[:, 2, 1] = 2.0 * z * y + 2.0 * x * w
    poses[:, 2, 2] = 1.0 - (2.0 * x * x + 2.0 * y * y)
    poses[:, :3, 3] = np.array([joint.xyz for joint in joints]).reshape(-1, 3)
    poses[:, 3, 3] = 1.0
    return poses


def _stack_limits(
    joints: list[UrdfJoint], limits: Mapping[str, JointLimits], sizes: list[int]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """
    Return lower, upper and velocity limits (nq,) of all position variables; infinite without a limit.

    :param limits: limits by the name of the variable.
    :param sizes: number of position variables of each joint.
    """
    free = JointLimits(-math.inf, math.inf, math.inf)
    rows: list[JointLimits] = []
    for joint, size in zip(joints, sizes, strict=True):
        limited = [limits[variable] for variable in limited_variables(joint)]
        rows += limited + [free] * (size - len(limited))
    table = np.array([(row.lower, row.upper, row.velocity) for row in rows], dtype=np.float64)
    lower, upper, velocity = table.reshape(-1, 3).T.copy()
    return lower, upper, velocity
