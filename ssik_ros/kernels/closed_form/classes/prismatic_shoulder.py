"""
Solve chains whose first three joints include one or two prismatic joints, followed by a wrist whose axes meet.

Problem
-------
E_1 ... E_n = G. E_i is the motion of joint i, with rotation R_i, along or about the direction h_i through o_i. G is the
motion that all joints together must make, with rotation R_G. One or two of joints 1 to 3 are prismatic. Joints 4 to n,
three at most, are revolute with axes through the point W.

Solutions
---------
W has up to two positions with one revolute joint and up to four with two. Each position has two wrists if the wrist has
three axes, otherwise one wrist. So there are at most 8 solutions.

Method
------
The wrist does not move W, so E_1 E_2 E_3 W = p = G W.

* One revolute joint: the image of a point under it minus a constant is made by the two prismatic joints. So its
  component along the normal of their plane vanishes: subproblem 4. The prismatic joints follow, see
  :mod:`ssik_ros.kernels.closed_form.classes.slide_lengths`. For prismatic, revolute, prismatic:
  (h1 x R_2 h3) . (p - o2 - R_2 v) = 0 with v = W - o2. As R_2 h3 x R_2 v = R_2 (h3 x v), this is also of degree one:
  R_2 h3 . ((p - o2) x h1) = h1 . R_2 (h3 x v).
* Revolute, prismatic, revolute: R(-h1, q1) (p - o1) - R(h3, q3) (W - o3) - (o3 - o1) = q2 h2. Its two components
  perpendicular to h2 are subproblem 6.
* The prismatic joint first or last: both are R(k, t) (b + s g) = R(m, u) v + c, with (k, b, g, m, v, c) =
  (h2, W - o2, h3, -h1, p - o1, o1 - o2) or (-h2, p - o2, -h1, h3, W - o3, o3 - o2). The component along k and the
  length do not depend on t:

      (k.g) s = D1 + a1 cos u + b1 sin u        s^2 = D2 + 2 (a2 cos u + b2 sin u)

  where b was made perpendicular to g by an offset of s, and c parallel to the common normal of k and m by moving b
  along k and v along m. Eliminating s leaves a trigonometric polynomial of degree two in u. If k.g vanishes, the
  first equation is subproblem 4 in u, and the second gives two values of s. If k.g nearly vanishes, the polynomial
  has nearly double zeros. Three more rounds of this, with (k.g) s from the last round, refine them. Subproblem 1
  gives t.

The rotations of the wrist make the rest of R_G, see :mod:`ssik_ros.kernels.closed_form.classes.orientation_first`.

Degeneracies
------------
If a point lies on the axis that should rotate it, its angle is free, and zero is returned. With parallel prismatic
joints, or a prismatic joint perpendicular to two parallel axes, W cannot reach every place, and the class does not fit.
Nor does it fit a wrist of two parallel axes.

Cost
----
About thirty arc tangents for eight solutions.

References
----------
[Pieper1968], [Elias2025]
"""

import math

from ssik_ros.kernels._jit import kernel, matrix, vector
from ssik_ros.kernels.closed_form.certification.chain import (
    is_slide,
    map_point,
    triple,
)
from ssik_ros.kernels.closed_form.classes import orientation_first, slide_lengths
from ssik_ros.kernels.geometry import so3, vectors
from ssik_ros.kernels.geometry.polynomials import trigonometric_zeros
from ssik_ros.kernels.geometry.subproblems import sp4, sp6
from ssik_ros.kernels.geometry.subproblems.outcomes import ZERO_COEFFICIENT
from ssik_ros.kernels.geometry.subproblems.sp1 import angle_between

WRIST_AXES = 9
"""Offset of the fourth axis in the axes of the chain."""
PRR, RPR, PPR, RRP, PRP, RPP = 1, 2, 3, 4, 5, 6
"""Bit masks of the prismatic joints among the first three."""

AT_ROWS, AT_WRIST, AT_LEFT, AT_ZEROS = 12, 24, 30, 42
SCRATCH = AT_ZEROS + 4
"""Size of the scratch of :func:`solve`, in numbers."""

LEVEL = 2e-4
"""Component of a prismatic axis out of the plane perpendicular to its link's axis, over its swing, that counts as
nearly zero."""
SKEW = 0.1
"""Sine between axes above which their common normal is accurate enough."""


