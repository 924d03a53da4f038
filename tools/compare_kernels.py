#!/usr/bin/env python3
"""
Show that every kernel gives the same bytes by numba and by the native library of each target.

1. Record arguments of kernels while the tests run, a few calls of each kernel from all over the run::

       RECORD_KERNELS=FOLDER PYTHONPATH=tools python -m pytest -p compare_kernels test

2. Replay the calls for each target; ``jit`` is numba. A foreign target runs in an emulator, where ROOT holds
   Python and numpy for that processor::

       python tools/compare_kernels.py replay FOLDER --target jit
       python tools/compare_kernels.py replay FOLDER --target aarch64 \
           --python 'qemu-aarch64-static -L ROOT ROOT/usr/bin/python3'

3. Compare all targets that were replayed with the first of them::

       python tools/compare_kernels.py compare FOLDER

A kernel may differ through libm, which is not the same code on all processors. ``replay --libm-of OTHER`` replays the
differing calls once more. Then each function of libm returns the result that it had for the same arguments on OTHER. If
the kernel then has the same bytes, libm is the only cause of the difference.
"""

import argparse
from collections.abc import Callable, Iterator
import ctypes
import hashlib
import importlib
import json
import math
import os
from pathlib import Path
import pickle
import random
import shlex
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple
import zlib

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ('jit', 'x86_64_v2', 'x86_64_v3', 'aarch64')
CALLS = 30
"""Calls of a kernel that one process keeps."""
LARGEST, LARGEST_OF_ALL = 1 << 22, 1 << 24
"""Largest memory of a recorded call, and of all calls of a kernel [bytes]."""
SLOWEST = 0.5
"""Longest time of a recorded call; an emulator takes fifty times as long [s]."""
WORD = 8
POSITIVE_NAN, NEGATIVE_NAN = np.uint64(0x7FF8 << 48), np.uint64(0xFFF8 << 48)
"""Bits of the NaN that operations make."""
LINE = 64
"""Blocks of memory begin where they began, as far as the processor's cache lines go [bytes]."""
FUNCTIONS = (
    *('acos', 'asin', 'atan', 'cos', 'exp', 'log', 'sin', 'tan', 'atan2', 'hypot', 'pow'),
    'sincos',
)
"""Functions of libm, by their numbers in compare_kernels.c."""
MOST_OF_LIBM = 1_000_000
"""Calls of libm within a kernel that can be written down."""


class Call(NamedTuple):
    """One call of a kernel, as it was before it ran."""

    source: str
    """The test it comes from."""
    clock: int
    """Monotonic time [ns]."""
    blocks: list[tuple[int, bytes]]
    """Memory that arguments lie in: place within a line, and contents."""
    arguments: list[tuple[Any, ...]]
    """``('value', number)``, ``('array', element type, shape, strides, writeable, block, offset)`` or ``('address', block, offset)``."""
    pointers: list[tuple[int, int, int, int]]
    """Pointers inside blocks: block and offset of the pointer, block and offset of its target."""

    @property
    def size(self) -> int:
        """Return the size of the memory that the call may read or write [bytes]."""
        return sum(len(data) for _, data in self.blocks)


# ---------------------------------------------------------------------------------------------------- record


def _words(address: int, count: int) -> Any:
    """Return integers at an address."""
    return np.frombuffer(ctypes.string_at(address, WORD * count), dtype=np.int64)


def _branch_block(address: int) -> Iterator[tuple[int, int, int]]:
    """Yield the memory of a closed form's block."""
    from ssik_ros.kernels.closed_form.branches import branch_block

    head = _words(address, branch_block.HEAD)
    yield address, WORD * int((head[::2] + head[1::2]).max()), 0


def _search_block(address: int) -> Iterator[tuple[int, int, int]]:
    """Yield the memory of a search's block."""
    from ssik_ros.kernels.rows import layout
    from ssik_ros.kernels.search import plain_request, state

    ints, reals, options = _words(address, plain_request.HEAD).tolist()
    work = _words(address + WORD * plain_request.HEAD, ints)[layout.WORK_SIZE]
    count = plain_request.HEAD + ints + state.STATE_SIZE + reals + options + int(work)
    yield address, WORD * count, 0


