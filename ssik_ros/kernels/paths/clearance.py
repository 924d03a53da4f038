"""
Collision checks of postures of a chain, and of straight motions between postures.

:func:`check_rows` checks postures, :func:`follow` checks the straight motions between them.

Problem
-------
Bodies are attached to the links of a chain. Given pairs of bodies, which postures keep each pair further apart than a
clearance? And which straight motions in joint space from one posture to another?

Method
------
1. Bounding spheres settle most pairs; :mod:`ssik_ros.kernels.paths.convex` gives bounds on the distance of the others.
2. The lever of a body for joint j is the largest distance that a point of the body moves per unit of the joint. It
   holds in any posture. While joint j moves by dq_j, the body moves by at most |dq_j| times its lever. A pair at
   distance d is safe as long as its bodies move by less than d minus the clearance.
3. A motion is followed by such safe parts (conservative advancement). If a part gets too short, or after PARTS parts,
   the rest of the motion is not proved.

Degeneracies
------------
The convex hull around a mesh may touch another body although the mesh does not, and the bounds on a distance may not
meet. Such a pair is DOUBTFUL: an exact check has to decide.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification import chain
from ssik_ros.kernels.geometry import se3
from ssik_ros.kernels.paths import convex

COLLISION_FREE, COLLIDES, DOUBTFUL = 0, 1, 2
SHORTEST_MOTION = 1e-3
"""Part of a motion below which it is not followed further."""
PARTS = 400
"""Most parts of one motion."""


class Bodies(NamedTuple):
    """
    A chain, the convex bodies on its links, the pairs of bodies to check, and scratch arrays.

    ``axes``, ``points`` and ``slides`` (bit mask of the prismatic joints) describe the chain in the base frame, joints
    at zero. ``kinds``, ``sizes``, ``vertices`` and ``ends`` give the shape of each body, ``homes`` its pose at zero,
    ``carriers`` the last joint that moves it (-1 for none), ``spheres`` its bounding sphere. ``pairs`` (p, 2) are the
    pairs to check. ``levers`` (n, s) is the largest motion of a body per unit of a joint. The fields from ``poses`` on
    are scratch. The kernels of this module take the fields one by one, in this order.
    """

    axes: np.ndarray
    """(3 n,) unit direction of each joint's axis in the base frame, all joints at zero."""
    points: np.ndarray
    """(3 n,) a point on each axis in the base frame, all joints at zero [m]."""
    slides: int
    """Bit mask of the prismatic joints: bit i for joint i from zero."""
    kinds: np.ndarray
    """(s,) kind of each body's core: POINT, SEGMENT, BOX, CYLINDER, CONE or HULL of the module ``convex``."""
    sizes: np.ndarray
    """(s, 4) three sizes of each core, as listed at ``convex.POINT``, then the radius around the core [m]."""
    vertices: np.ndarray
    """(., 3) vertices of all hulls in their bodies' frames, one body after the other [m]."""
    ends: np.ndarray
    """(s + 1,) first vertex of each body, then their number."""
    carriers: np.ndarray
    """(s,) index of the last joint that moves a body; -1 for bodies that do not move."""
    homes: np.ndarray
    """(s, 12) pose of each body in the base frame, all joints at zero."""
    spheres: np.ndarray
    """(s, 4) centre of the bounding sphere in the body's frame, and its radius."""
    pairs: np.ndarray
    """(p, 2) pairs of bodies; the joint of the first body is not after the joint of the second."""
    levers: np.ndarray
    """(n, s) largest motion of a body per unit of a joint."""
    poses: np.ndarray
    """(s, 12) scratch, like all following fields: pose of each body in the base frame."""
    places: np.ndarray
    """(s, 3) centre of each body's bounding sphere in the base frame [m]."""
    moved: np.ndarray
    """(n + 1, 12) identity, then for each joint the motion of the joints up to it, as a transform in the base frame."""
    axis_of: np.ndarray
    """(p, 3) direction that separated a pair last; zero before the first check."""
    room: np.ndarray
    """(BOUNDS_SCRATCH,) scratch of ``convex.bounds``."""


