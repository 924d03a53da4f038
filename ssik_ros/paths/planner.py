"""
Search for the best joint path along a tool path.

Problem
-------
Waypoints are poses of the tip, each with its own tolerance. Choose a posture for each waypoint, so that limits, largest
steps and clearance hold and the objective is least. Joints beyond six and tolerances leave free parameters at each
waypoint.

Method
------
1. On a coarse grid of the parameters, compute the exact postures of some or all waypoints; each such waypoint is a
   layer. Dynamic programming finds the cheapest sequences through the layers. Several different sequences are kept.
2. Refine these sequences roughly, and the cheapest one further: Gauss-Newton steps of all waypoints at once, and finer
   grids around its parameters. The present parameters stay in each grid, so that the cost never rises.
3. In both steps, check collisions of the postures on the best sequence. If all waypoints are layers, check the motions
   between them, too. If a motion collides, a posture at its end is forbidden and the search goes on.
4. Shift joints by whole turns into their limits, and join the passes by free travel.
5. Verify the whole path by forward kinematics, limits, steps and collisions before it is returned.
"""

from collections.abc import Mapping
from dataclasses import replace
import math
import time
from typing import Any

import numpy as np

from ssik_ros.arguments import check_kind, read_numbers
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, InvalidOption, list_names, SolverError
from ssik_ros.kernels.paths.layers import LARGEST_STEP
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.collision.objects import place_objects
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.paths.bounding.relaxed_paths import KnownPath, MOST_ROUNDS, relaxed_bound
from ssik_ros.paths.bounding.tip_ways import lower_bound
from ssik_ros.paths.collisions.obstacles import Obstacles
from ssik_ros.paths.control import import_library, PlanCancelled, PlanControl, PlanStopped
from ssik_ros.paths.penalties import PostureCosts
from ssik_ros.paths.pose_freedom import PoseFreedom
from ssik_ros.paths.requests import ToolPath, ToolPathRequest
from ssik_ros.paths.search.reasons import PathFailure
from ssik_ros.paths.search.sequences import Checks
from ssik_ros.paths.search.waypoint_search import (
    Ends,
    PathTask,
    search_closed,
    SearchOutcome,
    WaypointSearch,
)
from ssik_ros.paths.search_space import SearchSpace, WIDE_RANGE
from ssik_ros.paths.steps import make_step_limits, path_cost, StepLimits
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.paths.travel import split_path, travel_times, TravelSearch
from ssik_ros.paths.verification import (
    check_collisions,
    check_path,
    check_travel,
    deviations,
)
from ssik_ros.paths.waypoints import check_waypoints, round_corners, step_times, wrong_poses
from ssik_ros.results import Cause

LIBRARIES = ('coal', 'scipy.linalg', 'scipy.spatial')
"""Modules that plans import when they need them."""
SPARE = 5e-4
"""Distance that waypoints keep beyond the clearance, for the motions between them [m]."""

NO_BOUND = (
    'bound_seconds and bound_rounds have no effect: refined bounds take exact poses and an arm of seven joints, or of eight '
    'with a rail, that has a spherical wrist and two axes that meet.'
)


