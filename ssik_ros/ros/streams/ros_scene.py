"""
Connect IK environments to a running robot over ROS 2: :class:`RosScene` reads the robot and publishes joint values.

An IK environment has a copy of the robot and its task sets. Structure comes from ``robot_description``, values from
``joint_states``, poses of other frames from tf. The user owns the node and has to spin it while the scene is in use;
every method may be called from another thread.
"""

from collections.abc import Collection, Iterable, Sequence
import threading

from geometry_msgs.msg import TransformStamped
import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    describe_choices,
    FrameNotFound,
    JointNotFound,
    list_names,
    quote,
    SolverError,
    SsikError,
)
from ssik_ros.model.joint_group import name_variables
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.urdf.source import require_xml_text
from ssik_ros.ros.conversions.joint_commands import make_joint_state, make_trajectory
from ssik_ros.ros.conversions.pose_conversions import write_transform
from ssik_ros.ros.inputs.aged_state import AgedState
from ssik_ros.ros.inputs.input_topics import InputTopic
from ssik_ros.ros.inputs.robot_source import LATCHED, MOST_JOINTS, URDF_TOPIC
from ssik_ros.ros.inputs.transform_listener import TransformListener
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.scene.states import StateReader
from ssik_ros.server.scene.world import PlacedFrame
from ssik_ros.tasks.environment import Environment
from ssik_ros.tasks.objects import Dummy
from ssik_ros.tasks.scene import (
    joint_values_of,
    places_of_joints,
    Positions,
    RobotScene,
    SceneItem,
)

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

PREFIX = 'ik/'
"""First part of the names under which frames of an environment are broadcast."""


class SceneNotReady(SolverError):
    """Raised if the topics have not yet delivered the robot or recent joint values, or if tf2_msgs is missing."""


