"""
Follow targets with task sets, cycle by cycle: :class:`TaskSetStream` returns one command and its status per cycle.

The caller gives the times, in seconds of a monotonic clock. The age of a target counts from its arrival; its stamp only
decides which of two targets is newer.
"""

from collections.abc import Sequence
from enum import IntEnum
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, wrap_angles
from ssik_ros.errors import list_names, quote
from ssik_ros.server.requests.ik_requests import FramedPose, FullState
from ssik_ros.server.requests.refusals import Refusal, RequestRefused
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.server.tasks.task_sets import in_root, TaskSets
from ssik_ros.solvers.search.newton.tracker import TrackStatus
from ssik_ros.tasks.constants import Reason
from ssik_ros.tasks.environment import Environment
from ssik_ros.tasks.files.task_set_builder import frames_in_use, place_frames
from ssik_ros.tasks.solve_result import SolveResult
from ssik_ros.value_class import dataclass

ORIGIN: FloatArray = np.eye(4)
UNLIMITED = math.pi
"""Velocity that counts for the lag of joints without a velocity limit [rad/s or m/s]."""
LAG_TOLERANCE = 1e-2
"""Largest distance of a joint from its command at which the joint does not lag [rad or m]."""
CAREFUL = (0.1, 0.4, 1.6)
"""Dampings that are tried one after the other for steps towards targets that cannot be met."""


class StreamCause(IntEnum):
    """Why the status of a cycle is not OK."""

    NONE = 0
    SPEED = 1
    """The joints may not move faster."""
    LIMITS = 2
    """A joint stopped at a limit."""
    UNREACHED = 3
    """The steps of one cycle did not reach the target: it is out of reach, or past a singularity."""
    NO_STATE = 4
    """The positions of the joints are unknown: no motion starts, and one that is under way ends."""
    NO_TARGET = 5
    """No target has come yet."""
    STALE = 6
    """A target has not been updated within its largest age."""
    BAD_TARGET = 7
    """A target pose has numbers that are not finite or too large."""
    FRAME = 8
    """The frame of a target is unknown."""
    SINGULAR = 9
    """A step was not finite."""
    LAG = 10
    """A joint is too far from its command: the robot does not follow."""


class Arrived(NamedTuple):
    """A received target: its pose, the stamp of the sender, its time of arrival, and its number in the stream."""

    pose: FramedPose
    stamp: int
    """Stamp of the sender [ns]; zero for none."""
    at: float
    """Time of its arrival [s]."""
    number: int
    """Number of the target among all targets, from 1."""


class StreamStep(NamedTuple):
    """The result of one cycle: the command, or why the robot is held."""

    status: TrackStatus
    """OK, LIMITED if the target is not reached in this cycle, or HELD."""
    cause: StreamCause
    """Why the status is not OK; NONE if it is."""
    text: str
    """The reason in words; empty if the status is OK."""
    positions: FloatArray | None
    """(nq,) full state: the command, or the last command if the status is HELD; None without any command."""
    newest: Arrived | None
    """The newest target at the cycle; None before the first target."""
    is_new: bool
    """Whether this target arrived after the cycle before."""
    linear: float = math.nan
    """Largest remaining position error of all tips [m]; NaN if the status is HELD."""
    angular: float = math.nan
    """Largest remaining orientation error of all tips [rad]; NaN if the status is HELD."""


@dataclass(frozen=True)
class StreamSettings:
    """Period and limits of a stream; all are positive, as the bounds of the node's parameters ensure."""

    period: float
    """Length of a cycle [s]."""
    max_age: float
    """Age above which a target is stale [s]."""
    speed_scale: float = 1.0
    """Part of the velocity limits that joints may use."""
    max_lag: float = math.inf
    """Largest time that any joint may need to reach its command at its velocity limit [s]; beyond, the stream holds."""


