"""
Layout of a plan's array of real numbers.

A plan holds the data of an arm for its closed form: axes, points, home pose, limits and special points.
"""

from typing import Annotated, NamedTuple

from ssik_ros.kernels.rows import reach_hull
from ssik_ros.kernels.rows.views import Floats, Memory


class Plan(NamedTuple):
    """
    The real numbers of a plan, as views that :func:`view_plan` returns, for a chain of n joints.

    ``axes``, ``points`` and ``home`` are the chain on which candidates are certified; ``own_axes`` and ``own_points``
    the chain that gives the candidates.
    """

    axes: Annotated[Floats, '3 * n']
    """Directions of the axes of the chain on which candidates are certified."""
    points: Annotated[Floats, '3 * n']
    """A point on each axis."""
    home: Annotated[Floats, 12]
    """Pose of the tip with all joints at zero."""
    inverse: Annotated[Floats, 12]
    """Inverse of that pose."""
    lower: Annotated[Floats, 'n']
    """Lower limits."""
    upper: Annotated[Floats, 'n']
    """Upper limits."""
    special: Annotated[Floats, 6]
    """Special points of the class; NaN for a missing point."""
    own_axes: Annotated[Floats, '3 * n']
    """Directions of the axes of the chain that gives the candidates."""
    own_points: Annotated[Floats, '3 * n']
    """Points on these axes."""
    hull: Annotated[Floats, reach_hull.BLOCK]
    """
    Reach hull of the wrist, a point of the last axis, in the base frame with all joints at zero.

    An arm with a prismatic joint has no hull.
    """


PLAN = Memory(Plan, 'n', globals())
plan_size = PLAN.size('plan_size')
view_plan = PLAN.kernel('view_plan')
