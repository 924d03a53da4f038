"""A reach map of the robot in ROS: ``~/reach_query`` tells whether poses are reachable, ``~/reach_cloud`` draws the map."""

from array import array
import logging
from typing import Any

from moveit_msgs.msg import MoveItErrorCodes
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import PointCloud2
from ssik_msgs.srv import ReachQuery
from std_msgs.msg import Header

from ssik_ros.errors import shorten, SsikError
from ssik_ros.reach.exports import cloud_to_show
from ssik_ros.reach.reach_map import ReachMap
from ssik_ros.ros.conversions.reach_messages import write_cloud
from ssik_ros.ros.conversions.request_readers import request_reader
from ssik_ros.ros.inputs.robot_source import LATCHED
from ssik_ros.ros.services.service_handlers import Served, Service
from ssik_ros.server.reach_queries import open_map, ReachQueries, ReachRequest, ReachResponse
from ssik_ros.server.robot_server import RobotServer

_LOGGER = logging.getLogger('ssik_ros.reach')


def _write_query(
    message: ReachQuery.Response, response: ReachResponse, served: Served, request: Any
) -> None:
    result = response.result
    if result is None:
        return
    message.base_frame, message.tip_frame = response.base, response.tip
    message.reachable, message.proved = result.reachable.tolist(), result.proved.tolist()
    message.border = result.is_border.tolist()
    message.status = array('B', result.status.tobytes())
    message.branches = array('B', result.branches.tobytes())
    message.distances = array('d', result.distance.tobytes())
    message.angles = array('d', result.angle.tobytes())


_read_query = request_reader(
    ReachRequest, ReachQuery.Request, poses=lambda message: np.asarray(message.poses, np.float64)
)
SERVICES = (
    Service(
        *(ReachQuery, '~/reach_query', 'query', _read_query, _write_query),
        part='reach',
        unknown_link=int(MoveItErrorCodes.INVALID_LINK_NAME),
    ),
)
"""A row for each service."""


class ReachOverRos:
    """The reach map of a node: opened for each robot that is loaded, and published as a point cloud."""

    services = SERVICES

    def __init__(self, node: Node, path: str, measure: str) -> None:
        """
        Create the publisher of the cloud; the map is opened later.

        :param node: the node.
        :param path: folder of the map.
        :param measure: the quantity that colours the points.
        """
        self._node, self._path, self._measure = node, path, measure
        self._is_drawn = False
        self._publisher = node.create_publisher(PointCloud2, '~/reach_cloud', LATCHED)

    def load(self, server: RobotServer) -> ReachQueries:
        """
        Open the map and publish it; return the handler of requests.

        If the map cannot be opened, log the error, and return a handler that responds with it to each request.

        :param server: the robot that is going to be served.
        """
        try:
            reach_map = open_map(self._path, server.frames)
        except (SsikError, OSError) as error:
            _LOGGER.error('There is no reach map: ~/reach_query responds with this. %s', error)
            self._clear(server.robot.model_frame)
            return ReachQueries(str(error), server.frames)
        self._draw(reach_map)
        return ReachQueries(reach_map, server.frames, server.cancel)

    def _clear(self, frame: str) -> None:
        """Publish an empty cloud in place of the cloud of an earlier robot."""
        if self._is_drawn:
            self._publisher.publish(PointCloud2(header=Header(frame_id=frame)))
            self._is_drawn = False

    def _draw(self, reach_map: ReachMap) -> None:
        """
        Publish the positions of a map as a point cloud.

        If they cannot be read, log an error and clear an earlier cloud.
        """
        frame = reach_map.chain.base_link
        try:
            cloud, stride = cloud_to_show(reach_map, self._measure)
        except (SsikError, OSError) as error:
            _LOGGER.error('~/reach_cloud stays empty: %s', shorten(error))
            self._clear(frame)
            return
        stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(write_cloud(cloud, frame, stamp))
        self._is_drawn = True
        thinned = f', every {stride}. position along each axis' if stride > 1 else ''
        is_part = (
            ''
            if reach_map.is_finished
            else ' The map is not finished: other cells count as not asked.'
        )
        _LOGGER.info(
            '~/reach_cloud has %d points of %s, coloured by %s%s.%s',
            len(cloud.positions),
            reach_map.path,
            cloud.measure,
            thinned,
            is_part,
        )
