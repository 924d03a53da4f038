"""
The node under load: ``python bench/load.py --help``.

Several client processes call at once, and one client has many requests in flight; each response is compared with the
response of a quiet node. Then the delay of single calls is measured while batches run, and while searches run that only
the clock ends. Server and clients share all cores. Needs ROS (``. ./activate``).
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
import os
from pathlib import Path
import subprocess
import sys
import tempfile
from time import monotonic, perf_counter, sleep
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moveit_msgs.msg import MoveItErrorCodes
import numpy as np

from bench import conditions, pinning, program, report
from bench.arms import FloatArray, read_arm
from bench.cases import draw_cases
from bench.executors import round_trips, Searches, SOLVER, solver_arguments, unreachable_requests
from bench.ros.caller import Caller
from bench.ros.executors import EXECUTORS
from bench.ros.processes import REPOSITORY, ServerProcesses, watched_server
from bench.ros.requests import make_requests, set_budget

ROBOT = 'panda'
NAMESPACE = '/own'
CLIENT = REPOSITORY / 'bench' / 'ros' / 'load_client.py'
LIFETIME = 300
START_LIMIT = 90.0
LOAD_LIMIT = 120.0
"""Time after which a request without response counts as lost [s]."""
DELAY_TIME = 6.0
"""Duration of the single calls during searches [s]."""
LATE_IN_FLIGHT = 24
LATE_BUDGETS = 0.05, 0.2, 1.0
"""Budgets of requests that only the clock ends [s]."""
LATE_HEADER = ('budget s', 'responses', 'lost', 'overrun p50 ms', 'p95', 'p99', 'max')
GOAL_MS = 20.0
"""Added delay at p99 that is the goal [ms]."""
LOAD_HEADER = ('load', 'requests', 'responses', 'as serial', 'a second', 'p50 ms', 'p95', 'p99')
DELAY_HEADER = (
    'searches',
    'calls',
    'ended',
    'late ms',
    'p50 ms',
    'p95',
    'p99',
    'max',
    'added p99',
)


@dataclass(frozen=True, slots=True)
class LoadRow:
    """Responses to many requests at once."""

    load: str
    requests: int
    responded: int
    equal: int
    """Responses with the same positions, bit for bit, as the response of a quiet node."""
    rate: float
    """Responses per second."""
    p50: float
    """Round trips [ms]."""
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class DelayRow:
    """Round trips of single calls while others search [ms]."""

    searches: int
    calls: int
    ended: int
    """Searches that ended meanwhile."""
    late: float
    """By how much the longest of them overran its time [ms]."""
    p50: float
    p95: float
    p99: float
    largest: float
    added: float
    """Difference of p99 to the p99 of a quiet node."""


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """
    Return the options of the command line.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='The node under load.')
    parser.add_argument('--clients', type=int, default=8, help='processes (%(default)s)')
    parser.add_argument('--calls', type=int, default=500, help='of each (%(default)s)')
    parser.add_argument('--in-flight', type=int, default=500, help='at once (%(default)s)')
    parser.add_argument(
        '--searches', type=int, nargs='*', default=[1, 4, 16, 40], help='at once (%(default)s)'
    )
    parser.add_argument(
        '--late', action='store_true', help=f'only the overrun of {LATE_IN_FLIGHT} in flight'
    )
    parser.add_argument('--solver', default=SOLVER, help='of the group (%(default)s)')
    parser.add_argument('--executor', choices=EXECUTORS, default='product')
    parser.add_argument('--threads', type=int, default=64, help='callbacks at once (%(default)s)')
    parser.add_argument(
        '--at-once', type=int, default=0, help="long searches that run; 0: the node's choice"
    )
    program.add_common_options(parser)
    return parser.parse_args(arguments)


def cases_of(options: argparse.Namespace) -> int:
    """
    Return how many different requests there are.

    :param options: clients, calls and requests in flight.
    """
    return max(options.clients * options.calls, options.in_flight)


def positions_of(responses: Sequence[Any]) -> list[bytes]:
    """
    Return the positions of responses as bytes.

    :param responses: of ``compute_ik``.
    """
    return [np.array(response.solution.joint_state.position).tobytes() for response in responses]


def make_load_row(
    load: str, times: FloatArray, equal: int, requests: int, seconds: float
) -> LoadRow:
    """
    Return the figures of a load.

    :param load: its name.
    :param times: (k) round trips of all responses [ms].
    :param equal: number of responses that equal the response of a quiet node.
    :param requests: how many were sent.
    :param seconds: from the first request to the last response.
    """
    p50, p95, p99 = np.percentile(times, [50, 95, 99]).tolist() if len(times) else [np.nan] * 3
    return LoadRow(load, requests, len(times), equal, len(times) / seconds, p50, p95, p99)


