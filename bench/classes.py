"""
The classes of the comparison: workload, criterion of a solution, and the peer by whose times the others are divided.

A new class is a new row of :data:`CLASSES`. The file of each peer names the classes that it takes part in.
"""

from collections.abc import Callable
from dataclasses import dataclass
import functools

from bench.arms import Arm
from bench.cases import Cases, draw_cases
from bench.hard_cases import draw_near_limits, draw_near_singular, draw_unreachable
from bench.hidden_cases import draw_unreachable_inside


@dataclass(frozen=True, slots=True)
class BenchClass:
    """One row of the comparison."""

    name: str
    title: str
    reference: str
    """The peer to beat."""
    draw: Callable[[Arm, int], Cases] = draw_cases
    """Where goals and seeds come from."""
    tolerance: float = 1e-3
    """Largest position error [m] and largest orientation error [rad] of a solution."""
    reachable: bool = True
    """If False, no pose has a solution, and the right result is a failure."""
    most: int | None = None
    """Most goals of an arm, for searches that cannot succeed take their whole budget; they are asked in one pass."""


SEED_NEARBY = functools.partial(draw_cases, spread=0.05)

CLASSES = {
    row.name: row
    for row in (
        BenchClass(
            'first_found_1e-3',
            'One solution within limits, seed anywhere',
            reference='roboticstoolbox',
        ),
        BenchClass(
            'near_seed_1e-3',
            'One solution within limits, seed within 0.05 rad of one (tracking)',
            reference='roboticstoolbox',
            draw=SEED_NEARBY,
        ),
        BenchClass(
            'first_found_1e-6',
            'The same at 1e-6, seed anywhere',
            reference='roboticstoolbox exact',
            tolerance=1e-6,
        ),
        BenchClass(
            'near_seed_1e-6',
            'The same at 1e-6, seed within 0.05 rad',
            reference='roboticstoolbox exact',
            tolerance=1e-6,
            draw=SEED_NEARBY,
        ),
        BenchClass(
            'near_limit',
            'A joint at a limit or within 0.01 rad of it, seed anywhere, 1e-3',
            reference='roboticstoolbox',
            draw=draw_near_limits,
        ),
        BenchClass(
            'near_singular',
            'Smallest singular value of the Jacobian below 1e-3, seed anywhere, 1e-3',
            reference='roboticstoolbox',
            draw=draw_near_singular,
        ),
        BenchClass(
            'unreachable',
            'No solution exists: the tip or the wrist would be out of reach',
            reference='roboticstoolbox',
            draw=draw_unreachable,
            reachable=False,
            most=40,
        ),
        BenchClass(
            'unreachable_inside',
            'No solution exists, yet tip and wrist are inside the hull of what they reach',
            reference='roboticstoolbox',
            draw=draw_unreachable_inside,
            reachable=False,
            most=40,
        ),
    )
}

AT_MILLI = tuple(row.name for row in CLASSES.values() if row.tolerance == 1e-3)
"""The classes for solvers that are told to stop at 1e-3."""
AT_MICRO = tuple(row.name for row in CLASSES.values() if row.tolerance == 1e-6)
