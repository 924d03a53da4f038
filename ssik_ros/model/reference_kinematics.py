"""
Forward kinematics by pinocchio, to verify solutions independently of the kernels.

One instance serves one thread: pinocchio keeps its results in the model's data.
"""

import html
import math
from typing import Any

import numpy as np
import pinocchio as pin

from ssik_ros.arrays import are_inside, FloatArray
from ssik_ros.errors import counted, ModelError, quote
from ssik_ros.model.forward_kinematics import pose_errors
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind, POSITION_SIZE
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.urdf.data import Urdf, UrdfJoint

MOST_JOINTS = 2000
"""pinocchio's parser calls itself once for each joint of a chain: several thousand end the process."""
_LINES = str.maketrans({'\n': '&#10;', '\r': '&#13;', '\t': '&#9;'})


class ReferenceKinematics:
    """
    Forward kinematics of one robot by pinocchio, to check solutions independently; serves one thread.

    ``model`` and ``data`` are pinocchio's objects; full states are in the order of ``robot.tree``.
    """

    def __init__(self, robot: RobotModel) -> None:
        """
        Build pinocchio's model and map the robot's state to it.

        :param robot: the robot.
        :raises ModelError: when pinocchio refuses the robot, or the robot has more than 2000 joints.
        """
        self.robot = robot
        self.model: Any = _build_model(robot.urdf)
        self.data: Any = self.model.createData()
        self._frames: dict[str, int] = {}
        tree = robot.tree
        self._joints = [
            (
                self.model.joints[self.model.getJointId(name)],
                int(tree.idx_q[joint]),
                POSITION_SIZE[JointKind(tree.kinds[joint])],
            )
            for joint, name in enumerate(tree.joint_names)
        ]

    def to_pinocchio(self, positions: FloatArray) -> FloatArray:
        """
        Return pinocchio's configuration vector (model.nq,) for a full state; quaternions are normalised.

        :param positions: (nq) full state, mimic joints included.
        """
        configuration = np.empty(self.model.nq)
        for joint, start, size in self._joints:
            values = np.asarray(positions[start : start + size], dtype=np.float64)
            if size == 4 or size == 7:
                values = values.copy()
                values[-4:] /= np.linalg.norm(values[-4:])
            elif joint.nq == size + 1:
                # Unlimited angles are (cos, sin) pairs there; the angle comes last in ours.
                values = np.append(values[:-1], (math.cos(values[-1]), math.sin(values[-1])))
            configuration[joint.idx_q : joint.idx_q + joint.nq] = values
        return configuration

    def link_pose(self, positions: FloatArray, link: str) -> FloatArray:
        """
        Return the pose (4, 4) of a link in the root frame.

        :param positions: (nq) full state, followers included.
        :param link: the link's name.
        :raises FrameNotFound: for an unknown name; the message suggests a similar known name, if any.
        """
        pin.forwardKinematics(self.model, self.data, self.to_pinocchio(positions))
        pose = pin.updateFramePlacement(self.model, self.data, self._frame(link))
        result: FloatArray = np.array(pose.homogeneous)
        return result

    def group_tip_poses(self, positions: FloatArray, group: JointGroup) -> FloatArray:
        """
        Return the poses (t, 4, 4) of a group's tips in its base link.

        :param positions: (nq) full state, followers included.
        :param group: the group.
        """
        pin.forwardKinematics(self.model, self.data, self.to_pinocchio(positions))
        base, *tips = (
            pin.updateFramePlacement(self.model, self.data, self._frame(link))
            for link in (group.base_link, *group.tips)
        )
        return np.array([(base.inverse() * tip).homogeneous for tip in tips])

    def within_limits(self, group: JointGroup, q: FloatArray, slack: float = 0.0) -> bool:
        """
        Return whether all positions of a group are finite and within its limits, the limits included.

        :param group: the group.
        :param q: (n,) positions in group order.
        :param slack: distance by which the limits may be exceeded [rad or m].
        """
        values = np.asarray(q, dtype=np.float64)
        is_inside = are_inside(values, group.lower, group.upper, slack)
        return bool(is_inside.all() and np.isfinite(values).all())

    pose_errors = staticmethod(pose_errors)

    def _frame(self, link: str) -> int:
        """Return the index of a link's frame in pinocchio's model."""
        if link not in self._frames:
            self.robot.tree.link(link)
            self._frames[link] = int(self.model.getFrameId(link, pin.FrameType.BODY))
        return self._frames[link]


def _build_model(urdf: Urdf) -> Any:
    """
    Return pinocchio's model of a description; continuous joints are (cos, sin) pairs there.

    Raise ModelError for more than 2000 joints, and if pinocchio refuses the robot.
    """
    if len(urdf.joints) > MOST_JOINTS:
        raise ModelError(
            f'Robot {quote(urdf.name)} has {counted(len(urdf.joints), "joint")}. pinocchio judges solutions for up '
            f'to {MOST_JOINTS}: a longer chain would exhaust the stack of its parser.',
            joints=len(urdf.joints),
        )
    try:
        return pin.buildModelFromXML(_write_kinematic_urdf(urdf))
    except (ValueError, RuntimeError) as error:
        raise ModelError(f"pinocchio refuses robot '{urdf.name}': {error}.") from error


def _quoted(text: str) -> str:
    """
    Return a text in quotes, escaped as the value of an XML attribute.

    The standard library's function is not used, because it would import urllib.
    """
    return f'"{html.escape(text).translate(_LINES)}"'


def _write_kinematic_urdf(urdf: Urdf) -> str:
    """Return the links and joints of a description as a URDF text that every parser accepts without warnings."""
    links = ''.join(f'<link name={_quoted(link)}/>' for link in urdf.links)
    joints = ''.join(_write_joint(joint) for joint in urdf.joints.values())
    return f'<robot name={_quoted(urdf.name)}>{links}{joints}</robot>'


def _write_joint(joint: UrdfJoint) -> str:
    """Return the XML of a joint; its limits are placeholders, since poses do not depend on limits."""
    xyz, rpy, axis = (' '.join(map(repr, v)) for v in (joint.xyz, joint.rpy, joint.axis))
    return (
        f'<joint name={_quoted(joint.name)} type="{joint.type}">'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        f'<parent link={_quoted(joint.parent)}/><child link={_quoted(joint.child)}/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
    )
