"""
Every branch and nothing else of chains with slides, by an oracle of their own.

A few poses of each chain in an ordinary run; ``-m slow`` asks five.
"""

from test import complete_oracle
from test.closed_form import sliding_oracle
from test.closed_form.arms_under_test import ask, catalogue_chain
from test.closed_form.sliding_arms import (
    arm_of,
    backwards,
    cylindrical,
    friendly,
    gantry,
    general,
    mixed,
    ORDERS,
    perpendicular_slide,
    planar_shoulder,
    PLANS,
    scara,
    serial_chain,
    stanford,
    X,
    Y,
    Z,
)
from test.closed_form.sliding_oracle import compare, SlidingChain
from test.closed_form.synthetic_arms import CLASSES, direction, make_six, random_lines, random_pose

import numpy as np
import pytest

from ssik_ros.errors import InvalidLimits, TopologyMismatch
from ssik_ros.model.topology import AxisGeometry
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL
from ssik_ros.solvers.closed_form.labels import label_branches, name_branches
from ssik_ros.solvers.closed_form.plan import make_plan
from ssik_ros.solvers.closed_form.rules import matches, RULES

RESIDUAL = 1e-9
SPECIAL = {
    'stanford': lambda rng: stanford(rng),
    'stanford, axes meet': lambda rng: stanford(rng, 0.0),
    'cylindrical': cylindrical,
    'gantry': gantry,
    'gantry, wrist with offsets': lambda rng: gantry(rng, 0.06),
    'scara PRRR': lambda rng: scara(0, rng),
    'scara RPRR': lambda rng: scara(1, rng),
    'scara RRPR': lambda rng: scara(2, rng),
    'scara RRRP': lambda rng: scara(3, rng),
    'parallel RRP': lambda rng: planar_shoulder('RRP', rng),
    'parallel RPR': lambda rng: planar_shoulder('RPR', rng),
    'parallel PRR': lambda rng: planar_shoulder('PRR', rng),
    'level RRP': lambda rng: perpendicular_slide('RRP', rng),
    'level PRR': lambda rng: perpendicular_slide('PRR', rng),
    'level RRP, axes meet': lambda rng: perpendicular_slide('RRP', rng, meeting=True),
    'level PRR, axes meet': lambda rng: perpendicular_slide('PRR', rng, meeting=True),
    'alternating': lambda rng: mixed('RPRPRP', rng),
    'slides outside': lambda rng: mixed('PRRRPP', rng),
    'five joints': lambda rng: general('RRP', rng, 5),
    'three slides and two turns': lambda rng: mixed('PRPRP', rng),
    'three slides': lambda rng: mixed('PPP', rng),
    'three joints': lambda rng: mixed('RPR', rng),
    'two joints': lambda rng: mixed('RP', rng),
    'one slide': lambda rng: mixed('P', rng),
}


def check(chain, arm, poses, seed=5):
    """Compare the arm with the oracle at random poses."""
    rng = np.random.default_rng(seed)
    assert arm.plan.tier == 'closed_form'
    for index in range(poses):
        pose = chain.poses(chain.random_posture(rng))[0]
        compared = compare(chain, pose, ask(arm, pose).q, rng)
        assert len(compared.missing) == 0, f'pose {index}: {compared}'
        assert len(compared.extra) == 0, f'pose {index}: {compared}'
        assert compared.residual < RESIDUAL
        assert compared.count > 0


# The oracle itself.


def test_the_oracle_knows_the_kinematics_of_the_package():
    rng = np.random.default_rng(1)
    for order in ORDERS:
        chain = general(order, rng)
        q = chain.random_posture(rng)
        assert np.abs(chain.poses(q)[0] - serial_chain(chain).pose(q)).max() < 1e-13


def test_the_oracle_finds_the_known_numbers_of_branches():
    rng = np.random.default_rng(2)
    arms = {8: stanford(rng), 2: gantry(rng), 1: mixed('PPP', rng)}
    for expected, chain in arms.items():
        q = np.full(chain.size, 0.3)
        assert len(sliding_oracle.find_all(chain, chain.poses(q)[0], rng)) == expected


