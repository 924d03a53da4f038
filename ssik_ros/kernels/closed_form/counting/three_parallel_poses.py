"""
Count the branches of eight poses for arms of :mod:`ssik_ros.kernels.closed_form.classes.three_parallel`.

Problem
-------
For eight poses at once, count the branches of an arm whose axes 2, 3 and 4 are parallel and whose axes 5 and 6 meet.

Method
------
The steps of the class are run branch by branch, each for all eight poses, with angles as sine and cosine. The pose of
the parallel joints is compared with the pose that the outer joints require. The difference is the error of the whole
chain.

Degeneracies
------------
The number of branches of a pose is marked as uncertain if axis 6 is nearly parallel to axis 2, the elbow is nearly
stretched, or the wrist is close to axis 1. It is also uncertain if a joint is close to a limit, or a branch misses the
pose.

Cost
----
Two square roots and four divisions for each pair of joints 1 and 5.
"""

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.closed_form.certification.chain import (
    map_point,
    screw,
    triple,
)
from ssik_ros.kernels.closed_form.classes.lane_pipeline import turn_pose
from ssik_ros.kernels.closed_form.counting import gates
from ssik_ros.kernels.closed_form.counting.pose_lanes import at_zero, columns_of, undo_joint
from ssik_ros.kernels.geometry import lane_angles, lanes, vectors
from ssik_ros.kernels.geometry.subproblems import sp3, sp4, sp6


@inline_kernel
def outer_equations(arm):
    """
    Return the coefficients of joint 5 in the two equations of joints 1 and 5, which do not depend on the pose.

    The first equation compares heights along the parallel axes, the second the components of axis 6 along them. Each is
    a cos q1 + b sin q1 + m cos q5 + n sin q5 = d; a, b and the rest of d depend on the pose.

    :param arm: :class:`pose_lanes.CountedArm`.
    :returns: (coefficients, k, k2): (m, n) of the first equation, then of the second. The first pair is divided by the
        arm's reference length. k [m] and k2 are the constant parts of d in both equations; k is not divided.
    """
    h, h5, h6 = triple(arm.axes, 1), triple(arm.axes, 4), triple(arm.axes, 5)
    o5, o6 = triple(arm.points, 4), triple(arm.points, 5)
    inverse = 1.0 / arm.size2**0.5
    e, f, k = sp4.coefficients(h, h5, vectors.subtract(o6, o5))
    e2, f2, k2 = sp4.coefficients(h, h5, h6)
    return (-e * inverse, -f * inverse, -e2, -f2), k, k2


@inline_kernel
def count(arm, g):
    """
    Count the branches within limits of eight poses, for an arm with parallel axes 2 to 4 whose axes 5 and 6 meet.

    :param arm: :class:`pose_lanes.CountedArm`.
    :param g: in eight lanes, the motions G that all joints together must make, see :func:`lane_poses.load_poses`.
    :returns: (total, doubt): number of branches in each lane, and the bits of the lanes whose number is uncertain.
    """
    h1, h, h6 = triple(arm.axes, 0), triple(arm.axes, 1), triple(arm.axes, 5)
    o1, o5, o6 = triple(arm.points, 0), triple(arm.points, 4), triple(arm.points, 5)
    inverse = 1.0 / arm.size2**0.5
    p = map_point(g, o6)
    x, y = columns_of(g)
    back = (-h1[0], -h1[1], -h1[2])
    a, b, c = sp4.coefficients(h, back, vectors.subtract(p, o1))
    a2, b2, c2 = sp4.coefficients(h, back, vectors.times(g, h6))
    outer, k, k2 = outer_equations(arm)
    height = (vectors.dot(h, vectors.subtract(o5, o1)) + k - c) * inverse
    alone, (m1, m2, ma1, ma2, md) = sp6.split_rank_one(
        (a * inverse, b * inverse, a2, b2), outer, (height, k2 - c2)
    )
    a1, b1, d1 = alone
    r1 = a1 * a1 + b1 * b1
    is_open, is_sure, x1 = gates.component(r1, d1, 1.0)
    total, doubt = at_zero(), gates.not_in(is_sure)
    if lanes.bits_of(is_open) == 0:
        return total, doubt
    inverse1 = 1.0 / lanes.select(is_open, r1, 1.0)
    r5 = m1 * m1 + m2 * m2
    for i in range(2):
        s1, c1 = gates.solution(i, a1, b1, d1, x1, inverse1)
        is_inside, is_sure = gates.within(arm.limits, 0, s1, c1)
        doubt |= lanes.bits_of(is_open) & gates.not_in(is_sure)
        ok1 = is_open & is_inside
        if lanes.bits_of(ok1) == 0:
            continue
        d5 = md - ma1 * c1 - ma2 * s1
        is_reached, is_sure, x5 = gates.component(lanes.spread(r5), d5, 1.0)
        doubt |= lanes.bits_of(ok1) & gates.not_in(is_sure)
        ok1 = ok1 & is_reached
        if lanes.bits_of(ok1) == 0:
            continue
        ax, ay, at = undo_joint(h1, o1, s1, c1, x, y, p)
        wrists, unsure = _count_wrists(arm, (ax, ay, at), (m1, m2, d5, x5), ok1)
        total = total + wrists
        doubt |= unsure
    return total, doubt


