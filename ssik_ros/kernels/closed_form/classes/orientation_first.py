"""
Solve chains of at most three revolute and at most three prismatic joints: the angles first, then the lengths.

Problem
-------
E_1 ... E_n = G, n at most 6, revolute and prismatic joints in any order. E_i is the motion of joint i, and G the motion
that all joints together must make, with rotation R_G. Gantries are of this class, whatever their wrist, because its
axes need not meet.

Solutions
---------
Two solutions with three revolute joints, one with fewer.

Method
------
1. Prismatic joints do not rotate anything, so the product of the rotations is R_G. Three axes: see
   :mod:`ssik_ros.kernels.geometry.subproblems.three_axes`. Two axes a, b: the first rotates b onto R_G b, the second
   does the rest. One axis: it rotates a vector perpendicular to it.
2. The angles determine the direction d_i of every prismatic joint, and sum q_i d_i = G x - x' is linear. Here x is any
   point, and x' its image under the chain with all prismatic joints at zero.

Degeneracies
------------
If neighbouring axes are parallel, the chain is not of this class. At a straight wrist the last angle is the angle that
the caller offers. If the directions of prismatic joints are coplanar at a singular posture, see
:mod:`ssik_ros.kernels.closed_form.classes.slide_lengths`. Chains of fewer than six joints miss most poses; the
certification rejects their candidates.

Cost
----
Six arc tangents for two solutions.

References
----------
[Pieper1968], [Shuster2003]
"""

from ssik_ros.kernels._jit import kernel, matrix
from ssik_ros.kernels.closed_form.certification.chain import (
    is_slide,
    map_point,
    screw,
    triple,
)
from ssik_ros.kernels.closed_form.classes import slide_lengths
from ssik_ros.kernels.geometry import so3, vectors
from ssik_ros.kernels.geometry.subproblems import three_axes
from ssik_ros.kernels.geometry.subproblems.outcomes import FREE
from ssik_ros.kernels.geometry.subproblems.sp1 import angle_between

AT_TURNS = 9
"""Offset in the scratch: first the axes of the turning joints, then their angles."""
SCRATCH = 15
"""Size of the scratch of :func:`solve`, in numbers."""


@kernel
def write_rotations(out, axes, count, image_of, offered):
    """
    Write the angles about up to three axes whose rotations together make a rotation R.

    If no angles make R, as with most R for fewer than three axes, the rows only come near to it.

    :param out: (2, 3) out: a row of angles [rad] for each solution.
    :param axes: (., 3) unit axes in its first ``count`` rows.
    :param count: number of axes, 0 to 3.
    :param image_of: (12,) a transform whose rotation is R.
    :param offered: angle of the third axis if R leaves it free [rad].
    :returns: (rows, is_free): number of rows, 2 for three axes, else 1; whether R leaves an angle free, which can only
        happen with three axes.
    """
    if count == 0:
        return 1, False
    first = (axes[0, 0], axes[0, 1], axes[0, 2])
    if count == 1:
        aside = vectors.perpendicular(first)
        out[0, 0] = angle_between(first, aside, vectors.times(image_of, aside))
        return 1, False
    second = (axes[1, 0], axes[1, 1], axes[1, 2])
    if count == 2:
        q = angle_between(first, second, vectors.times(image_of, second))
        aside = vectors.perpendicular(second)
        image = vectors.rotate(first, -q, vectors.times(image_of, aside))
        out[0, 0], out[0, 1] = q, angle_between(second, aside, image)
        return 1, False
    third = (axes[2, 0], axes[2, 1], axes[2, 2])
    outcome = three_axes.solve(
        out,
        0,
        first,
        second,
        third,
        vectors.times(image_of, third),
        vectors.transposed_times(image_of, first),
        vectors.times(image_of, vectors.perpendicular(third)),
        offered,
    )
    return 2, outcome == FREE


@kernel
def solve(out, axes, points, slides, n, g, offered, scratch):
    """
    Write the joint vectors that may reach a pose, for at most three revolute and three prismatic joints.

    :param out: (2, n) candidates, not certified.
    :param axes, points: (3 n,) directions of the joint axes and a point on each, all joints at zero.
    :param slides: bit mask of the prismatic joints: at most three, and at most three joints are revolute.
    :param n: number of joints.
    :param g: (12,) G, the motion that all joints together must make: rotation row by row, then translation.
    :param offered: angle of the last revolute joint if the pose leaves it free [rad].
    :param scratch: (SCRATCH,) numbers.
    :returns: (count, is_free): number of candidates, 2 with three revolute joints, else 1; whether the pose hardly
        determines one of their angles.
    """
    turning, turns = matrix(scratch, 0, 3, 3), matrix(scratch, AT_TURNS, 2, 3)
    count = 0
    for i in range(n):
        if not is_slide(slides, i):
            for k in range(3):
                turning[count, k] = axes[3 * i + k]
            count += 1
    rows, is_free = write_rotations(turns, turning, count, g, offered)
    for row in range(rows):
        _write_row(out, row, axes, points, slides, n, g, turns, count)
    return rows, is_free


@kernel
def _write_row(out, row, axes, points, slides, n, g, turns, count):
    """
    Write one candidate: the given angles of the revolute joints, and the lengths of the prismatic joints for them.

    :param out, row: (2, n) candidates, and the row to write.
    :param axes, points, slides, n, g: the chain and the motion that its joints must make, as for :func:`solve`.
    :param turns: (2, 3) table whose row ``row`` has the angles of the ``count`` revolute joints.
    :param count: number of revolute joints.
    """
    x = triple(points, n - 1)
    target = map_point(g, x)
    # Directions of the slides met on the way from the tip, the latest first.
    a, b, c = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    n_slides, angle = 0, count
    for i in range(n - 1, -1, -1):
        h = triple(axes, i)
        if is_slide(slides, i):
            a, b, c = h, a, b
            n_slides += 1
            continue
        angle -= 1
        out[row, i] = turns[row, angle]
        sine, cosine = so3.sine_cosine(out[row, i])
        x = screw(h, triple(points, i), cosine, sine, x)
        a, b = vectors.turn(h, cosine, sine, a), vectors.turn(h, cosine, sine, b)
        c = vectors.turn(h, cosine, sine, c)
    offset = vectors.subtract(target, x)
    lengths = (0.0, 0.0, 0.0)
    if n_slides == 3:
        _, first, second, third = slide_lengths.solve_three(a, b, c, offset)
        lengths = (first, second, third)
    elif n_slides == 2:
        _, first, second = slide_lengths.solve_two(a, b, offset)
        lengths = (first, second, 0.0)
    elif n_slides == 1:
        lengths = (vectors.dot(a, offset), 0.0, 0.0)
    place = 0
    for i in range(n):
        if is_slide(slides, i):
            out[row, i] = lengths[place]
            place += 1
