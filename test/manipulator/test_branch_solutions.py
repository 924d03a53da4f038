"""Solutions of a closed form: completeness of orders, limits, holds, arm angles, batches; all against brute force."""

import hashlib
import itertools
import math
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

from ssik_ros import Cause, IkStatus, Manipulator, TolerancePolicy
from ssik_ros.model.catalogue import arm_data, list_arms

ROBOTS = Path(__file__).resolve().parents[2] / 'config' / 'robots'
SHIPPED = {
    'ur5e': ('base_link', 'tool0'),
    'fanuc': ('base_link', 'tool0'),
    'panda': ('panda_link0', 'panda_link8'),
    'gen3': ('base_link', 'end_effector_link'),
}
FIRST_OF_CLASS = {arm_data(name).expected_class: name for name in reversed(list_arms())}
TURN = 2.0 * math.pi


def wrap(angles):
    """Return angles in [-pi, pi)."""
    return np.mod(np.asarray(angles) + math.pi, TURN) - math.pi


def bounds(arm):
    """Return lower and upper limits, infinite for none."""
    return np.array([limit or (-math.inf, math.inf) for limit in arm.joint_limits]).T


def postures(arm, count, seed=1):
    """Return random postures (count, dof) within limits."""
    lower, upper = bounds(arm)
    lower, upper = np.where(np.isinf(lower), -3.0, lower), np.where(np.isinf(upper), 3.0, upper)
    return np.random.default_rng(seed).uniform(lower, upper, (count, arm.dof))


@pytest.fixture(scope='module', params=SHIPPED)
def shipped(request):
    """Return a shipped arm from its URDF."""
    base, ee = SHIPPED[request.param]
    path = ROBOTS / f'{request.param}_moveit_config' / 'config' / f'{request.param}.urdf'
    return Manipulator.from_urdf(path, base=base, ee=ee)


@pytest.fixture(scope='module')
def ur5e():
    """Return an arm whose joints have two turns each, but for the elbow."""
    return Manipulator.from_prebuilt('ur5e')


@pytest.fixture(scope='module')
def iiwa():
    """Return an arm with two spherical joints."""
    return Manipulator.from_prebuilt('iiwa14')


@pytest.mark.parametrize('name', FIRST_OF_CLASS.values())
def test_an_arm_of_every_class_finds_the_posture_again_within_limits(name):
    arm = Manipulator.from_prebuilt(name)
    lower, upper = bounds(arm)
    for q in postures(arm, 5):
        target = arm.fk(q)
        solutions = arm.solve(target, q_seed=q)
        assert solutions[0].q == pytest.approx(q, abs=1e-6)
        for solution in solutions:
            assert (solution.q >= lower).all() and (solution.q <= upper).all()
            residual = np.linalg.norm(arm.fk(solution.q) - target)
            assert residual == pytest.approx(solution.fk_residual, abs=1e-12)
            assert residual < (1e-9 if arm.dispatch_plan.is_analytic else 2e-3)


def test_shipped_arms_find_the_posture_again(shipped):
    for q in postures(shipped, 20):
        target = shipped.fk(q)
        assert shipped.solve(target, q_seed=q)[0].q == pytest.approx(q, abs=1e-6)
        assert len(shipped.solve(target)) > 0
        assert shipped.solve_q(target, q).tobytes() == b''.join(
            s.q.tobytes() for s in shipped.solve(target, q_seed=q)
        )


@pytest.mark.parametrize('metric', ['wrap_l2', 'wrap_linf'])
def test_the_order_is_that_of_brute_force(shipped, metric):
    lower, upper = bounds(shipped)
    endless = np.isinf(lower) & np.isinf(upper)
    for q, seed in zip(postures(shipped, 10), postures(shipped, 10, seed=2), strict=True):
        rows = shipped.solve_q(shipped.fk(q), seed, seed_metric=metric)
        differences = np.where(endless, wrap(rows - seed), rows - seed)
        size = (
            np.linalg.norm(differences, axis=1)
            if metric == 'wrap_l2'
            else np.abs(differences).max(axis=1)
        )
        assert (np.diff(size) >= -1e-12).all()
        for joint in range(shipped.dof):
            for k in (-1, 1):
                moved = rows[:, joint] + k * TURN
                inside = (moved >= lower[joint]) & (moved <= upper[joint])
                nearer = np.abs(moved - seed[joint]) < np.abs(rows[:, joint] - seed[joint]) - 1e-9
                assert not (inside & nearer & ~endless[joint]).any()


