"""Every name that ssik's API reference documents is there: classes, methods, arguments, fields, verbs."""

import dataclasses
import inspect
import typing

import numpy as np
import pytest

import ssik_ros
from ssik_ros.cli.command import make_parser

SOLVE = {
    'explain': False,
    'max_solutions': None,
    'q_seed': None,
    'respect_limits': True,
    'allow_refinement': False,
    'policy': ssik_ros.DEFAULT_TOLERANCE_POLICY,
    'refinement_max_iters': 15,
}
PUBLIC = (
    *('Manipulator', 'KinBody', 'Solution', 'RefinementMode', 'Diagnostic', 'TolerancePolicy'),
    *('DEFAULT_TOLERANCE_POLICY', 'postprocess'),
)
MEMBERS = {
    'Manipulator': ('solver_name', 'kinbody', 'from_urdf', 'solve', 'ik', 'fk'),
    'Solution': ('q', 'fk_residual', 'refinement_used'),
    'Diagnostic': (
        *('solver_name', 'solver_tier', 'dispatch_reason', 'raw_candidates', 'dropped_by_limits'),
        *('dropped_by_max_solutions', 'final_count', 'max_fk_residual', 'refinement_engaged'),
        *('fk_atol', 'warnings', 'summary'),
    ),
    'TolerancePolicy': (
        *('axis_parallel', 'axis_intersect', 'subproblem_feasibility', 'subproblem_numerical'),
        *('subproblem_degeneracy', 'subproblem_dedup'),
    ),
    'postprocess': ('respect_limits', 'wrap_to_limits', 'nearest_to_seed', 'take_first'),
}
ARGUMENTS = {
    ('Manipulator', 'from_urdf'): ('path', 'base', 'ee', 'policy'),
    ('Manipulator', 'solve'): ('T_target', *SOLVE),
    ('Manipulator', 'ik'): ('T_target', *SOLVE),
    ('Manipulator', 'fk'): ('q',),
    ('postprocess', 'respect_limits'): ('sols', 'kb'),
    ('postprocess', 'wrap_to_limits'): ('sols', 'kb'),
    ('postprocess', 'nearest_to_seed'): ('sols', 'q_seed', 'metric'),
    ('postprocess', 'take_first'): ('sols', 'k'),
}
VERBS = {
    'build': ['arm.urdf', '--base', 'a', '--ee', 'b', '--out', 'c'],
    'classify': ['arm.urdf', '--base', 'a', '--ee', 'b'],
    'add-arm': ['arm.urdf', '--base', 'a', '--ee', 'b', '--name', 'c'],
}


@pytest.fixture(scope='module')
def arm():
    """Return an arm with eight branches."""
    return ssik_ros.Manipulator.from_prebuilt('ur5e')


@pytest.mark.parametrize('name', PUBLIC)
def test_a_documented_name_is_public(name):
    assert name in ssik_ros.__all__ and name in dir(ssik_ros)
    assert getattr(ssik_ros, name) is not None


@pytest.mark.parametrize('owner', MEMBERS)
def test_documented_members_are_there(owner):
    kind = getattr(ssik_ros, owner)
    fields = {field.name for field in dataclasses.fields(kind)} if owner == 'Diagnostic' else set()
    assert [name for name in MEMBERS[owner] if not (hasattr(kind, name) or name in fields)] == []


@pytest.mark.parametrize(('owner', 'name'), ARGUMENTS)
def test_documented_arguments_are_taken_under_their_names(owner, name):
    taken = inspect.signature(getattr(getattr(ssik_ros, owner), name)).parameters
    assert [argument for argument in ARGUMENTS[owner, name] if argument not in taken] == []


@pytest.mark.parametrize('name', ['solve', 'ik'])
def test_documented_defaults_of_a_solve_are_the_defaults(name):
    taken = inspect.signature(getattr(ssik_ros.Manipulator, name)).parameters
    assert {argument: taken[argument].default for argument in SOLVE} == SOLVE
    assert taken['solver_kwargs'].kind == inspect.Parameter.VAR_KEYWORD


def test_ik_returns_the_result_of_solve(arm):
    q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    target = arm.fk(q)
    solutions, diagnostic = arm.ik(target, q_seed=q, explain=True, max_solutions=3)
    expected, other = arm.solve(target, q_seed=q, explain=True, max_solutions=3)
    assert [s.q.tobytes() for s in solutions] == [s.q.tobytes() for s in expected]
    assert diagnostic == other and len(solutions) == 3


def test_a_refinement_mode_is_what_solutions_say(arm):
    modes = typing.get_args(ssik_ros.RefinementMode)
    assert typing.get_type_hints(ssik_ros.Solution)['refinement_used'] == ssik_ros.RefinementMode
    target = arm.fk([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    for method in (None, 'ssik_ros/Auto'):
        assert {s.refinement_used for s in arm.solve(target, method=method)} <= set(modes)


@pytest.mark.parametrize('verb', VERBS)
def test_documented_verbs_of_the_command_take_their_options(verb):
    parsed = make_parser(verb).parse_args([verb, *VERBS[verb]])
    assert 'arm.urdf' in [str(value) for value in vars(parsed).values()]
