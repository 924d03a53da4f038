"""``ssik solvers`` and ``ssik robots``."""

from importlib.metadata import EntryPoint
import json

import pytest

from ssik_ros.cli.command import main
from ssik_ros.errors import PluginLoadError
from ssik_ros.solvers import registry


def test_robots_lists_every_shipped_robot_with_its_groups(capsys):
    assert main(['robots', '--json']) == 0
    robots = {robot['name']: robot for robot in json.loads(capsys.readouterr().out)}
    assert {'panda', 'fanuc', 'gen3', 'ur5e'} <= set(robots)
    assert 'panda_arm' in [group['name'] for group in robots['panda']['groups']]


def test_robots_prints_a_table(capsys):
    assert main(['robots']) == 0
    assert 'ur_manipulator' in capsys.readouterr().out


def test_solvers_lists_parameters_with_default_range_and_alias(capsys):
    assert main(['solvers', 'ssik_ros/PoseIK', '--json']) == 0
    (solver,) = json.loads(capsys.readouterr().out)
    parameters = {parameter['name']: parameter for parameter in solver['parameters']}
    assert solver['aliases'] == ['pose_ik_plugin/PoseIKPlugin']
    assert (parameters['gd_max_iters']['default'], parameters['gd_max_iters']['allowed']) == (
        100,
        'int >= 1',
    )
    assert parameters['target_tolerance']['aliases'] == ['epsilon']
    assert parameters['target_tolerance']['description']


def test_solvers_prints_units_in_brackets(capsys):
    assert main(['solvers', 'ssik_ros/PoseIK']) == 0
    assert '[m]' in capsys.readouterr().out.replace('\n', '')


def test_a_solver_that_does_not_exist_is_an_error(capsys):
    assert main(['solvers', 'ssik_ros/PosIK']) == 2
    assert "Did you mean 'ssik_ros/PoseIK'" in capsys.readouterr().err


def test_a_broken_solver_of_another_package_is_listed_with_the_reason(monkeypatch, capsys):
    entry = EntryPoint('acme/X', 'acme_is_missing:SPEC', registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, 'entry_points', lambda group: [entry])
    assert main(['solvers', '--json']) == 0
    listed = {solver['name']: solver for solver in json.loads(capsys.readouterr().out)}
    assert 'acme_is_missing' in listed['acme/X']['description']
    with pytest.raises(PluginLoadError):
        registry.solver_spec('acme/X')


def test_robots_lists_the_arms_of_the_catalogue_when_all_are_asked_for(capsys):
    assert main(['robots', '--all', '--json']) == 0
    robots = {robot['name']: robot for robot in json.loads(capsys.readouterr().out)}
    assert {'panda', 'jaco2', 'iiwa14'} <= set(robots)
    assert robots['jaco2']['groups'][0]['name'] == 'general_6r'
    assert main(['robots', '--all']) == 0
    assert 'rizon4' in capsys.readouterr().out
