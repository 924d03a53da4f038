"""The benchmark's clocks are calibrated by numba, which the package itself does not need."""

from importlib.util import find_spec

import pytest


class WithoutNumba(pytest.Module):
    """A file of tests that this machine cannot load."""

    def collect(self):
        """Skip the file."""
        pytest.skip('numba is not installed', allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    """Skip every file of this folder where numba is missing; otherwise say nothing."""
    if find_spec('numba') is None:
        return WithoutNumba.from_parent(parent, path=module_path)
    return None
