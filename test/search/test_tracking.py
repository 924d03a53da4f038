"""The tracking call: OK, LIMITED or HELD, within the motion of one cycle."""

import tracemalloc

from test.search.newton_arms import draw, load, within

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from ssik_ros import Manipulator, StoppedBy, TrackStatus
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


def test_an_arm_at_the_end_of_its_reach_moves_its_joints_calmly():
    """Commands of MoveIt Servo: each target is next to the posture. Out until the elbow is straight, then to the side."""
    arm, dt = Manipulator.from_prebuilt('panda'), 0.01
    q = np.array([0.0, 0.5, 0.0, -1.3, 0.0, 1.6, 0.785])
    outward = arm.fk(q)[:3, 3]
    outward /= np.linalg.norm(outward)
    tracker = arm.tracker(q, dt=dt, velocity_limits=2.0)
    for direction, least in ((outward, 0.05), (np.array([0.0, 1.0, 0.0]), 0.13)):
        start, steps = arm.fk(tracker.q)[:3, 3].copy(), []
        for _ in range(150):
            target, before = arm.fk(tracker.q), tracker.q.copy()
            target[:3, 3] += 0.001 * direction
            tracker.track(target)
            steps.append((tracker.q - before) / (2.0 * dt))
        # Before, joint 3 went from one end of its box to the other one in almost every cycle.
        turns = np.minimum(-np.multiply(steps[1:], steps[:-1]), 1.0)
        assert turns.max() < 0.01
        assert (arm.fk(tracker.q)[:3, 3] - start) @ direction > least
    assert tracker.q[3] == pytest.approx(-0.467, abs=2e-3)


def limits_or_turns(arm):
    """Return limits (n,), half a turn each way for joints that have none."""
    lower, upper = arm.group.lower, arm.group.upper
    return np.where(np.isfinite(lower), lower, -3.1), np.where(np.isfinite(upper), upper, 3.1)


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'gen3', 'xarm5', 'hsr065', 'stanford'])
def test_joints_accelerate_and_brake_within_their_limits_and_end_at_rest(name):
    """Every motion ends exactly at its target without passing it to and fro, however hard the joints have to brake."""
    arm = Manipulator.from_prebuilt(name)
    rng, dt = np.random.default_rng(65), 0.002
    lower, upper = limits_or_turns(arm)
    n = len(lower)
    for _ in range(8):
        velocity, acceleration = rng.uniform(0.5, 3.0, n), rng.uniform(2.0, 20.0, n)
        q = rng.uniform(lower, upper)
        goal = np.clip(q + rng.uniform(-0.5, 0.5, n), lower, upper)
        limits = {'velocity_limits': velocity, 'acceleration_limits': acceleration}
        tracker = arm.tracker(q, dt=dt, **limits)
        target, before, speed = arm.fk(goal), q, np.zeros(n)
        for _ in range(3000):
            status = tracker.track(target)
            q, last = tracker.q.copy(), speed
            speed = (q - before) / dt
            before = q
            assert (np.abs(speed) <= velocity + 1e-9).all()
            assert (np.abs(speed - last) <= dt * acceleration + 1e-9).all()
            assert np.allclose(tracker.velocity, speed, atol=1e-9)
            assert (arm.group.lower <= q).all() and (q <= arm.group.upper).all()
            if status == TrackStatus.OK and not speed.any():
                break
        if status == TrackStatus.OK:
            assert tracker.scale == 1.0
            assert max(tracker.position_error, tracker.rotation_error) < 1.001e-6
        else:
            # A joint on its limit keeps the arm on another branch than the goal's.
            assert StoppedBy.LIMIT in tracker.stopped_by
        assert np.abs(speed).max() < 1e-3


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'gen3_6dof', 'xarm5', 'hsr065'])
def test_no_motion_leaves_its_limits_whatever_the_targets_do(name):
    """Targets jump and turn, also out of reach and to none: no limit of position, velocity or acceleration is broken."""
    arm = Manipulator.from_prebuilt(name)
    rng, dt, most = np.random.default_rng(66), 0.01, 3.0
    n = len(arm.neutral)
    acceleration = np.full(n, 8.0)
    for q in singular_postures(arm, rng, 20):
        tracker = arm.tracker(q, dt=dt, velocity_limits=most, acceleration_limits=acceleration)
        before, speed, pose = q, np.zeros(n), arm.fk(q)
        twist = rng.standard_normal(6) * [0.5, 0.5, 0.5, 1.0, 1.0, 1.0]
        for cycle in range(120):
            if cycle % 30 == 29:
                twist = rng.standard_normal(6) * [2.0, 2.0, 2.0, 4.0, 4.0, 4.0]
            pose = moved(pose, dt * twist)
            target = pose.copy()
            target[0, 3] = {50: np.nan, 80: 50.0}.get(cycle, target[0, 3])
            tracker.track(target)
            q, last = tracker.q.copy(), speed
            speed = (q - before) / dt
            before = q
            assert (np.abs(speed) <= most + 1e-9).all()
            assert (np.abs(speed - last) <= dt * acceleration + 1e-9).all()
            assert (arm.group.lower <= q).all() and (q <= arm.group.upper).all()


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'gen3_6dof', 'xarm5', 'stanford'])
def test_a_step_within_accelerations_is_the_nearest_one(name):
    """A joint that moves cannot stop at once; the others move so that the tip is as near as scipy's optimum."""
    arm = Manipulator.from_prebuilt(name)
    rng, dt, most, change = np.random.default_rng(67), 0.01, 2.0, 10.0
    tracker = arm.tracker(arm.neutral, dt=dt, velocity_limits=most, acceleration_limits=change)
    lower, upper = limits_or_turns(arm)
    late = 0
    for _ in range(100):
        # Far from limits, and with targets so near that no joint has to brake for them.
        q = rng.uniform(lower + 0.25 * (upper - lower), upper - 0.25 * (upper - lower))
        speed = rng.uniform(-0.3, 0.3, len(q))
        joint_step = rng.uniform(-1.0, 1.0, len(q)) * dt**2 * change / np.sqrt(len(q))
        tracker.reset(q, speed)
        tracker.track(arm.fk(q + joint_step))
        low = dt * np.maximum(speed - dt * change, -most)
        high = dt * np.minimum(speed + dt * change, most)
        motion = tracker.q - q
        assert (low - 1e-12 <= motion).all() and (motion <= high + 1e-12).all()
        jacobian = arm.jacobian(q)
        twist = jacobian @ joint_step
        least = np.sqrt(2.0 * lsq_linear(jacobian, twist, (low, high), method='bvls').cost)
        left = np.linalg.norm(jacobian @ motion - twist)
        assert left <= least + 2e-5
        late += least > 1e-3
    assert late > 50


