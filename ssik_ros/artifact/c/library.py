"""
Build a C library for one arm, or one for the images of any arm; its folder is written completely or not at all.

:func:`build` compiles an :class:`ArmLibrary` or a :class:`GenericLibrary` and writes the folder. An image is the packed
data of an arm, which the library reads.
"""

from collections.abc import Iterator
import contextlib
import os
from pathlib import Path
import shutil
import subprocess
import tempfile
from typing import NamedTuple

from ssik_ros.arrays import IntArray
from ssik_ros.artifact.c import image, image_headers, image_rules, recorded, texts, toolchain
from ssik_ros.artifact.c.blocks import Arm, layout_header
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.native import portable
from ssik_ros.solvers.closed_form.plan import LARGEST_CAPACITY

GENERIC = 'ssik'
"""Name of the library that reads blocks."""


class ArmLibrary(NamedTuple):
    """
    Contents of a C library for one arm; :func:`build` writes its files.

    ``name`` is the library's name, ``version`` the version of this package, and ``arm`` the arm with its solvers.
    """

    name: str
    version: str
    arm: Arm
    words: IntArray
    """The image of the arm, its packed data as 64-bit words."""
    poses: list[recorded.RecordedPose]
    """Poses with solutions for the self-test of the library."""

    def values(self, tools: toolchain.Toolchain) -> dict[str, str]:
        """
        Return the texts that replace ``@NAME@`` in the templates, by name.

        :param tools: the programs; their architecture is named in the texts.
        """
        n, group, form = len(self.arm.group.joint_names), self.arm.group, self.arm.form
        memory, once, each = memory_of(self.words)
        upper = self.name.upper()
        constants = f"""
/* Joints: {', '.join(group.joint_names)}. */
#define {upper}_JOINTS {n}
/* Size of a solver, and of one for so many windings [bytes]. */
#define {upper}_MEMORY {memory}
#define {upper}_MEMORY_FOR(windings) ({memory} + ((windings) > 0 ? {once} : 0) + {each} * (windings))
"""
        constants += _most_branches(upper, 0 if form is None else form.capacity)
        seed = self.poses[0].branches[0] if len(self.poses[0].branches) else self.poses[0].first
        facts = {
            'chain': f'{group.base_link} to {group.tip}, {n} joints',
            'closed form': self.arm.reason,
            'memory of a solver': f'{memory} bytes',
            'accuracy of `solve` and `track`': f'{self.arm.tolerance:g} (m and rad)',
            'architecture': tools.architecture,
        }
        return {
            **_values(self.name, f'Inverse kinematics of {self.arm.robot.name}', self.version),
            'CONSTANTS': constants,
            'FRAMES': f'{group.tip} in {group.base_link}',
            'TOLERANCE': f'{self.arm.tolerance:g}',
            'SEED': ', '.join(f'{value:.6f}' for value in seed),
            'BOUNDS': ', '.join(['0.01'] * n),
            'LARGEST_ERROR': repr(max(1e-6, 2.0 * self.arm.tolerance)),
            'FACTS': '\n'.join(f'| {name} | {value} |' for name, value in facts.items()),
            'VALIDATION': f'The self-test solves {len(self.poses)} recorded poses.',
        }

    def write_sources(self, folder: Path, values: dict[str, str]) -> None:
        """
        Write ``image.h`` and the C source of the library into a folder, for the compiler.

        :param values: result of :meth:`values`.
        """
        (folder / 'image.h').write_text(texts.image_header(self.words), encoding='utf-8')
        _write(folder / f'{self.name}.c', 'ik.c', values, self.flags)

    def write_share(self, folder: Path, values: dict[str, str]) -> None:
        """
        Write the examples, the self-test and its recorded poses into a folder.

        :param values: result of :meth:`values`.
        """
        for template in ('example.c', 'example.cpp', 'selftest.c', 'CMakeLists.txt'):
            _write(folder / template, template, values, self.flags)
        header = recorded.recorded_header(self.poses, len(self.arm.group.joint_names))
        (folder / 'recorded.h').write_text(header, encoding='utf-8')

    def write_include(self, folder: Path, values: dict[str, str]) -> None:
        """Write no further header, because the image is part of the library."""

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flags that choose template lines for this library: ``arm``, and ``form`` with a closed form."""
        return ('arm',) if self.arm.form is None else ('arm', 'form')


class GenericLibrary(NamedTuple):
    """
    Contents of the C library that reads the image (packed data) of any arm at run time.

    ``version`` is the version of this package, ``name`` the library's name.
    """

    version: str
    name: str = GENERIC

    def values(self, tools: toolchain.Toolchain) -> dict[str, str]:
        """
        Return the texts that replace ``@NAME@`` in the templates, by name.

        :param tools: the programs; their architecture is named in the texts.
        """
        title = 'Inverse kinematics of any arm, from its blocks'
        facts = f'| architecture | {tools.architecture} |'
        constants = '\n' + _most_branches(self.name.upper(), LARGEST_CAPACITY)
        values = {
            'CONSTANTS': constants,
            'FACTS': facts,
            **image_headers.sha_constants(),
            'FRAMES': 'the tip link in the base link',
        }
        return _values(self.name, title, self.version) | values

    def write_sources(self, folder: Path, values: dict[str, str]) -> None:
        """
        Write ``checks.h`` and the C source of the library into a folder, for the compiler.

        :param values: result of :meth:`values`.
        """
        (folder / 'checks.h').write_text(image_headers.checks_header(), encoding='utf-8')
        _write(folder / f'{self.name}.c', 'ik.c', values, self.flags)

    def write_share(self, folder: Path, values: dict[str, str]) -> None:
        """Write no examples, because they would need the image of an arm."""

    def write_include(self, folder: Path, values: dict[str, str]) -> None:
        """
        Write the C++ header that finds the images of a robot on disk into a folder.

        :param values: result of :meth:`values`.
        """
        _write(folder / f'{self.name}_blocks.hpp', 'blocks.hpp', values, self.flags)

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flags that choose template lines for this library: a tuple of one word, ``library``."""
        return ('library',)


