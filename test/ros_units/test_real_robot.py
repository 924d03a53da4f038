"""Where the running robot is: only a fresh state within all limits begins a motion or holds the robot."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from ssik_ros.errors import SolverError
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.ros.view.real_robot import LARGEST_POSITION, RunningGroup, SENSOR_NOISE, SPEED

pytestmark = pytest.mark.ros

FILES = find_moveit_config('panda')
HOME = np.array((0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785))


class LiveDouble:
    """Joint states that the test chooses."""

    topics = '/joint_states'

    def __init__(self, group):
        self.joints, self.old, self._group = HOME, [], group

    def find(self, reader):
        state = reader.default()
        positions = state.positions.copy()
        positions[self._group.idx_q] = self.joints
        return SimpleNamespace(state=state._replace(positions=positions), is_heard=True)

    def too_old(self, names, max_age):
        return self.old


class SenderDouble:
    """Keeps the goals that it should send."""

    name, problem, status, had_receiver = 'goal', '', '', True

    def __init__(self):
        self.motions, self.stops, self.steps = [], [], []

    def send(self, motion):
        self.motions.append(motion)

    def step(self, here, reason=''):
        self.steps.append((here, reason))

    def stop(self, here, reason=''):
        self.stops.append((here, reason))


@pytest.fixture(scope='module')
def robot():
    return load_robot(FILES.urdf_path, FILES.srdf_path)


@pytest.fixture
def running(robot, monkeypatch):
    monkeypatch.setattr('ssik_ros.ros.view.real_robot.TransformListener', lambda node: None)
    group = robot.group('panda_arm')
    live, sender = LiveDouble(group), SenderDouble()

    def run(robot):
        return RunningGroup(None, robot, group, live, max_age=1.0, sender=sender)

    return SimpleNamespace(real=run(robot), run=run, live=live, sender=sender, group=group)


@pytest.mark.parametrize('value', [100.0, 1e8, -1e300, np.nan, np.inf])
def test_a_state_outside_of_the_limits_neither_begins_a_motion_nor_holds(running, value):
    running.live.joints = HOME.copy()
    running.live.joints[2] = value
    with pytest.raises(
        SolverError, match=r'panda_joint3. is reported at .* outside of its limits'
    ):
        running.real.send(HOME, 5.0)
    running.real.step()
    running.real.stop()
    assert not running.sender.motions
    for here, reason in (*running.sender.steps, *running.sender.stops):
        assert here is None and 'outside of its limits' in reason


def test_a_stale_state_neither_begins_a_motion_nor_holds(running):
    running.live.old = ['panda_joint1']
    with pytest.raises(SolverError, match='STALE'):
        running.real.send(HOME, 5.0)
    running.real.stop()
    assert running.sender.stops[0][0] is None and 'STALE' in running.sender.stops[0][1]


def test_noise_at_a_limit_is_held_at_the_limit(running):
    running.live.joints = HOME.copy()
    running.live.joints[0] = running.group.upper[0] + 0.5 * SENSOR_NOISE
    running.real.stop()
    (here, _), *_ = running.sender.stops
    assert here[0] == running.group.upper[0] and (here[1:] == HOME[1:]).all()


@pytest.mark.parametrize('value', [4.0, np.nan, 10 * LARGEST_POSITION])
def test_a_goal_outside_of_the_limits_is_not_sent(running, value):
    goal = HOME.copy()
    goal[0] = value
    with pytest.raises(SolverError, match='outside of the limits'):
        running.real.send(goal, 5.0)
    assert not running.sender.motions


def test_a_joint_without_a_velocity_limit_moves_at_a_velocity_of_its_own(robot, running):
    for missing in (0.0, np.inf, np.nan):
        limits = robot.tree.velocity.copy()
        limits[running.group.idx_q[0]] = missing
        tree = dataclasses.replace(robot.tree, velocity=limits)
        real = running.run(dataclasses.replace(robot, tree=tree))
        goal = HOME.copy()
        goal[0] += 2.0
        real.send(goal, 1.0)
        motion = running.sender.motions.pop()
        assert np.isfinite(motion.velocity).all() and (motion.velocity > 0.0).all()
        assert motion.seconds == pytest.approx(2.0 / (SPEED * motion.velocity[0]))


def test_after_another_robot_description_nothing_is_sent(running):
    running.real.send(HOME, 5.0)
    running.real.refuse('Another robot description came.')
    assert len(running.sender.stops) == 1
    assert running.real.problem() == 'Another robot description came.'
    with pytest.raises(SolverError, match='Another robot description'):
        running.real.send(HOME, 5.0)
    assert len(running.sender.motions) == 1


def test_without_a_receiver_no_state_is_read(running):
    running.live.find = None
    running.sender.had_receiver = False
    running.real.step()
    assert not running.sender.steps


def test_goals_are_refused_even_if_the_motion_cannot_be_stopped(running, monkeypatch):
    def stop(here, reason=''):
        raise SolverError('The posture to hold is unknown.')

    monkeypatch.setattr(running.sender, 'stop', stop)
    with pytest.raises(SolverError, match='to hold is unknown'):
        running.real.refuse('Another robot description came.')
    assert running.real.problem() == 'Another robot description came.'