def _flag(address: int) -> Iterator[tuple[int, int, int]]:
    """Yield the memory of one integer."""
    yield address, WORD, 0


def _chain_block(address: int) -> Iterator[tuple[int, int, int]]:
    """Yield the memory of a closed chain's block and of the arrays that it points to."""
    from ssik_ros.kernels.mechanisms import layout

    head = _words(address, layout.BLOCK).tolist()
    frames, sizes = head[layout.BLOCK_FRAMES], head[layout.BLOCK_INTS :]
    yield address, WORD * (layout.BLOCK + layout.COUNTERS + sum(sizes)), 0
    parts = {
        layout.BLOCK_TABLE: frames * layout.FRAME_REALS,
        layout.BLOCK_FLAGS: frames * layout.FRAME_FLAGS,
        layout.BLOCK_OPTIONS: layout.OPTIONS,
        layout.BLOCK_CANCEL: 1,
    }
    for place, count in parts.items():
        yield head[place], WORD * count, address + WORD * place


BEHIND: dict[tuple[str, str], Callable[[int], Iterator[tuple[int, int, int]]]] = {
    ('closed_form.branches.branch_block.solve', 'address'): _branch_block,
    **{
        (f'mechanisms.{name}', 'address'): _chain_block
        for name in (
            *('acceleration.bend', 'descent.advance', 'descent.predicted_decrease'),
            *('descent.solve', 'mechanism.jacobian', 'mechanism.load', 'mechanism.locate'),
            *('normal.bounded_step', 'normal.gather', 'second_order.add_second_order'),
        )
    },
    ('search.plain_request.solve_one', 'address'): _search_block,
    ('search.plain_request.solve_one', 'closed'): _branch_block,
    ('search.plain_request.solve_one', 'flag'): _flag,
    ('search.plain_request.search_one', 'address'): _search_block,
    ('search.plain_request.search_one', 'flag'): _flag,
}
"""Memory at an argument that is an address: begin, size, and the address of the pointer to it (0 for no pointer)."""


def extent(array: Any) -> tuple[int, int]:
    """
    Return the address of the first byte of an array and the address after its last byte.

    :param array: with any strides.
    """
    first = last = array.ctypes.data
    for length, step in zip(array.shape, array.strides, strict=True):
        if length == 0:
            return first, first
        first += min(0, (length - 1) * step)
        last += max(0, (length - 1) * step)
    return first, last + array.itemsize


def snapshot(
    name: str, parameters: tuple[str, ...], arguments: tuple[Any, ...], source: str
) -> Call:
    """
    Return a call with copies of all memory that it may read or write; overlapping arrays share one block.

    :param name: of the kernel.
    :param parameters: their names.
    :param arguments: of the call.
    :param source: the test that makes the call.
    """
    spans, pointers = [], []
    for parameter, value in zip(parameters, arguments, strict=True):
        if hasattr(value, 'strides') and value.ndim > 0:
            spans.append(extent(value))
        elif (name, parameter) in BEHIND:
            for begin, size, pointer in BEHIND[name, parameter](value):
                spans.append((begin, begin + size))
                pointers += [(pointer, begin)] if pointer else []
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first < merged[-1][1]:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))

    def place(address: int) -> tuple[int, int]:
        number = max(k for k, (first, _) in enumerate(merged) if first <= address)
        return number, address - merged[number][0]

    described: list[tuple[Any, ...]] = []
    for parameter, value in zip(parameters, arguments, strict=True):
        if hasattr(value, 'strides') and value.ndim > 0:
            shown = value.dtype.str, value.shape, value.strides, value.flags.writeable
            described.append(('array', *shown, *place(value.ctypes.data)))
        elif (name, parameter) in BEHIND:
            described.append(('address', *place(value)))
        else:
            described.append(('value', value.item() if hasattr(value, 'item') else value))
    blocks = [(first % LINE, ctypes.string_at(first, last - first)) for first, last in merged]
    links = [(*place(at), *place(to)) for at, to in pointers]
    return Call(source, time.monotonic_ns(), blocks, described, links)


