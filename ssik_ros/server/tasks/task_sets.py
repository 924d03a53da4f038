"""
Respond to requests about the task sets of a file: :class:`TaskSets` finds joint positions, configurations and paths.

A wrong request gets a response too, with the codes of all other services. Nothing is remembered between two requests.
"""

from collections.abc import Iterable, Sequence
import contextlib
import math
import time
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, list_names, quote, RequestError
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.results import Cause, CAUSE_TEXT
from ssik_ros.server.requests.ik_requests import FramedPose, FullState
from ssik_ros.server.requests.poses import require_pose
from ssik_ros.server.requests.refusals import Refusal, refused_as, unknown
from ssik_ros.server.requests.task_requests import (
    ConfigsRequest,
    ConfigsResponse,
    LedPathRequest,
    LedPathResponse,
    TargetGiven,
    TaskLeft,
    TaskSetsRequest,
    TaskSetsResponse,
)
from ssik_ros.server.scene.candidate_checks import CandidateChecks
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.server.tasks.task_set_worlds import TaskSetWorlds
from ssik_ros.tasks import Environment
from ssik_ros.tasks.configuration_search import DEFAULT_TIME, joint_differences
from ssik_ros.tasks.constants import Reason
from ssik_ros.tasks.environment import TaskSet
from ssik_ros.tasks.files.task_set_builder import frames_in_use, place_frames
from ssik_ros.tasks.files.task_set_file import MOST_ITERATIONS, TaskSetFile
from ssik_ros.tasks.joints import IkJoint, joint_values, value_places
from ssik_ros.tasks.paths import DEFAULT_TIP_TOLERANCE, PathResult
from ssik_ros.tasks.solve_result import SolveResult

SAMPLED_TIME = 10.0
"""Budget of a search that names its number of starts and no time [s]."""
MOST_POINTS = 100_000
"""Of one path."""
LONGEST_TIME = 3600.0
"""A search is not given more than this [s]."""