class TaskSetStream:
    """
    Computes commands with which task sets follow targets; serves one thread.

    :meth:`take` receives a target, :meth:`step` returns the command of a cycle. If a target, the state or the motion is
    not usable, the robot is held at the last command.
    """

    def __init__(
        self,
        scene: PlanningScene,
        task_sets: TaskSets,
        names: Sequence[str],
        settings: StreamSettings,
    ) -> None:
        """
        Prepare the task sets without targets.

        :param scene: reads states and places frames.
        :param task_sets: the file and the robot.
        :param names: names of the task sets, the one of the highest priority first; empty for all.
        :param settings: period and limits.
        :raises RequestRefused: for task sets that do not exist.
        """
        self._scene = scene
        self._worlds = task_sets.worlds
        self.world = task_sets.worlds.template.copy()
        self._content = task_sets.content
        self.task_sets = tuple(
            self.world.task_sets[name] for name in task_sets.find_task_sets(names)
        )
        self.settings = settings
        used = frames_in_use(self.task_sets)
        self._unused = {frame.name for frame in self._content.frames} - used
        self.targets = tuple(
            frame.name
            for frame in self._content.frames
            if any(e.target is self.world[frame.name] for g in self.task_sets for e in g.tasks)
        )
        """Frames of the file that are the target of a tip."""
        self._follows = any(
            frame.follow is not None for frame in self._content.frames if frame.name in used
        )
        joints = {joint.name: joint for task_set in self.task_sets for joint in task_set.joints}
        self.joints = tuple(joints.values())
        """The joints that are commanded."""
        self.places = self._worlds.places(self.joints)
        """Positions of their values in a full state."""
        velocity = task_sets.robot.tree.velocity[self._worlds.places(self.world.joints)]
        self._steps = velocity * settings.period * settings.speed_scale
        limits = task_sets.robot.tree.velocity[self.places]
        self._lags = np.maximum(
            LAG_TOLERANCE, settings.max_lag * np.where(np.isfinite(limits), limits, UNLIMITED)
        )
        self._cyclic = np.repeat(
            [joint.cyclic for joint in self.joints], [joint.size for joint in self.joints]
        )
        self._damped = [self._damped_copy(damping) for damping in CAREFUL]
        self._latest: dict[str, Arrived] = {}
        self._count = self._last_number = 0
        self._positions: FloatArray | None = None
        self._held_since: float | None = None
        self.begins = True
        """Whether the next motion begins at the robot's current state, not at the last command."""
        self.disordered = 0
        """Number of ignored targets with an older stamp than the target before."""

    def take(self, name: str, pose: FramedPose, stamp: int, now: float) -> None:
        """
        Receive a target; it replaces the target of the same name.

        If the target before is not stale and has a newer stamp, the new one is ignored and counted in ``disordered``. A
        stamp of zero is never ignored.

        :param name: one of ``targets``.
        :param pose: the target pose.
        :param stamp: of the sender [ns]; zero for none.
        :param now: time of arrival [s].
        """
        before = self._latest.get(name)
        is_running = before is not None and now - before.at <= self.settings.max_age
        if before is not None and is_running and 0 < stamp < before.stamp:
            self.disordered += 1
            return
        self._count += 1
        self._latest[name] = Arrived(pose, stamp, now, self._count)

    def step(self, now: float, current: FullState | None) -> StreamStep:
        """
        Return the command of one cycle; its status is HELD if a target, the state or the motion is not usable.

        If the status stays HELD for longer than ``max_age``, the next motion begins at the robot's current state.

        :param now: time of the cycle [s].
        :param current: state of the robot; None if it is unknown.
        """
        newest = max(self._latest.values(), key=lambda item: item.number, default=None)
        is_new = newest is not None and newest.number > self._last_number
        self._last_number = self._count
        try:
            step = self._follow(now, current)
        except RequestRefused as refused:
            is_frame = refused.refusal is Refusal.UNKNOWN_FRAME
            step = self._hold(
                StreamCause.FRAME if is_frame else StreamCause.BAD_TARGET, str(refused)
            )
        if step.status is not TrackStatus.HELD:
            self._held_since = None
        elif self._held_since is None:
            self._held_since = now
        elif now - self._held_since > self.settings.max_age:
            # After this time others may have moved the robot; before, it still moves to the last command.
            self.begins = True
        return step._replace(newest=newest, is_new=is_new)

    def _hold(self, cause: StreamCause, text: str) -> StreamStep:
        return StreamStep(TrackStatus.HELD, cause, text, self._positions, None, False)

    def _follow(self, now: float, current: FullState | None) -> StreamStep:
        """
        Return the command towards the current targets, and keep it for the next cycle.

        Return a HELD step with its cause in these cases: no target has come, a target is too old, the state is unknown,
        the robot lags, or a step is not finite. Raise RequestRefused for an unknown frame and an invalid pose.
        """
        if not self._latest and not self._follows:
            return self._hold(StreamCause.NO_TARGET, 'No target has come yet.')
        stale = self._why_stale(now)
        if stale:
            return self._hold(StreamCause.STALE, stale)
        if current is None:
            return self._hold(
                StreamCause.NO_STATE, 'Not all joints that would move were reported lately.'
            )
        lag = '' if self.begins else self._describe_lag(current)
        if lag:
            return self._hold(StreamCause.LAG, lag)
        base = current.positions.copy()
        if not self.begins and self._positions is not None:
            base[self.places] = self._positions[self.places]
        self._worlds.write(self.world, base)
        self._place(current, begins=self.begins)
        before = self.world.values.copy()
        result = self.world.solve(self.task_sets)
        if result.reason & Reason.CANNOT_INVERT:
            return self._hold(StreamCause.SINGULAR, f'{result.describe()}.')
        hits = tuple(joint.name for joint in result.limit_hits)
        if result.success:
            is_slowed = self._slow_down(before)
            result = self._measure() if is_slowed else result
        else:
            result, is_slowed = self._approach(before)
        self.begins = False
        self._positions = self._worlds.full_positions(base, self.world.values)
        status, cause, text = _judge(result, is_slowed, hits)
        return StreamStep(
            status, cause, text, self._positions, None, False, result.linear, result.angular
        )

    def _measure(self) -> SolveResult:
        """Return the errors of the task sets at the present joint values of the environment; nothing moves."""
        return self.world.solve(self.task_sets, max_iterations=0)

    def _approach(self, before: FloatArray) -> tuple[SolveResult, bool]:
        """
        Move to joint values with a smaller error; return the remaining errors, and whether the motion was shortened.

        Errors are compared task set by task set, the highest priority first. If no tried step reduces the error, the
        joints stay at ``before``. This is for targets that cannot be met: a solve may then end anywhere, and the arm
        would wander from cycle to cycle. So the step is repeated with growing damping.

        :param before: joint values before the cycle, like ``Environment.q``.
        """
        world = self.world
        end = world.values.copy()
        world.values[:] = before
        result = self._measure()
        cost = _cost(result)
        for twin in (None, *self._damped):
            if twin is not None:
                twin.poses[:], twin.values[:] = world.poses, before
                twin.solve([task_set.name for task_set in self.task_sets], max_iterations=1)
                end = twin.values.copy()
            world.values[:] = end
            is_slowed = self._slow_down(before)
            there = self._measure()
            if _cost(there) < cost:
                return there, is_slowed
        world.values[:] = before
        return result, False

    def _damped_copy(self, damping: float) -> Environment:
        """
        Return a copy of the environment in which all task sets take damped steps.

        The damping of a task set is ``damping``, or its own damping if that is larger.
        """
        twin = self.world.copy()
        for task_set in self.task_sets:
            copied = twin.task_sets[task_set.name]
            copied.method, copied.damping = 'dls', max(damping, task_set.damping)
        return twin

    def _why_stale(self, now: float) -> str:
        """Return a sentence about the first target that is too old; empty if none is."""
        for name, arrived in self._latest.items():
            age = now - arrived.at
            if age > self.settings.max_age:
                return f'The target {quote(name)} is {age:.3f} s old, older than {self.settings.max_age:g} s.'
        return ''

    def _describe_lag(self, current: FullState) -> str:
        """
        Return a sentence about the joint that is too far from its last command; empty if no joint lags.

        A joint lags if it could not come there within ``max_lag`` seconds at its velocity limit, or at ``UNLIMITED``
        without a limit. Up to ``LAG_TOLERANCE`` it does not lag. Of several joints, the worst one is named.
        """
        if self._positions is None:
            return ''
        distances = np.abs(self._positions[self.places] - current.positions[self.places])
        distances = np.where(self._cyclic, np.abs(wrap_angles(distances)), distances)
        worst = int((distances / self._lags).argmax()) if distances.size else 0
        # In this form a value that is not a number is too far.
        if not distances.size or distances[worst] <= self._lags[worst]:
            return ''
        name = self._worlds.variable_names(self.joints)[worst]
        return (
            f'{quote(name)} is {distances[worst]:.3g} away from its command, more than {self._lags[worst]:.3g}: the robot does not '
            f'follow within max_lag, {self.settings.max_lag:g} s.'
        )

    def _place(self, current: FullState, begins: bool) -> None:
        """
        Set the poses of the file's frames and of the received targets in the environment.

        Frames that no task set uses are left out. Frames that the file defines by the pose of a tip are set only in the
        first cycle of a motion (``begins``). Raise RequestRefused for an unknown frame and an invalid pose.
        """
        left_out = {*self._unused, *self._latest}
        if not begins:
            left_out |= {frame.name for frame in self._content.frames if frame.at is not None}
        place_frames(
            self.world,
            self._content,
            lambda name: in_root(self._scene, name, FramedPose(name, ORIGIN), current, current),
            left_out,
        )
        for name, arrived in self._latest.items():
            noun = f'target {quote(name)}'
            pose = in_root(self._scene, noun, arrived.pose, current, current)
            self.world[name].set_pose(pose)

    def _slow_down(self, before: FloatArray) -> bool:
        """
        Shorten the motion from ``before`` to the velocity limits of one cycle, all joints by one factor.

        Return whether it was too long.
        """
        motion = self._worlds.motion(before, self.world.values)
        moving = motion != 0.0
        # A joint whose velocity limit is zero may not move at all.
        with np.errstate(divide='ignore'):
            excess = float((np.abs(motion[moving]) / self._steps[moving]).max(initial=0.0))
        if excess <= 1.0:
            return False
        self.world.q = before + motion / excess
        return True


