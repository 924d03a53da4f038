"""
Every branch of many poses in one call, pose by pose exactly as :mod:`ssik_ros.kernels.closed_form.branches.search` does one.

Only what differs between poses is handled here: the target, its seed, and the first value of a held joint.
"""

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.branches import held_search, search
from ssik_ros.kernels.closed_form.certification.chain import is_slide
from ssik_ros.kernels.geometry.vectors import copy

NOT_RIGID = -1
"""Count of a pose that is no rigid transform."""


@kernel
def search_many(
    q,
    residuals,
    counts,
    poses,
    seeds,
    held_range,
    ints,
    reals,
    samples,
    options,
    rows,
    counters,
    work,
):
    """
    Write the solutions of m poses one after the other and return how many rows are written.

    :param q: (m capacity, n) solutions, best first for each pose.
    :param residuals: (m capacity,) Frobenius norm of FK - T of each.
    :param counts: (m, COUNTERS) what the search of each pose counts; COUNT is NOT_RIGID for no rigid transform.
    :param poses: (m, 4, 4) targets.
    :param seeds: (m, n) one seed for each pose, or (1, n) the same for all; read if options say so.
    :param held_range: (2,) range of the held joint into which a seed's value is moved [rad or m].
    :param ints, reals, options: as for :func:`search.search`.
    :param samples: values of the held joint; the first is the seed's, written here, where a seed is read.
    :param rows: (capacity, n + 3) what one search writes; scratch.
    :param counters, work: scratch of one search.
    """
    n, held, has_seed = ints[search.N], ints[search.HELD], options[search.HAS_SEED] != 0.0
    used = 0
    for pose in range(poses.shape[0]):
        seed = seeds[pose if seeds.shape[0] > 1 else 0]
        if has_seed and held >= 0:
            slides = is_slide(ints[search.SLIDES], held)
            samples[0] = held_search.into_range(seed[held], held_range[0], held_range[1], slides)
        target = poses[pose]
        count = search.search(rows, counters, ints, reals, samples, target, seed, options, work)
        copy(counts[pose], counters)
        counts[pose, search.COUNT] = count
        for row in range(count):
            copy(q[used], rows[row])
            residuals[used] = rows[row, n + 2]
            used += 1
    return used
