"""Streams of commands with a clock of the test's: status, causes, speed, held joints and restarts."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.server.requests.ik_requests import AT_MODEL_FRAME, FramedPose, FullState
from ssik_ros.server.requests.refusals import RequestRefused
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.server.scene.world import PlacedFrame
from ssik_ros.server.tasks.stream_report import StreamRecords
from ssik_ros.server.tasks.task_set_stream import StreamCause, StreamSettings, TaskSetStream
from ssik_ros.server.tasks.task_sets import TaskSets
from ssik_ros.solvers.search.newton.tracker import TrackStatus
from ssik_ros.tasks.files.task_set_file import parse_task_set_file, read_task_set_file

ROOT = Path(__file__).resolve().parents[2]
PANDA = load_robot(find_moveit_config('panda').urdf_path)
BENT = np.array([0.1, -0.3, 0.2, -1.9, 0.1, 1.8, 0.6, 0.01, 0.01])
PERIOD = 0.01
OK, LIMITED, HELD = TrackStatus


class Setup:
    """A stream, a clock, and a robot that holds a given posture."""

    def __init__(self, content=None, names=('arm',), robot=PANDA, start=BENT, **settings):
        self.frames = {}
        scene = PlanningScene(robot, transforms=self.find)
        content = content or read_task_set_file(ROOT / 'config' / 'task_sets' / 'panda.yaml')
        given = {'period': PERIOD, 'max_age': 0.105, **settings}
        task_sets = TaskSets(scene, content)
        self.scene = scene
        self.stream = TaskSetStream(scene, task_sets, names, StreamSettings(**given))
        self.now = 100.0
        self.state = FullState(np.array(start), AT_MODEL_FRAME)

    def find(self, name, bases):
        return self.frames.get(name, 'No transform names it.')

    def pose(self, positions=None, link='panda_link8'):
        """Return where a link is, by the robot's own kinematics."""
        values = self.state.positions if positions is None else positions
        return self.scene.frames.link_in_root(link, FullState(values, AT_MODEL_FRAME))

    def send(self, pose, name='goal', frame='panda_link0', stamp=0):
        self.stream.take(name, FramedPose(frame, pose), stamp, self.now)

    def step(self, state='own'):
        self.now += PERIOD
        return self.stream.step(self.now, self.state if state == 'own' else state)


def shifted(pose, *offset):
    moved = pose.copy()
    moved[:3, 3] += offset
    return moved


def test_nothing_is_commanded_before_a_target_comes():
    setup = Setup()
    step = setup.step()
    assert (step.status, step.cause, step.positions) == (HELD, StreamCause.NO_TARGET, None)
    setup.send(setup.pose())
    step = setup.step(None)
    assert (step.status, step.cause, step.positions) == (HELD, StreamCause.NO_STATE, None)
    step = setup.step()
    assert (step.status, step.cause, step.text) == (OK, StreamCause.NONE, '')
    assert np.array_equal(step.positions, BENT), 'the tip is there already'


def test_a_moving_target_is_followed():
    """Along a line in 100 cycles: every command is within precision of the newest target, by other kinematics."""
    setup = Setup()
    start = setup.pose()
    for k in range(1, 101):
        goal = shifted(start, -0.001 * k, 0.0005 * k, 0.001 * k)
        setup.send(goal, stamp=k)
        step = setup.step()
        assert step.status == OK and step.is_new and step.newest.stamp == k
        assert np.abs(setup.pose(step.positions) - goal).max() < 1e-3
        assert np.array_equal(step.positions[7:], BENT[7:])


def test_the_newest_target_counts_and_a_late_one_is_left_out():
    setup = Setup()
    first, second = shifted(setup.pose(), 0.002, 0, 0), shifted(setup.pose(), 0.004, 0, 0)
    setup.send(second, stamp=20)
    setup.send(first, stamp=10)
    step = setup.step()
    assert np.abs(setup.pose(step.positions) - second).max() < 1e-3
    assert setup.stream.disordered == 1 and step.newest.stamp == 20
    setup.now += 1.0
    setup.send(first, stamp=5)
    step = setup.step()
    assert step.newest.stamp == 5, 'a clock that was set back does not end the stream'


