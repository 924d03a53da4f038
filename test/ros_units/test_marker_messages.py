"""Markers as messages: which dimensions RViz reads of each shape, and where points become a pose."""

import numpy as np
import pytest

pytest.importorskip('visualization_msgs', reason='visualization_msgs is not installed')

from builtin_interfaces.msg import Time
from visualization_msgs.msg import Marker as MarkerMessage

from ssik_ros.markers import Marker
from ssik_ros.ros.conversions.marker_messages import write_markers, write_overlays
from ssik_ros.tasks import Environment

pytestmark = pytest.mark.ros

STAMP = Time(sec=7, nanosec=5)
COLOR = (0.25, 0.5, 0.75, 1.0)
SIZE = 0.125
ENDS = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 5.0]])
CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def scale_of(message):
    return [message.scale.x, message.scale.y, message.scale.z]


def written(shape, points, size=SIZE, text=''):
    """Return the one message of a marker."""
    marker = Marker('what', 3, shape, COLOR, size, points, text)
    [message] = write_markers([marker], 'world', STAMP).markers
    assert (message.ns, message.id) == ('what', 3)
    assert (message.header.frame_id, message.header.stamp) == ('world', STAMP)
    return message


# RViz warns where a dimension is missing, and where one is given that it does not read.
@pytest.mark.parametrize(
    'shape, points, kind, scale',
    [
        ('line_list', ENDS, MarkerMessage.LINE_LIST, [SIZE, 0.0, 0.0]),
        ('sphere', ENDS, MarkerMessage.SPHERE_LIST, [SIZE, SIZE, SIZE]),
        ('cube', ENDS, MarkerMessage.CUBE_LIST, [SIZE, SIZE, SIZE]),
    ],
)
def test_lists_keep_their_points_and_have_the_dimensions_of_their_shape(
    shape, points, kind, scale
):
    message = written(shape, points)
    assert (message.type, message.action) == (kind, MarkerMessage.ADD)
    assert scale_of(message) == scale
    assert [[p.x, p.y, p.z] for p in message.points] == points.tolist()
    color = message.color
    assert (color.r, color.g, color.b, color.a) == COLOR


def test_triangles_are_drawn_at_their_own_size():
    message = written('triangle_list', CORNERS, size=0.0)
    assert message.type == MarkerMessage.TRIANGLE_LIST
    assert scale_of(message) == [1.0, 1.0, 1.0] and len(message.points) == 3


def test_a_cylinder_lies_between_its_ends():
    ends = np.array([[0.0, 0.0, 1.0], [3.0, 4.0, 1.0]])
    message = written('cylinder', ends)
    assert message.type == MarkerMessage.CYLINDER and not message.points
    assert scale_of(message) == pytest.approx([SIZE, SIZE, 5.0], abs=1e-15)
    place, turn = message.pose.position, message.pose.orientation
    assert [place.x, place.y, place.z] == pytest.approx([1.5, 2.0, 1.0], abs=1e-15)
    x, y, z, w = turn.x, turn.y, turn.z, turn.w
    along = [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)]
    assert along == pytest.approx([0.6, 0.8, 0.0], abs=1e-12), 'the z axis of the pose'


def test_a_text_stands_at_its_point():
    message = written('text', ENDS[:1], text='2 mm')
    assert message.type == MarkerMessage.TEXT_VIEW_FACING and message.text == '2 mm'
    assert scale_of(message) == [0.0, 0.0, SIZE]
    place = message.pose.position
    assert [place.x, place.y, place.z] == ENDS[0].tolist()


@pytest.mark.parametrize('shape', ['line_list', 'cylinder', 'text'])
def test_a_marker_without_points_is_taken_away(shape):
    assert written(shape, np.zeros((0, 3))).action == MarkerMessage.DELETE


def test_overlays_move_with_the_frame_of_their_base():
    world = Environment()
    base = world.add_dummy('base')
    turn = world.add_joint('revolute', 'turn', parent=base)
    tips = [world.add_dummy(name, parent=turn) for name in ('left', 'right')]
    drawn = write_overlays(
        [world.debug_overlay(tips[0], base), world.debug_overlay(tips[1])], 'map', STAMP
    ).markers
    assert {marker.header.frame_id for marker in drawn} == {'base', 'map'}
    assert all(marker.frame_locked for marker in drawn)
    assert len({(marker.ns, marker.id) for marker in drawn}) == len(drawn)
