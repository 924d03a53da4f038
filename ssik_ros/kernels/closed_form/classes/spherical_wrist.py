"""
Solve arms of six revolute joints whose last three axes meet in one point.

Problem
-------
E_1 ... E_6 = G with axes 4, 5, 6 through the point W. E_i is the motion of joint i, with rotation R_i about the
direction h_i. G is the motion that all joints together must make, with rotation R_G.

Solutions
---------
Up to eight: up to four positions of W by joints 1 to 3, each with two wrists.

Method
------
Joints 4 to 6 do not move W, so E_1 E_2 E_3 W = p = G W.

* PARALLEL_23: joint 1 has to bring p to the height of W along h_2 (subproblem 4), joint 3 has to bring W to the
  distance of p from axis 2 (3), joint 2 the rest (1).
* PARALLEL_12: joint 3 brings W to the height of p along h_1 (4), joint 2 to its distance from axis 1 (3), joint 1 the
  rest (1).
* MEETING_12 at A: joint 3 brings W to the distance of p from A (3), joints 1 and 2 the rest (2).
* MEETING_23 at A: joint 1 brings p to the distance of W from A (3), joints 2 and 3 the rest (2).
* GENERIC: subproblem 5.

Then the three axes of the wrist solve R_4 R_5 R_6 = (R_1 R_2 R_3)^T R_G.

Degeneracies
------------
A stretched or folded arm makes a subproblem tangent, and two solutions become one. Beyond the reach, the nearest angle
is returned, and the certification decides. At a straight wrist joint 6 takes the offered angle. If W lies on axis 1,
the angle of joint 1 is free, and zero is returned.

Cost
----
About thirty arc tangents for eight separate solutions; six if all eight are computed together, see
:mod:`spherical_wrist_lanes`.

References
----------
[Pieper1968], [Elias2025]
"""

from ssik_ros.kernels._jit import kernel, matrix, vector
from ssik_ros.kernels.closed_form.certification.chain import (
    map_point,
    screw,
    triple,
)
from ssik_ros.kernels.closed_form.classes import spherical_wrist_lanes
from ssik_ros.kernels.geometry import so3, vectors
from ssik_ros.kernels.geometry.subproblems import sp2, sp3, sp4, sp5, three_axes
from ssik_ros.kernels.geometry.subproblems.outcomes import BADLY, FREE
from ssik_ros.kernels.geometry.subproblems.sp1 import angle_between

PARALLEL_23 = 0
PARALLEL_12 = 1
MEETING_12 = 2
MEETING_23 = 3
GENERIC = 4
AT_WRIST, AT_ZEROS, AT_ANGLES = 12, 18, 22
SCRATCH = AT_ANGLES + spherical_wrist_lanes.SCRATCH


@kernel
def _arm_parallel_23(arm, h1, o1, h2, o2, h3, o3, w, p):
    """
    Write four rows (q1, q2, q3) that move W to p, with axes 2 and 3 parallel.

    :param arm: (4, 3) out; rows of a subproblem out of reach are the nearest angles.
    :param h1, o1, h2, o2, h3, o3: directions and points of the first three axes.
    :param w, p: centre W of the wrist with all joints at zero, and the place that it must reach.
    :returns: (4, is_free): number of rows, and whether the pose hardly determines the angle of joint 1.
    """
    back = (-h1[0], -h1[1], -h1[2])
    outcome, q1, other = sp4.solve(
        h2, back, vectors.subtract(p, o1), vectors.dot(h2, vectors.subtract(w, o1))
    )
    for i in range(2):
        s, c = so3.sine_cosine(q1)
        y = screw(back, o1, c, s, p)
        reach = vectors.subtract(y, o2)
        _, a, b = sp3.solve(
            h3, vectors.subtract(w, o3), vectors.subtract(o2, o3), vectors.dot(reach, reach)
        )
        q3 = a
        for j in range(2):
            s, c = so3.sine_cosine(q3)
            x = screw(h3, o3, c, s, w)
            row = 2 * i + j
            arm[row, 0], arm[row, 2] = q1, q3
            arm[row, 1] = angle_between(h2, vectors.subtract(x, o2), reach)
            q3 = b
        q1 = other
    return 4, outcome == FREE


