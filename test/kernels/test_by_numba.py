"""Kernels by numba (SSIK_ROS_JIT=1), for developers of kernels: never stale, one version each, the same numbers."""

import importlib.util
import os
from pathlib import Path
import shutil
import subprocess
import sys

from test.kernels.fresh_python import run_python

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / 'ssik_ros' / 'kernels'

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec('numba') is None, reason='numba is not installed'
)


CALLER = """
from ssik_ros.kernels import {callee}
from ssik_ros.kernels._jit import kernel

@kernel
def {name}(x):
    return 2.0 * {callee}.{callee}(x)
"""
CALLEE = """
from ssik_ros.kernels._jit import {decorator}

@{decorator}
def bottom(x):
    return x + {value}
"""
ASK = """
from ssik_ros.kernels import top
result = top.top(0.5)
print(result, sum(top.top.stats.cache_hits.values()))
"""


@pytest.fixture
def package_copy(tmp_path):
    """Return a copy of the package's kernels with three small ones added: top, middle, bottom."""
    folder = tmp_path / 'copy'
    shutil.copytree(KERNELS, folder / 'ssik_ros' / 'kernels')
    for name in ('__init__.py', 'errors.py'):
        shutil.copy(ROOT / 'ssik_ros' / name, folder / 'ssik_ros')
    kernels = folder / 'ssik_ros' / 'kernels'
    (kernels / 'top.py').write_text(CALLER.format(name='top', callee='middle'))
    (kernels / 'middle.py').write_text(CALLER.format(name='middle', callee='bottom'))
    (kernels / 'bottom.py').write_text(CALLEE.format(decorator='kernel', value='1.0'))
    return folder


def by_numba(code, folder, **environment):
    """Return the output of a new process in which numba compiles the kernels of a folder."""
    environment |= {'SSIK_ROS_JIT': '1', 'SSIK_ROS_CACHE_DIR': str(folder / 'cache')}
    return run_python(code, folder, **environment)


def ask(folder):
    """Return the result of ``top`` in a new process, and how often machine code was loaded from disk."""
    value, hits = by_numba(ASK, folder).split()
    return float(value), int(hits)


@pytest.mark.slow
@pytest.mark.parametrize('decorator', ['kernel', 'inline_kernel'])
def test_an_edited_callee_in_another_file_never_runs_as_old_machine_code(package_copy, decorator):
    callee = package_copy / 'ssik_ros' / 'kernels' / 'bottom.py'
    callee.write_text(CALLEE.format(decorator=decorator, value='1.0'))
    assert ask(package_copy) == (6.0, 0)
    callee.write_text(CALLEE.format(decorator=decorator, value='100.0'))
    assert ask(package_copy) == (402.0, 0)


@pytest.mark.heavy
def test_unchanged_kernels_are_found_compiled(package_copy):
    ask(package_copy)
    assert ask(package_copy) == (6.0, 1)


LITERALS = """
from ssik_ros.kernels._jit import kernel

@kernel
def add(a, b):
    return a + b

@kernel
def caller(x):
    return add(x, 0) + add(x, 1) + add(x, 2) + add(x, x)

assert caller(3) == 18
print(len(add.signatures))
"""


def test_literal_arguments_do_not_make_versions_of_their_own(package_copy):
    (package_copy / 'ssik_ros' / 'kernels' / 'literals.py').write_text(LITERALS)
    code = 'import ssik_ros.kernels.literals'
    assert by_numba(code, package_copy) == '1'


PART = """
from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels._jit import vector

@kernel
def last(work, start, size):
    return vector(work, start, size)[size - 1]
"""
LEAVE = """
import numpy as np
from ssik_ros.kernels import part
try:
    part.last(np.ones(10), 0, 9), part.last(np.ones(12)[:10], 2, 9)
    print('inside')
except IndexError:
    print('outside')
"""


@pytest.mark.heavy
def test_with_numbas_bounds_check_views_are_checked_whatever_was_compiled_before(package_copy):
    (package_copy / 'ssik_ros' / 'kernels' / 'part.py').write_text(PART)
    assert by_numba(LEAVE, package_copy) == 'inside'
    assert by_numba(LEAVE, package_copy, NUMBA_BOUNDSCHECK='1') == 'outside'


TESTS_OF_COMPILED_KERNELS = ('test_lanes.py', 'test_addresses.py')
"""They compile kernels of their own."""


@pytest.mark.heavy
@pytest.mark.parametrize('file', TESTS_OF_COMPILED_KERNELS)
def test_kernels_that_tests_define_pass_by_numba(file):
    environment = {**os.environ, 'SSIK_ROS_JIT': '1', 'NUMBA_DISABLE_JIT': '0'}
    done = subprocess.run(
        [
            sys.executable,
            '-m',
            'pytest',
            '-q',
            '-p',
            'no:cacheprovider',
            str(Path(__file__).with_name(file)),
        ],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert ' passed' in done.stdout and 'skipped' not in done.stdout, done.stdout[-300:]
