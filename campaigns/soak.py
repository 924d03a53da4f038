"""
The node for half an hour: ``python -m campaigns.soak --help``, or ``make soak``.

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
import functools
import math
import os
from pathlib import Path
import sys
from time import monotonic
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from bench import pinning
from bench.arms import read_arm
from bench.ros.caller import Caller
from bench.ros.processes import own_server
from bench.ros.searches import Searches, solver_parameter, unreachable_requests
from bench.tables import table
from bench.times import Times
from campaigns.flight import Flight
from campaigns.mixed_requests import Asked, MixedRequests, SERVICES
from campaigns.watch import make_parser, RESPONSE_LIMIT, run_against_node, START_LIMIT, Watch
from ssik_ros.ros.process.diagnostics import BEYOND_GOAL

NAMESPACE = '/soak'
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


class Soak:
    """Requests of every service in flight, with storms between."""

    def __init__(self, watch: Watch, caller: Caller, options: argparse.Namespace) -> None:
        """
        Wait for the node, and look for poses that it searches for until the clock ends the search.

        :param watch: where faults are noted.
        :param caller: of all services.
        :param options: of the command line.
        """
        arm = read_arm(options.robot)
        self._watch, self._caller = watch, caller
        self._flight, self._requests = (
            Flight(caller, RESPONSE_LIMIT),
            MixedRequests(arm, options.seed),
        )
        self.overruns = OverrunWatch(caller.node).latest
        caller.wait_for_services(START_LIMIT)
        caller.wait_for(NAMESPACE, START_LIMIT)
        self._long = unreachable_requests(arm, caller, NAMESPACE, STORM_BUDGET, STORM_GROUP)
        self.sent = self.lost = 0
        self.verified: Counter[str] = Counter()
        self.storms: list[float] = []
        """Overrun of each response of the storms, as the client sees it [ms]."""
        self._taken = taken_seconds()

    @property
    def taken(self) -> float:
        """Return the processor time that the host gave to others since the start [s]."""
        return taken_seconds() - self._taken

    def run_until(self, end: float) -> None:
        """Keep requests in flight until a time of the monotonic clock [s]."""
        while monotonic() < end and self._watch.is_alive and not self.lost:
            while len(self._flight) < IN_FLIGHT:
                asked = self._requests.draw()
                self._flight.send(
                    asked.service, asked.request, functools.partial(self._take, asked)
                )
                self.sent += 1
            self._flight.collect()
        if self._watch.is_alive:
            self._flight.drain()

    def _take(self, asked: Asked, response: Any) -> None:
        """Judge a response."""
        if response is None:
            self.lost += 1
            return self._watch.fault(f'{asked.kind}: no response within {RESPONSE_LIMIT:g} s.')
        wrong = asked.judge(response)
        if wrong:
            return self._watch.fault(f'{asked.kind}: {wrong}')
        self.verified[asked.kind] += 1
        return None

    def storm(self) -> None:
        """Keep searches in flight for a while that only the clock ends."""
        searches = Searches(self._caller, NAMESPACE, self._long, STORM_IN_FLIGHT, STORM_BUDGET)
        lost = searches.keep_up_for(STORM_TIME)
        self.storms += searches.overruns_ms
        if lost:
            self.lost += lost
            self._watch.fault(f'{lost} responses of a storm were lost.')


def attack(watch: Watch, options: argparse.Namespace) -> dict[str, Any]:
    """Send requests until the time is over; return the figures."""
    services = {name: (kind, f'{NAMESPACE}/{name}') for name, kind in SERVICES.items()}
    with Caller([NAMESPACE], None, **services) as caller:
        soak = Soak(watch, caller, options)
        begin = monotonic()
        end = begin + 60.0 * options.minutes
        while monotonic() < end and watch.is_alive and not soak.lost:
            # The node reports the late responses of a storm while the requests after it run.
            soak.storm()
            soak.run_until(min(end, monotonic() + STORM_EVERY))
            print(
                f'{(monotonic() - begin) / 60:.0f} min: {soak.verified.total()} verified, {len(watch.faults)} faults, '
                f'{watch.note_memory():.1f} MB, {len(soak.storms)} ended by the clock, '
                f'{total(soak.overruns).late} late, {soak.taken:.2f} s of processor time taken',
                flush=True,
            )
    if not soak.verified:
        watch.fault('No response was verified.')
    for fault in overrun_faults(soak.overruns):
        watch.fault(fault)
    return figures(soak, options)


def figures(soak: Soak, options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a soak, with paragraphs to show."""
    storms, (ended, late) = Times.of(soak.storms), total(soak.overruns)
    rows = [[kind, str(count)] for kind, count in sorted(soak.verified.items())]
    text = (
        table(('kind', 'verified'), rows),
        f'{soak.sent} sent, {soak.verified.total()} verified, {soak.lost} lost in {options.minutes:g} minutes.',
        f'{len(soak.storms)} requests ended by the clock, {STORM_IN_FLIGHT} in flight: the client saw an overrun of '
        f'{storms.median:.1f} ms at p50 and {storms.p99:.1f} ms at p99. By the clock of the node, {late} of {ended} '
        f'responses had {BEYOND_GOAL}. Other machines took {soak.taken:.2f} s of processor time.',
    )
    return {
        'text': text,
        'minutes': options.minutes,
        'sent': soak.sent,
        'verified': dict(soak.verified),
        'lost': soak.lost,
        'storms': len(soak.storms),
        'storm_overrun_ms': storms,
        'deadline_misses': ended,
        'late': late,
        'taken_s': soak.taken,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Soak, print and write; return 1 when something was wrong.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = make_parser(__doc__, growth=32.0, minutes=30.0)
    parser.add_argument('--robot', default='panda')
    options = parser.parse_args(arguments)
    command = own_server(options.robot, NAMESPACE, 0, solver_parameter(STORM_GROUP))
    return run_against_node('soak', options, command, attack, settling=0.0)


if __name__ == '__main__':
    pinning.limit_threads()
    sys.exit(main())
