"""
Read and transform eight poses side by side in SIMD lanes, for the kernels that count branches.

A pose in lanes is a tuple of twelve lanes: the rotation row by row, then the translation. :class:`CountedArm` has the
data of an arm for these kernels.
"""

from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.closed_form.certification.chain import screw
from ssik_ros.kernels.geometry import lane_poses, lanes, vectors

COUNTED_POSE_DEVIATION = 1e-9
"""Largest deviation of a counted pose from a rigid transform [1]; other poses are left to the search, which corrects
them."""
POSES = lane_poses.SIZE
"""Size of eight poses, in numbers."""


class CountedArm(NamedTuple):
    """
    Constants of an arm of six joints for the counting kernels, in the order of its class.

    ``axes`` and ``points``: (18,) unit direction and a point of each axis [m], joints at zero. ``special``: (6,)
    special points of the class, such as the wrist centre. ``limits``: table of :func:`gates.write_limits`. ``size2``:
    square of the arm's reference length [m^2].
    """

    axes: np.ndarray
    """(18,) unit directions."""
    points: np.ndarray
    """(18,) points of the axes."""
    special: np.ndarray
    """(6,) special points of the class."""
    limits: np.ndarray
    """(6 LIMIT,) limits from :mod:`gates`."""
    size2: float
    """Square of the reference length [m^2]."""


@inline_kernel
def at_zero():
    """Return eight lanes that are all zero."""
    return lanes.spread(0.0)


@inline_kernel
def columns_of(g):
    """
    Return (x, y), the first two columns of the rotations of eight poses: three components each, over all lanes.

    :param g: poses in eight lanes, see :func:`lane_poses.load_poses`.
    """
    return (g[0], g[3], g[6]), (g[1], g[4], g[7])


@inline_kernel
def undo_joint(h, o, s, c, x, y, t):
    """
    Return (x, y, t): two directions and a point rotated back about the line h through o, in lanes.

    :param h, o: unit direction and a point of the line.
    :param s, c: sine and cosine of the angle by which the joint has turned.
    :param x, y, t: the directions and the point before.
    """
    return vectors.turn(h, c, -s, x), vectors.turn(h, c, -s, y), screw(h, o, c, -s, t)


@inline_kernel
def gather(area, poses, start, count):
    """
    Write eight poses next to each other, one in each lane; unused lanes repeat the last pose that is read.

    :param area: (POSES,) out: rotation row by row, then translation, eight numbers each.
    :param poses: (m, 4, 4) poses.
    :param start, count: index of the first pose, and number of poses to read, at least 1; more than eight are not read.
    :returns: bits of the lanes whose pose has the last row (0, 0, 0, 1), also of lanes that repeat a pose.
    """
    affine = 0
    for lane in range(lanes.LANES):
        pose = start + min(lane, count - 1)
        for i in range(3):
            for j in range(3):
                area[(3 * i + j) * lanes.LANES + lane] = poses[pose, i, j]
            area[(lane_poses.TRANSLATION + i) * lanes.LANES + lane] = poses[pose, i, 3]
        last = poses[pose, 3, 0] == 0.0 and poses[pose, 3, 1] == 0.0 and poses[pose, 3, 2] == 0.0
        if last and poses[pose, 3, 3] == 1.0:
            affine |= 1 << lane
    return affine


@inline_kernel
def are_rigid(g):
    """
    Return a mask of lanes whose rotation is right-handed and orthonormal up to :data:`COUNTED_POSE_DEVIATION`.

    :param g: poses in eight lanes, see :func:`lane_poses.load_poses`.
    """
    x, y = columns_of(g)
    rest = vectors.subtract(vectors.cross(x, y), (g[2], g[5], g[8]))
    return (
        (lanes.absolute(vectors.dot(x, x) - 1.0) <= COUNTED_POSE_DEVIATION)
        & (lanes.absolute(vectors.dot(y, y) - 1.0) <= COUNTED_POSE_DEVIATION)
        & (lanes.absolute(vectors.dot(x, y)) <= COUNTED_POSE_DEVIATION)
        & (vectors.dot(rest, rest) <= COUNTED_POSE_DEVIATION * COUNTED_POSE_DEVIATION)
    )


@inline_kernel
def times_transform(g, m):
    """
    Return eight poses, each multiplied from the right by one transform: G M.

    :param g: poses G in eight lanes, see :func:`lane_poses.load_poses`.
    :param m: (12,) M.
    """
    r0, r1, r2 = (g[0], g[1], g[2]), (g[3], g[4], g[5]), (g[6], g[7], g[8])
    x, y, z = (m[0], m[3], m[6]), (m[1], m[4], m[7]), (m[2], m[5], m[8])
    t = (m[9], m[10], m[11])
    return (
        vectors.dot(r0, x),
        vectors.dot(r0, y),
        vectors.dot(r0, z),
        vectors.dot(r1, x),
        vectors.dot(r1, y),
        vectors.dot(r1, z),
        vectors.dot(r2, x),
        vectors.dot(r2, y),
        vectors.dot(r2, z),
        vectors.dot(r0, t) + g[9],
        vectors.dot(r1, t) + g[10],
        vectors.dot(r2, t) + g[11],
    )


@inline_kernel
def inverted(g):
    """
    Return the inverses of eight rigid poses.

    :param g: poses in eight lanes, see :func:`lane_poses.load_poses`.
    """
    x, y, z = (g[0], g[3], g[6]), (g[1], g[4], g[7]), (g[2], g[5], g[8])
    t = (g[9], g[10], g[11])
    x0, y0, z0 = -vectors.dot(x, t), -vectors.dot(y, t), -vectors.dot(z, t)
    return g[0], g[3], g[6], g[1], g[4], g[7], g[2], g[5], g[8], x0, y0, z0
