"""A robot drawn as bars from joint to joint, for links without shapes and for markers that need little data."""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.model.forward_kinematics import compute_joint_poses
from ssik_ros.model.kinematic_tree import KinematicTree
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.server.requests.ik_requests import FullState

SHORTEST_BAR = 1e-3
"""Shortest bar between two joints [m]."""


def bar_ends(tree: KinematicTree) -> dict[int, list[FloatArray]]:
    """
    Return by index of a moving joint the far ends (3,) of the bars that begin at this joint, in the frame it moves [m].

    A bar leads to each next joint and to the origin of each link. Index -1 has the bars that begin at the root link.
    Bars shorter than SHORTEST_BAR are left out.

    :param tree: kinematic tree of the robot.
    """
    ends: dict[int, list[FloatArray]] = {}
    for parent, placement in zip(tree.parents.tolist(), tree.placements):
        ends.setdefault(parent, []).append(placement[:3, 3])
    for carrier, placement in zip(tree.link_joints.tolist(), tree.link_placements):
        ends.setdefault(carrier, []).append(placement[:3, 3])
    return {
        carrier: [end for end in points if np.linalg.norm(end) > SHORTEST_BAR]
        for carrier, points in ends.items()
    }


def bar_lines(robot: RobotModel, state: FullState) -> FloatArray:
    """
    Return the ends (2 k, 3) of the k bars of a robot in the model frame, two successive rows for each bar [m].

    :param robot: the robot.
    :param state: full state of the robot.
    """
    poses = compute_joint_poses(robot.tree, state.positions)
    lines = []
    for carrier, ends in bar_ends(robot.tree).items():
        pose = state.root_pose if carrier < 0 else state.root_pose @ poses[carrier]
        for end in ends:
            lines += [pose[:3, 3], pose[:3, :3] @ end + pose[:3, 3]]
    return np.array(lines).reshape(-1, 3)


def length_of_bars(lines: FloatArray) -> float:
    """
    Return the diagonal of the box around bars [m]; 1 without bars.

    :param lines: (2 k, 3) ends of the bars, see :func:`bar_lines`.
    """
    return float(np.linalg.norm(np.ptp(lines, axis=0))) if len(lines) else 1.0
