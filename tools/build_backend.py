"""
The build backend of pip: setuptools, and the native library of the kernels.

A clone compiles the kernels and requires the pinned compiler. A source distribution contains the compiled objects and
requires no further package.
"""

from pathlib import Path
import sys
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tools'))
from native import provide  # noqa: E402

# pip hides the output of a build, and the kernels take minutes: show the progress on the terminal.
provide.progress = '/dev/tty'

__all__ = [
    'build_editable',
    'build_sdist',
    'build_wheel',
    'get_requires_for_build_editable',
    'get_requires_for_build_wheel',
    'prepare_metadata_for_build_editable',
    'prepare_metadata_for_build_wheel',
]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return the packages that pip installs before it builds a wheel."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *provide.requirements()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """Return the packages that pip installs before it links the sources into an environment."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *provide.requirements()]


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """
    Refuse: a source distribution brings the kernels compiled for every target.

    :raises SystemExit: always.
    """
    raise SystemExit(
        'ssik_ros: "make wheels" builds the source distribution, for it brings compiled kernels.'
    )
