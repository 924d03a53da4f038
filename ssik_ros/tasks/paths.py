"""Paths of a tip, straight to its target or through given poses, as lists of joint configurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import (
    check_callable,
    check_listed,
    read_count,
    read_flag,
    read_float,
    read_numbers,
    refuse,
)
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, DimensionMismatch, InvalidOption, quote, RequestError
from ssik_ros.kernels.tasks import handling
from ssik_ros.tasks.configuration_search import (
    descend_by_steps,
    ITERATIONS,
    joint_differences,
    read_options,
)
from ssik_ros.tasks.handling import evaluate
from ssik_ros.tasks.joints import IkJoint, joint_values
from ssik_ros.tasks.objects import Dummy
from ssik_ros.tasks.plan import make_numbers, Plan, plan_of
from ssik_ros.tasks.pose_formats import compose, interpolate, invert, read_pose
from ssik_ros.tasks.task_set import TaskSetData
from ssik_ros.tasks.world import TaskWorld
from ssik_ros.value_class import dataclass

DEFAULT_TIP_TOLERANCE = 1e-6
"""Largest deviation of a tip from its line if a request names no tolerance [m, rad]."""
OUT_OF_REACH = 'out of reach, or reachable only beyond a limit or past a singularity'
DEEPEST = 6
"""How often the way between two points is halved to follow a branch."""


@dataclass(frozen=True)
class PathResult:
    """Result of following a path: the configurations of its points, or why a point failed."""

    configs: FloatArray
    """(n, k) configurations of all points; none after a failure, unless ``partial`` keeps the part before it."""
    ok: bool
    """Whether all points were reached and accepted."""
    failed_index: int | None = None
    """Index of the point that could not be reached or was refused; None if the path is complete."""
    reason: str = ''
    """Why the path is not complete; empty if it is."""
    fraction: float = 1.0
    """Share of the points that were reached."""
    times: FloatArray | None = None
    """(n,) time stamps of the points that are returned, as they were given."""

    def __bool__(self) -> bool:
        """Return whether all points of the path were reached and accepted."""
        return self.ok

    @property
    def success(self) -> bool:
        """Return whether all points of the path were reached and accepted; all results have the attribute ``success``."""
        return self.ok


MOST_POINTS = 1_000_000
"""Of one path."""


@dataclass(frozen=True)
class PathOptions:
    """Options of a path: user check, part before a failure, joint jumps, tip tolerance and time stamps."""

    validate: Callable[[FloatArray], object] | None = None
    """Takes the configuration of each point and returns whether it is acceptable; a refused point ends the path."""
    partial: bool = False
    """Whether the part before a failure is kept."""
    max_joint_step: float | None = None
    """
    Largest motion of a joint between points; None for no check [rad or m].

    A joint that moves further, even after the path between the points was halved several times, has jumped to another
    branch: the path ends there.
    """
    tolerance: float | None = DEFAULT_TIP_TOLERANCE
    """
    Largest error of the tip at a point of the path [m, rad]; None for any error within the precision of its tasks.
    """
    times: ArrayLike | None = None
    """(n,) increasing time stamps, given back with the points that are reached [s]."""

    def __post_init__(self) -> None:
        """Raise InvalidOption for a value of a wrong type or out of range, such as a negative tolerance."""
        if (
            self.max_joint_step is not None
            and not read_float('max_joint_step', self.max_joint_step) > 0.0
        ):
            raise InvalidOption(f'max_joint_step must be > 0, not {self.max_joint_step}.')
        if self.tolerance is not None and not read_float('tolerance', self.tolerance) >= 0.0:
            refuse('tolerance', self.tolerance, '>= 0')
        if self.validate is not None:
            check_callable('validate', self.validate)
        read_flag('partial', self.partial)

    def stamps(self, points: int) -> FloatArray | None:
        """
        Return the time stamps as an array (points,); None if no times are given.

        :raises DimensionMismatch: if they are not as many as the points, or not increasing.
        :raises InvalidOption: if they are not numbers.
        """
        if self.times is None:
            return None
        stamps = read_numbers('times', self.times)
        if stamps.shape != (points,) or not (np.diff(stamps) > 0.0).all():
            raise DimensionMismatch(
                f'A path of {counted(points, "pose")} needs as many increasing times.'
            )
        return stamps


class Walk:
    """
    A path of configurations that moves a tip; it solves pose after pose on copies of the world's poses and joint values.

    :meth:`straight` and :meth:`through` return a path; one object makes one path. The world does not change.
    """

    def __init__(
        self,
        world: TaskWorld,
        task_set: TaskSetData,
        joints: Sequence[IkJoint],
        tip: Dummy,
        options: Mapping[str, Any],
    ) -> None:
        """
        Copy poses and joint values of the world.

        :param joints: the joints of a configuration.
        :param options: fields of :class:`PathOptions`.
        :raises RequestError: if the task set has no enabled task for the tip with a free joint.
        :raises InvalidOption: if the tip has no target, or for an unknown or wrong option.
        """
        self.plan: Plan = plan_of(world, (task_set,), purpose='search')
        if not any(task.tip is tip for task in self.plan.tasks):
            raise RequestError(
                f'Task set {quote(task_set.name)} has no enabled task for the tip {quote(tip.name)} whose base carries it over a '
                'free joint.'
            )
        self.world = world
        self.joints = joints
        self.options = read_options(PathOptions, options)
        if tip.target is None:
            raise InvalidOption(f'Tip {quote(tip.name)} has no target.')
        self.target = tip.target
        self.is_of_tip = [task.tip is tip for task in self.plan.tasks]
        tolerance, largest = self.options.tolerance, self.options.max_joint_step
        self.tolerance = math.inf if tolerance is None else tolerance
        self.largest = math.inf if largest is None else largest
        self.poses = world.poses.copy()
        self.values = world.values.copy()
        above = self.target.parent
        carrier = None if above is None else world.world_pose(above, moved=True)
        self.to_parent = None if carrier is None else invert(carrier)
        self.at = tip.transform()
        self.numbers = np.array([math.inf, 1.0, 1.0, 1.0, 1.0, *np.zeros(2 * self.plan.nv)])

    def straight(self, points: int) -> PathResult:
        """
        Return the path of a tip straight to its target.

        The position moves along a line, the orientation about one axis, both at constant speed.

        :param points: number of points, at least two; the first is the current configuration, without a solve.
        :raises InvalidOption: for fewer than 2 or more than a million points, and for time stamps that are no numbers.
        :raises DimensionMismatch: for time stamps that are not increasing, or not as many as the points.
        """
        read_count('points', points, 2, MOST_POINTS)
        start, end = self.at, self.target.transform()
        poses = [interpolate(start, end, k / (points - 1)) for k in range(points)]
        return self._run(poses, keep_first=True)

    def through(self, poses: Sequence[ArrayLike] | FloatArray) -> PathResult:
        """
        Return the path of a tip through poses in the world, one configuration for each pose.

        Each solve starts at the configuration before it, the first one at the present joint values.

        :param poses: at least one; 7 or 12 numbers or a matrix each.
        :raises InvalidOption: without poses, and for time stamps that are no numbers.
        :raises InvalidTarget: for a pose that is not a finite rigid transform.
        :raises TypeError, ValueError: for a pose of another form.
        :raises DimensionMismatch: for time stamps that are not increasing, or not as many as the poses.
        """
        listed = enumerate(check_listed('poses', poses))
        read = [read_pose(pose, f'pose {index}') for index, pose in listed]
        if not read:
            raise InvalidOption('A path needs at least one pose.')
        return self._run(read, keep_first=False)

    def _run(self, poses: list[FloatArray], keep_first: bool) -> PathResult:
        """
        Solve for each pose (12,) of the tip in the world in turn, and return the path up to the first failure.

        :param keep_first: take the present joint values for the first pose, without a solve.
        """
        times, validate = self.options.stamps(len(poses)), self.options.validate
        rows: list[FloatArray] = []
        failure = ''
        for index, pose in enumerate(poses):
            if index > 0 or not keep_first:
                failure = self._reach(pose, 0 if index > 0 else DEEPEST)
            row = joint_values(self.joints, self.values)
            if not failure and validate is not None and not validate(row.copy()):
                failure = 'refused by the validation'
            if failure:
                break
            self.at = pose
            rows.append(row)
        reached = len(rows)
        if failure and not self.options.partial:
            rows = []
        size = sum(joint.size for joint in self.joints)
        return PathResult(
            np.array(rows).reshape(len(rows), size),
            not failure,
            reached if failure else None,
            failure,
            reached / len(poses),
            None if times is None else times[: len(rows)].copy(),
        )

    def _reach(self, pose: FloatArray, depth: int) -> str:
        """
        Change ``values`` so that the tip is at a pose (12,) in the world; return why that failed, or an empty text.

        With ``max_joint_step``, if a joint jumps further or the solve fails, the way to the pose is halved, and both
        halves are followed in turn.

        :param depth: how often the way was halved so far; after six halvings it is not halved again.
        """
        before, left = self.values.copy(), self.at
        failure = self._solve(pose)
        if depth == 0 and self.largest == math.inf:
            return failure
        jump = self._jump(before) if depth < DEEPEST or not failure else ''
        if not failure and not jump:
            return ''
        if depth >= DEEPEST or self.largest == math.inf:
            return failure or jump
        self.values, self.at = before, left
        middle = interpolate(left, pose, 0.5)
        failure = self._reach(middle, depth + 1)
        if not failure:
            self.at = middle
            failure = self._reach(pose, depth + 1)
        return failure

    def _jump(self, before: FloatArray) -> str:
        """
        Return a text about the joint that moved furthest if it moved by more than ``max_joint_step``; empty otherwise.

        :param before: (nq,) joint values to compare with.
        """
        motions = joint_differences(
            self.joints, joint_values(self.joints, before), joint_values(self.joints, self.values)
        )
        worst = int(np.argmax(np.abs(motions))) if len(motions) else 0
        if len(motions) and abs(motions[worst]) > self.largest:
            return f'joint {quote(self.joints[worst].name)} jumps by {abs(motions[worst]):.3g}'
        return ''

    def _solve(self, pose: FloatArray) -> str:
        """
        Change ``values`` so that the tip is at a pose (12,) in the world, within the path's tolerance.

        Return why that failed, or an empty text. ``values`` may have changed after a failure.
        """
        failure = self._descend(pose)
        if failure or self.tolerance == math.inf:
            return failure
        evaluate(self.plan, self.world, self.values, self.poses)
        errors = self.plan.outcome[: 2 * len(self.is_of_tip)].reshape(-1, 2)[self.is_of_tip]
        if errors.max() <= self.tolerance:
            return ''
        return f'only reached to {errors.max():.1g}, as far as the limits let it'

    def _descend(self, pose: FloatArray) -> str:
        """
        Change ``values`` so that all tasks are within their precision, with the tip's target at a pose in the world.

        :param pose: (12,) in the world.
        :returns: an empty text after a success; else why that failed, and ``values`` stay as they were.
        """
        local = pose if self.to_parent is None else compose(self.to_parent, pose)
        self.poses[self.target.slot] = local
        if self.plan.slaves:
            reached = descend_by_steps(self.plan, self.world, self.values, self.poses)
            return '' if reached else OUT_OF_REACH
        numbers = make_numbers(handling.SEARCH, ITERATIONS)
        numbers[handling.END_OF_STARTS] = 1
        self.plan.views.start[:], self.plan.views.options[:] = self.values, self.numbers
        values = np.empty_like(self.values)
        packed = (self.plan.ints, self.plan.reals, self.plan.work, self.poses)
        if handling.run(*packed, values, numbers)[0] != 0:
            return OUT_OF_REACH
        self.values = values
        return ''
