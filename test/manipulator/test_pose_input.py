"""One pose in every form that users give it."""

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import ssik_ros
from ssik_ros import Manipulator, PoseTarget, RobotState, solve_ik

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
    expected, found = arm.solve_q(MATRIX), arm.solve_q(FORMS[form])
    assert len(found) == len(expected) > 0
    assert np.abs(found - expected).max() < 1e-5
    assert len(arm.solve(FORMS[form])) == len(expected)


@pytest.mark.parametrize('form', FORMS)
def test_iterative_calls_take_the_same_forms(arm, form):
    q = arm.ik_LM(FORMS[form]).q
    assert np.abs(q - arm.ik_LM(MATRIX).q).max() < 1e-4
    state = RobotState(arm.robot, arm.robot.default_positions())
    target = PoseTarget('tool0', FORMS[form])
    assert solve_ik(state, arm.group, [target], seed=arm.neutral).success


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