class TaskSets:
    """
    Responds to requests about the task sets of one file; several threads may call it at once.

    :meth:`handle` moves tips to targets, :meth:`find_configs` finds several configurations, :meth:`lead` a joint path.
    """

    def __init__(self, scene: PlanningScene, content: TaskSetFile) -> None:
        """
        Build the environments of the robot with the task sets of the file.

        :param scene: the robot among objects.
        :param content: the file.
        :raises ConfigError: for names that the robot does not have, with their line.
        """
        self.scene, self.robot = scene, scene.robot
        self.content = content
        self.worlds = TaskSetWorlds(scene.robot, content)
        self._frames = {frame.name for frame in content.frames}

    def warm_up(self) -> None:
        """Call the kernels once, so that the first request finds them loaded."""
        with self.worlds.lent(self.robot.default_positions()) as world:
            place_frames(world, self.content)
            for priority in ('strict', 'nested'):
                world.solve(max_iterations=1, priority=priority)
            task_set = next(iter(world.task_sets.values()))
            task_set.find_configs(max_samples=1)
            # No path leads a tip without target, nor one whose task is disabled or moves no joint.
            with contextlib.suppress(RequestError):
                task_set.generate_path(None, task_set.tasks[0].tip, 2, tolerance=None)

    @refused_as(TaskSetsResponse, RequestError, Refusal.BAD_OPTION)
    def handle(self, request: TaskSetsRequest, current: FullState) -> TaskSetsResponse:
        """
        Return joint positions with which the tips of task sets meet their targets, or come near.

        If a tip does not meet its target, or no task can be solved, the cause is BUDGET, or SINGULAR after a step that
        was not finite. A wrong request gets a refusal.

        :param request: task sets, targets and state by name.
        :param current: state of the robot, for joints that the request does not name.
        """
        names = self.find_task_sets(request.task_sets)
        if request.max_iterations > MOST_ITERATIONS:
            raise Refusal.BAD_OPTION.error(
                f'max_iterations is {request.max_iterations}, above {MOST_ITERATIONS}.',
            )
        state = self.scene.states.merge(current, request.state)
        with self.worlds.lent(state.positions) as world:
            notes = self.worlds.moved_inside(state.positions, world)
            task_sets = [world.task_sets[name] for name in names]
            self._place(world, task_sets, request.targets, state, current)
            priority: Any = request.priority or None
            iterations = request.max_iterations or None
            result = world.solve(task_sets, priority=priority, max_iterations=iterations)
            cause = Cause.NONE if result.success else Cause.BUDGET
            if result.reason & Reason.CANNOT_INVERT:
                cause = Cause.SINGULAR
            text = f'{result.describe()}.'
            if notes:
                text += f' Moved inside their limits at the start: {list_names(notes)}.'
            positions = self.worlds.full_positions(state.positions, world.values)
            return TaskSetsResponse(
                Refusal.NONE,
                cause,
                text,
                state._replace(positions=positions),
                reason=int(result.reason),
                iterations=result.iterations,
                linear=result.linear,
                angular=result.angular,
                tasks=_tasks_left(result),
                limit_hits={joint.name: hit for joint, hit in result.limit_hits.items()},
            )

    @refused_as(ConfigsResponse, RequestError, Refusal.BAD_OPTION)
    def find_configs(self, request: ConfigsRequest, current: FullState) -> ConfigsResponse:
        """
        Return configurations in which all tips of one task set meet their targets, nearest to the start first.

        Without a configuration, the response has the cause: of the checks that refused one, else DEADLINE or NOT_FOUND.
        A wrong request gets a refusal. The search gets 0.2 s by default, or 10 s if the request gives a number of
        starts.

        :param request: task set, targets, joints and options of the search, by name.
        :param current: state of the robot, for joints that the request does not name.
        """
        name = self._find_task_set(request.task_set)
        state = self.scene.states.merge(current, request.state)
        checks = self.scene.make_checks(request, state, current)
        options = dict(request.options)
        if options.get('max_time') is None:
            options['max_time'] = SAMPLED_TIME if options.get('max_samples') else DEFAULT_TIME
        options['max_time'] = min(options['max_time'], LONGEST_TIME)
        with self.worlds.lent(state.positions) as world:
            task_set = world.task_sets[name]
            joints = _find_joints(world, task_set, request.joints)
            self._place(world, [task_set], request.targets, state, current)
            validate = self._validation(world, task_set, joints, state, checks)
            start = time.perf_counter()
            rows = task_set.find_configs(
                [joint.name for joint in joints], validate=validate, **options
            )
            clock_ended = time.perf_counter() - start >= options['max_time']
            here = joint_values(joints, world.values)
            metric = np.asarray(options.get('c_metric') or np.ones(len(joints)), dtype=float)
            changes = [metric * joint_differences(joints, here, row) for row in rows]
        cause, text = Cause.NONE, f'{counted(len(rows), "configuration")}.'
        if not len(rows):
            cause, text = _why_none(checks, validate, clock_ended)
        return ConfigsResponse(
            Refusal.NONE,
            cause,
            text,
            self.worlds.variable_names(joints),
            rows,
            [float(np.linalg.norm(change)) for change in changes],
            clock_ended,
        )

    @refused_as(LedPathResponse, RequestError, Refusal.BAD_OPTION)
    def lead(self, request: LedPathRequest, current: FullState) -> LedPathResponse:
        """
        Return a joint path that leads a tip straight to its target, or through waypoints.

        If a point is not reached or the checks refuse it, the response has the cause and the index of the point. The
        path before it is returned only if the request is ``partial``. A wrong request gets a refusal.

        :param request: task set, tip, target or waypoints, and state, by name.
        :param current: state of the robot, for joints that the request does not name.
        """
        name = self._find_task_set(request.task_set)
        _require_path(request)
        state = self.scene.states.merge(current, request.state)
        checks = self.scene.make_checks(request, state, current)
        options: dict[str, Any] = {
            'partial': request.partial,
            'max_joint_step': request.max_joint_step or None,
            'tolerance': None
            if request.tolerance < 0.0
            else request.tolerance or DEFAULT_TIP_TOLERANCE,
        }
        with self.worlds.lent(state.positions) as world:
            task_set = world.task_sets[name]
            joints = _find_joints(world, task_set, request.joints)
            tip = _find_tip(task_set, request.tip)
            self._place(world, [task_set], request.targets, state, current)
            options['validate'] = self._validation(world, task_set, joints, state, checks)
            chosen = [joint.name for joint in joints]
            if request.waypoints:
                waypoints = [
                    in_root(self.scene, 'waypoint', pose, state, current)
                    for pose in request.waypoints
                ]
                path = task_set.follow_path(chosen, tip, waypoints, **options)
            else:
                path = task_set.generate_path(chosen, tip, request.points, **options)
        cause, text = _why_ended(path, checks)
        return LedPathResponse(
            Refusal.NONE,
            cause,
            text,
            self.worlds.variable_names(joints),
            path.configs,
            path.fraction,
            -1 if path.failed_index is None else path.failed_index,
        )

    def _find_task_set(self, name: str) -> str:
        """
        Return a name after a check that such a task set exists; if it is empty, the name of the only task set.

        Raise RequestRefused for an unknown name, and for an empty one if there are several task sets.
        """
        names = self.find_task_sets([name] if name else [])
        if len(names) > 1:
            raise Refusal.UNKNOWN_GROUP.error(
                f'No task set is named, and {self.content.source} has several: {list_names(names)}.',
            )
        return names[0]

    def find_task_sets(self, names: Sequence[str]) -> list[str]:
        """
        Return the given names after a check that such task sets exist; if none are given, the names of all task sets.

        :param names: names of task sets.
        :raises RequestRefused: for an unknown name, and a name given twice.
        """
        all_names = list(self.worlds.template.task_sets)
        for name in names:
            if name not in all_names:
                text = f'There is no task set {quote(name)} in {self.content.source}'
                raise unknown(Refusal.UNKNOWN_GROUP, text, name, all_names)
            if list(names).count(name) > 1:
                raise Refusal.BAD_OPTION.error(f'Task set {quote(name)} is named twice.')
        return list(names) or all_names

    def _place(
        self,
        world: Environment,
        task_sets: Iterable[TaskSet],
        targets: Sequence[TargetGiven],
        state: FullState,
        current: FullState,
    ) -> None:
        """
        Set the poses of the frames that the task sets use; poses of the request replace poses of the file.

        The frames belong to the environment ``world``. Raise RequestRefused for targets that are not frames of the
        file, two poses for one target, unknown frames, and invalid poses.
        """
        given: dict[str, FloatArray] = {}
        for target in targets:
            if target.name not in self._frames:
                text = f'{quote(target.name)} is no frame of {self.content.source}, so it cannot be placed'
                raise unknown(Refusal.UNKNOWN_LINK, text, target.name, self._frames)
            if target.name in given:
                raise Refusal.GOAL_COUNT.error(
                    f'There are two poses for the target {quote(target.name)}.'
                )
            given[target.name] = in_root(
                self.scene, f'target {quote(target.name)}', target.pose, state, current
            )
        used = frames_in_use(task_sets)
        place_frames(
            world,
            self.content,
            lambda name: in_root(self.scene, name, FramedPose(name, np.eye(4)), state, current),
            left_out={*given, *(self._frames - used)},
        )
        for name, pose in given.items():
            world[name].set_pose(pose)

    def _validation(
        self,
        world: Environment,
        task_set: TaskSet,
        joints: Sequence[IkJoint],
        state: FullState,
        checks: CandidateChecks | None,
    ) -> '_Validation | None':
        """
        Return a function that checks a configuration of ``joints`` for collisions and constraints; None without checks.

        Raise RequestRefused if ``joints`` lacks a joint that the task set moves.
        """
        if checks is None:
            return None
        missing = [joint.name for joint in task_set.joints if joint not in joints]
        if missing:
            raise Refusal.BAD_OPTION.error(
                'Collisions can be avoided only in configurations of all joints that the task set moves; missing: '
                f'{list_names(missing)}.'
            )
        return _Validation(self.worlds, world, joints, state, checks)


