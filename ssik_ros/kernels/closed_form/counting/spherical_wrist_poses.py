"""
Count the branches of eight poses for arms of :mod:`ssik_ros.kernels.closed_form.classes.spherical_wrist`.

Problem
-------
For eight poses at once, count the branches of an arm whose last three axes meet and whose axes 2 and 3 are parallel.

Method
------
The steps of the class are run branch by branch, each for all eight poses. Angles are stored as sine and cosine; the
length of their vector is known beforehand. The pose of the wrist is compared with the pose that the first three joints
require. The difference is the error of the whole chain.

Degeneracies
------------
The number of branches of a pose is marked as uncertain if the arm is nearly stretched, the wrist is nearly straight, or
the wrist is close to axis 1 or 2. It is also uncertain if a joint is close to a limit, or a branch misses the pose.

Cost
----
Two square roots and four divisions for each posture of the first three joints.
"""

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.closed_form.certification.chain import map_point, screw, triple
from ssik_ros.kernels.closed_form.classes.lane_pipeline import turn_pose
from ssik_ros.kernels.closed_form.counting import gates
from ssik_ros.kernels.closed_form.counting.pose_lanes import at_zero, columns_of, undo_joint
from ssik_ros.kernels.geometry import lane_angles, lanes, vectors
from ssik_ros.kernels.geometry.subproblems import sp3, sp4


@inline_kernel
def count(arm, g):
    """
    Count the branches within limits of eight poses, for an arm with a spherical wrist and parallel axes 2 and 3.

    :param arm: :class:`pose_lanes.CountedArm`.
    :param g: in eight lanes, the motions G that all joints together must make, see :func:`lane_poses.load_poses`.
    :returns: (total, doubt): number of branches in each lane, and the bits of the lanes whose number is uncertain.
    """
    h1, h2 = triple(arm.axes, 0), triple(arm.axes, 1)
    o1, w = triple(arm.points, 0), triple(arm.special, 0)
    p = map_point(g, w)
    x, y = columns_of(g)
    # Joint 1 must bring the wrist to its height along axis 2.
    back = (-h1[0], -h1[1], -h1[2])
    a1, b1, along = sp4.coefficients(h2, back, vectors.subtract(p, o1))
    d1 = vectors.dot(h2, vectors.subtract(w, o1)) - along
    r1 = a1 * a1 + b1 * b1
    is_open, is_sure, x1 = gates.component(r1, d1, arm.size2)
    total, doubt = at_zero(), gates.not_in(is_sure)
    if lanes.bits_of(is_open) == 0:
        return total, doubt
    inverse1 = 1.0 / lanes.select(is_open, r1, 1.0)
    for i in range(2):
        s1, c1 = gates.solution(i, a1, b1, d1, x1, inverse1)
        is_inside, is_sure = gates.within(arm.limits, 0, s1, c1)
        doubt |= lanes.bits_of(is_open) & gates.not_in(is_sure)
        ok1 = is_open & is_inside
        if lanes.bits_of(ok1) == 0:
            continue
        elbows, unsure = _count_elbows(arm, undo_joint(h1, o1, s1, c1, x, y, p), ok1)
        total = total + elbows
        doubt |= unsure
    return total, doubt


@inline_kernel
def _count_elbows(arm, left, ok1):
    """
    Count the branches of eight poses with joints 2 to 6 within limits, after joint 1 is divided out of the poses.

    G is the motion that all joints together must make, E_1 the motion of joint 1.

    :param arm: a :class:`pose_lanes.CountedArm`.
    :param left: first two columns of the rotation of E_1^-1 G, and the point E_1^-1 G W with the wrist centre W.
    :param ok1: mask of lanes to count; other lanes get 0.
    :returns: (total, doubt): number of branches in each lane, and the bits of the lanes of ``ok1`` whose number is
        uncertain.
    """
    h2, h3 = triple(arm.axes, 1), triple(arm.axes, 2)
    o2, o3, w = triple(arm.points, 1), triple(arm.points, 2), triple(arm.special, 0)
    ax, ay, at = left
    # Joint 3 must bring the wrist to its distance from axis 2.
    a3, b3, middle = sp3.coefficients(h3, vectors.subtract(w, o3), vectors.subtract(o2, o3))
    r3 = a3 * a3 + b3 * b3
    inverse3 = 1.0 / r3 if r3 > 0.0 else 0.0
    reach = vectors.subtract(at, o2)
    square = vectors.dot(reach, reach)
    height = vectors.dot(h2, reach)
    d3 = middle - 0.5 * square
    is_reached, is_sure, x3 = gates.component(lanes.spread(r3), d3, arm.size2 * arm.size2)
    doubt = lanes.bits_of(ok1) & gates.not_in(is_sure)
    flat = square - height * height
    total, ok1 = at_zero(), ok1 & is_reached
    if lanes.bits_of(ok1) == 0:
        return total, doubt
    doubt |= lanes.bits_of(ok1) & gates.not_in(flat > gates.SHORT * arm.size2)
    inverse2 = 1.0 / lanes.select(flat == 0.0, 1.0, flat)
    for j in range(2):
        s3, c3 = gates.solution(j, a3, b3, d3, x3, inverse3)
        sine, cosine = lane_angles.between(
            h2, vectors.subtract(screw(h3, o3, c3, s3, w), o2), reach
        )
        s2, c2 = gates.angle(sine, cosine, inverse2)
        in2, sure2 = gates.within(arm.limits, 1, s2, c2)
        in3, sure3 = gates.within(arm.limits, 2, s3, c3)
        doubt |= lanes.bits_of(ok1) & gates.not_in(sure2 & sure3)
        ok = ok1 & in2 & in3
        if lanes.bits_of(ok) == 0:
            continue
        bx, by, bt = undo_joint(h2, o2, s2, c2, ax, ay, at)
        bx, by, bt = undo_joint(h3, o3, s3, c3, bx, by, bt)
        wrists, unsure = _count_wrists(arm, bx, by, bt, ok)
        total = total + wrists
        doubt |= unsure
    return total, doubt


