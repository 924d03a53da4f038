"""
Bounds on the distance of two convex bodies.

:func:`bounds` returns a lower and an upper bound; :func:`support` is the point of a core that is furthest in a
direction.

Problem
-------
A and B are convex. Each is the set of points within a radius of a core: point, segment, box, cylinder, cone or hull of
points. Find numbers l <= d(A, B) <= u.

Method
------
1. The difference A - B of the cores is convex. Its support point in a direction is A's support point minus B's.
2. Wolfe's algorithm finds the point x nearest to the origin in the hull of at most four support points. In each step a
   support point in direction -x is added, and points with zero weight are dropped. |x| is always an upper bound.
3. For any support point s in direction -x, s.x / |x| is a lower bound, because all of A - B lies beyond that plane.
4. These bounds are for the cores; both radii are subtracted from them.

Degeneracies
------------
Support points in one plane make the small linear system singular. The search then ends with the bounds that it has;
both hold.

References: Wolfe 1976; Gilbert, Johnson, Keerthi 1988.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix
from ssik_ros.kernels.geometry.vectors import add, dot, norm, scale, subtract

POINT, SEGMENT, BOX, CYLINDER, CONE, HULL = 0, 1, 2, 3, 4, 5
"""Cores with their sizes: none; half length along z; three half sides; radius and half length along z (cylinder, cone);
points."""
SIZES = 4
"""Numbers of a core: three sizes, then the radius around it."""
WEIGHTS, AFFINE, EQUATIONS = 12, 16, 20
"""Offsets in the scratch of :func:`bounds` after four support points: their weights; the weights of the nearest point of
their affine hull; equations for these weights, with right sides in column RIGHT."""
RIGHT = 3
BOUNDS_SCRATCH = EQUATIONS + 3 * 4
"""Size of the scratch of :func:`bounds`, in numbers."""
MOST_STEPS = 40
DISTANCE_GAP = 1e-3
"""Gap between the bounds on a distance at which its search ends, as a share of the distance [1]."""
PLANE_PIVOT = 1e-12
"""Relative pivot below which support points count as being in one plane."""


@inline_kernel
def _local(pose, d):
    """Return the direction ``d``, given in the common frame, in the frame of a body with pose (12,)."""
    return (
        pose[0] * d[0] + pose[3] * d[1] + pose[6] * d[2],
        pose[1] * d[0] + pose[4] * d[1] + pose[7] * d[2],
        pose[2] * d[0] + pose[5] * d[1] + pose[8] * d[2],
    )


@inline_kernel
def _placed(pose, p):
    """Return the point ``p``, given in the frame of a body with pose (12,), in the common frame."""
    return (
        pose[0] * p[0] + pose[1] * p[1] + pose[2] * p[2] + pose[9],
        pose[3] * p[0] + pose[4] * p[1] + pose[5] * p[2] + pose[10],
        pose[6] * p[0] + pose[7] * p[1] + pose[8] * p[2] + pose[11],
    )


@kernel
def support(kind, sizes, points, pose, d):
    """
    Return the point of a body's core that is furthest in a direction, in the common frame [m].

    The core is the body without the radius that is added around it.

    :param kind: kind of the core: POINT, SEGMENT, BOX, CYLINDER, CONE or HULL.
    :param sizes: (SIZES,) half lengths and radii of the core [m], as listed at POINT.
    :param points: (p, 3) vertices of a HULL in the body's frame [m]; not read for other kinds.
    :param pose: (12,) of the body in the common frame.
    :param d: the direction in the common frame, of any length.
    """
    a = _local(pose, d)
    x, y, z = 0.0, 0.0, 0.0
    if kind == SEGMENT:
        z = math.copysign(sizes[0], a[2])
    elif kind == BOX:
        x, y = math.copysign(sizes[0], a[0]), math.copysign(sizes[1], a[1])
        z = math.copysign(sizes[2], a[2])
    elif kind in (CYLINDER, CONE):
        across = math.sqrt(a[0] * a[0] + a[1] * a[1])
        z = math.copysign(sizes[1], a[2])
        if kind == CONE:
            z = sizes[1] if 2.0 * sizes[1] * a[2] > sizes[0] * across else -sizes[1]
        if across > 0.0 and (kind == CYLINDER or z < 0.0):
            x, y = sizes[0] * a[0] / across, sizes[0] * a[1] / across
    elif kind == HULL:
        best = -math.inf
        for i in range(points.shape[0]):
            value = points[i, 0] * a[0] + points[i, 1] * a[1] + points[i, 2] * a[2]
            if value > best:
                best, x, y, z = value, points[i, 0], points[i, 1], points[i, 2]
    return _placed(pose, (x, y, z))


@inline_kernel
def _vertex(room, i):
    """Return support point ``i`` (x, y, z), which :func:`bounds` stores in its scratch array ``room``."""
    return room[3 * i], room[3 * i + 1], room[3 * i + 2]


@kernel
def _affine(room, count):
    """
    Find the point nearest to the origin in the line, plane or space through the first ``count`` stored points.

    The point is a weighted mean of the stored points. The weights (``count`` numbers with sum 1) are written from
    ``room[AFFINE]`` on, and may be negative.

    :param room: scratch of :func:`bounds`, which begins with the stored points.
    :returns: False if the points are degenerate, so that no weights exist; else True.
    """
    first, size = _vertex(room, 0), count - 1
    equations = matrix(room, EQUATIONS, 3, 4)
    largest = 0.0
    for i in range(size):
        u = subtract(_vertex(room, i + 1), first)
        for j in range(size):
            equations[i, j] = dot(u, subtract(_vertex(room, j + 1), first))
        equations[i, RIGHT] = -dot(u, first)
        largest = max(largest, equations[i, i])
    for i in range(size):
        pivot = equations[i, i]
        if not pivot > PLANE_PIVOT * largest:
            return False
        for k in range(i + 1, size):
            factor = equations[k, i] / pivot
            for j in range(i, 4):
                equations[k, j] -= factor * equations[i, j]
    total = 0.0
    for back in range(size):
        i = size - 1 - back
        value = equations[i, RIGHT]
        for j in range(i + 1, size):
            value -= equations[i, j] * room[AFFINE + j + 1]
        room[AFFINE + i + 1] = value / equations[i, i]
        total += room[AFFINE + i + 1]
    room[AFFINE] = 1.0 - total
    return True


@kernel
def _drop(room, count):
    """
    Move the weights at ``room[WEIGHTS]`` towards the weights at ``room[AFFINE]`` until one is zero; drop its point.

    :param room: scratch of :func:`bounds`; its stored points and their weights at ``room[WEIGHTS]`` are changed.
    :param count: number of stored points.
    :returns: number of points that are left; every point of zero weight is dropped.
    """
    part = 1.0
    for i in range(count):
        if room[AFFINE + i] <= 0.0 and room[WEIGHTS + i] > room[AFFINE + i]:
            part = min(part, room[WEIGHTS + i] / (room[WEIGHTS + i] - room[AFFINE + i]))
    left = 0
    for i in range(count):
        weight = room[WEIGHTS + i] + part * (room[AFFINE + i] - room[WEIGHTS + i])
        if weight > 1e-14 and (room[AFFINE + i] > 0.0 or part < 1.0):
            for k in range(3):
                room[3 * left + k] = room[3 * i + k]
            room[WEIGHTS + left] = weight
            left += 1
    return left


@kernel
def _nearest(room, count):
    """
    Find the point nearest to the origin in the convex hull of the first ``count`` stored points.

    Points that do not contribute are dropped. The weights of the others are written from ``room[WEIGHTS]`` on; their
    weighted mean is the nearest point.

    :param room: scratch of :func:`bounds`, which begins with the stored points.
    :returns: number of points that are left; 0 if the points are degenerate, so that the search must end.
    """
    while count > 1:
        if not _affine(room, count):
            return 0
        inside = True
        for i in range(count):
            inside = inside and room[AFFINE + i] > 0.0
        if inside:
            for i in range(count):
                room[WEIGHTS + i] = room[AFFINE + i]
            return count
        less = _drop(room, count)
        if less == count or less == 0:
            return 0
        count = less
    room[WEIGHTS] = 1.0
    return count


@inline_kernel
def _mean(room, count):
    """Return the mean (x, y, z) of the first ``count`` stored points, weighted by the numbers from ``room[WEIGHTS]`` on."""
    x = (0.0, 0.0, 0.0)
    for i in range(count):
        x = add(x, scale(room[WEIGHTS + i], _vertex(room, i)))
    return x


@kernel
def bounds(kinds, sizes, points, poses, a, b, ends, axis, wanted, hit, room):
    """
    Return (lower bound, upper bound) of the distance of two convex bodies [m].

    A body is a core (point, segment, box, cylinder, cone or hull of points) with a radius around it. If bodies touch,
    the bounds may be negative. The upper bound is infinite if the first direction proves a distance of ``wanted``. The
    search has MOST_STEPS steps at most; both bounds hold however it ends.

    :param kinds: (s,) kinds of the cores of all bodies.
    :param sizes: (s, SIZES) sizes of the cores, then the radius around each core [m].
    :param points: (., 3) vertices of all hulls, one body after the other [m].
    :param poses: (s, 12) poses of all bodies in a common frame.
    :param a, b: indices of the two bodies.
    :param ends: (s + 1,) index of each body's first vertex in ``points``, then the number of vertices.
    :param axis: (3,) in: direction that separated the bodies in an earlier call, or zero; out: the direction of the
        lower bound.
    :param wanted: a lower bound of this size ends the search [m].
    :param hit: an upper bound below this ends the search [m].
    :param room: (BOUNDS_SCRATCH,) scratch.
    """
    radii = sizes[a, 3] + sizes[b, 3]
    vertices_a, vertices_b = points[ends[a] : ends[a + 1]], points[ends[b] : ends[b + 1]]
    x = (axis[0], axis[1], axis[2])
    if norm(x) == 0.0:
        x = (
            poses[a, 9] - poses[b, 9],
            poses[a, 10] - poses[b, 10],
            poses[a, 11] - poses[b, 11] + 1e-9,
        )
    low, high, count = -math.inf, math.inf, 0
    for _ in range(MOST_STEPS):
        s = subtract(
            support(kinds[a], sizes[a], vertices_a, poses[a], scale(-1.0, x)),
            support(kinds[b], sizes[b], vertices_b, poses[b], x),
        )
        bound = dot(x, s) / norm(x)
        if bound > low:
            low = bound
            axis[0], axis[1], axis[2] = x
        if low - radii >= wanted or (high < math.inf and high - low <= DISTANCE_GAP * high):
            break
        room[3 * count], room[3 * count + 1], room[3 * count + 2] = s
        room[WEIGHTS + count] = 0.0
        count = _nearest(room, count + 1)
        if count == 0:
            break
        x = _mean(room, count)
        high = min(high, norm(x))
        if count == 4 or high - radii < hit or high == 0.0:
            break
    if count == 4:
        high = 0.0
    return low - radii, high - radii
