"""The methods of KinematicsBase one by one: wrong input, options, redundant joints, several tips, threads."""

from concurrent.futures import ThreadPoolExecutor
import math
from pathlib import Path

import numpy as np
import pytest

from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.moveit.kinematics_base import KinematicsBase
from ssik_ros.moveit.queries import (
    DiscretizationMethod,
    KinematicError,
    KinematicsQueryOptions,
    NO_IK_SOLUTION,
    SUCCESS,
    TIMED_OUT,
)
from ssik_ros.results import Cause

CONFIG = (
    Path(__file__).resolve().parents[2] / 'config' / 'robots' / 'panda_moveit_config' / 'config'
)
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
FAR = np.eye(4)
FAR[0, 3] = 9.0
TWO_TIPS = """
<robot name="fork"><link name="base"/><link name="trunk"/><link name="left"/><link name="right"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="trunk"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="up" type="prismatic"><parent link="trunk"/><child link="left"/><origin xyz="0.3 0.2 0"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="down" type="prismatic"><parent link="trunk"/><child link="right"/><origin xyz="0.3 -0.2 0"/>
<axis xyz="0 0 -1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>
"""
TWO_TIPS_SRDF = """
<robot name="fork"><group name="both"><joint name="turn"/><joint name="up"/><joint name="down"/></group></robot>
"""


@pytest.fixture(scope='module')
def robot():
    return load_robot(CONFIG / 'panda.urdf', CONFIG / 'panda.srdf')


@pytest.fixture(scope='module')
def plugin(robot):
    made = KinematicsBase('ssik_ros/PoseIK')
    assert made.initialize(robot, 'panda_arm')
    return made


@pytest.fixture(scope='module')
def target(plugin):
    return plugin.get_position_fk(['panda_link8'], READY)[0]


def test_before_initialization_everything_says_so():
    plugin = KinematicsBase()
    reply = plugin.search_position_ik(np.eye(4), READY, 0.1)
    assert (reply.solved, reply.error_code) == (False, NO_IK_SOLUTION)
    assert 'initialize' in reply.text
    replies = plugin.get_position_ik_solutions([np.eye(4)], READY)
    assert replies.kinematic_error is KinematicError.SOLVER_NOT_ACTIVE
    assert plugin.get_position_fk(['panda_link8'], READY) is None
    assert plugin.get_joint_names() == plugin.get_tip_frames() == plugin.get_link_names() == ()
    assert not plugin.set_redundant_joints([0])


@pytest.mark.parametrize(
    ('changes', 'part'),
    [
        ({'group_name': 'nobody'}, 'nobody'),
        ({'base_frame': 'panda_link3'}, 'panda_link3'),
        ({'tip_frames': ('panda_link4',)}, 'panda_link4'),
        ({'tip_frames': ('panda_link8', 'panda_hand')}, 'panda_hand'),
        ({'tip_frames': ('thumb',)}, 'thumb'),
    ],
)
def test_what_cannot_be_initialized_says_why(robot, changes, part):
    plugin = KinematicsBase()
    assert not plugin.initialize(**{'robot': robot, 'group_name': 'panda_arm', **changes})
    assert part in plugin.reason
    assert not plugin.search_position_ik(np.eye(4), READY, 0.1).solved


def test_slashes_before_frames_are_dropped_and_rigid_tips_are_reached(robot):
    plugin = KinematicsBase('ssik_ros/PoseIK')
    assert plugin.initialize(robot, 'panda_arm', '/panda_link0', ('/panda_hand',))
    assert plugin.get_tip_frame() == 'panda_hand'
    pose = plugin.get_position_fk(['panda_hand'], READY)[0]
    reply = plugin.search_position_ik(pose, READY + 0.1, math.inf)
    reached = plugin.get_position_fk(['panda_hand'], reply.solution)[0]
    assert np.abs(reached - pose).max() < 1e-3


WRONG = {
    'seed of another size': lambda p, t: p.search_position_ik(t, READY[:6], 0.1),
    'seed that is not finite': lambda p, t: p.search_position_ik(t, READY * np.nan, 0.1),
    'limits of another size': lambda p, t: p.search_position_ik(
        t, READY, 0.1, consistency_limits=[0.1]
    ),
    'poses of another number': lambda p, t: p.search_position_ik([t, t], READY, 0.1),
    'pose that is not finite': lambda p, t: p.search_position_ik(t * np.nan, READY, 0.1),
    'out of reach': lambda p, t: p.search_position_ik(FAR, READY, 0.1),
}