def test_a_target_that_moves_is_followed_without_a_lag():
    """Told of the target's motion, the arm gets to it and stays with it; without, it lags by its braking way."""
    arm, _ = load('panda')
    q = 0.5 * (arm.group.lower + arm.group.upper) + 0.2
    limits = {'velocity_limits': 1.0, 'acceleration_limits': 5.0}
    errors = []
    for is_told in (True, False):
        tracker = arm.tracker(q, dt=0.002, **limits)
        pose, lags = arm.fk(q), []
        for _ in range(400):
            before = pose.copy()
            pose[2, 3] -= 0.1 * 0.002
            tracker.track(pose, before if is_told else None)
            lags.append(tracker.position_error)
        errors.append(lags)
    assert max(errors[0][200:]) < 1e-6
    assert min(errors[1][200:]) > 1e-4
    # The lag while it accelerates is 2.6 mm; once it has got to the target, it does not swing around it.
    there = errors[0][int(np.argmax(errors[0])) :]
    arrived = next(k for k, error in enumerate(there) if error < 1e-4)
    assert max(there[arrived:]) < 2e-4


@pytest.mark.parametrize('name', ['panda', 'gen3'])
def test_a_posture_is_approached_while_the_tip_stays(name):
    """Seven joints go to the posture as far as the pose permits, within accelerations, and come to rest."""
    arm = Manipulator.from_prebuilt(name)
    rng, dt = np.random.default_rng(71), 0.002
    lower, upper = limits_or_turns(arm)
    q = rng.uniform(lower + 0.3 * (upper - lower), upper - 0.3 * (upper - lower))
    posture = q + rng.uniform(-0.4, 0.4, 7)
    limits = {'velocity_limits': 1.0, 'acceleration_limits': 5.0}
    tracker = arm.tracker(q, dt=dt, **limits, kp=1.0, posture=tuple(posture))
    target, speed, distances = arm.fk(q), np.zeros(7), []
    for _ in range(3000):
        before, last = tracker.q.copy(), speed
        assert tracker.track(target) == TrackStatus.OK
        speed = (tracker.q - before) / dt
        assert (np.abs(speed) <= 1.0 + 1e-9).all()
        assert (np.abs(speed - last) <= dt * 5.0 + 1e-9).all()
        distances.append(np.linalg.norm(tracker.q - posture))
    assert np.abs(speed).max() < 1e-6
    assert distances[-1] < np.linalg.norm(q - posture) - 1e-3
    # At the end the way to the posture has no part along the null space.
    null = np.linalg.svd(arm.jacobian(tracker.q))[2][-1]
    assert abs(null @ (posture - tracker.q)) < 1e-4


