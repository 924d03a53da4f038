"""Robots without shapes are drawn as bars from joint to joint."""

from test.view.made_arms import arm_joints, JOINT, two_arms

import numpy as np
import pytest

from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_state import RobotState
from ssik_ros.server.requests.ik_requests import AT_MODEL_FRAME, FullState
from ssik_ros.view.pictures.bars import bar_lines
from ssik_ros.view.pictures.robot_solids import RobotSolids


def test_bars_of_a_posture_join_the_frames_of_the_links():
    robot = two_arms()
    state = RobotState(robot)
    state.set_group_positions('both', np.linspace(-1.0, 1.0, 13))
    lines = bar_lines(robot, FullState(state.positions, AT_MODEL_FRAME)).reshape(-1, 2, 3)
    frames = np.array([state.link_transform(link)[:3, 3] for link in robot.tree.link_names])
    for start, end in lines:
        gaps = [np.linalg.norm(frames - point, axis=1).min() for point in (start, end)]
        assert max(gaps) < 1e-12 and np.linalg.norm(end - start) > 1e-3
    # Every link but the root is at the far end of one bar.
    assert len(lines) == len(robot.tree.link_names) - 1


def test_a_robot_without_shapes_has_a_solid_for_each_moved_body():
    robot = two_arms()
    solids = RobotSolids(robot)
    assert not solids.warnings
    low, high = solids.bounds(RobotState(robot).positions)
    frames = np.array([RobotState(robot).link_transform(k)[:3, 3] for k in robot.tree.link_names])
    assert (low <= frames.min(axis=0) + 1e-9).all() and (frames.max(axis=0) - 1e-9 <= high).all()
    carriers = {int(robot.tree.link_joints[robot.tree.link(k)]) for k, _ in solids.by_link()}
    assert carriers >= set(range(len(robot.tree.joint_names)))


@pytest.mark.parametrize('shape', ['mesh', 'sphere'])
def test_only_what_is_missing_is_replaced_by_bars(shape):
    geometry = {
        'mesh': '<mesh filename="package://nowhere/a.stl"/>',
        'sphere': '<sphere radius="0.1"/>',
    }
    visual = f'<visual><geometry>{geometry[shape]}</geometry></visual>'
    box = '<visual><geometry><box size="0.3 0.3 0.3"/></geometry></visual>'
    torso = JOINT.format(parent='base', child='torso', xyz='0 0 0.5', axis='0 0 1')
    text = (
        f'<robot name="a"><link name="base">{box}</link>{torso}{arm_joints("left", 0.2)}</robot>'
    )
    text = text.replace('<link name="torso"/>', f'<link name="torso">{visual}</link>')
    solids = RobotSolids(load_robot(text))
    surfaces = dict(solids.by_link())
    assert len(solids.warnings) == (shape == 'mesh')
    assert ('left_6' in surfaces) == (shape == 'mesh') and len(surfaces['base']) == 1


def test_collision_bodies_have_nothing_in_their_stead():
    assert not dict(RobotSolids(two_arms(), 'collision').by_link())
