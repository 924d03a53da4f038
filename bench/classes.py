"""
The classes of the comparison: workload, criterion of a solution, and the peer by whose times the others are divided.

A new class is a new row of :data:`ROWS`. The file of each peer names the classes that it takes part in.
"""

from collections.abc import Callable
from dataclasses import dataclass
import functools

from bench.arms import Arm
from bench.cases import Cases, draw_cases
from bench.hard_cases import draw_near_limits, draw_near_singular, draw_unreachable
from bench.hidden_cases import draw_unreachable_inside

TOOLBOX = 'roboticstoolbox'


@dataclass(frozen=True, slots=True)
class BenchClass:
    """One row of the comparison."""

    name: str
    title: str
    draw: Callable[[Arm, int], Cases] = draw_cases
    """Where goals and seeds come from."""
    tolerance: float = 1e-3
    """Largest position error [m] and largest orientation error [rad] of a solution."""
    reachable: bool = True
    """If False, no pose has a solution, and the right result is a failure."""

    @property
    def reference(self) -> str:
        """Return the peer to beat."""
        return TOOLBOX if self.tolerance == 1e-3 else f'{TOOLBOX} exact'

    @property
    def most(self) -> int | None:
        """Return the most goals of an arm: searches that cannot succeed take their whole budget, in one pass."""
        return None if self.reachable else 40


SEED_NEARBY = functools.partial(draw_cases, spread=0.05)
NEAR_SEED = 'One solution within limits, seed within 0.05 rad of one (tracking)'
NEAR_LIMIT = 'A joint at a limit or within 0.01 rad of it, seed anywhere, 1e-3'
NEAR_SINGULAR = 'Smallest singular value of the Jacobian below 1e-3, seed anywhere, 1e-3'
UNREACHABLE = 'No solution exists: the tip or the wrist would be out of reach'
INSIDE = 'No solution exists, yet tip and wrist are inside the hull of what they reach'
ROWS = (
    BenchClass('first_found_1e-3', 'One solution within limits, seed anywhere'),
    BenchClass('near_seed_1e-3', NEAR_SEED, SEED_NEARBY),
    BenchClass('first_found_1e-6', 'The same at 1e-6, seed anywhere', tolerance=1e-6),
    BenchClass('near_seed_1e-6', 'The same at 1e-6, seed within 0.05 rad', SEED_NEARBY, 1e-6),
    BenchClass('near_limit', NEAR_LIMIT, draw_near_limits),
    BenchClass('near_singular', NEAR_SINGULAR, draw_near_singular),
    BenchClass('unreachable', UNREACHABLE, draw_unreachable, reachable=False),
    BenchClass('unreachable_inside', INSIDE, draw_unreachable_inside, reachable=False),
)
CLASSES = {row.name: row for row in ROWS}
AT_MILLI = tuple(row.name for row in ROWS if row.tolerance == 1e-3)
"""The classes for solvers that are told to stop at 1e-3."""
AT_MICRO = tuple(row.name for row in ROWS if row.tolerance == 1e-6)
