"""A long step of a command is shown with its time, on the standard error only."""

import contextlib
import io
import re
import time

import pytest

from ssik_ros.cli import printing
from ssik_ros.cli.command import main
from ssik_ros.cli.printing import waiting

MOST = 30.0
"""Bound of each wait of a test [s]."""


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self):
        """Return that it is one."""
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Return a standard error that is a terminal, for which no wait is too short."""
    stream = Terminal()
    monkeypatch.setattr(printing, 'PATIENCE', 0.0)
    monkeypatch.setattr(printing, 'REFRESH', 0.01)
    monkeypatch.setenv('TERM', 'xterm')
    return stream


def wait_for(stream, pattern):
    """Wait until a text is on a stream."""
    end = time.monotonic() + MOST
    while not re.search(pattern, stream.getvalue()):
        assert time.monotonic() < end, repr(stream.getvalue()[-400:])
        time.sleep(0.01)


def test_a_terminal_shows_the_work_and_the_seconds_and_nothing_stays(terminal, capsys):
    with contextlib.redirect_stderr(terminal), waiting('Loading the robot') as tell:
        wait_for(terminal, r'Loading the robot: \d+ s')
        tell('Solving [bold]')
        wait_for(terminal, r'Solving \[bold\]: \d+ s')
    assert terminal.getvalue().endswith('\x1b[2K'), 'the line is removed'
    assert capsys.readouterr().out == ''


def test_a_short_wait_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(printing, 'PATIENCE', MOST)
    with contextlib.redirect_stderr(terminal), waiting('Loading the robot'):
        pass
    assert terminal.getvalue() == ''


def test_a_pipe_gets_a_line_now_and_then(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(printing, 'LINE_EVERY', 0.02)
    with contextlib.redirect_stderr(stream), waiting('Drawing the plot'):
        wait_for(stream, r'(Drawing the plot: 0 s\n){2}')


def test_an_error_ends_the_wait_and_passes(terminal):
    with (
        pytest.raises(KeyError),
        contextlib.redirect_stderr(terminal),
        waiting('Loading the robot'),
    ):
        raise KeyError('robot')


@pytest.mark.parametrize(
    ('words', 'texts'),
    [
        (['solve', 'ur5e', '--joints', *'123456'], ['Loading the robot', 'Solving']),
        (['classify', 'ur5e'], ['Loading the robot', 'Solving random poses']),
        (['doctor', 'panda'], ['Comparing the files of the robot']),
    ],
)
def test_verbs_show_their_slow_steps(monkeypatch, words, texts):
    shown = []

    def show(done, lines):
        shown.append(lines[0])
        done.wait(MOST)

    monkeypatch.setattr(printing, 'show_wait', show)
    main(words)
    assert shown == texts
