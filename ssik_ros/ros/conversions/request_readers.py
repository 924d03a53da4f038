"""
Make functions that turn service messages into requests, field by field: :func:`request_reader`.

A field of the request is read from the message field of the same name, or of another name in ``_SOURCES``.
"""

from collections.abc import Callable, Mapping, Sequence
import inspect
from operator import attrgetter
from typing import Any

from ssik_ros.ros.conversions.messages import (
    read_constraints,
    read_framed_pose,
    read_seconds,
    read_state,
)
from ssik_ros.ros.conversions.pose_conversions import read_pose, read_vector
from ssik_ros.server.requests.task_requests import TargetGiven

Part = Callable[[Any], Any]


def _read_targets(messages: Any) -> list[TargetGiven]:
    """Return the names and framed poses of target messages, in their order."""
    return [TargetGiven(entry.target, read_framed_pose(entry.pose_stamped)) for entry in messages]


_SOURCES: Mapping[str, Sequence[str]] = {
    'acceleration_scale': ('max_acceleration_scaling_factor',),
    'constraints': ('path_constraints',),
    'frame': ('frame_id', 'header.frame_id'),
    'free': ('free_dof',),
    'group': ('group_name',),
    'link': ('link_name',),
    'links': ('link',),
    'max_speed': ('max_cartesian_speed',),
    'pose': ('pose_stamped',),
    'poses': ('pose_stamped',),
    'prismatic_jump': ('prismatic_jump_threshold',),
    'revolute_jump': ('revolute_jump_threshold',),
    'speed_link': ('cartesian_speed_limited_link',),
    'state': ('robot_state', 'start_state'),
    'velocity_scale': ('max_velocity_scaling_factor',),
}
"""Fields of messages by field of a request, where the names differ; the first that a message has is read."""
_CONVERSIONS: Mapping[str, Part] = {
    'constraints': read_constraints,
    'free': list,
    'free_axis': read_vector,
    'links': lambda link: (link,),
    'offset': read_pose,
    'pose': read_framed_pose,
    'poses': lambda stamped: (read_framed_pose(stamped),),
    'state': read_state,
    'targets': _read_targets,
    'timeout': read_seconds,
    'waypoints': lambda poses: [read_framed_pose(pose) for pose in poses],
}
"""Conversions by field of a request; values of all other fields are taken as they are."""


def request_reader(kind: type, message: type, **readers: Part) -> Callable[[Any], Any]:
    """
    Return a function that makes a request from a service message; names and numbers are not checked.

    :param kind: the class of the request; fields that the message lacks keep their defaults.
    :param message: the class of the message.
    :param readers: functions for single fields of the request, by name; each gets the whole message.
    """
    parts = dict(readers)
    for name in inspect.signature(kind).parameters:
        sources = (name, *_SOURCES.get(name, ()))
        source = next((s for s in sources if hasattr(message, s.partition('.')[0])), None)
        if name not in readers and source is not None:
            parts[name] = _part(source, _CONVERSIONS.get(name))

    def read(given: Any) -> Any:
        return kind(**{name: part(given) for name, part in parts.items()})

    return read


def _part(source: str, convert: Part | None) -> Part:
    """Return a function that reads the field at a dotted path of a message, and converts it if ``convert`` is given."""
    read = attrgetter(source)
    if convert is None:
        return read
    return lambda message: convert(read(message))
