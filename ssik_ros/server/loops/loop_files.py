"""Read the file of loop closures of a robot, and check the names of its active joints and initial positions."""

from pathlib import Path

from ssik_ros.errors import ConfigError, counted, describe_choices, quote
from ssik_ros.mechanisms.loop_closures import LoopClosures, read_loop_closures
from ssik_ros.model.robot_model import RobotModel


def read_loops_of(path: str, robot: RobotModel) -> LoopClosures:
    """
    Return the loop closures in a file; no closures without a file.

    Only the names of active joints and of initial positions are checked; links and joints of closures are not.

    :param path: of a ``loop_closures.yaml``, ``~`` is the home folder; empty for no file.
    :param robot: the robot whose joints the file may name.
    :raises DescriptionNotFound: when the file does not exist.
    :raises ConfigError: if the file is malformed, or if a checked name is not a joint variable of the robot.
    """
    if not path:
        return LoopClosures()
    loops = read_loop_closures(Path(path).expanduser())
    variables = robot.variable_names
    for key in ('active_joints', 'initial_positions'):
        for name in getattr(loops, key):
            if name not in variables:
                raise ConfigError(
                    f'{path}: {counted(key, "name")} {quote(name)}, which is no joint variable of robot '
                    f'{quote(robot.name)}. {describe_choices(name, variables)}',
                    place=path,
                )
    return loops
