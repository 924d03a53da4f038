"""Parallel robots and closed loops against closed forms."""

import math

from test.mechanisms.mechanisms import (
    add_arm,
    add_joint,
    HEIGHT,
    make_delta,
    make_four_bar,
    make_hexapod,
    make_two_arms,
)

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.mechanisms import DOF, Goal, Joint, Link, Solver


def goal_error(goal):
    """Return the error of a goal in its own axes, by scipy: d.p and the rotation vector of d.R."""
    d = np.linalg.inv(goal.matrix_world) @ goal.child.matrix_world
    return np.concatenate([d[:3, 3], Rotation.from_matrix(d[:3, :3]).as_rotvec()])


@pytest.mark.parametrize('serial', [True, False])
def test_a_hexapod_reaches_poses_with_the_leg_lengths_of_the_closed_form(serial):
    hexapod = make_hexapod(serial)
    solver = Solver(hexapod.roots)
    assert len(solver.mechanism.chains[0].program.tables.variables) == (48 if serial else 42)
    rng = np.random.default_rng(7)
    reached = 0
    while reached < 30:
        offset = rng.uniform(-0.015, 0.015, 3)
        hexapod.place_goal(np.array([0, 0, HEIGHT]) + offset, rng.uniform(-0.15, 0.15, 3))
        slides = hexapod.leg_lengths() - hexapod.offset
        if not ((slides > 0.035) & (slides < 0.08)).all():
            continue
        (result,) = solver.solve()
        assert result.converged and result.success, result
        assert np.abs(hexapod.slide_lengths() - hexapod.leg_lengths()).max() < 1e-6
        assert np.abs(goal_error(hexapod.goal)).max() < 1e-6
        reached += 1


def test_a_hexapod_that_would_need_longer_legs_keeps_its_limits_and_says_so():
    hexapod = make_hexapod()
    solver = Solver(hexapod.roots)
    hexapod.place_goal((0, 0, HEIGHT + 0.05), (0, 0, 0))
    (result,) = solver.solve()
    assert result.status.name == 'STALLED'
    slides = hexapod.slide_lengths() - hexapod.offset
    assert slides.max() == 0.08
    assert sorted(result.limits_active) == [f'slide{k}.Z' for k in range(6)]


def test_a_four_bar_follows_its_curve_over_a_full_turn():
    bars = make_four_bar()
    solver = Solver(
        bars.root, translation_converge_threshold=1e-11, rotation_converge_threshold=1e-11
    )
    bars.crank.locked = True
    for k in range(181):
        angle = 0.3 + math.radians(2 * k)
        bars.crank.set_dof_values(angle)
        (result,) = solver.solve()
        assert result.converged, (k, result)
        miss = bars.rocker.get_dof_value(DOF.EZ) - bars.rocker_angle(angle)
        assert abs(math.remainder(miss, 2 * math.pi)) < 1e-9


def test_a_delta_robot_has_the_motor_angles_of_the_closed_form():
    delta = make_delta()
    solver = Solver(delta.roots, rotation_converge_threshold=1e-9)
    solver.translation_converge_threshold = 1e-9
    rng = np.random.default_rng(2)
    for _ in range(20):
        position = np.array([*rng.uniform(-0.1, 0.1, 2), rng.uniform(-0.48, -0.35)])
        delta.goal.set_position(*position)
        (result,) = solver.solve()
        assert result.converged, result
        angles = [motor.get_dof_value(DOF.EY) for motor in delta.motors]
        assert np.allclose(angles, delta.motor_angles(position), atol=1e-6)


def test_a_delta_robot_finds_its_platform_from_the_motors_in_one_assembly_mode():
    delta = make_delta()
    solver = Solver(delta.roots)
    solver.exclude(delta.goal)
    for motor in delta.motors:
        motor.locked = True
    for k in range(60):
        a = 2 * math.pi * k / 60
        position = (0.08 * math.cos(a), 0.08 * math.sin(a), -0.42 + 0.03 * math.sin(3 * a))
        angles = delta.motor_angles(position)
        for motor, angle in zip(delta.motors, angles, strict=True):
            motor.set_dof_values(angle)
        (result,) = solver.solve()
        assert result.converged, result
        assert np.allclose(delta.platform.dof_values[:3], position, atol=1e-5)
        assert np.allclose(delta.position(angles), position, atol=1e-9)
        assert np.abs(delta.platform.dof_values[3:]).max() < 1e-5


