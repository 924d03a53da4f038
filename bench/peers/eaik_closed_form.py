"""EAIK: every branch of six joints; it knows no limits and no seed."""

from collections.abc import Callable
import math
from typing import Any

import numpy as np

from bench.arms import Arm, FloatArray
from bench.classes import CLASSES
from bench.peers import check_fk, NotComparable, Peer, Prepared


def make_robot(arm: Arm) -> tuple[Any, FloatArray]:
    """
    Return its robot, whose tip is not rotated at zero, and the pose (4, 4) of that tip in ours.

    :param arm: the arm.
    :raises NotComparable: when it has no decomposition for it.
    """
    from eaik.IK_HP import HPRobot

    if len(arm.joints) != 6:
        raise NotComparable('takes seven joints only with one of them locked')
    directions, points, tip = arm.lines()
    corners = np.vstack([np.zeros(3), points, tip[:3, 3]])
    robot = HPRobot(directions, np.diff(corners, axis=0))
    if not robot.hasKnownDecomposition():
        raise NotComparable('refuses: unknown class')
    rotation = np.eye(4)
    rotation[:3, :3] = tip[:3, :3].T
    check_fk(arm, lambda q: robot.fwdKin(q) @ rotation.T)
    return robot, rotation


def converter(rotation: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the function that turns targets (4, 4) into its frames."""
    return lambda target: np.ascontiguousarray(target @ rotation)


def prepare(arm: Arm) -> Prepared:
    """
    Return its solver.

    :param arm: the arm.
    :raises NotComparable: when it has none.
    """
    robot, rotation = make_robot(arm)
    solver = robot.IK

    def solve(target: FloatArray, seed: FloatArray) -> Any:
        return solver(target)

    def read(solution: Any) -> FloatArray:
        exact = ~np.array(solution.is_LS, dtype=bool)
        branches: FloatArray = np.array(solution.Q).reshape(-1, 6)[exact]
        return branches

    return Prepared(solve, converter(rotation), read, 'no limits, no seed')


def prepare_nearest(arm: Arm) -> Prepared:
    """
    Return the call for one solution: eaik's branches, then limits and distance to the seed, as a user would add them.

    :param arm: the arm.
    :raises NotComparable: if the arm has no closed form.
    """
    robot, rotation = make_robot(arm)
    solver, (lower, upper) = robot.IK, arm.sampling_bounds()

    def solve(target: FloatArray, seed: FloatArray) -> FloatArray | None:
        solution = solver(target)
        branches = np.array(solution.Q)[~np.array(solution.is_LS, dtype=bool)]
        if not len(branches):
            return None
        wound = branches + math.tau * np.round((seed - branches) / math.tau)
        wound += math.tau * (np.less(wound, lower) * 1.0 - np.greater(wound, upper))
        inside = wound[((wound >= lower) & (wound <= upper)).all(axis=1)]
        if not len(inside):
            return None
        nearest: FloatArray = inside[np.abs(inside - seed).sum(axis=1).argmin()]
        return nearest

    return Prepared(solve, converter(rotation), note='limits and seed in numpy')


ONE = 'HPRobot(H, P).IK(T), then limits and the nearest in numpy'
PEER = Peer('eaik', 'eaik', 'eaik', 'HPRobot(H, P).IK(T)', prepare, ('all_branches',))
NEAREST = Peer('eaik nearest', 'eaik', 'eaik', ONE, prepare_nearest, tuple(CLASSES), slow=True)
PEERS = (PEER, NEAREST)