@pytest.mark.parametrize('name', WRONG)
def test_wrong_input_has_an_error_code(plugin, target, name):
    reply = WRONG[name](plugin, target)
    assert (reply.solved, reply.error_code, len(reply.solution)) == (False, NO_IK_SOLUTION, 0)
    assert reply.cause is not Cause.NONE and reply.text


def test_a_deadline_has_its_own_code(plugin, target):
    refused = plugin.search_position_ik(
        target, READY, 1e-4, solution_callback=lambda pose, q: False
    )
    assert not refused.solved and refused.error_code == TIMED_OUT


def test_a_seed_outside_the_limits_is_accepted(plugin, target):
    assert plugin.search_position_ik(target, READY + 10.0, math.inf).solved


def test_consistency_limits_hold(plugin, target):
    seed = READY + 0.3
    limits = np.array([0.05, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0])
    reply = plugin.search_position_ik(target, seed, math.inf, consistency_limits=limits)
    assert reply.solved and abs(reply.solution[0] - seed[0]) <= 0.05 + 1e-9
    none = plugin.search_position_ik(target, seed, math.inf, consistency_limits=np.full(7, 1e-6))
    assert none.cause in (Cause.CONSISTENCY, Cause.LIMITS)


def test_a_callback_is_asked_until_it_is_content(plugin, target):
    seen = []

    def third(pose, q):
        seen.append(q)
        return SUCCESS if len(seen) == 3 else NO_IK_SOLUTION

    reply = plugin.search_position_ik(target, READY, math.inf, solution_callback=third)
    assert reply.solved and len(seen) == 3
    assert np.array_equal(reply.solution, seen[2])


def test_a_cost_function_chooses(plugin, target):
    replies = [
        plugin.search_position_ik(
            target, READY, 2.0, cost_function=lambda pose, q, seed, s=sign: s * float(q[6])
        ).solution[6]
        for sign in (1.0, -1.0)
    ]
    assert replies[0] < replies[1]


def test_one_attempt_is_one_attempt(plugin, target):
    """Where the seed does not lead to the pose, no other start is tried."""
    rng = np.random.default_rng(1)
    seeds = rng.uniform(-1.0, 1.0, (50, 7)) * 2.5
    single = [plugin.get_position_ik(target, seed).solved for seed in seeds]
    several = [plugin.search_position_ik(target, seed, math.inf).solved for seed in seeds]
    assert all(several) and not all(single)


def test_locked_redundant_joints_stay(plugin, target):
    assert plugin.set_redundant_joints(['panda_joint7'])
    try:
        assert plugin.get_redundant_joints() == (6,)
        assert plugin.get_search_discretization(6) == 0.1
        assert plugin.get_search_discretization(0) == 0.0
        options = KinematicsQueryOptions(lock_redundant_joints=True)
        seed = READY + 0.2
        reply = plugin.search_position_ik(target, seed, math.inf, options=options)
        assert reply.solved and reply.solution[6] == pytest.approx(seed[6], abs=1e-12)
        assert not plugin.set_redundant_joints([7])
        assert not plugin.set_redundant_joints(['panda_joint9'])
        assert plugin.get_redundant_joints() == (6,)
    finally:
        plugin.set_redundant_joints([])


def test_an_approximate_solution_is_marked(plugin):
    options = KinematicsQueryOptions(return_approximate_solution=True)
    out_of_reach = np.eye(4)
    out_of_reach[:3, 3] = 0.7, 0.0, 0.9
    reply = plugin.search_position_ik(out_of_reach, READY, math.inf, options=options)
    strict = plugin.search_position_ik(out_of_reach, READY, math.inf)
    assert not strict.solved
    assert reply.solved and reply.is_approximate and reply.error_code == SUCCESS
    assert len(reply.solution) == 7


