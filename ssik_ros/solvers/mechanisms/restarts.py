"""Solve one chain from its present joint values and, if that fails, from random joint values."""

import math
import time
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import finite_range, FloatArray, IntArray
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.solvers.mechanisms.options import ClosedChainOptions
from ssik_ros.solvers.mechanisms.program import ChainProgram

BALL_ANGLES = slice(layout.LOCKED + layout.FIRST_TURN, layout.LOCKED + layout.FIRST_TURN + 3)
BALL_ROTATION = slice(layout.ROTATION, layout.ROTATION + 4)


class Attempts(NamedTuple):
    """
    Result of a solve with restarts: status code, numbers of the best start, and counts of restarts and iterations.

    ``status`` is a code of :mod:`ssik_ros.kernels.mechanisms.layout`, such as CONVERGED or TIMEOUT. ``snapshot`` is
    read by :meth:`ChainProgram.number`.
    """

    status: int
    snapshot: bytes
    """Numbers of the best start: the one that converged, else the one with the smallest cost."""
    restarts: int
    """Number of starts from random values."""
    iterations: int
    """Number of iterations of all starts."""


def solve_with_restarts(
    program: ChainProgram,
    options: ClosedChainOptions,
    table: FloatArray,
    flags: IntArray,
    cancel: IntArray,
) -> Attempts:
    """
    Solve a chain from its present joint values, then from random ones until a solve converges or a budget ends.

    A restart replaces the result only if it converges or has a smaller cost.

    :param program: the chain.
    :param options: ``max_time`` limits all starts together, ``restarts`` their number.
    :param table, flags: numbers and flags of the mechanism, one row for each frame. The table gets the joint values of
        the best start; a restart that does not converge is written only for ``update_joints`` ``'always'``.
    :param cancel: (1,) flag; if another thread sets it to 1, the solve ends.
    :returns: the result, with the status of the best start; TIMEOUT if the time or ``cancel`` ended the search.
    :raises InvalidTarget: when a pose or a value is not finite, or a quaternion is zero.
    """
    end = time.monotonic() + options.max_time
    random = np.random.default_rng(options.seed)
    status = program.solve(table, flags, options.packed, options.seed, options.max_time, cancel)
    snapshot, kept, trial = program.snapshot(), table.copy(), table.copy()
    cost = program.number(snapshot, layout.COST)
    iterations, restarts = program.number(snapshot, layout.STEPS), 0
    while status != layout.CONVERGED and restarts < options.restarts:
        left = end - time.monotonic()
        if left <= 0.0 or cancel[0]:
            break
        restarts += 1
        trial[:] = kept
        draw_start(program, trial, flags, random)
        seed = options.seed + restarts
        new_status = program.solve(trial, flags, options.packed, seed, left, cancel)
        new_snapshot = program.snapshot()
        iterations += program.number(new_snapshot, layout.STEPS)
        new_cost = program.number(new_snapshot, layout.COST)
        if new_status == layout.CONVERGED or new_cost < cost:
            status, cost, snapshot = new_status, new_cost, new_snapshot
            if status == layout.CONVERGED or options.update_joints == 'always':
                kept = trial.copy()
    table[:] = kept
    if status != layout.CONVERGED and (cancel[0] or time.monotonic() >= end):
        status = layout.TIMEOUT
    return Attempts(status, snapshot, restarts, int(iterations))


def draw_start(
    program: ChainProgram, table: FloatArray, flags: IntArray, random: 'np.random.Generator'
) -> None:
    """
    Write a random value within its limits for each unknown of a chain into ``table``, in place.

    An angle that lacks a limit is drawn from a full turn. A ball joint gets a random rotation, unless one of its angles
    is locked. Lengths that lack a limit, and locked unknowns, keep their values.
    """
    for frame, dof in program.tables.keys:
        if program.shape.is_ball(frame, dof):
            if dof == layout.FIRST_TURN and not flags[frame, BALL_ANGLES].any():
                quaternion = random.normal(size=4)
                table[frame, BALL_ROTATION] = quaternion / np.linalg.norm(quaternion)
            continue
        low, high = table[frame, layout.LOWER + dof], table[frame, layout.UPPER + dof]
        if dof >= layout.FIRST_TURN and not math.isfinite(high - low):
            low, high = finite_range(low, high)
        if math.isfinite(high - low) and not flags[frame, layout.LOCKED + dof]:
            table[frame, layout.VALUES + dof] = random.uniform(low, high)
