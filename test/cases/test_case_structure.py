"""Groups C and D of the cases (docs/reference/cases.md): kinds of joints and chains; frames, tips and tools."""

import logging
import math

from test.cases.asked_robots import Asked, from_text, positions
from test.server.served_robots import (
    errors_between,
    ik_request,
    is_at,
    mobile_robot,
    pose_of,
    torso_robot,
    true_pose,
)
from test.solvers import arms

import numpy as np
import pytest

from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.model.collision.objects import CarriedObject, ObjectShape, SolidKind, WorldObject
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import Axes, RotationKind, Rows
from ssik_ros.results import Cause
from ssik_ros.server.requests.ik_requests import StateGiven
from ssik_ros.server.requests.poses import numbers_of_pose, pose_of_numbers
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.server.scene.world import SceneWorld
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.solvers.registry import create_solver

READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
TURNS = ('0 0 1', '0 1 0', '1 0 0')


def turning(count, axes=TURNS, step='0 0.02 0.15'):
    """Return a chain of turning joints, its axes in rotation."""
    joints = [('revolute', step, axes[k % len(axes)], '-2.5 2.5') for k in range(count)]
    return arms.chain(*joints, tool='0.05 0 0.2')


CHAINS = {
    'scara': arms.SCARA,
    'gantry': arms.GANTRY,
    'rail and 6R': arms.RAIL_6R,
    'polar': arms.POLAR,
    '4R': turning(4),
    '5R': turning(5),
    '6R without closed wrist': turning(6, ('0 0 1', '0 1 0.3', '1 0.2 0', '0.3 1 1')),
    '7R with shoulder and wrist': arms.chain(
        ('revolute', '0 0 0.3', '0 0 1', '-2.8 2.8'),
        ('revolute', '0 0 0', '0 1 0', '-2 2'),
        ('revolute', '0 0 0', '0 0 1', '-2.8 2.8'),
        ('revolute', '0 0 0.4', '0 1 0', '-2 2'),
        ('revolute', '0 0 0', '0 0 1', '-2.8 2.8'),
        ('revolute', '0 0 0.4', '0 1 0', '-2 2'),
        ('revolute', '0 0 0', '0 0 1', '-2.8 2.8'),
    ),
    '7R without': turning(7),
    **{f'{count} joints': turning(count) for count in (8, 10, 12, 14)},
}


@pytest.fixture(scope='module')
def panda(robots):
    return Asked(robots['panda'], robots['panda'].group('panda_arm'))


@pytest.fixture(scope='module')
def torso():
    """Return every group of the robot with two arms on a torso."""
    robot = torso_robot()
    return {name: Asked(robot, group) for name, group in robot.groups.items()}


# C. Kinds of joints, kinds of chains


@pytest.mark.parametrize('name', sorted(arms.MIMICS))
def test_c01_followers_of_all_kinds_go_with_their_leaders(name):
    arm = from_text(arms.MIMICS[name])
    tree, rng = arm.robot.tree, np.random.default_rng(1)
    for _ in range(10):
        wanted = arm.state(arm.robot.sample(arm.group, rng))
        pose = true_pose(arm.robot, wanted, 'tip')
        seed = arm.state(wanted.positions[arm.group.idx_q] + 0.02)
        response = arm.ask([('', pose)], seed)
        assert arm.is_verified(response, '', pose), response.text
        for joint in np.flatnonzero(tree.leaders >= 0):
            follower, leader = tree.idx_q[[joint, tree.leaders[joint]]]
            values = response.state.positions
            rule = tree.multipliers[joint] * values[leader] + tree.offsets[joint]
            assert values[follower] == pytest.approx(rule, abs=1e-12)


def test_c02_a_follower_s_limits_tighten_those_of_its_leader():
    """The follower turns twice as far the other way, and no further than 0.5."""
    arm = from_text(
        arms.chain(
            ('revolute', '0 0 0.2', arms.Z, '-3 3'),
            ('revolute', '0.4 0 0', arms.Y, '-0.5 0.5', 'j1 -2 0.1'),
        )
    )
    assert (arm.group.lower[0], arm.group.upper[0]) == pytest.approx((-0.2, 0.3))
    assert arm.ask([('', arm.pose([0.28]))]).solved
    assert arm.ask([('', arm.pose([0.4]))]).cause is Cause.LIMITS


