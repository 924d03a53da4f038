"""
A robot that responds to requests by name: every planning group with its solver, states and frames.

A server never changes. A new parameter makes a new server, which shares everything else with the old one, so a request in
progress keeps the server that it began with.
"""

from collections.abc import Iterable, Mapping, Sequence
import copy
import itertools
import logging
import math
import operator
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    counted,
    describe_choices,
    InvalidLimits,
    list_names,
    quote,
    shorten,
    SsikError,
)
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.collision.scene import Contact
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause, CAUSE_TEXT, IkResult, IkStatus
from ssik_ros.server.groups.all_branches import BranchFinder
from ssik_ros.server.groups.batches import BatchRequest, BatchResponse, read_poses, solve_batch
from ssik_ros.server.groups.explanations import explain_pose, Explanation
from ssik_ros.server.groups.group_server import GroupServer, JointBounds
from ssik_ros.server.groups.notes import (
    describe_nearest,
    NOT_REACHED,
    notes_on_failure,
    notes_on_request,
)
from ssik_ros.server.groups.self_motion_finder import SelfMotionFinder, SelfMotionsResponse
from ssik_ros.server.paths.path_follower import PathFollower
from ssik_ros.server.paths.path_requests import PathRequest, PathResponse
from ssik_ros.server.paths.planned_lines import LinePlanning
from ssik_ros.server.paths.tool_path_finder import ToolPathFinder
from ssik_ros.server.paths.tool_path_requests import ToolPathGoal, ToolPathResponse
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
    NEW,
    StateRequest,
)
from ssik_ros.server.requests.poses import IS_WITHIN, require_pose
from ssik_ros.server.requests.refusals import (
    explain_refusal,
    Refusal,
    refused_as,
    RequestRefused,
    unknown,
)
from ssik_ros.server.scene.candidate_checks import CandidateChecks
from ssik_ros.server.scene.constraint_check import ConstraintVerdict
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

_LOGGER = logging.getLogger('ssik_ros.server')

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
_PERHAPS_CONSTRAINTS = (Cause.LIMITS, Cause.BUDGET, Cause.NOT_FOUND)
"""Causes that narrower limits may have brought about."""


class StateResponse(NamedTuple):
    """The collisions of a state, and which constraints the state satisfies."""

    refusal: Refusal
    cause: Cause
    text: str
    """Why the state could not be checked; empty where it was."""
    contacts: Sequence[Contact] = ()
    verdicts: Sequence[ConstraintVerdict] = ()
    """On each constraint, joints first, then positions, then orientations."""

    @property
    def is_valid(self) -> bool:
        """Return whether the state was checked, collides with nothing and satisfies all constraints."""
        return (
            self.refusal is Refusal.NONE
            and not self.contacts
            and all(verdict.holds for verdict in self.verdicts)
        )


class RobotReport(NamedTuple):
    """Planning groups that are served."""

    refusal: Refusal
    cause: Cause
    text: str
    groups: Sequence[GroupServer] = ()


class _Resolved(NamedTuple):
    """A request with its names looked up."""

    group: GroupServer
    state: FullState
    """Seed, joints outside the group, and the pose of the root link."""
    goals: list[LinkGoal]
    checks: CandidateChecks | None


