"""Penalties that postures near joint limits, singularities and obstacles add to the objective of a path."""

import math

import numpy as np

from ssik_ros.arguments import read_float
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidOption
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.paths.collisions.obstacles import Obstacles
from ssik_ros.paths.requests import PathPenalties
from ssik_ros.paths.tool_chain import ToolChain


class PostureCosts:
    """Computes the penalty of each posture of one chain, by its distance from limits, singularities and obstacles."""

    def __init__(
        self, chain: ToolChain, penalties: PathPenalties, obstacles: Obstacles | None
    ) -> None:
        """
        Store the settings of penalties after a check.

        :param chain: the joints.
        :param penalties: weights and zones.
        :param obstacles: the collision checks; None if collisions are not checked.
        :raises InvalidOption: if a number is negative or not finite, if a zone is 0, or if obstacles have a penalty but
            are None.
        """
        for name in type(penalties).__dataclass_fields__:
            value = read_float(name, getattr(penalties, name))
            if not 0.0 <= value < math.inf or (name.endswith('zone') and value == 0.0):
                raise InvalidOption(f'{name} of penalties is a positive number, not {value!r}.')
        if penalties.obstacles > 0.0 and obstacles is None:
            raise InvalidOption('A penalty for obstacles needs obstacles; an empty list will do.')
        self._chain, self._penalties, self._obstacles = chain, penalties, obstacles
        weights = penalties
        self.is_used = (
            weights.limits > 0.0 or weights.singularities > 0.0 or weights.obstacles > 0.0
        )

    def values(self, q: FloatArray, turning: IntArray) -> FloatArray:
        """
        Return the penalty (k,) of each posture, summed over limits, singularities and obstacles.

        Each part is a weight times a factor. The factor rises as a square, from 0 at the edge of a zone to 1 at its
        worst place.

        :param q: (k, n) postures; angles of joints with a limit are not wrapped.
        :param turning: (n,) 1 for joints whose winding is chosen later, which are never near a limit, else 0.
        """
        penalties, total = self._penalties, np.zeros(len(q))
        if penalties.limits > 0.0:
            total += penalties.limits * _rise(self.margins(q, turning) / penalties.limit_zone)
        if penalties.singularities > 0.0:
            total += penalties.singularities * _rise(
                self.smallest_values(q) / penalties.singular_zone
            )
        if penalties.obstacles > 0.0 and self._obstacles is not None:
            near = self._obstacles.distances(q, penalties.obstacle_zone) / penalties.obstacle_zone
            total += penalties.obstacles * _rise(near)
        return total

    def margins(self, q: FloatArray, turning: IntArray) -> FloatArray:
        """
        Return the distance (k,) of each posture from its nearest joint limit, as a share of this joint's range.

        If no joint counts, it is 1. Joints without limits do not count, nor joints whose winding is chosen later.

        :param q: (k, n) postures.
        :param turning: (n,) 1 for joints whose winding is chosen later, else 0.
        """
        margins = limit_margins(self._chain.chain, q)[:, turning == 0]
        return np.asarray(margins.min(axis=1, initial=1.0))

    def smallest_values(self, q: FloatArray) -> FloatArray:
        """
        Return the smallest singular value (k,) of each posture's Jacobian, with lengths in units of the arm's length.

        :param q: (k, n) postures.
        """
        serial = self._chain.chain
        jacobians = serial.moved(q).jacobians(length=max(serial.length, 1e-12))
        # With more than six joints there are six singular values, otherwise one per joint. The smallest comes last.
        return np.asarray(np.linalg.svd(jacobians, compute_uv=False)[:, -1])


def limit_margins(chain: SerialChain, q: FloatArray) -> FloatArray:
    """
    Return the distance (k, n) of each joint from its nearer limit, as a share of its range; inf if one is missing.

    :param chain: the joints.
    :param q: (k, n) postures.
    """
    widths = chain.upper - chain.lower
    nearer = np.minimum(q - chain.lower, chain.upper - q)
    with np.errstate(invalid='ignore'):
        return np.where(np.isfinite(widths), nearer / np.maximum(widths, 1e-12), np.inf)


def _rise(part: FloatArray) -> FloatArray:
    """Return ``(1 - part)^2``, with ``part`` clipped to [0, 1] first."""
    return np.asarray(np.clip(1.0 - part, 0.0, 1.0) ** 2)
