"""Overlays of IK environments as markers for RViz."""

from collections.abc import Iterable

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker as MarkerMessage
from visualization_msgs.msg import MarkerArray

from ssik_ros.groups.overlay import Marker
from ssik_ros.groups.overlay import Overlay

SHAPES = {
    'sphere': MarkerMessage.SPHERE_LIST,
    'cube': MarkerMessage.CUBE_LIST,
    'line_list': MarkerMessage.LINE_LIST,
    'text': MarkerMessage.TEXT_VIEW_FACING,
}


def make_marker_array(overlays: Iterable[Overlay], world_frame: str, stamp: Time) -> MarkerArray:
    """
    Return what overlays show now; a marker without points is taken away.

    :param overlays: each in the frame of its base.
    :param world_frame: name of the frame of those without a base.
    :param stamp: of the message.
    """
    return MarkerArray(
        markers=[
            _make_marker(marker, overlay.frame or world_frame, stamp)
            for overlay in overlays
            for marker in overlay.markers()
        ]
    )


def make_erasing_array(overlays: Iterable[Overlay], world_frame: str) -> MarkerArray:
    """
    Return a message that takes everything of overlays away.

    :param overlays: not erased yet.
    :param world_frame: as for :func:`make_marker_array`.
    """
    array = make_marker_array(overlays, world_frame, Time())
    for message in array.markers:
        message.action = MarkerMessage.DELETE
    return array


def _make_marker(marker: Marker, frame: str, stamp: Time) -> MarkerMessage:
    """Return one marker; its name and number stay, so that it replaces the one before."""
    message = MarkerMessage(ns=marker.namespace, id=marker.number, type=SHAPES[marker.shape])
    message.header.frame_id, message.header.stamp = frame, stamp
    message.frame_locked = True
    color, scale = message.color, message.scale
    color.r, color.g, color.b, color.a = marker.color
    scale.x = marker.size
    message.action = MarkerMessage.ADD if len(marker.points) else MarkerMessage.DELETE
    if marker.shape == 'text':
        scale.x, scale.z, message.text = 0.0, marker.size, marker.text
        place = message.pose.position
        place.x, place.y, place.z = marker.points[0].tolist()
        return message
    if marker.shape != 'line_list':
        scale.y = scale.z = marker.size
    message.points = [Point(x=x, y=y, z=z) for x, y, z in marker.points.tolist()]
    return message
