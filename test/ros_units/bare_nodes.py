"""
Helpers for the tests of the node's parts: nodes without a process, doubles of nodes, and robots.

Importing this skips a test module on machines without ROS, so it comes before other imports of ROS.
"""

from pathlib import Path
from types import SimpleNamespace

from test.made_nodes import node_maker as node_maker, Parameter as Parameter, parameters_of

import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is not built; run make setup')

ROBOTS = Path(__file__).resolve().parents[2] / 'config' / 'robots'


def config_of(name):
    """Return the folder of a shipped robot's configuration files."""
    return ROBOTS / f'{name}_moveit_config' / 'config'


class NodeDouble:
    """The methods of a node that its parts use; calls are kept instead of executed."""

    def __init__(self, **overrides):
        self._parameter_overrides = parameters_of(overrides)
        self.callbacks, self.qos = {}, {}
        self.timers = []

    def get_name(self):
        """Return a name."""
        return 'double'

    def has_parameter(self, name):
        """Return that no parameter names a topic."""
        return False

    def resolve_topic_name(self, topic, only_expand=False):
        """Return the topic, which a remapping puts below a namespace: no other name is heard."""
        return f'/{topic}' if only_expand else f'/ns/{topic}'

    def create_subscription(self, kind, topic, callback, qos, callback_group=None):
        """Keep the callback."""
        self.callbacks[topic], self.qos[topic] = callback, qos
        return callback

    def create_timer(self, period, callback, callback_group=None, clock=None):
        """Keep the timer."""
        timer = SimpleNamespace(period=period, callback=callback, clock=clock, cancelled=False)
        timer.cancel = lambda: setattr(timer, 'cancelled', True)
        timer.reset = lambda: setattr(timer, 'cancelled', False)
        timer.is_canceled = lambda: timer.cancelled
        self.timers.append(timer)
        return timer

    def fire(self):
        """Let the timers that run go off."""
        for timer in [t for t in self.timers if not t.cancelled]:
            timer.callback()

    @property
    def running(self):
        """Return the timers that will go off."""
        return [timer for timer in self.timers if not timer.cancelled]
