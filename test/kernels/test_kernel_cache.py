"""Kernels come from disk without a compiler, wherever the sources lie, and a cache that cannot be used is no obstacle."""

import os

from kernel_package import ANSWER
from kernel_package import make_package
from kernel_package import run
import pytest

from ssik_ros.kernels import _jit
from ssik_ros.kernels import _symbols

pytestmark = pytest.mark.skipif(_jit.JIT_DISABLED, reason='NUMBA_DISABLE_JIT is set')

ASK = """
import sys
from ssik_ros.kernels import top
print(top.top(0.5), *(sum(count.values()) for count in top.top.stats[1:]))
"""
FROM_DISK, COMPILED = f'{ANSWER} 1 0', f'{ANSWER} 0 1'
SHOW_MODULES = 'print(*sorted(sys.modules))\n'
OF_THE_COMPILER = ('scipy.linalg', 'numba.np.linalg', 'numba.np.arrayobj', 'numba.typed.dictimpl')
ALLOCATING = """
import numpy as np
from ssik_ros.kernels._jit import kernel

@kernel
def ones(n):
    array = np.empty(n)
    for i in range(n):
        array[i] = 1.0
    return array
"""
ASK_FOR_MEMORY = """
from llvmlite import binding
from ssik_ros.kernels import _symbols, memory
{before}
print(binding.address_of_symbol('NRT_MemInfo_alloc_aligned') is None, end=' ')
print(memory.ones(3), sum(memory.ones.stats.cache_hits.values()), end=' ')
print(binding.address_of_symbol('NRT_MemInfo_alloc_aligned') is None)
"""


@pytest.fixture
def package(tmp_path):
    """Return a copy of the package with three kernels that call one another."""
    return make_package(tmp_path / 'copy')


def test_a_kernel_from_disk_needs_no_compiler(package):
    answer, modules = run(ASK + SHOW_MODULES, package).splitlines()
    assert answer == COMPILED
    assert set(OF_THE_COMPILER) <= set(modules.split())
    answer, modules = run(ASK + SHOW_MODULES, package).splitlines()
    assert answer == FROM_DISK
    assert not set(OF_THE_COMPILER) & set(modules.split())


def test_checkouts_of_the_same_sources_share_their_machine_code(tmp_path, package):
    assert run(ASK, package) == COMPILED
    other = make_package(tmp_path / 'elsewhere')
    os.symlink(package / 'cache', other / 'cache')
    assert run(ASK, other) == FROM_DISK
    # Not with another source.
    bottom = other / 'ssik_ros' / 'kernels' / 'bottom.py'
    bottom.write_text(bottom.read_text().replace('1.0', '101.0'))
    assert run(ASK, other) == f'{ANSWER + 400.0} 0 1'


def test_files_of_one_name_and_text_have_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(_jit, '_KERNELS', tmp_path)
    files = [tmp_path / folder / 'same.py' for folder in ('one', 'other')]
    for file in files:
        file.parent.mkdir()
        file.write_text('value = 1\n')
    assert _jit.closure_hash(files[0]) != _jit.closure_hash(files[1])


def test_a_cache_that_cannot_be_used_does_not_keep_kernels_from_running(package):
    (package / 'cache').write_text('a file, not a folder')
    assert run(ASK, package) == COMPILED
    assert run(ASK, package) == COMPILED


@pytest.mark.parametrize('before', ['', '_symbols._memory_functions = dict'])
def test_memory_management_is_there_for_kernels_that_need_it(package, before):
    (package / 'ssik_ros' / 'kernels' / 'memory.py').write_text(ALLOCATING)
    ask = ASK_FOR_MEMORY.format(before=before)
    # Without the list of its functions numba is asked to make them known.
    assert run(ask, package) == 'True [1. 1. 1.] 0 False'
    assert run(ask, package) == 'True [1. 1. 1.] 1 False'


def test_a_symbol_that_cannot_be_had_is_named():
    class Engine:
        def is_symbol_defined(self, name):
            return name == 'of_a_kernel'

    _symbols.provide('ssik_ros_provided', lambda: None)
    names = ('of_a_kernel', 'PyErr_Occurred', 'ssik_ros_provided')
    assert _symbols.missing(names, Engine()) == 'ssik_ros_provided'
    assert _symbols.missing(names[:2], Engine()) is None