@kernel
def _one_turn(arm, slides, h1, o1, h2, o2, h3, o3, w, p):
    """
    Write two rows (q1, q2, q3) that move W to p, for a shoulder with one revolute joint; return 2.

    Beyond the reach, the rows miss p: by as little as possible for RPP and PPR.

    :param arm: (4, 3) out.
    :param slides: RPP, PPR or PRP.
    :param h1, o1, h2, o2, h3, o3: directions and points of the first three axes.
    :param w, p: centre W of the wrist with all joints at zero, and the place that it must reach.
    """
    if slides == RPP:
        back = (-h1[0], -h1[1], -h1[2])
        k, x, y, a, b = back, vectors.subtract(p, o1), vectors.subtract(w, o1), h2, h3
    elif slides == PPR:
        k, x, y, a, b = h3, vectors.subtract(w, o3), vectors.subtract(p, o3), h1, h2
    else:
        k, x, y, a, b = h2, vectors.subtract(w, o2), vectors.subtract(p, o2), h1, h3
    if slides == PRP:
        c1, s1, d1 = sp4.coefficients(vectors.cross(y, a), k, b)
        c2, s2, d2 = sp4.coefficients(a, k, vectors.cross(b, x))
        scale = vectors.norm(x) + vectors.norm(y)
        _, angle, other = sp4.solve_linear(c1 - c2, s1 - s2, d2 - d1, scale)
    else:
        normal = vectors.cross(a, b)
        _, angle, other = sp4.solve(normal, k, x, vectors.dot(normal, y))
    for row in range(2):
        sine, cosine = so3.sine_cosine(angle)
        turned = vectors.turn(k, cosine, sine, x)
        if slides == RPP:
            _, q2, q3 = slide_lengths.solve_two(a, b, vectors.subtract(turned, y))
            arm[row, 0], arm[row, 1], arm[row, 2] = angle, q2, q3
        elif slides == PPR:
            _, q1, q2 = slide_lengths.solve_two(a, b, vectors.subtract(y, turned))
            arm[row, 0], arm[row, 1], arm[row, 2] = q1, q2, angle
        else:
            offset = vectors.subtract(y, turned)
            _, q1, q3 = slide_lengths.solve_two(a, vectors.turn(k, cosine, sine, b), offset)
            arm[row, 0], arm[row, 1], arm[row, 2] = q1, angle, q3
        angle = other
    return 2


@kernel
def _slide_between(arm, h1, o1, h2, h3, o3, w, p, pairs, zeros):
    """
    Write rows (q1, q2, q3) that move W to p, for a revolute, prismatic, revolute shoulder; return their number, 0 to 4.

    If p is out of reach, there may be rows that miss it.

    :param arm: (4, 3) out.
    :param h1, o1, h2, h3, o3: directions and points of the axes.
    :param w, p: centre W of the wrist with all joints at zero, and the place that it must reach.
    :param pairs: (4, 2) scratch.
    :param zeros: (4,) scratch.
    """
    back = (-h1[0], -h1[1], -h1[2])
    x, y = vectors.subtract(p, o1), vectors.subtract(w, o3)
    gap = vectors.subtract(o3, o1)
    unit = vectors.norm(x) + vectors.norm(y) + vectors.norm(gap)
    if not unit > 0.0:
        unit = 1.0
    e1 = vectors.perpendicular(h2)
    e2 = vectors.cross(h2, e1)
    a1, b1, c1 = sp4.coefficients(e1, back, x)
    a2, b2, c2 = sp4.coefficients(e2, back, x)
    a3, b3, c3 = sp4.coefficients(e1, h3, y)
    a4, b4, c4 = sp4.coefficients(e2, h3, y)
    d1, d2 = vectors.dot(e1, gap) + c3 - c1, vectors.dot(e2, gap) + c4 - c2
    _, count = sp6.solve(
        pairs,
        (a1 / unit, b1 / unit, a2 / unit, b2 / unit),
        (-a3 / unit, -b3 / unit, -a4 / unit, -b4 / unit),
        (d1 / unit, d2 / unit),
        1.0,
        zeros,
    )
    for row in range(count):
        q1, q3 = pairs[row, 0], pairs[row, 1]
        offset = vectors.subtract(vectors.rotate(back, q1, x), vectors.rotate(h3, q3, y))
        arm[row, 0], arm[row, 2] = q1, q3
        arm[row, 1] = vectors.dot(h2, vectors.subtract(offset, gap))
    return count


