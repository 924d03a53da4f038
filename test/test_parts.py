"""The quick and the long part of the tests are disjoint, and only tests that are slow and heavy are in none of both."""

import json
from pathlib import Path
import subprocess
import sys

import pytest

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
def test_heavy(): pass

@pytest.mark.heavy
@pytest.mark.slow
def test_heavy_and_slow(): pass
"""
QUICK = {
    *('test_always[0]', 'test_always[1]', 'test_always[2]'),
    *('test_sampled[0]', 'test_sampled_and_slow[1]', 'test_heavy'),
}
LONG = {
    *('test_sampled[1]', 'test_sampled[2]'),
    *('test_sampled_and_slow[0]', 'test_sampled_and_slow[2]', 'test_slow'),
}


RUNS = {
    'quick': ('--part', 'quick'),
    'long': ('--part', 'long'),
    'all': (),
    'checked': ('--first-parameters', '-m', 'not slow'),
}
"""Options of each run."""
COLLECT = """\
import json, sys, pytest

class Names:
    def pytest_collection_finish(self, session):
        self.taken = [item.name for item in session.items]

taken = {}
for run, options in json.loads(sys.argv[1]).items():
    names = Names()
    assert pytest.main([*sys.argv[2:], *options], plugins=[names]) == 0
    taken[run] = names.taken
print(json.dumps(taken))
"""


@pytest.fixture(scope='module')
def taken(tmp_path_factory):
    """Return the names of the tests that each run takes; one process asks pytest for all runs."""
    file = tmp_path_factory.mktemp('parts') / 'test_program.py'
    file.write_text(PROGRAM)
    words = ['-q', '--collect-only', '-p', 'no:cacheprovider', f'--confcutdir={TEST}']
    words += ['-c', str(TEST.parent / 'setup.cfg'), '-p', 'test.conftest', str(file)]
    command = [sys.executable, '-c', COLLECT, json.dumps(RUNS), *words]
    done = subprocess.run(command, cwd=TEST.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return {run: set(names) for run, names in json.loads(done.stdout.splitlines()[-1]).items()}


def test_a_quick_run_takes_the_first_parameters_of_sampled_tests(taken):
    assert taken['quick'] == QUICK


def test_a_long_run_takes_the_rest_but_nothing_heavy(taken):
    assert taken['long'] == LONG
    assert taken['all'] == QUICK | LONG | {'test_heavy_and_slow'}


def test_the_checked_library_sees_each_quick_test_once_but_nothing_heavy(taken):
    assert taken['checked'] == {'test_always[0]', 'test_sampled[0]', 'test_sampled_and_slow[1]'}