def test_the_oracle_notices_what_is_missing_wrong_or_twice():
    rng = np.random.default_rng(3)
    chain = stanford(rng)
    pose = chain.poses(np.full(6, 0.3))[0]
    complete = sliding_oracle.find_all(chain, pose, rng)
    assert len(compare(chain, pose, complete[1:], rng).missing) == 1
    assert len(compare(chain, pose, np.vstack([complete, complete[:1]]), rng).extra) == 1
    assert len(compare(chain, pose, np.vstack([complete, complete[:1] + 0.01]), rng).extra) == 1


# Complete sets.


@pytest.mark.slow
@pytest.mark.parametrize('size', [1.0, 0.01, 100.0])
@pytest.mark.parametrize('is_reversed', [False, True], ids=['forward', 'reversed'])
@pytest.mark.parametrize('order', ORDERS)
def test_shoulders_with_slides_have_every_branch(order, is_reversed, size, poses):
    rng = np.random.default_rng([ORDERS.index(order), is_reversed, int(100 * size)])
    chain = general(order, rng, size=size)
    if is_reversed:
        chain = backwards(chain, rng)
    arm = arm_of(chain)
    assert arm.plan.name == PLANS[order]
    assert ('reversed' in arm.plan.reason) == (is_reversed and order != 'PPP')
    check(chain, arm, poses)


@pytest.mark.slow
@pytest.mark.parametrize('is_reversed', [False, True], ids=['forward', 'reversed'])
@pytest.mark.parametrize('name', SPECIAL)
def test_special_chains_with_slides_have_every_branch(name, is_reversed, poses):
    rng = np.random.default_rng([list(SPECIAL).index(name), 1])
    chain = SPECIAL[name](rng)
    if is_reversed:
        chain = backwards(chain, rng)
    check(chain, arm_of(chain), poses)


