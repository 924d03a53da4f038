"""Requests for ``compute_ik``: reachable poses, and the state to search from."""

from array import array
import math

from geometry_msgs.msg import Pose
from moveit_msgs.srv import GetPositionIK
import numpy as np
from scipy.spatial.transform import Rotation
from ssik_msgs.srv import SolveBatch

from bench.arms import Arm, FloatArray
from bench.cases import Cases

GROUPS = {
    'panda': 'panda_arm',
    'gen3': 'manipulator',
    'fanuc': 'manipulator',
    'ur5e': 'ur_manipulator',
}
"""Group of each arm in its SRDF."""
TIMEOUT = 0.1
"""As ik_benchmarking asks [s]."""


def quaternion_of(rotation: FloatArray) -> FloatArray:
    """
    Return the unit quaternion (4,), x y z w, of a rotation matrix.

    :param rotation: (3, 3).
    """
    result: FloatArray = Rotation.from_matrix(rotation).as_quat()
    return result


def make_request(
    arm: Arm, target: FloatArray, seed: FloatArray, timeout: float = TIMEOUT
) -> GetPositionIK.Request:
    """
    Return a request for the tip of an arm.

    :param arm: the arm.
    :param target: (4, 4) pose of the tip in the base.
    :param seed: (n,) where the search starts.
    :param timeout: wall-clock budget [s].
    """
    message = GetPositionIK.Request()
    ik_request = message.ik_request
    ik_request.group_name = GROUPS[arm.name]
    ik_request.ik_link_name = arm.tip
    ik_request.robot_state.joint_state.name = [joint.name for joint in arm.joints]
    ik_request.robot_state.joint_state.position = seed.tolist()
    ik_request.pose_stamped.header.frame_id = arm.base
    ik_request.pose_stamped.pose = pose_message(target)
    seconds = math.floor(timeout)
    ik_request.timeout.sec = seconds
    ik_request.timeout.nanosec = round(1e9 * (timeout - seconds))
    return message


def pose_message(pose: FloatArray) -> Pose:
    """
    Return a pose as a message.

    :param pose: (4, 4).
    """
    message = Pose()
    p, q = message.position, message.orientation
    p.x, p.y, p.z = pose[:3, 3].tolist()
    q.x, q.y, q.z, q.w = quaternion_of(pose[:3, :3]).tolist()
    return message


def make_batch_request(arm: Arm, targets: FloatArray, seed: FloatArray) -> SolveBatch.Request:
    """
    Return a request of ``~/solve_batch`` for the tip of an arm.

    :param arm: the arm.
    :param targets: (m, 4, 4) poses of the tip in the base.
    :param seed: (n,) where all searches start.
    """
    message = SolveBatch.Request(group=GROUPS[arm.name], link=arm.tip, frame_id=arm.base)
    message.robot_state.joint_state.name = [joint.name for joint in arm.joints]
    message.robot_state.joint_state.position = seed.tolist()
    rows = [(*target[:3, 3], *quaternion_of(target[:3, :3])) for target in targets]
    message.poses = array('d', np.array(rows).tobytes())
    return message


def make_requests(arm: Arm, cases: Cases, timeout: float = TIMEOUT) -> list[GetPositionIK.Request]:
    """
    Return a request for each case.

    :param arm: the arm.
    :param cases: its goals and seeds.
    :param timeout: wall-clock budget [s].
    """
    return [make_request(arm, *pair, timeout) for pair in cases.pairs()]
