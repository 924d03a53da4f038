"""Forward kinematics of the tree agree with pinocchio and with a plain walk through the XML."""

from test.model.plain_urdf_walker import link_pose
from test.model.random_robots import robots

from hypothesis import given, settings, strategies as st
import numpy as np
import pinocchio as pin
import pytest

from ssik_ros.model.kinematic_tree import JointKind, POSITION_SIZE
from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.model.robot_state import RobotState

TOLERANCE = 1e-12


def random_positions(robot, seed):
    """Return a random full state with unit quaternions and consistent followers."""
    rng = np.random.default_rng(seed)
    positions = rng.uniform(-4.0, 4.0, robot.tree.nq)
    for start, kind in zip(robot.tree.idx_q, robot.tree.kinds, strict=True):
        if kind == JointKind.FLOATING:
            positions[start + 3 : start + 7] /= np.linalg.norm(positions[start + 3 : start + 7])
    return robot.with_mimic(positions)


def values_by_joint(robot, positions):
    """Return the position variables of every joint."""
    tree = robot.tree
    return {
        name: positions[start : start + POSITION_SIZE[JointKind(kind)]]
        for name, start, kind in zip(tree.joint_names, tree.idx_q, tree.kinds, strict=True)
    }


@settings(deadline=None)
@given(text=robots(), seed=st.integers(0, 2**32 - 1))
def test_every_link_of_a_random_tree_is_where_a_plain_walk_puts_it(text, seed):
    robot = load_robot(text)
    positions = random_positions(robot, seed)
    state = RobotState(robot, positions)
    values = values_by_joint(robot, positions)
    for link in robot.tree.link_names:
        expected = link_pose(text, values, link)
        np.testing.assert_allclose(state.link_transform(link), expected, rtol=0, atol=TOLERANCE)


@settings(deadline=None)
@given(text=robots(), seed=st.integers(0, 2**32 - 1))
def test_every_link_of_a_random_tree_is_where_pinocchio_puts_it(text, seed):
    robot = load_robot(text)
    positions = random_positions(robot, seed)
    state = RobotState(robot, positions)
    reference = ReferenceKinematics(robot)
    for link in robot.tree.link_names:
        expected = reference.link_pose(positions, link)
        np.testing.assert_allclose(state.link_transform(link), expected, rtol=0, atol=TOLERANCE)


@settings(deadline=None)
@given(text=robots())
def test_the_order_of_joints_is_that_of_urdfdom(text):
    model = pin.buildModelFromXML(text)
    assert load_robot(text).tree.joint_names == tuple(model.names)[1:]


@settings(deadline=None)
@given(text=robots())
def test_parents_stand_before_their_children(text):
    tree = load_robot(text).tree
    assert all(parent < joint for joint, parent in enumerate(tree.parents))


@settings(deadline=None)
@given(text=robots())
def test_all_placements_are_rigid_transforms(text):
    tree = load_robot(text).tree
    for pose in (*tree.placements, *tree.link_placements):
        np.testing.assert_allclose(
            pose[:3, :3] @ pose[:3, :3].T, np.eye(3), rtol=0, atol=TOLERANCE
        )
        np.testing.assert_array_equal(pose[3], [0, 0, 0, 1])


def one_joint(kind, axis, extra=''):
    """Return a robot with one joint."""
    return (
        '<robot name="r"><link name="a"/><link name="b"/>'
        f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>'
        f'<axis xyz="{axis}"/><limit lower="-1" upper="1" effort="1" velocity="1"/>{extra}'
        '</joint></robot>'
    )


def test_a_prismatic_joint_moves_along_its_axis():
    state = RobotState(load_robot(one_joint('prismatic', '0 -2 0')))
    state.set_joint_positions({'j': 0.5})
    np.testing.assert_array_equal(state.link_transform('b')[:3, 3], [0.0, -0.5, 0.0])


def test_an_axis_of_any_length_turns_by_the_joint_value():
    state = RobotState(load_robot(one_joint('revolute', '0 0 7')))
    state.set_joint_positions({'j': 0.5})
    assert state.link_transform('b')[1, 0] == pytest.approx(np.sin(0.5), abs=1e-15)


@pytest.mark.parametrize('tilt', [1e-7, 1e-13])
def test_an_axis_nearly_along_x_is_not_snapped_to_it(tilt):
    text = one_joint('revolute', f'1 {tilt} 0')
    assert load_robot(text).tree.axes[0, 1] == pytest.approx(tilt, rel=1e-9, abs=0.0)


def test_the_axis_is_x_when_none_is_written():
    text = one_joint('revolute', '0 0 1').replace('<axis xyz="0 0 1"/>', '')
    np.testing.assert_array_equal(load_robot(text).tree.axes[0], [1.0, 0.0, 0.0])


def test_a_continuous_joint_is_one_angle():
    assert load_robot(one_joint('continuous', '0 0 1')).tree.nq == 1


def test_a_planar_joint_moves_in_the_xy_plane_and_says_when_an_axis_asks_for_another():
    robot = load_robot(one_joint('planar', '1 0 0'))
    state = RobotState(robot)
    state.set_joint_positions({'j': (1.0, 2.0, np.pi / 2)})
    expected = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(state.link_transform('b'), expected, rtol=0, atol=1e-15)
    assert "'j'" in robot.warnings[0]


@pytest.mark.parametrize('pitch', [0.3, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9])
def test_an_origin_may_give_a_quaternion(pitch):
    quaternion = pin.Quaternion(pin.rpy.rpyToMatrix(0.4, pitch, -0.7))
    words = ' '.join(repr(float(value)) for value in quaternion.coeffs())
    text = one_joint('fixed', '0 0 1', f'<origin quat_xyzw="{words}" xyz="1 2 3"/>')
    pose = load_robot(text).tree.link_placements[1]
    np.testing.assert_allclose(pose[:3, :3], quaternion.matrix(), rtol=0, atol=1e-15)


def test_a_thousand_joints_in_a_row_are_no_problem():
    links = ''.join(f'<link name="l{i}"/>' for i in range(1001))
    joints = ''.join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/>'
        '</joint>'
        for i in range(1000)
    )
    assert load_robot(f'<robot name="r">{links}{joints}</robot>').tree.nq == 1000
