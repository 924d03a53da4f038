"""The independent judge, and chains in product-of-exponentials form."""

from dataclasses import replace

from test.model.random_robots import robots
from test.model.small_robots import joint, robot, TWO_ARMS, TWO_ARMS_SRDF

from hypothesis import assume, given, settings, strategies as st
import numpy as np
import pinocchio as pin
import pytest

from ssik_ros.errors import FrameNotFound, ModelError, TopologyMismatch, UnsupportedJoint
from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.model.robot_state import RobotState
from ssik_ros.model.serial_chain import SerialChain

errors = ReferenceKinematics.pose_errors


@pytest.fixture(scope='module')
def two_arms():
    """Return the two-armed robot."""
    return load_robot(TWO_ARMS, TWO_ARMS_SRDF)


def turned(axis, angle):
    """Return a pose turned about an axis."""
    pose = np.eye(4)
    pose[:3, :3] = pin.AngleAxis(angle, np.asarray(axis) / np.linalg.norm(axis)).matrix()
    return pose


def test_equal_poses_have_no_error():
    assert errors(np.eye(4), np.eye(4)) == (0.0, 0.0)


@pytest.mark.parametrize('angle', [0.0, 1e-12, 1e-9, 1e-5, 1.0, 3.0, np.pi - 1e-9, np.pi])
@pytest.mark.parametrize('axis', [(0, 0, 1), (1, -2, 0.5)])
def test_the_rotation_error_is_the_angle_between_the_frames(axis, angle):
    start = turned((0.3, 1, 0), 0.7)
    actual = errors(start, start @ turned(axis, angle))[1]
    assert actual == pytest.approx(angle, abs=2e-15 if angle < 1e-3 else 1e-14)


def test_the_position_error_is_the_distance_between_the_origins():
    target = np.eye(4)
    target[:3, 3] = [3.0, 4.0, 0.0]
    assert errors(np.eye(4), target)[0] == 5.0


def test_tip_poses_are_those_of_the_tips_in_the_base_link(two_arms):
    state = RobotState(two_arms)
    group = two_arms.group('both')
    state.set_group_positions(group, [0.1, 0.2, 0.3, 0.4])
    state.set_joint_positions({'torso': 0.7})
    base = np.linalg.inv(state.link_transform('b'))
    expected = [base @ state.link_transform(tip) for tip in group.tips]
    actual = ReferenceKinematics(two_arms).group_tip_poses(state.positions, group)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-14)


def test_an_unknown_link_has_no_pose(two_arms):
    with pytest.raises(FrameNotFound):
        ReferenceKinematics(two_arms).link_pose(two_arms.default_positions(), 'nowhere')


@pytest.mark.parametrize(
    ('values', 'slack', 'inside'),
    [
        ([1.0, -1.0], 0.0, True),
        ([np.nextafter(1.0, 2.0), 0.0], 0.0, False),
        ([0.0, -1.0005], 0.0, False),
        ([0.0, -1.0005], 1e-3, True),
        ([np.nan, 0.0], 1.0, False),
    ],
)
def test_limits_are_a_closed_interval(two_arms, values, slack, inside):
    reference = ReferenceKinematics(two_arms)
    assert reference.within_limits(two_arms.group('left'), np.array(values), slack) is inside


def test_infinity_is_outside_even_where_there_is_no_limit():
    model = load_robot(robot(joint('j', 'continuous', 'a', 'b')))
    group = model.group_from_links('a', 'b')
    assert not ReferenceKinematics(model).within_limits(group, np.array([np.inf]))


