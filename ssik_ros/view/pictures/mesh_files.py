"""
Read mesh files as surfaces, made coarser if they have many triangles.

A mesh file may come from an untrusted source. Only a small binary STL file is read in this process. Every other file is
read once, by a separate process with limits on time and memory. Its surface is then kept in a cache in the user's
folder.
"""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import hashlib
import json
import logging
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.atomic_files import drafted
from ssik_ros.errors import counted, quote
from ssik_ros.model.collision.checks import import_coal
from ssik_ros.model.collision.geometry import mesh_file_fault, read_stl, read_triangles
from ssik_ros.view.pictures.solids import make_mesh, simplify, Surface

_LOGGER = logging.getLogger('ssik_ros.view')

ROBOT_TRIANGLES = 60_000
"""Triangles of all meshes of a robot, about."""
FEWEST, MOST = 1000, 6000
"""Bounds of the triangles of one mesh file: a robot with many files gets more than its share, and one file less."""
MESH_SECONDS, ALL_SECONDS = 20.0, 60.0
"""Time to read one mesh file, and all mesh files of a robot [s]."""
MOST_MEMORY = 4 << 30
"""Address space of the process that reads mesh files [bytes]."""
MOST_CACHED = 256 << 20
"""Size of the cache; the oldest files are removed beyond [bytes]."""
LARGEST = 1e6
"""Largest coordinate of a mesh [m]."""
FORMAT = 1
"""Changes whenever the same file gives another surface."""


class MeshFile(NamedTuple):
    """Path of a mesh file, and the factors of x, y and z by which the URDF scales its coordinates."""

    path: Path
    scale: tuple[float, float, float]


