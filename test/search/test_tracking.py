"""The tracking call: OK, LIMITED or HELD, within the motion of one cycle."""

import tracemalloc

from newton_arms import draw, load, within
import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from ssik_ros import Manipulator, TrackStatus
from ssik_ros.errors import DimensionMismatch, RequestError, SsikError
from ssik_ros.results import Cause


def test_a_slow_target_is_followed_exactly():
    arm, oracle = load('panda')
    a, b = draw(arm, 2, 60)
    tracker = arm.tracker(a, max_joint_step=0.1)
    for t in np.linspace(0.0, 0.2, 100):
        target = oracle.pose(a + t * (b - a))
        before = tracker.q.copy()
        assert tracker.track(target) == TrackStatus.OK
        assert tracker.cause == Cause.NONE
        assert max(oracle.errors(tracker.q, target)) < 1.001e-6
        assert (tracker.position_error, tracker.rotation_error) == pytest.approx(
            oracle.errors(tracker.q, target), abs=1e-9
        )
        assert np.abs(tracker.q - before).max() <= 0.1 + 1e-12
        assert within(arm, tracker.q)


def test_a_far_target_is_approached_at_the_speed_that_is_allowed():
    arm, oracle = load('ur5e')
    q = draw(arm, 1, 61)[0]
    wish = q + np.array([0.5, 0.2, -0.3, 0.4, 0.1, -0.2])
    limits = np.array([1.0, 1.0, 2.0, 3.0, 3.0, 3.0])
    tracker = arm.tracker(q, dt=0.01, velocity_limits=limits)
    target, statuses = oracle.pose(wish), []
    for _ in range(400):
        before, error = tracker.q.copy(), np.linalg.norm(oracle.errors(tracker.q, target))
        statuses.append(tracker.track(target))
        assert (np.abs(tracker.q - before) <= 0.01 * limits + 1e-12).all()
        assert np.linalg.norm(oracle.errors(tracker.q, target)) <= error + 1e-12
        if statuses[-1] == TrackStatus.LIMITED:
            assert tracker.cause == Cause.CONSISTENCY
        if statuses[-1] == TrackStatus.OK:
            break
    assert statuses[0] == TrackStatus.LIMITED
    assert statuses[-1] == TrackStatus.OK


def moved(pose, twist):
    """Return a pose after a small motion (linear, angular) in base axes."""
    result = pose.copy()
    result[:3, :3] = Rotation.from_rotvec(twist[3:]).as_matrix() @ pose[:3, :3]
    result[:3, 3] += twist[:3]
    return result


def singular_postures(arm, rng, count):
    """Yield postures with joints at exact angles or close to them, and on limits."""
    lower = np.where(np.isfinite(arm.group.lower), arm.group.lower, -3.1)
    upper = np.where(np.isfinite(arm.group.upper), arm.group.upper, 3.1)
    for _ in range(count):
        q = rng.uniform(lower, upper)
        exact = rng.permutation(len(q))[: rng.integers(1, 4)]
        q[exact] = rng.choice([0.0, 0.5 * np.pi, -0.5 * np.pi, 1e-4, -1e-4], len(exact))
        at_end = rng.permutation(len(q))[: rng.integers(0, 3)]
        q[at_end] = np.where(rng.random(len(at_end)) < 0.5, lower[at_end], upper[at_end])
        yield np.clip(q, lower, upper)


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'gen3_6dof', 'irb120', 'xarm5', 'stanford'])
def test_a_cycle_gets_as_near_as_one_step_within_bounds_gets(name):
    """Where a motion is lost or limits stop joints, the others move as well as they can: no halt, no jump."""
    arm = Manipulator.from_prebuilt(name)
    rng, step = np.random.default_rng(64), 0.02
    tracker = arm.tracker(arm.neutral, max_joint_step=step)
    short = 0
    for q in singular_postures(arm, rng, 150):
        twist = 0.01 * rng.standard_normal(6) * [0.1, 0.1, 0.1, 0.5, 0.5, 0.5]
        tracker.reset(q)
        tracker.track(moved(arm.fk(q), twist))
        assert (np.abs(tracker.q - q) <= step + 1e-12).all()
        assert (arm.group.lower <= tracker.q).all() and (tracker.q <= arm.group.upper).all()
        room = np.maximum(arm.group.lower - q, -step), np.minimum(arm.group.upper - q, step)
        best = lsq_linear(arm.jacobian(q), twist, np.add(room, [[-1e-12], [1e-12]]), method='bvls')
        before, least = np.linalg.norm(twist), np.sqrt(2.0 * best.cost)
        left = np.hypot(tracker.position_error, tracker.rotation_error)
        # The step is one of a linear model; the motion of a cycle bends by its square.
        assert left <= least + 0.02 * before + step**2
        short += least > 0.1 * before
    assert short > 20


