"""
Plan the joint path along a tool path for a goal that gives its frames, links and objects by name.

:class:`ToolPathFinder` looks the names up in the planning scene.
"""

from dataclasses import replace
import math
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    counted,
    InvalidTarget,
    list_names,
    quote,
    RequestError,
    SsikError,
    TopologyMismatch,
    UnsupportedJoint,
)
from ssik_ros.model.collision.objects import place_objects
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.paths.requests import ToolPath, ToolPathRequest
from ssik_ros.server.groups.batches import read_poses
from ssik_ros.server.paths.path_timing import LONGEST_PATH
from ssik_ros.server.paths.plan_timing import time_plan
from ssik_ros.server.paths.tool_path_requests import NamedValues, ToolPathGoal, ToolPathResponse
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.requests.motion_limits import describe_unscaled, scaled_limits
from ssik_ros.server.requests.poses import NO_POSE
from ssik_ros.server.requests.refusals import explain_refusal, Refusal, RequestRefused, unknown
from ssik_ros.server.scene.led_links import tool_at_tip
from ssik_ros.server.scene.planning_scene import PlanningScene

REFUSALS_BY_ERROR: tuple[tuple[type[SsikError] | tuple[type[SsikError], ...], Refusal], ...] = (
    (InvalidTarget, Refusal.BAD_TARGET),
    ((TopologyMismatch, UnsupportedJoint), Refusal.NO_SOLVER),
    (RequestError, Refusal.BAD_OPTION),
)
"""Refusal for each kind of error of a goal; the last pair is the default."""


