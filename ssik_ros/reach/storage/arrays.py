"""
Read arrays of a Zarr v3 group chunk by chunk, and encode the chunks that are written.

The zarr package creates the arrays, and every reader of Zarr v3 can read them. This package reads them with the class
:class:`StoredArray`, without zarr. The class accepts only metadata of the kind that this package writes. It unpacks a
chunk only if the header states exactly the size of its cells, at most :data:`LARGEST_CHUNK` bytes. So a damaged or
hostile chunk cannot claim more memory. Each fault is reported as a StoreError.
"""

from collections.abc import Callable, Iterator
import itertools
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arguments import refuse
from ssik_ros.errors import MALFORMED, shorten
from ssik_ros.reach.storage.extras import import_extra
from ssik_ros.reach.storage.files import read_file, read_json, StoreError

LEVEL = 3
"""Level of the compression by Zstandard."""
LARGEST_CHUNK = 1 << 30
"""Largest size of the cells of a chunk [bytes]."""
LARGEST_PART = 1 << 33
"""Largest size of a part that is read at once [bytes]."""
MOST_AXES = 8
MOST_CELLS = 1 << 53
"""Largest number of cells along one axis."""
MOST_CHUNKS = 1 << 22
_TYPES = ('int8', 'uint8', 'uint16', 'int32', 'int64', 'float32', 'float64')
_MAGIC = b'\x28\xb5\x2f\xfd'
"""The first bytes of a Zstandard frame."""
_SINGLE_SEGMENT = 1 << 5
_DICTIONARY_BYTES = 0, 1, 2, 4
_SIZE_BYTES = 0, 2, 4, 8
"""Of the size of the content, by the first two bits of a frame's descriptor; the smallest size has 1 byte in a single segment."""


