"""The plugin inside real MoveIt; everything here is skipped where MoveIt is not sourced."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from test.moveit_plugin.transport_programs import (
    description_of,
    GROUP,
    missing_tool,
    PATIENCE,
    ROOT,
    write_command,
)

import pytest
import yaml

from ssik_ros.solvers.registry import list_solvers

index = pytest.importorskip('ament_index_python.packages', reason='ROS 2 is not sourced')
NO_SOLVER = {'kinematics_solver_timeout': 0.05}
OVERRIDES = {'kinematics_solver': 'ssik_ros/Auto', **NO_SOLVER}


def missing_package():
    """Return the reason why the plugin cannot be built; empty if it can."""
    for name in ('moveit_core', 'moveit_ros_planning'):
        try:
            index.get_package_prefix(name)
        except index.PackageNotFoundError:
            return f'{name} is not sourced'
    return missing_tool()


pytestmark = pytest.mark.skipif(bool(missing_package()), reason=missing_package() or 'all there')


@pytest.fixture(scope='module')
def prefix(tmp_path_factory):
    """Return the folder that the plugin and its programs are installed below."""
    build, install = (tmp_path_factory.mktemp('inside') / name for name in ('build', 'install'))
    configure = [
        *('cmake', '-S', str(ROOT / 'moveit_plugin'), '-B', str(build)),
        *(f'-DCMAKE_INSTALL_PREFIX={install}', '-DSSIK_MOVEIT_SCENARIOS=ON'),
        *('-DCMAKE_BUILD_TYPE=Release', f'-DPython3_EXECUTABLE={sys.executable}'),
        f'-DSSIK_COMMAND={write_command(build / "ssik")}',
    ]
    for command in (configure, ['cmake', '--build', str(build), '--target', 'install']):
        done = subprocess.run(command, capture_output=True, text=True, timeout=10 * PATIENCE)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    marker = install / 'share/ament_index/resource_index/packages/ssik_moveit'
    assert marker.is_file(), 'The plugin has not been built.'
    return install, build


def write_parameters(path, **more):
    urdf, srdf = description_of('panda')
    parameters = {
        'robot_description': urdf.read_text(),
        'robot_description_semantic': srdf.read_text(),
        'group': GROUP,
        **more,
    }
    path.write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
    return str(path)


def start(program, prefix, parameters):
    """Start a program that finds the plugin below its prefix, the command, and a cache."""
    install, build = prefix
    environment = {**os.environ, 'XDG_CACHE_HOME': str(build / 'cache')}
    for name, folder in (
        ('AMENT_PREFIX_PATH', install),
        ('LD_LIBRARY_PATH', install / 'lib'),
        ('PATH', build),
    ):
        environment[name] = f'{folder}:{environment.get(name, "")}'
    command = [str(program), '--ros-args', '--params-file', parameters]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


def run_scenario(*arguments, **more):
    """Run a scenario inside MoveIt; return its lines."""
    return run_and_read_log(*arguments, **more)[0]


def run_and_read_log(prefix, folder, scenario, kinematics=OVERRIDES, **more):
    """Run a scenario inside MoveIt; return its lines and the log."""
    _, build = prefix
    parameters = write_parameters(
        folder / 'parameters.yaml',
        scenario=scenario,
        robot_description_kinematics={GROUP: kinematics},
        **more,
    )
    process = start(build / 'moveit_scenarios', prefix, parameters)
    try:
        out, err = process.communicate(timeout=4 * PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, out[-2000:] + err[-8000:]
    return out.splitlines(), err


def test_every_name_alone_loads_its_own_solver(prefix, tmp_path):
    lines, log = run_and_read_log(prefix, tmp_path, 'names', NO_SOLVER)
    told = dict(line.split(' ', 1) for line in lines)
    names = [name for name in list_solvers() if name.startswith('ssik_ros/')]
    assert told.pop('ssik_ros/ClosedChain') == '0 0'
    assert 'kinematics_solver_transport: service' in log
    names.remove('ssik_ros/ClosedChain')
    assert told == dict.fromkeys(names, '1 1')
    assert all(log.count(f"group '{GROUP}': {name}.") == 1 for name in names)


def test_planner_threads_share_one_solver_and_a_lock(prefix, tmp_path):
    alone, together = run_scenario(prefix, tmp_path, 'threads', count=500, threads=8)
    assert alone.split()[:4] == ['threads', '1', '500', '500']
    assert together.split()[:4] == ['threads', '8', '4000', '4000']


def test_a_server_that_is_not_there_is_waited_for_with_a_limit(prefix, tmp_path):
    service = {
        'kinematics_solver_transport': 'service',
        'kinematics_solver_service_name': '/nobody/solve_ik',
        'kinematics_solver_service_wait': 0.25,
    }
    lines = run_scenario(prefix, tmp_path, 'one_by_one', {**OVERRIDES, **service}, count=3)
    solved, taken = zip(*(map(float, line.split()) for line in lines))
    assert solved == (0.0, 0.0, 0.0)
    # The budget of the scenario and the wait, in milliseconds; a busy machine may take a while longer.
    assert all(700.0 <= one <= 2000.0 for one in taken)
    lines = run_scenario(prefix, tmp_path, 'one_by_one', count=20)
    assert all(line.startswith('1 ') for line in lines)


def test_an_interrupted_program_ends_by_itself(prefix, tmp_path):
    _, build = prefix
    parameters = write_parameters(
        tmp_path / 'parameters.yaml',
        scenario='until_interrupted',
        robot_description_kinematics={GROUP: OVERRIDES},
    )
    process = start(build / 'moveit_scenarios', prefix, parameters)
    try:
        assert process.stdout.readline().strip() == 'begun'
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, err[-8000:]
    assert out.strip() == 'ended 1'


def test_the_benchmark_compares_solvers(prefix, tmp_path):
    install, _ = prefix
    solvers = {
        'auto': {'kinematics_solver': 'ssik_ros/Auto'},
        'newton': {'kinematics_solver': 'ssik_ros/NewtonRaphson', 'epsilon': 1e-4},
    }
    parameters = write_parameters(
        tmp_path / 'parameters.yaml', solvers=solvers, samples=200, output_dir=str(tmp_path)
    )
    program = Path(install, 'lib/ssik_moveit/plugin_benchmark')
    process = start(program, prefix, parameters)
    try:
        out, err = process.communicate(timeout=4 * PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, err[-8000:]
    head, *lines = out.splitlines()
    assert head.split()[:3] == [GROUP, 'samples', 'success']
    assert [line.split()[:5] for line in lines] == [
        ['auto', '200', '1.0000', '0', '0'],
        ['newton', '200', '1.0000', '0', '0'],
    ]
    tables = {path.name for path in tmp_path.glob('*.csv')}
    assert tables == {f'{label}_ik_benchmarking_data.csv' for label in solvers}
