"""The executable ``ik_benchmark``: a benchmark through services, files and exit codes included."""

import contextlib
import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

from test.ros.server_client import client_of
from test.ros.server_process import claimed_domain, PACKAGE_ROOT, running_server, WAIT

import numpy as np
import pytest
from rclpy.qos import qos_profile_sensor_data

from ssik_ros.benchmark.config import read_benchmark_config
from ssik_ros.benchmark.session import find_benchmark_config, prepare_benchmark, write_results
from ssik_ros.errors import InvalidOption
from ssik_ros.ros.benchmark_node import parse_services

pytestmark = pytest.mark.ros

SAMPLES = 20
OF_PANDA = {
    'moveit_config_package': 'panda',
    'kinematics_file': 'pose_ik_kinematics.yaml',
    'report_times': True,
}
PANDA = PACKAGE_ROOT / 'config/robots/panda_moveit_config/config'
UR5E = PACKAGE_ROOT / 'config/robots/ur5e_moveit_config/config'
UR5E_JOINTS = (
    'shoulder_pan_joint',
    'shoulder_lift_joint',
    'elbow_joint',
    'wrist_1_joint',
    'wrist_2_joint',
    'wrist_3_joint',
)
CSV = 'PoseIK_ik_benchmarking_data.csv'


def start_benchmark(domain, output, **parameters):
    """Return the process of a benchmark."""
    values = {'samples': SAMPLES, 'output_dir': output, 'plots': False, **parameters}
    words = [word for name, value in values.items() for word in ('-p', f'{name}:={value}')]
    return subprocess.Popen(
        [sys.executable, '-m', 'ssik_ros.ros.benchmark_node', '--ros-args', *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={
            **os.environ,
            'PYTHONPATH': os.pathsep.join([str(PACKAGE_ROOT), os.environ.get('PYTHONPATH', '')]),
            'ROS_DOMAIN_ID': str(domain),
            'RCUTILS_COLORIZED_OUTPUT': '0',
        },
    )


@contextlib.contextmanager
def running_benchmark(*words, **parameters):
    """Give the process of a benchmark, which is killed in the end if it still runs."""
    process = start_benchmark(*words, **parameters)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def run_benchmark(*words, **parameters):
    """Return exit code and output of a benchmark."""
    with running_benchmark(*words, **parameters) as process:
        output, _ = process.communicate(timeout=WAIT)
        return process.returncode, output


def rows(folder):
    with (folder / CSV).open(encoding='utf-8', newline='') as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    """Return a server of the Panda that reports times."""
    with running_server(tmp_path_factory.mktemp('server'), OF_PANDA) as started:
        started.wait_until_ready()
        yield started


@pytest.fixture(scope='module')
def asked(server, tmp_path_factory):
    """Return the output folder and the log of a benchmark of that server."""
    output = tmp_path_factory.mktemp('asked')
    code, log = run_benchmark(server.domain, output)
    assert code == 0, log
    return output, log


def test_every_solution_is_verified_and_both_times_are_kept(asked):
    trials = rows(asked[0])
    assert [trial['found_ik'] for trial in trials] == ['true'] * SAMPLES
    assert all(0 < int(t['server_time_ns']) < int(t['solve_time_ns']) for t in trials)


def test_summary_keeps_round_trip_and_solver_time_apart(asked):
    (report,) = json.loads((asked[0] / 'summary.json').read_text(encoding='utf-8'))
    (solver,) = report['solvers']
    assert (solver['name'], solver['service'], solver['status']) == (
        'PoseIK',
        '/compute_ik',
        'ran',
    )
    for figure in ('mean_us', 'median_us', 'p99_us'):
        assert 0.0 < solver[f'server_{figure}'] < solver[figure]
    assert 'solver p99' in (asked[0] / 'summary.md').read_text(encoding='utf-8')


def test_progress_and_table_are_logged(asked):
    assert f'PoseIK: {SAMPLES} of {SAMPLES}' in asked[1]
    assert 'solver median' in asked[1].replace('solver\n', 'solver ')
    assert ' 100 % ' in asked[1]


def test_service_and_process_get_the_same_requests_and_return_the_same(asked, tmp_path):
    config = read_benchmark_config(find_benchmark_config('panda')).with_samples(SAMPLES)
    session = prepare_benchmark(config.with_solvers(['PoseIK']))
    write_results(session, session.run(), tmp_path)
    assert (tmp_path / 'goals.jsonl').read_bytes() == (asked[0] / 'goals.jsonl').read_bytes()
    for one, other in zip(rows(tmp_path), rows(asked[0]), strict=True):
        assert (one['verdict'], one['iterations']) == (other['verdict'], other['iterations'])
        for name in ('position_error', 'orientation_error', 'seed_distance'):
            # Targets went through a quaternion, which rounds.
            assert float(one[name]) == pytest.approx(float(other[name]), rel=1e-6)


def test_stored_goals_are_asked_again(server, asked, tmp_path):
    goals = asked[0] / 'goals.jsonl'
    code, log = run_benchmark(server.domain, tmp_path, goals=goals, samples=5)
    assert code == 0, log
    first = (asked[0] / 'goals.jsonl').read_text(encoding='utf-8').splitlines()[1:6]
    assert (tmp_path / 'goals.jsonl').read_text(encoding='utf-8').splitlines()[1:] == first


def test_several_services_are_asked_in_one_run(server, tmp_path):
    services = 'PoseIK=compute_ik, KDL=/solve_ik'
    code, log = run_benchmark(server.domain, tmp_path, services=services, samples=5)
    assert code == 0, log
    (report,) = json.loads((tmp_path / 'summary.json').read_text(encoding='utf-8'))
    assert [(s['name'], s['service'], s['found']) for s in report['solvers']] == [
        ('PoseIK', '/compute_ik', 5),
        ('KDL', '/solve_ik', 5),
    ]


@pytest.mark.slow
def test_running_arm_is_asked_where_it_is(tmp_path):
    """Robot and posture come from topics, for the server as for the benchmark."""
    folder = tmp_path / 'server'
    folder.mkdir()
    here = {f'panda_joint{i + 1}': v for i, v in enumerate([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.4])}
    kinematics = {
        'kinematics_file': str(PANDA / 'pose_ik_kinematics.yaml'),
        'joint_limits_file': str(PANDA / 'joint_limits.yaml'),
    }
    with running_server(folder, kinematics) as server, client_of(server) as client:
        client.publish_latched('robot_description', (PANDA / 'panda.urdf').read_text())
        client.publish_latched('robot_description_semantic', (PANDA / 'panda.srdf').read_text())
        server.wait_until_ready()
        options = {
            'robot': 'topics',
            'seeds': 'live',
            'joint_limits_file': PANDA / 'joint_limits.yaml',
        }
        output = tmp_path / 'out'
        with running_benchmark(server.domain, output, **options) as process:
            end = time.monotonic() + WAIT
            while process.poll() is None and time.monotonic() < end:
                client.publish_joints(here, qos_profile_sensor_data)
                time.sleep(0.05)
            log, _ = process.communicate(timeout=WAIT)
    assert process.returncode == 0, log
    assert {trial['found_ik'] for trial in rows(output)} == {'true'}
    lines = (output / 'goals.jsonl').read_text(encoding='utf-8').splitlines()[1:]
    seeds = [json.loads(line)['seed'] for line in lines]
    assert np.allclose(seeds, list(here.values()))
    (report,) = json.loads((output / 'summary.json').read_text(encoding='utf-8'))
    assert report['robot_description'] == 'topic /robot_description'
    assert report['goals'].endswith('each search starts at the live state instead')


@pytest.mark.slow
def test_arm_that_is_running_is_asked_about_its_own_group_in_a_namespace(tmp_path):
    """The two commands of the walkthrough, for an arm that the default configuration is not about."""
    folder = tmp_path / 'server'
    folder.mkdir()
    here = dict(zip(UR5E_JOINTS, [0.3, -1.2, 1.4, -1.0, -1.5, 0.2], strict=True))
    namespace = ['-r', '__ns:=/ssik']
    with (
        running_server(folder, arguments=namespace) as server,
        client_of(server) as client,
    ):
        client.publish_latched('robot_description', (UR5E / 'ur5e.urdf').read_text())
        client.publish_latched('robot_description_semantic', (UR5E / 'ur5e.srdf').read_text())
        server.wait_until_ready()
        options = {
            'robot': 'topics',
            'seeds': 'live',
            'service': '/ssik/compute_ik',
            'config': 'panda',
        }
        output = tmp_path / 'out'
        with running_benchmark(server.domain, output, **options) as process:
            end = time.monotonic() + WAIT
            while process.poll() is None and time.monotonic() < end:
                client.publish_joints(here, qos_profile_sensor_data)
                time.sleep(0.05)
            log, _ = process.communicate(timeout=WAIT)
    assert process.returncode == 0, log
    assert "has no group 'panda_arm'" in log and "group 'ur_manipulator'" in log
    assert 'Published' not in log, 'figures of the Panda'
    about = json.loads((output / 'goals.jsonl').read_text(encoding='utf-8').splitlines()[0])
    assert about['group'] == 'ur_manipulator'
    assert 'true' in {trial['found_ik'] for trial in rows(output)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ('parameters', 'text'),
    [
        ({'config': 'no_such'}, "no benchmark configuration 'no_such'"),
        ({'solver': 'PoseIk'}, "Did you mean 'PoseIK'"),
        ({'services': 'PoseIK'}, 'LABEL=SERVICE'),
        ({'seeds': 'live'}, 'needs robot topics'),
        ({'robot': 'elsewhere'}, 'robot'),
        ({'smaples': 3}, 'samples'),
        ({'goals': 'no_such.jsonl'}, 'no_such.jsonl'),
    ],
)
def test_wrong_request_ends_with_two_before_any_call(parameters, text, tmp_path):
    with claimed_domain() as domain:
        code, log = run_benchmark(domain, tmp_path / 'out', **parameters)
    assert code == 2, log
    assert text in log
    assert not (tmp_path / 'out').exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ('parameters', 'text'),
    [({}, 'no service /compute_ik'), ({'robot': 'topics'}, 'topic /robot_description')],
)
def test_missing_server_ends_with_one(parameters, text, tmp_path):
    with claimed_domain() as domain:
        code, log = run_benchmark(domain, tmp_path, service_timeout=0.5, **parameters)
    assert code == 1, log
    assert text in log


