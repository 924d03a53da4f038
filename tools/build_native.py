#!/usr/bin/env python3
"""
Build the native library of the kernels: one file for each target, in the folder ``kernels/native``.

Three steps for each kernel module: numba lowers it, LLVM optimises it, LLVM emits an object for each target. Each step
is a process of its own, as many at once as there are cores. Products are kept in build/native under a hash of all
inputs of their step. The linker then joins the objects and the extension.
"""

import argparse
from collections.abc import Callable
import contextlib
import functools
import gc
import hashlib
import importlib
import importlib.metadata
import json
import os
from pathlib import Path
import shutil
import sys
import time
import traceback
from typing import Any, NamedTuple, TextIO

ROOT = Path(__file__).resolve().parents[1]
STORE = ROOT / 'build' / 'native'
REPORT_EVERY = 5.0
"""Time between two lines of progress if the output goes to a file [s]."""


class Step(NamedTuple):
    """Something to do in a process of its own."""

    name: str
    needs: tuple[str, ...]
    products: tuple[Path, ...]
    work: Callable[[], None]


class Scheduler:
    """Runs steps, those that others wait for first."""

    def __init__(self, processes: int, output: TextIO | None) -> None:
        """
        Begin with nothing done.

        :param processes: how many at once.
        :param output: where the progress is shown; None shows nothing.
        """
        self._processes, self._output = processes, output
        self._period = 0.2 if output and output.isatty() else REPORT_EVERY
        self._start = self._said = self._begun = time.monotonic()

    def run(self, title: str, steps: list[Step]) -> None:
        """
        Run steps whose products are not there yet.

        :param title: of the progress.
        :param steps: each after those that it needs.
        :raises SystemExit: when one fails.
        """
        waiting = [step for step in steps if not all(path.is_file() for path in step.products)]
        undone = {step.name for step in waiting}
        total, self._begun = len(waiting), time.monotonic()
        running: dict[int, Step] = {}
        while waiting or running:
            ready = [step for step in waiting if not undone.intersection(step.needs)]
            for step in ready[: self._processes - len(running)]:
                running[_fork(step.work)] = step
                waiting.remove(step)
            process = 0
            while not process:
                names = [step.name for step in running.values()]
                self._say(title, total - len(undone), total, names)
                time.sleep(0.01)
                process, status = os.waitpid(-1, os.WNOHANG)
            step = running.pop(process)
            if status != 0:
                for other in running:
                    os.kill(other, 15)
                raise SystemExit(f'build: {step.name} failed; the error stands above.')
            undone.remove(step.name)
        if total:
            self._say(title, total, total, [], is_last=True)

    def _say(
        self, title: str, done: int, total: int, now: list[str], is_last: bool = False
    ) -> None:
        """Show the progress: in one line of a terminal, else in a line every few seconds."""
        clock = time.monotonic()
        if not self._output or not (is_last or clock - self._said >= self._period):
            return
        self._said = clock
        bar = '#' * (20 * done // total)
        text = f'{title} [{bar:<20}] {done} of {total}, {clock - self._start:.0f} s'
        if 0 < done < total:
            text += f', about {(clock - self._begun) * (total - done) / done:.0f} s left'
        text += f'  {", ".join(now)}'
        if self._output.isatty():
            text = f'\r\033[K{text[:100]}' + ('\n' if is_last else '')
        else:
            text += '\n'
        self._output.write(text)
        self._output.flush()


def _fork(work: Callable[[], None]) -> int:
    """Do work in a child, and return its process."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        work()
        status = 0
    except SystemExit as stop:
        print(f'\nbuild: {stop}', file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def write(path: Path, data: bytes) -> None:
    """Write a file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f'{path.name}.{os.getpid()}')
    part.write_bytes(data)
    part.replace(path)


