"""Parameters of the solver ``ssik_ros/ClosedChain``; descriptions and ranges stand in the YAML file beside this one."""

from ssik_ros.value_class import dataclass

GROUP_PARAMETERS_FILE = 'ssik_ros.solvers.closed_chain:closed_chain_parameters.yaml'
GROUP_PARAMETER_ALIASES = {'epsilon': 'target_tolerance'}


@dataclass(frozen=True, slots=True)
class ClosedChainGroupOptions:
    """One field per parameter of the YAML, with the same default (a test compares them)."""

    target_tolerance: float = 0.001
    method: str = 'lm'
    max_iterations: int = 100
    max_searches: int = 30
    loop_tolerance: float = 0.000001
    escapes: int = 2
    seed: int = 0
    loop_closures_file: str = ''
    use_constraints: bool = True
