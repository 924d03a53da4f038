"""
The solvers inside a C++ process, used as planners use a plugin: many threads, callbacks, wrong input, signals.

The host opens the library locally and does not link to Python, as MoveIt's class loader does. Truth is pinocchio's forward
kinematics, in this process.
"""

import os
import signal
import subprocess
import sys
import venv

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from transport_programs import (
    BASE,
    build,
    host_environment,
    Judge,
    knows_sanitizers,
    needs_tools,
    PATIENCE,
    ROOT,
    SANITIZERS,
)

pytestmark = needs_tools

QUESTIONS = 40
NO_SOLUTION, TIMED_OUT = -31, -6


@pytest.fixture(scope='module')
def judge():
    return Judge()


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('transport')


@pytest.fixture(scope='module')
def asked(judge, folder):
    path = folder / 'questions.txt'
    return path, *judge.ask(path, QUESTIONS)


@pytest.fixture(scope='module')
def programs(folder):
    return build(folder / 'plain')


def values_of(line):
    """Return the code of a line and the numbers after it."""
    code, *numbers = line.split()
    return int(code), np.array([float(x) for x in numbers])


@pytest.mark.slow
def test_eight_threads_get_the_results_of_one(programs, judge, asked):
    path, poses, _ = asked
    *lines, last = programs.run('threads', path, 20)
    assert len(lines) == QUESTIONS
    for line, pose in zip(lines, poses, strict=True):
        code, q = values_of(line)
        assert code == 1
        assert judge.reaches(q, pose)
    assert last == 'different 0'


def test_the_named_solver_solves(programs, judge, asked):
    path, poses, _ = asked
    lines = programs.run('everything', path, kinematics_solver='ssik_ros/PoseIK')
    assert 'solver ssik_ros/PoseIK' in lines
    code, q = values_of(find(lines, 'nearest '))
    assert code in (1, NO_SOLUTION)
    assert code != 1 or judge.reaches(q, poses[0])


def find(lines, start):
    """Return the rest of the only line that begins with a start."""
    (found,) = [line[len(start) :] for line in lines if line.startswith(start)]
    return found


@pytest.fixture(scope='module')
def everything(programs, asked):
    return programs.run('everything', asked[0])


def test_every_kind_of_request_is_solved(everything, judge, asked):
    lines, (_, poses, seeds) = everything, asked
    assert find(lines, 'base ') == BASE
    joints = [line.split()[1] for line in lines if line.startswith('joint ')]
    assert joints == list(judge.group.joint_names)
    for line in [line for line in lines if line.startswith('link ')]:
        name, numbers = line.split()[1], np.array([float(x) for x in line.split()[3:]])
        expected = judge.pose(seeds[0], name)
        assert np.allclose(numbers[:3], expected[:3, 3], atol=1e-9)
        turn = Rotation.from_matrix(expected[:3, :3]).as_quat()
        assert min(np.abs(numbers[3:] - turn).max(), np.abs(numbers[3:] + turn).max()) < 1e-9
    code, q = values_of(find(lines, 'nearest '))
    assert code == 1
    assert judge.reaches(q, poses[0])
    code, q = values_of(find(lines, 'locked '))
    assert code == 1
    assert judge.reaches(q, poses[0])
    assert q[2] == pytest.approx(seeds[0][2], abs=1e-9)
    code, q = values_of(find(lines, 'limited '))
    assert code in (1, NO_SOLUTION, TIMED_OUT)
    assert code != 1 or (np.abs(q - seeds[0]) <= 0.4 + 1e-9).all()
    code, rest = find(lines, 'approximate ').split(' ', 1)
    assert code == '1'
    assert rest.startswith('1|Approximate')


def test_several_solutions_come_nearest_first(everything, judge, asked):
    lines, (_, poses, seeds) = everything, asked
    error, percentage = find(lines, 'several ').split()
    assert int(error) == 1
    assert 0.0 < float(percentage) <= 1.0
    solutions = [values_of(line)[1] for line in lines if line.startswith('1 ')]
    assert len(solutions) > 8
    assert all(judge.reaches(q, poses[0]) for q in solutions)
    distances = [np.abs(q - seeds[0]).sum() for q in solutions]
    assert distances == sorted(distances)


