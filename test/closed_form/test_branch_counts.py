"""Branches counted eight poses at a time: the numbers of a search of each pose, everywhere."""

from collections.abc import Callable
import functools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros import Manipulator
from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.batch import search_batch
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, PLAIN
from ssik_ros.solvers.closed_form.counting import count_branches

LANE_ARMS = 'ur5e', 'irb6700', 'irb120', 'ur10e'
"""Arms whose poses are counted side by side."""


@functools.cache
def chain_of(name: str) -> SerialChain:
    """Return the chain of an arm of the catalogue."""
    arm = Manipulator.from_prebuilt(name)
    return SerialChain.from_group(arm.robot, arm.group)


@functools.cache
def arm_of(name: str) -> AnalyticArm:
    """Return its closed form."""
    return AnalyticArm(chain_of(name))


def postures(name: str, count: int, seed: int = 3) -> FloatArray:
    """Return random postures within the limits."""
    chain, rng = chain_of(name), np.random.default_rng(seed)
    q: FloatArray = rng.uniform(
        np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi), (count, 6)
    )
    return q


def poses_at(name: str, q: FloatArray) -> FloatArray:
    """Return the poses of postures, by the chain's own product of exponentials."""
    chain = chain_of(name)
    return np.ascontiguousarray([chain.pose(row) for row in q])


def random_poses(name: str, count: int) -> FloatArray:
    """Return random poses in a box 1.2 times the reach of an arm."""
    rng = np.random.default_rng(7)
    size = np.abs(poses_at(name, postures(name, 200))[:, :3, 3]).max() * 1.2
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = Rotation.random(count, random_state=8).as_matrix()
    poses[:, :3, 3] = rng.uniform(-size, size, (count, 3))
    return poses


def at_limits(q: FloatArray, chain: SerialChain) -> FloatArray:
    """Return postures with one joint at a limit, or within 1e-7 of it."""
    for row in range(len(q)):
        joint, margin = row % 6, (0.0, 1e-9, -1e-9, 1e-7)[row % 4]
        limit = (chain.lower if row % 2 else chain.upper)[joint]
        q[row, joint] = limit + margin if np.isfinite(limit) else q[row, joint]
    return q


def with_joint(joint: int) -> Callable[[FloatArray, SerialChain], FloatArray]:
    """Return a function that puts a joint at 0, 90 or 180 degrees, with an offset of at most 2e-3."""

    def put(q: FloatArray, chain: SerialChain) -> FloatArray:
        quarter = np.arange(len(q)) % 3 * 0.5 * np.pi
        q[:, joint] = quarter + np.array([0.0, 1e-12, 1e-8, 1e-5, 2e-3])[np.arange(len(q)) % 5]
        return q

    return put


EDGES = {'limits': at_limits, **{f'joint {k + 1}': with_joint(k) for k in range(1, 5)}}


def searched(arm: AnalyticArm, poses: FloatArray, request: BranchRequest = PLAIN) -> FloatArray:
    """Return the branches of each pose by a search."""
    counts: FloatArray = search_batch(arm, poses, None, request, 1).counts[:, search.COUNT]
    return counts


@pytest.mark.parametrize('name', LANE_ARMS)
def test_random_poses_have_the_branches_of_a_search(name: str) -> None:
    arm = arm_of(name)
    poses = np.concatenate([random_poses(name, 4000), poses_at(name, postures(name, 1001))])
    counted = count_branches(arm, poses)
    assert np.array_equal(counted.counts, searched(arm, poses))
    assert counted.searched < 0.01 * len(poses)
    assert (counted.counts[4000:] > 0).all()


@pytest.mark.sampled
@pytest.mark.parametrize('count', [90, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize('edge', EDGES)
@pytest.mark.parametrize('name', LANE_ARMS)
def test_poses_at_an_edge_have_the_branches_of_a_search(name: str, edge: str, count: int) -> None:
    arm, chain = arm_of(name), chain_of(name)
    poses = poses_at(name, EDGES[edge](postures(name, count), chain))
    assert np.array_equal(count_branches(arm, poses).counts, searched(arm, poses))


# Few: each of the 40 steps ends on a border, where a search costs as much as at a singular posture.
@pytest.mark.heavy
@pytest.mark.parametrize('count', [3, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize('name', LANE_ARMS)
def test_poses_on_the_border_of_reach_have_the_branches_of_a_search(name: str, count: int) -> None:
    arm, inside = arm_of(name), poses_at(name, postures(name, count))
    poses, outside = inside.copy(), inside.copy()
    outside[:, :3, 3] *= 4.0
    # Bisect between reached and not, so that the last poses are a rounding apart.
    border, counts = [], []
    for _ in range(40):
        poses[:, :3, 3] = 0.5 * (inside[:, :3, 3] + outside[:, :3, 3])
        border.append(poses.copy())
        counts.append(searched(arm, poses))
        is_reached = counts[-1] > 0
        inside[is_reached], outside[~is_reached] = poses[is_reached], poses[~is_reached]
    assert np.array_equal(
        count_branches(arm, np.concatenate(border)).counts, np.concatenate(counts)
    )


def test_poses_that_are_none_have_minus_one_branch() -> None:
    arm, poses = arm_of('ur5e'), poses_at('ur5e', postures('ur5e', 16))
    poses[0, 0, 0] = np.nan
    poses[1, :3, 3] = np.inf
    poses[2, :3, :3] *= 1.1
    poses[3, :3, 0] *= -1.0
    poses[4, 3] = 0.1, 0.0, 0.0, 1.0
    poses[5, :3, 3] = 1e200
    poses[6, :3, :3] *= 1.0 + 1e-8
    poses[7] = poses[7].astype(np.float32)
    counts = count_branches(arm, poses).counts
    assert np.array_equal(counts, searched(arm, poses))
    assert counts[:5].tolist() == [-1] * 5 and counts[5] == 0 and counts[6] > 0


@pytest.mark.parametrize('size', [0, 1, 7, 8, 9, 17])
def test_any_number_of_poses_is_counted(size: int) -> None:
    arm, poses = arm_of('irb6700'), poses_at('irb6700', postures('irb6700', 17))
    together = count_branches(arm, poses).counts
    assert np.array_equal(count_branches(arm, poses[:size]).counts, together[:size])


def test_threads_count_the_same() -> None:
    arm, poses = arm_of('ur5e'), random_poses('ur5e', 20_000)
    one, two = count_branches(arm, poses), count_branches(arm, poses, threads=2)
    assert np.array_equal(one.counts, two.counts) and one.searched == two.searched


def test_limits_and_tool_of_a_request_count() -> None:
    arm, poses = arm_of('ur5e'), random_poses('ur5e', 4000)
    tool = np.eye(4)
    tool[:3, 3] = 0.05, -0.02, 0.3
    lower, upper = np.full(6, -1.5), np.array([2.0, 1.0, 2.5, 3.5, 0.4, 9.0])
    request = BranchRequest(lower=lower, upper=upper, tool=tool)
    counted = count_branches(arm, poses, request)
    assert np.array_equal(counted.counts, searched(arm, poses, request))
    assert 0 < (counted.counts > 0).sum() < (count_branches(arm, poses).counts > 0).sum()


@pytest.mark.parametrize('name', ['panda', 'gen3'])
def test_other_arms_are_searched(name: str) -> None:
    arm, rng = arm_of(name), np.random.default_rng(2)
    q = rng.uniform(-1.0, 1.0, (5, 7))
    poses = poses_at(name, q)
    counted = count_branches(arm, poses)
    assert counted.searched == 5 and np.array_equal(counted.counts, searched(arm, poses))
