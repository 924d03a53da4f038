"""One process compiles while others wait, and old machine code goes, but never that of a living process."""

import os
import signal
import subprocess
import sys
import time

from kernel_package import ANSWER
from kernel_package import finish
from kernel_package import make_package
from kernel_package import start
import pytest

from ssik_ros.kernels import _disk_cache
from ssik_ros.kernels import _jit

DAY = 86400.0

compiled_only = pytest.mark.skipif(_jit.JIT_DISABLED, reason='NUMBA_DISABLE_JIT is set')

ASK = """
import sys
from ssik_ros.kernels import _disk_cache, top
{prepare}
answer = top.top(0.5)
print(answer, *(sum(count.values()) for count in top.top.stats[1:]))
"""
COMPILE_WHEN_TOLD = """
compile_anew = top.top._compiler.compile
def compile_when_told(*arguments):
    print('compiling', flush=True)
    sys.stdin.readline()
    return compile_anew(*arguments)
top.top._compiler.compile = compile_when_told
"""
FAIL_AND_STAY = """
import sys
from ssik_ros.kernels import top
try:
    top.top('no number')
except Exception:
    print('failed', flush=True)
sys.stdin.readline()
"""
SAY_THAT_IT_WAITS = """
import time
class Time:
    monotonic, time = time.monotonic, time.time
    said = False
    def sleep(seconds):
        if not Time.said:
            print('waiting', flush=True)
        Time.said = True
        time.sleep(seconds)
_disk_cache.time = Time
"""


@pytest.fixture
def two_processes(tmp_path):
    """Return a process that compiles, until told to go on, and one that waits for it."""
    package = make_package(tmp_path / 'copy')
    first = start(ASK.format(prepare=COMPILE_WHEN_TOLD), package)
    assert first.stdout.readline() == 'compiling\n'
    second = start(ASK.format(prepare=SAY_THAT_IT_WAITS), package)
    assert second.stdout.readline() == 'waiting\n'
    yield first, second
    for process in (first, second):
        process.kill()
        process.communicate()


@compiled_only
def test_one_process_compiles_and_the_other_one_loads(two_processes):
    first, second = two_processes
    assert finish(first, '\n') == f'{ANSWER} 0 1'
    assert finish(second) == f'{ANSWER} 1 0'


@compiled_only
def test_a_process_that_is_killed_hands_the_work_on(two_processes):
    first, second = two_processes
    first.send_signal(signal.SIGKILL)
    assert finish(second) == f'{ANSWER} 0 1'


@compiled_only
def test_nobody_waits_forever(tmp_path):
    package = make_package(tmp_path / 'copy')
    first = start(ASK.format(prepare=COMPILE_WHEN_TOLD), package)
    assert first.stdout.readline() == 'compiling\n'
    impatient = start(ASK.format(prepare='_disk_cache.LONGEST_WAIT = 0.0'), package)
    assert finish(impatient) == f'{ANSWER} 0 1'
    assert finish(first, '\n') == f'{ANSWER} 0 1'


@compiled_only
def test_a_kernel_that_cannot_be_compiled_leaves_no_lock(tmp_path):
    package = make_package(tmp_path / 'copy')
    first = start(FAIL_AND_STAY, package)
    assert first.stdout.readline() == 'failed\n'
    assert finish(start(ASK.format(prepare=''), package)) == f'{ANSWER} 0 1'
    finish(first, '\n')


def test_where_no_lock_can_be_had_everyone_compiles(tmp_path):
    obstacle = tmp_path / 'file'
    obstacle.write_text('')
    lock = _disk_cache.CompileLock(obstacle / 'folder', 'kernel')
    lock.acquire()
    lock.release()


def test_a_lock_counts(tmp_path):
    mine, other = (_disk_cache.CompileLock(tmp_path, 'kernel') for _ in range(2))
    mine.acquire()
    mine.acquire()
    mine.release()
    with (tmp_path / 'kernel.lock').open() as file:
        assert not _disk_cache._try_lock(file)
    mine.release()
    other.acquire()
    other.release()


@pytest.fixture
def folder_of_age(tmp_path):
    """Return a function that makes a folder of compiled kernels that has been unused for some days."""

    def make(name, days, size=10):
        folder = tmp_path / name
        (folder / 'below').mkdir(parents=True)
        (folder / 'below' / 'kernel.nbc').write_bytes(bytes(size))
        used = time.time() - days * DAY
        os.utime(folder, (used, used))
        return folder

    return make


def test_folders_that_nobody_has_used_for_long_are_removed(tmp_path, folder_of_age):
    old, young = folder_of_age('steps-0123', 31.0), folder_of_age('steps-4567', 29.0)
    assert _disk_cache.prune(tmp_path) == ['steps-0123']
    assert not old.exists()
    assert young.exists()
    assert not list(tmp_path.glob('*.old-*'))


def test_of_a_large_cache_the_oldest_folders_are_removed(tmp_path, folder_of_age, monkeypatch):
    monkeypatch.setattr(_disk_cache, 'KEPT_BYTES', 250)
    for days in range(5):
        folder_of_age(f'steps-{days}', 1.0 + days, size=100)
    assert sorted(_disk_cache.prune(tmp_path)) == ['steps-2', 'steps-3', 'steps-4']


USE = """
import pathlib, sys
from ssik_ros.kernels import _disk_cache
_disk_cache.use(pathlib.Path(sys.argv[1]))
print('used', flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def user(folder_of_age):
    """Return a folder that was old, and a living process that uses it now."""
    folder = folder_of_age('steps-0123', 31.0)
    process = subprocess.Popen(
        [sys.executable, '-c', USE, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == 'used\n'
    yield folder, process
    process.kill()
    process.communicate()


def make_old_again(folder):
    """Undo that a use makes a folder young."""
    used = time.time() - 31.0 * DAY
    os.utime(folder, (used, used))
    for path in (folder.parent / 'users').iterdir():
        os.utime(path, (used, used))


def test_using_a_folder_makes_it_young(user, tmp_path):
    folder, _ = user
    assert time.time() - folder.stat().st_mtime < DAY


def test_a_folder_of_a_living_process_stays(user, tmp_path):
    folder, _ = user
    make_old_again(folder)
    assert _disk_cache.prune(tmp_path) == []
    assert folder.exists()


def test_a_folder_of_a_killed_process_goes(user, tmp_path):
    folder, process = user
    process.kill()
    process.wait()
    make_old_again(folder)
    assert _disk_cache.prune(tmp_path) == ['steps-0123']
    assert not list((tmp_path / 'users').iterdir())


def test_a_process_that_ends_leaves_no_file(user, tmp_path):
    _, process = user
    process.communicate('\n')
    assert not list((tmp_path / 'users').iterdir())


def test_other_things_in_the_cache_stay(tmp_path):
    used = time.time() - 99.0 * DAY
    for name in ('users', 'own'):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (used, used))
    assert _disk_cache.prune(tmp_path) == []


def test_a_cache_is_pruned_once_a_day(tmp_path, folder_of_age):
    _disk_cache.prune_at_times(tmp_path)
    folder = folder_of_age('steps-0123', 31.0)
    _disk_cache.prune_at_times(tmp_path)
    assert folder.exists()
    yesterday = time.time() - 1.1 * DAY
    os.utime(tmp_path / 'pruned', (yesterday, yesterday))
    _disk_cache.prune_at_times(tmp_path)
    assert not folder.exists()