@pytest.mark.parametrize('method', [m for m in DiscretizationMethod if m.value > 1])
def test_redundant_joints_are_sampled(plugin, target, method):
    options = KinematicsQueryOptions(discretization_method=method)
    missing = plugin.get_position_ik_solutions([target], READY, options)
    assert missing.kinematic_error is KinematicError.DISCRETIZATION_NOT_INITIALIZED
    assert plugin.set_redundant_joints([6])
    plugin.set_search_discretization(1.5)
    try:
        replies = plugin.get_position_ik_solutions([target], READY, options)
    finally:
        plugin.set_redundant_joints([])
    assert replies.kinematic_error is KinematicError.OK
    assert 0.0 < replies.solution_percentage <= 1.0
    assert len({round(float(q[6]), 6) for q in replies.solutions}) > 1
    for q in replies.solutions:
        reached = plugin.get_position_fk(['panda_link8'], q)[0]
        assert np.abs(reached - target).max() < 2e-3


def test_several_solutions_need_one_pose_for_each_tip(plugin, target):
    errors = [
        plugin.get_position_ik_solutions(poses, READY).kinematic_error
        for poses in ([], [target, target], [FAR])
    ]
    assert errors == [
        KinematicError.EMPTY_TIP_POSES,
        KinematicError.MULTIPLE_TIPS_NOT_SUPPORTED,
        KinematicError.NO_SOLUTION,
    ]


@pytest.mark.parametrize('poses', [[0.4, 0.0, 0.5], np.eye(3), [], [np.eye(4)[:3]]])
def test_poses_of_another_shape_are_a_bad_target(plugin, poses):
    for reply in (
        plugin.get_position_ik(poses, READY),
        plugin.search_position_ik(poses, READY, 0.1),
    ):
        assert not reply.solved and reply.cause is Cause.BAD_TARGET
        assert reply.error_code == NO_IK_SOLUTION


def test_a_slide_without_limits_cannot_be_sampled():
    endless = '<limit lower="-1e9" upper="1e9" effort="1" velocity="1"/>'
    text = TWO_TIPS.replace('<limit lower="-1" upper="1" effort="1" velocity="1"/>', endless)
    plugin = KinematicsBase('ssik_ros/PoseIK')
    assert plugin.initialize(load_robot(text, TWO_TIPS_SRDF), 'both'), plugin.reason
    assert plugin.set_redundant_joints([1])
    options = KinematicsQueryOptions(discretization_method=DiscretizationMethod.ALL_DISCRETIZED)
    poses = plugin.get_position_fk(plugin.get_tip_frames(), np.zeros(3))
    replies = plugin.get_position_ik_solutions(poses, np.zeros(3), options)
    assert replies.kinematic_error is KinematicError.DISCRETIZATION_NOT_INITIALIZED


def test_several_tips_and_the_state_around(robot):
    fork = load_robot(TWO_TIPS, TWO_TIPS_SRDF)
    plugin = KinematicsBase('ssik_ros/PoseIK')
    assert plugin.initialize(fork, 'both'), plugin.reason
    q = np.array([0.4, 0.3, -0.2])
    poses = plugin.get_position_fk(plugin.get_tip_frames(), q)
    judge = ReferenceKinematics(fork)
    for tip, pose in zip(plugin.get_tip_frames(), poses, strict=True):
        assert np.allclose(pose, judge.link_pose(q, tip))
    reply = plugin.search_position_ik(poses, np.zeros(3), 0.5, context_state=np.zeros(3))
    assert reply.solved and np.allclose(reply.solution, q, atol=2e-3)
    assert not plugin.search_position_ik(poses[:1], np.zeros(3), 0.5).solved


def test_groups_that_no_solver_serves_are_told(robot):
    plugin = KinematicsBase('ssik_ros/Analytic')
    assert plugin.initialize(robot, 'panda_arm')
    assert plugin.supports_group(robot.group('panda_arm')) == (True, '')
    supported, why = plugin.supports_group(robot.group('hand'))
    assert not supported and why


def test_threads_get_what_one_thread_gets(plugin):
    rng = np.random.default_rng(9)
    seeds = rng.uniform(-0.5, 0.5, (64, 7)) + READY
    poses = [plugin.get_position_fk(['panda_link8'], q)[0] for q in seeds]

    def ask(index):
        return plugin.search_position_ik(
            poses[index], seeds[index - 1], math.inf
        ).solution.tobytes()

    alone = [ask(index) for index in range(64)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(64))) == alone


def test_timeouts_have_a_default(plugin):
    assert plugin.get_default_timeout() == 1.0
    plugin.set_default_timeout(0.5)
    assert plugin.get_default_timeout() == 0.5
    plugin.set_default_timeout(1.0)
