"""
Make functions that turn service messages of this package into requests, field by field: :func:`request_reader`.

A field of the request is read from the message field of the same name, or of the name in ``_CONVERTED``.
"""

from collections.abc import Callable, Mapping
import inspect
from operator import attrgetter
from typing import Any

from ssik_ros.ros.conversions.messages import (
    read_constraints,
    read_framed_pose,
    read_seconds,
    read_state,
)
from ssik_ros.ros.conversions.pose_conversions import read_pose
from ssik_ros.server.requests.task_requests import TargetGiven

Part = Callable[[Any], Any]


def _read_targets(messages: Any) -> list[TargetGiven]:
    """Return the names and framed poses of target messages, in their order."""
    return [TargetGiven(entry.target, read_framed_pose(entry.pose_stamped)) for entry in messages]


_CONVERTED: Mapping[str, tuple[str, Part]] = {
    'constraints': ('constraints', read_constraints),
    'frame': ('frame_id', str),
    'free': ('free_dof', list),
    'links': ('link', lambda link: (link,)),
    'offset': ('offset', read_pose),
    'pose': ('pose_stamped', read_framed_pose),
    'poses': ('pose_stamped', lambda stamped: (read_framed_pose(stamped),)),
    'state': ('robot_state', read_state),
    'targets': ('targets', _read_targets),
    'timeout': ('timeout', read_seconds),
    'waypoints': ('waypoints', lambda poses: [read_framed_pose(pose) for pose in poses]),
}
"""For fields of requests: the field of the message, and its conversion. All others have the same name and value."""


def request_reader(kind: type, message: type, **readers: Part) -> Callable[[Any], Any]:
    """
    Return a function that makes a request from a service message; names and numbers are not checked.

    :param kind: the class of the request; fields that the message lacks keep their defaults.
    :param message: the class of the message.
    :param readers: functions for single fields of the request, by name; each gets the whole message.
    """
    parts = dict(readers)
    for name in inspect.signature(kind).parameters:
        source, convert = _CONVERTED.get(name, (name, None))
        if name not in readers and hasattr(message, source):
            parts[name] = _part(source, convert)

    def read(given: Any) -> Any:
        return kind(**{name: part(given) for name, part in parts.items()})

    return read


def _part(source: str, convert: Part | None) -> Part:
    """Return a function that reads one field of a message, and converts it if ``convert`` is given."""
    if convert is None:
        return attrgetter(source)
    return lambda message: convert(getattr(message, source))
