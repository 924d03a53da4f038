"""
Prove that a pose is out of reach: compute hulls that contain all positions of one point of the last link.

The hulls of a chain are computed once; :mod:`ssik_ros.kernels.rows.reach_hull` tests poses. For chains with prismatic
joints, :class:`UnlimitedReach` gives a proof that holds whatever their limits are.

A full pose gives a place to every point of the last link. Two points are always checked: the tip and, if the last joint
is revolute, the wrist. The wrist is a point of the last axis, which the last joint does not move. More points of this
axis exclude orientations that no joint values give there; an arm whose wrist rotates freely gets none of them. If the
orientation is free, only the tip is checked.
"""

from collections.abc import Callable
import functools

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.rows import reach_hull
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain

KEPT = 1024
"""Most hulls that are kept."""
HULL_POINT_DISTANCE = 1e-6
"""Distance of two points below which one hull is enough for both [m]."""
ALONG_AXIS = (0.1, 0.4, 1.6, -0.1, -0.4, -1.6)
"""Distances of further points of the last axis from the wrist, as multiples of the size of the wrist's hull."""
LEAST_NEWS = 0.02
"""By how much the hull of such a point is smaller at least than any orientation of the axis would make it, over that size."""
LEAST_WRIST_SINE = 1e-3
"""Least sine between the last two axes for which the wrist is the point of the last axis nearest to the other."""
SAME_DIRECTION = 1e-12
"""Part of a unit vector that is rounding. Where a slide has no limits, any larger part of its direction counts."""
PLANE_DIRECTIONS, ALL_DIRECTIONS = 720, 4096
"""Numbers of directions, in a plane and in space, in which a place is compared with the hull."""


def make_hulls(
    slides: NDArray[np.bool_],
    axes: FloatArray,
    points: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    home: FloatArray,
    *,
    is_full_pose: bool,
) -> FloatArray | None:
    """
    Return the reach hulls of a chain in one flat array, in the kernel's layout; None if the chain has no hull.

    Each of the k hulls contains all positions of one point of the last link. Its BLOCK numbers are this point in the
    tip frame (3,) [m], the point's distance from the tip [m], and the hull (SIZE,). A chain has no hull if a slide
    lacks a limit or no joint turns. It has none either if more than MOST_SLIDES (3) slides come before the first joint
    that turns.

    :param slides: (n,) True for joints that slide; the others may rotate by any angle.
    :param axes, points: (n, 3) unit axes, and a point of each [m], in the base frame with all joints at zero.
    :param lower, upper: (n,) limits of slides [m]; values of revolute joints are not read.
    :param home: (4, 4) pose of the tip with all joints at zero.
    :param is_full_pose: whether the targets give an orientation too.
    """
    tip = home[:3, 3]
    hull_of = functools.partial(_hull, slides, axes, points, lower, upper)
    places = [(tip, hull_of(tip))]
    if np.isinf(places[0][1][reach_hull.INNER]):
        return None
    if is_full_pose and not slides[-1]:
        wrist = _point_of_last_axis(slides, axes, points, tip)
        before = [(wrist, hull_of(wrist))]
        if np.linalg.norm(wrist - tip) <= HULL_POINT_DISTANCE:
            places = []
        places = before + places + _telling_points(axes[-1], *before[0], hull_of)
    blocks: list[FloatArray] = []
    for place, hull in places:
        offset = home[:3, :3].T @ (place - tip)
        blocks += [offset, np.array([np.linalg.norm(offset)]), hull]
    return np.concatenate(blocks)