def test_c03_a_leader_wins_over_a_follower_that_contradicts_it():
    arm = from_text(arms.MIMICS['multiplier -1 and offset'])
    q = np.array([0.2, 0.3, -0.4])
    names = ('j1', 'j2', 'j3', 'j4')
    given = StateGiven(names, (0.2, 0.3, 2.5, -0.4))
    response = arm.ask([('', arm.pose(q))], state=given)
    assert arm.is_verified(response, '', arm.pose(q))
    leader, follower = positions(response.state, arm.robot, 'j2', 'j3')
    assert follower == pytest.approx(0.3 - leader)
    assert 'the leader decides about j3' in response.text
    fitting = StateGiven(names, (0.2, 0.3, 0.0, -0.4))
    assert 'contradicts' not in arm.ask([('', arm.pose(q))], state=fitting).text


def test_c04_joints_and_variables_are_counted_apart(robots):
    between = from_text(arms.FIXED_BETWEEN).group
    assert (between.joint_names, between.variable_count) == (('j1', 'j2', 'j3'), 3)
    followed = from_text(arms.MIMICS['follower of a follower']).group
    assert followed.variable_names == ('j1', 'j4')
    for kind, count in (('planar', 3), ('floating', 7)):
        group = mobile_robot(kind).group('whole')
        assert (len(group.joint_names), group.variable_count) == (5, count + 4)
        assert mobile_robot(kind).group('arm').variable_count == 4
    assert robots['panda'].group('hand').variable_names == ('panda_finger_joint1',)


def test_c05_fixed_joints_and_links_without_length_do_not_disturb():
    arm, rng = from_text(arms.FIXED_BETWEEN), np.random.default_rng(5)
    for _ in range(10):
        pose = arm.pose(arm.robot.sample(arm.group, rng))
        assert arm.is_verified(arm.ask([('', pose)]), '', pose)


@pytest.mark.parametrize('name', CHAINS)
def test_c06_chains_of_many_kinds_are_solved(name):
    arm, rng = from_text(CHAINS[name]), np.random.default_rng(6)
    for _ in range(5):
        pose = arm.pose(arm.robot.sample(arm.group, rng))
        response = arm.ask([('', pose)])
        assert arm.is_verified(response, '', pose), response.text


def test_c08_a_group_that_is_no_chain_is_solved_or_refused_by_name(torso):
    robot, both = torso_robot(), torso['arms']
    rng = np.random.default_rng(8)
    wanted = both.state(robot.sample(both.group, rng))
    goals = [(tip, true_pose(robot, wanted, tip)) for tip in ('left_tool', 'right_tool')]
    response = both.ask(goals)
    assert response.solved and all(is_at(robot, response.state, *goal) for goal in goals)
    closed = GroupKinematics('arms', solver='ssik_ros/Analytic')
    server = RobotServer(robot, [robot.group('arms')], {'arms': closed})
    refused = server.solve(ik_request('arms', goals), both.default)
    assert refused.refusal is Refusal.NO_SOLVER
    assert "'arms'" in refused.text


def test_c09_an_arm_with_its_gripper_leaves_the_gripper_alone(robots):
    robot = robots['panda']
    arm, with_hand = Asked(robot, robot.group('panda_arm')), robot.group('panda_arm_hand')
    both = Asked(robot, with_hand)
    current = both.server.states.merge(
        both.default, StateGiven(('panda_finger_joint1',), (0.013,))
    )
    link = both.served.require_solver().tip_frames[0]
    pose = arm.pose(READY, link)
    response = both.ask([(link, pose)], current)
    assert response.solved and is_at(robot, response.state, link, pose)
    fingers = positions(response.state, robot, 'panda_finger_joint1', 'panda_finger_joint2')
    assert fingers == [0.013, 0.013]


def test_c10_of_two_tips_on_one_torso_the_one_out_of_reach_is_told(torso):
    robot, body = torso_robot(), torso['upper_body']
    rng = np.random.default_rng(10)
    wanted = body.state(robot.sample(body.group, rng))
    goals = [(tip, true_pose(robot, wanted, tip)) for tip in ('left_tool', 'right_tool')]
    response = body.ask(goals)
    assert response.solved and all(is_at(robot, response.state, *goal) for goal in goals)
    # The arms reach 0.6 m from the chest; a second goal more than a metre away is too far for one of them.
    apart = goals[1][1].copy()
    apart[:3, 3] += (0.0, -1.2, 0.9)
    refused = body.ask([goals[0], ('right_tool', apart)], timeout=0.3)
    assert not refused.solved
    if 'proved' not in refused.text:
        assert "'left_tool'" in refused.text and "'right_tool'" in refused.text
        left, right = (
            float(refused.text.split(f"'{name}' ")[1].split(' mm')[0])
            for name in ('left_tool', 'right_tool')
        )
        assert right + left > 100.0


# D. Frames, tips, tools


