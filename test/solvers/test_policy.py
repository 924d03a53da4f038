"""The policy: one place decides between closed form and search, and a tolerance never changes its decision."""

import itertools

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.solvers.auto.policy import (
    choose,
    find_closed_form,
    Knowledge,
    knowledge_of,
    SolveMethod,
    uses_closed_form,
    Wanted,
)
from ssik_ros.solvers.registry import create_solver

ARMS = {
    'ur5e': Knowledge.ALL_AT_ONCE,
    'jaco2': Knowledge.ALL,
    'panda': Knowledge.SAMPLES,
}
"""An arm of each kind of closed form."""


@pytest.fixture(scope='module', params=ARMS)
def arm(request):
    return Manipulator.from_prebuilt(request.param)


def requests(arm, count=12):
    """Yield pose, and a seed that is near or far."""
    rng = np.random.default_rng(5)
    for index in range(count):
        q = arm.robot.sample(arm.group, rng)
        seed = q + 0.02 if index % 2 else arm.robot.sample(arm.group, rng)
        yield arm.fk(q), seed


def bytes_of(result):
    """Return all that a result says."""
    numbers = (int(result.status), int(result.cause), result.iterations, result.searches)
    return result.q.tobytes(), result.errors.tobytes(), result.residual, numbers


def test_a_tolerance_of_a_request_gives_the_bytes_that_the_same_tolerance_of_the_solver_gives(arm):
    for tolerance in (1e-3, 1e-6):
        configured = create_solver(
            'ssik_ros/Auto', arm.robot, arm.group, {'target_tolerance': tolerance}
        )
        other = create_solver('ssik_ros/Auto', arm.robot, arm.group)
        for target, seed in requests(arm):
            for given in (tolerance, np.float64(tolerance), np.array([tolerance])):
                result = other.solve(SolveRequest(target, seed, tolerance=given))
                assert bytes_of(result) == bytes_of(configured.solve(SolveRequest(target, seed)))


def test_a_failure_within_a_tolerance_is_explained_as_that_of_a_solver_with_it(arm):
    configured = create_solver('ssik_ros/Auto', arm.robot, arm.group, {'target_tolerance': 1e-4})
    other = create_solver('ssik_ros/Auto', arm.robot, arm.group)
    far = np.eye(4)
    for distance in (0.9, 1.5, 10.0):
        far[0, 3] = distance
        expected = configured.solve(SolveRequest(far, np.zeros(arm.dof)))
        result = other.solve(SolveRequest(far, np.zeros(arm.dof), tolerance=1e-4))
        assert bytes_of(result) == bytes_of(expected)


def test_the_knowledge_of_a_solver_is_that_of_its_arm(arm):
    expected = ARMS[{6: 'ur5e', 7: 'panda'}[arm.dof]]
    auto = create_solver('ssik_ros/Auto', arm.robot, arm.group)
    analytic = create_solver('ssik_ros/Analytic', arm.robot, arm.group)
    assert knowledge_of(analytic) == min(expected, Knowledge.ALL)
    assert min(knowledge_of(auto), Knowledge.ALL) == knowledge_of(analytic)
    assert knowledge_of(create_solver('ssik_ros/PoseIK', arm.robot, arm.group)) == 0


@pytest.mark.parametrize('knowledge', Knowledge)
def test_every_decision_ends_and_names_each_method_for_a_reason(knowledge):
    for wanted, is_tuned, is_locked in itertools.product(Wanted, (True, False), (True, False)):
        methods = choose(knowledge, wanted, is_tuned=is_tuned, is_locked=is_locked)
        assert methods
        assert SolveMethod.CLOSED_FORM not in methods or knowledge > Knowledge.NOTHING
        assert not is_tuned or methods == (SolveMethod.POSE_IK,)
        first = methods[0] == SolveMethod.CLOSED_FORM
        if not (is_tuned or is_locked) and knowledge >= Knowledge.ALL:
            assert first or (wanted == Wanted.ONE and knowledge == Knowledge.ALL)


def test_only_parameters_of_a_search_need_the_search():
    for knowledge in Knowledge:
        has_closed_form = knowledge > Knowledge.NOTHING
        assert uses_closed_form(knowledge, {}) == has_closed_form
        assert uses_closed_form(knowledge, {'target_tolerance': 1e-2}) == has_closed_form
        assert not uses_closed_form(knowledge, {'gd_max_iters': 7})
        assert not uses_closed_form(knowledge, {'target_tolerance': 1e-2, 'solve_mode': 'x'})


def test_a_chain_without_closed_form_says_why():
    arm = Manipulator.from_dh(np.zeros(8), np.ones(8), np.zeros(8))
    solver, reason = find_closed_form(
        lambda: create_solver('ssik_ros/Analytic', arm.robot, arm.group)
    )
    assert solver is None and reason


@pytest.mark.parametrize('name', ['target_tolerance', 'epsilon'])
@pytest.mark.parametrize('tolerance', [1e-2, 1e-3, 1e-6, 1e-9])
def test_a_tolerance_never_changes_which_solver_a_manipulator_calls(arm, name, tolerance):
    for target, seed in requests(arm, 4):
        for q_seed in (None, seed):
            expected, first = arm.solve(target, q_seed=q_seed, explain=True)
            solutions, second = arm.solve(target, q_seed=q_seed, explain=True, **{name: tolerance})
            assert (second.solver_name, second.dispatch_reason) == (
                first.solver_name,
                first.dispatch_reason,
            )
            assert [s.q.tobytes() for s in solutions] == [s.q.tobytes() for s in expected]


def test_solutions_of_a_closed_form_are_within_a_tighter_tolerance(arm):
    for target, _ in requests(arm, 4):
        for tolerance in (1e-13, 1e-15):
            solutions = arm.solve(target, target_tolerance=tolerance)
            assert all(solution.fk_residual <= tolerance for solution in solutions)
