"""A robot that does not load: the node keeps the robot that it has, waits for another message, or ends."""

import logging
from types import SimpleNamespace

from test.ros_units import bare_nodes  # noqa: F401  skips on machines without ROS

import pytest

from ssik_ros.errors import ConfigError, ModelError
from ssik_ros.ros.process.node_process import ProcessNode

pytestmark = pytest.mark.ros
MALFORMED, WRONG_FILE, FAULT = ModelError('no links'), ConfigError('bad key'), KeyError('x')


class Outcome:
    """A node whose ROS runs or has ended, and the reasons for which it was to end."""

    def __init__(self, is_running=True):
        self.context = SimpleNamespace(ok=lambda: is_running)
        self.reasons = []

    def fail(self, reason):
        """Note why the node ends."""
        self.reasons.append(str(reason))

    def load(self, error, **states):
        """Load a robot that raises an error; ``states`` are the results of ``may_mend`` and ``has_robot``."""

        def load():
            raise error

        callbacks = {name: (lambda value=value: value) for name, value in states.items()}
        ProcessNode.load_by(self, load, fatal=(ConfigError,), **callbacks)
        return self.reasons


@pytest.mark.parametrize('error', [MALFORMED, WRONG_FILE, FAULT], ids=str)
def test_a_robot_that_is_served_stays(caplog, error):
    assert Outcome().load(error, may_mend=False, has_robot=True) == []
    assert f'The robot stays as it was. {error}' in caplog.text or 'KeyError' in caplog.text


@pytest.mark.parametrize('error', [MALFORMED, FAULT], ids=str)
def test_without_a_robot_a_later_message_may_repair_the_description(caplog, error):
    assert Outcome().load(error, may_mend=True, has_robot=False) == []
    assert 'No robot yet: ' in caplog.text


@pytest.mark.parametrize(
    ('error', 'reason'),
    [(MALFORMED, 'no links'), (WRONG_FILE, 'bad key'), (FAULT, "KeyError: 'x'")],
    ids=str,
)
def test_the_node_ends_where_no_message_can_help(error, reason):
    assert Outcome().load(error, may_mend=error is WRONG_FILE, has_robot=False) == [reason]


def test_an_error_after_a_signal_is_no_news(caplog):
    caplog.set_level(logging.DEBUG)
    assert Outcome(is_running=False).load(FAULT, may_mend=False, has_robot=False) == []
    assert caplog.text == ''
