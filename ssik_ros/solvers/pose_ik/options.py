"""Parameters of PoseIK; descriptions and ranges stand in ``pose_ik_parameters.yaml`` beside this file."""

from dataclasses import dataclass


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
