"""
How far a held slide can be for a pose.

Problem
-------
A rail is long and an arm is short: of all values of a held slide only those are worth a try from which the rest of the
chain reaches to the target.

Solutions
---------
One range.

Method
------
The tip is never further from the first axis than L, the sum of the gaps between the points of neighbouring axes and to
the tip, and of the longest ways of other slides. With d = t - o, t the target's and o the first point's place at zero:

* The slide comes first, along h: |d - s h| <= L, s within h . d +- sqrt(L^2 - |d|^2 + (h . d)^2); o is that of the second
  axis.
* Otherwise |s| <= |d| + L.

Degeneracies
------------
Out of reach: the one value that comes nearest. Other slides without limits: no bound.

Cost
----
A square root for each joint.

References
----------
[Pieper1968]
"""

import math

from ssik_ros.kernels._jit import kernel, vector
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.certification.chain import is_slide, triple
from ssik_ros.kernels.geometry import vectors


@kernel
def slide_range(ints, reals, matrix_t):
    """
    Return (low, high) of a held slide: within its limits where it can be, else where it would have to be [m].

    :param ints, reals: a plan whose held joint slides.
    :param matrix_t: (4, 4) T.
    """
    n, held = ints[search.N], ints[search.HELD]
    points = vector(reals, 3 * n, 3 * n)
    first = 1 if held == 0 else 0
    origin = triple(points, first)
    before, reach = origin, 0.0
    for i in range(first, n):
        gap = vectors.subtract(triple(points, i), before)
        reach += vectors.norm(gap)
        before = triple(points, i)
        if i != held and is_slide(ints[search.SLIDES], i):
            reach += max(abs(reals[6 * n + 24 + i]), abs(reals[7 * n + 24 + i]))
    tip = (reals[6 * n + 9], reals[6 * n + 10], reals[6 * n + 11])
    reach += vectors.norm(vectors.subtract(tip, before))
    away = vectors.subtract((matrix_t[0, 3], matrix_t[1, 3], matrix_t[2, 3]), origin)
    middle, half = 0.0, vectors.norm(away) + reach
    if held == 0:
        middle = vectors.dot(triple(reals, 0), away)
        aside = vectors.dot(away, away) - middle * middle
        half = math.sqrt(max(0.0, reach * reach - aside))
    low = max(reals[6 * n + 24 + held], middle - half)
    high = min(reals[7 * n + 24 + held], middle + half)
    return (low, high) if low <= high else (middle - half, middle + half)