@inline_kernel
def _count_wrists(arm, left, equation, ok1):
    """
    Count the branches within limits of eight poses with one value of joint 1, for both values of joint 5.

    G is the motion that all joints together must make, E_1 the motion of joint 1.

    :param arm: a :class:`pose_lanes.CountedArm`.
    :param left: first two columns of the rotation of E_1^-1 G, and the point E_1^-1 G o_6 with axis 6's point o_6.
    :param equation: m1, m2, d and sqrt(m1^2 + m2^2 - d^2) of the equation m1 cos q5 + m2 sin q5 = d.
    :param ok1: mask of lanes to count; other lanes get 0.
    :returns: (total, doubt): number of branches in each lane, and the bits of the lanes whose number is uncertain.
    """
    h, h5, h6 = triple(arm.axes, 1), triple(arm.axes, 4), triple(arm.axes, 5)
    ax, ay, _ = left
    m1, m2, d5, x5 = equation
    # The transposed remaining rotation maps axis 2 into the frame of joint 6.
    turned = (vectors.dot(ax, h), vectors.dot(ay, h), vectors.dot(vectors.cross(ax, ay), h))
    across = vectors.cross(h6, turned)
    tilt = vectors.dot(across, across)
    doubt = lanes.bits_of(ok1) & gates.not_in(tilt > gates.STRAIGHT_SQUARE)
    inverse6 = 1.0 / lanes.select(tilt == 0.0, 1.0, tilt)
    r5 = m1 * m1 + m2 * m2
    inverse5 = 1.0 / r5 if r5 > 0.0 else 0.0
    total = at_zero()
    for j in range(2):
        s5, c5 = gates.solution(j, m1, m2, d5, x5, inverse5)
        wanted = vectors.turn(h5, c5, -s5, h)
        sine, cosine = lane_angles.between(h6, turned, wanted)
        s6, c6 = gates.angle(sine, cosine, inverse6)
        in5, sure5 = gates.within(arm.limits, 4, s5, c5)
        in6, sure6 = gates.within(arm.limits, 5, s6, c6)
        doubt |= lanes.bits_of(ok1) & gates.not_in(sure5 & sure6)
        ok = ok1 & in5 & in6
        if lanes.bits_of(ok) == 0:
            continue
        planes, unsure = _count_planes(arm, left, (s5, c5, s6, c6), ok)
        total = total + planes
        doubt |= unsure
    return total, doubt


