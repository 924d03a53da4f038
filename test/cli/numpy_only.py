"""Runs a program in an interpreter that sees the standard library and numpy, and nothing else."""

from pathlib import Path
import subprocess
import sys

import numpy

PREAMBLE = """
import importlib.util, sys
sys.path.insert(0, sys.argv[1])
foreign = ('scipy', 'numba', 'llvmlite', 'pinocchio', 'yaml', 'rich', 'ssik_ros')
found = [name for name in foreign if importlib.util.find_spec(name) is not None]
assert not found, found
"""


def run_program(folder, program, *words):
    """
    Return the finished process.

    :param folder: of the modules that the program may import besides numpy; links to numpy are put there.
    :param program: the text of the program; words stand in sys.argv from index 2 on.
    """
    home = Path(numpy.__file__).parents[1]
    for name in ('numpy', 'numpy.libs'):
        if (home / name).exists() and not (folder / name).exists():
            (folder / name).symlink_to(home / name, target_is_directory=True)
    command = [sys.executable, '-I', '-S', '-c', PREAMBLE + program, str(folder), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