@kernel
def turn_and_slide(out, k, b, g, m, v, c, zeros):
    """
    Write rows (t, s, u) of up to four solutions of R(k, t) (b + s g) = R(m, u) v + c; return their number.

    R(k, t) is the rotation about k by t. Four rows are written if g is nearly perpendicular to k, and one row if u is
    free, even if they do not solve the equation. So the caller has to check them.

    :param out: (4, 3) out: angle t [rad], length s [m], angle u [rad].
    :param k, m, g: unit axes, and unit direction of the slide.
    :param b, v, c: vectors [m].
    :param zeros: (4,) scratch.
    """
    normal = vectors.cross(k, m)
    nn = vectors.dot(normal, normal)
    if nn > SKEW * SKEW:
        along_k = vectors.dot(vectors.cross(c, m), normal) / nn
        v = vectors.add(v, vectors.scale(vectors.dot(vectors.cross(k, c), normal) / nn, m))
        c = vectors.scale(vectors.dot(c, normal) / nn, normal)
    else:
        along_k = vectors.dot(c, k)
        c = vectors.subtract(c, vectors.scale(along_k, k))
    b = vectors.subtract(b, vectors.scale(along_k, k))
    start = vectors.dot(b, g)
    b = vectors.subtract(b, vectors.scale(start, g))
    climb = vectors.dot(k, g)
    a1, b1, d1 = sp4.coefficients(k, m, v)
    a2, b2, d2 = sp4.coefficients(c, m, v)
    d1 += vectors.dot(k, vectors.subtract(c, b))
    d2 = 2.0 * d2 + vectors.dot(v, v) + vectors.dot(c, c) - vectors.dot(b, b)
    size = vectors.norm(v) + vectors.norm(c) + vectors.norm(b)
    swing = math.sqrt(a1 * a1 + b1 * b1)
    if abs(climb) * size <= LEVEL * swing:
        count = _level_slide(out, climb, a1, b1, d1, a2, b2, d2, size)
    elif swing + math.sqrt(a2 * a2 + b2 * b2) <= ZERO_COEFFICIENT * size * size:
        count = 1
        out[0, 1], out[0, 2] = d1 / climb, 0.0
    else:
        square = climb * climb
        count = trigonometric_zeros(
            zeros,
            d1 * d1 + 0.5 * swing * swing - square * d2,
            2.0 * (d1 * a1 - square * a2),
            2.0 * (d1 * b1 - square * b2),
            0.5 * (a1 * a1 - b1 * b1),
            a1 * b1,
        )
        for row in range(count):
            sine, cosine = so3.sine_cosine(zeros[row])
            out[row, 1], out[row, 2] = (d1 + a1 * cosine + b1 * sine) / climb, zeros[row]
    for row in range(count):
        reach = vectors.add(vectors.rotate(m, out[row, 2], v), c)
        out[row, 0] = angle_between(k, vectors.add(b, vectors.scale(out[row, 1], g)), reach)
        out[row, 1] -= start
    return count


@kernel
def _level_slide(out, climb, a1, b1, d1, a2, b2, d2, size):
    """
    Solve the two equations of :func:`turn_and_slide` for s and u, if the slide is nearly perpendicular to axis k.

    Four rows are written: s, the length of the slide, and u, the angle about m.

    :param out: (4, 3) out: columns 1 and 2 are s and u; column 0 is not written.
    :param climb: k.g, which nearly vanishes.
    :param a1, b1, d1, a2, b2, d2: coefficients of the two equations in s and u, see the module.
    :param size: size of the lengths that give these coefficients.
    :returns: 4, the number of rows.
    """
    rounds = 4 if abs(climb) > ZERO_COEFFICIENT else 1
    for row in range(4):
        s = 0.0
        for _ in range(rounds):
            _, first, second = sp4.solve_linear(a1, b1, climb * s - d1, size)
            u = first if row < 2 else second
            sine, cosine = so3.sine_cosine(u)
            s = math.sqrt(max(0.0, d2 + 2.0 * (a2 * cosine + b2 * sine)))
            if row % 2 == 1:
                s = -s
            out[row, 1], out[row, 2] = s, u
    return 4


