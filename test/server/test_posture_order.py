"""Turns, distances and margins of postures, number by number."""

import math

from test.server.served_robots import joint, robot_text

import numpy as np
import pytest

from ssik_ros.model.loader import load_robot
from ssik_ros.server.requests.ik_requests import BranchOptions
from ssik_ros.server.requests.posture_order import PostureOrder

TWO_PI = 2.0 * math.pi


def limited(kind, name, parent, child, low, high):
    """Return a joint with limits of its own."""
    made = joint(name, kind, parent, child)
    return made.replace('lower="-2.8" upper="2.8"', f'lower="{low}" upper="{high}"')


@pytest.fixture(scope='module')
def order():
    """Return the order of an endless joint, one of three turns, and a rail of twenty metres."""
    robot = load_robot(
        robot_text(
            joint('endless', 'continuous', 'l0', 'l1'),
            limited('revolute', 'long', 'l1', 'l2', -7.0, 7.0),
            limited('prismatic', 'rail', 'l2', 'l3', -10.0, 10.0),
        )
    )
    return PostureOrder(robot, robot.group_from_links('l0', 'l3', 'all'))


def test_endless_joints_are_compared_modulo_a_turn_and_others_are_not(order):
    seed = np.array([3.0, 3.0, 3.0])
    rows = seed + TWO_PI * np.eye(3)
    assert order.distances(rows, seed) == pytest.approx([0.0, TWO_PI, TWO_PI], abs=1e-12)
    assert order.distances(np.array([[-3.0, 3.0, 3.0]]), seed) == pytest.approx([TWO_PI - 6.0])


def test_nearest_turns_stay_within_limits(order):
    seed = np.array([20.0, 6.5, 9.0])
    rows = np.array([[0.5, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, -6.5, -9.5]])
    near = order.nearest_windings(rows, seed)
    # 1.0 + 2 pi is nearer to the seed, but beyond the limit of 7.
    expected = [[0.5 + 3 * TWO_PI, 0.5 + TWO_PI, 0.5]]
    expected += [[0.5 + 3 * TWO_PI, 1.0, 0.5], [0.5 + 3 * TWO_PI, -6.5 + 2 * TWO_PI, -9.5]]
    assert near == pytest.approx(np.array(expected), abs=1e-12)


def test_an_angle_that_stays_keeps_every_digit(order):
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 3))
    assert order.nearest_windings(rows, np.zeros(3)).tobytes() == rows.tobytes()


def test_postures_that_are_near_in_every_joint_count_once(order):
    rows = np.array([[math.pi, 0.0, 0.0], [-math.pi, 0.01, 0.02], [math.pi, 0.0, 0.06]])
    assert order.first_of_each(rows, [0, 1, 2], 0.05) == [0, 2]
    assert order.first_of_each(rows, [1, 0, 2], 0.05) == [1]
    assert order.first_of_each(rows[:0], [], 0.05) == []


def test_only_angles_between_limits_have_turns_to_enumerate(order):
    wishes = BranchOptions(enumerate_windings=True)
    postures = order.arrange(np.array([[0.5, 0.5, 0.5]]), np.zeros(3), wishes)
    expected = [[0.5, 0.5, 0.5], [0.5, 0.5 - TWO_PI, 0.5], [0.5, 0.5 + TWO_PI, 0.5]]
    assert postures.q == pytest.approx(np.array(expected), abs=1e-12)
    assert postures.total == 3 and postures.rows.tolist() == [0, 0, 0]


def test_turns_belong_to_the_branch_they_are_of(order):
    rows = np.array([[0.0, 3.0, 5.0], [0.0, 0.2, 0.0]])
    postures = order.arrange(rows, np.zeros(3), BranchOptions(enumerate_windings=True))
    assert postures.rows[0] == 1 and (postures.q[postures.rows == 1][:, 2] == 0.0).all()
    assert (postures.q[postures.rows == 0][:, 2] == 5.0).all()
    assert np.all(np.diff(order.distances(postures.q, np.zeros(3))) >= 0.0)


def test_a_rail_has_no_turns_to_be_compared_modulo(order):
    rows = np.array([[0.0, 0.2, 6.2], [0.0, 3.0, 0.0]])
    postures = order.arrange(rows, np.zeros(3), BranchOptions(enumerate_windings=True))
    assert postures.rows.tolist() == [1, 1, 0, 0, 0]
    assert np.all(np.diff(order.distances(postures.q, np.zeros(3))) >= 0.0)


def test_margins_are_the_smallest_room(order):
    rows = np.array([[50.0, 6.5, 0.0], [0.0, 0.0, -9.9], [0.0, 7.5, 0.0]])
    assert order.margins(rows) == pytest.approx([0.5, 0.1, -0.5])


def test_without_limits_the_margin_is_infinite():
    robot = load_robot(robot_text(joint('endless', 'continuous', 'l0', 'l1')))
    alone = PostureOrder(robot, robot.group_from_links('l0', 'l1', 'all'))
    assert alone.margins(np.array([[3.0]])).tolist() == [math.inf]


@pytest.mark.parametrize(
    ('value', 'turns'), [(math.pi, 0), (-math.pi, -1), (3.2, 1), (-6.5, -1), (9.5, 2), (0.0, 0)]
)
def test_turns_are_counted_from_the_half_open_range(order, value, turns):
    assert order.count_windings(np.array([value, 0.0, 50.0])) == [turns, 0, 0]
