"""Limits, turns and order of branches against brute force in numpy, and the comparison of equal branches."""

import itertools

from test.closed_form.arms_under_test import arm_of, catalogue_arm, catalogue_chain
from test.complete_oracle import wrap

from hypothesis import given, strategies as st
import numpy as np
import pytest

from ssik_ros.kernels.closed_form.certification import certify, ranking
from ssik_ros.kernels.closed_form.classes import lane_pipeline
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL, METRICS, WRAP_ONLY

PI, TURN = np.pi, 2.0 * np.pi
NEAR = 1e-9
TURNS = TURN * np.arange(-8, 9)


def brute_force(value, lower, upper, wish):
    """Return the distance from the wish to the nearest turn of a value inside closed limits; None if no turn fits."""
    inside = [v for v in value + TURNS if lower - NEAR <= v <= upper + NEAR]
    return min((abs(np.clip(v, lower, upper) - wish) for v in inside), default=None)


LIMITS = [
    (-np.inf, np.inf),
    (-PI, PI),
    (-TURN, TURN),
    (0.0, TURN),
    (0.0, PI),
    (-PI, 0.0),
    (-0.5, 0.5),
    (2.0, 3.0),
    (PI, 3 * PI),
    (-3 * PI, 4 * PI),
    (7.0, 9.0),
    (1.0, 1.0),
]
VALUES = [0.0, PI, -PI, PI / 2, 0.5, -0.5, 1.0, 3.0, 2.0]


@pytest.mark.parametrize('limits', LIMITS)
@pytest.mark.parametrize('rounding', [0.0, 4e-16, -4e-16, 9e-10, -9e-10, 1.1e-9, -1.1e-9, 1e-6])
def test_the_turn_inside_closed_limits_is_the_one_nearest_to_the_wish(limits, rounding):
    lower, upper = limits
    wishes = [0.0, 0.3, -2.9, PI, -PI, TURN, -TURN, 7.7]
    wishes += [limit for limit in limits if np.isfinite(limit)]
    for value, wish in itertools.product(VALUES, wishes):
        placed = ranking.place_in_limits(value + rounding, lower, upper, wish)
        nearest = brute_force(value + rounding, lower, upper, wish)
        if nearest is None:
            assert np.isnan(placed)
        else:
            assert lower <= placed <= upper
            assert abs(wrap(placed - value - rounding)) <= NEAR + 1e-14
            # Values within a billionth outside of a limit may go to it, or to another turn.
            assert abs(placed - wish) <= nearest + 1e-8, (value, wish, placed)


@given(st.floats(-PI, PI), st.floats(-10, 10), st.floats(0, 14), st.floats(-12, 12))
def test_any_value_is_placed_as_brute_force_does(value, lower, span, wish):
    placed = ranking.place_in_limits(value, lower, lower + span, wish)
    nearest = brute_force(value, lower, lower + span, wish)
    assert np.isnan(placed) == (nearest is None)
    if nearest is not None:
        assert abs(placed - wish) <= nearest + 1e-8


@given(st.floats(-PI, PI), st.floats(-10, 10), st.floats(7, 14), st.sampled_from([-1.0, 1.0]))
@pytest.mark.parametrize('far', [1e3, 1e7, 1e12, 1e200])
def test_a_wish_however_far_away_takes_the_outermost_turn(far, value, lower, span, sign):
    upper = lower + span
    got = ranking.place_in_limits(value, lower, upper, sign * far)
    inside = [
        min(max(v, lower), upper) for v in value + TURNS if lower - NEAR <= v <= upper + NEAR
    ]
    assert abs(got - (max(inside) if sign > 0.0 else min(inside))) < 1e-12


