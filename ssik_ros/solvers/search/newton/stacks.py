"""Solve stacks of poses by few kernel calls: independent poses by several threads, or the poses of a path in order."""

from concurrent.futures import ThreadPoolExecutor
import math
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.search import paths, state
from ssik_ros.results import Cause
from ssik_ros.solvers.search.arrays import SearchArrays
from ssik_ros.solvers.search.solver import SearchSolver

SMALLEST_CHUNK = 64
"""Least number of poses for each thread."""
COUNTERS = {
    state.SEARCHES: paths.SEARCHES,
    state.LIMITS_SEEN: paths.LIMITS_SEEN,
    state.STALLED: paths.STALLED,
    state.SINGULAR_SEEN: paths.SINGULAR_SEEN,
}
"""Counters that determine the cause of a failure, and their columns in the codes of a pose."""
Rows = tuple[FloatArray, FloatArray, IntArray]
"""(N, nq) states, (N, 1 + 2 t) errors and (N, CODES) codes."""


class StackResult(NamedTuple):
    """
    The results of N poses: joint vectors, errors, kernel codes and causes, one row for each pose.

    E is half the squared norm of the weighted errors of all tips.
    """

    q: FloatArray
    """(N, n) solutions, or the best states seen [rad or m]."""
    numbers: FloatArray
    """(N, 1 + 2 t) E, then position [m] and rotation [rad] error at each tip."""
    codes: IntArray
    """(N, CODES) code of the kernel, iterations, searches and further counters, by the columns of
    :mod:`ssik_ros.kernels.search.paths`."""
    causes: tuple[Cause, ...]
    """(N,) cause of each failure, NONE for a solved pose."""


def solve_each(
    solver: SearchSolver, targets: FloatArray, seeds: FloatArray | None, threads: int
) -> StackResult:
    """
    Return the results of poses, each solved independently.

    Results are bitwise equal to single calls, for any number of threads.

    :param solver: the search.
    :param targets: (N, 4 t, 4) poses of t tips, contiguous.
    :param seeds: (N, n) or (1, n); None means the default start.
    :param threads: largest number of threads.
    :raises InvalidLimits: if starts must be drawn for a joint without a range.
    """
    count = len(targets)
    starts, result = solver.requests.full_states(seeds), _empty(solver, count)
    options, chunks = solver.packed, max(1, min(threads, -(-count // SMALLEST_CHUNK)))
    edges = [count * k // chunks for k in range(chunks + 1)]

    def work(first: int, end: int) -> None:
        arrays = solver.borrow()
        rest = _rest(solver, arrays, result)
        paths.solve_each(*_packed(solver), options, targets, starts, first, end, *rest)
        solver.give_back(arrays)

    if chunks == 1:
        work(0, count)
    else:
        with ThreadPoolExecutor(chunks) as pool:
            list(pool.map(work, edges[:-1], edges[1:]))
    return _explained(solver, targets, result)


def solve_path(
    solver: SearchSolver,
    targets: FloatArray,
    seed: FloatArray | None,
    bounds: FloatArray,
    hard: bool,
) -> StackResult:
    """
    Return the results of the poses of a path; each search starts at the configuration of the last pose that has one.

    A pose has a configuration if it is solved. With ``hard`` it also has one if it is not, unless it is refused: the
    nearest state within the steps.

    :param solver: the search.
    :param targets: (N, 4 t, 4) poses of t tips, contiguous.
    :param seed: (n,) configuration before the first pose; None searches the first pose from the default start.
    :param bounds: (n,) largest step of each joint in the first attempt [rad or m].
    :param hard: True leaves a pose unsolved if it needs longer steps; False tries again with longer steps.
    :raises InvalidLimits: if starts must be drawn for a joint without a range.
    :raises InvalidOption: if a bound is not positive.
    """
    reference = solver.requests.full_states(None if seed is None else seed[None])[0]
    if seed is None and len(targets):
        first = solve_each(solver, targets[:1], None, 1)
        if first.codes[0, paths.CODE] == state.FOUND:
            reference[: len(first.q[0])] = first.q[0]
    arrays, result = solver.borrow(), _empty(solver, len(targets))
    arrays.reference[:] = reference
    base, rest = solver.packed, _rest(solver, arrays, result)
    steps = per_variable(solver, bounds)
    paths.solve_path(*_packed(solver), base, base.copy(), targets, steps, hard, *rest)
    solver.give_back(arrays)
    return _explained(solver, targets, result)


def per_variable(solver: SearchSolver, bounds: FloatArray) -> FloatArray:
    """
    Convert bounds of joint variables to bounds (nv,) of velocity variables.

    The bound is infinite for joints outside the group and for ball joints.

    :param solver: the search.
    :param bounds: (n,) positive bounds of the joint variables [rad or m].
    :raises InvalidOption: if a bound is not positive.
    """
    if not (bounds > 0.0).all():
        raise InvalidOption(f'Bounds of steps must be positive, not {bounds.tolist()}.')
    problem = solver.problem
    result = np.full(problem.nv, math.inf)
    for v, place in enumerate(problem.variable_q):
        if place < problem.group_size and problem.variable_kind[v] <= layout.LINEAR:
            result[v] = bounds[place]
    return result


def _empty(solver: SearchSolver, count: int) -> Rows:
    """
    Return new arrays for the results of N = ``count`` poses: states (N, nq), errors (N, 1 + 2 t) and codes (N, CODES).

    The solver has t tips. Codes are zero, the other numbers are not set.
    """
    return (
        np.empty((count, solver.problem.nq)),
        np.empty((count, 1 + 2 * len(solver.tip_frames))),
        np.zeros((count, paths.CODES), dtype=np.int64),
    )


def _packed(solver: SearchSolver) -> tuple[IntArray, FloatArray]:
    """Return the packed problem of a solver for the kernels: its integers and its real numbers."""
    return solver.problem.ints, solver.problem.reals


def _rest(solver: SearchSolver, arrays: SearchArrays, result: Rows) -> tuple[Any, ...]:
    """
    Return the last arguments of the kernels ``paths.solve_each`` and ``paths.solve_path`` as a tuple.

    These are the cancel flag, counters, workspace, candidates, then the states, errors and codes of ``result``.
    """
    out = np.empty((2, solver.width))
    return solver.no_cancel, arrays.counters, arrays.work, out, *result


def _explained(solver: SearchSolver, targets: FloatArray, result: Rows) -> StackResult:
    """
    Convert the kernels' arrays to a result, and add the cause of each failure.

    Raise InvalidLimits if starts could not be drawn for a joint without limits.

    :param targets: (N, 4 t, 4) poses.
    :param result: states, errors and codes, as the kernels wrote them.
    """
    q, numbers, codes = result
    causes = [Cause.NONE] * len(q)
    for row in np.flatnonzero(codes[:, paths.CODE] != state.FOUND):
        code = int(codes[row, paths.CODE])
        if code == state.UNSAMPLED:
            raise solver.failures.unsampled(int(codes[row, paths.UNSAMPLED_VARIABLE]))
        counters = np.zeros(state.STATE_SIZE, dtype=np.int64)
        counters[list(COUNTERS)] = codes[row, list(COUNTERS.values())]
        causes[row] = solver.failures.explain(code, counters, targets[row])[1]
    return StackResult(q[:, : solver.problem.group_size], numbers, codes, tuple(causes))
