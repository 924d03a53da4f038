"""
Prove that a pose is out of reach: convex hull of all positions of a point of the last link, as a support function.

:func:`compute` writes the hull of a point of a chain; :func:`is_beyond` tests a position, :func:`refuses` a pose.

Problem
    Given are a chain of joints, which turn by any angle or slide within limits, and a position x of a point of its last
    link. Decide in well below a microsecond that no joint values bring the point to x. If some do, never claim it.

Method
    The positions of the point relative to the axis of joint k, while joint k and all later joints move, form a solid of
    revolution. Its support function h(u) = max over the positions of u.x depends only on rho and z of u, the components
    perpendicular to and along the axis. It is stored at directions u_i = (1 - |d_i|, d_i), d_i from -1 to 1.

    1. Between two stored directions h is convex, so the line between its values is an upper bound.
    2. Step from the axis of joint k + 1 to the axis of joint k. At a direction u, the offset between the axes adds
       u.offset. A prismatic joint between them adds the larger of u.(low axis) and u.(high axis). The body after them
       adds h(u). The largest value over a turn about axis k is the largest of A samples, raised by rho r (1 - cos(step
       / 2)) with step = 2 pi / A. The reason: each position adds constant + rho r' cos(angle - angle of the position),
       where r' is at most the radius r of the body about axis k.
    3. Prismatic joints before the first revolute joint are stored separately from the table.
    4. x is out of the hull if u.x - h(u) exceeds its margin |u| at a stored direction. This is concave over d on either
       side of zero, and bisection finds the largest value. Positions inside a ball in the hull are never out.

Solutions
    A proof, or no statement. Cavities and orientations without joint values are not detected. The limits of revolute
    joints are ignored, so a refused pose is out of reach whatever these limits are.

Degeneracies
    A chain has no hull if a prismatic joint has no limits, or if no joint is revolute. More than three prismatic joints
    before the first revolute joint exclude a hull, too.

Cost
    For a chain O(n D A), with D = 257 directions and A = 256 angles. For a pose nine products, then O(log D).

References
    [Schneider2014] for support functions; docs/math/reach_hull.md for the whole derivation.
"""

import math

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.geometry.vectors import read

# Hulls of a problem or a plan: of each a point of the last link in the frame of the pose, its distance from that frame's
# origin, and the array of the hull.
POINT, LEVER, HULL = 0, 3, 4

# Places in the array of a hull.
ORIGIN, AXIS = 0, 3
"""Offsets: a point of the first revolute axis, and its direction, in the base frame."""
CENTRE, INNER = 6, 7
"""Offsets: height above this point, along the axis, of a ball inside the hull; its squared radius, infinite without a
hull."""
SLIDES, SLIDE, SLIDE_REALS, MOST_SLIDES = 8, 9, 5, 3
"""Number of prismatic joints before this axis; offset and size of their rows: direction, lowest and highest value
[m]."""
TABLE = SLIDE + SLIDE_REALS * MOST_SLIDES
DIRECTIONS = 257
SIZE = TABLE + DIRECTIONS
BLOCK = HULL + SIZE

ANGLES = 256
"""Number of samples of a turn."""
LEAST_NORMAL_SINE = 1e-6
"""If the sine of the angle between axes is larger, their common perpendicular is defined."""
LEAST_PLANE_SLOPE = 1e-4
"""Ratio of distances from the first axis and from its point above which a position defines a plane through the axis."""
HULL_ENLARGEMENT = 1e-10
"""Enlargement of the hull that covers rounding, as a share of its size."""


@inline_kernel
def direction(i):
    """
    Return (rho, z) of direction ``i``, one of the DIRECTIONS directions at which a hull stores its support function.

    rho is the component at right angles to the axis, z the component along it. They satisfy rho + |z| = 1, so that the
    direction is not a unit vector.
    """
    z = (2.0 * i - (DIRECTIONS - 1)) / (DIRECTIONS - 1)
    return 1.0 - abs(z), z


@inline_kernel
def length_of(i):
    """Return the Euclidean length of direction ``i`` of :func:`direction`, between 0.7 and 1."""
    rho, z = direction(i)
    return math.sqrt(rho * rho + z * z)


@inline_kernel
def interpolate(table, rho, z):
    """
    Return an upper bound of the support function of a body of revolution in any direction [m].

    :param table: (DIRECTIONS,) values of the support function at the stored directions.
    :param rho, z: components of the direction at right angles to and along the axis, of any length; rho >= 0, not both
        0.
    """
    length = rho + abs(z)
    place = (0.5 * (DIRECTIONS - 1)) * (1.0 + z / length)
    i = min(int(place), DIRECTIONS - 2)
    part = place - i
    return length * (table[i] + part * (table[i + 1] - table[i]))


