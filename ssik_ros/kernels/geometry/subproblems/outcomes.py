"""
Outcome codes of subproblems: EXACT, NEAREST and FREE.

A subproblem is a small geometric equation for one to three angles of rotation. It never raises. If the equation has no
solution, subproblems 1, 3 and 4 return the angles that miss it by the least, and subproblem 2 a pair that comes close
(NEAREST). So a chain of them passes through singular poses without a jump. Subproblems 5 and 6 may return no angles at
all, which is NEAREST too. FREE means that the equation determines an angle badly or not at all.

In all subproblems, R(k, t) is the rotation about the unit axis k by the angle t.
"""

EXACT = 0
"""The angles satisfy the equation up to rounding."""
NEAREST = 1
"""No angle satisfies the equation; the returned angles come nearest, or close to it."""
FREE = 2
"""The equation does not determine an angle, or only badly; other angles are as good as the returned angle."""

ZERO_COEFFICIENT = 1e-12
"""Relative size below which a coefficient counts as zero: the angle is then free."""
BADLY = 1e-7
"""If the coefficients are relatively smaller, an equation determines its angle badly: rounding moves it by 1e-9 rad."""
RELATIVE_MISS = 1e-9
"""Largest miss of an equation that counts as satisfied, relative to its terms [1]."""
