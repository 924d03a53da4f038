"""Reach maps as messages: every field where RViz reads it."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('visualization_msgs', reason='visualization_msgs is not installed')

from builtin_interfaces.msg import Time
from sensor_msgs.msg import PointField
from visualization_msgs.msg import Marker

from ssik_ros.errors import InvalidOption
from ssik_ros.reach.exports import colours_of, DexterityCloud
from ssik_ros.ros.conversions.reach_messages import write_cloud, write_cubes
from ssik_ros.ros.services import reach_services

pytestmark = pytest.mark.ros
STAMP = Time(sec=3, nanosec=5)


def cloud_of(count):
    """Return a cloud of some positions."""
    rng = np.random.default_rng(0)
    shares = rng.uniform(0.0, 1.0, count)
    positions = rng.standard_normal((count, 3))
    return DexterityCloud(positions, shares, np.zeros(count), colours_of(shares))


def test_a_point_cloud_is_read_back_by_its_fields():
    cloud = cloud_of(7)
    message = write_cloud(cloud, 'base_link', STAMP)
    assert (message.header.frame_id, message.header.stamp) == ('base_link', STAMP)
    assert message.row_step == 7 * message.point_step == len(message.data)
    assert all(field.datatype == PointField.FLOAT32 for field in message.fields)
    kinds = {
        'names': [field.name for field in message.fields],
        'formats': ['<f4'] * len(message.fields),
        'offsets': [field.offset for field in message.fields],
        'itemsize': message.point_step,
    }
    rows = np.frombuffer(bytes(message.data), dtype=np.dtype(kinds))
    for column, axis in enumerate('xyz'):
        assert np.allclose(rows[axis], cloud.positions[:, column], atol=1e-6)
    assert np.allclose(rows['dexterity'], cloud.dexterity, atol=1e-6)
    bits = np.ascontiguousarray(rows['rgb']).view('<u4')
    colours = np.stack([bits >> 16 & 255, bits >> 8 & 255, bits & 255], axis=1)
    assert np.array_equal(colours, cloud.colours)


def test_the_cloud_goes_when_another_robot_has_no_map(monkeypatch):
    published, reach_map = (
        [],
        SimpleNamespace(chain=SimpleNamespace(base_link='base'), is_finished=True, path='map'),
    )
    node = SimpleNamespace(
        create_publisher=lambda *_: SimpleNamespace(publish=published.append),
        get_clock=lambda: SimpleNamespace(now=lambda: SimpleNamespace(to_msg=lambda: STAMP)),
    )

    def open_map(path, frames):
        if frames is None:
            raise InvalidOption('The map is of another robot.')
        return reach_map

    monkeypatch.setattr(reach_services, 'open_map', open_map)
    monkeypatch.setattr(reach_services, 'cloud_to_show', lambda *_: (cloud_of(3), 1))
    over_ros = reach_services.ReachOverRos(node, 'map', 'dexterity')
    robot = SimpleNamespace(model_frame='world')
    for frames in (None, 'frames', None, None):
        over_ros.load(SimpleNamespace(robot=robot, frames=frames, cancel=np.zeros(1, np.int64)))
    assert [message.width for message in published] == [3, 0]
    assert published[1].header.frame_id == 'world'


def test_cubes_have_a_colour_each():
    cloud = cloud_of(4)
    (marker,) = write_cubes(cloud, 0.05, 'base_link', STAMP).markers
    assert marker.type == Marker.CUBE_LIST
    assert (marker.scale.x, marker.scale.y, marker.scale.z) == (0.05, 0.05, 0.05)
    assert len(marker.points) == len(marker.colors) == 4
    assert marker.colors[2].g == pytest.approx(cloud.colours[2, 1] / 255.0)
    assert marker.points[3].z == cloud.positions[3, 2]


def test_an_empty_map_takes_the_cubes_away():
    (marker,) = write_cubes(cloud_of(0), 0.05, 'base_link', STAMP).markers
    assert marker.action == Marker.DELETE
    assert write_cloud(cloud_of(0), 'base_link', STAMP).width == 0
