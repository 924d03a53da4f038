"""
The node among malformed messages: ``python bench/hostile.py --help``, or ``make hostile``.

One client sends messages drawn from a seed to every topic and service of the node. Some hold a million characters, or
joint values of 1e308. After each round it restores robot, world and joint states and judges the node by a forward
kinematics of its own: the node knows the right robot and its state, and unusable joint states do not move it. The
program ends with 1 in these cases:

- the node has ended,
- a response is lost or too long,
- a judgement fails,
- the node's memory, or its growth, exceeds a bound.

Deadlines are not judged: many requests leave the node no time at all, and it receives forty robot descriptions a second.
``bench/soak.py`` judges them.

Needs ROS (``. ./activate``).
"""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
import math
from pathlib import Path
import subprocess
import sys
from time import monotonic
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from geometry_msgs.msg import Pose
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject, MoveItErrorCodes
from moveit_msgs.srv import GetPositionFK
import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from ssik_msgs.srv import Describe
from std_msgs.msg import String

from bench import conditions, pinning, program, report
from bench.arms import FloatArray, read_arm
from bench.ros.hostile_messages import good_request, Hostile, HostileMessages, SERVICES, TOPICS
from bench.ros.processes import claim_domain, ServerProcesses
from bench.soak import add_memory_bound, memory_of

ROBOT, GROUP = 'panda', 'panda_arm'
START_LIMIT = 400.0
"""Time that the services have to appear; the machine may be busy [s]."""
RESPONSE_LIMIT = 30.0
"""Time after which a response counts as lost, and a judgement as failed [s]."""
IN_FLIGHT = 8
LONGEST_TEXT = 10_000
"""Characters of the longest text in a response."""
SETTLING = 0.2
"""Part of the messages after which the memory counts as that at the start: everything has been used by then."""
TOLERANCE = 1e-6
SHOWN = 10
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@dataclass(slots=True)
class Tally:
    """Counts, faults and memory of a run."""

    sent: Counter[str] = field(default_factory=Counter)
    """By topic or service."""
    responded: int = 0
    judged: int = 0
    faults: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    """Of the node after each round [MB]."""