@pytest.mark.parametrize('torso', [True, False])
def test_two_arms_hold_an_object_in_few_updates(torso):
    arms = make_two_arms(torso)
    solver = Solver(arms.roots)
    home = arms.goal.matrix_world[:3, 3].copy()
    rng = np.random.default_rng(4)
    updates = []
    for _ in range(30):
        arms.goal.set_position(*(home + rng.uniform(-0.08, 0.02, 3)))
        arms.goal.set_euler(*rng.uniform(-0.2, 0.2, 3))
        (result,) = solver.solve()
        assert result.converged, result
        updates.append(result.iterations)
    assert np.median(updates) <= 6


def make_walker():
    """Return a free body on two arms as legs, whose feet are fixed in the world."""
    root, body = Joint('base'), Link('body')
    root.set_dof(*DOF)
    root.add_child(body)
    goals = []
    for side in (-0.2, 0.2):
        _, foot = add_arm(body, f'leg{side}', (0, side, 0))
        goal = Goal(f'foot{side}')
        goal.make_closure(foot)
        goal.set_matrix_world(foot.matrix_world)
        goals.append(goal)
    return root, body, goals


def test_a_floating_base_moves_over_feet_that_stay():
    root, body, feet = make_walker()
    posture = Goal('posture')
    posture.set_goal_dof(DOF.X, DOF.Y, DOF.EX, DOF.EY)
    posture.make_closure(body)
    posture.set_position(-0.05, 0.04, 0.5)
    posture.set_euler(0.1, -0.1, 0.0)
    (result,) = Solver(root).solve()
    assert result.converged
    for foot in feet:
        assert np.abs(goal_error(foot)).max() < 1e-6
    left = goal_error(posture)
    assert np.abs(left[[0, 1, 3, 4]]).max() < 1e-6
    assert abs(left[2]) > 0.1


def test_a_loop_on_a_floating_base_leaves_the_base_alone():
    bars = make_four_bar()
    base = Joint('base')
    base.set_dof(*DOF)
    base.add_child(bars.root)
    base.set_dof_values(1.0, 2.0, 3.0, 0.4, 0.5, 0.6)
    (result,) = Solver(base).solve()
    assert result.converged
    assert np.allclose(base.dof_values, [1.0, 2.0, 3.0, 0.4, 0.5, 0.6], atol=1e-12)


@pytest.mark.parametrize('frame', ['goal', 'world'])
def test_every_kind_of_partial_goal_is_reached(frame):
    root = Link('root')
    joints, hand = add_arm(root, 'a', (0, 0, 0))
    target = hand.matrix_world.copy()
    goal = Goal('goal')
    goal.mask_frame = frame
    goal.set_matrix(target)
    goal.make_closure(hand)
    rng = np.random.default_rng(1)
    starts = [joint.dof_values[[joint.dof[0]]] + rng.uniform(-0.4, 0.4) for joint in joints]
    solver = Solver(root)
    for bits in range(1, 64):
        dof = [d for d in DOF if bits >> d & 1]
        goal.set_goal_dof(*dof)
        for joint, start in zip(joints, starts, strict=True):
            joint.set_dof_values(*start)
        (result,) = solver.solve()
        assert result.converged, (dof, result)
        error = goal_error(goal)
        if frame == 'world':
            error = np.concatenate([target[:3, :3] @ error[:3], target[:3, :3] @ error[3:]])
        assert np.abs(error[dof]).max() < 1e-6
        assert len(dof) == 6 or np.abs(error).max() > 1e-4


def test_a_closure_with_degrees_of_freedom_is_that_joint():
    """Two links joined by a universal joint that closes a loop: its own turns take up the angle."""
    root = Link('root')
    swing, arm = add_joint(root, [DOF.EX, DOF.EY], (0, 0, 1.0), 'swing')
    swing.set_dof_values(0.3, -0.2)
    closing = Joint('closing')
    closing.set_dof(DOF.EX, DOF.EY, DOF.EZ)
    arm.add_child(closing)
    post = Link('post')
    fixed = Joint('fixed')
    fixed.set_position(0, 0, 1.0)
    root.add_child(fixed)
    fixed.add_child(post)
    closing.make_closure(post)
    (result,) = Solver(root).solve()
    assert result.converged
    # The rotation of the closure undoes the rotation of the swing.
    total = swing.matrix_dof[:3, :3] @ closing.matrix_dof[:3, :3]
    assert np.allclose(total, np.eye(3), atol=1e-6)