@kernel
def compute(hull, kinds, axes, points, lower, upper, point, next_table, slides):
    """
    Write the hull that contains all positions of a point of the last link of a chain.

    An infinite number at INNER marks a missing hull. The hull is missing if a prismatic joint has no limits, no joint
    is revolute, or too many prismatic joints come first.

    :param hull: (SIZE,) out.
    :param kinds: (n,) 0 for revolute joints, 1 for prismatic joints.
    :param axes, points: (3 n,) unit axes, and a point on each, in the base frame with all joints at zero [m].
    :param lower, upper: (n,) limits of prismatic joints [m]; limits of revolute joints are not read.
    :param point: (3,) the point whose positions form the hull, in the base frame with all joints at zero [m].
    :param next_table: (DIRECTIONS,) scratch.
    :param slides: (5 n,) scratch.
    """
    table = vector(hull, TABLE, DIRECTIONS)
    vectors.fill(hull, 0.0)
    hull[INNER] = math.inf
    waiting, next_joint = 0, -1
    for joint in range(kinds.shape[0] - 1, -1, -1):
        if kinds[joint] != 0:
            if not math.isfinite(upper[joint] - lower[joint]):
                return
            vectors.write(slides, SLIDE_REALS * waiting, read(axes, 3 * joint))
            slides[SLIDE_REALS * waiting + 3] = lower[joint]
            slides[SLIDE_REALS * waiting + 4] = upper[joint]
            waiting += 1
        else:
            vectors.copy(next_table, table)
            start = read(point, 0) if next_joint < 0 else read(points, 3 * next_joint)
            offset = vectors.subtract(start, read(points, 3 * joint))
            axis = read(axes, 3 * joint)
            inner = read(axes, 3 * next_joint) if next_joint >= 0 else axis
            _revolve(table, axis, offset, inner, next_table, slides, waiting)
            waiting, next_joint = 0, joint
    if next_joint < 0 or waiting > MOST_SLIDES:
        return
    hull[SLIDES] = waiting
    vectors.put(hull[SLIDE:], slides, SLIDE_REALS * waiting)
    vectors.write(hull, ORIGIN, read(points, 3 * next_joint))
    vectors.write(hull, AXIS, read(axes, 3 * next_joint))
    _finish(hull, table)


@kernel
def _finish(hull, table):
    """
    Enlarge the support values of a hull in place, so that rounding makes it never too small, and store an inner ball.

    Each value grows by HULL_ENLARGEMENT times the largest absolute value. ``hull[CENTRE]`` gets the height of the
    ball's centre along the first revolute axis, counted from the point of the axis at ORIGIN [m]. ``hull[INNER]`` gets
    its squared radius [m^2], 0 if no ball fits.

    :param table: (DIRECTIONS,) support values [m].
    """
    size = vectors.largest_of(table, DIRECTIONS)
    for i in range(DIRECTIONS):
        table[i] += HULL_ENLARGEMENT * size
    centre = 0.5 * (table[DIRECTIONS - 1] - table[0])
    radius = math.inf
    for i in range(DIRECTIONS):
        _, z = direction(i)
        radius = min(radius, (table[i] - centre * z) / length_of(i))
    hull[CENTRE], hull[INNER] = centre, max(radius, 0.0) ** 2


