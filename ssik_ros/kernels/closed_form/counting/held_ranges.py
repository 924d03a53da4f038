"""
Bound the joints of a seven-joint arm while its held joint moves through a cell: basis of proofs of unreachability.

:func:`bound` writes the ranges of all joints in eight cells; a cell is a range of the held joint for one branch.

Problem
-------
The held joint is the first or the last of seven. Of the other six, axes 4, 5 and 6 meet in W and axes 1 and 2 in A, on
the chain or on the reversed chain. For eight cells of the held joint at once, bound every joint of one branch over the
cell.

Solutions
---------
A centre and a radius for each joint. If a joint is outside its limits by more than the radius, the branch has no
posture within limits in the cell. If the equations of a branch cannot hold in the cell, the branch does not exist
there.

Method
------
1. W moves on a circle while the held joint moves. The square of its distance from A and its coordinates, one of them
   along axis 1, are sinusoids of the held joint. They are bounded by value and slope at the middle, and by the
   amplitude for the rest. The coordinates give the azimuth of W about axis 1.
2. The distance gives joint 3: its cosine is a linear function of the squared distance.
3. Axes 1 and 2 and the direction from A to W form a spherical triangle. Its angles give joints 1 and 2 and the roll of
   the elbow.
4. The direction from A to W, axis 6 and axis 4 form a second spherical triangle. It gives joints 4, 5 and 6.

Ranges of cosines are widened before an arc cosine is taken, so folds need no special case.

Degeneracies
------------
If a side of a triangle is nearly 0 or pi, the radius is pi, and this joint excludes nothing.

Cost
----
About thirty arc tangents of eight angles for both wrists.

References
----------
[Moore2009] describes interval arithmetic.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification.chain import map_point, triple
from ssik_ros.kernels.geometry import lane_angles, lane_poses, lanes, vectors
from ssik_ros.kernels.geometry.lanes import LANES

POSE_PLAY = 1e-8
"""Play of the pose, in sizes of the arm and in radians; it exceeds rounding and the tolerance of a posture."""
INTERVAL_ROUNDING = 1e-10
"""Rounding of a cosine, and of a point that does not depend on the pose, in sizes of the arm; it widens each range."""
PROVED_OUTSIDE = 2e-6
"""Least distance of a joint outside its limits for a proof [rad]; certification moves nearer joints onto the limit."""
BULGE = 0.571
"""Constant of the bound asin(x) <= x (1 + BULGE x^2) for x from 0 to 1."""

# Vectors of an arm, three numbers each, in the order of the class and in units of the size of the arm.
U, AROUND, H1, H2, H3, H4, H5, H6 = 0, 1, 2, 3, 4, 5, 6, 7
"""Axis of the held joint and a point on it; axes of the other six joints."""
ACROSS, ALONG1, ALONG2 = 8, 9, 10
"""Unit vectors: along h1 x h2; the part of h2 perpendicular to h1; the part of h1 perpendicular to h2."""
A, W, BASE, ELBOW = 11, 12, 13, 14
"""A: intersection of axes 1 and 2; W: intersection of axes 4, 5 and 6; BASE and ELBOW: A and W relative to the point of
axis 3."""
X4, Y4, X6, Y6 = 15, 16, 17, 18
"""Unit vectors perpendicular to axis 4, and perpendicular to axis 6."""
VECTORS = 19

# Numbers of an arm.
C12, S12 = 0, 1
"""Cosine and sine between axes 1 and 2."""
MIDDLE3, TWO_R, PHASE3 = 2, 3, 4
"""The squared distance of W from A is MIDDLE3 - TWO_R cos(q3 - PHASE3)."""
LEVER_W, LEVER_A, S23, S1U, S45, S56 = 5, 6, 7, 8, 9, 10
"""Distances of W and A from axis 3; sines between axes."""
C5, R5, PHASE5 = 11, 12, 13
"""h4 . R5 h6 = C5 + R5 cos(q5 - PHASE5)."""
SIGN, SIZE, DRIFT, SPLIT = 14, 15, 16, 17
"""SIGN: direction in which the held joint rotates the target, 1 or -1. SIZE: metres of a unit. DRIFT: largest distance
of the true chain's W from the nearest chain's. SPLIT: distance of axis 6 if the range of joint 6 is divided, too, else
0."""
NUMBERS = 18

# Rows of the result for eight cells: for each wrist six joints, their radii, least margin of the middle.
RADII, MARGIN, WRIST_ROWS = 6, 12, 13
"""First row of the radii; row of the margin; number of rows of a wrist."""
RANGES = 2 * WRIST_ROWS * LANES
SHIFT, BALL, LIFT, WRIST, LAST = 4, 7, 8, 11, 12
"""Rows of eight cells after the first four of :class:`Cells`: shift and ball of W; lift; wrist, 0 or 1; range of joint
6."""
ITEMS = 14 * LANES
"""Size of eight cells, in numbers."""
LIMIT_HALVES = 6
"""Index in the limits of an arm where the half widths begin, after the middles."""


class HeldArm(NamedTuple):
    """
    Constants of an arm for the bounds: its held joint, and the other six joints in the order of their class.

    ``vectors`` and ``numbers`` have the geometry, such as axes and cosines between axes, with lengths in units of the
    arm's size. ``limits`` (12,) are the middles and half widths of the joints' ranges [rad], infinite without limits.
    ``axis_offsets`` (18,) lead from each axis of the true chain to the axis of the nearest chain of the class.
    """

    vectors: np.ndarray
    """(3 VECTORS,) vectors such as U, axis of the held joint, and H1, axis 1; three numbers each."""
    numbers: np.ndarray
    """(NUMBERS,) numbers such as C12, cosine between axes 1 and 2."""
    limits: np.ndarray
    """(12,) middles of the ranges, then half widths [rad]; infinite for joints without limits."""
    axis_offsets: np.ndarray
    """(18,) offset of each axis from the true chain's axis, perpendicular to the axis."""