class Sample:
    """Calls of one kernel, spread over a run."""

    def __init__(self, name: str) -> None:
        """
        Begin with none.

        :param name: of the kernel.
        """
        self._random = random.Random(name)
        self._seen = self._in_test = 0
        self._test = ''
        self.calls: list[Call] = []

    def place(self, test: str) -> int | None:
        """
        Return where the next call belongs, None when it is not kept.

        Of a test the first, second, fourth, eighth ... call may be kept; all those have the same chance.

        :param test: that makes the call.
        """
        self._in_test = 1 if test != self._test else self._in_test + 1
        self._test = test
        if self._in_test & (self._in_test - 1):
            return None
        self._seen += 1
        if len(self.calls) < CALLS:
            return len(self.calls)
        chosen = self._random.randrange(self._seen)
        return chosen if chosen < CALLS else None

    def keep(self, call: Call, place: int) -> None:
        """
        Keep a call in place of another one, unless it is too large or there already.

        :param call: the call.
        :param place: of :meth:`place`.
        """
        others = [other for k, other in enumerate(self.calls) if k != place]
        if call.size <= LARGEST and all(same_input(call) != same_input(other) for other in others):
            self.calls[place : place + 1] = [call]
        while sum(one.size for one in self.calls) > LARGEST_OF_ALL:
            del self.calls[self._random.randrange(len(self.calls))]


def same_input(call: Call) -> tuple[Any, ...]:
    """Return the key of a call: equal for calls with equal arguments."""
    return call.blocks, call.arguments


