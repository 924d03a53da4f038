"""Bounds of the memory that a node keeps: freed blocks go back, and queues of the middleware keep no large messages."""

import os
from pathlib import Path
import platform
import subprocess
import sys
import textwrap

from test.ros_units import bare_nodes  # noqa: F401 - skips the module if ROS is not installed

import pytest

import ssik_ros
from ssik_ros.ros.process import memory_bounds

pytestmark = pytest.mark.ros

PROGRAM = """
    import ctypes, os, sys, threading
    from ssik_ros.ros.process import memory_bounds
    if sys.argv[1] == 'bounded':
        assert memory_bounds.bound_heaps()
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    libc.fdopen.restype, libc.fflush.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
    def memory():
        return int(open('/proc/self/statm').read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 2**20
    def block(size):
        address = libc.malloc(size)
        ctypes.memset(address, 1, size)
        return address
    def heaps():
        gate, inside = threading.Event(), threading.Semaphore(0)
        def work():
            address = libc.malloc(1000)
            inside.release()
            gate.wait()
            libc.free(address)
        threads = [threading.Thread(target=work) for _ in range(12)]
        for thread in threads:
            thread.start()
        for _ in threads:
            inside.acquire()
        file = os.memfd_create('heaps')
        stream = libc.fdopen(file, b'w')
        libc.malloc_info(0, stream)
        libc.fflush(stream)
        # One of them is the heap of the main thread.
        found = os.pread(file, 1 << 20, 0).count(b'<heap nr=') - 1
        gate.set()
        return found
    libc.free(block(16 << 20))
    before = memory()
    blocks = [(block(2 << 20), block(200_000)) for _ in range(30)]
    for large, _ in blocks:
        libc.free(large)
    print(memory() - before, heaps())
"""


def measured(name):
    """Return the memory that remains after 60 MB were freed [MB], and the additional heaps of twelve threads."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(('MALLOC_', 'GLIBC_'))}
    environment['PYTHONPATH'] = os.pathsep.join(
        [str(Path(ssik_ros.__file__).parents[1]), os.environ.get('PYTHONPATH', '')]
    )
    command = [sys.executable, '-c', textwrap.dedent(PROGRAM), name]
    text = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    kept, heaps = text.stdout.split()
    return float(kept), int(heaps)


@pytest.mark.skipif(platform.libc_ver()[0] != 'glibc', reason='glibc has heaps for each thread')
def test_freed_blocks_go_back_and_threads_share_two_heaps():
    kept, heaps = measured('bounded')
    assert kept < 20.0
    assert heaps <= memory_bounds.HEAPS
    # Without bounds, which shows that this would notice.
    kept, heaps = measured('as it is')
    assert kept > 50.0
    assert heaps > memory_bounds.HEAPS


def test_settings_of_the_user_for_the_c_library_are_left(monkeypatch):
    monkeypatch.setenv('MALLOC_ARENA_MAX', '4')
    assert not memory_bounds.bound_heaps()


@pytest.fixture
def no_profile(monkeypatch, tmp_path):
    """Take all settings of Fast DDS away; give the working directory."""
    for name in (*memory_bounds.PROFILE_VARIABLES, memory_bounds.USE_PROFILE):
        # Set first, so that it is taken away again after the test.
        monkeypatch.setenv(name, '')
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize('distribution', ['', 'humble', 'jazzy', 'kilted', 'lyrical', 'rolling'])
def test_fast_dds_is_given_the_profile_once(no_profile, monkeypatch, distribution):
    monkeypatch.setenv('ROS_DISTRO', distribution)
    assert memory_bounds.bound_queues()
    assert os.environ[memory_bounds.USE_PROFILE] == '1'
    given = [name for name in memory_bounds.PROFILE_VARIABLES if name in os.environ]
    assert given == [memory_bounds.PROFILE_VARIABLES[distribution in ('humble', 'jazzy')]]
    text = Path(os.environ[given[0]]).read_text()
    assert text.count('<historyMemoryPolicy>DYNAMIC</historyMemoryPolicy>') == 2


@pytest.mark.parametrize('name', memory_bounds.PROFILE_VARIABLES)
def test_a_profile_of_the_user_is_left(no_profile, monkeypatch, name):
    monkeypatch.setenv(name, 'profile_of_the_user.xml')
    assert not memory_bounds.bound_queues()
    assert memory_bounds.USE_PROFILE not in os.environ


@pytest.mark.parametrize('name', memory_bounds.OWN_PROFILES)
def test_a_profile_in_the_working_directory_is_left(no_profile, name):
    (no_profile / name).touch()
    assert not memory_bounds.bound_queues()
    assert memory_bounds.USE_PROFILE not in os.environ