class Pose(NamedTuple):
    """
    Three vectors in the base frame, given by the target pose of the six free joints with the held joint at zero.

    ``arm`` leads from the point AROUND on the held joint's axis to W, the intersection of axes 4, 5 and 6. Its unit is
    the arm's size. ``x`` and ``y`` are unit vectors perpendicular to axis 6, fixed to the last body.
    """

    arm: tuple[float, float, float]
    """W relative to a point on the axis of the held joint."""
    x: tuple[float, float, float]
    y: tuple[float, float, float]
    """Directions X6 and Y6, moved by the target."""


class Cells(NamedTuple):
    """
    Eight cells to bound, one in each lane: a range of the held joint, and a branch of the first three joints.

    The range is ``middle`` plus or minus ``half`` [rad]. ``elbow`` and ``shoulder``, 1 or -1, select the branch: sign
    of the angle of joint 3, counted from PHASE3, and side of the plane of axes 1 and 2. The offset of W is the vector
    from its position on the target to its position on the nearest chain of the class. It lies in a ball of radius
    ``ball`` whose centre is ``shift`` plus ``lift`` rotated by the held joint, in units of the arm.
    """

    middle: float
    """Middle of the range of the held joint [rad]."""
    half: float
    """Half width of this range [rad]."""
    elbow: float
    """1 or -1: sign of the angle of joint 3, counted from PHASE3."""
    shoulder: float
    """1 or -1: side of the plane of axes 1 and 2."""
    shift: tuple[float, float, float]
    """Part of the ball's centre that does not depend on the held joint."""
    ball: float
    """Radius of the ball."""
    lift: tuple[float, float, float]
    """Part of the ball's centre that the held joint rotates, at zero of the held joint."""


class Target(NamedTuple):
    """
    Ranges that the target allows while the held joint moves through a cell, seen from A, where axes 1 and 2 meet.

    A cell is a range of the held joint for one posture of joints 1 to 3. W is the centre of the wrist. The distance
    from A to W is ``shortest`` to ``longest``; the cosine between this line and axis 1 is ``low`` to ``high``.
    ``azimuth`` and ``last`` are the line's angles about axis 1 and about axis 6, and ``roll`` is the angle of axis 6
    about the line. These three are (centre, radius) [rad]. ``side`` is the angle between the line and axis 6 as
    (cosine, sine, radius).
    """

    shortest: float
    longest: float
    """Range of the distance from A to W: ``shortest`` to ``longest``."""
    low: float
    high: float
    """Range of the cosine between the line from A to W and axis 1: ``low`` to ``high``."""
    azimuth: tuple[float, float]
    """Angle about axis 1, from axis 2 to the line from A to W."""
    roll: tuple[float, float]
    """Angle about the line from A to W, from axis 1 to axis 6."""
    side: tuple[float, float, float]
    """Angle between the line from A to W and axis 6: cosine, sine, radius."""
    last: tuple[float, float]
    """Angle about axis 6 of the line from A to W, seen from the last body."""


