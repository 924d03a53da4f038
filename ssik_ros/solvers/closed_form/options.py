"""Parameters of the analytic solver. The YAML file in this folder has names, types, defaults, ranges and texts."""

from typing import Any

from ssik_ros.solvers.options.options_type import find_options

PARAMETERS_FILE = 'ssik_ros.solvers.closed_form:analytic_parameters.yaml'


def __getattr__(name: str) -> Any:
    """Return the class ``AnalyticOptions``, generated from the YAML file at the first access; else raise AttributeError."""
    return find_options(__name__, {'AnalyticOptions': PARAMETERS_FILE}, name)