def _cost(result: SolveResult) -> list[float]:
    """
    Return the error of each solved task set, highest priority first.

    It is the sum over its tasks: remaining distance [m] and angle [rad], times their weights, squared.
    """
    costs = []
    for task, linear, angular in result.per_task:
        for_linear, for_angular, overall = task.weights
        costs.append(overall**2 * ((for_linear * linear) ** 2 + (for_angular * angular) ** 2))
    task_sets = [task.task_set.name for task, _, _ in result.per_task]
    return [
        sum(cost for cost, task_set in zip(costs, task_sets, strict=True) if task_set == name)
        for name in dict.fromkeys(task_sets)
    ]


def _judge(
    result: SolveResult, is_slowed: bool, hits: Sequence[str]
) -> tuple[TrackStatus, StreamCause, str]:
    """
    Return status, cause and text of a command: OK, NONE and an empty text if all targets are met, otherwise LIMITED.

    The cause is then SPEED if the motion was shortened (``is_slowed``), LIMITS if a joint is at a limit, or UNREACHED.

    :param result: the remaining errors.
    :param hits: names of joints at their limits.
    """
    if result.success:
        return TrackStatus.OK, StreamCause.NONE, ''
    text = f'{result.describe()}.'
    if is_slowed:
        return TrackStatus.LIMITED, StreamCause.SPEED, f'As fast as the joints may move: {text}'
    if hits:
        return TrackStatus.LIMITED, StreamCause.LIMITS, f'At limits: {list_names(hits)}; {text}'
    return TrackStatus.LIMITED, StreamCause.UNREACHED, text