class Elbow(NamedTuple):
    """
    Ranges of the line from A, where axes 1 and 2 meet, to the wrist centre W, as joint 3 positions it.

    ``joint`` is the range of joint 3. The cosine between the line and axis 2 is ``low`` to ``high``. ``azimuth`` is the
    line's angle about axis 2, ``roll`` the angle of axis 4 about the line, ``first`` the line's angle about axis 4.
    Angles are (centre, radius) [rad]. ``side`` is the angle between the line and axis 4 as (cosine, sine, radius).
    """

    joint: tuple[float, float]
    low: float
    high: float
    """Range of the cosine between the line from A to W and axis 2: ``low`` to ``high``."""
    azimuth: tuple[float, float]
    """Angle about axis 2, from axis 1 to the line from A to W."""
    roll: tuple[float, float]
    """Angle about the line from A to W, from axis 2 to axis 4."""
    side: tuple[float, float, float]
    """Angle between the line from A to W and axis 4: cosine, sine, radius."""
    first: tuple[float, float]
    """Angle about axis 4 of the line from A to W."""


class Shoulder(NamedTuple):
    """
    Ranges from the spherical triangle of axis 1, axis 2 and the line from A to W, as (centre, radius) [rad].

    ``joint1`` and ``joint2`` are the ranges of joints 1 and 2; ``roll`` is the angle about the line from A to W, from
    axis 6 to axis 4. A is the point where axes 1 and 2 meet, W the centre of the wrist.
    """

    joint1: tuple[float, float]
    joint2: tuple[float, float]
    roll: tuple[float, float]
    """Angle about the line from A to W, from axis 6 to axis 4."""


class Wrist(NamedTuple):
    """
    Ranges from the spherical triangle of axis 4, axis 6 and the line from A to the wrist centre W.

    All are (centre, radius) [rad]; ``at4`` and ``at6`` are the triangle's angles at axis 4 and at axis 6. ``bend`` is
    the angle of joint 5 without its sign, counted from the value at which axes 4 and 6 are nearest to parallel.
    """

    bend: tuple[float, float]
    """Angle of joint 5, relative to its phase."""
    at4: tuple[float, float]
    at6: tuple[float, float]


@inline_kernel
def make_pose(arm, target):
    """
    Return the target pose, with the held joint at zero, as a :class:`Pose`.

    :param arm: a :class:`HeldArm`.
    :param target: (12,) G of the seven joints, or its inverse for a reversed class, in units of the arm.
    """
    return Pose(
        vectors.subtract(map_point(target, triple(arm.vectors, W)), triple(arm.vectors, AROUND)),
        vectors.times(target, triple(arm.vectors, X6)),
        vectors.times(target, triple(arm.vectors, Y6)),
    )


@inline_kernel
def _length(v):
    """Return the length of a vector in each lane."""
    return lanes.root(vectors.dot(v, v))


@inline_kernel
def _inverse(value):
    """Return 1 / ``value`` in each lane, for values of at least 0; 1e300 for zero and tiny values."""
    return lanes.select(value > 1e-300, 1.0, lanes.spread(1e300)) / lanes.select(
        value > 1e-300, value, 1.0
    )


@inline_kernel
def _arc_cosine(x):
    """Return the arc cosine of x in each lane; x must lie within -1 to 1."""
    return lanes.arc_tangent(lanes.root(lanes.greater((1.0 - x) * (1.0 + x), 0.0)), x)


