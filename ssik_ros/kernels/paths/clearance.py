"""
Collisions of the postures of a chain, and of the motions between them.

Problem
-------
Bodies hang on the links of a chain. Given pairs of bodies, which postures keep each pair further apart than a clearance?
And which straight motions in joint space from one posture to another?

Method
------
1. Bounding spheres settle most pairs; :mod:`ssik_ros.kernels.paths.convex` gives both bounds of the others.
2. While joint j moves by dq_j, a point of a body moves by at most |dq_j| times its lever: the distance from the axis that it
   cannot exceed in any posture. A pair at distance d is safe as long as its bodies move by less than d minus the clearance.
3. A motion is followed by such safe parts (conservative advancement). It is refused where a part gets too short.

Degeneracies
------------
A hull around a mesh may be closer than the mesh, and bounds may stay apart. Such a pair is DOUBTFUL: an exact check has to decide.
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
    """A chain, the bodies on it, and the pairs to check."""

    axes: np.ndarray
    """(3 n,) of the chain, as its points."""
    points: np.ndarray
    slides: int
    kinds: np.ndarray
    """(s,) cores."""
    sizes: np.ndarray
    """(s, 4)."""
    vertices: np.ndarray
    """(., 3) of all hulls."""
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
    """(s, 12) scratch, like all following fields."""
    places: np.ndarray
    """(s, 3)."""
    moved: np.ndarray
    """(n + 1, 12)."""
    axis_of: np.ndarray
    """(p, 3) direction that separated a pair last."""
    room: np.ndarray
    """(BOUNDS_SCRATCH,)."""


@kernel
def _place(bodies, q):
    """
    Write the poses of all bodies at the posture ``q`` (n,), and the centres of their bounding spheres.

    They go to ``bodies.poses`` and ``bodies.places``.
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
    Return a lower bound on the distance of a pair of bodies [m], by their bounding spheres.

    It is negative if the spheres overlap.
    """
    a, b = bodies.pairs[pair, 0], bodies.pairs[pair, 1]
    x = bodies.places[a, 0] - bodies.places[b, 0]
    y = bodies.places[a, 1] - bodies.places[b, 1]
    z = bodies.places[a, 2] - bodies.places[b, 2]
    return math.sqrt(x * x + y * y + z * z) - bodies.spheres[a, 3] - bodies.spheres[b, 3]


@kernel
def _distance(bodies, pair, wanted, clearance):
    """
    Return a lower and an upper bound on the distance of a pair of bodies [m].

    The bounds are narrowed until they decide whether the distance is at least ``wanted`` or below ``clearance``. If the
    bounding spheres are far enough apart, the upper bound is infinite.

    :param pair: row of ``bodies.pairs``.
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
    """Return whether a body of a pair is a convex hull around a mesh, so that a contact needs an exact check."""
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
    Write which postures are free, and a lower bound on the distance of the nearest pair of bodies in each posture.

    The first pair that certainly collides ends the check of its row; later pairs are not measured.

    :param verdicts: (k,) out: COLLISION_FREE, COLLIDES or DOUBTFUL; written for the checked rows only.
    :param culprits: (k,) out: pair that collides or may collide; -1 for free postures.
    :param distances: (k,) out: lower bound on the distance of the nearest pair, at most ``wanted`` [m].
    :param q: (k, n) postures.
    :param rows: (m,) the rows to check.
    :param clearance: least distance [m].
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
            if apart < distances[row]:
                distances[row] = apart
                if apart < clearance:
                    culprits[row] = pair
                    verdicts[row] = DOUBTFUL
                    if high <= clearance and not _is_hull(bodies, pair):
                        verdicts[row] = COLLIDES
                        break


@kernel
def _travel(bodies, pair, q, a, b):
    """Return an upper bound on the relative motion of a pair of bodies from row a to row b of ``q`` [m]."""
    first, second = bodies.pairs[pair, 0], bodies.pairs[pair, 1]
    way = 0.0
    for j in range(bodies.carriers[first] + 1, bodies.carriers[second] + 1):
        way += abs(q[b, j] - q[a, j]) * bodies.levers[j, second]
    return way


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
    Write the free share of each straight motion from one row to the next: 1 if all of it is free.

    :param reached: (k - 1,) out.
    :param culprits: (k - 1,) out: pair that ends a motion; -1 for free motions.
    :param q: (k, n) postures.
    :param clearance: as for :func:`check_rows`.
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
                way = _travel(bodies, pair, q, row, row + 1)
                left = way * (1.0 - reached[row])
                apart, _ = _distance(bodies, pair, clearance + left, clearance)
                if way > 0.0 and apart - clearance < part * way:
                    part, culprits[row] = (apart - clearance) / way, pair
            reached[row] = min(1.0, reached[row] + max(part, 0.0))
            if reached[row] == 1.0 or part < SHORTEST_MOTION:
                break
        if reached[row] == 1.0:
            culprits[row] = -1