class _Validation:
    """
    Called with values of some joints, tells whether they pass the checks of a request; counts refusals.

    All other joints have their values of a given state and environment.
    """

    def __init__(
        self,
        worlds: TaskSetWorlds,
        world: Environment,
        joints: Sequence[IkJoint],
        state: FullState,
        checks: CandidateChecks,
    ) -> None:
        """
        Keep the checks, and the state that gives the values of all other joints.

        :param worlds: converts joint values of an environment to full states.
        :param world: environment whose present values are used for joints outside ``joints``.
        :param joints: the joints whose values make a configuration.
        :param state: full state of the robot.
        :param checks: the checks of constraints and collisions.
        """
        self._worlds, self._world, self._state, self._checks = worlds, world, state, checks
        self._places = value_places(joints)
        self.refused = 0

    def __call__(self, row: FloatArray) -> bool:
        """Return whether a configuration (k,) of the chosen joints passes the checks; count refusals."""
        values = self._world.values.copy()
        values[self._places] = row
        self._world.follow(values)
        positions = self._worlds.full_positions(self._state.positions, values)
        if self._checks(self._state._replace(positions=positions)):
            return True
        self.refused += 1
        return False


def in_root(
    scene: PlanningScene, noun: str, framed: FramedPose, state: FullState, current: FullState
) -> FloatArray:
    """
    Return a pose (4, 4) in the root link, which is the world frame of the environments.

    :param scene: knows the frames.
    :param noun: the name of the pose in messages.
    :param framed: the pose, with the name of its frame.
    :param state: state with the pose of the root link.
    :param current: state of the robot, which places the frame.
    :raises RequestRefused: for an unknown frame, and an invalid pose.
    """
    frame = scene.frames.in_model_frame(framed.frame, current)
    require_pose(f'The pose of the {noun}', framed.pose)
    in_model = framed.pose if frame is None else frame @ framed.pose
    placed: FloatArray = invert_pose(state.root_pose) @ in_model
    return placed