@kernel
def _slide_outside(arm, slides, h1, o1, h2, o2, h3, o3, w, p, rows, zeros):
    """
    Write rows (q1, q2, q3) that move W to p, if the first or last joint of the shoulder is prismatic.

    Beyond the reach, there may be rows that miss p.

    :param arm: (4, 3) out.
    :param slides: RRP or PRR.
    :param h1, o1, h2, o2, h3, o3: directions and points of the first three axes.
    :param w, p: centre W of the wrist with all joints at zero, and the place that it must reach.
    :param rows: (4, 3) scratch.
    :param zeros: (4,) scratch.
    :returns: number of rows, 0 to 4.
    """
    first = (-h1[0], -h1[1], -h1[2])
    if slides == RRP:
        k, b, g, m, point, o, slide = h2, w, h3, first, p, o1, 2
    else:
        k, b, g, m, point, o, slide = (-h2[0], -h2[1], -h2[2]), p, first, h3, w, o3, 0
    v, c = vectors.subtract(point, o), vectors.subtract(o, o2)
    count = turn_and_slide(rows, k, vectors.subtract(b, o2), g, m, v, c, zeros)
    for row in range(count):
        arm[row, 1], arm[row, slide], arm[row, 2 - slide] = (
            rows[row, 0],
            rows[row, 1],
            rows[row, 2],
        )
    return count


@kernel
def solve(out, axes, points, slides, n, special, g, offered, scratch):
    """
    Write the candidates of a chain with one or two prismatic joints among the first three and a wrist whose axes meet.

    :param out: (8, n) out: candidates, not certified.
    :param axes, points: (3 n,) directions of the joint axes and a point on each, all joints at zero.
    :param slides: bit mask of the prismatic joints among the first three, such as PRR.
    :param n: number of joints, 3 to 6.
    :param special: (3,) W, the centre of the wrist.
    :param g: (12,) G, the motion that all joints together must make: rotation row by row, then translation.
    :param offered: angle of the last joint for a straight wrist [rad].
    :param scratch: (SCRATCH,) numbers.
    :returns: (count, is_free): number of candidates, and whether the pose hardly determines one of the wrist's angles.
    """
    h1, h2, h3 = triple(axes, 0), triple(axes, 1), triple(axes, 2)
    o1, o2, o3 = triple(points, 0), triple(points, 1), triple(points, 2)
    w = triple(special, 0)
    p = map_point(g, w)
    arm, rows = matrix(scratch, 0, 4, 3), matrix(scratch, AT_ROWS, 4, 3)
    zeros = vector(scratch, AT_ZEROS, 4)
    if slides == RPR:
        pairs = matrix(scratch, AT_ROWS, 4, 2)
        count = _slide_between(arm, h1, o1, h2, h3, o3, w, p, pairs, zeros)
    elif slides == PRR or slides == RRP:
        count = _slide_outside(arm, slides, h1, o1, h2, o2, h3, o3, w, p, rows, zeros)
    else:
        count = _one_turn(arm, slides, h1, o1, h2, o2, h3, o3, w, p)
    return _write_wrists(out, arm, count, axes, slides, n, g, offered, scratch)


@kernel
def _write_wrists(out, arm, count, axes, slides, n, g, offered, scratch):
    """
    Write the candidates for given postures of the first three joints: each posture with all its wrists.

    :param out: (8, n) out: candidates.
    :param arm: (4, 3) values of the first three joints in its first ``count`` rows.
    :param count: number of these postures.
    :param axes, slides, n, g, offered, scratch: the chain, its motion and scratch, as for :func:`solve`.
    :returns: (count, is_free): number of candidates, and whether the pose hardly determines the angles of a wrist.
    """
    wrist, left = matrix(scratch, AT_WRIST, 2, 3), vector(scratch, AT_LEFT, 12)
    written, is_free = 0, False
    for row in range(count):
        for k in range(3):
            column = vectors.times(g, vectors.unit(k))
            for joint in range(3):
                if not is_slide(slides, joint):
                    column = vectors.rotate(triple(axes, joint), -arm[row, joint], column)
            left[k], left[3 + k], left[6 + k] = column
        wrists, is_straight = orientation_first.write_rotations(
            wrist, matrix(axes, WRIST_AXES, n - 3, 3), n - 3, left, offered
        )
        is_free = is_free or is_straight
        for i in range(wrists):
            for k in range(3):
                out[written, k] = arm[row, k]
            for k in range(n - 3):
                out[written, 3 + k] = wrist[i, k]
            written += 1
    return written, is_free
