"""
Build a C library for one arm, or one for the images of any arm; its folder is written completely or not at all.

:func:`build` compiles a :class:`Library` and writes the folder. An image is the packed data of an arm, which the library
reads.
"""

from collections.abc import Iterator
import contextlib
from pathlib import Path
import shutil
import subprocess
import tempfile
from typing import NamedTuple

from ssik_ros.arrays import IntArray
from ssik_ros.artifact.c import image, image_headers, image_rules, recorded, texts, toolchain
from ssik_ros.artifact.c.blocks import Arm, layout_header
from ssik_ros.atomic_files import write_whole
from ssik_ros.errors import InvalidOption, writing
from ssik_ros.kernels.native import portable
from ssik_ros.solvers.closed_form.plan import LARGEST_CAPACITY

GENERIC = 'ssik'
"""Name of the library that reads the image of any arm."""


class Library(NamedTuple):
    """
    Contents of a C library; :func:`build` writes its files.

    :func:`arm_library` makes the library of one arm, :func:`generic_library` the one that reads the image of any arm.
    """

    name: str
    flags: tuple[str, ...]
    """Flags that choose lines of the templates: ``arm``, and ``form`` with a closed form; or ``library``."""
    values: dict[str, str]
    """Texts that replace ``@NAME@`` in the templates, by name."""
    facts: dict[str, str]
    """Texts of the first rows of the table in the README, by title; :func:`build` adds architecture and code size."""
    header: tuple[str, str]
    """Name and text of a header that only the compiler of the library reads."""
    templates: dict[str, str]
    """Templates of further files, by the path of the file in the product."""
    texts: dict[str, str]
    """Texts of further files, by the path of the file in the product."""

    @property
    def has_self_test(self) -> bool:
        """Return whether the library brings a program that tests it."""
        return 'arm' in self.flags

    def write(self, path: Path, template: str, values: dict[str, str] | None = None) -> None:
        """
        Write a file from a template; missing folders are made.

        :param path: the file.
        :param template: name of the template, a file in the folder ``templates``.
        :param values: texts that replace ``@NAME@`` in the template, by name; None for the values of the library.
        :raises OSError: if the file cannot be written.
        :raises KeyError: if the template has a name without a text.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        text = texts.render(template, values or self.values, self.flags)
        path.write_text(text, encoding='utf-8')


def arm_library(
    name: str, version: str, arm: Arm, words: IntArray, poses: list[recorded.RecordedPose]
) -> Library:
    """
    Return the contents of a library for one arm.

    :param name: name of the library.
    :param version: version of this package.
    :param arm: the arm with its solvers.
    :param words: the image of the arm, its packed data as 64-bit words.
    :param poses: poses with solutions for the self-test of the library.
    """
    n, group, form = len(arm.group.joint_names), arm.group, arm.form
    memory, once, each = memory_of(words)
    upper, share = name.upper(), f'share/{name}'
    constants = f"""
/* Joints: {', '.join(group.joint_names)}. */
#define {upper}_JOINTS {n}
/* Size of a solver, and of one for so many windings [bytes]. */
#define {upper}_MEMORY {memory}
#define {upper}_MEMORY_FOR(windings) ({memory} + ((windings) > 0 ? {once} : 0) + {each} * (windings))
"""
    seed = poses[0].branches[0] if len(poses[0].branches) else poses[0].first
    values = {
        **_values(name, f'Inverse kinematics of {arm.robot.name}', version),
        'CONSTANTS': constants + _most_branches(upper, 0 if form is None else form.capacity),
        'FRAMES': f'{group.tip} in {group.base_link}',
        'TOLERANCE': f'{arm.tolerance:g}',
        'SEED': ', '.join(f'{value:.6f}' for value in seed),
        'BOUNDS': ', '.join(['0.01'] * n),
        'LARGEST_ERROR': repr(max(1e-6, 2.0 * arm.tolerance)),
        'VALIDATION': f'The self-test solves {len(poses)} recorded poses.',
    }
    facts = {
        'chain': f'{group.base_link} to {group.tip}, {n} joints',
        'closed form': arm.reason,
        'memory of a solver': f'{memory} bytes',
        'accuracy of `solve` and `track`': f'{arm.tolerance:g} (m and rad)',
    }
    examples = 'example.c', 'example.cpp', 'selftest.c', 'CMakeLists.txt'
    return Library(
        name,
        ('arm',) if form is None else ('arm', 'form'),
        values,
        facts,
        ('image.h', texts.image_header(words)),
        {f'{share}/{template}': template for template in examples},
        {f'{share}/recorded.h': recorded.recorded_header(poses, n)},
    )


def generic_library(version: str) -> Library:
    """
    Return the contents of the library that reads the image (packed data) of any arm at run time.

    :param version: version of this package.
    """
    values = {
        **_values(GENERIC, 'Inverse kinematics of any arm, from its blocks', version),
        'CONSTANTS': '\n' + _most_branches(GENERIC.upper(), LARGEST_CAPACITY),
        **image_headers.sha_constants(),
        'FRAMES': 'the tip link in the base link',
    }
    header = 'checks.h', image_headers.checks_header()
    templates = {f'include/{GENERIC}_blocks.hpp': 'blocks.hpp'}
    return Library(GENERIC, ('library',), values, {}, header, templates, {})


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

    A winding is here a joint vector that a call for several solutions may write.

    :param words: the image of the arm.
    """
    section = image.split(words)['NUMBERS'].tolist()
    numbers = dict(zip(image_rules.NUMBERS, section, strict=True))
    always, each, once = image.room_of(numbers)
    head = 4 + len(image_rules.PARTS) + 1
    return 8 * (head + always), 8 * once, 8 * each


