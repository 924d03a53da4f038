"""Poses out of reach, inside the sphere of reach and beyond: refused with a cause, and never solved."""

from test.closed_form.arms_under_test import arm_of, ask, catalogue_arm, catalogue_chain, SIX
from test.closed_form.synthetic_arms import CLASSES, direction, make_six
from test.complete_oracle import find_all, rotations

import numpy as np
import pytest

from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.model.catalogue import arm_data, load_arm
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL
from ssik_ros.solvers.closed_form.difficult_poses import DifficultPoses
from ssik_ros.solvers.registry import create_solver

ELIMINATED = tuple(name for name in SIX if catalogue_arm(name).plan.ints[search.CUT] >= 0)


def reach(chain):
    """Return the sum of the distances from point to point, and to the tip."""
    gaps = np.diff(np.vstack([chain.points, chain.home[:3, 3]]), axis=0)
    return np.linalg.norm(gaps, axis=1).sum()


def random_target(chain, rng):
    """Return a random pose whose point lies within the sum of the links."""
    pose = np.eye(4)
    pose[:3, :3] = rotations(direction(rng), rng.uniform(0, np.pi))[0]
    pose[:3, 3] = chain.points[0] + reach(chain) * direction(rng) * rng.uniform(0, 1)
    return pose


@pytest.mark.slow
@pytest.mark.parametrize('name', SIX)
def test_random_poses_inside_the_sphere_have_solutions_exactly_where_the_oracle_has_one(name):
    rng = np.random.default_rng(1)
    chain, arm = catalogue_chain(name), catalogue_arm(name)
    refused = 0
    for _ in range(3):
        pose = random_target(chain, rng)
        result = ask(arm, pose)
        assert len(result.q) == len(find_all(chain, pose, rng))
        refused += result.certified == 0
    # Most of the sphere is out of reach for a given orientation; some poses must have been.
    assert refused > 0


@pytest.mark.sampled
@pytest.mark.parametrize('name', CLASSES)
def test_classes_refuse_what_the_oracle_refuses(name):
    rng = np.random.default_rng(2)
    chain = make_six(name, rng)
    arm = arm_of(chain)
    for _ in range(8):
        pose = random_target(chain, rng)
        assert len(ask(arm, pose).q) == len(find_all(chain, pose, rng))


@pytest.mark.parametrize('margin', [1e-6, 1e-4, 1e-2])
def test_a_pose_just_beyond_the_stretched_arm_is_refused(margin):
    chain, arm = catalogue_chain('puma560'), catalogue_arm('puma560')
    base = [0.3, -0.4, 0.0, 0.2, 0.5, -0.1]
    # The elbow is stretched where the wrist is furthest from axis 2.
    wrist, angles = chain.points[4], np.linspace(-np.pi, np.pi, 100001)
    arm3 = wrist - chain.points[2]
    turned = rotations(chain.axes[2], angles) @ arm3 + chain.points[2] - chain.points[1]
    across = turned - np.outer(turned @ chain.axes[1], chain.axes[1])
    lengths = np.linalg.norm(across, axis=1)
    q = np.array(base)
    q[2] = angles[lengths.argmax()]
    pose = chain.poses(q)[0]
    shoulder = rotations(chain.axes[0], q[0])[0] @ (chain.points[1] - chain.points[0])
    outwards = wrist_of(chain, q) - shoulder - chain.points[0]
    axis = rotations(chain.axes[0], q[0])[0] @ chain.axes[1]
    outwards -= axis * (outwards @ axis)
    inside, outside = pose.copy(), pose.copy()
    inside[:3, 3] -= margin * outwards / np.linalg.norm(outwards)
    outside[:3, 3] += margin * outwards / np.linalg.norm(outwards)
    near = [d for d in ask(arm, inside).q if np.abs(d[0] - q[0]) < 0.2]
    assert len(near) >= 2
    assert not [d for d in ask(arm, outside).q if np.abs(d[0] - q[0]) < 0.2]


