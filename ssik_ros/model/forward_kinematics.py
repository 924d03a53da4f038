"""
Forward kinematics of a tree in plain numpy, for states and set-up; solvers use the kernels.

``T_ab`` is the pose of b in a; quaternions are xyzw and are normalised on the way.
"""

import math

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.model.kinematic_tree import JointKind, KinematicTree, POSITION_SIZE


def rotate_about(axis: FloatArray, angle: float) -> FloatArray:
    """
    Return the rotation (3, 3) about a unit axis.

    :param axis: (3) unit vector.
    :param angle: [rad].
    """
    x, y, z = axis
    c, s = math.cos(angle), math.sin(angle)
    # 1 - cos(angle) without cancellation at small angles.
    k = 2.0 * math.sin(0.5 * angle) ** 2
    return np.array(
        [
            [c + k * x * x, k * x * y - s * z, k * x * z + s * y],
            [k * x * y + s * z, c + k * y * y, k * y * z - s * x],
            [k * x * z - s * y, k * y * z + s * x, c + k * z * z],
        ]
    )


def rotation_of_quaternion(quaternion: FloatArray) -> FloatArray:
    """
    Return the rotation (3, 3) of a quaternion of any length but zero.

    :param quaternion: (4) x, y, z, w.
    """
    x, y, z, w = quaternion
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return np.array(
        [
            [1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
            [s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)],
            [s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)],
        ]
    )


def joint_motion(kind: JointKind, axis: FloatArray, values: FloatArray) -> FloatArray:
    """
    Return the pose (4, 4) of a joint's moved frame in its joint frame.

    :param kind: the joint's kind.
    :param axis: (3) its unit axis.
    :param values: its position variables.
    """
    motion = np.eye(4)
    if kind in (JointKind.REVOLUTE, JointKind.CONTINUOUS):
        motion[:3, :3] = rotate_about(axis, values[0])
    elif kind == JointKind.PRISMATIC:
        motion[:3, 3] = axis * values[0]
    elif kind == JointKind.PLANAR:
        motion[:2, 3] = values[:2]
        motion[:3, :3] = rotate_about(axis, values[2])
    elif kind == JointKind.FLOATING:
        motion[:3, 3] = values[:3]
        motion[:3, :3] = rotation_of_quaternion(values[3:])
    else:
        motion[:3, :3] = rotation_of_quaternion(values)
    return motion


def compute_joint_poses(tree: KinematicTree, positions: FloatArray) -> FloatArray:
    """
    Return the poses (nj, 4, 4) of all moved joint frames in the root frame.

    :param tree: the robot.
    :param positions: (nq) full state, followers included.
    """
    poses = np.empty((len(tree.joint_names), 4, 4))
    for joint, code in enumerate(tree.kinds):
        kind = JointKind(code)
        start = tree.idx_q[joint]
        values = positions[start : start + POSITION_SIZE[kind]]
        pose = tree.placements[joint] @ joint_motion(kind, tree.axes[joint], values)
        parent = tree.parents[joint]
        poses[joint] = pose if parent < 0 else poses[parent] @ pose
    return poses


def compute_link_pose(tree: KinematicTree, joint_poses: FloatArray, link: int) -> FloatArray:
    """
    Return the pose (4, 4) of a link in the root frame.

    :param tree: the robot.
    :param joint_poses: (nj, 4, 4) from :func:`compute_joint_poses`.
    :param link: the link's index.
    """
    carrier = tree.link_joints[link]
    placement = tree.link_placements[link]
    pose: FloatArray = placement.copy() if carrier < 0 else joint_poses[carrier] @ placement
    return pose
