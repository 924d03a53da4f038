"""
Nodes to declare parameters on, and their state as other nodes see it.

Importing this skips a test module on machines without ROS, so it comes before other imports of ROS.
"""

from test.made_nodes import node_maker as node_maker, Parameter

from ssik_ros.solvers.options.parameter_file import make_schema
from ssik_ros.strict_yaml import read_yaml

EVERY_TYPE = 'every_type_parameters.yaml'
REQUIRED = {'required_gain': 2.0, 'required_labels': ['r']}
"""Values for the parameters of every_type_parameters.yaml that have no default."""


def read_schema(path):
    """Return the schema in a parameter file."""
    return make_schema(read_yaml(path), str(path))


def through_service(name, value, kind=None):
    """Return a parameter as the parameter service hands it to a node: arrays as ``array.array``."""
    given = Parameter(name, value=value) if kind is None else Parameter(name, kind, value)
    return Parameter.from_parameter_msg(given.to_parameter_msg())


def values_of(params):
    """Return the values of a listener by dotted name, arrays as lists, without the stamp that generated code has."""
    values = {}
    for name, value in sorted(vars(params).items()):
        if name == 'stamp_':
            continue
        if hasattr(value, '__dict__'):
            values.update({f'{name}.{inner}': leaf for inner, leaf in values_of(value).items()})
        else:
            values[name] = (
                list(value) if hasattr(value, '__iter__') and value != str(value) else value
            )
    return values


def declarations(node):
    """Return (type, value, descriptor) of every parameter of a node, by name."""
    names = node.list_parameters([], 0).names
    declared = {}
    for name in sorted(set(names) - {'use_sim_time', 'start_type_description_service'}):
        parameter = node.get_parameter(name)
        value = list(parameter.value) if 'ARRAY' in parameter.type_.name else parameter.value
        declared[name] = (parameter.type_.name, value, str(node.describe_parameter(name)))
    return declared