class ToolPathPlanner:
    """Plans tool paths of one planning group with the same settings; serves one thread."""

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        request: ToolPathRequest,
        control: PlanControl | None = None,
    ) -> None:
        """
        Find the closed form of the group's chain and load the collision geometry.

        :param robot: the robot.
        :param group: a group with one tip, or with a second one that carries the workpiece.
        :param request: the settings.
        :param control: ends the preparation in time; None for a new one with the timeout of the request.
        :raises SsikError: for a chain without closed form, settings that make no sense, and if a library is missing.
        :raises PlanStopped, PlanCancelled: as :meth:`PlanControl.pause`.
        """
        look_up = (control or PlanControl(request)).pause
        self.request = request
        _check_frames(robot, request)
        freedom = PoseFreedom(request.tolerances, len(request.tolerances))
        self.chain = ToolChain(robot, group, request, freedom.common_spin)
        self.obstacles: tuple[Obstacles, Obstacles] | None = None
        self._warnings: tuple[str, ...] = ()
        if request.obstacles is not None:
            import_library('coal', look_up)
            world = place_objects(request.obstacles, self.chain.base_pose())
            checker = CollisionChecker(robot, request.clearance)
            exact = checker.scene_of(world, request.carried)
            near = checker.with_padding(exact, request.clearance + SPARE)
            self.obstacles = (
                Obstacles(self.chain, near, look_up),
                Obstacles(self.chain, exact, look_up),
            )
            self._warnings = checker.warnings
        self.costs = PostureCosts(
            self.chain, request.penalties, self.obstacles[1] if self.obstacles else None
        )

    def plan(self, waypoints: FloatArray, control: PlanControl | None = None) -> ToolPath:
        """
        Return the best joint path along waypoints that a search finds, after a verification.

        A better path may exist, see :attr:`ToolPath.gap`. If no path is found, return an invalid result with the cause
        of the failure.

        :param waypoints: (m, 4, 4) poses of the tip in the base frame of the group, or in the frame of the workpiece.
        :param control: ends the plan in time; None starts a new clock with the timeout of the request.
        :raises InvalidTarget: for fewer than two or too many waypoints, and for matrices that are not rigid transforms.
        :raises TypeError, ValueError: for waypoints of another form.
        :raises InvalidOption: for settings that make no sense, such as a start posture that misses its waypoint, or a
            closed path without a posture that reaches both its first and its last waypoint.
        :raises PlanCancelled: when the caller has cancelled.
        :raises PlanStopped: at a deadline before the search has begun.
        :raises InvalidLimits: if a prismatic joint that is a parameter lacks a limit.
        :raises SolverError: if the path fails its verification, or if a library is missing.
        """
        task = self.task(waypoints, control)
        if task.space.size:
            import_library('scipy.linalg', task.control.pause)
        ends = (self._posture(task, 0), self._posture(task, -1))
        if self.request.is_closed:
            outcome = search_closed(task, ends)
        else:
            outcome = self._search_open(task, ends)
        return self._make_path(task._replace(limits=outcome.limits), outcome)

    def _search_open(self, task: PathTask, ends: Ends) -> SearchOutcome:
        """
        Return the best open path that a search finds, or the failure.

        If tolerances are narrow, the search starts from the best path without them: parts of the tolerances whose range
        is at most WIDE_RANGE are set to zero for this path. No such path is searched if a narrow range excludes zero, or
        if an end posture is given.
        """
        exact = task.space.freedom.without_narrow(WIDE_RANGE)
        if exact is None or any(end is not None for end in ends):
            return WaypointSearch(task, ends).run()
        space = SearchSpace(self.chain, exact, task.control.pause)
        first = WaypointSearch(task._replace(space=space, travel=None), ends).run()
        earlier_path = first.q if first.failure is None else None
        return WaypointSearch(task._replace(limits=first.limits), ends, earlier_path).run()

    def task(self, waypoints: FloatArray, control: PlanControl | None = None) -> PathTask:
        """
        Return the input of a search along waypoints: parameters, step limits, checks, and poses with rounded corners.

        :param waypoints: (m, 4, 4) poses of the tip in the base frame of the group, or in the frame of the workpiece.
        :param control: ends the search in time; None starts a new clock with the timeout of the request.
        :raises InvalidTarget: for fewer than two or too many waypoints, and for matrices that are not rigid transforms.
        :raises TypeError, ValueError: for waypoints of another form.
        :raises InvalidOption: for settings that do not fit the waypoints or the robot, such as missing velocity limits.
        :raises InvalidLimits: if a prismatic joint that is a parameter lacks a limit.
        :raises PlanStopped, PlanCancelled: as :meth:`plan`.
        """
        control = control or PlanControl(self.request)
        poses = round_corners(check_waypoints(waypoints), self.request.corner)
        freedom = PoseFreedom(self.request.tolerances, len(poses))
        if self.chain.has_spin:
            freedom = freedom.without_spin()
        limits = make_step_limits(self.chain, self.request, poses)
        space = SearchSpace(self.chain, freedom, control.pause)
        checks, exact = Checks(self.obstacles, self.costs, self.request.accepts), None
        if self.obstacles is not None:
            exact = self.obstacles[1]
        travel = TravelSearch(
            self.chain, exact, freedom.axes[0], control.pause, self.request.accepts
        )
        return PathTask(space, limits, poses, checks, control, travel)

    def _posture(self, task: PathTask, row: int) -> FloatArray | None:
        """
        Return the posture (n,) that the request gives at the first (``row`` 0) or last waypoint (-1); None without any.

        Raise InvalidOption if it is malformed or does not reach the waypoint within its tolerance. On a closed path,
        it has to reach both of these waypoints.
        """
        q = self.request.start if row == 0 else self.request.end
        if q is None:
            return None
        if isinstance(q, Mapping):
            q = self._in_order(q)
        posture = read_numbers('A start or end posture', q)
        if posture.shape != (self.chain.size,) or not np.isfinite(posture).all():
            raise InvalidOption(
                f'A start or end posture has {self.chain.size} finite joint values, not {q!r}.'
            )
        for end in (0, -1) if self.request.is_closed else (row,):
            miss = task.miss(posture, end)
            if miss.is_missed[0]:
                name, waypoint = ('end' if place else 'start' for place in (row, end))
                raise InvalidOption(
                    f'The {name} posture misses the waypoint at the {waypoint} of the path by {miss.position[0]:.3g} m '
                    f'and {miss.angle[0]:.3g} rad.'
                )
        return posture

    def _in_order(self, values: Mapping[str, float]) -> list[float]:
        """
        Return joint values, given by name, as a list in the order of the chain.

        Raise InvalidOption for unknown and missing names.
        """
        names = self.chain.chain.joint_names
        for name in values:
            if name not in names:
                raise InvalidOption.unknown(f"There is no moving joint '{name}'", name, names)
        missing = [name for name in names if name not in values]
        if missing:
            raise InvalidOption(f'A start or end posture misses {list_names(missing)}.')
        return [values[name] for name in names]

    def _make_path(self, task: PathTask, outcome: SearchOutcome) -> ToolPath:
        """
        Return the result of a plan from a search: verified, with times, deviation and lower bound.

        A failed search or too large a deviation gives an invalid result. Raise SolverError if the verification fails.
        """
        q, limits, poses, freedom = outcome.q, task.limits, task.poses, task.space.freedom
        look_up = task.control.look_up
        look_up()
        early = (f'The search ended early: {outcome.stopped}.',) if outcome.stopped else ()
        path = ToolPath(
            valid=False,
            joint_names=self.chain.chain.joint_names,
            positions=q,
            cost=math.inf,
            lower_bound=lower_bound(self.chain, poses, limits, freedom),
            first_waypoint=outcome.first,
            notes=(*self._warnings, *early),
        )
        if outcome.failure is not None:
            return _refused(path, outcome.failure, task.control)
        self._verify(task, outcome)
        times = self._times(outcome, poses)
        stretches = split_path(q, outcome.travel_paths, times, self.chain.velocity)
        step_deviations = deviations(self.chain, q, poses, limits, freedom, look_up)
        deviation, most = float(step_deviations.max(initial=0.0)), self.request.largest_deviation
        path = replace(path, stretches=stretches, deviation=deviation)
        if most is not None and not deviation <= most:
            return _refused(path, _leaves_tolerance(step_deviations, most), task.control)
        penalty = _penalty(self.costs, q, limits)
        cost = path_cost(q, limits, outcome.travel_paths) + penalty
        bound, notes = self._improved_bound(task, KnownPath(q, cost), bool(outcome.stopped))
        return replace(
            path,
            valid=True,
            cost=cost,
            penalty=penalty,
            times=times,
            lower_bound=max(path.lower_bound, bound),
            notes=(*path.notes, *notes),
            seconds=task.control.seconds,
        )

    def _improved_bound(
        self, task: PathTask, known_path: KnownPath, is_stopped: bool
    ) -> tuple[float, tuple[str, ...]]:
        """
        Return a lower bound on the cost of any path, 0 if the request asks for none, and notes for the user.

        A note says that the arm or its tolerances do not allow this bound, or that time ran out while it was improved.

        :param known_path: the path that was found.
        :param is_stopped: whether the search for this path ended early; a bound is not computed then.
        """
        seconds, rounds = self.request.bound_seconds, self.request.bound_rounds
        if not (seconds > 0.0 or rounds) or is_stopped:
            return 0.0, ()
        end, bound = time.monotonic() + (seconds or math.inf), None
        try:
            task.control.report(0.95, 'lower bound')
        except PlanStopped:
            # A path exists already, and must not be lost.
            return 0.0, ()
        if not len(task.space.freedom.columns):
            is_over = task.control.is_over(end)
            bound = relaxed_bound(
                self.chain, task.limits, task.poses, known_path, is_over, rounds or MOST_ROUNDS
            )
        if bound is None:
            return 0.0, (NO_BOUND,)
        text = f'The clock ended the lower bound after {counted(bound.rounds, "round")}.'
        return bound.value, (text,) if bound.is_late else ()

    def _times(self, outcome: SearchOutcome, poses: FloatArray) -> FloatArray | None:
        """
        Return the time (m,) at which each waypoint is reached, from 0 at the first [s].

        Between waypoints the slowest joint has its velocity limit, or the tool its speed if that takes longer. Return
        None if a velocity limit is zero, or missing in the URDF without a tool speed in the request.
        """
        q, velocity = outcome.q, self.chain.velocity
        if not (velocity > 0.0).all() or not (
            np.isfinite(velocity).all() or self.request.tool_speed is not None
        ):
            return None
        spans = (np.abs(np.diff(q, axis=0)) / velocity).max(axis=1)
        if self.request.tool_speed is not None:
            spans = np.maximum(spans, step_times(poses, self.request.tool_speed))
        for step, corners in outcome.travel_paths.items():
            spans[step] = travel_times(corners, velocity)[-1]
        return np.concatenate([[0.0], np.cumsum(spans)])

    def _verify(self, task: PathTask, outcome: SearchOutcome) -> None:
        """
        Raise SolverError if a found path breaks joint limits, largest steps, tolerances or the clearance.

        This guards against errors in the search.
        """
        q = outcome.q
        wrong = check_path(self.chain, q, task.poses, task.limits, task.space.freedom)
        if not wrong and self.obstacles is not None:
            look_up = task.control.look_up
            wrong = check_collisions(q, self.obstacles[1], task.limits, look_up)
        for step, corners in outcome.travel_paths.items():
            wrong = wrong or check_travel(self.chain, corners, q[step : step + 2], task.travel)
        if wrong:
            raise SolverError(f'The path failed its verification and is withheld: {wrong}.')


