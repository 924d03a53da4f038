"""
Kernels for C programs: their list, and the files that ``ssik build`` needs, which the build of the package creates.

The files are an object file for each target, and the LLVM code of the kernels. :mod:`ssik_ros.kernels.native.freeze`
inserts the constants of one arm into this code.
"""

import json
import lzma
from pathlib import Path
from typing import Any

from ssik_ros.errors import NativeLibraryError
from ssik_ros.kernels.native import sources

KERNELS = (
    'closed_form.branches.branch_block.solve',
    'closed_form.branches.search.search',
    'closed_form.branches.held_search.search',
    'closed_form.branches.held_slide.slide_range',
    'closed_form.certification.windings.count_windings',
    'closed_form.certification.windings.take_best',
    'closed_form.certification.windings.write_windings',
    'closed_form.elimination.general_search.search',
    'rows.relative_pose.pose_of_b_in_a',
    'rows.relative_pose.twist_of_b_in_a',
    'search.causes.of_absence',
    'search.causes.of_both',
    'search.causes.of_search',
    'search.causes.of_step',
    'search.plain_request.search_one',
    'search.plain_request.solve_one',
    'search.restart_search.search',
    'search.tracking.condition_number',
    'search.tracking.follow',
)
"""Kernels that a C library calls."""
FOLDER = Path(__file__).with_name('c_kernels')
CODE, STAMP = 'kernels.bc.xz', 'stamp.json'
BUILD = 'python tools/build_native.py --portable'


def symbol_of(kernel: str) -> str:
    """
    Return the C symbol of a kernel, in the form whose arguments are all 64-bit words.

    :param kernel: name of the kernel, as in KERNELS.
    """
    return f'ssik_ros_{kernel.replace(".", "__")}'


def object_name(target: str) -> str:
    """Return the file name of the compressed object file with the kernels for a target, such as x86_64_v3."""
    return f'kernels.{target}.o.xz'


def targets() -> list[str]:
    """Return the targets, such as x86_64_v3, for which the build has made an object file; sorted."""
    return sorted(path.name.split('.')[1] for path in FOLDER.glob(object_name('*')))


def _refusal(what: str) -> NativeLibraryError:
    """
    Return a NativeLibraryError for a cause, with the build command as the remedy.

    :param what: the cause, a sentence without a full stop.
    """
    return NativeLibraryError(f'{what}: run "{BUILD}".', what=what, mend=BUILD)


def read(name: str) -> bytes:
    """
    Return the decompressed contents of a file that the build has made.

    :param name: name of the file, such as CODE.
    :raises NativeLibraryError: if the file is missing.
    """
    path = FOLDER / name
    if not path.is_file():
        raise _refusal(f'The kernels for C programs are not built ({path})')
    return lzma.decompress(path.read_bytes())


def digest() -> int:
    """
    Return a number of 60 bits that identifies the built kernels; packed arms and C libraries store it and compare it.

    :raises NativeLibraryError: if they are not built, or, in a source tree, were built from other sources.
    """
    path = FOLDER / STAMP
    if not path.is_file():
        raise _refusal(f'The kernels for C programs are not built ({path})')
    stamp = json.loads(path.read_text(encoding='utf-8'))
    # An installed wheel compares nothing, like the library.
    if (FOLDER.parent / 'sources.json').is_file() and sources.changed(stamp.get('sources', {})):
        raise _refusal('The kernels for C programs were built from other kernels')
    return int(stamp['digest'][:15], 16)


def keep_only(module: Any, wanted: set[str]) -> None:
    """
    Hide everything in an LLVM module except the wanted functions, so that unused functions can be removed.

    :param module: of llvmlite, changed in place.
    :param wanted: symbols of the functions.
    """
    from llvmlite import binding as llvm

    for function in module.functions:
        if function.is_declaration or function.linkage == llvm.Linkage.available_externally:
            continue
        if function.name in wanted:
            function.visibility = 'hidden'
        else:
            function.linkage = 'internal'
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = 'internal'
