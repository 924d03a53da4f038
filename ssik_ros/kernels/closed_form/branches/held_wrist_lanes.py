"""
Branches of seven joints at eight values of the first or last joint, if the other six have a spherical wrist.

Problem
-------
Joint L of seven, the first or the last, is held at each of eight values. Of the other six joints, axes 4, 5 and 6 meet
in W and axes 1 and 2 in A, on the chain or on the reversed chain.

Solutions
---------
Eight branches at each value in the order of :mod:`spherical_wrist`, so that a branch has the same index at all values.

Method
------
1. E_i is the motion of joint i, and G the motion that all joints together must make. If the last joint is held, E_1 ...
   E_6 = G E_7^-1. If the first is held, E_2 ... E_7 = E_1^-1 G. So only the target depends on the value, and all axes
   stay in place. On the reversed chain the target is the inverse.
2. Solve the subproblems of MEETING_12 in :mod:`spherical_wrist`, one value in each lane: subproblem 3 for joint 3,
   subproblem 2 for joints 1 and 2, and the wrist of :mod:`spherical_wrist_lanes` for each of the four postures.
3. A subproblem out of reach returns its nearest solution twice. Its branches are marked. Their pose error decides later
   whether they are tangent solutions or do not exist.

Degeneracies
------------
Values with a nearly straight wrist are reported, and so are values whose target puts W, or its circle about joint 3,
into A. The kernel for a single value must solve them.

Cost
----
Thirty-four arc tangents of eight angles for sixty-four candidates.

References
----------
[Pieper1968], [Elias2025]
"""

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification.chain import (
    map_point,
    screw,
    triple,
)
from ssik_ros.kernels.geometry import lane_angles, lane_poses, lanes, vectors
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.geometry.subproblems import sp2, sp3, three_axes

BRANCHES = 8
COLUMNS, MARK = 7, 6
"""Six joints of the class, then a mark: 1 if a subproblem was tangent or out of reach, else 0."""
ARM, ARM_MARK = 10, 9
"""Rows for a posture of the first three joints: angle, sine and cosine of each joint, and the mark."""
ELBOW = 2
"""Index of joint 3, whose two angles each belong to two postures of the arm."""
RESULT = 0
ARMS = BRANCHES * COLUMNS * LANES
TARGET = ARMS + 4 * ARM * LANES
SCRATCH = TARGET + lane_poses.SIZE
"""Size of the scratch of :func:`write_branches`: the branches, the postures of the arm, the eight targets."""


@inline_kernel
def column_of(branch, column):
    """
    Return the offset in the scratch of eight numbers of a branch, one for each value of the held joint.

    :param branch: index of the branch, 0 to 7.
    :param column: joint 0 to 5 of the class, for its angles; MARK for the marks (1: a subproblem is tangent or out of
        reach).
    """
    return (branch * COLUMNS + column) * LANES


@kernel
def write_targets(scratch, g, h, o, values, is_behind, is_reversed):
    """
    Write into the scratch the eight targets that the six free joints must reach, one for each value of the held joint.

    :param scratch: (SCRATCH,) out: rotation row by row, then translation, eight numbers each.
    :param g: (12,) G, the motion that all seven joints together must make, or its inverse if ``is_reversed``.
    :param h, o: axis of the held joint, and a point on it.
    :param values: (8,) angles of the held joint [rad].
    :param is_behind: True if the held joint is the last of the chain, False if it is the first.
    :param is_reversed: True if the class fits the reversed chain.
    """
    angle = lanes.load(values, 0)
    sine, cosine = lanes.sine_cosine(angle)
    if not is_reversed:
        sine = -sine
    # The held joint is multiplied from the right in G E^-1 and G^-1 E, from the left in E^-1 G and E G^-1.
    is_right = is_behind != is_reversed
    for k in range(3):
        if is_right:
            # Row k of the product: E^-1 applied to row k of the rotation.
            row = (g[3 * k], g[3 * k + 1], g[3 * k + 2])
            turned = vectors.turn(h, cosine, -sine, row)
            moved = vectors.subtract(o, vectors.turn(h, cosine, sine, o))
            shift = vectors.dot(row, moved) + g[9 + k]
            for j in range(3):
                lanes.store(scratch, TARGET + (3 * k + j) * LANES, turned[j])
            lanes.store(scratch, TARGET + (lane_poses.TRANSLATION + k) * LANES, shift)
        else:
            column = vectors.turn(h, cosine, sine, (g[k], g[3 + k], g[6 + k]))
            for j in range(3):
                lanes.store(scratch, TARGET + (3 * j + k) * LANES, column[j])
    if not is_right:
        point = screw(h, o, cosine, sine, (g[9], g[10], g[11]))
        for j in range(3):
            lanes.store(scratch, TARGET + (lane_poses.TRANSLATION + j) * LANES, point[j])