def plan_tool_path(
    robot: RobotModel,
    group: JointGroup | str,
    waypoints: FloatArray,
    request: ToolPathRequest | None = None,
    **settings: Any,
) -> ToolPath:
    """
    Return the best joint path along a tool path that a search finds; an invalid result with its cause if none.

    A better path may exist: :attr:`ToolPath.gap` bounds how much cheaper it could be. A cancelled plan, or a deadline
    before the search has begun, also gives an invalid result.

    :param robot: the robot.
    :param group: a group with one tip, or with a second one that carries the workpiece; or its name.
    :param waypoints: (m, 4, 4) poses of the tip in the base frame of the group, or in the frame of the workpiece.
    :param request: the settings; None to give them as keywords.
    :param settings: fields of :class:`ToolPathRequest`.
    :raises SsikError: for a chain without closed form, waypoints and settings that make no sense, and a path that fails
        its verification.
    """
    if request is None:
        fields = ToolPathRequest.__dataclass_fields__
        for name in settings:
            if name not in fields:
                raise InvalidOption.unknown(f"There is no setting '{name}'", name, fields)
        request = ToolPathRequest(**settings)
    elif settings:
        raise InvalidOption('Give a request or settings, not both.')
    joint_group = check_kind('robot', robot, RobotModel).read_group(group)
    control = PlanControl(request)
    try:
        return ToolPathPlanner(robot, joint_group, request, control).plan(waypoints, control)
    except (PlanCancelled, PlanStopped) as stop:
        names = tuple(name for name in joint_group.joint_names if name not in request.locked)
        return ToolPath(
            valid=False,
            joint_names=names,
            positions=np.zeros((0, len(names))),
            cost=math.inf,
            lower_bound=0.0,
            cause=Cause.DEADLINE,
            reason=f'No path yet: {stop}.',
            seconds=control.seconds,
        )


