"""Axes as lines: parallel, meeting, nearly so, whatever their signs and points, and on the reversed chain."""

import numpy as np
import pytest

from ssik_ros.model.topology import AxisGeometry, EXACT_MEETING, EXACT_PARALLEL

SEEDS = range(20)


def random_lines(seed, n=3):
    """Return n random lines, about a metre apart."""
    rng = np.random.default_rng(seed)
    axes = rng.standard_normal((n, 3))
    return axes / np.linalg.norm(axes, axis=1)[:, None], rng.uniform(-1, 1, (n, 3)), rng


def tilted(axis, sine):
    """Return an axis off by a sine."""
    across = np.cross(axis, [0.3, -0.5, 0.8])
    across /= np.linalg.norm(across)
    return np.sqrt(1.0 - sine**2) * axis + sine * across


@pytest.mark.parametrize('seed', SEEDS)
def test_parallel_axes_are_parallel_whatever_their_signs_and_points(seed):
    axes, points, _ = random_lines(seed)
    assert not AxisGeometry(axes, points).are_parallel(0, 1)
    axes[1], axes[2] = -axes[0], axes[0]
    geometry = AxisGeometry(axes, points)
    assert geometry.are_parallel(0, 1, 2)
    assert geometry.are_parallel(2, 1)
    assert geometry.sine(0, 1) < 1e-15


@pytest.mark.parametrize(('factor', 'expected'), [(0.5, True), (2.0, False)])
def test_parallel_ends_at_its_threshold(factor, expected):
    for seed in SEEDS:
        axes, points, _ = random_lines(seed)
        axes[1] = tilted(axes[0], factor * EXACT_PARALLEL)
        geometry = AxisGeometry(axes, points)
        assert geometry.are_parallel(0, 1) == expected
        assert geometry.sine(0, 1) == pytest.approx(factor * EXACT_PARALLEL, rel=1e-6)


@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('count', [2, 3])
def test_lines_meet_wherever_their_points_lie_on_them(seed, count):
    axes, _, rng = random_lines(seed, count)
    common = rng.uniform(-1, 1, 3)
    points = common + rng.uniform(-2, 2, count)[:, None] * axes
    axes *= rng.choice([-1.0, 1.0], count)[:, None]
    geometry = AxisGeometry(axes, points)
    joints = range(count)
    assert geometry.meet(*joints) == pytest.approx(common, abs=1e-10)
    assert geometry.meeting(joints).drift < 1e-10


@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('gap', [1e-6, 1e-3, 0.1])
def test_the_drift_of_two_lines_is_half_of_their_distance(seed, gap):
    axes, points, rng = random_lines(seed, 2)
    normal = np.cross(*axes)
    common = rng.uniform(-1, 1, 3)
    points[0] = common + 0.7 * axes[0]
    points[1] = common - 0.4 * axes[1] + gap * normal / np.linalg.norm(normal)
    meeting = AxisGeometry(axes, points).meeting((0, 1))
    assert meeting.drift == pytest.approx(0.5 * gap, rel=1e-6)
    assert AxisGeometry(axes, points).meet(0, 1) is None


@pytest.mark.parametrize('seed', SEEDS)
def test_the_meeting_point_minimises_the_squared_distances(seed):
    axes, points, rng = random_lines(seed)
    point = AxisGeometry(axes, points).meeting((0, 1, 2)).point

    def total(x):
        return (np.cross(axes, x - points) ** 2).sum()

    for _ in range(50):
        assert total(point) <= total(point + 1e-3 * rng.standard_normal(3))


@pytest.mark.parametrize(('factor', 'expected'), [(0.5, True), (3.0, False)])
@pytest.mark.parametrize('size', [1.0, 100.0])
def test_meeting_ends_at_its_threshold_in_units_of_the_chain(factor, expected, size):
    for seed in SEEDS:
        axes, points, _ = random_lines(seed, 2)
        normal = np.cross(*axes) / np.linalg.norm(np.cross(*axes))
        points[1] = points[0] + size * axes[1]
        allowed = EXACT_MEETING * max(1.0, AxisGeometry(axes, points).size)
        points[1] += 2.0 * factor * allowed * normal
        assert (AxisGeometry(axes, points).meet(0, 1) is not None) == expected


def test_parallel_lines_have_no_special_point():
    axes = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    points = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.5]])
    # Nor do they when they coincide.
    assert AxisGeometry(axes, points).meeting((0, 1)) is None
    assert AxisGeometry(axes, points + np.eye(3)[:2]).meet(0, 1) is None


@pytest.mark.parametrize('seed', SEEDS)
def test_parallel_lines_in_general_position_have_none_either(seed):
    axes, points, rng = random_lines(seed)
    axes[1], axes[2] = -axes[0], axes[0]
    geometry = AxisGeometry(axes, points)
    assert geometry.meeting((0, 1)) is None
    assert geometry.meeting((0, 1, 2)) is None
    axes[1] = tilted(axes[0], 10 ** rng.uniform(-16, -7))
    assert AxisGeometry(axes, points).meet(0, 1) is None


def test_the_reversed_chain_has_the_same_lines_backwards():
    axes, points, _ = random_lines(3, 6)
    geometry = AxisGeometry(axes, points)
    back = geometry.reversed()
    assert (back.axes == -axes[::-1]).all()
    assert (back.points == points[::-1]).all()
    assert (back.reversed().axes == axes).all()
    assert back.size == pytest.approx(geometry.size)
    assert back.meeting((0, 1, 2)).point == pytest.approx(geometry.meeting((5, 4, 3)).point)


def test_the_chain_without_a_joint_has_the_other_lines():
    axes, points, _ = random_lines(4, 7)
    kept = AxisGeometry(axes, points).without(3)
    assert (kept.axes == axes[[0, 1, 2, 4, 5, 6]]).all()
    assert (kept.points == points[[0, 1, 2, 4, 5, 6]]).all()


def test_the_size_of_a_chain_in_one_point_is_not_zero():
    assert AxisGeometry(np.eye(3), np.zeros((3, 3))).size > 0
