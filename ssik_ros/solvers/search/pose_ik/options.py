"""Parameters of PoseIK; descriptions and ranges stand in ``pose_ik_parameters.yaml`` beside this file."""

from ssik_ros.value_class import dataclass

PARAMETERS_FILE = 'ssik_ros.solvers.search.pose_ik:pose_ik_parameters.yaml'
PARAMETER_ALIASES = {'epsilon': 'target_tolerance', 'damping': 'gd_jacobian_damping'}
"""Names that other solvers use for the same thing."""


@dataclass(frozen=True, slots=True)
class PoseIkOptions:
    """One field per parameter of the YAML, with the same default (a test compares them)."""

    solve_mode: str = 'first_found'
    target_tolerance: float = 0.001
    gd_max_iters: int = 100
    gd_jacobian_damping: float = 0.00001
    gd_step_multiplier: float = 0.5
    gd_adaptive_threshold: float = 0.6
    optimization_timeout: float = 0.01
    optimization_distance_gain: float = 0.1
