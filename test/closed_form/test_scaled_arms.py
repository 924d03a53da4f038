"""Arms of a micrometre have the branches of arms of a metre: none missing, and none that only nearly reaches the pose."""

import re

from test.closed_form.synthetic_arms import make_six, serial_chain

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.model.catalogue import arm_data, make_urdf
from ssik_ros.model.loader import load_robot
from ssik_ros.model.topology import AxisGeometry

POSES = 40


def scaled(name, factor):
    """Return an arm of the catalogue, all of its lengths multiplied, slides too."""

    def times(match):
        lengths = ' '.join(repr(float(word) * factor) for word in match[1].split())
        return f'xyz="{lengths}"'

    text = re.sub(r'(?<=<origin )xyz="([^"]*)"', times, make_urdf(arm_data(name)))
    robot, group = load_robot(text), Manipulator.from_prebuilt(name).group
    return Manipulator(robot, robot.group_from_links(group.base_link, group.tip))


def sorted_branches(arm, q):
    """Return the branches of a pose, limits left out, in an order that rounding does not change."""
    # Arms with and without an SRDF have other default seeds, whose value of the sampled joint is tried, too.
    rows = arm.solve_q(arm.fk(q), np.zeros(arm.dof), respect_limits=False)
    return rows[np.lexsort(np.round(rows.T, 3))]


@pytest.mark.parametrize('factor', [1e-6, 1e-4, 1e-2, 1e3])
@pytest.mark.parametrize('name', ['ur5e', 'jaco2', 'xarm6', 'gofa'])
def test_branches_do_not_depend_on_the_size_of_an_arm(name, factor):
    full, other = Manipulator.from_prebuilt(name), scaled(name, factor)
    rng = np.random.default_rng(0)
    for index, q in enumerate(rng.uniform(-3.0, 3.0, (POSES, 6))):
        # Every other arm is nearly stretched: a posture close to a solution misses the pose by a thousandth of the arm.
        q[2] *= 1e-3 if index % 2 else 1.0
        expected, solutions = sorted_branches(full, q), sorted_branches(other, q)
        assert solutions.shape == expected.shape
        distances = np.abs(np.mod(solutions - expected + np.pi, 2.0 * np.pi) - np.pi)
        assert distances.max() < 1e-3


@pytest.mark.parametrize('factor', [1e-6, 1e-4])
def test_a_sampled_joint_gives_as_many_branches_on_a_small_arm(factor):
    full, other = Manipulator.from_prebuilt('panda'), scaled('panda', factor)
    rng = np.random.default_rng(0)
    for q in rng.uniform(*np.array(full.joint_limits).T, (20, 7)):
        assert len(sorted_branches(other, q)) == len(sorted_branches(full, q))


@pytest.mark.parametrize(('size', 'is_wrist'), [(1.0, True), (1e-3, False)])
def test_axes_that_miss_a_point_by_two_nanometres_meet_on_large_arms_only(size, is_wrist):
    chain = make_six('spherical', np.random.default_rng(1), size=size)
    chain.points[4] += 2e-9 * np.cross(chain.axes[3], chain.axes[4])
    assert (AxisGeometry.of_chain(serial_chain(chain)).meet(3, 4, 5) is not None) == is_wrist
