"""Rigid transforms: group axioms, the check of a pose, distances, pinocchio as the oracle."""

import math

from hypothesis import given, strategies as st
import numpy as np
import pinocchio as pin
import pytest

from ssik_ros.kernels.geometry import se3
from ssik_ros.tolerances import DEFAULT_TOLERANCES

RIGID = DEFAULT_TOLERANCES.rigid
HALF_TURNS = (np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, 1.0, -1.0]), np.diag([-1.0, -1.0, 1.0]))

components = st.one_of(st.sampled_from([0.0, 1e-8, math.pi]), st.floats(-3.2, 3.2))
twists = st.tuples(*[components] * 6)


def twelve(matrix):
    """Return the twelve numbers of a 4x4 transform."""
    out = np.empty(12)
    se3.from_matrix(out, matrix, 0)
    return out


def four(transform):
    """Return the 4x4 matrix of twelve numbers."""
    out = np.empty((4, 4))
    se3.to_matrix(out, transform)
    return out


def transform_of(twist):
    """Return the 4x4 transform of a twist, by pinocchio."""
    return pin.exp6(np.array(twist)).homogeneous


def compose(first, second):
    """Return the product of two transforms of twelve numbers."""
    out = np.empty(12)
    se3.compose(out, first, second)
    return out


def invert(transform):
    """Return the inverse of a transform of twelve numbers."""
    out = np.empty(12)
    se3.invert(out, transform)
    return out


def some_pose(seed=3):
    """Return a 4x4 transform of no special kind."""
    return transform_of(np.random.default_rng(seed).uniform(-2.0, 2.0, 6))


