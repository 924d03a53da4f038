"""The smallest call for all branches has the same result as the general one, to the byte, for any arguments."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ssik_ros import Manipulator, SsikError, TolerancePolicy
from ssik_ros.model.catalogue import arm_data, list_arms
from ssik_ros.solvers.closed_form.branch_block import PlainBranches

OPTIONS = (
    {},
    {'respect_limits': False},
    {'respect_limits': 'wrap'},
    {'seed_metric': 'wrap_linf'},
    {'max_solutions': 3},
    {'max_solutions': 0},
    {'policy': TolerancePolicy(subproblem_postverify=1e-7), 'max_solutions': 2},
)
"""Arguments that one kernel call can handle, some of which were passed before."""
FIRST_OF_CLASS = {arm_data(name).expected_class: name for name in reversed(list_arms())}
CLOSED = ('spherical_wrist_2_parallel_3', 'three_parallel')
"""Classes of six joints that no search and no elimination is needed for."""


@pytest.fixture(scope='module')
def arm():
    """Return an arm of six joints."""
    return Manipulator.from_prebuilt('ur5e')


def requests(arm, count):
    """Return poses (count, 4, 4) that are reached, one that is not, and as many seeds."""
    rng = np.random.default_rng(3)
    limits = np.array([limit or (-3.0, 3.0) for limit in arm.joint_limits])
    postures, seeds = (rng.uniform(*limits.T, (count, arm.dof)) for _ in range(2))
    poses = np.array([arm.fk(q) for q in postures])
    poses[-1, :3, 3] *= 20.0
    return poses, seeds


def identical(a, b):
    """Return whether arrays have the same shape and bytes."""
    return a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.sampled
@pytest.mark.parametrize('name', FIRST_OF_CLASS.values())
def test_the_least_call_and_the_general_one_have_the_same_bytes(name):
    arm = Manipulator.from_prebuilt(name)
    for pose, seed in zip(*requests(arm, 6), strict=True):
        for q_seed in (seed, None):
            for options in OPTIONS:
                general, _ = arm.solve(pose, q_seed=q_seed, explain=True, **options)
                expected = [s.q.tobytes() for s in general]
                for _ in range(2):
                    rows = arm.solve_q(pose, q_seed, **options)
                    assert [q.tobytes() for q in rows] == expected
                solutions = arm.solve(pose, q_seed=q_seed, **options)
                assert [s.q.tobytes() for s in solutions] == expected
                assert [s.fk_residual for s in solutions] == [s.fk_residual for s in general]


def test_options_are_told_apart_by_their_types_too(arm):
    poses, _ = requests(arm, 2)
    assert len(arm.solve_q(poses[0], max_solutions=1)) == 1
    assert len(arm.solve_q(poses[0], max_solutions=1)) == 1
    for value in (True, 1.0):
        with pytest.raises(SsikError, match='max_solutions'):
            arm.solve_q(poses[0], max_solutions=value)
    assert len(arm.solve_q(poses[0], max_solutions=2)) == 2
    assert len(arm.solve_q(poses[0], max_solutions=1)) == 1
    with pytest.raises(SsikError, match='most_solutions'):
        arm.solve_q(poses[0], most_solutions=1)
    assert len(arm.solve_q(poses[0], max_solutions=1, respect_limits=False)) == 1


def test_options_that_need_more_give_the_same_results(arm):
    poses, seeds = requests(arm, 2)
    for options in (
        {'enumerate_windings': True},
        {'seed_tolerance': 2.0},
        {'hold': {0: float(arm.solve_q(poses[0])[0, 0])}},
        {'allow_refinement': True},
        {'target_tolerance': 1e-6},
    ):
        first = arm.solve_q(poses[0], seeds[0], **options)
        assert identical(arm.solve_q(poses[0], seeds[0], **options), first)
    every = arm.solve_q(poses[0], seeds[0], enumerate_windings=True)
    assert len(every) > len(arm.solve_q(poses[0], seeds[0]))


def test_wrong_requests_are_refused_after_right_ones_too(arm):
    poses, seeds = requests(arm, 2)
    arm.solve_q(poses[0], seeds[0], respect_limits=False)
    with pytest.raises(SsikError, match='T_target'):
        arm.solve_q(2.0 * poses[0], seeds[0], respect_limits=False)
    with pytest.raises(SsikError, match='q_seed'):
        arm.solve_q(poses[0], seeds[0] * np.nan, respect_limits=False)


@pytest.mark.parametrize('kind', FIRST_OF_CLASS)
def test_only_arms_that_are_neither_searched_nor_eliminated_are_asked_so(kind, monkeypatch):
    asked, find = [], PlainBranches.find

    def note(self, *given):
        asked.append(self)
        return find(self, *given)

    monkeypatch.setattr(PlainBranches, 'find', note)
    arm = Manipulator.from_prebuilt(FIRST_OF_CLASS[kind])
    arm.solve_q(*(row[0] for row in requests(arm, 1)))
    is_plain = bool(asked)
    assert is_plain or kind not in CLOSED
    assert not (is_plain and kind.startswith('general'))


def test_any_layout_and_any_numbers_give_the_same_bytes(arm):
    poses, seeds = requests(arm, 2)
    expected = arm.solve_q(poses[0], seeds[0])
    spread_pose, spread_seed = np.zeros((8, 12)), np.zeros(18)
    spread_pose[::2, ::3], spread_seed[::3] = poses[0], seeds[0]
    frozen_pose, frozen_seed = poses[0].copy(), seeds[0].copy()
    frozen_pose.setflags(write=False)
    frozen_seed.setflags(write=False)
    for pose in (
        np.asfortranarray(poses[0]),
        spread_pose[::2, ::3],
        frozen_pose,
        poses[0].tolist(),
        poses[0].astype('>f8'),
        poses[0].view(np.memmap),
    ):
        for seed in (spread_seed[::3], frozen_seed, seeds[0].tolist(), seeds[0].astype('>f8')):
            assert identical(arm.solve_q(pose, seed), expected)


def test_whole_numbers_are_read_as_numbers(arm):
    target = arm.fk(np.ones(arm.dof))
    for dtype in (np.int64, np.int32):
        seed = np.array([2, -1, 1, 0, -2, 3], dtype=dtype)
        assert identical(arm.solve_q(target, seed), arm.solve_q(target, seed.astype(float)))


def test_a_result_belongs_to_the_caller(arm):
    poses, seeds = requests(arm, 3)
    first = arm.solve_q(poses[0], seeds[0])
    kept = first.copy()
    arm.solve_q(poses[1], seeds[1])
    assert identical(first, kept)
    first[:] = 0.0
    assert identical(arm.solve_q(poses[0], seeds[0]), kept)
    assert first.flags.owndata and first.flags.c_contiguous and first.flags.writeable


def test_a_pose_out_of_reach_has_a_result_without_rows(arm):
    poses, seeds = requests(arm, 3)
    assert arm.solve_q(poses[-1], seeds[-1]).shape == (0, 6)
    assert arm.solve(poses[-1], q_seed=seeds[-1]) == []


def test_a_nearly_rigid_pose_is_made_exact(arm):
    poses, seeds = requests(arm, 2)
    bent = poses[0].copy()
    bent[:3, :3] *= 1.0 + 1e-6
    assert arm.solve_q(bent, seeds[0]) == pytest.approx(arm.solve_q(poses[0], seeds[0]), abs=1e-5)


@pytest.mark.parametrize('value', [np.nan, np.inf])
def test_a_seed_that_is_not_finite_is_refused_wherever_it_is_not(arm, value):
    poses, seeds = requests(arm, 2)
    for joint in range(arm.dof):
        seed = seeds[0].copy()
        seed[joint] = value
        with pytest.raises(SsikError, match='q_seed'):
            arm.solve_q(poses[0], seed)


def test_threads_get_what_each_would_get_alone(arm):
    poses, seeds = requests(arm, 40)
    expected = [arm.solve_q(*case) for case in zip(poses, seeds, strict=True)]

    def ask(start):
        order = np.roll(np.arange(len(poses)), start)
        return [(i, arm.solve_q(poses[i], seeds[i])) for _ in range(20) for i in order]

    with ThreadPoolExecutor(4) as pool:
        for results in pool.map(ask, range(4)):
            assert all(identical(result, expected[i]) for i, result in results)
