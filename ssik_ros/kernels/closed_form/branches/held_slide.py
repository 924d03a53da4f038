"""
Compute the range of a held prismatic joint in which a pose can be reached.

Problem
-------
A rail is long and an arm is short. Only values of the held joint are useful at which the rest of the chain can reach
the target.

Solutions
---------
One range, cut to the limits of the held joint. If no part of it is within the limits, it is not cut.

Method
------
The distance of the tip from the first axis is at most L. L is the sum of the gaps between the points of neighbouring
axes and the tip. For every other prismatic joint, the larger absolute value of its two limits is added. Let d = t - o,
with target position t and the position o of the first point at zero.

* If the held joint comes first, along h: |d - s h| <= L, so s is within h . d +- sqrt(L^2 - |d|^2 + (h . d)^2). Here o
  is the point of the second axis.
* Otherwise |s| <= |d| + L.

Degeneracies
------------
If a pose is out of reach, the range may be the value that comes nearest. If another prismatic joint has no limits, the
range is infinite before it is cut.

Cost
----
A square root for each joint.

References
----------
[Pieper1968]
"""

import math

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.branches import plan_layout, search
from ssik_ros.kernels.closed_form.certification.chain import is_slide, triple
from ssik_ros.kernels.geometry import vectors


@kernel
def slide_range(ints, reals, matrix_t):
    """
    Return the range (low, high) of a held prismatic joint [m] in which the rest of the chain may reach the target.

    The range is cut to the joint's limits, except if none of it is within the limits. Without the cut it is infinite if
    another prismatic joint has an infinite limit. For a target out of reach, the range may be a single value.

    :param ints, reals: integers and real numbers of a plan whose held joint is prismatic.
    :param matrix_t: (4, 4) target pose of the tip.
    """
    n, held = ints[search.N], ints[search.HELD]
    plan = plan_layout.view_plan(reals, n)
    points, lower, upper = plan.points, plan.lower, plan.upper
    first = 1 if held == 0 else 0
    origin = triple(points, first)
    before, reach = origin, 0.0
    for i in range(first, n):
        gap = vectors.subtract(triple(points, i), before)
        reach += vectors.norm(gap)
        before = triple(points, i)
        if i != held and is_slide(ints[search.SLIDES], i):
            reach += max(abs(lower[i]), abs(upper[i]))
    tip = vectors.read(plan.home, 9)
    reach += vectors.norm(vectors.subtract(tip, before))
    offset = vectors.subtract((matrix_t[0, 3], matrix_t[1, 3], matrix_t[2, 3]), origin)
    middle, half = 0.0, vectors.norm(offset) + reach
    if held == 0:
        middle = vectors.dot(triple(plan.axes, 0), offset)
        aside = vectors.dot(offset, offset) - middle * middle
        half = math.sqrt(max(0.0, reach * reach - aside))
    low = max(lower[held], middle - half)
    high = min(upper[held], middle + half)
    return (low, high) if low <= high else (middle - half, middle + half)
