"""The solutions of many poses in one array, with access to each pose by its index."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import counted, tells_near_names
from ssik_ros.results import IkStatus
from ssik_ros.value_class import dataclass


@tells_near_names
@dataclass(frozen=True, eq=False, slots=True)
class BatchSolutions:
    """
    Solutions of ``m`` poses for an arm of n joints, ``k`` in all; ``batch[i]`` is the array (k_i, n) of pose i.

    The rows of a pose are in the order of ``Manipulator.solve``. Iterating gives the arrays one after the other. A pose
    that is not a rigid transform has no rows and status REFUSED.
    """

    q: FloatArray
    """(k, n) joint vectors, pose after pose [rad or m]."""
    fk_residuals: FloatArray
    """(k,) Frobenius norm of FK(q) - T of each."""
    offsets: IntArray
    """(m + 1,) pose i has the rows from ``offsets[i]`` to ``offsets[i + 1]``."""
    status: NDArray[np.int8]
    """(m,) :class:`ssik_ros.IkStatus`: SOLVED, UNSOLVED, or REFUSED if the target is not a rigid transform."""

    @classmethod
    def from_counts(
        cls, q: FloatArray, fk_residuals: FloatArray, counts: IntArray
    ) -> 'BatchSolutions':
        """
        Return the solutions of poses from all rows and the number of rows of each pose.

        ``q`` and ``fk_residuals`` become read-only.

        :param q, fk_residuals: (k, n) and (k,) rows of all poses, pose after pose.
        :param counts: (m,) number of rows of each pose, -1 for a refused pose.
        """
        offsets = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(np.maximum(counts, 0), out=offsets[1:])
        status = np.full(len(counts), IkStatus.UNSOLVED, dtype=np.int8)
        status[counts > 0] = IkStatus.SOLVED
        status[counts < 0] = IkStatus.REFUSED
        for array in (q, fk_residuals, offsets, status):
            array.setflags(write=False)
        return cls(q, fk_residuals, offsets, status)

    @property
    def counts(self) -> IntArray:
        """Return the number of solutions of each pose (m,), 0 for a pose without a solution."""
        counts: IntArray = np.diff(self.offsets)
        return counts

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Return a mask (m,) of the poses that have a solution."""
        solved: NDArray[np.bool_] = self.status == IkStatus.SOLVED
        return solved

    success = solved
    """The same as ``solved``; all results have the attribute ``success``."""

    def best(self) -> FloatArray:
        """Return the first solution of each pose (m, n), NaN for poses without one."""
        rows = np.full((len(self.status), self.q.shape[1]), np.nan)
        solved = self.solved
        rows[solved] = self.q[self.offsets[:-1][solved]]
        return rows

    def __len__(self) -> int:
        """Return the number of poses."""
        return len(self.status)

    def __getitem__(self, pose: int) -> FloatArray:
        """
        Return the solutions (k_i, n) of one pose, best first.

        :param pose: index of the pose; a negative index counts from the end.
        :raises IndexError: for an index outside the batch.
        """
        size = len(self.status)
        if not -size <= pose < size:
            raise IndexError(f'There are {counted(size, "pose")}, and no number {pose}.')
        index = pose % size
        return self.q[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[FloatArray]:
        """Iterate over the solutions (k_i, n) of each pose."""
        return (self[pose] for pose in range(len(self.status)))
