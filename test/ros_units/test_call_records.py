"""Counts of the calls of services."""

from types import SimpleNamespace
from typing import NamedTuple

from test.ros_units import bare_nodes  # noqa: F401 - skips the module if ROS is not installed

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
import numpy as np
import pytest

from ssik_ros.results import Cause
from ssik_ros.ros.process.call_records import (
    CallRecords,
    KEPT,
    LONGEST_REASON,
    OVERRUN_GOAL,
    REASONS,
)
from ssik_ros.ros.services.service_handlers import Served, Service, ServiceHandlers
from ssik_ros.server.requests.refusals import Refusal

pytestmark = pytest.mark.ros


def code(value, message=''):
    return MoveItErrorCodes(val=value, message=message)


def take(records, seconds, error_code, cause=Cause.NONE, overrun=None):
    """Note a call."""
    records.calls.append((seconds, error_code, cause, overrun))


class Result(NamedTuple):
    """The result of a server."""

    refusal: Refusal
    cause: Cause
    text: str
    clock_ended: bool = False
    solved: bool = True


def handled(*results):
    """Return the records of a handler whose server returns results, or raises them; and its responses."""
    waiting = iter(results)
    robot = SimpleNamespace(states=None, solve=lambda request, current: next(waiting))
    live = SimpleNamespace(find=lambda reader: SimpleNamespace(state=None, has_defaults=False))
    handlers = ServiceHandlers(None, live)
    handlers.served = Served(robot, None)
    row = Service(GetPositionIK, 'x', 'solve', lambda message: message, lambda *given: None)
    handler = handlers.handler(row)
    responses = [handler('request', GetPositionIK.Response()) for _ in results]
    return handlers.records['x'], responses


def test_nothing_yet_is_nothing():
    summary = CallRecords().summary()
    assert (summary.calls, summary.successes, summary.reasons) == (0, 0, ())
    assert summary.quantiles == (0.0, 0.0, 0.0)
    assert summary.overrun == (0.0, 0.0)


def test_calls_are_counted_by_their_outcome():
    records = CallRecords()
    for seconds in np.linspace(0.001, 0.1, 100).tolist():
        take(records, seconds, code(1))
    take(records, 0.2, code(-31, 'No solution: as asked.'), Cause.DEADLINE, overrun=0.02)
    take(records, 0.2, code(-15, "There is no group 'x'."))
    take(records, 0.2, None)
    summary = records.summary()
    assert (summary.calls, summary.successes, summary.deadline_misses) == (103, 101, 1)
    assert summary.reasons == (
        "-15: There is no group 'x'.",
        '-31 DEADLINE: No solution: as asked.',
    )
    assert summary.quantiles[0] == pytest.approx(0.052, abs=1e-9)
    assert summary.overrun == (0.02, 0.02)


def test_overruns_are_those_of_requests_with_a_deadline():
    records = CallRecords()
    for overrun in (*np.linspace(-0.005, 0.005, 101).tolist(), float('nan'), None):
        take(records, 0.2, code(-31), Cause.DEADLINE, overrun)
    summary = records.summary()
    assert summary.deadline_misses == 102
    assert summary.overrun == pytest.approx((0.0, 0.0049), abs=1e-9)


def test_overruns_beyond_the_goal_are_counted_from_the_start():
    records = CallRecords()
    for overrun in (OVERRUN_GOAL, 1.01 * OVERRUN_GOAL, *[-0.001] * (2 * KEPT), float('nan')):
        take(records, 0.2, code(-31), Cause.DEADLINE, overrun)
    summary = records.summary()
    # The quantile has forgotten the call that the count still includes.
    assert summary.overrun == (-0.001, -0.001)
    assert summary.overruns_beyond_goal == 1


def test_only_the_last_reasons_are_kept():
    records = CallRecords()
    for number in range(20):
        take(records, 0.0, code(-31, str(number)))
    assert records.summary().reasons == tuple(f'-31: {19 - k}' for k in range(REASONS))


def test_a_handler_is_recorded():
    records, (response,) = handled(Result(Refusal.UNKNOWN_FRAME, Cause.NONE, 'frame'))
    assert (response.error_code.val, response.error_code.message) == (-21, 'frame')
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
    text = "There is no group 'deadline'; the clock ended the search."
    first = Result(Refusal.NONE, cause, text, clock_ended, cause is Cause.NONE)
    second = Result(Refusal.NO_SOLVER, Cause.NONE, text)
    records, responses = handled(first, second)
    assert records.summary().deadline_misses == misses
    assert [r.error_code.val for r in responses] == [1 if cause is Cause.NONE else -31, -31]


def test_long_reasons_are_cut():
    records = CallRecords()
    take(records, 0.0, code(-15, 'x' * 100_000))
    assert len(records.summary().reasons[0]) == LONGEST_REASON


def test_unread_calls_do_not_pile_up():
    solved = Result(Refusal.NONE, Cause.NONE, '')
    records, _ = handled(*[solved] * (KEPT + 3))
    assert len(records.calls) < KEPT
    # The text of a failure may be long: it is shortened at once.
    long = Result(Refusal.NO_SOLVER, Cause.NONE, 'x' * 10_000)
    records, _ = handled(*[solved] * (KEPT + 3), long)
    assert not records.calls
    summary = records.summary()
    assert (summary.calls, summary.successes) == (KEPT + 4, KEPT + 3)
