"""
Test whether a point lies in the region of a position constraint.

A region is a union of solids: boxes, spheres, cylinders, cones and convex hulls.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, is_within_reason, LARGEST_REQUEST_VALUE, TOO_FAR
from ssik_ros.server.requests.refusals import Refusal

SURFACE = 1e-9
"""A point so near to a surface [m] lies inside: corners of boxes are requested on purpose."""


class Solid(IntEnum):
    """Kinds of solids, by the numbers of shape_msgs/SolidPrimitive; HULL, for meshes, is a number of ours."""

    HULL = 0
    BOX = 1
    SPHERE = 2
    CYLINDER = 3
    CONE = 4


DIMENSIONS = {Solid.BOX: 3, Solid.SPHERE: 1, Solid.CYLINDER: 2, Solid.CONE: 2}
"""How many numbers describe a solid: box x, y, z; sphere radius; cylinder and cone height, radius [m]."""


class RegionPart(NamedTuple):
    """One solid of a region."""

    kind: int
    """Number of a :class:`Solid`; a message may have any number."""
    dimensions: Sequence[float]
    """The numbers that ``DIMENSIONS`` lists [m]; empty for a hull."""
    pose: FloatArray
    """
    (4, 4) pose of the solid in the frame of the region; the origin is the middle of the solid, unless it is a hull.

    The axis of cylinders and cones is z, and a cone has its tip at the upper end. Vertices of a hull are in this frame.
    """
    vertices: FloatArray | None = None
    """(v, 3) vertices of a mesh; the solid is their convex hull [m]. None for other solids."""


class Region:
    """A union of solids that tells whether a point is inside."""

    def __init__(self, parts: Sequence[RegionPart], noun: str) -> None:
        """
        Check the solids and prepare their tests.

        :param parts: at least one.
        :param noun: noun and name of the constraint that has the region, for messages.
        :raises RequestRefused: without a solid, for an unknown kind, or for numbers that are not a solid.
        """
        if not parts:
            raise Refusal.CONSTRAINTS.error(
                f'{noun} has no region: give it at least one solid or mesh.'
            )
        self.centre: FloatArray = parts[0].pose[:3, 3].copy()
        """(3,) place of the first solid, which distances are measured from [m]."""
        self._tests = [_make_test(part, noun) for part in parts]

    def contains(self, point: FloatArray) -> bool:
        """
        Return whether a point lies in one of the solids.

        :param point: (3,) in the frame of the region [m].
        """
        return any(inside(pose[:3, :3].T @ (point - pose[:3, 3])) for pose, inside in self._tests)


def _make_test(part: RegionPart, noun: str) -> tuple[FloatArray, Callable[[FloatArray], bool]]:
    """
    Return the pose (4, 4) of a solid, and a test whether a point (3,) [m] in its frame is inside.

    Raise RequestRefused for a pose that is not finite or too far away, an unknown kind of solid, wrong sizes, or
    vertices without a convex hull. ``noun`` begins the text.
    """
    if not np.isfinite(part.pose).all():
        raise Refusal.CONSTRAINTS.error(
            f'{noun} has a solid whose pose is no finite rigid transform.'
        )
    if not is_within_reason(part.pose[:3, 3]):
        raise Refusal.CONSTRAINTS.error(f'{noun} has a solid {TOO_FAR}.')
    if part.kind == Solid.HULL:
        return part.pose, _hull(part.vertices, noun)
    if part.kind not in DIMENSIONS:
        raise Refusal.CONSTRAINTS.error(
            f'{noun} has a solid of kind {part.kind}; box, sphere, cylinder and cone are '
            'understood, and meshes as their convex hulls.'
        )
    kind = Solid(part.kind)
    sizes = [float(value) for value in part.dimensions[: DIMENSIONS[kind]]]
    if len(sizes) < DIMENSIONS[kind] or not all(
        0.0 <= size <= LARGEST_REQUEST_VALUE for size in sizes
    ):
        raise Refusal.CONSTRAINTS.error(
            f'{noun} has a {kind.name.lower()} with the dimensions {list(part.dimensions)}; it needs '
            f'{DIMENSIONS[kind]} finite ones of at least zero.'
        )
    return part.pose, _solid(kind, sizes)


def _solid(kind: Solid, sizes: Sequence[float]) -> Callable[[FloatArray], bool]:
    """
    Return a test whether a point (3,) [m] in the solid's frame is inside.

    A point on the surface counts as inside, also if rounding puts it outside by up to about ``SURFACE``. ``sizes`` are
    in the order of ``DIMENSIONS`` [m].
    """
    if kind == Solid.BOX:
        half = 0.5 * np.array(sizes) + SURFACE
        return lambda p: bool((np.abs(p) <= half).all())
    if kind == Solid.SPHERE:
        radius = sizes[0] + SURFACE
        return lambda p: bool(p @ p <= radius * radius)
    half_height, radius = 0.5 * sizes[0] + SURFACE, sizes[1]
    if kind == Solid.CYLINDER:
        return lambda p: bool(
            abs(p[2]) <= half_height and np.hypot(p[0], p[1]) <= radius + SURFACE
        )
    height = max(sizes[0], SURFACE)
    return lambda p: bool(
        abs(p[2]) <= half_height
        and np.hypot(p[0], p[1]) <= radius * (0.5 - p[2] / height) + SURFACE
    )


def load_hulls() -> Any:
    """Import and return scipy.spatial; the import is slow, and only meshes need it."""
    import scipy.spatial

    return scipy.spatial


def _hull(vertices: FloatArray | None, noun: str) -> Callable[[FloatArray], bool]:
    """
    Return a test whether a point (3,) [m] is in the convex hull of vertices (v, 3).

    A point counts as inside if it is outside the plane of each face by at most ``SURFACE``.

    Raise RequestRefused for a hull without volume, and for vertices that are missing, not finite or too far away.
    """
    hulls = load_hulls()
    try:
        if vertices is None or not is_within_reason(vertices):
            raise ValueError(f'its vertices are missing, not finite or {TOO_FAR}')
        equations = hulls.ConvexHull(vertices).equations
    except (hulls.QhullError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise Refusal.CONSTRAINTS.error(
            f'{noun} has a mesh without a volume: {reason}.'
        ) from error
    normals, offsets = equations[:, :3], equations[:, 3]
    return lambda p: bool((normals @ p + offsets <= SURFACE).all())
