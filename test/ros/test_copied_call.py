"""The text ``ros2 service call`` that the view copies, sent to a running node."""

import shlex

from test.ros.server_client import ready_server
from test.ros.server_requests import SUCCESS
from test.ros.test_documented_calls import fill

from moveit_msgs.srv import GetPositionIK
import numpy as np
import pytest
import yaml

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.view.copied_commands import write_service_call
from ssik_ros.view.sessions.session import Session

pytestmark = pytest.mark.ros


def test_the_copied_call_returns_the_shown_posture(tmp_path):
    files = find_moveit_config('ur5e')
    robot = load_robot(files.urdf_path, files.srdf_path)
    session = Session(robot, robot.group('ur_manipulator'))
    session.set_joints(session.joints + 0.1)
    program, service, call, name, kind, text = shlex.split(write_service_call(session))
    assert (program, service, call) == ('ros2', 'service', 'call')
    assert (name, kind) == ('/compute_ik', 'moveit_msgs/srv/GetPositionIK')
    request = fill(GetPositionIK.Request(), yaml.safe_load(text))
    with ready_server(tmp_path, {'moveit_config_package': 'ur5e'}) as (_, client):
        response = client.call(name.lstrip('/'), request)
    assert response.error_code.val == SUCCESS
    positions = dict(
        zip(response.solution.joint_state.name, response.solution.joint_state.position)
    )
    q = [positions[joint] for joint in session.variable_names]
    assert np.allclose(q, session.joints, atol=1e-3)