@pytest.mark.parametrize('count', [0, 1, 3, 1000])
def test_a_cap_keeps_the_first(shipped, count):
    q, seed = postures(shipped, 2)
    everything = shipped.solve_q(shipped.fk(q), seed)
    capped, diagnostic = shipped.solve(
        shipped.fk(q), q_seed=seed, max_solutions=count, explain=True
    )
    assert [s.q.tobytes() for s in capped] == [row.tobytes() for row in everything[:count]]
    assert diagnostic.dropped_by_max_solutions == max(0, len(everything) - count)
    kept = diagnostic.raw_candidates - diagnostic.dropped_by_limits
    assert kept - diagnostic.dropped_by_max_solutions == diagnostic.final_count


def test_without_limits_there_is_every_branch_once(shipped):
    for q in postures(shipped, 5):
        target = shipped.fk(q)
        free = shipped.solve_q(target, respect_limits=False)
        assert (np.abs(free) <= math.pi + 1e-12).all()
        if shipped.dof == 6:
            gaps = [np.abs(wrap(a - b)).max() for a, b in itertools.combinations(free, 2)]
            assert min(gaps, default=1.0) > 1e-3
            for row in shipped.solve_q(target):
                assert np.abs(wrap(free - row)).max(axis=1).min() < 1e-9


def test_wrapping_drops_nothing_and_moves_into_limits_what_it_can():
    arm = Manipulator.from_prebuilt('irb120')
    lower, upper = bounds(arm)
    for q in postures(arm, 10):
        target = arm.fk(q)
        free = arm.solve_q(target, respect_limits=False)
        wrapped = arm.solve_q(target, respect_limits='wrap')
        assert len(wrapped) == len(free)
        inside = ((wrapped >= lower) & (wrapped <= upper)).all(axis=1)
        assert inside.sum() == len(arm.solve_q(target))


def test_seed_tolerance_is_a_bound_on_every_joint(shipped):
    q = postures(shipped, 1)[0]
    target, everything = shipped.fk(q), shipped.solve_q(shipped.fk(q), q)
    near = shipped.solve_q(target, q, seed_tolerance=0.3)
    assert len(near) and (np.abs(wrap(near - q)) <= 0.3).all()
    if shipped.dof == 6:
        expected = everything[(np.abs(wrap(everything - q)) <= 0.3).all(axis=1)]
        assert near.tobytes() == expected.tobytes()
    far = wrap(q + 1.5)
    solutions, diagnostic = shipped.solve(
        target, q_seed=far, seed_tolerance=1e-3, respect_limits=False, explain=True
    )
    assert solutions == [] and diagnostic.cause == Cause.CONSISTENCY
    assert diagnostic.dropped_by_seed_tolerance == diagnostic.raw_candidates
    assert diagnostic.summary().startswith('All filtered')


def test_a_held_joint_has_exactly_its_value(shipped):
    name = shipped.joint_names[2]
    for q in postures(shipped, 5):
        value = float(q[2])
        by_name = shipped.solve_q(shipped.fk(q), q, hold={name: value})
        by_index = shipped.solve_q(shipped.fk(q), q, hold={2: value})
        assert by_name.tobytes() == by_index.tobytes() and len(by_name) > 0
        assert (by_name[:, 2] == value).all()
        assert by_name[0] == pytest.approx(q, abs=1e-6)


def test_several_held_joints_hold(iiwa):
    for q in postures(iiwa, 5):
        rows = iiwa.solve_q(iiwa.fk(q), q, hold={0: float(q[0]), 6: float(q[6])})
        assert len(rows) and (rows[:, 0] == q[0]).all() and (rows[:, 6] == q[6]).all()


def test_a_held_value_that_does_not_fit_says_so(ur5e):
    q = postures(ur5e, 1)[0]
    solutions, diagnostic = ur5e.solve(ur5e.fk(q), hold={2: 0.123}, explain=True)
    assert solutions == [] and diagnostic.cause == Cause.CONSTRAINTS
    assert diagnostic.dropped_by_hold == diagnostic.raw_candidates


def test_an_arm_angle_is_kept(iiwa):
    for q in postures(iiwa, 20):
        target = iiwa.fk(q)
        angle = elbow_angle(iiwa, q)
        rows = iiwa.solve_q(target, q, arm_angle=angle)
        assert rows[0] == pytest.approx(q, abs=1e-6)
        for row in rows:
            assert abs(wrap(elbow_angle(iiwa, row) - angle)) < 1e-6
        assert len(iiwa.solve_q(target, arm_angle=angle, respect_limits=False)) == 8


