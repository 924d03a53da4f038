"""Write joint paths as text: a CSV table, or a trajectory_msgs/JointTrajectory as YAML."""

from collections.abc import Iterable, Sequence
import csv
from typing import Any, TextIO

import yaml

from ssik_ros.arrays import FloatArray


def write_table(
    stream: TextIO, first: str, names: Sequence[str], rows: Iterable[Sequence[float]]
) -> None:
    """
    Write a line of names, and a line of numbers for each posture.

    :param stream: the file, opened with ``newline=''``.
    :param first: name of the first column, such as ``time`` or ``waypoint``.
    :param names: of the joints.
    :param rows: the number of the first column and the joint positions of each posture [rad or m].
    """
    writer = csv.writer(stream)
    writer.writerow([first, *names])
    writer.writerows(rows)


def write_trajectory(
    stream: TextIO,
    frame: str,
    names: Sequence[str],
    rows: FloatArray,
    times: FloatArray,
    velocities: FloatArray | None = None,
) -> None:
    """
    Write a trajectory as ``ros2 topic pub`` reads it.

    :param stream: the file.
    :param frame: of the header.
    :param names: (n,) names of the joints.
    :param rows: (m, n) positions [rad or m].
    :param times: (m,) times since the start [s].
    :param velocities: (m, n) [rad/s or m/s]; None leaves them to the controller.
    """
    speeds = [[]] * len(rows) if velocities is None else velocities.tolist()
    message = {
        'header': {'stamp': {'sec': 0, 'nanosec': 0}, 'frame_id': frame},
        'joint_names': list(names),
        'points': [
            _point(*point) for point in zip(rows.tolist(), speeds, times.tolist(), strict=True)
        ],
    }
    yaml.safe_dump(message, stream, sort_keys=False, default_flow_style=None, width=1_000_000)


def _point(positions: list[float], velocities: list[float], time: float) -> dict[str, Any]:
    """Return one point of a trajectory as a mapping; ``time`` since the start [s] is rounded to nanoseconds."""
    seconds, nanoseconds = divmod(round(time * 1e9), 10**9)
    return {
        'positions': positions,
        'velocities': velocities,
        'time_from_start': {'sec': seconds, 'nanosec': nanoseconds},
    }
