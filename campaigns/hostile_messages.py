"""Malformed messages, drawn from a seed: by their declared types, and robot descriptions by their text."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
import numpy as np
from rcl_interfaces.srv import SetParameters
from sensor_msgs.msg import JointState
from ssik_msgs.srv import (
    CompleteState,
    Describe,
    FindConfigs,
    FindStep,
    GeneratePath,
    HandleTaskSets,
    SolveGoals,
)
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from campaigns.mixed_requests import SERVICES as ASKED_SERVICES

SERVICES = {
    **ASKED_SERVICES,
    'ssik_ros/describe': Describe,
    'ssik_ros/find_step': FindStep,
    'ssik_ros/solve_goals': SolveGoals,
    'ssik_ros/complete_state': CompleteState,
    'ssik_ros/handle_task_sets': HandleTaskSets,
    'ssik_ros/find_configs': FindConfigs,
    'ssik_ros/generate_path': GeneratePath,
    'ssik_ros/set_parameters': SetParameters,
}
TOPICS = {
    'joint_states': JointState,
    'tf': TFMessage,
    'tf_static': TFMessage,
    'ssik_ros/collision_object': CollisionObject,
    'ssik_ros/attached_collision_object': AttachedCollisionObject,
    'robot_description': String,
    'robot_description_semantic': String,
}
NUMBERS = (0.0, 1.0, -1.0, 0.3, 1e-300, 1e9, 1e300, 1e308, np.nan, np.inf, -np.inf, 1e-9)
UNUSABLE = (np.nan, np.inf, -np.inf, 1e308, -1e10)
NAMES = (
    *(
        '',
        'panda_arm',
        'panda_joint1',
        'panda_joint4',
        'panda_link8',
        'panda_hand',
        'world',
        'tcp',
    ),
    *('läuft', 'a/b', '/' * 40, 'x' * 300, 'new\nline', "it's", '%s', '../../etc/passwd'),
)
HUGE = 1_000_000
"""Characters of the name that comes once in a while."""
ONCE_IN = 2_000
MOST_SECONDS = 1
"""Longest search time that a request demands [s]; a longer search is not the node's fault."""
SETTABLE = ('report_times', 'executor_threads', 'max_robot_joints', 'nowhere', 'collision_padding')


@dataclass(frozen=True, slots=True)
class Hostile:
    """One message and where it goes."""

    name: str
    message: Any
    is_request: bool


class HostileMessages:
    """Draws messages."""

    def __init__(self, seed: int, urdf: str, srdf: str) -> None:
        """
        Begin.

        :param seed: of all draws.
        :param urdf, srdf: descriptions that are spoilt.
        """
        self._rng = np.random.default_rng(seed)
        self._urdf, self._srdf = urdf, srdf
        self._names = (*SERVICES, *(topic for topic in TOPICS for _ in range(2)))

    def draw(self) -> Hostile:
        """Return the next message."""
        name = str(self._rng.choice(self._names))
        likely = float(self._rng.choice((0.05, 0.2, 0.5)))
        if name in SERVICES:
            request = SERVICES[name].Request()
            if name.endswith('set_parameters'):
                return Hostile(name, self._parameters(request), True)
            return Hostile(name, self.spoil(request, likely), True)
        if name.startswith('robot_description'):
            return Hostile(name, String(data=self._description(name)), False)
        return Hostile(name, self.spoil(TOPICS[name](), 2.0 * likely), False)

    def unusable_joint_states(self, names: tuple[str, ...]) -> Iterator[JointState]:
        """
        Yield joint states none of which says where a joint is.

        :param names: of the robot's joints.
        """
        for value in UNUSABLE:
            yield JointState(name=list(names), position=[value] * len(names))
        yield JointState(name=list(names), position=[0.5] * (len(names) - 1))
        yield JointState(name=list(names[:-1]), position=[0.5] * len(names))
        yield JointState(name=list(names), velocity=[0.5] * len(names))
        yield JointState(name=['elevator', 'x' * HUGE], position=[0.5, 0.5])

    def spoil(self, message: Any, likely: float, depth: int = 0) -> Any:
        """
        Change each field with some probability, and return the message.

        :param message: is changed.
        :param likely: the probability.
        :param depth: how many messages it lies in.
        """
        types = dict(zip(message.get_fields_and_field_types(), message.SLOT_TYPES, strict=True))
        for name, kind in types.items():
            if self._rng.random() < likely:
                setattr(message, name, self._value(name, kind, likely, depth))
            elif hasattr(getattr(message, name), 'SLOT_TYPES'):
                self.spoil(getattr(message, name), likely, depth)
        return message

    def _value(self, name: str, kind: Any, likely: float, depth: int) -> Any:
        if hasattr(kind, 'value_type'):
            size = getattr(kind, 'size', None)
            count = int(self._rng.choice((0, 1, 2, 7))) if size is None else size
            # A longer one cannot be written down by the middleware.
            count = min(count, getattr(kind, 'maximum_size', count))
            return [self._value(name, kind.value_type, likely, depth) for _ in range(count)]
        if hasattr(kind, 'namespaces'):
            made = getattr(import_module('.'.join(kind.namespaces)), kind.name)()
            return self.spoil(made, likely, depth + 1) if depth < 4 else made
        typename = getattr(kind, 'typename', 'string')
        if typename == 'string':
            return self._name()
        if typename in ('double', 'float'):
            return float(self._rng.choice(NUMBERS))
        if typename == 'boolean':
            return bool(self._rng.random() < 0.5)
        if typename == 'octet':
            return bytes([int(self._rng.integers(256))])
        if name == 'sec':
            return int(self._rng.integers(-1, MOST_SECONDS + 1))
        low, high = (0, 200) if typename.startswith('u') else (-100, 100)
        return int(self._rng.integers(low, high))

    def _name(self) -> str:
        draw = self._rng.integers(ONCE_IN)
        if draw == 0:
            return 'x' * HUGE
        if draw < ONCE_IN // 20:
            return f'name_{self._rng.integers(1 << 62)}'
        return str(self._rng.choice(NAMES))

    def _parameters(self, request: Any) -> Any:
        self.spoil(request, 0.7)
        for parameter in request.parameters:
            if self._rng.random() < 0.7:
                parameter.name = str(self._rng.choice(SETTABLE))
            # Types from none to arrays of strings, and one that does not exist.
            parameter.value.type = int(self._rng.integers(0, 11))
        return request

    def _description(self, name: str) -> str:
        text = self._srdf if name.endswith('semantic') else self._urdf
        kind = int(self._rng.integers(7))
        if kind == 0:
            return str(self._rng.choice(('/etc/passwd', 'panda.urdf', '', 'x' * 1000, '<', '<!')))
        if kind == 1:
            return '<!DOCTYPE r [<!ENTITY a "aaaa">]><robot name="r"><link name="&a;"/></robot>'
        if kind == 2:
            return text[: int(self._rng.integers(len(text)))]
        if kind == 3:
            count = int(self._rng.integers(1, 4000))
            joints = ''.join(
                f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
                for i in range(count)
            )
            return f'<robot name="r"><link name="l0"/>{joints}</robot>'
        if kind == 4:
            return '<robot name="r">' + '<a>' * int(self._rng.integers(1, 100_000))
        words = text.split(' ')
        for _ in range(int(self._rng.integers(1, 5))):
            words[int(self._rng.integers(len(words)))] = f'"{self._rng.choice(NUMBERS)}"'
        return ' '.join(words)
