"""Convert the markers of this package to messages that RViz draws: :func:`write_markers` and :func:`write_overlays`."""

from collections.abc import Iterable

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
import numpy as np
from visualization_msgs.msg import Marker as MarkerMessage, MarkerArray

from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.markers import Marker
from ssik_ros.mechanisms.loop_closures import z_to
from ssik_ros.ros.conversions.pose_conversions import write_pose
from ssik_ros.tasks.overlay import Overlay

_TYPES = {
    'cube': MarkerMessage.CUBE_LIST,
    'cylinder': MarkerMessage.CYLINDER,
    'line_list': MarkerMessage.LINE_LIST,
    'sphere': MarkerMessage.SPHERE_LIST,
    'text': MarkerMessage.TEXT_VIEW_FACING,
    'triangle_list': MarkerMessage.TRIANGLE_LIST,
}


def write_markers(drawn: Iterable[Marker], frame: str, stamp: Time) -> MarkerArray:
    """
    Return the message of markers for RViz; each replaces a marker with the same name and number.

    :param drawn: the markers; one without points deletes the marker that RViz shows.
    :param frame: name of the frame of their points.
    :param stamp: time stamp of all of them.
    """
    return MarkerArray(markers=[_write_marker(marker, frame, stamp) for marker in drawn])


def write_overlays(overlays: Iterable[Overlay], world_frame: str, stamp: Time) -> MarkerArray:
    """
    Return one message with the markers of all overlays, each locked to its frame, so that RViz moves it along.

    :param overlays: things to draw, each in a frame of its own.
    :param world_frame: name of the frame for overlays that have none.
    :param stamp: time stamp of all markers.
    """
    message = MarkerArray()
    for overlay in overlays:
        message.markers += write_markers(
            overlay.markers(), overlay.frame or world_frame, stamp
        ).markers
    for marker in message.markers:
        marker.frame_locked = True
    return message


def _write_marker(marker: Marker, frame: str, stamp: Time) -> MarkerMessage:
    message = MarkerMessage(ns=marker.namespace, id=marker.number, type=_TYPES[marker.shape])
    message.header.frame_id, message.header.stamp = frame, stamp
    if not len(marker.points):
        # RViz complains about lists without points.
        message.action = MarkerMessage.DELETE
        return message
    color = message.color
    color.r, color.g, color.b, color.a = marker.color
    _write_shape(message, marker)
    return message


def _write_shape(message: MarkerMessage, marker: Marker) -> None:
    """
    Write the size and position of a marker into its message; dimensions that RViz ignores stay zero.

    A text gets a position, a cylinder a pose and a length. All other shapes get their points, and a size of 1 if the
    marker's size is zero.
    """
    scale, size = message.scale, marker.size
    if marker.shape == 'text':
        scale.z, message.text = size, marker.text
        place = message.pose.position
        place.x, place.y, place.z = marker.points[0].tolist()
    elif marker.shape == 'cylinder':
        start, end = marker.points
        scale.x = scale.y = size
        scale.z = float(np.linalg.norm(end - start))
        write_pose(message.pose, pose_matrix(0.5 * (start + end), z_to(end - start)))
    else:
        scale.x = size or 1.0
        if marker.shape != 'line_list':
            scale.y = scale.z = scale.x
        message.points = [Point(x=x, y=y, z=z) for x, y, z in marker.points.tolist()]