def test_joints_keep_their_velocity_limits():
    setup = Setup(speed_scale=0.5)
    goal = shifted(setup.pose(), -0.1, 0.1, 0.1)
    limits = PANDA.tree.velocity * PERIOD * 0.5
    before, cycles, remaining = BENT, 0, []
    while True:
        setup.send(goal)
        step = setup.step()
        change = np.abs(step.positions - before)
        assert (change <= limits * (1.0 + 1e-9)).all()
        before, cycles = step.positions, cycles + 1
        if step.status == OK:
            break
        assert (step.status, step.cause) == (LIMITED, StreamCause.SPEED)
        assert change.max() > 0.0 and (change[:7] / limits[:7]).max() == pytest.approx(1.0)
        left = np.linalg.norm(setup.pose(step.positions)[:3, 3] - goal[:3, 3])
        assert step.linear == pytest.approx(left, abs=1e-9), 'what is told is what was commanded'
        remaining.append(left)
        assert cycles < 500
    assert cycles > 5 and remaining == sorted(remaining, reverse=True)


@pytest.mark.parametrize('offset', [(2.0, 0.0, 0.0), (-0.3, 0.5, 1.5)])
def test_out_of_reach_comes_nearer_until_it_stays(offset):
    """The distance never grows; in the end nothing moves, and no joint can bring the tip nearer."""
    setup = Setup(speed_scale=1.0)
    far = shifted(setup.pose(), *offset)
    costs, steps = [], []
    for _ in range(700):
        setup.send(far)
        steps.append(setup.step())
        costs.append(cost_at(setup, steps[-1].positions, far))
    assert all(step.status == LIMITED for step in steps)
    assert max(np.diff(costs)) < 1e-9
    last = steps[-1]
    assert last.cause in (StreamCause.UNREACHED, StreamCause.LIMITS)
    left = np.linalg.norm(setup.pose(last.positions)[:3, 3] - far[:3, 3])
    assert last.linear == pytest.approx(left, abs=1e-9)
    assert np.abs(last.positions - steps[-2].positions).max() < 1e-4
    for joint in range(7):
        for change in (-0.02, 0.02):
            other = last.positions.copy()
            other[joint] += change
            if PANDA.tree.lower[joint] <= other[joint] <= PANDA.tree.upper[joint]:
                assert cost_at(setup, other, far) > costs[-1] - 1e-3


def cost_at(setup, positions, goal):
    """Return the squared distance of the tip from a pose, angle and position, by other kinematics."""
    pose = setup.pose(positions)
    turn = Rotation.from_matrix(pose[:3, :3].T @ goal[:3, :3]).magnitude()
    return turn**2 + float(np.sum((pose[:3, 3] - goal[:3, 3]) ** 2))


def test_a_target_that_ceases_is_held_and_the_robot_may_be_moved_meanwhile():
    setup = Setup()
    setup.send(shifted(setup.pose(), 0.0, 0.01, 0.0))
    last = setup.step()
    held = [setup.step() for _ in range(25)]
    assert [s.status for s in held] == [OK] * 9 + [HELD] * 16, '0.1 s are ten cycles'
    assert held[-1].cause == StreamCause.STALE and "'goal'" in held[-1].text
    assert np.array_equal(held[-1].positions, last.positions)
    elsewhere = BENT + np.array([0.3, 0, 0, 0, 0, 0, 0, 0, 0])
    setup.state = setup.state._replace(positions=elsewhere)
    setup.send(setup.pose(elsewhere))
    step = setup.step()
    assert step.status == OK and np.array_equal(step.positions, elsewhere)


def test_a_short_interruption_does_not_throw_the_joints_back():
    """The robot lags its commands: new commands continue from the last one."""
    setup = Setup()
    start = setup.pose()
    setup.send(start)
    setup.step()
    for k in range(1, 4):
        setup.send(shifted(start, 0.0, 0.003 * k, 0.0))
        last = setup.step()
    setup.send(np.full((4, 4), np.nan))
    assert setup.step().status == HELD
    setup.send(shifted(start, 0.0, 0.009, 0.0))
    step = setup.step()
    assert step.status == OK and np.array_equal(step.positions, last.positions)


def test_joints_outside_the_task_sets_are_where_the_robot_is():
    setup = Setup()
    setup.send(setup.pose())
    setup.step()
    moved = BENT.copy()
    moved[7:] = 0.03
    moved[0] += 0.2
    step = setup.step(FullState(moved, AT_MODEL_FRAME))
    assert (step.positions[7:] == 0.03).all()
    assert step.positions[0] == BENT[0], 'commanded joints go on from their commands'


@pytest.mark.parametrize(
    ('pose', 'frame', 'cause'),
    [
        (np.full((4, 4), np.nan), 'panda_link0', StreamCause.BAD_TARGET),
        (shifted(np.eye(4), 1e12, 0, 0), 'panda_link0', StreamCause.BAD_TARGET),
        (np.eye(4), 'nowhere', StreamCause.FRAME),
    ],
)
def test_a_target_without_meaning_is_held(pose, frame, cause):
    setup = Setup()
    setup.send(setup.pose())
    last = setup.step()
    setup.send(pose, frame=frame)
    step = setup.step()
    assert (step.status, step.cause) == (HELD, cause) and step.text
    assert np.array_equal(step.positions, last.positions)
    setup.send(setup.pose())
    assert setup.step().status == OK