class Build:
    """All kernel modules, and the steps that build them."""

    def __init__(self, targets: list[str], is_checked: bool) -> None:
        """
        Read the list of kernels and the sources.

        :param targets: their names.
        :param is_checked: whether indices are compared with bounds.
        """
        from native import signatures

        from ssik_ros.kernels.native import sources

        self.targets, self._is_checked = targets, is_checked
        self._store = STORE / 'checked' if is_checked else STORE
        self._sources = sources
        self.imports = sources.imports()
        self.listed: dict[str, list[Any]] = {name: [] for name in self.imports}
        for row in signatures.read():
            if row.module not in self.listed:
                raise SystemExit(
                    f'{sources.SIGNATURES}:{row.line}: there is no module {row.module}'
                )
            self.listed[row.module].append(row)
        files = sources.modules()
        self._digests = {
            name: sources.digest_of_code(path.read_text(encoding='utf-8'))
            for name, path in files.items()
        }
        self._folders = {name: self._store / f'{name}-{self._key(name)}' for name in self.imports}

    @functools.cached_property
    def _tools(self) -> str:
        """Return a hash of the compiler and its options."""
        # The rest of both folders comes after the objects: an edit there compiles nothing again.
        tools, package = ROOT / 'tools' / 'native', ROOT / 'ssik_ros' / 'kernels' / 'native'
        digest = hashlib.sha256()
        for path in (
            package / 'compiler.py',
            package / 'lane_types.py',
            tools / 'signatures.py',
            tools / 'front_end.py',
            tools / 'back_end.py',
        ):
            digest.update(self._sources.digest_of_code(path.read_text(encoding='utf-8')).encode())
        for package in ('numba', 'llvmlite', 'numpy'):
            digest.update(importlib.metadata.version(package).encode())
        return digest.hexdigest()

    def _key(self, module: str) -> str:
        """Return a hash of all that the code of a module depends on."""
        digest = hashlib.sha256(self._tools.encode())
        for name in (*sorted(self.imports[module]), module):
            lines = ''.join(f'{row.name}{row.parameters}{row.types}' for row in self.listed[name])
            digest.update(f'{name}\0{self._digests[name]}\0{lines}\0'.encode())
        return digest.hexdigest()[:16]

    def file(self, module: str, name: str) -> Path:
        """Return a product of a module."""
        return self._folders[module] / name

    def needs(self, module: str) -> list[str]:
        """Return the modules that a module is compiled after."""
        return (
            [name for name in self.imports[module] if name != '_jit'] if module != '_jit' else []
        )

    def steps_of_code(self) -> list[Step]:
        """Return the steps up to optimised code; lowering comes first, because other modules wait for it."""
        lowering, optimising = [], []
        for number, module in enumerate(self.imports):
            product = self.file(module, 'record'), self.file(module, 'lowered.bc')
            needs = tuple(f'lower {name}' for name in self.imports[module])
            work = functools.partial(self._lower, module, number)
            lowering.append(Step(f'lower {module}', needs, product, work))
            product = self.file(module, 'optimised.bc'), self.file(module, 'offered.ll')
            needs = f'lower {module}', *(f'optimise {name}' for name in self.imports[module])
            work = functools.partial(self._optimise, module)
            optimising.append(Step(f'optimise {module}', needs, product, work))
        return lowering + optimising

    def _lower(self, module: str, number: int) -> None:
        """Write the record and the intermediate code of a module."""
        from native import front_end

        before = self.imports[module]
        front_end.load(front_end.loads(self.file(name, 'record').read_bytes()) for name in before)
        base = int(hashlib.sha256(module.encode()).hexdigest()[:6], 16)
        record, code = front_end.lower(module, self.listed[module], base)
        write(self.file(module, 'lowered.bc'), code)
        write(self.file(module, 'record'), front_end.dumps(record))

    def _optimise(self, module: str) -> None:
        """Write the optimised code of a module, and the part that its callers may merge."""
        from native import back_end

        offered = [self.file(name, 'offered.ll').read_text() for name in self.imports[module]]
        lowered = self.file(module, 'lowered.bc').read_bytes()
        code, offer = back_end.optimise(lowered, offered, self._is_checked)
        write(self.file(module, 'optimised.bc'), code)
        write(self.file(module, 'offered.ll'), offer.encode())

    def rows(self) -> list[tuple[str, str]]:
        """Return name and signature of each listed kernel, sorted."""
        from native import front_end

        records = (
            front_end.loads(self.file(name, 'record').read_bytes()) for name in self.imports
        )
        returned = dict(row for record in records for row in record.rows)
        listed = (row for rows in self.listed.values() for row in rows)
        named = ((f'{row.module}.{row.name}', row.codes) for row in listed)
        return sorted((name, f'{returned[name]}:{codes}') for name, codes in named)

    def steps_of_objects(self) -> list[Step]:
        """Return the steps from optimised code to objects."""
        from native import back_end, front_end

        wanted = {front_end.trampoline_name(name) for name, _ in self.rows()}
        for module in self.imports:
            wanted |= self._declared(module)
        digest = hashlib.sha256('\0'.join(sorted(wanted)).encode()).hexdigest()[:16]
        steps = []
        for target in self.targets:
            for module in self.imports:
                product = self.file(module, f'{target}-{digest}.o')
                work = functools.partial(
                    self._emit, module, wanted, back_end.TARGETS[target], product
                )
                steps.append(Step(f'emit {module} for {target}', (), (product,), work))
        return steps

    def _declared(self, module: str) -> set[str]:
        """Return the symbols that a module wants from elsewhere, read once."""
        from native import back_end

        path = self.file(module, 'declared.json')
        if not path.is_file():
            names = back_end.declared(self.file(module, 'optimised.bc').read_bytes())
            write(path, json.dumps(sorted(names)).encode())
        return set(json.loads(path.read_text()))

    def _emit(self, module: str, wanted: set[str], target: Any, product: Path) -> None:
        """Write the object of a module."""
        from native import back_end

        write(
            product, back_end.emit(self.file(module, 'optimised.bc').read_bytes(), wanted, target)
        )

    def objects(self, target: str, steps: list[Step]) -> dict[str, Path]:
        """Return the objects for a target by their modules."""
        products = (step.products[0] for step in steps if step.name.endswith(f' for {target}'))
        return dict(zip(self.imports, products, strict=True))

    def write_portable(self, scheduler: Scheduler) -> None:
        """
        Write the kernels that ``ssik build --target c`` links, for every target.

        The checked flavour is written for ``fuzz/c`` and this machine only.

        :param scheduler: runs the steps.
        """
        from native import back_end, link, portable

        from ssik_ros.kernels.native import targets

        wanted = targets.of_this_machine()[:1] if self._is_checked else link.TARGETS
        names = {name: self.file(name, 'optimised.bc') for name in self.imports}
        # The folder of a module is named by its key, wherever the store lies.
        keys = '\0'.join(path.parent.name for path in names.values())
        digest = hashlib.sha256(keys.encode())
        digest.update(portable.digest_of_tools().encode())
        folder = self._store / f'portable-{digest.hexdigest()[:16]}'
        joined = folder / 'joined.bc'
        objects = {target: folder / f'{target}.o' for target in wanted}

        def join() -> None:
            write(joined, portable.join({name: path.read_bytes() for name, path in names.items()}))

        def emit(target: str) -> None:
            data = portable.emit(joined.read_bytes(), back_end.TARGETS[target])
            write(objects[target], data)

        steps = [Step('join', (), (joined,), join)]
        steps += [
            Step(f'emit for {target}', ('join',), (path,), functools.partial(emit, target))
            for target, path in objects.items()
        ]
        scheduler.run('Kernels for C   ', steps)
        self._folders['portable'] = folder
        emitted = {target: path.read_bytes() for target, path in objects.items()}
        if self._is_checked:
            write(self._store / 'c_kernels.o', emitted[wanted[0]])
        else:
            portable.write(joined.read_bytes(), emitted)

    def prune(self) -> None:
        """Remove products of older sources."""
        kept = set(self._folders.values())
        for folder in self._store.iterdir():
            if folder.is_dir() and '-' in folder.name and folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)


