"""What the services have done, counted."""

import bare_nodes  # noqa: F401 - skips the module where there is no ROS
from moveit_msgs.msg import MoveItErrorCodes
import numpy as np
import pytest

from ssik_ros.results import Cause
from ssik_ros.ros.process.call_records import (
    CallRecords,
    KEPT,
    LONGEST_REASON,
    note_cause,
    REASONS,
)

pytestmark = pytest.mark.ros


def code(value, message=''):
    return MoveItErrorCodes(val=value, message=message)


def test_nothing_yet_is_nothing():
    summary = CallRecords().summary()
    assert (summary.calls, summary.successes, summary.reasons) == (0, 0, ())
    assert summary.quantiles == (0.0, 0.0, 0.0)


def test_calls_are_counted_by_their_outcome():
    records = CallRecords()
    for seconds in np.linspace(0.001, 0.1, 100).tolist():
        records.take(seconds, code(1))
    records.take(0.2, code(-31, 'No solution: as asked.'), Cause.DEADLINE, is_late=True)
    records.take(0.2, code(-15, "There is no group 'x'."))
    records.take(0.2, None)
    summary = records.summary()
    assert (summary.calls, summary.successes, summary.deadline_misses) == (103, 101, 1)
    assert summary.reasons == (
        "-15: There is no group 'x'.",
        '-31 DEADLINE: No solution: as asked.',
    )
    assert summary.quantiles[0] == pytest.approx(0.052, abs=1e-9)


def test_only_the_last_reasons_are_kept():
    records = CallRecords()
    for number in range(20):
        records.take(0.0, code(-31, str(number)))
    assert records.summary().reasons == tuple(f'-31: {19 - k}' for k in range(REASONS))


def test_a_recorded_handler_does_the_same():
    records = CallRecords()

    class Answer:
        error_code = code(-21, 'frame')

    def handler(request, response):
        assert (request, response) == ('question', 'empty')
        return Answer

    assert records.timed(handler)('question', 'empty') is Answer
    assert records.summary().calls == 1 and records.summary().reasons == ('-21: frame',)


@pytest.mark.parametrize(
    ('cause', 'clock_ended', 'misses'),
    [
        (Cause.NONE, False, 0),
        (Cause.NONE, True, 0),
        (Cause.DEADLINE, False, 1),
        (Cause.DEADLINE, True, 1),
        (Cause.UNREACHABLE, False, 0),
        (Cause.COLLISION, True, 1),
    ],
)
def test_a_deadline_is_missed_where_the_handler_says_so_whatever_the_text_says(
    cause, clock_ended, misses
):
    records = CallRecords()

    class Answer:
        error_code = code(-31, "There is no group 'deadline'; the clock ended the search.")

    def handler(request, response):
        note_cause(cause, clock_ended)
        return Answer

    records.timed(handler)(None, None)
    records.timed(lambda request, response: Answer)(None, None)
    assert records.summary().deadline_misses == misses


def test_long_reasons_are_cut():
    records = CallRecords()
    records.take(0.0, code(-15, 'x' * 100_000))
    assert len(records.summary().reasons[0]) == LONGEST_REASON


def test_calls_that_nobody_asks_about_do_not_pile_up():
    records = CallRecords()
    for _ in range(KEPT + 3):
        records.take(1e-3, code(1))
    assert len(records._fresh) < KEPT
    # What was wrong may be long: it is shortened at once.
    records.take(1e-3, code(-31, 'x' * 10_000))
    assert not records._fresh
    summary = records.summary()
    assert (summary.calls, summary.successes) == (KEPT + 4, KEPT + 3)
