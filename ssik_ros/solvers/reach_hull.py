"""
The hull of what a chain reaches, made once for a chain: see :mod:`ssik_ros.kernels.reach_hull`.

Of a full pose every point of the last link has a place. Two are always looked at: the tip, and, where the last joint turns,
a point of its axis, which that joint does not move: the wrist of most arms. More points of that axis tell orientations that
no joint values give there; a wrist that turns freely has none of these. Where the orientation is free it is the tip alone.
"""

from collections.abc import Callable
import functools

import numpy as np
from numpy.typing import NDArray

from ssik_ros.kernels import reach_hull
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain

FloatArray = NDArray[np.float64]

KEPT = 1024
"""Hulls that are kept for chains that are asked for again."""
SAME_POINT = 1e-6
"""Distance of two points below which the hull of one will do [m]."""
ALONG_AXIS = (0.1, 0.4, 1.6, -0.1, -0.4, -1.6)
"""Where more points of the last axis are, from the wrist on, over the size of what that reaches."""
LEAST_NEWS = 0.02
"""By how much the hull of such a point is smaller at least than any orientation of the axis would make it, over that size."""
LEAST_SINE = 1e-3
"""Sine of the angle between the last two axes from which on the point of the last one is where they are nearest."""


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
    Return the hulls of a chain, one behind the other as the kernel wants them; None where there are none.

    :param slides: (n,) which joints slide; the others may turn by any angle.
    :param axes, points: (n, 3) unit axes, and a point of each, in the base frame with all joints at zero.
    :param lower, upper: (n,) how far joints slide [m]; those of joints that turn are not read.
    :param home: (4, 4) pose of the tip with all joints at zero.
    :param is_full_pose: whether orientations are given too.
    """
    tip = home[:3, 3]
    hull_of = functools.partial(_hull, slides, axes, points, lower, upper)
    places = [(tip, hull_of(tip))]
    if np.isinf(places[0][1][reach_hull.INNER]):
        return None
    if is_full_pose and not slides[-1]:
        wrist = _point_of_last_axis(slides, axes, points, tip)
        before = [(wrist, hull_of(wrist))]
        if np.linalg.norm(wrist - tip) <= SAME_POINT:
            places = []
        places = before + places + _telling_points(axes[-1], *before[0], hull_of)
    blocks: list[FloatArray] = []
    for place, hull in places:
        own = home[:3, :3].T @ (place - tip)
        blocks += [own, np.array([np.linalg.norm(own)]), hull]
    return np.concatenate(blocks)


def _telling_points(
    axis: FloatArray,
    wrist: FloatArray,
    around: FloatArray,
    hull_of: Callable[[FloatArray], FloatArray],
) -> list[tuple[FloatArray, FloatArray]]:
    """
    Return points (3,) of the last axis whose hulls refuse poses that the hull of the wrist lets pass, and these hulls.

    If the axis could have any direction at every place of the wrist, the hull would be larger by the distance of the point.

    :param axis: (3,) the last axis, with all joints at zero.
    :param wrist, around: point (3,) of it, and its hull.
    :param hull_of: returns the hull of a point.
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
    Return the hull (BLOCK,) of the point of the last axis alone, which is in the base frame with all joints at zero.

    None for chains with slides, whose limits would be taken for a cause that they are not.

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
    """Return the array of the hull of a point; the same one for the same numbers."""
    kinds = np.asarray(slides, dtype=np.int64)
    # Limits of joints that turn say nothing here, and must not make two of one hull.
    limits = np.where(kinds == 1, [lower, upper], 0.0)
    parts = [np.ascontiguousarray(part).ravel() for part in (axes, points, limits, place)]
    return _compute(kinds.tobytes(), np.concatenate(parts).tobytes())


def _point_of_last_axis(
    slides: NDArray[np.bool_], axes: FloatArray, points: FloatArray, tip: FloatArray
) -> FloatArray:
    """Return the point of the last axis that is nearest to the axis before it, or to the tip where they are parallel."""
    axis, start = axes[-1], points[-1]
    turning = np.flatnonzero(~slides[:-1])
    if len(turning):
        before = turning[-1]
        across = np.cross(axis, axes[before])
        if np.linalg.norm(across) > LEAST_SINE:
            normal = np.cross(axes[before], across)
            along = (points[before] - start) @ normal / (axis @ normal)
            nearest: FloatArray = start + along * axis
            return nearest
    beside: FloatArray = start + ((tip - start) @ axis) * axis
    return beside


@functools.lru_cache(maxsize=KEPT)
def _compute(kinds: bytes, numbers: bytes) -> FloatArray:
    """Return the array of a hull."""
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