@inline_kernel
def _between_cosines(low, high):
    """
    Return (range, is_empty): angles in [0, pi] whose cosine is from ``low`` to ``high``, as (centre, radius) [rad].

    The range is widened by INTERVAL_ROUNDING.

    :param low, high: least and largest cosine, in eight lanes; they may exceed -1 and 1.
    :returns: (range, is_empty): the range, and a mask of the lanes with no such angle.
    """
    low, high = low - INTERVAL_ROUNDING, high + INTERVAL_ROUNDING
    least = _arc_cosine(lanes.lesser(lanes.greater(high, -1.0), 1.0))
    most = _arc_cosine(lanes.greater(lanes.lesser(low, 1.0), -1.0))
    middle, radius = 0.5 * (least + most), 0.5 * (most - least) + INTERVAL_ROUNDING
    return (middle, radius), (low > 1.0) | (high < -1.0)


@inline_kernel
def _quotient(low, high, least, most):
    """
    Return (least, largest) quotient x / y in each lane, for x and y within ranges.

    :param low, high: range of x.
    :param least, most: range of y, which is positive.
    """
    to_least, to_most = _inverse(least), _inverse(most)
    return (
        low * lanes.select(low < 0.0, to_least, to_most),
        high * lanes.select(high > 0.0, to_least, to_most),
    )


@inline_kernel
def _product(a, b, c, d):
    """Return (least, largest) value of the product of the ranges [a, b] and [c, d], in each lane."""
    first, second, third, fourth = a * c, a * d, b * c, b * d
    low = lanes.lesser(lanes.lesser(first, second), lanes.lesser(third, fourth))
    high = lanes.greater(lanes.greater(first, second), lanes.greater(third, fourth))
    return low, high


@inline_kernel
def _sines(low, high):
    """Return (least, largest) sine of an angle in [0, pi] with cosine from ``low`` to ``high``, widened by rounding."""
    near = lanes.lesser(lanes.absolute(low), lanes.absolute(high))
    near = lanes.select((low <= 0.0) & (high >= 0.0), 0.0, near)
    far = lanes.greater(lanes.absolute(low), lanes.absolute(high))
    least = lanes.root(lanes.greater((1.0 - far) * (1.0 + far), 0.0))
    most = lanes.root(lanes.greater((1.0 - near) * (1.0 + near), 0.0))
    return lanes.greater(least - INTERVAL_ROUNDING, 0.0), most + INTERVAL_ROUNDING


@inline_kernel
def _bulged(x):
    """Return an upper bound of the arc sine of x; pi if x is at least 1."""
    return lanes.select(x < 1.0, x * (1.0 + BULGE * x * x), math.pi)


@inline_kernel
def _azimuth_of_cone(radius, sine):
    """
    Return a bound on the difference between the azimuth of a direction in a cone and the azimuth of the cone's axis [rad].

    It is pi if the cone may contain the axis of the azimuth.

    :param radius: half opening angle of the cone [rad].
    :param sine: sine of the angle between the cone's axis and the axis of the azimuth.
    """
    return _bulged(radius * _inverse(sine))


@inline_kernel
def _turning(axis_x, axis_y, vector, slope, width, rest):
    """
    Bound the direction of a moving vector, seen in the plane of two axes, while a parameter moves through a range.

    :param axis_x, axis_y: the two axes, perpendicular unit vectors.
    :param vector, slope: the vector and its derivative at the middle of the parameter's range.
    :param width: half the width of the parameter's range.
    :param rest: bound on the vector's distance from its first-order prediction.
    :returns: (centre, radius) of the angle from x towards y [rad]; the radius is pi if the vector may vanish or nearly
        vanish in the plane.
    """
    x, y = vectors.dot(axis_x, vector), vectors.dot(axis_y, vector)
    slope_x, slope_y = vectors.dot(axis_x, slope), vectors.dot(axis_y, slope)
    inverse = _inverse(lanes.root(x * x + y * y))
    across = lanes.absolute(x * slope_y - y * slope_x) * inverse * width + rest
    along = lanes.absolute(x * slope_x + y * slope_y) * inverse * width + rest
    room = lanes.root(x * x + y * y) - along
    is_known = across < math.pi * room
    radius = across / lanes.select(is_known, room, 1.0)
    return lanes.arc_tangent(y, x), lanes.select(is_known, radius, math.pi)


@inline_kernel
def _dihedral(vector, square, size, a, b):
    """
    Return the angle about ``vector`` from vector a to vector b, both projected onto the plane across it [rad].

    :param vector: the vector, in lanes.
    :param square, size: squared length and length of ``vector``.
    :param a, b: the two vectors.
    """
    y = size * vectors.dot(vector, vectors.cross(a, b))
    return lanes.arc_tangent(
        y, square * vectors.dot(a, b) - vectors.dot(vector, a) * vectors.dot(vector, b)
    )


