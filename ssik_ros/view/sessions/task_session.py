"""A session for task sets with priorities: several targets at once, and which of the task sets are met."""

from collections.abc import Mapping
from time import perf_counter
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, quote
from ssik_ros.model.default_seed import default_state
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.server.requests.ik_requests import FramedPose, FullState
from ssik_ros.server.requests.task_requests import TargetGiven, TaskLeft, TaskSetsRequest
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.server.tasks.task_sets import TaskSets
from ssik_ros.tasks.files.task_set_file import TaskSetFile
from ssik_ros.view.sessions.posture_session import PostureSession, SolveOutcome


class TaskLevel(NamedTuple):
    """
    A task set of a session: its name, whether it is switched on, and the remaining errors of its tasks.

    ``tasks`` is empty if the task set is switched off.
    """

    name: str
    is_on: bool
    tasks: tuple[TaskLeft, ...]

    @property
    def is_met(self) -> bool:
        """Return whether every task is within its precision."""
        return all(task.within for task in self.tasks)


class TaskSession(PostureSession):
    """A session whose robot follows the task sets of a file, the first with the highest priority."""

    def __init__(
        self,
        robot: RobotModel,
        content: TaskSetFile,
        initial: Mapping[str, float] | None = None,
    ) -> None:
        """
        Begin at ``initial``, then move the targets to their poses in the file and solve once.

        :param robot: the robot.
        :param content: content of the task set file.
        :param initial: positions of joint variables by name [rad or m]; other joints have the robot's default
            positions. None or an empty mapping for the posture of
            :func:`ssik_ros.model.default_seed.default_state`.
        :raises ConfigError: for names in the file that the robot does not have.
        :raises RequestRefused: for names in ``initial`` that the robot does not have.
        :raises InvalidOption: if no task has a target that a user can move.
        """
        super().__init__(robot)
        scene = PlanningScene(robot, initial=initial)
        self.server = RobotServer(robot, [], scene=scene)
        self._is_placed = bool(initial)
        self._sets = TaskSets(self.server.scene, content)
        world = self._sets.worlds.template
        tasks = [task for one in world.task_sets.values() for task in one.tasks]
        # A frame with a parent moves with the robot, so that a user cannot move it as a target.
        loose = {frame.name for frame in content.frames if frame.parent is None}
        self.links = {
            task.target.name: task.tip.name
            for task in tasks
            if task.target is not None and task.target.name in loose
        }
        self._frames = {frame.name: frame for frame in content.frames}
        if not self.links:
            raise InvalidOption(f'No task of {content.source} has a target in the world.')
        joints = {j.name: j for one in world.task_sets.values() for j in one.joints}
        self._lead(self._sets.worlds.variable_names(list(joints.values())))
        self.on = dict.fromkeys(world.task_sets, True)
        """Which task sets count, those with the highest priority first."""
        self.levels: tuple[TaskLevel, ...] = ()
        self.state = self._first = self._first_state()
        self.show_state(self.state)
        self.targets |= self._given_poses(content)
        self.solve()

    def tip_pose(self, name: str, state: FullState | None = None) -> FloatArray:
        link, offset = self.links.get(name, name), np.eye(4)
        # A tip may be a frame of the file, fixed to a link.
        while link in self._frames:
            frame = self._frames[link]
            offset = offset if frame.pose is None else frame.pose @ offset
            if frame.parent is None:
                placed: FloatArray = (state or self.state).root_pose @ offset
                return placed
            link = frame.parent
        return super().tip_pose(link, state) @ offset

    def _given_poses(self, content: TaskSetFile) -> dict[str, FloatArray]:
        """Return by name the poses (4, 4), in the model frame, of the movable targets that have a pose in the file."""
        return {
            frame.name: self.state.root_pose @ frame.pose
            for frame in content.frames
            if frame.name in self.links and frame.pose is not None
        }

    def _first_state(self) -> FullState:
        state = self.server.states.default()
        return state if self._is_placed else state._replace(positions=default_state(self.robot))

    def solve(self) -> None:
        targets = [
            TargetGiven(name, FramedPose(self.robot.model_frame, pose))
            for name, pose in self.targets.items()
        ]
        names = [name for name, is_on in self.on.items() if is_on]
        begun = perf_counter()
        response = self._sets.handle(TaskSetsRequest(names, targets), self.state)
        seconds = perf_counter() - begun
        met = response.cause is response.cause.NONE
        if response.state is not None:
            # Tasks of low priority are often not met: the posture moves on all the same.
            self._show(response.state)
        self.levels = tuple(
            TaskLevel(name, is_on, tuple(t for t in response.tasks if t.task_set == name))
            for name, is_on in self.on.items()
        )
        text = ' '.join(map(describe_level, self.levels)) or response.text
        self.outcome = SolveOutcome(met, response.cause, text, seconds, response.iterations)

    def switch(self, name: str, is_on: bool) -> None:
        """
        Switch a task set on or off, and solve again.

        :param name: name of the task set.
        :param is_on: True if its tasks count.
        :raises InvalidOption: if no other task set is switched on; this one then stays on.
        """
        switched = {**self.on, name: is_on}
        if not any(switched.values()):
            raise InvalidOption(f'{quote(name)} stays on: all other task sets are switched off.')
        self.on = switched
        self.solve()


def describe_level(level: TaskLevel) -> str:
    """
    Return a sentence that says whether a task set is off, met or not met, with the remaining errors of unmet tasks.

    :param level: the task set.
    """
    if not level.is_on:
        return f'{quote(level.name)} is switched off.'
    if level.is_met:
        return f'{quote(level.name)} is met.'
    left = [
        f'{quote(task.tip)} is {task.linear:.3g} m and {task.angular:.3g} rad away'
        for task in level.tasks
        if not task.within
    ]
    return f'{quote(level.name)} is not met: {", ".join(left)}.'
