"""All windings of the joints of some branches: see :mod:`ssik_ros.kernels.closed_form.certification.windings`."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, InvalidOption
from ssik_ros.kernels.closed_form.certification import windings

MOST = 1_000_000
"""Postures that are built when no cap is given."""


class Windings(NamedTuple):
    """Postures of some branches, best first."""

    q: FloatArray
    """(k, n) joint angles [rad]."""
    of_branch: NDArray[np.int64]
    """(k,) index of the branch of each."""
    total: int
    """How many there are in all."""


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
    Return the postures that the windings of joints make of some branches.

    Joints without limits on both sides, and joints whose range is 2 pi at most, keep their value.

    :param branches: (b, n) joint angles, within the limits where they can be [rad].
    :param lower, upper: (n,) limits, infinite for none.
    :param seed: (n,) reference of the order; None leaves the order of the branches.
    :param metric: as in :mod:`ssik_ros.kernels.closed_form.certification.ranking`.
    :param most: how many to return; None means all.
    :param slides: which joints are prismatic, as in :mod:`ssik_ros.kernels.closed_form.certification.chain`; they have no windings.
    :raises InvalidOption: when all of them are more than a million.
    """
    b, n = branches.shape
    sizes = np.ones((b, n), dtype=np.int64)
    windings.count_windings(sizes, branches, lower, upper, slides)
    total = sum(math.prod(row) for row in sizes.tolist())
    count = total if most is None else min(most, total)
    if count > MOST or total > np.iinfo(np.int64).max:
        raise InvalidOption(
            f'The windings of the joints make {counted(total, "posture")} of {counted(b, "branch")}; say with max_solutions how many '
            f'are wanted, at most {MOST}.',
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