def load_by_clients(options: argparse.Namespace, serial: Sequence[bytes], home: Path) -> LoadRow:
    """
    Call from several processes at once.

    :param options: how many clients and calls.
    :param serial: positions of a quiet node, for the calls of all clients in turn.
    :param home: folder for the files of the clients.
    """
    clients = [start_client(number, options, home) for number in range(options.clients)]
    try:
        end = monotonic() + LOAD_LIMIT
        while len(list(home.glob('ready*'))) < len(clients) and monotonic() < end:
            sleep(0.01)
        begin = perf_counter()
        (home / 'go').touch()
        for client in clients:
            client.wait(max(0.1, end - monotonic()))
        seconds = perf_counter() - begin
    finally:
        for client in clients:
            client.kill()
    times, equal = [], 0
    for number in range(options.clients):
        path = home / f'responses{number}.npz'
        if not path.is_file():
            continue
        with np.load(path) as stored:
            times.append(1e-6 * stored['times'])
            first = number * options.calls
            expected = serial[first : first + options.calls]
            found = [row.tobytes() for row in stored['positions']]
            equal += sum(a == b for a, b in zip(found, expected, strict=True))
    name = f'{options.clients} processes'
    total = options.clients * options.calls
    return make_load_row(name, np.concatenate(times or [np.empty(0)]), equal, total, seconds)


def start_client(
    number: int, options: argparse.Namespace, home: Path
) -> 'subprocess.Popen[bytes]':
    """
    Start a client, which waits for the sign to begin.

    :param number: of the client.
    :param options: how many calls.
    :param home: folder for the files of the client.
    """
    command = [
        *(sys.executable, str(CLIENT), NAMESPACE, '--robot', ROBOT),
        *('--first', str(number * options.calls), '--count', str(options.calls)),
        *('--cases', str(cases_of(options))),
        *('--ready', str(home / f'ready{number}'), '--go', str(home / 'go')),
        *('--responses', str(home / f'responses{number}.npz')),
    ]
    return subprocess.Popen(command)


def load_in_flight(
    caller: Caller, requests: Sequence[Any], serial: Sequence[bytes], count: int
) -> LoadRow:
    """
    Send many requests before the first response is read.

    :param caller: the client that calls.
    :param requests: those to send.
    :param serial: positions of a quiet node.
    :param count: how many.
    """
    ended: dict[int, float] = {}
    begin = perf_counter()
    futures = []
    for index, request in enumerate(requests[:count]):
        future = caller.send(NAMESPACE, request)
        future.add_done_callback(lambda _, i=index: ended.setdefault(i, perf_counter()))
        futures.append(future)
    responded = caller.spin(futures, LOAD_LIMIT)
    seconds = perf_counter() - begin
    # The executor calls back after a future is done.
    while len(ended) < responded:
        caller.spin_once(0.1)
    done = [index for index, future in enumerate(futures) if future.done()]
    found = positions_of([futures[index].result() for index in done])
    equal = sum(a == serial[i] for a, i in zip(found, done, strict=True))
    times = np.array([1e3 * (ended[index] - begin) for index in done])
    return make_load_row(f'{count} in flight', times, equal, count, seconds)


def delay_beside(
    caller: Caller, requests: Sequence[Any], long: Sequence[Any], count: int, quiet: float
) -> DelayRow:
    """
    Call one by one while so many searches are always under way.

    :param caller: the client that calls.
    :param requests: those to send.
    :param long: requests that only the clock ends; repeated as often as needed.
    :param count: how many of them are under way.
    :param quiet: p99 without them [ms].
    """
    searches = Searches(caller, [long[index % len(long)] for index in range(count)])
    sleep(0.1)
    times = 1e-3 * round_trips(caller, requests, DELAY_TIME, searches.keep_up)
    ended, late = searches.responded, searches.overrun_ms
    searches.finish()
    p50, p95, p99 = np.percentile(times, [50, 95, 99]).tolist()
    return DelayRow(count, len(times), ended, late, p50, p95, p99, float(times.max()), p99 - quiet)


def start(options: argparse.Namespace, servers: ServerProcesses, caller: Caller) -> None:
    """
    Start the node and wait until it responds.

    :param options: executor, threads and output folder.
    :param servers: where it is started.
    :param caller: the client that waits.
    """
    command = watched_server(ROBOT, NAMESPACE, options.threads, None, options.executor)
    command[3:3] = ['--searches', str(options.at_once)]
    command += solver_arguments(options.solver)
    servers.start(command, options.output / 'round_trip_logs' / 'load.log')
    caller.wait_for(NAMESPACE, START_LIMIT)


