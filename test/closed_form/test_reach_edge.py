"""The posture at the edge of reach: derivatives of the method, its end, and joints that do not move."""

from test.closed_form.arms_under_test import catalogue_arm

import numpy as np
import pytest

from ssik_ros.kernels.closed_form.singular import reach_edge
from ssik_ros.solvers.search.bounded_refinement import BoundedRefinement

STEP = 1e-6
"""Difference of joints for derivatives [rad or m]."""
ALL = np.ones(7, dtype=bool)


def motions(chain, q):
    """Return the Jacobian (6, n) of the tip."""
    return np.ascontiguousarray(chain.moved(q[None]).jacobians()[0])


@pytest.mark.parametrize('name', ['gen3', 'panda', 'iiwa14', 'ur5e', 'hsr065'])
def test_derivatives_agree_with_differences(name):
    chain, rng = catalogue_arm(name).chain, np.random.default_rng(3)
    n = len(chain.axes)
    q, force = rng.uniform(-1.0, 1.0, n), rng.normal(size=6)
    here = motions(chain, q)
    for joint in range(n):
        moved = STEP * np.eye(n)[joint]
        change = (motions(chain, q + moved) - motions(chain, q - moved)).T @ force / (2.0 * STEP)
        bend = [reach_edge.bend(here, force, i, joint) for i in range(n)]
        assert bend == pytest.approx(change, abs=1e-8)


@pytest.mark.parametrize('name', ['gen3', 'panda', 'iiwa14', 'xarm7'])
def test_newton_ends_where_no_joint_feels_the_error(name):
    """From a pose beyond the edge, the rest of the error is a force that no joint feels."""
    chain, rng = catalogue_arm(name).chain, np.random.default_rng(5)
    refinement, judged = BoundedRefinement(chain), 0
    for _ in range(20):
        q = rng.uniform(np.maximum(chain.lower, -1.5), np.minimum(chain.upper, 1.5))
        on_edge = refinement.moved_to_edge(chain.pose(q), q, ALL)
        target = chain.pose(on_edge)
        target[:3, 3] += 1e-3 * rng.normal(size=3)
        end = refinement.moved_to_edge(target, on_edge, ALL)
        unit, reached = refinement.aim(target)[-1], chain.pose(end)
        turn = 0.5 * np.cross(reached[:3, :3], target[:3, :3], axis=0).sum(axis=1)
        error = np.concatenate([(target[:3, 3] - reached[:3, 3]) / unit, turn])
        jacobian = chain.moved(end[None]).jacobians(length=unit)[0]
        if np.linalg.svd(jacobian, compute_uv=False)[-2] < 0.05:
            continue
        judged += 1
        assert np.abs(error @ jacobian).max() < 1e-9 * np.linalg.norm(error)
    assert judged >= 10


def test_joints_that_may_not_move_keep_their_values():
    chain, rng = catalogue_arm('panda').chain, np.random.default_rng(7)
    refinement, q = BoundedRefinement(chain), rng.uniform(-1.0, 1.0, 7)
    may_move = np.array([True, True, False, True, True, True, False])
    pose = chain.pose(q + 1e-3 * rng.normal(size=7))
    end = refinement.moved_to_edge(pose, q, may_move)
    assert np.array_equal(end[~may_move], q[~may_move])
    assert (end[may_move] != q[may_move]).all()
