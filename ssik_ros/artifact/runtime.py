"""
Read arguments, call the search and return solutions, in every artifact: a generated Python module that solves one arm.

:func:`solve_pose` and :func:`forward` and all that they need are copied into artifacts. So they may need only Python
and numpy.
"""

from typing import Any, NamedTuple

import numpy as np

from ssik_ros.kernels.closed_form.branches import held_search, held_slide, plan_layout, search
from ssik_ros.kernels.closed_form.certification import certify, ranking
from ssik_ros.kernels.geometry import se3

FARTHEST_TARGET = 1e9
"""Targets further away [m] have no solution, and squares of them would overflow."""
MODES = {True: ranking.WITHIN_LIMITS, False: ranking.KEEP_ALL, 'wrap': ranking.WRAP_ONLY}


class ArtifactPlan(NamedTuple):
    """
    Constants of an artifact's arm: arrays of its search, number of values of a held joint, and kind of numbers.

    ``ints`` and ``reals`` are the plan of the closed form, ``options`` the options of a call. ``held_samples`` is the
    number of values that are tried for a held joint in addition to the seed's value; it is not read without a held
    joint. With ``uses_views``, arrays are read as Python's own numbers, which is faster than numpy's in plain Python.
    """

    ints: Any
    reals: Any
    options: Any
    held_samples: int
    uses_views: bool


def solve_pose(
    plan: ArtifactPlan,
    find: Any,
    pose: Any,
    q_seed: Any = None,
    max_solutions: Any = None,
    respect_limits: Any = True,
) -> list[tuple[Any, float]]:
    """
    Return the solutions of a pose T: (joint vector (n,), Frobenius norm of FK - T) each, sorted only with a seed.

    Without a held joint and with axes that fit the closed form exactly, these are all solutions, unless the pose is
    nearly singular. With a held joint, they are the solutions at its values of :func:`held_values`. In all other cases
    an empty list does not prove that no solution exists. The list is also empty if an element of T is beyond +-1e9.

    :param plan: plan of the arm.
    :param find: the search function.
    :param pose: (4, 4) pose of the end effector in the base.
    :param q_seed: (n,) seed; solutions are sorted by distance from it. Of several windings within the limits, the
        nearest to it is taken, unless ``respect_limits`` is False. None for no seed.
    :param max_solutions: largest number of solutions; None for all.
    :param respect_limits: True drops solutions outside the limits; False keeps them, with angles in (-pi, pi]; 'wrap'
        moves joints into the limits by whole turns where possible and keeps all solutions.
    :raises ValueError: for a wrong shape or value, or a pose that is not rigid.
    :raises TypeError: if an array does not hold real numbers, or ``max_solutions`` is not a whole number.
    """
    n = int(plan.ints[search.N])
    target = read_numbers(pose, (4, 4), 'T')
    seed = None if q_seed is None else read_numbers(q_seed, (n,), 'q_seed')
    if not isinstance(respect_limits, (bool, str)) or respect_limits not in MODES:
        raise ValueError(f"respect_limits is {respect_limits!r}; it may be True, False or 'wrap'.")
    mode = MODES[respect_limits]
    if np.abs(target).max() > FARTHEST_TARGET:
        return []
    samples = held_values(plan, n, seed, mode == ranking.WITHIN_LIMITS, target)
    capacity = search.BRANCHES_OF_SIX * len(samples)
    options = plan.options.copy()
    options[search.MODE], options[search.METRIC] = mode, ranking.SUM_OF_SQUARES
    options[search.HAS_SEED] = seed is not None
    options[search.MAX_SOLUTIONS] = read_count(max_solutions, capacity)
    reference = np.zeros(n) if seed is None else seed
    request = samples, target, reference, options
    try:
        count, rows = run_search(plan, find, capacity, request, plan.uses_views)
    except (ArithmeticError, ValueError):
        # Python's numbers raise where numpy's go on with an infinity, as the library does.
        count, rows = run_search(plan, find, capacity, request, False)
    if count < 0:
        raise ValueError('T is no rigid transform: rotation and last row do not fit.')
    return [(row[:n].copy(), float(row[n + 2])) for row in rows[:count]]


