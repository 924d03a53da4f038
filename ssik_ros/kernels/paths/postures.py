"""Solve the closed form at many waypoints, each with its own values of the held joint."""

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.branches import search


@kernel
def search_rows(
    q, owners, counts, poses, values, ints, reals, options, seed, rows, counters, work
):
    """
    Write the solutions of m poses, one below the other; return the number of written rows.

    :param q: (capacity, n) out: joint values of the solutions [rad or m]. The capacity is not checked; 16 s m rows are
        always enough.
    :param owners: (capacity,) out: index of the pose that each solution reaches.
    :param counts: (m, 3) out: number of branches of each pose, -1 if the pose is not a rigid transform; number of
        branches outside the limits; 1 if branches may be missing, as at a singular pose, else 0.
    :param poses: (m, 4, 4) target poses.
    :param values: (m, s) values to which the held joint is set for each pose [rad or m]; not read without a held joint.
    :param ints, reals, options: packed arm, and options of its closed form.
    :param seed: (n,) solutions of a pose are sorted by their distance to it; read only if HAS_SEED is set in
        ``options``.
    :param rows: (16 s, n + 3) scratch of one search.
    :param counters, work: scratch of one search, as for :func:`search.search`.
    """
    n, used = ints[search.N], 0
    for pose in range(poses.shape[0]):
        count = search.search(
            rows, counters, ints, reals, values[pose], poses[pose], seed, options, work
        )
        counts[pose, 0] = -1 if count < 0 else counters[search.BRANCHES]
        counts[pose, 1] = counters[search.DROPPED]
        counts[pose, 2] = 0 if counters[search.DOUBT] == 0 else 1
        for row in range(count):
            for k in range(n):
                q[used, k] = rows[row, k]
            owners[used] = pose
            used += 1
    return used
