"""Rotations: group axioms, the edges of every series and branch, and pinocchio as the oracle."""

import math

from hypothesis import given, strategies as st
import numpy as np
import pinocchio as pin
import pytest

from ssik_ros.kernels.geometry import so3

SMALL = so3.SMALL_ANGLE
ANGLES = (
    0.0,
    1e-300,
    1e-12,
    1e-8,
    1e-5,
    np.nextafter(SMALL, 0.0),
    SMALL,
    np.nextafter(SMALL, 1.0),
    0.1,
    1.0,
    math.pi / 2,
    2.69,
    # Either side of where the logarithm turns to the quaternion.
    math.acos(so3.NEARLY_HALF_TURN) - 1e-12,
    math.acos(so3.NEARLY_HALF_TURN) + 1e-12,
    3.0,
    math.pi - 1e-5,
    math.pi - 1e-9,
    math.pi - 1e-15,
)
AXES = (
    (1.0, 0.0, 0.0),
    (0.0, 1.0, 0.0),
    (0.0, 0.0, 1.0),
    (0.0, 0.0, -1.0),
    (0.6, -0.8, 0.0),
    (1 / 3, 2 / 3, -2 / 3),
    (-2 / 7, -3 / 7, 6 / 7),
)
FOUR_BRANCHES = ((0.1, 0.2, -0.3), (3.0, 0.2, -0.3), (0.1, 3.0, -0.3), (0.1, -0.2, 3.0))
"""Rotation vectors whose quaternion is largest in w, x, y, z in turn."""

edges = pytest.mark.parametrize('angle', ANGLES)
components = st.floats(-3.2, 3.2)
vectors = st.tuples(components, components, components)


def along_axes(angle):
    """Return the rotation vectors of one angle about all axes."""
    return [angle * np.array(axis) for axis in AXES]


def exp(vector):
    """Return the rotation matrix of a rotation vector."""
    out = np.empty(9)
    so3.exp(out, *map(float, vector))
    return out.reshape(3, 3)


def log(matrix):
    """Return the rotation vector of a matrix."""
    return np.array(so3.log_of(*np.ravel(matrix)))


def quaternion(matrix):
    """Return the quaternion of a matrix."""
    return np.array(so3.quaternion_of(*np.ravel(matrix)))


def inverse_left_jacobian(vector):
    """Return the inverse left Jacobian as a matrix."""
    out = np.empty(9)
    so3.inverse_left_jacobian(out, *map(float, vector))
    return out.reshape(3, 3)


def shorter(vector):
    """Return a rotation vector shortened, if need be, to a length below pi."""
    return np.array(vector) * min(1.0, 3.1 / max(np.linalg.norm(vector), 1e-30))


def assert_close(actual, expected, atol=1e-15):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


def assert_within_ulps(actual, expected, ulps):
    """Compare to a number of units in the last place, or of a double's epsilon near zero."""
    bound = ulps * np.spacing(np.maximum(np.abs(expected), np.finfo(float).eps))
    assert (np.abs(np.array(actual) - expected) <= bound).all()


@given(vector=vectors)
def test_the_exponential_is_a_rotation(vector):
    rotation = exp(vector)
    assert_close(rotation @ rotation.T, np.eye(3), 4e-15)
    assert np.linalg.det(rotation) > 0.0


@given(vector=vectors)
def test_the_exponential_of_the_opposite_is_the_inverse(vector):
    assert_close(exp(vector) @ exp(-np.array(vector)), np.eye(3), 4e-15)


@given(vector=vectors, first=st.floats(-2.0, 2.0), second=st.floats(-2.0, 2.0))
def test_turns_about_one_axis_add_up(vector, first, second):
    axis = np.array(vector)
    assert_close(exp(first * axis) @ exp(second * axis), exp((first + second) * axis), 2e-14)


@given(vector=vectors)
def test_the_logarithm_undoes_the_exponential(vector):
    short = shorter(vector)
    assert_close(log(exp(short)), short, 1e-13)


@given(vector=vectors)
def test_the_exponential_undoes_the_logarithm(vector):
    rotation = exp(vector)
    assert_close(exp(log(rotation)), rotation, 1e-14)


@given(vector=vectors)
def test_a_logarithm_is_at_most_half_a_turn_long(vector):
    assert np.linalg.norm(log(exp(vector))) <= math.pi + 1e-15


@given(first=vectors, second=vectors)
def test_the_logarithm_of_a_conjugate_is_the_turned_vector(first, second):
    turn, short = exp(first), shorter(second)
    assert_close(log(turn @ exp(short) @ turn.T), turn @ short, 1e-12)


@edges
def test_the_exponential_agrees_with_pinocchio(angle):
    for vector in along_axes(angle):
        assert_close(exp(vector), pin.exp3(vector))


