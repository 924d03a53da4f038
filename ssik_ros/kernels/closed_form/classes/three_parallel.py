"""
Solve arms of six revolute joints with three parallel axes next to each other.

Problem
-------
E_1 ... E_6 = G with h_3 = +-h_2, h_4 = +-h_2 (AXES_234), or with h_2 = +-h_1, h_3 = +-h_1 and axes 5, 6 meeting in A
(AXES_123). E_i is the motion of joint i, with rotation R_i about the direction h_i, and o_i a point of its axis. G is
the motion that all joints together must make, with rotation R_G. Other positions of the parallel axes are these cases
on the reversed chain.

Solutions
---------
Up to eight: up to four pairs, (q1, q5) of AXES_234 or (q4, q5) of AXES_123, each with two postures of the parallel
joints.

Method
------
The three parallel joints keep heights along h and rotate about h only. K is the motion that they make.

AXES_234, h = h_2, K = E_1^-1 G E_6^-1 E_5^-1:

1. h . K x = h . x for x = E_5 o_6, and K keeps h: two equations in (q1, q5), subproblem 6. If axes 5 and 6 meet, o_6 is
   their point, and the first equation depends on q1 only.
2. q6 rotates R_G^T R_1 h onto R_5^T h: subproblem 1.
3. The parallel joints: joint 3 brings o_4 to the distance of K o_4 from axis 2 (subproblem 3), joint 2 does the rest
   (subproblem 1), and joint 4 makes the remaining angle of K about h.

AXES_123, h = h_1, K = G E_6^-1 E_5^-1 E_4^-1:

1. h . G A = h . E_4 A: q4, subproblem 4.
2. h . R_G h_6 = (R_4^T h) . R_5 h_6: q5, subproblem 4.
3. q6 rotates R_G^T h onto R_5^T R_4^T h: subproblem 1. Then the parallel joints with axes 1, 2, 3.

Degeneracies
------------
A stretched or folded arm makes subproblems tangent. If R_5^T h is parallel to h_6 (a wrist singularity, four parallel
axes), q6 is free. It takes the angle nearest to the offered one for which the parallel joints reach the pose, and these
joints do the rest. Nearby, q5 is refined as in :mod:`ssik_ros.kernels.geometry.subproblems.three_axes`.

Cost
----
About fifty arc tangents for eight separate solutions; six if all eight are computed together, see
:mod:`three_parallel_lanes`.

References
----------
[Pieper1968], [Elias2025]
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.closed_form.certification.chain import (
    map_point,
    screw,
    triple,
    unmap_point,
)
from ssik_ros.kernels.closed_form.classes import three_parallel_lanes
from ssik_ros.kernels.geometry import so3, vectors
from ssik_ros.kernels.geometry.subproblems import sp3, sp4, sp6, three_axes
from ssik_ros.kernels.geometry.subproblems.outcomes import FREE
from ssik_ros.kernels.geometry.subproblems.sp1 import angle_between

AXES_234 = 0
AXES_123 = 1
AT_ZEROS = 8
SCRATCH = max(AT_ZEROS + 4, three_parallel_lanes.SCRATCH)

LINED_UP = 1e-11
"""Sine of an angle below which q6 counts as free."""
NEARLY_LINED_UP = 1e-3
"""Sine of this angle below which q5 is computed from differences of vectors instead of products."""


@kernel
def _plane(out, row, first, h, oa, ob, oc, sb, sc, kv, ko, v):
    """
    Write the two solutions of three parallel joints a, b, c that together make a motion K, into two rows of ``out``.

    If the joints cannot make K, both rows have the elbow angle that comes nearest.

    :param out: (., 6) candidates; rows ``row`` and ``row + 1``, columns ``first`` to ``first + 2`` are written [rad].
    :param h, oa, ob, oc: common direction, and points of the axes.
    :param sb, sc: 1 if the direction of axis b or c is h, -1 if it is -h.
    :param kv: K's rotation applied to v.
    :param ko: K applied to the point oc.
    :param v: a unit vector perpendicular to h.
    """
    theta = angle_between(h, v, kv)
    reach = vectors.subtract(ko, oa)
    arm = vectors.subtract(oc, ob)
    _, tb, other = sp3.solve(h, arm, vectors.subtract(oa, ob), vectors.dot(reach, reach))
    for i in range(row, row + 2):
        x = vectors.add(ob, vectors.rotate(h, tb, arm))
        ta = angle_between(h, vectors.subtract(x, oa), reach)
        out[i, first] = ta
        out[i, first + 1] = sb * tb
        out[i, first + 2] = sc * (theta - ta - tb)
        tb = other


@kernel
def _solve_last(h6, p, q, offered, u, v, nearest, furthest):
    """
    Return q6 [rad] with R(h6, q6) p = q, or a suitable value if p is parallel to h6, so that q6 is free.

    A free q6 is the angle nearest to the offered angle at which the parallel joints can reach the pose: they must make
    the distance |R(-h6, q6) u - v|. R(h6, q6) is the rotation about h6 by q6.

    :param h6: direction of axis 6.
    :param p, q: vectors.
    :param offered: preferred q6 [rad].
    :param u: vector from a point of axis 6 to the point that the last parallel joint carries.
    :param v: vector from the same point to the point on the first parallel axis.
    :param nearest, furthest: least and largest possible square of the distance.
    """
    across = vectors.cross(h6, p)
    if vectors.dot(across, across) >= LINED_UP * LINED_UP:
        return angle_between(h6, p, q)
    back = (-h6[0], -h6[1], -h6[2])
    gap = vectors.subtract(vectors.rotate(back, offered, u), v)
    wanted = min(max(vectors.dot(gap, gap), nearest), furthest)
    if wanted == vectors.dot(gap, gap):
        return offered
    _, first, second = sp3.solve(back, u, v, wanted)
    return first if math.cos(first - offered) >= math.cos(second - offered) else second


@kernel
def _reach(h, arm, base):
    """
    Return (smallest, largest) squared distance |R(h, t) arm - base|^2 over all angles t.

    :param h: unit axis.
    :param arm, base: vectors.
    """
    a, b, c = sp4.coefficients(base, h, arm)
    middle = vectors.dot(arm, arm) + vectors.dot(base, base) - 2.0 * c
    swing = 2.0 * math.sqrt(a * a + b * b)
    return middle - swing, middle + swing


@kernel
def _sharpen(h, h5, h6, image, q5, is_second):
    """
    Return q5 [rad], computed again without loss of digits if axis 6 is nearly parallel to the parallel axes.

    Otherwise q5 is returned unchanged.

    :param h: direction of the parallel axes.
    :param h5, h6: directions of axes 5 and 6.
    :param image: vector whose angle to h the direction h6, turned by joint 5, must make.
    :param q5: first result [rad].
    :param is_second: True if q5 is the second of two solutions that rounding may have merged.
    """
    across = vectors.cross(h, image)
    if vectors.dot(across, across) > NEARLY_LINED_UP * NEARLY_LINED_UP:
        return q5
    _, first, second = three_axes.middle_angles(h, h5, h6, image)
    near_first, near_second = math.cos(q5 - first), math.cos(q5 - second)
    if near_first == near_second:
        return second if is_second else first
    return first if near_first > near_second else second


@inline_kernel
def _is_lined_up(h, image):
    """Return whether ``image``, the required direction of axis 6, is so nearly parallel to h that q6 is uncertain."""
    across = vectors.cross(h, image)
    return vectors.dot(across, across) <= NEARLY_LINED_UP * NEARLY_LINED_UP


@kernel
def _solve_234(out, axes, points, g, offered, scratch):
    """
    Write the candidates for axes 2, 3, 4 parallel, one by one.

    :param out, axes, points, g, offered, scratch: candidates (out), chain, its motion, q6 if it is free, and scratch,
        as for :func:`solve`.
    :returns: (count, is_free): number of candidates, 0 to 8, and whether the pose hardly determines one of their
        angles.
    """
    h1, h, h5, h6 = triple(axes, 0), triple(axes, 1), triple(axes, 4), triple(axes, 5)
    o1, o2, o3 = triple(points, 0), triple(points, 1), triple(points, 2)
    o4, o5, o6 = triple(points, 3), triple(points, 4), triple(points, 5)
    sb = 1.0 if vectors.dot(h, triple(axes, 2)) > 0.0 else -1.0
    sc = 1.0 if vectors.dot(h, triple(axes, 3)) > 0.0 else -1.0
    back = (-h1[0], -h1[1], -h1[2])
    # Step 1, the first equation in units of the arm's size.
    p = vectors.subtract(map_point(g, o6), o1)
    d6 = vectors.subtract(o6, o5)
    a, b, c = sp4.coefficients(h, back, p)
    e, f, k = sp4.coefficients(h, h5, d6)
    a2, b2, c2 = sp4.coefficients(h, back, vectors.times(g, h6))
    e2, f2, k2 = sp4.coefficients(h, h5, h6)
    height = vectors.dot(h, vectors.subtract(o5, o1)) + k - c
    unit = vectors.norm(p) + vectors.norm(d6) + vectors.norm(vectors.subtract(o5, o1))
    pairs = matrix(scratch, 0, 4, 2)
    outcome, count = sp6.solve(
        pairs,
        (a / unit, b / unit, a2, b2),
        (-e / unit, -f / unit, -e2, -f2),
        (height / unit, k2 - c2),
        1.0,
        vector(scratch, AT_ZEROS, 4),
    )
    v = vectors.perpendicular(h)
    nearest, furthest = _reach(h, vectors.subtract(o4, o3), vectors.subtract(o2, o3))
    image = vectors.times(g, h6)
    is_free = outcome == FREE
    for i in range(count):
        q1 = pairs[i, 0]
        s1, c1 = so3.sine_cosine(q1)
        turned = vectors.turn(h1, c1, -s1, image)
        is_free = is_free or _is_lined_up(h, turned)
        q5 = _sharpen(h, h5, h6, turned, pairs[i, 1], i % 2 == 1)
        s5, c5 = so3.sine_cosine(q5)
        # Step 2.
        q6 = _solve_last(
            h6,
            vectors.transposed_times(g, vectors.turn(h1, c1, s1, h)),
            vectors.turn(h5, c5, -s5, h),
            offered,
            vectors.subtract(screw(h5, o5, c5, -s5, o4), o6),
            vectors.subtract(unmap_point(g, screw(h1, o1, c1, s1, o2)), o6),
            nearest,
            furthest,
        )
        s6, c6 = so3.sine_cosine(q6)
        # Step 3.
        kv = vectors.turn(h6, c6, -s6, vectors.turn(h5, c5, -s5, v))
        kv = vectors.turn(h1, c1, -s1, vectors.times(g, kv))
        ko = screw(h6, o6, c6, -s6, screw(h5, o5, c5, -s5, o4))
        ko = screw(h1, o1, c1, -s1, map_point(g, ko))
        _plane(out, 2 * i, 1, h, o2, o3, o4, sb, sc, kv, ko, v)
        for j in range(2 * i, 2 * i + 2):
            out[j, 0], out[j, 4], out[j, 5] = q1, q5, q6
    return 2 * count, is_free


@kernel
def _solve_123(out, axes, points, meeting, g, offered):
    """
    Write the candidates for axes 1, 2, 3 parallel, one by one.

    :param out, axes, points, g, offered: candidates, chain, its motion and angle for a free joint, as for
        :func:`solve`.
    :param meeting: point where axes 5 and 6 meet.
    :returns: (8, is_free): number of candidates, and whether the pose hardly determines one of their angles.
    """
    h, h4, h5, h6 = triple(axes, 0), triple(axes, 3), triple(axes, 4), triple(axes, 5)
    o1, o2, o3, o4 = triple(points, 0), triple(points, 1), triple(points, 2), triple(points, 3)
    sb = 1.0 if vectors.dot(h, triple(axes, 1)) > 0.0 else -1.0
    sc = 1.0 if vectors.dot(h, triple(axes, 2)) > 0.0 else -1.0
    # Step 1.
    height = vectors.dot(h, vectors.subtract(map_point(g, meeting), o4))
    outcome, q4, other4 = sp4.solve(h, h4, vectors.subtract(meeting, o4), height)
    is_free = outcome == FREE
    v = vectors.perpendicular(h)
    image = vectors.times(g, h6)
    nearest, furthest = _reach(h, vectors.subtract(o3, o2), vectors.subtract(o1, o2))
    from_meeting = vectors.subtract(unmap_point(g, o1), meeting)
    row = 0
    for _ in range(2):
        s4, c4 = so3.sine_cosine(q4)
        h_in_4 = vectors.turn(h4, c4, -s4, h)
        v_in_4 = vectors.turn(h4, c4, -s4, v)
        # Step 2.
        turned = vectors.turn(h4, c4, -s4, image)
        is_free = is_free or _is_lined_up(h_in_4, turned)
        _, q5, other5 = three_axes.middle_angles(h_in_4, h5, h6, turned)
        for _ in range(2):
            s5, c5 = so3.sine_cosine(q5)
            # Step 3.
            ko = screw(h5, meeting, c5, -s5, screw(h4, o4, c4, -s4, o3))
            q6 = _solve_last(
                h6,
                vectors.transposed_times(g, h),
                vectors.turn(h5, c5, -s5, h_in_4),
                offered,
                vectors.subtract(ko, meeting),
                from_meeting,
                nearest,
                furthest,
            )
            s6, c6 = so3.sine_cosine(q6)
            kv = vectors.turn(h6, c6, -s6, vectors.turn(h5, c5, -s5, v_in_4))
            ko = map_point(g, screw(h6, meeting, c6, -s6, ko))
            _plane(out, row, 0, h, o1, o2, o3, sb, sc, vectors.times(g, kv), ko, v)
            for j in range(row, row + 2):
                out[j, 3], out[j, 4], out[j, 5] = q4, q5, q6
            row += 2
            q5 = other5
        q4 = other4
    return row, is_free


@kernel
def solve(out, case, axes, points, special, g, offered, scratch):
    """
    Write the joint vectors that may reach a pose, for six revolute joints with three parallel axes.

    :param out: (8, 6) candidates, not certified.
    :param case: AXES_234 or AXES_123, the numbers of the parallel axes.
    :param axes, points: (18,) directions of the six axes and a point on each, all joints at zero. If axes 5 and 6 of
        AXES_234 meet, the sixth point is their intersection.
    :param special: (3,) or longer: the point where axes 5 and 6 of AXES_123 meet; not read for AXES_234.
    :param g: (12,) G, the motion that all joints together must make: rotation row by row, then translation.
    :param offered: q6 if the pose leaves it free [rad].
    :param scratch: (SCRATCH,) numbers.
    :returns: (count, is_free): number of candidates, 0 to 8, and whether the pose hardly determines one of their
        angles.
    """
    if case == AXES_234:
        angles = vector(scratch, 0, three_parallel_lanes.SCRATCH)
        count, is_free = three_parallel_lanes.write_outer(angles, axes, points, g)
        if count == 0:
            return 0, is_free
        if three_parallel_lanes.write_inner(out, angles, axes, points, g):
            return 2 * count, is_free
        return _solve_234(out, axes, points, g, offered, scratch)
    return _solve_123(out, axes, points, triple(special, 0), g, offered)