def _values(name: str, title: str, version: str) -> dict[str, str]:
    """
    Return the texts for templates that are the same for both kinds of libraries, by name.

    :param name: name of the library.
    :param title: first line of its texts.
    :param version: version of this package.
    """
    return {
        'NAME': name,
        'UPPER': name.upper(),
        'TITLE': title,
        'VERSION': version,
        **texts.cause_texts(),
        **texts.ABI,
    }


def _most_branches(upper: str, count: int) -> str:
    """
    Return the lines of a C header that define the macro UPPER_MOST_BRANCHES.

    :param upper: begin of the macro's name.
    :param count: largest number of branches that a call can write.
    """
    return f'/* No call writes more branches. */\n#define {upper}_MOST_BRANCHES {count}\n'


def memory_of(words: IntArray) -> tuple[int, int, int]:
    """
    Return the size of a solver's memory [bytes] as (always, once if windings are used, for each winding).

    :param words: the image of the arm.
    """
    at = image.HEAD + 2 * len(image_rules.SECTIONS)
    numbers = dict(
        zip(image_rules.NUMBERS, words[at : at + len(image_rules.NUMBERS)].tolist(), strict=True)
    )
    always, each, once = image.room_of(numbers)
    head = 4 + len(image_rules.PARTS) + 1
    return 8 * (head + always), 8 * once, 8 * each


def _write(path: Path, template: str, values: dict[str, str], flags: tuple[str, ...]) -> None:
    """
    Write a file from a template.

    :param path: the file.
    :param template, values, flags: as for :func:`texts.render`.
    """
    path.write_text(texts.render(template, values, flags), encoding='utf-8')


def write_sources(
    library: ArmLibrary | GenericLibrary, tools: toolchain.Toolchain, folder: Path
) -> None:
    """
    Write all files that the compiler reads into a folder.

    :param library: contents of the library.
    :param tools: the programs; their architecture is named in the files.
    :param folder: the folder.
    """
    values = library.values(tools)
    (folder / 'layout.h').write_text(_layout(), encoding='utf-8')
    _write(folder / f'{library.name}.h', 'ik.h', values, library.flags)
    library.write_sources(folder, values)


