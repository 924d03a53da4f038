"""The native library for an installation: there already, linked from objects, or built."""

import importlib.metadata
import importlib.util
import json
from pathlib import Path
import subprocess
import sys
from typing import Any

from native import link

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / 'ssik_ros' / 'kernels' / 'native'
SHIPPED = ROOT / 'native_objects'
"""Folder in a source distribution: objects for each target, and hashes of their sources."""


progress: str | None = None
"""Where a build shows its progress; None for the standard error."""


def provide() -> None:
    """
    Make sure that ``kernels/native`` has the library for this machine.

    :raises SystemExit: if the library cannot be made; the text names the remedies.
    """
    targets = _load('targets')
    wanted = targets.of_this_machine()
    if not wanted:
        print(f'ssik_ros: {": ".join(targets.refusal())}.', file=sys.stderr)
    elif is_shipped():
        _link_shipped(wanted)
    elif not _is_built(wanted):
        _build()


def is_shipped() -> bool:
    """Return whether the tree brings compiled kernels that fit its sources."""
    return (SHIPPED / link.MANIFEST).is_file() and not _changed(SHIPPED)


def requirements() -> list[str]:
    """Return the packages that the build of the library requires; a C compiler is always needed."""
    if is_shipped():
        return []
    lines = (ROOT / 'requirements' / 'native.txt').read_text(encoding='utf-8').splitlines()
    return [line for line in lines if line and not line.startswith('#')]


def _load(name: str) -> Any:
    """Return a module of the package's folder for the library, which imports nothing of the package itself."""
    spec = importlib.util.spec_from_file_location(f'_native_{name}', NATIVE / f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _changed(folder: Path) -> list[str]:
    """Return the sources that have changed since the kernels in a folder were compiled."""
    manifest = json.loads((folder / link.MANIFEST).read_text(encoding='utf-8'))
    changed: list[str] = _load('sources').changed(manifest)
    return changed


def _is_built(wanted: list[str]) -> bool:
    """Return whether a library of these sources is there."""
    libraries = (NATIVE / link.library_name(target) for target in wanted)
    return (
        any(path.is_file() for path in libraries)
        and (NATIVE / link.MANIFEST).is_file()
        and not _changed(NATIVE)
    )


def _link_shipped(wanted: list[str]) -> None:
    """Link the objects of a source distribution; needs only the linker that the C compiler calls."""
    is_built = _is_built(wanted)
    for target in wanted:
        library = NATIVE / link.library_name(target)
        if not (is_built and library.is_file()):
            objects = sorted((SHIPPED / target).glob('*.o'))
            link.join(link.compiler_for(target), objects, library)
    link.write_manifest(NATIVE, _load('sources').manifest())


def _build() -> None:
    """Build from the sources, which takes numba and a C compiler."""
    missing = missing_requirements()
    if missing:
        raise SystemExit(
            f'ssik_ros: the kernels are not compiled yet, and {" and ".join(missing)} cannot be found here:'
            ' unpack the source distribution of a release into src/ instead, or run "pip install -r'
            ' requirements/native.txt".'
        )
    command = [sys.executable, str(ROOT / 'tools' / 'build_native.py'), '--portable']
    subprocess.run([*command, *(['--progress', progress] if progress else [])], check=True)


def missing_requirements() -> list[str]:
    """Return the requirements that are not installed in the pinned version."""
    return [line for line in requirements() if line != _installed(line.partition('==')[0])]


def _installed(package: str) -> str:
    """Return a package with its version as requirements name it, empty without it."""
    try:
        return f'{package}=={importlib.metadata.version(package)}'
    except importlib.metadata.PackageNotFoundError:
        return ''
