"""
Refine postures that nearly reach a pose, with all joints within their limits.

Descents end short of solutions that are singular, or that have nearly all joints on limits. A refinement often reaches
such solutions. It begins at the ends of descents, and on edges and faces of the limits, see
:mod:`ssik_ros.kernels.closed_form.singular.bounded_refinement` and
:mod:`ssik_ros.kernels.closed_form.singular.limit_edges`.

Shapes: ``n`` joints. A pose is the pose (4, 4) of the tip in the base; bounds are (2, n) lower and upper limits, which
may be infinite.
"""

from collections.abc import Iterable, Iterator
import itertools

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.closed_form.singular import (
    bounded_refinement,
    limit_edges,
    reach_edge,
    singular_refinement,
)
from ssik_ros.kernels.geometry.rotations import pose_numbers
from ssik_ros.model.serial_chain import SerialChain

Aim = tuple[FloatArray, FloatArray, FloatArray, int, int, IntArray, FloatArray, float]
"""Axes, points, home, n, slides, joints, target and unit, see :class:`singular_refinement.Aim`."""
NEAR_EDGE, NEAREST_EDGES = 3e-2, 24
NEAR_FACE, NEAREST_FACES = 0.4, 96
"""
Largest Frobenius norm of FK - T of a posture on an edge and on a face of the limits that is refined, lengths in units of
the chain; and most such postures. Faces are sampled coarsely.
"""
MOVING, FIRST_STEPS, NEAREST_MIDDLES = 3, 10, 16
"""
Number of joints that are not on limits on the largest faces; number of steps from the middle of each face; and maximum
number of postures that these steps may return.
"""


def unlimited(n: int) -> FloatArray:
    """Return infinite bounds (2, n)."""
    return np.outer([-np.inf, np.inf], np.ones(n))