class RosScene:
    """
    Connects IK environments to a running robot over ROS 2: they copy its links, joints and frames.

    :meth:`structure`, :meth:`joint_positions` and :meth:`pose` return the robot as its topics and tf give it.
    :meth:`apply` publishes joint values: driven joints as a trajectory for their controller, others as a joint state.
    """

    def __init__(
        self,
        node: Node,
        robot: RobotModel | None = None,
        *,
        max_age: float | None = None,
        passive: Sequence[str] = (),
        driven: Collection[str] = (),
        joint_topic: str = 'joint_states',
        trajectory_topic: str = 'joint_trajectory',
        seconds: float = 0.1,
    ) -> None:
        """
        Subscribe to the robot's topics and create the publishers.

        :param node: subscribes and publishes.
        :param robot: the robot; None for the first one that comes on the topic ``robot_description``.
        :param max_age: largest age of joint values [s]; older or missing values are refused. None accepts values of any
            age, and the robot's default for joints without a report.
        :param passive: names of joints that solves must not move.
        :param driven: joints that a controller moves: their values are published as a trajectory of one point.
        :param joint_topic: topic on which the values of all other joints are published.
        :param trajectory_topic: topic of the controller.
        :param seconds: duration of the motion of the controller [s].
        :raises JointNotFound: for a driven joint that ``robot`` does not have.
        """
        self._node = node
        self._max_age = max_age
        self._passive = tuple(passive)
        self.driven = set(driven)
        self._seconds = seconds
        self._lock = threading.RLock()
        self._scene: RobotScene | None = None
        self._reader: StateReader | None = None
        self._applied: FullState | None = None
        self._live = AgedState(node)
        self._transforms = TransformListener(node)
        self._states = node.create_publisher(JointState, joint_topic, 10)
        self._trajectories = node.create_publisher(JointTrajectory, trajectory_topic, 10)
        self._frames = None if TFMessage is None else node.create_publisher(TFMessage, '/tf', 10)
        if robot is not None:
            self._take_robot(robot)
            return
        self._description = InputTopic(
            node,
            String,
            URDF_TOPIC,
            self._take_description,
            LATCHED,
            callback_group=MutuallyExclusiveCallbackGroup(),
        )

    def _take_description(self, message: String) -> None:
        """
        Take the first robot description that loads; later ones are ignored, since environments keep their robot.

        If a description does not load, log an error. For a driven joint that its robot does not have, log an error too,
        but keep the robot.
        """
        with self._lock:
            if self._scene is not None:
                return
            try:
                text = require_xml_text(message.data, 'robot description')
                self._take_robot(load_robot(text, max_joints=MOST_JOINTS))
            except SsikError as error:
                self._node.get_logger().error(f'The robot description cannot be used: {error}')

    def _take_robot(self, robot: RobotModel) -> None:
        with self._lock:
            self._scene = RobotScene(robot, passive=self._passive)
            self._reader = StateReader(robot)
            self._robot = robot
            self._links = frozenset(robot.tree.link_names)
            self._names = {
                part: robot.variable_names[at : at + size]
                for part, (at, size) in places_of_joints(robot.tree).items()
            }
            tree = robot.tree
            independent = [index for index, leader in enumerate(tree.leaders) if leader < 0]
            self._reported = name_variables(tree, independent)
            self._require_joints(self.driven)

    def _require_joints(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._names:
                choices = describe_choices(name, self._names)
                raise JointNotFound(f'The robot has no joint {quote(name)}. {choices}', name=name)

    def missing(self) -> str:
        """Return a sentence about the missing robot or the late joints; empty if the scene is ready."""
        with self._lock:
            if self._scene is None:
                return f'No robot has come on {self._description.names} yet.'
            if self._max_age is None:
                return ''
            late = self._live.too_old(self._reported, self._max_age)
            if not late:
                return ''
            return f'Not reported within {self._max_age:g} s: {list_names(late)}.'

    def _now(self) -> RobotScene:
        """Return the scene at the current state of the robot; raise SceneNotReady without robot or recent values."""
        text = self.missing()
        if text:
            raise SceneNotReady(text)
        assert self._scene is not None and self._reader is not None
        state = self._live.current(self._reader)
        if state is not self._applied:
            self._applied = state
            self._scene.apply(joint_values_of(self._robot.tree, state.positions))
        return self._scene

    def structure(self) -> Sequence[SceneItem]:
        """Return links and joints, and all frames of tf that lead to a link; parents first. May raise SceneNotReady."""
        with self._lock:
            scene = self._now()
            for name in sorted(self._transforms.names()):
                if not self._is_own(name):
                    self._place(scene, name)
            return scene.structure()

    def joint_positions(self) -> Positions:
        """Return the current values of all joints by name; may raise SceneNotReady."""
        with self._lock:
            return self._now().joint_positions()

    def pose(self, frame: str, relative_to: str | None = None) -> FloatArray:
        """
        Return the pose (4, 4) of a frame relative to another one, or to the root link.

        :param frame: a link, a joint, or a frame of tf.
        :param relative_to: the other frame; None for the root link.
        :raises FrameNotFound: for an unknown frame.
        :raises SceneNotReady: without a robot, or without recent joint values.
        """
        with self._lock:
            scene = self._now()
            for name in (frame, relative_to):
                if name is None or self._is_own(name):
                    continue
                reason = self._place(scene, name)
                if reason:
                    raise FrameNotFound(f'There is no frame {quote(name)}. {reason}', name=name)
            return scene.pose(frame, relative_to)

    def _is_own(self, name: str) -> bool:
        """Return whether a name belongs to a link or joint."""
        return name in self._links or name in self._names

    def _place(self, scene: RobotScene, name: str) -> str:
        """Add a frame of tf to the scene at its current pose; return why that is impossible, or an empty text."""
        placed = self._transforms.find(name, self._links)
        if not isinstance(placed, PlacedFrame):
            return placed
        scene.set_frame(name, placed.pose, placed.base or None)
        return ''

    def apply(self, positions: Positions) -> None:
        """
        Publish joint values: driven joints as a trajectory for their controller, others as a joint state.

        :param positions: values by name [rad or m]; mimic joints need none.
        :raises SceneNotReady: without a robot.
        :raises JointNotFound: for a joint that the robot does not have.
        :raises ValueError: for a value that does not have as many numbers as its joint has variables.
        """
        with self._lock:
            if self._scene is None:
                raise SceneNotReady(self.missing())
            self._require_joints(positions)
            driven = self._variables({n: v for n, v in positions.items() if n in self.driven})
            others = self._variables({n: v for n, v in positions.items() if n not in self.driven})
        if driven:
            values = np.array(list(driven.values()))
            self._trajectories.publish(make_trajectory(list(driven), values, self._seconds))
        if others:
            stamp = self._node.get_clock().now().to_msg()
            values = np.array(list(others.values()))
            self._states.publish(make_joint_state(list(others), values, stamp))

    def _variables(self, positions: Positions) -> dict[str, float]:
        """Return joint values by variable name, as joint states have them; a ball joint gives several variables."""
        return {
            name: float(number)
            for part, value in positions.items()
            for name, number in zip(self._names[part], np.ravel(value).tolist(), strict=True)
        }

    def broadcast(self, environment: Environment, prefix: str = PREFIX) -> None:
        """
        Publish the poses of the dummies that an environment has added on /tf, relative to the root link.

        Frames that came from the robot or from tf are left out, because other nodes publish them.

        :param environment: made from this scene.
        :param prefix: put before the names of the frames.
        :raises SceneNotReady: if tf2_msgs is not installed, or without a robot.
        """
        if self._frames is None:
            raise SceneNotReady('The package tf2_msgs is not installed.')
        if self._scene is None:
            raise SceneNotReady(self.missing())
        stamp = self._node.get_clock().now().to_msg()
        maps = environment.scene_maps.get(id(self))
        foreign = {} if maps is None else maps.to_scene
        message = TFMessage()
        for name, item in environment.objects.items():
            if not isinstance(item, Dummy) or item.handle in foreign:
                continue
            entry = TransformStamped(child_frame_id=f'{prefix}{name}')
            entry.header.frame_id, entry.header.stamp = self._robot.tree.root_link, stamp
            entry.transform = write_transform(item.matrix())
            message.transforms.append(entry)
        self._frames.publish(message)
