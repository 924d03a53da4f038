"""
Functions that filter and sort solutions after a solve: joint limits, windings, distance to a seed, and number.

``Manipulator.solve`` has such steps of its own, chosen by its arguments. Call these functions for another order, or for
a filter in between. A solution needs a field ``q`` and a method ``_replace``, as :class:`ssik_ros.Solution`. An arm
needs ``joints`` with ``limits`` and ``type``, as :class:`ssik_ros.KinBody`.
"""

from collections.abc import Iterable, Iterator
import sys

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import read_count, read_numbers, refuse, shown
from ssik_ros.arrays import TURN, wrap_angles
from ssik_ros.errors import counted, describe_choices, DimensionMismatch, InvalidOption
from ssik_ros.manipulator.kin_body import KinBody
from ssik_ros.manipulator.solution import Solution

WINDINGS = (0, -1, 1, -2, 2)
"""Windings that :func:`wrap_to_limits` tries, in this order."""
METRICS = ('wrap_l2', 'wrap_linf')


def respect_limits(sols: list[Solution], kb: KinBody) -> list[Solution]:
    """
    Return the solutions within the joint limits, bounds included, in their order.

    :param sols: solutions.
    :param kb: the arm; joints with ``limits`` None refuse nothing.
    :raises ValueError: when a solution has another number of joints.
    """
    return [
        sol
        for sol in _solutions(sols, kb)
        if all(_is_inside(q, at) for q, at, _ in _per_joint(sol, kb))
    ]


def wrap_to_limits(sols: list[Solution], kb: KinBody) -> list[Solution]:
    """
    Return the solutions with each angle moved into its joint limits by full turns, if that is possible.

    An angle moves by the fewest turns that bring it inside, at most two in either direction. Angles that stay outside,
    sliding joints and joints without limits are unchanged.

    :param sols: solutions.
    :param kb: the arm.
    :raises ValueError: when a solution has another number of joints.
    """
    return [
        sol._replace(q=np.array([_wrap(q, at, kind) for q, at, kind in _per_joint(sol, kb)]))
        for sol in _solutions(sols, kb)
    ]


def nearest_to_seed(
    sols: list[Solution], q_seed: ArrayLike, metric: str = 'wrap_l2'
) -> list[Solution]:
    """
    Return the solutions sorted by their distance to a posture, nearest first.

    Solutions at equal distances keep their order. Differences of all joints are taken modulo 2 pi, of sliding joints
    too.

    :param sols: solutions.
    :param q_seed: (dof,) the posture [rad or m].
    :param metric: ``'wrap_l2'`` for the norm of the joint differences, ``'wrap_linf'`` for the largest one.
    :raises ValueError: for another metric, or when a solution has another number of joints.
    """
    if not isinstance(metric, str) or metric not in METRICS:
        raise InvalidOption(
            f'metric is {shown(metric)}. {describe_choices(shown(metric), METRICS)}', value=metric
        )
    seed = read_numbers('q_seed', q_seed)
    if seed.ndim != 1 or not np.isfinite(seed).all():
        raise DimensionMismatch(f'q_seed must be one list of finite numbers, not {shown(q_seed)}.')

    def distance(sol: Solution) -> float:
        _check_length(sol, len(seed), 'the seed')
        differences = np.abs(wrap_angles(np.asarray(sol.q) - seed))
        return float(
            np.linalg.norm(differences) if metric == 'wrap_l2' else differences.max(initial=0.0)
        )

    return sorted(_solutions(sols), key=distance)


def take_first(sols: list[Solution], k: int) -> list[Solution]:
    """
    Return the first k solutions; none for k <= 0.

    :param sols: solutions, best first.
    :param k: how many.
    :raises InvalidOption: for anything but a list of solutions and a whole number.
    """
    return _solutions(sols)[: max(0, read_count('k', k, -sys.maxsize))]


def _solutions(sols: Iterable[Solution], kb: KinBody | None = None) -> list[Solution]:
    """Return solutions as a list; raise InvalidOption if one is not a solution, or if ``kb`` is not an arm."""
    if kb is not None and not hasattr(kb, 'joints'):
        refuse('kb', kb, 'an arm with joints, such as a KinBody')
    if not isinstance(sols, Iterable) or isinstance(sols, str):
        refuse('sols', sols, 'a list of solutions')
    listed = list(sols)
    for sol in listed:
        if not (hasattr(sol, 'q') and hasattr(sol, '_replace')):
            refuse('sols', sol, 'solutions with q, such as Solution')
    return listed


def _per_joint(
    sol: Solution, kb: KinBody
) -> Iterator[tuple[float, tuple[float, float] | None, str]]:
    """Yield value, limits and type of each joint; raise DimensionMismatch for another number of joints."""
    _check_length(sol, len(kb.joints), 'the arm')
    values = np.asarray(sol.q, dtype=np.float64).tolist()
    for value, joint in zip(values, kb.joints, strict=True):
        yield value, joint.limits, joint.type


def _check_length(sol: Solution, dof: int, what: str) -> None:
    if np.shape(sol.q) != (dof,):
        raise DimensionMismatch(
            f'A solution of shape {np.shape(sol.q)} does not belong to {what}, which has {counted(dof, "joint")}.',
            expected=(dof,),
            actual=np.shape(sol.q),
        )


def _is_inside(value: float, limits: tuple[float, float] | None) -> bool:
    return limits is None or limits[0] <= value <= limits[1]


def _wrap(value: float, limits: tuple[float, float] | None, kind: str) -> float:
    """
    Return an angle moved into its limits by the fewest turns, at most two; else the value unchanged.

    The value of a prismatic joint and a value without limits are returned unchanged.
    """
    if limits is None or kind == 'prismatic':
        return value
    moved = (value + k * TURN for k in WINDINGS)
    return next((angle for angle in moved if _is_inside(angle, limits)), value)
