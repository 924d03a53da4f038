"""
Respond to a request for a joint path that leads a link along straight lines, for one planning group.

:class:`PathFollower` searches from sample to sample with :class:`PathSearch`. If this search ends early, the planner of
tool paths may try all samples at once; the longer path is returned, with times.
"""

from collections.abc import Callable, Sequence
import itertools
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted
from ssik_ros.model.collision.objects import place_objects
from ssik_ros.model.forward_kinematics import pose_errors
from ssik_ros.model.kinematic_tree import JointKind, POSITION_SIZE
from ssik_ros.model.robot_model import QUATERNION_START
from ssik_ros.paths.requests import PathObjective, ToolPathRequest
from ssik_ros.problem.contract import IkSolver
from ssik_ros.results import Cause, CAUSE_TEXT
from ssik_ros.server.groups.all_branches import BranchFinder
from ssik_ros.server.paths.path_requests import PathRequest, PathResponse
from ssik_ros.server.paths.path_search import (
    cut_at_jump,
    FollowedPath,
    PathModel,
    PathSearch,
    SamplePostures,
)
from ssik_ros.server.paths.path_timing import LONGEST_PATH, time_path
from ssik_ros.server.paths.planned_lines import JOINTS, LinePlanning, plan_line
from ssik_ros.server.paths.straight_lines import Line, make_line
from ssik_ros.server.requests.ik_requests import FullState, LinkGoal
from ssik_ros.server.requests.motion_limits import describe_unscaled, scaled_limits
from ssik_ros.server.requests.posture_order import PostureOrder
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.scene.candidate_checks import CandidateChecks
from ssik_ros.server.scene.led_links import tool_at_tip

MOST_SAMPLES = 100_000
"""Samples of one path; more are refused rather than worked on for hours."""
PATH_TOLERANCE = 1e-5
"""Tolerance for solvers that iterate: with their own, neighbours could be a millimetre to either side of the line."""
SEARCHES = 50
"""Starts of one such search: a posture that takes more is not next to the one before."""
LONGER = 'A planned path: step by step it ended earlier.'
NO_LONGER = 'The planner finds no longer path.'
EVERY = 256
"""Number of postures that are requested of a complete solver: more than any pose has."""


class _Step(NamedTuple):
    """One step to the next sample: index of the line, and where the step begins and ends on it, as parts 0 to 1."""

    waypoint: int
    begin: float
    end: float


