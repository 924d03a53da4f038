"""Import packages of the optional extra ``reach`` when they are needed: :func:`import_extra`."""

import importlib
from typing import Any
import warnings

from ssik_ros.errors import SolverError


def import_extra(name: str) -> Any:
    """
    Return a module of the optional extra ``reach``.

    :param name: name of the module.
    :raises SolverError: when it is not installed, with what to do.
    """
    try:
        # Warnings between these packages are hidden, because users cannot act on them.
        with warnings.catch_warnings(record=True):
            return importlib.import_module(name)
    except ImportError as error:
        raise SolverError(
            f"Reach maps need the package '{name.partition('.')[0]}', which is not installed: pip install 'ssik_ros[reach]'.",
            package=name,
        ) from error