def _find_joints(world: Environment, task_set: TaskSet, names: Sequence[str]) -> list[IkJoint]:
    """
    Return the joints of the environment that ``names`` lists; without names, the joints of the task set.

    Raise RequestRefused for unknown names and names given twice.
    """
    for name in names:
        if name not in world.joint_names:
            text = f'The robot has no joint {quote(name)}'
            raise unknown(Refusal.BAD_OPTION, text, name, world.joint_names)
        if list(names).count(name) > 1:
            raise Refusal.BAD_OPTION.error(f'Joint {quote(name)} is named twice.')
    return [world.joint(name) for name in names] or list(task_set.joints)


def _find_tip(task_set: TaskSet, name: str) -> str:
    """
    Return the name of a tip of an enabled task; an empty name means the tip of the first such task.

    Raise RequestRefused for other names, and for a tip without a target.
    """
    tips = {e.tip.name: e.tip.target for e in task_set.tasks if e.enabled}
    chosen = name or next(iter(tips), '')
    if chosen not in tips:
        text = f'{quote(chosen)} is no tip of task set {quote(task_set.name)}'
        raise unknown(Refusal.UNKNOWN_LINK, text, chosen, tips)
    if tips[chosen] is None:
        raise Refusal.BAD_OPTION.error(
            f'The tip {quote(chosen)} has no target that it could be led to.'
        )
    return chosen


def _require_path(request: LedPathRequest) -> None:
    """
    Raise RequestRefused (BAD_OPTION) if the numbers of a path request are invalid; otherwise return None.

    A request has either waypoints or at least two points, at most MOST_POINTS of them. ``max_joint_step`` is finite and
    not negative. So is ``tolerance``, which may also be -1.
    """
    text = ''
    if request.waypoints and request.points:
        text = 'A path has either points or waypoints.'
    elif not request.waypoints and request.points < 2:
        text = f'A straight path needs at least two points, not {request.points}.'
    elif max(request.points, len(request.waypoints)) > MOST_POINTS:
        text = f'A path has at most {MOST_POINTS} points.'
    elif not 0.0 <= request.max_joint_step < math.inf:
        text = f'max_joint_step is {request.max_joint_step:g}, no finite number of at least zero.'
    elif not (request.tolerance == -1.0 or 0.0 <= request.tolerance < math.inf):
        text = f'The tolerance is {request.tolerance:g}, neither -1 nor a finite number of at least zero.'
    if text:
        raise Refusal.BAD_OPTION.error(text)


def _tasks_left(result: SolveResult) -> list[TaskLeft]:
    """Return the remaining distance [m] and angle [rad] of each task, and whether both are within its precision."""
    return [
        TaskLeft(
            task.task_set.name,
            task.tip.name,
            '' if task.target is None else task.target.name,
            linear,
            angular,
            linear <= task.precision[0] and angular <= task.precision[1],
        )
        for task, linear, angular in result.per_task
    ]


def _why_none(
    checks: CandidateChecks | None, validate: _Validation | None, clock_ended: bool
) -> tuple[Cause, str]:
    """
    Return the cause and a sentence for a search that found no configuration.

    The cause is the checks' if they refused a configuration, else DEADLINE if the time ran out, else NOT_FOUND.
    """
    if checks is not None and validate is not None and validate.refused:
        return checks.cause, f'No configuration: {CAUSE_TEXT[checks.cause]}{checks.describe()}.'
    if clock_ended:
        return Cause.DEADLINE, 'No configuration was found within the time.'
    return Cause.NOT_FOUND, 'No configuration was found from any start.'


def _why_ended(path: PathResult, checks: CandidateChecks | None) -> tuple[Cause, str]:
    """
    Return the cause and a sentence about the end of a path.

    A complete path has the cause NONE. Otherwise it is the checks' cause if they refused a point, else NOT_FOUND.
    """
    if path.ok:
        return Cause.NONE, f'{counted(len(path.configs), "point")}.'
    text = f'The path ends before point {path.failed_index}: {path.reason}'
    if path.reason.startswith('refused') and checks is not None:
        return checks.cause, f'{text}; {CAUSE_TEXT[checks.cause]}{checks.describe()}.'
    return Cause.NOT_FOUND, f'{text}.'
