"""Partial poses, chains of one to fourteen joints, sliding, endless and following joints, and several tips."""

import math

from test.search.newton_arms import draw, load
from test.solvers import arms

import numpy as np
import pytest

from ssik_ros import Manipulator, Rows
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import Axes, RotationKind
from ssik_ros.solvers.registry import create_solver

CALLS = ('ik_NR', 'ik_GN', 'ik_LM')
EXACT = {'pos_tol': 1e-6, 'rot_tol': 1e-6}


@pytest.mark.parametrize('call', CALLS)
def test_a_mask_frees_rows_and_the_others_hold(call):
    arm, oracle = load('ur5e')
    turned = []
    for q in draw(arm, 50, 70):
        target = oracle.pose(q)
        result = getattr(arm, call)(target, mask=[1, 1, 1, 0, 0, 0], **EXACT)
        assert result.success == 1
        assert np.linalg.norm(oracle.pose(result.q)[:3, 3] - target[:3, 3]) < 1.001e-6
        assert result.rotation_error == 0.0
        turned.append(oracle.errors(result.q, target)[1])
    assert np.median(turned) > 0.1


@pytest.mark.parametrize('call', CALLS)
def test_an_axis_can_be_asked_for_with_its_spin_free(call):
    arm, oracle = load('fanuc')
    rows = Rows(
        weights=np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]),
        rotation_axes=Axes.GOAL,
        rotation=RotationKind.ALIGN,
    )
    for q in draw(arm, 50, 71):
        target = oracle.pose(q)
        result = getattr(arm, call)(target, rows=rows, **EXACT)
        pose = oracle.pose(result.q)
        assert result.success == 1
        assert np.linalg.norm(pose[:3, 3] - target[:3, 3]) < 1.001e-6
        assert math.acos(min(1.0, pose[:3, 2] @ target[:3, 2])) < 2e-6


def test_a_box_is_room_in_the_axes_of_the_goal():
    arm, oracle = load('panda')
    room = np.array([0.05, 0.02, 0.0, 0.0, 0.0, 3.2])
    rows = Rows(position_axes=Axes.GOAL, rotation_axes=Axes.GOAL, lower=-room, upper=room)
    for q in draw(arm, 50, 72):
        target = oracle.pose(q)
        result = arm.ik_LM(target, rows=rows, **EXACT)
        off = target[:3, :3].T @ (oracle.pose(result.q)[:3, 3] - target[:3, 3])
        assert result.success == 1
        assert (np.abs(off) <= room[:3] + 1.001e-6).all()


@pytest.mark.parametrize('call', CALLS)
@pytest.mark.parametrize('name', sorted(arms.SERIAL))
def test_chains_of_all_kinds_reach_their_own_poses(call, name):
    robot, group = arms.load_arm(arms.SERIAL[name])
    arm = Manipulator(robot, group)
    solved = 0
    for q in draw(arm, 20, 73):
        result = getattr(arm, call)(arm.fk(q), **EXACT)
        solved += result.success
        if result.success:
            assert arms.closes(robot, group, result.q, arm.fk(q), 2e-6)
            assert arms.within(group, result.q)
    assert solved >= 19


@pytest.mark.parametrize('name', sorted(arms.MIMICS))
def test_followers_go_with_their_leaders(name):
    robot, group = arms.load_arm(arms.MIMICS[name])
    arm = Manipulator(robot, group)
    for q in draw(arm, 20, 74):
        result = arm.ik_LM(arm.fk(q), q0=q + 1e-3, **EXACT)
        assert result.success == 1
        assert arms.closes(robot, group, result.q, arm.fk(q), 2e-6)


@pytest.mark.parametrize('count', range(1, 15))
def test_one_to_fourteen_joints(count):
    axes = [arms.Z, arms.Y, arms.X]
    joints = [('revolute', '0 0 0.15', axes[k % 3], '-2 2') for k in range(count)]
    robot, group = arms.load_arm(arms.chain(*joints, tool='0 0 0.2'))
    arm = Manipulator(robot, group)
    for q in draw(arm, 10, 75):
        result = arm.ik_LM(arm.fk(q), **EXACT)
        assert result.success == 1
        assert arms.closes(robot, group, result.q, arm.fk(q), 2e-6)


@pytest.mark.parametrize('solver', ['NewtonRaphson', 'GaussNewton', 'LevenbergMarquardt'])
def test_two_tips_are_reached_at_once(solver):
    robot = load_robot(arms.TWO_ARMED, arms.TWO_ARMED_SRDF)
    group = robot.group('upper_body')
    group_solver = create_solver(f'ssik_ros/{solver}', robot, group)
    rng = np.random.default_rng(76)
    for _ in range(20):
        q = robot.sample(group, rng)
        targets = arms.tip_poses(robot, group, q)
        result = group_solver.solve(SolveRequest(targets, seed=robot.sample(group, rng)))
        assert result.solved
        assert arms.closes(robot, group, result.q, targets)


def test_the_serial_evaluation_gives_the_numbers_of_the_general_one():
    arm, oracle = load('panda')
    twice = Rows(weights=np.full(6, 1.0), upper=np.array([0.0, 0.0, 1e-300, 0.0, 0.0, 0.0]))
    for q in draw(arm, 50, 77):
        target = oracle.pose(q)
        plain, general = arm.ik_LM(target, **EXACT), arm.ik_LM(target, rows=twice, **EXACT)
        assert plain.success == general.success == 1
        np.testing.assert_allclose(plain.q, general.q, atol=1e-4)
