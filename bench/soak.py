"""
The node for half an hour: ``python bench/soak.py --help``, or ``make soak``.

One client keeps a few requests of every service in flight, some of them faulty. It judges each response by a forward
kinematics of its own. Every minute it keeps 24 requests in flight that only the clock ends. The program ends with 1 in
these cases:

- a response is lost or wrong,
- the node has ended,
- the node's memory, or its growth, exceeds a bound,
- of all responses whose search the clock ended, more than one in a hundred came over 10 ms after the deadline, by the
  node's own clock. Waiting for a processor counts as well, so each line of output shows the processor time that the
  host gave to other machines.

Needs ROS (``. ./activate``).
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
import math
import os
from pathlib import Path
import subprocess
import sys
from time import monotonic
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile

from bench import conditions, pinning, program, report
from bench.arms import Arm, read_arm
from bench.executors import Searches, unreachable_requests
from bench.ros.caller import Caller
from bench.ros.mixed_requests import Asked, MixedRequests, SERVICES
from bench.ros.processes import claim_domain, own_server, ServerProcesses
from bench.ros.requests import set_budget
from ssik_ros.ros.process.diagnostics import BEYOND_GOAL

NAMESPACE = '/soak'
START_LIMIT = 400.0
"""Time that the services have to appear [s]."""
RESPONSE_LIMIT = 30.0
"""Time after which a response counts as lost [s]."""
IN_FLIGHT = 6
STORM_EVERY = 60.0
"""Time from one storm of searches that only the clock ends to the next [s]."""
STORM_TIME = 5.0
STORM_IN_FLIGHT = 24
STORM_BUDGET = 0.1
STORM_GROUP = 'panda_arm_hand'
"""Group whose solver searches as long as it may."""
LATE_SHARE = 0.01
"""Largest allowed share of late responses among the responses whose search the clock ended."""
MEMORY_BOUND = 300.0
"""Largest memory of the node [MB]."""
SETTLING = 60.0
"""Time after which the memory counts as that at the start: everything has been used by then [s]."""
SHOWN = 10
"""Wrong responses that are printed."""


@dataclass(slots=True)
class Tally:
    """Counts, faults and memory of a run."""

    sent: int = 0
    verified: Counter[str] = field(default_factory=Counter)
    """By kind of request."""
    wrong: list[str] = field(default_factory=list)
    lost: int = 0
    rss_start: float = 0.0
    """Memory of the node after it has settled [MB]."""
    rss_end: float = 0.0
    log_kb: float = 0.0
    rss_most: float = 0.0
    """Largest memory of the node that was seen [MB]."""
    storms: list[float] = field(default_factory=list)
    """Overrun of each response of the storms, as the client sees it [ms]."""
    overruns: 'dict[str, Overruns]' = field(default_factory=dict)
    """By service."""
    taken: float = 0.0
    """Processor time that the host gave to others [s]."""
    ended: bool = False
    """Whether the node had ended by itself."""

    def faults(self, options: argparse.Namespace) -> list[str]:
        """
        Return the faults, one sentence each.

        :param options: of the command line; they hold the bounds.
        """
        bound = options.bound
        faults = [f'{self.lost} responses were lost.'] if self.lost else []
        if self.wrong:
            faults.append(
                f'{len(self.wrong)} responses were wrong: {"; ".join(self.wrong[:SHOWN])}'
            )
        if self.ended:
            faults.append('The node had ended.')
        if not self.verified:
            faults.append('No response was verified.')
        grown = self.rss_end - self.rss_start
        if grown > bound:
            faults.append(f'The memory of the node grew by {grown:.1f} MB, more than {bound:g}.')
        if self.rss_most > options.memory:
            faults.append(f'The node had {self.rss_most:.1f} MB, more than {options.memory:g}.')
        return faults + overrun_faults(self.overruns)


class Overruns(NamedTuple):
    """Responses of one service whose search the clock ended, since the node's start."""

    ended: int
    late: int
    """Responses among them that came later than the goal of the node allows."""


