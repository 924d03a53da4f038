"""What the façade knows after asking a solver, whichever it was: joint vectors and counts."""

from typing import NamedTuple

from ssik_ros.arrays import FloatArray
from ssik_ros.manipulator.solution import RefinementMode
from ssik_ros.results import Cause


class Answer(NamedTuple):
    """Solutions, best first, and what became of the other candidates."""

    q: FloatArray
    """(k, n) joint vectors [rad or m]."""
    residuals: FloatArray
    """(k,) Frobenius norm of FK - T at each."""
    refinement: RefinementMode = 'none'
    """``refinement_used`` of every solution."""
    raw: int = 0
    dropped_by_limits: int = 0
    dropped_by_hold: int = 0
    dropped_by_seed_tolerance: int = 0
    dropped_by_max_solutions: int = 0
    branches: int = 0
    representatives: int = 0
    refined: int = 0
    """Candidates that a rescue iterated on."""
    cause: Cause = Cause.NONE
    clock_ended: bool = False
    detail: str = ''
    warnings: tuple[str, ...] = ()


class SolverFacts(NamedTuple):
    """Which solver an arm has, and why."""

    solver_name: str
    """Dotted name, such as ``ikgeo.three_parallel``."""
    tier: int
    """0 closed form, 1 closed form at samples of one joint, 2 numeric elimination, 3 iteration."""
    reason: str
    held_joint: str | None = None
    """The joint of seven whose values are sampled."""
    is_analytic: bool = True
    drift: float = 0.0
    """How far the axes are from the class of the closed form [m]."""
