"""
Measure the node under load: ``python bench/load.py --help``.

The delay of single calls is measured while searches run that only the clock ends. ``--late`` measures by how much such
searches overrun their budget. Server and client share all cores. ``test/ros/test_server_load.py`` compares the responses
to many requests at once with the responses of a quiet node. Needs ROS (``. ./activate``).
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
import sys
from time import perf_counter, sleep
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moveit_msgs.msg import MoveItErrorCodes
import numpy as np

from bench import goals, pinning, program
from bench.arms import FloatArray, read_arm
from bench.cases import draw_cases
from bench.ros.caller import Caller
from bench.ros.processes import claim_domain, own_server, ServerProcesses
from bench.ros.requests import GROUPS, make_requests
from bench.ros.searches import Searches, solver_parameter, unreachable_requests
from bench.tables import table_of
from bench.times import Times
from ssik_ros.benchmark.harness import no_garbage_collection

ROBOT = 'panda'
NAMESPACE = '/own'
LIFETIME = 300
START_LIMIT = 90.0
PATIENT = 5.0
"""Budget of a request: on a loaded machine its response may come late, but must not miss its timeout [s]."""
DELAY_TIME = 6.0
"""Duration of the single calls during searches [s]."""
LATE_IN_FLIGHT = 24
LATE_BUDGETS = 0.05, 0.2, 1.0
"""Budgets of requests that only the clock ends [s]."""
MILLISECONDS = {'p50 ms': '{times.median:.2f}', 'p95': '{times.p95:.2f}', 'p99': '{times.p99:.2f}'}
DELAY_COLUMNS = {
    'searches': '{searches}',
    'calls': '{calls}',
    'ended': '{ended}',
    'late ms': '{late:.2f}',
    **MILLISECONDS,
    'max': '{times.largest:.2f}',
    'added p99': '{added:.2f}',
}
LATE_COLUMNS = {
    'budget s': '{budget:g}',
    'responses': '{responded}',
    'lost': '{lost}',
    **MILLISECONDS,
    'max': '{times.largest:.2f}',
}


@dataclass(frozen=True, slots=True)
class DelayRow:
    """Round trips of single calls while others search."""

    searches: int
    calls: int
    ended: int
    """Searches that ended meanwhile."""
    late: float
    """By how much the longest of them overran its time [ms]."""
    times: Times
    """Round trips [ms]."""
    added: float
    """Difference of p99 to the p99 of a quiet node [ms]."""


@dataclass(frozen=True, slots=True)
class LateRow:
    """By how much searches in flight overran their budget."""

    budget: float
    responded: int
    lost: int
    times: Times
    """[ms]"""


def single_calls(
    caller: Caller, requests: Sequence[Any], between: Callable[[], None]
) -> FloatArray:
    """
    Return the round trips of single calls [ms], for :data:`DELAY_TIME` at most.

    :raises SystemExit: when a request is not solved.
    """
    times, end = [], perf_counter() + DELAY_TIME
    with no_garbage_collection():
        for request in requests:
            between()
            response, elapsed = caller.timed_call(NAMESPACE, request)
            if response.error_code.val != MoveItErrorCodes.SUCCESS:
                sys.exit('load: a pose that can be reached was not solved')
            times.append(1e-6 * elapsed)
            if perf_counter() > end:
                break
    return np.array(times)


def call_beside(
    caller: Caller, requests: Sequence[Any], long: Sequence[Any], count: int, quiet: float
) -> DelayRow:
    """
    Call one by one while searches are always under way.

    :param long: requests that only the clock ends.
    :param count: how many of them are under way.
    :param quiet: p99 without them [ms].
    """
    searches = Searches(caller, NAMESPACE, long, count)
    sleep(0.1)
    times = single_calls(caller, requests, searches.keep_up)
    overruns, round_trips = list(searches.overruns_ms), Times.of(times)
    searches.finish()
    late = max(overruns, default=-np.inf)
    return DelayRow(count, len(times), len(overruns), late, round_trips, round_trips.p99 - quiet)


def measure_late(caller: Caller, budget: float) -> LateRow:
    """Return the overrun of many searches in flight with a budget [s]."""
    long = unreachable_requests(read_arm(ROBOT), caller, NAMESPACE, budget)
    searches = Searches(caller, NAMESPACE, long, LATE_IN_FLIGHT, budget)
    lost = searches.keep_up_for(DELAY_TIME)
    overruns = searches.overruns_ms
    return LateRow(budget, len(overruns), lost, Times.of(np.array(overruns)))


def show_late(caller: Caller, run: program.Run) -> None:
    """Measure the overrun for each budget."""
    rows = [measure_late(caller, budget) for budget in LATE_BUDGETS]
    run.show(table_of(LATE_COLUMNS, rows))
    run.finish(late=rows)


def show_delays(caller: Caller, run: program.Run, options: argparse.Namespace) -> None:
    """Measure the delay of single calls, without searches and with some at once."""
    arm = read_arm(ROBOT)
    requests = make_requests(arm, draw_cases(arm, options.calls), PATIENT)
    quiet = Times.of(single_calls(caller, requests, lambda: None))
    rows = [DelayRow(0, options.calls, 0, np.nan, quiet, 0.0)]
    long = unreachable_requests(arm, caller, NAMESPACE)
    rows += [call_beside(caller, requests, long, count, quiet.p99) for count in options.searches]
    run.show(table_of(DELAY_COLUMNS, rows))
    goals.finish(run, delays=rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Start the node, measure, and print.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = program.make_parser(__doc__, is_pinned=False, calls=2000, threads=64)
    parser.add_argument(
        '--searches', type=int, nargs='*', default=[1, 4, 16, 40], help='at once (%(default)s)'
    )
    parser.add_argument(
        '--late', action='store_true', help=f'only the overrun of {LATE_IN_FLIGHT} in flight'
    )
    options = parser.parse_args(arguments)
    claim_domain()
    run = program.Run('load', options)
    command = own_server(ROBOT, NAMESPACE, options.threads, solver_parameter(GROUPS[ROBOT]))
    with Caller([NAMESPACE]) as caller, ServerProcesses(None, LIFETIME) as servers:
        servers.start(command, options.output / 'round_trip_logs' / 'load.log')
        caller.wait_for(NAMESPACE, START_LIMIT)
        if options.late:
            show_late(caller, run)
        else:
            show_delays(caller, run, options)


if __name__ == '__main__':
    pinning.limit_threads()
    main()
