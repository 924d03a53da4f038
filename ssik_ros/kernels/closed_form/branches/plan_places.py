"""
Offsets of the parts of a plan's array of real numbers, as pairs (a, b): the part begins at a n + b for n joints.

A plan holds the data of an arm for its closed form: axes, points, home pose, limits and special points.
"""

from ssik_ros.kernels.rows.places import after

AXES = 0, 0
"""(3 n,) directions of the axes of the chain on which candidates are certified."""
POINTS = after(AXES, 3, 0)
"""(3 n,) a point on each axis."""
HOME = after(POINTS, 3, 0)
"""(12,) pose of the tip with all joints at zero."""
INVERSE = after(HOME, 0, 12)
"""(12,) inverse of that pose."""
LOWER = after(INVERSE, 0, 12)
"""(n,) lower limits."""
UPPER = after(LOWER, 1, 0)
"""(n,) upper limits."""
SPECIAL = after(UPPER, 1, 0)
"""(6,) special points of the class; NaN for a missing point."""
OWN_AXES = after(SPECIAL, 0, 6)
"""(3 n,) directions of the axes of the chain that gives the candidates."""
OWN_POINTS = after(OWN_AXES, 3, 0)
"""(3 n,) points on these axes."""
HULL = after(OWN_POINTS, 3, 0)
"""(BLOCK,) reach hull of the chain, in the base frame with all joints at zero."""
