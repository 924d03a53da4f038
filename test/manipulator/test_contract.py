"""Names, arguments, defaults and return values of ssik's interface, one by one."""

import dataclasses
import inspect
import math
import pickle

import numpy as np
import pytest

import ssik_ros
from ssik_ros import (
    BatchSolutions,
    Cause,
    DEFAULT_TOLERANCE_POLICY,
    Diagnostic,
    KinBody,
    Manipulator,
    postprocess,
    Solution,
    TolerancePolicy,
)

REQUIRED = inspect.Parameter.empty
SOLVE = {
    'explain': False,
    'max_solutions': None,
    'q_seed': None,
    'respect_limits': True,
    'allow_refinement': False,
    'policy': DEFAULT_TOLERANCE_POLICY,
    'refinement_max_iters': 15,
    'seed_metric': 'wrap_l2',
    'seed_tolerance': None,
    'enumerate_windings': False,
    'hold': None,
    'arm_angle': None,
    'redundancy_samples': None,
    'method': None,
    'timeout': None,
}


def keywords(function):
    """Return defaults of the keyword-only parameters of a function."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind == p.KEYWORD_ONLY}


def positional(function):
    """Return names and defaults of the positional parameters of a function."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD}


@pytest.fixture(scope='module')
def arm():
    """Return an arm with eight branches."""
    return Manipulator.from_prebuilt('ur5e')


POSTURE = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])


def test_solve_has_the_arguments_of_the_contract():
    # The signature is shortened for `help`; the other keywords are in the docstring.
    assert keywords(Manipulator.solve).items() <= {**SOLVE, 'scene': None, 'cost': None}.items()
    assert all(f':param {name}:' in Manipulator.solve.__doc__ for name in SOLVE)
    assert list(positional(Manipulator.solve)) == ['self', 'T_target']
    kinds = [p.kind for p in inspect.signature(Manipulator.solve).parameters.values()]
    assert kinds[-1] == inspect.Parameter.VAR_KEYWORD


@pytest.mark.parametrize('name', ['ur5e', 'panda', 'irb120'])
def test_the_defaults_of_solve_are_those_of_the_contract(name):
    arm = Manipulator.from_prebuilt(name)
    target = arm.fk(arm.neutral + 0.1)
    solutions = [solution.q for solution in arm.solve(target, **SOLVE)]
    assert solutions
    assert np.array_equal(solutions, [solution.q for solution in arm.solve(target)])


def test_constructors_have_the_arguments_of_the_contract():
    assert keywords(Manipulator.__init__) == {'policy': DEFAULT_TOLERANCE_POLICY}
    assert positional(Manipulator.from_urdf) == {'path': REQUIRED}
    assert keywords(Manipulator.from_urdf) == {
        'base': None,
        'ee': None,
        'tip': None,
        'policy': DEFAULT_TOLERANCE_POLICY,
        'joint_limits': None,
        'xacro_args': None,
    }
    assert list(positional(Manipulator.from_axes)) == ['H', 'P', 'limits']
    assert list(positional(Manipulator.from_transforms)) == ['T', 'axis', 'limits']
    assert list(positional(Manipulator.from_dh)) == ['alpha', 'a', 'd', 'limits']
    assert list(positional(Manipulator.from_prebuilt)) == ['name']


def test_postprocess_has_the_functions_of_the_contract():
    assert ssik_ros.postprocess is postprocess
    assert list(positional(postprocess.respect_limits)) == ['sols', 'kb']
    assert list(positional(postprocess.wrap_to_limits)) == ['sols', 'kb']
    assert positional(postprocess.nearest_to_seed) == {
        'sols': REQUIRED,
        'q_seed': REQUIRED,
        'metric': 'wrap_l2',
    }
    assert list(positional(postprocess.take_first)) == ['sols', 'k']


def test_properties_of_the_contract(arm):
    assert arm.dof == 6 and arm.solver_name == 'ikgeo.three_parallel'
    assert arm.joint_limits[0] == pytest.approx((-2 * math.pi, 2 * math.pi))
    assert isinstance(arm.kinbody, KinBody) and arm.kinbody.joints[0].limits == arm.joint_limits[0]
    assert arm.dispatch_plan.tier == 0 and 'parallel' in arm.dispatch_plan.reason
    for part in ('6 DOF', 'ikgeo.three_parallel', 'tier 0'):
        assert part in repr(arm)


@pytest.mark.parametrize(
    ('name', 'solver', 'tier'),
    [
        ('ur3e', 'ikgeo.three_parallel', 0),
        ('puma560', 'ikgeo.spherical_two_parallel', 0),
        ('gofa', 'ikgeo.general_6r', 2),
        ('panda', 'seven_r.spherical_shoulder', 0),
        ('iiwa14', 'seven_r.srs', 0),
        ('gen3', 'seven_r.srs_polished', 0),
        ('hsr065', 'ikgeo.spherical_rpr', 0),
        ('stanford', 'ikgeo.spherical_rrp', 0),
    ],
)
def test_names_and_tiers_of_solvers(name, solver, tier):
    plan = Manipulator.from_prebuilt(name).dispatch_plan
    assert (plan.solver_name, plan.tier) == (solver, tier) and plan.reason


