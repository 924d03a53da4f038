"""
The source of a node's robot: a parameter, a file, a MoveIt configuration package, or a topic.

URDF and SRDF may have different sources: each is taken from the first of these four that has it. The node waits for the
topic only if a description has no other source, and takes new descriptions from it at any time. Only parameters name
files; a topic brings text.
"""

from collections.abc import Callable, Mapping
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from ssik_ros.errors import DescriptionNotFound, InvalidParameter, ModelError, quote
from ssik_ros.model.description_files import find_moveit_config, MoveItConfig, parse_xacro_args
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.urdf.source import require_xml_text, robot_name_of, TextSource
from ssik_ros.ros.inputs.input_topics import InputTopic
from ssik_ros.ros.parameters.integer_parameters import parameter_overrides
from ssik_ros.ros.process.steady_timers import make_steady_timer
from ssik_ros.value_class import dataclass

_LOGGER = logging.getLogger('ssik_ros.robot_source')

URDF_TOPIC = 'robot_description'
SRDF_TOPIC = 'robot_description_semantic'
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
MOST_JOINTS = 2000
"""Joints of a robot that is taken from a topic where no parameter says how many."""
LIMITS_PREFIX = 'robot_description_planning.'
_TEXT = 'given as text'
"""Stands for the path of a description that a parameter holds."""
_NOT_GIVEN: dict[str, Any] = {
    **dict.fromkeys(('robot_description', 'robot_description_semantic'), ''),
    **dict.fromkeys(('robot_description_file', 'semantic_file', 'moveit_config_package'), ''),
    **dict.fromkeys(('kinematics_file', 'xacro_args', 'joint_limits_file', 'tip_link'), ''),
    'robot_name': '',
    'semantic_timeout': 0.0,
    'max_robot_joints': MOST_JOINTS,
}
"""Parameters that find a robot, and their values at a node that does not have them."""


@dataclass(frozen=True, slots=True)
class DescriptionText:
    """A URDF or SRDF, as text or as the path of its file, and where it came from."""

    source: TextSource
    """Path of the file, or the text."""
    origin: str
    """``parameter NAME``, ``topic NAME`` or a path."""


@dataclass(frozen=True, slots=True)
class RobotDescription:
    """The descriptions that are needed to load a robot: URDF, SRDF, limits and xacro arguments; :meth:`load` loads it."""

    urdf: DescriptionText
    srdf: DescriptionText | None
    """None for a robot without an SRDF."""
    joint_limits: Any
    """Mapping or path; None without limits."""
    xacro_args: Mapping[str, str] | None
    """Arguments of the URDF and the SRDF if these are xacro files; None without arguments."""
    max_joints: int | None = None
    """Largest number of joints of the robot; None for any."""

    def load(self) -> RobotModel:
        """
        Load the robot and return it.

        :raises SsikError: when a description is malformed or missing.
        """
        srdf = None if self.srdf is None else self.srdf.source
        return self._load(srdf)

    def loads_without_srdf(self) -> bool:
        """Return whether the robot loads if the SRDF is left out; any error means that it does not."""
        try:
            self._load(None)
        except Exception:
            return False
        return True

    def _load(self, srdf: TextSource | None) -> RobotModel:
        source = self.urdf.source
        return load_robot(source, srdf, self.joint_limits, self.xacro_args, self.max_joints)


def source_parameters(settings: Any, **values: Any) -> SimpleNamespace:
    """
    Return the complete set of parameters that :class:`RobotSource` reads, for a node that declares only some of them.

    :param settings: the node's parameters. Those that it lacks get empty values; ``semantic_timeout`` gets 0, and
        ``max_robot_joints`` gets MOST_JOINTS.
    :param values: values that the node itself sets, by name; they replace its parameters.
    """
    declared = {name: getattr(settings, name, empty) for name, empty in _NOT_GIVEN.items()}
    return SimpleNamespace(**{**declared, **values})