@inline_kernel
def _see_target(arm, pose, cells):
    """
    Return the :class:`Target` of eight cells: ranges of distance and angles of W seen from A, and of axis 6.

    A is the point where axes 1 and 2 meet, W the centre of the wrist. The held joint moves through each cell, its range
    for one posture of joints 1 to 3.

    :param arm: a :class:`HeldArm`.
    :param pose: the target, a :class:`Pose`.
    :param cells: eight :class:`Cells`.
    """
    arm_vectors, numbers = arm.vectors, arm.numbers
    u, h1 = triple(arm_vectors, U), triple(arm_vectors, H1)
    sine, cosine = lanes.sine_cosine(numbers[SIGN] * cells.middle)
    start = vectors.add(cells.lift, pose.arm)
    lever_w = _length(vectors.cross(u, start))
    out = vectors.turn(u, cosine, sine, start)
    x, y = vectors.turn(u, cosine, sine, pose.x), vectors.turn(u, cosine, sine, pose.y)
    apart = vectors.subtract(
        vectors.subtract(triple(arm_vectors, A), triple(arm_vectors, AROUND)), cells.shift
    )
    line, slope = vectors.subtract(out, apart), vectors.cross(u, out)
    half, play = cells.half, cells.ball + POSE_PLAY
    lever = _length(vectors.cross(u, apart))
    rest = 0.5 * lever_w * half * half + play
    # The square of the distance is a sinusoid with the amplitude 2 lever(A) lever(W).
    square = vectors.dot(line, line)
    size = lanes.root(square)
    change = 2.0 * lanes.absolute(vectors.dot(line, slope)) * half
    change = change + lever_w * lever * half * half
    shortest = lanes.root(lanes.greater(square - change, 0.0)) - play
    shortest, longest = lanes.greater(shortest, 0.0), lanes.root(square + change) + play
    height = vectors.dot(h1, line)
    change = lanes.absolute(vectors.dot(h1, slope)) * half
    change = change + 0.5 * numbers[S1U] * lever_w * half * half + play
    low, high = _quotient(height - change, height + change, shortest, longest)
    across, along = triple(arm_vectors, ACROSS), triple(arm_vectors, ALONG1)
    azimuth = _turning(along, across, line, slope, half, rest)
    # In the frame that rotates with the target, axis 6 is fixed; the line from A to W and axis 1 move.
    last, inverse = vectors.cross(x, y), _inverse(size)
    cone = _bulged((lever * half + play) * inverse) + POSE_PLAY
    slant = _length(vectors.cross(line, last)) * inverse
    base = _length(vectors.cross(line, h1)) * inverse
    cone_azimuth = _azimuth_of_cone(cone, slant)
    roll = cone_azimuth + _azimuth_of_cone(cone + numbers[S1U] * half, base)
    return Target(
        shortest,
        longest,
        low - INTERVAL_ROUNDING,
        high + INTERVAL_ROUNDING,
        azimuth,
        (_dihedral(line, square, size, lane_angles.spread_vector(h1), last), roll),
        (vectors.dot(line, last) * inverse, slant, cone),
        (lanes.arc_tangent(vectors.dot(y, line), vectors.dot(x, line)), cone_azimuth),
    )


