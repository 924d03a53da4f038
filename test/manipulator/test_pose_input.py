"""One pose in every form that users give it, at every call that takes a pose."""

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import ssik_ros
from ssik_ros import (
    create_solver,
    load_robot,
    Manipulator,
    PoseTarget,
    RobotState,
    solve_ik,
    tasks,
    Tracker,
)
from ssik_ros.cli.command import main
from ssik_ros.reach import ReachMap
from ssik_ros.reach.placement import PlaceTasks

XYZ, RPY = (0.4, 0.1, 0.3), (3.0, 0.2, -0.5)
TURN = Rotation.from_euler('xyz', RPY)
QUATERNION = TURN.as_quat()
MATRIX = np.eye(4)
MATRIX[:3, :3], MATRIX[:3, 3] = TURN.as_matrix(), XYZ


def named(values, names):
    return SimpleNamespace(**dict(zip(names, values, strict=True)))


FORMS = {
    'matrix': MATRIX,
    'nested lists': MATRIX.tolist(),
    'single precision': MATRIX.astype(np.float32).astype(np.float64),
    'six numbers': [*XYZ, *RPY],
    'seven numbers': np.array([*XYZ, *QUATERNION]),
    'position and quaternion': (XYZ, QUATERNION),
    'position and rotation': (XYZ, TURN),
    'rotation and position': (TURN, XYZ),
    'position and matrix': (XYZ, TURN.as_matrix()),
    'position and angles': [XYZ, RPY],
    'pinocchio': pin.SE3(TURN.as_matrix(), np.array(XYZ)),
    'toolbox': SimpleNamespace(A=MATRIX),
    'message': SimpleNamespace(
        position=named(XYZ, 'xyz'), orientation=named(QUATERNION.tolist(), 'xyzw')
    ),
    'transform message': SimpleNamespace(
        translation=named(XYZ, 'xyz'), rotation=named(QUATERNION.tolist(), 'xyzw')
    ),
}


@pytest.fixture(scope='module')
def arm():
    return Manipulator.from_prebuilt('ur5e')


@pytest.mark.parametrize('form', FORMS)
def test_solve_takes_a_pose_in_every_form(arm, form):
    expected, rows = arm.solve_q(MATRIX), arm.solve_q(FORMS[form])
    assert len(rows) == len(expected) > 0
    assert np.abs(rows - expected).max() < 1e-5
    assert len(arm.solve(FORMS[form])) == len(expected)


@pytest.mark.parametrize('form', FORMS)
def test_iterative_calls_take_the_same_forms(arm, form):
    q = arm.ik_LM(FORMS[form]).q
    assert np.abs(q - arm.ik_LM(MATRIX).q).max() < 1e-4
    state = RobotState(arm.robot, arm.robot.default_positions())
    target = PoseTarget('tool0', FORMS[form])
    assert solve_ik(state, arm.group, [target], seed=arm.neutral).success


def track(arm, pose, _):
    tracker = arm.tracker(arm.neutral, max_iterations=100)
    return tracker.track(pose), tracker.q.copy()


def task_set(arm, pose, reach_map=None):
    world = tasks.Environment()
    tip, target = world.add_dummy('tip'), world.add_dummy('target', pose=pose)
    made = target.pose()
    target.set_pose(np.eye(4))
    target.set_pose(pose, relative_to=tip)
    scene = tasks.RobotScene(arm.robot)
    scene.set_frame('target', pose)
    return made, target.pose(), scene.pose('target')


ENTRY_POINTS = {
    'tracker': track,
    'task sets': task_set,
    'self-motions': lambda arm, pose, _: arm.fk(arm.self_motions(pose, free_axis='z')[0](0.0))[
        :3, 2:
    ],
    'plan': lambda arm, pose, _: arm.fk(arm.plan([pose, MATRIX]).positions),
    'plan_tool_path': lambda arm, pose, _: arm.fk(
        ssik_ros.plan_tool_path(arm.robot, arm.group, [pose, MATRIX]).positions
    ),
    'scene': lambda arm, pose, _: arm.scene(boxes=[((0.1, 0.1, 0.1), pose)]).objects[0].pose,
    'reach map': lambda _, pose, reach_map: reach_map.query(pose),
    'poses of a reach map': lambda _, pose, reach_map: reach_map.query([pose, MATRIX]),
    'reach, decided': lambda _, pose, reach_map: reach_map.query([pose, pose], exact=True),
    'nearest': lambda _, pose, reach_map: reach_map.nearest_reachable(pose)[1:3],
    'placement': lambda *given: PlaceTasks.exact([given[1], MATRIX]).poses,
}
WITH_A_MAP = {'reach map', 'poses of a reach map', 'reach, decided', 'nearest'}


@pytest.fixture(scope='module')
def reach_map(tmp_path_factory):
    pytest.importorskip('zarr')
    folder = tmp_path_factory.mktemp('reach') / 'map.zarr'
    words = ['--grid', '0.4', '--orientations', '8', '--region', 'sphere:0.8', '--workers', '0']
    assert main(['reach', 'ur5e', *words, '-o', str(folder)]) == 0
    return ReachMap.open(folder)


