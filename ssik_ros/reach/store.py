"""
A map on the disk: a Zarr v3 group that is written unit by unit.

A finished map has the same bytes however often its making was interrupted.

How
    Each unit is one chunk of each array. A chunk is written to a temporary name and renamed when complete, so that it
    exists whole or not at all. The chunk of ``status`` comes last and says that the unit is done. The lock, and chunks
    that are being written, lie in ``.work``, which is removed at the end. No time and no name of a machine is inside.
"""

from collections.abc import Callable, Iterator, Mapping
import contextlib
import errno
import fcntl
import hashlib
import json
import os
from pathlib import Path
import shutil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, MALFORMED, quote, shorten, SsikError
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.collisions.chain_scene import ChainScene
from ssik_ros.reach.extras import import_extra
from ssik_ros.reach.grid import Cells, cells_from_mapping, Grid
from ssik_ros.value_class import dataclass

FORMAT = 1
KEY = 'ssik_reach'
"""Name of this package's entry in the attributes of the group."""
WORK = '.work'
STATUS = 'status'
COLLISIONS = 'collisions'
"""Name of the group of arrays that describe the shapes, and of the attribute that holds their names."""
SCENE_ARRAYS = ChainScene._fields[1:]
FILLS: dict[str, tuple[str, Any]] = {
    STATUS: ('uint8', 0),
    'branches': ('uint8', 0),
    'effort': ('uint16', 0),
    'manipulability': ('float32', np.nan),
    'limit_margin': ('float32', np.nan),
    'clearance': ('float32', np.nan),
    'self_motions': ('uint8', 0),
}
"""Type and value of cells outside of the region, for each array that there may be."""
ALWAYS = (STATUS, 'branches', 'effort')
LEVEL = 3
"""Of compression."""


LARGEST_HEAD = 1 << 24
"""Bytes of the file that describes a map."""
LARGEST_ROWS = 1 << 30
"""Bytes of orientations, of poses, or of a table of shapes."""


class StoreError(SsikError, OSError):
    """A map cannot be read or written."""


class StoredArray:
    """An array of a map; raises StoreError with its name if a part cannot be read."""

    def __init__(self, array: Any, path: Path, name: str) -> None:
        """
        Take the array.

        :param array: as Zarr opens it.
        :param path: of the map.
        :param name: of the array.
        """
        self._array, self._path, self._name = array, path, name
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.chunks: tuple[int, ...] = tuple(array.chunks)
        self.dtype: np.dtype[Any] = array.dtype
        self.nbytes = int(array.nbytes)

    def __getitem__(self, where: Any) -> Any:
        """Return a part of the array."""
        return self._read(lambda: self._array[where])

    def block(self, key: tuple[int, ...]) -> Any:
        """
        Return the cells of a chunk.

        :param key: of the chunk.
        """
        return self._read(lambda: self._array.blocks[key])

    def _read(self, part: Callable[[], Any]) -> Any:
        try:
            return part()
        except Exception as error:
            raise StoreError(
                f"The map '{self._path}' has chunks that cannot be read ({self._name}): "
                f'{type(error).__name__}: {shorten(error)}.',
                path=self._path,
            ) from error


@dataclass(frozen=True, eq=False)
class MapPlan:
    """Definition of a map; sent to every process that decides units."""

    chain: SerialChain
    robot: str
    """Name of the robot."""
    cells: Cells
    arrays: tuple[str, ...]
    settings: Mapping[str, Any]
    """Further settings that change the numbers, for JSON."""
    scene: ChainScene | None = None
    """Shapes that postures must not touch; None where collisions do not matter."""

    def as_mapping(self) -> dict[str, Any]:
        """Return the definition of the map, for JSON."""
        chain, scene = self.chain, self.scene
        own = {} if scene is None else {COLLISIONS: _scene_as_mapping(scene)}
        return {
            'format': FORMAT,
            'robot': {
                'name': self.robot,
                'sha256': hash_of_chain(chain),
                **_chain_as_mapping(chain),
            },
            'cells': self.cells.as_mapping(),
            'arrays': list(self.arrays),
            'settings': dict(self.settings),
            **own,
        }


