"""
Round trips of the node against an empty handler: ``python bench/round_trip.py --help``.

The same requests go in random order to three servers, which wait on a core of their own: the product's node; a
server on the same executor whose handler returns a prepared response of the same content; and the product's node
with clocks around its handler and its solver, for where the time goes. Needs ROS (``. ./activate``).
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
import numpy as np
from rclpy.serialization import serialize_message

from bench import conditions, pinning, program, report
from bench.arms import FloatArray, read_arm
from bench.cases import draw_cases
from bench.fresh_process import peak_mib
from bench.ros.caller import Caller, NoResponse
from bench.ros.executors import EXECUTORS
from bench.ros.processes import empty_server, own_server, ServerProcesses, watched_server
from bench.ros.requests import GROUPS, make_batch_request, make_request, make_requests
from ssik_ros.benchmark.harness import no_garbage_collection

OWN, EMPTY, WATCHED = '/own', '/empty', '/watched'
START_LIMIT = 90.0
"""Time that a server has to appear [s]."""
FIRST_LIMIT = 900.0
"""Time that the first server of a robot has [s]."""
PATIENCE = 10.0
"""Time without a response after which the program prints the reason [s]."""
LIFETIME = 300
"""After which servers end by themselves [s]; one robot takes a tenth of it."""
WARM_UP = 200
"""Calls of each server that do not count."""
GOAL = 1.3
BATCH = 1000
"""Poses of one call of ``~/solve_batch``."""
BATCHES = 10
BATCH_GOAL = 50.0
HEADER = ('robot', 'server', 'calls', 'solved %', 'p50 us', 'mean', 'p95', 'p99', 'p50 ratio')
BATCH_HEADER = ('robot', 'poses', 'solved %', 'single call us', 'batch us a pose', 'times cheaper')
SPLIT_HEADER = ('robot', 'solver us', 'handler less solver us', 'rest us', 'empty round trip us')


@dataclass(frozen=True, slots=True)
class Row:
    """Round trips of one server [us]."""

    robot: str
    server: str
    calls: int
    solved: float
    """Share of requests that got a solution [%]."""
    p50: float
    mean: float
    p95: float
    p99: float
    ratio: float
    """Of the medians, to the empty server."""
    peak_mib: float | None = None
    """Most memory that the server held at once."""


@dataclass(frozen=True, slots=True)
class Split:
    """Where the time of a round trip goes: medians [us]."""

    robot: str
    solver: float
    handler: float
    """Within the handler, the solver included."""
    round_trip: float
    """Of the same server."""
    empty: float
    """Round trip of the empty server."""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One call for many poses against a call for each, on the product's node: medians of round trips."""

    robot: str
    poses: int
    solved: float
    """Share of the poses [%]."""
    single: float
    """[us]"""
    batch: float
    """[us] for each pose."""

    @property
    def factor(self) -> float:
        """Return how many times cheaper a pose is."""
        return self.single / self.batch


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """
    Return the options of the command line.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='Round trips against an empty handler.')
    parser.add_argument('--robots', nargs='+', choices=GROUPS, default=['panda', 'ur5e'])
    parser.add_argument('--calls', type=int, default=3000, help='of each server (%(default)s)')
    parser.add_argument(
        '--executor', choices=EXECUTORS, default='product', help='of all servers (%(default)s)'
    )
    parser.add_argument(
        '--threads',
        type=int,
        default=len(os.sched_getaffinity(0)) + 2,
        help='of every executor; by default as many as the node takes when it is not pinned',
    )
    parser.add_argument(
        '--in-a-row',
        type=int,
        default=1,
        help='calls in a row before the next server (%(default)s)',
    )
    program.add_common_options(parser)
    return parser.parse_args(arguments)


def core_of_client(server_core: int, allowed: set[int]) -> int:
    """
    Return the core for the client: another one than the servers', if there is one.

    :param server_core: the servers'.
    :param allowed: the cores of this process.
    """
    return min(allowed - {server_core}, default=server_core)


def start_servers(
    robot: str, options: argparse.Namespace, processes: ServerProcesses, caller: Caller, home: Path
) -> int:
    """
    Start the three servers of a robot; return the number of the product's process.

    The empty handler always returns one response that the product gave before.

    :param robot: its name.
    :param options: executor, threads and output folder.
    :param processes: where they are started.
    :param caller: calls the product for the prepared response.
    :param home: folder for the prepared response and the times.
    """
    logs, threads, executor = options.output / 'round_trip_logs', options.threads, options.executor
    own = own_server(robot, OWN, threads)
    if executor != 'product':
        own = watched_server(robot, OWN, threads, None, executor)
    watched = watched_server(robot, WATCHED, threads, home / 'times.npz', executor)
    process = processes.start(own, logs / f'{robot}_own.log')
    processes.start(watched, logs / f'{robot}_watched.log')
    caller.wait_for_all(OWN, START_LIMIT)
    (home / 'prepared').write_bytes(serialize_message(prepare_response(robot, caller)))
    empty = empty_server(EMPTY, threads, home / 'prepared', executor)
    processes.start(empty, logs / f'{robot}_empty.log')
    caller.wait_for_all(WATCHED, START_LIMIT)
    caller.wait_for(EMPTY, START_LIMIT)
    return process.pid


def wait_for_first(caller: Caller, process: subprocess.Popen[bytes], log: Path) -> None:
    """
    Wait for the product's node, and print a line if it takes long.

    :param caller: calls the node.
    :param process: of the node.
    :param log: file for its output.
    :raises NoResponse: if the process has ended, or the node does not respond in time.
    """
    begin, told = time.monotonic(), False
    while True:
        try:
            return caller.wait_for_all(OWN, 1.0)
        except NoResponse:
            waited = time.monotonic() - begin
            if process.poll() is not None:
                raise NoResponse(
                    f'{OWN} has ended with {process.returncode}; what it said: {log}'
                ) from None
            if waited > FIRST_LIMIT:
                raise
        if waited > PATIENCE and not told:
            told = True
            print(
                f'round_trip: {OWN} does not offer everything after {PATIENCE:.0f} s ({log}); waiting.',
                flush=True,
            )


def prepare_response(robot: str, caller: Caller) -> GetPositionIK.Response:
    """
    Return the product's response to a request that it can solve.

    :param robot: its name.
    :param caller: to ask it.
    :raises SystemExit: when none of a few requests is solved.
    """
    arm = read_arm(robot)
    for request in make_requests(arm, draw_cases(arm, 10)):
        response = caller.call(OWN, request, START_LIMIT)
        if response.error_code.val == MoveItErrorCodes.SUCCESS:
            return response
    sys.exit(f'round_trip: {robot}: none of ten poses was solved')


def call_all(
    caller: Caller,
    requests: Sequence[GetPositionIK.Request],
    namespaces: Sequence[str],
    in_a_row: int = 1,
) -> tuple[dict[str, FloatArray], dict[str, float]]:
    """
    Send every request to every server, in random order; return round trips [us] and shares solved [%].

    :param caller: the client that calls.
    :param requests: for ``compute_ik``.
    :param namespaces: of the servers.
    :param in_a_row: calls to one server before the next server has its turn.
    """
    generator = np.random.default_rng(7)
    for request in requests[:WARM_UP]:
        for name in namespaces:
            caller.call(name, request)
    times: dict[str, list[int]] = {name: [] for name in namespaces}
    solved = dict.fromkeys(namespaces, 0)
    with no_garbage_collection():
        for start in range(0, len(requests), in_a_row):
            for index in generator.permutation(len(namespaces)):
                name = namespaces[index]
                for request in requests[start : start + in_a_row]:
                    response, elapsed = caller.timed_call(name, request)
                    times[name].append(elapsed)
                    solved[name] += response.error_code.val == MoveItErrorCodes.SUCCESS
    return (
        {name: 1e-3 * np.array(values) for name, values in times.items()},
        {name: 100.0 * count / len(requests) for name, count in solved.items()},
    )


def make_row(
    robot: str, server: str, times: FloatArray, solved: float, reference: FloatArray
) -> Row:
    """
    Return the figures of one server.

    :param robot, server: their names.
    :param times: (k,) round trips [us].
    :param solved: share of requests solved [%].
    :param reference: (k,) round trips of the empty server [us].
    """
    p50, p95, p99 = (float(value) for value in np.percentile(times, [50, 95, 99]))
    ratio = p50 / float(np.median(reference))
    return Row(
        robot, server.strip('/'), len(times), solved, p50, float(times.mean()), p95, p99, ratio
    )


def make_split(
    robot: str, stored: Mapping[str, FloatArray], times: Mapping[str, FloatArray]
) -> Split:
    """
    Return where the time goes.

    :param robot: its name.
    :param stored: the times that the watched server left, warm-up first [ns].
    :param times: round trips by namespace [us].
    """
    calls = len(times[WATCHED])
    solver, handler = (
        1e-3 * float(np.median(stored[name][-calls:])) for name in ('solver', 'handler')
    )
    return Split(
        robot,
        solver,
        handler,
        float(np.median(times[WATCHED])),
        float(np.median(times[EMPTY])),
    )


def measure(robot: str, options: argparse.Namespace, server_core: int) -> tuple[list[Row], Split]:
    """
    Return the round trips of one robot and where their time goes.

    :param robot: its name.
    :param options: calls, executor, threads and output folder.
    :param server_core: core of the servers.
    """
    arm = read_arm(robot)
    cases = draw_cases(arm, options.calls)
    requests = make_requests(arm, cases)
    namespaces = (OWN, EMPTY, WATCHED)
    with tempfile.TemporaryDirectory() as folder, Caller(namespaces) as caller:
        home = Path(folder)
        with ServerProcesses(server_core, LIFETIME) as processes:
            own = start_servers(robot, options, processes, caller, home)
            times, solved = call_all(caller, requests, namespaces, options.in_a_row)
            peak = peak_mib(own)
        with np.load(home / 'times.npz') as stored:
            split = make_split(robot, stored, times)
    rows = [make_row(robot, name, times[name], solved[name], times[EMPTY]) for name in namespaces]
    rows[0] = replace(rows[0], peak_mib=peak)
    return rows, split


def measure_batch(robot: str, options: argparse.Namespace) -> BatchRow:
    """
    Return the time of a pose in a call for many poses and in a single call; the node uses all cores.

    :param robot: its name.
    :param options: executor, threads and output folder.
    """
    arm = read_arm(robot)
    cases = draw_cases(arm, BATCH)
    # All poses of a batch are searched from one state, so all single calls are too.
    seed = 0.5 * np.sum(arm.sampling_bounds(), axis=0)
    singles = [make_request(arm, target, seed, 1.0) for target in cases.targets]
    request = make_batch_request(arm, cases.targets, seed)
    lifetime = LIFETIME + round(FIRST_LIMIT)
    with Caller([OWN]) as caller, ServerProcesses(None, lifetime) as processes:
        log = options.output / 'round_trip_logs' / f'{robot}_batch.log'
        process = processes.start(own_server(robot, OWN, options.threads), log)
        wait_for_first(caller, process, log)
        for single in singles[:WARM_UP]:
            caller.call(OWN, single)
        caller.timed_batch(OWN, request, START_LIMIT)
        batches, alone, solved = [], [], 0
        with no_garbage_collection():
            # Alternating, so that both see the same load of the machine.
            for part in np.array_split(np.arange(BATCH), BATCHES):
                alone += [caller.timed_call(OWN, singles[index])[1] for index in part]
                response, elapsed = caller.timed_batch(OWN, request, START_LIMIT)
                batches.append(elapsed / BATCH)
                solved = response.solved
    single_us, batch_us = 1e-3 * float(np.median(alone)), 1e-3 * float(np.median(batches))
    return BatchRow(robot, BATCH, 100.0 * solved / BATCH, single_us, batch_us)


def batch_cells(row: BatchRow) -> list[str]:
    """
    Return a row as text, in the order of :data:`BATCH_HEADER`.

    :param row: the row.
    """
    figures = (row.single, row.batch, row.factor)
    return [row.robot, str(row.poses), f'{row.solved:.2f}', *(f'{value:.1f}' for value in figures)]


def cells(row: Row) -> list[str]:
    """
    Return a row as text, in the order of :data:`HEADER`.

    :param row: the row.
    """
    figures = (row.p50, row.mean, row.p95, row.p99)
    return [
        *(row.robot, row.server, str(row.calls), f'{row.solved:.2f}'),
        *(f'{value:.0f}' for value in figures),
        f'{row.ratio:.2f}',
    ]


def split_cells(split: Split) -> list[str]:
    """
    Return a split as text, in the order of :data:`SPLIT_HEADER`.

    :param split: the split.
    """
    rest = split.round_trip - split.handler
    values = (split.solver, split.handler - split.solver, rest, split.empty)
    return [split.robot, *(f'{value:.0f}' for value in values)]


def verdicts(rows: Sequence[Row]) -> list[str]:
    """
    Return a line for each robot: whether the goal is reached.

    :param rows: of all robots.
    """
    return [
        f'{row.robot}: {row.ratio:.2f} times an empty handler, goal {GOAL}: '
        f'{"reached" if row.ratio <= GOAL else "MISSED"}'
        for row in rows
        if row.server == OWN.strip('/')
    ]


def batch_verdicts(rows: Sequence[BatchRow]) -> list[str]:
    """
    Return a line for each robot: whether a pose of a batch is as cheap as is wanted.

    :param rows: of all robots.
    """
    return [
        f'{row.robot}: a pose of {row.poses} is {row.factor:.0f} times cheaper than a call of its '
        f'own, goal {BATCH_GOAL:g}: {"reached" if row.factor >= BATCH_GOAL else "MISSED"}'
        for row in rows
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = parse_arguments(arguments)
    allowed = os.sched_getaffinity(0)
    server_core = max(allowed) if options.cpu is None else options.cpu
    # Before this process is pinned, for servers would be too.
    batches = [measure_batch(robot, options) for robot in options.robots]
    client_core = pinning.pin(core_of_client(server_core, allowed))
    around = conditions.describe(client_core, ())
    setting = (
        f'Client on core {client_core}, servers on core {server_core}; '
        f"executor '{options.executor}', {options.threads} threads, "
        f'{options.in_a_row} calls in a row.'
    )
    text = [conditions.as_text(around), setting]
    print('\n'.join(text), flush=True)
    measured = [measure(robot, options, server_core) for robot in options.robots]
    rows = [row for of_robot, _ in measured for row in of_robot]
    splits = [split for _, split in measured]
    around['load_average_after'] = [round(value, 2) for value in os.getloadavg()]
    text += [
        report.table(HEADER, [cells(row) for row in rows]),
        report.table(SPLIT_HEADER, [split_cells(split) for split in splits]),
        report.table(BATCH_HEADER, [batch_cells(row) for row in batches]),
        *verdicts(rows),
        *batch_verdicts(batches),
        f'Load after: {around["load_average_after"]}',
    ]
    print('\n' + '\n\n'.join(text[2:]))
    content = {
        'conditions': around,
        'setting': setting,
        'rows': [asdict(row) for row in rows],
        'splits': [asdict(split) for split in splits],
        'batches': [{**asdict(row), 'factor': row.factor} for row in batches],
    }
    report.write_json(options.output / 'round_trip.json', content)
    (options.output / 'round_trip.md').write_text('\n\n'.join(text) + '\n', encoding='utf-8')


if __name__ == '__main__':
    pinning.limit_threads()
    main()