@kernel
def _revolve(table, axis, offset, inner, next_table, slides, waiting):
    """
    Write the support values of the body that arises when another body turns about an axis; step 2 of the method.

    The other body holds all positions that the joints after this axis reach.

    :param table: (DIRECTIONS,) out [m].
    :param axis: unit vector of the axis.
    :param offset: vector from the point of this axis to the reference point of the next axis [m].
    :param inner: unit vector of the next axis.
    :param next_table: (DIRECTIONS,) support values of the other body, relative to the next axis [m].
    :param slides: rows of the prismatic joints between both axes: direction, lowest and highest value.
    :param waiting: number of these prismatic joints.
    """
    across = vectors.cross(axis, inner)
    sine = vectors.norm(across)
    count, begin, step = ANGLES, 0.0, 2.0 * math.pi / ANGLES
    first = _radial(axis, offset)
    raised, tilt = 1.0 - math.cos(0.5 * step), 0.0
    if waiting == 0 and sine <= LEAST_NORMAL_SINE:
        # Parallel axes: the largest value is in the direction of the offset.
        count, raised, tilt = 1, 0.0, 3.0 * sine * vectors.largest_of(next_table, DIRECTIONS)
    elif waiting == 0:
        # The body after this axis is symmetric about the common perpendicular, so half a turn has the largest value.
        side = 1.0 if vectors.dot(across, offset) >= 0.0 else -1.0
        first = vectors.scale(side / sine, across)
        count, begin = ANGLES // 2 + 1, -0.5 * math.pi
    second = vectors.cross(axis, first)
    vectors.fill(table, -math.inf)
    for j in range(count):
        cosine, sine = math.cos(begin + j * step), math.sin(begin + j * step)
        u = vectors.add(vectors.scale(cosine, first), vectors.scale(sine, second))
        _raise_to(table, axis, u, offset, inner, next_table, slides, waiting)
    radius = max(table[DIRECTIONS // 2], 0.0) / math.cos(0.5 * step)
    for i in range(DIRECTIONS):
        rho, _ = direction(i)
        table[i] += rho * radius * raised + tilt


@kernel
def _raise_to(table, axis, u, offset, inner, next_table, slides, waiting):
    """
    Raise support values in place, so that they cover the moving body at one angle of the joint.

    It is one angle of :func:`_revolve`.

    :param table: (DIRECTIONS,) support values [m].
    :param axis, offset, inner: unit vector of the axis, vector to the reference point of the next axis [m], unit vector
        of the next axis.
    :param next_table: (DIRECTIONS,) support values of the moving body, relative to the next axis [m].
    :param slides, waiting: rows of the prismatic joints between both axes, and their number.
    :param u: unit vector at right angles to the axis, which stands for the angle: the stored directions are taken in
        the plane of the axis and ``u``.
    """
    u_offset, u_inner = vectors.dot(u, offset), vectors.dot(u, inner)
    axis_offset, axis_inner = vectors.dot(axis, offset), vectors.dot(axis, inner)
    for i in range(DIRECTIONS):
        rho, z = direction(i)
        along = rho * u_inner + z * axis_inner
        rest = math.sqrt(max(rho * rho + z * z - along * along, 0.0))
        value = rho * u_offset + z * axis_offset + interpolate(next_table, rest, along)
        for k in range(waiting):
            at = SLIDE_REALS * k
            slide_axis = read(slides, at)
            along = rho * vectors.dot(u, slide_axis) + z * vectors.dot(axis, slide_axis)
            value += max(slides[at + 3] * along, slides[at + 4] * along)
        table[i] = max(table[i], value)


@inline_kernel
def _radial(axis, offset):
    """
    Return the unit vector of the part of ``offset`` at right angles to an axis.

    If this part is negligible, any unit vector at right angles to the axis is returned.
    """
    across = vectors.subtract(offset, vectors.scale(vectors.dot(axis, offset), axis))
    length = vectors.norm(across)
    if not length > LEAST_NORMAL_SINE * vectors.norm(offset):
        return vectors.perpendicular(axis)
    return vectors.scale(1.0 / length, across)


@inline_kernel
def meridian(hull, x, y, z):
    """
    Return (distance from the first revolute axis [m], height along it [m], unit vector away from it) of a position.

    The height counts from the axis point of the hull. If the position is nearly on the axis, the unit vector is any one
    at right angles to it. Prismatic joints before this axis are set to the values that bring the axis nearest to the
    position, one after the other.

    :param hull: (SIZE,).
    :param x, y, z: the position in the base frame [m].
    """
    axis = read(hull, AXIS)
    offset = vectors.subtract((x, y, z), read(hull, ORIGIN))
    far = vectors.norm(offset)
    for k in range(int(hull[SLIDES])):
        at = SLIDE + SLIDE_REALS * k
        slide_axis = read(hull, at)
        along = min(max(vectors.dot(slide_axis, offset), hull[at + 3]), hull[at + 4])
        offset = vectors.subtract(offset, vectors.scale(along, slide_axis))
    height = vectors.dot(axis, offset)
    across = vectors.subtract(offset, vectors.scale(height, axis))
    rho = vectors.norm(across)
    # On the axis, the remainder is rounding and has no direction: use any direction perpendicular to the axis.
    is_clear = rho > LEAST_PLANE_SLOPE * far
    unit = vectors.scale(1.0 / rho, across) if is_clear else vectors.perpendicular(axis)
    return rho, height, unit


@inline_kernel
def gap(hull, i, rho, height, unit, x, y, z):
    """
    Return u.x - h(u), by how much a position x exceeds the hull in stored direction ``i``; positive proves x outside.

    The direction u is in the plane of the first axis and ``unit``. It is not a unit vector: divide by :func:`length_of`
    for metres.

    :param hull: (SIZE,).
    :param rho, height, unit: from :func:`meridian`.
    :param x, y, z: the position in the base frame [m].
    """
    across, along = direction(i)
    slides = int(hull[SLIDES])
    if slides == 0:
        return across * rho + along * height - hull[TABLE + i]
    u = vectors.add(vectors.scale(across, unit), vectors.scale(along, read(hull, AXIS)))
    value = vectors.dot(u, vectors.subtract((x, y, z), read(hull, ORIGIN))) - hull[TABLE + i]
    for k in range(slides):
        at = SLIDE + SLIDE_REALS * k
        component = vectors.dot(u, read(hull, at))
        value -= max(hull[at + 3] * component, hull[at + 4] * component)
    return value


@inline_kernel
def is_in_ball(hull, x, y, z):
    """
    Return whether a position is in the ball that lies inside the hull, so that no direction can prove it outside.

    False for hulls with prismatic joints before the first revolute axis, which move the ball; True for a missing hull.

    :param hull: (SIZE,).
    :param x, y, z: the position in the base frame [m].
    """
    offset = vectors.subtract((x, y, z), read(hull, ORIGIN))
    offset = vectors.subtract(offset, vectors.scale(hull[CENTRE], read(hull, AXIS)))
    return hull[SLIDES] == 0.0 and vectors.dot(offset, offset) <= hull[INNER]


@inline_kernel
def is_beyond(hull, x, y, z, margin):
    """
    Return whether a position is proved to be farther than a margin from the hull.

    False proves nothing. A missing hull gives False.

    :param hull: (SIZE,).
    :param x, y, z: the position in the base frame [m].
    :param margin: distance from the hull [m], >= 0.
    """
    if hull[INNER] == math.inf or is_in_ball(hull, x, y, z):
        return False
    rho, height, unit = meridian(hull, x, y, z)
    above = height - hull[CENTRE]
    if rho * rho + above * above <= hull[INNER]:
        return False
    return _is_separated(hull, rho, height, unit, x, y, z, margin)


@kernel
def _is_separated(hull, rho, height, unit, x, y, z, margin):
    """
    Return whether a stored direction proves that a position is farther than ``margin`` [m] from the hull.

    The best direction is found by bisection; step 4 of the module's method.

    :param rho, height, unit: distance of the position from the axis and height along it [m], and unit vector away from
        the axis, from :func:`meridian`.
    :param x, y, z: the position in the base frame [m].
    """
    middle = DIRECTIONS // 2
    for half in range(2):
        first, last = half * middle, (half + 1) * middle
        while first < last:
            i = (first + last) // 2
            here = gap(hull, i, rho, height, unit, x, y, z) - margin * length_of(i)
            if here > 0.0:
                return True
            after = gap(hull, i + 1, rho, height, unit, x, y, z) - margin * length_of(i + 1)
            if after > here:
                first = i + 1
            else:
                last = i
        if gap(hull, first, rho, height, unit, x, y, z) > margin * length_of(first):
            return True
    return False


@inline_kernel
def refuses(hulls, count, pose, position, rotation):
    """
    Return whether hulls prove that no joint values reach a pose within tolerances; False proves nothing.

    Each hull belongs to a point of the last link. The pose is refused if the place of a point is farther from its hull
    than the tolerances can explain.

    :param hulls: (count BLOCK,) or more: for each hull the point in the frame of the pose, its distance from the origin
        of this frame, and the hull.
    :param count: number of hulls.
    :param pose: (12,) in the base frame, its rotation exact to rounding.
    :param position: largest position error of a solution [m].
    :param rotation: largest rotation error of a solution [rad].
    """
    for k in range(count):
        at = k * BLOCK
        px, py, pz = read(hulls, at + POINT)
        if is_beyond(
            vector(hulls, at + HULL, SIZE),
            pose[0] * px + pose[1] * py + pose[2] * pz + pose[9],
            pose[3] * px + pose[4] * py + pose[5] * pz + pose[10],
            pose[6] * px + pose[7] * py + pose[8] * pz + pose[11],
            position + rotation * hulls[at + LEVER],
        ):
            return True
    return False


@kernel
def excess(hull, x, y, z):
    """
    Return a lower bound of the distance of a position from the hull [m]; zero or negative if nothing is proved.

    It is -inf for a missing hull.

    :param hull: (SIZE,).
    :param x, y, z: the position in the base frame [m].
    """
    largest = -math.inf
    if hull[INNER] == math.inf:
        return largest
    rho, height, unit = meridian(hull, x, y, z)
    for i in range(DIRECTIONS):
        largest = max(largest, gap(hull, i, rho, height, unit, x, y, z) / length_of(i))
    return largest


def no_hull() -> np.ndarray:
    """Return the numbers (BLOCK,) that mark a missing hull: zeros, and infinity as the ball's squared radius at INNER."""
    numbers = np.zeros(BLOCK)
    numbers[HULL + INNER] = math.inf
    return numbers
