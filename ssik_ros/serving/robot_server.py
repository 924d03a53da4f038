"""
A robot that can be asked: every group with its solver, states and frames by name.

Immutable for those who ask: what changes is a new server that shares everything else, so that a question
in progress keeps the one it began with.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
import copy
import logging
import math
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.errors import InvalidLimits
from ssik_ros.errors import SolverError
from ssik_ros.errors import SsikError
from ssik_ros.model.collision import CollisionChecker
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause
from ssik_ros.serving import poses
from ssik_ros.serving.all_branches import BranchFinder
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
from ssik_ros.serving.states import StateReader
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

_LOGGER = logging.getLogger('ssik_ros.serving')

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


class _Understood(NamedTuple):
    """A question whose names all exist."""

    group: GroupServer
    state: FullState
    """Seed, joints outside the group, and where the root link stands."""
    goals: list[LinkGoal]
    collisions: '_CandidateCheck | None'


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
        self._collisions = _Collisions(robot)
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
        self._refuse_constraints(question)
        return _Understood(group, state, goals, self._collision_check(question))

    def _answer_all(
        self, question: IkQuestion, wishes: BranchWishes, current: FullState
    ) -> BranchesAnswer:
        group, state, goals, collisions = self._understand(question, current)
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
            accepts=collisions,
            cancel=self.cancel,
        )
        if collisions is not None and answer.cause == Cause.COLLISION:
            return answer._replace(text=f'No solution: {collisions.describe()}.')
        return answer

    def _answer(self, question: IkQuestion, current: FullState) -> IkAnswer:
        group, state, goals, collisions = self._understand(question, current)
        result, solve_ns = group.solve(
            goals,
            state,
            timeout=question.timeout,
            accepts=collisions,
            cancel=self.cancel,
        )
        text = result.summary()
        if result.solved:
            solution = group.with_group(state, result.q)
            return IkAnswer(solution, Refusal.NONE, Cause.NONE, text, result, solve_ns)
        cause = result.cause
        if collisions is not None and cause == Cause.VALIDATION:
            cause = Cause.DEADLINE if result.clock_ended else Cause.COLLISION
            clock = ' The clock ended the search.' if result.clock_ended else ''
            text = f'No solution: {collisions.describe()} ({result.searches} searches).{clock}'
        return IkAnswer(None, Refusal.NONE, cause, text, result, solve_ns)

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

    def _refuse_constraints(self, question: IkQuestion) -> None:
        if question.constraints:
            raise QuestionRefused(
                Refusal.CONSTRAINTS,
                f'Constraints are not honoured here: {", ".join(question.constraints)}. Rather '
                'than leave them out in silence, the request is refused.',
            )

    def _collision_check(self, question: IkQuestion) -> '_CandidateCheck | None':
        """Return the check that candidates have to pass, if collisions are to be avoided."""
        if not question.avoid_collisions:
            return None
        if question.has_attached_objects:
            raise QuestionRefused(
                Refusal.NO_COLLISION_CHECK,
                'Attached objects cannot be checked for collisions here; only the links of the '
                'robot can.',
            )
        return self._collisions.check()

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


class _Collisions:
    """The collision checker of a robot, made when the server warms up, or else when a question needs it."""

    def __init__(self, robot: RobotModel) -> None:
        self._robot = robot
        self._checker: CollisionChecker | None = None
        # The checker serves one thread at a time.
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Read the geometry; what is wrong with it is told to those who ask for a check."""
        with contextlib.suppress(QuestionRefused):
            self._require_checker()

    def check(self) -> '_CandidateCheck':
        """
        Return a check for one question.

        :raises QuestionRefused: when there is no library, no geometry, or only a part of it, so that an answer
            would not be free of collisions but unchecked.
        """
        checker = self._require_checker()
        if not checker.available:
            raise QuestionRefused(
                Refusal.NO_COLLISION_CHECK,
                f"Robot '{self._robot.name}' has no collision geometry: nothing is known about "
                'collisions.',
            )
        if checker.warnings:
            raise QuestionRefused(
                Refusal.NO_COLLISION_CHECK,
                f"A part of robot '{self._robot.name}' cannot be checked for collisions: "
                f'{checker.warnings[0]}',
            )
        return _CandidateCheck(checker, self._lock)

    def _require_checker(self) -> CollisionChecker:
        """Return the checker, made by the first who needs it, after saying what it leaves out."""
        with self._lock:
            if self._checker is None:
                try:
                    self._checker = CollisionChecker(self._robot)
                except SolverError as error:
                    raise QuestionRefused(Refusal.NO_COLLISION_CHECK, str(error)) from error
                for warning in self._checker.warnings:
                    _LOGGER.warning('%s', warning)
            return self._checker


class _CandidateCheck:
    """Refuses candidates in which links of the robot collide with each other."""

    def __init__(self, checker: CollisionChecker, lock: threading.Lock) -> None:
        self._checker = checker
        self._lock = lock
        self._pair: tuple[str, str] | None = None

    def __call__(self, positions: FloatArray) -> bool:
        """Return whether a full state (nq) is free."""
        with self._lock:
            pair = self._checker.colliding_pair(positions)
        if pair is not None:
            self._pair = pair
        return pair is None

    def describe(self) -> str:
        """Return a sentence part about the last candidate that was refused."""
        if self._pair is None:
            return 'every candidate is in collision'
        return f"every candidate is in collision, the last one '{self._pair[0]}' with '{self._pair[1]}'"