class HostileClient:
    """Sends the drawn messages, and judges the node."""

    def __init__(self, seed: int, tally: Tally) -> None:
        """Make a client for each service and a publisher for each topic."""
        self._arm = read_arm(ROBOT)
        folder = self._arm.urdf_path.parent
        self._urdf, self._srdf = (
            (folder / f'{ROBOT}.{kind}').read_text() for kind in ('urdf', 'srdf')
        )
        self._messages = HostileMessages(seed, self._urdf, self._srdf)
        self._rng = np.random.default_rng(seed)
        self._tally = tally
        self._context = Context()
        rclpy.init(args=[], context=self._context)
        self._node = rclpy.create_node(
            'hostile', context=self._context, start_parameter_services=False, enable_rosout=False
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        deep = QoSProfile(depth=100)
        self._clients = {
            name: self._node.create_client(kind, name, qos_profile=deep)
            for name, kind in SERVICES.items()
        }
        self._publishers = {
            name: self._node.create_publisher(
                kind, name, LATCHED if name.startswith('robot') or 'static' in name else deep
            )
            for name, kind in TOPICS.items()
        }
        self._waiting: list[tuple[Any, Hostile, float]] = []

    def start(self) -> None:
        """
        Give the node its robot, and wait until every service is there.

        :raises SystemExit: when one is not in time.
        """
        self._publishers['robot_description'].publish(String(data=self._urdf))
        self._publishers['robot_description_semantic'].publish(String(data=self._srdf))
        end = monotonic() + START_LIMIT
        for name, client in self._clients.items():
            if not client.wait_for_service(max(0.1, end - monotonic())):
                sys.exit(f'hostile: there is no service {name} after {START_LIMIT:g} s')

    def send(self, count: int) -> None:
        """
        Send hostile messages; a few requests are in flight at once.

        :param count: how many.
        """
        for _ in range(count):
            hostile = self._messages.draw()
            self._tally.sent[hostile.name] += 1
            if hostile.is_request:
                future = self._clients[hostile.name].call_async(hostile.message)
                self._waiting.append((future, hostile, monotonic() + RESPONSE_LIMIT))
            else:
                self._publishers[hostile.name].publish(hostile.message)
            while len(self._waiting) >= IN_FLIGHT:
                self._collect()
        while self._waiting:
            self._collect()

    def _collect(self) -> None:
        """Handle the next event of the client."""
        self._executor.spin_once(0.05)
        kept = []
        for future, hostile, end in self._waiting:
            if future.done():
                self._tally.responded += 1
                longest = max((len(text) for text in _texts(future.result())), default=0)
                if longest > LONGEST_TEXT:
                    self._fault(f'{hostile.name} responded with a text of {longest} characters')
            elif monotonic() > end:
                self._fault(f'{hostile.name} did not respond within {RESPONSE_LIMIT:g} s')
            else:
                kept.append((future, hostile, end))
        self._waiting = kept

    def judge(self) -> None:
        """Restore the initial conditions, and check that the node still knows the robot and its state."""
        self._put_back()
        q = self._rng.uniform(self._arm.lower, self._arm.upper)
        names = tuple(joint.name for joint in self._arm.joints)
        posture = JointState(name=list(names), position=q.tolist())
        states = self._publishers['joint_states']
        at_posture = self._poll(lambda: states.publish(posture), lambda: self._is_at(q))
        if not at_posture:
            self._fault('the robot is not where its joint states say')
            return
        for message in self._messages.unusable_joint_states(names):
            states.publish(message)
        # Joint states arrive in order: if the node has read the marker, it has read all messages before.
        marker = JointState(name=['panda_finger_joint1'], position=[0.01])
        if not self._poll(lambda: states.publish(marker), lambda: self._is_at(q)):
            self._fault('joint states that cannot be used moved the robot')
        if not self._solves(q):
            self._fault('compute_ik has no verified solution for a pose that the robot is at')
        self._tally.judged += 1

    def _put_back(self) -> None:
        """Give the node its robot again, and an empty world."""
        describe = Describe.Request()

        def is_right() -> bool:
            response = self._call('ssik_ros/describe', describe)
            return response is not None and response.robot == ROBOT and len(response.groups) == 3

        def publish() -> None:
            self._publishers['robot_description'].publish(String(data=self._urdf))
            self._publishers['robot_description_semantic'].publish(String(data=self._srdf))
            objects = self._publishers['ssik_ros/collision_object']
            attached = AttachedCollisionObject()
            attached.object.operation = CollisionObject.REMOVE
            self._publishers['ssik_ros/attached_collision_object'].publish(attached)
            objects.publish(CollisionObject(operation=CollisionObject.REMOVE))

        publish()
        if not self._poll(publish, is_right):
            self._fault('the node does not serve the robot that was published last')

    def _is_at(self, q: FloatArray) -> bool:
        """Return whether compute_fk puts the tip where the joints (n,) do."""
        request = GetPositionFK.Request(fk_link_names=[self._arm.tip])
        request.header.frame_id = self._arm.base
        response = self._call('compute_fk', request)
        if response is None or response.error_code.val != MoveItErrorCodes.SUCCESS:
            return False
        if 'default positions were used' in response.error_code.message:
            return False
        expected = self._arm.fk(q[None])[0]
        return _differ(response.pose_stamped[0].pose, expected) < TOLERANCE

    def _solves(self, q: FloatArray) -> bool:
        """Return whether compute_ik reaches a pose, by kinematics of the bench's own."""
        target = self._arm.fk(q[None])[0]
        request = good_request(GROUP, self._arm.base, _message_of(target))
        response = self._call('compute_ik', request)
        if response is None or response.error_code.val != MoveItErrorCodes.SUCCESS:
            return False
        state = response.solution.joint_state
        found = dict(zip(state.name, state.position, strict=True))
        reached = self._arm.fk(np.array([[found[joint.name] for joint in self._arm.joints]]))[0]
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
        future = self._clients[service].call_async(request)
        self._executor.spin_until_future_complete(future, RESPONSE_LIMIT)
        return future.result() if future.done() else None

    def _fault(self, text: str) -> None:
        self._tally.faults.append(f'after {self._tally.sent.total()} messages: {text}')
        print(self._tally.faults[-1], flush=True)

    def close(self) -> None:
        """Leave the domain."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)


def _texts(message: Any) -> list[str]:
    """Return every text in a response, except in the start state, which repeats the request."""
    found: list[str] = []
    for name in message.get_fields_and_field_types().keys() - {'start_state'}:
        value = getattr(message, name)
        for item in value if isinstance(value, list | tuple) else [value]:
            if isinstance(item, str):
                found.append(item)
            elif hasattr(item, 'SLOT_TYPES'):
                found += _texts(item)
    return found


def _message_of(pose: FloatArray) -> Pose:
    """Return a pose (4, 4) as a message."""
    message = Pose()
    point, quaternion = message.position, message.orientation
    point.x, point.y, point.z = map(float, pose[:3, 3])
    rotation = pose[:3, :3]
    # The eigenvector of the largest eigenvalue of Bar-Itzhack's matrix.
    xx, xy, xz, yx, yy, yz, zx, zy, zz = rotation.ravel()
    matrix = np.array(
        [
            [xx - yy - zz, yx + xy, zx + xz, zy - yz],
            [yx + xy, yy - xx - zz, zy + yz, xz - zx],
            [zx + xz, zy + yz, zz - xx - yy, yx - xy],
            [zy - yz, xz - zx, yx - xy, xx + yy + zz],
        ]
    )
    quaternion.x, quaternion.y, quaternion.z, quaternion.w = map(
        float, np.linalg.eigh(matrix)[1][:, 3]
    )
    return message


def _differ(message: Pose, pose: FloatArray) -> float:
    """Return how far a message is from a pose (4, 4): the largest difference of a coordinate or quaternion entry."""
    other = _message_of(pose)
    points = [getattr(message.position, axis) - getattr(other.position, axis) for axis in 'xyz']
    quaternions = [[getattr(m.orientation, axis) for axis in 'xyzw'] for m in (message, other)]
    sign = np.sign(np.dot(*quaternions))
    return float(
        np.abs([*points, *(np.array(quaternions[0]) - sign * np.array(quaternions[1]))]).max()
    )


def attack(options: argparse.Namespace, process: 'subprocess.Popen[bytes]') -> Tally:
    """
    Send all messages in rounds; return counts, faults and memory.

    :param options: of the command line.
    :param process: the node.
    """
    tally = Tally()
    client = HostileClient(options.seed, tally)
    try:
        client.start()
        client.judge()
        end = monotonic() + 60.0 * options.minutes
        while (
            tally.sent.total() < options.messages and monotonic() < end and process.poll() is None
        ):
            client.send(min(options.round, options.messages - tally.sent.total()))
            client.judge()
            tally.memory.append(memory_of(process.pid))
            print(
                f'{tally.sent.total()} sent, {tally.responded} responses, {tally.judged} judged, '
                f'{len(tally.faults)} faults, {tally.memory[-1]:.1f} MB',
                flush=True,
            )
            if len(tally.faults) > SHOWN:
                break
        if process.poll() is not None:
            tally.faults.append(f'the node ended with {process.returncode}')
    finally:
        client.close()
    start = tally.memory[int(SETTLING * len(tally.memory)) :]
    if start and start[-1] - start[0] > options.bound:
        tally.faults.append(f'the memory of the node grew by {start[-1] - start[0]:.1f} MB')
    if max(tally.memory, default=0.0) > options.memory:
        tally.faults.append(f'the node had {max(tally.memory):.1f} MB')
    return tally


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """
    Return the options of the command line.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='The node among hostile messages.')
    parser.add_argument('--messages', type=int, default=100_000, help='how many (%(default)s)')
    parser.add_argument(
        '--minutes',
        type=float,
        default=math.inf,
        help='end earlier, after this time (%(default)s)',
    )
    parser.add_argument('--round', type=int, default=1_000, help='messages between judgements')
    parser.add_argument('--seed', type=int, default=1, help='of the messages')
    parser.add_argument(
        '--bound', type=float, default=64.0, help='growth of memory that is none [MB]'
    )
    add_memory_bound(parser)
    program.add_common_options(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Attack, print and write; return 1 when something was wrong.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = parse_arguments(arguments)
    claim_domain()
    around = conditions.describe(None, ())
    print(conditions.as_text(around), flush=True)
    lifetime = int(START_LIMIT + 2.0 * RESPONSE_LIMIT + options.messages)
    log = options.output / 'hostile.log'
    node = [sys.executable, '-m', 'ssik_ros.ros.executables', 'ik_server', '--ros-args']
    with ServerProcesses(None, lifetime) as servers:
        process = servers.start([*node, '-p', 'task_sets_file:=panda'], log)
        tally = attack(options, process)
    rows = [[name, str(count)] for name, count in sorted(tally.sent.items())]
    print('\n' + report.table(('topic or service', 'sent'), rows))
    print('\n'.join(tally.faults[:SHOWN]) or 'Nothing was wrong.')
    content = {
        'conditions': around,
        'seed': options.seed,
        'sent': dict(tally.sent),
        'responses': tally.responded,
        'judged': tally.judged,
        'memory_mb': tally.memory,
        'log_kb': log.stat().st_size / 1024,
        'faults': tally.faults,
    }
    report.write_json(options.output / 'hostile.json', content)
    return int(bool(tally.faults))


if __name__ == '__main__':
    pinning.limit_threads()
    sys.exit(main())
