"""
Write and read the folder of a reach map: a Zarr v3 group that is written unit by unit.

:class:`MapPlan` defines a map, and :class:`MapStore` makes, writes and reads its folder. A unit is a block of cells,
which are the poses to decide. A finished map has the same bytes however often its making was interrupted.

How
    Each unit is one chunk of each array of results. A chunk is written to a temporary name and renamed when complete,
    so that it exists whole or not at all. The chunk of ``status`` comes last. A unit is done if its chunk of each array
    exists and is not empty. The lock, and files that are being written, lie in ``.work``, which is removed at the end.
    No time and no name of a machine is inside.
"""

from collections.abc import Iterator, Mapping
import contextlib
import hashlib
import json
import math
import os
from pathlib import Path
import shutil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.atomic_files import write_whole
from ssik_ros.errors import InvalidOption, MALFORMED, quote, shorten, SsikError
from ssik_ros.kernels.geometry.joint_values import LARGEST_JOINT_VALUE
from ssik_ros.model.serial_chain import SERIAL_KINDS, SerialChain
from ssik_ros.paths.waypoints import wrong_poses
from ssik_ros.reach.collisions.chain_scene import ChainScene, check_scene, scene_layout
from ssik_ros.reach.grid import Cells, cells_from_mapping, Grid, LARGEST_UNIT
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.reach.storage.arrays import (
    chunk_file,
    encode,
    LEVEL,
    MOST_CELLS,
    reason_of,
    StoredArray,
)
from ssik_ros.reach.storage.extras import import_extra
from ssik_ros.reach.storage.files import (
    alone_in,
    explained,
    has_bytes,
    read_json,
    refuse_links,
    StoreError,
    WORK,
)
from ssik_ros.value_class import dataclass

FORMAT = 1
KEY = 'ssik_reach'
"""Name of this package's entry in the attributes of the group."""
STATUS = 'status'
COLLISIONS = 'collisions'
"""Name of the group of arrays that describe the shapes, and of the attribute that holds their names."""
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
HEAD = 'zarr.json'
"""Name of the file that describes the map."""
UNIT_LENGTH = 1e-6
"""Largest deviation of the length of a unit vector from 1."""
MOST_JOINTS = 2000
"""Largest number of joints of the chain of a map."""
LARGEST_ROWS = 1 << 30
"""Largest size of orientations, of poses, or of a table of shapes [bytes]."""