class BoundedRefinement:
    """Refines postures of one chain by Newton steps within limits; several threads may call it at once."""

    def __init__(self, chain: SerialChain) -> None:
        """Keep axes, points, home pose and sliding joints of a chain as the arrays that the kernels read."""
        n = len(chain.joint_names)
        self._n, self._joints, self._chain = n, np.arange(n), chain.packed

    def aim(self, pose: FloatArray) -> Aim:
        """
        Return the chain and a pose as the kernels' arguments: (axes, points, home, n, slides, joints, target, unit).

        ``unit`` is the length by which the kernels divide lengths [m]. It is the largest distance from
        the chain's point on axis 1 to the target or to its point on another axis; 1 if this is 0.
        """
        target, (axes, points, home, slides) = pose_numbers(pose), self._chain
        places = np.vstack([points.reshape(-1, 3), target[9:]])
        unit = float(np.linalg.norm(places - places[0], axis=1).max()) or 1.0
        return axes, points, home, self._n, slides, self._joints, target, unit

    def refine(
        self,
        pose: FloatArray,
        q: FloatArray,
        bounds: FloatArray,
        tolerance: float,
        most_steps: int = singular_refinement.MOST_STEPS,
    ) -> FloatArray | None:
        """
        Return a posture (n,) within the bounds that reaches a pose, found by steps from ``q``; None if the steps fail.

        :param pose: (4, 4) pose of the tip in the base.
        :param q: (n,) posture within the bounds that nearly reaches the pose.
        :param bounds: (2, n) lower and upper limits; may be infinite.
        :param tolerance: largest Frobenius norm of FK - T of an accepted posture.
        :param most_steps: number of steps, failed ones included.
        """
        refined = q.copy()
        error = self._refine_in_place(refined, bounds, self.aim(pose), most_steps)
        return refined if error <= tolerance else None

    def _refine_in_place(
        self, q: FloatArray, bounds: FloatArray, aim: Aim, most_steps: int
    ) -> float:
        """
        Refine a posture (n,) in place, and return the Frobenius norm of FK - T that is left.

        :param bounds: (2, n) lower and upper limits.
        :param aim: chain and pose, from :meth:`aim`.
        :param most_steps: number of steps, failed ones included.
        """
        scratch = np.empty(bounded_refinement.scratch_size(self._n))
        error: float = bounded_refinement.refine_within(
            q, bounds[0], bounds[1], *aim, most_steps, scratch
        )
        return error

    def first_refined(
        self, pose: FloatArray, ends: Iterable[FloatArray], bounds: FloatArray, tolerance: float
    ) -> FloatArray | None:
        """
        Refine postures one after the other, and return the first result (n,) that reaches the pose; None if none does.

        :param pose: (4, 4) pose of the tip in the base.
        :param ends: (n,) postures to begin at, in this order.
        :param bounds: (2, n) lower and upper limits; may be infinite.
        :param tolerance: largest Frobenius norm of FK - T of an accepted posture.
        """
        refined = (self.refine(pose, q, bounds, tolerance) for q in ends)
        return next((q for q in refined if q is not None), None)

    def moved_to_edge(
        self, pose: FloatArray, q: FloatArray, may_move: NDArray[np.bool_]
    ) -> FloatArray:
        """
        Move a posture to the edge of reach next to a pose, and return the moved posture (n,).

        The edge of reach is where the arm is stretched or folded. The result need not reach the pose, nor be within the
        limits: the caller checks this.

        :param pose: (4, 4) pose of the tip in the base.
        :param q: (n,) posture that nearly reaches the pose.
        :param may_move: (n,) True for joints that may move.
        """
        axes, points, home, n, slides, _, target, unit = self.aim(pose)
        moved, free = q.copy(), np.zeros(n, dtype=np.int64)
        count = int(may_move.sum())
        free[:count] = np.flatnonzero(may_move)
        scratch = np.empty(reach_edge.scratch_size(n, count))
        reach_edge.move_to_edge(
            moved, axes, points, home, n, slides, free, count, target, unit, scratch
        )
        return moved

    def near_limits(self, pose: FloatArray, bounds: FloatArray) -> Iterator[FloatArray]:
        """
        Yield postures (n,) with nearly all joints on limits that are worth refining to a pose.

        They come in three groups, each sorted by pose error, the smallest first:

        1. All joints but one are on a limit, and the posture nearly reaches the pose.
        2. All joints but two are on a limit. The other two were refined, and postures that do not come near the pose
           were dropped. The order is that before the refinement.
        3. Ends of a few steps, in which all joints move within the bounds. Each start has all joints but three on
           limits, or all with two finite limits if these are fewer. The ends may miss the pose.

        A joint without two finite limits is not put on a limit. Nothing is yielded for more than 8 joints.

        :param pose: (4, 4) pose of the tip in the base.
        :param bounds: (2, n) lower and upper limits; may be infinite.
        """
        yield from self.on_edges(pose, bounds)
        yield from self.on_faces(pose, bounds)

    def on_edges(self, pose: FloatArray, bounds: FloatArray) -> FloatArray:
        """
        Return postures (k, n) with all joints but one on a limit that nearly reach a pose, the nearest first.

        At most 24 are returned, and none for a chain of more than 8 joints.

        :param pose: (4, 4) pose of the tip in the base.
        :param bounds: (2, n) lower and upper limits; may be infinite.
        """
        return self._nearest(pose, bounds, False, NEAR_EDGE, NEAREST_EDGES)

    def on_faces(self, pose: FloatArray, bounds: FloatArray) -> Iterator[FloatArray]:
        """
        Yield postures (n,) that begin with all joints but two or three on limits, and come near a pose by steps.

        With two free joints, the others stay on their limits and the posture nearly reaches the pose. With three, all
        joints move for a few steps, and the posture may miss the pose.

        :param pose: (4, 4) pose of the tip in the base.
        :param bounds: (2, n) lower and upper limits; may be infinite.
        """
        unit = self.aim(pose)[-1]
        near = NEAR_EDGE * max(1.0, unit)
        for q in self._nearest(pose, bounds, True, NEAR_FACE, NEAREST_FACES):
            is_fixed = (q == bounds[0]) | (q == bounds[1])
            refined = self.refine(pose, q, np.where(is_fixed, q, bounds), near)
            if refined is not None:
                yield refined
        yield from self._from_middles(pose, bounds)

    def _from_middles(self, pose: FloatArray, bounds: FloatArray) -> list[FloatArray]:
        """
        Return at most 16 postures (n,) that a few steps reach from the middles of the largest faces, the nearest first.

        The list is empty for up to three joints, for more than MOST_JOINTS, and if no joint has both limits.

        Each start has all joints but three on limits. The three are in the middle of their ranges; a joint with fewer
        than two limits is at its value nearest to zero. If more than three joints lack a limit, all others are on
        limits. During the steps all joints move.
        """
        aim, has_limits = self.aim(pose), np.isfinite(bounds).all(axis=0)
        middle = np.where(has_limits, bounds, 0.0).mean(axis=0).clip(*bounds)
        limited = np.flatnonzero(has_limits).tolist()
        on_limits = min(len(limited), self._n - MOVING)
        ends: list[tuple[float, FloatArray]] = []
        if self._n > limit_edges.MOST_JOINTS or on_limits <= 0:
            return []
        for joints in map(list, itertools.combinations(limited, on_limits)):
            for sides in itertools.product((0, 1), repeat=on_limits):
                q = middle.copy()
                q[joints] = bounds[sides, joints]
                ends.append((self._refine_in_place(q, bounds, aim, FIRST_STEPS), q))
        ends.sort(key=lambda end: end[0])
        return [q for _, q in ends[:NEAREST_MIDDLES]]

    def _nearest(
        self, pose: FloatArray, bounds: FloatArray, on_faces: bool, near: float, most: int
    ) -> FloatArray:
        """
        Return the ``most`` postures (k, n) nearest to a pose with nearly all joints on limits, if their error is small.

        The error is the Frobenius norm of FK - T with lengths in units of the chain, at most ``near``. On faces one
        joint takes a few values only, so that a nearer posture may lie between them.

        :param bounds: (2, n) lower and upper limits.
        :param on_faces: True leaves two joints off their limits, False one.
        """
        n = self._n
        out, errors = np.empty((most, n)), np.empty(most)
        count = limit_edges.find_nearest(
            out,
            errors,
            bounds[0],
            bounds[1],
            *self.aim(pose),
            on_faces,
            np.empty(n),
            np.empty(certify.scratch_size(n)),
        )
        return out[:count][errors[:count] <= near]
