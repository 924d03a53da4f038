"""Solve requests to a robot with closed loops: :class:`LoopServer` reaches goals, or completes given joint positions."""

from collections.abc import Iterable, Iterator, Mapping
import contextlib

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    counted,
    JointNotFound,
    quote,
    RequestError,
)
from ssik_ros.mechanisms.loop_closures import LoopClosures
from ssik_ros.mechanisms.names import DOF, DOF_NAMES
from ssik_ros.mechanisms.result import ChainResult
from ssik_ros.mechanisms.urdf_robot import from_urdf
from ssik_ros.results import Cause
from ssik_ros.server.loops.loop_requests import (
    CompletionRequest,
    DEFAULT_LOOP_TOLERANCE,
    describe,
    GoalsRequest,
    ITERATIONS,
    LoopResponse,
    MOST_GOALS,
    MOST_ITERATIONS,
    MOST_RESTARTS,
    MOST_STEPS,
    PoseGoal,
)
from ssik_ros.server.loops.posed_robot import goal_key, MarkedLink, PosedRobot
from ssik_ros.server.requests.ik_requests import FramedPose, FullState
from ssik_ros.server.requests.poses import require_pose
from ssik_ros.server.requests.refusals import Refusal, refused_as, unknown
from ssik_ros.server.scene.frames import FrameReader
from ssik_ros.server.scene.states import StateReader
from ssik_ros.solvers.mechanisms.options import ClosedChainOptions

Marked = tuple[MarkedLink, ...]

BLAMED = JointNotFound, RequestError
KEPT_SHAPES = 16
"""Different sets of goals whose mechanisms are kept for later requests."""


def _refused(refusal: Refusal, _: Cause, text: str) -> LoopResponse:
    """Return the response to a refused request for goals, with the refusal and its text; the cause is not used."""
    return LoopResponse(None, (), (), refusal, text)


def _not_completed(refusal: Refusal, _: Cause, text: str) -> LoopResponse:
    """Return the response to a refused request for the positions of all joints; the given cause is not used."""
    return LoopResponse(None, (), (), refusal, text, Cause.LOOP)


