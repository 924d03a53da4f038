"""Parameters of PoseIK. The YAML file in this folder has names, types, defaults, ranges and texts."""

from typing import Any

from ssik_ros.solvers.options.options_type import find_options

PARAMETERS_FILE = 'ssik_ros.solvers.search.pose_ik:pose_ik_parameters.yaml'
PARAMETER_ALIASES = {'epsilon': 'target_tolerance', 'damping': 'gd_jacobian_damping'}
"""Names that other solvers use for the same parameters."""


def __getattr__(name: str) -> Any:
    """Return the class ``PoseIkOptions``, generated from the YAML file at the first access; else raise AttributeError."""
    return find_options(__name__, {'PoseIkOptions': PARAMETERS_FILE}, name)