def wrist_of(chain, q):
    """Return where the point of the wrist is at a posture."""
    point = chain.points[4]
    for axis, center, angle in zip(chain.axes[2::-1], chain.points[2::-1], q[2::-1], strict=True):
        point = rotations(axis, angle)[0] @ (point - center) + center
    return point


def solver_of(name):
    data, robot = arm_data(name), load_arm(name)
    group = robot.group_from_links(data.base_link, data.tip_link)
    return create_solver('ssik_ros/Analytic', robot, group)


@pytest.mark.parametrize('name', ['ur5e', 'puma560', 'jaco2', 'panda', 'iiwa14', 'gen3'])
def test_the_solver_says_that_a_pose_is_out_of_reach(name):
    solver, chain = solver_of(name), catalogue_chain(name)
    pose = np.eye(4)
    pose[:3, 3] = chain.points[0] + 2.0 * reach(chain) * np.array([0.6, 0.0, 0.8])
    result = solver.solve(SolveRequest(pose))
    assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.UNREACHABLE)
    assert len(result.solutions) == 0


@pytest.mark.parametrize('name', ['ur5e', 'puma560', 'jaco2'])
def test_the_solver_tells_limits_from_reach(name):
    rng = np.random.default_rng(3)
    solver, chain, arm = solver_of(name), catalogue_chain(name), catalogue_arm(name)
    q = rng.uniform(-2, 2, 6)
    pose = chain.poses(q)[0]
    every = ask(arm, pose).q
    # A box that contains none of the branches, whatever their turns.
    lower, upper = np.full(6, 0.0), np.full(6, 0.0)
    angles = np.sort(np.append(every[:, 0] % (2 * np.pi), every[0, 0] % (2 * np.pi)))
    lower[1:], upper[1:] = -6.0, 6.0
    lower[0] = upper[0] = angles[0] + 0.5 * max(np.diff(angles).max(initial=0.0), 1.0)
    branches = arm.branches(np.ascontiguousarray(pose), BranchRequest(lower=lower, upper=upper))
    assert (len(branches.q), branches.dropped) == (0, branches.branches)
    result = solver.solve(SolveRequest(pose, lower=lower, upper=upper))
    assert result.status == IkStatus.UNSOLVED
    assert result.cause == Cause.LIMITS


@pytest.mark.heavy
@pytest.mark.parametrize('name', ELIMINATED)
def test_few_poses_without_a_branch_are_left_in_doubt(name):
    """Reach maps call such poses unknown. Roots that are nearly complex in one cut are clear in another."""
    arm, rng = catalogue_arm(name), np.random.default_rng(31)
    chain = arm.chain
    lower, upper = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    places, turns = (
        np.array([chain.pose(q) for q in rng.uniform(lower, upper, (2000, 6))]) for _ in range(2)
    )
    places[:, :3, :3] = turns[:, :3, :3]
    empty = [result for result in map(arm.branches, places) if not len(result.q)]
    assert len(empty) > 50
    assert sum(result.is_doubtful for result in empty) <= 2


def test_a_matrix_that_is_no_pose_is_refused():
    arm = catalogue_arm('ur5e')
    for broken in (np.zeros((4, 4)), np.full((4, 4), np.nan), 2.0 * np.eye(4)):
        assert arm.branches(broken, BranchRequest(mode=KEEP_ALL)) is None


@pytest.mark.heavy
def test_seven_joints_are_not_sampled_more_finely_for_a_pose_that_a_hull_refuses(monkeypatch):
    """Wrist and tip are inside their hulls of reach, but no direction of the last axis brings the wrist there."""
    arm = catalogue_arm('panda')
    rng, proved = np.random.default_rng(6), 0

    def refine(*_):
        raise AssertionError('asked for more samples of a pose that is proved to be out of reach')

    for _ in range(60):
        pose = random_target(catalogue_chain('panda'), rng)
        if not arm.branches_refined(pose).is_too_far or ask(arm, pose).is_too_far:
            continue
        proved += 1
        with monkeypatch.context() as patch:
            patch.setattr(DifficultPoses, 'refine', refine)
            result = arm.branches_refined(pose)
        assert result.is_too_far and len(result.q) == 0
    assert proved > 0