def test_a_target_beyond_a_limit_is_approached_up_to_the_limit():
    arm, oracle = load('ur5e')
    q = np.array([0.0, -1.0, 1.2, 0.3, 0.8, 6.2])
    tracker = arm.tracker(q, max_joint_step=0.01)
    outside = q.copy()
    outside[5] = arm.group.upper[5] + 0.3
    target = oracle.pose(outside)
    for _ in range(100):
        status = tracker.track(target)
        assert within(arm, tracker.q)
    assert status in (TrackStatus.LIMITED, TrackStatus.HELD)
    assert tracker.q[5] == arm.group.upper[5]
    assert tracker.cause == Cause.LIMITS


def test_targets_that_are_none_or_out_of_reach_hold_the_arm():
    arm, oracle = load('panda')
    q = draw(arm, 1, 62)[0]
    tracker = arm.tracker(q, max_joint_step=0.1)
    target = oracle.pose(q)
    for spoil, cause in ((np.nan, Cause.BAD_TARGET), (50.0, Cause.UNREACHABLE)):
        bad = target.copy()
        bad[0, 3] = spoil
        assert (tracker.track(bad), tracker.cause) == (TrackStatus.HELD, cause)
        assert tracker.q.tobytes() == q.tobytes()
    assert tracker.track(target) == TrackStatus.OK
    assert tracker.q.tobytes() == q.tobytes()


def test_a_tracker_can_be_put_elsewhere_but_not_outside():
    arm, _ = load('panda')
    a, b = draw(arm, 2, 63)
    tracker = arm.tracker(a)
    tracker.reset(b)
    assert tracker.q.tobytes() == b.tobytes()
    for bad in (np.full(7, np.nan), np.full(7, 9.0)):
        with pytest.raises(RequestError):
            tracker.reset(bad)
    with pytest.raises(DimensionMismatch):
        tracker.reset(np.zeros(6))
    with pytest.raises(DimensionMismatch):
        tracker.track(np.eye(3))
    with pytest.raises(ValueError, match='read-only'):
        tracker.q[0] = 0.0


@pytest.mark.parametrize(
    'options',
    [
        {'velocity_limits': 1.0},
        {'velocity_limits': -1.0, 'dt': 0.01},
        {'max_joint_step': 0.0},
        {'max_joint_step': np.ones(6)},
        {'dtt': 0.1},
    ],
    ids=str,
)
def test_wrong_bounds_are_errors(options):
    arm, _ = load('panda')
    with pytest.raises(SsikError):
        arm.tracker(draw(arm, 1, 64)[0], **options)


def test_a_call_keeps_no_memory_and_makes_no_array():
    arm, oracle = load('panda')
    q = draw(arm, 1, 65)[0]
    tracker = arm.tracker(q, max_joint_step=0.1)
    targets = [oracle.pose(np.clip(q + d, arm.group.lower, arm.group.upper)) for d in (0.0, 0.01)]
    asked = targets * 100
    for target in asked:
        tracker.track(target)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    for target in asked:
        tracker.track(target)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The first call that is watched keeps some 600 bytes, once; one number a call would be 6400.
    assert after - before < 2000
    assert peak - before < 3000


def test_a_path_of_the_tracker_does_not_depend_on_another_one():
    arm, oracle = load('gen3')
    a, b = draw(arm, 2, 66)
    target = oracle.pose(b)

    def run():
        tracker = arm.tracker(a, max_joint_step=0.05)
        return [tracker.track(target) for _ in range(30)], tracker.q.tobytes()

    assert run() == run()
