"""
What a subproblem says about its own input.

A subproblem never raises and always returns angles: where the equation has no solution, those that miss it by
the least, so that a chain of subproblems goes through singular poses without a jump. The outcome tells which.
"""

EXACT = 0
"""The angles satisfy the equation to rounding."""
NEAREST = 1
"""No angle satisfies the equation; these miss it by the least."""
FREE = 2
"""The equation does not determine the angle, or only badly; the returned one is as good as any."""

SMALL = 1e-12
"""Relative size below which a coefficient counts as zero: the angle is then free."""
BADLY = 1e-7
"""Relative size of the coefficients below which an equation determines its angle badly: rounding moves the angle by 1e-9 rad."""
CLOSE = 1e-9
"""Relative miss up to which an equation still counts as satisfied."""
