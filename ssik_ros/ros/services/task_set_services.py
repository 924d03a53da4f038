"""``~/handle_task_sets``, ``~/find_configs`` and ``~/generate_path``: the task sets of a file, asked by messages."""

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from moveit_msgs.msg import MoveItErrorCodes
from ssik_msgs.msg import TaskError
from ssik_msgs.srv import FindConfigs, GeneratePath, HandleTaskSets

from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause
from ssik_ros.ros.conversions.messages import read_state
from ssik_ros.ros.conversions.object_conversions import read_carried
from ssik_ros.ros.conversions.pose_conversions import read_pose
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.process.call_records import note_cause
from ssik_ros.ros.services.node_services import answer_always, Served
from ssik_ros.ros.services.status_codes import code_of_cause, code_of_refusal, write_code
from ssik_ros.server.requests.ik_requests import FramedPose
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.requests.task_requests import (
    ConfigsRequest,
    ConfigsResponse,
    LedPathRequest,
    LedPathResponse,
    TargetGiven,
    TaskSetsRequest,
    TaskSetsResponse,
)
from ssik_ros.server.tasks.task_sets import TaskSets
from ssik_ros.tasks.files.task_set_file import find_task_set_file, read_task_set_file

KEPT = 2
"""Robots whose task sets are kept: a request in progress may be about the one before."""


class TaskSetServices:
    """Handlers of the services of one task set file; may be called by several threads at once."""

    def __init__(self, served: Callable[[], Served], live: LiveState, file: str) -> None:
        """
        Read the file.

        :param served: returns what is served, or raises where there is no robot yet.
        :param live: where the robot is.
        :param file: path of a task set file, or the name of a shipped one.
        :raises SsikError: when there is no such file, or it is malformed.
        """
        self._served = served
        self._live = live
        self._content = read_task_set_file(find_task_set_file(file))
        self._prepared: list[TaskSets] = []

    def prepare(self, robot: RobotModel) -> None:
        """
        Bring the file and a robot together, which is going to be served.

        :param robot: the robot.
        :raises ConfigError: when they do not fit.
        """
        self._prepared = [*self._prepared[1 - KEPT :], TaskSets(robot, self._content)]

    def warm_up(self) -> None:
        """Call the kernels once."""
        if self._prepared:
            self._prepared[-1].warm_up()

    def handle_task_sets(
        self, request: HandleTaskSets.Request, response: HandleTaskSets.Response
    ) -> HandleTaskSets.Response:
        """
        Answer ``~/handle_task_sets``.

        :param request, response: the messages of the service.
        """
        answered: HandleTaskSets.Response = answer_always(self._handle, request, response)
        return answered

    def find_configs(
        self, request: FindConfigs.Request, response: FindConfigs.Response
    ) -> FindConfigs.Response:
        """
        Answer ``~/find_configs``.

        :param request, response: the messages of the service.
        """
        answered: FindConfigs.Response = answer_always(self._find, request, response)
        return answered

    def generate_path(
        self, request: GeneratePath.Request, response: GeneratePath.Response
    ) -> GeneratePath.Response:
        """
        Answer ``~/generate_path``.

        :param request, response: the messages of the service.
        """
        answered: GeneratePath.Response = answer_always(self._lead, request, response)
        return answered

    def _task_sets(self, served: Served) -> TaskSets:
        """Return the task sets of a robot that is served."""
        for task_sets in self._prepared[::-1]:
            if task_sets.robot is served.server.robot:
                return task_sets
        raise RuntimeError('The task sets of this robot are not ready.')

    def _handle(self, request: HandleTaskSets.Request, response: HandleTaskSets.Response) -> None:
        served = self._served()
        server = served.server
        question = TaskSetsRequest(
            task_sets=list(request.task_sets),
            targets=_read_targets(request.targets),
            state=read_state(request.robot_state),
            priority=request.priority,
            max_iterations=request.max_iterations,
        )
        current = self._live.current(server.states)
        answer = self._task_sets(served).handle(server, question, current)
        if answer.state is not None:
            served.writer.write(response.solution, answer.state)
        response.reason, response.iterations = answer.reason, answer.iterations
        response.linear, response.angular = answer.linear, answer.angular
        response.tasks = [TaskError(**task._asdict()) for task in answer.tasks]
        response.limit_joints = list(answer.limit_hits)
        response.limit_excesses = array('d', answer.limit_hits.values())
        _write_outcome(response, answer, served)

    def _find(self, request: FindConfigs.Request, response: FindConfigs.Response) -> None:
        served = self._served()
        server = served.server
        question = ConfigsRequest(
            task_set=request.task_set,
            joints=list(request.joints),
            targets=_read_targets(request.targets),
            state=read_state(request.robot_state),
            avoid_collisions=request.avoid_collisions,
            carried=read_carried(request.robot_state),
            options=_read_options(request),
        )
        current = self._live.current(server.states)
        answer = self._task_sets(served).find_configs(server, question, current)
        response.joint_names = list(answer.joint_names)
        response.positions = array('d', answer.configs.tobytes())
        response.distances = array('d', answer.distances)
        response.clock_ended = answer.clock_ended
        _write_outcome(response, answer, served)

    def _lead(self, request: GeneratePath.Request, response: GeneratePath.Response) -> None:
        served = self._served()
        server = served.server
        question = LedPathRequest(
            task_set=request.task_set,
            joints=list(request.joints),
            targets=_read_targets(request.targets),
            state=read_state(request.robot_state),
            avoid_collisions=request.avoid_collisions,
            carried=read_carried(request.robot_state),
            tip=request.tip,
            points=request.points,
            waypoints=[
                FramedPose(stamped.header.frame_id, read_pose(stamped.pose))
                for stamped in request.waypoints
            ],
            max_joint_step=request.max_joint_step,
            tolerance=request.tolerance,
            partial=request.partial,
        )
        current = self._live.current(server.states)
        answer = self._task_sets(served).lead(server, question, current)
        response.joint_names = list(answer.joint_names)
        response.positions = array('d', answer.configs.tobytes())
        response.fraction, response.failed_index = answer.fraction, answer.failed_index
        _write_outcome(response, answer, served)