@inline_kernel
def _bend_elbow(arm, cells, shortest, longest):
    """
    Bound joint 3, which sets the distance between A and the wrist centre W, for a range of this distance.

    A cell is a range of the held joint for one posture of joints 1 to 3.

    :param arm, cells: a :class:`HeldArm`, and eight :class:`Cells`.
    :param shortest, longest: least and largest distance, in units of the arm.
    :returns: (elbow, is_out): the :class:`Elbow`, and a mask of the lanes in which joint 3 cannot make any such
        distance.
    """
    arm_vectors, numbers = arm.vectors, arm.numbers
    h2, h3, h4 = triple(arm_vectors, H2), triple(arm_vectors, H3), triple(arm_vectors, H4)
    inverse = 1.0 / numbers[TWO_R]
    low = (numbers[MIDDLE3] - longest * longest) * inverse
    high = (numbers[MIDDLE3] - shortest * shortest) * inverse
    (angle, width), is_out = _between_cosines(low, high)
    joint = numbers[PHASE3] + cells.elbow * angle
    sine, cosine = lanes.sine_cosine(joint)
    arm3 = vectors.turn(h3, cosine, sine, triple(arm_vectors, ELBOW))
    line, slope = vectors.subtract(arm3, triple(arm_vectors, BASE)), vectors.cross(h3, arm3)
    rest = 0.5 * numbers[LEVER_W] * width * width + INTERVAL_ROUNDING
    square = vectors.dot(line, line)
    size = lanes.root(square)
    inverse = _inverse(size)
    height = vectors.dot(h2, line)
    change = lanes.absolute(vectors.dot(h2, slope)) * width + rest
    low, high = _quotient(height - change, height + change, shortest, longest)
    across, along = triple(arm_vectors, ACROSS), triple(arm_vectors, ALONG2)
    azimuth = _turning(along, vectors.scale(-1.0, across), line, slope, width, rest)
    # In the frame of the body after joint 3, axis 4 is fixed; the line from A to W and axis 2 move.
    local_line = vectors.turn(h3, cosine, -sine, line)
    cone = _bulged(numbers[LEVER_A] * width * inverse) + INTERVAL_ROUNDING
    slant = _length(vectors.cross(local_line, h4)) * inverse
    base = _length(vectors.cross(line, h2)) * inverse
    cone_azimuth = _azimuth_of_cone(cone, slant)
    roll = cone_azimuth + _azimuth_of_cone(cone + numbers[S23] * width, base)
    axis4 = vectors.turn(h3, cosine, sine, h4)
    first = lanes.arc_tangent(
        vectors.dot(triple(arm_vectors, Y4), local_line),
        vectors.dot(triple(arm_vectors, X4), local_line),
    )
    elbow = Elbow(
        (joint, width),
        low - INTERVAL_ROUNDING,
        high + INTERVAL_ROUNDING,
        azimuth,
        (_dihedral(line, square, size, lane_angles.spread_vector(h2), axis4), roll),
        (vectors.dot(local_line, h4) * inverse, slant, cone),
        (first, cone_azimuth),
    )
    return elbow, is_out


@inline_kernel
def _angle_of_triangle(low, high, least, most):
    """
    Return (range, is_empty): the range of the angle whose cosine is x / y, as (centre, radius) [rad].

    ``is_empty`` is a mask of the lanes without such an angle.

    :param low, high: range of x.
    :param least, most: range of y, which is positive.
    """
    low, high = _quotient(low, high, least, most)
    return _between_cosines(low, high)


@inline_kernel
def _place_shoulder(arm, cells, target, elbow):
    """
    Bound joints 1 and 2, which turn the line from A to W onto the target's line.

    A cell is a range of the held joint for one posture of joints 1 to 3.

    :param arm, cells, target, elbow: a :class:`HeldArm`; :class:`Cells`, :class:`Target` and :class:`Elbow` of eight
        cells.
    :returns: (shoulder, is_out): the :class:`Shoulder`, and a mask of the lanes in which no angles exist.
    """
    c, s = arm.numbers[C12], arm.numbers[S12]
    size = abs(c)
    least_a, most_a = _sines(target.low, target.high)
    least_b, most_b = _sines(elbow.low, elbow.high)
    # The product of c and a range: the sign of c orders the ends.
    a_low, a_high = (target.low, target.high) if c >= 0.0 else (-target.high, -target.low)
    b_low, b_high = (elbow.low, elbow.high) if c >= 0.0 else (-elbow.high, -elbow.low)
    at1, no1 = _angle_of_triangle(
        elbow.low - size * a_high, elbow.high - size * a_low, s * least_a, s * most_a
    )
    at2, no2 = _angle_of_triangle(
        target.low - size * b_high, target.high - size * b_low, s * least_b, s * most_b
    )
    low, high = _product(target.low, target.high, elbow.low, elbow.high)
    at_wrist, no3 = _angle_of_triangle(c - high, c - low, least_a * least_b, most_a * most_b)
    side = cells.shoulder
    joint1 = (target.azimuth[0] - side * at1[0], target.azimuth[1] + at1[1])
    joint2 = (-side * at2[0] - elbow.azimuth[0], elbow.azimuth[1] + at2[1])
    roll = (
        side * at_wrist[0] + elbow.roll[0] - target.roll[0],
        at_wrist[1] + elbow.roll[1] + target.roll[1],
    )
    return Shoulder(joint1, joint2, roll), no1 | no2 | no3


