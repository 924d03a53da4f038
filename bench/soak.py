"""
The node for half an hour: ``python bench/soak.py --help``, or ``make soak``.

One client keeps a few requests of every service in flight, faulty ones among them, and judges each response by a
forward kinematics of its own. It ends with 1 when a response is lost or wrong, the node has ended, or the
node's memory has grown by more than a bound. Needs ROS (``. ./activate``).
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
import os
from pathlib import Path
import subprocess
import sys
from time import monotonic
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile

from bench import conditions, pinning, program, report
from bench.arms import read_arm
from bench.ros.mixed_requests import Asked, MixedRequests, SERVICES
from bench.ros.processes import own_server, ServerProcesses

NAMESPACE = '/soak'
START_LIMIT = 400.0
"""Time that the services have to appear [s]."""
RESPONSE_LIMIT = 30.0
"""Time after which a response counts as lost [s]."""
IN_FLIGHT = 6
SETTLING = 60.0
"""Time after which the memory counts as that at the start: everything has been used by then [s]."""
SHOWN = 10
"""Wrong responses that are printed."""


@dataclass(slots=True)
class Tally:
    """What came out."""

    sent: int = 0
    verified: Counter[str] = field(default_factory=Counter)
    """By kind of request."""
    wrong: list[str] = field(default_factory=list)
    lost: int = 0
    rss_start: float = 0.0
    """Memory of the node after it has settled [MB]."""
    rss_end: float = 0.0
    log_kb: float = 0.0
    ended: bool = False
    """Whether the node had ended by itself."""

    def faults(self, bound: float) -> list[str]:
        """
        Return what is wrong, one sentence each.

        :param bound: growth of the memory that is none [MB].
        """
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
        return faults


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
        Handle what arrives next, and judge the response of each.

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
    Ask until the time is over; return what came out.

    :param options: of the command line.
    :param process: the node.
    :param log: what it prints.
    """
    tally, client = Tally(), SoakClient()
    requests = MixedRequests(read_arm(options.robot), options.seed)
    try:
        client.wait_for_services()
        begin = monotonic()
        end, shown = begin + 60.0 * options.minutes, begin
        settled = begin + min(SETTLING, 10.0 * options.minutes)
        while monotonic() < end and process.poll() is None and not tally.lost:
            client.fill(requests, tally)
            client.collect(tally)
            if not tally.rss_start and monotonic() > settled:
                tally.rss_start = memory_of(process.pid)
            if monotonic() > shown + 60.0:
                shown = monotonic()
                print(
                    f'{(shown - begin) / 60:.0f} min: {sum(tally.verified.values())} verified, '
                    f'{len(tally.wrong)} wrong, {memory_of(process.pid):.1f} MB',
                    flush=True,
                )
        while client.is_waiting and process.poll() is None:
            client.collect(tally)
        tally.rss_end = memory_of(process.pid)
        tally.ended = process.poll() is not None
    finally:
        client.close()
    tally.log_kb = log.stat().st_size / 1024
    return tally


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """
    Return the options of the command line.

    :param arguments: the words; None means those of the process.
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
    program.add_common_options(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Soak, print and write; return 1 when something was wrong.

    :param arguments: words of the command line; None means those of the process.
    """
    options = parse_arguments(arguments)
    around = conditions.describe(None, ())
    print(conditions.as_text(around), flush=True)
    lifetime = int(60.0 * options.minutes + START_LIMIT + 2.0 * RESPONSE_LIMIT)
    log = options.output / 'soak.log'
    with ServerProcesses(None, lifetime) as servers:
        process = servers.start(own_server(options.robot, NAMESPACE, 0), log)
        tally = soak(options, process, log)
    faults = tally.faults(options.bound)
    rows = [[kind, str(count)] for kind, count in sorted(tally.verified.items())]
    text = [
        report.table(('kind', 'verified'), rows),
        f'{tally.sent} sent, {sum(tally.verified.values())} verified, {len(tally.wrong)} wrong, '
        f'{tally.lost} lost in {options.minutes:g} minutes.',
        f'Memory of the node: {tally.rss_start:.1f} MB at the start, {tally.rss_end:.1f} MB at the '
        f'end (bound: +{options.bound:g} MB). Log: {tally.log_kb:.1f} kB.',
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
        'log_kb': tally.log_kb,
        'faults': faults,
    }
    report.write_json(options.output / 'soak.json', content)
    return int(bool(faults))


if __name__ == '__main__':
    pinning.limit_threads()
    sys.exit(main())
