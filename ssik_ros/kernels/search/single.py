"""
One search for one pose, asked from Python at the least cost.

Problem
    The same as :func:`ssik_ros.kernels.search.newton_search.search` for one solution at one tip that nobody validates. Its
    numbers are the same to the bit.

Method
    All arrays that stay from call to call lie in one block of memory, so that a call passes an address and what is
    new: start, target, and where the answer goes. What is to be known of the answer comes back as numbers.

Cost
    That of the search; the call itself takes about 0.15 us instead of 0.9 us with all arrays as arguments.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry.addresses import floats_at, integers_at
from ssik_ros.kernels.rows import layout, steps
from ssik_ros.kernels.search import newton_search
from ssik_ros.kernels.search.pose_search import (
    BAD_STATE,
    BAD_TARGET,
    FOUND,
    ITERATIONS,
    RUNNING,
    SEARCHES,
    STATE_SIZE,
)

HEAD = 3
"""Sizes at the head of the block: of ints, reals and options."""


@inline_kernel
def views(address):
    """
    Return the arrays of a block: integers of the problem, counters, cancel flag, real numbers, options, work.

    :param address: of the block.
    """
    sizes = integers_at(address, 0, HEAD)
    ints = integers_at(address, HEAD, sizes[0])
    at = HEAD + sizes[0]
    counters = integers_at(address, at, STATE_SIZE)
    cancel = integers_at(address, at + STATE_SIZE, 1)
    at += STATE_SIZE + 1
    reals = floats_at(address, at, sizes[1])
    options = floats_at(address, at + sizes[1], sizes[2])
    work = floats_at(address, at + sizes[1] + sizes[2], ints[layout.WORK_SIZE])
    return ints, counters, cancel, reals, options, work


@inline_kernel
def load(ints, work, q0, target):
    """
    Write start and target into the workspace.

    :param q0, target: as for :func:`ask`.
    """
    w = layout.view_workspace(ints, work)
    for k in range(q0.shape[0]):
        w.reference[k] = q0[k]
    for i in range(4):
        for j in range(4):
            w.matrices[i, j] = target[i, j]


@kernel
def ask(address, q0, target, q):
    """
    Run a search for one pose whose arrays lie in one block, for callers to whom each argument is time.

    :param address: of the block: sizes of ints, reals and options (int64), then ints, counters and the cancel flag,
        then reals, options and work (float64).
    :param q0: (n,) start, the first n variables of the problem; the others keep what stands in ``reference``.
    :param target: (4, 4).
    :param q: (n,) result: the solution, or the best state seen.
    :returns: code as of :func:`ssik_ros.kernels.search.newton_search.search`, updates, searches, E, position and rotation error.
    """
    ints, counters, cancel, reals, options, work = views(address)
    load(ints, work, q0, target)
    w = layout.view_workspace(ints, work)
    code = newton_search.prove_or_begin(ints, reals, options, 0, counters, work)
    if code == RUNNING:
        code = newton_search.find(ints, reals, options, 1, cancel, counters, work)
    square = 0.0
    if code == RUNNING:
        code = FOUND
        square = steps.squared_norm(w.residual)
    elif code != BAD_TARGET and code != BAD_STATE:
        square = newton_search.settle_for_best(ints, reals, options, work)
    for k in range(q.shape[0]):
        q[k] = w.state[k]
    # The root and back, as a search that is asked otherwise goes: the same bytes.
    error = math.sqrt(square)
    iterations, searches = counters[ITERATIONS], counters[SEARCHES]
    return code, iterations, searches, 0.5 * error * error, w.errors[0, 0], w.errors[0, 1]
