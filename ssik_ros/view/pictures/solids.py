"""Surfaces of triangles with normals: boxes, cylinders, spheres, cones, tubes and meshes; moving and simplifying them."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.value_class import dataclass

SEGMENTS = 28
"""Number of flat pieces around a circle."""
SMOOTH = np.cos(np.radians(40.0))
"""Cosine of the largest angle between two triangles of a mesh that share one smooth surface."""

MERGED_CORNERS = 1e-5
"""Distance below which corners of a simplified surface become one, as a share of its size [1]."""


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface made of triangles, with a normal at each corner for smooth shading."""

    corners: NDArray[np.floating[Any]]
    """(k, 3, 3) corners of each triangle [m]. Meshes have single precision, which halves the memory of a fine robot."""
    normals: NDArray[np.floating[Any]]
    """(k, 3, 3) unit normal at each corner."""

    def moved(self, pose: FloatArray) -> 'Surface':
        """
        Return a copy of the surface, moved by a rigid transform.

        :param pose: (4, 4) rigid transform.
        """
        return Surface(self.corners @ pose[:3, :3].T + pose[:3, 3], self.normals @ pose[:3, :3].T)

    def bounds(self) -> FloatArray:
        """Return (2, 3) the least and the largest coordinates of the surface [m]; zeros if it has no triangles."""
        return box_around(self.corners.reshape(-1, 3) if len(self.corners) else np.zeros((1, 3)))


def box_around(points: ArrayLike, margin: float = 0.0) -> FloatArray:
    """
    Return the corners (2, 3) of the box around points: least and largest coordinates [m].

    :param points: (n, 3) points, at least one [m].
    :param margin: least distance from a point to a side of the box [m].
    """
    return np.stack((np.min(points, axis=0) - margin, np.max(points, axis=0) + margin))


def join(solids: list[Surface]) -> Surface:
    """
    Return one surface with the triangles of all given surfaces; without any, a surface without triangles.

    :param solids: the surfaces.
    """
    empty = np.zeros((0, 3, 3))
    return Surface(
        np.concatenate([empty, *(solid.corners for solid in solids)]),
        np.concatenate([empty, *(solid.normals for solid in solids)]),
    )