class LoopServer:
    """
    Finds positions of all joints of a robot such that its loops are closed; several threads may call it at once.

    :meth:`solve_goals` also reaches poses of links; :meth:`complete` also keeps given joint positions.
    """

    def __init__(
        self,
        frames: FrameReader,
        states: StateReader,
        loops: LoopClosures | None = None,
        *,
        use_constraints: bool = True,
        cancel: NDArray[np.int64] | None = None,
    ) -> None:
        """
        Make the mechanism of a robot; without loops, it is a tree whose links can have goals.

        :param frames: the frames of the robot.
        :param states: makes full states of the robot; joints without a reported position get its default values.
        :param loops: the content of a ``loop_closures.yaml``; None without a file.
        :param use_constraints: whether the ``<constraint>`` elements of the URDF close loops.
        :param cancel: (1,) flag that ends all solves.
        :raises SsikError: when a loop is not well-defined.
        """
        self.robot = frames.robot
        self.frames = frames
        self.states = states
        self._loops = LoopClosures() if loops is None else loops
        self._use_constraints = use_constraints
        self._cancel = np.zeros(1, dtype=np.int64) if cancel is None else cancel
        self._idle: dict[Marked, list[PosedRobot]] = {}
        first = self._make(())
        self.loop_names = tuple(first.robot.closures)
        self.active_joints = first.robot.active_joints
        self.warnings = tuple(w for w in first.robot.warnings if w not in self.robot.warnings)
        self._give_back(first)

    def warm_up(self) -> None:
        """Solve one request of each kind, so that the first requests do not wait for set-up."""
        root = self.robot.tree.root_link
        here = FramedPose('', np.eye(4))
        request = GoalsRequest([PoseGoal('', root, here, np.eye(4))], free_root=True)
        self.solve_goals(request, self.states.default())
        self.complete(CompletionRequest((), ()), self.states.default())

    @refused_as(_refused, BLAMED, Refusal.BAD_STATE)
    def solve_goals(self, request: GoalsRequest, current: FullState) -> LoopResponse:
        """
        Find joint positions that reach all goals with all loops closed; a wrong request gets a refusal.

        The response tells of each chain whether it converged.

        :param request: the request.
        :param current: the state of the robot, for joints that the request does not name.
        """
        state = self.states.merge(current, request.state)
        if not (request.goals or self.loop_names):
            raise Refusal.GOAL_COUNT.error(
                f'There is no goal, and robot {quote(self.robot.name)} has no loop to close.',
            )
        if len(request.goals) > MOST_GOALS:
            raise Refusal.GOAL_COUNT.error(f'More than {MOST_GOALS} goals.')
        options = _options(request)
        targets = [self._target(goal, current) for goal in request.goals]
        names = {goal_key(k): goal.name or goal.link for k, goal in enumerate(request.goals)}
        with self._borrowed(tuple(self._mark(goal) for goal in request.goals)) as posed:
            posed.place(state)
            posed.release(request.locked_joints, free_root=request.free_root)
            for goal, pose in zip(posed.goals, targets, strict=True):
                goal.set_matrix(pose)
            chains = self._named(posed.solve(options, self._cancel), names)
            solved_state = posed.state
        return LoopResponse(solved_state, chains, (), Refusal.NONE, describe(chains, ()))

    @refused_as(_not_completed, BLAMED, Refusal.BAD_STATE)
    def complete(self, request: CompletionRequest, current: FullState) -> LoopResponse:
        """
        Find the positions of all joints from some of them by closing the loops; a wrong request gets a refusal.

        The response tells of each chain whether it converged. Given positions outside the limits are set to the limits,
        and their joints are listed in ``clamped``.

        :param request: the request.
        :param current: the state of the robot, for joints that the request does not name.
        """
        state = self.states.merge(current, request.state)
        if request.steps > MOST_STEPS:
            text = f'There may be {MOST_STEPS} steps, not {request.steps}.'
            raise Refusal.BAD_STEP.error(text)
        given = self._given(request)
        with self._borrowed(()) as posed:
            posed.place(state)
            posed.release((), free_root=False)
            done = posed.robot.complete_state(given, steps=request.steps or 1)
            chains = self._named(done.results, {})
            completed = posed.state
        text = describe(chains, done.clamped)
        return LoopResponse(completed, chains, done.clamped, Refusal.NONE, text, Cause.LOOP)

    def _given(self, request: CompletionRequest) -> dict[str, float]:
        """
        Return the given positions by joint name; without names, the positions are of the active joints, in their order.

        Raise RequestRefused if the numbers of names and positions differ, or if names are missing and no active joints
        are known.
        """
        names, positions = request.names, request.positions
        if len(positions) and not len(names):
            names = self.active_joints
            if not names:
                text = 'No active joints are known: name the joints that are given.'
                raise Refusal.BAD_STATE.error(text)
        if len(names) != len(positions):
            text = f'There are {counted(len(names), "name")} and {counted(len(positions), "position")}.'
            raise Refusal.BAD_STATE.error(text)
        return dict(zip(names, positions, strict=True))

    def _named(
        self, results: Iterable[ChainResult], goal_names: Mapping[str, str]
    ) -> tuple[ChainResult, ...]:
        """
        Return results with only the joints of the robot, and with the users' names of goals.

        The mechanism adds joints for its goals; these are left out. ``goal_names`` has the name of each goal by its
        key.
        """
        joints = self.robot.tree.joint_index
        return tuple(
            result.with_names(
                tuple(name for name in result.joint_names if name in joints),
                tuple(goal_names.get(name, name) for name in result.closures),
            )
            for result in results
        )

    def _mark(self, goal: PoseGoal) -> MarkedLink:
        """
        Return the link, offset, fixed directions and axes of a goal.

        Raise RequestRefused for an unknown link or direction, an invalid offset, and a goal that fixes no direction.
        """
        if goal.link not in self.robot.tree.link_index:
            text = f'Robot {quote(self.robot.name)} has no link {quote(goal.link)}'
            raise unknown(Refusal.UNKNOWN_LINK, text, goal.link, self.robot.tree.link_names)
        for name in goal.free:
            if name not in DOF_NAMES:
                text = (
                    f'The goal of {quote(goal.link)} has no direction {quote(name)} to be free in'
                )
                raise unknown(Refusal.CONSTRAINTS, text, name, DOF_NAMES)
        fixed = tuple(dof for dof in DOF if dof.name not in goal.free)
        if not fixed:
            text = f'The goal of {quote(goal.link)} leaves everything free.'
            raise Refusal.CONSTRAINTS.error(text)
        require_pose(f'The offset on {quote(goal.link)}', goal.offset)
        return MarkedLink(goal.link, goal.offset.tobytes(), fixed, goal.world_axes)

    def _target(self, goal: PoseGoal, current: FullState) -> FloatArray:
        """
        Return the pose (4, 4) of a goal in the model frame.

        Raise RequestRefused for an invalid pose or an unknown frame.
        """
        pose = goal.pose.pose
        require_pose(f'The pose for link {quote(goal.link)}', pose)
        frame = self.frames.in_model_frame(goal.pose.frame, current)
        return pose if frame is None else frame @ pose

    @contextlib.contextmanager
    def _borrowed(self, marked: Marked) -> Iterator[PosedRobot]:
        """
        Context manager: yield a mechanism whose goals are on the links in ``marked``, for this request only.

        An idle mechanism is used again, or a new one is made. After the context, it is idle again.
        """
        try:
            posed = self._idle[marked].pop()
        except LookupError:
            posed = self._make(marked)
        try:
            yield posed
        finally:
            self._give_back(posed)

    def _give_back(self, posed: PosedRobot) -> None:
        """
        Keep an idle mechanism for later requests with goals on the same links.

        Mechanisms for at most ``KEPT_SHAPES`` combinations of goals are kept; the oldest combination is dropped first.
        """
        if posed.marked not in self._idle and len(self._idle) >= KEPT_SHAPES:
            # The oldest mechanisms go; a later request makes them again.
            self._idle.pop(next(iter(self._idle)), None)
        self._idle.setdefault(posed.marked, []).append(posed)

    def _make(self, marked: Marked) -> PosedRobot:
        robot = from_urdf(
            self.robot, loops=self._loops, use_constraints=self._use_constraints, free_root=True
        )
        return PosedRobot(robot, marked)


def _options(request: GoalsRequest) -> ClosedChainOptions:
    """
    Return the solver options of a request.

    A tolerance or a number of iterations of 0 becomes the default. Too large numbers of iterations and restarts become
    the largest allowed ones. A time of 0 or less means no limit. Raise RequestRefused for a tolerance that is negative
    or not finite.
    """
    tolerances = request.translation_tolerance, request.rotation_tolerance
    for value in tolerances:
        if not 0.0 <= value < np.inf:
            text = f'A tolerance is {value:g}; it has to be a finite number of at least zero.'
            raise Refusal.BAD_TOLERANCE.error(text)
    translation, rotation = (value or DEFAULT_LOOP_TOLERANCE for value in tolerances)
    return ClosedChainOptions(
        translation_converge_threshold=translation,
        rotation_converge_threshold=rotation,
        max_iterations=min(request.max_iterations, MOST_ITERATIONS) or ITERATIONS,
        max_time=request.timeout if request.timeout > 0.0 else np.inf,
        restarts=min(request.max_restarts, MOST_RESTARTS),
        seed=request.seed,
    )