class Recording:
    """Takes the place of a kernel: keeps some of its calls."""

    def __init__(self, kernel: Any, name: str, sample: Sample) -> None:
        """
        Wrap a kernel.

        :param kernel: of the native library.
        :param name: in the list.
        :param sample: the calls that are kept.
        """
        self._kernel, self._name, self._sample = kernel, name, sample
        self.python = kernel.__self__.python
        self.__name__, self.__module__ = kernel.__name__, kernel.__module__
        self.__doc__ = kernel.__doc__
        self._parameters = self.python.__code__.co_varnames[: self.python.__code__.co_argcount]

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel."""
        test = os.environ.get('PYTEST_CURRENT_TEST', '').rpartition(' ')[0]
        place = self._sample.place(test)
        if place is None:
            return self._kernel(*arguments)
        try:
            call = snapshot(self._name, self._parameters, arguments, test)
        except (ValueError, AttributeError, TypeError):
            # A test passes wrong arguments on purpose; the kernel refuses them.
            return self._kernel(*arguments)
        begin = time.thread_time()
        result = self._kernel(*arguments)
        if time.thread_time() - begin <= SLOWEST:
            self._sample.keep(call, place)
        return result


SAMPLES: dict[str, Sample] = {}


def record() -> None:
    """
    Wrap each kernel that is bound after this call.

    :raises RuntimeError: if kernels are bound already.
    """
    from ssik_ros.kernels.native import library

    if 'ssik_ros.kernels._jit' in sys.modules:
        raise RuntimeError('kernels were imported before the recorder')
    bound = library.kernel

    def kernel(function: Any) -> Any:
        made: Any = bound(function)
        if isinstance(made, library.Unlisted):
            return made
        name = library.name_of(function)
        return Recording(made, name, SAMPLES.setdefault(name, Sample(name)))

    library.kernel = kernel  # type: ignore[assignment]


if 'RECORD_KERNELS' in os.environ:
    record()


def write(folder: Path) -> None:
    """
    Write the recorded calls.

    :param folder: of the recording, with one file for each process.
    """
    kept = {name: [tuple(call) for call in one.calls] for name, one in SAMPLES.items()}
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f'{os.getpid()}-{time.time_ns()}.calls'
    file.write_bytes(zlib.compress(pickle.dumps(kept), 1))


def pytest_sessionfinish() -> None:
    """Write the calls of kernels that the tests of this process have made."""
    if 'RECORD_KERNELS' in os.environ:
        write(Path(os.environ['RECORD_KERNELS']))


# ---------------------------------------------------------------------------------------------------- replay


def load(folder: Path) -> dict[str, list[Call]]:
    """
    Return the calls of each kernel, sorted.

    :param folder: of a recording.
    """
    calls: dict[str, list[Call]] = {}
    for file in sorted(folder.glob('*.calls')):
        for name, rows in pickle.loads(zlib.decompress(file.read_bytes())).items():
            calls.setdefault(name, []).extend(Call(*row) for row in rows)
    return {name: calls[name] for name in sorted(calls)}


def _split(codes: str) -> list[str]:
    """Return the code of each argument of a signature."""
    parts: list[str] = []
    while codes:
        size = 5 if codes[0] == 'A' else codes.index(')') + 1 if codes[0] == '(' else 1
        parts.append(codes[:size])
        codes = codes[size:]
    return parts


MAKE = {'d': float, 'i': int, 'n': np.uint64, 'w': np.int32, 'b': bool}
"""Numbers of the type that the list has; numba takes the type of an argument from its value."""


class Replay:
    """The memory of a call, laid out anew."""

    def __init__(self, call: Call, signature: str) -> None:
        """
        Copy the memory.

        :param call: of a recording.
        :param signature: of the kernel, in the extension's codes.
        """
        self._call = call
        self._blocks = [self._lay(place, data) for place, data in call.blocks]
        for block, offset, target, inside in call.pointers:
            address = self._blocks[target].ctypes.data + inside
            self._blocks[block][offset : offset + WORD] = np.frombuffer(
                struct.pack('<q', address), dtype=np.uint8
            )
        codes = _split(signature.partition(':')[2])
        self.arguments = [self._make(*both) for both in zip(call.arguments, codes, strict=True)]

    @staticmethod
    def _lay(place: int, data: bytes) -> Any:
        """Return memory that begins at a place within a line."""
        whole = np.zeros(len(data) + 2 * LINE, dtype=np.uint8)
        begin = (place - whole.ctypes.data) % LINE
        whole[begin : begin + len(data)] = np.frombuffer(data, dtype=np.uint8)
        return whole[begin : begin + len(data)]

    def _make(self, argument: tuple[Any, ...], code: str) -> Any:
        """Return an argument."""
        kind, *rest = argument
        if kind == 'value':
            (value,) = rest
            if code[0] == '(':
                pairs = zip(value, code[1:-1], strict=True)
                return tuple(MAKE[letter](part) for part, letter in pairs)
            return MAKE[code](value)
        if kind == 'address':
            return int(self._blocks[rest[0]].ctypes.data + rest[1])
        element, shape, strides, is_writeable, block, offset = rest
        array = np.ndarray(shape, element, self._blocks[block], offset, strides)
        array.setflags(write=is_writeable)
        return array

    def memory(self) -> list[bytes]:
        """Return the contents of all blocks, without addresses and without the signs of NaN."""
        for block, offset, _, _ in self._call.pointers:
            self._blocks[block][offset : offset + WORD] = 0
        return [without_nan_signs(block.tobytes()) for block in self._blocks]


def without_nan_signs(block: bytes) -> bytes:
    """
    Return memory in which every NaN that an operation makes has the same bits.

    IEEE 754 leaves the sign of such a NaN open, and processors give it by the order of the operands.

    :param block: memory whose numbers begin at multiples of 8 bytes.
    """
    words = np.frombuffer(block[: len(block) // WORD * WORD], dtype=np.uint64).copy()
    words[words == NEGATIVE_NAN] = POSITIVE_NAN
    return words.tobytes() + block[words.nbytes :]


def result_bytes(result: Any) -> str:
    """
    Return a result as text; two texts are equal only if the bytes are, or if both are NaN.

    :param result: of a kernel.
    """
    if isinstance(result, tuple):
        return f'({" ".join(map(result_bytes, result))})'
    if isinstance(result, float):
        return 'nan' if math.isnan(result) else struct.pack('>d', result).hex()
    return repr(result)


class Entry(ctypes.Structure):
    """One call of a libm function."""

    _fields_ = [
        ('function', ctypes.c_int64),
        ('arguments', ctypes.c_double * 2),
        ('results', ctypes.c_double * 2),
    ]

    def text(self) -> str:
        """Return it with all digits."""
        count = 2 if FUNCTIONS[self.function] in ('atan2', 'hypot', 'pow') else 1
        given = ', '.join(float.hex(value) for value in self.arguments[:count])
        results = self.results[: 2 if FUNCTIONS[self.function] == 'sincos' else 1]
        return f'{FUNCTIONS[self.function]}({given}) = {", ".join(map(float.hex, results))}'


class Shim:
    """The C library as kernels see it, made repeatable: see compare_kernels.c."""

    def __init__(self) -> None:
        """Find it in this process, into which it was loaded first."""
        self._library = ctypes.CDLL(None)
        self._library.begin.argtypes = (
            ctypes.c_int64,
            ctypes.c_void_p,
            ctypes.c_int64,
            ctypes.c_int64,
        )
        self._entries = (Entry * MOST_OF_LIBM)()

    def begin(self, clock: int, recorded: bytes | None) -> None:
        """
        Begin before a call.

        :param clock: its monotonic time [ns].
        :param recorded: the calls of libm of another target; None to record them.
        """
        count = len(recorded or b'') // ctypes.sizeof(Entry)
        ctypes.memmove(self._entries, recorded or b'', len(recorded or b''))
        self._library.begin(clock, self._entries, MOST_OF_LIBM, count)

    def end(self) -> tuple[int, str]:
        """Return how many calls of libm had other arguments, and the first with another result."""
        self._counts, other = (ctypes.c_int64 * 3)(), Entry()
        self._library.end(self._counts, ctypes.byref(other))
        first = self._counts[2]
        shown = f'{other.text()}; there {self._entries[first].text()}' if first >= 0 else ''
        return int(self._counts[1]), shown

    def written(self) -> bytes:
        """Return the calls of libm."""
        return ctypes.string_at(self._entries, self._counts[0] * ctypes.sizeof(Entry))


def run_calls(folder: Path, output: Path, chosen: dict[str, list[int]] | None, libm: str) -> None:
    """
    Replay calls in this process and write a hash of each result.

    :param folder: of the recording.
    :param output: file of the results.
    :param chosen: numbers of calls by kernel; None for all.
    :param libm: 'write' to record the calls of libm, 'follow' to return the recorded results, else nothing.
    """
    shim, signatures = Shim(), json.loads((folder / 'signatures.json').read_text())
    results: dict[str, dict[str, Any]] = {}
    for name, calls in load(folder).items():
        module, _, function = name.rpartition('.')
        kernel = getattr(importlib.import_module(f'ssik_ros.kernels.{module}'), function)
        for number in range(len(calls)) if chosen is None else chosen.get(name, ()):
            trace = folder / 'libm' / f'{name}-{number}'
            recorded = trace.read_bytes() if libm == 'follow' else None
            # numba compiles during the first run, and that reads the clock.
            for _ in range(2 if 'SSIK_ROS_JIT' in os.environ else 1):
                replay = Replay(calls[number], signatures[name])
                shim.begin(calls[number].clock, recorded)
                try:
                    result = result_bytes(kernel(*replay.arguments))
                except (RuntimeError, ValueError, IndexError, ZeroDivisionError):
                    result = 'failed'
                foreign, first = shim.end()
            if libm == 'write':
                trace.parent.mkdir(exist_ok=True)
                trace.write_bytes(shim.written())
            hashes = [hashlib.sha256(data).hexdigest()[:16] for data in replay.memory()]
            row = {'result': result, 'memory': hashes, 'foreign': foreign, 'first': first}
            results.setdefault(name, {})[str(number)] = row
    output.write_text(json.dumps(results), encoding='utf-8')


def make_shim(target: str, folder: str) -> Path:
    """
    Compile and return the library that takes the place of the C library's libm.

    :param target: of the library.
    :param folder: for the file.
    """
    from native import link

    compiler = link.compiler_for(target if target in link.TARGETS else os.uname().machine)
    library = Path(folder, 'compare_kernels.so')
    source = ROOT / 'tools' / 'compare_kernels.c'
    flags = ('-shared', '-fPIC', '-O1', '-fno-builtin', '-Wall', '-Wextra', '-Werror')
    subprocess.run([*compiler, *flags, str(source), '-o', str(library), '-ldl'], check=True)
    return library


def start_child(folder: Path, target: str, command: str, output: Path, *options: str) -> None:
    """
    Replay in a process with the library of a target.

    :param folder: of the recording.
    :param target: one of TARGETS.
    :param command: Python's.
    :param output: file of the results.
    :param options: more words of the command line.
    """
    with tempfile.TemporaryDirectory() as place:
        environment = {
            **{
                k: v for k, v in os.environ.items() if k not in ('SSIK_ROS_JIT', 'SSIK_ROS_TARGET')
            },
            **({'SSIK_ROS_JIT': '1'} if target == 'jit' else {'SSIK_ROS_TARGET': target}),
            'LD_PRELOAD': str(make_shim(target, place)),
            'PYTHONPATH': os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]),
            'PYTHONDONTWRITEBYTECODE': '1',
        }
        words = [str(Path(__file__).resolve()), 'child', str(folder), str(output), *options]
        subprocess.run(
            [*shlex.split(command), '-X', 'faulthandler', *words], env=environment, check=True
        )


def replay(folder: Path, target: str, command: str, libm_of: str | None) -> None:
    """
    Replay all calls for a target, or those that differ from another one with the libm of that one.

    :param folder: of the recording.
    :param target: one of TARGETS.
    :param command: Python's.
    :param libm_of: the other target, which runs by this Python.
    """
    from ssik_ros.kernels.native import library

    (folder / 'signatures.json').write_text(json.dumps(library.LIBRARY.signatures()))
    if libm_of is None:
        start_child(folder, target, command, folder / f'{target}.json')
        return
    differing = folder / f'{target}.differing.json'
    differing.write_text(json.dumps(differences(folder, libm_of, target)), encoding='utf-8')
    chosen = '--calls', str(differing), '--libm'
    start_child(
        folder, libm_of, sys.executable, folder / f'{libm_of}.again.json', *chosen, 'write'
    )
    start_child(folder, target, command, folder / f'{target}.libm.json', *chosen, 'follow')


# ---------------------------------------------------------------------------------------------------- compare


def read(folder: Path, name: str) -> Any:
    """
    Return results of a replay.

    :param folder: of the recording.
    :param name: of the target.
    """
    return json.loads((folder / f'{name}.json').read_text(encoding='utf-8'))


def is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two replays of a call have the same bytes."""
    return all(one[part] == other[part] for part in ('result', 'memory'))