class RobotSource:
    """Finds the descriptions of a node's robot, and calls a function with each complete set."""

    def __init__(
        self, node: Node, parameters: Any, deliver: Callable[[RobotDescription], None]
    ) -> None:
        """
        Read the parameters and look for files; :meth:`start` begins to deliver.

        :param node: the node.
        :param parameters: the node's parameters.
        :param deliver: called with each complete description; by :meth:`start` itself if no topic is needed.
        :raises SsikError: when a named file or package does not exist, or when ``robot_name``, ``xacro_args`` or a
            limit is wrong.
        """
        self._node = node
        self._parameters = parameters
        self._deliver = deliver
        self._files = _find_files(parameters)
        files = self._files
        urdf = None if files is None else files.urdf_path
        srdf = None if files is None else files.srdf_path
        self._urdf = self._given(URDF_TOPIC, parameters.robot_description_file, urdf)
        self._srdf = self._given(SRDF_TOPIC, parameters.semantic_file, srdf)
        self._limits = self._find_limits()
        self._xacro_args = self._find_xacro_args()
        self._hears_robots = self._urdf is None
        self._inputs: dict[str, InputTopic] = {}
        self._unfit_srdf = ''
        """Name of the robot in the latest SRDF if it is another robot; else empty."""
        self._timer: Any = None
        """Runs while a robot waits for its SRDF; one for all robots, for rclpy keeps a part of every timer."""
        self._callbacks = MutuallyExclusiveCallbackGroup()

    @property
    def kinematics_path(self) -> Path | None:
        """
        Return the path of the kinematics.yaml that a parameter or the package names; None without one.

        A name that is not an existing file is also looked up in the folder ``config`` of the package.

        :raises DescriptionNotFound: when the file that the parameter names does not exist.
        """
        named = str(self._parameters.kinematics_file)
        default = None if self._files is None else self._files.kinematics_path
        if not named:
            return default
        in_package = None if self._files is None else self._files.directory / 'config' / named
        if in_package is not None and not Path(named).is_file() and in_package.is_file():
            return in_package
        return _require_file(named)

    def may_mend(self, description: RobotDescription) -> bool:
        """
        Return whether a description that does not load can still be repaired by a later message on a topic.

        :param description: the description.
        """
        if self._hears_robots:
            return True
        return bool(self._inputs) and description.loads_without_srdf()

    def start(self) -> None:
        """
        Deliver the description if it is complete; else subscribe to the topics of missing parts.

        If the parameter ``tip_link`` names a link, no SRDF is needed. Otherwise a missing SRDF is awaited for
        ``semantic_timeout`` [s] after the URDF is known; then the robot is delivered without it.
        """
        if self._hears_robots:
            self._listen(URDF_TOPIC, 'robot description', self._take_urdf)
        if self._srdf is None and not self._parameters.tip_link:
            self._listen(SRDF_TOPIC, 'semantic description', self._take_srdf)
            wait = self._parameters.semantic_timeout
            self._timer = make_steady_timer(self._node, wait, self._give_up, self._callbacks)
            self._timer.cancel()
        if self._urdf is None:
            _LOGGER.info(
                'Waiting for the robot on the topic %s. It can also be given by the parameters '
                'robot_description, robot_description_file or moveit_config_package.',
                self._inputs[URDF_TOPIC].names,
            )
        else:
            self._go_on()

    def topics(self, topic: str) -> str:
        """
        Return the names that an input is taken from, joined by "or".

        :param topic: one that :meth:`start` has subscribed to.
        """
        return self._inputs[topic].names

    def _listen(self, topic: str, what: str, take: Callable[[DescriptionText], None]) -> None:
        """
        Subscribe to a latched topic, and call ``take`` with each text.

        Texts that are not XML are logged and ignored; a ModelError of ``take`` is logged too. ``what`` names the text
        in errors.
        """

        def hear(message: String) -> None:
            origin = f'topic {self._inputs[topic].name}'
            try:
                take(DescriptionText(require_xml_text(message.data, what), origin))
            except ModelError as error:
                _LOGGER.error('A message of %s is ignored. %s', origin, error)

        self._inputs[topic] = InputTopic(
            self._node, String, topic, hear, LATCHED, callback_group=self._callbacks
        )

    def _take_urdf(self, urdf: DescriptionText) -> None:
        """
        Take a new URDF, and drop an SRDF of another robot that came on a topic; then deliver or wait for an SRDF.

        An unchanged URDF is ignored.
        """
        if self._urdf is not None and self._urdf.source == urdf.source:
            return
        self._urdf = urdf
        srdf = self._srdf
        if srdf is not None and srdf.origin.startswith('topic'):
            other = robot_name_of(str(srdf.source))
            if other != robot_name_of(str(urdf.source)):
                self._srdf, self._unfit_srdf = None, other
        self._go_on()

    def _take_srdf(self, srdf: DescriptionText) -> None:
        """Take a new SRDF, and deliver the robot if its URDF is known; an unchanged SRDF is ignored."""
        if self._srdf is not None and self._srdf.source == srdf.source:
            return
        self._srdf, self._unfit_srdf = srdf, ''
        self._go_on()

    def _go_on(self) -> None:
        """
        Deliver the robot if its URDF is known and no SRDF is awaited.

        While an SRDF is awaited, restart the timer that ends the wait.
        """
        if self._timer is not None:
            self._timer.cancel()
        if self._urdf is None:
            return
        if self._srdf is None and self._timer is not None:
            self._timer.reset()
            return
        self._hand_out(self._urdf)

    def _give_up(self) -> None:
        """End the wait for an SRDF: log a warning, and deliver the robot without one."""
        if self._timer.is_canceled():
            # An SRDF has come since this call was put on the executor's list.
            return
        self._timer.cancel()
        topics, wait = self._inputs[SRDF_TOPIC].names, self._parameters.semantic_timeout
        reason = f'No SRDF on {topics} after {wait:g} s.'
        if self._unfit_srdf:
            reason = (
                f'The SRDF on {topics} is for the robot {quote(self._unfit_srdf)}, and no other came '
                f'within {wait:g} s.'
            )
        _LOGGER.warning(
            '%s The node serves one group, from the parameters base_link, tip_link and group. '
            'Publish the SRDF of this robot to get its groups.',
            reason,
        )
        if self._urdf is not None:
            self._hand_out(self._urdf)

    def _hand_out(self, urdf: DescriptionText) -> None:
        most = int(self._parameters.max_robot_joints)
        self._deliver(RobotDescription(urdf, self._srdf, self._limits, self._xacro_args, most))

    def _given(
        self, topic: str, file: str | Path, in_package: Path | None
    ) -> DescriptionText | None:
        """
        Return the description of a parameter, else of a file, else of a package; None without any of them.

        The parameter for the text has the name of the topic. Raise DescriptionNotFound if the file does not exist.
        """
        text = getattr(self._parameters, topic)
        if text:
            return DescriptionText(text, f'parameter {topic}')
        chosen = file or in_package
        return None if chosen is None else _file(chosen)

    def _find_limits(self) -> Any:
        """
        Return the source of joint limits: a nested mapping of parameters, or the path of a file; None without a source.

        Parameters come before the file that a parameter names, and this file before the file of the MoveIt package.
        Raise DescriptionNotFound if the file that the parameter names does not exist.
        """
        nested = nested_overrides(self._node, LIMITS_PREFIX)
        if nested:
            return nested
        if self._parameters.joint_limits_file:
            return _require_file(self._parameters.joint_limits_file)
        return None if self._files is None else self._files.joint_limits_path

    def _find_xacro_args(self) -> Mapping[str, str] | None:
        """Return the arguments for xacro, None without any; values of the parameter replace values of the package."""
        package_args = {} if self._files is None else self._files.xacro_args
        return {**package_args, **parse_xacro_args(self._parameters.xacro_args)} or None