def elbow_angle(arm, q):
    """Return the arm angle by the lines of the axes at a posture."""
    pose, lines = np.eye(4), []
    for joint, value in zip(arm.kinbody.joints, q, strict=True):
        lines.append(((pose @ [*joint.point, 1.0])[:3], pose[:3, :3] @ joint.axis))
        pose = pose @ joint.motion(value)
    shoulder, wrist = meeting(lines[:3]), meeting(lines[4:])
    point, axis = lines[3]
    offset = point + axis * (axis @ (shoulder - point)) - shoulder
    line = (wrist - shoulder) / np.linalg.norm(wrist - shoulder)
    across = np.cross(line, arm.kinbody.joints[0].axis)
    return math.atan2(offset @ across, offset @ np.cross(across, line))


def meeting(lines):
    """Return the point nearest to lines."""
    across = [np.eye(3) - np.outer(axis, axis) for _, axis in lines]
    right = sum(a @ point for a, (point, _) in zip(across, lines, strict=True))
    return np.linalg.solve(sum(across), right)


def test_more_samples_give_more_postures_and_reach_narrow_ranges(iiwa):
    target = iiwa.fk(postures(iiwa, 1)[0])
    counts = [len(iiwa.solve(target, redundancy_samples=n)) for n in (4, 16, 64)]
    assert counts[0] < counts[1] < counts[2]


def test_reachable_poses_of_seven_joints_are_never_missed(iiwa):
    targets = np.array([iiwa.fk(q) for q in postures(iiwa, 200, seed=5)])
    assert iiwa.solve_batch(targets).solved.all()
    assert iiwa.solve_batch(targets, redundancy_samples=4).solved.all()


def test_the_rescue_finds_what_a_strict_tolerance_lost():
    arm = Manipulator.from_prebuilt('ur5e')
    target = arm.fk([0.4, -1.0, 0.9, -0.7, 1.2, 0.3])
    target[:3, 3] += 2e-16
    solutions, diagnostic = arm.solve(target, allow_refinement=True, explain=True)
    assert diagnostic.refinement_engaged == 0 and solutions[0].refinement_used == 'none'
    stretched = arm.fk(np.array([0.3, -1.1, 0.0, -0.8, 1.1, 0.5]))
    stretched[:3, 3] *= 1.0 + 1e-5
    assert arm.solve(stretched) == []
    policy = TolerancePolicy(subproblem_postverify=1e-5, subproblem_numerical=1e-4)
    far = arm.fk(np.array([0.3, -1.1, 0.0, -0.8, 1.1, 0.5]))
    far[:3, 3] *= 50.0
    solutions, diagnostic = arm.solve(far, allow_refinement=True, explain=True, policy=policy)
    assert solutions == [] and diagnostic.cause == Cause.UNREACHABLE


def test_the_rescue_is_marked_and_measured(ur5e):
    q = np.array([0.3, -1.1, 1e-6, -0.8, 1.1, 0.5])
    target = ur5e.fk(q)
    target[:3, 3] *= 1.0 + 2e-7
    policy = TolerancePolicy(subproblem_postverify=1e-6)
    assert ur5e.solve(target) == []
    solutions, diagnostic = ur5e.solve(
        target, policy=policy, allow_refinement=True, explain=True, refinement_max_iters=50
    )
    for solution in solutions:
        assert solution.fk_residual <= 1e-6
        if diagnostic.refinement_engaged:
            assert solution.refinement_used == 'lm'


@pytest.mark.parametrize('threads', [1, 2, 5])
@pytest.mark.parametrize('seeds', ['none', 'one', 'each'])
def test_a_batch_gives_the_results_of_single_calls(shipped, threads, seeds):
    rows = postures(shipped, 60)
    targets = np.array([shipped.fk(q) for q in rows])
    targets[7, :3, 3] *= 50.0
    targets[11, 0, 0] = np.nan
    targets[13, :3, :3] *= 1.0 + 4e-6
    given = {'none': None, 'one': rows[3], 'each': postures(shipped, 60, seed=9)}[seeds]
    batch = shipped.solve_batch(targets, given, threads=threads)
    assert batch.status[7] == IkStatus.UNSOLVED and batch.status[11] == IkStatus.REFUSED
    assert batch.status[13] == IkStatus.SOLVED and len(batch[11]) == 0
    for i, target in enumerate(targets):
        if i != 11:
            seed = given[i] if seeds == 'each' else given
            assert batch[i].tobytes() == shipped.solve_q(target, seed).tobytes()


@pytest.mark.parametrize('name', ['ur5e', 'irb6700', 'panda'])
def test_a_batch_of_many_chunks_is_in_the_order_of_its_poses(name):
    arm = Manipulator.from_prebuilt(name)
    rows = postures(arm, 700)
    targets = np.array([arm.fk(q) for q in rows])
    batch = arm.solve_batch(targets, rows, threads=3)
    alone = arm.solve_batch(targets, rows, threads=1)
    assert batch.q.tobytes() == alone.q.tobytes()
    assert batch.fk_residuals.tobytes() == alone.fk_residuals.tobytes()
    assert (batch.offsets == alone.offsets).all()
    assert np.abs(batch.best() - rows).max() < 1e-6
    for i in range(0, 700, 23):
        assert batch[i].tobytes() == arm.solve_q(targets[i], rows[i]).tobytes()