class RobotServer:
    """
    Responds to requests about one robot; several threads may call it at once.

    Each method takes a request and where the robot is, which counts for everything that the request does not name.
    A request that cannot be solved gets a response with a refusal.
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
        :param kinematics: solver and parameters by group; other groups have the default solver.
        :param cancel: (1) flag that ends all searches.
        :param scene: the robot among objects; None for no objects.
        """
        self.robot = robot
        self.scene = PlanningScene(robot) if scene is None else scene
        self.states, self.frames = self.scene.states, self.scene.frames
        self.cancel = np.zeros(1, dtype=np.int64) if cancel is None else cancel
        self.planning_timeout = PLANNING_TIMEOUT
        """Budget of the planner where the search for a path along lines ends early [s]; 0: it is not asked."""
        self._links = robot.tree.link_index
        self._model_frames = {robot.model_frame}
        """Frames that are the model frame; the empty name too, after a log line has said so."""
        given = kinematics or {}
        self.groups = {
            group.name: self._make_group(group, given.get(group.name)) for group in groups
        }
        self._finders = {name: BranchFinder(group) for name, group in self.groups.items()}
        self._motion_finders = {name: SelfMotionFinder(own) for name, own in self._finders.items()}
        own = ((name, server.group) for name, server in self.groups.items())
        self._tool_paths = {name: ToolPathFinder(self.scene, group) for name, group in own}

    def _make_group(self, group: JointGroup, kinematics: GroupKinematics | None) -> GroupServer:
        own = kinematics or GroupKinematics(group.name)
        return GroupServer(self.frames, group, own, self.cancel, self.states.untold)

    def with_kinematics(self, kinematics: GroupKinematics) -> 'RobotServer':
        """
        Return a server in which one group has another solver or other parameters, warmed up.

        :param kinematics: the group's new kinematics.
        """
        other = copy.copy(self)
        replaced = self._make_group(self.groups[kinematics.group].group, kinematics)
        replaced.warm_up()
        other.groups = {**self.groups, kinematics.group: replaced}
        finder = self._finders[kinematics.group].with_server(replaced)
        other._finders = {**self._finders, kinematics.group: finder}
        own = SelfMotionFinder(finder)
        other._motion_finders = {**self._motion_finders, kinematics.group: own}
        return other

    def warm_up(self) -> None:
        """Set up everything that first requests would otherwise wait for."""
        for group in self.groups.values():
            group.warm_up()
            self._solve_once(group)
        self.scene.collisions.warm_up()

    def _solve_once(self, group: GroupServer) -> None:
        """Solve for the present poses of the tips, so that the first request finds every cache filled."""
        if group.solver is None:
            return
        state, tips = self.states.default(), list(group.solver.tip_frames)
        here = [state.root_pose @ pose for pose in self.frames.links_in_root(tips, state)]
        framed = [FramedPose(self.robot.model_frame, pose) for pose in here]
        self.solve(IkRequest(group.group.name, tips, framed, timeout=WARM_UP_TIMEOUT), state)

    def warm_up_branches(self) -> None:
        """Make the closed forms that requests for every branch need."""
        for finder in self._finders.values():
            finder.warm_up()

    def solve(self, request: IkRequest, current: FullState) -> IkResponse:
        """
        Find joint positions with which links are at poses.

        The order of checks is MoveIt's: group, state, number of goals, frames, links.
        """
        try:
            group = self.groups.get(request.group) or self.find_group(request.group)
            state = self.states.merge(current, request.state)
            link, framed = request.links[:1], request.poses[:1]
            # Most requests name one pose of one link in the model frame, and neither constraints nor collisions.
            if not (
                len(request.poses) == 1 == len(request.links)
                and link[0] in self._links
                and framed[0].frame in self._model_frames
                and request.constraints is NO_CONSTRAINTS
                and not request.avoid_collisions
                and (solver := group.solver) is not None
                and len(solver.tip_frames) == 1
                and all(map(IS_WITHIN, map(abs, flatten(framed[0].pose.tolist()))))
            ):
                resolved = self._resolve(request, current, group, state)
                return self._solve_resolved(request, resolved)
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
                resolved = _Resolved(group, state, goals, None)
                return self._respond(request, resolved, result, solve_ns)
            solution = group.with_group(state, result.q)
            said = NO_REFUSAL, NO_CAUSE, result.summary(), solution, result, solve_ns, ()
            return NEW(IkResponse, said)
        except SsikError as error:
            return IkResponse(*explain_refusal(error, *BLAMED))

    def _solve_resolved(self, request: IkRequest, resolved: _Resolved) -> IkResponse:
        """Return the response to any request whose names are looked up."""
        limits = _narrow_limits(resolved)
        if isinstance(limits, str):
            text = f'No solution: the joint constraints leave no room: {limits}.'
            refused = IkResponse(Refusal.NONE, Cause.CONSTRAINTS, text)
            return _with_notes(request, resolved, refused)
        result, solve_ns = resolved.group.solve(
            resolved.goals,
            resolved.state,
            timeout=request.timeout,
            accepts=resolved.checks,
            limits=limits,
        )
        return self._respond(request, resolved, result, solve_ns, limits)

    def _respond(
        self,
        request: IkRequest,
        resolved: _Resolved,
        result: IkResult,
        solve_ns: int,
        limits: JointBounds | None = None,
    ) -> IkResponse:
        """Return the response to a request, with notes on possible mistakes in the request."""
        if result.solved:
            state = resolved.group.with_group(resolved.state, result.q)
            said = Refusal.NONE, Cause.NONE, result.summary(), state, result, solve_ns
            response = IkResponse(*said)
        else:
            response = self._describe_failure(request, resolved, result, solve_ns, limits)
        return _with_notes(request, resolved, response)

    def solve_unchecked(self, request: IkRequest, current: FullState) -> IkResponse:
        """Solve without collision checks; say so if the request wants them."""
        wants_checks, request.avoid_collisions = request.avoid_collisions, False
        response = self.solve(request, current)
        return response._replace(text=f'{response.text} {UNCHECKED}') if wants_checks else response

    def describe(self, group: str, current: FullState) -> RobotReport:
        """Return one planning group, or all of them for an empty name."""
        if group and group not in self.groups:
            choices = describe_choices(group, self.groups)
            text = f'There is no group {quote(group)}. {choices}'
            return RobotReport(Refusal.UNKNOWN_GROUP, Cause.UNKNOWN_GROUP, text)
        names = (group,) if group else tuple(self.groups)
        return RobotReport(NO_REFUSAL, NO_CAUSE, '', [self.groups[name] for name in names])

    def _resolve(
        self, request: IkRequest, current: FullState, group: GroupServer, state: FullState
    ) -> _Resolved:
        """Return a request with all names looked up, in MoveIt's order of checks."""
        found = self._poses(request, current)
        checks = self.scene.make_checks(request, state, current)
        around = self.scene.around(request.state, state, current)
        pairs = zip(request.links, found)
        goals = [self.scene.goal_of(link, around, pose) for link, pose in pairs]
        return _Resolved(group, state, goals, checks)

    def _describe_failure(
        self,
        request: IkRequest,
        resolved: _Resolved,
        result: IkResult,
        solve_ns: int,
        limits: JointBounds | None,
    ) -> IkResponse:
        """Return the response of a search without a solution."""
        group, state, goals, checks = resolved
        text = result.summary(describe_nearest(group, goals, state, result))
        # A response without a solution never counts as a success.
        cause = result.cause or Cause.NOT_FOUND
        if checks is not None and cause == Cause.VALIDATION:
            cause = Cause.DEADLINE if result.clock_ended else checks.cause
            clock = ' The clock ended the search.' if result.clock_ended else ''
            text = (
                f'No solution: {checks.describe()} ({counted(result.searches, "search")}).{clock}'
            )
        elif limits is not None and _is_kept_away(request, resolved, result, solve_ns):
            cause = Cause.CONSTRAINTS
            text = f'No solution: within the joint constraints, {CAUSE_TEXT[result.cause]}.'
        colliding = (
            tuple(checks.pair or ()) if checks is not None and cause == Cause.COLLISION else ()
        )
        return IkResponse(Refusal.NONE, cause, text, None, result, solve_ns, colliding)

    @refused_as(BranchesResponse, *BLAMED)
    def solve_all(self, request: IkRequest, current: FullState) -> BranchesResponse:
        """Find every branch of a pose, best first."""
        group = self.find_group(request.group)
        state = self.states.merge(current, request.state)
        _, _, goals, checks = self._resolve(request, current, group, state)
        tolerance = request.branches.tolerance
        if not 0.0 <= tolerance < math.inf:
            raise Refusal.BAD_TOLERANCE.error(
                f'The tolerance {tolerance:g} is no finite number of at least zero.',
            )
        finder = self._finders[group.group.name]
        response = finder.find(
            goals, state, request.branches, timeout=request.timeout, accepts=checks
        )
        if checks is not None and response.cause == Cause.COLLISION:
            text = f'No solution: {checks.describe()}.'
            return response._replace(text=text, cause=checks.cause)
        return response

    @refused_as(SelfMotionsResponse, *BLAMED)
    def self_motions(self, request: IkRequest, current: FullState) -> SelfMotionsResponse:
        """Find all postures of a pose as curves."""
        group = self.find_group(request.group)
        state = self.states.merge(current, request.state)
        (goal,) = self._resolve(request, current, group, state).goals
        finder = self._motion_finders[group.group.name]
        return finder.find(goal, state, request.self_motions)

    @refused_as(BatchResponse, *BLAMED)
    def solve_batch(self, request: BatchRequest, current: FullState) -> BatchResponse:
        """Find joint positions for each of many poses of one link."""
        group = self.find_group(request.group)
        state = self.states.merge(current, request.state)
        poses = read_poses(request.poses)
        frame = self.frames.in_model_frame(request.frame, current)
        poses = poses if frame is None else frame @ poses
        checks = self.scene.make_checks(request, state, current)
        goal = self.scene.goal_of(request.link, self.scene.around(request.state, state, current))
        return solve_batch(group, request, goal, poses, state, checks)

    @refused_as(Explanation, *BLAMED)
    def explain(self, request: IkRequest, current: FullState) -> Explanation:
        """Find out why a pose has no solution, and find a remedy."""
        response = self.solve(request, current)
        if response.refusal is not NO_REFUSAL:
            return Explanation(*response[:3])
        group = self.find_group(request.group)
        state = self.states.merge(current, request.state)
        goals = self._resolve(request, current, group, state).goals
        finder = self._finders[group.group.name]
        return explain_pose(finder, goals[0], state, response, timeout=request.timeout)

    @refused_as(PathResponse, *BLAMED)
    def follow_path(self, request: PathRequest, current: FullState) -> PathResponse:
        """
        Lead a link along straight lines.

        The order of checks is MoveIt's: state, group, frames, step, waypoints.
        """
        state = self.states.merge(current, request.state)
        group = self.find_group(request.group)
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
        waypoints = [_in_model_frame(link, pose, frame) for pose in request.waypoints]
        led = self.scene.goal_of(request.link, self.scene.around(request.state, state, current))
        if request.frame == link and (led.link or link) in self._links:
            here = state.root_pose @ self.frames.link_in_root(led.link or link, state)
            here = here if led.tool is None else here @ led.tool
            waypoints = list(itertools.accumulate(waypoints, np.matmul, initial=here))[1:]
        checks = self.scene.make_checks(request, state, current)
        follower = PathFollower(self._finders[group.group.name], request, led, state, checks)
        self._require_speed_link(request)
        around = self.scene.around(request.state, state, current)
        padding = self.scene.collisions.padding
        return follower.follow(waypoints, LinePlanning(around, padding, self.planning_timeout))

    @refused_as(ToolPathResponse, *BLAMED)
    def plan_tool_path(self, goal: ToolPathGoal, current: FullState) -> ToolPathResponse:
        """Find the best joint path along a tool path."""
        state = self.states.merge(current, goal.state)
        group = self.find_group(goal.group).group
        return self._tool_paths[group.name].find(goal, state, current)

    def _require_speed_link(self, request: PathRequest) -> None:
        """Refuse a limit on the speed of an unknown link."""
        if request.max_speed > 0.0 and request.speed_link not in ('', *self._links):
            text = f'There is no link {quote(request.speed_link)} whose speed could be limited'
            known = self.robot.tree.link_names
            raise unknown(Refusal.UNKNOWN_LINK, text, request.speed_link, known)

    @refused_as(StateResponse, *BLAMED)
    def check_state(self, request: StateRequest, current: FullState) -> StateResponse:
        """Check whether a state is free of collisions and satisfies constraints."""
        state = self.states.merge(current, request.state)
        group = self.find_group(request.group).group if request.group else None
        constraints = self.scene.make_constraints(request.constraints, current)
        verdicts = () if constraints is None else constraints.judge(state)
        around = self.scene.surroundings(request.state.carried, state, current)
        contacts = self.scene.collisions.contacts(around, state, group)
        return StateResponse(Refusal.NONE, Cause.NONE, '', contacts, verdicts)

    @refused_as(FkResponse, *BLAMED)
    def compute_fk(self, request: FkRequest, current: FullState) -> FkResponse:
        """Compute the poses of links; unknown links are left out and named."""
        links = request.links
        if not links:
            raise Refusal.GOAL_COUNT.error('fk_link_names is empty: name at least one link.')
        state = self.states.merge(current, request.state)
        around = self.scene.around(request.state, state, current)
        # Names may come many times; each is looked up and placed once.
        goals = {link: self.scene.goal_of(link, around) for link in dict.fromkeys(links)}
        goals = {link: goal for link, goal in goals.items() if goal.link in self._links}
        poses = dict(zip(goals, self._place(list(goals.values()), state), strict=True))
        known = [link for link in links if link in poses]
        refusal, text = Refusal.NONE, f'{counted(len(known), "pose")}.'
        if len(known) < len(links):
            missing = list_names(link for link in links if link not in poses)
            refusal = Refusal.UNKNOWN_LINK
            text = f'Not links of robot {shorten(self.robot.name)}: {missing}.'
        named, frame = self.robot.model_frame, None
        try:
            frame = self.frames.in_model_frame(request.frame, current)
        except RequestRefused as refused:
            refusal, text = refused.refusal, str(refused)
        else:
            # A link at the model frame keeps the name that the request has.
            named = request.frame if frame is not None or request.frame in self._links else named
        if frame is not None:
            inverse = invert_pose(frame)
            poses = {link: inverse @ pose for link, pose in poses.items()}
        placed = [poses[link] for link in known]
        return FkResponse(refusal, Cause.NONE, text, known, placed, named)

    def _place(self, led: Sequence[LinkGoal], state: FullState) -> list[FloatArray]:
        """Return the poses (4, 4) of goals in the model frame."""
        poses = self.frames.links_in_root([goal.link for goal in led], state)
        return [
            state.root_pose @ (pose if goal.tool is None else pose @ goal.tool)
            for goal, pose in zip(led, poses, strict=True)
        ]

    def find_group(self, name: str) -> GroupServer:
        """
        Return a group.

        :param name: its name.
        :raises RequestRefused: with the names that there are.
        """
        found = self.groups.get(name)
        if found is None:
            what = f'There is no group {quote(name)}.' if name else 'The group name is empty.'
            known = list_names(self.groups) or 'none'
            raise Refusal.UNKNOWN_GROUP.error(
                f'{what} Groups of robot {quote(self.robot.name)}: {known}.'
            )
        return found

    def _poses(self, request: IkRequest, current: FullState) -> list[FloatArray]:
        """Return the poses (4, 4) in the model frame."""
        if not request.poses or len(request.poses) != len(request.links):
            raise Refusal.GOAL_COUNT.error(
                f'{counted(len(request.poses), "pose")} came with {counted(len(request.links), "link name")}.',
            )
        # All frames before any pose: an unknown frame outranks numbers that are not finite.
        frames = []
        for framed in request.poses:
            frames.append(self.frames.in_model_frame(framed.frame, current))
            if not framed.frame and '' not in self._model_frames:
                self._model_frames.add('')
                _LOGGER.info(
                    'A pose came without a frame; the model frame %s is meant. This is said once.',
                    quote(self.robot.model_frame),
                )
        triples = zip(request.links, request.poses, frames)
        return [_in_model_frame(link, framed.pose, frame) for link, framed, frame in triples]


