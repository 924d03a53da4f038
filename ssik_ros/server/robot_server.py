"""
A robot that can be asked: every group with its solver, states and frames by name.

Immutable for those who ask: what changes is a new server that shares everything else, so that a request
in progress keeps the one it began with.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
import copy
import dataclasses
import functools
import itertools
import logging
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    counted,
    describe_choices,
    InvalidLimits,
    list_names,
    ModelError,
    quote,
    shorten,
    SsikError,
)
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.collision.objects import CarriedObject
from ssik_ros.model.collision.scene import Contact
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause, CAUSE_TEXT, IkResult, IkStatus
from ssik_ros.server.groups.all_branches import BranchFinder, NOWHERE
from ssik_ros.server.groups.batches import (
    BatchRequest,
    BatchResponse,
    read_poses,
    refused_batch,
    solve_batch,
)
from ssik_ros.server.groups.explanations import explain_pose, Explanation
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.groups.notes import (
    describe_empty_frame,
    describe_nearest,
    NOT_REACHED,
    notes_on_failure,
    notes_on_request,
)
from ssik_ros.server.paths.path_follower import PathFollower
from ssik_ros.server.paths.path_requests import PathRequest, PathResponse
from ssik_ros.server.requests import poses
from ssik_ros.server.requests.constraints import ConstraintsGiven, NO_CONSTRAINTS
from ssik_ros.server.requests.ik_requests import (
    BranchesResponse,
    BranchOptions,
    BranchReport,
    CarriedGiven,
    FkResponse,
    FramedPose,
    FullState,
    IkRequest,
    IkResponse,
    LinkGoal,
    NEW,
    NOTHING_CARRIED,
    ObjectGiven,
    StateGiven,
)
from ssik_ros.server.requests.poses import NO_POSE, TOO_FAR
from ssik_ros.server.requests.refusals import Refusal, RequestRefused
from ssik_ros.server.requests.task_requests import CheckedRequest
from ssik_ros.server.scene.candidate_checks import CandidateChecks
from ssik_ros.server.scene.constraint_check import ConstraintCheck, ConstraintVerdict
from ssik_ros.server.scene.frames import FrameReader
from ssik_ros.server.scene.robot_collisions import RobotCollisions
from ssik_ros.server.scene.states import StateReader
from ssik_ros.server.scene.world import check_objects, PlacedFrame, SceneWorld, Surroundings
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

_LOGGER = logging.getLogger('ssik_ros.server')

ONCE = 0.05
"""Budget of the request that is asked to warm up [s], for solvers that use all the time that they get."""


Transforms = Callable[[str, Collection[str]], PlacedFrame | str]
"""Returns where a frame is, relative to one of some frames, or a sentence that says why it is not known."""

CAUSE_OF_REFUSAL = {
    Refusal.UNKNOWN_GROUP: Cause.UNKNOWN_GROUP,
    Refusal.BAD_STATE: Cause.BAD_STATE,
    Refusal.GOAL_COUNT: Cause.BAD_TARGET,
    Refusal.UNKNOWN_FRAME: Cause.FRAME,
    Refusal.UNKNOWN_LINK: Cause.UNKNOWN_LINK,
    Refusal.BAD_TARGET: Cause.BAD_TARGET,
    Refusal.NO_COLLISION_CHECK: Cause.COLLISION,
    Refusal.CONSTRAINTS: Cause.CONSTRAINTS,
    Refusal.NOT_SEARCHABLE: Cause.BUDGET,
    Refusal.BAD_TOLERANCE: Cause.CONSTRAINTS,
    Refusal.BAD_STEP: Cause.CONSTRAINTS,
    Refusal.BAD_OPTION: Cause.CONSTRAINTS,
}

SMALLEST_STEP = float(np.finfo(np.float64).eps)
"""A path is not divided into steps as small as this or smaller [m]."""
SOLVED, NO_REFUSAL, NO_CAUSE = IkStatus.SOLVED, Refusal.NONE, Cause.NONE
"""By plain names: looking up a member of an enumeration costs time at every solve."""
_PERHAPS_CONSTRAINTS = (Cause.LIMITS, Cause.BUDGET, Cause.NOT_FOUND)
"""Causes that narrower limits may have brought about."""


class StateJudgement(NamedTuple):
    """What there is to say against a state."""

    contacts: Sequence[Contact]
    verdicts: Sequence[ConstraintVerdict]
    """On each constraint, joints first, then positions, then orientations."""
    refusal: Refusal
    text: str
    """Why nothing could be judged."""

    @property
    def is_valid(self) -> bool:
        """Return whether the state was judged, collides with nothing and keeps all constraints."""
        return (
            self.refusal is Refusal.NONE
            and not self.contacts
            and all(verdict.holds for verdict in self.verdicts)
        )


class _Understood(NamedTuple):
    """A request whose names all exist."""

    group: GroupServer
    state: FullState
    """Seed, joints outside the group, and where the root link stands."""
    goals: list[LinkGoal]
    checks: CandidateChecks | None
    contradicted: Sequence[str]
    """Followers that were given other values than their leaders."""


class RobotServer:
    """Answers requests about one robot; may be asked from several threads at once."""

    def __init__(
        self,
        robot: RobotModel,
        groups: Iterable[JointGroup],
        kinematics: Mapping[str, GroupKinematics] | None = None,
        cancel: NDArray[np.int64] | None = None,
        world: SceneWorld | None = None,
        transforms: Transforms | None = None,
        padding: float = 0.0,
        initial: Mapping[str, float] | None = None,
    ) -> None:
        """
        Make a solver for every group.

        :param robot: the robot.
        :param groups: the groups to serve.
        :param kinematics: solver and parameters by group; others have the default solver.
        :param cancel: (1) flag that ends all searches.
        :param world: the objects around; None for none.
        :param transforms: knows frames that are neither links nor objects, given the names of those that are known.
        :param padding: bodies nearer than this to each other collide [m].
        :param initial: where variables that nobody reports are, instead of at their default values.
        """
        self.robot = robot
        self._told_empty_frame = False
        self.world = SceneWorld() if world is None else world
        self._transforms = transforms
        self._known_frames = frozenset({robot.model_frame, *robot.tree.link_index})
        self.states = StateReader(robot, initial)
        self.frames = FrameReader(robot, self._find_frame)
        self.cancel = np.zeros(1, dtype=np.int64) if cancel is None else cancel
        self._collisions = RobotCollisions(robot, padding)
        given = kinematics or {}
        self.groups: dict[str, GroupServer] = {
            group.name: GroupServer(
                self.frames, group, given.get(group.name) or GroupKinematics(group.name)
            )
            for group in groups
        }
        self._finders = {name: BranchFinder(group) for name, group in self.groups.items()}

    def _find_frame(self, name: str) -> PlacedFrame | str:
        """Return where a frame is that is no link, or why nobody knows."""
        placed = self.world.now().find_frame(name)
        if placed is not None:
            return placed
        if self._transforms is None:
            return ''
        found = self._transforms(name, self._known_frames)
        if isinstance(found, PlacedFrame) and found.base == self.robot.model_frame:
            return found._replace(base='')
        return found

    def with_kinematics(self, kinematics: GroupKinematics) -> 'RobotServer':
        """
        Return a server in which one group has another solver or other parameters, warmed up.

        :param kinematics: the group's new kinematics.
        """
        other = copy.copy(self)
        replaced = GroupServer(self.frames, self.groups[kinematics.group].group, kinematics)
        replaced.warm_up()
        other.groups = {**self.groups, kinematics.group: replaced}
        finder = self._finders[kinematics.group].with_server(replaced)
        other._finders = {**self._finders, kinematics.group: finder}
        return other

    def warm_up(self) -> None:
        """Set up everything that first requests would otherwise wait for."""
        poses.warm_up()
        for group in self.groups.values():
            group.warm_up()
            self._ask_once(group)
        self._collisions.warm_up()

    def _ask_once(self, group: GroupServer) -> None:
        """Ask for where the tips are anyway: what a first request has to look up is known then."""
        if group.solver is None:
            return
        state, tips = self.states.default(), list(group.solver.tip_frames)
        poses = [state.root_pose @ pose for pose in self.frames.links_in_root(tips, state)]
        framed = [FramedPose(self.robot.model_frame, pose) for pose in poses]
        self.answer(IkRequest(group.group.name, tips, framed, timeout=ONCE), state)

    def warm_up_branches(self) -> None:
        """Make the closed forms that requests for every branch need."""
        for finder in self._finders.values():
            finder.warm_up()

    def answer(self, request: IkRequest, current: FullState) -> IkResponse:
        """
        Answer a request; what is wrong with it is an answer too.

        The order of checks is MoveIt's: group, state, number of goals, frames, links.

        :param request: the request.
        :param current: where the robot is: seed and joints that the request does not name.
        """
        try:
            return self._search(request, self._understand(request, current))
        except SsikError as error:
            refusal, cause, text = _tell(error)
            return IkResponse(None, refusal, cause, text)

    def answer_all(
        self, request: IkRequest, wishes: BranchOptions, current: FullState
    ) -> BranchesResponse:
        """
        Answer a request by every branch; what is wrong with it is an answer too.

        :param request, current: as for :meth:`answer`, and understood in the same way.
        :param wishes: what else is asked.
        """
        try:
            return self._answer_all(request, wishes, current)
        except SsikError as error:
            return BranchesResponse((), (), BranchReport(), *_tell(error))

    def answer_batch(self, request: BatchRequest, current: FullState) -> BatchResponse:
        """
        Answer a request for many poses; what is wrong with it is an answer too.

        :param request: the request.
        :param current: where the robot is, for what the request does not name.
        """
        try:
            group = self.find_group(request.group)
            state = self.states.merge(current, request.state)
            poses = read_poses(request.poses)
            frame = self.frames.in_model_frame(request.frame, current)
            poses = poses if frame is None else frame @ poses
            checks = self.make_checks(request, state, current)
            goal = self._led(request.link, self._around(request.carried, state, current))
            return solve_batch(group, request, goal, poses, state, checks, self.cancel)
        except SsikError as error:
            return refused_batch(*_tell(error))

    def explain(self, request: IkRequest, current: FullState) -> Explanation:
        """
        Answer a request for one pose, and say what is behind the answer.

        :param request, current: as for :meth:`answer`.
        """
        try:
            understood = self._understand(request, current)
            answer = self._search(request, understood)
            group, state, goals, checks, _ = understood
            pair = None if checks is None else checks.pair
            return explain_pose(
                group,
                self._finders[group.group.name],
                goals[0],
                state,
                answer,
                timeout=request.timeout,
                colliding=tuple(pair or ()) if answer.cause == Cause.COLLISION else (),
                cancel=self.cancel,
            )
        except SsikError as error:
            return Explanation(IkResponse(None, *_tell(error)))

    def follow(self, request: PathRequest, current: FullState) -> PathResponse:
        """
        Answer a request for a path; what is wrong with it is an answer too.

        The order of checks is MoveIt's: state, group, frames, step, waypoints.

        :param request: the request.
        :param current: where the robot is, for what the request does not name.
        """
        try:
            return self._follow(request, current)
        except SsikError as error:
            return PathResponse(None, None, 0.0, *_tell(error))

    def _follow(self, request: PathRequest, current: FullState) -> PathResponse:
        state = self.states.merge(current, request.state)
        group = self.find_group(request.group)
        link = request.link or (group.group.tips[0] if len(group.group.tips) == 1 else '')
        frame = None
        if request.frame != link or not link:
            frame = self.frames.in_model_frame(request.frame, current)
        if not request.max_step > SMALLEST_STEP:
            raise RequestRefused(
                Refusal.BAD_STEP,
                f'max_step is {request.max_step:g} m; it has to be larger than {SMALLEST_STEP:.2g} m.',
            )
        if not len(request.waypoints):
            text = 'There is no waypoint, so nothing is followed.'
            return PathResponse(None, None, 0.0, Refusal.NONE, Cause.NONE, text)
        _require_jumps(request)
        poses = [_in_model_frame(link, pose, frame) for pose in request.waypoints]
        led = self._led(request.link, self._around(request.carried, state, current))
        if request.frame == link and (led.link or link) in self.robot.tree.link_index:
            here = state.root_pose @ self.frames.link_in_root(led.link or link, state)
            here = here if led.tool is None else here @ led.tool
            poses = list(itertools.accumulate(poses, np.matmul, initial=here))[1:]
        checks = self.make_checks(request, state, current)
        finder = self._finders[group.group.name]
        follower = PathFollower(group, finder, request, led, state, checks, self.cancel)
        speed_link = request.speed_link
        if request.max_speed > 0.0 and speed_link not in ('', *self.robot.tree.link_index):
            choices = describe_choices(speed_link, self.robot.tree.link_names)
            raise RequestRefused(
                Refusal.UNKNOWN_LINK,
                f'There is no link {quote(speed_link)} whose speed could be limited. {choices}',
            )
        return follower.follow(poses)

    def _understand(self, request: IkRequest, current: FullState) -> _Understood:
        """Return what a request means: the one place that decides it, in MoveIt's order of checks."""
        group = self.groups.get(request.group) or self.find_group(request.group)
        state = self.states.merge(current, request.state)
        poses = self._poses(request, current)
        checks = self.make_checks(request, state, current)
        goals = []
        around = None
        for link, pose in zip(request.links, poses):
            if link in self.robot.tree.link_index:
                goals.append(NEW(LinkGoal, (link, pose, None)))
            else:
                around = around or self._around(request.carried, state, current)
                goals.append(self._led(link, around, pose))
        contradicted: Sequence[str] = ()
        if self.states.has_followers:
            contradicted = self.states.contradicted(request.state, state)
        return NEW(_Understood, (group, state, goals, checks, contradicted))

    def _answer_all(
        self, request: IkRequest, wishes: BranchOptions, current: FullState
    ) -> BranchesResponse:
        group, state, goals, checks, _ = self._understand(request, current)
        if not 0.0 <= wishes.tolerance < math.inf:
            raise RequestRefused(
                Refusal.BAD_TOLERANCE,
                f'The tolerance {wishes.tolerance:g} is no finite number of at least zero.',
            )
        finder = self._finders[group.group.name]
        answer = finder.find(
            goals,
            state,
            wishes,
            timeout=request.timeout,
            accepts=checks,
            cancel=self.cancel,
        )
        if checks is not None and answer.cause == Cause.COLLISION:
            text = f'No solution: {checks.describe()}.'
            return answer._replace(text=text, cause=checks.cause)
        return answer

    def _search(self, request: IkRequest, understood: _Understood) -> IkResponse:
        """Return what the group's solver finds, and what there is to note."""
        answer = self._search_within(request, understood)
        notes = notes_on_request(understood.group, understood.state, understood.contradicted)
        if answer.result is not None and answer.result.cause in NOT_REACHED:
            notes += notes_on_failure(
                understood.group, understood.goals, request.poses, understood.state, answer.result
            )
        return answer._replace(text=' '.join((answer.text, *notes))) if notes else answer

    def _search_within(self, request: IkRequest, understood: _Understood) -> IkResponse:
        """Return what the group's solver finds within the limits that joint constraints leave."""
        group, state, goals, checks, _ = understood
        limits = None
        if checks is not None and checks.constraints is not None:
            narrowed = checks.constraints.narrow(group.group, state)
            if isinstance(narrowed, str):
                text = f'No solution: the joint constraints leave no room: {narrowed}.'
                return IkResponse(None, Refusal.NONE, Cause.CONSTRAINTS, text)
            limits = narrowed
        result, solve_ns = group.solve(
            goals,
            state,
            timeout=request.timeout,
            accepts=checks,
            cancel=self.cancel,
            limits=limits,
        )
        if result.status == SOLVED:
            text = result.summary()
            solution = group.with_group(state, result.solutions[0])
            return NEW(IkResponse, (solution, NO_REFUSAL, NO_CAUSE, text, result, solve_ns))
        text = result.summary(describe_nearest(group, goals, state, result))
        cause = result.cause
        if checks is not None and cause == Cause.VALIDATION:
            cause = Cause.DEADLINE if result.clock_ended else checks.cause
            clock = ' The clock ended the search.' if result.clock_ended else ''
            text = (
                f'No solution: {checks.describe()} ({counted(result.searches, "search")}).{clock}'
            )
        elif limits is not None and self._is_kept_away(request, understood, result, solve_ns):
            cause = Cause.CONSTRAINTS
            text = f'No solution: within the joint constraints, {CAUSE_TEXT[result.cause]}.'
        return IkResponse(None, Refusal.NONE, cause, text, result, solve_ns)

    def _is_kept_away(
        self, request: IkRequest, understood: _Understood, result: IkResult, spent_ns: int
    ) -> bool:
        """Return whether a pose that was not reached within the joint constraints is reached without."""
        if result.cause not in _PERHAPS_CONSTRAINTS:
            return False
        group = understood.group
        budget = request.timeout if request.timeout > 0.0 else group.kinematics.timeout
        left = budget - 1e-9 * spent_ns
        if left <= 0.0:
            return False
        free, _ = group.solve(
            understood.goals, understood.state, timeout=left, accepts=None, cancel=self.cancel
        )
        return free.solved

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
            raise RequestRefused(
                Refusal.UNKNOWN_GROUP, f'{what} Groups of robot {quote(self.robot.name)}: {known}.'
            )
        return found

    def _poses(self, request: IkRequest, current: FullState) -> list[FloatArray]:
        """Return the poses (4, 4) in the model frame."""
        if not request.poses or len(request.poses) != len(request.links):
            raise RequestRefused(
                Refusal.GOAL_COUNT,
                f'{counted(len(request.poses), "pose")} came with {counted(len(request.links), "link name")}.',
            )
        # All frames before any pose: an unknown frame outranks numbers that are not finite.
        frames = []
        for framed in request.poses:
            frames.append(self.frames.in_model_frame(framed.frame, current))
            if not framed.frame and not self._told_empty_frame:
                self._told_empty_frame = True
                _LOGGER.info('%s', describe_empty_frame(self.robot.model_frame))
        found = []
        for link, framed, frame in zip(request.links, request.poses, frames):
            found.append(_in_model_frame(link, framed.pose, frame))
        return found

    def _led(
        self,
        name: str,
        around: Callable[[], Surroundings],
        pose: FloatArray = NOWHERE,
    ) -> LinkGoal:
        """Return a goal at a pose for a link, or for a carried object or a subframe of one."""
        if name and name not in self.robot.tree.link_index:
            placed = around().find_frame(name)
            if placed is not None and placed.base:
                return LinkGoal(placed.base, pose, placed.pose)
        return LinkGoal(name, pose)

    def make_checks(
        self,
        request: IkRequest | PathRequest | BatchRequest | CheckedRequest,
        state: FullState,
        current: FullState,
    ) -> CandidateChecks | None:
        """
        Return what candidates have to pass, if there is anything.

        :param request: with constraints, and whether collisions are to be avoided.
        :param state: the state that the request is about.
        :param current: where the robot is.
        :raises RequestRefused: for what cannot be checked.
        """
        if request.constraints is NO_CONSTRAINTS and not request.avoid_collisions:
            return None
        constraints = self.make_constraints(request.constraints, current)
        if not request.avoid_collisions:
            return None if constraints is None else CandidateChecks(constraints, None)
        around = self.surroundings(request.carried, state, current)
        return CandidateChecks(constraints, self._collisions.finder(around))

    def make_constraints(
        self, wishes: ConstraintsGiven, current: FullState
    ) -> ConstraintCheck | None:
        """
        Return the check of constraints, if there are any.

        :param wishes: the constraints.
        :param current: where the robot is.
        :raises RequestRefused: for what is not understood.
        """
        if wishes is NO_CONSTRAINTS or wishes.are_none:
            return None
        return ConstraintCheck(
            self.frames, wishes, lambda frame: self.frames.in_model_frame(frame, current)
        )

    def surroundings(
        self, given: CarriedGiven, state: FullState, current: FullState
    ) -> Surroundings:
        """
        Return the objects around the robot, with those that a request says are carried.

        :param given: what the request says.
        :param state: the state that the request is about.
        :param current: where the robot is.
        :raises RequestRefused: for objects that are none, and unknown links and frames.
        """
        around = self.world.now()
        if given.forgets and around.carried:
            around = around._replace(carried=())
        if not given.objects:
            return around
        gone = {entry.object.name for entry in given.objects if entry.is_gone}
        if gone:
            kept = tuple(c for c in around.carried if c.object.name not in gone)
            around = around._replace(carried=kept)
        added = [
            self.carry(entry, around, state, current)
            for entry in given.objects
            if not entry.is_gone
        ]
        return around.carry(added)

    def carry(
        self, given: ObjectGiven, around: Surroundings, state: FullState, current: FullState
    ) -> CarriedObject:
        """
        Return an object as the link has it that carries it.

        :param given: the object.
        :param around: where an object without shapes stands.
        :param state: the state in which it is carried.
        :param current: where the robot is.
        :raises RequestRefused: for an object that is none, and an unknown link or frame.
        """
        if given.link not in self.robot.tree.link_index:
            choices = describe_choices(given.link, self.robot.tree.link_names)
            raise RequestRefused(
                Refusal.BAD_STATE,
                f'Object {quote(given.object.name)} is carried by the link {quote(given.link)}, which robot '
                f'{quote(self.robot.name)} does not have. {choices}',
            )
        item, frame = given.object, given.frame
        standing = around.standing_named(item.name)
        if not item.shapes and standing is not None:
            item, frame = standing, self.robot.model_frame
        if frame and frame != given.link:
            placed = self.frames.in_model_frame(frame, current)
            pose = item.pose if placed is None else placed @ item.pose
            item = dataclasses.replace(
                item, pose=self.frames.model_in_link(given.link, state) @ pose
            )
        carried = CarriedObject(item, given.link, given.touch_links)
        try:
            check_objects([carried])
        except ModelError as error:
            raise RequestRefused(Refusal.BAD_STATE, str(error)) from error
        return carried

    def judge(
        self,
        group: str,
        given: StateGiven,
        carried: CarriedGiven,
        wishes: ConstraintsGiven,
        current: FullState,
    ) -> StateJudgement:
        """
        Return whether a state is free of collisions and keeps constraints.

        :param group: what its joints do not move may collide; empty for the whole robot.
        :param given, carried: the state.
        :param wishes: the constraints.
        :param current: where the robot is, for what the state does not name.
        """
        try:
            state = self.states.merge(current, given)
            chosen = self.find_group(group).group if group else None
            constraints = self.make_constraints(wishes, current)
            verdicts = () if constraints is None else constraints.judge(state)
            around = self.surroundings(carried, state, current)
            contacts = self._collisions.contacts(around, state, chosen)
        except SsikError as error:
            refusal, _, text = _tell(error)
            return StateJudgement((), (), refusal, text)
        return StateJudgement(contacts, verdicts, Refusal.NONE, '')

    def forward(
        self,
        links: list[str],
        frame: str,
        given: StateGiven,
        current: FullState,
        carried: CarriedGiven = NOTHING_CARRIED,
    ) -> FkResponse:
        """
        Return the poses of links; unknown links are left out and named.

        :param links: names of links, of carried objects, and of subframes of these.
        :param frame: the frame to give them in: empty for the model frame, or a link.
        :param given: the part of the state that is not the current one.
        :param current: where the robot is.
        :param carried: what the state says about carried objects.
        """
        if not links:
            return _no_poses(Refusal.GOAL_COUNT, 'fk_link_names is empty: name at least one link.')
        try:
            state = self.states.merge(current, given)
            around = self._around(carried, state, current)
            # Names may come many times; each is looked up and placed once.
            goals = {link: self._led(link, around) for link in dict.fromkeys(links)}
        except RequestRefused as refused:
            return _no_poses(refused.refusal, str(refused))
        index = self.robot.tree.link_index
        goals = {link: goal for link, goal in goals.items() if goal.link in index}
        poses = dict(zip(goals, self._place(list(goals.values()), state), strict=True))
        known = [link for link in links if link in poses]
        refusal, text = Refusal.NONE, f'{counted(len(known), "pose")}.'
        if len(known) < len(links):
            missing = list_names(link for link in links if link not in poses)
            refusal = Refusal.UNKNOWN_LINK
            text = f'Not links of robot {shorten(self.robot.name)}: {missing}.'
        named, inverse = self.robot.model_frame, None
        try:
            inverse = self._from_model_frame(frame, current)
        except RequestRefused as refused:
            refusal, text = refused.refusal, str(refused)
        else:
            # A link that stands at the model frame keeps the name that was asked for.
            named = frame if inverse is not None or frame in index else named
        if inverse is not None:
            poses = {link: inverse @ pose for link, pose in poses.items()}
        return FkResponse(known, [poses[link] for link in known], named, refusal, text)

    def _around(
        self, carried: CarriedGiven, state: FullState, current: FullState
    ) -> Callable[[], Surroundings]:
        """Return what gives the surroundings of a request, put together when they are first asked for."""
        return functools.cache(lambda: self.surroundings(carried, state, current))

    def _place(self, led: Sequence[LinkGoal], state: FullState) -> list[FloatArray]:
        """Return where in the model frame (4, 4) links, and what they carry, are."""
        poses = self.frames.links_in_root([goal.link for goal in led], state)
        return [
            state.root_pose @ (pose if goal.tool is None else pose @ goal.tool)
            for goal, pose in zip(led, poses, strict=True)
        ]

    def _from_model_frame(self, frame: str, current: FullState) -> FloatArray | None:
        """Return the pose of the model frame in a frame; None where both are one."""
        pose = self.frames.in_model_frame(frame, current)
        return None if pose is None else invert_pose(pose)