class PathFollower:
    """Computes the joint path for one request, with the link, the start state and the checks of this request."""

    def __init__(
        self,
        finder: BranchFinder,
        request: PathRequest,
        led: LinkGoal,
        start: FullState,
        checks: CandidateChecks | None,
    ) -> None:
        """
        Choose the solver: a complete one, which finds every posture of a regular pose, or else the group's solver.

        :param finder: of the group.
        :param request: the request.
        :param led: the link or carried object that follows the lines; its pose is ignored.
        :param start: state in which the path begins.
        :param checks: checks that postures have to pass; None without checks.
        :raises RequestRefused: for a group without solver or a link that is not fixed to a tip of it.
        """
        server = finder.server
        group_solver = server.require_solver()
        complete = finder.complete_solver()
        self._solver: IkSolver = group_solver if complete is None else complete
        self._knows_all = complete is not None
        self._server, self._request = server, request
        self._start, self._checks = start, checks
        self._order = PostureOrder(server.robot, server.group)
        self._led = led
        self._chain = finder.led_link(self._solver, led)
        self._base_model = server.frames.model_in_link(self._solver.base_frame, start)
        self._position_only = server.kinematics.position_only

    def follow(
        self, waypoints: Sequence[FloatArray], planning: LinePlanning | None = None
    ) -> PathResponse:
        """
        Return the timed joint path from the start through the waypoints, as far as it can be followed.

        :param waypoints: (4, 4) of the link in the model frame, at least one.
        :param planning: settings of the planner, which runs if the search from sample to sample ends early; None for no
            planner.
        :raises RequestRefused: for more than ``MOST_SAMPLES`` samples, or a path that takes ``LONGEST_PATH`` [s] or
            longer.
        """
        request = self._request
        group = self._server.group
        q = self._start.positions[group.idx_q]
        here = np.linalg.inv(self._base_model) @ self._chain.pose(q, self._start.positions)
        ends = [here, *waypoints]
        lines = [make_line(a, b) for a, b in itertools.pairwise(ends)]
        steps = _divide(lines, request.max_step)

        def pose_at(sample: int, part: float) -> FloatArray:
            step = steps[sample]
            return lines[step.waypoint].at(step.begin + part * (step.end - step.begin))

        search, cancel = PathSearch(self._model(), pose_at), self._server.cancel
        followed = self._cut(search.run(q, len(steps), lambda: bool(cancel[0])))
        note = ''
        if followed.reached < len(steps) and planning is not None and self._may_plan(planning):
            poses = [here, *(pose_at(sample, 1.0) for sample in range(len(steps)))]
            base = self._server.frames.model_in_link(group.base_link, self._start)
            plan_request = self._plan_request(q, base, planning)
            planned = plan_line(self._server.robot, group, base @ np.array(poses), plan_request)
            other = self._cut(search.join(planned.rows, planned.cause))
            note = f' {LONGER if other.reached > followed.reached else NO_LONGER} {planned.text}'
            followed = max(followed, other, key=lambda path: path.reached)
        response = self._respond(followed, steps, len(lines))
        return response._replace(text=f'{response.text}{note}'.rstrip())

    def _cut(self, path: FollowedPath) -> FollowedPath:
        """
        Return a path up to its first step above ``jump_threshold`` times the mean of all other steps.

        A path without such a step is returned unchanged, and every path if the threshold is 0. A cut path has the cause
        CONSISTENCY.
        """
        threshold = self._request.jump_threshold
        kept = cut_at_jump(np.array(path.points), threshold)
        if kept == len(path.points):
            return path
        text = f'the step is more than {threshold:g} times as long as the mean of the others'
        points, samples = path.points[:kept], path.samples[:kept]
        return FollowedPath(points, samples, samples[-1], 0.0, Cause.CONSISTENCY, text)

    def _may_plan(self, planning: LinePlanning) -> bool:
        """
        Return whether the planner may run after the search from sample to sample has ended early.

        It needs time and a group with one tip, seven variables and full poses. It does not run after a cancellation.
        """
        group = self._server.group
        return (
            planning.timeout > 0.0
            and len(group.tips) == 1
            and len(group.variable_names) == JOINTS
            and not self._position_only
            and not self._server.cancel[0]
        )

    def _plan_request(
        self, q: FloatArray, base: FloatArray, planning: LinePlanning
    ) -> ToolPathRequest:
        """Return the planner's request for a path that begins at ``q`` (n,); ``base`` (4, 4) is the model in the base."""
        server, request, start = self._server, self._request, self._start
        constraints = None if self._checks is None else self._checks.constraints
        around = planning.around() if request.avoid_collisions else None
        return ToolPathRequest(
            objective=PathObjective.SQUARED_STEPS,
            tool=tool_at_tip(server.robot, server.group.tips[0], self._led),
            state=start.positions,
            start=q.tolist(),
            obstacles=None if around is None else place_objects(around.standing, base),
            carried=() if around is None else around.carried,
            clearance=planning.padding,
            accepts=None
            if constraints is None
            else lambda positions: not constraints.complaint(server.with_group(start, positions)),
            timeout=planning.timeout,
            is_cancelled=lambda: bool(server.cancel[0]),
        )

    def _respond(
        self, followed: FollowedPath, steps: Sequence[_Step], waypoints: int
    ) -> PathResponse:
        """
        Return the response: the path with times, the followed fraction of the lines, and a text about where it ends.

        Raise RequestRefused if the path takes ``LONGEST_PATH`` [s] or longer.
        """
        group = self._server.group
        scales = self._request.velocity_scale, self._request.acceleration_scale
        limits = scaled_limits(self._server.robot, group, *scales)
        points = np.array(followed.points)
        with np.errstate(over='ignore', divide='ignore', invalid='ignore'):
            path = time_path(points, *limits, self._least_times(points))
        if not path.times[-1] < LONGEST_PATH:
            raise Refusal.BAD_TARGET.error(
                f'With these scaling factors and speeds the path takes {path.times[-1]:.3g} s; at most '
                f'{LONGEST_PATH:g} s can be told.'
            )
        fraction, failed = 1.0, -1
        text = f'{counted(len(points), "point")} for {counted(len(steps), "sample")} of {counted(waypoints, "line")}.'
        if followed.reached < len(steps):
            step = steps[followed.reached]
            failed = step.waypoint
            cause_text, why = CAUSE_TEXT[followed.cause], followed.text
            if cause_text not in why:
                why += f' ({cause_text})'
            part = step.begin + followed.part * (step.end - step.begin)
            fraction = (failed + part) / waypoints
            text = (
                f'Followed {100.0 * fraction:.4g} % of the path: on the way to waypoint {failed}, at sample '
                f'{followed.reached + 1} of {len(steps)}, {why}.'
            )
        unscaled = describe_unscaled(self._server.robot, group, self._request.velocity_scale)
        text = f'{text} {unscaled}' if unscaled else text
        return PathResponse(
            Refusal.NONE, followed.cause, text, self._start, path, fraction, failed_waypoint=failed
        )

    def _least_times(self, points: FloatArray) -> FloatArray | None:
        """
        Return the shortest times (k - 1,) [s] of the steps between postures (k, n); None without a speed limit.

        In this time, the link whose speed is limited moves straight from its place at one posture to the next.
        """
        speed = self._request.max_speed
        if speed <= 0.0:
            return None
        places = np.array([self._limited_place(q) for q in points])
        return np.asarray(np.linalg.norm(np.diff(places, axis=0), axis=1) / speed)

    def _limited_place(self, q: FloatArray) -> FloatArray:
        """
        Return the position (3,) [m] of the link whose speed is limited, at a posture (n,).

        The frame is the base of the chain; or the root link, if the request has a ``speed_link``.
        """
        server, link = self._server, self._request.speed_link
        if not link:
            place: FloatArray = self._chain.pose(q, self._start.positions)[:3, 3]
            return place
        place = server.frames.link_in_root(link, server.with_group(self._start, q))[:3, 3]
        return place

    def _model(self) -> PathModel:
        request, checks, server = self._request, self._checks, self._server

        def accepts(q: FloatArray) -> bool:
            return checks is None or checks(server.with_group(self._start, q))

        def refusal() -> tuple[Cause, str]:
            if checks is None:
                return Cause.NONE, ''
            return checks.cause, f'{CAUSE_TEXT[checks.cause]}{checks.describe()}'

        return PathModel(
            find=self._find,
            knows_all=self._knows_all,
            windings_near=self._order.nearest_windings,
            errors=self._errors,
            accepts=accepts,
            refusal=refusal,
            largest_steps=self._largest_steps(request),
            middle=self._make_middle(),
        )

    def _largest_steps(self, request: PathRequest) -> FloatArray:
        """Return the largest allowed step (n,) of each variable between two samples [rad or m]; inf without a bound."""
        tree = self._server.robot.tree
        sliding = {
            int(tree.idx_q[j]) for j, kind in enumerate(tree.kinds) if kind == JointKind.PRISMATIC
        }
        bounds = [
            request.prismatic_jump if place in sliding else request.revolute_jump
            for place in self._server.group.idx_q.tolist()
        ]
        return np.array([bound if bound > 0.0 else math.inf for bound in bounds])

    def _make_middle(self) -> Callable[[FloatArray, FloatArray], FloatArray]:
        """
        Return a function of two postures (n,) that returns the one halfway.

        Values are averaged. A quaternion moves by the shorter rotation, and has the length 1.
        """
        tree, group = self._server.robot.tree, self._server.group
        quaternions, start = [], 0
        for joint in group.joint_indices.tolist():
            kind = JointKind(tree.kinds[joint])
            if kind in QUATERNION_START:
                quaternions.append(start + QUATERNION_START[kind])
            start += POSITION_SIZE[kind]

        def middle(a: FloatArray, b: FloatArray) -> FloatArray:
            q = 0.5 * (a + b)
            for first in quaternions:
                quaternion, other = a[first : first + 4], b[first : first + 4]
                mean = quaternion + math.copysign(1.0, float(quaternion @ other)) * other
                q[first : first + 4] = mean / np.linalg.norm(mean)
            return q

        return middle

    def _errors(self, q: FloatArray, target: FloatArray) -> tuple[float, float]:
        pose = self._chain.pose(q, self._start.positions)
        position, angle = pose_errors(pose, self._base_model @ target)
        return position, 0.0 if self._position_only else angle

    def _find(self, target: FloatArray, near: FloatArray) -> SamplePostures:
        """
        Return the postures that reach a pose (4, 4) in the model frame: all of them if the solver finds all.

        Any other solver searches from at most ``SEARCHES`` starts, the first one ``near`` (n,). Then the collision and
        constraint checks are part of the search.
        """
        request = self._server.make_request(
            self._solver,
            [self._led._replace(pose=target)],
            self._start,
            timeout=0.0,
            accepts=None if self._knows_all else self._checks,
        )
        request.seed = near
        if self._knows_all:
            request.max_solutions = EVERY
        else:
            request.max_searches, request.tolerance = SEARCHES, PATH_TOLERANCE
        result = self._solver.solve(request)
        cause = result.cause
        if cause == Cause.VALIDATION and self._checks is not None:
            cause = self._checks.cause_of(result.clock_ended)
        return SamplePostures(result.solutions, cause)


def _divide(lines: Sequence[Line], max_step: float) -> list[_Step]:
    """
    Return the equal steps of each line; raise RequestRefused for more than ``MOST_SAMPLES`` steps in all.

    A step is at most ``max_step`` [m] long, and turns the tip by at most 3.5 times this number [rad].
    """
    counts = [line.count_steps(max_step) for line in lines]
    if sum(counts) > MOST_SAMPLES:
        raise Refusal.BAD_STEP.error(
            f'max_step {max_step:g} m divides the path into {sum(counts):.6g} samples; at most '
            f'{MOST_SAMPLES} are worked on.'
        )
    return [
        _Step(waypoint, k / count, (k + 1) / count)
        for waypoint, count in enumerate(counts)
        for k in range(int(count))
    ]
