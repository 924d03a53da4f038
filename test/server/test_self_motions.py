"""Self-motions of a served group: curves at the pose of any link, and refusals that name the wrong field."""

import dataclasses

from test.server.served_robots import ik_request, serve, true_pose

import numpy as np
import pytest

from ssik_ros import load_robot
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.results import Cause
from ssik_ros.server.requests.ik_requests import FullState, SelfMotionOptions
from ssik_ros.server.requests.refusals import Refusal

Q = np.array([0.3, -0.4, 0.2, -1.9, 0.1, 1.7, 0.6])


def served(name, group):
    """Return the server of a robot that comes along."""
    config = find_moveit_config(name)
    return serve(load_robot(config.urdf_path, config.srdf_path), group)


@pytest.fixture(scope='module')
def panda():
    """Return the server of a Panda."""
    return served('panda', 'panda_arm')


def ask(server, group, link, pose, **wishes):
    """Return the response for a link at a pose in the model frame."""
    request = ik_request(group, [(link, pose)])
    request = dataclasses.replace(request, self_motions=SelfMotionOptions(**wishes))
    return server.self_motions(request, standing(server))


def test_several_poses_are_refused(panda):
    pose = np.eye(4)
    request = ik_request('panda_arm', [('panda_link8', pose), ('panda_hand', pose)])
    response = panda.self_motions(request, standing(panda))
    assert response.refusal is Refusal.GOAL_COUNT and response.text.startswith('2 poses came')


def standing(server):
    """Return a state with all joints at their default values."""
    return FullState(server.robot.default_positions(), np.eye(4))


def pose_of(server, group, link, q):
    """Return the pose of a link in the model frame, by pinocchio."""
    return true_pose(server.robot, server.groups[group].with_group(standing(server), q), link)


@pytest.mark.parametrize('link', ['', 'panda_link8', 'panda_hand'])
def test_postures_of_all_curves_put_the_link_at_the_pose(panda, link):
    tip = link or 'panda_link8'
    target = pose_of(panda, 'panda_arm', tip, Q)
    response = ask(panda, 'panda_arm', link, target, spacing=0.4)
    assert response.refusal is Refusal.NONE and response.cause is Cause.NONE
    assert response.motions.is_complete
    assert response.motions.nearest(Q).value < 1e-9
    assert len(response.postures) == len(response.motions)
    for arcs, postures in response.postures:
        assert np.diff(arcs).max(initial=0.0) <= 0.4
        for q in postures:
            assert np.abs(pose_of(panda, 'panda_arm', tip, q) - target).max() < 1e-8


def test_a_free_axis_goes_through_the_link():
    server = served('ur5e', 'ur_manipulator')
    q = np.array([0.3, -1.2, 1.1, 0.4, 0.9, 0.2])
    target = pose_of(server, 'ur_manipulator', 'tool0', q)
    response = ask(server, 'ur_manipulator', '', target, free_axis=(0.0, 0.0, 2.0), spacing=0.5)
    assert len(response.motions)
    for _, postures in response.postures:
        for posture in postures:
            reached = pose_of(server, 'ur_manipulator', 'tool0', posture)
            np.testing.assert_allclose(reached[:3, 2:], target[:3, 2:], atol=1e-8)


def test_a_pose_out_of_reach_has_a_cause(panda):
    far = np.eye(4)
    far[0, 3] = 9.0
    response = ask(panda, 'panda_arm', '', far)
    assert response.refusal is Refusal.NONE and response.cause is Cause.NOT_FOUND
    assert not response.postures


@pytest.mark.parametrize(
    ('wishes', 'text'),
    [
        ({'spacing': -1.0}, 'spacing is -1'),
        ({'spacing': 1e-9}, '10000 at most'),
        ({'resolution': float('nan')}, 'resolution is nan'),
        ({'free_axis': (0.0, 0.0, 1e-300)}, 'free_axis'),
        ({'free_axis': (float('nan'), 0.0, 1.0)}, 'free_axis'),
    ],
)
def test_options_without_a_meaning_are_refused(panda, wishes, text):
    target = pose_of(panda, 'panda_arm', 'panda_link8', Q)
    response = ask(panda, 'panda_arm', '', target, **wishes)
    assert response.refusal is Refusal.BAD_OPTION and text in response.text


def test_six_joints_need_a_free_axis():
    server = served('ur5e', 'ur_manipulator')
    target = pose_of(server, 'ur_manipulator', 'tool0', np.full(6, 0.5))
    response = ask(server, 'ur_manipulator', '', target)
    assert response.refusal is Refusal.NO_SOLVER and 'one redundant joint' in response.text
