"""
Arrays that the kernels read and write while they search the branches (IK solutions) of a pose.

:class:`Prepared` is the request. :class:`BranchArrays` has the result and the scratch memory of one running search;
later searches reuse it, and two running searches never share it. :class:`ArcArrays` is more scratch memory for a search
on arcs.

A search on arcs tries values of the held joint only on arcs of its range. An arc is an interval in which a branch is
within the limits.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.branches import (
    arcs,
    held_branches,
    held_search,
    plan_layout,
    search,
)
from ssik_ros.kernels.closed_form.elimination import general_search


class Prepared(NamedTuple):
    """
    A request for branches as flat arrays for the kernels: plan of the arm, options, seed and values of the held joint.

    ``ints`` and ``reals`` are the plan, as :class:`ssik_ros.solvers.closed_form.plan.AnalyticPlan` has them, with the
    limits and the tool of the request. ``seed`` (n,) is not read if the item HAS_SEED of ``options`` is 0.
    """

    ints: NDArray[np.int64]
    reals: FloatArray
    samples: FloatArray
    """Values of the held joint to try. Without a held joint, one number that is not read. On arcs, the settings of
    :mod:`ssik_ros.kernels.closed_form.branches.held_search`, which also writes the number of tried values here."""
    seed: FloatArray
    options: FloatArray
    capacity: int = search.BRANCHES_OF_SIX
    """Largest number of branches that a search keeps."""
    is_on_arcs: bool = False
    """True if the held joint is sampled on the arcs of its range where a branch is within the limits."""


class BranchArrays:
    """
    Result and scratch arrays of one running search for a chain of ``n`` joints.

    A search returns its number of branches: so many first rows of ``rows`` have the branches. ``counters`` begins with
    the counts of candidates; the rest of it, and ``work``, are scratch.
    """

    __slots__ = (
        *('_arcs', '_elimination', '_n', '_plan_size'),
        *('capacity', 'counters', 'rows', 'work'),
    )

    def __init__(self, n: int, capacity: int) -> None:
        """
        Allocate the arrays.

        :param n: number of joints.
        :param capacity: largest number of branches to keep.
        """
        self._n, self._plan_size = n, int(plan_layout.plan_size(n))
        self.capacity = capacity
        self.rows = np.empty((capacity, n + 3))
        """(capacity, n + 3) joint values, position [m] and rotation [rad] error, Frobenius norm of FK - T."""
        self.counters = np.zeros(search.COUNTERS + capacity, dtype=np.int64)
        self.work = np.empty(search.work_size(n, capacity))
        self._elimination: tuple[FloatArray, FloatArray, NDArray[np.int32]] | None = None
        self._arcs: ArcArrays | None = None

    def search(self, prepared: Prepared, pose: FloatArray, seed: FloatArray | None = None) -> int:
        """
        Search the branches of one pose and write them into ``rows``, best first if the request has a seed.

        :param prepared: the request.
        :param pose: (4, 4) pose of the tip in the base.
        :param seed: (n,) replaces the seed of the request; ignored if the request has no seed.
        :returns: number of written rows, -1 if the pose is not a rigid transform.
        """
        ints, reals, samples, own_seed, options, _, is_on_arcs = prepared
        seed = own_seed if seed is None else seed
        rows, counters, work = self.rows, self.counters, self.work
        count: int
        if is_on_arcs:
            arc_arrays = self.arc_arrays(int(samples[held_search.WANTED]))
            scratch = arc_arrays.places, arc_arrays.stack, arc_arrays.scratch
            count = held_search.search(
                rows, counters, ints, reals, samples, pose, seed, options, work, *scratch
            )
        elif ints[search.CUT] >= 0:
            if self._elimination is None:
                self._elimination = general_search.make_scratch()
            # Work on a copy: for a held joint, the kernel overwrites the constants for the present value of that joint.
            constants = reals[self._plan_size :].copy()
            others = constants, *self._elimination
            count = general_search.search(
                rows, counters, ints, reals, samples, pose, seed, options, work, *others
            )
        else:
            count = search.search(rows, counters, ints, reals, samples, pose, seed, options, work)
        return count

    def arc_arrays(self, wanted: int) -> 'ArcArrays':
        """
        Return scratch arrays for a search that samples the held joint on arcs of its range; later calls reuse them.

        An arc is an interval of the range of the held joint in which a branch is within the limits.

        :param wanted: least number of values of the held joint to try.
        """
        arrays = self._arcs
        if arrays is not None and arrays.last_wanted == wanted:
            return arrays
        last = held_search.last_scanned(wanted)
        if arrays is None or arrays.wanted < wanted or arrays.last < last:
            # Fewer values may need more scanned places, so both sizes grow independently.
            sizes = (0, 0) if arrays is None else (arrays.wanted, arrays.last)
            arrays = ArcArrays(self._n, max(wanted, sizes[0]), max(last, sizes[1]), self.capacity)
            self._arcs = arrays
        arrays.last_wanted = wanted
        return arrays


class ArcArrays:
    """
    Scratch arrays of a search that samples the held joint on arcs of its range.

    An arc is an interval of the range of the held joint in which a branch is within the limits.
    """

    __slots__ = ('last', 'last_wanted', 'places', 'scratch', 'stack', 'wanted')

    def __init__(self, n: int, wanted: int, last: int, capacity: int) -> None:
        """
        Allocate the arrays.

        :param n: number of joints.
        :param wanted: least number of values of the held joint to try.
        :param last: index of the last grid value of the held joint that the kernel scans for arcs.
        :param capacity: largest number of branches to keep.
        """
        self.wanted, self.last, self.last_wanted = wanted, last, wanted
        places = held_search.places_needed(last)
        # The operating system provides memory only for the pages that are written.
        self.places = np.empty(places * held_branches.place_size(n))
        self.stack = np.empty(arcs.stack_size(last), dtype=np.int64)
        self.scratch = np.empty(held_search.scratch_size(n, wanted, capacity))