@settings(deadline=None)
@given(text=robots(serial=True), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_a_product_of_exponentials_is_the_pose_of_the_tip(text, seed, data):
    model = load_robot(text)
    links = len(model.tree.link_names)
    first = data.draw(st.integers(0, links - 1))
    base, tip = f'l{first}', f'l{data.draw(st.integers(first, links - 1))}'
    assume(model.rigid_offset(base, tip) is None)
    chain = SerialChain.from_robot(model, base, tip)
    q = np.random.default_rng(seed).uniform(-4, 4, model.tree.nq)
    reference = ReferenceKinematics(model)
    expected = np.linalg.inv(reference.link_pose(q, base)) @ reference.link_pose(q, tip)
    np.testing.assert_allclose(chain.pose(q[chain.idx_q]), expected, rtol=0, atol=1e-12)


@settings(deadline=None, max_examples=20)
@given(text=robots(serial=True), seed=st.integers(0, 2**32 - 1))
def test_a_moved_chain_has_the_jacobians_of_finite_differences(text, seed):
    model = load_robot(text)
    base, tip = 'l0', f'l{len(model.tree.link_names) - 1}'
    assume(model.rigid_offset(base, tip) is None)
    chain = SerialChain.from_robot(model, base, tip)
    n, rng = len(chain.axes), np.random.default_rng(seed)
    q, step = rng.uniform(-2.0, 2.0, (3, n)), 1e-6
    moved = chain.moved(q)
    at = moved.poses[:, :3, 3] + rng.normal(size=(3, 3))
    jacobians, halved = moved.jacobians(), moved.jacobians(at, 2.0)
    for row, v in np.ndindex(3, n):
        change = step * np.eye(n)[v]
        after, before = chain.pose(q[row] + change), chain.pose(q[row] - change)
        twist = (after - before) / (2.0 * step) @ np.linalg.inv(moved.poses[row])
        turn, shift = twist[:3, :3], twist[:3, 3]
        velocity = shift + turn @ moved.poses[row, :3, 3]
        spin = [turn[2, 1], turn[0, 2], turn[1, 0]]
        assert jacobians[row, :, v] == pytest.approx([*velocity, *spin], abs=1e-7)
        velocity = 0.5 * (shift + turn @ at[row])
        assert halved[row, :, v] == pytest.approx([*velocity, *spin], abs=1e-7)


def test_a_chain_starts_at_its_base_even_below_moving_joints(two_arms):
    chain = SerialChain.from_group(two_arms, two_arms.group('right'))
    assert (chain.base_link, chain.tip_link) == ('b', 'h')
    np.testing.assert_allclose(chain.points[0], [0, -0.2, 0])
    np.testing.assert_allclose(chain.home[:3, 3], [0.4, -0.2, 0])


def test_axes_of_a_chain_are_unit_vectors():
    text = robot(joint('j', 'revolute', 'a', 'b', axis='1 1 1'))
    axis = SerialChain.from_robot(load_robot(text), 'a', 'b').axes[0]
    assert np.linalg.norm(axis) == pytest.approx(1.0, abs=1e-15)


def test_limits_of_a_chain_are_those_of_its_joints(two_arms):
    chain = SerialChain.from_group(two_arms, two_arms.group('left'))
    assert (chain.lower.tolist(), chain.upper.tolist()) == ([-1, -1], [1, 1])


def test_a_chain_through_a_follower_is_refused_by_name(two_arms):
    with pytest.raises(UnsupportedJoint, match=r"'grip_mirror'.*mimics 'grip'"):
        SerialChain.from_robot(two_arms, 'a', 'j')


def test_a_chain_through_a_joint_with_several_degrees_is_refused_by_name():
    model = load_robot(robot(joint('v', 'planar', 'a', 'b', limit='')))
    with pytest.raises(UnsupportedJoint, match=r"'v'.*planar"):
        SerialChain.from_robot(model, 'a', 'b')


def test_a_chain_with_a_moving_joint_outside_the_group_is_refused_by_name():
    srdf = (
        '<robot name="two_arms"><group name="g"><joint name="torso"/><joint name="left_2"/></group>'
        '</robot>'
    )
    model = load_robot(TWO_ARMS, srdf)
    with pytest.raises(UnsupportedJoint, match=r"'left_1'.*does not contain"):
        SerialChain.from_group(model, model.group('g'))


def test_a_branching_group_is_no_chain(two_arms):
    with pytest.raises(ModelError, match='2 tips'):
        SerialChain.from_group(two_arms, two_arms.group('both'))


def test_joints_beside_the_chain_of_a_group_are_refused_by_name(two_arms):
    group = replace(two_arms.group('both'), tips=two_arms.group('left').tips)
    with pytest.raises(TopologyMismatch, match=r"'both'.*: right_1, right_2\."):
        SerialChain.from_whole_group(two_arms, group)