class OverrunWatch:
    """Listens to the node's reports on its deadlines."""

    def __init__(self, node: Node) -> None:
        """
        Begin to listen.

        :param node: of the client.
        """
        self.latest: dict[str, Overruns] = {}
        """By service."""
        node.create_subscription(DiagnosticArray, '/diagnostics', self._note, 10)

    def _note(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {entry.key: entry.value for entry in status.values}
            if BEYOND_GOAL in values:
                service = status.name.rpartition(': ')[2]
                counts = Overruns(int(values['deadline misses']), int(values[BEYOND_GOAL]))
                self.latest[service] = counts


def total(overruns: dict[str, Overruns]) -> Overruns:
    """
    Return the counts of all services together.

    :param overruns: by service.
    """
    counts = overruns.values()
    return Overruns(sum(each.ended for each in counts), sum(each.late for each in counts))


def overrun_faults(overruns: dict[str, Overruns]) -> list[str]:
    """
    Return a sentence for each service with too many late responses; if no service was reported, a sentence that says so.

    :param overruns: by service.
    """
    if not overruns:
        return ['The node reported nothing on /diagnostics.']
    return [
        f'{service}: {counts.late} of {counts.ended} responses had {BEYOND_GOAL}, more than {LATE_SHARE:.0%}.'
        for service, counts in sorted(overruns.items())
        # One of a few says nothing about a share.
        if counts.late > math.ceil(LATE_SHARE * counts.ended)
    ]


def taken_seconds() -> float:
    """Return the processor time that the host gave to others while this machine wanted it, since its start [s]."""
    fields = Path('/proc/stat').read_text(encoding='ascii').split(maxsplit=9)
    return int(fields[8]) / os.sysconf('SC_CLK_TCK')


class Storms:
    """Now and then many requests in flight that only the clock ends."""

    def __init__(self, arm: Arm) -> None:
        """
        Make a client.

        :param arm: the arm, whose group :data:`STORM_GROUP` has a solver that searches on.
        """
        self._arm = arm
        self._caller = Caller([NAMESPACE])
        self._requests: list[Any] = []

    def find_requests(self) -> None:
        """
        Find poses that are searched for so long that the clock ends all searches of a storm.

        :raises NoResponse: when there are none.
        """
        self._caller.wait_for(NAMESPACE, START_LIMIT)
        self._requests = unreachable_requests(self._arm, self._caller, NAMESPACE, STORM_GROUP)
        for request in self._requests:
            set_budget(request, STORM_BUDGET)

    def run(self, tally: Tally) -> None:
        """
        Keep requests in flight for a while.

        :param tally: where overruns and lost responses are counted.
        """
        count = len(self._requests)
        requests = [self._requests[index % count] for index in range(STORM_IN_FLIGHT)]
        searches = Searches(self._caller, requests, STORM_BUDGET, NAMESPACE)
        tally.lost += searches.keep_up_for(STORM_TIME)
        tally.storms += searches.overruns_ms

    def close(self) -> None:
        """Leave the domain."""
        self._caller.__exit__(None, None, None)


class SoakClient:
    """Keeps requests in flight."""

    def __init__(self) -> None:
        """Make a client for each service."""
        self._context = Context()
        rclpy.init(args=[], context=self._context)
        self._node = rclpy.create_node(
            'soak', context=self._context, start_parameter_services=False, enable_rosout=False
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        depth = QoSProfile(depth=100)
        self._clients = {
            name: self._node.create_client(kind, f'{NAMESPACE}/{name}', qos_profile=depth)
            for name, kind in SERVICES.items()
        }
        self._waiting: list[tuple[Any, Asked, float]] = []
        self.overruns = OverrunWatch(self._node).latest

    def wait_for_services(self) -> None:
        """
        Wait until every service is there.

        :raises SystemExit: when one is not in time.
        """
        end = monotonic() + START_LIMIT
        for name, client in self._clients.items():
            if not client.wait_for_service(max(0.1, end - monotonic())):
                sys.exit(f'soak: there is no service {name} after {START_LIMIT:g} s')

    def fill(self, requests: MixedRequests, tally: Tally) -> None:
        """
        Send until as many are in flight as are to be.

        :param requests: draws them.
        :param tally: counts them.
        """
        while len(self._waiting) < IN_FLIGHT:
            asked = requests.draw()
            future = self._clients[asked.service].call_async(asked.request)
            self._waiting.append((future, asked, monotonic() + RESPONSE_LIMIT))
            tally.sent += 1

    def collect(self, tally: Tally) -> None:
        """
        Handle the next event of the client, and judge the responses that have arrived.

        :param tally: where it is counted.
        """
        self._executor.spin_once(0.1)
        kept = []
        for future, asked, end in self._waiting:
            if future.done():
                wrong = asked.judge(future.result())
                if wrong:
                    tally.wrong.append(f'{asked.kind}: {wrong}')
                else:
                    tally.verified[asked.kind] += 1
            elif monotonic() > end:
                tally.lost += 1
            else:
                kept.append((future, asked, end))
        self._waiting = kept

    @property
    def is_waiting(self) -> bool:
        """Return whether a response is missing."""
        return bool(self._waiting)

    def close(self) -> None:
        """Leave the domain."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)


def memory_of(process: int) -> float:
    """
    Return the memory that a process holds [MB]; 0 when it has ended.

    :param process: its id.
    """
    path = Path(f'/proc/{process}/status')
    lines = path.read_text(encoding='ascii').splitlines() if path.is_file() else []
    sizes = [int(line.split()[1]) for line in lines if line.startswith('VmRSS')]
    return sizes[0] / 1024 if sizes else 0.0


def soak(options: argparse.Namespace, process: 'subprocess.Popen[bytes]', log: Path) -> Tally:
    """
    Send requests until the time is over; return counts, faults and memory.

    :param options: of the command line.
    :param process: the node.
    :param log: file of the node's output.
    """
    arm = read_arm(options.robot)
    tally, client, storms = Tally(), SoakClient(), Storms(arm)
    requests = MixedRequests(arm, options.seed)
    try:
        client.wait_for_services()
        storms.find_requests()
        begin, taken = monotonic(), taken_seconds()
        end, shown = begin + 60.0 * options.minutes, begin
        settled = begin + min(SETTLING, 10.0 * options.minutes)
        while monotonic() < end and process.poll() is None and not tally.lost:
            client.fill(requests, tally)
            client.collect(tally)
            if not tally.rss_start and monotonic() > settled:
                tally.rss_start = memory_of(process.pid)
            if monotonic() > shown + STORM_EVERY:
                while client.is_waiting and process.poll() is None:
                    client.collect(tally)
                storms.run(tally)
                shown, now = monotonic(), memory_of(process.pid)
                tally.rss_most = max(tally.rss_most, now)
                print(
                    f'{(shown - begin) / 60:.0f} min: {sum(tally.verified.values())} verified, '
                    f'{len(tally.wrong)} wrong, {now:.1f} MB, {len(tally.storms)} ended by the clock, '
                    f'{total(client.overruns).late} late, {taken_seconds() - taken:.2f} s of processor time taken',
                    flush=True,
                )
        while client.is_waiting and process.poll() is None:
            client.collect(tally)
        tally.rss_end = memory_of(process.pid)
        tally.rss_most = max(tally.rss_most, tally.rss_end)
        tally.ended = process.poll() is not None
        tally.taken = taken_seconds() - taken
        tally.overruns = dict(client.overruns)
    finally:
        client.close()
        storms.close()
    tally.log_kb = log.stat().st_size / 1024
    return tally


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """
    Return the options of the command line.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='The node for half an hour.')
    parser.add_argument('--minutes', type=float, default=30.0, help='how long (%(default)s)')
    parser.add_argument('--robot', default='panda')
    parser.add_argument('--seed', type=int, default=1, help='of the requests')
    parser.add_argument(
        '--bound',
        type=float,
        default=32.0,
        help='growth of memory that is none [MB] (%(default)s)',
    )
    add_memory_bound(parser)
    program.add_common_options(parser)
    return parser.parse_args(arguments)


def add_memory_bound(parser: argparse.ArgumentParser) -> None:
    """
    Add the bound of memory.

    :param parser: the program's parser.
    """
    parser.add_argument(
        '--memory', type=float, default=MEMORY_BOUND, help='largest memory [MB] (%(default)s)'
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Soak, print and write; return 1 when something was wrong.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = parse_arguments(arguments)
    # A node of another run would take half of the requests.
    claim_domain()
    around = conditions.describe(None, ())
    print(conditions.as_text(around), flush=True)
    lifetime = int(60.0 * options.minutes + START_LIMIT + 2.0 * RESPONSE_LIMIT)
    log = options.output / 'soak.log'
    with ServerProcesses(None, lifetime) as servers:
        command = own_server(options.robot, NAMESPACE, 0)
        solver = f'robot_description_kinematics.{STORM_GROUP}.kinematics_solver'
        process = servers.start([*command, '-p', f'{solver}:=ssik_ros/PoseIK'], log)
        tally = soak(options, process, log)
    faults = tally.faults(options)
    storms = np.percentile(tally.storms or [0.0], [50, 99])
    ended, late = total(tally.overruns)
    rows = [[kind, str(count)] for kind, count in sorted(tally.verified.items())]
    text = [
        report.table(('kind', 'verified'), rows),
        f'{tally.sent} sent, {sum(tally.verified.values())} verified, {len(tally.wrong)} wrong, '
        f'{tally.lost} lost in {options.minutes:g} minutes.',
        f'Memory of the node: {tally.rss_start:.1f} MB at the start, {tally.rss_end:.1f} MB at the '
        f'end (bound: +{options.bound:g} MB), {tally.rss_most:.1f} MB at most. Log: {tally.log_kb:.1f} kB.',
        f'{len(tally.storms)} requests ended by the clock, {STORM_IN_FLIGHT} in flight: the client saw an overrun of '
        f'{storms[0]:.1f} ms at p50 and {storms[1]:.1f} ms at p99. By the clock of the node, {late} of {ended} responses had '
        f'{BEYOND_GOAL}. Other machines took {tally.taken:.2f} s of processor time.',
        f'Load after: {[round(value, 2) for value in os.getloadavg()]}',
        *(faults or ['Nothing was wrong.']),
    ]
    print('\n' + '\n\n'.join(text))
    content = {
        'conditions': around,
        'minutes': options.minutes,
        'sent': tally.sent,
        'verified': dict(tally.verified),
        'wrong': tally.wrong,
        'lost': tally.lost,
        'rss_start_mb': tally.rss_start,
        'rss_end_mb': tally.rss_end,
        'rss_most_mb': tally.rss_most,
        'storms': len(tally.storms),
        'storm_overrun_ms': {'p50': storms[0], 'p99': storms[1]},
        'deadline_misses': ended,
        'late': late,
        'taken_s': tally.taken,
        'log_kb': tally.log_kb,
        'faults': faults,
    }
    report.write_json(options.output / 'soak.json', content)
    return int(bool(faults))


if __name__ == '__main__':
    pinning.limit_threads()
    sys.exit(main())