def test_interrupted_benchmark_ends_without_files_or_traceback(tmp_path):
    with (
        claimed_domain() as domain,
        running_benchmark(domain, tmp_path / 'out', robot='topics') as process,
    ):
        for line in process.stdout:
            if 'Waiting for the robot' in line:
                break
        process.send_signal(signal.SIGINT)
        log, _ = process.communicate(timeout=WAIT)
    assert process.returncode == 1
    assert 'interrupted' in log
    assert 'Traceback' not in log
    assert not (tmp_path / 'out').exists()


@pytest.mark.slow
def test_shutdown_between_two_requests_ends_the_benchmark(server, tmp_path):
    options = {'samples': 20000, 'config': 'panda'}
    with running_benchmark(server.domain, tmp_path / 'out', **options) as process:
        for line in process.stdout:
            if re.search(r'PoseIK: 2000 of 20000, about \d+ s left', line):
                break
        process.send_signal(signal.SIGTERM)
        log, _ = process.communicate(timeout=WAIT)
    assert process.returncode == 1, log
    assert 'interrupted' in log
    assert not (tmp_path / 'out').exists()


def test_services_are_named_by_label():
    assert parse_services('A b=/x/compute_ik , C=d') == {'A b': '/x/compute_ik', 'C': 'd'}


@pytest.mark.parametrize('text', ['A', 'A=', '=x', 'A=x,', 'A=x, A=y'])
def test_services_that_are_not_clear_are_refused(text):
    with pytest.raises(InvalidOption, match='LABEL=SERVICE'):
        parse_services(text)
