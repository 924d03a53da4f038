"""
Ranges of the joints of seven while the held joint moves through a cell: what a proof that a pose is out of reach is made of.

Problem
-------
The held joint is the first or the last of seven. Of the six others axes 4, 5, 6 meet in W and axes 1, 2 in A, on the chain or
on the reversed chain. Bound, for eight cells of the held joint side by side, every joint of one branch over the whole cell.

Solutions
---------
A centre and a radius for each joint. A branch whose joint is outside of its limits by more than the radius has no posture within
limits in the cell. A branch whose equations cannot be met in the cell does not exist there.

Method
------
1. W moves on a circle while the held joint moves. Its distance from A, its height over axis 1 and its azimuth about axis 1 are
   sinusoids of the held joint: value and slope at the middle, and the amplitude for what is left.
2. The distance gives joint 3, whose cosine is a linear function of its square.
3. Axes 1, 2 and the direction A to W are a spherical triangle. Its angles give joints 1, 2 and the roll of the elbow.
4. A to W, axis 6 and axis 4 are a second one. It gives joints 4, 5, 6.

Ranges of cosines are widened before an arc cosine is taken, so that folds need no case of their own.

Degeneracies
------------
A triangle with a side of nearly nought or pi: the radius is pi, and nothing is ruled out by that joint.

Cost
----
About thirty arc tangents of eight angles for both wrists.

References
----------
[Moore2009] for interval arithmetic.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification.chain import map_direction, map_point, triple
from ssik_ros.kernels.geometry import lane_angles, lanes, vectors
from ssik_ros.kernels.geometry.lanes import LANES

PLAY = 1e-8
"""Play of the pose, relative to the size of the arm and in radians: more than rounding and the tolerance of a posture."""
ROUNDING = 1e-10
"""Play of a cosine, and of a place that no pose moves."""
BESIDE = 2e-6
"""How far outside of its limits a joint has to be at least [rad]: certification puts what is nearer on the limit."""
BULGE = 0.571
"""asin(x) <= x (1 + BULGE x^2) for x from 0 to 1."""

# Vectors of an arm, three numbers each, in the order of the class and in units of the size of the arm.
U, AROUND, H1, H2, H3, H4, H5, H6 = 0, 1, 2, 3, 4, 5, 6, 7
"""Axis of the held joint and a point of it; the six others."""
ACROSS, ALONG1, ALONG2 = 8, 9, 10
"""Unit vectors: h1 x h2; the parts of h2 across h1, and of h1 across h2."""
A, W, BASE, ELBOW = 11, 12, 13, 14
"""Where axes 1, 2 meet, where axes 4, 5, 6 meet; both seen from the point of axis 3."""
X4, Y4, X6, Y6 = 15, 16, 17, 18
"""Unit vectors across axis 4, across axis 6."""
VECTORS = 19

# Numbers of an arm.
C12, S12 = 0, 1
"""Cosine and sine between axes 1 and 2."""
MIDDLE3, TWO_R, PHASE3 = 2, 3, 4
"""The square of the distance of W from A is MIDDLE3 - TWO_R cos(q3 - PHASE3)."""
LEVER_W, LEVER_A, S23, S1U, S45, S56 = 5, 6, 7, 8, 9, 10
"""Distances of W and A from axis 3; sines between axes."""
C5, R5, PHASE5 = 11, 12, 13
"""h4 . R5 h6 = C5 + R5 cos(q5 - PHASE5)."""
SIGN, SIZE, DRIFT, SPLIT = 14, 15, 16, 17
"""1 or -1: how the held joint rotates the target; metres of a unit; most that W of the true chain is beside; how far axis 6 is, where
the range of joint 6 is divided, too, and 0 elsewhere."""
NUMBERS = 18

# Rows of what is written for eight cells: for each wrist six joints, their radii, least margin of the middle; then bits.
RANGES = 2 * 13 * LANES
MARGIN = 12
"""Row of the margin; a wrist has one row more."""
SHIFT, BALL, LIFT, WRIST, LAST = 4, 7, 8, 11, 12
"""Rows of eight cells behind the first four of :class:`Cells`: where W may be; which wrist is meant, 0 or 1; range of joint 6."""
ITEMS = 14 * LANES
"""Numbers of eight cells."""


class HeldArm(NamedTuple):
    """Six joints in the order of their class, and the held one."""

    vectors: np.ndarray
    """(3 VECTORS,)."""
    numbers: np.ndarray
    """(NUMBERS,)."""
    limits: np.ndarray
    """(12,) middles of the ranges, then half widths, infinite for none [rad]."""
    beside: np.ndarray
    """(18,) how far the point of each axis is from that of the true chain, across the axis."""


class Pose(NamedTuple):
    """What the target is with the held joint at zero."""

    arm: tuple[float, float, float]
    """W seen from the axis of the held joint."""
    x: tuple[float, float, float]
    y: tuple[float, float, float]
    """Images of X6, Y6."""


class Cells(NamedTuple):
    """Eight cells of the held joint, each with a branch of the first three joints."""

    middle: float
    half: float
    elbow: float
    shoulder: float
    """1 or -1 each: which angle of joint 3, which side of the plane of axes 1 and 2."""
    shift: tuple[float, float, float]
    ball: float
    """Where W may be beside the place that the target gives it: middle and radius, in units of the arm."""
    lift: tuple[float, float, float]
    """The part of that middle that the held joint rotates, at zero of the held joint."""


class Target(NamedTuple):
    """The pose as joint 1 sees it; angles as centre and radius, sides of triangles with sine and cosine of the centre."""

    shortest: float
    longest: float
    """Of A to W."""
    low: float
    high: float
    """Cosine between A to W and axis 1."""
    azimuth: tuple[float, float]
    """About axis 1, from axis 2 to A to W."""
    roll: tuple[float, float]
    """About A to W, from axis 1 to axis 6."""
    side: tuple[float, float, float]
    """Between A to W and axis 6: cosine, sine, radius."""
    last: tuple[float, float]
    """About axis 6, of A to W in the last body."""


class Elbow(NamedTuple):
    """A to W as joint 3 makes it."""

    joint: tuple[float, float]
    low: float
    high: float
    """Cosine between A to W and axis 2."""
    azimuth: tuple[float, float]
    """About axis 2, from axis 1 to A to W."""
    roll: tuple[float, float]
    """About A to W, from axis 2 to axis 4."""
    side: tuple[float, float, float]
    """Between A to W and axis 4."""
    first: tuple[float, float]
    """About axis 4, of A to W."""


class Shoulder(NamedTuple):
    """The triangle of axes 1, 2 and A to W."""

    joint1: tuple[float, float]
    joint2: tuple[float, float]
    roll: tuple[float, float]
    """About A to W, from axis 6 to axis 4."""


class Wrist(NamedTuple):
    """The triangle of A to W, axis 6 and axis 4."""

    bend: tuple[float, float]
    """Of joint 5, from its phase."""
    at4: tuple[float, float]
    at6: tuple[float, float]


@inline_kernel
def make_pose(arm, target):
    """
    Return what the target is with the held joint at zero.

    :param arm: :class:`HeldArm`.
    :param target: (12,) G of the seven joints, its inverse for a reversed class, in units of the arm.
    """
    return Pose(
        vectors.subtract(map_point(target, triple(arm.vectors, W)), triple(arm.vectors, AROUND)),
        map_direction(target, triple(arm.vectors, X6)),
        map_direction(target, triple(arm.vectors, Y6)),
    )


@inline_kernel
def _length(v):
    """Return the length of a vector in each lane."""
    return lanes.root(vectors.dot(v, v))


@inline_kernel
def _inverse(value):
    """Return one over a value that is not negative, 1e300 for nought."""
    return lanes.select(value > 1e-300, 1.0, lanes.spread(1e300)) / lanes.select(
        value > 1e-300, value, 1.0
    )


@inline_kernel
def _arc_cosine(x):
    """Return the angles of cosines from -1 to 1."""
    return lanes.arc_tangent(lanes.root(lanes.greater((1.0 - x) * (1.0 + x), 0.0)), x)


@inline_kernel
def _between_cosines(low, high):
    """Return centre and radius of the angles from 0 to pi whose cosine is in a range, and where there are none."""
    low, high = low - ROUNDING, high + ROUNDING
    least = _arc_cosine(lanes.lesser(lanes.greater(high, -1.0), 1.0))
    most = _arc_cosine(lanes.greater(lanes.lesser(low, 1.0), -1.0))
    middle, radius = 0.5 * (least + most), 0.5 * (most - least) + ROUNDING
    return (middle, radius), (low > 1.0) | (high < -1.0)


@inline_kernel
def _quotient(low, high, least, most):
    """Return the range of a range over a positive one."""
    to_least, to_most = _inverse(least), _inverse(most)
    return (
        low * lanes.select(low < 0.0, to_least, to_most),
        high * lanes.select(high > 0.0, to_least, to_most),
    )


@inline_kernel
def _product(a, b, c, d):
    """Return the range of the product of two ranges, from a to b and from c to d."""
    first, second, third, fourth = a * c, a * d, b * c, b * d
    low = lanes.lesser(lanes.lesser(first, second), lanes.lesser(third, fourth))
    high = lanes.greater(lanes.greater(first, second), lanes.greater(third, fourth))
    return low, high


@inline_kernel
def _sines(low, high):
    """Return the range of the sine of an angle from 0 to pi by that of its cosine."""
    near = lanes.lesser(lanes.absolute(low), lanes.absolute(high))
    near = lanes.select((low <= 0.0) & (high >= 0.0), 0.0, near)
    far = lanes.greater(lanes.absolute(low), lanes.absolute(high))
    least = lanes.root(lanes.greater((1.0 - far) * (1.0 + far), 0.0))
    most = lanes.root(lanes.greater((1.0 - near) * (1.0 + near), 0.0))
    return lanes.greater(least - ROUNDING, 0.0), most + ROUNDING


@inline_kernel
def _bulged(x):
    """Return an angle that the arc sine of x does not exceed, pi where x may be 1 or more."""
    return lanes.select(x < 1.0, x * (1.0 + BULGE * x * x), math.pi)


@inline_kernel
def _azimuth_of_cone(radius, sine):
    """
    Return how far the azimuth about an axis may be from that of the middle of a cone.

    :param radius: of the cone [rad].
    :param sine: of the angle between its middle and the axis.
    """
    return _bulged(radius * _inverse(sine))


@inline_kernel
def _turning(axis_x, axis_y, way, slope, width, rest):
    """
    Return centre and radius of the angle from one axis towards another of a vector whose parts are sinusoids of something.

    :param axis_x, axis_y: the axes.
    :param way, slope: the vector and its derivative at the middle.
    :param width: radius of what they depend on.
    :param rest: bound on how far the vector is from its tangent.
    """
    x, y = vectors.dot(axis_x, way), vectors.dot(axis_y, way)
    slope_x, slope_y = vectors.dot(axis_x, slope), vectors.dot(axis_y, slope)
    inverse = _inverse(lanes.root(x * x + y * y))
    across = lanes.absolute(x * slope_y - y * slope_x) * inverse * width + rest
    along = lanes.absolute(x * slope_x + y * slope_y) * inverse * width + rest
    room = lanes.root(x * x + y * y) - along
    is_known = across < math.pi * room
    radius = across / lanes.select(is_known, room, 1.0)
    return lanes.arc_tangent(y, x), lanes.select(is_known, radius, math.pi)


@inline_kernel
def _dihedral(way, square, size, a, b):
    """Return the angle about a vector from the half plane with a to that with b."""
    y = size * vectors.dot(way, vectors.cross(a, b))
    return lanes.arc_tangent(
        y, square * vectors.dot(a, b) - vectors.dot(way, a) * vectors.dot(way, b)
    )


@inline_kernel
def _see_target(arm, pose, cells):
    """Return the pose as joint 1 sees it."""
    known, numbers = arm.vectors, arm.numbers
    u, h1 = triple(known, U), triple(known, H1)
    sine, cosine = lanes.sine_cosine(numbers[SIGN] * cells.middle)
    start = vectors.add(cells.lift, pose.arm)
    lever_w = _length(vectors.cross(u, start))
    out = vectors.turn(u, cosine, sine, start)
    x, y = vectors.turn(u, cosine, sine, pose.x), vectors.turn(u, cosine, sine, pose.y)
    apart = vectors.subtract(
        vectors.subtract(triple(known, A), triple(known, AROUND)), cells.shift
    )
    way, slope = vectors.subtract(out, apart), vectors.cross(u, out)
    half, play = cells.half, cells.ball + PLAY
    lever = _length(vectors.cross(u, apart))
    rest = 0.5 * lever_w * half * half + play
    # The square of the distance is a sinusoid with the amplitude 2 lever(A) lever(W).
    square = vectors.dot(way, way)
    size = lanes.root(square)
    change = 2.0 * lanes.absolute(vectors.dot(way, slope)) * half
    change = change + lever_w * lever * half * half
    shortest = lanes.root(lanes.greater(square - change, 0.0)) - play
    shortest, longest = lanes.greater(shortest, 0.0), lanes.root(square + change) + play
    height = vectors.dot(h1, way)
    change = lanes.absolute(vectors.dot(h1, slope)) * half
    change = change + 0.5 * numbers[S1U] * lever_w * half * half + play
    low, high = _quotient(height - change, height + change, shortest, longest)
    across, along = triple(known, ACROSS), triple(known, ALONG1)
    azimuth = _turning(along, across, way, slope, half, rest)
    # Seen from the rotating target, axis 6 stands still, A to W and axis 1 move.
    last, inverse = vectors.cross(x, y), _inverse(size)
    cone = _bulged((lever * half + play) * inverse) + PLAY
    slant = _length(vectors.cross(way, last)) * inverse
    base = _length(vectors.cross(way, h1)) * inverse
    beside = _azimuth_of_cone(cone, slant)
    roll = beside + _azimuth_of_cone(cone + numbers[S1U] * half, base)
    return Target(
        shortest,
        longest,
        low - ROUNDING,
        high + ROUNDING,
        azimuth,
        (_dihedral(way, square, size, lane_angles.spread_vector(h1), last), roll),
        (vectors.dot(way, last) * inverse, slant, cone),
        (lanes.arc_tangent(vectors.dot(y, way), vectors.dot(x, way)), beside),
    )


@inline_kernel
def _bend_elbow(arm, cells, shortest, longest):
    """Return A to W as joint 3 makes it, and where that cannot be."""
    known, numbers = arm.vectors, arm.numbers
    h2, h3, h4 = triple(known, H2), triple(known, H3), triple(known, H4)
    inverse = 1.0 / numbers[TWO_R]
    low = (numbers[MIDDLE3] - longest * longest) * inverse
    high = (numbers[MIDDLE3] - shortest * shortest) * inverse
    (angle, width), is_out = _between_cosines(low, high)
    joint = numbers[PHASE3] + cells.elbow * angle
    sine, cosine = lanes.sine_cosine(joint)
    arm3 = vectors.turn(h3, cosine, sine, triple(known, ELBOW))
    way, slope = vectors.subtract(arm3, triple(known, BASE)), vectors.cross(h3, arm3)
    rest = 0.5 * numbers[LEVER_W] * width * width + ROUNDING
    square = vectors.dot(way, way)
    size = lanes.root(square)
    inverse = _inverse(size)
    height = vectors.dot(h2, way)
    change = lanes.absolute(vectors.dot(h2, slope)) * width + rest
    low, high = _quotient(height - change, height + change, shortest, longest)
    across, along = triple(known, ACROSS), triple(known, ALONG2)
    azimuth = _turning(along, vectors.scale(-1.0, across), way, slope, width, rest)
    # Seen from the body behind joint 3, axis 4 stands still, A to W and axis 2 move.
    own = vectors.turn(h3, cosine, -sine, way)
    cone = _bulged(numbers[LEVER_A] * width * inverse) + ROUNDING
    slant = _length(vectors.cross(own, h4)) * inverse
    base = _length(vectors.cross(way, h2)) * inverse
    beside = _azimuth_of_cone(cone, slant)
    roll = beside + _azimuth_of_cone(cone + numbers[S23] * width, base)
    axis4 = vectors.turn(h3, cosine, sine, h4)
    first = lanes.arc_tangent(
        vectors.dot(triple(known, Y4), own), vectors.dot(triple(known, X4), own)
    )
    elbow = Elbow(
        (joint, width),
        low - ROUNDING,
        high + ROUNDING,
        azimuth,
        (_dihedral(way, square, size, lane_angles.spread_vector(h2), axis4), roll),
        (vectors.dot(own, h4) * inverse, slant, cone),
        (first, beside),
    )
    return elbow, is_out


@inline_kernel
def _angle_of_triangle(low, high, least, most):
    """Return the range of an angle whose cosine is a range over a positive one, and where there is none."""
    low, high = _quotient(low, high, least, most)
    return _between_cosines(low, high)


@inline_kernel
def _place_shoulder(arm, cells, target, elbow):
    """Return joints 1 and 2 and the roll of the elbow, and where there are none."""
    c, s = arm.numbers[C12], arm.numbers[S12]
    size = abs(c)
    least_a, most_a = _sines(target.low, target.high)
    least_b, most_b = _sines(elbow.low, elbow.high)
    # c times a range: both ends by the sign of c.
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
    """Return the angles of the triangle of A to W, axis 6 and axis 4, and where joint 5 cannot make it."""
    c6, s6, cone6 = target.side
    c4, s4, cone4 = elbow.side
    sine, cosine = lanes.sine_cosine(roll[0])
    most6, most4 = lanes.lesser(s6 + cone6, 1.0), lanes.lesser(s4 + cone4, 1.0)
    y4, x4 = s6 * sine, c6 * s4 - s6 * c4 * cosine
    between = lanes.root(y4 * y4 + x4 * x4)
    angle = lanes.arc_tangent(between, c6 * c4 + s6 * s4 * cosine)
    cones = cone4 + cone6 + PLAY
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
    """Return joints 4, 5 and 6 of one bend of the wrist."""
    known, numbers = arm.vectors, arm.numbers
    h4, h5, h6 = triple(known, H4), triple(known, H5), triple(known, H6)
    bend, width = wrist.bend
    joint5 = numbers[PHASE5] + side * bend
    sine, cosine = lanes.sine_cosine(joint5)
    ahead = vectors.turn(h5, cosine, sine, lane_angles.spread_vector(h6))
    slope = vectors.cross(h5, ahead)
    rest = (0.5 * numbers[S56]) * width * width + ROUNDING
    about4 = _turning(triple(known, X4), triple(known, Y4), ahead, slope, width, rest)
    back = vectors.turn(h5, cosine, -sine, lane_angles.spread_vector(h4))
    slope = vectors.cross(back, h5)
    rest = (0.5 * numbers[S45]) * width * width + ROUNDING
    about6 = _turning(triple(known, X6), triple(known, Y6), back, slope, width, rest)
    at4, at6 = wrist.at4, wrist.at6
    joint4 = (at4[0] + elbow.first[0] - about4[0], at4[1] + elbow.first[1] + about4[1])
    joint6 = (about6[0] + at6[0] - target.last[0], about6[1] + at6[1] + target.last[1])
    return joint4, (joint5, width), joint6


@inline_kernel
def _inside(limits, joint, place):
    """Return how far the centre of a joint is within its limits, infinite for none, and where the whole range is outside."""
    half = limits[6 + joint]
    if not half < math.pi:
        return lanes.spread(math.inf), lanes.spread(0.0) > 1.0
    away = place[0] - limits[joint]
    away = away - 2.0 * math.pi * lanes.floor(away * (0.5 / math.pi) + 0.5)
    margin = half - lanes.absolute(away)
    return margin, margin + place[1] + BESIDE < 0.0


@inline_kernel
def _store(out, row, place):
    """Write centre and radius of a joint."""
    lanes.store(out, row * LANES, place[0])
    lanes.store(out, (row + 6) * LANES, place[1])


@inline_kernel
def _load_vector(items, row):
    """Return three rows."""
    return (
        lanes.load(items, row * LANES),
        lanes.load(items, (row + 1) * LANES),
        lanes.load(items, (row + 2) * LANES),
    )


@inline_kernel
def _load(items):
    """Return eight cells."""
    return Cells(
        lanes.load(items, 0),
        lanes.load(items, LANES),
        lanes.load(items, 2 * LANES),
        lanes.load(items, 3 * LANES),
        _load_vector(items, SHIFT),
        lanes.load(items, BALL * LANES),
        _load_vector(items, LIFT),
    )


@kernel
def bound(out, arm, pose, items):
    """
    Write the ranges of the joints for both wrists and return the bits of the lanes that may hold a posture within limits.

    :param out: (RANGES,) for each wrist six centres, six radii and the least margin of the centres.
    :param arm: :class:`HeldArm`.
    :param pose: :class:`Pose`.
    :param items: (ITEMS,) eight :class:`Cells`.
    :returns: bits of the first wrist, bits of the second one.
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
        row = 13 * number
        _store(out, row, shoulder.joint1)
        _store(out, row + 1, shoulder.joint2)
        _store(out, row + 2, elbow.joint)
        for k in range(3):
            _store(out, row + 3 + k, joints[k])
        lanes.store(out, (row + 12) * LANES, least)
        if number == 0:
            first = bits
        else:
            second = bits
    return first, second