@pytest.mark.parametrize('metric', METRICS)
def test_distances_compare_unlimited_joints_modulo_a_turn_and_others_plainly(metric):
    rng = np.random.default_rng(1)
    lower = np.array([-np.inf, -7.0, -np.inf, -7.0, -np.inf, -np.inf])
    upper = np.array([np.inf, 7.0, 5.0, np.inf, np.inf, np.inf])
    free = np.isinf(lower) & np.isinf(upper)
    for _ in range(200):
        q, seed = rng.uniform(-7, 7, 6), rng.uniform(-7, 7, 6)
        moves = np.where(free, wrap(q - seed), q - seed)
        wanted = np.abs(moves).max() if metric == 'wrap_linf' else (moves**2).sum()
        got = ranking.distance(q, seed, 6, 0, lower, upper, METRICS[metric])
        assert got == pytest.approx(wanted, abs=1e-12)


@given(st.lists(st.floats(0, 10) | st.sampled_from([0.0, 1.0]), max_size=40))
def test_order_is_that_of_a_stable_sort(keys):
    indices = np.zeros(max(1, len(keys)), dtype=np.int64)
    ranking.order(np.array([*keys, 0.0]), indices, len(keys))
    assert indices[: len(keys)].tolist() == np.argsort(keys, kind='stable').tolist()


@given(st.lists(st.floats(0, 10) | st.sampled_from([0.0, 1.0]), max_size=8))
def test_order_of_a_few_is_that_of_a_stable_sort_too(keys):
    indices, padded = np.zeros(8, dtype=np.int64), np.array([*keys, *[-1.0] * (8 - len(keys))])
    lane_pipeline.order_few(padded, indices, len(keys), np.zeros(8))
    assert indices[: len(keys)].tolist() == np.argsort(keys, kind='stable').tolist()


def branch_distance(q, seed, metric):
    moves = np.abs(q - seed)
    return moves.max(axis=1) if metric == 'wrap_linf' else (moves**2).sum(axis=1)


@pytest.mark.parametrize('metric', METRICS)
@pytest.mark.parametrize('name', ['ur5e', 'puma560', 'irb6700'])
def test_branches_are_those_of_brute_force_over_all_turns_in_order(name, metric):
    rng = np.random.default_rng(2)
    chain, arm = catalogue_chain(name), catalogue_arm(name)
    lower, upper = np.full(6, -TURN), np.full(6, TURN)
    lower[2], upper[2] = -PI, PI
    lower[0], upper[5] = -1.0, 1.0
    for _ in range(20):
        pose = chain.poses(rng.uniform(-PI, PI, 6))[0]
        seed = rng.uniform(lower, upper)
        everything = arm.branches(pose, BranchRequest(mode=KEEP_ALL)).q
        wanted = []
        for q in everything:
            best = [brute_force(*values) for values in zip(q, lower, upper, seed)]
            if None not in best:
                wanted.append(max(best) if metric == 'wrap_linf' else np.sum(np.square(best)))
        request = BranchRequest(seed=seed, lower=lower, upper=upper, metric=METRICS[metric])
        result = arm.branches(pose, request)
        assert branch_distance(result.q, seed, metric) == pytest.approx(sorted(wanted), abs=1e-9)
        assert result.dropped == len(everything) - len(wanted)
        few = arm.branches(pose, request._replace(max_solutions=2)).q
        assert (few == result.q[:2]).all()


def test_the_seed_itself_is_first_and_keeps_its_turns():
    # Among them joints exactly on their limits: rounding must not send them a turn away.
    rng = np.random.default_rng(3)
    chain, arm = catalogue_chain('ur5e'), catalogue_arm('ur5e')
    lower, upper = np.full(6, -TURN), np.full(6, TURN)
    for index in range(100):
        seed = rng.uniform(lower, upper)
        if index % 2:
            # Not the elbow, which is stretched there: its angle has half of the digits.
            seed[rng.choice([0, 1, 3, 5])] = rng.choice([-TURN, TURN])
        result = arm.branches(
            chain.poses(seed)[0], BranchRequest(seed=seed, lower=lower, upper=upper)
        )
        assert np.abs(result.q[0] - seed).max() < 1e-6, seed.tolist()