@inline_kernel
def _bend_wrist(arm, target, elbow, roll):
    """
    Bound the angle between axes 4 and 6, and so joint 5.

    A cell is a range of the held joint for one posture of joints 1 to 3.

    :param arm, target, elbow: a :class:`HeldArm`; :class:`Target` and :class:`Elbow` of eight cells.
    :param roll: centre and radius of the angle about the line from A to W, from axis 6 to axis 4 [rad].
    :returns: (wrist, is_out): the :class:`Wrist`, and a mask of the lanes in which joint 5 cannot make this angle.
    """
    c6, s6, cone6 = target.side
    c4, s4, cone4 = elbow.side
    sine, cosine = lanes.sine_cosine(roll[0])
    most6, most4 = lanes.lesser(s6 + cone6, 1.0), lanes.lesser(s4 + cone4, 1.0)
    y4, x4 = s6 * sine, c6 * s4 - s6 * c4 * cosine
    between = lanes.root(y4 * y4 + x4 * x4)
    angle = lanes.arc_tangent(between, c6 * c4 + s6 * s4 * cosine)
    cones = cone4 + cone6 + POSE_PLAY
    width = cones + lanes.lesser(most6, most4) * roll[1]
    at4 = (lanes.arc_tangent(y4, x4), _azimuth_of_cone(cones + most6 * roll[1], between))
    at6 = (
        lanes.arc_tangent(s4 * sine, c4 * s6 - s4 * c6 * cosine),
        _azimuth_of_cone(cones + most4 * roll[1], between),
    )
    _, high = lanes.sine_cosine(lanes.greater(angle - width, 0.0))
    _, low = lanes.sine_cosine(lanes.lesser(angle + width, math.pi))
    inverse = 1.0 / arm.numbers[R5]
    middle = arm.numbers[C5]
    bend, is_out = _between_cosines((low - middle) * inverse, (high - middle) * inverse)
    return Wrist(bend, at4, at6), is_out


@inline_kernel
def _place_wrist(arm, target, elbow, wrist, side):
    """
    Return the ranges of joints 4, 5 and 6 of one wrist, each as (centre, radius) [rad].

    A cell is a range of the held joint for one posture of joints 1 to 3.

    :param arm, target, elbow, wrist: a :class:`HeldArm`; :class:`Target`, :class:`Elbow` and :class:`Wrist` of eight
        cells.
    :param side: 1 for the first wrist, -1 for the second; sign of the angle of joint 5.
    """
    arm_vectors, numbers = arm.vectors, arm.numbers
    h4, h5, h6 = triple(arm_vectors, H4), triple(arm_vectors, H5), triple(arm_vectors, H6)
    bend, width = wrist.bend
    joint5 = numbers[PHASE5] + side * bend
    sine, cosine = lanes.sine_cosine(joint5)
    ahead = vectors.turn(h5, cosine, sine, lane_angles.spread_vector(h6))
    slope = vectors.cross(h5, ahead)
    rest = (0.5 * numbers[S56]) * width * width + INTERVAL_ROUNDING
    about4 = _turning(triple(arm_vectors, X4), triple(arm_vectors, Y4), ahead, slope, width, rest)
    back = vectors.turn(h5, cosine, -sine, lane_angles.spread_vector(h4))
    slope = vectors.cross(back, h5)
    rest = (0.5 * numbers[S45]) * width * width + INTERVAL_ROUNDING
    about6 = _turning(triple(arm_vectors, X6), triple(arm_vectors, Y6), back, slope, width, rest)
    at4, at6 = wrist.at4, wrist.at6
    joint4 = (at4[0] + elbow.first[0] - about4[0], at4[1] + elbow.first[1] + about4[1])
    joint6 = (about6[0] + at6[0] - target.last[0], about6[1] + at6[1] + target.last[1])
    return joint4, (joint5, width), joint6


