"""
Nodes to declare parameters on, and what can be seen of them from outside.

Importing this skips a test module on machines without ROS, so it comes before other imports of ROS.
"""

import contextlib
from importlib.util import find_spec
import itertools
import os

import pytest
from ros_domain import claimed_domain

# Outside an activated shell, rclpy from wheels would start the interpreter anew, with which the test
# runner loses its output.
if find_spec('ros_wheels_bootstrapper') and '_ROS_WHEELS_BOOTSTRAP_COMPLETE' not in os.environ:
    pytest.skip('rclpy needs an activated shell: . ./activate', allow_module_level=True)
Context = pytest.importorskip('rclpy.context', reason='no rclpy on this machine').Context
Node = pytest.importorskip('rclpy.node').Node
Parameter = pytest.importorskip('rclpy.parameter').Parameter

EVERY_TYPE = 'every_type_parameters.yaml'
REQUIRED = {'required_gain': 2.0, 'required_labels': ['r']}
"""What every_type_parameters.yaml has no default for."""


@contextlib.contextmanager
def node_maker():
    """Give a function that makes nodes with overrides, in a domain of their own, and destroy them in the end."""
    context, made, numbers = Context(), [], itertools.count()

    def make(overrides=None, prefix=''):
        values = [
            Parameter(prefix + name, value=value) for name, value in (overrides or {}).items()
        ]
        made.append(
            Node(
                f'parameters_{next(numbers)}',
                context=context,
                parameter_overrides=values,
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


def through_service(name, value, kind=None):
    """Return a parameter as the parameter service hands it to a node: arrays as ``array.array``."""
    given = Parameter(name, value=value) if kind is None else Parameter(name, kind, value)
    return Parameter.from_parameter_msg(given.to_parameter_msg())


def values_of(params):
    """Return the values of a Params by dotted name, arrays as lists, without the stamp."""
    found = {}
    for name, value in sorted(vars(params).items()):
        if name == 'stamp_':
            continue
        if hasattr(value, '__dict__'):
            found.update({f'{name}.{inner}': leaf for inner, leaf in values_of(value).items()})
        else:
            found[name] = (
                list(value) if hasattr(value, '__iter__') and value != str(value) else value
            )
    return found


def declarations(node):
    """Return (type, value, descriptor) of every parameter of a node, by name."""
    names = node.list_parameters([], 0).names
    found = {}
    for name in sorted(set(names) - {'use_sim_time', 'start_type_description_service'}):
        parameter = node.get_parameter(name)
        value = list(parameter.value) if 'ARRAY' in parameter.type_.name else parameter.value
        found[name] = (parameter.type_.name, value, str(node.describe_parameter(name)))
    return found
