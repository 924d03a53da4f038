"""Poses as seven numbers: both ways, signs, lengths, and values that are not finite."""

from array import array
import math

from hypothesis import assume, given, settings, strategies as st
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.arrays import FEW, is_within_reason, LARGEST_REQUEST_VALUE
from ssik_ros.server.requests.poses import numbers_of_pose, pose_of_numbers

COORDINATE = st.floats(-1e6, 1e6)
COMPONENT = st.floats(-1.0, 1.0)


@st.composite
def quaternions(draw, smallest=1e-3):
    """Draw quaternions (x, y, z, w) that are not too short to have a direction."""
    values = np.array([draw(COMPONENT) for _ in range(4)])
    assume(np.linalg.norm(values) > smallest)
    return values


@settings(max_examples=150)
@given(quaternion=quaternions(), place=st.tuples(COORDINATE, COORDINATE, COORDINATE))
def test_seven_numbers_come_back(quaternion, place):
    unit = quaternion / np.linalg.norm(quaternion)
    numbers = numbers_of_pose(pose_of_numbers(*place, *unit))
    assert numbers[:3] == place
    back = np.array(numbers[3:])
    # The same rotation, up to the sign that a quaternion is free in.
    assert min(np.abs(back - unit).max(), np.abs(back + unit).max()) < 2e-15
    assert abs(np.linalg.norm(back) - 1.0) < 1e-15
    assert back[3] >= 0.0


@settings(max_examples=100)
@given(quaternion=quaternions(), length=st.floats(1e-100, 1e100))
def test_the_matrix_is_that_of_scipy_whatever_the_length(quaternion, length):
    pose = pose_of_numbers(0.0, 0.0, 0.0, *(quaternion * length))
    assert pose[:3, :3] == pytest.approx(Rotation.from_quat(quaternion).as_matrix(), abs=2e-15)
    assert pose[3].tolist() == [0.0, 0.0, 0.0, 1.0]


@given(quaternion=quaternions())
def test_both_signs_are_one_rotation(quaternion):
    plus = pose_of_numbers(1.0, 2.0, 3.0, *quaternion)
    assert plus.tobytes() == pose_of_numbers(1.0, 2.0, 3.0, *-quaternion).tobytes()


@pytest.mark.parametrize('axis', range(3))
@pytest.mark.parametrize('angle', [0.0, 1e-9, 1.0, math.pi - 1e-9, math.pi, -math.pi])
def test_turns_about_the_axes_come_back(axis, angle):
    vector = np.zeros(3)
    vector[axis] = angle
    truth = Rotation.from_rotvec(vector)
    numbers = numbers_of_pose(pose_of_numbers(0, 0, 0, *truth.as_quat()))
    assert (Rotation.from_quat(numbers[3:]).inv() * truth).magnitude() < 1e-15


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('place', range(7))
def test_a_number_that_is_none_gives_a_matrix_that_is_none(place, bad):
    numbers = [0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0]
    numbers[place] = bad
    assert not np.isfinite(pose_of_numbers(*numbers)).all()


def test_a_zero_quaternion_gives_a_matrix_that_is_none():
    assert not np.isfinite(pose_of_numbers(1, 2, 3, 0, 0, 0, 0)).all()


@pytest.mark.parametrize('length', [1e-320, 1e-200, 1e200, 1e308])
def test_a_quaternion_of_absurd_length_is_a_rotation_or_none(length):
    rotation = pose_of_numbers(0, 0, 0, 0, 0, length, length)[:3, :3]
    right = Rotation.from_quat([0, 0, 1, 1]).as_matrix()
    assert not np.isfinite(rotation).all() or rotation == pytest.approx(right)


def test_whole_numbers_are_taken():
    assert pose_of_numbers(1, 2, 3, 0, 0, 0, 1)[:3, 3].tolist() == [1.0, 2.0, 3.0]


def test_two_poses_share_no_memory():
    first, second = (pose_of_numbers(0, 0, 0, 0, 0, 0, 1) for _ in range(2))
    assert not np.shares_memory(first, second)


@pytest.mark.parametrize('make', [list, np.array, lambda values: array('d', values)])
@pytest.mark.parametrize('count', [1, FEW, FEW + 1])
@pytest.mark.parametrize(
    'bad',
    [math.nan, math.inf, -math.inf, 1.1 * LARGEST_REQUEST_VALUE, -1.1 * LARGEST_REQUEST_VALUE],
)
def test_numbers_are_judged_alike_in_every_container(make, count, bad):
    values = [LARGEST_REQUEST_VALUE] * count
    assert is_within_reason(make(values))
    for place in {0, count // 2, count - 1}:
        assert not is_within_reason(make([*values[:place], bad, *values[place + 1 :]]))