def test_the_condition_number_is_that_of_the_jacobian():
    arm, _ = load('gen3')
    q = draw(arm, 1, 68)[0]
    tracker = arm.tracker(q, max_joint_step=0.1)
    tracker.track(arm.fk(q + 0.01))
    singular_values = np.linalg.svd(arm.jacobian(tracker.q))[1]
    assert tracker.condition == pytest.approx(singular_values[0] / singular_values[-1], rel=1e-9)
    straight = np.zeros(7)
    tracker.reset(straight)
    tracker.track(arm.fk(straight))
    assert tracker.condition > 1e12


def test_a_cycle_names_what_stops_each_joint():
    arm, _ = load('ur5e')
    q = np.array([0.0, -1.0, 1.2, 0.3, 0.8, arm.group.upper[5]])
    goal = np.add(q, [0.5, 0.0, 0.0, 0.0, 0.0, 0.3])
    limits = {'velocity_limits': [0.1, 1, 1, 1, 1, 1], 'acceleration_limits': [100, 1, 1, 1, 1, 1]}
    tracker = arm.tracker(q, dt=0.01, **limits)
    tracker.track(arm.fk(goal))
    assert tracker.stopped_by[0] == StoppedBy.VELOCITY
    assert tracker.stopped_by[5] == StoppedBy.LIMIT
    assert StoppedBy.ACCELERATION in tracker.stopped_by[1:5]
    assert 0.0 < tracker.scale < 1.0
    assert tracker.cause == Cause.CONSISTENCY


def test_a_target_that_moves_less_than_the_tolerance_is_followed():
    """A slow target at a high rate moves by less than a tolerance in each cycle; the arm does not wait for a jump."""
    arm, oracle = load('panda')
    q = draw(arm, 1, 69)[0]
    tracker = arm.tracker(q, max_joint_step=0.01, pos_tol=1e-3, rot_tol=1e-3)
    pose = arm.fk(q)
    for _ in range(50):
        before = tracker.q.copy()
        pose[0, 3] += 1e-7
        assert tracker.track(pose) == TrackStatus.OK
        assert (tracker.q != before).any()
        assert max(oracle.errors(tracker.q, pose)) < 1e-7


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
    with pytest.raises(DimensionMismatch, match='previous'):
        tracker.track(np.eye(4), np.stack([np.eye(4)] * 2))
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
        {'acceleration_limits': 1.0},
        {'acceleration_limits': 1.0, 'dt': 0.01, 'km': 1.0},
        {'acceleration_limits': -1.0, 'dt': 0.01},
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
    rounds = []
    for _ in range(5):
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        for target in asked:
            tracker.track(target)
        after, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        rounds.append((after - before, peak - before))
    # The first call that is watched keeps some 600 bytes, once; one number a call would be 6400 in each round.
    # Other threads of the process are watched too, so that the best round counts.
    kept, peak = np.min(rounds, axis=0)
    assert kept < 2000
    assert peak < 3000


def test_a_path_of_the_tracker_does_not_depend_on_another_one():
    arm, oracle = load('gen3')
    a, b = draw(arm, 2, 66)
    target = oracle.pose(b)

    def run():
        tracker = arm.tracker(a, max_joint_step=0.05)
        return [tracker.track(target) for _ in range(30)], tracker.q.tobytes()

    assert run() == run()