WRONG = {
    'short_seed': (NO_SOLUTION, 8, '7 values of the seed, not 6'),
    'nan_seed': (NO_SOLUTION, 8, 'not finite'),
    'nan_pose': (NO_SOLUTION, 8, 'not finite'),
    'no_quaternion': (NO_SOLUTION, 8, 'length zero'),
    'no_pose': (NO_SOLUTION, 5, '1 poses'),
    'two_poses': (NO_SOLUTION, 4, '1 poses'),
    'too_far': (NO_SOLUTION, 8, 'out of reach'),
    'short_limits': (NO_SOLUTION, 8, '7 consistency limits, not 1'),
    'nan_limits': (NO_SOLUTION, 8, 'not a number'),
}


def test_wrong_requests_have_codes_and_reasons(programs, asked):
    lines = programs.run('faults', asked[0])
    told = {line.split()[0]: line for line in lines}
    for name in ('good', 'far_seed', 'long_quaternion'):
        assert told[name].split('|')[0].split()[1:] == ['1', '1', '1', '7'], told[name]
    for name, (code, error, reason) in WRONG.items():
        numbers, text = told[name].split('|')
        one, near, several, size = (int(x) for x in numbers.split()[1:])
        assert (one, near, several) == (code, code, error), name
        assert size == 1, 'what the caller had is left alone'
        assert reason in text
    assert "There is no link 'nobody'" in lines[-2]
    assert '7 values, not 1' in lines[-1]


def test_callbacks_may_refuse_ask_again_and_throw(programs, judge, asked):
    path, poses, _ = asked
    lines = programs.run('callbacks', path)
    assert find(lines, 'third ') == '1 3 1'
    assert judge.reaches(values_of(lines[1])[1], poses[0])
    assert int(find(lines, 'never ')) in (NO_SOLUTION, TIMED_OUT)
    assert find(lines, 'thrown ') == 'of the host'
    assert find(lines, 'afterwards ') == '1'
    assert find(lines, 'cost ') == '1 1 1'


def test_callbacks_that_wait_for_a_lock_do_not_stop_those_who_hold_it(programs, asked):
    (line,) = programs.run('locks', asked[0], 40)
    assert line == f'solved {8 * 40} held {8 * 40}'


def test_a_misspelt_key_is_refused_with_the_nearest_one(programs, asked):
    (line,) = [
        line
        for line in programs.run('threads', asked[0], status=3, sovle_mode='first_found')
        if line.startswith('refused')
    ]
    assert "Did you mean 'solve_mode'?" in line


def test_what_cannot_be_opened_says_why(programs, asked):
    assert 'panda_arn' in programs.run('threads', asked[0], status=3, group='panda_arn')[-1]
    lines = programs.run('threads', asked[0], status=3, kinematics_solver='ssik_ros/PosIK')
    assert "Did you mean 'ssik_ros/PoseIK'?" in lines[-1]
    lines = programs.run('threads', asked[0], status=3, solve_mode='[')
    assert 'solve_mode' in lines[-1]


