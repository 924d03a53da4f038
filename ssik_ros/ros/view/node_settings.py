"""Read the robot descriptions and solver parameters of another running node once: :func:`read_settings`."""

from collections.abc import Iterable
import threading
import time
from typing import Any, NamedTuple

from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python

from ssik_ros.errors import LocatedMapping, ModelError, quote, SolverError
from ssik_ros.model.urdf.source import require_xml_text
from ssik_ros.ros.inputs.robot_source import SRDF_TOPIC, URDF_TOPIC
from ssik_ros.ros.parameters.group_parameters import PREFIX

DEFAULT_NODE = '/ssik_ros'
"""The node that is asked if no node is named."""
SEARCH_TIME = 1.0
"""The default node is looked for this long [s]."""
NODE_RESPONSE_TIME = 5.0
"""Longest wait for a node that the user named, and for each of its responses [s]."""
LOADING_TIME = 20.0
"""A node that is there declares its planning groups within this time: it loads its robot meanwhile [s]."""
NODE_LOOK_INTERVAL = 0.2
"""Time between two looks for the node [s]."""
MOST_PARAMETERS = 2000
TEXTS = (URDF_TOPIC, SRDF_TOPIC, 'base_link', 'tip_link', 'group')


class NodeSettings(NamedTuple):
    """Robot descriptions and solver parameters of another node; empty for those that it does not have."""

    node: str = ''
    """Full name of the node; empty if no node was read."""
    urdf: str = ''
    """Text of the URDF; empty if it is missing or not XML."""
    srdf: str = ''
    """Text of the SRDF; empty if it is missing or not XML."""
    base_link: str = ''
    """Base link of the only group of a robot without SRDF."""
    tip_link: str = ''
    """Tip link of this group."""
    group: str = ''
    """Name of the group from ``base_link`` to ``tip_link``, for a robot without SRDF."""
    kinematics: LocatedMapping = LocatedMapping()
    """For each planning group, a mapping from key, such as ``auto.epsilon``, to the value of the solver parameter."""


def read_settings(node: Node, name: str) -> NodeSettings:
    """
    Return the robot descriptions and solver parameters of another node, by its parameter services.

    This blocks until the node has responded, so another thread has to spin ``node``. Descriptions are returned only as
    text, because the other node cannot name files of this machine.

    :param node: the node that sends the requests.
    :param name: the other node; empty for ``DEFAULT_NODE``, and empty settings if that node does not exist.
    :raises SolverError: when a named node does not exist, or a node does not respond in time.
    """
    wanted = node.resolve_service_name(name or DEFAULT_NODE)
    group = ReentrantCallbackGroup()
    listing, getting = (
        node.create_client(kind, f'{wanted}/{service}', callback_group=group)
        for kind, service in (
            (ListParameters, 'list_parameters'),
            (GetParameters, 'get_parameters'),
        )
    )
    try:
        if not listing.wait_for_service(NODE_RESPONSE_TIME if name else SEARCH_TIME):
            if name:
                raise SolverError(
                    f'There is no node {quote(wanted)} after {NODE_RESPONSE_TIME:g} s.'
                )
            return NodeSettings()
        names = _names_of_groups(listing, wanted)
        texts = [_text_of(getting, key, wanted) for key in TEXTS]
        entries = _call(getting, GetParameters.Request(names=names), wanted).values
    finally:
        node.destroy_client(listing)
        node.destroy_client(getting)
    pairs = zip(names, map(parameter_value_to_python, entries))
    urdf, srdf, base, tip, group_name = texts
    return NodeSettings(wanted, urdf, srdf, base, tip, group_name, _by_group(pairs, wanted))


def _names_of_groups(listing: Client, node: str) -> list[str]:
    """
    Wait until a node has parameters of planning groups; return their names, at most ``MOST_PARAMETERS``.

    The list is empty if there are none after ``LOADING_TIME`` [s].
    """
    request = ListParameters.Request(prefixes=[PREFIX.rstrip('.')])
    deadline = time.monotonic() + LOADING_TIME
    while True:
        names = list(_call(listing, request, node).result.names[:MOST_PARAMETERS])
        if names or time.monotonic() > deadline:
            return names
        time.sleep(NODE_LOOK_INTERVAL)


def _text_of(getting: Client, name: str, node: str) -> str:
    """Return the value of a text parameter of a node; empty if the node lacks it, or if a description is not XML."""
    # Some versions of rclpy return nothing at all if one of several names is unknown.
    values = _call(getting, GetParameters.Request(names=[name]), node).values
    value = parameter_value_to_python(values[0]) if values else None
    if not isinstance(value, str) or name not in (URDF_TOPIC, SRDF_TOPIC):
        return value if isinstance(value, str) else ''
    try:
        return require_xml_text(value, f'parameter {name}') if value else ''
    except ModelError:
        return ''


def _by_group(pairs: Iterable[tuple[str, Any]], node: str) -> LocatedMapping:
    """
    Return parameter values by planning group and key, from pairs of parameter name and value.

    Left out are names that do not begin with ``PREFIX`` or have no key, and parameters without a value. The place of
    each entry names ``node`` and the parameter.
    """
    groups = LocatedMapping()
    for name, value in pairs:
        group, _, key = name.removeprefix(PREFIX).partition('.')
        if not name.startswith(PREFIX) or not key or value is None:
            continue
        entries = groups.setdefault(group, LocatedMapping())
        entries[key] = value
        groups.places[group] = entries.places[key] = f'{node}, parameter {name}'
    return groups


def _call(client: Client, request: Any, node: str) -> Any:
    """Send a request to a service of a node and return the response; raise SolverError after NODE_RESPONSE_TIME."""
    done = threading.Event()
    future = client.call_async(request)
    future.add_done_callback(lambda _: done.set())
    if not done.wait(NODE_RESPONSE_TIME) or future.result() is None:
        client.remove_pending_request(future)
        raise SolverError(
            f'Node {quote(node)} has not told its parameters within {NODE_RESPONSE_TIME:g} s.'
        )
    return future.result()