def measure(options: argparse.Namespace) -> tuple[list[LoadRow], list[DelayRow]]:
    """
    Return the figures of all loads.

    :param options: of the command line.
    """
    arm = read_arm(ROBOT)
    total = cases_of(options)
    requests = make_requests(arm, draw_cases(arm, total))
    for request in requests:
        # On a loaded machine a response may come late, but must not miss its timeout.
        request.ik_request.timeout.sec = 5
    with Caller([NAMESPACE]) as caller, ServerProcesses(None, LIFETIME) as servers:
        start(options, servers, caller)
        times, responses = [], []
        begin = perf_counter()
        for request in requests:
            response, elapsed = caller.timed_call(NAMESPACE, request)
            times.append(1e-6 * elapsed)
            responses.append(response)
        seconds = perf_counter() - begin
        if any(response.error_code.val != MoveItErrorCodes.SUCCESS for response in responses):
            sys.exit('load: a pose that can be reached was not solved')
        serial = positions_of(responses)
        alone = make_load_row('one by one', np.array(times), total, total, seconds)
        rows = [alone]
        with tempfile.TemporaryDirectory() as folder:
            if options.clients:
                rows.append(load_by_clients(options, serial, Path(folder)))
        rows.append(load_in_flight(caller, requests, serial, options.in_flight))
        long = unreachable_requests(arm, caller)
        delays = [
            delay_beside(caller, requests, long, count, alone.p99) for count in options.searches
        ]
    return rows, delays


def measure_late(options: argparse.Namespace) -> list[list[str]]:
    """
    Return the overrun of many requests in flight for each budget, as cells of :data:`LATE_HEADER`.

    :param options: of the command line.
    """
    rows, arm = [], read_arm(ROBOT)
    with Caller([NAMESPACE]) as caller, ServerProcesses(None, LIFETIME) as servers:
        start(options, servers, caller)
        long = unreachable_requests(arm, caller)
        for budget in LATE_BUDGETS:
            requests = [long[index % len(long)] for index in range(LATE_IN_FLIGHT)]
            for request in requests:
                set_budget(request, budget)
            searches = Searches(caller, requests, budget)
            lost = searches.keep_up_for(DELAY_TIME)
            overruns = np.array(searches.overruns_ms)
            figures = (*np.percentile(overruns, [50, 95, 99]), overruns.max())
            cells = [f'{value:.1f}' for value in figures]
            rows.append([f'{budget:g}', str(searches.responded), str(lost), *cells])
    return rows


def load_cells(row: LoadRow) -> list[str]:
    """
    Return a row as text, in the order of :data:`LOAD_HEADER`.

    :param row: the row.
    """
    counts = (row.requests, row.responded, row.equal)
    return [
        *(row.load, *map(str, counts), f'{row.rate:.0f}'),
        *(f'{value:.2f}' for value in (row.p50, row.p95, row.p99)),
    ]


def delay_cells(row: DelayRow) -> list[str]:
    """
    Return a row as text, in the order of :data:`DELAY_HEADER`.

    :param row: the row.
    """
    figures = (row.late, row.p50, row.p95, row.p99, row.largest, row.added)
    return [
        *(str(row.searches), str(row.calls), str(row.ended)),
        *(f'{value:.2f}' for value in figures),
    ]


def verdicts(rows: Sequence[LoadRow], delays: Sequence[DelayRow]) -> list[str]:
    """
    Return a line for each load: whether its goal is reached.

    :param rows, delays: the figures.
    """
    lines = []
    for row in rows:
        good = row.requests == row.responded == row.equal
        lines.append(f'{row.load}: nothing lost, all as serial: {"reached" if good else "MISSED"}')
    for delay in delays:
        word = 'reached' if delay.added <= GOAL_MS else 'MISSED'
        lines.append(
            f'{delay.searches} searches: {delay.added:.1f} ms added at p99, goal {GOAL_MS:g}: {word}'
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Measure, print and write; return 1 if a response was lost or differs from the response of a quiet node.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = parse_arguments(arguments)
    around = conditions.describe(None, ())
    print(conditions.as_text(around), flush=True)
    if options.late:
        print('\n' + report.table(LATE_HEADER, measure_late(options)))
        return 0
    rows, delays = measure(options)
    around['load_average_after'] = [round(value, 2) for value in os.getloadavg()]
    text = [
        conditions.as_text(around),
        report.table(LOAD_HEADER, [load_cells(row) for row in rows]),
        report.table(DELAY_HEADER, [delay_cells(row) for row in delays]),
        *verdicts(rows, delays),
        f'Load after: {around["load_average_after"]}',
    ]
    print('\n' + '\n\n'.join(text[1:]))
    content = {
        'conditions': around,
        'loads': [asdict(row) for row in rows],
        'delays': [asdict(row) for row in delays],
    }
    report.write_json(options.output / 'load.json', content)
    (options.output / 'load.md').write_text('\n\n'.join(text) + '\n', encoding='utf-8')
    return int(any(not row.requests == row.responded == row.equal for row in rows))


if __name__ == '__main__':
    pinning.limit_threads()
    sys.exit(main())