def test_without_the_package_the_host_is_told(programs, asked, tmp_path):
    environment = host_environment(PYTHONPATH=str(tmp_path))
    # An interpreter without site-packages: this package may be installed there.
    venv.create(tmp_path, symlinks=True)
    environment.pop('VIRTUAL_ENV', None)
    environment['SSIK_ROS_PYTHON'] = str(tmp_path / 'bin/python')
    environment['PYTHONNOUSERSITE'] = '1'
    done = subprocess.run(
        programs.command('threads', asked[0]),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert 'refused The Python package ssik_ros cannot be imported' in done.stdout
    assert str(tmp_path) in done.stdout


def test_an_interpreter_that_does_not_exist_is_named(programs, asked, tmp_path):
    named = str(tmp_path / 'bin/python')
    environment = host_environment(SSIK_ROS_PYTHON=named)
    (line,) = programs.run('threads', asked[0], status=3, environment=environment)
    assert f"SSIK_ROS_PYTHON is '{named}', and that file does not exist" in line


BROKEN_ONCE = """
import sys
text = 'loaded more than once' if hasattr(sys, 'tried') else 'the first cause'
sys.tried = True
raise ImportError(text)
"""


def test_a_python_home_that_breaks_numpy_is_named_with_the_first_error(programs, asked, tmp_path):
    (tmp_path / 'numpy.py').write_text(BROKEN_ONCE)
    home = sys.base_prefix
    environment = host_environment(PYTHONHOME=home, PYTHONPATH=f'{tmp_path}{os.pathsep}{ROOT}')
    said = '\n'.join(programs.run('threads', asked[0], status=3, environment=environment))
    assert f"PYTHONHOME is '{home}'" in said
    assert 'the first cause' in said
    assert 'more than once' not in said


def test_a_python_home_without_python_is_named(programs, asked, tmp_path):
    environment = host_environment(PYTHONHOME=str(tmp_path))
    (line,) = programs.run('threads', asked[0], status=3, environment=environment)
    assert 'does not start' in line
    assert f"PYTHONHOME is '{tmp_path}'" in line


ENDLESS_IMPORT = """
import time
print('importing', flush=True)
try:
    while True:
        time.sleep(0.001)
except BaseException:
    print('swallowed', flush=True)
while True:
    time.sleep(0.001)
"""


def test_an_interrupted_host_stops_loading_before_it_is_done(programs, asked, tmp_path):
    """The import of a library never ends, and swallows the first interruption."""
    (tmp_path / 'pinocchio.py').write_text(ENDLESS_IMPORT)
    process = subprocess.Popen(
        programs.command('interrupted_loading', asked[0]),
        stdout=subprocess.PIPE,
        text=True,
        env=host_environment(PYTHONPATH=f'{tmp_path}{os.pathsep}{ROOT}'),
    )
    try:
        assert [process.stdout.readline() for _ in range(2)] == ['loading\n', 'importing\n']
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 3
    refused = 'refused Loading was interrupted before the group was ready.'
    assert out.splitlines() == ['swallowed', refused]


@pytest.mark.parametrize('has_handler', [True, False])
def test_a_signal_ends_the_process_as_the_host_wants(programs, asked, has_handler):
    process = subprocess.Popen(
        programs.command('until_interrupted', asked[0], 2 if has_handler else 1),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=host_environment(),
    )
    try:
        assert process.stdout.readline() == 'ready\n'
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert (process.returncode, out) == ((0, 'stopped\n') if has_handler else (-signal.SIGINT, ''))
    assert err == ''


IN_PYTHON = """
import ctypes, sys
kind, library, *arguments = sys.argv[1:]
library = (ctypes.CDLL if kind == 'free' else ctypes.PyDLL)(library)
words = [word.encode() for word in arguments]
status = library.run_scenario(len(words), (ctypes.c_char_p * len(words))(*words))
import numpy
print('still', numpy.arange(3).sum(), status)
"""


@pytest.mark.parametrize('kind', ['free', 'holding'])
def test_an_interpreter_that_runs_already_is_used(programs, asked, kind):
    """A program in Python that calls MoveIt, with and without giving the lock away."""
    arguments = programs.arguments('callbacks' if kind == 'holding' else 'locks', asked[0], 5)
    library = programs.folder / 'libtransport_scenarios.so'
    done = subprocess.run(
        [sys.executable, '-c', IN_PYTHON, kind, str(library), *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=host_environment(),
    )
    assert done.returncode == 0, done.stderr
    assert 'still 3 0' in done.stdout
    assert ('cost 1 1 1' if kind == 'holding' else 'solved 40 held 40') in done.stdout


@pytest.fixture(scope='module')
def watched(folder):
    if not knows_sanitizers(folder):
        pytest.skip('the compiler has no address sanitizer')
    return build(folder / 'watched', SANITIZERS)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize('scenario', ['faults', 'callbacks', 'locks', 'everything'])
def test_the_address_sanitizer_has_nothing_to_say(watched, asked, scenario):
    watched.run(scenario, asked[0], 3)