class ToolPathFinder:
    """Plans joint paths along tool paths for one group in a scene; several threads may call it at once."""

    def __init__(self, scene: PlanningScene, group: JointGroup) -> None:
        """
        Keep the scene and a group.

        :param scene: the robot among objects.
        :param group: the group.
        """
        self._scene, self._group = scene, group

    def find(self, goal: ToolPathGoal, state: FullState, current: FullState) -> ToolPathResponse:
        """
        Return the cheapest joint path that the planner finds for a goal, with times.

        The response has a cause if no path reaches all waypoints, and a refusal after an error; SsikError is not
        raised.

        :param goal: the goal.
        :param state: full state with the start values of the goal, for joints outside the group.
        :param current: state of the robot, which places frames and objects.
        """
        # Tens of modules that a node without such goals does not wait for.
        from ssik_ros.paths.planner import plan_tool_path

        try:
            poses = self._waypoints(goal, state, current)
            request = self._request(goal, state, current)
            plan = plan_tool_path(self._scene.robot, self._group, poses, request)
            return self._respond(goal, plan, poses)
        except SsikError as error:
            refusal = next(
                (pair for pair in REFUSALS_BY_ERROR if isinstance(error, pair[0])),
                REFUSALS_BY_ERROR[-1],
            )
            return ToolPathResponse(*explain_refusal(error, *refusal))

    def _waypoints(self, goal: ToolPathGoal, state: FullState, current: FullState) -> FloatArray:
        """
        Return the waypoints (m, 4, 4) in the base frame of the group, or in the workpiece if the goal names one.

        Raise RequestRefused for an invalid pose, an unknown frame, and a frame other than the named workpiece.
        """
        poses = read_poses(goal.waypoints)
        wrong = np.flatnonzero(~np.isfinite(poses).all(axis=(1, 2)))
        if len(wrong):
            text = f'Waypoint {wrong[0]} is no finite rigid transform: {NO_POSE}.'
            raise RequestRefused(Refusal.BAD_TARGET, text)
        if goal.workpiece:
            if goal.frame not in ('', goal.workpiece):
                text = f'The waypoints are in the frame {quote(goal.frame)}, and the workpiece is '
                text += f'{quote(goal.workpiece)}: leave the frame empty, or name the workpiece.'
                raise RequestRefused(Refusal.BAD_OPTION, text)
            return poses
        frame = self._scene.frames.in_model_frame(goal.frame, current)
        base = self._scene.frames.model_in_link(self._group.base_link, state)
        placed: FloatArray = (base if frame is None else base @ frame) @ poses
        return placed

    def _request(
        self, goal: ToolPathGoal, state: FullState, current: FullState
    ) -> ToolPathRequest:
        """
        Return the request to the planner for a goal.

        ``state`` is the full state with the start values of the goal; ``current`` is the state of the robot, which
        places objects. Raise RequestRefused for a tool, obstacles, a locked joint or an end posture that the goal gives
        wrongly.
        """
        return ToolPathRequest(
            **goal.settings,
            **self._obstacles(goal, state, current),
            tool=self._tool(goal, state, current),
            workpiece=goal.workpiece or None,
            state=state.positions,
            start=_by_name('start', goal.start),
            end=_by_name('end', goal.end),
            locked=self._locked(goal, state),
            timeout=goal.timeout if goal.timeout > 0.0 else None,
            is_cancelled=goal.watch.is_cancelled,
            report_progress=goal.watch.report,
        )

    def _locked(self, goal: ToolPathGoal, state: FullState) -> dict[str, float]:
        """Return the value of each locked joint in the state; raise RequestRefused for a joint outside the group."""
        tree, places = self._scene.robot.tree, {}
        for name in goal.locked:
            if name not in self._group.joint_names:
                text = (
                    f'The locked joint {quote(name)} is not in the group {quote(self._group.name)}'
                )
                raise unknown(Refusal.BAD_OPTION, text, name, self._group.joint_names)
            places[name] = float(state.positions[tree.idx_q[tree.joint_index[name]]])
        return places

    def _tool(self, goal: ToolPathGoal, state: FullState, current: FullState) -> FloatArray | None:
        """
        Return the pose (4, 4), in the tip frame, of the link or object that follows the path; None for the tip itself.

        The tip is the only tip of the group that is not the workpiece. Raise RequestRefused in three cases: the
        workpiece is not a tip, not exactly one other tip is left, or the link is not fixed to the tip.
        """
        tips = [tip for tip in self._group.tips if tip != goal.workpiece]
        if goal.workpiece and goal.workpiece not in self._group.tips:
            text = f'The workpiece {quote(goal.workpiece)} is no tip of the group {quote(self._group.name)}'
            raise unknown(Refusal.UNKNOWN_LINK, text, goal.workpiece, self._group.tips)
        if len(tips) != 1:
            text = f'Group {quote(self._group.name)} has {counted(len(tips), "tip")} for the tool ({list_names(tips)}).'
            raise RequestRefused(Refusal.NO_SOLVER, text)
        around = self._scene.around(goal.state, state, current)
        return tool_at_tip(self._scene.robot, tips[0], self._scene.goal_of(goal.link, around))

    def _obstacles(
        self, goal: ToolPathGoal, state: FullState, current: FullState
    ) -> dict[str, Any]:
        """
        Return the planner's ``obstacles``, ``carried`` and ``clearance``; empty if the goal allows collisions.

        Raise RequestRefused for a clearance without collision checks, and for a robot that cannot be checked.
        """
        if not goal.avoid_collisions:
            if goal.clearance:
                text = 'clearance needs avoid_collisions: nothing is checked without.'
                raise RequestRefused(Refusal.BAD_OPTION, text)
            return {}
        around = self._scene.surroundings(goal.state.carried, state, current)
        # Refuses robots of which nothing, or not everything, can be checked.
        self._scene.collisions.scene(around)
        base = self._scene.frames.model_in_link(self._group.base_link, state)
        return {
            'obstacles': place_objects(around.standing, base),
            'carried': around.carried,
            'clearance': max(goal.clearance, self._scene.collisions.padding),
        }

    def _respond(self, goal: ToolPathGoal, plan: ToolPath, poses: FloatArray) -> ToolPathResponse:
        """
        Return the response to a plan, with a timed path if it has postures.

        ``poses`` (m, 4, 4) are all waypoints. Raise RequestRefused if the path takes ``LONGEST_PATH`` [s] or longer.
        """
        text = plan.reason
        if plan.valid:
            text = f'A joint path through all {counted(len(poses), "waypoint")}; cost {plan.cost:.6g}.'
        response = ToolPathResponse(Refusal.NONE, plan.cause, text, plan)
        if not len(plan.positions):
            return response
        scales = goal.velocity_scale, goal.acceleration_scale
        limits = scaled_limits(self._scene.robot, self._group, *scales)
        path, waypoint_times = time_plan(plan, self._group, limits, poses, goal.settings)
        if not path.times[-1] < LONGEST_PATH:
            taken = f'With these scaling factors and speeds the path takes {path.times[-1]:.3g} s'
            raise RequestRefused(
                Refusal.BAD_OPTION, f'{taken}; at most {LONGEST_PATH:g} s can be told.'
            )
        unscaled = describe_unscaled(self._scene.robot, self._group, goal.velocity_scale)
        if unscaled:
            plan = replace(plan, notes=(*plan.notes, unscaled))
        return response._replace(plan=plan, path=path, waypoint_times=waypoint_times)


def _by_name(what: str, given: NamedValues) -> dict[str, float] | None:
    """
    Return joint values by name, None without names.

    ``what`` names the posture in errors, such as ``start``. Raise RequestRefused for a value that is not finite, and if
    names and values differ in number.
    """
    if len(given.names) != len(given.positions):
        text = f'The {what} posture has {counted(len(given.names), "name")} for '
        raise RequestRefused(
            Refusal.BAD_STATE, f'{text}{counted(len(given.positions), "position")}.'
        )
    if not given.names:
        return None
    wrong = [n for n, q in zip(given.names, given.positions) if not math.isfinite(q)]
    if wrong:
        text = f'The {what} posture has positions that are not finite: {list_names(wrong)}.'
        raise RequestRefused(Refusal.BAD_STATE, text)
    return dict(zip(given.names, given.positions, strict=True))
