"""One line for each cause in a while, and how many were left out."""

import itertools
import logging
from pathlib import Path

from test.ros_units import bare_nodes  # noqa: F401 - skips the module if ROS is not installed

import pytest

from ssik_ros.ros.process import log_throttle
from ssik_ros.ros.process.log_bridge import bridge_logging, LogBridge, unbridge_logging
from ssik_ros.ros.process.log_throttle import LogThrottle

pytestmark = pytest.mark.ros

SERVICES = logging.getLogger('ssik_ros.services')
OTHERS = logging.getLogger('ssik_ros.loader')


class Kept:
    """A node's logger that keeps its messages."""

    def __init__(self):
        self.lines = []

    def write(self, severity, text, function, file, line):
        """Keep a line with the name of its level."""
        self.lines.append((logging.getLevelName(severity).lower(), text))
        self.place = function, Path(file).name, line


class Clock:
    """A clock that does not advance."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """Return the clock of every throttle that is made."""
    clock = Clock()
    monkeypatch.setattr(LogThrottle.__init__, '__defaults__', (log_throttle.LOG_INTERVAL, clock))
    return clock


@pytest.fixture
def log(clock):
    """Give the lines of a node's log, and its bridge."""
    logger = Kept()
    bridge = bridge_logging(logger.write)
    yield logger, bridge
    unbridge_logging(bridge)


def fail(count, kind=ValueError):
    """Log so many failing requests of one cause, each with a text of its own."""
    for number in range(count):
        try:
            raise kind(f'request {number}')
        except kind:
            SERVICES.exception('Internal fault during a request')


def test_a_flood_is_one_line_and_then_one_with_the_count(log, clock):
    kept, _ = log
    fail(1000)
    assert len(kept.lines) == 1 and 'request 0' in kept.lines[0][1]
    clock.now += log_throttle.LOG_INTERVAL
    fail(500)
    assert len(kept.lines) == 2
    assert kept.lines[1][0] == 'error' and '[999 more like this since' in kept.lines[1][1]


def test_causes_do_not_silence_each_other(log):
    kept, _ = log
    fail(10)
    fail(10, KeyError)
    SERVICES.warning('The state is odd')
    assert [level for level, _ in kept.lines] == ['error', 'error', 'warning']


def test_three_different_bad_objects_are_three_lines(log):
    kept, _ = log
    for name in ('bad_box', 'bad_sphere', 'bad_mesh', 'bad_box'):
        SERVICES.error("The collision object '%s' is left out", name)
    assert [text for _, text in kept.lines] == [
        f"The collision object '{name}' is left out"
        for name in ('bad_box', 'bad_sphere', 'bad_mesh')
    ]


def test_made_up_texts_are_bounded_and_counted(log, clock):
    kept, bridge = log
    for number in range(1000):
        SERVICES.error("The collision object 'bad_%d' is left out", number)
    assert len(kept.lines) == log_throttle.MOST_TEXTS + 1
    clock.now += log_throttle.LOG_INTERVAL
    bridge.flush()
    assert len(kept.lines) == log_throttle.MOST_TEXTS + 2
    left_out = 1000 - log_throttle.MOST_TEXTS - 1
    assert (
        f"'bad_{log_throttle.MOST_TEXTS}' is left out [{left_out} more like this"
        in kept.lines[-1][1]
    )


def test_repeats_are_counted_by_text(log, clock):
    kept, _ = log
    for name, seconds in (
        ('a', 0),
        ('b', 0),
        ('a', 0),
        ('a', 0),
        ('a', log_throttle.LOG_INTERVAL),
    ):
        clock.now += seconds
        SERVICES.error("The collision object '%s' is left out", name)
    assert '[2 more like this since' in kept.lines[-1][1]


def test_lines_of_other_loggers_are_told_apart_by_their_text(log):
    kept, _ = log
    for group in ('arm', 'hand', 'arm'):
        OTHERS.warning('Group %s has no solver', group)
    assert [text for _, text in kept.lines] == [
        'Group arm has no solver',
        'Group hand has no solver',
    ]


def test_what_was_left_out_is_told_when_the_flood_is_over(log, clock):
    kept, bridge = log
    fail(8)
    bridge.flush()
    assert len(kept.lines) == 1
    clock.now += log_throttle.LOG_INTERVAL
    bridge.flush()
    bridge.flush()
    assert len(kept.lines) == 2
    assert kept.lines[1][1].startswith('Internal fault during a request [7 more like')
    assert 'Traceback' not in kept.lines[1][1]


def test_the_end_of_the_node_tells_what_was_left_out():
    kept = Kept()
    bridge = bridge_logging(kept.write)
    fail(3)
    unbridge_logging(bridge)
    assert len(kept.lines) == 2 and '[2 more like this' in kept.lines[1][1]


def test_causes_are_forgotten_when_there_are_too_many(clock):
    throttle = LogThrottle()
    records = [
        logging.LogRecord('x', logging.ERROR, 'f', 1, f'text {number}', (), None)
        for number in range(10 * log_throttle.MOST_CAUSES)
    ]
    assert all(throttle.admit(record, 'text') == 'text' for record in records)
    # The newest ones are remembered, so that their lines are left out.
    newest = itertools.takewhile(lambda r: not throttle.admit(r, 'text'), reversed(records))
    assert 0 < len(list(newest)) <= log_throttle.MOST_CAUSES
    assert isinstance(LogBridge(Kept().write), logging.Handler)
