"""Convert joint positions and timed paths to messages that controllers read: JointState and JointTrajectory."""

from array import array
from collections.abc import Sequence

from builtin_interfaces.msg import Duration, Time
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ssik_ros.arrays import FloatArray
from ssik_ros.server.paths.path_requests import TimedPath


def make_joint_state(names: Sequence[str], positions: FloatArray, stamp: Time) -> JointState:
    """
    Return positions as a JointState message.

    :param names: of joints with one value.
    :param positions: (n,) [rad or m].
    :param stamp: time stamp of the message.
    """
    message = JointState(name=list(names), position=array('d', positions.tobytes()))
    message.header.stamp = stamp
    return message


def make_trajectory(
    names: Sequence[str], positions: FloatArray, seconds: float
) -> JointTrajectory:
    """
    Return a trajectory of one point; its stamp is zero, so that the motion begins on arrival.

    :param names: of joints with one value.
    :param positions: (n,) [rad or m].
    :param seconds: duration of the motion [s].
    """
    point = JointTrajectoryPoint(positions=array('d', positions.tobytes()))
    point.time_from_start = make_duration(seconds)
    return JointTrajectory(joint_names=list(names), points=[point])


def make_timed_trajectory(names: Sequence[str], path: TimedPath) -> JointTrajectory:
    """
    Return a path as a trajectory with times and velocities; its stamp is zero, so that the motion begins on arrival.

    :param names: of joints with one value, one for each column.
    :param path: positions, velocities and times.
    """
    rows = zip(path.positions, path.velocities, path.times.tolist(), strict=True)
    points = [
        JointTrajectoryPoint(
            positions=array('d', q.tobytes()),
            velocities=array('d', v.tobytes()),
            time_from_start=make_duration(time),
        )
        for q, v, time in rows
    ]
    return JointTrajectory(joint_names=list(names), points=points)


def make_duration(seconds: float) -> Duration:
    """
    Return a time as a Duration message.

    :param seconds: the time [s].
    """
    nanoseconds = round(1e9 * seconds)
    return Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
