"""Refinement within limits: singular postures, joints on limits, edges of the limits, arms of all sizes."""

import numpy as np
import pytest

from campaigns.postures.robots import random_robot, shipped
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.search.bounded_refinement import BoundedRefinement

NAMES = ('config/panda', 'ur5e', 'irb120', 'stanford', 'gen3', 'xarm5')


def chain_of(robot):
    arm = robot.manipulator()
    return SerialChain.from_group(arm.robot, arm.group)


def pose_of(robot, q):
    return robot.arm.fk(q[None])[0]


def inner_bounds(robot):
    """Return limits inside of which postures are drawn, and on which some joints are put."""
    lower, upper = robot.bounds()
    return np.array([lower, upper])


@pytest.mark.parametrize('name', NAMES)
def test_a_posture_with_joints_on_limits_is_found_from_beside_it(name):
    robot, rng = shipped(name), np.random.default_rng(5)
    refinement, bounds = BoundedRefinement(chain_of(robot)), inner_bounds(robot)
    for count in range(robot.dof + 1):
        q = rng.uniform(*bounds)
        chosen = rng.permutation(robot.dof)[:count]
        q[chosen] = bounds[rng.integers(0, 2, count), chosen]
        start = np.clip(q + 1e-3 * rng.uniform(-1.0, 1.0, robot.dof), *bounds)
        pose = pose_of(robot, q)
        solution = refinement.refine(pose, start, bounds, 1e-11)
        assert solution is not None
        assert (bounds[0] <= solution).all() and (solution <= bounds[1]).all()
        assert np.linalg.norm(pose_of(robot, solution) - pose) < 1e-10


@pytest.mark.parametrize('name', ['ur5e', 'irb120'])
def test_a_straight_wrist_with_a_joint_on_its_limit_is_found(name):
    robot, rng = shipped(name), np.random.default_rng(6)
    refinement, bounds = BoundedRefinement(chain_of(robot)), inner_bounds(robot)
    q = rng.uniform(*bounds)
    q[4], q[5] = 0.0, bounds[1, 5]
    start = np.clip(q + 1e-3 * rng.uniform(-1.0, 1.0, 6), *bounds)
    assert refinement.refine(pose_of(robot, q), start, bounds, 1e-10) is not None


@pytest.mark.parametrize('shift', [0.05, 0.2, 1.0, -0.3])
def test_a_solution_at_the_end_of_a_curved_valley_is_found(shift):
    # The axes of a straight wrist miss each other by 1e-9 of the arm: joints 4 and 6 hardly change the pose together.
    robot = random_robot(11)
    q = np.array([-0.91, 0.24, -2.2, -1.57, 6e-9, -1.45])
    refinement, bounds = BoundedRefinement(chain_of(robot)), inner_bounds(robot)
    start = q + shift * np.array([0.0, 0.0, 0.0, 1.0, 0.0, -1.0])
    pose = pose_of(robot, q)
    solution = refinement.refine(pose, start, bounds, 1e-9)
    assert solution is not None
    assert np.linalg.norm(pose_of(robot, solution) - pose) < 1e-9


def test_a_posture_that_misses_the_pose_is_not_returned():
    robot = shipped('ur5e')
    refinement, bounds = BoundedRefinement(chain_of(robot)), inner_bounds(robot)
    far = pose_of(robot, np.zeros(6))
    far[:3, 3] *= 3.0
    assert refinement.refine(far, np.zeros(6), bounds, 1e-9) is None


@pytest.mark.parametrize('seed', [31, 343, 406])
def test_the_nearest_edges_hold_the_posture_that_is_on_one(seed):
    robot, rng = random_robot(seed), np.random.default_rng(seed)
    refinement, bounds = BoundedRefinement(chain_of(robot)), inner_bounds(robot)
    for moving in range(robot.dof):
        q = bounds[rng.integers(0, 2, robot.dof), np.arange(robot.dof)]
        q[moving] = rng.uniform(*bounds[:, moving])
        edges = list(refinement.near_limits(pose_of(robot, q), bounds))[:8]
        assert min(np.abs((each - q) / robot.unit).max() for each in edges) < 1e-6