@pytest.mark.parametrize('name', ['gofa', 'sawyer', 'xarm5', 'hsr065'])
def test_a_batch_of_any_solver_gives_the_results_of_single_calls(name):
    arm = Manipulator.from_prebuilt(name)
    rows = postures(arm, 8)
    targets = np.array([arm.fk(q) for q in rows])
    batch = arm.solve_batch(targets, rows, threads=2)
    for i, target in enumerate(targets):
        assert batch[i].tobytes() == arm.solve_q(target, rows[i]).tobytes()


@pytest.mark.parametrize(
    'options',
    [
        {'max_solutions': 2},
        {'respect_limits': False},
        {'respect_limits': 'wrap'},
        {'seed_metric': 'wrap_linf'},
        {'seed_tolerance': 1.0},
        {'enumerate_windings': True, 'max_solutions': 20},
    ],
)
def test_a_batch_honours_every_option(shipped, options):
    rows = postures(shipped, 6)
    targets = np.array([shipped.fk(q) for q in rows])
    batch = shipped.solve_batch(targets, rows[0], **options)
    for i, target in enumerate(targets):
        assert batch[i].tobytes() == shipped.solve_q(target, rows[0], **options).tobytes()


@pytest.mark.parametrize(
    'poses', [[], (), *map(np.empty, [0, (0, 4, 4), (0, 6), (0, 7)])], ids=np.shape
)
def test_an_empty_batch_has_an_empty_result(ur5e, poses):
    batch = ur5e.solve_batch(poses)
    assert len(batch) == 0 and batch.q.shape == (0, 6) and list(batch) == []


def test_what_a_batch_offers(ur5e):
    rows = postures(ur5e, 3)
    targets = np.array([ur5e.fk(q) for q in rows])
    targets[1, :3, 3] *= 50.0
    batch = ur5e.solve_batch(targets, rows)
    assert batch.solved.tolist() == [True, False, True] and batch.counts[1] == 0
    best = batch.best()
    assert np.isnan(best[1]).all() and best[2].tobytes() == batch[2][0].tobytes()
    assert batch[-1].tobytes() == batch[2].tobytes()
    with pytest.raises(IndexError):
        batch[3]
    residuals = [
        np.linalg.norm(ur5e.fk(q) - target)
        for rows, target in zip(batch, targets, strict=True)
        for q in rows
    ]
    assert batch.fk_residuals == pytest.approx(residuals, abs=1e-12)
    with pytest.raises(ValueError, match='read-only'):
        batch.q[0, 0] = 0.0


def digest():
    """Return a hash over the solutions of many requests."""
    total = hashlib.sha256()
    for name in ('ur5e', 'panda'):
        arm = Manipulator.from_prebuilt(name)
        rows = postures(arm, 20)
        for q, seed in zip(rows, postures(arm, 20, seed=4), strict=True):
            for options in ({}, {'enumerate_windings': True}, {'seed_tolerance': 2.0}):
                total.update(arm.solve_q(arm.fk(q), seed, **options).tobytes())
    return total.hexdigest()


def test_another_process_gives_the_same_bytes():
    code = f'from {__name__} import digest; print(digest())'
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == digest() == digest()


def test_names_of_branches_differ_and_stay(shipped):
    q = postures(shipped, 1)[0]
    rows = shipped.solve_q(shipped.fk(q), q)
    names = shipped.branch_names(rows)
    assert len(set(names)) == len(rows) == len(names)
    assert shipped.branch_names(rows[::-1]) == names[::-1]
    with pytest.raises(ValueError, match='branch_names'):
        shipped.branch_names(q)


@pytest.mark.parametrize('far', [1e5, 1e8, 1e150])
def test_a_seed_however_far_away_leaves_no_branch_out(shipped, far):
    q = postures(shipped, 1)[0]
    pose = shipped.fk(q)
    middle = shipped.solve_q(pose, np.zeros(shipped.dof), redundancy_samples=16)
    seed = np.where(np.arange(shipped.dof) % 2, -far, far)
    outermost = shipped.solve_q(pose, seed, redundancy_samples=16)
    if shipped.dof == 6:
        assert len(outermost) == len(middle) > 0
    assert len(outermost) > 0
    for posture in outermost:
        np.testing.assert_allclose(shipped.fk(posture), pose, atol=1e-6)
