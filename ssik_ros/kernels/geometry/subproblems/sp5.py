"""
Subproblem 5: three axes that bring two chains of points together.

Problem
-------
p0 + R(k1, t1) p1 = R(k2, t2) (p2 + R(k3, t3) p3), k1, k2, k3 unit axes; p0 to p3 any vectors. R(k, t) is the rotation
about k by t.

Solutions
---------
Up to four triples.

Method
------
1. Both sides have the same component along k2 and the same length. Both equations are linear in the cosines and
   sines of t1 and t3: subproblem 6.
2. t2 by subproblem 1.

Degeneracies
------------
k1 or k3 parallel to k2, p1 parallel to k1, p3 parallel to k3: see the outcome of subproblem 6. If parallel axes leave
one equation with one angle only, the rank-one form of subproblem 6 solves it.

Cost
----
Subproblem 6, and an arc tangent for each triple.

References
----------
[Elias2025]
"""

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.geometry.subproblems import sp4, sp6
from ssik_ros.kernels.geometry.subproblems.sp1 import angle_between


@kernel
def solve(out, p0, k1, p1, k2, p2, k3, p3, zeros):
    """
    Write the triples of angles with p0 + R(k1, t1) p1 = R(k2, t2) (p2 + R(k3, t3) p3); return (outcome, count).

    The outcome is NEAREST if a triple misses the equation or none exists, FREE if t1 or t3 is not determined, else
    EXACT. It stays EXACT if only t2 is not determined.

    :param out: (4, 3) rows (t1, t2, t3) [rad]; only the first ``count`` rows are valid.
    :param p0, p1, p2, p3: vectors.
    :param k1, k2, k3: unit axes.
    :param zeros: (4,) scratch.
    """
    # Step 1.
    a1, b1, c1 = sp4.coefficients(k2, k1, p1)
    a3, b3, c3 = sp4.coefficients(k2, k3, p3)
    f1, g1, h1 = sp4.coefficients(p0, k1, p1)
    f3, g3, h3 = sp4.coefficients(p2, k3, p3)
    q0, q1 = vectors.dot(p0, p0), vectors.dot(p1, p1)
    q2, q3 = vectors.dot(p2, p2), vectors.dot(p3, p3)
    height = vectors.dot(k2, p2) + c3 - vectors.dot(k2, p0) - c1
    length = 0.5 * (q2 + q3 - q0 - q1) + h3 - h1
    # One unit for both equations: lengths.
    size = q0 + q1 + q2 + q3
    unit = size**0.5
    if unit > 0.0:
        f1, g1, f3, g3, length = f1 / unit, g1 / unit, f3 / unit, g3 / unit, length / unit
    outcome, count = sp6.solve(
        out,
        (a1, b1, f1, g1),
        (-a3, -b3, -f3, -g3),
        (height, length),
        unit,
        zeros,
    )
    # Step 2.
    for i in range(count):
        t1, t3 = out[i, 0], out[i, 1]
        left = vectors.add(p0, vectors.rotate(k1, t1, p1))
        right = vectors.add(p2, vectors.rotate(k3, t3, p3))
        out[i, 1] = angle_between(k2, right, left)
        out[i, 2] = t3
    return outcome, count
