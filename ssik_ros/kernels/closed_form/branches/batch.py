"""
Find the branches of many poses in one call, like :mod:`ssik_ros.kernels.closed_form.branches.search` for each pose.

This kernel sets the parts that differ between poses: target, seed, and first value of a held joint.
"""

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.branches import held_search, search
from ssik_ros.kernels.closed_form.certification.chain import is_slide
from ssik_ros.kernels.geometry.vectors import copy

NOT_RIGID = -1
"""Count of a pose that is not a rigid transform."""


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
    Write the solutions of m poses one after the other; return the number of all written solutions.

    :param q: (m capacity, n) out: solutions [rad or m]. Solutions of the first pose come first, best first within a
        pose.
    :param residuals: (m capacity,) out: Frobenius norm of FK - T of each solution.
    :param counts: (m, COUNTERS) out: counters of the search of each pose. COUNT is the number of its rows in ``q``, or
        NOT_RIGID (-1) if the pose is not a rigid transform.
    :param poses: (m, 4, 4) target poses.
    :param seeds: (m, n) one seed for each pose, or (1, n) one for all; read if HAS_SEED is set.
    :param held_range: (2,) range of the held joint; a seed's value is moved into it [rad or m].
    :param ints, reals, options: plan of the arm and options of the call, as for :func:`search.search`.
    :param samples: values of the held joint [rad or m]; with a seed, the first value is overwritten by the seed's
        value.
    :param rows: (capacity, n + 3) scratch for the solutions of one pose; ``capacity`` is the most solutions of a pose.
    :param counters, work: (COUNTERS + capacity,) integers and (work_size(n, capacity),) numbers, scratch of one search.
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