def make_box(size: ArrayLike) -> Surface:
    """
    Return a box around the origin.

    :param size: (3,) lengths of the edges [m].
    """
    half = 0.5 * np.asarray(size, dtype=np.float64)
    corners, normals = [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal, u, v = np.zeros(3), np.zeros(3), np.zeros(3)
            normal[axis], u[(axis + 1) % 3], v[(axis + 2) % 3] = sign, 1.0, sign
            a, b, c, d = (half * (normal + i * u + j * v) for i, j in _SQUARE)
            corners += [(a, b, c), (a, c, d)]
            normals += 2 * [3 * [normal]]
    return Surface(np.array(corners), np.array(normals))


def make_cylinder(
    radius: float, length: float, top: float | None = None, *, segments: int = SEGMENTS
) -> Surface:
    """
    Return a cylinder around the z axis, centred at the origin; with two radii, a cone or a part of one.

    :param radius: radius at the bottom [m].
    :param length: length along z [m].
    :param top: radius at the top [m]; None for the radius at the bottom.
    :param segments: number of flat pieces around a circle.
    """
    top = radius if top is None else top
    angle = 2.0 * np.pi * np.arange(segments + 1) / segments
    circle = np.column_stack((np.cos(angle), np.sin(angle), np.zeros_like(angle)))
    up = np.array((0.0, 0.0, 0.5 * length))
    low, high = radius * circle - up, top * circle + up
    slope = circle * length + np.array((0.0, 0.0, radius - top))
    slope /= np.linalg.norm(slope, axis=1, keepdims=True)
    side = _strip(low, high, slope, slope)
    caps = [_fan(circle * size + end, end) for size, end in ((radius, -up), (top, up)) if size > 0]
    return join([side, *caps])


def make_sphere(radius: float, segments: int = SEGMENTS) -> Surface:
    """
    Return a sphere around the origin.

    :param radius: radius [m].
    :param segments: number of flat pieces around a circle; even.
    """
    around = 2.0 * np.pi * np.arange(segments + 1) / segments
    rings = []
    for height in np.pi * np.arange(segments // 2 + 1) / (segments // 2):
        ring = np.column_stack((np.cos(around), np.sin(around), np.zeros_like(around)))
        rings.append(ring * np.sin(height) + np.array((0.0, 0.0, -np.cos(height))))
    return join([_strip(radius * a, radius * b, a, b) for a, b in itertools.pairwise(rings)])


def make_tube(points: FloatArray, radius: float) -> Surface:
    """
    Return a tube with round ends along the straight lines from point to point.

    The outside of a bend has a gap, because the pieces of the tube are cylinders.

    :param points: (k, 3) points [m], at least one; one point gives a sphere.
    :param radius: radius of the tube [m].
    """
    pieces = [
        make_sphere(radius).moved(pose_matrix(point, np.eye(3))) for point in points[[0, -1]]
    ]
    for a, b in itertools.pairwise(points):
        length = float(np.linalg.norm(b - a))
        if length > 0.0:
            pieces.append(make_cylinder(radius, length).moved(_along(a, b)))
    return join(pieces)


def make_frame(size: float) -> list[tuple[Surface, tuple[float, float, float]]]:
    """
    Return the arrows of a coordinate frame at the origin, each with its colour: x red, y green, z blue.

    :param size: length of each arrow [m].
    """
    arrows = []
    for axis, colour in enumerate(((0.85, 0.2, 0.2), (0.25, 0.65, 0.25), (0.2, 0.35, 0.85))):
        tip = np.zeros(3)
        tip[axis] = size
        shaft = make_cylinder(0.035 * size, 0.8 * size).moved(_along(np.zeros(3), 0.8 * tip))
        head = make_cylinder(0.09 * size, 0.2 * size, 0.0).moved(_along(0.8 * tip, tip))
        arrows.append((join([shaft, head]), colour))
    return arrows


def make_mesh(vertices: FloatArray, triangles: IntArray) -> Surface:
    """
    Return the surface of a mesh.

    Its normals are smooth where triangles meet at a small angle, so that edges stay sharp.

    :param vertices: (n, 3) corners [m].
    :param triangles: (k, 3) indices of corners.
    """
    corners = vertices[triangles]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat = area / np.maximum(np.linalg.norm(area, axis=1, keepdims=True), 1e-300)
    places = find_equal_rows(np.round(1e9 * vertices))[1][triangles]
    mean = np.zeros((places.max() + 1 if len(places) else 0, 3))
    np.add.at(mean, places, area[:, None, :])
    mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300)
    smooth = mean[places]
    is_smooth = np.einsum('kij,kj->ki', smooth, flat) > SMOOTH
    normals = np.where(is_smooth[:, :, None], smooth, flat[:, None, :])
    return Surface(corners.astype(np.float32), normals.astype(np.float32))


def find_equal_rows(rows: FloatArray) -> tuple[IntArray, IntArray]:
    """
    Find groups of equal rows.

    Rows are compared by a hash of 64 bits, so that different rows count as equal only by an unlikely accident.

    :param rows: (n, k) whole numbers; k is at most 6.
    :returns: the index of the first row of each group, and for each row (n,) the number of its group.
    """
    mixed = rows.astype(np.int64).astype(np.uint64) @ _MIXERS[: rows.shape[1]]
    _, first, which = np.unique(mixed, return_index=True, return_inverse=True)
    return first.astype(np.int64), which.reshape(-1).astype(np.int64)


def simplify(surface: Surface, most: int) -> Surface:
    """
    Return a coarser surface with at most ``most`` triangles; a surface that has no more is returned unchanged.

    All corners in one cell of a grid are replaced by their mean, and triangles that vanish are left out. The cells grow
    until few enough triangles are left, which may be none if ``most`` is small. A surface whose corners are all one
    point is returned unchanged.

    :param surface: the surface.
    :param most: largest number of triangles, at least 1.
    """
    low, high = surface.bounds()
    size = float((high - low).max())
    if len(surface.corners) <= most or not size > 0.0:
        return surface
    corners, cell = surface.corners.reshape(-1, 3), size / 256.0
    # Each vertex is the corner of several triangles.
    first, vertex = find_equal_rows(np.round((corners - low) / (MERGED_CORNERS * size)))
    vertices, uses = corners[first], np.bincount(vertex)
    while True:
        _, which = find_equal_rows(np.floor((vertices - low) / cell))
        sums = np.stack([np.bincount(which, uses * column) for column in vertices.T], axis=1)
        triangles = which[vertex].reshape(-1, 3)
        a, b, c = triangles.T
        kept = triangles[(a != b) & (b != c) & (c != a)]
        if len(kept) <= most:
            return make_mesh(sums / np.bincount(which, uses)[:, None], kept)
        # Twice as long cells leave a quarter of the triangles, about.
        cell *= max(1.5, 0.7 * (len(kept) / most) ** 0.5)


_MIXERS = np.random.default_rng(0).integers(1 << 62, 1 << 63, 6, dtype=np.uint64) | np.uint64(1)
_SQUARE = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))


def _strip(low: FloatArray, high: FloatArray, below: FloatArray, above: FloatArray) -> Surface:
    """
    Return a band of triangles between two closed polylines with the same number of points.

    :param low, high: (n + 1, 3) points of the polylines; the last point repeats the first [m].
    :param below, above: (n + 1, 3) normals at the points of ``low`` and ``high``.
    """
    first = np.stack((low[:-1], low[1:], high[1:]), axis=1)
    second = np.stack((low[:-1], high[1:], high[:-1]), axis=1)
    normals = np.stack((below[:-1], below[1:], above[1:]), axis=1)
    others = np.stack((below[:-1], above[1:], above[:-1]), axis=1)
    return Surface(np.concatenate((first, second)), np.concatenate((normals, others)))


def _fan(rim: FloatArray, centre: FloatArray) -> Surface:
    """
    Return a flat disk as triangles from a closed polyline to its centre.

    The normal is the direction from the origin to ``centre``.

    :param rim: (n + 1, 3) points of the polyline; the last point repeats the first [m].
    """
    middle = np.broadcast_to(centre, rim[:-1].shape)
    normals = np.broadcast_to(centre / np.linalg.norm(centre), (len(middle), 3, 3))
    return Surface(np.stack((middle, rim[:-1], rim[1:]), axis=1), normals)


def _along(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the pose (4, 4) of a frame midway between two points, whose z axis points from ``a`` to ``b``."""
    z = (b - a) / np.linalg.norm(b - a)
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return pose_matrix(0.5 * (a + b), np.column_stack((x, np.cross(z, x), z)))
