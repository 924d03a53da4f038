"""
Measure how the node serves on different executors: ``python bench/executors.py --help``.

Five measurements for each executor:

- round trips of single calls, with servers and client on a core each,
- many requests in flight,
- the delay of short requests while long searches run,
- the time to end after a signal,
- the processor time of an idle node.

Needs ROS (``. ./activate``).
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
import os
from pathlib import Path
import signal
import subprocess
import sys
from time import perf_counter, sleep
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moveit_msgs.msg import MoveItErrorCodes
import numpy as np

from bench import conditions, pinning, program, report
from bench.arms import Arm, FloatArray, read_arm
from bench.cases import draw_cases
from bench.deadline import candidates
from bench.ros.caller import Caller, NoResponse
from bench.ros.executors import EXECUTORS
from bench.ros.processes import ServerProcesses, watched_server
from bench.ros.requests import GROUPS, make_request, make_requests
from ssik_ros.benchmark.harness import no_garbage_collection

ROBOT = 'panda'
NAMESPACE = '/own'
LONG_NS = 40_000_000
"""A search that takes this long counts as long [ns]."""
LIFETIME = 60
START_LIMIT = 30.0
IN_FLIGHT = 500
SEARCHES = 4
SOLVER = 'ssik_ros/PoseIK'
"""It goes on until the clock ends it; Auto gives such poses up in milliseconds."""
SEARCH_TIME = 1.0
"""Budget of each unreachable request [s]."""
IDLE_TIME = 2.0
HEADER = (
    *('executor', 'p50 us', 'p99', 'responses', 'in ms', 'quiet p50 us'),
    *('busy p50', 'p99', 'max', 'searches', 'SIGINT ms', 'SIGTERM ms', 'idle CPU %', 'note'),
)


@dataclass(slots=True)
class Row:
    """How one executor serves; NaN is not measured."""

    executor: str
    p50: float = np.nan
    """Round trip of a single call, server on one core [us]."""
    p99: float = np.nan
    responded: int = 0
    """Of :data:`IN_FLIGHT` requests at once."""
    in_flight_ms: float = np.nan
    quiet: float = np.nan
    """Median round trip, server on all cores [us]."""
    busy: float = np.nan
    """The same while searches run [us]."""
    busy_p99: float = np.nan
    busy_max: float = np.nan
    searches: int = 0
    """Searches that ended meanwhile."""
    sigint_ms: float = np.nan
    """Time to end, while searches run [ms]."""
    sigterm_ms: float = np.nan
    idle_percent: float = np.nan
    """Processor time of an idle node, of one core [%]."""
    note: str = ''


def cpu_seconds(process: int) -> float:
    """
    Return the processor time that a process has used [s].

    :param process: its id.
    """
    # The fields after the name. The name is in parentheses and may contain blanks.
    fields = Path(f'/proc/{process}/stat').read_text(encoding='ascii').rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def round_trips(
    caller: Caller,
    requests: Sequence[Any],
    limit: float,
    between: Callable[[], None] = lambda: None,
) -> FloatArray:
    """
    Return the round trips of single calls [us]; fewer calls if time runs out.

    :param caller: the client that calls.
    :param requests: those to send.
    :param limit: for all of them [s].
    :param between: called before each call.
    """
    times, end = [], perf_counter() + limit
    with no_garbage_collection():
        for request in requests:
            between()
            times.append(1e-3 * caller.timed_call(NAMESPACE, request)[1])
            if perf_counter() > end:
                break
    return np.array(times)


def unreachable_requests(
    arm: Arm, caller: Caller, namespace: str = NAMESPACE, group: str = ''
) -> list[Any]:
    """
    Return requests that the node searches for until its own limits end the search.

    :param arm: the arm.
    :param caller: tries them.
    :param namespace: of the service.
    :param group: of the requests; empty means the arm's.
    :raises NoResponse: when no pose of 60 is searched for longer than :data:`LONG_NS`.
    """
    kept: list[Any] = []
    for pose in candidates(arm, np.random.default_rng(2), 60):
        request = make_request(arm, pose, np.zeros(len(arm.joints)), SEARCH_TIME)
        request.ik_request.group_name = group or request.ik_request.group_name
        response, elapsed = caller.timed_call(namespace, request)
        if response.error_code.val != MoveItErrorCodes.SUCCESS and elapsed > LONG_NS:
            kept.append(request)
        if len(kept) == SEARCHES:
            break
    if not kept:
        raise NoResponse(f'no pose is searched for longer than {1e-6 * LONG_NS:g} ms')
    return kept


class Searches:
    """As many searches under way as there are requests, each sent again after its response."""

    def __init__(
        self,
        caller: Caller,
        requests: Sequence[Any],
        budget: float = SEARCH_TIME,
        namespace: str = NAMESPACE,
    ) -> None:
        """
        Begin.

        :param caller: the client that calls.
        :param requests: those to send.
        :param budget: of each request [s].
        :param namespace: of the service.
        """
        self._caller, self._namespace, self._budget = caller, namespace, budget
        self._requests = requests
        self.overruns_ms: list[float] = []
        """By how much each response missed its deadline, the way to the client and back included [ms]."""
        self._futures = [self._send(request) for request in requests]

    def _send(self, request: Any) -> Any:
        begin = perf_counter()

        def note(_: Any) -> None:
            self.overruns_ms.append(1e3 * (perf_counter() - begin - self._budget))

        future = self._caller.send(self._namespace, request)
        future.add_done_callback(note)
        return future

    @property
    def responded(self) -> int:
        """Return how many responses came."""
        return len(self.overruns_ms)

    @property
    def overrun_ms(self) -> float:
        """Return the largest overrun so far [ms]."""
        return max(self.overruns_ms, default=-np.inf)

    def keep_up(self) -> None:
        """Send again each request that has its response."""
        for index, future in enumerate(self._futures):
            if future.done():
                self._futures[index] = self._send(self._requests[index])

    def keep_up_for(self, seconds: float) -> int:
        """
        Keep the searches under way, then wait for the last responses; return how many did not come.

        :param seconds: how long [s].
        """
        end = perf_counter() + seconds
        while perf_counter() < end:
            self._caller.spin_once(0.1)
            self.keep_up()
        return len(self._futures) - self.finish()

    def finish(self) -> int:
        """Wait for the last responses; return how many came."""
        return self._caller.spin(self._futures, 10.0)


def measure_alone(name: str, options: argparse.Namespace, threads: int, row: Row) -> None:
    """
    Fill in single calls: servers and client on a core each.

    :param name, threads: the executor.
    :param options: calls and output folder.
    :param row: to fill.
    """
    arm = read_arm(ROBOT)
    requests = make_requests(arm, draw_cases(arm, options.calls))
    with Caller([NAMESPACE]) as caller, ServerProcesses(options.server_core, LIFETIME) as servers:
        start(servers, caller, name, threads, options)
        round_trips(caller, requests[:200], 10.0)
        p50, p99 = np.percentile(round_trips(caller, requests, 15.0), [50, 99])
    if not row.p50 < p50:
        row.p50, row.p99 = float(p50), float(p99)


def solver_arguments(solver: str) -> list[str]:
    """
    Return the parameters that choose a node's solver.

    :param solver: its name.
    """
    return ['-p', f'robot_description_kinematics.{GROUPS[ROBOT]}.kinematics_solver:={solver}']


def start(
    servers: ServerProcesses, caller: Caller, name: str, threads: int, options: argparse.Namespace
) -> subprocess.Popen[bytes]:
    """
    Start the node on an executor and wait for its first response.

    :param servers: where it is started.
    :param caller: the client that waits.
    :param name, threads: the executor.
    :param options: output folder.
    """
    command = [*watched_server(ROBOT, NAMESPACE, threads, None, name), *solver_arguments(SOLVER)]
    log = options.output / 'round_trip_logs' / f'executor_{name}_{threads}.log'
    process = servers.start(command, log)
    caller.wait_for(NAMESPACE, START_LIMIT)
    arm = read_arm(ROBOT)
    caller.call(NAMESPACE, make_requests(arm, draw_cases(arm, 1))[0])
    return process


def measure_load(name: str, options: argparse.Namespace, threads: int, row: Row) -> None:
    """
    Measure an executor under load on all cores, and write the figures into its row.

    :param name, threads: the executor.
    :param options: calls and output folder.
    :param row: to fill.
    """
    arm = read_arm(ROBOT)
    requests = make_requests(arm, draw_cases(arm, IN_FLIGHT))
    with Caller([NAMESPACE]) as caller, ServerProcesses(None, LIFETIME) as servers:
        process = start(servers, caller, name, threads, options)
        row.quiet = float(np.median(round_trips(caller, requests, 10.0)))
        begin = perf_counter()
        futures = [caller.send(NAMESPACE, request) for request in requests]
        row.responded = caller.spin(futures, 15.0)
        row.in_flight_ms = 1e3 * (perf_counter() - begin)
        requests_long = unreachable_requests(arm, caller)
        searches = Searches(caller, requests_long)
        busy = round_trips(caller, requests, 3.0, searches.keep_up)
        row.busy, row.busy_max = float(np.median(busy)), float(busy.max())
        row.busy_p99 = float(np.percentile(busy, 99))
        row.searches = searches.responded
        searches.finish()
        before = cpu_seconds(process.pid)
        sleep(IDLE_TIME)
        row.idle_percent = 100.0 * (cpu_seconds(process.pid) - before) / IDLE_TIME
        row.sigint_ms = time_to_end(process, caller, requests_long, signal.SIGINT)
    with Caller([NAMESPACE]) as caller, ServerProcesses(None, LIFETIME) as servers:
        process = start(servers, caller, name, threads, options)
        row.sigterm_ms = time_to_end(process, caller, requests_long, signal.SIGTERM)


def time_to_end(
    process: subprocess.Popen[bytes], caller: Caller, searches: Sequence[Any], number: int
) -> float:
    """
    Return how long a server needs to end during searches [ms].

    :param process: the server.
    :param caller: the client that calls.
    :param searches: requests that take long.
    :param number: of the signal.
    """
    for request in searches:
        caller.send(NAMESPACE, request)
    sleep(0.2)
    begin = perf_counter()
    process.send_signal(number)
    try:
        process.wait(5.0)
    except subprocess.TimeoutExpired:
        return np.inf
    return 1e3 * (perf_counter() - begin)


def measure(name: str, threads: int, options: argparse.Namespace) -> Row:
    """
    Return the figures of one executor; if a measurement fails, the row ends with a note.

    :param name, threads: the executor.
    :param options: calls and output folder.
    """
    row = Row(f'{name} {threads}' if name != 'single' else name)
    try:
        for _ in range(options.repeats):
            measure_alone(name, options, threads, row)
        measure_load(name, options, threads, row)
    except NoResponse as error:
        row.note = str(error)
    return row


def cells(row: Row) -> list[str]:
    """
    Return a row as text, in the order of :data:`HEADER`.

    :param row: the row.
    """
    return [
        *(row.executor, f'{row.p50:.0f}', f'{row.p99:.0f}', str(row.responded)),
        *(
            f'{value:.0f}'
            for value in (row.in_flight_ms, row.quiet, row.busy, row.busy_p99, row.busy_max)
        ),
        str(row.searches),
        *(f'{value:.0f}' for value in (row.sigint_ms, row.sigterm_ms)),
        *(f'{row.idle_percent:.1f}', row.note),
    ]


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """
    Return the options of the command line.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='How the node serves on different executors.')
    parser.add_argument(
        '--executors',
        nargs='+',
        default=['product:4', 'single:1', 'multi:2', 'multi:4', 'multi:8'],
        help=f'name:threads, of {", ".join(EXECUTORS)} (%(default)s)',
    )
    parser.add_argument('--calls', type=int, default=2000, help='single calls (%(default)s)')
    parser.add_argument('--repeats', type=int, default=3, help='of them, best (%(default)s)')
    program.add_common_options(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = parse_arguments(arguments)
    allowed = os.sched_getaffinity(0)
    options.server_core = max(allowed) if options.cpu is None else options.cpu
    client_core = min(allowed - {options.server_core}, default=options.server_core)
    rows = []
    for word in options.executors:
        name, _, threads = word.partition(':')
        row = measure(name, int(threads), options)
        rows.append(row)
        print(f'{cells(row)} load {os.getloadavg()[0]:.1f}', flush=True)
    around = conditions.describe(pinning.pin(client_core), ())
    text = [conditions.as_text(around), report.table(HEADER, [cells(row) for row in rows])]
    print('\n' + '\n\n'.join(text))
    content = {'conditions': around, 'rows': [asdict(row) for row in rows]}
    report.write_json(options.output / 'executors.json', content)
    (options.output / 'executors.md').write_text('\n\n'.join(text) + '\n', encoding='utf-8')


if __name__ == '__main__':
    pinning.limit_threads()
    main()