class UnlimitedReach:
    """
    Reach of a chain whose slides are assumed to have no limits, to prove poses out of reach whatever the limits are.

    No slide moves the tip along the directions that are at right angles to all slides in every posture. Along these
    directions the hull of the chain with its slides at zero holds for every value of the slides.
    """

    def __init__(
        self,
        slides: NDArray[np.bool_],
        axes: FloatArray,
        points: FloatArray,
        home: FloatArray,
        *,
        is_full_pose: bool,
    ) -> None:
        """
        Store the chain; its hulls are computed at the first use.

        :param slides: (n,) True for joints that slide; the others may rotate by any angle.
        :param axes, points: (n, 3) unit axes, and a point of each [m], in the base frame with all joints at zero.
        :param home: (4, 4) pose of the tip with all joints at zero.
        :param is_full_pose: whether the targets give an orientation too.
        """
        self._chain = slides, axes, points
        self._home, self._is_full_pose = home, is_full_pose

    @functools.cached_property
    def _directions(self) -> FloatArray:
        """Return unit vectors (k, 3) along which no slide moves the tip; k is 0 if no such direction exists."""
        slides, axes, _ = self._chain
        basis = _complement(_span_of_slides(slides, axes))
        if len(basis) == 3:
            return _spread_over_sphere(ALL_DIRECTIONS)
        if len(basis) != 2:
            return np.concatenate([basis, -basis])
        angles = np.arange(PLANE_DIRECTIONS) * (2.0 * np.pi / PLANE_DIRECTIONS)
        plane: FloatArray = np.outer(np.cos(angles), basis[0]) + np.outer(np.sin(angles), basis[1])
        return plane

    @functools.cached_property
    def _hulls(self) -> FloatArray:
        """
        Return the hulls (k, BLOCK) of the chain with all slides at zero.

        k is 0 if slides can move the tip in every direction, or if :func:`make_hulls` returns None.
        """
        slides, axes, points = self._chain
        zeros, hulls = np.zeros(len(axes)), None
        if len(self._directions):
            hulls = make_hulls(
                slides, axes, points, zeros, zeros, self._home, is_full_pose=self._is_full_pose
            )
        return (
            np.empty((0, reach_hull.BLOCK))
            if hulls is None
            else hulls.reshape(-1, reach_hull.BLOCK)
        )

    def refuses(self, pose: FloatArray, position: float, rotation: float) -> bool:
        """
        Return whether it is proved that no joint values reach a pose, even with unlimited slides; False proves nothing.

        :param pose: (4, 4) in the base frame.
        :param position, rotation: largest errors of a solution [m], [rad].
        """
        for block in self._hulls:
            point, hull = block[reach_hull.POINT :][:3], block[reach_hull.HULL :]
            place = pose[:3, :3] @ point + pose[:3, 3] - hull[reach_hull.ORIGIN :][:3]
            margin = position + rotation * block[reach_hull.LEVER]
            if (self._directions @ place - self._support(hull)).max() > margin:
                return True
        return False

    def _support(self, hull: FloatArray) -> FloatArray:
        """Return an upper bound (k,) on how far a hull extends from its origin along each of ``_directions`` [m]."""
        along = self._directions @ hull[reach_hull.AXIS :][:3]
        across = np.sqrt(np.maximum(1.0 - along**2, 0.0))
        length = across + np.abs(along)
        places = np.linspace(-1.0, 1.0, reach_hull.DIRECTIONS)
        table = hull[reach_hull.TABLE :][: reach_hull.DIRECTIONS]
        support: FloatArray = length * np.interp(along / length, places, table)
        return support


class BallReach:
    """Reach of a chain without slides as a ball that contains the tip; its radius is the length of all links in a row."""

    def __init__(self, centre: FloatArray, radius: float) -> None:
        """
        Store the ball.

        :param centre: (3,) in the base frame [m].
        :param radius: of the ball [m].
        """
        self._centre, self._radius = centre, radius

    def refuses(self, pose: FloatArray, position: float, rotation: float) -> bool:
        """
        Return whether it is proved that no joint values reach a pose; False proves nothing.

        :param pose: (4, 4) in the base frame.
        :param position: largest position error of a solution [m].
        :param rotation: not read.
        """
        return bool(np.linalg.norm(pose[:3, 3] - self._centre) > self._radius + position)


def _spread_over_sphere(count: int) -> FloatArray:
    """Return unit vectors (count, 3) spread evenly along a spiral."""
    heights = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angles = np.pi * (1.0 + np.sqrt(5.0)) * np.arange(count)
    rings = np.sqrt(1.0 - heights**2)
    return np.stack([rings * np.cos(angles), rings * np.sin(angles), heights], axis=1)


def _span_of_slides(slides: NDArray[np.bool_], axes: FloatArray) -> FloatArray:
    """
    Return the projector (3, 3) on the space of directions in which slides can move the tip in some posture.

    :param slides: (n,) True for joints that slide.
    :param axes: (n, 3) unit axes in the base frame, all joints at zero.
    """
    span = np.zeros((3, 3))
    for slide, axis in zip(slides[::-1], axes[::-1], strict=True):
        if slide:
            new = axis - span @ axis
            if np.linalg.norm(new) > SAME_DIRECTION:
                span = span + np.outer(new, new) / (new @ new)
            continue
        # A rotation about the axis spreads the part across it over the whole plane, and leaves the part along it.
        line = np.outer(axis, axis)
        rest = np.eye(3) - line
        is_along = np.linalg.norm(line @ span) > SAME_DIRECTION
        is_across = np.linalg.norm(rest @ span) > SAME_DIRECTION
        span = line * is_along + rest * is_across
    return span


def _complement(span: FloatArray) -> FloatArray:
    """Return an orthonormal basis (k, 3) of the directions that the projector ``span`` (3, 3) takes to zero."""
    values, vectors = np.linalg.eigh(np.eye(3) - span)
    basis: FloatArray = vectors.T[values > 0.5]
    return basis


