"""Marker data as messages that RViz draws."""

from collections.abc import Iterable

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
import numpy as np
from numpy.typing import NDArray
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker as MarkerMessage
from visualization_msgs.msg import MarkerArray

from ssik_ros.closed_chain.loop_closures import z_to
from ssik_ros.closed_chain.markers import Marker
from ssik_ros.closed_chain.rotations import pose_matrix
from ssik_ros.ros.pose_conversions import write_pose

FloatArray = NDArray[np.float64]

_TYPES = {
    'line_list': MarkerMessage.LINE_LIST,
    'cylinder': MarkerMessage.CYLINDER,
    'sphere': MarkerMessage.SPHERE_LIST,
    'triangle_list': MarkerMessage.TRIANGLE_LIST,
}


def write_markers(drawn: Iterable[Marker], frame: str, stamp: Time) -> MarkerArray:
    """
    Return the message of some markers; it replaces those of the same names and numbers.

    :param drawn: the markers.
    :param frame: name of the frame that their points are in.
    :param stamp: of all of them.
    """
    return MarkerArray(markers=[_write_marker(marker, frame, stamp) for marker in drawn])


def _write_marker(marker: Marker, frame: str, stamp: Time) -> MarkerMessage:
    message = MarkerMessage(ns=marker.namespace, id=marker.number, type=_TYPES[marker.shape])
    message.header.frame_id = frame
    message.header.stamp = stamp
    if not len(marker.points):
        # RViz complains about lists without points.
        message.action = MarkerMessage.DELETE
        return message
    red, green, blue, opacity = marker.color
    message.color = ColorRGBA(r=red, g=green, b=blue, a=opacity)
    message.scale.x = message.scale.y = message.scale.z = marker.size or 1.0
    if marker.shape == 'cylinder':
        start, end = marker.points
        message.scale.z = float(np.linalg.norm(end - start))
        write_pose(message.pose, pose_matrix(0.5 * (start + end), z_to(end - start)))
    else:
        message.points = [Point(x=x, y=y, z=z) for x, y, z in marker.points.tolist()]
    return message