def write_sources(library: Library, folder: Path) -> None:
    """
    Write all files that the compiler reads into a folder.

    :param library: contents of the library.
    :param folder: the folder.
    """
    digest = f'#define DIGEST INT64_C({portable.digest()})\n'
    for name, text in (('layout.h', layout_header() + digest), library.header):
        (folder / name).write_text(text, encoding='utf-8')
    for suffix in ('h', 'c'):
        library.write(folder / f'{library.name}.{suffix}', f'ik.{suffix}')


def build(
    library: Library,
    tools: toolchain.Toolchain,
    kernels: toolchain.Kernels,
    report: toolchain.Report,
    product: Path,
) -> None:
    """
    Compile a library and write its folder.

    After an error the folder is incomplete; :func:`new_folder` removes it then.

    :param library: contents of the library.
    :param tools: compiler, archiver and other programs.
    :param kernels: function that makes the object file of the kernels, given the symbols that are called.
    :param report: called with a text about each step.
    :param product: the folder to make, with include, lib, share and README.md; it must not exist.
    :raises InvalidOption: if a program fails.
    :raises OSError: if a file cannot be written, or ``product`` has a folder ``lib`` already.
    :raises NativeLibraryError: if the kernels for C programs are not built.
    """
    name, folder = library.name, product / 'lib'
    for made in (folder, product / 'share' / name):
        made.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
        write_sources(library, Path(work))
        report(f'compile and link for {tools.architecture}')
        toolchain.make_libraries(tools, Path(work), name, kernels, folder)
    code = str(toolchain.code_size(tools, folder / f'lib{name}.a'))
    facts = {**library.facts, 'architecture': tools.architecture, 'machine code': f'{code} bytes'}
    rows = '\n'.join(f'| {title} | {value} |' for title, value in facts.items())
    templates = {
        f'include/{name}.h': 'ik.h',
        f'include/{name}.hpp': 'ik.hpp',
        f'lib/cmake/{name}/{name}Config.cmake': 'Config.cmake',
        f'lib/cmake/{name}/{name}ConfigVersion.cmake': 'ConfigVersion.cmake',
        f'lib/pkgconfig/{name}.pc': 'package.pc',
        'README.md': 'README.md',
    }
    values = {**library.values, 'CODE': code, 'FACTS': rows}
    for path, template in (templates | library.templates).items():
        library.write(product / path, template, values)
    for path, text in library.texts.items():
        (product / path).write_text(text, encoding='utf-8')


@contextlib.contextmanager
def new_folder(path: Path, overwrites: bool) -> Iterator[Path]:
    """
    Yield the path of a temporary folder that the caller has to make and fill; at the end it is renamed to ``path``.

    After an error the temporary folder is removed, and ``path`` is as it was.

    :param path: final path of the folder.
    :param overwrites: whether an existing file or folder may be replaced; an empty folder always is.
    :raises InvalidOption: if the path exists and may not be replaced, or the folder cannot be written.
    """
    if path.exists() and not overwrites and not (path.is_dir() and not any(path.iterdir())):
        raise InvalidOption(f"'{path}' exists already; --force overwrites it.")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=path.parent.absolute(), prefix=f'.{path.name}.'))
    made, old = work / 'new', work / 'old'
    try:
        yield made
        with writing(path):
            if path.exists():
                path.rename(old)
            made.rename(path)
    finally:
        if old.exists() and not path.exists():
            old.rename(path)
        shutil.rmtree(work, ignore_errors=True)


def self_test(tools: toolchain.Toolchain, product: Path, name: str) -> str | None:
    """
    Compile and run the self-test of a library; return its output without blanks at both ends.

    None if the library is for another kind of processor and its emulator, such as ``qemu-aarch64``, is not installed.

    :param tools: compiler and other programs.
    :param product: folder of the library.
    :param name: name of the library.
    :raises InvalidOption: if the test cannot be compiled, or fails.
    """
    processor = tools.target.partition('_v')[0]
    emulator = [f'qemu-{processor}', '-L', f'/usr/{processor}-linux-gnu'] if tools.is_cross else []
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
    with writing(path):
        write_whole(path, data)
