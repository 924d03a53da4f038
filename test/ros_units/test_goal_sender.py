"""Goals for a topic or an action: their receivers, the messages sent, and the conditions that stop them."""

import time
from types import SimpleNamespace

from test.ros_units.bare_nodes import node_maker

from action_msgs.msg import GoalStatus
import numpy as np
import pytest
from rclpy.executors import SingleThreadedExecutor
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from ssik_ros.errors import SolverError
from ssik_ros.ros.view import goal_sender
from ssik_ros.ros.view.goal_sender import GoalSender, Motion

pytestmark = pytest.mark.ros

WAIT = 20.0
NAMES = ('a', 'b')
MOTION = Motion(
    NAMES, np.array((0.0, 1.0)), np.array((1.0, -1.0)), 0.2, velocity=np.array((10.0, 20.0))
)
HERE = np.array((0.25, 0.5))


class Pair:
    """A sender and receivers, each with a node of its own."""

    def __init__(self, make, name='goal'):
        self._receiver = make()
        self._executor = SingleThreadedExecutor(context=self._receiver.context)
        self._executor.add_node(self._receiver)
        self.taken = []
        self.node = make()
        self.sender = GoalSender(self.node, name)

    def receive(self, kind):
        return self._receiver.create_subscription(kind, 'goal', self.taken.append, 10)

    def drop(self, subscription):
        self._receiver.destroy_subscription(subscription)

    def wait_for(self, condition):
        end = time.monotonic() + WAIT
        while not condition():
            assert time.monotonic() < end, self.sender.problem
            self._executor.spin_once(timeout_sec=0.02)
            self.sender.look()

    def spin(self):
        """Take messages until ten looks in a row bring none."""
        quiet = 0
        while quiet < 10:
            count = len(self.taken)
            self._executor.spin_once(timeout_sec=0.02)
            quiet = 0 if len(self.taken) > count else quiet + 1


@pytest.fixture
def pair(monkeypatch):
    monkeypatch.setattr(goal_sender, 'BETWEEN_GOALS', 0.0)
    monkeypatch.setattr(goal_sender, 'BETWEEN_STOPS', 0.0)
    with node_maker() as make:
        yield Pair(make)


def test_without_a_receiver_nothing_is_sent_and_its_name_is_told(pair):
    assert pair.sender.problem == 'Nobody receives /goal.'
    with pytest.raises(SolverError, match='Nobody receives /goal'):
        pair.sender.send(MOTION)


def test_without_a_name_nothing_is_looked_for_and_nothing_is_sent(pair):
    sender = GoalSender(pair.node, '')
    assert (sender.name, sender.problem) == ('', 'No receiver is named.')
    sender.stop(None)
    with pytest.raises(SolverError, match='No receiver is named'):
        sender.send(MOTION)


def test_a_trajectory_goes_out_once_and_stop_holds_the_joints(pair):
    pair.receive(JointTrajectory)
    pair.wait_for(lambda: not pair.sender.problem)
    pair.sender.step(HERE)
    pair.sender.stop(HERE)
    pair.spin()
    assert pair.taken == []
    pair.sender.send(MOTION)
    pair.wait_for(lambda: pair.taken)
    (sent,) = pair.taken
    assert sent.joint_names == list(NAMES) and list(sent.points[0].positions) == [1.0, -1.0]
    assert sent.points[0].time_from_start.nanosec == 200_000_000
    with pytest.raises(SolverError, match='where to hold'):
        pair.sender.stop(None)
    pair.sender.stop(HERE)
    pair.wait_for(lambda: len(pair.taken) == 2)
    assert list(pair.taken[1].points[0].positions) == HERE.tolist()


def test_postures_go_out_along_the_way_and_end_at_the_goal(pair, monkeypatch):
    pair.receive(JointState)
    pair.wait_for(lambda: not pair.sender.problem)
    clock, steps = Clock(monkeypatch), 0
    pair.sender.send(MOTION)
    while 'On the way' in pair.sender.status:
        clock.now += 0.03
        pair.sender.step(HERE)
        steps += 1
        pair.wait_for(lambda count=steps: len(pair.taken) == count)
    pair.sender.step(HERE)
    pair.spin()
    values = np.array([message.position for message in pair.taken])
    assert np.array_equal(values[-1], MOTION.goal) and len(values) == 7
    # All on the straight way, in order.
    assert np.allclose(values[:, 1], 1.0 - 2.0 * values[:, 0], atol=1e-12)
    assert (np.diff(values[:, 0]) > 0.0).all()