def _find_files(parameters: Any) -> MoveItConfig | None:
    """
    Return the files of the MoveIt configuration package that a parameter names; None if no package is named.

    A URDF or SRDF that other parameters give replaces the file of the package. Raise InvalidParameter for a robot name
    without a package, and SsikError if the package or its files do not exist.
    """
    if not parameters.moveit_config_package:
        if parameters.robot_name:
            raise InvalidParameter(
                f'robot_name {quote(parameters.robot_name)} chooses a robot of a package: give '
                'moveit_config_package too.',
                key='robot_name',
                value=parameters.robot_name,
            )
        return None
    # A description that is a text counts instead of the file, too: the package need not have one.
    return find_moveit_config(
        parameters.moveit_config_package,
        parameters.robot_name,
        urdf=parameters.robot_description_file or (parameters.robot_description and _TEXT),
        srdf=parameters.semantic_file or (parameters.robot_description_semantic and _TEXT),
    )


def _file(path: str | Path) -> DescriptionText:
    """Return the description in a file; raise DescriptionNotFound if it does not exist."""
    file = _require_file(path)
    return DescriptionText(file, str(file))


def _require_file(path: str | Path) -> Path:
    """Return the path of a file, ``~`` expanded; raise DescriptionNotFound if it does not exist."""
    expanded = Path(path).expanduser()
    if not expanded.is_file():
        raise DescriptionNotFound(f'There is no file {quote(path)}.', path=str(path))
    return expanded


def nested_overrides(node: Node, prefix: str) -> dict[str, Any]:
    """
    Return the parameter values given to a node below a prefix, as nested mappings.

    :param node: the node.
    :param prefix: the first part of the names, with its dot.
    :raises InvalidParameter: when one name is both a value and the first part of another.
    """
    nested: dict[str, Any] = {}
    for name, parameter in sorted(parameter_overrides(node).items()):
        if not name.startswith(prefix):
            continue
        *parents, leaf = name.removeprefix(prefix).split('.')
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise InvalidParameter(
                    f'Parameter {quote(name)} cannot stand below {quote(parent)}, which has a value itself.',
                    key=name,
                    value=parameter.value,
                )
        place[leaf] = parameter.value
    return nested