def _telling_points(
    axis: FloatArray,
    wrist: FloatArray,
    around: FloatArray,
    hull_of: Callable[[FloatArray], FloatArray],
) -> list[tuple[FloatArray, FloatArray]]:
    """
    Return further points of the last axis that make the proof stronger, each with its hull.

    The hull of such a point is clearly smaller than the wrist's hull enlarged by the distance of the point. So this
    hull also refuses orientations.

    :param axis: (3,) the last axis, with all joints at zero.
    :param wrist: (3,) the wrist, a point of this axis, in the base frame [m].
    :param around: (SIZE,) hull of the wrist.
    :param hull_of: returns the hull (SIZE,) of a point.
    :returns: pairs of a point (3,) and its hull (SIZE,).
    """
    lengths = np.array([reach_hull.length_of(i) for i in range(reach_hull.DIRECTIONS)])
    table = around[reach_hull.TABLE :]
    size = float(np.abs(table / lengths).max())
    telling = []
    for share in ALONG_AXIS:
        point = wrist + share * size * axis
        hull = hull_of(point)
        free = table + abs(share) * size * lengths
        if ((free - hull[reach_hull.TABLE :]) / lengths).max() > LEAST_NEWS * size:
            telling.append((point, hull))
    return telling


def hull_of_wrist(chain: SerialChain) -> FloatArray | None:
    """
    Return the reach hull of the wrist of a chain, with the wrist; None for chains with slides.

    The wrist is a point of the last axis. The array (BLOCK,) has the wrist (3,) in the base frame with all joints at
    zero [m]. Its distance from the tip [m] and the hull (SIZE,) follow. With slides, their limits could be the cause of
    a refusal.

    :param chain: the chain.
    """
    slides, tip = chain.kinds == JointKind.PRISMATIC, chain.home[:3, 3]
    if slides.any():
        return None
    place = _point_of_last_axis(slides, chain.axes, chain.points, tip)
    hull = _hull(slides, chain.axes, chain.points, chain.lower, chain.upper, place)
    return np.concatenate([place, [np.linalg.norm(place - tip)], hull])


def _hull(
    slides: NDArray[np.bool_],
    axes: FloatArray,
    points: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    place: FloatArray,
) -> FloatArray:
    """
    Return the hull (SIZE,) of a point of the last link, read-only and cached by the numbers of the chain.

    :param slides: (n,) True for joints that slide; the others may rotate by any angle.
    :param axes, points: (n, 3) unit axes, and a point of each [m], in the base frame with all joints at zero.
    :param lower, upper: (n,) limits of slides [m]; values of revolute joints are not read.
    :param place: (3,) the point in the base frame, with all joints at zero.
    """
    kinds = np.asarray(slides, dtype=np.int64)
    # The hull does not depend on limits of revolute joints, so that they must not change its cache key.
    limits = np.where(kinds == 1, [lower, upper], 0.0)
    parts = [np.ascontiguousarray(part).ravel() for part in (axes, points, limits, place)]
    return _compute(kinds.tobytes(), np.concatenate(parts).tobytes())


def _point_of_last_axis(
    slides: NDArray[np.bool_], axes: FloatArray, points: FloatArray, tip: FloatArray
) -> FloatArray:
    """
    Return the wrist (3,): the point of the last axis that is nearest to the revolute axis before it.

    If these axes are parallel, or no revolute axis comes before the last one, it is the point nearest to the tip.

    :param slides: (n,) True for joints that slide.
    :param axes, points: (n, 3) unit axes, and a point of each [m], in the base frame with all joints at zero.
    :param tip: (3,) position of the tip in the base frame, all joints at zero [m].
    """
    axis, start = axes[-1], points[-1]
    revolute = np.flatnonzero(~slides[:-1])
    if len(revolute):
        before = revolute[-1]
        across = np.cross(axis, axes[before])
        if np.linalg.norm(across) > LEAST_WRIST_SINE:
            normal = np.cross(axes[before], across)
            along = (points[before] - start) @ normal / (axis @ normal)
            nearest: FloatArray = start + along * axis
            return nearest
    foot: FloatArray = start + ((tip - start) @ axis) * axis
    return foot


@functools.lru_cache(maxsize=KEPT)
def _compute(kinds: bytes, numbers: bytes) -> FloatArray:
    """Return the hull (SIZE,) of a point from the bytes that :func:`_hull` packs; the last 1024 hulls are kept."""
    joints, values = np.frombuffer(kinds, dtype=np.int64).copy(), np.frombuffer(numbers).copy()
    n, hull = len(joints), np.empty(reach_hull.SIZE)
    axes, points, lower, upper, point = np.split(values, [3 * n, 6 * n, 7 * n, 8 * n])
    reach_hull.compute(
        hull,
        joints,
        axes,
        points,
        lower,
        upper,
        point,
        np.empty(reach_hull.DIRECTIONS),
        np.empty(reach_hull.SLIDE_REALS * n),
    )
    hull.setflags(write=False)
    return hull
