"""The arrays of one running search; reused by later ones, never shared by two at a time."""

import numpy as np
from numpy.typing import NDArray

from ssik_ros.kernels.analytic import arcs
from ssik_ros.kernels.analytic import general_search
from ssik_ros.kernels.analytic import held_branches
from ssik_ros.kernels.analytic import held_search
from ssik_ros.kernels.analytic import search
from ssik_ros.kernels.analytic.general_search import EliminationArrays

FloatArray = NDArray[np.float64]


class SearchArrays:
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
        self._on_arcs: _ArcArrays | None = None

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

        :param spread: of the held joint, see :mod:`ssik_ros.kernels.analytic.held_search`; the values tried are written.
        :param ints, reals, pose, seed, options: as for :meth:`search`.
        """
        wanted = int(spread[held_search.WANTED])
        if self._on_arcs is None or self._on_arcs.wanted < wanted:
            self._on_arcs = _ArcArrays(self._n, wanted, self.capacity)
        own = self._on_arcs
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


class _ArcArrays:
    """Scratch of a search on arcs."""

    __slots__ = ('places', 'scratch', 'stack', 'wanted')

    def __init__(self, n: int, wanted: int, capacity: int) -> None:
        """Allocate for ``n`` joints, so many values of the held one, and so many branches."""
        self.wanted = wanted
        places = held_search.places_needed(wanted)
        # Of this room only what is used becomes memory.
        self.places = np.empty(places * held_branches.place_size(n))
        size = arcs.stack_size(held_search.last_scanned(wanted))
        self.stack = np.empty(size, dtype=np.int64)
        self.scratch = np.empty(held_search.scratch_size(n, wanted, capacity))
