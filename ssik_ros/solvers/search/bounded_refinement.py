"""
Refine postures that nearly reach a pose, with all joints within their limits.

Descents end short of solutions that are singular, or that have nearly all joints on limits. A refinement reaches such
solutions. It begins at the ends of descents, and on edges of the limits, see
:mod:`ssik_ros.kernels.closed_form.singular.bounded_refinement` and
:mod:`ssik_ros.kernels.closed_form.singular.limit_edges`.

Shapes: ``n`` joints. A pose is the pose (4, 4) of the tip in the base; bounds are (2, n) lower and upper limits, which
may be infinite.
"""

from collections.abc import Iterable

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.closed_form.singular import (
    bounded_refinement,
    limit_edges,
    singular_refinement,
)
from ssik_ros.kernels.geometry.rotations import pose_numbers
from ssik_ros.kernels.rows import bounded_squares
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain

NEAR_EDGE = 1e-2
"""
Largest Frobenius norm of FK - T at the beginning of a refinement on an edge of the limits; lengths are in units of the
chain.
"""
NEAREST_EDGES = 8
"""Most postures on edges of the limits that are refined."""


class BoundedRefinement:
    """The refinement of one chain; several threads may call it at once."""

    def __init__(self, chain: SerialChain) -> None:
        """Pack a chain."""
        n = len(chain.joint_names)
        self._n, self._joints = n, np.arange(n)
        self._slides = sum(
            1 << joint for joint, kind in enumerate(chain.kinds) if kind == JointKind.PRISMATIC
        )
        # The kernel accepts only arrays that are writable.
        self._chain = chain.axes.flatten(), chain.points.flatten(), pose_numbers(chain.home)

    def unit(self, aim: FloatArray) -> float:
        """
        Return the unit of length: the largest distance of an axis or the target from axis 1 [m].

        :param aim: (12,) numbers of the target.
        """
        places = np.vstack([self._chain[1].reshape(-1, 3), aim[9:]])
        return float(np.linalg.norm(places - places[0], axis=1).max()) or 1.0

    def refine(
        self,
        pose: FloatArray,
        q: FloatArray,
        bounds: FloatArray,
        tolerance: float,
        most_steps: int = singular_refinement.MOST_STEPS,
    ) -> FloatArray | None:
        """
        Return a posture (n,) that reaches the pose, close to the end of a descent; None if refinement finds none.

        :param q: (n,) posture within the bounds that nearly reaches the pose.
        :param tolerance: largest Frobenius norm of FK - T of an accepted posture.
        :param most_steps: number of steps, failed ones included.
        """
        n, rows, aim, refined = (
            self._n,
            singular_refinement.ROWS + self._n,
            pose_numbers(pose),
            q.copy(),
        )
        error = bounded_refinement.refine_within(
            refined,
            bounds[0],
            bounds[1],
            *self._chain,
            n,
            self._slides,
            self._joints,
            aim,
            self.unit(aim),
            most_steps,
            np.empty((rows, n + 1)),
            np.empty((rows, n)),
            np.empty(rows),
            np.empty((bounded_refinement.ROWS_OF_VECTORS, n)),
            np.empty((bounded_squares.ROWS_OF_NUMBERS, n)),
            np.empty(certify.scratch_size(n)),
        )
        return refined if error <= tolerance else None

    def first_refined(
        self, pose: FloatArray, ends: Iterable[FloatArray], bounds: FloatArray, tolerance: float
    ) -> FloatArray | None:
        """
        Return the first posture (n,) that :meth:`refine` returns; None if it returns none.

        :param ends: (n,) postures to begin at, in this order.
        :param tolerance: as for :meth:`refine`.
        """
        refined = (self.refine(pose, q, bounds, tolerance) for q in ends)
        return next((q for q in refined if q is not None), None)

    def on_edges(self, pose: FloatArray, bounds: FloatArray, most: int) -> list[FloatArray]:
        """
        Return the postures (n,) on edges of the limits that nearly reach a pose, the nearest first.

        On an edge all joints but one are on a limit.

        :param most: number of postures.
        """
        aim, n = pose_numbers(pose), self._n
        out, errors = np.empty((most, n)), np.empty(most)
        count = limit_edges.find_edges(
            out,
            errors,
            np.empty(n),
            bounds[0],
            bounds[1],
            *self._chain,
            n,
            self._slides,
            self._joints,
            aim,
            self.unit(aim),
            np.empty(certify.scratch_size(n)),
        )
        return list(out[:count][errors[:count] <= NEAR_EDGE])
