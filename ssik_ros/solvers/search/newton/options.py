"""Parameters of the Newton solvers. The YAML files in this folder have names, types, defaults, ranges and texts."""

from typing import Any

from ssik_ros.solvers.options.options_type import find_options

NEWTON_FILE = 'ssik_ros.solvers.search.newton:newton_raphson_parameters.yaml'
GAUSS_FILE = 'ssik_ros.solvers.search.newton:gauss_newton_parameters.yaml'
LEVENBERG_FILE = 'ssik_ros.solvers.search.newton:levenberg_marquardt_parameters.yaml'
FILES = {
    'NewtonRaphsonOptions': NEWTON_FILE,
    'GaussNewtonOptions': GAUSS_FILE,
    'LevenbergMarquardtOptions': LEVENBERG_FILE,
}
INVERSE_ALIASES = {'epsilon': 'target_tolerance', 'damping': 'pinv_damping'}
LEVENBERG_ALIASES = {'epsilon': 'target_tolerance', 'damping': 'k'}
"""Names that other solvers use for the same parameters."""


def __getattr__(name: str) -> Any:
    """Return a class of options, such as ``GaussNewtonOptions``, made from its YAML file; else raise AttributeError."""
    return find_options(__name__, FILES, name)
