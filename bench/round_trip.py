"""
Measure round trips of the node against an empty handler: ``python bench/round_trip.py --help``.

The same requests go in random order to two servers, which wait on a core of their own: the product's node, and a server
on the same executor whose handler returns a prepared response of the same content. ``ik_benchmark`` measures the time
within the solver. Needs ROS (``. ./activate``).
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
import os
from pathlib import Path
import sys
import tempfile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
import numpy as np
from rclpy.serialization import serialize_message
from ssik_msgs.srv import SolveBatch

from bench import goals, pinning, program
from bench.arms import FloatArray, read_arm
from bench.cases import draw_cases
from bench.ros.caller import Caller
from bench.ros.processes import claim_domain, empty_server, own_server, ServerProcesses
from bench.ros.requests import GROUPS, make_batch_request, make_request, make_requests
from bench.tables import table_of
from bench.times import Times
from bench.usage import memory_mib
from ssik_ros.benchmark.harness import no_garbage_collection

OWN, EMPTY = NAMESPACES = '/own', '/empty'
START_LIMIT = 90.0
"""Time that a server has to appear [s]."""
LIFETIME = 300
"""After which servers end by themselves [s]; one robot takes a tenth of it."""
WARM_UP = 200
"""Calls of each server that do not count."""
BATCH = 1000
"""Poses of one call of ``~/solve_batch``."""
BATCHES = 10
COLUMNS = {
    'robot': '{robot}',
    'server': '{server}',
    'calls': '{calls}',
    'solved %': '{solved:.2f}',
    'p50 us': '{times.median:.0f}',
    'mean': '{times.mean:.0f}',
    'p95': '{times.p95:.0f}',
    'p99': '{times.p99:.0f}',
    'p50 ratio': '{ratio:.2f}',
}
BATCH_COLUMNS = {
    'robot': '{robot}',
    'poses': '{poses}',
    'solved %': '{solved:.2f}',
    'single call us': '{single:.1f}',
    'batch us a pose': '{batch:.1f}',
}


@dataclass(frozen=True, slots=True)
class Row:
    """Round trips of one server."""

    robot: str
    server: str
    calls: int
    solved: float
    """Share of requests that got a solution [%]."""
    times: Times
    """[us]"""
    ratio: float
    """Of the medians, to the empty server."""
    peak_mib: float | None = None
    """Most memory that the server held at once."""


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
    Start both servers of a robot; return the number of the product's process.

    The empty handler always returns one response that the product gave before.

    :param robot: its name.
    :param options: threads and output folder.
    :param processes: where they are started.
    :param caller: calls the product for the prepared response.
    :param home: folder for the prepared response.
    """
    logs, threads, prepared = (
        options.output / 'round_trip_logs',
        options.threads,
        home / 'prepared',
    )
    process = processes.start(own_server(robot, OWN, threads), logs / f'{robot}_own.log')
    caller.wait_for_all(OWN, START_LIMIT)
    prepared.write_bytes(serialize_message(prepare_response(robot, caller)))
    processes.start(empty_server(EMPTY, threads, prepared), logs / f'{robot}_empty.log')
    caller.wait_for(EMPTY, START_LIMIT)
    return process.pid


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
    caller: Caller, requests: Sequence[GetPositionIK.Request], in_a_row: int
) -> tuple[dict[str, FloatArray], dict[str, float]]:
    """
    Send every request to every server, in random order; return round trips [us] and shares solved [%].

    :param caller: the client that calls.
    :param requests: for ``compute_ik``.
    :param in_a_row: calls to one server before the next server has its turn.
    """
    generator = np.random.default_rng(7)
    for request in requests[:WARM_UP]:
        for name in NAMESPACES:
            caller.call(name, request)
    times: dict[str, list[int]] = {name: [] for name in NAMESPACES}
    solved = dict.fromkeys(NAMESPACES, 0)
    with no_garbage_collection():
        for start in range(0, len(requests), in_a_row):
            for name in generator.permutation(NAMESPACES):
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
    round_trips = Times.of(times)
    ratio = round_trips.median / float(np.median(reference))
    return Row(robot, server.strip('/'), len(times), solved, round_trips, ratio)