@pytest.mark.heavy
@pytest.mark.parametrize('seed', [31, 343, 406])
def test_a_posture_with_two_joints_within_limits_is_found_from_a_face(seed):
    robot, rng = random_robot(seed), np.random.default_rng(seed)
    refinement, bounds = BoundedRefinement(chain_of(robot)), inner_bounds(robot)
    count = 0
    for _ in range(20):
        q = bounds[rng.integers(0, 2, robot.dof), np.arange(robot.dof)]
        moving = rng.permutation(robot.dof)[:2]
        q[moving] = rng.uniform(*bounds[:, moving])
        pose = pose_of(robot, q)
        beginnings = refinement.near_limits(pose, bounds)
        refined = refinement.first_refined(pose, beginnings, bounds, 1e-9 * max(1.0, robot.size))
        count += refined is not None
    # Limits of 3.1 rad are nearly one place: such faces take the room of others.
    assert count >= 15


def test_the_posture_of_an_edge_is_the_nearest_one_on_it():
    # A dense grid on each edge through the same corner finds nothing nearer.
    robot, rng = random_robot(343), np.random.default_rng(7)
    refinement, bounds = BoundedRefinement(chain_of(robot)), inner_bounds(robot)
    q = bounds[1] - 1e-3 * robot.unit * rng.random(robot.dof)
    pose = pose_of(robot, q)
    best = next(refinement.near_limits(pose, bounds))

    def error(rows):
        difference = robot.arm.fk(rows) - pose
        difference[:, :3, 3] /= refinement.aim(pose)[-1]
        return np.linalg.norm(difference, axis=(1, 2))

    least = np.inf
    for moving in range(robot.dof):
        shares = np.concatenate([np.linspace(0.0, 1.0, 2001), np.geomspace(1e-6, 1e-2, 400)])
        rows = np.tile(bounds[1], (len(shares), 1))
        rows[:, moving] -= shares * (bounds[1, moving] - bounds[0, moving])
        least = min(least, error(rows).min())
    assert error(best[None])[0] <= least * (1.0 + 1e-9)


@pytest.mark.parametrize('end', [0, 1])
def test_edges_along_a_joint_with_one_limit_are_searched(end):
    # The best angle next to zero is outside; a winding of it is inside.
    robot = shipped('ur5e')
    refinement, bounds = BoundedRefinement(chain_of(robot)), inner_bounds(robot).copy()
    sign = 1.0 - 2.0 * end
    bounds[end, 5], bounds[1 - end, 5] = 7.0 * sign, np.inf * sign
    q = np.append(bounds[1, :5], 8.5 * sign)
    edges = list(refinement.near_limits(pose_of(robot, q), bounds))[:8]
    assert np.isfinite(edges).all()
    assert min(np.abs(each - q).max() for each in edges) < 1e-6


def test_without_limits_there_are_no_edges():
    robot = shipped('ur5e')
    refinement = BoundedRefinement(chain_of(robot))
    endless = np.outer([-np.inf, np.inf], np.ones(6))
    assert list(refinement.near_limits(pose_of(robot, np.ones(6)), endless)) == []


@pytest.mark.parametrize('end', [0, 1])
def test_faces_along_a_joint_with_one_limit_are_within_it(end):
    # The last two joints leave their limits free: one is computed, the other one is swept.
    robot = shipped('ur5e')
    refinement, bounds = BoundedRefinement(chain_of(robot)), inner_bounds(robot).copy()
    sign = 1.0 - 2.0 * end
    bounds[end, 4:], bounds[1 - end, 4:] = 7.0 * sign, np.inf * sign
    q = np.append(bounds[1, :4], [9.0 * sign, 8.5 * sign])
    faces = np.array(list(refinement.near_limits(pose_of(robot, q), bounds)))
    assert len(faces)
    assert ((bounds[0] <= faces) & (faces <= bounds[1])).all()
    assert np.linalg.norm(robot.arm.fk(faces) - pose_of(robot, q), axis=(1, 2)).min() < 0.2
