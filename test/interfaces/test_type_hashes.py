"""The message packages built here are, on the wire, the ones that MoveIt's programs use."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ROOT / 'install/moveit_msgs/share/moveit_msgs/srv'

# As release 2.6.0 of moveit_msgs describes them: a client and a server with different hashes
# never meet.
REAL_HASHES = {
    'GetPositionIK': 'RIHS01_054ed6f6f71a09b01b5246c5d80beb4dacc6f444f58df039849c76292933e9e3',
    'GetPositionFK': 'RIHS01_2f16ec361a135d84b85a29385abeb9eeb025e39c09038bd6b2826645edc7edad',
    'GetCartesianPath': 'RIHS01_b19f501df5d378141d918199894c3ad24533e76021a880b15dc5d62fec8d7b1a',
    'GetStateValidity': 'RIHS01_e9fcd24ae0fd8c2f16d4afe397efaf03427d1f899fe91ecf6cb7f7f1c6ca8720',
}

# Constants are no part of a hash.
ERROR_CODES = {
    'SUCCESS': 1,
    'UNDEFINED': 0,
    'FAILURE': 99999,
    'TIMED_OUT': -6,
    'START_STATE_IN_COLLISION': -10,
    'GOAL_IN_COLLISION': -12,
    'INVALID_GROUP_NAME': -15,
    'INVALID_GOAL_CONSTRAINTS': -16,
    'INVALID_ROBOT_STATE': -17,
    'INVALID_LINK_NAME': -18,
    'FRAME_TRANSFORM_FAILURE': -21,
    'COLLISION_CHECKING_UNAVAILABLE': -22,
    'NO_IK_SOLUTION': -31,
}


@pytest.fixture(scope='module')
def moveit():
    """Give moveit_msgs' messages: the package built here or a real one."""
    return pytest.importorskip(
        'moveit_msgs.msg', reason='moveit_msgs is not built; run make setup'
    )


def hash_of_built_service(name):
    if not list(SERVICES.glob('*.json')):
        pytest.skip('moveit_msgs is not built here, or this ROS knows no type hashes')
    described = json.loads((SERVICES / f'{name}.json').read_text())['type_hashes']
    return {row['type_name']: row['hash_string'] for row in described}[f'moveit_msgs/srv/{name}']


@pytest.mark.ros
@pytest.mark.parametrize('name', REAL_HASHES)
def test_type_hash_equals_that_of_the_real_package(name):
    assert hash_of_built_service(name) == REAL_HASHES[name]


@pytest.mark.ros
def test_error_codes_have_moveits_numbers(moveit):
    codes = {name: getattr(moveit.MoveItErrorCodes, name) for name in ERROR_CODES}
    assert codes == ERROR_CODES


@pytest.mark.ros
@pytest.mark.parametrize(
    'constant, value',
    [
        ('CollisionObject.ADD', b'\x00'),
        ('CollisionObject.REMOVE', b'\x01'),
        ('CollisionObject.APPEND', b'\x02'),
        ('CollisionObject.MOVE', b'\x03'),
        ('ContactInformation.ROBOT_LINK', 0),
        ('ContactInformation.WORLD_OBJECT', 1),
        ('ContactInformation.ROBOT_ATTACHED', 2),
        ('OrientationConstraint.XYZ_EULER_ANGLES', 0),
        ('OrientationConstraint.ROTATION_VECTOR', 1),
        ('VisibilityConstraint.SENSOR_Z', 0),
        ('VisibilityConstraint.SENSOR_Y', 1),
        ('VisibilityConstraint.SENSOR_X', 2),
    ],
)
def test_constant_has_moveits_value(moveit, constant, value):
    message, name = constant.split('.')
    assert getattr(getattr(moveit, message), name) == value
