"""The sequence of starts: the generator's numbers, their ranges, and joints that cannot be drawn."""

import math

import numpy as np
import pytest
from scipy import stats

from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.search import restarts

MASK = (1 << 64) - 1
INFINITE = math.inf
PERIODIC, LINEAR = layout.PERIODIC, layout.LINEAR


def split_mix(state, count):
    """Return the first outputs of SplitMix64 in Python's own integers."""
    outputs = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        outputs.append(z ^ (z >> 31))
    return outputs


def generator(state):
    """Return a generator's state as the kernels want it."""
    return np.array([state], dtype=np.uint64)


def draws(kinds, lower, upper, seed, spread=1.0, free=False, state=1):
    """Return a thousand random configurations."""
    variable_i = np.array([[kind, at, 1] for at, kind in enumerate(kinds)])
    arrays = [np.array(values, dtype=float) for values in (lower, upper, seed)]
    random, out = generator(state), []
    for _ in range(1000):
        q = np.full(len(seed), np.nan)
        restarts.draw(variable_i, *arrays, spread, free, random, q)
        out.append(q)
    return np.array(out)


def test_the_plain_generator_gives_the_published_numbers():
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert split_mix(1234567, 3) == published


@pytest.mark.parametrize('state', [0, 1, 0x5331C0DE, MASK, 1 << 63])
def test_the_kernel_gives_the_upper_53_bits_of_the_same_numbers(state):
    random = generator(state)
    actual = [restarts.uniform(random) for _ in range(1000)]
    assert actual == [(z >> 11) / 2**53 for z in split_mix(state, 1000)]


def test_the_state_goes_on_from_call_to_call():
    random = generator(7)
    restarts.uniform(random)
    assert int(random[0]) == (7 + 0x9E3779B97F4A7C15) & MASK


def test_numbers_lie_below_one_and_are_spread_evenly():
    random = generator(42)
    numbers = np.array([restarts.uniform(random) for _ in range(20_000)])
    assert 0.0 <= numbers.min() < 1e-3
    assert 0.999 < numbers.max() < 1.0
    assert stats.kstest(numbers, 'uniform').pvalue > 0.01


def test_neighbouring_numbers_do_not_depend_on_each_other():
    random = generator(42)
    numbers = np.array([restarts.uniform(random) for _ in range(20_000)])
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.02


@pytest.mark.parametrize('kind', [PERIODIC, LINEAR])
def test_draws_fill_the_limits_and_stay_inside(kind):
    q = draws([kind], [-0.5], [2.0], [0.0])
    assert -0.5 <= q.min() < -0.45
    assert 1.95 < q.max() <= 2.0


def test_a_joint_without_limits_is_drawn_from_the_turn_around_the_seed():
    q = draws([PERIODIC], [-INFINITE], [INFINITE], [10.0]) - 10.0
    assert -math.pi <= q.min() < -3.0
    assert 3.0 < q.max() <= math.pi


def test_a_joint_with_one_limit_is_drawn_from_the_turn_next_to_it():
    q = draws([PERIODIC, PERIODIC], [1.0, -INFINITE], [INFINITE, 1.0], [50.0, -50.0])
    turn = 2.0 * math.pi
    assert 1.0 <= q[:, 0].min() < 1.1 and turn + 0.9 < q[:, 0].max() <= turn + 1.0
    assert 1.0 - turn <= q[:, 1].min() < 1.1 - turn and 0.9 < q[:, 1].max() <= 1.0


def test_a_spread_keeps_a_joint_with_one_limit_near_to_the_seed():
    q = draws([PERIODIC], [1.0], [INFINITE], [50.0], 0.1) - 50.0
    assert (np.abs(q) <= 0.2 * math.pi).all() and np.abs(q).max() > 0.19 * math.pi


@pytest.mark.parametrize('spread', [0.05, 0.5, 0.99])
def test_a_spread_keeps_draws_that_near_to_the_seed(spread):
    q = draws([PERIODIC, LINEAR], [-1.0, 0.0], [1.0, 0.4], [0.2, 0.1], spread)
    assert (np.abs(q - [0.2, 0.1]) <= spread * np.array([2.0, 0.4]) + 1e-15).all()
    assert (
        np.abs(q - [0.2, 0.1]).max(axis=0)
        > 0.9 * np.minimum(spread * np.array([2.0, 0.4]), [0.8, 0.1])
    ).all()


@pytest.mark.parametrize('spread', [0.05, 0.5, 1.0])
def test_a_spread_never_leads_outside_the_limits(spread):
    q = draws([PERIODIC], [-1.0], [1.0], [0.99], spread)
    assert q.min() >= -1.0
    assert q.max() <= 1.0


@pytest.mark.parametrize('seed', [5.0, -5.0])
def test_a_seed_outside_the_limits_does_not_draw_starts_out_of_them(seed):
    q = draws([PERIODIC], [-1.0], [1.0], [seed], 0.05)
    assert q.min() >= -1.0
    assert q.max() <= 1.0


def test_a_spread_shortens_the_turn_of_a_joint_without_limits():
    q = draws([PERIODIC], [-INFINITE], [INFINITE], [10.0], 0.1)
    assert (np.abs(q - 10.0) <= 0.1 * math.pi).all()