@dataclass(frozen=True, eq=False)
class MapPlan:
    """
    Definition of a reach map: chain of the arm, poses, arrays to store, settings, and shapes for collision checks.

    It is stored in the folder of the map before the run. Each worker process reads it there, and computes units
    (blocks of poses) by it.
    """

    chain: SerialChain
    robot: str
    """Name of the robot."""
    cells: Cells
    """The poses to decide: a grid or a list of poses."""
    arrays: tuple[str, ...]
    """Names of the arrays to store, each a key of FILLS."""
    settings: Mapping[str, Any]
    """Further settings that change the results, as JSON can store them; ``searches`` is always there."""
    scene: ChainScene | None = None
    """Shapes that postures must not touch; None where collisions do not matter."""

    def as_mapping(self) -> dict[str, Any]:
        """
        Return the definition of the map as a mapping that JSON can store.

        It has checksums of the chain and of the shapes, but not the arrays of orientations, poses and shapes.
        """
        chain, scene = self.chain, self.scene
        collisions = {} if scene is None else {COLLISIONS: _scene_as_mapping(scene)}
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
            **collisions,
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
    """Creates, reads and writes the folder of one reach map, ``path``; it keeps no content of the folder."""

    def __init__(self, path: Path) -> None:
        """
        Store the path; nothing is read or written.

        :param path: of the map.
        """
        self.path = path

    def create(self, plan: MapPlan) -> None:
        """
        Create an empty map, or check that an existing map in the folder has the same plan.

        The folder appears complete in one step, so that an interrupted creation leaves no partial map.

        :param plan: the definition of the map.
        :raises StoreError: if the folder exists and is not a map, is damaged or contains links, or if it cannot be
            written.
        :raises InvalidOption: if the folder holds a map of another robot, or of other cells, arrays, settings or
            shapes.
        """
        with explained(self.path):
            is_there = self.path.exists()
        if is_there:
            self._check_same(plan)
            return
        draft = self.path.with_name(f'.{self.path.name}.draft')
        with explained(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with alone_in(self.path.parent):
                # Another run may have made it meanwhile.
                if not self.path.exists():
                    if draft.is_symlink():
                        draft.unlink()
                    shutil.rmtree(draft, ignore_errors=True)
                    _write_draft(draft, plan)
                    os.replace(draft, self.path)
                    return
        self._check_same(plan)

    def missing(self, cells: Cells) -> Iterator[int]:
        """
        Yield the numbers of units that are not complete: a chunk of at least one array is missing or empty.

        :param cells: the cells of the map.
        :raises StoreError: if the folder is not a map, or is damaged.
        """
        saved = self.read_attributes()['arrays']
        return (
            unit
            for unit in cells.units()
            if not all(has_bytes(self._chunk(name, cells, unit)) for name in saved)
        )

    def write_unit(self, cells: Cells, unit: int, values: Mapping[str, NDArray[Any]]) -> None:
        """
        Write the results of a unit, one chunk for each array; the chunk of the status comes last.

        Each chunk is written whole or not at all. A run holds the lock :func:`held_by_one_run`, which also makes
        the folder of the drafts.

        :param cells: the cells of the map.
        :param unit: number of the unit.
        :param values: by name of the array, the values of one whole chunk as a flat array, cells beyond the border
            included.
        :raises StoreError: if a file cannot be written, such as on a full disk.
        :raises SolverError: if the package numcodecs is missing.
        """
        with explained(self.path):
            # The status is written last: if it can be read, all other arrays of the unit are there.
            for name in sorted(values, key=lambda name: name == STATUS):
                target = self._chunk(name, cells, unit)
                target.parent.mkdir(parents=True, exist_ok=True)
                draft = self.path / WORK / f'{name}-{unit}-{os.getpid()}'
                write_whole(target, encode(values[name], _type_of(name)), draft)

    def read_unit(self, name: str, cells: Cells, unit: int) -> NDArray[Any]:
        """
        Return the values of the cells of one unit, which is one chunk of each array, as a flat array.

        A chunk at the border has the full size too. Beyond the border and outside the region it has fill values.

        :param name: name of the array.
        :param cells: the cells of the map.
        :param unit: number of the unit.
        :raises StoreError: if the array or the chunk is missing or damaged.
        """
        try:
            array = self.array(name)
            return array.chunk(cells.key(unit), is_required=True).reshape(-1)
        except StoreError as error:
            raise StoreError(
                f'{error} Remove the chunk and start the same command again.', path=self.path
            ) from error

    def finish(self, counts: NDArray[np.int64]) -> None:
        """
        Mark the map as finished: store the number of cells for each status, and remove the working folder.

        :param counts: (k,) number of cells for each :class:`CellStatus`.
        :raises StoreError: if the folder is not a map, is damaged or cannot be written.
        """
        content = self._read_group()
        content['attributes'][KEY]['counts'] = counts.tolist()
        with explained(self.path):
            write_whole(self.path / HEAD, json.dumps(content, indent=2), self.path / WORK / HEAD)
            shutil.rmtree(self.path / WORK)

    def read_attributes(self) -> dict[str, Any]:
        """
        Return the definition of the map, as :meth:`MapPlan.as_mapping` made it.

        A finished map has ``counts`` too, the number of cells of each status.

        :raises StoreError: if the folder is not a map, has another format, or is damaged.
        """
        attributes: dict[str, Any] = self._read_group()['attributes'][KEY]
        return attributes

    def made_of(self) -> str:
        """
        Return a checksum (hexadecimal SHA-256) of the definition of the map: arm, cells, arrays, settings, shapes.

        It does not change when the map is finished. Of the orientations of a grid, or the poses of a list, it covers
        only the number.

        :raises StoreError: if the folder is not a map, has another format, or is damaged.
        """
        saved = self.read_attributes()
        saved.pop('counts', None)
        return hashlib.sha256(json.dumps(saved, sort_keys=True).encode()).hexdigest()

    def read_cells(self) -> Cells:
        """
        Return the cells of the map: a grid or a list of poses.

        :raises StoreError: if the folder is not a map, or is damaged.
        """
        with self._reading():
            saved = self.read_attributes()['cells']
            is_list = saved['kind'] == 'poses'
            if is_list:
                rows = self._rows('poses', (saved['count'], 7))
            else:
                rows = self._rows('orientations', (saved['orientations'], 4))
            lengths = np.linalg.norm(rows[:, -4:], axis=1)
            if not np.isfinite(rows).all() or not (np.abs(lengths - 1.0) <= UNIT_LENGTH).all():
                raise ValueError('orientations are no unit quaternions')
            cells = cells_from_mapping(saved, rows)
            if cells.as_mapping() != saved or math.prod(cells.chunks) > LARGEST_UNIT:
                raise ValueError('cells are damaged')
            return cells

    def read_chain(self) -> SerialChain:
        """
        Return the chain of the arm that the map was made for.

        :raises StoreError: if the folder is not a map, or is damaged.
        """
        with self._reading():
            saved = self.read_attributes()['robot']
            chain = chain_from_mapping(saved)
            if hash_of_chain(chain) != saved['sha256']:
                raise ValueError('the robot does not have its checksum')
            _check_chain(chain)
            return chain

    def read_scene(self) -> ChainScene | None:
        """
        Return the shapes that postures were checked against; None if the map was made without collision checks.

        :raises StoreError: if the folder is not a map, or is damaged.
        """
        with self._reading():
            attributes = self.read_attributes()
            saved, joints = attributes.get(COLLISIONS), len(attributes['robot']['joints'])
            if saved is None:
                return None
            names = tuple(saved['names'])
            arrays: Any = (
                self._rows(f'{COLLISIONS}/{name}', shape, kind)
                for name, (kind, shape) in scene_layout(len(names)).items()
            )
            scene = ChainScene(names, *arrays)
            if scene.checksum() != saved['sha256']:
                raise ValueError('the shapes do not have their checksum')
            check_scene(scene, joints)
            return scene

    def array(self, name: str) -> StoredArray:
        """
        Return an array of the map, opened for reading.

        :param name: its name.
        :raises StoreError: if the map does not have the array.
        """
        return StoredArray(self.path, name, _wrong_status if name == STATUS else None)

    def check_arrays(self, cells: Cells) -> None:
        """
        Raise StoreError if an array does not have the shape, chunks and type of the map's cells.

        Reading such an array could exhaust the memory. Only the metadata are read.

        :param cells: the cells of the map.
        :raises StoreError: naming the array; also if an array is missing, or if the folder is not a map.
        """
        for name in self.read_attributes()['arrays']:
            have = self.array(name)
            want = tuple(cells.shape), tuple(cells.chunks), _type_of(name)
            if (have.shape, have.chunks, have.dtype) != want:
                raise StoreError(
                    f"The array '{name}' of the map '{self.path}' does not have the cells of the map: it is damaged.",
                    path=self.path,
                )

    def _rows(
        self, name: str, shape: tuple[int | None, ...], kind: str = 'float64'
    ) -> NDArray[Any]:
        """
        Return the whole content of a small array that is stored as one chunk.

        Raise ValueError if shape or type differ, for more than one chunk, or above LARGEST_ROWS bytes. Raise StoreError
        if the array is missing or damaged.

        :param name: path of the array below the folder of the map.
        :param shape: expected size of each axis; None allows any size.
        :param kind: expected data type.
        """
        array = self.array(name)
        sizes = zip(shape, array.shape, strict=True)
        is_right = all(want in (None, have) for want, have in sizes)
        is_one_chunk = array.chunks == tuple(max(1, size) for size in array.shape)
        if not (
            is_right and is_one_chunk and array.dtype == kind and array.nbytes <= LARGEST_ROWS
        ):
            raise ValueError(f'{name} has another shape')
        return array[...]

    def _read_group(self) -> dict[str, Any]:
        """
        Return the metadata of the map's Zarr group, after a check of its attributes.

        Raise StoreError if the folder does not exist, if its format is another one, or if it is damaged.
        """
        with self._reading():
            if not self.path.exists():
                raise StoreError(f"There is no map '{self.path}'.", path=self.path)
            content = read_json(self.path / HEAD)
            attributes = content['attributes'][KEY]
            map_format = attributes['format']
            if map_format != FORMAT:
                raise StoreError(
                    f"The map '{self.path}' has format {shorten(repr(map_format))}; this version reads format {FORMAT}.",
                    path=self.path,
                )
            _check_attributes(attributes)
            return content

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn every error that a damaged map causes in the ``with`` block into a StoreError."""
        try:
            yield
        except (OSError, *MALFORMED) as error:
            if isinstance(error, SsikError):
                raise
            raise StoreError(
                f"'{self.path}' is there but is no whole reach map ({type(error).__name__}: {reason_of(error)}); "
                'remove it, or write to another place.',
                path=self.path,
            ) from error

    def _check_same(self, plan: MapPlan) -> None:
        """Raise InvalidOption if the existing map differs from a plan, StoreError if it is damaged or holds links."""
        refuse_links(self.path, 'map')
        have, want = self.read_attributes(), plan.as_mapping()
        if have['robot'] != want['robot']:
            noun = _difference(have['robot'], want['robot'])
            raise InvalidOption(
                f"The map '{self.path}' is of another robot, or the robot has changed ({noun}); write to another place.",
                path=self.path,
            )
        if have.get(COLLISIONS) != want.get(COLLISIONS):
            noun = _changed_scene(have.get(COLLISIONS), want.get(COLLISIONS))
            raise InvalidOption(
                f"The map '{self.path}' was begun {noun}; write to another place, or remove it.",
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
        with self._reading():
            is_same = np.array_equal(self._rows(name, rows.shape), rows)
        if not is_same:
            raise InvalidOption(
                f"The map '{self.path}' was begun with other {name}; write to another place.",
                path=self.path,
            )
        self.check_arrays(plan.cells)

    def _chunk(self, name: str, cells: Cells, unit: int) -> Path:
        """Return the path of the file that holds the chunk of a unit in one array."""
        return chunk_file(self.path / name, cells.key(unit))


def _type_of(name: str) -> np.dtype[Any]:
    """Return the data type of an array of a map, by the name of the array."""
    return np.dtype(FILLS[name][0])


def _wrong_status(cells: NDArray[Any]) -> str:
    """Return the fault of status numbers (unsigned) that were read, as text; empty if all are valid."""
    most = int(cells.max(initial=0))
    return f'{most} is no status' if most > max(CellStatus) else ''


def _check_attributes(saved: dict[str, Any]) -> None:
    """
    Raise an error of ``MALFORMED``, mostly ValueError or KeyError, if attributes of a map are missing or wrong.

    Checked are names, checksums, the list of arrays, the setting ``searches``, sizes, and counts. The numbers of the
    chain are left to :func:`_check_chain`.
    """
    robot, scene, counts = saved['robot'], saved.get(COLLISIONS), saved.get('counts')
    _check_names('robot', [robot['name'], robot['base'], robot['tip'], robot['sha256']])
    _check_names('joints', robot['joints'])
    _check_names('arrays', saved['arrays'])
    if list(saved['arrays']) != [name for name in FILLS if name in saved['arrays']]:
        raise ValueError(f'arrays are {shorten(saved["arrays"])}')
    if not set(ALWAYS) <= set(saved['arrays']):
        raise ValueError(f'arrays are {shorten(saved["arrays"])}')
    if type(saved['settings']['searches']) is not bool:
        raise ValueError(f'settings are {shorten(saved["settings"])}')
    for key in ('orientations', 'count', 'unit_cells'):
        size = saved['cells'].get(key, 1)
        if type(size) is not int or not 1 <= size <= MOST_CELLS:
            raise ValueError(f'{key} is {shorten(size)}')
    if scene is not None:
        _check_names('names', scene['names'])
        _check_names('objects', scene['objects'])
        _check_names('sha256', [scene['sha256']])
    if counts is not None and not (
        len(counts) == len(CellStatus)
        and all(type(n) is int and 0 <= n <= MOST_CELLS for n in counts)
    ):
        raise ValueError(f'counts are {shorten(counts)}')


def _check_names(noun: str, names: Any) -> None:
    """Raise ValueError unless ``names`` is a list of texts that UTF-8 can encode; ``noun`` is for the message."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f'{noun} is {shorten(names)}')
    ''.join(names).encode()


def _check_chain(chain: SerialChain) -> None:
    """
    Raise ValueError if a chain that was read from a map is not valid.

    Checked are the number of joints, distinct names, array sizes, kinds of joints, unit axes, that no lower limit is
    above the upper one, the size of numbers, and the rigid tip pose.
    """
    limits = np.column_stack([chain.lower, chain.upper])
    numbers = (chain.axes, chain.points, chain.home)
    n = len(chain.joint_names)
    is_right = (
        1 <= n <= MOST_JOINTS
        and len(set(chain.joint_names)) == n
        and chain.kinds.shape == chain.lower.shape == chain.upper.shape == (n,)
        and np.isin(chain.kinds, SERIAL_KINDS).all()
        and all((np.abs(array) <= LARGEST_JOINT_VALUE).all() for array in numbers)
        and (np.abs(np.linalg.norm(chain.axes, axis=1) - 1.0) <= UNIT_LENGTH).all()
        and (limits[:, 0] <= limits[:, 1]).all()
        and not wrong_poses(chain.home[None]).size
    )
    if not is_right:
        raise ValueError('the robot is no chain of joints')


def _create(store: Any, name: str, shape: tuple[int, ...], chunks: tuple[int, ...]) -> Any:
    """Create an empty Zarr array for one quantity of a map and return it."""
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
    """Return a chain as a mapping that JSON can store; a missing limit is null, since JSON has no infinity."""
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


def chain_from_mapping(saved: Mapping[str, Any]) -> SerialChain:
    """
    Return the chain of a saved robot; its joints and their values have the indices 0 to n - 1.

    The numbers are not checked.

    :param saved: the attribute ``robot`` of a map.
    :raises LookupError, TypeError, ValueError, OverflowError: for a mapping of another form.
    """
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
    """Return the names of all shapes and a checksum of a scene, as a mapping that JSON can store."""
    return {'sha256': scene.checksum(), 'objects': scene.objects, 'names': list(scene.names)}


def _changed_scene(have: Mapping[str, Any] | None, want: Mapping[str, Any] | None) -> str:
    """
    Return how the shapes of a stored map differ from the shapes of a plan, as part of a sentence.

    :param have, want: mappings of :func:`_scene_as_mapping`; None without collision checks.
    """
    if have is None or want is None:
        return 'without collisions' if have is None else 'with collisions'
    if have['objects'] != want['objects']:
        return f'with other obstacles ({shorten(have["objects"])}, not {shorten(want["objects"])})'
    return 'with shapes or places of robot and obstacles that have changed'


def _write_scene(store: Any, scene: ChainScene) -> None:
    """Write the arrays of a collision scene into the group COLLISIONS of a map."""
    zarr = import_extra('zarr')
    zarr.create_group(store=store, path=COLLISIONS, zarr_format=3)
    for name in ChainScene._fields[1:]:
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
    """Return (name, rows) of the array that defines the cells: ``orientations`` of a grid, or ``poses`` of a list."""
    if isinstance(cells, Grid):
        return 'orientations', cells.orientations
    return 'poses', cells.rows


def _write_draft(draft: Path, plan: MapPlan) -> None:
    """Write a complete map folder with no unit decided yet."""
    zarr = import_extra('zarr')
    store = zarr.storage.LocalStore(str(draft))
    zarr.create_group(store=store, zarr_format=3, attributes={KEY: plan.as_mapping()})
    name, rows = _rows(plan.cells)
    zarr.create_array(store=store, name=name, data=rows, chunks=rows.shape)
    if plan.scene is not None:
        _write_scene(store, plan.scene)
    for name in plan.arrays:
        _create(store, name, plan.cells.shape, plan.cells.chunks)


def _changes(have: Any, want: Any) -> str:
    """Return as text how two mappings or lists differ: the stored values, and the wanted ones."""
    if isinstance(have, dict) and isinstance(want, dict):
        keys = [key for key in want if have.get(key) != want[key]]
        return ', '.join(f'{key} {shorten(have.get(key))}, not {want[key]}' for key in keys)
    return f'{shorten(have)}, not {want}'


def _difference(have: Mapping[str, Any], want: Mapping[str, Any]) -> str:
    """
    Return as text the first difference between the robot stored in a map and the robot of a plan.

    :param have, want: mappings of :func:`_chain_as_mapping` with the robot's name.
    """
    for key in ('name', 'base', 'tip', 'joints'):
        if have.get(key) != want[key]:
            return f'{key} {quote(have.get(key))}, not {quote(want[key])}'
    return 'its geometry or its limits'
