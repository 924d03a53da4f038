"""
Responses to the kinematics requests about one robot, without ROS: :class:`RobotServer` has a method per kind.

The groups of a server never change. A new parameter of a group makes a new server, which shares everything else with
the old one. A request in progress keeps the server that it began with.
"""

from collections.abc import Iterable, Mapping
import copy
from dataclasses import replace
import itertools
import math
import operator
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arguments import read_count
from ssik_ros.arrays import LARGEST_REQUEST_VALUE
from ssik_ros.errors import InvalidLimits, InvalidOption, quote, SsikError
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause, IkStatus
from ssik_ros.server.groups.batches import BatchRequest, BatchResponse, read_poses, solve_batch
from ssik_ros.server.groups.cycle_steps import StepRequest, StepResponse
from ssik_ros.server.groups.explanations import explain_pose, Explanation
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.groups.self_motion_finder import SelfMotionsResponse
from ssik_ros.server.ik_responses import respond, solve_resolved
from ssik_ros.server.paths.path_follower import PathFollower
from ssik_ros.server.paths.path_requests import PathRequest, PathResponse
from ssik_ros.server.paths.planned_lines import LinePlanning
from ssik_ros.server.paths.tool_path_requests import ToolPathGoal, ToolPathResponse
from ssik_ros.server.planning_groups import PlanningGroups, RobotReport
from ssik_ros.server.request_resolver import in_model_frame, RequestResolver, ResolvedRequest
from ssik_ros.server.requests.constraints import NO_CONSTRAINTS
from ssik_ros.server.requests.ik_requests import (
    BranchesResponse,
    FkRequest,
    FkResponse,
    FramedPose,
    FullState,
    IkRequest,
    IkResponse,
    LinkGoal,
    StateRequest,
)
from ssik_ros.server.requests.refusals import explain_refusal, Refusal, refused_as, unknown
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.server.state_responses import check_state, compute_fk, StateResponse
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.value_class import NEW_TUPLE

PLANNING_TIMEOUT = 5.0
WARM_UP_TIMEOUT = 0.05
"""Budget of the request that warms a group up [s]; some solvers use all of their budget."""

BLAMED = InvalidLimits, Refusal.NOT_SEARCHABLE
"""Faults of a request, apart from refusals."""
UNCHECKED = 'Not checked for collisions: solve_ik leaves that to its caller.'
SMALLEST_STEP = float(np.finfo(np.float64).eps)
"""A path is not divided into steps as small as this or smaller [m]."""
SOLVED, NO_REFUSAL, NO_CAUSE = IkStatus.SOLVED, Refusal.NONE, Cause.NONE
IS_AT_MOST, flatten = operator.le, itertools.chain.from_iterable


