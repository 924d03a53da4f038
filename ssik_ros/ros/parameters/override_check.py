"""Check the names of parameters given to a node: a misspelt name is an error, one warning lists other unknown names."""

from collections.abc import Iterable
import logging

from rclpy.node import Node

from ssik_ros.errors import describe_choices, InvalidParameter, list_names, misspelt_name, quote
from ssik_ros.ros.parameters.integer_parameters import parameter_overrides

_LOGGER = logging.getLogger('ssik_ros.parameters')

OF_RCLPY = ('use_sim_time', 'start_type_description_service', 'qos_overrides')
"""First parts of names that rclpy itself reads."""
OF_MOVEIT = (
    'publish_robot_description',
    'publish_robot_description_semantic',
    'robot_description_timeout',
    'robot_description_semantic_timeout',
)
"""Names close to ours that MoveIt's launch files hand to every node: foreign, not misspelt."""


def check_overrides(node: Node, prefixes: Iterable[str]) -> None:
    """
    Raise an error for a misspelt parameter, and log a warning about other parameters that are not used.

    :param node: a node that has declared its own parameters.
    :param prefixes: first parts of names that other code reads.
    :raises InvalidParameter: for a name close to one that exists.
    """
    read = {*OF_RCLPY, *(prefix.rstrip('.') for prefix in prefixes)}
    names = [*node.get_parameters_by_prefix(''), *read]
    unused: dict[str, None] = {}
    for name in parameter_overrides(node):
        first = name.partition('.')[0]
        if node.has_parameter(name) or first in read:
            continue
        meant = None if first in OF_MOVEIT else misspelt_name(first, names)
        if meant:
            raise InvalidParameter(
                f'Node {quote(node.get_name())} has no parameter {quote(name)}. '
                + describe_choices(first, names),
                key=name,
                value=parameter_overrides(node)[name].value,
                allowed=tuple(names),
            )
        unused[first] = None
    if unused:
        _LOGGER.warning('Parameters that are not used here: %s.', list_names(unused))