def test_a_held_joint_is_drawn_at_its_value():
    q = draws([PERIODIC, LINEAR], [0.3, -1.0], [0.3, 1.0], [5.0, 0.0])
    assert (q[:, 0] == 0.3).all()


def test_a_held_joint_does_not_shift_the_numbers_of_the_others():
    held = draws([PERIODIC, LINEAR], [0.3, -1.0], [0.3, 1.0], [0.0, 0.0])
    moving = draws([PERIODIC, LINEAR], [-0.3, -1.0], [0.3, 1.0], [0.0, 0.0])
    np.testing.assert_array_equal(held[:, 1], moving[:, 1])


def test_equal_states_give_equal_draws_and_others_do_not():
    one, same, other = (draws([LINEAR], [0.0], [1.0], [0.0], state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.isin(other, one).any()


BALL = np.array([[layout.BALL_FIRST, 0, 1], [layout.BALL_REST, 0, 1], [layout.BALL_REST, 0, 1]])


def balls(count, limit=INFINITE, spread=1.0):
    """Return random quaternions (count, 4)."""
    random, out, seed = generator(3), np.full((count, 4), np.nan), np.array([0.5, -0.5, 0.5, 0.5])
    for q in out:
        restarts.draw(BALL, np.full(3, -limit), np.full(3, limit), seed, spread, False, random, q)
    return out


def test_balls_are_drawn_as_unit_quaternions():
    np.testing.assert_allclose(np.linalg.norm(balls(1000), axis=1), 1.0, rtol=0, atol=4e-16)


def test_balls_are_drawn_evenly_from_all_rotations():
    quaternions = balls(5000)
    np.testing.assert_allclose(quaternions.T @ quaternions / 5000, np.eye(4) / 4, atol=0.02)
    # The angle of an even rotation has the density (1 - cos a) / pi.
    angle = 2.0 * np.arccos(np.clip(np.abs(quaternions[:, 3]), 0.0, 1.0))
    assert stats.kstest(angle, lambda a: (a - np.sin(a)) / math.pi).pvalue > 0.01


def test_a_held_ball_is_not_turned():
    np.testing.assert_array_equal(balls(2, limit=0.0), [[0.5, -0.5, 0.5, 0.5]] * 2)


def test_a_spread_keeps_balls_near_to_the_seed():
    cosines = np.abs(balls(1000, spread=0.05) @ [0.5, -0.5, 0.5, 0.5])
    angles = 2.0 * np.arccos(np.clip(cosines, 0.0, 1.0))
    assert 0.1 < angles.max() <= 0.05 * math.pi * math.sqrt(3.0)


def test_a_free_start_is_drawn_from_the_full_turn_whatever_the_limits():
    q = draws([PERIODIC, LINEAR], [-0.1, -0.1], [0.1, 0.1], [2.0, 0.0], free=True)
    assert np.ptp(q[:, 0]) > 6.0
    assert (np.abs(q[:, 0] - 2.0) <= math.pi).all()
    assert (np.abs(q[:, 1]) <= 0.1).all()


def test_a_held_joint_is_held_in_a_free_start_too():
    assert (draws([PERIODIC], [0.3], [0.3], [5.0], free=True) == 0.3).all()


def test_a_joint_that_moves_nothing_is_left_alone():
    variable_i, q = np.array([[PERIODIC, 0, 0], [LINEAR, 1, 1]]), np.array([0.7, 5.0])
    restarts.draw(variable_i, -np.ones(2), np.ones(2), np.zeros(2), 1.0, False, generator(1), q)
    assert q[0] == 0.7
    assert abs(q[1]) <= 1.0


@pytest.mark.parametrize(
    ('kind', 'lower', 'upper', 'sampled'),
    [
        (PERIODIC, -1.0, 1.0, True),
        (LINEAR, -1.0, 1.0, True),
        (LINEAR, 0.5, 0.5, True),
        (PERIODIC, -INFINITE, INFINITE, True),
        (layout.BALL_FIRST, -INFINITE, INFINITE, True),
        (LINEAR, -INFINITE, INFINITE, False),
        (LINEAR, 0.0, INFINITE, False),
        (PERIODIC, 0.0, INFINITE, True),
        (PERIODIC, -INFINITE, 0.0, True),
    ],
)
def test_a_range_is_needed_to_draw_from(kind, lower, upper, sampled):
    moves = layout.TURNS if kind == PERIODIC else layout.SLIDES
    variable_i = np.array([[PERIODIC, 0, layout.TURNS], [kind, 1, moves]])
    result = restarts.can_sample(variable_i, np.array([-1.0, lower]), np.array([1.0, upper]))
    assert result == (-1 if sampled else 1)


def test_the_first_variable_without_a_range_is_named():
    variable_i = np.array([[LINEAR, 0, 1], [LINEAR, 1, 1]])
    assert restarts.can_sample(variable_i, np.full(2, -INFINITE), np.full(2, INFINITE)) == 0


def test_a_joint_that_moves_nothing_needs_no_range():
    variable_i = np.array([[LINEAR, 0, 0]])
    assert restarts.can_sample(variable_i, np.array([-INFINITE]), np.array([INFINITE])) == -1
