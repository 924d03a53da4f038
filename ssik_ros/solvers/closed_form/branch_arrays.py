"""The arrays of one running search; reused by later ones, never shared by two at a time."""

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.branches import arcs, held_branches, held_search, search
from ssik_ros.kernels.closed_form.elimination import general_search
from ssik_ros.kernels.closed_form.elimination.general_search import EliminationArrays


class BranchArrays:
    """Results and scratch for chains of ``n`` joints."""

    __slots__ = ('_elimination', '_n', '_on_arcs', '_work', 'capacity', 'counters', 'rows')

    def __init__(self, n: int, capacity: int) -> None:
        """
        Allocate.

        :param n: number of joints.
        :param capacity: how many branches can be kept.
        """
        self._n = n
        self.capacity = capacity
        self.rows = np.empty((capacity, n + 3))
        """A solution in each row, then its errors."""
        self.counters = np.zeros(search.COUNTERS + capacity, dtype=np.int64)
        self._work = np.empty(search.work_size(n, capacity))
        self._elimination: EliminationArrays | None = None
        self._on_arcs: ArcArrays | None = None

    @property
    def out(self) -> FloatArray:
        """Return the solutions (capacity, n)."""
        return self.rows[:, : self._n]

    def search(
        self,
        ints: NDArray[np.int64],
        reals: FloatArray,
        samples: FloatArray,
        pose: FloatArray,
        seed: FloatArray,
        options: FloatArray,
    ) -> int:
        """
        Search one pose; return how many solutions stand in ``rows``, best first, -1 when the pose is not rigid.

        :param ints, reals: the plan.
        :param samples: values of the held joint [rad]; one number where none is held.
        :param pose: (4, 4).
        :param seed: (n,) reference of the order.
        :param options: of the kernel.
        """
        count: int
        if ints[search.CUT] >= 0:
            return self._eliminate(ints, reals, samples, pose, seed, options)
        count = search.search(
            self.rows, self.counters, ints, reals, samples, pose, seed, options, self._work
        )
        return count

    def _eliminate(
        self,
        ints: NDArray[np.int64],
        reals: FloatArray,
        samples: FloatArray,
        pose: FloatArray,
        seed: FloatArray,
        options: FloatArray,
    ) -> int:
        """Search one pose of a chain without structure."""
        if self._elimination is None:
            self._elimination = EliminationArrays()
        own = self._elimination
        # A copy: where a joint is held, the constants become those of its present value.
        constants = reals[search.plan_size(self._n) :].copy()
        count: int = general_search.search(
            self.rows,
            self.counters,
            ints,
            reals,
            samples,
            pose,
            seed,
            options,
            self._work,
            constants,
            own.six,
            own.loop_work,
            own.loop_ints,
        )
        return count

    def search_arcs(
        self,
        ints: NDArray[np.int64],
        reals: FloatArray,
        spread: FloatArray,
        pose: FloatArray,
        seed: FloatArray,
        options: FloatArray,
    ) -> int:
        """
        Search one pose of a chain with a held joint on the arcs within limits; return as :meth:`search`.

        :param spread: of the held joint, see :mod:`ssik_ros.kernels.closed_form.branches.held_search`; the values tried are written.
        :param ints, reals, pose, seed, options: as for :meth:`search`.
        """
        own = self.arc_arrays(int(spread[held_search.WANTED]))
        count: int = held_search.search(
            self.rows,
            self.counters,
            ints,
            reals,
            spread,
            pose,
            seed,
            options,
            self._work,
            own.places,
            own.stack,
            own.scratch,
        )
        return count

    def arc_arrays(self, wanted: int) -> 'ArcArrays':
        """
        Return scratch of a search on arcs that suffices for so many values of the held joint.

        :param wanted: values that shall be tried at least.
        """
        own, last = self._on_arcs, held_search.last_scanned(wanted)
        if own is None or own.wanted < wanted or own.last < last:
            # Fewer values may take more scanned places: a few more are looked at than a multiple of them.
            known = (0, 0) if own is None else (own.wanted, own.last)
            own = ArcArrays(self._n, max(wanted, known[0]), max(last, known[1]), self.capacity)
            self._on_arcs = own
        return own


class ArcArrays:
    """Scratch of a search on arcs."""

    __slots__ = ('last', 'places', 'scratch', 'stack', 'wanted')

    def __init__(self, n: int, wanted: int, last: int, capacity: int) -> None:
        """Allocate for ``n`` joints, so many values of the held one, the number of the last scanned place, and branches."""
        self.wanted, self.last = wanted, last
        places = held_search.places_needed(last)
        # Of this room only what is used becomes memory.
        self.places = np.empty(places * held_branches.place_size(n))
        self.stack = np.empty(arcs.stack_size(last), dtype=np.int64)
        self.scratch = np.empty(held_search.scratch_size(n, wanted, capacity))
