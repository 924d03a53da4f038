"""Call a service of ROS 2 by its name, with a request as plain values."""

from collections.abc import Mapping
import importlib
import re
import time
from typing import Any

import rclpy

from ssik_ros.arguments import read_float
from ssik_ros.errors import InvalidOption, list_names, quote, SolverError

POLL = 0.05
"""Time between two looks at the services that there are [s]."""
HOW_TO_START = (
    'Start one with `ros2 launch ssik_ros ik_server.launch.py`, in the same ROS_DOMAIN_ID.'
)

ARRAY = re.compile(
    r'sequence<(?P<element>.+?)(?:, (?P<most>\d+))?>|(?P<repeated>.+)\[(?P<count>\d+)\]'
)
"""Type of a field that holds a list: ``sequence<double>``, ``sequence<string<9>, 3>``, ``double[9]``."""


def call_service(name: str, values: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """
    Call a service once and return its response as plain values; initializes ROS before, and shuts ROS down after.

    :param name: name of the service, or the last part of it.
    :param values: fields of the request by name; other fields keep their defaults.
    :param timeout: largest time of each of the waits: for the name to appear, for the service, and for its response
        [s].
    :raises SolverError: when no such service appears, several do, or no response comes in time.
    :raises InvalidOption: for fields that the request does not have, and wrong values.
    :raises ImportError: when the package of the type of the service is not installed.
    """
    rclpy.init(args=[])
    node = rclpy.create_node('ssik_call', start_parameter_services=False)
    try:
        full_name, kind = _find(node, name, timeout)
        service = _load(kind)
        request = service.Request()
        _fill(request, values, 'the request')
        client = node.create_client(service, full_name)
        if not client.wait_for_service(timeout):
            raise SolverError(f'The service {quote(full_name)} does not respond.')
        future = client.call_async(request)
        rclpy.spin_until_future_complete(node, future, timeout_sec=timeout)
        if not future.done():
            raise SolverError(
                f'The service {quote(full_name)} sent no response within {timeout:g} s.'
            )
        response: dict[str, Any] = _plain(future.result())
        return response
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def _find(node: Any, name: str, timeout: float) -> tuple[str, str]:
    """
    Wait up to ``timeout`` [s] for a service with this name, or whose full name ends with it; return full name and type.

    Raise SolverError if no such service appears, or if several do and none has exactly this name.
    """
    tail, deadline = f'/{name.lstrip("/")}', time.monotonic() + timeout
    while True:
        services = dict(node.get_service_names_and_types())
        names = [tail] if tail in services else [n for n in services if n.endswith(tail)]
        if len(names) == 1:
            return names[0], services[names[0]][0]
        if len(names) > 1:
            raise SolverError(
                f'Several services end in {quote(tail)}: {list_names(sorted(names))}. Give the whole name.'
            )
        if time.monotonic() > deadline:
            others = [n for n in services if 'parameter' not in n and 'type_description' not in n]
            text = list_names(sorted(others)) or 'none'
            raise SolverError(
                f'No service {quote(tail)} appeared within {timeout:g} s. Services that run: {text}. {HOW_TO_START}'
            )
        time.sleep(POLL)


def _load(kind: str) -> Any:
    """Import and return the class of a type such as ``moveit_msgs/srv/GetPositionIK``."""
    package, *folder, name = kind.split('/')
    module = '.'.join((package, *(folder or ['msg'])))
    return getattr(importlib.import_module(module), name)


def _fill(message: Any, values: Any, where: str) -> None:
    """Write plain values into a message by field name; raise InvalidOption, naming ``where``, for wrong ones."""
    if not isinstance(values, Mapping):
        raise InvalidOption(f'{where} takes fields by name, not {values!r}.')
    fields = message.get_fields_and_field_types()
    for name, value in values.items():
        if name not in fields:
            raise InvalidOption.unknown(f'{where} has no field {quote(name)}', name, fields)
        setattr(message, name, field_value(fields[name], value, f'{where}.{name}'))


def field_value(kind: str, value: Any, where: str) -> Any:
    """
    Return a plain value as the type ``kind`` of a field: number, text, message or a list of these.

    Text may be given as a number, but nothing else changes its kind. Raise InvalidOption, naming the field ``where``,
    for a value of another kind, a list of another size, and a whole number outside of the range of its type.
    """
    array = ARRAY.fullmatch(kind)
    if array:
        if not isinstance(value, list | tuple):
            raise InvalidOption(f'{where} takes a list, not {value!r}.')
        element, most, count = array['element'] or array['repeated'], array['most'], array['count']
        if len(value) > int(most or len(value)) or len(value) != int(count or len(value)):
            wanted = f'at most {most}' if most else count
            raise InvalidOption(f'{where} takes {wanted} values, not {len(value)}.')
        return [field_value(element, item, f'{where}[{row}]') for row, item in enumerate(value)]
    if '/' in kind:
        message = _load(kind)()
        _fill(message, value, where)
        return message
    if kind in ('float', 'double'):
        return read_float(where, value)
    is_flag, is_text = kind == 'boolean', 'string' in kind
    wanted = bool if is_flag else str | int | float if is_text else int
    if not isinstance(value, wanted) or isinstance(value, bool) != is_flag:
        raise InvalidOption(f'{where} takes a {kind}, not {value!r}.')
    return str(value) if is_text else value if is_flag else _whole_number(kind, int(value), where)


def _whole_number(kind: str, value: int, where: str) -> int | bytes:
    """Return a whole number as the integer type ``kind``; raise InvalidOption if it is too small or too large for it."""
    bits = 8 if kind == 'octet' else int(kind.lstrip('uint'))
    least = -(1 << bits - 1) if kind.startswith('int') else 0
    if not least <= value < least + (1 << bits):
        raise InvalidOption(
            f'{where} takes a {kind}, from {least} to {least + (1 << bits) - 1}, not {value}.'
        )
    return bytes([value]) if kind == 'octet' else value


def _plain(value: Any) -> Any:
    """Return a message, or the value of a field, as dictionaries, lists, texts and numbers."""
    if hasattr(value, 'get_fields_and_field_types'):
        return {name: _plain(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes):
        return value[0]
    return [_plain(item) for item in value]
