"""The native library for an installation: there already, linked from objects, or built."""

import importlib.util
import json
import os
from pathlib import Path
import subprocess
import sys

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / 'ssik_ros' / 'kernels' / 'native'
SHIPPED = ROOT / 'native_objects'
"""What a source distribution brings: a folder of objects for each target, and the table of the kernels."""


def provide() -> None:
    """
    Make sure that the library for this machine lies beside the sources.

    :raises SystemExit: when it cannot be made, with the ways out.
    """
    targets, sources = _load('targets'), _load('sources')
    wanted = (
        [os.environ['SSIK_ROS_TARGET']]
        if 'SSIK_ROS_TARGET' in os.environ
        else targets.of_this_machine()
    )
    if not wanted:
        print(
            'No native library is built for this platform; install numba and set SSIK_ROS_JIT=1.',
            file=sys.stderr,
        )
        return
    if SHIPPED.is_dir():
        _link_shipped(wanted)
    elif not _is_fresh(wanted, sources):
        _build()


def _load(name: str) -> object:
    """Return a module of the package's folder for the library, which imports nothing of the package itself."""
    spec = importlib.util.spec_from_file_location(f'_native_{name}', NATIVE / f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _is_fresh(wanted: list[str], sources: object) -> bool:
    """Return whether a library of these sources is there."""
    manifest = NATIVE / 'sources.json'
    if not manifest.is_file() or not any(
        (NATIVE / f'_kernels.{name}.abi3.so').is_file() for name in wanted
    ):
        return False
    return not sources.changed(json.loads(manifest.read_text(encoding='utf-8')))


def _link_shipped(wanted: list[str]) -> None:
    """Link what a source distribution brings, which takes a C compiler alone."""
    from native import link

    rows = [
        tuple(row) for row in json.loads((SHIPPED / 'kernels.json').read_text(encoding='utf-8'))
    ]
    for target in wanted:
        library = NATIVE / f'_kernels.{target}.abi3.so'
        objects = sorted((SHIPPED / target).glob('*.o'))
        if objects and not library.is_file():
            link.link(target, objects, rows)


def _build() -> None:
    """Build from the sources, which takes numba and a C compiler."""
    missing = [
        name for name in ('numba', 'llvmlite', 'numpy') if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise SystemExit(
            f'ssik_ros: building the kernels from a clone needs {" and ".join(missing)} (pip install -r'
            ' requirements/native.txt); without them, unpack the source distribution of a release into src/ instead.'
        )
    subprocess.run([sys.executable, str(ROOT / 'tools' / 'build_native.py')], check=True)
