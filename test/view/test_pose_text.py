"""Poses and joint values as pasted text."""

from hypothesis import given, strategies as st
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.errors import InvalidTarget
from ssik_ros.view.pose_text import read_numbers, read_pose, write_numbers, write_pose


def pose_of(position, rotation):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation.as_matrix(), position
    return pose


@given(st.integers(0, 2**32 - 1))
def test_every_form_of_a_pose_is_read(seed):
    rng = np.random.default_rng(seed)
    rotation, position = Rotation.random(random_state=rng), rng.normal(size=3)
    pose = pose_of(position, rotation)
    # Rounded matrices are wrong by as much as their last digit.
    forms = {
        write_numbers([*position, *rotation.as_euler('xyz')]): 1e-9,
        ', '.join(map(str, [*position, *rotation.as_quat()])): 1e-9,
        str(pose.tolist()): 1e-9,
        str(pose[:3].round(4).tolist()): 3e-4,
        write_pose(pose): 1e-9,
    }
    for text, tolerance in forms.items():
        read = read_pose(text)
        assert np.allclose(read, pose, atol=tolerance)
        assert np.allclose(read[:3, :3] @ read[:3, :3].T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    'text, reason',
    [
        ('', '0 numbers make no pose'),
        ('1 2 3', '3 numbers make no pose'),
        ('0 0 0 0 0 0 0', 'norm 0, not 1'),
        ('0 0 0 1 1 0 0', 'norm 1.41421, not 1'),
        ('0 0 0 nan 0 0 1', "'nan' is no number"),
        ('1e999 0 0 0 0 0 1', 'larger than'),
        ('__import__("os")', 'is no number'),
        (str((2.0 * np.eye(4)).tolist()), 'no rotation'),
        (str(np.diag((1.0, 1.0, -1.0, 1.0)).tolist()), 'no rotation'),
        (str((np.eye(4) + np.eye(4)[[3, 0, 1, 2]]).tolist()), 'no rotation'),
        (str([*np.eye(4)[:3].tolist(), [1, 0, 0, 1]]), 'last row'),
        ('1 ' * 5000, 'characters'),
    ],
)
def test_what_is_no_pose_is_refused_with_the_reason(text, reason):
    with pytest.raises(InvalidTarget, match=reason):
        read_pose(text)


def test_numbers_come_back_with_nine_digits_after_the_point():
    assert write_numbers([0.1, -1e-300, 0.04867999999999835, -2.0]) == '0.1 0.0 0.04868 -2.0'
    numbers = [0.1, 12345.678901234567]
    assert read_numbers(write_numbers(numbers)) == pytest.approx(numbers, abs=1e-9)
