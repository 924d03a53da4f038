"""Tolerances that reach into the workspace at its rim: a planted posture, whose pose lies within the tolerance, is the judge."""

import math

from test.paths.made_paths import robot

import numpy as np
import pytest

from ssik_ros.kernels.geometry.rotations import pose_matrix, rotate_about
from ssik_ros.paths.planner import plan_tool_path
from ssik_ros.paths.pose_freedom import PoseFreedom
from ssik_ros.paths.requests import ANY_ANGLE, PathTolerance
from ssik_ros.paths.tolerance_reach import ReachProof
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.results import Cause

ELBOWS = {'ur5e': 2, 'panda': 3}
NO_TURN, NO_MOVE = np.eye(3), np.zeros(3)


@pytest.fixture(scope='module')
def arms():
    """Return robots, groups and chains by name."""
    models = {name: robot(name) for name in ELBOWS}
    groups = {
        name: next(g for g in model.groups.values() if len(g.joint_names) in (6, 7))
        for name, model in models.items()
    }
    return {
        name: (models[name], group, ToolChain(models[name], group))
        for name, group in groups.items()
    }


def stretched(chain, elbow, rng):
    """Return the pose of a random posture whose elbow is nearly straight."""
    low, high = chain.chain.lower, chain.chain.upper
    q = rng.uniform(np.maximum(low, -math.pi), np.minimum(high, math.pi))
    q[elbow] = np.clip(rng.uniform(-0.3, 0.0), low[elbow], high[elbow])
    return chain.pose(q)


def planted(chain, elbow, kind, rng):
    """Return a waypoint and its tolerance, which holds the pose of a posture near one of its ends."""
    pose = stretched(chain, elbow, rng)
    inside = 1.0 - 10.0 ** rng.uniform(-6.0, -0.3)
    across = rng.normal(size=3) * [1.0, 1.0, 0.0]
    across /= np.linalg.norm(across)
    if kind == 'spin':
        turn = rotate_about(across, rng.uniform(-3.0, 3.0))
        return pose @ pose_matrix(NO_MOVE, turn), PathTolerance(axis=across, spin=ANY_ANGLE)
    if kind == 'cone':
        cone = rng.choice([0.02, 0.1, 0.5])
        turn = rotate_about(across, inside * cone)
        return pose @ pose_matrix(NO_MOVE, turn), PathTolerance(cone=cone)
    width = rng.choice([1e-3, 1e-2, 5e-2])
    offset = pose[:3, :3].T @ pose[:3, 3]
    offset = inside * width * offset / np.abs(offset).max()
    return pose @ pose_matrix(offset, NO_TURN), PathTolerance(
        position=((-width,) * 3, (width,) * 3)
    )


@pytest.mark.parametrize('kind', ['box', 'cone', 'spin'])
@pytest.mark.parametrize('name', ELBOWS)
def test_no_tolerance_that_a_posture_reaches_is_called_out_of_reach(arms, name, kind):
    rng = np.random.default_rng(31)
    _, _, chain = arms[name]
    proof = ReachProof(chain.chain)
    for _ in range(50):
        waypoint, tolerance = planted(chain, ELBOWS[name], kind, rng)
        assert not proof.refuses(waypoint, PoseFreedom([tolerance], 1), 0)


def test_a_box_is_reached_at_its_corner(arms):
    """The arm is stretched where the tool is at one corner; each other pose of the box is further away."""
    rng = np.random.default_rng(5)
    model, group, chain = arms['ur5e']
    for _ in range(4):
        q = rng.uniform(-2.0, 2.0, 6)
        q[2] = 0.005
        pose = chain.pose(q)
        # No joint moves the tool against this force and torque.
        force = np.linalg.svd(chain.chain.moved(q[None]).jacobians()[0])[0][:3, -1]
        force = pose[:3, :3].T @ force * np.sign(force @ pose[:3, 3])
        outwards = pose_matrix(0.02 * np.sign(force), NO_TURN)
        tolerance = PathTolerance(position=((-0.02,) * 3, (0.02,) * 3))
        path = plan_tool_path(model, group, np.array([pose @ outwards] * 2), tolerance=tolerance)
        assert path.valid, path.reason


@pytest.mark.parametrize('name', ELBOWS)
@pytest.mark.parametrize(
    'tolerance',
    [
        PathTolerance(position=((-0.02,) * 3, (0.02,) * 3)),
        PathTolerance(cone=0.3),
        PathTolerance(axis=(1, 0, 0), spin=ANY_ANGLE),
        PathTolerance(cone=0.1, spin=ANY_ANGLE, position=((-0.01,) * 3, (0.01,) * 3)),
    ],
)
def test_tolerances_beyond_the_rim_are_proved_out_of_reach(arms, name, tolerance):
    model, group, _ = arms[name]
    far = 2.0 if name == 'ur5e' else 1.5
    waypoint = pose_matrix(np.array([far, 0.0, 0.2]), NO_TURN)
    path = plan_tool_path(model, group, np.array([waypoint] * 2), tolerance=tolerance)
    assert (path.valid, path.cause, path.failed_waypoint) == (False, Cause.UNREACHABLE, 0)
    assert path.reason == 'Waypoint 0 is out of reach.'
