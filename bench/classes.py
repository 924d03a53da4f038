"""
What is compared: a workload, when an answer counts, and the peer whose times the others are divided by.

A new class is a new row of :data:`CLASSES`; a peer says in its own file which classes it takes part in.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BenchClass:
    """One row of the comparison."""

    name: str
    title: str
    reference: str
    """The peer to beat."""
    tolerance: float = 1e-3
    """Largest position error [m] and largest orientation error [rad] of an answer."""
    spread: float | None = None
    """Distance of the seed from the known answer at each joint [rad or m]; None: anywhere."""


CLASSES = {
    row.name: row
    for row in (
        BenchClass(
            'first_found_1e-3',
            'One answer within limits, seed anywhere',
            reference='roboticstoolbox',
        ),
        BenchClass(
            'near_seed_1e-3',
            'One answer within limits, seed within 0.05 rad of one (tracking)',
            reference='roboticstoolbox',
            spread=0.05,
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
            spread=0.05,
        ),
    )
}