@pytest.mark.parametrize('end', ['stop', 'unknown'])
def test_postures_end_when_stopped_and_when_the_robot_state_is_unknown(pair, end):
    pair.receive(JointState)
    pair.wait_for(lambda: not pair.sender.problem)
    pair.sender.send(MOTION._replace(seconds=60.0))
    pair.sender.step(HERE)
    pair.wait_for(lambda: pair.taken)
    count = len(pair.taken)
    if end == 'stop':
        pair.sender.stop(HERE)
        pair.wait_for(lambda: len(pair.taken) > count)
        assert list(pair.taken[-1].position) == HERE.tolist()
        count += 1
    else:
        pair.sender.step(None, 'The joint states are old.')
        assert 'The joint states are old.' in pair.sender.status
    pair.sender.step(HERE)
    pair.spin()
    assert len(pair.taken) == count and 'Stopped' in pair.sender.status


def test_a_stop_without_a_checked_state_sends_nothing(pair):
    pair.receive(JointState)
    pair.wait_for(lambda: not pair.sender.problem)
    pair.sender.send(MOTION._replace(seconds=60.0))
    pair.sender.stop(None, 'The joint states are old.')
    pair.sender.step(HERE)
    pair.spin()
    assert not pair.taken and 'old' in pair.sender.status


