"""
Offsets of the parts of a plan's array of real numbers, as pairs (a, b): the part begins at a n + b for n joints.

A plan holds the data of an arm for its closed form: axes, points, home pose, limits and special points.
"""

AXES = 0, 0
"""(3 n,) directions of the axes of the chain on which candidates are certified."""
POINTS = 3, 0
"""(3 n,) a point on each axis."""
HOME = 6, 0
"""(12,) pose of the tip with all joints at zero."""
INVERSE = 6, 12
"""(12,) inverse of that pose."""
LOWER = 6, 24
"""(n,) lower limits."""
UPPER = 7, 24
"""(n,) upper limits."""
SPECIAL = 8, 24
"""(6,) special points of the class; NaN for a missing point."""
OWN_AXES = 8, 30
"""(3 n,) directions of the axes of the chain that gives the candidates."""
OWN_POINTS = 11, 30
"""(3 n,) points on these axes."""
HULL = 14, 30
"""(BLOCK,) reach hull of the chain, in the base frame with all joints at zero."""
