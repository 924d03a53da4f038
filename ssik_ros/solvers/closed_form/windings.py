"""
List all windings of branches: postures within the limits that differ from a branch by whole turns of joints.

The kernel is :mod:`ssik_ros.kernels.closed_form.certification.windings`.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, InvalidOption
from ssik_ros.kernels.closed_form.certification import windings

MOST_WINDINGS = 1_000_000
"""Most windings of postures that are listed."""


class Windings(NamedTuple):
    """Branches, and postures within the limits that differ from them by whole turns of joints; sorted with a seed."""

    q: FloatArray
    """(k, n) joint values [rad or m]."""
    of_branch: NDArray[np.int64]
    """(k,) index of the branch of each posture."""
    total: int
    """Number of postures if ``most`` did not limit them."""


def enumerate_windings(
    branches: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    seed: FloatArray | None,
    metric: int,
    most: int | None,
    slides: int = 0,
) -> Windings:
    """
    Return all postures within the limits that differ from the branches by whole turns of joints, branches included.

    A joint keeps its value if it lacks a limit on either side, or if its range is at most 2 pi. It also keeps its value
    if no whole turns bring it inside; then the posture is outside the limits.

    :param branches: (b, n) joint values, within the limits if possible [rad or m].
    :param lower, upper: (n,) limits; may be infinite.
    :param seed: (n,) postures are sorted by their distance from it; None keeps the order of the branches.
    :param metric: SUM_OF_SQUARES or LARGEST_DIFFERENCE of the joints' differences from the seed, from
        :mod:`ssik_ros.kernels.closed_form.certification.ranking`. A joint without limits has differences modulo 2 pi.
    :param most: most postures to return, the first ones in this order; None means all.
    :param slides: bit mask of the prismatic joints, as in :mod:`ssik_ros.kernels.closed_form.certification.chain`; they
        have no windings.
    :raises InvalidOption: if more than a million postures would be returned, or if their total exceeds an int64.
    """
    b, n = branches.shape
    sizes = np.ones((b, n), dtype=np.int64)
    windings.count_windings(sizes, branches, lower, upper, slides)
    total = sum(math.prod(row) for row in sizes.tolist())
    count = total if most is None else min(most, total)
    if count > MOST_WINDINGS or total > np.iinfo(np.int64).max:
        raise InvalidOption(
            f'The windings of the joints make {counted(total, "posture")} of {counted(b, "branch")}; say with max_solutions how many '
            f'are wanted, at most {MOST_WINDINGS}.',
            total=total,
        )
    widest = int(sizes.max(initial=1))
    values, costs = np.zeros((b, n, widest)), np.zeros((b, n, widest))
    reference = np.zeros(n) if seed is None else seed
    windings.write_windings(
        values, costs, sizes, branches, lower, upper, slides, reference, seed is not None
    )
    out, of_branch = np.empty((count, n)), np.empty(count, dtype=np.int64)
    room = b + count * n
    windings.take_best(
        out,
        of_branch,
        values,
        costs,
        sizes,
        metric,
        np.empty(room, dtype=np.int64),
        np.empty(room),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(n, dtype=np.int64),
    )
    return Windings(out, of_branch, total)
