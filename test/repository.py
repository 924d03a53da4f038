"""The repository as git and make see it, for the tests of its files."""

from pathlib import Path
import re
import shutil
import subprocess

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    '.ci',
    '.devcontainer',
    '.github',
    'bench',
    'campaigns',
    'config',
    'control_plugin',
    'docs',
    'examples',
    'fuzz',
    'interfaces',
    'launch',
    'moveit_plugin',
    'recipe',
    'requirements',
    'resource',
    'ssik_ros',
    'test',
    'tools',
)
"""Folders at the root."""

needs_git = pytest.mark.skipif(
    shutil.which('git') is None or not (ROOT / '.git').exists(), reason='not a git clone'
)


def tracked_files() -> list[Path]:
    """Return the files that git tracks and that exist."""
    listing = subprocess.run(
        ['git', '-C', str(ROOT), 'ls-files', '-z'], capture_output=True, check=True, text=True
    )
    files = [ROOT / name for name in listing.stdout.split('\0') if name]
    return [path for path in files if path.is_file()]


def make_targets() -> set[str]:
    """Return the targets of the Makefile whose names are words."""
    makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
    return set(re.findall(r'^([a-z-]+):', makefile, re.M))
