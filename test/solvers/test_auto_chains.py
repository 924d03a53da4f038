"""Auto on chains of every kind: one to fourteen joints, slides, followers, several tips, partial poses, locked joints."""

from test.solvers.arms import (
    chain,
    closes,
    ENDLESS_RAIL,
    HALF_TURN,
    load_arm,
    MAIN_GROUP,
    MIMICS,
    SERIAL,
    tip_errors,
    tip_poses,
    TWO_ARMED,
    TWO_ARMED_SRDF,
    within,
    X,
    Y,
    Z,
)

import numpy as np
import pytest

from ssik_ros.errors import InvalidLimits
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.auto.policy import Knowledge
from ssik_ros.solvers.registry import create_solver

MOST_JOINTS = 14


def snake(count):
    """Return an arm of so many joints that turn."""
    joints = [('revolute', '0 0 0.2', (Z, Y, X, Y)[i % 4], '-2 2') for i in range(count)]
    return chain(*joints, tool='0.05 0 0.2')


def check(robot, group, solver, count=12, **options):
    """Require a verified result for each of a few reachable poses, and the same result again."""
    rng = np.random.default_rng(8)
    for _ in range(count):
        targets = tip_poses(robot, group, robot.sample(group, rng))
        request = SolveRequest(targets, seed=robot.sample(group, rng), **options)
        result = solver.solve(request)
        assert result.solved, result.summary()
        assert closes(robot, group, result.q, targets)
        assert within(group, result.q)
        assert solver.solve(request).q.tobytes() == result.q.tobytes()
    assert solver.reason
    assert solver.reason_for(request)


@pytest.mark.parametrize('name', SERIAL)
def test_chains_of_every_kind_are_solved(name):
    robot, group = load_arm(SERIAL[name])
    check(robot, group, create_solver('ssik_ros/Auto', robot, group))


@pytest.mark.parametrize('name', MIMICS)
def test_joints_that_follow_others_do(name):
    robot, group = load_arm(MIMICS[name])
    check(robot, group, create_solver('ssik_ros/Auto', robot, group))


@pytest.mark.parametrize('count', range(1, MOST_JOINTS + 1))
def test_one_to_fourteen_joints(count):
    robot, group = load_arm(snake(count))
    solver = create_solver('ssik_ros/Auto', robot, group)
    assert len(solver.joint_names) == count
    check(robot, group, solver, 6)


@pytest.mark.parametrize('name', ['arms', 'upper_body'])
def test_several_tips_are_reached_at_once(name):
    robot = load_robot(TWO_ARMED, TWO_ARMED_SRDF)
    group = robot.group(name)
    solver = create_solver('ssik_ros/Auto', robot, group)
    assert '2 tips' in solver.reason
    check(robot, group, solver, 6)


@pytest.mark.parametrize('name', ['ur5e', 'panda'])
def test_a_position_alone_leaves_the_orientation_free(robots, name):
    robot = robots[name]
    group = robot.group(MAIN_GROUP[name])
    solver = create_solver('ssik_ros/Auto', robot, group, position_only=True)
    assert 'the orientation is left free' in solver.reason
    rng = np.random.default_rng(4)
    for _ in range(10):
        target = tip_poses(robot, group, robot.sample(group, rng))
        target[0, :3, :3] = np.eye(3)
        result = solver.solve(SolveRequest(target, seed=robot.sample(group, rng)))
        assert result.solved
        assert tip_errors(robot, group, result.q, target)[0, 0] < 1e-3
        assert within(group, result.q)


@pytest.mark.parametrize('name', ['rail and 6R', 'snake 9R', 'gantry'])
def test_locked_joints_stay_where_they_are(name):
    robot, group = load_arm(SERIAL[name])
    solver = create_solver('ssik_ros/Auto', robot, group)
    rng = np.random.default_rng(6)
    for _ in range(6):
        q = robot.sample(group, rng)
        joint = group.joint_names[0]
        request = SolveRequest(
            tip_poses(robot, group, q), seed=robot.sample(group, rng), locked={joint: q[0]}
        )
        result = solver.solve(request)
        assert result.solved, result.summary()
        assert result.q[0] == q[0]
        assert closes(robot, group, result.q, request.targets)


def test_an_endless_slide_that_would_have_to_be_drawn_is_named():
    robot, group = load_arm(ENDLESS_RAIL)
    solver = create_solver('ssik_ros/Auto', robot, group)
    far = np.eye(4)
    far[:3, 3] = 0.0, 5.0, 0.0
    with pytest.raises(InvalidLimits, match='j1'):
        solver.solve(SolveRequest(far))


def test_a_pose_that_few_joints_cannot_have_has_a_cause():
    robot, group = load_arm(chain(('revolute', '0 0 0', Z, HALF_TURN), tool='1 0 0'))
    solver = create_solver('ssik_ros/Auto', robot, group)
    target = np.eye(4)
    target[:3, 3] = 0.5, 0.0, 0.0
    result = solver.solve(SolveRequest(target))
    assert result.status == IkStatus.UNSOLVED
    assert result.cause in (Cause.UNREACHABLE, Cause.NOT_FOUND, Cause.BUDGET)
    assert result.residual == pytest.approx(0.5, abs=1e-3)


def test_the_reason_of_a_request_names_who_solves_it():
    robot, group = load_arm(SERIAL['endless 6R'])
    solver = create_solver('ssik_ros/Auto', robot, group)
    assert solver.knowledge == Knowledge.ALL_AT_ONCE
    plain = SolveRequest(np.eye(4))
    assert solver.reason in solver.reason_for(plain)
    assert 'near' in solver.reason_for(plain)
    assert 'several' in solver.reason_for(SolveRequest(np.eye(4), max_solutions=4))
    assert 'j2 locked' in solver.reason_for(SolveRequest(np.eye(4), locked={'j2': 0.1}))
    nearest = create_solver('ssik_ros/Auto', robot, group, {'solve_mode': 'optimize_distance'})
    assert 'nearest' in nearest.reason_for(plain)
    rail, rail_group = load_arm(SERIAL['rail and 6R'])
    searching = create_solver('ssik_ros/Auto', rail, rail_group)
    assert searching.reason_for(plain).startswith('Levenberg-Marquardt')
    assert 'when 100 starts find nothing' in searching.reason_for(plain)
