"""Messages of the package appear in a node's log, each at its level, and an error in the log does not come back."""

import logging
from pathlib import Path

from test.ros_units import bare_nodes  # noqa: F401 - skips the module if ROS is not installed

import pytest

from ssik_ros.ros.process.log_bridge import bridge_logging, unbridge_logging

pytestmark = pytest.mark.ros


class Kept:
    """A node's logger that keeps its messages."""

    def __init__(self):
        self.lines = []

    def write(self, severity, text, function, file, line):
        """Keep a line with the name of its level."""
        self.lines.append((logging.getLevelName(severity).lower(), text))
        self.place = function, Path(file).name, line


@pytest.fixture
def kept():
    """Give a logger that the package writes to, and put everything back."""
    package = logging.getLogger('ssik_ros')
    before = package.level, package.propagate, list(package.handlers)
    logger = Kept()
    bridge = bridge_logging(logger.write)
    yield logger
    unbridge_logging(bridge)
    package.setLevel(before[0])
    assert (package.propagate, package.handlers) == (before[1], before[2])


def test_each_level_is_itself(kept):
    logger = logging.getLogger('ssik_ros.some.module')
    logger.info('a %d', 1)
    logger.warning('b')
    logger.error('c')
    logger.critical('d')
    assert kept.lines == [('info', 'a 1'), ('warning', 'b'), ('error', 'c'), ('critical', 'd')]


def test_a_line_names_the_place_that_logs_it(kept):
    logging.getLogger('ssik_ros.some.module').info('here')
    function, file, _ = kept.place
    assert (function, file) == (
        'test_a_line_names_the_place_that_logs_it',
        'test_log_bridge.py',
    )


def test_an_exception_comes_with_its_traceback(kept):
    try:
        raise ValueError('seven')
    except ValueError:
        logging.getLogger('ssik_ros.x').exception('It failed')
    ((level, text),) = kept.lines
    assert (
        level == 'error'
        and text.startswith('It failed\nTraceback')
        and 'ValueError: seven' in text
    )


def test_other_packages_are_left_alone(kept):
    logging.getLogger('another').warning('b')
    assert kept.lines == []


def test_lines_appear_once(kept, caplog):
    logging.getLogger('ssik_ros.x').warning('once')
    assert len(kept.lines) == 1 and not caplog.records


def test_a_logger_that_fails_stops_no_call(monkeypatch):
    monkeypatch.setattr(logging, 'raiseExceptions', False)
    lines = []

    def fail(*line):
        lines.append(line)
        raise RuntimeError('the context is gone')

    bridge = bridge_logging(fail)
    logging.getLogger('ssik_ros.x').warning('x')
    unbridge_logging(bridge)
    assert len(lines) == 1


def test_after_the_node_the_log_is_as_before(caplog):
    logger = Kept()
    unbridge_logging(bridge_logging(logger.write))
    logging.getLogger('ssik_ros.x').warning('later')
    assert logger.lines == [] and 'later' in caplog.text
