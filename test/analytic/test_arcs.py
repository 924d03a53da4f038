"""Held joints within limits: no arc is missed, no pose is empty; oracles are a dense scan and the test's own chain."""

from arms_under_test import catalogue_arm
from arms_under_test import catalogue_chain
from complete_oracle import wrap
import numpy as np
import pytest

from ssik_ros.solvers.analytic.arm import Question

EXACT = ('panda', 'fr3', 'iiwa7', 'iiwa14', 'j2s7s300', 'xarm7')
"""Arms whose branches are followed over the held joint."""


def postures(arm, count, seed=0):
    """Return random postures (count, 7) within the limits, joints without any within a turn."""
    lower = np.where(np.isfinite(arm.chain.lower), arm.chain.lower, -np.pi)
    upper = np.where(np.isfinite(arm.chain.upper), arm.chain.upper, np.pi)
    return np.random.default_rng(seed).uniform(lower, upper, (count, len(lower)))


def ask(name, q, **question):
    """Return the answer for the pose of a posture, checked on the test's own chain and the limits."""
    arm, chain = catalogue_arm(name), catalogue_chain(name)
    pose = np.ascontiguousarray(chain.poses(np.asarray(q, dtype=float))[0])
    found = arm.branches_refined(pose, Question(**question))
    assert chain.residuals(found.q, pose).max(initial=0.0) < 1e-9
    assert (found.q >= arm.chain.lower).all() and (found.q <= arm.chain.upper).all()
    return found


@pytest.mark.parametrize('name', EXACT)
def test_no_pose_of_a_posture_within_limits_is_empty(name):
    for q in postures(catalogue_arm(name), 100):
        assert len(ask(name, q).q)
        assert len(ask(name, q, samples=4).q)
