"""The launch files: what they declare, and where launch is installed, what they start."""

import ast
from importlib.util import find_spec
import json
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys

import pytest

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
        'ik_groups_file',
        'params_file',
        'group',
        'base_link',
        'tip_link',
        'log_level',
        'respawn',
    },
    'ik_stream.launch.py': {
        'namespace',
        'ik_groups_file',
        'groups',
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
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call for call in found if getattr(call.func, 'id', '') == name]


def tables(tree):
    """Return the constant tables at the top of a file, by name; types stand as their names."""
    values = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            rows = [
                [getattr(cell, 'id', None) or _value(cell) for cell in row.elts]
                for row in node.value.elts
                if isinstance(row, ast.Tuple)
            ]
            values[node.targets[0].id] = rows
    return values


def _value(cell):
    return None if isinstance(cell, ast.Name) else ast.literal_eval(cell)


def arguments_of(path):
    """Return the description of each launch argument."""
    tree = parse(path)
    described = {row[0]: row[-1] for rows in tables(tree).values() for row in rows}
    for call in calls(tree, 'DeclareLaunchArgument'):
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        assert {'default_value', 'description'} <= keywords.keys(), ast.unparse(call)
        if isinstance(call.args[0], ast.Constant):
            described[call.args[0].value] = ast.literal_eval(keywords['description'])
    return described


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def path(request):
    return request.param


def test_there_are_the_files_of_the_manual():
    assert [path.name for path in FILES] == sorted(BASIC)


def test_file_compiles(path):
    compile(path.read_text(encoding='utf-8'), str(path), 'exec')


def test_every_argument_has_a_description_that_is_a_sentence(path):
    described = arguments_of(path)
    assert described.keys() >= BASIC[path.name]
    for name, description in described.items():
        assert description.endswith('.') and len(description) > 10, name


def test_every_yes_or_no_has_choices(path):
    for call in calls(parse(path), 'DeclareLaunchArgument'):
        keywords = {k.arg: ast.unparse(k.value) for k in call.keywords}
        if keywords['default_value'] in ("'true'", "'false'"):
            assert keywords['choices'] == "['true', 'false']", ast.unparse(call)


def test_every_value_of_a_parameter_has_a_type(path):
    for call in calls(parse(path), 'ParameterValue'):
        assert any(k.arg == 'value_type' for k in call.keywords), ast.unparse(call)


def schema_of(name):
    """Return the parameters of a node by name."""
    load_schema = pytest.importorskip('ssik_ros.solvers.parameter_file').load_schema
    schema = load_schema(f'ssik_ros.ros:{name}_parameters.yaml')
    return {parameter.name: parameter for parameter in schema.parameters}


def test_texts_of_the_server_are_its_parameters_with_their_defaults():
    parameters = schema_of('ik_server')
    for name, default, _ in tables(parse(FOLDER / 'ik_server.launch.py'))['TEXTS']:
        assert (parameters[name].type.scalar, parameters[name].default) == ('string', default)


def test_arguments_of_the_benchmark_are_its_parameters_with_types_and_defaults():
    parameters = schema_of('ik_benchmark')
    kinds = {'str': 'string', 'int': 'int', 'float': 'double', 'bool': 'bool'}
    rows = tables(parse(FOLDER / 'benchmark.launch.py'))['PARAMETERS']
    for name, kind, default, _, _ in rows:
        assert parameters[name].type.scalar == kinds[kind], name
        assert str(parameters[name].default).lower() == default, name


# The folder launch of this repository can be imported too, where there is no other: hence a module of it.
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
        # By a signal that launch passes on: killed, it would leave its processes behind.
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
def test_arguments_are_shown(path, tmp_path):
    if shutil.which('ros2') is None:
        pytest.skip('there is no ros2 command')
    shown = run(['ros2', 'launch', path, '--show-args'], tmp_path)
    assert shown.returncode == 0, shown.stdout
    for name in BASIC[path.name]:
        assert f"'{name}':" in shown.stdout