def with_rotation(rotation):
    """Return a 4x4 transform of a rotation."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    return matrix


def assert_close(actual, expected, atol=1e-14):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


@given(twist=twists)
def test_a_matrix_survives_the_way_into_twelve_numbers_and_back(twist):
    matrix = transform_of(twist)
    np.testing.assert_array_equal(four(twelve(matrix)), matrix)


def test_a_matrix_is_read_from_its_first_row_on():
    stack = np.concatenate([np.full((4, 4), 9.0), some_pose()])
    out = np.empty(12)
    se3.from_matrix(out, stack, 4)
    np.testing.assert_array_equal(four(out), some_pose())


@given(first=twists, second=twists)
def test_composition_is_the_product_of_matrices(first, second):
    a, b = transform_of(first), transform_of(second)
    assert_close(four(compose(twelve(a), twelve(b))), a @ b)


@given(first=twists, second=twists, third=twists)
def test_composition_is_associative(first, second, third):
    a, b, c = (twelve(transform_of(twist)) for twist in (first, second, third))
    assert_close(compose(compose(a, b), c), compose(a, compose(b, c)), 3e-14)


@given(twist=twists)
def test_the_identity_is_neutral_on_both_sides(twist):
    a, identity = twelve(transform_of(twist)), twelve(np.eye(4))
    np.testing.assert_array_equal(compose(a, identity), a)
    np.testing.assert_array_equal(compose(identity, a), a)


@given(twist=twists)
def test_an_inverse_undoes_from_both_sides(twist):
    a = twelve(transform_of(twist))
    assert_close(compose(a, invert(a)), twelve(np.eye(4)))
    assert_close(compose(invert(a), a), twelve(np.eye(4)))


@given(twist=twists)
def test_an_inverse_agrees_with_pinocchio(twist):
    expected = pin.exp6(np.array(twist)).inverse().homogeneous
    assert_close(four(invert(twelve(transform_of(twist)))), expected)


@given(twist=twists)
def test_every_pose_is_rigid(twist):
    assert se3.is_rigid(transform_of(twist), 0, RIGID)


@pytest.mark.parametrize('seed', range(5))
def test_noise_as_of_text_with_seven_digits_is_accepted(seed):
    noise = np.random.default_rng(seed).uniform(-1e-7, 1e-7, (4, 4))
    assert se3.is_rigid(some_pose(seed) + noise, 0, RIGID)


@pytest.mark.parametrize('scale', [1.01, 0.99, 1.0 + 2e-6])
def test_a_scaled_rotation_is_refused(scale):
    assert not se3.is_rigid(with_rotation(scale * np.eye(3)), 0, RIGID)


def test_a_sheared_rotation_is_refused():
    shear = np.eye(3)
    shear[0, 2] = 1e-3
    assert not se3.is_rigid(with_rotation(shear), 0, RIGID)


def test_a_scale_of_one_axis_is_refused():
    assert not se3.is_rigid(with_rotation(np.diag([1.0, 1.0, 1.01])), 0, RIGID)


@pytest.mark.parametrize('axis', range(3))
def test_a_reflection_is_refused(axis):
    mirror = np.eye(3)
    mirror[axis, axis] = -1.0
    assert not se3.is_rigid(with_rotation(mirror), 0, RIGID)


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_refused_wherever_it_stands(value):
    for place in np.ndindex(4, 4):
        matrix = some_pose()
        matrix[place] = value
        assert not se3.is_rigid(matrix, 0, RIGID), place


@pytest.mark.parametrize('row', [(1e-3, 0, 0, 1), (0, 0, -1e-3, 1), (0, 0, 0, 0), (0, 0, 0, 2)])
def test_a_wrong_last_row_is_refused(row):
    matrix = some_pose()
    matrix[3] = row
    assert not se3.is_rigid(matrix, 0, RIGID)


def test_the_zero_matrix_is_refused():
    assert not se3.is_rigid(np.zeros((4, 4)), 0, RIGID)


def test_rigidity_is_judged_from_the_first_row_on():
    stack = np.concatenate([np.zeros((4, 4)), some_pose()])
    assert se3.is_rigid(stack, 4, RIGID)
    assert not se3.is_rigid(stack, 0, RIGID)


@pytest.mark.parametrize('seed', range(5))
def test_orthonormalising_leaves_the_square_of_a_deviation(seed):
    noise = np.random.default_rng(seed).uniform(-1e-4, 1e-4, (3, 3))
    matrix = some_pose(seed)
    matrix[:3, :3] += noise
    transform = twelve(matrix)
    se3.orthonormalise(transform)
    rotation = four(transform)[:3, :3]
    assert_close(rotation @ rotation.T, np.eye(3), 2e-7)


@pytest.mark.parametrize('seed', range(5))
def test_orthonormalising_finds_the_nearest_rotation(seed):
    noise = np.random.default_rng(seed).uniform(-3e-7, 3e-7, (3, 3))
    matrix = some_pose(seed)
    matrix[:3, :3] += noise
    transform = twelve(matrix)
    se3.orthonormalise(transform)
    left, _, right = np.linalg.svd(matrix[:3, :3])
    assert_close(four(transform)[:3, :3], left @ right, 2e-12)


@given(twist=twists)
def test_orthonormalising_leaves_a_pose_where_it_is(twist):
    transform = twelve(transform_of(twist))
    before = transform.copy()
    se3.orthonormalise(transform)
    assert_close(transform, before, 4e-15)


@given(twist=twists)
def test_a_pose_is_no_distance_away_from_itself(twist):
    transform = twelve(transform_of(twist))
    position, angle = se3.errors_between(transform, transform)
    assert position == 0.0
    assert angle < 1e-15


@given(first=twists, second=twists)
def test_distances_agree_with_pinocchio(first, second):
    a, b = pin.exp6(np.array(first)), pin.exp6(np.array(second))
    position, angle = se3.errors_between(twelve(a.homogeneous), twelve(b.homogeneous))
    assert position == pytest.approx(np.linalg.norm(a.translation - b.translation), abs=1e-14)
    quaternion = pin.Quaternion(a.rotation.T @ b.rotation).coeffs()
    expected = 2.0 * math.atan2(np.linalg.norm(quaternion[:3]), abs(quaternion[3]))
    assert angle == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize('rotation', HALF_TURNS, ids='xyz')
def test_a_half_turn_is_pi_away(rotation):
    start = some_pose()
    turned = start @ with_rotation(rotation)
    _, angle = se3.errors_between(twelve(start), twelve(turned))
    assert angle == pytest.approx(math.pi, abs=1e-14)


@pytest.mark.parametrize('angle', [1e-12, 1e-8, 1e-5, 1e-4, math.pi - 1e-9, math.pi - 1e-6])
def test_small_and_nearly_half_turns_are_measured_to_the_last_digits(angle):
    start = some_pose()
    turned = start @ with_rotation(pin.exp3(angle * np.array([2 / 3, -1 / 3, 2 / 3])))
    _, measured = se3.errors_between(twelve(start), twelve(turned))
    assert measured == pytest.approx(angle, abs=1e-15)


def test_a_pure_translation_turns_nothing():
    moved = some_pose()
    moved[:3, 3] += [3.0, 0.0, 4.0]
    position, angle = se3.errors_between(twelve(some_pose()), twelve(moved))
    assert position == pytest.approx(5.0, abs=1e-14)
    assert angle < 1e-15


@given(first=twists, second=twists)
def test_the_relative_rotation_turns_actual_into_target(first, second):
    actual, target = transform_of(first), transform_of(second)
    vector = np.array(se3.relative_rotation_vector(twelve(actual), twelve(target)))
    assert_close(pin.exp3(vector) @ actual[:3, :3], target[:3, :3], 1e-13)
