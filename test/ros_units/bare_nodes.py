"""
What the tests of the node's parts share: nodes without a process, doubles of nodes, and robots.

Importing this skips a test module on machines without ROS, so it comes before other imports of ROS.
"""

import contextlib
from importlib.util import find_spec
import itertools
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from ros_domain import claimed_domain

# Outside an activated shell, rclpy from wheels would start the interpreter anew, with which the test
# runner loses its output.
if find_spec('ros_wheels_bootstrapper') and '_ROS_WHEELS_BOOTSTRAP_COMPLETE' not in os.environ:
    pytest.skip('rclpy needs an activated shell: . ./activate', allow_module_level=True)
pytest.importorskip('moveit_msgs', reason='moveit_msgs is not built; run make setup')
Context = pytest.importorskip('rclpy.context', reason='no rclpy on this machine').Context
Node = pytest.importorskip('rclpy.node').Node
Parameter = pytest.importorskip('rclpy.parameter').Parameter

ROBOTS = Path(__file__).resolve().parents[2] / 'config' / 'robots'


def config_of(name):
    """Return the folder of a shipped robot's configuration files."""
    return ROBOTS / f'{name}_moveit_config' / 'config'


def parameters_of(values):
    """Return parameters by name, as a node keeps those that it was given."""
    return {name: Parameter(name, value=value) for name, value in values.items()}


@contextlib.contextmanager
def node_maker():
    """Give a function that makes nodes with overrides, in a domain of their own, and destroy them in the end."""
    context, made, numbers = Context(), [], itertools.count()

    def make(overrides=None):
        made.append(
            Node(
                f'unit_{next(numbers)}',
                context=context,
                parameter_overrides=list(parameters_of(overrides or {}).values()),
                use_global_arguments=False,
                enable_rosout=False,
            )
        )
        return made[-1]

    with claimed_domain() as domain:
        context.init(domain_id=domain)
        try:
            yield make
        finally:
            for node in made:
                node.destroy_node()
            context.try_shutdown()


class NodeDouble:
    """What the parts of the node use of a node, kept instead of done."""

    def __init__(self, **overrides):
        self._parameter_overrides = parameters_of(overrides)
        self.callbacks, self.qos = {}, {}
        self.timers = []

    def get_name(self):
        """Return a name."""
        return 'double'

    def resolve_topic_name(self, topic):
        """Return the topic below a namespace."""
        return f'/ns/{topic}'

    def create_subscription(self, kind, topic, callback, qos, callback_group=None):
        """Keep the callback."""
        self.callbacks[topic], self.qos[topic] = callback, qos
        return callback

    def create_timer(self, period, callback, callback_group=None):
        """Keep the timer."""
        timer = SimpleNamespace(period=period, callback=callback, cancelled=False, destroyed=False)
        timer.cancel = lambda: setattr(timer, 'cancelled', True)
        self.timers.append(timer)
        return timer

    def destroy_timer(self, timer):
        """Note it."""
        timer.destroyed = True

    def fire(self):
        """Let the timers that run go off."""
        for timer in [t for t in self.timers if not t.cancelled]:
            timer.callback()

    @property
    def running(self):
        """Return the timers that will go off."""
        return [timer for timer in self.timers if not timer.cancelled]
