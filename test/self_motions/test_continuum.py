"""Six joints have curves at singular poses, which are followed through a given posture and found from the pose."""

from test.self_motions.test_curves import ON_CURVE, random_postures

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.errors import TopologyMismatch
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.self_motions.continuum import follow_continuum
from ssik_ros.solvers.self_motions.curve import EndKind

STRAIGHT = [('ur5e', 0.0), ('ur10e', np.pi), ('irb120', 0.0), ('puma560', 0.0), ('vx300s', 0.0)]
"""Arms, and values of joint 5 at which their wrist is straight."""


def chain_of(name):
    """Return an arm and its chain."""
    arm = Manipulator.from_prebuilt(name)
    return arm, SerialChain.from_group(arm.robot, arm.group)


def assert_reaches(arm, chain, motions, target):
    """Compare postures along all curves with a pose and the limits."""
    rows = motions.sample(0.1)
    assert (rows >= chain.lower).all() and (rows <= chain.upper).all()
    for row in rows:
        assert np.abs(arm.fk(row) - target).max() < 1e-9


@pytest.mark.parametrize(('name', 'value'), STRAIGHT)
def test_the_curve_through_a_straight_wrist_reaches_its_pose(name, value):
    arm, chain = chain_of(name)
    for q in random_postures(arm, 6, 71):
        q[4] = value
        motions = follow_continuum(chain, q)
        assert motions.nearest(q).value < ON_CURVE
        assert motions.joint_names == arm.joint_names
        assert_reaches(arm, chain, motions, arm.fk(q))


def test_the_curve_of_a_straight_wrist_ends_at_the_limits_of_the_two_joints():
    arm, chain = chain_of('puma560')
    (q,) = random_postures(arm, 1, 72)
    q[4] = 0.0
    (curve,) = follow_continuum(chain, q)
    low = max(chain.lower[3] - q[3], q[5] - chain.upper[5])
    high = min(chain.upper[3] - q[3], q[5] - chain.lower[5])
    assert curve.length == pytest.approx(np.sqrt(2.0) * (high - low), abs=1e-6)
    assert curve.start.kind is curve.end.kind is EndKind.LIMIT
    assert {curve.start.joint, curve.end.joint} <= {arm.joint_names[3], arm.joint_names[5]}


def test_a_posture_outside_of_the_limits_leads_to_the_stretch_inside():
    arm, chain = chain_of('irb120')
    (q,) = random_postures(arm, 1, 73)
    q[4] = 0.0
    shift = chain.upper[3] + 0.3 - q[3]
    outside = q + shift * np.array([0.0, 0.0, 0.0, 1.0, 0.0, -1.0])
    motions = follow_continuum(chain, outside)
    assert motions.nearest(q).value < ON_CURVE
    assert_reaches(arm, chain, motions, arm.fk(q))


def test_a_regular_posture_has_no_curve():
    arm, chain = chain_of('ur5e')
    q = np.array([0.3, -1.2, 1.1, 0.4, 0.5, 0.2])
    assert follow_continuum(chain, q) is None
    with pytest.raises(TopologyMismatch, match='one redundant joint'):
        arm.self_motions(arm.fk(q))


def test_five_joints_have_curves_too():
    # Two axes in one line, as the last three of a straight wrist.
    axes = [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]
    offsets = [(0, 0, 0.3), (0, 0, 0.2), (0.3, 0, 0), (0, 0, 0), (0, 0, 0), (0.1, 0, 0)]
    arm = Manipulator.from_axes(axes, offsets)
    chain = SerialChain.from_group(arm.robot, arm.group)
    q = np.array([0.4, -0.6, 0.7, 0.0, 0.2])
    (curve,) = follow_continuum(chain, q)
    rows = curve.sample(0.2)
    assert np.ptp(rows[:, 2]) > 6.0
    assert np.ptp(rows[:, [0, 1, 3]], axis=0).max() < 1e-9
    assert max(np.abs(arm.fk(row) - arm.fk(q)).max() for row in rows) < 1e-9


@pytest.mark.sampled
@pytest.mark.parametrize('count', [3, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize(('name', 'value'), STRAIGHT)
def test_a_pose_of_a_straight_wrist_has_its_curves(name, value, count):
    arm, chain = chain_of(name)
    for q in random_postures(arm, count, 74):
        q[4] = value
        target = arm.fk(q)
        motions = arm.self_motions(target)
        assert motions.nearest(q).value < ON_CURVE, q.tolist()
        assert not motions.is_complete and 'six joints' in motions.reason
        assert_reaches(arm, chain, motions, target)