def differences(folder: Path, first: str, second: str) -> dict[str, list[int]]:
    """
    Return the calls of each kernel that differ between two replays.

    :param folder: of the recording.
    :param first, second: targets.
    """
    before, after = read(folder, first), read(folder, second)
    differing = {}
    for name, rows in before.items():
        numbers = [int(k) for k, row in rows.items() if not is_same(row, after[name][k])]
        if numbers:
            differing[name] = numbers
    return differing


def explain(
    folder: Path, call: Call, name: str, numbers: list[int], first: str, second: str
) -> tuple[str, bool]:
    """
    Return the places where a kernel differs, and whether libm is proved to be the only cause.

    :param folder: of the recording.
    :param call: the first one that differs.
    :param name: of the kernel.
    :param numbers: of the calls that differ.
    :param first, second: targets.
    """
    expected = read(folder, first)[name]
    one, other = expected[str(numbers[0])], read(folder, second)[name][str(numbers[0])]
    parts = [f'result {one["result"]} and {other["result"]}'] * (one['result'] != other['result'])
    pairs = zip(one['memory'], other['memory'], strict=True)
    blocks = {block for block, both in enumerate(pairs) if both[0] != both[1]}
    parts += [
        f'argument {place + 1}'
        for place, (kind, *rest) in enumerate(call.arguments)
        if kind != 'value' and rest[-2] in blocks
    ]
    text = f'{len(numbers)} calls, first {numbers[0]} ({call.source}): {", ".join(parts)}'
    if not (folder / f'{second}.libm.json').is_file():
        return text, False
    followed = read(folder, f'{second}.libm').get(name, {})
    rows = [(followed.get(str(k)), expected[str(k)]) for k in numbers]
    if all(row and is_same(row, wanted) and row['foreign'] == 0 for row, wanted in rows):
        return f'{text}; through libm alone: {followed[str(numbers[0])]["first"]}', True
    return f'{text}; not through libm alone', False


