"""
The folders of compiled kernels on disk: where they lie, who compiles, what may go.

Several processes may start with an empty cache at once. The first one that needs a kernel compiles it under a lock of the
file system, the others wait and load. The system frees the lock of a process that dies. Where no lock can be had
(a cache that is not ours to write, a file system without locks) everyone compiles for themselves.
"""

import atexit
from collections.abc import Iterator
import contextlib
import functools
import os
from pathlib import Path
import shutil
import tempfile
import time
from types import ModuleType
from typing import Any
from typing import TextIO

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not a POSIX system: everyone compiles for themselves
    fcntl = None

LONGEST_WAIT = 600.0
"""How long another process may take for a kernel before this one compiles it too [s]."""
POLL = 0.02
"""Time between two tries for a lock [s]: waiting in the system instead would keep signals waiting."""
KEPT_DAYS = 30.0
"""Folders that nobody has used for so long are removed [days]."""
KEPT_BYTES = 512 * 2**20
"""Above this size the folders that have been unused for longest are removed."""
BETWEEN_PRUNINGS = 1.0
"""Time between two searches for what can go [days]."""

_DAY = 86400.0
_USERS = 'users'
_NOT_YET_LOCKED = 1.0
"""Time from the making of a file to its lock, by far [s]."""
_PRUNED = 'pruned'
_own: dict[Path, TextIO] = {}
_names: dict[Path, set[str]] = {}


def cache_root() -> Path:
    """Return the folder for compiled kernels: SSIK_ROS_CACHE_DIR, the XDG cache, or a temporary one."""
    chosen = os.environ.get('SSIK_ROS_CACHE_DIR')
    if chosen:
        return Path(chosen)
    return _root_in(os.environ.get('XDG_CACHE_HOME') or str(Path.home() / '.cache'))


@functools.cache
def _root_in(base: str) -> Path:
    """Return the folder for compiled kernels below a folder of caches, or a temporary one where that cannot be."""
    root = Path(base) / 'ssik_ros'
    with contextlib.suppress(OSError):
        root.mkdir(parents=True, exist_ok=True)
        if os.access(root, os.W_OK):
            return root
    return Path(tempfile.gettempdir()) / f'ssik_ros-{os.getuid()}'


def use(folder: Path) -> None:
    """
    Say that this process uses a folder, so that no other one removes it.

    :param folder: of one kernel module, in the root of the cache.
    """
    root, name = folder.parent, folder.name
    with contextlib.suppress(OSError):
        if root not in _own:
            _own[root] = _user_file(root)
            _names[root] = set()
        if name not in _names[root]:
            _names[root].add(name)
            _own[root].write(name + '\n')
            _own[root].flush()
        if time.time() - folder.stat().st_mtime > _DAY:
            os.utime(folder)


def _user_file(root: Path) -> TextIO:
    """Return a new file that is locked, and there, as long as this process lives."""
    users = root / _USERS
    users.mkdir(parents=True, exist_ok=True)
    owner = os.getpid()
    descriptor, path = tempfile.mkstemp(prefix=f'{owner}-', dir=users)
    file = os.fdopen(descriptor, 'w')
    _try_lock(file)

    def remove() -> None:
        if os.getpid() == owner:
            Path(path).unlink(missing_ok=True)

    atexit.register(remove)
    return file


def used_by_others(root: Path) -> set[str]:
    """
    Return the names of the folders that living processes use; files of dead ones are removed.

    :param root: of the cache.
    """
    names = set[str]()
    for path in (root / _USERS).glob('*'):
        with contextlib.suppress(OSError), path.open() as file:
            # A file that has just been made is not locked yet.
            if _try_lock(file) and time.time() - path.stat().st_mtime > _NOT_YET_LOCKED:
                path.unlink()
            else:
                names.update(file.read().split())
    return names


class CompileLock:
    """Whoever holds it compiles a kernel; the others wait. Counts, for one thread of a process at a time."""

    def __init__(self, folder: Path, name: str) -> None:
        """
        Take the place of the lock; nothing is made yet.

        :param folder: of the kernel's module.
        :param name: of the kernel.
        """
        self._path = folder / f'{name}.lock'
        self._file: TextIO | None = None
        self._depth = 0

    def acquire(self) -> None:
        """Wait until no other process compiles this kernel, for a bounded time."""
        self._depth += 1
        if self._depth > 1:
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open('a')
            end = time.monotonic() + LONGEST_WAIT
            while not _try_lock(self._file) and time.monotonic() < end:
                time.sleep(POLL)

    def release(self) -> None:
        """Let the next one in."""
        self._depth -= 1
        if self._depth == 0 and self._file is not None:
            self._file.close()
            self._file = None


def _try_lock(file: TextIO) -> bool:
    """Return whether a lock has been taken, or is not to be had on this system; OSError where the files have none."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def compile_once(compiled: Any, folder: Path) -> None:
    """
    Let one process compile a kernel while the others wait for what it writes.

    :param compiled: a dispatcher.
    :param folder: of its module in the cache.
    """
    lock = CompileLock(folder, compiled.py_func.__name__)
    cache, compiler = compiled._cache, compiled._compiler
    load, save, compile_anew = cache.load_overload, cache.save_overload, compiler.compile

    def load_or_lock(signature: Any, context: Any) -> Any:
        result = load(signature, context)
        if result is None:
            lock.acquire()
            result = load(signature, context)
            if result is not None:
                lock.release()
        return result

    def compile_or_unlock(arguments: Any, return_type: Any) -> Any:
        try:
            return compile_anew(arguments, return_type)
        except BaseException:
            lock.release()
            raise

    def save_and_unlock(signature: Any, result: Any) -> None:
        try:
            save(signature, result)
        finally:
            lock.release()
        prune_at_times(folder.parent)

    cache.load_overload, cache.save_overload = load_or_lock, save_and_unlock
    compiler.compile = compile_or_unlock


def prune_at_times(root: Path) -> None:
    """
    Remove old folders, at most once a day.

    :param root: of the cache.
    """
    stamp = root / _PRUNED
    with contextlib.suppress(OSError):
        if stamp.exists() and time.time() - stamp.stat().st_mtime < BETWEEN_PRUNINGS * _DAY:
            return
        stamp.touch()
        prune(root)


def prune(root: Path) -> list[str]:
    """
    Remove folders that nobody has used for long, and more of them where the cache is large; return their names.

    A folder that a living process uses stays. One that is removed by mistake would be compiled again, no more.

    :param root: of the cache.
    """
    used = used_by_others(root)
    removed = []
    left = 0
    now = time.time()
    for age, size, folder in sorted(_folders(root, now)):
        left += size
        if folder.name in used or (age < KEPT_DAYS * _DAY and left < KEPT_BYTES):
            continue
        # Renamed first: nobody loads half of a folder.
        doomed = folder.with_name(f'{folder.name}.old-{os.getpid()}')
        with contextlib.suppress(OSError):
            folder.rename(doomed)
            removed.append(folder.name)
            left -= size
        shutil.rmtree(doomed, ignore_errors=True)
    return removed


def _folders(root: Path, now: float) -> Iterator[tuple[float, int, Path]]:
    """Generate the time since its last use [s], the size [bytes] and the path of each folder."""
    for folder in root.iterdir():
        # Their names end in a hash; the other entries are those of this module.
        if folder.is_dir() and '-' in folder.name:
            with contextlib.suppress(OSError):
                size = sum(file.stat().st_size for file in folder.rglob('*') if file.is_file())
                yield now - folder.stat().st_mtime, size, folder
