"""Joint values as messages for whoever moves the joints."""

from array import array
from collections.abc import Sequence

from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ssik_ros.arrays import FloatArray


def make_joint_state(names: Sequence[str], positions: FloatArray, stamp: Time) -> JointState:
    """
    Return positions as a joint state.

    :param names: of joints with one value.
    :param positions: (n) [rad or m].
    :param stamp: of the message.
    """
    message = JointState(name=list(names), position=array('d', positions.tobytes()))
    message.header.stamp = stamp
    return message


def make_trajectory(
    names: Sequence[str], positions: FloatArray, seconds: float
) -> JointTrajectory:
    """
    Return a trajectory of one point, to be begun when it arrives: its stamp is zero.

    :param names: of joints with one value.
    :param positions: (n) [rad or m].
    :param seconds: until the joints are there.
    """
    point = JointTrajectoryPoint(positions=array('d', positions.tobytes()))
    nanoseconds = round(1e9 * seconds)
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(nanoseconds, 1_000_000_000)
    return JointTrajectory(joint_names=list(names), points=[point])