@kernel
def _arm_parallel_12(arm, h1, o1, h2, o2, h3, o3, w, p):
    """
    Write four rows (q1, q2, q3) that move W to p, with axes 1 and 2 parallel.

    :param arm: (4, 3) out; rows of a subproblem out of reach are the nearest angles.
    :param h1, o1, h2, o2, h3, o3: directions and points of the first three axes.
    :param w, p: centre W of the wrist with all joints at zero, and the place that it must reach.
    :returns: (4, is_free): number of rows, and whether the pose hardly determines one of the angles.
    """
    outcome, q3, other = sp4.solve(
        h1, h3, vectors.subtract(w, o3), vectors.dot(h1, vectors.subtract(p, o3))
    )
    reach = vectors.subtract(p, o1)
    across = vectors.cross(h1, reach)
    is_free = vectors.dot(across, across) <= BADLY * BADLY * vectors.dot(reach, reach)
    is_free = is_free or outcome == FREE
    for i in range(2):
        s, c = so3.sine_cosine(q3)
        x = screw(h3, o3, c, s, w)
        middle, a, b = sp3.solve(
            h2, vectors.subtract(x, o2), vectors.subtract(o1, o2), vectors.dot(reach, reach)
        )
        is_free = is_free or middle == FREE
        q2 = a
        for j in range(2):
            s, c = so3.sine_cosine(q2)
            y = screw(h2, o2, c, s, x)
            row = 2 * i + j
            arm[row, 1], arm[row, 2] = q2, q3
            arm[row, 0] = angle_between(h1, vectors.subtract(y, o1), reach)
            q2 = b
        q3 = other
    return 4, is_free


@kernel
def _arm_meeting(arm, alone, h, o, point, reach, outer, middle, a):
    """
    Write four rows (q1, q2, q3) for an arm of which two neighbouring axes of the first three meet in a point A.

    The axis h that does not pass through A sets the distance of a point from A; the other two joints set its direction.
    If a subproblem is out of reach, its rows are the nearest angles.

    :param arm: (4, 3) out [rad].
    :param alone: column of the joint of axis h: 0 if this is axis 1, 2 if it is axis 3.
    :param h, o: this axis, and a point on it.
    :param point: point that this joint moves.
    :param reach: place relative to A to which the other two joints must move the point.
    :param outer, middle: axes of the other two joints: ``middle`` is axis 2, ``outer`` axis 1 or 3.
    :param a: the point A.
    :returns: (4, is_free): number of rows, and whether the pose hardly determines one of the angles.
    """
    outcome, q, other = sp3.solve(
        h, vectors.subtract(point, o), vectors.subtract(a, o), vectors.dot(reach, reach)
    )
    is_free = outcome == FREE
    for i in range(2):
        s, c = so3.sine_cosine(q)
        x = screw(h, o, c, s, point)
        outcome, s1, s2, t1, t2 = sp2.solve(outer, reach, middle, vectors.subtract(x, a))
        is_free = is_free or outcome == FREE
        arm[2 * i, 2 - alone], arm[2 * i, 1], arm[2 * i, alone] = s1, s2, q
        arm[2 * i + 1, 2 - alone], arm[2 * i + 1, 1], arm[2 * i + 1, alone] = t1, t2, q
        q = other
    return 4, is_free


