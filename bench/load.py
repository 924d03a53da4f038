"""
Measure the node under load: ``python bench/load.py --help``.

One client has many requests in flight; each response is compared with the response of a quiet node. Then the delay of
single calls is measured while searches run that only the clock ends. ``--late`` measures only by how much such searches
overrun their budget. Server and client share all cores. Needs ROS (``. ./activate``).
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
import sys
from time import perf_counter, sleep
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moveit_msgs.msg import MoveItErrorCodes
import numpy as np

from bench import pinning, program
from bench.arms import read_arm
from bench.cases import draw_cases
from bench.ros.caller import Caller
from bench.ros.processes import own_server, ServerProcesses
from bench.ros.requests import GROUPS, make_requests, set_budget
from bench.ros.searches import Searches, solver_arguments, unreachable_requests
from bench.tables import reached, table_of
from bench.times import Times
from ssik_ros.benchmark.harness import no_garbage_collection

ROBOT = 'panda'
NAMESPACE = '/own'
LIFETIME = 300
START_LIMIT = 90.0
LOAD_LIMIT = 120.0
"""Time after which a request without response counts as lost [s]."""
PATIENT = 5.0
"""Budget of a request: on a loaded machine its response may come late, but must not miss its timeout [s]."""
DELAY_TIME = 6.0
"""Duration of the single calls during searches [s]."""
LATE_IN_FLIGHT = 24
LATE_BUDGETS = 0.05, 0.2, 1.0
"""Budgets of requests that only the clock ends [s]."""
GOAL_MS = 20.0
"""Added delay at p99 that is the goal [ms]."""
MILLISECONDS = {'p50 ms': '{times.median:.2f}', 'p95': '{times.p95:.2f}', 'p99': '{times.p99:.2f}'}
LOAD_COLUMNS = {
    'load': '{load}',
    'requests': '{requests}',
    'responses': '{responded}',
    'as serial': '{equal}',
    'a second': '{rate:.0f}',
    **MILLISECONDS,
}
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
class LoadRow:
    """Responses to many requests."""

    load: str
    requests: int
    responded: int
    equal: int
    """Responses with the same positions, bit for bit, as the response of a quiet node."""
    rate: float
    """Responses per second."""
    times: Times
    """Round trips [ms]."""

    @property
    def is_right(self) -> bool:
        """Return whether no response was lost or differs."""
        return self.requests == self.responded == self.equal


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


def positions_of(response: Any) -> bytes:
    """Return the positions of a response of ``compute_ik`` as bytes."""
    return np.array(response.solution.joint_state.position).tobytes()


def call_serially(caller: Caller, requests: Sequence[Any]) -> tuple[LoadRow, list[bytes]]:
    """
    Send requests one by one; return the figures, and the positions of all responses.

    :raises SystemExit: when a request is not solved.
    """
    times, serial, begin = [], [], perf_counter()
    for request in requests:
        response, elapsed = caller.timed_call(NAMESPACE, request)
        if response.error_code.val != MoveItErrorCodes.SUCCESS:
            sys.exit('load: a pose that can be reached was not solved')
        times.append(1e-6 * elapsed)
        serial.append(positions_of(response))
    count = len(requests)
    rate = count / (perf_counter() - begin)
    return LoadRow('one by one', count, count, count, rate, Times.of(np.array(times))), serial


def call_at_once(caller: Caller, requests: Sequence[Any], serial: Sequence[bytes]) -> LoadRow:
    """
    Send all requests before the first response is read.

    :param serial: positions of a quiet node.
    """
    ended: dict[int, float] = {}
    begin, futures = perf_counter(), []
    for index, request in enumerate(requests):
        future = caller.send(NAMESPACE, request)
        future.add_done_callback(lambda _, i=index: ended.setdefault(i, perf_counter()))
        futures.append(future)
    responded = caller.spin(futures, LOAD_LIMIT)
    seconds = perf_counter() - begin
    # The executor calls back after a future is done.
    while len(ended) < responded:
        caller.spin_once(0.1)
    done = [index for index, future in enumerate(futures) if future.done()]
    equal = sum(positions_of(futures[index].result()) == serial[index] for index in done)
    times = Times.of(np.array([1e3 * (ended[index] - begin) for index in done]))
    count = len(requests)
    return LoadRow(f'{count} in flight', count, responded, equal, responded / seconds, times)


def call_beside(
    caller: Caller, requests: Sequence[Any], long: Sequence[Any], count: int, quiet: float
) -> DelayRow:
    """
    Call one by one while searches are always under way.

    :param long: requests that only the clock ends.
    :param count: how many of them are under way.
    :param quiet: p99 without them [ms].
    """
    searches, times = Searches(caller, NAMESPACE, long, count), []
    sleep(0.1)
    end = perf_counter() + DELAY_TIME
    with no_garbage_collection():
        for request in requests:
            searches.keep_up()
            times.append(1e-6 * caller.timed_call(NAMESPACE, request)[1])
            if perf_counter() > end:
                break
    overruns, found = list(searches.overruns_ms), Times.of(np.array(times))
    searches.finish()
    late = max(overruns, default=-np.inf)
    return DelayRow(count, len(times), len(overruns), late, found, found.p99 - quiet)


def measure_late(caller: Caller, long: Sequence[Any], budget: float) -> LateRow:
    """Return the overrun of many searches in flight with a budget [s]."""
    for request in long:
        set_budget(request, budget)
    searches = Searches(caller, NAMESPACE, long, LATE_IN_FLIGHT, budget)
    lost = searches.keep_up_for(DELAY_TIME)
    overruns = searches.overruns_ms
    return LateRow(budget, len(overruns), lost, Times.of(np.array(overruns)))


def show_late(caller: Caller, run: program.Run) -> int:
    """Measure the overrun for each budget; return 0."""
    long = unreachable_requests(read_arm(ROBOT), caller, NAMESPACE)
    rows = [measure_late(caller, long, budget) for budget in LATE_BUDGETS]
    run.show(table_of(LATE_COLUMNS, rows))
    run.finish(late=rows)
    return 0


def show_loads(caller: Caller, run: program.Run, options: argparse.Namespace) -> int:
    """Measure all loads; return 1 if a response was lost or differs from the response of a quiet node."""
    arm = read_arm(ROBOT)
    requests = make_requests(arm, draw_cases(arm, options.in_flight))
    for request in requests:
        set_budget(request, PATIENT)
    alone, serial = call_serially(caller, requests)
    loads = [alone, call_at_once(caller, requests, serial)]
    run.show(table_of(LOAD_COLUMNS, loads))
    long = unreachable_requests(arm, caller, NAMESPACE)
    delays = [
        call_beside(caller, requests, long, count, alone.times.p99) for count in options.searches
    ]
    run.show(table_of(DELAY_COLUMNS, delays))
    for row in loads:
        run.show(f'{row.load}: nothing lost, all as serial: {reached(row.is_right)}')
    for row in delays:
        word = reached(row.added <= GOAL_MS)
        run.show(
            f'{row.searches} searches: {row.added:.1f} ms added at p99, goal {GOAL_MS:g}: {word}'
        )
    run.finish(loads=loads, delays=delays)
    return int(not all(row.is_right for row in loads))


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Start the node, measure, and print.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = program.make_parser(__doc__, in_flight=500, threads=64)
    parser.add_argument(
        '--searches', type=int, nargs='*', default=[1, 4, 16, 40], help='at once (%(default)s)'
    )
    parser.add_argument(
        '--late', action='store_true', help=f'only the overrun of {LATE_IN_FLIGHT} in flight'
    )
    options = parser.parse_args(arguments)
    run = program.Run('load', options, is_pinned=False)
    command = own_server(ROBOT, NAMESPACE, options.threads) + solver_arguments(GROUPS[ROBOT])
    with Caller([NAMESPACE]) as caller, ServerProcesses(None, LIFETIME) as servers:
        servers.start(command, options.output / 'round_trip_logs' / 'load.log')
        caller.wait_for(NAMESPACE, START_LIMIT)
        if options.late:
            return show_late(caller, run)
        return show_loads(caller, run, options)


if __name__ == '__main__':
    pinning.limit_threads()
    sys.exit(main())
