"""Cycles of ssik_control towards poses and at twists: straight, within limits, never at a standstill, calm at the end."""

from test.control_plugin.chain_programs import Loop, to_frame

import numpy as np
import pytest

PERIOD = 0.002
READY = {
    'panda': [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785],
    'ur5e': [0.0, -1.57, 1.57, -1.57, -1.57, 0.0],
    'fanuc': [0.0, 0.3, -0.3, 0.0, 0.6, 0.0],
}
LIMITS = 2


def start(solved, q=None, acceleration=8.0):
    """Return a loop at rest at a posture, the arm, and its name."""
    arm, chain, name = solved
    n = len(READY[name])
    limits = arm.group.lower, arm.group.upper
    q = READY[name] if q is None else q
    return Loop(chain, limits, PERIOD, np.full(n, 2.0), np.full(n, acceleration), q)


def test_a_twist_is_a_straight_line_at_its_speed(solved):
    arm, _, name = solved
    loop, begin = start(solved), arm.fk(READY[name])
    for _ in range(300):
        reached, _, scale, condition = loop.cycle('twist', [0.0, 0.1, 0.0, 0.0, 0.0, 0.0])
    end = arm.fk(loop.q)
    assert reached and scale == pytest.approx(1.0, abs=1e-6)
    singular_values = np.linalg.svd(arm.jacobian(loop.q))[1]
    assert condition == pytest.approx(singular_values[0] / singular_values[-1], rel=1e-6)
    np.testing.assert_allclose(end[:3, :3], begin[:3, :3], atol=1e-6)
    np.testing.assert_allclose(end[[0, 2], 3], begin[[0, 2], 3], atol=1e-6)
    # The joints need some cycles until they move as fast as they have to.
    assert 0.05 < end[1, 3] - begin[1, 3] <= 0.06 + 1e-6


def test_without_a_twist_the_tip_stays(solved):
    arm, _, _ = solved
    loop = start(solved)
    for _ in range(100):
        loop.cycle('twist', [0.1, 0.0, 0.0, 0.0, 0.0, 0.5])
    for _ in range(200):
        loop.cycle('twist', np.zeros(6))
    pose = arm.fk(loop.q)
    for _ in range(100):
        assert loop.cycle('twist', np.zeros(6))[0]
    np.testing.assert_allclose(arm.fk(loop.q), pose, atol=1e-9)
    assert np.abs(loop.speeds).max() < 1e-6


def test_a_hold_brakes_all_joints_and_they_stay(solved):
    loop = start(solved)
    for _ in range(150):
        loop.cycle('twist', [0.2, 0.1, 0.0, 0.3, 0.0, 0.5])
    fastest = np.abs(loop.speeds).max()
    cycles = int(np.ceil(fastest / (8.0 * PERIOD))) + 1
    for _ in range(cycles):
        loop.cycle('hold')
    assert not loop.speeds.any()
    before = loop.q
    loop.cycle('hold')
    np.testing.assert_array_equal(loop.q, before)


def test_numbers_that_are_none_make_the_arm_brake(solved):
    loop = start(solved)
    for _ in range(50):
        loop.cycle('twist', [0.2, 0.0, 0.0, 0.0, 0.0, 0.0])
    for _ in range(200):
        assert not loop.cycle('twist', [np.nan, 0.0, 0.0, 0.0, 0.0, 0.0])[0]
    assert not loop.speeds.any()
    for _ in range(10):
        assert not loop.cycle('pose', np.full(12, np.nan))[0]
    assert not loop.speeds.any()


@pytest.mark.parametrize('seed', range(3))
def test_an_arm_leaves_the_edge_of_its_reach_and_singular_postures(solved, seed):
    """Twists drive the arm against its edge, its limits and through singular postures; each reversal moves it again."""
    arm, _, _ = solved
    rng, loop = np.random.default_rng(seed), start(solved)
    for _ in range(6):
        twist = rng.uniform(-1.0, 1.0, 6) * [0.5, 0.5, 0.5, 1.0, 1.0, 1.0]
        for _ in range(400):
            reached, cause, scale, _ = loop.cycle('twist', twist)
            assert 0.0 <= scale <= 1.0
            assert bool(reached) == (cause == 0)
        before = arm.fk(loop.q)
        for _ in range(200):
            loop.cycle('twist', -twist)
        moved = arm.fk(loop.q) - before
        assert np.abs(moved).max() > 1e-3


def test_a_pose_is_reached_at_rest(solved):
    arm, _, name = solved
    loop = start(solved)
    goal = np.array(READY[name]) + 0.2
    target = arm.fk(goal)
    for _ in range(1500):
        reached, cause, scale, _ = loop.cycle('pose', to_frame(target))
    assert reached and cause == 0 and scale == 1.0
    np.testing.assert_allclose(arm.fk(loop.q), target, atol=1e-6)
    assert np.abs(loop.speeds).max() < 1e-6


def test_a_twist_beyond_a_limit_names_the_limit(solved):
    """Only the last joint turns, until it stops in front of its limit; the report says why."""
    arm, _, name = solved
    if not np.isfinite(arm.group.upper[-1]):
        pytest.skip('the last joint has no limit')
    q = np.array(READY[name])
    q[-1] = arm.group.upper[-1] - 0.1
    loop = start(solved, q)
    axis = arm.jacobian(q)[:, -1]
    for _ in range(1000):
        reached, cause, scale, _ = loop.cycle('twist', 0.5 * axis)
    assert not reached and scale < 0.99
    assert cause == LIMITS


def test_a_start_outside_the_limits_is_refused(solved):
    arm, chain, name = solved
    q = np.array(READY[name])
    q[1] = arm.group.upper[1] + 0.5
    n = len(q)
    assert chain.ask('begin', [PERIOD], np.ones(n), np.ones(n), q) == [0.0]


@pytest.mark.slow
def test_a_command_comes_soon_after_its_cycle_begins(solved):
    """The protocol of published benchmarks; the bound is loose, since machines of tests are busy."""
    arm, chain, name = solved
    start(solved)
    median, p99, p999, longest, late = chain.ask('latency', [5.0], to_frame(arm.fk(READY[name])))
    print(
        f'{name}: median {median:.0f} us, p99 {p99:.0f}, p99.9 {p999:.0f}, longest {longest:.0f}, late cycles {late:.0f}'
    )
    assert 0.0 < median <= p99 <= p999 <= longest
