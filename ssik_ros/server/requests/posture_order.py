"""Sort the postures of one group by distance from a seed, choose their windings, and measure distances to limits."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, TURN, turns_within, wrap_angles
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.server.requests.ik_requests import BranchOptions, LARGEST_RESPONSE
from ssik_ros.solvers.closed_form.branch_request import METRICS
from ssik_ros.solvers.closed_form.windings import enumerate_windings


class Postures(NamedTuple):
    """
    The postures of a response, nearest to the seed first, with their branches; :meth:`PostureOrder.arrange` makes it.

    A branch has several postures if windings are enumerated.
    """

    q: FloatArray
    """(k, n) values of the group's variables [rad or m]."""
    rows: NDArray[np.int64]
    """(k,) index of the branch of each posture, in the order in which the branches were given."""
    total: int
    """Number of postures before they were cut to the largest number that the request allows."""


class PostureOrder:
    """
    Sorts the postures of one group by distance from a seed, chooses windings, and measures distances to limits.

    Shapes: ``n`` variables, ``k`` postures.
    """

    def __init__(self, robot: RobotModel, group: JointGroup) -> None:
        """
        Note which variables of a group are angles.

        :param robot: the robot.
        :param group: one of its groups.
        """
        tree = robot.tree
        angular = {
            int(tree.idx_q[j])
            for j, kind in enumerate(tree.kinds)
            if kind in (JointKind.REVOLUTE, JointKind.CONTINUOUS)
        }
        self._lower, self._upper = group.lower, group.upper
        self._is_angle = np.array([place in angular for place in group.idx_q.tolist()], dtype=bool)
        self._is_free = self._is_angle & np.isinf(group.lower) & np.isinf(group.upper)

    def nearest_windings(self, q: FloatArray, seed: FloatArray) -> FloatArray:
        """
        Return postures (k, n) in which each angle is moved by full turns as near to the seed as its limits allow.

        :param q: (k, n) postures within limits; lengths and quaternions stay unchanged.
        :param seed: (n,) joint vector.
        """
        windings = np.round((seed - q) / TURN)
        with np.errstate(invalid='ignore'):
            least, most = turns_within(q, self._lower, self._upper, 0.0)
        windings = np.where(
            self._is_angle, np.clip(windings, np.minimum(least, 0), np.maximum(most, 0)), 0
        )
        # An angle that stays is not to change in its last digit.
        return np.where(windings == 0.0, q, q + TURN * windings)

    def first_of_each(self, q: FloatArray, order: list[int], apart: float) -> list[int]:
        """
        Return the indices of postures, in the given order, but without near duplicates of earlier ones.

        A posture is kept if it differs from every kept one by more than ``apart`` in some joint. Differences of angles
        without limits are taken modulo 2 pi.

        :param q: (k, n) postures.
        :param order: indices of the postures, best first.
        :param apart: largest difference of near duplicates in each joint [rad or m].
        """
        keep: list[int] = []
        for row in order:
            if not keep or (self._differences(q[keep], q[row]) > apart).any(axis=1).all():
                keep.append(row)
        return keep

    def _differences(self, q: FloatArray, other: FloatArray) -> FloatArray:
        """
        Return the absolute differences (k, n) of postures ``q`` (k, n) from one posture (n,) [rad or m].

        Differences of angles without limits are modulo 2 pi.
        """
        difference = q - other
        return np.abs(np.where(self._is_free, wrap_angles(difference), difference))

    def distances(self, q: FloatArray, seed: FloatArray) -> FloatArray:
        """
        Return the distance (k,) of each posture from a seed: the root of the sum of squared differences.

        Differences of angles without limits are taken modulo 2 pi.

        :param q: (k, n).
        :param seed: (n,).
        """
        return np.asarray(np.sqrt((self._differences(q, seed) ** 2).sum(axis=1)))

    def arrange(self, q: FloatArray, seed: FloatArray, options: BranchOptions) -> Postures:
        """
        Return the postures of a response, nearest to the seed first; with windings if the request enumerates them.

        Windings are all postures within the limits that differ from a branch by whole turns of joints with two limits.
        The number of postures is cut to ``options.max_solutions``, or to ``LARGEST_RESPONSE`` if this is 0 or larger.

        :param q: (k, n) one posture of each branch, within limits.
        :param seed: (n,).
        :param options: largest number of postures, and whether to enumerate windings.
        :raises InvalidOption: if the number of all windings exceeds an int64.
        """
        most = min(options.max_solutions or LARGEST_RESPONSE, LARGEST_RESPONSE)
        order = np.argsort(self.distances(q, seed), kind='stable')
        if not options.enumerate_windings or not len(q):
            return Postures(q[order[:most]], order[:most], len(q))
        # Sliding joints have no windings: an open end says so, and two open ends would stand for a range of 2 pi.
        lower = np.where(self._is_angle, self._lower, -math.inf)
        upper = np.where(self._is_angle, self._upper, np.finfo(np.float64).max)
        metric = METRICS['wrap_l2']
        windings = enumerate_windings(q[order], lower, upper, seed, metric, most)
        return Postures(windings.q, order[windings.of_branch], windings.total)

    def margins(self, q: FloatArray) -> FloatArray:
        """
        Return for each posture (k,) the smallest distance of a variable to its limits [rad or m].

        It is negative outside the limits, and inf if no variable has limits.

        :param q: (k, n).
        """
        room = np.minimum(q - self._lower, self._upper - q)
        return np.asarray(room.min(axis=1, initial=math.inf))

    def count_windings(self, q: FloatArray) -> list[int]:
        """
        Return for each variable the number of full turns from (-pi, pi] to its angle, negative below; 0 for lengths.

        :param q: (n,) joint vector.
        """
        windings = np.ceil(q / TURN - 0.5).astype(np.int64) * self._is_angle
        return [int(winding) for winding in windings]
