"""The posture at the edge of reach: derivatives of the method, its end, and joints that are not free."""

from arms_under_test import catalogue_arm
import numpy as np
import pytest

from ssik_ros.solvers.closed_form import reach_edge
from ssik_ros.solvers.closed_form.reach_edge import ReachEdge

STEP = 1e-6
"""Difference of joints for derivatives [rad or m]."""


@pytest.mark.parametrize('name', ['gen3', 'panda', 'iiwa14', 'ur5e', 'hsr065'])
def test_derivatives_agree_with_differences(name):
    chain, rng = catalogue_arm(name).chain, np.random.default_rng(3)
    edge, n = ReachEdge(chain), len(chain.axes)
    q, force = rng.uniform(-1.0, 1.0, n), rng.normal(size=6)
    pose = chain.pose(q)
    motions, error = edge._motions(q, pose)
    assert np.abs(error).max() < 1e-15
    bend = reach_edge._bend(motions, force)
    for joint in range(n):
        moved = STEP * np.eye(n)[joint]
        (ahead, shift), (behind, _) = (
            edge._motions(q + sign * moved, pose) for sign in (1.0, -1.0)
        )
        change = (ahead - behind) @ force / (2.0 * STEP)
        assert np.abs(bend[:, joint] - change).max() < 1e-8
        assert np.abs(shift + STEP * motions[joint]).max() < 1e-11


@pytest.mark.parametrize('name', ['gen3', 'panda', 'iiwa14', 'xarm7'])
def test_newton_ends_where_no_joint_feels_the_error(name):
    """From a pose beyond the edge, the rest of the error is a force that no joint feels."""
    chain, rng = catalogue_arm(name).chain, np.random.default_rng(5)
    edge, every = ReachEdge(chain), np.ones(7, dtype=bool)
    judged = 0
    for _ in range(20):
        q = rng.uniform(np.maximum(chain.lower, -1.5), np.minimum(chain.upper, 1.5))
        on_edge = edge.posture(chain.pose(q), q, every)
        target = chain.pose(on_edge)
        target[:3, 3] += 1e-3 * rng.normal(size=3)
        end = edge.posture(target, on_edge, every)
        motions, error = edge._motions(end, target)
        if np.linalg.svd(motions, compute_uv=False)[-2] < 0.05:
            continue
        judged += 1
        assert np.abs(motions @ error).max() < 1e-9 * np.linalg.norm(error)
    assert judged >= 10


def test_joints_that_are_not_free_keep_their_values():
    chain, rng = catalogue_arm('panda').chain, np.random.default_rng(7)
    edge, q = ReachEdge(chain), rng.uniform(-1.0, 1.0, 7)
    is_free = np.array([True, True, False, True, True, True, False])
    end = edge.posture(chain.pose(q + 1e-3 * rng.normal(size=7)), q, is_free)
    assert np.array_equal(end[~is_free], q[~is_free])
    assert (end[is_free] != q[is_free]).all()
