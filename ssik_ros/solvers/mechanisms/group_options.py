"""Parameters of ``ssik_ros/ClosedChain``. The YAML file in this folder has names, types, defaults, ranges and texts."""

from typing import Any

from ssik_ros.solvers.options.options_type import find_options

GROUP_PARAMETERS_FILE = 'ssik_ros.solvers.mechanisms:closed_chain_parameters.yaml'
GROUP_PARAMETER_ALIASES = {'epsilon': 'target_tolerance'}


def __getattr__(name: str) -> Any:
    """Return the class ``ClosedChainGroupOptions``, generated from the YAML file; else raise AttributeError."""
    return find_options(__name__, {'ClosedChainGroupOptions': GROUP_PARAMETERS_FILE}, name)