@kernel
def _place(bodies, q):
    """
    Write the poses of all bodies, and the centres of their bounding spheres, in the base frame.

    Poses go to ``bodies.poses`` (s, 12), centres to ``bodies.places`` (s, 3) [m].

    :param q: (n,) joint values [rad or m].
    """
    moved, n = bodies.moved, q.shape[0]
    for k in range(12):
        moved[0, k] = 1.0 if k in (0, 4, 8) else 0.0
    for j in range(n):
        chain.write_motion(bodies.room, bodies.axes, bodies.points, bodies.slides, j, q[j])
        se3.compose(moved[j + 1], moved[j], bodies.room)
    for body in range(bodies.kinds.shape[0]):
        pose, sphere = bodies.poses[body], bodies.spheres[body]
        se3.compose(pose, moved[bodies.carriers[body] + 1], bodies.homes[body])
        place = chain.map_point(pose, (sphere[0], sphere[1], sphere[2]))
        bodies.places[body, 0], bodies.places[body, 1], bodies.places[body, 2] = place


@inline_kernel
def _apart(bodies, pair):
    """
    Return the distance between the bounding spheres of a pair of bodies [m]; negative if the spheres overlap.

    It is a lower bound on the distance of the bodies. :func:`_place` must have placed the bodies.

    :param pair: row of ``bodies.pairs``.
    """
    a, b = bodies.pairs[pair, 0], bodies.pairs[pair, 1]
    x = bodies.places[a, 0] - bodies.places[b, 0]
    y = bodies.places[a, 1] - bodies.places[b, 1]
    z = bodies.places[a, 2] - bodies.places[b, 2]
    return math.sqrt(x * x + y * y + z * z) - bodies.spheres[a, 3] - bodies.spheres[b, 3]


@kernel
def _distance(bodies, pair, wanted, clearance):
    """
    Return (lower bound, upper bound) of the distance of a pair of bodies [m].

    The search for the bounds ends as soon as they show a distance of at least ``wanted`` or below ``clearance``. If the
    bounding spheres are at least ``wanted`` apart, the upper bound is infinite.

    :param pair: row of ``bodies.pairs``.
    :param wanted: distance beyond which the exact value does not matter [m].
    :param clearance: least permitted distance [m].
    """
    low = _apart(bodies, pair)
    if low >= wanted:
        return low, math.inf
    a, b = bodies.pairs[pair, 0], bodies.pairs[pair, 1]
    closer, high = convex.bounds(
        bodies.kinds,
        bodies.sizes,
        bodies.vertices,
        bodies.poses,
        a,
        b,
        bodies.ends,
        bodies.axis_of[pair],
        wanted,
        clearance,
        bodies.room,
    )
    return max(low, closer), high


@inline_kernel
def _is_hull(bodies, pair):
    """
    Return whether at least one body of a pair is the convex hull around a mesh.

    The mesh may be further away than its hull, so a contact needs an exact check.

    :param pair: row of ``bodies.pairs``.
    """
    a, b = bodies.pairs[pair, 0], bodies.pairs[pair, 1]
    return bodies.kinds[a] == convex.HULL or bodies.kinds[b] == convex.HULL