@edges
def test_the_logarithm_returns_angle_and_axis(angle):
    for vector in along_axes(angle):
        assert_close(log(exp(vector)), vector, 2e-15)


@pytest.mark.parametrize('angle', [angle for angle in ANGLES if angle < 0.2])
def test_the_logarithm_keeps_the_digits_of_small_angles(angle):
    for vector in along_axes(angle):
        np.testing.assert_allclose(log(exp(vector)), vector, rtol=1e-14, atol=0)


@pytest.mark.parametrize('axis', AXES)
def test_a_half_turn_gives_an_axis_whose_first_component_is_positive(axis):
    half_turn = 2.0 * np.outer(axis, axis) - np.eye(3)
    # Symmetric to the last bit, so that the angle of the matrix really is pi.
    expected = np.array(axis) * math.copysign(math.pi, next(c for c in axis if c != 0.0))
    assert_close(log(half_turn), expected, 1e-14)


def test_equal_half_turns_from_either_side_give_the_same_vector():
    half_turn = np.diag([-1.0, 1.0, -1.0])
    np.testing.assert_array_equal(log(half_turn), [0.0, math.pi, 0.0])


@pytest.mark.parametrize('angle', [angle for angle in ANGLES if 1e-150 < angle < 3.1])
def test_the_logarithm_agrees_with_pinocchio(angle):
    for vector in along_axes(angle):
        rotation = pin.exp3(vector)
        assert_close(log(rotation), pin.log3(rotation), 2e-14)


def test_the_logarithm_is_continuous_where_it_changes_formula():
    threshold = math.acos(so3.NEARLY_HALF_TURN)
    axis = np.array(AXES[-1])
    below, above = (log(exp((threshold + d) * axis)) for d in (-1e-9, 1e-9))
    assert_close(above - below, 2e-9 * axis, 3e-15)


@edges
def test_a_quaternion_has_unit_length_and_a_real_part_not_negative(angle):
    for vector in along_axes(angle):
        result = quaternion(exp(vector))
        assert np.linalg.norm(result) == pytest.approx(1.0, abs=4e-16)
        assert result[3] >= 0.0


@pytest.mark.parametrize('vector', FOUR_BRANCHES)
def test_a_quaternion_is_the_half_angle_whichever_component_is_largest(vector):
    angle = np.linalg.norm(vector)
    expected = [*(math.sin(angle / 2) / angle * np.array(vector)), math.cos(angle / 2)]
    result = quaternion(exp(vector))
    assert_close(result, np.array(expected) * math.copysign(1.0, expected[3]))


@pytest.mark.parametrize('largest', range(4))
def test_the_four_vectors_above_reach_the_four_branches(largest):
    order = (3, 0, 1, 2)
    assert np.argmax(np.abs(quaternion(exp(FOUR_BRANCHES[largest])))) == order[largest]


@given(vector=vectors, scale=st.floats(0.1, 10.0))
def test_a_matrix_comes_back_from_its_quaternion_of_any_length(vector, scale):
    rotation = exp(vector)
    out = np.empty(9)
    so3.from_quaternion(out, *(scale * quaternion(rotation)))
    assert_close(out.reshape(3, 3), rotation, 4e-15)


@given(vector=vectors)
def test_quaternions_agree_with_pinocchio(vector):
    rotation = pin.exp3(np.array(vector))
    expected = pin.Quaternion(rotation).coeffs()
    assert abs(quaternion(rotation) @ expected) == pytest.approx(1.0, abs=1e-14)


@edges
def test_the_inverse_left_jacobian_agrees_with_pinocchio(angle):
    for vector in along_axes(angle):
        # pinocchio's Jlog3 belongs to a turn in the body frame: the inverse right Jacobian.
        assert_close(inverse_left_jacobian(-vector), pin.Jlog3(pin.exp3(vector)), 1e-12)


@pytest.mark.parametrize('angle', [0.0, 1e-8, 1e-5, 9.99e-5, 1.01e-4, 0.1, 1.0, 2.0, 3.0])
def test_the_inverse_left_jacobian_is_the_derivative_of_the_logarithm(angle):
    step = 1e-6
    for vector in along_axes(angle):
        turned = [
            log(exp(step * w) @ exp(vector)) - log(exp(-step * w) @ exp(vector)) for w in np.eye(3)
        ]
        expected = np.transpose(turned) / (2.0 * step)
        assert_close(inverse_left_jacobian(vector), expected, 2e-9)


def test_the_inverse_left_jacobian_is_continuous_at_the_end_of_its_series():
    axis = np.array(AXES[-1])
    below, above = (inverse_left_jacobian(angle * axis) for angle in (SMALL - 1e-14, SMALL))
    assert_close(above, below, 1e-13)


