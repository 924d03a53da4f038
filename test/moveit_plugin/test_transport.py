"""
The solvers inside a C++ process, used as planners use a plugin: many threads, callbacks, wrong input, signals.

The host opens the library locally, as MoveIt's class loader does. Truth is pinocchio's forward kinematics, in this process.
"""

import signal
import subprocess

from test.moveit_plugin.transport_programs import (
    BASE,
    build,
    Judge,
    knows_sanitizers,
    needs_tools,
    PATIENCE,
    SANITIZERS,
    TIP,
    write_requests,
)

import numpy as np
import pytest

pytestmark = needs_tools

REQUESTS = 40
NO_SOLUTION, TIMED_OUT = -31, -6


@pytest.fixture(scope='module')
def judge():
    return Judge()


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('transport')


@pytest.fixture(scope='module')
def asked(judge, folder):
    path = folder / 'requests.txt'
    return path, *judge.ask(path, REQUESTS)


def values_of(line):
    """Return the code of a line and the numbers after it."""
    code, *numbers = line.split()
    return int(code), np.array([float(x) for x in numbers])


@pytest.mark.slow
def test_eight_threads_get_the_results_of_one(programs, judge, asked):
    path, poses, _ = asked
    *lines, last = programs.run('threads', path, 20)
    assert len(lines) == REQUESTS
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
    (rest,) = [line[len(start) :] for line in lines if line.startswith(start)]
    return rest


@pytest.fixture(scope='module')
def everything(programs, asked):
    return programs.run('everything', asked[0])


def test_every_kind_of_request_is_solved(everything, judge, asked):
    lines, (_, poses, seeds) = everything, asked
    assert find(lines, 'base ') == BASE
    assert find(lines, 'tip ') == TIP
    joints = [line.split()[1] for line in lines if line.startswith('joint ')]
    assert joints == list(judge.group.joint_names)
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


def test_callbacks_may_refuse_ask_again_and_throw(programs, judge, asked):
    path, poses, _ = asked
    lines = programs.run('callbacks', path)
    assert find(lines, 'third ') == '1 3 1'
    assert judge.reaches(values_of(lines[1])[1], poses[0])
    code, is_each_once = map(int, find(lines, 'never ').split())
    assert code in (NO_SOLUTION, TIMED_OUT)
    assert is_each_once
    assert find(lines, 'thrown ') == 'of the host'
    assert find(lines, 'afterwards ') == '1'
    assert find(lines, 'cost ') == '1 1 1'


def test_callbacks_that_wait_for_a_lock_do_not_stop_its_holders(programs, asked):
    (line,) = programs.run('locks', asked[0], 40)
    assert line == f'solved {8 * 40} held {8 * 40}'


def test_a_callback_that_waits_does_not_stop_other_requests(programs, asked):
    """No lock is held during a request: the callback returns only after other requests have ended."""
    assert programs.run('overlap', asked[0]) == ['overlap 1']


def test_plain_requests_allocate_nothing(programs, asked):
    assert programs.run('allocations', asked[0]) == [f'allocations 0 solved {REQUESTS}']


def test_servo_gets_the_nearest_step_of_its_cycle(programs, judge, tmp_path):
    """A target within reach of one cycle is reached; for a farther one the joints move as far as they may."""
    rng, velocity, cycle = np.random.default_rng(3), 1.5, 0.01
    middle = (judge.group.lower + judge.group.upper) / 2.0
    seeds = [middle + rng.uniform(-0.5, 0.5, 7) for _ in range(20)]
    room = velocity * cycle
    steps = [rng.uniform(-0.9, 0.9, 7) * room for _ in seeds]
    far = [np.array([1.15, 1.15, *0.5 * step[2:] / room]) * room for step in steps]
    targets = [judge.pose(q + step) for q, step in zip([*seeds, *seeds], [*steps, *far])]
    write_requests(tmp_path / 'steps.txt', targets, [*seeds, *seeds])
    joints = ','.join(judge.group.joint_names)
    more = {'its_joints': joints, 'its_velocity': velocity}
    lines = programs.run('steps', tmp_path / 'steps.txt', **more)
    for line, pose, seed in zip(lines, targets, [*seeds, *seeds], strict=True):
        is_approximate, text, numbers = line.split('|')
        code, q = values_of(numbers)
        assert code == 1
        assert (np.abs(q - seed) <= room + 1e-9).all()
        error = np.abs(judge.pose(q) - pose).max()
        assert error < np.abs(judge.pose(seed) - pose).max()
        assert (is_approximate == '1') == (error > 1e-6)
        assert text.startswith('The nearest step' if is_approximate == '1' else 'Solved by one')
    assert {line[0] for line in lines[:20]} == {'0'}
    assert '1' in {line[0] for line in lines[20:]}


@pytest.mark.parametrize('has_handler', [True, False])
def test_a_signal_ends_the_process_as_the_host_wants(programs, asked, has_handler):
    process = subprocess.Popen(
        programs.command('until_interrupted', asked[0], 2 if has_handler else 1),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=programs.environment(),
    )
    try:
        assert process.stdout.readline() == 'ready\n'
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert (process.returncode, out) == ((0, 'stopped\n') if has_handler else (-signal.SIGINT, ''))
    assert err == ''


@pytest.fixture(scope='module')
def watched(folder):
    if not knows_sanitizers(folder):
        pytest.skip('the compiler has no address sanitizer')
    return build(folder / 'watched', SANITIZERS)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize('scenario', ['faults', 'callbacks', 'locks', 'everything', 'overlap'])
def test_the_address_sanitizer_finds_neither_faults_nor_leaks(watched, asked, scenario):
    environment = watched.environment(ASAN_OPTIONS='detect_leaks=1')
    watched.run(scenario, asked[0], 3, environment=environment)
