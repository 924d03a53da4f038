"""Kernels that decide causes: their numbers, and the order of the facts."""

import itertools

import numpy as np
import pytest

from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.search import causes, state, tracking
from ssik_ros.results import Cause, CAUSES

NUMBERS = {name: getattr(causes, name) for name in Cause.__members__ if hasattr(causes, name)}
LIMITS, CONSISTENCY = causes.LIMITS, causes.CONSISTENCY


def test_kernels_and_package_number_causes_alike():
    assert len(NUMBERS) >= 11
    for name, number in NUMBERS.items():
        assert CAUSES[number] is Cause[name]
    assert [cause.value for cause in CAUSES] == list(range(len(Cause)))


def of_search(code, refusals=0, is_proved=True, beyond=LIMITS, **counts):
    """Return the cause of a search with these counters."""
    counters = np.zeros(state.STATE_SIZE, dtype=np.int64)
    for name, count in counts.items():
        counters[getattr(state, name)] = count
    return CAUSES[causes.of_search(code, counters, refusals, is_proved, beyond)]


EVIDENCE = {'SEARCHES': causes.EVIDENCE, 'STALLED': causes.EVIDENCE}
FACTS = [
    ({'code': state.BAD_TARGET, 'refusals': 1}, Cause.BAD_TARGET),
    ({'code': state.BAD_STATE, 'refusals': 1}, Cause.BAD_STATE),
    ({'code': state.OUT_OF_REACH, 'refusals': 1}, Cause.UNREACHABLE),
    ({'code': state.OUT_OF_REACH, 'is_proved': False, 'beyond': CONSISTENCY}, Cause.LIMITS),
    ({'code': state.DEADLINE, 'refusals': 1, 'LIMITS_SEEN': 1}, Cause.VALIDATION),
    ({'code': state.DEADLINE, 'LIMITS_SEEN': 1}, Cause.DEADLINE),
    ({'code': state.CANCELLED}, Cause.DEADLINE),
    ({'code': state.EXHAUSTED, 'LIMITS_SEEN': 1, **EVIDENCE}, Cause.LIMITS),
    ({'code': state.EXHAUSTED, 'LIMITS_SEEN': 1, 'beyond': CONSISTENCY}, Cause.CONSISTENCY),
    ({'code': state.EXHAUSTED, **EVIDENCE, 'SINGULAR_SEEN': causes.EVIDENCE}, Cause.NOT_FOUND),
    ({'code': state.EXHAUSTED, 'SEARCHES': 99, 'STALLED': 99}, Cause.BUDGET),
    ({'code': state.EXHAUSTED, 'SEARCHES': 2, 'SINGULAR_SEEN': 2}, Cause.SINGULAR),
    ({'code': state.EXHAUSTED, 'SEARCHES': 2, 'SINGULAR_SEEN': 1}, Cause.BUDGET),
    ({'code': state.EXHAUSTED}, Cause.BUDGET),
]


@pytest.mark.parametrize(('facts', 'expected'), FACTS)
def test_causes_of_a_search(facts, expected):
    assert of_search(**facts) is expected


@pytest.mark.parametrize('is_complete', [False, True])
def test_many_poses_have_the_causes_of_single_ones(is_complete):
    bits = list(itertools.product((False, True), repeat=3))
    counts = np.zeros((len(bits) + 1, search.COUNTERS), dtype=np.int64)
    counts[:-1, [search.PROVED, search.DOUBT, search.DROPPED]] = bits
    counts[-1, [search.COUNT, search.DROPPED]] = 2
    many = np.full(len(counts), -1)
    causes.of_absences(many, counts, is_complete, CONSISTENCY)
    single = [causes.of_absence(*facts, is_complete, CONSISTENCY) for facts in bits]
    assert many.tolist() == [*single, Cause.NONE]
    nothing = Cause.UNREACHABLE if is_complete else Cause.NOT_FOUND
    doubt = [Cause.NOT_FOUND] * 2
    assert single == [nothing, Cause.CONSISTENCY, *doubt, *[Cause.UNREACHABLE] * 4]


def test_a_closed_form_decides_unless_the_clock_ended_the_search_or_the_pose_was_nearly_met():
    near, far = causes.AT_THE_EDGE * 1e-3, 1.001 * causes.AT_THE_EDGE * 1e-3
    for exact, searched, residual, expected in (
        (Cause.UNREACHABLE, Cause.BUDGET, far, Cause.UNREACHABLE),
        (Cause.UNREACHABLE, Cause.BUDGET, near, Cause.NOT_FOUND),
        (Cause.LIMITS, Cause.BUDGET, near, Cause.LIMITS),
        (Cause.LIMITS, Cause.DEADLINE, near, Cause.DEADLINE),
    ):
        assert causes.of_both(exact, searched, residual, 1e-3) == expected


def test_causes_of_a_cycle():
    report = np.zeros(tracking.NUMBERS)
    assert causes.of_step(state.EXHAUSTED, True, report) == Cause.SINGULAR
    report[tracking.LIMIT_STOPPED] = 1.0
    assert causes.of_step(state.EXHAUSTED, True, report) == Cause.LIMITS
    report[tracking.STEP_STOPPED] = 1.0
    assert causes.of_step(state.EXHAUSTED, True, report) == Cause.CONSISTENCY
    assert causes.of_step(state.BAD_TARGET, True, report) == Cause.BAD_TARGET
    assert causes.of_step(state.BAD_STATE, True, report) == Cause.BAD_STATE
    assert causes.of_step(state.OUT_OF_REACH, True, report) == Cause.UNREACHABLE
    assert causes.of_step(state.OUT_OF_REACH, False, report) == Cause.LIMITS