@pytest.mark.parametrize('beyond', [math.pi - 1e-9, math.pi, math.pi + 1e-3, 6.0])
def test_the_inverse_left_jacobian_is_finite_up_to_a_full_turn(beyond):
    assert np.isfinite(inverse_left_jacobian((0.0, 0.0, beyond))).all()


@given(first=vectors, second=vectors)
def test_turning_a_quaternion_multiplies_the_rotation_from_the_right(first, second):
    q, out = quaternion(exp(first)), np.empty(9)
    so3.rotate_quaternion(q, *second)
    so3.from_quaternion(out, *q)
    assert_close(out.reshape(3, 3), exp(first) @ exp(second), 4e-15)


@edges
def test_turning_a_quaternion_makes_its_length_one(angle):
    for vector in along_axes(angle):
        q = np.array([0.5, -0.5, 0.5, 0.5]) * 1.3
        so3.rotate_quaternion(q, *vector)
        assert np.linalg.norm(q) == pytest.approx(1.0, abs=4e-16)


@edges
def test_turning_a_quaternion_keeps_the_digits_of_small_angles(angle):
    for axis in AXES:
        q = np.array([0.0, 0.0, 0.0, 1.0])
        so3.rotate_quaternion(q, *(angle * np.array(axis)))
        expected = math.sin(angle / 2) * np.array(axis)
        np.testing.assert_allclose(q[:3], expected, rtol=1e-15, atol=0)


def test_wrapping_maps_both_ends_to_plus_pi():
    assert so3.wrap_to_pi(math.pi) == math.pi
    assert so3.wrap_to_pi(-math.pi) == math.pi


def test_wrapping_goes_on_at_the_other_end_just_above_pi():
    assert so3.wrap_to_pi(np.nextafter(math.pi, 4.0)) == pytest.approx(-math.pi, abs=1e-15)


@pytest.mark.parametrize('angle', [0.0, 1.0, -1.0, 3.1415, -3.1415, 1e-300])
def test_wrapping_leaves_angles_inside_alone(angle):
    assert so3.wrap_to_pi(angle) == angle


@pytest.mark.parametrize('half_turns', [-39, -5, -3, -1, 1, 3, 13, 35, 1001])
def test_wrapping_never_leaves_the_interval_by_a_bit(half_turns):
    angle = half_turns * math.pi
    for near in (angle, np.nextafter(angle, 1e9), np.nextafter(angle, -1e9)):
        assert -math.pi < so3.wrap_to_pi(near) <= math.pi


@given(angle=st.floats(-1e4, 1e4))
def test_a_wrapped_angle_is_the_same_angle(angle):
    wrapped = so3.wrap_to_pi(angle)
    tolerance = 1e-15 * (1.0 + abs(angle))
    assert -math.pi < wrapped <= math.pi
    assert math.remainder(wrapped - angle, so3.TWO_PI) == pytest.approx(0.0, abs=tolerance)


@given(angle=st.floats(-100.0, 100.0))
def test_sine_and_cosine_are_those_of_the_library_or_their_neighbours(angle):
    assert_within_ulps(so3.sine_cosine(angle), (math.sin(angle), math.cos(angle)), 1)


@given(angle=st.floats(-1e5, 1e5))
def test_sine_and_cosine_of_many_turns_are_off_by_two_units_at_most(angle):
    assert_within_ulps(so3.sine_cosine(angle), (math.sin(angle), math.cos(angle)), 2)


@pytest.mark.parametrize('quarters', [0, 1, 2, 3, 4, -1, -2, -3, 5, 1000, 63661, -63662])
def test_sine_and_cosine_are_right_around_every_quarter_and_eighth(quarters):
    for eighths in (0.0, 0.5, -0.5):
        near = (quarters + eighths) * math.pi / 2.0
        for angle in (near, np.nextafter(near, 1e6), np.nextafter(near, -1e6), near + 1e-9):
            assert_within_ulps(so3.sine_cosine(angle), (math.sin(angle), math.cos(angle)), 2)


@pytest.mark.parametrize('angle', [99999.99, 1e5, 100000.01, 1e8, 1e15, 1e22, -1e300])
def test_sine_and_cosine_hold_for_angles_of_any_size(angle):
    assert_within_ulps(so3.sine_cosine(angle), (math.sin(angle), math.cos(angle)), 1)


@pytest.mark.parametrize('angle', [0.0, 1e-300, 1e-160, -1e-20, 1e-12, -1e-8, 1e-5])
def test_the_sine_keeps_the_digits_of_small_angles(angle):
    assert so3.sine_cosine(angle)[0] == math.sin(angle)


def test_the_sine_of_no_number_is_no_number():
    assert np.isnan(so3.sine_cosine(math.nan)).all()
