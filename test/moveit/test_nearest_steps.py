"""Steps of programs such as Servo: no halt where a motion is left, no jump, no joint too fast; other requests as before."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import sys

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.model.loader import load_robot
from ssik_ros.moveit.kinematics_base import KinematicsBase
from ssik_ros.moveit.queries import KinematicsQueryOptions, SUCCESS

CONFIG = Path(__file__).resolve().parents[2] / 'config' / 'robots'
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
APPROXIMATE = KinematicsQueryOptions(return_approximate_solution=True)
PERIOD = 0.01
BUDGET = 0.5 * PERIOD
"""Servo gives half of its period."""


@pytest.fixture(scope='module')
def robot():
    folder = CONFIG / 'panda_moveit_config' / 'config'
    return load_robot((folder / 'panda.urdf').read_text(), (folder / 'panda.srdf').read_text())


@pytest.fixture(scope='module')
def arm(robot):
    return Manipulator(robot, robot.group('panda_arm'))


def opened(robot, **options):
    plugin = KinematicsBase(**options)
    assert plugin.initialize(robot, 'panda_arm', 'panda_link0', ['panda_link8'])
    return plugin


@pytest.fixture(scope='module')
def plugin(robot):
    return opened(robot)


def pose_at(plugin, q):
    return plugin.get_position_fk(['panda_link8'], q)[0]


def moved(pose, twist):
    """Return a pose after a small motion (linear, angular) in base axes."""
    result = pose.copy()
    result[:3, :3] = Rotation.from_rotvec(twist[3:]).as_matrix() @ pose[:3, :3]
    result[:3, 3] += twist[:3]
    return result


def drive(plugin, q, twist, cycles):
    """Yield the postures before and after each cycle of a motion, and the reply."""
    for _ in range(cycles):
        reply = plugin.search_position_ik(
            moved(pose_at(plugin, q), twist * PERIOD), q, BUDGET, options=APPROXIMATE
        )
        assert reply.error_code == SUCCESS
        yield q, reply
        q = reply.solution


def velocities(robot):
    return robot.tree.velocity[robot.group('panda_arm').idx_q]


@pytest.mark.parametrize(
    'twist',
    [
        (0.3, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.3, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.3, 0.0, 0.0, 0.0),
        (-0.3, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        (0.1, -0.1, -0.2, 0.5, 0.3, 0.0),
    ],
)
def test_a_motion_up_to_the_edge_of_reach_and_along_it_neither_jumps_nor_ends_early(
    plugin, robot, arm, twist
):
    most = velocities(robot) * PERIOD
    lower, upper = arm.lower, arm.upper
    for before, reply in drive(plugin, READY, np.array(twist), 400):
        step = reply.solution - before
        assert (np.abs(step) <= most + 1e-9).all()
        assert (lower <= reply.solution).all() and (reply.solution <= upper).all()
        target = moved(pose_at(plugin, before), np.array(twist) * PERIOD)
        if not reply.is_approximate:
            assert np.abs(pose_at(plugin, reply.solution) - target).max() < 1e-8
            continue
        # The best step of the linear model within bounds.
        room = np.maximum(lower - before, -most), np.minimum(upper - before, most)
        room = np.add(room, [[-1e-12], [1e-12]])
        best = lsq_linear(arm.jacobian(before), np.array(twist) * PERIOD, room, method='bvls')
        here = pose_at(plugin, reply.solution)
        turn = Rotation.from_matrix(target[:3, :3] @ here[:3, :3].T).as_rotvec()
        left = np.linalg.norm([*(target[:3, 3] - here[:3, 3]), *turn])
        assert left <= np.sqrt(2.0 * best.cost) + 0.05 * np.linalg.norm(twist) * PERIOD
        assert 'nearest step' in reply.text


@pytest.mark.parametrize(
    'motion', [(-0.2, 0.1, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.6)]
)
def test_a_pose_that_the_joints_cannot_reach_in_a_cycle_is_searched(plugin, robot, motion):
    far = moved(pose_at(plugin, READY), np.array(motion))
    reply = plugin.search_position_ik(far, READY, BUDGET, options=APPROXIMATE)
    assert reply.solved and not reply.is_approximate
    assert np.abs(reply.solution - READY).max() > (velocities(robot) * PERIOD).max()


def test_without_leave_to_approximate_nothing_changes(plugin):
    beyond = moved(pose_at(plugin, READY), [5.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert not plugin.search_position_ik(beyond, READY, BUDGET).solved


def test_a_long_budget_asks_for_the_nearest_posture_not_for_a_step(plugin, robot):
    stretched = np.array([0.0, 0.3, 0.0, -0.1, 0.0, 1.9, 0.785])
    beyond = moved(pose_at(plugin, stretched), [0.02, 0.0, -0.02, 0.0, 0.0, 0.0])
    most = velocities(robot) * PERIOD
    short = plugin.search_position_ik(beyond, stretched, BUDGET, options=APPROXIMATE)
    long = plugin.search_position_ik(beyond, stretched, 1.0, options=APPROXIMATE)
    assert 'nearest step' in short.text and 'step' not in long.text
    assert (np.abs(short.solution - stretched) <= most + 1e-9).all()
    assert not (np.abs(long.solution - stretched) <= most + 1e-9).all()


def test_a_step_that_the_callback_refuses_is_not_returned(plugin):
    target = moved(pose_at(plugin, READY), [0.001, 0.0, 0.0, 0.0, 0.0, 0.0])
    seen = []

    def refuse_the_first(pose, q):
        seen.append(q.copy())
        return len(seen) > 1

    reply = plugin.search_position_ik(
        target, READY, BUDGET, options=APPROXIMATE, solution_callback=refuse_the_first
    )
    assert reply.solved and len(seen) > 1
    assert not np.array_equal(reply.solution, seen[0])


def test_a_seed_barely_outside_the_limits_is_left_to_the_search(plugin, arm):
    inside = READY.copy()
    inside[1] = arm.lower[1]
    seed = inside - 1e-4 * np.eye(7)[1]
    reply = plugin.search_position_ik(pose_at(plugin, inside), seed, BUDGET, options=APPROXIMATE)
    assert reply.solved and (reply.solution >= arm.lower).all()


def test_threads_get_the_steps_of_one(plugin):
    rng = np.random.default_rng(9)
    targets = [moved(pose_at(plugin, READY), 0.002 * rng.standard_normal(6)) for _ in range(400)]

    def step(target):
        return plugin.search_position_ik(target, READY, BUDGET, options=APPROXIMATE).solution

    alone, interval = [step(target) for target in targets], sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(step, targets))
    finally:
        sys.setswitchinterval(interval)
    np.testing.assert_array_equal(alone, together)


def test_position_only_leaves_the_orientation_free(robot):
    plugin = opened(robot, position_only=True)
    target = moved(pose_at(plugin, READY), [0.002, 0.0, 0.0, 0.0, 0.0, 2.0])
    reply = plugin.search_position_ik(target, READY, BUDGET, options=APPROXIMATE)
    assert reply.solved and not reply.is_approximate
    assert np.abs(pose_at(plugin, reply.solution)[:3, 3] - target[:3, 3]).max() < 1e-8
    assert (np.abs(reply.solution - READY) <= velocities(robot) * PERIOD).all()
