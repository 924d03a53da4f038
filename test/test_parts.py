"""The quick and the long part of the tests are disjoint, and only heavy tests are in none of both."""

from pathlib import Path
import subprocess
import sys

TEST = Path(__file__).resolve().parent
PROGRAM = """\
import pytest

@pytest.mark.parametrize('x', range(3))
def test_always(x): pass

@pytest.mark.sampled
@pytest.mark.parametrize('x', range(3))
def test_sampled(x): pass

@pytest.mark.sampled
@pytest.mark.parametrize('x', [pytest.param(0, marks=pytest.mark.slow), 1, 2])
def test_sampled_and_slow(x): pass

@pytest.mark.slow
def test_slow(): pass

@pytest.mark.heavy
@pytest.mark.slow
def test_heavy(): pass
"""
QUICK = {
    *('test_always[0]', 'test_always[1]', 'test_always[2]'),
    *('test_sampled[0]', 'test_sampled_and_slow[1]'),
}
LONG = {
    *('test_sampled[1]', 'test_sampled[2]'),
    *('test_sampled_and_slow[0]', 'test_sampled_and_slow[2]', 'test_slow'),
}


def collect(folder, *options):
    """Return the names of the tests that a run takes."""
    file = folder / 'test_program.py'
    file.write_text(PROGRAM)
    command = [sys.executable, '-m', 'pytest', '-q', '--collect-only', '-p', 'no:cacheprovider']
    command += [f'--confcutdir={TEST}', '-c', TEST.parent / 'setup.cfg', '-p', 'test.conftest']
    done = subprocess.run(
        [*command, *options, file], cwd=TEST.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (line.rpartition('::')[2] for line in done.stdout.splitlines() if '::' in line)
    return set(lines)


def test_a_quick_run_takes_the_first_parameters_of_sampled_tests(tmp_path):
    assert collect(tmp_path, '--part', 'quick') == QUICK


def test_a_long_run_takes_the_rest_but_nothing_heavy(tmp_path):
    assert collect(tmp_path, '--part', 'long') == LONG
    assert collect(tmp_path) == QUICK | LONG | {'test_heavy'}


def test_the_checked_library_sees_each_quick_test_once(tmp_path):
    collected = collect(tmp_path, '--first-parameters', '-m', 'not slow')
    assert collected == {'test_always[0]', 'test_sampled[0]', 'test_sampled_and_slow[1]'}