@inline_kernel
def _inside(limits, joint, place):
    """
    Compare the range of a joint with its limits, in eight lanes.

    :param limits: (12,) middles, then half widths of the ranges.
    :param joint: index of the joint, 0 to 5.
    :param place: centre and radius of the joint [rad].
    :returns: (margin, is_out): distance of the centre from the nearer limit [rad], negative outside, infinite without
        limits; mask of lanes in which the whole range is outside by more than PROVED_OUTSIDE.
    """
    half = limits[LIMIT_HALVES + joint]
    if not half < math.pi:
        return lanes.spread(math.inf), lanes.spread(0.0) > 1.0
    offset = place[0] - limits[joint]
    offset = lane_angles.wrapped(offset)
    margin = half - lanes.absolute(offset)
    return margin, margin + place[1] + PROVED_OUTSIDE < 0.0


@inline_kernel
def _store(out, row, place):
    """
    Write centre and radius of a joint in eight lanes into rows ``row`` and ``row + RADII`` of ``out``.

    :param out: (RANGES,) ranges of the joints, see :func:`bound`.
    :param place: (centre, radius) [rad].
    """
    lanes.store(out, row * LANES, place[0])
    lanes.store(out, (row + RADII) * LANES, place[1])


@inline_kernel
def _load(items):
    """
    Return the eight cells in ``items`` (ITEMS,) as :class:`Cells`.

    A cell is a range of the held joint for one posture of joints 1 to 3.
    """
    return Cells(
        lanes.load(items, 0),
        lanes.load(items, LANES),
        lanes.load(items, 2 * LANES),
        lanes.load(items, 3 * LANES),
        lane_poses.load_vector(items, 0, SHIFT),
        lanes.load(items, BALL * LANES),
        lane_poses.load_vector(items, 0, LIFT),
    )


@kernel
def bound(out, arm, pose, items):
    """
    Write the ranges of all six joints in eight cells, for both wrists, and return which cells may have a posture.

    A cell is a range of the held joint for one posture of joints 1 to 3.

    :param out: (RANGES,) out: for each wrist six centres, six radii [rad] and the least margin of the centres to the
        limits, eight lanes each. It is incomplete if all cells are excluded.
    :param arm: a :class:`HeldArm`.
    :param pose: the target, a :class:`Pose`.
    :param items: (ITEMS,) eight :class:`Cells`.
    :returns: (first, second): bits of the cells that may have a posture within limits, for each of the two wrists. A
        cell without a bit is proved to have none.
    """
    cells = _load(items)
    target = _see_target(arm, pose, cells)
    elbow, is_out = _bend_elbow(arm, cells, target.shortest, target.longest)
    margin, is_beyond = _inside(arm.limits, 2, elbow.joint)
    is_out = is_out | is_beyond
    if lanes.bits_of(is_out) == 255:
        return 0, 0
    shoulder, is_none = _place_shoulder(arm, cells, target, elbow)
    margin1, out1 = _inside(arm.limits, 0, shoulder.joint1)
    margin2, out2 = _inside(arm.limits, 1, shoulder.joint2)
    is_out = is_out | is_none | out1 | out2
    if lanes.bits_of(is_out) == 255:
        return 0, 0
    margin = lanes.lesser(margin, lanes.lesser(margin1, margin2))
    wrist, is_none = _bend_wrist(arm, target, elbow, shoulder.roll)
    is_out = is_out | is_none
    first = second = 0
    for number in range(2):
        joints = _place_wrist(arm, target, elbow, wrist, 1.0 - 2.0 * number)
        margin4, out4 = _inside(arm.limits, 3, joints[0])
        margin5, out5 = _inside(arm.limits, 4, joints[1])
        margin6, out6 = _inside(arm.limits, 5, joints[2])
        bits = 255 & ~lanes.bits_of(is_out | out4 | out5 | out6)
        least = lanes.lesser(margin, lanes.lesser(margin4, lanes.lesser(margin5, margin6)))
        row = WRIST_ROWS * number
        _store(out, row, shoulder.joint1)
        _store(out, row + 1, shoulder.joint2)
        _store(out, row + 2, elbow.joint)
        for k in range(3):
            _store(out, row + 3 + k, joints[k])
        lanes.store(out, (row + MARGIN) * LANES, least)
        if number == 0:
            first = bits
        else:
            second = bits
    return first, second
