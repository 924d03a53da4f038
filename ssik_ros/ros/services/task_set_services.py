"""The services for the task sets of a file: ``~/handle_task_sets``, ``~/find_configs`` and ``~/generate_path``."""

from array import array
from typing import Any

from moveit_msgs.msg import MoveItErrorCodes
from ssik_msgs.msg import TaskError
from ssik_msgs.srv import FindConfigs, GeneratePath, HandleTaskSets

from ssik_ros.ros.conversions.messages import read_seconds
from ssik_ros.ros.conversions.request_readers import request_reader
from ssik_ros.ros.services.service_handlers import Served, Service
from ssik_ros.server.requests.task_requests import (
    ConfigsRequest,
    ConfigsResponse,
    LedPathRequest,
    LedPathResponse,
    TaskSetsRequest,
    TaskSetsResponse,
)
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.server.tasks.task_sets import TaskSets
from ssik_ros.tasks.files.task_set_file import find_task_set_file, read_task_set_file


def _write_handle(
    message: HandleTaskSets.Response, response: TaskSetsResponse, served: Served, request: Any
) -> None:
    if response.state is not None:
        served.writer.write(message.solution, response.state)
    message.reason, message.iterations = response.reason, response.iterations
    message.linear, message.angular = response.linear, response.angular
    message.tasks = [TaskError(**task._asdict()) for task in response.tasks]
    message.limit_joints = list(response.limit_hits)
    message.limit_excesses = array('d', response.limit_hits.values())


def _write_find(
    message: FindConfigs.Response, response: ConfigsResponse, served: Served, request: Any
) -> None:
    message.joint_names = list(response.joint_names)
    message.positions = array('d', response.configs.tobytes())
    message.distances = array('d', response.distances)
    message.clock_ended = response.clock_ended


def _write_lead(
    message: GeneratePath.Response, response: LedPathResponse, served: Served, request: Any
) -> None:
    message.joint_names = list(response.joint_names)
    message.positions = array('d', response.configs.tobytes())
    message.fraction, message.failed_index = response.fraction, response.failed_index


def _read_options(message: FindConfigs.Request) -> dict[str, Any]:
    """
    Return the options of a search.

    A number that is zero, a list that is empty, or a negative time-out keeps the default; both flags are always set.
    """
    options = {
        'max_dist': message.max_dist,
        'p_metric': list(message.p_metric),
        'c_metric': list(message.c_metric),
        'max_configs': message.max_configs,
        'max_samples': message.max_samples,
        'seed': message.seed,
        'max_time': max(read_seconds(message.timeout), 0.0),
    }
    given = {name: value for name, value in options.items() if value}
    return {
        **given,
        'find_multiple': message.find_multiple,
        'find_alt': message.find_alternates,
    }


_read_handle = request_reader(TaskSetsRequest, HandleTaskSets.Request)
_read_find = request_reader(ConfigsRequest, FindConfigs.Request, options=_read_options)
_read_lead = request_reader(LedPathRequest, GeneratePath.Request)
SERVICES = tuple(
    service._replace(part='task_sets', unknown_link=int(MoveItErrorCodes.INVALID_LINK_NAME))
    for service in (
        Service(HandleTaskSets, '~/handle_task_sets', 'handle', _read_handle, _write_handle),
        Service(FindConfigs, '~/find_configs', 'find_configs', _read_find, _write_find),
        Service(GeneratePath, '~/generate_path', 'lead', _read_lead, _write_lead),
    )
)
"""A row for each service."""


class TaskSetsOverRos:
    """The content of a task set file and the services for it; :meth:`load` makes the task sets for a robot."""

    services = SERVICES

    def __init__(self, file: str) -> None:
        """
        Read the file.

        :param file: its path, or the name of a shipped one.
        :raises SsikError: when the file is missing or malformed.
        """
        self._content = read_task_set_file(find_task_set_file(file))

    def load(self, server: RobotServer) -> TaskSets:
        """
        Return the task sets of a robot, warmed up.

        :param server: the robot that is going to be served.
        :raises ConfigError: for names that the robot does not have.
        """
        task_sets = TaskSets(server.scene, self._content)
        task_sets.warm_up()
        return task_sets
