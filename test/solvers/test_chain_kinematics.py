"""Forward kinematics and Jacobians of a chain, against pinocchio and finite differences."""

from test.solvers.arms import (
    load_arm,
    MAIN_GROUP,
    MIMICS,
    on_mobile_base,
    PLANAR_3R,
    SERIAL,
    tip_poses,
    TWO_ARMED,
    TWO_ARMED_SRDF,
)

import numpy as np
import pinocchio as pin
import pytest

from ssik_ros.errors import DimensionMismatch
from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.problem.chain_kinematics import ChainKinematics

STRUCTURES = {**SERIAL, **MIMICS}


def make(robot, group):
    """Return the kinematics of a group's tip in its base."""
    return ChainKinematics(robot, group, group.base_link, group.tip)


def sample(robot, group, rng):
    """Return a random posture, endless joints several turns away."""
    endless = np.isinf(group.lower)
    return robot.sample(group, rng) + endless * rng.uniform(-20.0, 20.0, len(endless))


def differences(pose_of, q, step=1e-6):
    """Return the Jacobian (6, n) of a pose in base axes by central differences."""
    columns = []
    for h in step * np.eye(len(q)):
        ahead, back = pose_of(q + h), pose_of(q - h)
        turn = pin.log3(ahead[:3, :3] @ back[:3, :3].T)
        columns.append(np.append(ahead[:3, 3] - back[:3, 3], turn) / (2.0 * step))
    return np.array(columns).T


def test_poses_of_shipped_robots_are_those_of_pinocchio(robot):
    group, rng = robot.group(MAIN_GROUP[robot.name]), np.random.default_rng(41)
    kinematics = make(robot, group)
    for _ in range(50):
        q = sample(robot, group, rng)
        assert kinematics.pose(q) == pytest.approx(tip_poses(robot, group, q)[0], abs=1e-12)


@pytest.mark.parametrize('kind', STRUCTURES)
def test_poses_of_every_structure_are_those_of_pinocchio(kind):
    robot, group = load_arm(STRUCTURES[kind])
    kinematics, rng = make(robot, group), np.random.default_rng(42)
    for _ in range(20):
        q = sample(robot, group, rng)
        assert kinematics.pose(q) == pytest.approx(tip_poses(robot, group, q)[0], abs=1e-12)


