"""
The node among malformed messages: ``python -m campaigns.hostile --help``, or ``make hostile``.

One client sends messages drawn from a seed to every topic and service of the node. Some hold a million characters, or
joint values of 1e308. After each round it restores robot, world and joint states and judges the node by a forward
kinematics of its own: the node knows the right robot and its state, and unusable joint states do not move it. The
program ends with 1 in these cases:

- the node has ended,
- a response is lost or too long,
- a judgement fails,
- the node's memory, or its growth, exceeds a bound.

Deadlines are not judged: many requests leave the node no time at all, and it receives forty robot descriptions a second.
:mod:`campaigns.soak` judges them.

Needs ROS (``. ./activate``).
"""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
import functools
import sys
from time import monotonic
from typing import Any

from geometry_msgs.msg import Pose
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, MoveItErrorCodes
from moveit_msgs.srv import GetPositionFK
import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from ssik_msgs.srv import Describe
from std_msgs.msg import String

from bench import pinning
from bench.arms import FloatArray, read_arm
from bench.ros.caller import Client, NoResponse
from bench.ros.processes import node_words
from bench.ros.requests import make_request, pose_message
from bench.tables import table
from campaigns.flight import Flight
from campaigns.hostile_messages import HostileMessages, SERVICES, TOPICS
from campaigns.watch import (
    make_parser,
    RESPONSE_LIMIT,
    run_against_node,
    SHOWN,
    START_LIMIT,
    Watch,
)

ROBOT = 'panda'
IN_FLIGHT = 8
LONGEST_TEXT = 10_000
"""Characters of the longest text in a response."""
SETTLING = 0.2
"""Part of the messages after which the memory counts as that at the start: everything has been used by then."""
TOLERANCE = 1e-6
SUCCESS = MoveItErrorCodes.SUCCESS
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class HostileClient:
    """Sends the drawn messages, and judges the node."""

    def __init__(self, watch: Watch, client: Client, seed: int) -> None:
        """
        Make a publisher for each topic.

        :param watch: where faults are noted.
        :param client: of all services.
        :param seed: of the messages.
        """
        self._watch, self._client = watch, client
        self._arm = read_arm(ROBOT)
        files = (self._arm.urdf_path.with_suffix(f'.{kind}') for kind in ('urdf', 'srdf'))
        self._urdf, self._srdf = (file.read_text() for file in files)
        self._messages = HostileMessages(seed, self._urdf, self._srdf)
        self._rng = np.random.default_rng(seed)
        self._flight = Flight(client, RESPONSE_LIMIT)
        self._publishers = {
            name: client.node.create_publisher(
                kind, name, LATCHED if name.startswith('robot') or 'static' in name else 100
            )
            for name, kind in TOPICS.items()
        }
        self.sent: Counter[str] = Counter()
        """By topic or service."""
        self.responded = self.judged = 0

    def start(self) -> None:
        """Give the node its robot, and wait until every service is there."""
        self._publish_robot()
        self._client.wait_for_services(START_LIMIT)

    def _publish_robot(self) -> None:
        """Publish the descriptions of the robot."""
        self._publishers['robot_description'].publish(String(data=self._urdf))
        self._publishers['robot_description_semantic'].publish(String(data=self._srdf))

    def send(self, count: int) -> None:
        """
        Send hostile messages; a few requests are in flight at once.

        :param count: how many.
        """
        for _ in range(count):
            hostile = self._messages.draw()
            self.sent[hostile.name] += 1
            if hostile.is_request:
                take = functools.partial(self._take, hostile.name)
                self._flight.send(hostile.name, hostile.message, take)
            else:
                self._publishers[hostile.name].publish(hostile.message)
            while len(self._flight) >= IN_FLIGHT:
                self._flight.collect()
        self._flight.drain()

    def _take(self, name: str, response: Any) -> None:
        """Judge the texts of a response."""
        if response is None:
            return self._fault(f'{name} did not respond within {RESPONSE_LIMIT:g} s')
        self.responded += 1
        longest = max((len(text) for text in _texts(response)), default=0)
        if longest > LONGEST_TEXT:
            self._fault(f'{name} responded with a text of {longest} characters')
        return None

    def judge(self) -> None:
        """Restore the initial conditions, and check that the node still knows the robot and its state."""
        if not self._poll(self._put_back, self._is_right):
            self._fault('the node does not serve the robot that was published last')
        q = self._rng.uniform(self._arm.lower, self._arm.upper)
        names = tuple(joint.name for joint in self._arm.joints)
        posture = JointState(name=list(names), position=q.tolist())
        states = self._publishers['joint_states']
        if not self._poll(lambda: states.publish(posture), lambda: self._is_at(q)):
            return self._fault('the robot is not where its joint states say')
        for message in self._messages.unusable_joint_states(names):
            states.publish(message)
        # Joint states arrive in order: if the node has read the marker, it has read all messages before.
        marker = JointState(name=['panda_finger_joint1'], position=[0.01])
        if not self._poll(lambda: states.publish(marker), lambda: self._is_at(q)):
            self._fault('joint states that cannot be used moved the robot')
        if not self._solves(q):
            self._fault('compute_ik has no verified solution for a pose that the robot is at')
        self.judged += 1
        return None

    def _put_back(self) -> None:
        """Give the node its robot again, and an empty world."""
        self._publish_robot()
        attached = AttachedCollisionObject()
        attached.object.operation = CollisionObject.REMOVE
        self._publishers['ssik_ros/attached_collision_object'].publish(attached)
        everything = CollisionObject(operation=CollisionObject.REMOVE)
        self._publishers['ssik_ros/collision_object'].publish(everything)

    def _is_right(self) -> bool:
        """Return whether the node serves the right robot."""
        response = self._call('ssik_ros/describe', Describe.Request())
        return response is not None and response.robot == ROBOT and len(response.groups) == 3

    def _is_at(self, q: FloatArray) -> bool:
        """Return whether compute_fk puts the tip where the joints (n,) do."""
        request = GetPositionFK.Request(fk_link_names=[self._arm.tip])
        request.header.frame_id = self._arm.base
        response = self._call('compute_fk', request)
        if response is None or response.error_code.val != SUCCESS:
            return False
        if 'default positions were used' in response.error_code.message:
            return False
        expected = self._arm.fk(q[None])[0]
        return _differ(response.pose_stamped[0].pose, pose_message(expected)) < TOLERANCE

    def _solves(self, q: FloatArray) -> bool:
        """Return whether compute_ik reaches a pose, by kinematics of the bench's own."""
        target = self._arm.fk(q[None])[0]
        middle = 0.5 * (self._arm.lower + self._arm.upper)
        response = self._call('compute_ik', make_request(self._arm, target, middle, 5.0))
        if response is None or response.error_code.val != SUCCESS:
            return False
        state = response.solution.joint_state
        angles = dict(zip(state.name, state.position, strict=True))
        reached = self._arm.fk(np.array([[angles[joint.name] for joint in self._arm.joints]]))[0]
        return float(np.abs(reached - target).max()) < 1e-4

    def _poll(self, act: Callable[[], None], holds: Callable[[], bool]) -> bool:
        """Act again and again until something holds; return whether it does in time."""
        end = monotonic() + RESPONSE_LIMIT
        while monotonic() < end:
            act()
            until = monotonic() + 0.5
            while monotonic() < until:
                if holds():
                    return True
        return False

    def _call(self, service: str, request: Any) -> Any:
        """Return a response, None when it does not come in time."""
        try:
            return self._client.call(service, request, RESPONSE_LIMIT)
        except NoResponse:
            return None

    def _fault(self, text: str) -> None:
        """Note a fault."""
        self._watch.fault(f'after {self.sent.total()} messages: {text}')


