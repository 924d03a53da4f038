"""A copy of the kernels with three small ones added, in which each calls the next: top, middle, bottom."""

import os
from pathlib import Path
import shutil
import subprocess
import sys

ROOT = Path(__file__).resolve().parents[2]

_CALLER = """
from ssik_ros.kernels import {callee}
from ssik_ros.kernels._jit import kernel

@kernel
def {name}(x):
    return 2.0 * {callee}.{callee}(x)
"""
_CALLEE = """
from ssik_ros.kernels._jit import kernel

@kernel
def bottom(x):
    return x + 1.0
"""
ANSWER = 6.0
"""What ``top`` gives for 0.5."""


def make_package(folder):
    """Write the copy into a folder."""
    kernels = folder / 'ssik_ros' / 'kernels'
    kernels.mkdir(parents=True)
    shutil.copy(ROOT / 'ssik_ros' / '__init__.py', folder / 'ssik_ros')
    for path in (ROOT / 'ssik_ros' / 'kernels').glob('*.py'):
        shutil.copy(path, kernels)
    (kernels / 'top.py').write_text(_CALLER.format(name='top', callee='middle'))
    (kernels / 'middle.py').write_text(_CALLER.format(name='middle', callee='bottom'))
    (kernels / 'bottom.py').write_text(_CALLEE)
    return folder


def start(code, folder):
    """Return a process of the copy, its cache beside it, with pipes for input, output and errors."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(('NUMBA_', 'SSIK_'))}
    return subprocess.Popen(
        [sys.executable, '-c', code],
        env={
            **inherited,
            'PYTHONPATH': str(folder),
            'PYTHONDONTWRITEBYTECODE': '1',
            'SSIK_ROS_CACHE_DIR': str(folder / 'cache'),
        },
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process, text=''):
    """Return what a process prints after it has read a text."""
    output, errors = process.communicate(text, timeout=240)
    assert process.returncode == 0, errors
    return output.strip()


def run(code, folder):
    """Return what a program prints."""
    return finish(start(code, folder))