def test_solve_returns_a_list_of_solutions(arm):
    target = arm.fk(POSTURE)
    solutions = arm.solve(target)
    assert isinstance(solutions, list) and len(solutions) == 8
    for solution in solutions:
        assert isinstance(solution, Solution)
        assert solution._fields == ('q', 'fk_residual', 'refinement_used', 'continuum')
        assert solution.continuum is None
        assert solution.q.shape == (6,) and solution.refinement_used == 'none'
        assert type(solution.fk_residual) is float and solution.fk_residual < 1e-9
        assert np.linalg.norm(arm.fk(solution.q) - target) < 1e-9


def test_explain_returns_a_diagnostic_beside_the_same_solutions(arm):
    target = arm.fk(POSTURE)
    solutions, diagnostic = arm.solve(target, explain=True)
    assert [s.q.tobytes() for s in solutions] == [s.q.tobytes() for s in arm.solve(target)]
    assert isinstance(diagnostic, Diagnostic) and diagnostic.final_count == 8
    for name in (
        'solver_name',
        'solver_tier',
        'dispatch_reason',
        'raw_candidates',
        'dropped_by_limits',
        'dropped_by_max_solutions',
        'final_count',
        'max_fk_residual',
        'refinement_engaged',
        'fk_atol',
        'warnings',
        'geometric_branches',
        'winding_representatives',
    ):
        assert hasattr(diagnostic, name)
    with pytest.raises(dataclasses.FrozenInstanceError):
        diagnostic.final_count = 0
    assert pickle.loads(pickle.dumps(diagnostic)) == diagnostic


def test_a_diagnostic_tells_four_cases_apart(arm):
    target = arm.fk(POSTURE)
    far = target.copy()
    far[:3, 3] *= 50.0
    narrow = Manipulator.from_urdf(
        arm.robot.urdf_xml,
        joint_limits={
            'joint_limits': {
                'elbow_joint': {
                    'has_position_limits': True,
                    'min_position': 0.0,
                    'max_position': 0.01,
                }
            }
        },
    )
    texts = [
        arm.solve(target, explain=True)[1],
        arm.solve(far, explain=True)[1],
        narrow.solve(target, explain=True)[1],
        arm.solve(target, explain=True, max_solutions=2)[1],
        arm.solve(target, explain=True, max_solutions=0)[1],
    ]
    begins = [text.summary().split(':')[0] for text in texts]
    assert begins == ['Reachable', 'Unreachable', 'All filtered', 'Reachable', 'Capped']
    assert '6 more' in texts[3].summary()
    assert [text.cause for text in texts] == [
        Cause.NONE,
        Cause.UNREACHABLE,
        Cause.LIMITS,
        Cause.NONE,
        Cause.NONE,
    ]
    assert texts[1].raw_candidates == 0 and math.isnan(texts[1].max_fk_residual)
    assert texts[2].raw_candidates == texts[2].dropped_by_limits == 8
    assert texts[3].dropped_by_max_solutions == 6


def test_the_tolerance_policy_has_the_fields_of_the_contract():
    policy = TolerancePolicy()
    assert policy == DEFAULT_TOLERANCE_POLICY
    assert (policy.axis_parallel, policy.axis_intersect) == (1e-8, 1e-8)
    assert (policy.subproblem_feasibility, policy.subproblem_numerical) == (1e-9, 1e-5)
    assert (policy.subproblem_degeneracy, policy.subproblem_dedup) == (1e-12, 1e-3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.axis_parallel = 1.0


def test_solve_q_and_solve_batch_return_arrays(arm):
    target = arm.fk(POSTURE)
    rows = arm.solve_q(target, POSTURE)
    assert rows.shape == (8, 6) and rows.dtype == np.float64
    batch = arm.solve_batch(np.array([target, target]), POSTURE)
    assert isinstance(batch, BatchSolutions) and len(batch) == 2
    assert [part.tobytes() for part in batch] == [rows.tobytes()] * 2


def test_a_fixed_policy_changes_what_it_says(arm):
    strict = TolerancePolicy(subproblem_postverify=1e-16)
    target = arm.fk(POSTURE)
    solutions, diagnostic = arm.solve(target, policy=strict, explain=True)
    assert diagnostic.fk_atol == 1e-16 and len(solutions) < 8
    assert all(s.fk_residual <= 1e-16 for s in solutions)
    strict_arm = Manipulator(arm.robot, arm.group, policy=strict)
    assert len(strict_arm.solve(target)) == len(solutions)


def test_a_policy_field_that_is_not_read_is_named(arm):
    policy = TolerancePolicy(axis_parallel=1e-6)
    _, diagnostic = arm.solve(arm.fk(POSTURE), policy=policy, explain=True)
    assert len(diagnostic.warnings) == 1 and 'axis_parallel' in diagnostic.summary()