def _texts(message: Any) -> list[str]:
    """Return every text in a response, except in the start state, which repeats the request."""
    texts: list[str] = []
    for name in message.get_fields_and_field_types().keys() - {'start_state'}:
        value = getattr(message, name)
        for item in value if isinstance(value, list | tuple) else [value]:
            if isinstance(item, str):
                texts.append(item)
            elif hasattr(item, 'SLOT_TYPES'):
                texts += _texts(item)
    return texts


def _differ(one: Pose, other: Pose) -> float:
    """Return the largest difference of a coordinate or quaternion entry of two poses; a quaternion has no sign."""
    points = np.array([[getattr(m.position, axis) for axis in 'xyz'] for m in (one, other)])
    turns = np.array([[getattr(m.orientation, axis) for axis in 'xyzw'] for m in (one, other)])
    turns[1] *= np.sign(turns[0] @ turns[1])
    return float(max(np.abs(np.diff(points, axis=0)).max(), np.abs(np.diff(turns, axis=0)).max()))


def attack(watch: Watch, options: argparse.Namespace) -> dict[str, Any]:
    """Send all messages in rounds; return counts."""
    with Client({name: (kind, name) for name, kind in SERVICES.items()}) as client:
        hostile = HostileClient(watch, client, options.seed)
        hostile.start()
        hostile.judge()
        end, left = monotonic() + 60.0 * options.minutes, options.messages
        while left > 0 and monotonic() < end and watch.is_alive and len(watch.faults) <= SHOWN:
            hostile.send(min(options.round, left))
            hostile.judge()
            left = options.messages - hostile.sent.total()
            print(
                f'{hostile.sent.total()} sent, {hostile.responded} responses, {hostile.judged} judged, '
                f'{len(watch.faults)} faults, {watch.note_memory():.1f} MB',
                flush=True,
            )
    rows = [[name, str(count)] for name, count in sorted(hostile.sent.items())]
    return {
        'text': (table(('topic or service', 'sent'), rows),),
        'seed': options.seed,
        'sent': dict(hostile.sent),
        'responses': hostile.responded,
        'judged': hostile.judged,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Attack, print and write; return 1 when something was wrong.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = make_parser(__doc__, growth=64.0)
    parser.add_argument('--messages', type=int, default=100_000, help='how many (%(default)s)')
    parser.add_argument('--round', type=int, default=1_000, help='messages between judgements')
    options = parser.parse_args(arguments)
    words = node_words('ssik_ros.ros.executables ik_server', 'task_sets_file:=panda')
    return run_against_node('hostile', options, [sys.executable, *words], attack, SETTLING)


if __name__ == '__main__':
    pinning.limit_threads()
    sys.exit(main())
