"""The least call for all branches answers as the general one does, to the byte, whatever it is handed."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros import SsikError
from ssik_ros.model.catalogue import arm_data
from ssik_ros.model.catalogue import list_arms

ALL = 4096
"""As a cap it changes nothing, but it is an argument, which the general call answers."""
FIRST_OF_CLASS = {arm_data(name).expected_class: name for name in reversed(list_arms())}
CLOSED = ('spherical_wrist_2_parallel_3', 'three_parallel')
"""Classes of six joints that no search and no elimination is needed for."""


@pytest.fixture(scope='module')
def arm():
    """Return an arm of six joints."""
    return Manipulator.from_prebuilt('ur5e')


def questions(arm, count):
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


@pytest.mark.parametrize('name', FIRST_OF_CLASS.values())
def test_the_least_call_and_the_general_one_have_the_same_bytes(name):
    arm = Manipulator.from_prebuilt(name)
    for pose, seed in zip(*questions(arm, 12), strict=True):
        for own in (seed, None):
            general = arm.solve_q(pose, own, max_solutions=ALL)
            assert identical(arm.solve_q(pose, own), general)
            solutions = arm.solve(pose, q_seed=own)
            expected = arm.solve(pose, q_seed=own, max_solutions=ALL)
            assert [s.q.tobytes() for s in solutions] == [s.q.tobytes() for s in expected]
            assert [s.fk_residual for s in solutions] == [s.fk_residual for s in expected]


@pytest.mark.parametrize('kind', FIRST_OF_CLASS)
def test_only_arms_that_are_neither_searched_nor_eliminated_are_asked_so(kind):
    is_plain = Manipulator.from_prebuilt(FIRST_OF_CLASS[kind])._default.is_plain
    assert is_plain or kind not in CLOSED
    assert not (is_plain and kind.startswith('general'))


def test_any_layout_and_any_numbers_give_the_same_bytes(arm):
    poses, seeds = questions(arm, 2)
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


def test_an_answer_belongs_to_the_caller(arm):
    poses, seeds = questions(arm, 3)
    first = arm.solve_q(poses[0], seeds[0])
    kept = first.copy()
    arm.solve_q(poses[1], seeds[1])
    assert identical(first, kept)
    first[:] = 0.0
    assert identical(arm.solve_q(poses[0], seeds[0]), kept)
    assert first.flags.owndata and first.flags.c_contiguous and first.flags.writeable


def test_a_pose_out_of_reach_has_an_answer_without_rows(arm):
    poses, seeds = questions(arm, 3)
    assert arm.solve_q(poses[-1], seeds[-1]).shape == (0, 6)
    assert arm.solve(poses[-1], q_seed=seeds[-1]) == []


def test_a_nearly_rigid_pose_is_made_exact(arm):
    poses, seeds = questions(arm, 2)
    bent = poses[0].copy()
    bent[:3, :3] *= 1.0 + 1e-6
    assert arm.solve_q(bent, seeds[0]) == pytest.approx(arm.solve_q(poses[0], seeds[0]), abs=1e-5)


@pytest.mark.parametrize('value', [np.nan, np.inf])
def test_a_seed_that_is_not_finite_is_refused_wherever_it_is_not(arm, value):
    poses, seeds = questions(arm, 2)
    for joint in range(arm.dof):
        seed = seeds[0].copy()
        seed[joint] = value
        with pytest.raises(SsikError, match='q_seed'):
            arm.solve_q(poses[0], seed)


def test_threads_get_what_each_would_get_alone(arm):
    poses, seeds = questions(arm, 40)
    expected = [arm.solve_q(*question) for question in zip(poses, seeds, strict=True)]

    def ask(start):
        order = np.roll(np.arange(len(poses)), start)
        return [(i, arm.solve_q(poses[i], seeds[i])) for _ in range(20) for i in order]

    with ThreadPoolExecutor(4) as pool:
        for answers in pool.map(ask, range(4)):
            assert all(identical(answer, expected[i]) for i, answer in answers)
