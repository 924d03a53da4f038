"""The launch files: their arguments, and, if launch is installed, the nodes that they start."""

import ast
from importlib.util import find_spec
import json
import os
from pathlib import Path
import re
import shlex
import shutil
import signal
import subprocess
import sys

from test.launch.launch_stand_ins import declared_arguments, load_launch_file

import pytest

from ssik_ros.ros.parameters.launch_arguments import node_arguments, require_known_arguments
from ssik_ros.solvers.options.parameter_file import load_schema

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / 'launch'
FILES = sorted(FOLDER.glob('*.launch.py'))
WAIT = 150.0
BASIC = {
    'ik_server.launch.py': {
        'namespace',
        'use_sim_time',
        'robot_description_file',
        'xacro_args',
        'semantic_file',
        'kinematics_file',
        'joint_limits_file',
        'moveit_config_package',
        'task_sets_file',
        'params_file',
        'group',
        'base_link',
        'tip_link',
        'log_level',
        'respawn',
    },
    'ik_stream.launch.py': {
        'namespace',
        'task_sets_file',
        'task_sets',
        'moveit_config_package',
        'robot_description_file',
        'output',
        'rate',
        'max_age',
        'max_state_age',
        'speed_scale',
        'params_file',
        'log_level',
    },
    'mechanism.launch.py': {
        'mechanism',
        'namespace',
        'use_sim_time',
        'server',
        'relay',
        'state_publisher',
        'log_level',
    },
    'drag_target.launch.py': {
        'moveit_config_package',
        'interactive_group',
        'use_sim_time',
        'state_publisher',
        'rviz',
        'log_level',
    },
    'benchmark.launch.py': {
        'namespace',
        'config',
        'output_dir',
        'samples',
        'robot',
        'seeds',
        'start_server',
        'service',
        'solver',
        'log_level',
    },
}


def parse(path):
    return ast.parse(path.read_text(encoding='utf-8'))


def calls(tree, name):
    """Return all calls of a function by its name."""
    every_call = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call for call in every_call if getattr(call.func, 'id', '') == name]


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def path(request):
    return request.param


def test_there_are_the_files_of_the_manual():
    assert [path.name for path in FILES] == sorted(BASIC)


def test_file_compiles(path):
    compile(path.read_text(encoding='utf-8'), str(path), 'exec')


def test_every_argument_has_a_description_that_is_a_sentence(path, monkeypatch):
    declared = declared_arguments(load_launch_file(path.name, monkeypatch))
    assert declared.keys() >= BASIC[path.name]
    for name, keywords in declared.items():
        description = keywords['description']
        assert description.endswith('.') and len(description) > 10, name
        assert isinstance(keywords['default_value'], str), name


def test_every_yes_or_no_has_choices(path, monkeypatch):
    declared = declared_arguments(load_launch_file(path.name, monkeypatch))
    for name, keywords in declared.items():
        if keywords['default_value'] in ('true', 'false'):
            assert keywords['choices'] == ['true', 'false'], name


def test_every_value_of_a_parameter_has_a_type():
    parts = ROOT / 'ssik_ros' / 'ros' / 'launch_nodes.py'
    values = [call for file in (parts, *FILES) for call in calls(parse(file), 'ParameterValue')]
    assert values
    for call in values:
        assert any(k.arg == 'value_type' for k in call.keywords), ast.unparse(call)


def schema_of(name):
    """Return the parameters of a node by name."""
    schema = load_schema(f'ssik_ros.ros:{name}_parameters.yaml')
    return {parameter.name: parameter for parameter in schema.parameters}


NODES = {
    'ik_server.launch.py': 'ik_server',
    'ik_stream.launch.py': 'ik_stream',
    'benchmark.launch.py': 'ik_benchmark',
}
OF_ROS = {'use_sim_time'}


@pytest.mark.parametrize('name', NODES)
def test_arguments_for_a_node_are_its_parameters_with_types_and_defaults(name, monkeypatch):
    loaded, parameters = load_launch_file(name, monkeypatch), schema_of(NODES[name])
    kinds = {str: 'string', int: 'int', float: 'double', bool: 'bool'}
    for argument in loaded['PARAMETERS']:
        if argument.name not in OF_ROS:
            assert parameters[argument.name].type.scalar == kinds[argument.type], argument.name
            default = str(parameters[argument.name].default)
            assert default.lower() == argument.default.lower(), argument.name


def test_values_that_a_parameter_allows_are_choices():
    arguments = {argument.name: argument for argument in node_arguments('ik_benchmark')}
    assert (
        arguments['robot'].choices == ('config', 'topics') and arguments['service'].choices == ()
    )
    assert arguments['plots'].default == 'true' and arguments['plots'].choices == ('true', 'false')


PAGES = sorted([*ROOT.glob('*.md'), *(ROOT / 'docs').rglob('*.md')])


def documented(command):
    """Return the words after a command in README and docs, one list for each line."""
    lines = []
    for page in PAGES:
        text = page.read_text(encoding='utf-8').replace('\\\n', ' ')
        lines += re.findall(rf'{re.escape(command)} ([^`\n]*)', text)
    return [shlex.split(line, comments=True) for line in lines]


def assert_files_exist(value):
    """Check that a value which looks like a file of this repository is one; ``/path/to/`` stands for the user's own."""
    if not value.startswith('/path/to/') and value.endswith(('.urdf', '.srdf', '.yaml', '.xacro')):
        assert (ROOT / value).is_file(), f'{value} does not exist'