@inline_kernel
def _arm_row(arm, row):
    """
    Return the offset in the scratch of eight numbers of an arm posture, one for each value of the held joint.

    An arm posture has the values of joints 1 to 3.

    :param arm: index of the posture of the first three joints, 0 to 3.
    :param row: 3 j, 3 j + 1 and 3 j + 2 for angle, sine and cosine of joint j; ARM_MARK for the mark.
    """
    return ARMS + (arm * ARM + row) * LANES


@inline_kernel
def _store_angle(scratch, arm, joint, y, x):
    """
    Store the angle atan2(y, x), its sine and cosine for one joint of an arm posture; return (sine, cosine).

    An arm posture has the values of joints 1 to 3.

    :param scratch: (SCRATCH,) out, eight lanes for each number.
    :param arm: index of the posture of the first three joints, 0 to 3.
    :param joint: index of the joint, 0 to 2.
    :param y, x: components of a vector in eight lanes, of any length.
    """
    s, c = lane_angles.turned_by(y, x)
    start = _arm_row(arm, 3 * joint)
    lanes.store(scratch, start, lanes.arc_tangent(y, x))
    lanes.store(scratch, start + LANES, s)
    lanes.store(scratch, start + 2 * LANES, c)
    return s, c


@inline_kernel
def _load_angle(scratch, arm, joint):
    """
    Return (sine, cosine) of one joint in an arm posture, each with a lane for each value of the held joint.

    An arm posture has the values of joints 1 to 3.

    :param scratch: (SCRATCH,) with the angle, from :func:`_store_angle`.
    :param arm: index of the posture of the first three joints, 0 to 3.
    :param joint: index of the joint, 0 to 2.
    """
    start = _arm_row(arm, 3 * joint)
    return lanes.load(scratch, start + LANES), lanes.load(scratch, start + 2 * LANES)


@inline_kernel
def _sign_of(value):
    """Return 1 for lanes with a value of at least 0, else -1."""
    return lanes.select(value >= 0.0, 1.0, lanes.spread(-1.0))


@kernel
def _write_arms(scratch, axes, points, special):
    """
    Write into the scratch four arm postures, the angles of joints 1 to 3 that bring W to its target.

    Each posture has sines, cosines and a mark: 1 if a subproblem is tangent or out of reach, else 0.

    :param scratch: (SCRATCH,) with the targets of :func:`write_targets`.
    :param axes, points: (18,) directions and points of the axes of the free joints, in the order of the class.
    :param special: (6,) W, where axes 4, 5 and 6 meet, and A, where axes 1 and 2 meet.
    :returns: bit mask of the values of the held joint that this kernel cannot solve.
    """
    h1, h2, h3 = triple(axes, 0), triple(axes, 1), triple(axes, 2)
    o3, w, a = triple(points, 2), triple(special, 0), triple(special, 1)
    back = (-h1[0], -h1[1], -h1[2])
    across = vectors.cross(back, h2)
    s2, c12 = vectors.dot(across, across), vectors.dot(back, h2)
    reach = vectors.subtract(map_point(lane_poses.load_poses(scratch, TARGET), w), a)
    ca, cb, middle = sp3.coefficients(h3, vectors.subtract(w, o3), vectors.subtract(a, o3))
    squared = vectors.dot(reach, reach)
    middle = middle - 0.5 * squared
    radius, size = (ca * ca + cb * cb) ** 0.5, lanes.absolute(middle)
    is_far = (radius - size) * (size + radius) <= 0.0
    is_odd = squared <= 0.0
    p = vectors.scale(1.0 / lanes.root(lanes.select(is_odd, 1.0, squared)), reach)
    for side in range(2):
        sine, cosine = lane_angles.of_component(
            lanes.spread(ca), lanes.spread(cb), middle, 1.0 - 2.0 * side
        )
        s3, c3 = _store_angle(scratch, 2 * side, ELBOW, sine, cosine)
        q = vectors.subtract(screw(h3, o3, c3, s3, lane_angles.spread_vector(w)), a)
        squared_q = vectors.dot(q, q)
        is_odd = is_odd | (squared_q <= 0.0)
        q = vectors.scale(1.0 / lanes.root(lanes.select(squared_q <= 0.0, 1.0, squared_q)), q)
        d1, d2 = vectors.dot(back, p), vectors.dot(h2, q)
        height, e = sp2.squared_height(back, p, h2, q, c12, _sign_of(d1))
        other, other_e = sp2.squared_height(h2, q, back, p, c12, _sign_of(d2))
        height = lanes.select(e <= other_e, height, other)
        mark = lanes.select(is_far | (height <= 0.0), 1.0, lanes.spread(0.0))
        w12 = lanes.root(lanes.greater(height, lanes.spread(0.0))) / s2
        flat = vectors.add(
            vectors.scale((d1 - c12 * d2) / s2, back), vectors.scale((d2 - c12 * d1) / s2, h2)
        )
        for turn in range(2):
            arm = 2 * side + turn
            z = vectors.add(flat, vectors.scale((1.0 - 2.0 * turn) * w12, across))
            y, x = lane_angles.between(back, p, z)
            _store_angle(scratch, arm, 0, y, x)
            y, x = lane_angles.between(h2, q, z)
            _store_angle(scratch, arm, 1, y, x)
            lanes.store(scratch, _arm_row(arm, ARM_MARK), mark)
        for k in range(3):
            angle = lanes.load(scratch, _arm_row(2 * side, 3 * ELBOW + k))
            lanes.store(scratch, _arm_row(2 * side + 1, 3 * ELBOW + k), angle)
    return 255 if s2 < sp2.PARALLEL_SQUARE else lanes.bits_of(is_odd)


