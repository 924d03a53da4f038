"""The ways of blocks into the plugin: a file, the cache, the command; and the messages if there are none."""

import signal
import subprocess
import time

from test.moveit_plugin.transport_programs import (
    description_of,
    GROUP,
    Judge,
    needs_tools,
    PATIENCE,
    TIP,
    write_command,
)

import pytest

from ssik_ros.cli.command import main

pytestmark = needs_tools


@pytest.fixture(scope='module')
def requests(tmp_path_factory):
    """Return a file with requests."""
    path = tmp_path_factory.mktemp('requests') / 'requests.txt'
    Judge().ask(path, 3)
    return path


def write_blocks(path, robot='panda', group=GROUP, *options):
    """Write blocks by the command."""
    urdf, srdf = description_of(robot)
    words = ['build', '--urdf', str(urdf), '--srdf', str(srdf), '--group', group, '--blocks']
    assert main([*words, '-o', str(path), *options]) == 0
    return path


@pytest.fixture(scope='module')
def blocks(tmp_path_factory):
    return write_blocks(tmp_path_factory.mktemp('blocks') / 'panda.blocks')


def refusal(programs, requests, **more):
    """Return the reason why a group is not loaded."""
    lines = programs.run('allocations', requests, status=3, **more)
    assert lines[0].startswith('refused ')
    return '\n'.join(lines).removeprefix('refused ')


def test_a_file_of_blocks_needs_no_command(programs, requests, blocks, tmp_path):
    empty = {'PATH': str(tmp_path), 'HOME': str(tmp_path), 'XDG_CACHE_HOME': ''}
    environment = programs.environment(**empty)
    (line,) = programs.run('allocations', requests, environment=environment, its_blocks=blocks)
    assert line == 'allocations 0 solved 3'
    assert not list(tmp_path.iterdir()), 'a file of blocks fills no cache'


def test_a_file_of_a_package_is_found(programs, requests, blocks, tmp_path):
    prefix = tmp_path / 'prefix'
    marker = prefix / 'share/ament_index/resource_index/packages/my_robot'
    marker.parent.mkdir(parents=True)
    marker.touch()
    kept = prefix / 'share/my_robot/arm.blocks'
    kept.parent.mkdir()
    kept.write_bytes(blocks.read_bytes())
    environment = programs.environment(AMENT_PREFIX_PATH=f'/nowhere:{prefix}')
    named = {'environment': environment, 'its_blocks': 'package://my_robot/arm.blocks'}
    assert programs.run('allocations', requests, **named) == ['allocations 0 solved 3']
    named['its_blocks'] = 'package://your_robot/arm.blocks'
    assert "the package 'your_robot' is not in AMENT_PREFIX_PATH" in refusal(
        programs, requests, **named
    )


def test_files_of_other_groups_and_versions_are_refused(programs, requests, blocks, tmp_path):
    joints = [f'panda_joint{k}' for k in range(1, 8)]
    good = {'its_blocks': blocks, 'its_joints': ','.join(joints), 'its_tips': TIP}
    assert programs.run('allocations', requests, **good) == ['allocations 0 solved 3']
    ur = write_blocks(tmp_path / 'ur.blocks', 'ur5e', 'ur_manipulator')
    cut = tmp_path / 'cut.blocks'
    cut.write_bytes(blocks.read_bytes()[:-8])
    for change, said in (
        ({'its_blocks': ur}, 'has blocks for poses of tool0, but the tip of the group is panda_link8'),
        ({'its_blocks': ur, 'its_tips': 'tool0'}, 'has blocks for the joints elbow_joint,'),
        ({'its_joints': 'a,b'}, "but the group 'panda_arm' moves a,b"),
        ({'its_tips': 'panda_link7'}, 'the tip of the group is panda_link7'),
        ({'its_base': 'panda_link1'}, "the base of the group is 'panda_link1'"),
        ({'kinematics_solver': 'ssik_ros/PoseIK'}, 'of the solver ssik_ros/Auto, not of ssik_ros/PoseIK'),
        ({'its_blocks': cut}, 'no blocks for this version'),
        ({'its_blocks': tmp_path / 'none.blocks'}, 'no blocks for this version'),
    ):  # fmt: skip
        reason = refusal(programs, requests, **{**good, **change})
        assert said in reason
        assert str(change.get('its_blocks', blocks)) in reason