def test_d01_a_pose_may_be_given_in_any_frame(robots):
    robot, world = robots['panda'], SceneWorld()
    arm = Asked(robot, robot.group('panda_arm'), world=world)
    current, pose = arm.state(READY + 0.1), arm.pose(READY)
    held = WorldObject(
        'cup', pose_of((0.0, 0.1, 0.2)), (ObjectShape(SolidKind.SPHERE, [0.05], np.eye(4)),)
    )
    world.attach(CarriedObject(held, 'panda_hand'))
    places = {
        '': np.eye(4),
        'world': np.eye(4),
        'panda_link0': np.eye(4),
        'panda_link8': arm.pose(READY + 0.1),
        'panda_link3': arm.pose(READY + 0.1, 'panda_link3'),
        'cup': arm.pose(READY + 0.1, 'panda_hand') @ pose_of((0.0, 0.1, 0.2)),
    }
    for frame, place in places.items():
        response = arm.ask([('', np.linalg.inv(place) @ pose, frame)], current)
        assert arm.is_verified(response, '', pose), (frame, response.text)
    lost = arm.ask([('', pose, 'cap')], current)
    assert (lost.refusal, lost.cause) == (Refusal.UNKNOWN_FRAME, Cause.FRAME)
    assert "'cap'" in lost.text and "'world'" in lost.text


def test_d02_no_frame_is_the_model_frame_and_said_once(robots, caplog):
    robot = robots['panda']
    arm = Asked(robot, robot.group('panda_arm'))
    pose = arm.pose(READY)
    with caplog.at_level(logging.INFO, 'ssik_ros.server'):
        for _ in range(3):
            assert arm.is_verified(arm.ask([('', pose, '')]), '', pose)
    told = [line for line in caplog.messages if 'without a frame' in line]
    assert len(told) == 1 and "'world'" in told[0]
    for frame in ('/world', '/panda_link0'):
        assert arm.is_verified(arm.ask([('', pose, frame)]), '', pose)
    assert arm.ask([('', pose, '/nowhere')]).refusal is Refusal.UNKNOWN_FRAME
    assert arm.ask([('', pose, '/')]).refusal is Refusal.UNKNOWN_FRAME


def test_d03_which_links_a_pose_may_be_for(panda):
    for link in ('', 'panda_link8', 'panda_link7', 'panda_hand'):
        pose = panda.pose(READY, link)
        response = panda.ask([(link, pose)])
        assert panda.is_verified(response, link, pose), response.text
    for link, part in (
        ('panda_link0', 'not rigidly'),
        ('panda_leftfinger', 'not rigidly'),
        ('thumb', 'no link'),
    ):
        response = panda.ask([(link, panda.pose(READY))])
        assert (response.refusal, response.cause) == (Refusal.UNKNOWN_LINK, Cause.UNKNOWN_LINK)
        assert part in response.text and link in response.text


def test_d04_joints_below_the_group_s_base_count_as_the_request_has_them(torso):
    """The base of the left arm is the chest, which a lift and a torso move."""
    arm, robot = torso['left'], torso_robot()
    given = StateGiven(('lift', 'torso'), (0.3, 0.8))
    moved = arm.server.states.merge(arm.default, given)
    q = np.array([0.2, 0.4, -0.5, 0.3, 0.6, -0.2])
    pose = true_pose(robot, arm.state(q, moved), 'left_tool')
    response = arm.ask([('', pose)], state=given)
    assert response.solved and is_at(robot, response.state, 'left_tool', pose)
    assert positions(response.state, robot, 'lift', 'torso') == [0.3, 0.8]
    # The same joint values without the lift are 0.3 m and 0.8 rad away.
    assert errors_between(true_pose(robot, arm.state(q), 'left_tool'), pose)[1] == pytest.approx(
        0.8
    )


def test_d05_a_tool_of_the_request_is_the_same_as_one_of_the_description():
    offset = pose_of((0.03, -0.02, 0.15), (0.3, -0.4, 0.2))
    x, y, z = offset[:3, 3]
    rows = 'xyz="{} {} {}" rpy="{} {} {}"'
    roll = math.atan2(offset[2, 1], offset[2, 2])
    pitch = math.atan2(-offset[2, 0], math.hypot(offset[2, 1], offset[2, 2]))
    yaw = math.atan2(offset[1, 0], offset[0, 0])
    origin = rows.format(*map(repr, map(float, (x, y, z, roll, pitch, yaw))))
    fixed = f'<joint name="held" type="fixed"><parent link="tip"/><child link="tool"/><origin {origin}/></joint>'
    text = CHAINS['7R without'].replace('</robot>', f'<link name="tool"/>{fixed}</robot>')
    robot = load_robot(text)
    bare, tooled = (robot.group_from_links('l0', tip) for tip in ('tip', 'tool'))
    rng = np.random.default_rng(5)
    by_request = create_solver('ssik_ros/PoseIK', robot, bare)
    by_urdf = create_solver('ssik_ros/PoseIK', robot, tooled)
    for _ in range(10):
        q, seed = robot.sample(bare, rng), robot.sample(bare, rng)
        target = arms.tip_poses(robot, tooled, q)
        first = by_request.solve(SolveRequest(target, seed=seed, tool_offsets=offset))
        second = by_urdf.solve(SolveRequest(target, seed=seed))
        assert first.solved and second.solved
        assert first.q == pytest.approx(second.q, abs=1e-12)


