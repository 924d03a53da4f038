"""How near joints are to their limits, and numbers as a user reads them."""

import math

import numpy as np
import pytest

from ssik_ros.view.limit_room import (
    find_room,
    from_unit,
    in_unit,
    LimitRoom,
    shared_unit,
    short,
    smallest_room,
)

LOWER, UPPER = np.array([-1.0]), np.array([3.0])


@pytest.mark.parametrize(
    'value, room',
    [
        *((-1.0, LimitRoom.AT), (3.0, LimitRoom.AT), (2.9999, LimitRoom.AT)),
        *((-0.81, LimitRoom.NEAR), (2.81, LimitRoom.NEAR), (2.99, LimitRoom.NEAR)),
        *((-0.79, LimitRoom.FREE), (2.79, LimitRoom.FREE), (1.0, LimitRoom.FREE)),
    ],
)
def test_a_joint_is_near_a_limit_within_5_percent_of_its_range(value, room):
    assert find_room(np.array([value]), LOWER, UPPER) == [room]


def test_joints_without_limits_are_free():
    q, far = np.zeros(2), np.array([-math.inf, 0.0])
    assert find_room(q, far, np.array([0.0, math.inf])) == [LimitRoom.FREE] * 2
    assert smallest_room(q[:0], q[:0], q[:0]) == math.inf


def test_the_smallest_room_counts_both_limits_of_all_joints():
    q = np.array([0.0, 2.5])
    assert smallest_room(q, np.array([-1.0, 0.0]), np.array([3.0, 3.0])) == pytest.approx(0.5)


@pytest.mark.parametrize(
    'number, text',
    [
        *((math.pi, '3.142'), (-0.78539816, '-0.785'), (179.98765, '180'), (12.3456, '12.35')),
        *((-1e-9, '0'), (0.0004, '0'), (1.0, '1'), (math.inf, '–'), (math.nan, '–')),
    ],
)
def test_numbers_have_at_most_four_digits(number, text):
    assert short(number) == text


@pytest.mark.parametrize('unit', ['rad', 'deg'])
def test_units_of_angles_convert_both_ways(unit):
    assert from_unit(in_unit(0.7, unit), unit) == pytest.approx(0.7)
    assert in_unit(math.pi, 'deg') == pytest.approx(180.0)


def test_a_number_of_turning_and_sliding_joints_stays_in_rad_or_m():
    assert shared_unit([True, True], 'deg') == 'deg'
    assert shared_unit([True, False], 'deg') == 'rad or m'
    assert shared_unit([False], 'deg') == 'm'
