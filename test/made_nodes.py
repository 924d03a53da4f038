"""
Nodes without a process, in a domain of their own.

Importing this skips a test module on machines without ROS, so it comes before other imports of ROS.
"""

import contextlib
from importlib.util import find_spec
import itertools
import os

from test.ros_domain import claimed_domain

import pytest

# Outside an activated shell, rclpy from wheels would start the interpreter anew, with which the test
# runner loses its output.
if find_spec('ros_wheels_bootstrapper') and '_ROS_WHEELS_BOOTSTRAP_COMPLETE' not in os.environ:
    pytest.skip('rclpy needs an activated shell: . ./activate', allow_module_level=True)
Context = pytest.importorskip('rclpy.context', reason='no rclpy on this machine').Context
Node = pytest.importorskip('rclpy.node').Node
Parameter = pytest.importorskip('rclpy.parameter').Parameter


def parameters_of(values):
    """Return parameters by name, as a node keeps those that it was given."""
    return {name: Parameter(name, value=value) for name, value in values.items()}


@contextlib.contextmanager
def node_maker():
    """Give a function that makes nodes with overrides, in a domain of theirs, and destroy them in the end."""
    context, made, numbers = Context(), [], itertools.count()

    def make(overrides=None, prefix='', **options):
        named = {prefix + name: value for name, value in (overrides or {}).items()}
        made.append(
            Node(
                f'made_{next(numbers)}',
                context=context,
                parameter_overrides=list(parameters_of(named).values()),
                use_global_arguments=False,
                enable_rosout=False,
                **options,
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