def _in_model_frame(link: str, pose: FloatArray, frame: FloatArray | None) -> FloatArray:
    """Return a pose (4, 4) given in a frame (4, 4) in the model frame; None is the model frame itself."""
    if not all(map(poses.IS_WITHIN, map(abs, itertools.chain.from_iterable(pose.tolist())))):
        _require_finite(link, pose)
    return pose if frame is None else frame @ pose


def _require_finite(link: str, pose: FloatArray) -> None:
    """Refuse a pose (4, 4) with numbers that are not finite, or coordinates that are absurd."""
    if not np.isfinite(pose).all():
        raise RequestRefused(
            Refusal.BAD_TARGET,
            f'{_pose_of(link)} is no finite rigid transform: {NO_POSE}.',
        )
    if np.abs(pose[:3, 3]).max() > poses.FARTHEST:
        raise RequestRefused(
            Refusal.BAD_TARGET,
            f'{_pose_of(link)} has a coordinate {TOO_FAR}.',
        )


def _pose_of(link: str) -> str:
    return f'The pose for link {quote(link)}' if link else 'The pose'


def _require_jumps(request: PathRequest) -> None:
    """Refuse thresholds that are no numbers of at least zero."""
    for name in ('jump_threshold', 'prismatic_jump', 'revolute_jump', 'max_speed'):
        value = getattr(request, name)
        if not value >= 0.0:
            raise RequestRefused(
                Refusal.BAD_TARGET, f'{name} is {value:g}; it has to be a number of at least zero.'
            )


def _tell(error: SsikError) -> tuple[Refusal, Cause, str]:
    """Return what is wrong with a request that was not answered."""
    refusal = Refusal.FAULT
    if isinstance(error, RequestRefused):
        refusal = error.refusal
    elif isinstance(error, InvalidLimits):
        refusal = Refusal.NOT_SEARCHABLE
    return refusal, CAUSE_OF_REFUSAL.get(refusal, Cause.NONE), str(error)


def _no_poses(refusal: Refusal, text: str) -> FkResponse:
    return FkResponse((), (), '', refusal, text)
