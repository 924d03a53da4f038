"""
Find the branches of one pose by one call from Python that passes only one address, the pose and the seed.

:func:`solve` is the call from Python; :func:`search_block` is its inner part. Both do the same as
:func:`ssik_ros.kernels.closed_form.branches.search.search` for a chain without a held joint, with bitwise equal
results.

All arrays that stay the same from call to call are in one block of memory. So a call passes the address of the block,
the pose and the seed. Solutions are written into the block, and Python has views of them. The head of the block has the
offset and the size of each part.
"""

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.geometry.addresses import floats_at, integers_at
from ssik_ros.kernels.geometry.vectors import put

# Parts of a block. The first two hold integers.
PLAN_INTS, COUNTERS, PLAN_REALS, SAMPLES, OPTIONS, POSE, SEED, ROWS, FOUND, WORK, OWN = range(11)
"""
SAMPLES: one number that is not read; POSE: (4, 4); SEED: (n,); ROWS: solutions with their errors (capacity, n + 3);
FOUND: solutions without errors (capacity, n); OWN: numbers of the caller.
"""
PARTS = 11
HEAD = 2 * PARTS
"""Size of the head: offset and size of each part, in numbers of eight bytes."""
BAD_SEED, DOUBTFUL = -2, -3
"""Returned in place of the number of solutions. BAD_SEED: a seed value is not finite or too large; DOUBTFUL: others may
exist."""


@inline_kernel
def integers(address, part):
    """
    Return a view of the integers of one part of a block.

    :param address: memory address of the block.
    :param part: a part of integers: PLAN_INTS or COUNTERS.
    """
    head = integers_at(address, 0, HEAD)
    return integers_at(address, head[2 * part], head[2 * part + 1])


@inline_kernel
def floats(address, part):
    """
    Return a view of the real numbers of one part of a block.

    :param address: memory address of the block.
    :param part: a part of real numbers, such as ROWS.
    """
    head = integers_at(address, 0, HEAD)
    return floats_at(address, head[2 * part], head[2 * part + 1])


@inline_kernel
def rows_of(address, n):
    """
    Return a view (capacity, n + 3) of the solutions in a block.

    Each row has n joint values [rad or m], position error [m], rotation error [rad], and Frobenius norm of FK - T.

    :param address: memory address of the block.
    :param n: number of joints.
    """
    rows = floats(address, ROWS)
    return matrix(rows, 0, rows.shape[0] // (n + 3), n + 3)


@kernel
def search_block(address, pose, seed):
    """
    Write the solutions of one pose into part ROWS of a block, best first, each with its errors; return their number.

    The number is -1 if the pose is not a rigid transform.

    :param address: memory address of the block, which has the plan of the arm and the options.
    :param pose: (4, 4) target pose of the tip, contiguous.
    :param seed: (n,) contiguous; read if HAS_SEED is set.
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
    Write the solutions of one pose into a block, the nearest to the seed first; without a seed in no fixed order.

    Part ROWS gets each solution with its errors, part FOUND only the joint values.

    :param address: memory address of the block, which has the plan of the arm and the options.
    :param pose: (4, 4) target pose of the tip; made orthonormal if it deviates from a rigid transform by less than
        RIGID_OPTION.
    :param seed: (n,); its values are checked in any case, and used if HAS_SEED is set.
    :returns: number of solutions; -1 if the pose is not a rigid transform; BAD_SEED (-2) if a seed value is not finite
        or too large; DOUBTFUL (-3) if the search may have missed solutions. In doubt, ROWS and FOUND have the solutions
        that were found, and counter COUNT has their number.
    """
    n = seed.shape[0]
    own_pose, own_seed = matrix(floats(address, POSE), 0, 4, 4), floats(address, SEED)
    for i in range(4):
        put(own_pose[i], pose[i], 4)
    for k in range(n):
        own_seed[k] = seed[k]
        if not abs(seed[k]) <= joint_values.LARGEST_JOINT_VALUE:
            return BAD_SEED
    count = search_block(address, own_pose, own_seed)
    rows, values = rows_of(address, n), floats(address, FOUND)
    for row in range(count):
        put(values[n * row :], rows[row], n)
    return DOUBTFUL if integers(address, COUNTERS)[search.DOUBT] != 0 else count