class RobotServer:
    """
    Responds to requests about one robot; several threads may call it at once.

    Requests are for solutions, branches, self-motions, paths, forward kinematics and checks of states. A method takes a
    request and the current state of the robot, which counts for joints that the request does not name. A wrong request
    gets a response with a refusal. A pose without a solution gets a response with a cause.
    """

    def __init__(
        self,
        robot: RobotModel,
        groups: Iterable[JointGroup],
        kinematics: Mapping[str, GroupKinematics] | None = None,
        cancel: NDArray[np.int64] | None = None,
        scene: PlanningScene | None = None,
    ) -> None:
        """
        Make a solver for every group.

        :param robot: the robot.
        :param groups: the groups to serve.
        :param kinematics: solver and parameters by group name; other groups have the default solver. None for no
            parameters.
        :param cancel: (1,) flag that ends all searches; None for no flag.
        :param scene: the robot among objects; None for no objects.
        """
        self.robot = robot
        self.scene = PlanningScene(robot) if scene is None else scene
        self.states, self.frames = self.scene.states, self.scene.frames
        self.cancel = np.zeros(1, dtype=np.int64) if cancel is None else cancel
        self.planning_timeout = PLANNING_TIMEOUT
        """Budget of the planner where the search for a path along lines ends early [s]; 0: it is not asked."""
        self._links = robot.tree.link_index
        self._requests = RequestResolver(self.scene)
        self._model_frames = self._requests.model_frames
        self.groups = PlanningGroups(self.scene, groups, kinematics or {}, self.cancel)

    def with_kinematics(self, kinematics: GroupKinematics) -> 'RobotServer':
        """
        Return a copy of the server in which one group has a new solver or new parameters; this solver is warmed up.

        If the solver cannot be made, the group of the copy has none, and tells the reason.

        :param kinematics: the new solver and parameters; its ``group`` names the group.
        :raises KeyError: for a group that the server does not have.
        """
        other = copy.copy(self)
        other.groups = self.groups.with_kinematics(kinematics)
        return other

    def warm_up(self) -> None:
        """Prepare all solvers and the collision checker, and solve once for each group, before the first request."""
        for group in self.groups.values():
            group.warm_up()
            self._solve_once(group)
        self.scene.collisions.warm_up()

    def _solve_once(self, group: GroupServer) -> None:
        """Solve for the default poses of the tips, which fills the caches; skip a group without a solver."""
        if group.solver is None:
            return
        state, tips = self.states.default(), list(group.solver.tip_frames)
        here = [state.root_pose @ pose for pose in self.frames.links_in_root(tips, state)]
        framed = [FramedPose(self.robot.model_frame, pose) for pose in here]
        self.solve(IkRequest(group.group.name, tips, framed, timeout=WARM_UP_TIMEOUT), state)

    def warm_up_branches(self) -> None:
        """Prepare the closed forms that requests for every branch need."""
        for finders in self.groups.finders.values():
            finders.branches.warm_up()

    def solve(self, request: IkRequest, current: FullState) -> IkResponse:
        """
        Find joint positions of a group that put links at poses.

        The response tells a failure: the refusal of a wrong request, or the cause if no solution was found. The order
        of checks is MoveIt's: group, state, number of poses, frames, poses, constraints, collisions, links.
        """
        try:
            group = self.groups.get(request.group) or self.groups.find(request.group)
            state = self.states.merge(current, request.state)
            link, framed = request.links[:1], request.poses[:1]
            # Most requests name one pose of one link in the model frame, and neither constraints nor collisions. Its numbers
            # are checked here: calls are a good part of the time of such a request.
            if not (
                len(request.poses) == 1 == len(request.links)
                and link[0] in self._links
                and framed[0].frame in self._model_frames
                and request.constraints is NO_CONSTRAINTS
                and not request.avoid_collisions
                and (solver := group.solver) is not None
                and len(solver.tip_frames) == 1
                # No number is above the norm; the general path judges large ones.
                and math.hypot(*flatten(framed[0].pose.tolist())) <= LARGEST_REQUEST_VALUE
            ):
                resolved = self._requests.resolve(request, current, group, state)
                return solve_resolved(request, resolved)
            one = group.request_one(solver, link[0], framed[0].pose, state, request.timeout)
            begin = perf_counter_ns()
            result = solver.solve(one)
            solve_ns = perf_counter_ns() - begin
            seed = state.positions[group.places].tolist()
            if (
                result.status != SOLVED
                or state.contradicted
                or not all(map(IS_AT_MOST, group.lowest, seed))
                or not all(map(IS_AT_MOST, seed, group.highest))
            ):
                goals = [LinkGoal(link[0], framed[0].pose)]
                resolved = ResolvedRequest(group, state, goals, None)
                return respond(request, resolved, result, solve_ns)
            solution = group.with_group(state, result.q)
            said = NO_REFUSAL, NO_CAUSE, result.summary(), solution, result, solve_ns, ()
            return NEW_TUPLE(IkResponse, said)
        except SsikError as error:
            return IkResponse(*explain_refusal(error, *BLAMED))

    def solve_unchecked(self, request: IkRequest, current: FullState) -> IkResponse:
        """Solve without collision checks; if the request wants checks, the response text says that none were made."""
        if not request.avoid_collisions:
            return self.solve(request, current)
        response = self.solve(replace(request, avoid_collisions=False), current)
        return response._replace(text=f'{response.text} {UNCHECKED}')

    def describe(self, group: str, current: FullState) -> RobotReport:
        """
        Return a report on one planning group, or on all of them for an empty name; an unknown name gets a refusal.

        ``current`` is ignored.
        """
        return self.groups.report(group)

    def _resolve(self, request: IkRequest, current: FullState) -> ResolvedRequest:
        """
        Return a request with its group, state, frames, objects and constraints looked up.

        Raise RequestRefused for a wrong request. A link that does not exist is kept, and refused later.
        """
        group = self.groups.find(request.group)
        state = self.states.merge(current, request.state)
        return self._requests.resolve(request, current, group, state)

    @refused_as(BranchesResponse, *BLAMED)
    def solve_all(self, request: IkRequest, current: FullState) -> BranchesResponse:
        """
        Find the branches of a pose, nearest to the seed first; without a branch, the response has the cause.

        Only a complete closed form finds every branch, and not at a singular pose. Otherwise the branches are a
        selection. A wrong request, or a group without a solver, gets a refusal.
        """
        group, state, goals, checks = self._resolve(request, current)
        tolerance = request.branches.tolerance
        if not 0.0 <= tolerance < math.inf:
            raise Refusal.BAD_TOLERANCE.error(
                f'The tolerance {tolerance:g} is no finite number of at least zero.',
            )
        try:
            read_count('max_solutions', request.branches.max_solutions)
        except InvalidOption as error:
            raise Refusal.BAD_OPTION.error(str(error)) from error
        finder = self.groups.finders[group.group.name].branches
        return finder.find(goals, state, request.branches, timeout=request.timeout, accepts=checks)

    @refused_as(SelfMotionsResponse, *BLAMED)
    def self_motions(self, request: IkRequest, current: FullState) -> SelfMotionsResponse:
        """
        Find self-motions: curves of postures within the limits that put one link at a pose.

        The text of the response says whether a curve may be missing. If no posture is found, the cause is NOT_FOUND. A
        wrong request, several poses, and an arm without a closed form or without one redundant joint get a refusal.
        """
        group, state, goals, _ = self._resolve(request, current)
        if len(goals) != 1:
            raise Refusal.GOAL_COUNT.error(f'{len(goals)} poses came; self-motions have one.')
        finder = self.groups.finders[group.group.name].self_motions
        return finder.find(goals[0], state, request.self_motions)

    @refused_as(BatchResponse, *BLAMED)
    def solve_batch(self, request: BatchRequest, current: FullState) -> BatchResponse:
        """
        Find joint positions for each of many poses of one link; each pose without a solution has its cause.

        A wrong request gets a refusal; a pose that is not finite does not, and has a cause, too.
        """
        group = self.groups.find(request.group)
        state = self.states.merge(current, request.state)
        poses = read_poses(request.poses)
        frame = self.frames.in_model_frame(request.frame, current)
        poses = poses if frame is None else frame @ poses
        checks = self.scene.make_checks(request, state, current)
        goal = self.scene.goal_of(request.link, self.scene.around(request.state, state, current))
        return solve_batch(group, request, goal, poses, state, checks)

    @refused_as(Explanation, *BLAMED)
    def explain(self, request: IkRequest, current: FullState) -> Explanation:
        """
        Solve a request; if a pose has no solution, return the cause, the nearest posture and advice.

        Of several poses, only the first one is explained. If no finite posture is found, nearest posture and advice are
        left out. A wrong request gets a refusal.
        """
        response = self.solve(request, current)
        if response.refusal is not NO_REFUSAL:
            return Explanation(*response[:3])
        group, state, goals, _ = self._resolve(request, current)
        finder = self.groups.finders[group.group.name].branches
        return explain_pose(finder, goals[0], state, response, timeout=request.timeout)

    @refused_as(StepResponse, *BLAMED)
    def find_step(self, request: StepRequest, current: FullState) -> StepResponse:
        """Return the motion of a group in one control cycle towards the pose of a link."""
        group = self.groups.find(request.group)
        state = self.states.merge(current, request.state)
        goals: list[LinkGoal] = []
        for poses in (request.poses, request.previous) if request.previous else (request.poses,):
            asked = IkRequest(request.group, request.links, poses, request.state)
            goals += self._requests.resolve(asked, current, group, state).goals
        return self.groups.finders[group.group.name].steps.find(request, goals, state)

    @refused_as(PathResponse, *BLAMED)
    def follow_path(self, request: PathRequest, current: FullState) -> PathResponse:
        """
        Return the joint path that leads a link along straight lines through waypoints, as far as it can be followed.

        If the path ends early, the response has the cause. A wrong request gets a refusal. The order of checks is
        MoveIt's: state, group, frames, step, waypoints. Without waypoints, the response has neither a refusal nor a
        path.
        """
        state = self.states.merge(current, request.state)
        group = self.groups.find(request.group)
        link = request.link or (group.group.tips[0] if len(group.group.tips) == 1 else '')
        frame = None
        if request.frame != link or not link:
            frame = self.frames.in_model_frame(request.frame, current)
        if not request.max_step > SMALLEST_STEP:
            raise Refusal.BAD_STEP.error(
                f'max_step is {request.max_step:g} m; it has to be larger than {SMALLEST_STEP:.2g} m.',
            )
        if not len(request.waypoints):
            text = 'There is no waypoint, so nothing is followed.'
            return PathResponse(Refusal.NONE, Cause.NONE, text)
        _require_thresholds(request)
        waypoints = [in_model_frame(link, pose, frame) for pose in request.waypoints]
        led = self.scene.goal_of(request.link, self.scene.around(request.state, state, current))
        if request.frame == link and (led.link or link) in self._links:
            here = state.root_pose @ self.frames.link_in_root(led.link or link, state)
            here = here if led.tool is None else here @ led.tool
            waypoints = list(itertools.accumulate(waypoints, np.matmul, initial=here))[1:]
        checks = self.scene.make_checks(request, state, current)
        branches = self.groups.finders[group.group.name].branches
        follower = PathFollower(branches, request, led, state, checks)
        self._require_speed_link(request)
        around = self.scene.around(request.state, state, current)
        padding = self.scene.collisions.padding
        return follower.follow(waypoints, LinePlanning(around, padding, self.planning_timeout))

    @refused_as(ToolPathResponse, *BLAMED)
    def plan_tool_path(self, goal: ToolPathGoal, current: FullState) -> ToolPathResponse:
        """Return the cheapest joint path along a tool path that the planner finds, by the objective of the goal."""
        state = self.states.merge(current, goal.state)
        group = self.groups.find(goal.group).group
        return self.groups.finders[group.name].tool_paths.find(goal, state, current)

    def _require_speed_link(self, request: PathRequest) -> None:
        """Raise RequestRefused if a request limits the speed of a link that does not exist; an empty name may pass."""
        if request.max_speed > 0.0 and request.speed_link not in ('', *self._links):
            text = f'There is no link {quote(request.speed_link)} whose speed could be limited'
            links = self.robot.tree.link_names
            raise unknown(Refusal.UNKNOWN_LINK, text, request.speed_link, links)

    @refused_as(StateResponse, *BLAMED)
    def check_state(self, request: StateRequest, current: FullState) -> StateResponse:
        """Return the collisions of a state, and whether each constraint holds."""
        state = self.states.merge(current, request.state)
        group = self.groups.find(request.group).group if request.group else None
        return check_state(self.scene, request, state, current, group)

    @refused_as(FkResponse, *BLAMED)
    def compute_fk(self, request: FkRequest, current: FullState) -> FkResponse:
        """
        Return the poses of links and carried objects in the frame of the request.

        Unknown names are left out and get a refusal; the text names them. An unknown frame gets a refusal too, and the
        poses are in the model frame.
        """
        return compute_fk(self.scene, request, current)


def _require_thresholds(request: PathRequest) -> None:
    """Raise RequestRefused if a jump threshold or the speed limit of a path is negative or NaN."""
    for name in ('jump_threshold', 'prismatic_jump', 'revolute_jump', 'max_speed'):
        value = getattr(request, name)
        if not value >= 0.0:
            raise Refusal.BAD_TARGET.error(
                f'{name} is {value:g}; it has to be a number of at least zero.'
            )
