"""Many poses in few kernel calls: each on its own, over threads, or one after the other as a path."""

from concurrent.futures import ThreadPoolExecutor
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.search import paths, state
from ssik_ros.results import Cause
from ssik_ros.solvers.search.solver import SearchSolver

SMALLEST_CHUNK = 64
"""Poses that are worth a call of their own."""


class Answers(NamedTuple):
    """What came of N poses."""

    q: FloatArray
    """(N, n) solutions, or the best states seen [rad or m]."""
    numbers: FloatArray
    """(N, 1 + 2 t) E, then position [m] and rotation [rad] error at each tip."""
    codes: IntArray
    """(N, CODES) see :mod:`ssik_ros.kernels.search.paths`."""
    causes: tuple[Cause, ...]
    """(N,)"""


def solve_each(
    solver: SearchSolver, targets: FloatArray, seeds: FloatArray | None, threads: int
) -> Answers:
    """
    Answer every pose on its own: the same bytes as single calls, whatever the number of threads.

    :param targets: (N, 4 t, 4) contiguous.
    :param seeds: (N, n) or (1, n); None means none.
    :param threads: at most so many.
    :raises InvalidLimits: when a joint would have to be sampled that has no range.
    """
    count = len(targets)
    options = solver.unseeded if seeds is None else solver.seeded
    starts = solver.full_states(seeds)
    result = _empty(solver, count)
    chunks = max(1, min(threads, -(-count // SMALLEST_CHUNK)))
    edges = [count * k // chunks for k in range(chunks + 1)]

    def work(first: int, end: int) -> None:
        arrays, out = solver.borrow(), np.empty((2, solver.width))
        paths.solve_each(
            solver.problem.ints,
            solver.problem.reals,
            options,
            targets,
            starts,
            first,
            end,
            solver.no_cancel,
            arrays.counters,
            arrays.work,
            out,
            *result,
        )
        solver.give_back(arrays)

    if chunks == 1:
        work(0, count)
    else:
        with ThreadPoolExecutor(chunks) as pool:
            list(pool.map(work, edges[:-1], edges[1:]))
    return _answers(solver, targets, *result)


def solve_path(
    solver: SearchSolver,
    targets: FloatArray,
    seed: FloatArray | None,
    bounds: FloatArray,
    hard: bool,
) -> Answers:
    """
    Answer the poses of a path, each from the configuration before it.

    :param targets: (N, 4 t, 4) contiguous.
    :param seed: (n,) configuration before the first pose; None means none.
    :param bounds: (n,) step of each joint that is tried first [rad or m].
    :param hard: whether no step may be longer, solution or not.
    :raises InvalidLimits: when a joint would have to be sampled that has no range.
    """
    result = _empty(solver, len(targets))
    arrays, out = solver.borrow(), np.empty((2, solver.width))
    arrays.reference[:] = solver.full_states(None if seed is None else seed[None])[0]
    if seed is None and len(targets):
        first = _empty(solver, 1)
        paths.solve_each(
            solver.problem.ints,
            solver.problem.reals,
            solver.unseeded,
            targets[:1],
            arrays.reference[None].copy(),
            0,
            1,
            solver.no_cancel,
            arrays.counters,
            arrays.work,
            out,
            *first,
        )
        if first[2][0, paths.CODE] == state.FOUND:
            arrays.reference[:] = first[0][0]
    paths.solve_path(
        solver.problem.ints,
        solver.problem.reals,
        solver.seeded,
        solver.seeded.copy(),
        targets,
        per_variable(solver, bounds),
        hard,
        solver.no_cancel,
        arrays.counters,
        arrays.work,
        out,
        *result,
    )
    solver.give_back(arrays)
    return _answers(solver, targets, *result)


def per_variable(solver: SearchSolver, bounds: FloatArray) -> FloatArray:
    """
    Return bounds (nv,) of the velocity variables; none for joints outside the group and for balls.

    :param bounds: (n,) positive [rad or m].
    :raises InvalidOption: when one is not positive.
    """
    if not (bounds > 0.0).all():
        raise InvalidOption(f'Bounds of steps must be positive, not {bounds.tolist()}.')
    problem = solver.problem
    result = np.full(problem.nv, math.inf)
    for v, place in enumerate(problem.variable_q):
        if place < problem.group_size and problem.variable_kind[v] <= layout.LINEAR:
            result[v] = bounds[place]
    return result


def _empty(solver: SearchSolver, count: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return arrays for the rows of answers."""
    return (
        np.empty((count, solver.problem.nq)),
        np.empty((count, 1 + 2 * len(solver.tip_frames))),
        np.zeros((count, paths.CODES), dtype=np.int64),
    )


def _answers(
    solver: SearchSolver,
    targets: FloatArray,
    q: FloatArray,
    numbers: FloatArray,
    codes: IntArray,
) -> Answers:
    """Return rows with their causes."""
    causes = [Cause.NONE] * len(q)
    for row in np.flatnonzero(codes[:, paths.CODE] != state.FOUND):
        code = int(codes[row, paths.CODE])
        if code == state.UNSAMPLED:
            variable = int(codes[row, paths.UNSAMPLED_VARIABLE])
            raise solver.unsampled(variable)
        counters = np.zeros(state.STATE_SIZE, dtype=np.int64)
        counters[state.SEARCHES] = codes[row, paths.SEARCHES]
        counters[state.LIMITS_SEEN] = codes[row, paths.LIMITS_SEEN]
        counters[state.STALLED] = codes[row, paths.STALLED]
        counters[state.SINGULAR_SEEN] = codes[row, paths.SINGULAR_SEEN]
        causes[row] = solver.explain(code, counters, targets[row])[1]
    return Answers(q[:, : solver.problem.group_size], numbers, codes, tuple(causes))