def test_documented_launch_commands_have_arguments_and_files_that_exist(monkeypatch):
    commands = documented('ros2 launch ssik_ros')
    assert len(commands) >= 8
    for name, *words in commands:
        declared = declared_arguments(load_launch_file(name, monkeypatch))
        for word in words:
            argument, mark, value = word.partition(':=')
            assert word == '--show-args' or (mark and argument in declared), f'{name} {word}'
            assert_files_exist(value)


def test_documented_nodes_have_parameters_and_files_that_exist():
    commands = [words for words in documented('ros2 run ssik_ros') if '--ros-args' in words]
    assert len(commands) >= 4
    for node, *words in commands:
        for flag, word in zip(words[1::2], words[2::2], strict=True):
            name, _, value = word.partition(':=')
            is_remapping = flag == '-r' and name == '__ns'
            assert is_remapping or (flag == '-p' and name in schema_of(node)), f'{node} {word}'
            assert_files_exist(value)


COMMAND = ['/opt/ros/bin/ros2', 'launch', 'ssik_ros', 'ik_server.launch.py']


def test_misspelt_argument_is_refused_with_the_names_that_there_are():
    arguments = node_arguments('ik_server')
    with pytest.raises(
        ValueError, match=r"'moveit_config_pakage'.*'moveit_config_package'"
    ) as told:
        words = [*COMMAND, 'moveit_config_pakage:=panda']
        require_known_arguments(words, 'ik_server.launch.py', arguments)
    assert 'ik_server.launch.py has no argument' in str(told.value)
    assert 'base_link' in str(told.value)


@pytest.mark.parametrize(
    'words',
    [
        [*COMMAND, 'moveit_config_package:=panda', 'cell:=left'],
        [*COMMAND[:3], 'cell.launch.py', 'moveit_config_pakage:=panda'],
        [*COMMAND, '--show-args'],
    ],
)
def test_other_arguments_are_left_to_others(words):
    require_known_arguments(words, '/somewhere/ik_server.launch.py', node_arguments('ik_server'))


# Without ROS, ``launch`` is the folder of this repository, so the test looks for other modules of launch.
needs_launch = pytest.mark.skipif(
    find_spec('launch_ros') is None or find_spec('launch_testing') is None,
    reason='launch, launch_ros or launch_testing is not installed',
)


def installed():
    """Skip where launch would not find the executables."""
    index = 'share/ament_index/resource_index/packages/ssik_ros'
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    if not any((Path(prefix) / index).is_file() for prefix in prefixes if prefix):
        pytest.skip('ssik_ros is not in AMENT_PREFIX_PATH')


def run(command, folder):
    """Return a command that has ended, in the ROS domain of this process."""
    installed()
    environment = {**os.environ, 'ROS_LOG_DIR': str(folder)}
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        output, _ = process.communicate(timeout=WAIT)
    except subprocess.TimeoutExpired:
        # launch passes this signal on; if it were killed, its processes would remain.
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=WAIT)
        pytest.fail(f'Not ended within {WAIT:g} s.\n{output}')
    return subprocess.CompletedProcess(command, process.returncode, output)


def launch(name, folder, **arguments):
    """Return ``ros2 launch`` of a file that has ended."""
    if shutil.which('ros2') is None:
        pytest.skip('there is no ros2 command')
    words = (f'{argument}:={value}' for argument, value in arguments.items())
    return run(['ros2', 'launch', FOLDER / name, *words], folder)


@needs_launch
@pytest.mark.ros
@pytest.mark.slow
def test_server_is_started_asked_and_ended(tmp_path):
    scenario = Path(__file__).with_name('server_launch_scenario.py')
    ended = run([sys.executable, '-m', 'launch_testing.launch_test', scenario], tmp_path)
    assert ended.returncode == 0, ended.stdout


@needs_launch
@pytest.mark.ros
@pytest.mark.slow
def test_benchmark_starts_its_server_asks_it_and_ends_all(tmp_path):
    arguments = {'config': 'ur5e', 'samples': 20, 'plots': 'false', 'namespace': 'cell'}
    output = tmp_path / 'out'
    ended = launch('benchmark.launch.py', tmp_path, output_dir=output, **arguments)
    assert ended.returncode == 0, ended.stdout
    assert 'The benchmark ended with exit code 0.' in ended.stdout
    assert ended.stdout.count('process has finished cleanly') == 2, ended.stdout
    (report,) = json.loads((output / 'summary.json').read_text(encoding='utf-8'))
    (solver,) = report['solvers']
    assert (solver['service'], solver['found']) == ('/cell/PoseIK/compute_ik', 20)
    assert solver['server_median_us'] < solver['median_us']


@needs_launch
@pytest.mark.ros
@pytest.mark.slow
def test_launch_does_not_call_a_failed_benchmark_a_success(tmp_path):
    arguments = {'start_server': 'false', 'service_timeout': 0.5, 'output_dir': tmp_path / 'out'}
    ended = launch('benchmark.launch.py', tmp_path, **arguments)
    assert ended.returncode == 1, ended.stdout
    assert 'The benchmark ended with exit code 1.' in ended.stdout


@needs_launch
@pytest.mark.ros
@pytest.mark.slow
def test_launch_ends_where_an_argument_is_misspelt(path, tmp_path):
    ended = launch(path.name, tmp_path, log_levl='info')
    assert ended.returncode == 1, ended.stdout
    assert "has no argument 'log_levl'. Did you mean 'log_level'?" in ended.stdout


@needs_launch
@pytest.mark.ros
@pytest.mark.slow
def test_arguments_are_shown(path, tmp_path):
    if shutil.which('ros2') is None:
        pytest.skip('there is no ros2 command')
    shown = run(['ros2', 'launch', path, '--show-args'], tmp_path)
    assert shown.returncode == 0, shown.stdout
    for name in BASIC[path.name]:
        assert f"'{name}':" in shown.stdout
