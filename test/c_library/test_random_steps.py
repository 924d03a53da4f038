"""Random cycles of ``ssik_step`` through singular postures and along limits; ``random_steps.c`` judges each of them."""

import subprocess

import pytest

from ssik_ros.cli.command import main

ARMS = ('panda', 'ur5e', 'gen3', 'hsr065', 'xarm5')
CYCLES = 20_000
"""The figures of docs/benchmarks/c_library.md are of 1,000,000 cycles in all."""
PATIENCE = 300.0
"""A run that takes longer hangs [s]."""


@pytest.fixture(scope='module')
def program(build_generic, tmp_path_factory):
    """Return the program."""
    source = __file__.replace('test_random_steps.py', 'random_steps.c')
    path = tmp_path_factory.mktemp('steps') / 'random_steps'
    library = build_generic / 'lib' / 'libssik.a'
    flags = [
        '-O2',
        '-std=c99',
        '-Wall',
        '-Wextra',
        '-Werror',
        '-I',
        str(build_generic / 'include'),
    ]
    command = ['cc', *flags, source, str(library), '-lm', '-o', str(path)]
    subprocess.run(command, check=True, timeout=PATIENCE)
    return path


@pytest.mark.slow
@pytest.mark.parametrize('robot', ARMS)
def test_random_cycles_keep_all_limits_and_never_stand_still(program, robot, tmp_path):
    blocks = tmp_path / f'{robot}.blocks'
    assert main(['build', '--robot', robot, '--blocks', '-o', str(blocks)]) == 0
    command = [str(program), str(blocks), str(CYCLES), '1']
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    print(robot, done.stdout)
    assert done.returncode == 0, done.stdout
    assert f'cycles {CYCLES} broken 0 jumps 0 halts 0' in done.stdout