def _penalty(costs: PostureCosts, q: FloatArray, limits: StepLimits) -> float:
    """
    Return the penalty of a path: the mean over its postures, or the largest one for the objective LARGEST_STEP.

    Return 0 if no penalty has a weight.
    """
    if not costs.is_used:
        return 0.0
    values = costs.values(q, limits.turning)
    return float(values.max() if limits.objective == LARGEST_STEP else values.mean())


def _refused(path: ToolPath, failure: PathFailure, control: PlanControl) -> ToolPath:
    """Return a copy of a result with cause, sentence and waypoint of a failure, and the time that the plan took."""
    return replace(
        path,
        cause=failure.cause,
        reason=failure.text,
        failed_waypoint=failure.waypoint,
        seconds=control.seconds,
    )


def _leaves_tolerance(step_deviations: FloatArray, most: float) -> PathFailure:
    """
    Return the failure of a path whose tool may leave the tolerance too far between two waypoints.

    :param step_deviations: (m - 1,) largest deviation on each step [m].
    :param most: largest allowed deviation [m]; the first step above it is named.
    """
    first = int(np.flatnonzero(step_deviations > most)[0])
    text = (
        f'Between waypoints {first} and {first + 1} the tool may leave its tolerance by '
        f'{1e3 * step_deviations[first]:.3g} mm, at most {1e3 * most:.3g} mm are allowed: put more waypoints there.'
    )
    return PathFailure(first + 1, Cause.CONSTRAINTS, text)


def _check_frames(robot: RobotModel, request: ToolPathRequest) -> None:
    """
    Raise InvalidOption if the tool is not a rigid transform, or if the state is not one finite value for each variable.

    A tool or state of None is accepted.
    """
    if request.tool is not None:
        poses = np.asarray(request.tool, dtype=np.float64)[None]
        if poses.shape != (1, 4, 4) or len(wrong_poses(poses)):
            raise InvalidOption('tool is no finite rigid transform (4, 4).')
    if request.state is not None:
        state = np.asarray(request.state, dtype=np.float64)
        if state.shape != (robot.tree.nq,) or not np.isfinite(state).all():
            raise InvalidOption(f'state has {robot.tree.nq} finite values of the whole robot.')
