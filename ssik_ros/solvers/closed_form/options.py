"""Parameters of the analytic solver; descriptions and ranges stand in ``analytic_parameters.yaml`` beside this file."""

from ssik_ros.value_class import dataclass

PARAMETERS_FILE = 'ssik_ros.solvers.closed_form:analytic_parameters.yaml'


@dataclass(frozen=True, slots=True)
class AnalyticOptions:
    """One field per parameter of the YAML, with the same default (a test compares them)."""

    redundancy_samples: int = 16
    seed_metric: str = 'wrap_l2'
