"""
The memory of a running restart search, with named views: targets, seed, best state, errors and counters.

:class:`SearchArrays` serves any request. :class:`SingleArrays` puts all in one block with a known address, for
:class:`SingleSearch`, the fastest way to search for one pose.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.geometry.addresses import address_of
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.search import plain_request, state
from ssik_ros.problem.problem import Problem


class SearchArrays:
    """
    Counters and workspace of one running search, with views of its parts.

    ``matrices`` has the targets (t, 4, 4), ``reference`` the seed (nq,), and ``best`` the best state (nq,). ``errors``
    (2 t,) has the position error [m] and the rotation error [rad] of each tip in turn. ``scalars`` has other numbers of
    the kernel, such as the best error. Later searches reuse an instance; searches that run at the same time need
    separate instances.
    """

    __slots__ = (
        *('best', 'counters', 'errors'),
        *('matrices', 'reference', 'scalars', 'work'),
    )

    def __init__(
        self,
        problem: Problem,
        counters: IntArray | None = None,
        work: FloatArray | None = None,
    ) -> None:
        """
        Make the views; arrays that are None are allocated.

        :param problem: packed problem of the search.
        :param counters: (STATE_SIZE,) counters, or None.
        :param work: (workspace_size,) workspace, or None.
        """
        self.counters = (
            np.zeros(state.STATE_SIZE, dtype=np.int64) if counters is None else counters
        )
        self.work = np.zeros(problem.workspace_size) if work is None else work
        views = layout.WORKSPACE.show(problem.ints, self.work)
        self.matrices = views.matrices.reshape(-1, 4, 4)
        self.best, self.reference = views.best, views.reference
        self.scalars: FloatArray = views.scalars
        self.errors: FloatArray = views.errors.ravel()


class SingleArrays(SearchArrays):
    """
    Problem, options, counters and workspace of one running search, in one block of memory with a known address.

    The layout is in :mod:`ssik_ros.kernels.search.plain_request`.
    """

    __slots__ = ('address', 'block')

    def __init__(self, problem: Problem, options: FloatArray, start: FloatArray) -> None:
        """Allocate the block, and copy the problem, the options and a start (nq,) into it."""
        sizes = len(problem.ints), len(problem.reals), len(options)
        counters = plain_request.HEAD + sizes[0]
        reals = counters + state.STATE_SIZE
        work = reals + sizes[1] + sizes[2]
        self.block = np.zeros(work + problem.workspace_size)
        self.address = address_of(self.block)
        integers = self.block[:reals].view(np.int64)
        integers[: plain_request.HEAD] = sizes
        integers[plain_request.HEAD : counters] = problem.ints
        self.block[reals : reals + sizes[1]] = problem.reals
        self.block[reals + sizes[1] : work] = options
        super().__init__(problem, integers[counters:], self.block[work:])
        self.reference[:] = start


class SingleSearch:
    """
    The fastest way to run a search for one pose, for callers that solve ten thousand times a second.

    Call ``solve(arrays.address, timeout_ns, flag, q0, target, q)``, with arrays from :meth:`make_arrays`. It starts at
    ``q0`` (n,) and writes the solution for ``target`` (4, 4) into ``q`` (n,), or the best state seen. ``flag`` is the
    address of a cancel flag, such as :attr:`flag`. Wrong arguments give a code instead of an exception. See
    :func:`ssik_ros.kernels.search.plain_request.search_one` for the numbers that it returns.
    """

    __slots__ = (
        '_options',
        '_problem',
        'flag',
        'idle',
        'size',
        'solve',
        'start',
    )

    def __init__(
        self,
        problem: Problem,
        options: FloatArray,
        start: FloatArray,
        no_cancel: IntArray,
    ) -> None:
        """
        Set up the call.

        :param problem: packed problem of the solver.
        :param options: options of the kernel.
        :param start: (nq,) first start of a search without a seed.
        :param no_cancel: (1,) flag that stays zero.
        """
        self._problem, self._options, self.start = problem, options, start
        self.size = problem.group_size
        self.flag = address_of(no_cancel)
        self.solve: Callable[..., Any] = plain_request.search_one
        self.idle: list[SingleArrays] = []
        """Arrays that no search uses now."""

    def make_arrays(self) -> SingleArrays:
        """Return new arrays for one search."""
        return SingleArrays(self._problem, self._options, self.start)