def read_meshes(
    meshes: Sequence[MeshFile], report: Callable[[str], None] = _LOGGER.info
) -> list[Surface | str]:
    """
    Return for each mesh file its surface, or a sentence that says why the mesh is left out.

    :param meshes: all mesh files of one robot.
    :param report: called with a line of text before a wait of some seconds.
    """
    most = min(max(ROBOT_TRIANGLES // max(len(meshes), 1), FEWEST), MOST)
    outcomes = {
        mesh: surface for mesh in meshes if (surface := _read_here(mesh, most)) is not None
    }
    missing = [mesh for mesh in dict.fromkeys(meshes) if mesh not in outcomes]
    if missing:
        with _cache_folder() as folder:
            keys = {mesh: _key(mesh, most) for mesh in missing}
            outcomes |= {
                mesh: surface for mesh in missing if (surface := _load(folder, keys[mesh]))
            }
            heavy = [mesh for mesh in missing if mesh not in outcomes]
            if heavy:
                outcomes |= _read_apart(heavy, keys, most, folder, report)
    return [outcomes[mesh] for mesh in meshes]


def _read_here(mesh: MeshFile, most: int) -> Surface | str | None:
    """
    Read a small binary STL file in this process.

    :param most: largest number of triangles.
    :returns: the surface; a sentence if the mesh is left out; None for files that another process has to read.
    """
    fault = mesh_file_fault(mesh.path)
    if fault:
        return fault
    if mesh.path.stat().st_size > 100 + 50 * most:
        return None
    corners = read_stl(mesh.path)
    if corners is None:
        return None
    return _surface(mesh.path.name, corners.reshape(-1, 3) * mesh.scale, most)


def _surface(name: str, corners: FloatArray, most: int) -> Surface | str:
    """
    Return the surface of k triangles, made coarser if there are more than ``most``.

    If there are no triangles, return a sentence with the reason instead. The same holds for a coordinate that is not
    finite or not below LARGEST [m].

    :param name: file name for the sentence.
    :param corners: (3 k, 3) corners, three for each triangle [m].
    :param most: largest number of triangles.
    """
    if not len(corners):
        return f'the mesh {quote(name)} is left out: it has no triangles.'
    if not (np.abs(corners) < LARGEST).all():
        return (
            f'the mesh {quote(name)} is left out: it is larger than {LARGEST:g} m, or not finite.'
        )
    raw = corners.reshape(-1, 3, 3)
    if len(raw) > most:
        return simplify(Surface(raw, np.zeros((0, 3, 3))), most)
    return make_mesh(corners, np.arange(len(corners)).reshape(-1, 3))


def _key(mesh: MeshFile, most: int) -> str:
    """Return the file name of a mesh in the cache: a hash of path, time, size, scale and ``most``."""
    state = mesh.path.stat()
    words = (FORMAT, str(mesh.path.resolve()), state.st_mtime_ns, state.st_size, mesh.scale, most)
    return hashlib.sha256(repr(words).encode()).hexdigest()[:32]


def cache_folder() -> Path:
    """
    Return the folder in which surfaces are kept.

    It is in ``SSIK_ROS_CACHE_DIR`` if set, else in ``XDG_CACHE_HOME`` or ``~/.cache``.
    """
    given = os.environ.get('SSIK_ROS_CACHE_DIR')
    if given:
        return Path(given) / 'meshes'
    return (
        Path(os.environ.get('XDG_CACHE_HOME') or '~/.cache').expanduser() / 'ssik_ros' / 'meshes'
    )


@contextlib.contextmanager
def _cache_folder() -> Iterator[Path]:
    """Yield the cache folder, or a temporary one, removed afterwards, if the cache cannot be written."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError):
        with tempfile.TemporaryDirectory(prefix='ssik_meshes_') as other:
            yield Path(other)
        return
    yield folder


def _load(folder: Path, key: str) -> Surface | None:
    """Return a surface of the cache, or None if it is missing or damaged."""
    file = folder / f'{key}.npy'
    try:
        packed = np.load(file, allow_pickle=False)
        os.utime(file)
    except (OSError, ValueError, EOFError):
        return None
    if packed.dtype != np.float32 or packed.shape[1:] != (2, 3, 3) or not len(packed):
        return None
    return Surface(packed[:, 0], packed[:, 1]) if np.isfinite(packed).all() else None


def _read_apart(
    meshes: Sequence[MeshFile],
    keys: dict[MeshFile, str],
    most: int,
    folder: Path,
    report: Callable[[str], None],
) -> dict[MeshFile, Surface | str]:
    """
    Return for each mesh file the surface that a separate process reads, or a sentence why the mesh is left out.

    A file that makes the process crash or run too long is left out, and a new process reads the rest. After ALL_SECONDS
    all files that are not read are left out.

    :param keys: names in the cache.
    :param most: largest number of triangles of a mesh.
    :param folder: folder of the cache.
    :param report: called with a line of text before reading.
    """
    size = sum(mesh.path.stat().st_size for mesh in meshes) / (1 << 20)
    report(
        f'Reading {counted(len(meshes), "mesh", "meshes")} ({size:.1f} MiB) once; '
        f'their coarse form is kept in {folder}.'
    )
    end = time.monotonic() + ALL_SECONDS
    outcomes: dict[MeshFile, Surface | str] = {}
    left = list(meshes)
    while left:
        seconds = end - time.monotonic()
        faults = _run_reader([(*mesh, keys[mesh]) for mesh in left], most, folder, seconds)
        for place, mesh in enumerate(left):
            name = quote(mesh.path.name)
            surface = _load(folder, keys[mesh])
            if surface is not None:
                outcomes[mesh] = surface
            elif place < len(faults):
                outcomes[mesh] = (
                    faults[place] or f'the mesh {name} is left out: it cannot be kept.'
                )
            elif time.monotonic() >= end:
                rest = f'is left out: the meshes of the robot take more than {ALL_SECONDS:.0f} s.'
                outcomes[mesh] = f'the mesh {name} {rest}'
            else:
                why = (
                    f'takes more than {MESH_SECONDS:g} s or {MOST_MEMORY >> 30} GiB, or is damaged'
                )
                outcomes[mesh] = f'the mesh {name} is left out: it {why}.'
                break
        left = [mesh for mesh in left if mesh not in outcomes]
    _prune(folder)
    return outcomes


def _run_reader(
    jobs: Sequence[tuple[Path, tuple[float, ...], str]], most: int, folder: Path, seconds: float
) -> list[str]:
    """
    Read mesh files in a separate process, which writes their surfaces to ``folder``.

    :param jobs: path, scale and name in the cache of each file.
    :param most: largest number of triangles of a mesh.
    :param seconds: time after which the process is ended.
    :returns: for each file that was finished, in order, an empty text or the reason of a failure. The list is shorter
        than ``jobs`` if the process crashes or takes too long.
    """
    order = {
        'folder': str(folder),
        'most': most,
        'seconds': MESH_SECONDS,
        'jobs': [(str(path), scale, key) for path, scale, key in jobs],
    }
    command = (sys.executable, '-m', __name__)
    # The process starts in the folder of the cache, since Python may import modules of the current folder.
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path if path)
    try:
        done = subprocess.run(
            command,
            input=json.dumps(order).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, 'PYTHONPATH': paths},
            cwd=folder,
            timeout=max(seconds, 0.01),
            check=False,
        )
        said = done.stdout
    except subprocess.TimeoutExpired as error:
        said = error.stdout or b''
    except OSError:
        said = b''
    lines = said.split(b'\n')[:-1][: len(jobs)]
    return [str(json.loads(line)) for line in lines]


def _prune(folder: Path) -> None:
    """Remove the least recently used files of the cache until it has at most MOST_CACHED bytes."""
    with contextlib.suppress(OSError):
        states = [(file.stat(), file) for file in folder.glob('*.npy')]
        states.sort(key=lambda pair: -pair[0].st_mtime)
        total = 0
        for state, file in states:
            total += state.st_size
            if total > MOST_CACHED:
                file.unlink(missing_ok=True)


def _bound_memory() -> None:
    """Limit the address space of this process to MOST_MEMORY bytes, if the system can do that."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read_all() -> None:
    """
    Do the work of the separate process: read the mesh files that the standard input lists, and write them to the cache.

    The standard output gets a line for each file: an empty text or the reason of a failure, as JSON.
    """
    import signal

    order = json.load(sys.stdin)
    _bound_memory()
    coal = import_coal()
    # Libraries may print: only this process's own lines go to the standard output.
    said = os.fdopen(os.dup(1), 'w', encoding='utf-8')
    os.dup2(2, 1)
    for path, scale, key in order['jobs']:
        signal.setitimer(signal.ITIMER_REAL, order['seconds'])
        fault = _read_one(
            MeshFile(Path(path), scale), order['most'], Path(order['folder']), key, coal
        )
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        said.write(json.dumps(fault) + '\n')
        said.flush()


def _read_one(mesh: MeshFile, most: int, folder: Path, key: str, coal: object) -> str:
    """
    Write the surface of one mesh file to the cache; return an empty text, or a sentence why that failed.

    :param key: name of the surface in the cache.
    :param coal: the imported library that reads meshes.
    """
    name = quote(mesh.path.name)
    try:
        read = read_triangles(mesh.path, np.array(mesh.scale), coal)
        if isinstance(read, str):
            return read
        surface = _surface(mesh.path.name, read[0][read[1].reshape(-1)], most)
    except (MemoryError, IndexError, ValueError, OSError, RuntimeError) as error:
        return f'the mesh {name} cannot be read and is left out: {type(error).__name__}.'
    if isinstance(surface, str):
        return surface
    packed = np.stack((surface.corners, surface.normals), axis=1).astype(np.float32)
    # A file appears whole or not at all: processes may start at once, and one may end in the middle.
    with drafted(folder / f'{key}.npy') as draft, draft.open('wb') as file:
        np.save(file, packed)
    return ''


if __name__ == '__main__':
    _read_all()