@pytest.mark.slow
@pytest.mark.parametrize('tilt', [1e-3, 2e-4, 1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize('order', ['RRP', 'PRR', 'RPR'])
def test_slides_that_are_nearly_level_lose_no_branch(order, tilt, poses):
    rng = np.random.default_rng([17, ORDERS.index(order)])
    chain = perpendicular_slide(order, rng, meeting=order != 'RPR')
    axes = chain.axes.copy()
    axes[order.index('P')] += tilt * axes[(order.index('P') + 1) % 3]
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    tilted = SlidingChain(axes, chain.points, chain.slides, chain.home)
    check(tilted, arm_of(tilted), poses)


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(4))
def test_friendly_geometry_is_solved_completely_or_refused(seed, poses):
    rng, refused, turned_down = np.random.default_rng([18, seed]), 0, 0
    for _ in range(10 * poses):
        chain = friendly(rng)
        q = chain.random_posture(rng)
        columns = chain.linearise(q[None], chain.poses(q)[0])[1][0]
        rank = int((np.linalg.svd(columns, compute_uv=False) > 1e-8).sum())
        try:
            arm = arm_of(chain)
        except TopologyMismatch:
            refused += 1
            turned_down += rank == chain.size
            continue
        # A joint of no effect leaves a continuum, which no set of branches is.
        assert rank == chain.size
        check(chain, arm, 1)
    assert refused < 10 * poses
    # Most that is refused has a joint of no effect.
    assert turned_down < 0.4 * max(refused, 10)


# Rails.


def on_rail(arm, rail, place=0):
    """Return a chain of six revolute joints with a slide before one of them, or after the last."""
    return SlidingChain(
        np.insert(arm.axes, place, rail / np.linalg.norm(rail), axis=0),
        np.insert(arm.points, place, [0.1, -0.2, 0.3], axis=0),
        (place,),
        arm.home,
    )


def parked(chain, value):
    """Return the six joints that turn as an oracle's chain, the slide of seven joints at a value."""
    (slide,) = chain.slides
    offset = value * chain.axes[slide]
    points, home = chain.points.copy(), chain.home.copy()
    points[slide + 1 :] += offset
    home[:3, 3] += offset
    axes, points = np.delete(chain.axes, slide, 0), np.delete(points, slide, 0)
    return complete_oracle.LineChain(axes, points, home)


RAILS = {
    'ur5e': lambda rng: on_rail(catalogue_chain('ur5e'), direction(rng)),
    'puma560': lambda rng: on_rail(catalogue_chain('puma560'), [0.0, 1.0, 0.0]),
    'spherical': lambda rng: on_rail(make_six('spherical', rng), direction(rng)),
    'reversed': lambda rng: on_rail(
        make_six('spherical_two_parallel', rng, is_reversed=True), direction(rng)
    ),
    'general': lambda rng: on_rail(
        complete_oracle.LineChain(*random_lines(rng), random_pose(rng)), direction(rng)
    ),
    'between parallel axes': lambda rng: on_rail(
        make_six('three_parallel', rng), direction(rng), 3
    ),
    'at the tool': lambda rng: on_rail(catalogue_chain('ur5e'), direction(rng), 6),
}


@pytest.mark.parametrize('name', RAILS)
def test_arms_on_a_rail_have_every_branch_at_each_place_of_it(name, poses):
    rng = np.random.default_rng([list(RAILS).index(name), 2])
    chain = RAILS[name](rng)
    (slide,) = chain.slides
    arm = arm_of(chain)
    assert arm.plan.held == slide
    for _ in range(poses):
        q = chain.random_posture(rng)
        # More than a turn, so that a travel treated as an angle is noticed.
        q[slide] += 7.5
        pose = chain.poses(q)[0]
        solutions = ask(arm, pose, q, held=slide).q
        assert (solutions[:, slide] == q[slide]).all()
        six = parked(chain, q[slide])
        compared = complete_oracle.compare(six, pose, np.delete(solutions, slide, 1), rng)
        assert (len(compared.missing), len(compared.extra)) == (0, 0)
        assert compared.residual < RESIDUAL
        assert compared.count > 0


def test_an_arm_on_a_rail_is_sampled_over_the_rail():
    chain = RAILS['ur5e'](np.random.default_rng(3))
    limit = np.array([2.0] + [2.0 * np.pi] * 6)
    arm = arm_of(chain, -limit, limit)
    rng = np.random.default_rng(4)
    places = set()
    for _ in range(10):
        q = rng.uniform(-limit, limit)
        pose = chain.poses(q)[0]
        result = arm.branches(pose, BranchRequest(seed=q))
        assert np.abs(result.q - q).max(axis=1).min() < 1e-8
        assert (np.abs(result.q) <= limit).all()
        assert chain.residuals(result.q, pose).max() < RESIDUAL
        places |= set(result.q[:, 0].tolist())
    assert len(places) > 20
    assert arm.plan.tier == 'search'


def test_four_slides_are_three_and_one_that_is_held():
    rng = np.random.default_rng(16)
    axes, points = random_lines(rng)
    axes, points = np.vstack([axes, direction(rng)]), np.vstack([points, points[:1]])
    chain = SlidingChain(axes, points, (0, 1, 2, 3), random_pose(rng))
    q = chain.random_posture(rng)
    pose = chain.poses(q)[0]
    free, limit = arm_of(chain), np.where(chain.turns, np.inf, 2.0 * chain.unit)
    assert (free.plan.name, free.plan.held) == ('orientation_first', 0)
    solutions = ask(free, pose, q, held=0).q
    assert np.abs(chain.gaps(solutions, q[None])).min() < 1e-6
    # Where the others may be anywhere, so may the one that is held.
    with pytest.raises(InvalidLimits, match='joint_1'):
        free.branches(pose)
    bounded = arm_of(chain, -limit, limit).branches_refined(pose)
    assert len(bounded.q)
    assert (np.abs(bounded.q) <= limit).all()
    assert chain.residuals(bounded.q, pose).max() < RESIDUAL


# Limits, borders and refusals.


def test_branches_outside_the_limits_of_a_slide_are_dropped():
    rng = np.random.default_rng(5)
    chain = stanford(rng)
    upper = np.array([np.inf, np.inf, 0.8, np.inf, np.inf, np.inf])
    lower = -upper
    lower[2] = 0.0
    free, bounded = arm_of(chain), arm_of(chain, lower, upper)
    dropped = 0
    for _ in range(40):
        pose = chain.poses(chain.random_posture(rng, 2.0))[0]
        every, within = ask(free, pose), bounded.branches(pose)
        inside = every.q[(every.q[:, 2] >= 0.0) & (every.q[:, 2] <= 0.8)]
        assert len(within.q) == len(inside)
        assert within.dropped == len(every.q) - len(inside)
        dropped += within.dropped
        assert chain.gaps(within.q, inside).min(axis=1, initial=0.0).max(initial=0.0) < 1e-9
    assert dropped > 40


@pytest.mark.parametrize('travel', [0.7, 4.0, 9.3])
def test_a_slide_at_its_limit_is_solved_and_never_wrapped(travel):
    rng = np.random.default_rng(6)
    for order in ORDERS:
        chain = general(order, rng)
        q = np.where(chain.turns, chain.random_posture(rng), travel)
        pose = chain.poses(q)[0]
        limit = np.where(chain.turns, np.inf, travel)
        for lower, upper in ((-limit, limit), (np.where(chain.turns, -np.inf, travel), limit)):
            result = arm_of(chain, lower, upper).branches(pose)
            assert chain.gaps(result.q, q[None]).min() < 1e-6
            assert (result.q[:, list(chain.slides)] <= travel).all()
            assert chain.residuals(result.q, pose).max() < RESIDUAL


def test_the_seed_orders_slides_by_their_way():
    rng = np.random.default_rng(7)
    chain = stanford(rng)
    arm = arm_of(chain)
    for _ in range(20):
        q = chain.random_posture(rng, 3.0)
        solutions = arm.branches(chain.poses(q)[0], BranchRequest(seed=q, mode=KEEP_ALL)).q
        assert chain.gaps(solutions[:1], q[None]).max() < 1e-8
        changes = np.where(chain.turns, complete_oracle.wrap(solutions - q), solutions - q)
        costs = (changes**2).sum(axis=1)
        assert (np.diff(costs) > -1e-12).all()


@pytest.mark.parametrize('name', SPECIAL)
def test_special_postures_are_solved(name):
    rng = np.random.default_rng([list(SPECIAL).index(name), 3])
    chain = SPECIAL[name](rng)
    arm = arm_of(chain)
    for shift in (0.0, 1e-9, 1e-6, 1e-3):
        for angle in (0.0, 0.5 * np.pi, -0.5 * np.pi, np.pi):
            for travel in (0.0, 0.4):
                q = np.where(chain.turns, angle, travel) + shift * rng.uniform(-1, 1, chain.size)
                pose = chain.poses(q)[0]
                solutions = arm.branches(pose, BranchRequest(mode=KEEP_ALL)).q
                assert len(solutions), f'{angle}, {travel}, {shift}'
                assert chain.residuals(solutions, pose).max() < RESIDUAL


def test_a_free_angle_is_the_seeds_where_slides_follow_it():
    rng = np.random.default_rng(15)
    axes, points = np.vstack([Z, Y, Z, X, Y, Z]), rng.uniform(-0.3, 0.3, (6, 3))
    chain = SlidingChain(axes, points, (3, 4, 5), random_pose(rng))
    q = np.array([0.5, 0.0, 0.2, 0.1, 0.4, -0.3])
    seed = np.array([0.0, 0.0, 0.9, 0.3, 0.3, 0.3])
    solutions = (
        arm_of(chain).branches(chain.poses(q)[0], BranchRequest(seed=seed, mode=KEEP_ALL)).q
    )
    assert np.abs(solutions[:, 2] - 0.9).min() < 1e-9
    assert chain.residuals(solutions, chain.poses(q)[0]).max() < RESIDUAL


@pytest.mark.slow
@pytest.mark.parametrize('order', ['RRP', 'PRR', 'RPR'])
def test_poses_out_of_reach_are_refused(order):
    rng = np.random.default_rng(8)
    chain = planar_shoulder(order, rng)
    arm = arm_of(chain)
    refused = 0
    for _ in range(20):
        pose = random_pose(rng)
        pose[:3, 3] += 30.0 * direction(rng)
        result = ask(arm, pose)
        assert len(result.q) == len(sliding_oracle.find_all(chain, pose, rng))
        refused += result.certified == 0
    assert refused > 10


def test_fewer_joints_than_six_refuse_what_they_cannot_reach():
    rng = np.random.default_rng(9)
    for name in ('scara RRPR', 'three slides', 'five joints', 'three joints'):
        chain = SPECIAL[name](rng)
        arm = arm_of(chain)
        for _ in range(10):
            result = ask(arm, random_pose(rng))
            assert (len(result.q), result.certified) == (0, 0)


# Rules.


def test_every_rule_for_slides_is_reached():
    rng = np.random.default_rng(10)
    reached = set()
    for order in ORDERS:
        chain = general(order, rng)
        for variant in (chain, backwards(chain, rng)):
            plan = make_plan(serial_chain(variant))
            reached.add((plan.name, 'reversed' in plan.reason))
    rules = [rule.name for rule in RULES if rule.has_slides]
    assert {name for name, _ in reached} == set(rules)
    both = {name for name in rules if name != 'orientation_first'}
    assert reached >= {(name, is_reversed) for name in both for is_reversed in (False, True)}


def test_rules_for_slides_are_for_chains_with_slides_and_no_others():
    rng = np.random.default_rng(14)
    for name in CLASSES:
        turning = make_six(name, rng)
        for slides in (frozenset(), frozenset({1})):
            geometry = AxisGeometry(turning.axes, turning.points, slides=slides)
            assert all(match.rule.has_slides == bool(slides) for match in matches(geometry))


def refused_chains(rng):
    """Return chains with slides that have no closed form, by the reason."""
    axes, points = random_lines(rng)
    wrist = points.copy()
    wrist[4:] = wrist[3]
    parallel = axes.copy()
    parallel[1] = parallel[0]
    home = np.eye(4)
    return {
        'wrist does not meet': SlidingChain(axes, points, (1,), home),
        'four slides': SlidingChain(axes, points, (0, 1, 2, 3), home),
        'slide in the wrist': SlidingChain(axes, wrist, (0, 4), home),
        'parallel slides': SlidingChain(parallel, wrist, (0, 1), home),
        'rail below a slide': SlidingChain(
            np.vstack([axes, axes[:1]]), np.vstack([points, points[:1]]), (0, 3), home
        ),
    }


@pytest.mark.parametrize('name', refused_chains(np.random.default_rng(0)))
def test_chains_without_a_closed_form_are_refused_with_the_names_of_their_slides(name):
    chain = refused_chains(np.random.default_rng(11))[name]
    with pytest.raises(TopologyMismatch, match='prismatic') as caught:
        arm_of(chain)
    for slide in chain.slides:
        assert f'joint_{slide + 1}' in str(caught.value)


@pytest.mark.parametrize('error', [1e-6, 1e-4])
def test_a_near_miss_is_not_taken_for_a_class_with_slides(error):
    rng = np.random.default_rng(12)
    for order in ORDERS[:-1]:
        chain = general(order, rng)
        points = chain.points + error * rng.standard_normal((6, 3))
        with pytest.raises(TopologyMismatch):
            arm_of(SlidingChain(chain.axes, points, chain.slides, chain.home))


# Labels.


def determinant(chain, q):
    """Return the determinant of the Jacobian at one posture."""
    return np.linalg.det(chain.linearise(q[None], np.eye(4))[1][0])


@pytest.mark.sampled
@pytest.mark.parametrize('is_reversed', [False, True], ids=['forward', 'reversed'])
@pytest.mark.parametrize(
    'name', [*ORDERS, 'stanford', 'parallel RRP', 'level PRR', 'gantry', 'alternating']
)
def test_labels_are_signs_of_the_factors_of_the_determinant(name, is_reversed):
    rng = np.random.default_rng(13)
    chain = general(name, rng) if name in ORDERS else SPECIAL[name](rng)
    if is_reversed:
        chain = backwards(chain, rng)
    arm, products = arm_of(chain), set()
    for _ in range(20):
        solutions = ask(arm, chain.poses(chain.random_posture(rng))[0]).q
        names = name_branches(arm.plan, solutions)
        assert len(set(names)) == len(names)
        for row, label in zip(solutions, label_branches(arm.plan, solutions), strict=True):
            value = determinant(chain, row)
            signs = [sign for sign in label if sign]
            if abs(value) > 1e-7 and arm.plan.name != 'orientation_first':
                products.add(np.prod(signs) * np.sign(value))
            elif abs(value) > 1e-7:
                assert len(signs) == 1
        if name in ('stanford', 'level PRR'):
            assert len(set(label_branches(arm.plan, solutions))) == len(solutions)
    assert len(products) == (arm.plan.name != 'orientation_first')
