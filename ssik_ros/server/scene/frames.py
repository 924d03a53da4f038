"""Poses of named frames: :class:`FrameReader` computes poses of links, and asks a given function for other frames."""

from collections.abc import Callable

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import describe_choices, quote
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.forward_kinematics import compute_joint_poses, compute_link_pose
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.server.requests.ik_requests import AT_MODEL_FRAME, FullState
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.scene.world import PlacedFrame

Elsewhere = Callable[[str], PlacedFrame | str]
"""Returns where a frame is, relative to a link or the model frame, or a sentence that says why this is unknown."""


class FrameReader:
    """Computes poses of named frames in the root link or in the model frame; several threads may call it at once."""

    def __init__(self, robot: RobotModel, elsewhere: Elsewhere | None = None) -> None:
        """
        Keep the robot, and compute the poses of links that no joint moves.

        :param robot: the robot.
        :param elsewhere: function that returns the pose of a frame that is not a link, or a text why the frame is
            unknown. Without the function, only links and the model frame are known.
        """
        self.robot = robot
        self._elsewhere = elsewhere
        tree = robot.tree
        self._fixed: dict[str, FloatArray] = {
            name: tree.link_placements[index]
            for index, name in enumerate(tree.link_names)
            if tree.link_joints[index] < 0
        }
        self._model_in_fixed = {name: invert_pose(pose) for name, pose in self._fixed.items()}
        self._model_frame = robot.model_frame
        self.at_model_frame = frozenset(
            name for name, pose in self._fixed.items() if np.array_equal(pose, AT_MODEL_FRAME)
        )
        """Names of links that no joint moves and whose pose is the root link's."""

    def link_in_root(self, link: str, state: FullState) -> FloatArray:
        """
        Return the pose (4, 4) of a link in the root link.

        :param link: the link's name.
        :param state: positions of all joints.
        :raises FrameNotFound: for an unknown link, with a similar name, if any.
        """
        if link in self._fixed:
            return self._fixed[link]
        return self.links_in_root([link], state)[0]

    def links_in_root(self, links: list[str], state: FullState) -> list[FloatArray]:
        """
        Return the poses (4, 4) of links in the root link.

        :param links: names of links.
        :param state: positions of all joints.
        :raises FrameNotFound: for an unknown link, with a similar name, if any.
        """
        tree = self.robot.tree
        indices = [tree.link(link) for link in links]
        joint_poses = compute_joint_poses(tree, state.positions)
        return [compute_link_pose(tree, joint_poses, index) for index in indices]

    def in_model_frame(self, frame: str, state: FullState) -> FloatArray | None:
        """
        Return the pose (4, 4) of a frame in the model frame; None for the model frame itself.

        A link that no joint moves, at the pose of the root link, also gives None if ``state.root_pose`` is the object
        ``AT_MODEL_FRAME``.

        :param frame: empty, the model frame, a link, or a frame that ``elsewhere`` of the constructor knows. If the
            name is unknown and has a leading slash, as in ROS 1, it is looked up without the slash.
        :param state: state of the robot, which places its links.
        :raises RequestRefused: for an unknown frame, with a similar name, if any.
        """
        if not frame or frame == self._model_frame:
            return None
        if frame in self._fixed and state.root_pose is AT_MODEL_FRAME:
            return None if frame in self.at_model_frame else self._fixed[frame]
        if frame not in self.robot.tree.link_index:
            placed = '' if self._elsewhere is None else self._elsewhere(frame)
            if isinstance(placed, PlacedFrame):
                base = self.in_model_frame(placed.base, state)
                return placed.pose if base is None else base @ placed.pose
            # One slash and no more: a name of slashes would take a call for each.
            if frame.startswith('/') and frame[1:2] not in ('', '/'):
                return self.in_model_frame(frame[1:], state)
            choices = {self._model_frame, *self.robot.tree.link_names}
            raise Refusal.UNKNOWN_FRAME.error(
                f'Frame {quote(frame)} is neither a link of robot {quote(self.robot.name)} nor its model frame '
                f'{quote(self._model_frame)}. {describe_choices(frame, choices)} {placed}'.rstrip(),
            )
        pose: FloatArray = state.root_pose @ self.link_in_root(frame, state)
        return pose

    def model_in_link(self, link: str, state: FullState) -> FloatArray:
        """
        Return the pose (4, 4) of the model frame in a link.

        It is the object ``AT_MODEL_FRAME`` for a link that no joint moves, at the pose of the root link, if
        ``state.root_pose`` is that object.

        :param link: the link's name.
        :param state: positions of all joints, and the pose of the root link.
        :raises FrameNotFound: for an unknown link, with a similar name, if any.
        """
        if link in self._fixed and state.root_pose is AT_MODEL_FRAME:
            return AT_MODEL_FRAME if link in self.at_model_frame else self._model_in_fixed[link]
        return invert_pose(state.root_pose @ self.link_in_root(link, state))