@inline_kernel
def _count_planes(arm, left, angles, ok):
    """
    Count the postures within limits of the three parallel joints, for eight poses with given joints 1, 5 and 6.

    G is the motion that all joints together must make, E_1 the motion of joint 1.

    :param arm: a :class:`pose_lanes.CountedArm`.
    :param left: first two columns of the rotation of E_1^-1 G, and the point E_1^-1 G o_6 with axis 6's point o_6.
    :param angles: sine and cosine of joint 5, then sine and cosine of joint 6.
    :param ok: mask of lanes to count; other lanes get 0.
    :returns: (total, doubt): number of postures in each lane, and the bits of the lanes whose number is uncertain.
    """
    h, h3, h4 = triple(arm.axes, 1), triple(arm.axes, 2), triple(arm.axes, 3)
    h5, h6 = triple(arm.axes, 4), triple(arm.axes, 5)
    o2, o3, o4 = triple(arm.points, 1), triple(arm.points, 2), triple(arm.points, 3)
    o5, o6 = triple(arm.points, 4), triple(arm.points, 5)
    s5, c5, s6, c6 = angles
    x, y, t = left
    z = vectors.cross(x, y)
    # K = E_1^-1 G E_6^-1 E_5^-1 applied to a direction perpendicular to axis 2 and to the point of axis 4.
    v = vectors.perpendicular(h)
    kv = vectors.combine(x, y, z, vectors.turn(h6, c6, -s6, vectors.turn(h5, c5, -s5, v)))
    offset = vectors.subtract(screw(h6, o6, c6, -s6, screw(h5, o5, c5, -s5, o4)), o6)
    reach = vectors.subtract(vectors.add(t, vectors.combine(x, y, z, offset)), o2)
    sw, cw = lane_angles.between(h, v, kv)
    arm34, base = vectors.subtract(o4, o3), vectors.subtract(o2, o3)
    a3, b3, middle = sp3.coefficients(h, arm34, base)
    r3 = a3 * a3 + b3 * b3
    square, along = vectors.dot(reach, reach), vectors.dot(h, reach)
    d3 = middle - 0.5 * square
    is_reached, is_sure, x3 = gates.component(lanes.spread(r3), d3, arm.size2 * arm.size2)
    doubt = lanes.bits_of(ok) & gates.not_in(is_sure)
    total, ok = at_zero(), ok & is_reached
    if lanes.bits_of(ok) == 0:
        return total, doubt
    flat = square - along * along
    doubt |= lanes.bits_of(ok) & gates.not_in(flat > gates.SHORT * arm.size2)
    inverse2 = 1.0 / lanes.select(flat == 0.0, 1.0, flat)
    inverse3 = 1.0 / r3 if r3 > 0.0 else 0.0
    sign3 = 1.0 if vectors.dot(h, h3) > 0.0 else -1.0
    sign4 = 1.0 if vectors.dot(h, h4) > 0.0 else -1.0
    ux, uy, ut = turn_pose(h6, o6, s6, c6, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), o6)
    ux, uy, ut = turn_pose(h5, o5, s5, c5, ux, uy, ut)
    for i in range(2):
        se, ce = gates.solution(i, a3, b3, d3, x3, inverse3)
        elbow = vectors.subtract(vectors.turn(h, ce, se, arm34), base)
        sine, cosine = lane_angles.between(h, elbow, reach)
        s2, c2 = gates.angle(sine, cosine, inverse2)
        # Remaining angle of K after joints 2 and 3.
        sr, cr = s2 * ce + c2 * se, c2 * ce - s2 * se
        s4, c4 = gates.angle(sign4 * (sw * cr - cw * sr), cw * cr + sw * sr, 1.0)
        s3, c3 = sign3 * se, ce
        in2, sure2 = gates.within(arm.limits, 1, s2, c2)
        in3, sure3 = gates.within(arm.limits, 2, s3, c3)
        in4, sure4 = gates.within(arm.limits, 3, s4, c4)
        doubt |= lanes.bits_of(ok) & gates.not_in(sure2 & sure3 & sure4)
        inside = ok & in2 & in3 & in4
        if lanes.bits_of(inside) == 0:
            continue
        px, py, pt = turn_pose(h4, o4, s4, c4, ux, uy, ut)
        px, py, pt = turn_pose(h3, o3, s3, c3, px, py, pt)
        px, py, pt = turn_pose(h, o2, s2, c2, px, py, pt)
        is_met = gates.missed(px, py, pt, x, y, t) <= gates.MISSED
        doubt |= lanes.bits_of(inside) & gates.not_in(is_met)
        total = total + lanes.select(inside, 1.0, 0.0)
    return total, doubt