def run_search(
    plan: ArtifactPlan, find: Any, capacity: int, request: Any, uses_views: bool
) -> Any:
    """
    Return (number of solutions, rows); the number is -1 for a pose that is not rigid.

    The first rows are the solutions; the other rows are not set. A row (n + 3,) has the joint values and three errors,
    of which the last one is the Frobenius norm of FK - T.

    :param plan: plan of the arm.
    :param find: the search function.
    :param capacity: largest number of solutions.
    :param request: (values of the held joint (k,), target (4, 4), seed (n,), options of the search).
    :param uses_views: whether to calculate with Python's numbers instead of numpy's.
    :raises ArithmeticError, ValueError: with ``uses_views``, where numpy's numbers become infinite or NaN.
    """
    n = int(plan.ints[search.N])
    rows = np.empty((capacity, n + 3))
    counters = np.zeros(search.COUNTERS + capacity, dtype=np.int64)
    samples, target, reference, options = request
    work = np.empty(search.work_size(n, capacity))
    flat = [plan.ints, plan.reals, samples, reference, options, work]
    if uses_views:
        flat = [memoryview(array) for array in flat]
    ints, reals, samples, reference, options, work = flat
    with np.errstate(all='ignore'):
        count = find(rows, counters, ints, reals, samples, target, reference, options, work)
    return count, rows


def forward(plan: ArtifactPlan, q: Any) -> Any:
    """
    Return the pose (4, 4) of the end effector in the base at a joint vector: forward kinematics.

    :param plan: plan of the arm.
    :param q: (n,) joint values [rad or m].
    :raises TypeError: if the vector does not hold real numbers.
    :raises ValueError: for a wrong shape, or values that are not finite.
    """
    n = int(plan.ints[search.N])
    values = read_numbers(q, (n,), 'q')
    pose, matrix = np.empty(12), np.empty((4, 4))
    arm = plan_layout.view_plan(plan.reals, n)
    slides, screws = plan.ints[search.SLIDES], np.empty(6 * n)
    certify.evaluate(arm.axes, arm.points, arm.home, n, slides, values, screws, pose)
    se3.to_matrix(matrix, pose)
    return matrix


def held_values(plan: ArtifactPlan, n: int, seed: Any, within_limits: bool, target: Any) -> Any:
    """
    Return the values of the held joint to try [rad or m]: the seed's value, then values spread evenly over its range.

    The seed's value is moved into the range; it is left out without a seed. The others are the middles of
    ``held_samples`` equal parts of the range. Without a held joint, the result is one zero.

    :param plan: plan of the arm.
    :param n: number of joints.
    :param seed: (n,) or None.
    :param within_limits: whether the range of an angle ends at the joint limits; it is a full turn at most.
    :param target: (4, 4) pose of the end effector. The range of a slide has only lengths with which the arm may reach
        it, and ends at the limits, unless all these lengths are outside.
    """
    held = int(plan.ints[search.HELD])
    if held < 0:
        return np.zeros(1)
    arm = plan_layout.view_plan(plan.reals, n)
    low, high = float(arm.lower[held]), float(arm.upper[held])
    slides = bool((int(plan.ints[search.SLIDES]) >> held) & 1)
    if slides:
        low, high = held_slide.slide_range(plan.ints, plan.reals, target)
    else:
        low, high = held_search.turning_range(low, high, within_limits)
    step = (high - low) / plan.held_samples
    values = [low + (i + 0.5) * step for i in range(plan.held_samples)]
    if seed is not None:
        values.insert(0, held_search.into_range(float(seed[held]), low, high, slides))
    return np.array(values)


def read_numbers(value: Any, shape: tuple[int, ...], name: str) -> Any:
    """
    Return a value as a new array of finite floats, after a check of its shape.

    :param value: an array or nested sequences of integers or floats.
    :param shape: required shape.
    :param name: name of the argument, for messages.
    :raises TypeError: for values that are not real numbers.
    :raises ValueError: for another shape, or values that are not finite.
    """
    array = np.asarray(value)
    if array.dtype.kind not in 'fiu':
        raise TypeError(f'{name} holds {array.dtype}, not real numbers.')
    if array.shape != shape:
        raise ValueError(f'{name} has the shape {array.shape}, not {shape}.')
    if not np.isfinite(array).all():
        raise ValueError(f'{name} is not finite.')
    return np.array(array, dtype=np.float64, order='C')


def read_count(value: Any, largest: int) -> int:
    """
    Return how many solutions to write at most: the caller's number, but not more than ``largest``.

    :param value: the caller's number; None for ``largest``.
    :param largest: largest number that is possible.
    :raises TypeError: if the value is not a whole number.
    :raises ValueError: if the value is negative.
    """
    if value is None:
        return largest
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f'max_solutions is {value!r}, not a whole number.')
    if value < 0:
        raise ValueError(f'max_solutions is {value}, which is negative.')
    return min(int(value), largest)