@kernel
def solve(out, case, axes, points, special, g, offered, scratch):
    """
    Write the joint vectors that may reach a pose, for six revolute joints whose axes 4, 5 and 6 meet.

    :param out: (8, 6) candidates, not certified.
    :param case: PARALLEL_23, PARALLEL_12, MEETING_12, MEETING_23 or GENERIC.
    :param axes, points: (18,) directions of the six axes and a point on each, all joints at zero.
    :param special: (6,) W, centre of the wrist, then A, where two of axes 1 to 3 meet, if the case has one.
    :param g: (12,) G, the motion that all joints together must make: rotation row by row, then translation.
    :param offered: q6 for a straight wrist [rad].
    :param scratch: (SCRATCH,) scratch: (4, 3), (2, 3) and (4,), then the scratch of eight candidates together.
    :returns: (count, is_free): number of candidates, 0 to 8; whether the pose hardly determines one of their angles,
        also if the wrist of any of them is nearly straight.
    """
    h1, h2, h3 = triple(axes, 0), triple(axes, 1), triple(axes, 2)
    h4, h5, h6 = triple(axes, 3), triple(axes, 4), triple(axes, 5)
    o1, o2, o3 = triple(points, 0), triple(points, 1), triple(points, 2)
    w, a = triple(special, 0), triple(special, 1)
    p, back1 = map_point(g, w), (-h1[0], -h1[1], -h1[2])
    arm, wrist = matrix(scratch, 0, 4, 3), matrix(scratch, AT_WRIST, 2, 3)
    angles = vector(scratch, AT_ANGLES, spherical_wrist_lanes.SCRATCH)
    if case == PARALLEL_23:
        is_free = spherical_wrist_lanes.write_arm_parallel_23(angles, axes, points, w, p)
        if spherical_wrist_lanes.write_wrists(out, angles, axes, g):
            return 8, is_free
        count, is_free = _arm_parallel_23(arm, h1, o1, h2, o2, h3, o3, w, p)
    elif case == PARALLEL_12:
        count, is_free = _arm_parallel_12(arm, h1, o1, h2, o2, h3, o3, w, p)
    elif case == MEETING_12:
        count, is_free = _arm_meeting(arm, 2, h3, o3, w, vectors.subtract(p, a), back1, h2, a)
    elif case == MEETING_23:
        back2 = (-h2[0], -h2[1], -h2[2])
        count, is_free = _arm_meeting(arm, 0, back1, o1, p, vectors.subtract(w, a), h3, back2, a)
    else:
        outcome, count = sp5.solve(
            arm,
            vectors.subtract(o1, o2),
            back1,
            vectors.subtract(p, o1),
            h2,
            vectors.subtract(o3, o2),
            h3,
            vectors.subtract(w, o3),
            vector(scratch, AT_ZEROS, 4),
        )
        is_free = outcome == FREE
    if case != PARALLEL_23 and count > 0:
        spherical_wrist_lanes.spread_arm(angles, arm, count)
        if spherical_wrist_lanes.write_wrists(out, angles, axes, g):
            return 2 * count, is_free
    image, aside = vectors.times(g, h6), vectors.times(g, vectors.perpendicular(h6))
    for i in range(count):
        s1, c1 = so3.sine_cosine(arm[i, 0])
        s2, c2 = so3.sine_cosine(arm[i, 1])
        s3, c3 = so3.sine_cosine(arm[i, 2])
        moved = vectors.turn(h1, c1, s1, vectors.turn(h2, c2, s2, vectors.turn(h3, c3, s3, h4)))
        three_axes.solve(
            wrist,
            0,
            h4,
            h5,
            h6,
            spherical_wrist_lanes.undo(h1, s1, c1, h2, s2, c2, h3, s3, c3, image),
            vectors.transposed_times(g, moved),
            spherical_wrist_lanes.undo(h1, s1, c1, h2, s2, c2, h3, s3, c3, aside),
            offered,
        )
        for j in range(2):
            for k in range(3):
                out[2 * i + j, k] = arm[i, k]
                out[2 * i + j, 3 + k] = wrist[j, k]
    # The wrist of at least one posture is nearly straight.
    return 2 * count, is_free or count > 0
