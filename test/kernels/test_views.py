"""Layouts of flat memory: each shape is written once, in the annotation of a field."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest

from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.closed_form.singular import singular_refinement
from ssik_ros.kernels.rows.views import Floats, Memory


def most(n):
    """Return a size that an expression calls."""
    return 2 * n


class Parts(NamedTuple):
    """Three arrays, one after the other."""

    table: Annotated[Floats, 'm', 'n + 1']
    row: Annotated[Floats, 'most(n)']
    pair: Annotated[Floats, 2]


class Labelled(NamedTuple):
    """An array, and a number that is not in the memory."""

    label: int
    row: Annotated[Floats, 'n']


PARTS = Memory(Parts, 'm, n', globals())
LABELLED = Memory(Labelled, 'n', globals())
size_of_parts = PARTS.size('size_of_parts')


def vector(array, start, size):
    """Return a part of a flat array."""
    return array[start : start + size]


def matrix(array, start, rows, columns):
    """Return a part of a flat array as a table."""
    return array[start : start + rows * columns].reshape(rows, columns)


def plain(memory, name):
    """Return the view that a layout makes, as plain Python."""
    memory.kernel(name)
    scope = dict(globals())
    exec(memory.sources[name], scope)
    return scope[name]


def test_the_size_of_a_memory_is_the_sum_of_its_arrays():
    assert size_of_parts(2, 3) == 2 * 4 + 6 + 2
    assert Memory(Parts, 'm, n', globals()).size('size')(1, 0) == 1 + 0 + 2


def test_arrays_of_a_memory_follow_each_other():
    array = np.arange(float(size_of_parts(2, 3)))
    shown = PARTS.show(array, 2, 3)
    assert [part.shape for part in shown] == [(2, 4), (6,), (2,)]
    assert np.array_equal(np.concatenate([part.ravel() for part in shown]), array)
    assert [PARTS.start(name, 2, 3) for name in Parts._fields] == [part.flat[0] for part in shown]


def test_kernels_see_the_same_arrays():
    array = np.arange(float(size_of_parts(2, 3)))
    for seen, shown in zip(
        plain(PARTS, 'view')(array, 2, 3), PARTS.show(array, 2, 3), strict=True
    ):
        assert np.array_equal(seen, shown)
        assert np.shares_memory(seen, array)


def test_a_field_without_sides_is_an_argument_of_the_view():
    seen = plain(LABELLED, 'view')(np.arange(5.0), 4, 'label')
    assert seen.label == 'label'
    assert seen.row.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert LABELLED.start('row', 4) == 0


@pytest.mark.parametrize('n', [1, 6, 7])
def test_the_scratch_of_a_refinement_begins_with_that_of_a_certification(n):
    """Kernels of both see the same array."""
    array = np.arange(float(singular_refinement.scratch_size(n)))
    refined, certified = (
        module.SCRATCH.show(array, n) for module in (singular_refinement, certify)
    )
    for refinement, certification in zip(refined, certified, strict=False):
        assert np.array_equal(refinement, certification)
