"""Further starts of one chain, from random states, where the search from the state at hand fails."""

import math
import time
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.solvers.closed_chain.options import ClosedChainOptions
from ssik_ros.solvers.closed_chain.program import ChainProgram, FIRST_TURN

BALL_TURNS = (FIRST_TURN, FIRST_TURN + 1, FIRST_TURN + 2)


class Attempts(NamedTuple):
    """How a chain ended after all of its starts."""

    status: int
    snapshot: bytes
    """Of the start that led to the state handed back."""
    restarts: int
    iterations: int
    """Of all starts."""


def solve_again(
    program: ChainProgram,
    table: FloatArray,
    flags: IntArray,
    packed: FloatArray,
    options: ClosedChainOptions,
    first: int,
    began: float,
    cancel: IntArray,
) -> Attempts:
    """
    Solve a chain from random states until it converges or a budget ends, after a first solve that failed.

    :param table: rows of the mechanism's frames as the first solve left them; it gets the best state that was seen.
    :param first: status of the first solve, the last one that the program did.
    :param began: monotonic time at which that solve began [s]; ``max_time`` counts from there.
    :returns: the status of the best state; TIMEOUT if the time or a stop ended the search.
    """
    random = np.random.default_rng(options.seed)
    snapshot = program.snapshot()
    best, kept = (first, _number(program, snapshot, layout.COST), snapshot), table.copy()
    iterations = int(_number(program, snapshot, layout.STEPS))
    trial, restarts = table.copy(), 0
    for restarts in range(options.restarts + 1):
        left = began + options.max_time - time.monotonic()
        is_over = left <= 0.0 or cancel[0] != 0
        if best[0] == layout.CONVERGED or is_over or restarts == options.restarts:
            break
        trial[:] = kept
        draw_start(program, trial, flags, random)
        status = program.solve(trial, flags, packed, options.seed + restarts + 1, left, cancel)
        snapshot = program.snapshot()
        iterations += int(_number(program, snapshot, layout.STEPS))
        cost = _number(program, snapshot, layout.COST)
        if status == layout.CONVERGED or cost < best[1]:
            best = status, cost, snapshot
            if status == layout.CONVERGED or options.update_joints == 'always':
                kept = trial.copy()
    table[:] = kept
    status = best[0]
    if status != layout.CONVERGED and is_over:
        status = layout.TIMEOUT
    return Attempts(status, best[2], restarts, iterations)


def draw_start(
    program: ChainProgram, table: FloatArray, flags: IntArray, random: 'np.random.Generator'
) -> None:
    """
    Write random values of all unknowns of a chain into a table, within their limits.

    Turns without limits are drawn over a full turn; slides without limits, and what is locked, stay.
    """
    for frame, dof in program.keys:
        if program.shape.balls[frame] and dof >= FIRST_TURN:
            locked = any(flags[frame, layout.LOCKED + turn] for turn in BALL_TURNS)
            if dof == FIRST_TURN and not locked:
                quaternion = random.normal(size=4)
                place = slice(layout.ROTATION, layout.ROTATION + 4)
                table[frame, place] = quaternion / np.linalg.norm(quaternion)
            continue
        low, high = table[frame, layout.LOWER + dof], table[frame, layout.UPPER + dof]
        if dof >= FIRST_TURN and not math.isfinite(high - low):
            low = low if math.isfinite(low) else min(high - math.tau, -math.pi)
            high = high if math.isfinite(high) else low + math.tau
        if math.isfinite(high - low) and not flags[frame, layout.LOCKED + dof]:
            table[frame, layout.VALUES + dof] = random.uniform(low, high)


def _number(program: ChainProgram, snapshot: bytes, which: int) -> float:
    """Return a single number of a solve."""
    return program.number(program.numbers(snapshot), which)
