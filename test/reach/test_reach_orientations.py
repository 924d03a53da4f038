"""Orientations spread over all rotations, and how far a rotation may be from them."""

import numpy as np
import pytest

from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.geometry.rotations import rotations_of
from ssik_ros.reach.orientations import (
    angles_between,
    covering_angle,
    quaternions_of,
    spread_orientations,
)


def farthest(quaternions, seed=0, draws=60_000):
    """Return the largest angle to the nearest one that random rotations, moved uphill, have [rad]."""
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal((draws, 4))
    best = draw / np.linalg.norm(draw, axis=1, keepdims=True)
    for width in 0.2 * 0.8 ** np.arange(25):
        near = np.abs(best @ quaternions.T).max(axis=1)
        best, near = best[np.argsort(near)[:3000]], np.sort(near)[:3000]
        moved = best + width * rng.standard_normal(best.shape)
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        better = np.abs(moved @ quaternions.T).max(axis=1) < near
        best[better] = moved[better]
    return 2.0 * np.arccos(np.abs(best @ quaternions.T).max(axis=1).min())


@pytest.mark.parametrize('count', [8, 64, 300])
def test_no_rotation_is_farther_than_the_covering_angle_and_one_is_as_far(count):
    quaternions = spread_orientations(count)
    assert np.allclose(np.linalg.norm(quaternions, axis=1), 1.0)
    stated, largest = covering_angle(quaternions), farthest(quaternions)
    assert largest <= stated + 1e-9
    assert largest >= 0.97 * stated


def smallest_covering_angle(count):
    """Return the angle below which balls of rotations around so many orientations have less volume than all rotations."""
    low, high = 0.0, np.pi
    for _ in range(60):
        middle = 0.5 * (low + high)
        # A ball of rotations up to an angle is this share of all rotations.
        is_enough = count * (middle - np.sin(middle)) >= np.pi
        low, high = (low, middle) if is_enough else (middle, high)
    return high


@pytest.mark.parametrize('count', [4, 16, 64, 300, 512, 4096])
def test_orientations_cover_all_rotations_nearly_as_well_as_so_many_can(count):
    quaternions = spread_orientations(count)
    assert quaternions.shape == (count, 4)
    ratio = covering_angle(quaternions) / smallest_covering_angle(count)
    assert 1.0 <= ratio < 1.7


@pytest.mark.parametrize('count', [1, 2, 3])
def test_few_orientations_leave_half_a_turn(count):
    assert covering_angle(spread_orientations(count)) == pytest.approx(np.pi)


@pytest.mark.parametrize('count', [0, -1, 10**6])
def test_a_number_out_of_range_is_refused(count):
    with pytest.raises(InvalidOption, match='orientations'):
        spread_orientations(count)


def test_quaternions_and_matrices_are_the_same_rotations_half_turns_included():
    rng = np.random.default_rng(1)
    quaternions = rng.standard_normal((500, 4))
    quaternions[:50, 3] = 0.0
    quaternions[:3] = np.eye(4)[:3]
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    back = quaternions_of(rotations_of(quaternions))
    assert angles_between(back, quaternions).max() < 1e-7
    assert np.abs(rotations_of(back) - rotations_of(quaternions)).max() < 1e-14