class ArrayHead(NamedTuple):
    """Shape, chunk shape, data type and fill value of a stored array; :func:`read_head` reads them from a file."""

    shape: tuple[int, ...]
    """Number of cells along each axis."""
    chunks: tuple[int, ...]
    """Number of cells of a chunk along each axis."""
    dtype: np.dtype[Any]
    fill: Any
    """Value of cells whose chunk is not there."""

    @property
    def nbytes(self) -> int:
        """Return the size of the whole array in memory [bytes]."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_head(folder: Path) -> ArrayHead:
    """
    Return shape, chunks, type and fill value of an array, from its metadata file.

    :param folder: folder of the array.
    :raises OSError, ValueError: for metadata that are missing, malformed, or not of the kind that this package writes.
    """
    content = read_json(folder / 'zarr.json')
    try:
        return _head_of(content)
    except MALFORMED as error:
        raise ValueError(f'its metadata are damaged: {shorten(error)}') from error


def _head_of(content: dict[str, Any]) -> ArrayHead:
    """
    Return shape, chunks, type and fill value from the metadata of an array.

    Raise an error of ``MALFORMED``, mostly ValueError, if a field is missing or not of the kind that this package
    writes.
    """
    kind = content['data_type']
    if kind not in _TYPES:
        raise ValueError(f'data_type is {shorten(kind)}')
    _expect(content, 'zarr_format', 3)
    _expect(content, 'node_type', 'array')
    _expect(
        content, 'chunk_key_encoding', {'name': 'default', 'configuration': {'separator': '/'}}
    )
    if content.get('storage_transformers'):
        raise ValueError('storage_transformers are not empty')
    grid = content['chunk_grid']
    _expect(grid, 'name', 'regular')
    shape = _sizes('shape', content['shape'], 0)
    chunks = _sizes('chunk_shape', grid['configuration']['chunk_shape'], 1)
    dtype = np.dtype(kind)
    if len(shape) != len(chunks) or math.prod(chunks) * dtype.itemsize > LARGEST_CHUNK:
        raise ValueError(f'chunk_shape is {list(chunks)} for the shape {list(shape)}')
    if math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True)) > MOST_CHUNKS:
        raise ValueError(f'shape {list(shape)} has more than {MOST_CHUNKS} chunks')
    _check_codecs(content['codecs'])
    fill = content['fill_value']
    is_number = isinstance(fill, int | float) and not isinstance(fill, bool)
    if not is_number and fill != 'NaN':
        raise ValueError(f'fill_value is {shorten(fill)}')
    return ArrayHead(shape, chunks, dtype, dtype.type(float(fill) if dtype.kind == 'f' else fill))


def _expect(content: Any, key: str, value: object) -> None:
    """Raise ValueError unless a mapping has the given value at a key."""
    if content[key] != value:
        raise ValueError(f'{key} is {shorten(content[key])}, not {value}')


def _sizes(name: str, given: Any, least: int) -> tuple[int, ...]:
    """
    Return sizes along axes as a tuple.

    Raise ValueError unless they are a list of 1 to MOST_AXES integers from ``least`` to MOST_CELLS.
    """
    is_right = isinstance(given, list) and len(given) <= MOST_AXES and len(given) > 0
    if not is_right or not all(type(n) is int and least <= n <= MOST_CELLS for n in given):
        raise ValueError(f'{name} is {shorten(given)}')
    return tuple(given)


def _check_codecs(codecs: Any) -> None:
    """Raise ValueError for other codecs than little-endian bytes and Zstandard."""
    first, second = codecs
    order = first.get('configuration', {}).get('endian', 'little')
    if (first['name'], order, second['name']) != ('bytes', 'little', 'zstd'):
        raise ValueError(f'codecs are {shorten(codecs)}')


class StoredArray:
    """
    An array of a map or data set on the disk; only its metadata are kept, and each part is read when it is asked for.

    Attributes: ``shape``, ``chunks`` (shape of a chunk), ``dtype`` and ``nbytes``. An index in brackets reads a part.
    """

    def __init__(
        self, owner: Path, name: str, check: Callable[[NDArray[Any]], str] | None = None
    ) -> None:
        """
        Read the metadata.

        :param owner: folder of the map or data set.
        :param name: path of the array below the folder.
        :param check: returns the fault of the cells of a chunk, an empty text for valid cells.
        :raises StoreError: if the array is missing or damaged.
        """
        self._owner, self._name, self._check = owner, name, check
        try:
            self._head = read_head(owner / name)
        except (OSError, *MALFORMED) as error:
            raise StoreError(
                f"The map '{owner}' has no array '{name}', or it is damaged: {reason_of(error)}.",
                path=owner,
            ) from error
        self.shape, self.chunks, self.dtype, _ = self._head
        self.nbytes = self._head.nbytes

    def __getitem__(self, where: Any) -> NDArray[Any]:
        """
        Return a part of the array.

        :param where: an integer or slice with positive step for each axis, or ``...``.
        :raises InvalidOption: for other indices.
        :raises StoreError: for a part that is too large, and for a damaged chunk.
        """
        ranges, single = _ranges(where, self.shape)
        sizes = tuple(map(len, ranges))
        if math.prod(sizes) * self.dtype.itemsize > LARGEST_PART:
            raise self._error(f'{math.prod(sizes):.3g} cells are too many to be read at once')
        try:
            part = np.empty(sizes, dtype=self.dtype)
        except MemoryError as error:
            raise self._error(
                f'{math.prod(sizes):.3g} cells do not fit into the memory'
            ) from error
        axes = zip(ranges, self.chunks, strict=True)
        for places in itertools.product(*(list(_crossings(*axis)) for axis in axes)):
            keys, targets, sources = zip(*places, strict=True)
            part[targets] = self.chunk(keys)[sources]
        return part.reshape([size for size, one in zip(sizes, single, strict=True) if not one])

    def block(self, key: tuple[int, ...]) -> NDArray[Any]:
        """
        Return the cells of a chunk, without those beyond the border of the array.

        :param key: index of the chunk along each axis.
        :raises StoreError: for a damaged chunk.
        """
        ends = (
            slice(size - number * chunk)
            for number, chunk, size in zip(key, self.chunks, self.shape, strict=True)
        )
        return self.chunk(key)[tuple(ends)]

    def chunk(self, key: tuple[int, ...], is_required: bool = False) -> NDArray[Any]:
        """
        Return the cells of a chunk, those beyond the border of the array included.

        :param key: index of the chunk along each axis.
        :param is_required: whether a missing chunk is an error; otherwise its cells have the fill value.
        :raises StoreError: for a damaged chunk, and for a missing one that is required.
        """
        size = math.prod(self.chunks)
        try:
            packed = read_file(
                chunk_file(self._owner / self._name, key), packed_limit(size * self.dtype.itemsize)
            )
            cells = decode(packed, self.dtype, size)
            if self._check is not None and (wrong := self._check(cells)):
                raise ValueError(wrong)
        except FileNotFoundError as error:
            if is_required:
                raise self._error(f'chunk {"/".join(map(str, key))} is not there') from error
            cells = np.full(size, self._head.fill, dtype=self.dtype)
        except (OSError, ValueError, MemoryError) as error:
            reason = f'chunk {"/".join(map(str, key))}: {reason_of(error)}'
            raise self._error(reason) from error
        return cells.reshape(self.chunks)

    def _error(self, reason: str) -> StoreError:
        """Return, but do not raise, the error for a part that cannot be read."""
        return StoreError(
            f"The map '{self._owner}' has cells that cannot be read ({self._name}): {reason}.",
            path=self._owner,
        )


def reason_of(error: BaseException) -> str:
    """
    Return the text of an error on one line, shortened; without the file name for an OSError.

    :param error: an OSError, or a ValueError of this module.
    """
    return shorten(getattr(error, 'strerror', None) or error)


def chunk_file(folder: Path, key: tuple[int, ...]) -> Path:
    """
    Return the file of a chunk.

    :param folder: folder of the array.
    :param key: index of the chunk along each axis.
    """
    return folder.joinpath('c', *map(str, key))


def packed_limit(size: int) -> int:
    """
    Return the largest number of bytes that a chunk may have after compression.

    :param size: size of its cells before compression [bytes].
    """
    # Zstandard adds 1/256 to data that it cannot pack, and some bytes to small ones.
    return size + (size >> 8) + 1024


def _ranges(where: Any, shape: tuple[int, ...]) -> tuple[list[range], list[bool]]:
    """
    Return (ranges, single), for each axis the indices that ``where`` selects, and True if an integer drops the axis.

    ``where`` is an index or a tuple of them, also with one ``...``; axes without an index are taken whole. Raise
    InvalidOption for integers out of range, steps below zero, too many indices and other types. Python's slices raise
    ValueError for a step of zero, and TypeError for ends that are not integers.
    """
    parts = list(where) if isinstance(where, tuple) else [where]
    for part in parts:
        is_number = isinstance(part, int | np.integer) and not isinstance(part, bool)
        if part is not Ellipsis and not isinstance(part, slice) and not is_number:
            refuse('where', where, 'slices and whole numbers')
    gaps = [k for k, part in enumerate(parts) if part is Ellipsis]
    if len(gaps) > 1 or len(parts) - len(gaps) > len(shape):
        refuse('where', where, f'a part of an array of the shape {shape}')
    at = gaps[0] if gaps else len(parts)
    missing = len(shape) - (len(parts) - len(gaps))
    parts[at : at + 1] = [slice(None)] * missing
    ranges, single = [], []
    for part, size in zip(parts, shape, strict=True):
        is_one = not isinstance(part, slice)
        if is_one:
            if not -size <= part < size:
                refuse('where', part, f'within {size} cells')
            part = slice(part % size, part % size + 1)
        ranges.append(range(*part.indices(size)))
        single.append(is_one)
        if ranges[-1].step < 1:
            refuse('where', part, 'slices with positive steps')
    return ranges, single


def _crossings(indices: range, chunk: int) -> Iterator[tuple[int, slice, slice]]:
    """
    Yield, for each chunk that holds some of the indices along an axis, its number and two slices.

    The first slice says where its cells go in the result, the second where they are in the chunk. ``chunk`` is the size
    of a chunk along this axis.
    """
    first = 0
    while first < len(indices):
        number = indices[first] // chunk
        end = len(range(indices.start, min(indices.stop, (number + 1) * chunk), indices.step))
        begin = indices[first] - number * chunk
        yield (
            number,
            slice(first, end),
            slice(begin, indices[end - 1] + 1 - number * chunk, indices.step),
        )
        first = end


def encode(values: NDArray[Any], dtype: np.dtype[Any]) -> bytes:
    """
    Return the cells of a chunk as compressed bytes, as Zarr writes them.

    :param values: cells of the chunk.
    :param dtype: type of the array.
    :raises SolverError: if the package numcodecs is missing.
    """
    zstd = import_extra('numcodecs.zstd')
    packed: bytes = zstd.compress(values.astype(dtype.newbyteorder('<')).tobytes(), LEVEL)
    return packed


def decode(packed: bytes, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """
    Return the cells (count,) from the compressed bytes of a chunk.

    :param packed: as :func:`encode` made them.
    :param dtype: type of the array.
    :param count: number of the cells.
    :raises ValueError: when the bytes do not hold exactly so many cells; a size that a damaged chunk claims is never
        allocated.
    """
    cells = np.empty(count, dtype=dtype.newbyteorder('<'))
    if _content_size(packed) != cells.nbytes:
        raise ValueError(f'it does not hold {count} cells')
    try:
        import_extra('numcodecs.zstd').decompress(packed, cells)
    except (RuntimeError, ValueError) as error:
        raise ValueError(f'it cannot be unpacked: {shorten(error)}') from error
    return cells


def _content_size(packed: bytes) -> int:
    """
    Return the size [bytes] of the uncompressed content that the header of a Zstandard frame states.

    It is -1 if the header states none or is cut, and for bytes that are no such frame. See RFC 8878, 3.1.1.
    """
    if len(packed) < 6 or packed[:4] != _MAGIC:
        return -1
    descriptor = packed[4]
    is_single = bool(descriptor & _SINGLE_SEGMENT)
    length = _SIZE_BYTES[descriptor >> 6] or int(is_single)
    begin = 5 + (not is_single) + _DICTIONARY_BYTES[descriptor & 3]
    if not length or len(packed) < begin + length:
        return -1
    return int.from_bytes(packed[begin : begin + length], 'little') + 256 * (length == 2)
