"""Tool paths through singular poses, such as a straight wrist: joints go on as they came."""

from test.promises.shipped_arms import catalogue_chain

import numpy as np
import pytest

from ssik_ros import Manipulator

STEP = 0.03
"""Largest motion of a joint from one waypoint to the next [rad]."""
LARGEST = 0.2
"""Motion of a joint in a step at which it has not gone on as it came [rad]."""
STRAIGHT = 10
"""Waypoint at which the wrist is straight."""


@pytest.fixture(scope='module', params=['irb120', 'kr6_r900', 'puma560', 'ur5e', 'gen3_6dof'])
def arm(request):
    return Manipulator.from_prebuilt(request.param)


def straight_wrists(arm, rng):
    """Yield joint paths (21, 6) within limits whose fifth joint passes zero in the middle."""
    lower, upper = np.maximum(arm.lower, -2.5), np.minimum(arm.upper, 2.5)
    while True:
        middle = rng.uniform(0.6 * lower + 0.4 * upper, 0.4 * lower + 0.6 * upper)
        step = rng.uniform(-STEP, STEP, 6)
        middle[4], step[4] = 0.0, STEP
        rows = middle + np.arange(-STRAIGHT, STRAIGHT + 1)[:, None] * step
        if (rows > arm.lower).all() and (rows < arm.upper).all():
            yield rows


def largest_error(arm, path, poses):
    """Return the largest error of a path, by kinematics that share no code with the package; infinite outside the limits."""
    chain = catalogue_chain(arm.robot.name)
    pairs = zip(path.positions, poses, strict=True)
    return max(max(chain.errors(q, pose)) if chain.is_inside(q) else np.inf for q, pose in pairs)


def test_a_path_leads_through_a_straight_wrist(arm):
    paths = straight_wrists(arm, np.random.default_rng(3))
    for _, rows in zip(range(12), paths, strict=False):
        poses = arm.fk(rows)
        path = arm.plan(poses, start=rows[0])
        assert path.valid, path.reason
        assert np.abs(np.diff(path.positions, axis=0)).max() < LARGEST
        assert largest_error(arm, path, poses) < 1e-6


@pytest.mark.sampled
def test_a_path_leads_along_straight_wrists_and_away(arm):
    """Several waypoints in turn have a straight wrist."""
    paths = straight_wrists(arm, np.random.default_rng(3))
    for _, rows in zip(range(12), paths, strict=False):
        still = np.repeat(rows[STRAIGHT][None], 4, axis=0)
        still[:, 0] += STEP * np.arange(4)
        rows = np.vstack([rows[:STRAIGHT], still, rows[STRAIGHT + 1 :]])
        rows[-STRAIGHT:, 0] += 3.0 * STEP
        assert (rows > arm.lower).all() and (rows < arm.upper).all()
        path = arm.plan(arm.fk(rows), start=rows[0])
        assert path.valid, path.reason
        assert np.abs(np.diff(path.positions, axis=0)).max() < LARGEST + STEP
        assert largest_error(arm, path, arm.fk(rows)) < 1e-6


def test_a_path_of_straight_wrists_only_needs_no_neighbours(arm):
    rows = np.repeat(
        next(straight_wrists(arm, np.random.default_rng(5)))[STRAIGHT][None], 5, axis=0
    )
    rows[:, 0] += 0.01 * np.arange(5)
    path = arm.plan(arm.fk(rows))
    assert path.valid, path.reason
    assert largest_error(arm, path, arm.fk(rows)) < 1e-6