def test_without_a_seed_every_joint_takes_its_smallest_turn():
    rng = np.random.default_rng(4)
    for name in ('ur5e', 'puma560', 'irb6700'):
        chain, arm = catalogue_chain(name), catalogue_arm(name)
        for _ in range(30):
            pose = chain.poses(rng.uniform(-PI, PI, 6))[0]
            wide = np.full(6, TURN)
            solutions = arm.branches(pose, BranchRequest(lower=-wide, upper=wide)).q
            assert np.abs(solutions).max() <= PI + 1e-12


def test_wrap_only_keeps_what_it_cannot_place():
    rng = np.random.default_rng(5)
    chain, arm = catalogue_chain('puma560'), catalogue_arm('puma560')
    lower, upper = np.full(6, 1.0), np.full(6, 2.0)
    pose = chain.poses(rng.uniform(-PI, PI, 6))[0]
    solutions = arm.branches(pose, BranchRequest(mode=WRAP_ONLY, lower=lower, upper=upper)).q
    everything = arm.branches(pose, BranchRequest(mode=KEEP_ALL)).q
    assert len(solutions) == len(everything) == 8
    gaps = np.abs(wrap(solutions[:, None] - everything[None])).max(axis=2)
    assert gaps.min(axis=1).max() < 1e-12


@pytest.mark.parametrize('fold', [1e-2, 1e-3, 1e-4, 1e-5, 3e-6])
def test_two_branches_next_to_a_fold_stay_two(fold):
    rng = np.random.default_rng(6)
    for name, joint, home in (('puma560', 4, 0.0), ('ur5e', 2, 0.0), ('irb6700', 4, 0.0)):
        chain, arm = catalogue_chain(name), catalogue_arm(name)
        q = rng.uniform(-PI, PI, 6)
        q[joint] = home + fold
        solutions = arm.branches(chain.poses(q)[0], BranchRequest(mode=KEEP_ALL)).q
        assert len(solutions) == len(certified_apart(solutions))
        ends = solutions[np.abs(wrap(solutions[:, joint] - home)) < 2 * fold][:, joint]
        assert (ends > home).any()
        assert (ends < home).any()


def certified_apart(solutions):
    """Return the branches that are at least 1e-9 from the ones before them."""
    kept = [
        q
        for i, q in enumerate(solutions)
        if not (np.abs(wrap(solutions[:i] - q)).max(axis=1, initial=9.0) < 1e-9).any()
    ]
    return np.array(kept)


def test_duplicates_at_a_fold_are_one():
    chain, arm = catalogue_chain('puma560'), catalogue_arm('puma560')
    rng = np.random.default_rng(7)
    for _ in range(20):
        q = rng.uniform(-PI, PI, 6)
        q[4] = 0.0
        solutions = arm.branches(chain.poses(q)[0], BranchRequest(mode=KEEP_ALL)).q
        gaps = np.abs(wrap(solutions[:, None] - solutions[None])).max(axis=2)
        assert (gaps + 9.0 * np.eye(len(solutions))).min() > 1e-6


def test_nearness_is_modulo_a_turn():
    store = np.array([[PI - 1e-4, 0.0, 3.0]])
    assert certify.are_near(store, 0, np.array([-PI + 1e-4, TURN, 3.0]), 3, 0, 1e-3)
    assert not certify.are_near(store, 0, np.array([-PI + 1e-4, 0.01, 3.0]), 3, 0, 1e-3)


@pytest.mark.parametrize('edge', [0.0, 1e-12, 5e-10, -5e-10])
def test_closed_limits_keep_what_stands_on_them(edge):
    rng = np.random.default_rng(8)
    chain = catalogue_chain('puma560')
    arm = arm_of(chain)
    for _ in range(20):
        q = rng.uniform(-2.0, 2.0, 6)
        lower, upper = q - 1.0, q + 1.0
        joint = rng.integers(6)
        lower[joint] = q[joint] + edge
        result = arm.branches(chain.poses(q)[0], BranchRequest(lower=lower, upper=upper))
        assert len(result.q) >= 1
        assert (result.q >= lower).all()
        assert chain.residuals(result.q, chain.poses(q)[0]).max() < 1e-8
