"""A solver as a plain call for one pose, for those who call ten thousand times a second."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry.addresses import address_of
from ssik_ros.kernels.search import pose_search, single
from ssik_ros.problem.problem import Problem
from ssik_ros.solvers.search.iterative_solver import SearchArrays


class SingleArrays(SearchArrays):
    """The arrays of one running search inside one block, as :func:`ssik_ros.kernels.search.single.ask` wants them."""

    __slots__ = ('address', 'block')

    def __init__(self, problem: Problem, options: FloatArray, start: FloatArray) -> None:
        """Allocate what a problem needs, and copy it, the options and a start (nq,) there."""
        sizes = len(problem.ints), len(problem.reals), len(options)
        counters = single.HEAD + sizes[0]
        reals = counters + pose_search.STATE_SIZE + 1
        work = reals + sizes[1] + sizes[2]
        self.block = np.zeros(work + problem.workspace_size)
        self.address = address_of(self.block)
        integers = self.block[:reals].view(np.int64)
        integers[: single.HEAD] = sizes
        integers[single.HEAD : counters] = problem.ints
        self.block[reals : reals + sizes[1]] = problem.reals
        self.block[reals + sizes[1] : work] = options
        super().__init__(problem, integers[counters : reals - 1], self.block[work:])
        self.reference[:] = start


class SingleSearch:
    """
    What one call needs of a solver, each thing one attribute away.

    ``ask(arrays.address, q0, target, q)`` trusts its caller: ``q0`` (at most nq,) and ``target`` (4, 4) are arrays of
    float64, ``q`` (at most nq,) a contiguous one. It returns what :func:`ssik_ros.kernels.search.single.ask` does.
    """

    __slots__ = ('_options', '_problem', 'ask', 'seeded', 'shape', 'size', 'start', 'unseeded')

    def __init__(
        self, problem: Problem, options: tuple[FloatArray, FloatArray], start: FloatArray
    ) -> None:
        """
        Set up the call.

        :param options: for searches without and with a start.
        :param start: (nq,) where a search without a start begins, before it chooses.
        """
        self._problem, self._options, self.start = problem, options, start
        self.size = problem.group_size
        self.shape = (self.size,)
        self.ask: Callable[..., Any] = single.ask
        self.seeded: list[SingleArrays] = []
        """Arrays at rest of searches with a start, and of those without."""
        self.unseeded: list[SingleArrays] = []

    def make_arrays(self, seeded: bool) -> SingleArrays:
        """Return fresh arrays of a search with or without a start."""
        return SingleArrays(self._problem, self._options[seeded], self.start)
