"""Parameters of the Newton solvers; descriptions and ranges stand in the YAML files beside this one."""

from ssik_ros.value_class import dataclass

NEWTON_FILE = 'ssik_ros.solvers.search.newton:newton_raphson_parameters.yaml'
GAUSS_FILE = 'ssik_ros.solvers.search.newton:gauss_newton_parameters.yaml'
LEVENBERG_FILE = 'ssik_ros.solvers.search.newton:levenberg_marquardt_parameters.yaml'
INVERSE_ALIASES = {'epsilon': 'target_tolerance', 'damping': 'pinv_damping'}
LEVENBERG_ALIASES = {'epsilon': 'target_tolerance', 'damping': 'k'}
"""Names that other solvers use for the same thing."""


@dataclass(frozen=True, slots=True)
class NewtonRaphsonOptions:
    """One field per parameter of the YAML, with the same default (a test compares them)."""

    target_tolerance: float = 0.001
    ilimit: int = 30
    slimit: int = 100
    pinv: bool = True
    pinv_damping: float = 0.0
    kq: float = 0.0
    km: float = 0.0
    ps: float = 0.0
    pi: float = 0.3
    seed: int = 0


@dataclass(frozen=True, slots=True)
class GaussNewtonOptions:
    """One field per parameter of the YAML, with the same default (a test compares them)."""

    target_tolerance: float = 0.001
    ilimit: int = 30
    slimit: int = 100
    pinv: bool = True
    pinv_damping: float = 0.0
    kq: float = 0.0
    km: float = 0.0
    ps: float = 0.0
    pi: float = 0.3
    seed: int = 0


@dataclass(frozen=True, slots=True)
class LevenbergMarquardtOptions:
    """One field per parameter of the YAML, with the same default (a test compares them)."""

    target_tolerance: float = 0.001
    ilimit: int = 30
    slimit: int = 100
    method: str = 'adaptive'
    k: float = 0.0
    kq: float = 0.0
    km: float = 0.0
    ps: float = 0.0
    pi: float = 0.3
    seed: int = 0
