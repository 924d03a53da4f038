"""Convert the positions of a reach map to messages that RViz draws: a point cloud, or a list of cubes."""

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
import numpy as np
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker as MarkerMessage, MarkerArray

from ssik_ros.reach.exports import DexterityCloud

NAMESPACE = 'reach'


def write_cloud(cloud: DexterityCloud, frame: str, stamp: Time) -> PointCloud2:
    """
    Return the positions of a reach map as a point cloud: x, y, z, dexterity, the coloured measure if any, and rgb.

    Each field is a 32-bit float. The measure's field has its name; the bits of rgb are 0x00RRGGBB.

    :param cloud: the positions.
    :param frame: name of the base link, whose frame the positions are in.
    :param stamp: time stamp of the message.
    """
    measures = {} if cloud.values is None else {cloud.measure: cloud.values}
    fields = ('x', 'y', 'z', 'dexterity', *measures, 'rgb')
    rows = np.empty((len(cloud.positions), len(fields)), dtype='<f4')
    rows[:, :3], rows[:, 3] = cloud.positions, cloud.dexterity
    for column, values in enumerate(measures.values(), start=4):
        rows[:, column] = values
    red, green, blue = cloud.colours.T.astype('<u4')
    # RViz and PCL read the bits of this float as 0x00RRGGBB.
    rows[:, -1] = (red << 16 | green << 8 | blue).astype('<u4').view('<f4')
    message = PointCloud2(height=1, width=len(rows), is_bigendian=False, is_dense=True)
    message.header.frame_id, message.header.stamp = frame, stamp
    message.fields = [
        PointField(name=name, offset=4 * column, datatype=PointField.FLOAT32, count=1)
        for column, name in enumerate(fields)
    ]
    message.point_step, message.row_step = rows.itemsize * len(fields), rows.nbytes
    message.data = rows.tobytes()
    return message


def write_cubes(cloud: DexterityCloud, size: float, frame: str, stamp: Time) -> MarkerArray:
    """
    Return the positions of a reach map as one list of coloured cubes; it replaces the cubes of another map.

    :param cloud: the positions; without any, RViz deletes the cubes.
    :param size: edge of a cube [m].
    :param frame: name of the base link, whose frame the positions are in.
    :param stamp: time stamp of the message.
    """
    message = MarkerMessage(ns=NAMESPACE, id=0, type=MarkerMessage.CUBE_LIST)
    message.header.frame_id, message.header.stamp = frame, stamp
    if not len(cloud.positions):
        # RViz complains about lists without points.
        message.action = MarkerMessage.DELETE
        return MarkerArray(markers=[message])
    message.scale.x = message.scale.y = message.scale.z = size
    message.color.a = message.pose.orientation.w = 1.0
    message.points = [Point(x=x, y=y, z=z) for x, y, z in cloud.positions.tolist()]
    colours = (cloud.colours / 255.0).tolist()
    message.colors = [ColorRGBA(r=r, g=g, b=b, a=1.0) for r, g, b in colours]
    return MarkerArray(markers=[message])
