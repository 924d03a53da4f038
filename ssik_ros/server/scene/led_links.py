"""Where a link, or an object that it carries, is for joint positions of a group."""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.problem.chain_kinematics import ChainKinematics


class LedLink:
    """Kinematics of what is led: the tip of a chain, or a frame that is rigid with it."""

    def __init__(self, chain: ChainKinematics, tool: FloatArray | None = None) -> None:
        """
        Take the chain.

        :param chain: from the base to the link.
        :param tool: (4, 4) pose in the link of what is led; None for the link itself.
        """
        self._chain, self._tool = chain, tool

    def pose(self, q: FloatArray, state: FloatArray | None = None) -> FloatArray:
        """
        Return the pose (4, 4) in the base.

        :param q: (n,) joint vector of the group [rad or m].
        :param state: (nq,) full state, read for joints outside the group; None means default values.
        """
        pose = self._chain.pose(q, state)
        return pose if self._tool is None else pose @ self._tool

    def jacobian(self, q: FloatArray) -> FloatArray:
        """
        Return the Jacobian (6, m): twist (linear, angular) in base axes per velocity.

        :param q: (n,) joint vector [rad or m].
        """
        jacobian = self._chain.jacobian(q)
        if self._tool is not None:
            arm = self._chain.pose(q)[:3, :3] @ self._tool[:3, 3]
            jacobian[:3] += np.cross(jacobian[3:].T, arm).T
        return jacobian