def build(
    library: ArmLibrary | GenericLibrary,
    tools: toolchain.Toolchain,
    kernels: toolchain.Kernels,
    report: toolchain.Report,
    product: Path,
) -> None:
    """
    Compile a library and write its folder.

    :param library: contents of the library.
    :param tools: compiler, archiver and other programs.
    :param kernels: function that makes the object file of the kernels, given the symbols that are called.
    :param report: called with a text about each step.
    :param product: the folder to make, with include, lib, share and README.md; it must not exist.
    :raises InvalidOption: if a program fails.
    """
    name, values, flags = library.name, library.values(tools), library.flags
    with tempfile.TemporaryDirectory() as work:
        sources = Path(work)
        write_sources(library, tools, sources)
        folders = {part: product / part for part in ('include', 'lib', f'share/{name}')}
        folders |= {part: product / 'lib' / part for part in (f'cmake/{name}', 'pkgconfig')}
        for folder in folders.values():
            folder.mkdir(parents=True)
        report(f'compile and link for {tools.architecture}')
        toolchain.make_libraries(tools, sources, name, kernels, folders['lib'])
    code = toolchain.code_size(tools, folders['lib'] / f'lib{name}.a')
    values |= {'CODE': str(code), 'FACTS': f'{values["FACTS"]}\n| machine code | {code} bytes |'}
    for suffix in ('h', 'hpp'):
        _write(folders['include'] / f'{name}.{suffix}', f'ik.{suffix}', values, flags)
    library.write_include(folders['include'], values)
    for suffix in ('Config.cmake', 'ConfigVersion.cmake'):
        _write(folders[f'cmake/{name}'] / f'{name}{suffix}', suffix, values, flags)
    _write(folders['pkgconfig'] / f'{name}.pc', 'package.pc', values, flags)
    _write(product / 'README.md', 'README.md', values, flags)
    library.write_share(folders[f'share/{name}'], values)


def _layout() -> str:
    """Return the text of ``layout.h``: places in images and kernel arrays, and the digest of the kernels."""
    return f'{layout_header()}#define DIGEST INT64_C({portable.digest()})\n'


@contextlib.contextmanager
def new_folder(path: Path, overwrites: bool) -> Iterator[Path]:
    """
    Yield the path of a temporary folder that the caller has to make and fill; at the end it is renamed to ``path``.

    After an error the temporary folder is removed.

    :param path: final path of the folder.
    :param overwrites: whether an existing file or folder may be replaced; an empty folder always is.
    :raises InvalidOption: if the path exists and may not be replaced, or the folder cannot be written.
    """
    if path.exists() and not overwrites and not (path.is_dir() and not any(path.iterdir())):
        raise InvalidOption(f"'{path}' exists already; --force overwrites it.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=path.parent.absolute(), prefix=f'.{path.name}.'))
    except OSError as error:
        raise InvalidOption(f"'{path}' cannot be written: {error.strerror}.") from error
    try:
        made, old = work / 'new', work / 'old'
        yield made
        if path.exists():
            path.rename(old)
        made.rename(path)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def self_test(tools: toolchain.Toolchain, product: Path, name: str) -> str | None:
    """
    Compile and run the self-test of a library; return its output, or None if this machine cannot run it.

    :param tools: compiler and other programs.
    :param product: folder of the library.
    :param name: name of the library.
    :raises InvalidOption: if the test cannot be compiled, or fails.
    """
    emulator = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu'] if tools.is_cross else []
    if emulator and shutil.which(emulator[0]) is None:
        return None
    with tempfile.TemporaryDirectory() as work:
        program, source = Path(work, 'selftest'), product / 'share' / name / 'selftest.c'
        archive, include = product / 'lib' / f'lib{name}.a', product / 'include'
        flags = '-std=c99', '-O1', f'-I{include}'
        tools.run(
            *tools.compiler, *flags, source, archive, '-lm', '-o', program, folder=Path(work)
        )
        result = subprocess.run(
            [*emulator, str(program)], capture_output=True, text=True, check=False
        )
    if result.returncode:
        raise InvalidOption(
            f'The self-test failed, nothing is written: {result.stdout.strip() or result.returncode}.'
        )
    return result.stdout.strip()


def write_file(path: Path, data: bytes) -> None:
    """
    Write a file completely or not at all.

    :param path: the file; an existing one is replaced.
    :param data: its contents.
    :raises InvalidOption: when it cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
        try:
            with os.fdopen(handle, 'wb') as file:
                file.write(data)
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidOption(f"'{path}' cannot be written: {error.strerror}.") from error
