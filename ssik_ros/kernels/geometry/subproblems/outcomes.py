"""
Outcome codes of subproblems: EXACT, NEAREST and FREE.

A subproblem never raises and always returns angles. If the equation has no solution, it returns the angles that miss
the equation by the least (NEAREST). So a chain of subproblems passes through singular poses without a jump. FREE means
that the equation determines the angle badly or not at all.
"""

EXACT = 0
"""The angles satisfy the equation up to rounding."""
NEAREST = 1
"""No angle satisfies the equation; these miss it by the least."""
FREE = 2
"""The equation does not determine the angle, or only badly; any other angle is as good as the returned one."""

ZERO_COEFFICIENT = 1e-12
"""Relative size below which a coefficient counts as zero: the angle is then free."""
BADLY = 1e-7
"""If the coefficients are relatively smaller, an equation determines its angle badly: rounding moves it by 1e-9 rad."""
RELATIVE_MISS = 1e-9
"""Largest miss of an equation that counts as satisfied, relative to its terms [1]."""