def flat(value):
    """Return all numbers in a result."""
    if isinstance(value, tuple | list):
        return np.concatenate([flat(item) for item in value])
    return np.asarray(value, dtype=float).ravel()


@pytest.mark.sampled
@pytest.mark.parametrize('form', [*FORMS, 'geometry_msgs'])
@pytest.mark.parametrize('name', ENTRY_POINTS)
def test_every_entry_point_takes_the_same_forms(arm, name, form, request):
    map_of_arm = request.getfixturevalue('reach_map') if name in WITH_A_MAP else None
    pose = message() if form == 'geometry_msgs' else FORMS[form]
    expected, result = (flat(ENTRY_POINTS[name](arm, each, map_of_arm)) for each in (MATRIX, pose))
    assert result == pytest.approx(expected, abs=1e-5)


def message():
    """Return the pose as a message of ROS."""
    messages = pytest.importorskip('geometry_msgs.msg')
    pose = messages.Pose()
    pose.position.x, pose.position.y, pose.position.z = XYZ
    o = pose.orientation
    o.x, o.y, o.z, o.w = QUATERNION.tolist()
    return pose


def test_a_tracker_of_two_tips_takes_a_list_of_any_forms():
    urdf = ''.join(
        f'<link name="{side}"/><joint name="{side}_joint" type="revolute"><parent link="base"/>'
        f'<child link="{side}"/><origin xyz="0 {y} 0"/><axis xyz="0 0 1"/>'
        '<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
        for side, y in (('left', 0.5), ('right', -0.5))
    )
    srdf = (
        '<robot name="duo"><group name="both"><joint name="left_joint"/>'
        '<joint name="right_joint"/></group></robot>'
    )
    robot = load_robot(f'<robot name="duo"><link name="base"/>{urdf}</robot>', srdf)
    solver = create_solver(
        'ssik_ros/LevenbergMarquardt', robot, robot.group('both'), {'target_tolerance': 1e-9}
    )
    tracker = Tracker(solver, [0.0, 0.0], max_iterations=100)
    turn = Rotation.from_euler('z', 0.3)
    tips = [((0.0, y, 0.0), turn) for y in (0.5, -0.5)]
    assert tracker.track(tips) == ssik_ros.TrackStatus.OK
    assert tracker.q == pytest.approx([0.3, 0.3], abs=1e-5)
    with pytest.raises(ValueError, match='2'):
        tracker.track(tips[0])


def test_a_batch_takes_a_list_of_any_forms_and_rows_of_numbers(arm):
    expected = arm.solve_batch(np.array([MATRIX, MATRIX])).q
    mixed = arm.solve_batch([FORMS['pinocchio'], FORMS['position and quaternion']]).q
    rows = arm.solve_batch(np.array([FORMS['seven numbers']] * 2)).q
    assert np.abs(mixed - expected).max() < 1e-9
    assert np.abs(rows - expected).max() < 1e-9


@pytest.mark.parametrize(
    'given',
    [{'rpy': RPY}, {'quat': QUATERNION}, {'R': TURN}, {'R': TURN.as_matrix()}],
    ids=['rpy', 'quat', 'Rotation', 'matrix'],
)
def test_pose_makes_a_matrix_of_a_position_and_one_rotation(given):
    assert np.abs(ssik_ros.pose(xyz=XYZ, **given) - MATRIX).max() < 1e-12
    assert (ssik_ros.pose(XYZ)[:3, :3] == np.eye(3)).all()


@pytest.mark.parametrize(
    ('wrong', 'error', 'words'),
    [
        ([*XYZ], ValueError, 'solve_position'),
        ([0.0] * 5, ValueError, 'x y z qx qy qz qw'),
        ((XYZ, [0.0, 0.0, 0.0, 0.0]), ValueError, 'length 0, not 1'),
        ((XYZ, [0.0, 0.0, 0.0, 2.0]), ValueError, 'length 2, not 1'),
        ((XYZ, [1.0, 2.0]), ValueError, 'a rotation is'),
        (np.stack([MATRIX, MATRIX]), ValueError, 'solve_batch'),
        ([MATRIX, MATRIX], ValueError, 'solve_batch'),
        ('home', TypeError, 'real numbers'),
        (None, TypeError, 'A pose is'),
        (SimpleNamespace(header=1, pose=2), ValueError, '.pose'),
        ([*XYZ, np.nan, 0.0, 0.0], ValueError, 'not finite'),
    ],
)
def test_what_is_no_pose_is_refused_with_the_right_call(arm, wrong, error, words):
    with pytest.raises(error, match=words):
        arm.solve(wrong)
    if 'solve_batch' not in words:
        with pytest.raises(error):
            arm.ik_LM(wrong)


def test_two_rotations_are_refused():
    with pytest.raises(ValueError, match='rpy and quat are two'):
        ssik_ros.pose(XYZ, rpy=RPY, quat=QUATERNION)
