"""Whether two chains are the same arm, whatever base and tool frames they are given in."""

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from bench.arms import FloatArray


class Alignment(NamedTuple):
    """Constant poses that map one chain's poses to another's: ours = base @ theirs @ tool."""

    base: FloatArray
    """(4, 4) pose of their base in ours."""
    tool: FloatArray
    """(4, 4) pose of our tip in theirs."""
    difference: float
    """Largest difference of any entry of the poses that is left [m, or none]."""

    def to_theirs(self, pose: FloatArray) -> FloatArray:
        """
        Return a pose of our tip in our base as one of their tip in their base.

        :param pose: (4, 4).
        """
        return np.ascontiguousarray(np.linalg.inv(self.base) @ pose @ np.linalg.inv(self.tool))


def align(ours: FloatArray, theirs: FloatArray) -> Alignment:
    """
    Return the alignment of two chains, given their poses at the same joint vectors.

    :param ours: (k, 4, 4), at least three of them, of rotations about different axes.
    :param theirs: (k, 4, 4).
    """
    our_moves = ours[1:] @ np.linalg.inv(ours[0])
    their_moves = theirs[1:] @ np.linalg.inv(theirs[0])
    base = np.eye(4)
    vectors = (Rotation.from_matrix(m[:, :3, :3]).as_rotvec() for m in (our_moves, their_moves))
    base[:3, :3] = Rotation.align_vectors(*vectors)[0].as_matrix()
    # A move seen from both bases: R_ours t + t_ours = R t_theirs + t, for the offset t of the bases.
    factors = (our_moves[:, :3, :3] - np.eye(3)).reshape(-1, 3)
    right = their_moves[:, :3, 3] @ base[:3, :3].T - our_moves[:, :3, 3]
    base[:3, 3] = np.linalg.lstsq(factors, right.ravel(), rcond=None)[0]
    tool = np.linalg.inv(base @ theirs[0]) @ ours[0]
    return Alignment(base, tool, float(np.abs(base @ theirs @ tool - ours).max()))