def measure(robot: str, options: argparse.Namespace, server_core: int) -> list[Row]:
    """
    Return the round trips of one robot.

    :param robot: its name.
    :param options: calls, threads and output folder.
    :param server_core: core of the servers.
    """
    arm = read_arm(robot)
    requests = make_requests(arm, draw_cases(arm, options.calls))
    with (
        tempfile.TemporaryDirectory() as folder,
        Caller(NAMESPACES) as caller,
        ServerProcesses(server_core, LIFETIME) as processes,
    ):
        pid = start_servers(robot, options, processes, caller, Path(folder))
        times, solved = call_all(caller, requests, options.in_a_row)
        peak = memory_mib(pid)
    rows = [make_row(robot, name, times[name], solved[name], times[EMPTY]) for name in NAMESPACES]
    return [replace(rows[0], peak_mib=peak), *rows[1:]]


def measure_batch(robot: str, options: argparse.Namespace) -> BatchRow:
    """
    Return the time of a pose in a call for many poses and in a single call; the node uses all cores.

    :param robot: its name.
    :param options: threads and output folder.
    """
    arm = read_arm(robot)
    cases = draw_cases(arm, BATCH)
    # All poses of a batch are searched from one state, so all single calls are too.
    seed = 0.5 * np.sum(arm.sampling_bounds(), axis=0)
    singles = [make_request(arm, target, seed, 1.0) for target in cases.targets]
    request = make_batch_request(arm, cases.targets, seed)
    service = SolveBatch, f'{OWN}/ssik_ros/solve_batch'
    with Caller([OWN], batch=service) as caller, ServerProcesses(None, LIFETIME) as processes:
        log = options.output / 'round_trip_logs' / f'{robot}_batch.log'
        processes.start(own_server(robot, OWN, options.threads), log)
        caller.wait_for_all(OWN, START_LIMIT)
        for single in singles[:WARM_UP]:
            caller.call(OWN, single)
        caller.timed_call('batch', request, START_LIMIT)
        batches, alone, solved = [], [], 0
        with no_garbage_collection():
            # Alternating, so that both see the same load of the machine.
            for part in np.array_split(np.arange(BATCH), BATCHES):
                alone += [caller.timed_call(OWN, singles[index])[1] for index in part]
                response, elapsed = caller.timed_call('batch', request, START_LIMIT)
                batches.append(elapsed / BATCH)
                solved = response.solved
    single_us, batch_us = (1e-3 * float(np.median(times)) for times in (alone, batches))
    return BatchRow(robot, BATCH, 100.0 * solved / BATCH, single_us, batch_us)


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    allowed = os.sched_getaffinity(0)
    # By default as many threads as the node takes when it is not pinned.
    threads = len(allowed) + 2
    parser = program.make_parser(__doc__, calls=3000, threads=threads, in_a_row=1)
    parser.add_argument('--robots', nargs='+', choices=GROUPS, default=['panda', 'ur5e'])
    options = parser.parse_args(arguments)
    claim_domain()
    server_core = max(allowed) if options.cpu is None else options.cpu
    # Before this process is pinned, for servers would be too.
    batches = [measure_batch(robot, options) for robot in options.robots]
    options.cpu = core_of_client(server_core, allowed)
    run = program.Run('round_trip', options)
    setting = (
        f'Client on core {run.core}, servers on core {server_core}; {options.threads} threads'
    )
    run.show(f'{setting}, {options.in_a_row} calls in a row.')
    rows = [row for robot in options.robots for row in measure(robot, options, server_core)]
    run.show(table_of(COLUMNS, rows), table_of(BATCH_COLUMNS, batches))
    goals.finish(run, setting=setting, rows=rows, batches=batches)


if __name__ == '__main__':
    pinning.limit_threads()
    main()
