"""
Poses of the joints and links of a kinematic tree at a full state, and the motion that one joint value causes.

Quaternions in a state are xyzw and are normalised before use. :func:`pose_errors` compares two poses.
"""

import math

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry.joint_poses import write_joint_poses
from ssik_ros.model.kinematic_tree import JointKind, KinematicTree

_AT_ROOT, _NO_PARENT, _FIRST = np.eye(4)[None], np.array([-1]), np.array([0])


def joint_motion(kind: JointKind, axis: FloatArray, values: FloatArray) -> FloatArray:
    """
    Return the motion (4, 4) of one joint: the pose of its moved frame relative to its place at zero values.

    :param kind: kind of the joint.
    :param axis: (3,) unit axis in the joint frame.
    :param values: position variables of the joint [rad or m].
    """
    motion = np.empty((1, 4, 4))
    write_joint_poses(
        *(motion, _AT_ROOT, np.ascontiguousarray(axis)[None], np.array([int(kind)])),
        *(_NO_PARENT, _FIRST, np.ascontiguousarray(values)),
    )
    return np.asarray(motion[0])


def motion_about(kind: JointKind, axis: FloatArray, point: FloatArray, value: float) -> FloatArray:
    """
    Return the rigid motion (4, 4) that a joint value causes, in the frame in which axis and point are given.

    :param kind: revolute, continuous or prismatic.
    :param axis: (3,) unit axis.
    :param point: (3,) a point on the axis [m].
    :param value: angle or displacement of the joint [rad or m].
    """
    motion = joint_motion(kind, np.asarray(axis, np.float64), np.array([value], np.float64))
    if kind != JointKind.PRISMATIC:
        motion[:3, 3] = point - motion[:3, :3] @ point
    return motion


def compute_joint_poses(tree: KinematicTree, positions: FloatArray) -> FloatArray:
    """
    Return the poses (nj, 4, 4) in the root link of the frames that move with each joint.

    :param tree: the robot.
    :param positions: (nq) full state, mimic joints included.
    """
    poses = np.empty((len(tree.joint_names), 4, 4))
    write_joint_poses(
        *(poses, tree.placements, tree.axes, tree.kinds, tree.parents),
        *(tree.idx_q, np.ascontiguousarray(positions)),
    )
    return poses


def compute_link_poses(tree: KinematicTree, positions: FloatArray) -> FloatArray:
    """
    Return the poses (nl, 4, 4) of all links in the root frame.

    :param tree: the robot.
    :param positions: (nq) full state of the robot.
    """
    # A link that no joint carries has the joint index -1, which selects the last pose, identity.
    moved = np.concatenate((compute_joint_poses(tree, positions), np.eye(4)[None]))
    poses: FloatArray = moved[tree.link_joints] @ tree.link_placements
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


def pose_errors(actual: FloatArray, target: FloatArray) -> tuple[float, float]:
    """
    Return the distance [m] and the rotation angle [rad] between two poses.

    :param actual: (4, 4).
    :param target: (4, 4).
    """
    difference = actual[:3, :3].T @ target[:3, :3]
    (_, a, b), (c, _, d), (e, f, _) = difference.tolist()
    # Sine and cosine together keep all digits at 0 and at pi, unlike arccos of the trace.
    sine = 0.5 * math.hypot(f - d, b - e, c - a)
    cosine = 0.5 * (float(np.trace(difference)) - 1.0)
    return math.dist(actual[:3, 3].tolist(), target[:3, 3].tolist()), math.atan2(sine, cosine)