def test_frames_that_are_followed_need_no_topic():
    text = {
        'frames': {'cup': {'follow': 'cup_seen'}},
        'task_sets': {
            'arm': {'max_iterations': 50, 'tasks': [{'tip': 'panda_link8', 'target': 'cup'}]}
        },
    }
    setup = Setup(parse_task_set_file(text), ())
    assert setup.stream.targets == ('cup',)
    assert setup.step().cause == StreamCause.FRAME
    goal = shifted(setup.pose(), 0.0, 0.01, 0.0)
    setup.frames['cup_seen'] = PlacedFrame('panda_link0', goal)
    step = setup.step()
    assert step.status == OK and np.abs(setup.pose(step.positions) - goal).max() < 2e-3


def test_unknown_task_sets_are_refused():
    with pytest.raises(RequestRefused, match="'amr'"):
        Setup(names=['amr'])


def test_the_report_counts_what_was_missed_and_late():
    setup = Setup()
    records = StreamRecords(PERIOD)

    def run(latency):
        step = setup.step()
        return records.take(step, setup.now, setup.now + latency)

    assert run(0.001) == 0.0
    for k in range(10):
        setup.send(setup.pose())
        assert run(0.001 * k) == pytest.approx(PERIOD + 0.001 * k)
    run(0.0)
    setup.now += 2.0 * PERIOD
    setup.send(setup.pose())
    run(0.0)
    report = records.report()
    assert (report.cycles, report.missed, report.late) == (13, 1, 1)
    assert report.statuses == {'OK': 12, 'HELD': 1, 'NO_TARGET': 1}
    p50, p95, p99, most = report.latencies
    assert PERIOD < p50 < p95 <= p99 <= most == pytest.approx(PERIOD + 0.009)
    assert records.report().cycles == 0


def test_a_motion_ends_when_the_state_is_lost_and_says_so():
    setup = Setup()
    setup.send(shifted(setup.pose(), 0.2, 0.0, 0.0))
    assert setup.step().status is not HELD
    step = setup.step(None)
    assert (step.status, step.cause) == (HELD, StreamCause.NO_STATE)


def test_a_robot_that_is_stuck_is_not_left_behind():
    """The target moves on for 3 s; no command is farther from the robot than the bound, and it says which joint."""
    lag = 0.2
    setup = Setup(max_lag=lag, max_age=10.0)
    velocity, goal = PANDA.tree.velocity[:7], setup.pose()
    causes, commands = set(), []
    for k in range(300):
        setup.send(shifted(goal, 0.0, 0.4 * np.sin(0.02 * k), -0.1 * np.sin(0.01 * k)))
        step = setup.step()
        causes.add((step.status, step.cause))
        commands.append(step.positions[:7])
        if step.cause is StreamCause.LAG:
            assert "'panda_joint" in step.text and 'max_lag' in step.text
    assert (HELD, StreamCause.LAG) in causes
    apart = np.abs(np.array(commands) - BENT[:7])
    assert (apart <= (lag + PERIOD) * velocity + 1e-12).all()


def test_a_robot_that_comes_again_is_led_on_without_a_jump():
    setup = Setup(max_lag=0.2, max_age=10.0)
    goal = shifted(setup.pose(), 0.0, 0.3, 0.0)
    last = BENT[:7]
    for k in range(400):
        setup.send(goal)
        step = setup.step()
        assert (
            np.abs(step.positions[:7] - last) <= PERIOD * PANDA.tree.velocity[:7] + 1e-12
        ).all()
        last = step.positions[:7]
        if k > 100:
            # Half of the way in each cycle.
            positions = setup.state.positions.copy()
            positions[:7] += 0.5 * (last - positions[:7])
            setup.state = FullState(positions, AT_MODEL_FRAME)
    assert step.status is OK


@pytest.mark.parametrize('first', [{'tip': 'panda_link8', 'enabled': False}, {'tip': 'fixed'}])
def test_task_sets_whose_first_task_moves_nothing_are_warmed_up(first):
    frames = {'fixed': {'parent': 'panda_link0'}, 'goal': {'at': 'panda_link8'}}
    tasks = [{**first, 'target': 'goal'}, {'tip': 'panda_hand'}]
    content = parse_task_set_file({'frames': frames, 'task_sets': {'arm': {'tasks': tasks}}})
    TaskSets(PlanningScene(PANDA), content).warm_up()