def test_the_second_start_needs_no_command(programs, requests, tmp_path):
    """The cache depends on every input; a damaged file is written anew."""
    calls = tmp_path / 'calls'
    command = write_command(tmp_path / 'ssik', f'echo >> {calls}')
    environment = programs.environment(XDG_CACHE_HOME=str(tmp_path / 'cache'))

    def count_calls(**more):
        more = {'its_command': command, 'environment': environment, **more}
        assert programs.run('allocations', requests, **more)[-1] == 'allocations 0 solved 3'
        return len(calls.read_text())

    assert count_calls() == 1
    assert count_calls() == 1
    (kept,) = tmp_path.rglob('*.blocks')
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-16])
    assert count_calls() == 2
    assert kept.read_bytes() == whole
    assert count_calls(epsilon='1e-4') == 3
    assert count_calls(epsilon='1e-4') == 3
    assert count_calls(its_tips=TIP) == 4
    assert count_calls(its_command='/nowhere/ssik') == 4


def test_a_missing_command_is_named_with_a_way_out(programs, requests, tmp_path):
    environment = programs.environment(XDG_CACHE_HOME=str(tmp_path))
    reason = refusal(programs, requests, its_command='/nowhere/ssik', environment=environment)
    assert "the command '/nowhere/ssik' does not start" in reason
    assert 'source the workspace of ssik_ros' in reason


def test_the_words_of_the_command_reach_the_host(programs, requests, tmp_path):
    environment = programs.environment(XDG_CACHE_HOME=str(tmp_path))

    def ask(**more):
        return refusal(programs, requests, environment=environment, **more)

    assert "Did you mean 'solve_mode'?" in ask(sovle_mode='first_found')
    assert "Did you mean 'ssik_ros/PoseIK'?" in ask(kinematics_solver='ssik_ros/PosIK')
    assert "Did you mean 'panda_arm'?" in ask(group='panda_arn')
    assert 'solve_mode' in ask(solve_mode='nothing')
    lines = programs.run(
        'allocations', requests, environment=environment, max_solver_iterations='5'
    )
    assert any(line.startswith('log ') and 'max_solver_iterations' in line for line in lines)


def test_a_group_that_c_cannot_serve_is_referred_to_the_service(programs, requests, tmp_path):
    environment = programs.environment(XDG_CACHE_HOME=str(tmp_path))
    more = {'kinematics_solver': 'ssik_ros/ClosedChain', 'environment': environment}
    reason = refusal(programs, requests, **more)
    assert 'ClosedChain' in reason
    assert 'kinematics_solver_transport: service' in reason


def test_a_command_without_end_is_ended_in_time(programs, requests, tmp_path):
    command = write_command(tmp_path / 'ssik', 'sleep 600')
    environment = programs.environment(XDG_CACHE_HOME=str(tmp_path))
    more = {'its_command': command, 'its_patience': 0.3, 'environment': environment}
    assert 'has made no solver within 0.3 s' in refusal(programs, requests, **more)


def is_alive(process_id):
    """Return whether a process runs; a zombie does not."""
    done = subprocess.run(
        ['ps', '-o', 'stat=', '-p', process_id], capture_output=True, text=True, check=False
    )
    return done.returncode == 0 and not done.stdout.startswith('Z')


def test_an_interrupted_host_stops_loading_and_its_command(programs, requests, tmp_path):
    """The command is a shell with a child, and neither remains."""
    begun = tmp_path / 'begun'
    command = write_command(tmp_path / 'ssik', f'sleep 600 & echo $$ $! > {begun}; wait')
    environment = programs.environment(XDG_CACHE_HOME=str(tmp_path))
    process = subprocess.Popen(
        programs.command('interrupted_loading', requests, its_command=command),
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        last = time.monotonic() + PATIENCE
        while not (begun.exists() and begun.read_text().endswith('\n')):
            assert time.monotonic() < last
            time.sleep(0.01)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 3
    assert out == 'refused Loading was interrupted before the group was ready.\n'
    assert time.monotonic() - started < 5.0
    time.sleep(0.1)
    assert not any(is_alive(each) for each in begun.read_text().split())