def test_jacobians_of_shipped_robots_are_those_of_pinocchio(robot):
    group, rng = robot.group(MAIN_GROUP[robot.name]), np.random.default_rng(43)
    kinematics = make(robot, group)
    model = ReferenceKinematics(robot).model
    data = model.createData()
    joints = [model.joints[model.getJointId(name)] for name in group.joint_names]
    frame, base = model.getFrameId(group.tip), model.getFrameId(group.base_link)
    for _ in range(20):
        q, full = sample(robot, group, rng), pin.neutral(model)
        for joint, value in zip(joints, q, strict=True):
            angle = [np.cos(value), np.sin(value)] if joint.nq == 2 else [value]
            full[joint.idx_q : joint.idx_q + joint.nq] = angle
        pin.computeJointJacobians(model, data, full)
        root = pin.updateFramePlacement(model, data, base).rotation
        pin.updateFramePlacement(model, data, frame)
        twist = pin.getFrameJacobian(model, data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        expected = np.kron(np.eye(2), root.T) @ twist[:, [joint.idx_v for joint in joints]]
        assert kinematics.jacobian(q) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize('kind', STRUCTURES)
def test_jacobians_of_every_structure_are_finite_differences_of_pinocchio(kind):
    robot, group = load_arm(STRUCTURES[kind])
    kinematics, rng = make(robot, group), np.random.default_rng(44)
    for _ in range(10):
        q = sample(robot, group, rng)
        expected = differences(lambda x: tip_poses(robot, group, x)[0], q)
        assert kinematics.jacobian(q) == pytest.approx(expected, abs=1e-7)


def test_the_jacobian_is_given_in_the_axes_of_the_base():
    robot = load_robot(TWO_ARMED, TWO_ARMED_SRDF)
    group = robot.group_from_links('left_l2', 'left_tool')
    kinematics = ChainKinematics(robot, group, 'left_l2', 'left_tool')
    q = np.array([0.3, -0.4, 0.5, 0.6])
    expected = differences(lambda x: tip_poses(robot, group, x)[0], q)
    assert kinematics.jacobian(q) == pytest.approx(expected, abs=1e-7)


def test_a_base_that_itself_moves_is_a_base_like_any_other():
    robot = load_robot(TWO_ARMED, TWO_ARMED_SRDF)
    group, rng = robot.group('arms'), np.random.default_rng(45)
    kinematics = ChainKinematics(robot, group, 'left_tool', 'right_tool')
    frames = {'base': 'left_tool', 'tips': ('right_tool',)}
    for _ in range(10):
        q = robot.sample(group, rng)
        assert kinematics.pose(q) == pytest.approx(
            tip_poses(robot, group, q, **frames)[0], abs=1e-12
        )
        expected = differences(lambda x: tip_poses(robot, group, x, **frames)[0], q)
        assert kinematics.jacobian(q) == pytest.approx(expected, abs=1e-7)


def test_joints_outside_the_group_have_default_values():
    robot = load_robot(TWO_ARMED, TWO_ARMED_SRDF)
    group = robot.group('left')
    kinematics = ChainKinematics(robot, group, 'pelvis', 'left_tool')
    q = np.full(6, 0.2)
    expected = tip_poses(robot, group, q, base='pelvis')[0]
    assert kinematics.pose(q) == pytest.approx(expected, abs=1e-12)
    assert kinematics.jacobian(q).shape == (6, 6)


def test_joints_of_the_group_that_do_not_move_the_tip_have_zero_columns():
    robot = load_robot(TWO_ARMED, TWO_ARMED_SRDF)
    group = robot.group('arms')
    kinematics = ChainKinematics(robot, group, 'chest', 'left_tool')
    jacobian = kinematics.jacobian(np.full(12, 0.2))
    assert jacobian.shape == (6, 12)
    left = [name.startswith('left') for name in group.joint_names]
    assert (np.abs(jacobian).sum(axis=0) > 0.0).tolist() == left


def test_a_planar_base_has_a_column_for_each_variable():
    robot = on_mobile_base('planar')
    group, rng = robot.group('whole'), np.random.default_rng(46)
    kinematics = make(robot, group)
    q = rng.uniform(-1.0, 1.0, group.variable_count)
    assert kinematics.pose(q) == pytest.approx(tip_poses(robot, group, q)[0], abs=1e-12)
    jacobian = kinematics.jacobian(q)
    expected = differences(lambda x: tip_poses(robot, group, x)[0], q)
    assert np.linalg.matrix_rank(jacobian[:, :3]) == 3
    assert jacobian[:, 2:] == pytest.approx(expected[:, 2:], abs=1e-7)


def test_a_floating_base_has_six_velocities_for_seven_variables():
    robot = on_mobile_base('floating')
    group, rng = robot.group('whole'), np.random.default_rng(47)
    q = rng.uniform(-1.0, 1.0, group.variable_count)
    q[3:7] /= np.linalg.norm(q[3:7])
    kinematics = make(robot, group)
    assert kinematics.pose(q) == pytest.approx(tip_poses(robot, group, q)[0], abs=1e-12)
    assert kinematics.jacobian(q).shape == (6, 10)
    assert np.linalg.matrix_rank(kinematics.jacobian(q)[:, :6]) == 6


@pytest.mark.parametrize('size', [0, 2, 4])
def test_a_vector_of_another_size_is_an_error(size):
    kinematics = make(*load_arm(PLANAR_3R))
    for method in (kinematics.pose, kinematics.jacobian):
        with pytest.raises(DimensionMismatch, match='3') as caught:
            method(np.zeros(size))
        assert caught.value.expected == (3,)


def test_one_object_serves_many_postures_without_mixing_them():
    kinematics = make(*load_arm(PLANAR_3R))
    first = kinematics.pose(np.zeros(3))
    kept = first.copy()
    kinematics.pose(np.ones(3))
    assert (first == kept).all()
