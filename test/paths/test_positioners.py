"""Tool paths on a workpiece that a positioner moves, with an arm on a rail."""

from test.paths.made_paths import DOWN

import numpy as np
import pytest

from ssik_ros.errors import SsikError
from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.model.collision.objects import CarriedObject, ObjectShape, SolidKind, WorldObject
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.paths.planner import plan_tool_path, ToolPathPlanner
from ssik_ros.paths.requests import ANY_ANGLE, PathTolerance, ToolPathRequest

CELL = """
<link name="cell"/><link name="carriage"/><link name="tilt"/><link name="plate">
<collision><origin xyz="0 0 -0.05"/><geometry><cylinder radius="0.3" length="0.04"/></geometry></collision></link>
<joint name="rail" type="prismatic"><parent link="cell"/><child link="carriage"/><axis xyz="0 1 0"/>
<origin xyz="-0.9 0 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<joint name="mount" type="fixed"><parent link="carriage"/><child link="base_link"/></joint>
<joint name="tilting" type="revolute"><parent link="cell"/><child link="tilt"/><axis xyz="1 0 0"/>
<origin xyz="0 0 0.1"/><limit lower="-1.5" upper="1.5" velocity="1" effort="1"/></joint>
<joint name="turning" type="continuous"><parent link="tilt"/><child link="plate"/><axis xyz="0 0 1"/>
<origin xyz="0 0 0.1"/><limit velocity="2" effort="1"/></joint>
"""


@pytest.fixture(scope='module')
def cell(tmp_path_factory):
    """Return a UR5e on a rail, next to a plate that tilts and turns."""
    text = find_moveit_config('ur5e').urdf_path.read_text(encoding='utf-8')
    joints = ['rail', 'tilting', 'turning']
    joints += [f'{joint}_joint' for joint in ('shoulder_pan', 'shoulder_lift', 'elbow')]
    joints += [f'wrist_{k}_joint' for k in (1, 2, 3)]
    srdf = '<robot name="ur5e"><group name="all">{}</group></robot>'.format(
        ''.join(f'<joint name="{name}"/>' for name in joints)
    )
    folder = tmp_path_factory.mktemp('cell')
    (folder / 'cell.urdf').write_text(
        text.replace('</robot>', CELL + '</robot>'), encoding='utf-8'
    )
    (folder / 'cell.srdf').write_text(srdf, encoding='utf-8')
    return load_robot(folder / 'cell.urdf', folder / 'cell.srdf')


def rim(count, turns=1.0):
    """Return poses around a workpiece on the plate, in its frame, each seen from outside above."""
    poses = []
    for angle in np.linspace(0.0, 2.0 * np.pi * turns, count):
        c, s = np.cos(angle), np.sin(angle)
        spun = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        poses.append(pose_matrix(spun @ [0.2, 0.0, 0.1], spun @ DOWN))
    return np.array(poses)


def tips_of(cell):
    """Return tool and plate."""
    tips = cell.group('all').tips
    return next(tip for tip in tips if tip != 'plate'), 'plate'


def assert_follows(cell, path, poses, tolerance):
    """Check each posture by pinocchio's kinematics of the whole cell."""
    kinematics, (tool, plate) = ReferenceKinematics(cell), tips_of(cell)
    for q, waypoint in zip(path.positions, poses, strict=True):
        state = cell.default_positions()
        for name, value in zip(path.joint_names, q, strict=True):
            state[cell.tree.idx_q[cell.require_joint(name)]] = value
        reached = np.linalg.inv(kinematics.link_pose(state, plate)) @ kinematics.link_pose(
            state, tool
        )
        assert np.linalg.norm(reached[:3, 3] - waypoint[:3, 3]) < 1e-6
        if tolerance is None:
            assert np.abs(reached - waypoint).max() < 1e-6
        else:
            assert np.abs(reached[:3, 2] - waypoint[:3, 2]).max() < 1e-6


@pytest.mark.parametrize(
    'locked, count, turns',
    [
        ({'rail': 0.0, 'tilting': 0.0}, 5, 0.1),
        pytest.param({'rail': 0.0, 'tilting': 0.0}, 40, 1.0, marks=pytest.mark.slow),
        pytest.param({}, 40, 1.0, marks=pytest.mark.slow),
    ],
)
def test_waypoints_are_met_in_the_frame_of_the_workpiece(cell, locked, count, turns):
    poses, tolerance = rim(count, turns), PathTolerance(spin=ANY_ANGLE)
    path = plan_tool_path(
        cell, 'all', poses, workpiece='plate', tolerance=tolerance, locked=locked
    )
    assert path.valid, path.reason
    assert len(path.joint_names) == 9 - len(locked)
    assert path.lower_bound <= path.cost
    still = {**locked, 'turning': 0.0}
    fixed = plan_tool_path(
        cell, 'all', poses, workpiece='plate', tolerance=tolerance, locked=still
    )
    assert not fixed.valid or path.cost < fixed.cost
    if not locked or count < 40:
        assert_follows(cell, path, poses, tolerance)


def test_collisions_are_those_of_the_whole_cell(cell):
    post = WorldObject(
        'post',
        pose_matrix(np.array([0.0, 0.25, 0.4]), np.eye(3)),
        (ObjectShape(SolidKind.BOX, (0.1, 0.1, 0.8), np.eye(4)),),
    )
    part = WorldObject(
        'part',
        pose_matrix(np.array([0.0, 0.0, 0.02]), np.eye(3)),
        (ObjectShape(SolidKind.BOX, (0.2, 0.2, 0.1), np.eye(4)),),
    )
    request = ToolPathRequest(
        workpiece='plate', obstacles=[post], carried=[CarriedObject(part, 'plate')]
    )
    exact = ToolPathPlanner(cell, cell.group('all'), request).obstacles[1]
    rng = np.random.default_rng(3)
    low = np.array([-3.0, -1.4, -1.0, *[-3.0] * 6])
    q = rng.uniform(low, -low, (300, 9))
    judged = exact.check(q)
    assert judged.are_hits.tolist() == [exact.is_colliding(posture) for posture in q]
    names = {exact.describe(int(pair)) for pair in judged.pairs[judged.are_hits]}
    assert any('part' in name for name in names) and any('post' in name for name in names)


def test_a_group_without_such_a_tip_is_refused(cell):
    for name in ('tilt', 'nowhere'):
        with pytest.raises(SsikError):
            plan_tool_path(cell, 'all', rim(5), workpiece=name)
