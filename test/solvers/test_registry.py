"""The table of solvers: names, parameters, third-party entry points and their failures."""

import dataclasses
import importlib
from importlib.metadata import EntryPoint
import logging
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from ssik_ros.errors import InvalidParameter, PluginLoadError, TopologyMismatch, UnknownSolver
from ssik_ros.problem.contract import SolverSpec
from ssik_ros.solvers import registry
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions

GROUP = SimpleNamespace(name='arm', joint_names=('joint',))


def make_fake(robot, group, options):
    """Return a double of a solver, with the arguments of its constructor."""
    return SimpleNamespace(name='acme/Fake', robot=robot, group=group, options=options)


def refuse_chain(robot, group, options):
    raise TopologyMismatch('seven joints expected')


def fail(robot, group, options):
    raise ZeroDivisionError('oops')


FAKE = SolverSpec(
    name='acme/Fake',
    description='A fake.',
    options_type=PoseIkOptions,
    parameters_file='ssik_ros.solvers.search.pose_ik:pose_ik_parameters.yaml',
    factory=make_fake,
    parameter_aliases={'tol': 'target_tolerance'},
)
MISNAMED = dataclasses.replace(FAKE, name='acme/Other')
REFUSING = dataclasses.replace(FAKE, factory=refuse_chain)
FAILING = dataclasses.replace(FAKE, factory=fail)
NOT_A_SPEC = 42


def make_spec():
    return FAKE


def raise_at_load():
    raise RuntimeError('no licence')


@pytest.fixture
def offer(monkeypatch):
    """Return a function that installs third-party entry points of the solver group."""

    def install(*entries):
        points = [EntryPoint(name, value, registry.ENTRY_POINT_GROUP) for name, value in entries]
        monkeypatch.setattr(registry, 'entry_points', lambda group: points)

    return install


def here(attribute):
    """Return the import path of an attribute of this module."""
    return f'{__name__}:{attribute}'


@pytest.mark.parametrize('spec', registry.SOLVERS, ids=lambda spec: spec.name)
def test_options_and_parameter_file_of_every_row_agree(spec):
    options = dataclasses.asdict(registry.make_options(spec))
    assert options == {p.name: p.default for p in registry.solver_schema(spec).parameters}


@pytest.mark.parametrize('spec', registry.SOLVERS, ids=lambda spec: spec.name)
def test_factory_of_every_row_imports(spec):
    module, _, attribute = spec.factory.partition(':')
    assert callable(getattr(importlib.import_module(module), attribute))


@pytest.mark.parametrize('spec', registry.SOLVERS, ids=lambda spec: spec.name)
def test_parameter_aliases_of_every_row_name_parameters(spec):
    assert set(spec.parameter_aliases.values()) <= set(registry.solver_schema(spec).names)


def test_names_and_aliases_are_unique():
    names = [name for spec in registry.SOLVERS for name in (spec.name, *spec.aliases)]
    assert len(names) == len(set(names))


def test_the_moveit_plugin_name_means_pose_ik():
    assert registry.solver_spec('pose_ik_plugin/PoseIKPlugin').name == 'ssik_ros/PoseIK'


def test_an_unknown_name_is_an_error_that_names_the_nearest():
    with pytest.raises(UnknownSolver, match="Did you mean 'ssik_ros/PoseIK'"):
        registry.solver_spec('ssik_ros/PosIK')


@pytest.mark.parametrize('attribute', ['FAKE', 'make_spec'])
def test_a_third_party_solver_is_found_by_entry_point(offer, attribute):
    offer(('acme/Fake', here(attribute)))
    solver = registry.create_solver('acme/Fake', 'robot', GROUP, {'tol': 0.5})
    assert (solver.robot, solver.group) == ('robot', GROUP)
    assert solver.options == PoseIkOptions(target_tolerance=0.5)


def test_listing_names_third_party_solvers_without_importing_them(offer):
    offer(('acme/Broken', 'acme_does_not_exist:SPEC'))
    built_in = tuple(spec.name for spec in registry.SOLVERS)
    assert registry.list_solvers() == (*built_in, 'acme/Broken')


def test_a_solver_that_does_not_import_is_an_error_that_keeps_the_cause(offer):
    offer(('acme/Broken', 'acme_does_not_exist:SPEC'))
    with pytest.raises(PluginLoadError, match='acme_does_not_exist') as caught:
        registry.solver_spec('acme/Broken')
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_solver_that_raises_at_load_is_an_error_that_keeps_the_cause(offer):
    offer(('acme/Fake', here('raise_at_load')))
    with pytest.raises(PluginLoadError, match='no licence') as caught:
        registry.solver_spec('acme/Fake')
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ('attribute', 'message'), [('NOT_A_SPEC', 'not a SolverSpec'), ('MISNAMED', 'acme/Other')]
)
def test_an_entry_point_that_holds_something_else_is_an_error(offer, attribute, message):
    offer(('acme/Fake', here(attribute)))
    with pytest.raises(PluginLoadError, match=message):
        registry.solver_spec('acme/Fake')


def test_two_packages_with_one_name_are_an_error_that_names_both(offer):
    offer(('acme/Fake', here('FAKE')), ('acme/Fake', 'other_package.solver:SPEC'))
    with pytest.raises(PluginLoadError, match=r'FAKE.*other_package\.solver:SPEC'):
        registry.solver_spec('acme/Fake')


def test_a_built_in_name_cannot_be_taken_and_the_attempt_is_logged(offer, caplog):
    # Each attempt is logged once in a process.
    taken = f'taken_{time.monotonic_ns()}:SPEC'
    offer(('ssik_ros/PoseIK', taken))
    with caplog.at_level(logging.WARNING):
        assert registry.list_solvers().count('ssik_ros/PoseIK') == 1
        assert registry.solver_spec('ssik_ros/PoseIK') is not FAKE
    assert [taken in record.getMessage() for record in caplog.records] == [True]


def test_a_misspelt_parameter_is_refused_before_the_solver_is_made(offer):
    offer(('acme/Fake', here('FAILING')))
    with pytest.raises(InvalidParameter, match='target_tolerance'):
        registry.create_solver('acme/Fake', 'robot', GROUP, {'target_tolerence': 1.0})


def test_an_error_of_ours_from_a_constructor_passes_unchanged(offer):
    offer(('acme/Fake', here('REFUSING')))
    with pytest.raises(TopologyMismatch, match='seven joints'):
        registry.create_solver('acme/Fake', 'robot', GROUP)


def test_any_other_error_from_a_constructor_names_solver_and_group_and_is_kept(offer):
    offer(('acme/Fake', here('FAILING')))
    with pytest.raises(PluginLoadError, match=r"acme/Fake.*'arm'.*oops") as caught:
        registry.create_solver('acme/Fake', 'robot', GROUP)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_listing_imports_no_solver():
    code = (
        'import sys; from ssik_ros.solvers import registry; registry.list_solvers();'
        "sys.exit('ssik_ros.solvers.search.pose_ik.solver' in sys.modules)"
    )
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


def test_a_solver_without_position_only_says_so(monkeypatch):
    monkeypatch.setattr(registry, 'SOLVERS', (FAKE,))
    with pytest.raises(InvalidParameter, match='does not offer position_only_ik'):
        registry.create_solver(FAKE.name, None, GROUP, position_only=True)
