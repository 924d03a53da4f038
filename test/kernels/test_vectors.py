"""Vectors as tuples against numpy."""

from hypothesis import given, strategies as st
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.kernels.geometry import vectors

number = st.floats(-1e6, 1e6, allow_nan=False)
vector = st.tuples(number, number, number)
direction = st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3)
"""Leaves out the neighbourhood of zero, which has no direction."""


def unit(v):
    return tuple(np.array(v) / np.linalg.norm(v))


@given(vector, vector, number)
def test_sums_and_products_are_those_of_numpy(a, b, s):
    size = (1.0 + np.linalg.norm(a)) * (1.0 + np.linalg.norm(b))
    assert vectors.dot(a, b) == pytest.approx(np.dot(a, b), abs=1e-13 * size)
    assert vectors.cross(a, b) == pytest.approx(np.cross(a, b), abs=1e-13 * size)
    assert vectors.add(a, b) == tuple(np.add(a, b))
    assert vectors.subtract(a, b) == tuple(np.subtract(a, b))
    assert vectors.scale(s, a) == tuple(s * np.array(a))
    assert vectors.norm(a) == pytest.approx(np.linalg.norm(a), rel=1e-14)


@given(direction, st.floats(-10, 10), vector)
def test_rotation_is_that_of_scipy(k, t, v):
    k = unit(k)
    wanted = Rotation.from_rotvec(t * np.array(k)).apply(v)
    assert vectors.rotate(k, t, v) == pytest.approx(wanted, abs=1e-13 * (1 + np.linalg.norm(v)))
    assert vectors.turn(k, np.cos(t), np.sin(t), v) == pytest.approx(
        wanted, abs=1e-13 * (1 + np.linalg.norm(v))
    )


@given(direction)
def test_perpendicular_is_a_unit_vector_at_a_right_angle(k):
    k = unit(k)
    v = vectors.perpendicular(k)
    assert np.dot(k, v) == pytest.approx(0.0, abs=1e-15)
    assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-15)
    assert vectors.perpendicular(k) == v


@pytest.mark.parametrize('axis', np.vstack([np.eye(3), -np.eye(3), np.ones((1, 3)) / np.sqrt(3)]))
def test_perpendicular_exists_for_the_coordinate_axes(axis):
    v = vectors.perpendicular(tuple(axis))
    assert np.dot(axis, v) == pytest.approx(0.0, abs=1e-16)
    assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-15)