@kernel
def check_rows(
    verdicts,
    culprits,
    distances,
    q,
    rows,
    clearance,
    wanted,
    axes,
    points,
    slides,
    kinds,
    sizes,
    vertices,
    ends,
    carriers,
    homes,
    spheres,
    pairs,
    levers,
    poses,
    places,
    moved,
    axis_of,
    room,
):
    """
    Write for each posture of ``rows`` whether it is free of collisions, a pair that may collide, and a least distance.

    Pairs are measured in turn. A pair that certainly collides, and is nearer than all pairs before, ends the check of
    its posture; later pairs are not measured.

    :param verdicts: (k,) out: COLLISION_FREE, COLLIDES, or DOUBTFUL if an exact check must decide. Of this and the next
        two arrays, only the checked rows are written.
    :param culprits: (k,) out: row in ``pairs`` of the pair that collides or may collide, of the measured ones the
        nearest by its lower bound; -1 for free postures.
    :param distances: (k,) out: least of the lower bounds on the distances of the measured pairs, at most ``wanted``
        [m].
    :param q: (k, n) postures [rad or m].
    :param rows: (m,) indices of the postures to check.
    :param clearance: least permitted distance [m].
    :param wanted: distance beyond which the exact value does not matter [m]; at least the clearance.

    The other arguments are the fields of :class:`Bodies`.
    """
    bodies = Bodies(
        axes, points, slides, kinds, sizes, vertices, ends, carriers, homes, spheres, pairs, levers,
        poses, places, moved, axis_of, room,
    )  # fmt: skip
    for row in rows:
        _place(bodies, q[row])
        verdicts[row], culprits[row], distances[row] = COLLISION_FREE, -1, wanted
        for pair in range(pairs.shape[0]):
            apart, high = _distance(bodies, pair, wanted, clearance)
            # In this order NaN is never free.
            if not apart >= distances[row]:
                distances[row] = apart
                if not apart >= clearance:
                    culprits[row] = pair
                    verdicts[row] = DOUBTFUL
                    if high <= clearance and not _is_hull(bodies, pair):
                        verdicts[row] = COLLIDES
                        break


@kernel
def _travel(bodies, pair, q, a, b):
    """
    Return an upper bound on the relative motion of a pair of bodies from row ``a`` to row ``b`` of ``q`` [m].

    It is the sum over the joints between both bodies of the joint's step times its lever.

    :param pair: row of ``bodies.pairs``.
    """
    first, second = bodies.pairs[pair, 0], bodies.pairs[pair, 1]
    motion = 0.0
    for j in range(bodies.carriers[first] + 1, bodies.carriers[second] + 1):
        motion += abs(q[b, j] - q[a, j]) * bodies.levers[j, second]
    return motion


@kernel
def follow(
    reached,
    culprits,
    q,
    clearance,
    spare,
    axes,
    points,
    slides,
    kinds,
    sizes,
    vertices,
    ends,
    carriers,
    homes,
    spheres,
    pairs,
    levers,
    poses,
    places,
    moved,
    axis_of,
    room,
):
    """
    Write how much of each straight motion from one posture to the next is proved free of collisions.

    A motion is given up after PARTS parts, or at a part shorter than SHORTEST_MOTION: then the rest is not proved, and
    need not collide. Pairs of bodies that a motion does not move relative to each other are not checked.

    :param reached: (k - 1,) out: share of each motion, from its begin, that is proved free, 0 to 1.
    :param culprits: (k - 1,) out: row in ``pairs`` of the pair that limited the last part; -1 if all of the motion is
        free.
    :param q: (k, n) postures [rad or m].
    :param clearance: least permitted distance [m].
    :param spare: (n,) scratch.

    The other arguments are the fields of :class:`Bodies`.
    """
    bodies = Bodies(
        axes, points, slides, kinds, sizes, vertices, ends, carriers, homes, spheres, pairs, levers,
        poses, places, moved, axis_of, room,
    )  # fmt: skip
    for row in range(q.shape[0] - 1):
        reached[row], culprits[row] = 0.0, -1
        for _ in range(PARTS):
            for j in range(q.shape[1]):
                spare[j] = q[row, j] + reached[row] * (q[row + 1, j] - q[row, j])
            _place(bodies, spare)
            part = 1.0
            for pair in range(pairs.shape[0]):
                motion = _travel(bodies, pair, q, row, row + 1)
                left = motion * (1.0 - reached[row])
                apart, _ = _distance(bodies, pair, clearance + left, clearance)
                # In this order NaN is never free, here and below.
                if not motion <= 0.0 and not apart - clearance >= part * motion:
                    part, culprits[row] = (apart - clearance) / motion, pair
            reached[row] = min(1.0, reached[row] + max(0.0, part))
            if reached[row] == 1.0 or part < SHORTEST_MOTION:
                break
        if reached[row] == 1.0:
            culprits[row] = -1
