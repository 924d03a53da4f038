"""Results say the same in both of their forms, and can be kept, compared and sent like values."""

import copy
import pickle

import numpy as np
import pytest

from ssik_ros.results import Cause, FIELDS, IkResult, IkStatus, OneSolution


def whole(**changes):
    """Return a result that holds all of its fields."""
    fields = {
        'status': IkStatus.SOLVED,
        'cause': Cause.NONE,
        'solutions': np.array([[0.1, 0.2, 0.3]]),
        'errors': np.array([[3e-4, 4e-4]]),
        'nearest': None,
        'residual': 5e-4,
        'iterations': 7,
        'searches': 2,
        'clock_ended': False,
    }
    return IkResult(**(fields | changes))


def one():
    """Return the same result in a class that makes its fields on demand."""
    q = np.array([0.1, 0.2, 0.3])
    q.setflags(write=False)
    return OneSolution(q, ('found', 7, 2, 5e-4, 3e-4, 4e-4, 'more'))


FORMS = pytest.mark.parametrize('make', [whole, one])


def test_both_forms_say_the_same():
    views = ('solved', 'q', 'position_errors', 'orientation_errors')
    for name in (*FIELDS, *views):
        ours, other = getattr(one(), name), getattr(whole(), name)
        assert type(ours) is type(other), name
        np.testing.assert_array_equal(ours, other, err_msg=name)
    assert one().summary() == whole().summary()
    assert repr(one()) == repr(whole())
    assert one() == whole() and whole() == one()
    assert (one() != whole()) is (whole() != whole()) is False


@FORMS
def test_results_unpack_as_tuples(make):
    status, cause, solutions, *_, clock_ended = make()
    assert (status, cause, solutions.shape, clock_ended) == (0, 0, (1, 3), False)
    assert len(make()) == len(FIELDS) == 9
    assert make()[5:8] == (5e-4, 7, 2)
    assert make()[-1] is False


@FORMS
@pytest.mark.parametrize(
    'duplicate', [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_equal(make, duplicate):
    assert duplicate(make()) == make()


@FORMS
@pytest.mark.parametrize(
    'changes', [{'searches': 3}, {'errors': np.zeros((1, 2))}, {'nearest': np.zeros(3)}]
)
def test_results_that_differ_are_not_equal(make, changes):
    changed = make()._replace(**changes)
    assert changed != make() and make() != changed
    assert changed == whole(**changes)
    assert make() != 'solved'


@FORMS
def test_results_are_read_only(make):
    for name in (*FIELDS, 'q'):
        with pytest.raises(AttributeError):
            setattr(make(), name, None)
    with pytest.raises(TypeError):
        hash(make())


def test_the_arrays_of_a_result_are_read_only():
    result = one()
    for array in (result.q, result.solutions, result.errors):
        assert not array.flags.writeable


def test_a_field_that_is_missing_is_named():
    with pytest.raises(TypeError, match='clock_ended'):
        IkResult(IkStatus.SOLVED, Cause.NONE)


def test_one_search_is_no_searches():
    assert '(1 search, 1 iteration)' in one()._replace(searches=1, iterations=1).summary()
    assert '(2 searches, 3 iterations)' in one()._replace(searches=2, iterations=3).summary()
    assert one().summary().startswith('1 solution;')