def prepare_numba(is_checked: bool) -> None:
    """
    Import all kernels in such a way that numba lowers them and does no more.

    :param is_checked: whether it compares indices with bounds.
    """
    os.environ['SSIK_ROS_JIT'] = '1'
    os.environ.pop('NUMBA_DISABLE_JIT', None)
    from native import front_end

    from ssik_ros.kernels.native import compiler, sources

    compiler.IS_CACHED, compiler.is_library_checked = False, is_checked
    front_end.patch_numba(is_checked)
    for name in sources.modules():
        importlib.import_module(f'{front_end.PACKAGE}.{name}')


def open_output(path: str | None) -> TextIO:
    """
    Return where the progress is shown.

    :param path: a file or a terminal, None for the standard error. Where it cannot be opened it is the standard error too.
    """
    if path:
        with contextlib.suppress(OSError):
            return open(path, 'w', encoding='utf-8')
    return sys.stderr


def build(
    targets: list[str],
    processes: int,
    output: TextIO | None,
    folder: Path | None,
    with_portable: bool = False,
) -> None:
    """
    Build the library for some targets, or the objects that it is linked from.

    :param targets: their names.
    :param processes: how many at once.
    :param output: where the progress is shown; None shows nothing.
    :param folder: where the objects go; None links them into ``kernels/native`` instead.
    :param with_portable: whether to write the kernels for C programs, too.
    """
    from native import link

    from ssik_ros.kernels.native import sources

    is_checked = link.CHECKED in targets
    prepare_numba(is_checked)
    # Each step is a process of a few seconds. The collector would copy the pages that it shares with this process.
    gc.freeze()
    gc.disable()
    whole = Build(targets, is_checked)
    scheduler = Scheduler(processes, output)
    scheduler.run('Kernels: compile', whole.steps_of_code())
    if with_portable:
        whole.write_portable(scheduler)
    objects = whole.steps_of_objects()
    scheduler.run('Kernels: emit   ', objects)
    rows = whole.rows()
    files = {target: whole.objects(target, objects) for target in targets}
    if folder:
        export(folder, files, rows)
    else:
        for target in targets:
            link.link(target, list(files[target].values()), rows)
        link.remove_stale(targets, sources)
        link.write_manifest(link.NATIVE, sources.manifest())
    whole.prune()


