"""
The tail of a solve as single steps, for callers who want another order or a filter of their own in between.

``Manipulator.solve`` applies these by default. A *solution* is anything with a field ``q`` and a method ``_replace``, as
:class:`ssik_ros.Solution`; a *kinbody* anything with ``joints`` that have ``limits`` and ``type``, as
:class:`ssik_ros.KinBody`.
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
    Return the solutions with every angle moved by windings of 2 pi into its limits where that is possible.

    At most two windings either way; the fewest win. Sliding joints and joints without limits stay as they are, and
    so do angles that no winding brings inside.

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
    Return the solutions by their distance to a posture, nearest first; equal ones keep their order.

    :param sols: solutions.
    :param q_seed: (dof,) the posture [rad].
    :param metric: ``'wrap_l2'``, the norm of the joint differences modulo 2 pi, or ``'wrap_linf'``, the largest.
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
        away = np.abs(wrap_angles(np.asarray(sol.q) - seed))
        return float(np.linalg.norm(away) if metric == 'wrap_l2' else away.max(initial=0.0))

    return sorted(_solutions(sols), key=distance)


def take_first(sols: list[Solution], k: int) -> list[Solution]:
    """
    Return the first k solutions; none for k <= 0.

    :param sols: solutions, best first.
    :param k: how many.
    """
    return _solutions(sols)[: max(0, read_count('k', k, -sys.maxsize))]


def _solutions(sols: Iterable[Solution], kb: KinBody | None = None) -> list[Solution]:
    """Return solutions as a list after a check of their type, and of the type of the arm if it is given."""
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
    """Return an angle moved into its limits by the fewest windings; unchanged if that is impossible or not needed."""
    if limits is None or kind == 'prismatic':
        return value
    moved = (value + k * TURN for k in WINDINGS)
    return next((angle for angle in moved if _is_inside(angle, limits)), value)
