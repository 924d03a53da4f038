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
    Run a program in a Python that can import only numpy and the modules of a folder; return the finished process.

    :param folder: of the modules; links to numpy are put there.
    :param program: the text of the program; words are in sys.argv from index 2.
    """
    home = Path(numpy.__file__).parents[1]
    for name in ('numpy', 'numpy.libs'):
        if (home / name).exists() and not (folder / name).exists():
            (folder / name).symlink_to(home / name, target_is_directory=True)
    command = [sys.executable, '-I', '-S', '-c', PREAMBLE + program, str(folder), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