def hash_of_chain(chain: SerialChain) -> str:
    """
    Return a checksum of everything about a chain that its reach depends on: joints, geometry, limits.

    :param chain: the chain.
    """
    text = json.dumps([chain.base_link, chain.tip_link, list(chain.joint_names)])
    check = hashlib.sha256(text.encode())
    for array in (chain.kinds, chain.axes, chain.points, chain.home, chain.lower, chain.upper):
        # Adding zero turns -0.0 into 0.0.
        check.update((np.asarray(array, dtype=np.float64) + 0.0).tobytes())
    return check.hexdigest()


class MapStore:
    """The folder of one map."""

    def __init__(self, path: Path) -> None:
        """
        Name the folder.

        :param path: of the map.
        """
        self.path = path

    def create(self, plan: MapPlan) -> None:
        """
        Make an empty map, all at once; an existing one of the same plan is not changed.

        :param plan: the definition of the map.
        :raises StoreError: when the folder is something else, or cannot be written.
        :raises InvalidOption: when the folder holds a map of another robot or of other cells.
        """
        if self.path.exists():
            self._check_same(plan)
            return
        draft = self.path.with_name(f'.{self.path.name}.draft')
        with explained(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with _alone_in(self.path.parent):
                # Another run may have made it meanwhile.
                if not self.path.exists():
                    shutil.rmtree(draft, ignore_errors=True)
                    _write_draft(draft, plan)
                    os.replace(draft, self.path)
                    return
        self._check_same(plan)

    def missing(self, cells: Cells) -> Iterator[int]:
        """
        Yield the units that are not yet written.

        :param cells: of the map.
        """
        saved = self.read_attributes()['arrays']
        return (
            unit
            for unit in cells.units()
            if not all(_has_bytes(self._chunk(name, cells, unit)) for name in saved)
        )

    def write_unit(self, cells: Cells, unit: int, values: Mapping[str, NDArray[Any]]) -> None:
        """
        Write the chunks of a unit, whole or not at all.

        :param cells: of the map.
        :param unit: its number.
        :param values: a flat array of the unit's cells for each array of the map.
        :raises StoreError: when the disk is full, or the map is not there.
        """
        with explained(self.path):
            # The status is written last: if it can be read, all other arrays of the unit are there.
            for name in sorted(values, key=lambda name: name == STATUS):
                target = self._chunk(name, cells, unit)
                target.parent.mkdir(parents=True, exist_ok=True)
                draft = self.path / WORK / f'{name}-{unit}-{os.getpid()}'
                _write_whole(draft, target, encode(name, values[name]))

    def read_unit(self, name: str, cells: Cells, unit: int) -> NDArray[Any]:
        """
        Return the cells of a unit, flat; chunks at the border of a map are whole, too.

        :param name: of the array.
        :param cells, unit: as for :meth:`write_unit`.
        :raises StoreError: if the chunk is missing or damaged.
        """
        try:
            size = int(np.prod(cells.chunks))
            return decode(name, self._chunk(name, cells, unit).read_bytes(), size)
        except (OSError, ValueError, RuntimeError) as error:
            raise StoreError(
                f"The map '{self.path}' has a chunk that cannot be read ({name}, unit {unit}): {error}. Remove the "
                'chunk and start the same command again.',
                path=self.path,
            ) from error

    def finish(self, counts: NDArray[np.int64]) -> None:
        """
        Write the number of cells of each status, and remove the files of the run.

        :param counts: (k,) by :class:`CellStatus`.
        """
        file = self.path / 'zarr.json'
        with explained(self.path):
            content = json.loads(file.read_text(encoding='utf-8'))
            content['attributes'][KEY]['counts'] = counts.tolist()
            draft = self.path / WORK / 'zarr.json'
            _write_whole(draft, file, json.dumps(content, indent=2).encode())
            shutil.rmtree(self.path / WORK)

    def read_attributes(self) -> dict[str, Any]:
        """
        Return the attributes of the map.

        :raises StoreError: if the folder is not a map.
        """
        file = self.path / 'zarr.json'
        with self._reading():
            if not self.path.exists():
                raise StoreError(f"There is no map '{self.path}'.", path=self.path)
            if file.stat().st_size > LARGEST_HEAD:
                raise self._no_map()
            content = json.loads(file.read_bytes())
            attributes = content['attributes'][KEY]
            known = attributes['format']
        if known != FORMAT:
            raise StoreError(
                f"The map '{self.path}' has format {known!r}; this version reads format {FORMAT}."
            )
        return dict(attributes)

    def made_of(self) -> str:
        """
        Return a checksum of all that the numbers of the map depend on; it stays the same when the map is finished.

        :raises StoreError: if the folder is not a map.
        """
        saved = self.read_attributes()
        saved.pop('counts', None)
        return hashlib.sha256(json.dumps(saved, sort_keys=True).encode()).hexdigest()

    def read_cells(self) -> Cells:
        """
        Return the cells of the map.

        :raises StoreError: if the folder is not a map.
        """
        with self._reading():
            saved = self.read_attributes()['cells']
            name = 'poses' if saved.get('kind') == 'poses' else 'orientations'
            return cells_from_mapping(saved, self._rows(name))

    def read_chain(self) -> SerialChain:
        """
        Return the arm that the map was made of.

        :raises StoreError: if the folder is not a map.
        """
        with self._reading():
            saved = self.read_attributes()['robot']
            chain = _chain_from_mapping(saved)
            if hash_of_chain(chain) != saved['sha256']:
                raise StoreError(
                    f"The robot in the map '{self.path}' does not have its checksum: the map is damaged. Make it again.",
                    path=self.path,
                )
            return chain

    def read_scene(self) -> ChainScene | None:
        """
        Return the shapes that postures of the map do not touch; None where collisions do not matter.

        :raises StoreError: if the folder is not a map.
        """
        with self._reading():
            saved = self.read_attributes().get(COLLISIONS)
            if saved is None:
                return None
            arrays: Any = (self._rows(f'{COLLISIONS}/{name}') for name in SCENE_ARRAYS)
            return ChainScene(tuple(saved['names']), *arrays)

    def array(self, name: str) -> Any:
        """
        Return an array of the map, opened for reading.

        :param name: its name.
        :raises StoreError: if the map does not have the array.
        """
        zarr = import_extra('zarr')
        try:
            return StoredArray(
                zarr.open_array(str(self.path / name), mode='r', zarr_format=3), self.path, name
            )
        except Exception as error:
            # Zarr lets errors of many kinds through where its file is damaged.
            raise StoreError(
                f"The map '{self.path}' has no array '{name}', or it is damaged.", path=self.path
            ) from error

    def check_arrays(self, cells: Cells) -> None:
        """
        Refuse a map whose arrays do not have its cells: reading them could exhaust memory.

        :param cells: of the map.
        :raises StoreError: naming the array.
        """
        with self._reading():
            for name in self.read_attributes()['arrays']:
                have = self.array(name)
                if (have.shape, have.chunks, have.dtype) != (
                    tuple(cells.shape),
                    tuple(cells.chunks),
                    np.dtype(FILLS[name][0]),
                ):
                    raise StoreError(
                        f"The array '{name}' of the map '{self.path}' does not have the cells of the map: it is damaged.",
                        path=self.path,
                    )

    def _rows(self, name: str) -> FloatArray:
        """Return a small array whole."""
        array = self.array(name)
        if array.nbytes > LARGEST_ROWS:
            raise self._no_map()
        rows: FloatArray = array[...]
        return rows

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn whatever a damaged map raises into one error."""
        try:
            yield
        except (OSError, *MALFORMED) as error:
            if isinstance(error, SsikError):
                raise
            raise self._no_map() from error

    def _no_map(self) -> StoreError:
        """Return the error for a folder that is not a whole map."""
        return StoreError(
            f"'{self.path}' is there but is no whole reach map; remove it, or write to another place.",
            path=self.path,
        )

    def _check_same(self, plan: MapPlan) -> None:
        """Raise where the map that is there was made of something else, or holds links."""
        _refuse_links(self.path)
        have, want = self.read_attributes(), plan.as_mapping()
        if have['robot'] != want['robot']:
            what = _difference(have['robot'], want['robot'])
            raise InvalidOption(
                f"The map '{self.path}' is of another robot, or the robot has changed ({what}); write to another place.",
                path=self.path,
            )
        if have.get(COLLISIONS) != want.get(COLLISIONS):
            what = _changed_scene(have.get(COLLISIONS), want.get(COLLISIONS))
            raise InvalidOption(
                f"The map '{self.path}' was begun {what}; write to another place, or remove it.",
                path=self.path,
            )
        for key in ('cells', 'arrays', 'settings'):
            if have[key] != want[key]:
                raise InvalidOption(
                    f"The map '{self.path}' was begun with other {key} ({_changes(have[key], want[key])}); write to "
                    'another place, or remove it.',
                    path=self.path,
                )
        name, rows = _rows(plan.cells)
        if not np.array_equal(self._rows(name), rows):
            raise InvalidOption(
                f"The map '{self.path}' was begun with other {name}; write to another place.",
                path=self.path,
            )
        self.check_arrays(plan.cells)

    def _chunk(self, name: str, cells: Cells, unit: int) -> Path:
        """Return the file of a unit's chunk."""
        return self.path.joinpath(name, 'c', *map(str, cells.key(unit)))


def encode(name: str, values: NDArray[Any]) -> bytes:
    """
    Return the bytes of a chunk, as Zarr writes them with the codecs of :func:`_create`.

    :param name: of the array.
    :param values: its cells, flat.
    """
    zstd = import_extra('numcodecs.zstd')
    packed: bytes = zstd.compress(values.astype(_little(name)).tobytes(), LEVEL)
    return packed


def decode(name: str, packed: bytes, size: int) -> NDArray[Any]:
    """
    Return the cells (n,) in the bytes of a chunk.

    :param name: of the array.
    :param packed: as :func:`encode` made them.
    :param size: number of the cells.
    :raises ValueError: if the chunk has another number of cells. Memory is allocated only for ``size`` cells.
    """
    cells = np.empty(size, dtype=_little(name))
    unpacked = import_extra('numcodecs.zstd').decompress(packed, cells)
    if memoryview(unpacked).nbytes != cells.nbytes:
        raise ValueError(f'it does not hold {size} cells')
    return cells


@contextlib.contextmanager
def held_by_one_run(path: Path, what: str) -> Iterator[None]:
    """
    Hold a folder for one run; the lock ends with the process, however that ends.

    :param path: of the map or data set.
    :param what: noun for the folder in messages, "map" or "data set".
    :raises StoreError: when another run holds it.
    """
    with explained(path):
        (path / WORK).mkdir(exist_ok=True)
        # Neither is followed if it is a link, and nothing is emptied.
        folder = os.open(path / WORK, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open('lock', flags, 0o666, dir_fd=folder)
        finally:
            os.close(folder)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreError(
                f"Another run works on the {what} '{path}'; wait for it, or write to another place.",
                path=path,
            ) from error
        yield
    finally:
        os.close(file)


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other run makes a map in a folder; file systems without locks do not wait."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _refuse_links(path: Path) -> None:
    """Refuse a map with symbolic links inside: files written through them would land elsewhere."""
    for folder, names, files in os.walk(path):
        for name in (*names, *files):
            if os.path.islink(os.path.join(folder, name)):
                raise StoreError(
                    f"'{os.path.join(folder, name)}' is a symbolic link; a map with links inside is not gone on with. "
                    'Write to another place.',
                    path=path,
                )


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """
    Turn errors of the system into one line that says what to do.

    :param path: of the map or data set.
    """
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            text = f"The disk of '{path}' is full; make room and start the same command again: it goes on."
        else:
            text = f"'{path}' cannot be written: {error.strerror or error}."
        raise StoreError(text, path=path) from error


def _little(name: str) -> np.dtype[Any]:
    """Return the type of an array on the disk."""
    return np.dtype(FILLS[name][0]).newbyteorder('<')


def _create(store: Any, name: str, shape: tuple[int, ...], chunks: tuple[int, ...]) -> Any:
    """Create an array of a map."""
    zarr = import_extra('zarr')
    kind, fill = FILLS[name]
    return zarr.create_array(
        store=store,
        name=name,
        shape=shape,
        chunks=chunks,
        dtype=kind,
        fill_value=fill,
        compressors=zarr.codecs.ZstdCodec(level=LEVEL),
        config={'write_empty_chunks': True},
        dimension_names=('x', 'y', 'z', 'orientation') if len(shape) == 4 else ('pose',),
    )


def _chain_as_mapping(chain: SerialChain) -> dict[str, Any]:
    """Return a chain for JSON, which has no infinite numbers: null for no limit."""
    limits = {
        name: [float(x) if np.isfinite(x) else None for x in array]
        for name, array in (('lower', chain.lower), ('upper', chain.upper))
    }
    return {
        'base': chain.base_link,
        'tip': chain.tip_link,
        'joints': list(chain.joint_names),
        'kinds': chain.kinds.tolist(),
        'axes': chain.axes.tolist(),
        'points': chain.points.tolist(),
        'home': chain.home.tolist(),
        **limits,
    }


def _chain_from_mapping(saved: Mapping[str, Any]) -> SerialChain:
    """Return the chain of a map."""
    n = len(saved['joints'])
    limits = {
        name: np.array([sign * np.inf if x is None else x for x in saved[name]], dtype=np.float64)
        for name, sign in (('lower', -1.0), ('upper', 1.0))
    }
    return SerialChain(
        base_link=saved['base'],
        tip_link=saved['tip'],
        joint_names=tuple(saved['joints']),
        kinds=np.array(saved['kinds'], dtype=np.int64),
        axes=np.array(saved['axes'], dtype=np.float64).reshape(n, 3),
        points=np.array(saved['points'], dtype=np.float64).reshape(n, 3),
        home=np.array(saved['home'], dtype=np.float64).reshape(4, 4),
        lower=limits['lower'],
        upper=limits['upper'],
        joint_indices=np.arange(n),
        idx_q=np.arange(n),
    )


def _scene_as_mapping(scene: ChainScene) -> dict[str, Any]:
    """Return the names of shapes and a checksum of all about them, for JSON."""
    return {'sha256': scene.checksum(), 'objects': scene.objects, 'names': list(scene.names)}


def _changed_scene(have: Mapping[str, Any] | None, want: Mapping[str, Any] | None) -> str:
    """Return in words how shapes differ."""
    if have is None or want is None:
        return 'without collisions' if have is None else 'with collisions'
    if have['objects'] != want['objects']:
        return f'with other obstacles ({shorten(have["objects"])}, not {shorten(want["objects"])})'
    return 'with shapes or places of robot and obstacles that have changed'


def _write_scene(store: Any, scene: ChainScene) -> None:
    """Write the arrays of shapes."""
    zarr = import_extra('zarr')
    zarr.create_group(store=store, path=COLLISIONS, zarr_format=3)
    for name in SCENE_ARRAYS:
        rows = getattr(scene, name)
        # A chunk has at least one row, also where a scene has no meshes.
        chunks = tuple(max(1, size) for size in rows.shape)
        zarr.create_array(
            store=store,
            name=f'{COLLISIONS}/{name}',
            shape=rows.shape,
            chunks=chunks,
            dtype=rows.dtype,
        )[...] = rows


def _rows(cells: Cells) -> tuple[str, FloatArray]:
    """Return the name and the rows of the array that lists a map's orientations, or its poses."""
    if isinstance(cells, Grid):
        return 'orientations', cells.orientations
    return 'poses', cells.rows


def _write_draft(draft: Path, plan: MapPlan) -> None:
    """Write a map without units."""
    zarr = import_extra('zarr')
    store = zarr.storage.LocalStore(str(draft))
    zarr.create_group(store=store, zarr_format=3, attributes={KEY: plan.as_mapping()})
    name, rows = _rows(plan.cells)
    zarr.create_array(store=store, name=name, data=rows, chunks=rows.shape)
    if plan.scene is not None:
        _write_scene(store, plan.scene)
    for name in plan.arrays:
        _create(store, name, plan.cells.shape, plan.cells.chunks)


def _write_whole(draft: Path, target: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all."""
    try:
        draft.write_bytes(content)
        os.replace(draft, target)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _has_bytes(file: Path) -> bool:
    """Return whether a file is there and not empty, as one may be after the power has failed."""
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def _changes(have: Any, want: Any) -> str:
    """Return the differences of two mappings or lists as text."""
    if isinstance(have, dict) and isinstance(want, dict):
        keys = [key for key in want if have.get(key) != want[key]]
        return ', '.join(f'{key} {shorten(have.get(key))}, not {want[key]}' for key in keys)
    return f'{shorten(have)}, not {want}'


def _difference(have: Mapping[str, Any], want: Mapping[str, Any]) -> str:
    """Return the first thing that differs, in words."""
    for key in ('name', 'base', 'tip', 'joints'):
        if have.get(key) != want[key]:
            return f'{key} {quote(have.get(key))}, not {quote(want[key])}'
    return 'its geometry or its limits'