class Clock:
    """A clock that a test moves."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(goal_sender, 'time', SimpleNamespace(monotonic=lambda: self.now))


def near(posture, here):
    """Return whether a posture can be reached within the lag at the velocity limits."""
    return (np.abs(posture - here) <= goal_sender.LAG * MOTION.velocity + 1e-12).all()


def sent_postures(pair, clock, places, seconds=0.04):
    """Return the postures that go out for the places where the robot is, one after another."""
    for here in places:
        clock.now += seconds
        pair.sender.step(np.asarray(here))
    pair.spin()
    return np.array([message.position for message in pair.taken]).reshape(-1, 2)


def test_postures_wait_for_a_robot_that_is_stuck_and_end_with_the_cause(pair, monkeypatch):
    pair.receive(JointState)
    pair.wait_for(lambda: not pair.sender.problem)
    clock = Clock(monkeypatch)
    pair.sender.send(MOTION._replace(seconds=1.0, velocity=MOTION.velocity / 10.0))
    sent = sent_postures(pair, clock, [MOTION.start] * 20)
    lag = goal_sender.LAG * MOTION.velocity / 10.0
    assert len(sent) and (np.abs(sent - MOTION.start) <= lag + 1e-12).all()
    before = len(sent)
    sent = sent_postures(pair, clock, [MOTION.start] * 60)
    assert len(sent) == before
    assert 'does not follow' in pair.sender.status and "'" in pair.sender.status


def test_a_process_that_was_held_up_sends_no_jump(pair, monkeypatch):
    pair.receive(JointState)
    pair.wait_for(lambda: not pair.sender.problem)
    clock = Clock(monkeypatch)
    pair.sender.send(MOTION._replace(seconds=10.0))
    first = sent_postures(pair, clock, [MOTION.start])[-1]
    second = sent_postures(pair, clock, [first], seconds=5.0)[-1]
    step = np.abs(MOTION.goal - MOTION.start) * goal_sender.LONGEST_PLAYED_TIME / 10.0
    assert (np.abs(second - first) <= step + 1e-12).all()


def test_a_robot_that_is_elsewhere_gets_no_posture(pair, monkeypatch):
    pair.receive(JointState)
    pair.wait_for(lambda: not pair.sender.problem)
    clock = Clock(monkeypatch)
    pair.sender.send(MOTION._replace(seconds=10.0))
    assert not len(sent_postures(pair, clock, [MOTION.start + 50.0] * 10))


def test_goals_and_stops_are_limited_in_rate(pair, monkeypatch):
    monkeypatch.undo()
    pair.receive(JointTrajectory)
    pair.wait_for(lambda: not pair.sender.problem)
    clock = Clock(monkeypatch)
    refused = 0
    for _ in range(100):
        clock.now += 0.01
        try:
            pair.sender.send(MOTION)
        except SolverError as error:
            assert 'another goal went out' in str(error)
            refused += 1
    assert refused == 98
    for _ in range(50):
        clock.now += 0.01
        pair.sender.stop(HERE)
    pair.spin()
    assert len(pair.taken) <= 2 + 5


def test_receivers_of_several_or_other_types_get_nothing(pair, monkeypatch):
    first = pair.receive(String)
    pair.wait_for(lambda: 'std_msgs/msg/String' in pair.sender.problem)
    pair.drop(first)
    pair.wait_for(lambda: 'Nobody' in pair.sender.problem)
    pair.receive(JointState)
    pair.wait_for(lambda: not pair.sender.problem)
    # One participant of DDS cannot have two types.
    kinds = goal_sender.TRAJECTORY, goal_sender.STATE
    ends = [SimpleNamespace(topic_type=kind) for kind in kinds]
    monkeypatch.setattr(pair.node, 'get_subscriptions_info_by_topic', lambda name: ends)
    pair.sender.look()
    with pytest.raises(SolverError, match='several types'):
        pair.sender.send(MOTION)


def test_the_topic_that_tells_where_the_robot_is_gets_no_goals(pair):
    pair.node.create_subscription(JointState, 'goal', print, 10)
    pair.sender.look()
    assert 'tells where the robot is' in pair.sender.problem


class ActionDouble:
    """An action client whose server does as the test says."""

    def __init__(self, node, kind, name, callback_group=None):
        self.goals, self.responses, self.is_ready = [], [], True
        ActionDouble.made = self

    def server_is_ready(self):
        return self.is_ready

    def send_goal_async(self, goal):
        self.goals.append(goal)
        self.responses.append(Future())
        return self.responses[-1]

    def destroy(self):
        """Keep everything."""


class HandleDouble:
    """An accepted goal."""

    def __init__(self, accepted=True):
        self.accepted, self.cancellations, self.result = accepted, 0, Future()

    def get_result_async(self):
        return self.result

    def cancel_goal_async(self):
        self.cancellations += 1


@pytest.fixture
def action(pair, monkeypatch):
    """Give a sender to an action; control_msgs is installed on few machines."""
    kind = SimpleNamespace(Goal=SimpleNamespace)
    monkeypatch.setattr(goal_sender, 'FollowJointTrajectory', kind)
    monkeypatch.setattr(goal_sender, 'ActionClient', ActionDouble, raising=False)
    offered = [('/goal/_action/send_goal', [f'{goal_sender.ACTION}_SendGoal'])]
    monkeypatch.setattr(pair.node, 'get_service_names_and_types', lambda: offered)
    pair.sender.look()
    return pair.sender, ActionDouble.made


def respond(future, value):
    future.set_result(value)


def end_of(status, code=0, text=''):
    """Return how an action ends a goal."""
    return SimpleNamespace(
        status=status, result=SimpleNamespace(error_code=code, error_string=text)
    )


def test_a_goal_of_an_action_is_followed_to_its_end(action):
    sender, client = action
    sender.send(MOTION)
    assert client.goals[0].trajectory.joint_names == list(NAMES)
    handle = HandleDouble()
    respond(client.responses[0], handle)
    assert sender.status == 'Accepted: 0.2 s.'
    respond(handle.result, end_of(GoalStatus.STATUS_SUCCEEDED))
    assert sender.status == 'Reached.'
    sender.stop(None)
    assert handle.cancellations == 0


@pytest.mark.parametrize(
    ('status', 'text'),
    [(GoalStatus.STATUS_CANCELED, 'cancelled'), (GoalStatus.STATUS_ABORTED, 'Failed')],
)
def test_a_goal_that_is_not_reached_is_not_called_reached_whatever_its_code(action, status, text):
    sender, client = action
    sender.send(MOTION)
    handle = HandleDouble()
    respond(client.responses[0], handle)
    respond(handle.result, end_of(status))
    assert text in sender.status


def test_a_rejected_or_failed_goal_says_so(action):
    sender, client = action
    sender.send(MOTION)
    respond(client.responses[0], HandleDouble(accepted=False))
    assert sender.status == 'The goal was rejected.'
    sender.send(MOTION)
    handle = HandleDouble()
    respond(client.responses[1], handle)
    respond(handle.result, end_of(GoalStatus.STATUS_ABORTED, -5, 'x' * 1000 + '\n'))
    assert sender.status.startswith('Failed (-5)') and len(sender.status) < 300


def test_a_goal_stopped_before_its_acceptance_is_canceled_with_it(action):
    sender, client = action
    sender.send(MOTION)
    sender.stop(None)
    handle = HandleDouble()
    respond(client.responses[0], handle)
    assert handle.cancellations == 1 and sender.status == 'A cancellation is sent.'


def test_a_second_goal_replaces_the_first_one(action):
    sender, client = action
    first = HandleDouble()
    sender.send(MOTION)
    respond(client.responses[0], first)
    sender.send(MOTION._replace(seconds=3.0))
    assert first.cancellations == 1
    respond(client.responses[1], HandleDouble())
    # The late result of the first goal must not count for the second.
    respond(first.result, end_of(GoalStatus.STATUS_SUCCEEDED))
    assert sender.status == 'Accepted: 3.0 s.'


def test_an_action_that_is_silent_gets_a_cancellation_in_bounded_time(action, monkeypatch):
    sender, client = action
    monkeypatch.setattr(goal_sender, 'LATE_GOAL_TIME', -1.0)
    sender.send(MOTION)
    handle = HandleDouble()
    respond(client.responses[0], handle)
    sender.step(HERE)
    assert handle.cancellations == 1 and 'No response' in sender.status
    client.is_ready = False
    with pytest.raises(SolverError, match='is not there'):
        sender.send(MOTION)
