"""Success rate, accuracy and work of the three solvers, judged by pinocchio."""

from test.search.newton_arms import draw, load, SIX_ARMS, within

import numpy as np
import pytest

SLACK = 1e-9
"""Two correct computations of one error differ by less."""
LEAST = {'ik_LM': 1.0, 'ik_NR': 0.999, 'ik_GN': 0.999}


def solve_thousand(name, call, **options):
    """Return the results for 1,000 poses without a start, and the poses."""
    arm, oracle = load(name)
    targets = [oracle.pose(q) for q in draw(arm, 1000, 20240601)]
    return [getattr(arm, call)(target, **options) for target in targets], targets


@pytest.mark.sampled
@pytest.mark.parametrize('call', LEAST)
@pytest.mark.parametrize('name', SIX_ARMS)
def test_a_thousand_poses_are_solved_exactly_within_limits_and_with_little_work(name, call):
    arm, oracle = load(name)
    results, targets = solve_thousand(name, call, pos_tol=1e-6, rot_tol=1e-6)
    solved = [
        result.success == 1
        and within(arm, result.q)
        and max(oracle.errors(result.q, target)) <= 1e-6 + SLACK
        for result, target in zip(results, targets, strict=True)
    ]
    assert np.mean(solved) >= LEAST[call]
    assert np.mean([result.searches for result in results]) <= 2.0
    updates = np.mean([result.iterations for result in results])
    # Only the default law has a tight bound; the laws without damping take more steps.
    assert updates <= (20.0 if arm.dof == 7 or call != 'ik_LM' else 15.0)
    assert max(result.iterations / result.searches for result in results) <= 30.0


def test_most_poses_of_the_panda_are_solved_by_the_first_search():
    results, _ = solve_thousand('panda', 'ik_LM', pos_tol=1e-6, rot_tol=1e-6)
    assert np.mean([result.searches == 1 for result in results]) >= 0.6


@pytest.mark.parametrize(
    ('method', 'least'),
    # A damping that does not fade with the error makes the last steps crawl next to a singularity.
    [('adaptive', 1.0), ('chan', 1.0), ('sugihara', 0.95), ('wampler', 0.95)],
)
@pytest.mark.parametrize('name', ['panda', 'ur5e'])
def test_every_law_of_damping_solves_with_its_own_k(name, method, least):
    arm, oracle = load(name)
    solved = 0
    for q in draw(arm, 100, 7):
        target = oracle.pose(q)
        result = arm.ik_LM(target, method=method, pos_tol=1e-6, rot_tol=1e-6)
        solved += result.success
        if result.success:
            assert max(oracle.errors(result.q, target)) <= 1e-6 + SLACK
    assert solved >= 100 * least


def test_the_tolerance_is_that_of_the_toolbox(name='ur5e'):
    arm, oracle = load(name)
    for tol in (1e-3, 1e-6, 1e-12):
        for q in draw(arm, 50, 8):
            target = oracle.pose(q)
            result = arm.ik_LM(target, tol=tol)
            square = sum(error**2 for error in oracle.errors(result.q, target))
            assert result.success == 1
            assert result.residual < tol
            assert result.residual == pytest.approx(0.5 * square, abs=1e-12)


def test_reported_errors_are_those_that_pinocchio_measures():
    for name in SIX_ARMS:
        arm, oracle = load(name)
        for q in draw(arm, 20, 9):
            target = oracle.pose(q)
            result = arm.ik_LM(target)
            measured = oracle.errors(result.q, target)
            assert (result.position_error, result.rotation_error) == pytest.approx(
                measured, abs=1e-9
            )


@pytest.mark.parametrize('call', LEAST)
def test_a_start_that_solves_is_returned_to_the_bit_without_an_update(call):
    for name in SIX_ARMS:
        arm, oracle = load(name)
        for q0 in draw(arm, 20, 10):
            q, success, iterations, searches, residual = getattr(arm, call)(oracle.pose(q0), q0)
            assert (success, iterations, searches) == (1, 0, 1)
            assert q.tobytes() == q0.tobytes()
            assert residual < 1e-20


def test_a_solution_turns_endless_joints_no_further_from_the_start_than_half_a_turn():
    arm, oracle = load('gen3')
    endless = np.isinf(arm.group.lower)
    assert endless.any()
    for q, start in zip(draw(arm, 50, 11), draw(arm, 50, 12), strict=True):
        q0 = start + np.where(endless, 30.0, 0.0)
        result = arm.ik_LM(oracle.pose(q), q0)
        assert result.success == 1
        assert (np.abs(result.q - q0)[endless] <= np.pi + 1e-9).all()


def test_without_limits_nothing_is_refused_and_the_result_says_whether_it_keeps_them():
    arm, oracle = load('panda')
    said = []
    for q in draw(arm, 200, 13):
        result = arm.ik_LM(oracle.pose(q), draw(arm, 1, 14)[0], joint_limits=False)
        assert result.success == 1
        assert result.limits_ok == within(arm, result.q)
        said.append(result.limits_ok)
    assert any(said)
    assert not all(said)