@inline_kernel
def _count_wrists(arm, x, y, t, ok):
    """
    Count the branches of eight poses with given joints 1 to 3: the wrists that make the remaining rotation.

    :param arm: a :class:`pose_lanes.CountedArm`.
    :param x, y: first two columns of the rotation that joints 4 to 6 must make.
    :param t: position of the wrist centre that the wrist must have, with joints 1 to 3 undone.
    :param ok: mask of lanes to count; other lanes get 0.
    :returns: (total, doubt): number of wrists in each lane, and the bits of the lanes whose number is uncertain.
    """
    h4, h5, h6 = triple(arm.axes, 3), triple(arm.axes, 4), triple(arm.axes, 5)
    o4, o5, o6, w = (
        triple(arm.points, 3),
        triple(arm.points, 4),
        triple(arm.points, 5),
        triple(arm.special, 0),
    )
    z = vectors.cross(x, y)
    image = vectors.add(
        vectors.add(vectors.scale(h6[0], x), vectors.scale(h6[1], y)), vectors.scale(h6[2], z)
    )
    wanted = (vectors.dot(x, h4), vectors.dot(y, h4), vectors.dot(z, h4))
    a, b, along = sp4.coefficients(h4, h5, h6)
    r = a * a + b * b
    d = vectors.dot(h4, image) - along
    is_open, is_sure, root = gates.component(lanes.spread(r), d, 1.0)
    live = lanes.bits_of(ok)
    doubt = live & gates.not_in(is_sure)
    total, ok = at_zero(), ok & is_open
    if lanes.bits_of(ok) == 0:
        return total, doubt
    inverse5 = 1.0 / r if r > 0.0 else 0.0
    across = vectors.cross(h4, image)
    tilt = vectors.dot(across, across)
    doubt |= lanes.bits_of(ok) & gates.not_in(tilt > gates.STRAIGHT_SQUARE)
    inverse = 1.0 / lanes.select(tilt == 0.0, 1.0, tilt)
    for k in range(2):
        s5, c5 = gates.solution(k, a, b, d, root, inverse5)
        sine, cosine = lane_angles.between(h4, vectors.turn(h5, c5, s5, h6), image)
        s4, c4 = gates.angle(sine, cosine, inverse)
        sine, cosine = lane_angles.between(h6, vectors.turn(h5, c5, -s5, h4), wanted)
        s6, c6 = gates.angle(-sine, cosine, inverse)
        in4, sure4 = gates.within(arm.limits, 3, s4, c4)
        in5, sure5 = gates.within(arm.limits, 4, s5, c5)
        in6, sure6 = gates.within(arm.limits, 5, s6, c6)
        doubt |= lanes.bits_of(ok) & gates.not_in(sure4 & sure5 & sure6)
        inside = ok & in4 & in5 & in6
        if lanes.bits_of(inside) == 0:
            continue
        ux, uy, ut = turn_pose(h6, o6, s6, c6, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), w)
        ux, uy, ut = turn_pose(h5, o5, s5, c5, ux, uy, ut)
        ux, uy, ut = turn_pose(h4, o4, s4, c4, ux, uy, ut)
        is_met = gates.missed(ux, uy, ut, x, y, t) <= gates.MISSED
        doubt |= lanes.bits_of(inside) & gates.not_in(is_met)
        total = total + lanes.select(inside, 1.0, 0.0)
    return total, doubt