def test_d06_quaternions_of_any_length_but_none(panda):
    wanted = panda.pose(READY)
    here = wanted[:3, 3].tolist()
    *_, x, y, z, w = numbers_of_pose(wanted)
    for factor in (1.0, -1.0, 0.99993**0.5, 3.0, 1e-30):
        pose = pose_of_numbers(*here, *(factor * part for part in (x, y, z, w)))
        assert panda.is_verified(panda.ask([('', pose)]), '', wanted)
    zero = panda.ask([('', pose_of_numbers(*here, 0.0, 0.0, 0.0, 0.0))])
    assert zero.refusal is Refusal.BAD_TARGET and 'quaternion has a length below' in zero.text
    # With w first, the identity reads as half a turn about x, which is out of reach at this height.
    swapped = panda.ask([('', pose_of_numbers(0.0, 0.0, 1.15, 1.0, 0.0, 0.0, 0.0))], timeout=0.05)
    assert not swapped.solved and 'w comes last' in swapped.text
    level = panda.ask([('', pose_of_numbers(0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0))], timeout=0.05)
    assert not level.solved and 'w comes last' not in level.text


def test_d07_half_a_turn_off_is_no_place_to_stall():
    """The seed is turned by exactly pi from the target, where the direction of the error is undefined."""
    arm = from_text(arms.chain(('continuous', '0 0 0.2', arms.Z), tool='0 0 0.1'))
    for value in (0.0, 0.5, -2.0):
        pose = arm.pose([value + np.pi])
        response = arm.ask([('', pose)], arm.state([value]))
        assert arm.is_verified(response, '', pose), response.text
    wrist = from_text(CHAINS['7R with shoulder and wrist'])
    q = np.array([0.3, 0.5, -0.4, 1.1, 0.2, -0.8, -1.2])
    for axis in np.eye(3):
        pose = wrist.pose(q)
        seed = np.array([*q[:6], q[6] + np.pi])
        there = wrist.pose(seed)
        turned = there @ pose_of(rotation_vector=np.pi * axis)
        response = wrist.ask([('', turned)], wrist.state(seed))
        assert np.isfinite(response.result.residual)
        assert response.solved is wrist.is_verified(response, '', turned)


def test_d08_a_free_spin_is_about_the_tool_s_own_axis(robots):
    robot = robots['fanuc']
    arm = Manipulator(robot, robot.group('manipulator'))
    rows = Rows(
        weights=np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]),
        rotation_axes=Axes.GOAL,
        rotation=RotationKind.ALIGN,
    )
    rng, spun = np.random.default_rng(8), []
    for _ in range(20):
        target = arm.fk(robot.sample(robot.group('manipulator'), rng))
        result = arm.ik_LM(target, rows=rows, pos_tol=1e-6, rot_tol=1e-6)
        assert result.success == 1
        pose = arm.fk(result.q)
        assert pose[:3, 2] == pytest.approx(target[:3, 2], abs=1e-5)
        spun.append(errors_between(pose, target)[1])
    assert np.median(spun) > 0.1


def test_d11_two_equal_arms_are_told_apart_by_their_prefixes(torso):
    robot, rng = torso_robot(), np.random.default_rng(11)
    for side, other in (('left', 'right'), ('right', 'left')):
        arm = torso[side]
        wanted = arm.state(robot.sample(arm.group, rng))
        pose = true_pose(robot, wanted, f'{side}_tool')
        response = arm.ask([('', pose)])
        assert response.solved and is_at(robot, response.state, f'{side}_tool', pose)
        names = [name for name in robot.variable_names if name.startswith(other)]
        assert positions(response.state, robot, *names) == positions(arm.default, robot, *names)
        wrong = arm.ask([(f'{other}_tool', pose)])
        assert wrong.refusal is Refusal.UNKNOWN_LINK