def _read_targets(messages: Sequence[Any]) -> list[TargetGiven]:
    """Return where targets are to be."""
    return [
        TargetGiven(
            message.target,
            FramedPose(message.pose_stamped.header.frame_id, read_pose(message.pose_stamped.pose)),
        )
        for message in messages
    ]


def _read_options(request: FindConfigs.Request) -> dict[str, Any]:
    """Return the options of a search; zeros and empty lists stand for the defaults."""
    timeout = request.timeout.sec + 1e-9 * request.timeout.nanosec
    options = {
        'max_dist': request.max_dist,
        'p_metric': list(request.p_metric),
        'c_metric': list(request.c_metric),
        'max_configs': request.max_configs,
        'max_samples': request.max_samples,
        'seed': request.seed,
        'max_time': max(timeout, 0.0),
    }
    given = {name: value for name, value in options.items() if value}
    return {
        **given,
        'find_multiple': request.find_multiple,
        'find_alt': request.find_alternates,
    }


def _write_outcome(
    response: Any, answer: TaskSetsResponse | ConfigsResponse | LedPathResponse, served: Served
) -> None:
    """Write the code and the words of an answer."""
    note_cause(answer.cause, answer.cause == Cause.DEADLINE)
    code = int(MoveItErrorCodes.SUCCESS)
    if answer.refusal is not Refusal.NONE:
        code = code_of_refusal(answer.refusal)
    elif answer.cause != Cause.NONE:
        code = code_of_cause(answer.cause, served.report_timeout)
    write_code(response.error_code, code, answer.text)
