"""A new process of Python for tests whose subject is decided when the package is imported."""

import os
import subprocess
import sys


def run_python(code, folder, **environment):
    """Return the output of a new process, with one folder first on its path."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(('NUMBA_', 'SSIK_'))}
    # Python detects stale bytecode only by whole seconds and size.
    inherited.update(PYTHONPATH=str(folder), PYTHONDONTWRITEBYTECODE='1', **environment)
    result = subprocess.run(
        [sys.executable, '-c', code],
        env=inherited,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()
