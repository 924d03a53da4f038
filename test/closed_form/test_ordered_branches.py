"""The branches of chunks come out in the order of their poses, whichever chunk ends first, and belong to the caller."""

import itertools

import numpy as np
import pytest

from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.solvers.closed_form.batch import ManyBranches, OrderedBranches

N, SIZE, POSES = 3, 4, 18
"""Joints, poses of a chunk, and poses of all chunks, of which the last is shorter."""


def chunks(rows_of_each):
    """Return chunks with so many rows, all numbers different."""
    made, number = [], 0
    for index, rows in enumerate(rows_of_each):
        q = number + np.arange(rows * N, dtype=float).reshape(rows, N)
        number += rows * N
        poses = min(SIZE, POSES - index * SIZE)
        counts = np.full((poses, search.COUNTERS), index + 1)
        made.append(ManyBranches(q, -q[:, 0], counts))
    return made


@pytest.mark.parametrize('rows', [(5, 7, 6, 5, 2), (0, 0, 40, 1, 3), (1, 1, 1, 1, 60), (0,) * 5])
def test_whatever_the_order_in_which_chunks_come(rows):
    expected = chunks(rows)
    for order in itertools.permutations(range(5)):
        out = OrderedBranches(POSES, N, SIZE)
        scratch = ManyBranches(np.empty((60, N)), np.empty(60), np.empty(0))
        for index in order:
            q, residuals, counts = expected[index]
            scratch.q[: len(q)], scratch.residuals[: len(q)] = q, residuals
            out.take(index, ManyBranches(scratch.q[: len(q)], scratch.residuals[: len(q)], counts))
            scratch.q[:], scratch.residuals[:] = np.nan, np.nan
        ordered = out.branches()
        for name in ('q', 'residuals', 'counts'):
            joined = np.concatenate([getattr(chunk, name) for chunk in expected])
            assert np.array_equal(getattr(ordered, name), joined)


def test_no_poses_have_no_branches():
    branches = OrderedBranches(0, N, SIZE).branches()
    assert branches.q.shape == (0, N) and branches.residuals.shape == (0,)
    assert branches.counts.shape == (0, search.COUNTERS)