@kernel
def _write_wrists(scratch, axes, arm):
    """
    Complete an arm posture by both wrists: write two branches of six angles and a mark, at :func:`column_of`.

    An arm posture has the values of joints 1 to 3. The mark is 1 if a subproblem was tangent or out of reach, else 0.

    :param scratch: (SCRATCH,) with the targets and the arm postures.
    :param axes: (18,) directions of the axes of the free joints, in the order of the class.
    :param arm: index of the arm posture, 0 to 3; its branches are 2 arm and 2 arm + 1.
    :returns: bit mask of the values of the held joint at which the wrist is nearly straight.
    """
    h1, h2, h3 = triple(axes, 0), triple(axes, 1), triple(axes, 2)
    h4, h5, h6 = triple(axes, 3), triple(axes, 4), triple(axes, 5)
    (s1, c1), (s2, c2) = _load_angle(scratch, arm, 0), _load_angle(scratch, arm, 1)
    s3, c3 = _load_angle(scratch, arm, ELBOW)
    target = lane_poses.load_poses(scratch, TARGET)
    image = vectors.turn(h1, c1, -s1, vectors.times(target, h6))
    image = vectors.turn(h3, c3, -s3, vectors.turn(h2, c2, -s2, image))
    moved = vectors.turn(h3, c3, s3, lane_angles.spread_vector(h4))
    moved = vectors.turn(h1, c1, s1, vectors.turn(h2, c2, s2, moved))
    moved = vectors.transposed_times(target, moved)
    tilt = vectors.cross(h4, image)
    nearly = three_axes.NEARLY_ALIGNED * three_axes.NEARLY_ALIGNED
    is_straight = vectors.dot(tilt, tilt) <= nearly
    side = _sign_of(vectors.dot(h4, image))
    a, b, rest, height = three_axes.squared_height(h4, h5, h6, image, side)
    lift = lanes.root(lanes.greater(height, lanes.spread(0.0)))
    mark = lanes.load(scratch, _arm_row(arm, ARM_MARK))
    mark = lanes.select(height <= 0.0, 1.0, mark)
    for wrist in range(2):
        branch, x = 2 * arm + wrist, (1.0 - 2.0 * wrist) * lift
        for k in range(3):
            angle = lanes.load(scratch, _arm_row(arm, 3 * k))
            lanes.store(scratch, column_of(branch, k), angle)
        sine, cosine = b * rest + a * x, a * rest - b * x
        lanes.store(scratch, column_of(branch, 4), lanes.arc_tangent(sine, cosine))
        s5, c5 = lane_angles.turned_by(sine, cosine)
        bent = vectors.turn(h5, c5, s5, lane_angles.spread_vector(h6))
        sine, cosine = lane_angles.between(h4, bent, image)
        lanes.store(scratch, column_of(branch, 3), lanes.arc_tangent(sine, cosine))
        bent = vectors.turn(h5, c5, -s5, lane_angles.spread_vector(h4))
        sine, cosine = lane_angles.between(h6, bent, moved)
        lanes.store(scratch, column_of(branch, 5), -lanes.arc_tangent(sine, cosine))
        lanes.store(scratch, column_of(branch, MARK), mark)
    return lanes.bits_of(is_straight)


@kernel
def write_branches(scratch, axes, points, special):
    """
    Write the eight branches at eight values of the held joint: six angles [rad] and a mark, at :func:`column_of`.

    The mark is 1 if a subproblem was tangent or out of reach: the branch is then the nearest posture, and may not
    exist.

    :param scratch: (SCRATCH,) with the targets of :func:`write_targets`.
    :param axes, points: (18,) directions and points of the axes of the free joints, in the order of the class.
    :param special: (6,) W, where axes 4, 5 and 6 meet, and A, where axes 1 and 2 meet.
    :returns: bit mask of the values of the held joint whose branches are unusable, as with a nearly straight wrist.
    """
    useless = _write_arms(scratch, axes, points, special)
    for arm in range(4):
        useless |= _write_wrists(scratch, axes, arm)
    return useless