def compare(folder: Path) -> bool:
    """
    Print which kernels differ between targets; return whether none does other than through libm.

    :param folder: of the recording.
    """
    from ssik_ros.kernels.native import sources

    lines = sources.SIGNATURES.read_text(encoding='utf-8').splitlines()
    listed = {line.partition('(')[0] for line in lines if line and line[0] != '#'}
    calls = load(folder)
    count = sum(map(len, calls.values()))
    print(f'{count} calls of {sum(map(bool, calls.values()))} kernels; {len(listed)} are listed.')
    silent = sorted(name for name in listed if not calls.get(name))
    print(f'No test calls directly: {", ".join(silent) or "none"}')
    replayed = [target for target in TARGETS if (folder / f'{target}.json').is_file()]
    is_fine = True
    for target in replayed[1:]:
        differing = differences(folder, replayed[0], target)
        print(f'{replayed[0]} and {target}: {len(differing)} kernels differ')
        for name, numbers in differing.items():
            call = calls[name][numbers[0]]
            text, is_libm = explain(folder, call, name, numbers, replayed[0], target)
            print(f'  {name}: {text}')
            is_fine = is_fine and is_libm
    return is_fine


def main() -> None:
    """Read the command line and run its verb."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0].strip())
    verbs = parser.add_subparsers(dest='verb', required=True)
    one = verbs.add_parser('replay', help='run the calls for a target')
    one.add_argument('folder', type=Path)
    one.add_argument('--target', choices=TARGETS, required=True)
    one.add_argument('--python', default=sys.executable, help='command that runs Python')
    one.add_argument('--libm-of', choices=TARGETS, help='calls that differ, with its libm')
    two = verbs.add_parser('compare', help='compare the targets that were replayed')
    two.add_argument('folder', type=Path)
    child = verbs.add_parser('child', help='what replay starts')
    child.add_argument('folder', type=Path)
    child.add_argument('output', type=Path)
    child.add_argument('--calls', type=Path)
    child.add_argument('--libm', default='')
    chosen = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / 'tools')]
    if chosen.verb == 'replay':
        replay(chosen.folder.resolve(), chosen.target, chosen.python, chosen.libm_of)
    elif chosen.verb == 'child':
        wanted = json.loads(chosen.calls.read_text()) if chosen.calls else None
        run_calls(chosen.folder, chosen.output, wanted, chosen.libm)
    elif not compare(chosen.folder):
        sys.exit('Kernels differ between targets, and not through libm alone.')


if __name__ == '__main__':
    main()