def _narrow_limits(resolved: _Resolved) -> JointBounds | str | None:
    """Return the limits that joint constraints leave; why, where they leave no room; None without constraints."""
    checks = resolved.checks
    if checks is None or checks.constraints is None:
        return None
    return checks.constraints.narrow(resolved.group.group, resolved.state)


def _with_notes(request: IkRequest, resolved: _Resolved, response: IkResponse) -> IkResponse:
    """Return a response whose text also names possible mistakes in the request."""
    group, state = resolved.group, resolved.state
    notes = notes_on_request(group, state)
    if response.result is not None and response.result.cause in NOT_REACHED:
        notes += notes_on_failure(group, resolved.goals, request.poses, state, response.result)
    return response._replace(text=' '.join((response.text, *notes))) if notes else response


def _is_kept_away(
    request: IkRequest, resolved: _Resolved, result: IkResult, spent_ns: int
) -> bool:
    """Return whether a pose that was not reached within the joint constraints is reached without them."""
    if result.cause not in _PERHAPS_CONSTRAINTS:
        return False
    group = resolved.group
    budget = request.timeout if request.timeout > 0.0 else group.kinematics.timeout
    left = budget - 1e-9 * spent_ns
    if left <= 0.0:
        return False
    free, _ = group.solve(resolved.goals, resolved.state, timeout=left)
    return free.solved


def _in_model_frame(link: str, pose: FloatArray, frame: FloatArray | None) -> FloatArray:
    """Return a pose (4, 4) given in a frame (4, 4) in the model frame; None is the model frame itself."""
    if not all(map(IS_WITHIN, map(abs, flatten(pose.tolist())))):
        require_pose(_pose_of(link), pose)
    return pose if frame is None else frame @ pose


def _pose_of(link: str) -> str:
    return f'The pose for link {quote(link)}' if link else 'The pose'


def _require_thresholds(request: PathRequest) -> None:
    """Refuse thresholds that are no numbers of at least zero."""
    for name in ('jump_threshold', 'prismatic_jump', 'revolute_jump', 'max_speed'):
        value = getattr(request, name)
        if not value >= 0.0:
            raise Refusal.BAD_TARGET.error(
                f'{name} is {value:g}; it has to be a number of at least zero.'
            )