def export(folder: Path, files: dict[str, dict[str, Path]], rows: list[tuple[str, str]]) -> None:
    """
    Write the objects, the list of kernels and the hashes of the sources into a folder of their own.

    :param folder: removed first.
    :param files: objects by module, by target.
    :param rows: name and signature of each kernel that Python may call, sorted.
    """
    from native import link

    from ssik_ros.kernels.native import sources

    shutil.rmtree(folder, ignore_errors=True)
    for target, objects in files.items():
        (folder / target).mkdir(parents=True)
        for module, path in objects.items():
            shutil.copyfile(path, folder / target / f'{module}.o')
    (folder / link.ROWS).write_text(json.dumps(rows, indent=0), encoding='utf-8')
    # On another machine the files have other times.
    table = {name: hashes[:2] for name, hashes in sources.manifest().items()}
    link.write_manifest(folder, table)


def main() -> None:
    """Build for this machine, or for the targets of the command line."""
    sys.path[:0] = [str(ROOT), str(ROOT / 'tools')]
    from native import link

    from ssik_ros.kernels.native import targets

    parser = argparse.ArgumentParser(description=__doc__.partition('\n\n')[0].strip())
    flavour = parser.add_mutually_exclusive_group()
    flavour.add_argument(
        '--checked',
        action='store_const',
        const=[link.CHECKED],
        help='kernels that compare every index with the bounds of its array, for tests',
    )
    flavour.add_argument(
        '--target',
        action='append',
        choices=link.TARGETS,
        help='default: what this machine runs fastest',
    )
    parser.add_argument(
        '--processes', type=int, default=os.cpu_count() or 1, help='how many at once'
    )
    parser.add_argument(
        '--objects',
        type=Path,
        metavar='FOLDER',
        help='write the objects into this folder, and link nothing',
    )
    parser.add_argument(
        '--portable',
        action='store_true',
        help='write the kernels for C programs as well, which "ssik build --target c" links',
    )
    parser.add_argument('--quiet', action='store_true', help='say nothing of the progress')
    parser.add_argument(
        '--progress', metavar='FILE', help='show the progress there, not on standard error'
    )
    chosen = parser.parse_args()
    start = time.monotonic()
    names = chosen.checked or chosen.target or targets.of_this_machine()[:1]
    output = None if chosen.quiet else open_output(chosen.progress)
    build(names, chosen.processes, output, chosen.objects, chosen.portable)
    made = 'objects' if chosen.objects else 'library'
    print(f'Native {made} for {", ".join(names)}: {time.monotonic() - start:.0f} s.')


if __name__ == '__main__':
    if os.environ.get('PYTHONHASHSEED') != '0':
        # The order of sets must not show in the library: the same sources give the same bytes.
        os.execve(
            sys.executable, [sys.executable, *sys.argv], {**os.environ, 'PYTHONHASHSEED': '0'}
        )
    main()
