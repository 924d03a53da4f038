"""Joint paths that a viewer plays: read from files, applied to a robot at a time, and written as CSV or YAML."""

import io
from pathlib import Path

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidOption, list_names, quote
from ssik_ros.model.number_tables import read_table
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause
from ssik_ros.server.paths.path_text import write_table, write_trajectory
from ssik_ros.server.paths.path_timing import time_path
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.requests.motion_limits import DEFAULT_ACCELERATION
from ssik_ros.value_class import dataclass
from ssik_ros.view.sessions.posture_session import find_places, PostureSession, SolveOutcome

TIMES = ('time', 'time_from_start', 't')
"""Names of the column that holds the seconds of each row."""
NUMBERS = ('waypoint',)
"""Names of columns that are passed over."""
MOST_ROWS = 200_000
MOST_DRAWN = 400
"""Points of the line that a tip draws."""


@dataclass(frozen=True, eq=False)
class JointPath:
    """Positions of named joint variables at successive points, with times if known."""

    names: tuple[str, ...]
    rows: FloatArray
    """(m, n) positions of the named variables [rad or m]."""
    times: FloatArray | None = None
    """(m,) ascending [s]; None for as fast as the joints may."""
    velocities: FloatArray | None = None
    """(m, n) at the times [rad/s or m/s]; None where unknown."""


def read_joint_path(path: Path) -> JointPath:
    """
    Return the joint path in a CSV file: a line of names, then a line of numbers for each point.

    :param path: the file, as ``ssik path -o`` writes it; a column ``time`` holds seconds.
    :raises SsikError: for a file that cannot be read, for anything else than numbers, and for times that do not ascend.
    """
    table = read_table(path, MOST_ROWS)
    clock = next((table[name] for name in TIMES if name in table), None)
    if clock is not None and (np.diff(clock) <= 0.0).any():
        raise InvalidOption(f"The times of '{path}' do not ascend.")
    names = tuple(name for name in table if name not in (*TIMES, *NUMBERS))
    rows = np.column_stack([table[name] for name in names]) if names else np.zeros((0, 0))
    return JointPath(names, rows, clock)


class Playback:
    """A joint path for a robot, with a time for each point, so that the state at any time can be computed."""

    def __init__(self, robot: RobotModel, path: JointPath) -> None:
        """
        Find the joints of the path in the robot, and compute times if the path has none.

        Computed times keep the velocity limits of the joints; a joint without one gets 1 rad/s or 1 m/s. They keep a
        default acceleration, except at sharp corners. Repeated points are left out.

        :param robot: the robot.
        :param path: the joint path.
        :raises InvalidOption: if the path names no joints, or joints that the robot does not have.
        """
        unknown = [name for name in path.names if name not in robot.variable_names]
        if unknown or not path.names:
            raise InvalidOption(
                f'The path names {list_names(unknown) or "no joints"}; robot {quote(robot.name)} has '
                f'{list_names(robot.variable_names)}.'
            )
        self.robot, self.names = robot, path.names
        self.places: IntArray = find_places(robot, path.names)
        self.rows, times, self.velocities = path.rows, path.times, path.velocities
        if times is None:
            velocity = robot.tree.velocity[self.places]
            timed = time_path(path.rows, velocity, np.full(len(velocity), DEFAULT_ACCELERATION))
            self.rows, times, self.velocities = timed.positions, timed.times, timed.velocities
        self.times: FloatArray = times - times[0]

    @property
    def duration(self) -> float:
        """Return the duration of the path [s]."""
        return float(self.times[-1])

    def row_at(self, seconds: float) -> FloatArray:
        """
        Return the positions (n,) of the path's joints at a time, interpolated linearly between points [rad or m].

        :param seconds: time since the beginning; beyond the ends the first or last point counts.
        """
        return np.array([np.interp(seconds, self.times, column) for column in self.rows.T])

    def state_at(self, seconds: float, state: FullState) -> FullState:
        """
        Return the full state of the robot at a time of the path.

        :param seconds: time since the beginning.
        :param state: gives the positions of joints outside the path, and the pose of the base.
        """
        positions = state.positions.copy()
        positions[self.places] = self.row_at(seconds)
        return state._replace(positions=self.robot.with_mimic(positions))

    def show(self, session: PostureSession, seconds: float) -> None:
        """
        Show the robot of a session at a time of the path, and move the targets to its tips.

        :param session: a session of the same robot.
        :param seconds: time since the beginning.
        """
        text = f'On the path, {seconds:.2f} s of {self.duration:.2f} s.'
        outcome = SolveOutcome(True, Cause.NONE, text, is_on_path=True)
        session.show_state(self.state_at(seconds, session.state), outcome)

    def tip_lines(self, session: PostureSession) -> list[FloatArray]:
        """
        Return for each tip the positions (k, 3) through which the path moves it, in the model frame [m].

        :param session: a session of the same robot.
        """
        count = min(MOST_DRAWN, max(2, len(self.rows)))
        states = [
            self.state_at(time, session.state) for time in np.linspace(0.0, self.duration, count)
        ]
        return [
            np.array([session.tip_pose(tip, state)[:3, 3] for state in states])
            for tip in session.tips
        ]


def write_csv(playback: Playback) -> str:
    """
    Return a joint path as CSV, which ``ssik view --path`` reads: a column of seconds, and one for each joint.

    :param playback: the path.
    """
    stream = io.StringIO(newline='')
    rows = np.column_stack((playback.times, playback.rows)).tolist()
    write_table(stream, TIMES[0], playback.names, rows)
    return stream.getvalue()


def write_joint_trajectory(playback: Playback) -> str:
    """
    Return a joint path as trajectory_msgs/JointTrajectory in YAML, which ``ros2 topic pub`` reads.

    :param playback: the path.
    """
    stream = io.StringIO()
    frame = playback.robot.model_frame
    write_trajectory(
        stream, frame, playback.names, playback.rows, playback.times, playback.velocities
    )
    return stream.getvalue()
