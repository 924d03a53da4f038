"""Exact postures at many waypoints, each with its own values of a held joint."""

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.branches import search


@kernel
def search_rows(
    q, owners, counts, poses, values, ints, reals, options, seed, rows, counters, work
):
    """
    Write the solutions of m poses one after the other and return how many rows are written.

    :param q: (capacity, n) solutions.
    :param owners: (capacity,) the pose of each.
    :param counts: (m, 2) branches of each pose, -1 for no rigid transform, and how many of them are outside the limits.
    :param poses: (m, 4, 4) targets.
    :param values: (m, s) values of the held joint for each pose; not read where none is held.
    :param ints, reals, options: as for :func:`search.search`.
    :param seed: (n,) not read.
    :param rows: (16 s, n + 3) scratch of one search.
    :param counters, work: scratch of one search.
    """
    n, used = ints[search.N], 0
    for pose in range(poses.shape[0]):
        count = search.search(
            rows, counters, ints, reals, values[pose], poses[pose], seed, options, work
        )
        counts[pose, 0] = -1 if count < 0 else counters[search.BRANCHES]
        counts[pose, 1] = counters[search.DROPPED]
        for row in range(count):
            for k in range(n):
                q[used, k] = rows[row, k]
            owners[used] = pose
            used += 1
    return used
