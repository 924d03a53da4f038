"""Objects on a link, led by the joints of a group: poses by pinocchio."""

from test.server.served_robots import pose_of, torso_robot, true_pose

import numpy as np
import pytest

from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.scene.led_links import LedLink

TOOL = pose_of((0.1, -0.2, 0.3), (0.4, -0.5, 0.6))


@pytest.mark.parametrize('tool', [None, TOOL], ids=['link', 'object'])
def test_poses_of_links_and_of_carried_objects_agree_with_pinocchio(tool):
    robot = torso_robot()
    group, rng = robot.group('left'), np.random.default_rng(1)
    led = LedLink(ChainKinematics(robot, group, 'chest', 'left_camera'), tool)

    def pose(q):
        positions = robot.default_positions()
        positions[group.idx_q] = q
        state = FullState(positions, np.eye(4))
        base = np.linalg.inv(true_pose(robot, state, 'chest'))
        return (
            base @ true_pose(robot, state, 'left_camera') @ (np.eye(4) if tool is None else tool)
        )

    for _ in range(5):
        q = robot.sample(group, rng)
        assert led.pose(q) == pytest.approx(pose(q), abs=1e-12)
