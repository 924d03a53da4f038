"""
A robot that can be asked: every group with its solver, states and frames by name.

Immutable for those who ask: what changes is a new server that shares everything else, so that a question
in progress keeps the one it began with.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import copy
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.errors import InvalidLimits
from ssik_ros.errors import SsikError
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause
from ssik_ros.results import CAUSE_TEXT
from ssik_ros.results import IkResult
from ssik_ros.serving import poses
from ssik_ros.serving.all_branches import BranchFinder
from ssik_ros.serving.candidate_checks import CandidateChecks
from ssik_ros.serving.constraint_check import ConstraintCheck
from ssik_ros.serving.frames import FrameReader
from ssik_ros.serving.group_server import GroupServer
from ssik_ros.serving.questions import BranchesAnswer
from ssik_ros.serving.questions import BranchReport
from ssik_ros.serving.questions import BranchWishes
from ssik_ros.serving.questions import FkAnswer
from ssik_ros.serving.questions import FullState
from ssik_ros.serving.questions import IkAnswer
from ssik_ros.serving.questions import IkQuestion
from ssik_ros.serving.questions import LinkGoal
from ssik_ros.serving.questions import StateGiven
from ssik_ros.serving.refusals import QuestionRefused
from ssik_ros.serving.refusals import Refusal
from ssik_ros.serving.robot_collisions import RobotCollisions
from ssik_ros.serving.states import StateReader
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

FloatArray = NDArray[np.float64]

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
}

_PERHAPS_CONSTRAINTS = (Cause.UNREACHABLE, Cause.LIMITS, Cause.BUDGET)
"""Causes that narrower limits may have brought about."""


class _Understood(NamedTuple):
    """A question whose names all exist."""

    group: GroupServer
    state: FullState
    """Seed, joints outside the group, and where the root link stands."""
    goals: list[LinkGoal]
    checks: CandidateChecks | None


class RobotServer:
    """Answers questions about one robot; may be asked from several threads at once."""

    def __init__(
        self,
        robot: RobotModel,
        groups: Iterable[JointGroup],
        kinematics: Mapping[str, GroupKinematics] | None = None,
        cancel: NDArray[np.int64] | None = None,
    ) -> None:
        """
        Make a solver for every group.

        :param robot: the robot.
        :param groups: the groups to serve.
        :param kinematics: solver and parameters by group; others have the default solver.
        :param cancel: (1) flag that ends all searches.
        """
        self.robot = robot
        self.states = StateReader(robot)
        self.frames = FrameReader(robot)
        self.cancel = np.zeros(1, dtype=np.int64) if cancel is None else cancel
        self._collisions = RobotCollisions(robot)
        given = kinematics or {}
        self.groups: dict[str, GroupServer] = {
            group.name: GroupServer(
                self.frames, group, given.get(group.name) or GroupKinematics(group.name)
            )
            for group in groups
        }
        self._finders = {name: BranchFinder(group) for name, group in self.groups.items()}

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
        """
        Load or compile everything that first questions would otherwise wait for.

        Afterwards no question for one posture or for a link's pose meets the compiler, which may be busy for half a
        minute with what :meth:`warm_up_branches` needs.
        """
        poses.warm_up()
        for group in self.groups.values():
            group.warm_up()
        self._collisions.warm_up()

    def warm_up_branches(self) -> None:
        """Make the closed forms that questions for every branch need; those who ask earlier wait for them."""
        for finder in self._finders.values():
            finder.warm_up()

    def answer(self, question: IkQuestion, current: FullState) -> IkAnswer:
        """
        Answer a question; what is wrong with it is an answer too.

        The order of checks is MoveIt's: group, state, number of goals, frames, links.

        :param question: the question.
        :param current: where the robot is: seed and joints that the question does not name.
        """
        try:
            return self._answer(question, current)
        except SsikError as error:
            refusal, cause, text = _tell(error)
            return IkAnswer(None, refusal, cause, text)

    def answer_all(
        self, question: IkQuestion, wishes: BranchWishes, current: FullState
    ) -> BranchesAnswer:
        """
        Answer a question by every branch; what is wrong with it is an answer too.

        :param question, current: as for :meth:`answer`, and understood in the same way.
        :param wishes: what else is asked.
        """
        try:
            return self._answer_all(question, wishes, current)
        except SsikError as error:
            return BranchesAnswer((), (), BranchReport(), *_tell(error))

    def _understand(self, question: IkQuestion, current: FullState) -> _Understood:
        """Return what a question means: the one place that decides it, in MoveIt's order of checks."""
        group = self._group(question.group)
        state = self.states.merge(current, question.state)
        goals = self._goals(question, current)
        return _Understood(group, state, goals, self._checks(question, current))

    def _answer_all(
        self, question: IkQuestion, wishes: BranchWishes, current: FullState
    ) -> BranchesAnswer:
        group, state, goals, checks = self._understand(question, current)
        if not 0.0 <= wishes.tolerance < math.inf:
            raise QuestionRefused(
                Refusal.BAD_TOLERANCE,
                f'The tolerance {wishes.tolerance:g} is no finite number of at least zero.',
            )
        finder = self._finders[group.group.name]
        answer = finder.find(
            goals,
            state,
            wishes,
            timeout=question.timeout,
            accepts=checks,
            cancel=self.cancel,
        )
        if checks is not None and answer.cause == Cause.COLLISION:
            text = f'No solution: {checks.describe()}.'
            return answer._replace(text=text, cause=checks.cause)
        return answer

    def _answer(self, question: IkQuestion, current: FullState) -> IkAnswer:
        understood = self._understand(question, current)
        group, state, goals, checks = understood
        limits = None
        if checks is not None and checks.constraints is not None:
            limits = checks.constraints.narrow(group.group, state)
            if limits is None:
                text = 'No solution: the joint constraints leave no room within the limits.'
                return IkAnswer(None, Refusal.NONE, Cause.CONSTRAINTS, text)
        result, solve_ns = group.solve(
            goals,
            state,
            timeout=question.timeout,
            accepts=checks,
            cancel=self.cancel,
            limits=limits,
        )
        text = result.summary()
        if result.solved:
            solution = group.with_group(state, result.q)
            return IkAnswer(solution, Refusal.NONE, Cause.NONE, text, result, solve_ns)
        cause = result.cause
        if checks is not None and cause == Cause.VALIDATION:
            cause = Cause.DEADLINE if result.clock_ended else checks.cause
            clock = ' The clock ended the search.' if result.clock_ended else ''
            text = f'No solution: {checks.describe()} ({result.searches} searches).{clock}'
        elif limits is not None and self._is_kept_away(question, understood, result, solve_ns):
            cause = Cause.CONSTRAINTS
            text = f'No solution: within the joint constraints, {CAUSE_TEXT[result.cause]}.'
        return IkAnswer(None, Refusal.NONE, cause, text, result, solve_ns)

    def _is_kept_away(
        self, question: IkQuestion, understood: _Understood, result: IkResult, spent_ns: int
    ) -> bool:
        """Return whether a pose that was not reached within the joint constraints is reached without."""
        is_proved = result.cause == Cause.UNREACHABLE and not result.searches
        if result.cause not in _PERHAPS_CONSTRAINTS or is_proved:
            return False
        group = understood.group
        budget = question.timeout if question.timeout > 0.0 else group.kinematics.timeout
        left = budget - 1e-9 * spent_ns
        if left <= 0.0:
            return False
        free, _ = group.solve(
            understood.goals, understood.state, timeout=left, accepts=None, cancel=self.cancel
        )
        return free.solved

    def _group(self, name: str) -> GroupServer:
        found = self.groups.get(name)
        if found is None:
            what = f"There is no group '{name}'." if name else 'The group name is empty.'
            known = ', '.join(self.groups) or 'none'
            raise QuestionRefused(
                Refusal.UNKNOWN_GROUP, f"{what} Groups of robot '{self.robot.name}': {known}."
            )
        return found

    def _goals(self, question: IkQuestion, current: FullState) -> list[LinkGoal]:
        """Return the poses in the model frame, each with its link."""
        if not question.poses or len(question.poses) != len(question.links):
            raise QuestionRefused(
                Refusal.GOAL_COUNT,
                f'{len(question.poses)} poses came with {len(question.links)} link names.',
            )
        # All frames before any pose: an unknown frame outranks numbers that are not finite.
        frames = [self.frames.in_model_frame(pose.frame, current) for pose in question.poses]
        return [
            LinkGoal(link, _in_model_frame(link, framed.pose, frame))
            for link, framed, frame in zip(question.links, question.poses, frames, strict=True)
        ]

    def _checks(self, question: IkQuestion, current: FullState) -> CandidateChecks | None:
        """Return what candidates have to pass, if there is anything."""
        constraints = None
        if not question.constraints.are_none:
            constraints = ConstraintCheck(
                self.frames,
                question.constraints,
                lambda frame: self.frames.in_model_frame(frame, current),
            )
        if not question.avoid_collisions:
            return None if constraints is None else CandidateChecks(constraints, None)
        if question.has_attached_objects:
            raise QuestionRefused(
                Refusal.NO_COLLISION_CHECK,
                'Attached objects cannot be checked for collisions here; only the links of the '
                'robot can.',
            )
        return CandidateChecks(constraints, self._collisions.finder())

    def forward(
        self, links: list[str], frame: str, given: StateGiven, current: FullState
    ) -> FkAnswer:
        """
        Return the poses of links; unknown links are left out and named.

        :param links: names of links.
        :param frame: the frame to give them in: empty for the model frame, or a link.
        :param given: the part of the state that is not the current one.
        :param current: where the robot is.
        """
        if not links:
            return _no_poses(Refusal.GOAL_COUNT, 'fk_link_names is empty: name at least one link.')
        try:
            state = self.states.merge(current, given)
            known = [link for link in links if link in self.robot.tree.link_index]
            found = [state.root_pose @ p for p in self.frames.links_in_root(known, state)]
        except QuestionRefused as refused:
            return _no_poses(refused.refusal, str(refused))
        missing = [link for link in links if link not in self.robot.tree.link_index]
        refusal = Refusal.UNKNOWN_LINK if missing else Refusal.NONE
        text = f'Not links of robot {self.robot.name}: {", ".join(missing)}.' if missing else ''
        model_frame = self.robot.model_frame
        try:
            inverse = self._from_model_frame(frame, current)
        except QuestionRefused as refused:
            return FkAnswer(known, found, model_frame, refused.refusal, str(refused))
        if inverse is None:
            return FkAnswer(known, found, model_frame, refusal, text)
        return FkAnswer(known, [inverse @ pose for pose in found], frame, refusal, text)

    def _from_model_frame(self, frame: str, current: FullState) -> FloatArray | None:
        """Return the pose of the model frame in a frame; None for the model frame itself."""
        pose = self.frames.in_model_frame(frame, current)
        return None if pose is None else self.frames.model_in_link(frame, current)


def _in_model_frame(link: str, pose: FloatArray, frame: FloatArray | None) -> FloatArray:
    """Return a pose (4, 4) given in a frame (4, 4) in the model frame; None is the model frame itself."""
    if not np.isfinite(pose).all():
        raise QuestionRefused(
            Refusal.BAD_TARGET,
            f"The pose for link '{link}' is no finite rigid transform: a number is not finite, "
            'or the quaternion is zero.',
        )
    return pose if frame is None else frame @ pose


def _tell(error: SsikError) -> tuple[Refusal, Cause, str]:
    """Return what is wrong with a question that was not answered."""
    refusal = Refusal.FAULT
    if isinstance(error, QuestionRefused):
        refusal = error.refusal
    elif isinstance(error, InvalidLimits):
        refusal = Refusal.NOT_SEARCHABLE
    return refusal, CAUSE_OF_REFUSAL.get(refusal, Cause.NONE), str(error)


def _no_poses(refusal: Refusal, text: str) -> FkAnswer:
    return FkAnswer((), (), '', refusal, text)
