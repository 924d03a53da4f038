"""
Every branch of one pose by one call from Python with two arrays.

Problem
    The same as :func:`ssik_ros.kernels.closed_form.branches.search.search` for a chain without a held joint. Its numbers are the
    same to the bit.

Method
    All arrays that stay from call to call lie in one block of memory, so that a call passes an address and what is
    new: the pose and the seed. The solutions stay in the block, where Python has views of them. At the head of the block
    stands where each part begins and how many numbers it has.
"""

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.geometry.addresses import floats_at, integers_at
from ssik_ros.kernels.geometry.vectors import put

# Parts of a block. The first two hold integers.
PLAN_INTS, COUNTERS, PLAN_REALS, SAMPLES, OPTIONS, POSE, SEED, ROWS, FOUND, WORK, OWN = range(11)
"""
SAMPLES: the value of a held joint, which is not read; POSE: (4, 4); SEED: (n,); ROWS: solutions with their errors
(capacity, n + 3); FOUND: solutions alone (capacity, n); OWN: what a caller keeps in the block.
"""
PARTS = 11
HEAD = 2 * PARTS
"""Numbers at the head: begin and size of each part, in numbers of eight bytes."""
BAD_SEED, DOUBTFUL = -2, -3
"""Returned in place of a number of solutions: a value of the seed is not finite or too large; others may be missing."""


@inline_kernel
def integers(address, part):
    """Return a part of a block that holds integers."""
    head = integers_at(address, 0, HEAD)
    return integers_at(address, head[2 * part], head[2 * part + 1])


@inline_kernel
def floats(address, part):
    """Return a part of a block that holds real numbers."""
    head = integers_at(address, 0, HEAD)
    return floats_at(address, head[2 * part], head[2 * part + 1])


@inline_kernel
def rows_of(address, n):
    """
    Return the solutions in a block with their errors (capacity, n + 3).

    :param n: number of joints.
    """
    rows = floats(address, ROWS)
    return matrix(rows, 0, rows.shape[0] // (n + 3), n + 3)


@kernel
def search_block(address, pose, seed):
    """
    Write the solutions of one pose into the ROWS of a block, best first, and return how many; -1 as the search does.

    :param address: of the block.
    :param pose: (4, 4), contiguous.
    :param seed: (n,) contiguous; read if the options say so.
    """
    return search.search(
        rows_of(address, seed.shape[0]),
        integers(address, COUNTERS),
        integers(address, PLAN_INTS),
        floats(address, PLAN_REALS),
        floats(address, SAMPLES),
        pose,
        seed,
        floats(address, OPTIONS),
        floats(address, WORK),
    )


@kernel
def solve(address, pose, seed):
    """
    Write the solutions of one pose into the ROWS and FOUND of a block, best first.

    :param address: of the block.
    :param pose: (4, 4); a rotation that is off by rounding or less than ``rigid`` is made exact.
    :param seed: (n,); read if the options say so.
    :returns: how many; -1 when the pose is no rigid transform, BAD_SEED for a seed that is not finite or too large, DOUBTFUL
        where the search counts a doubt; the solutions in the block are then those that it found.
    """
    n = seed.shape[0]
    own_pose, own_seed = matrix(floats(address, POSE), 0, 4, 4), floats(address, SEED)
    for i in range(4):
        put(own_pose[i], pose[i], 4)
    for k in range(n):
        own_seed[k] = seed[k]
        if not abs(seed[k]) <= joint_values.LARGEST:
            return BAD_SEED
    count = search_block(address, own_pose, own_seed)
    rows, found = rows_of(address, n), floats(address, FOUND)
    for row in range(count):
        put(found[n * row :], rows[row], n)
    return DOUBTFUL if integers(address, COUNTERS)[search.DOUBT] != 0 else count
