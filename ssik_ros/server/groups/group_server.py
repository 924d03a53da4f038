"""
One planning group with its solver: :class:`GroupServer` solves for poses of links that requests name.

It translates poses of links in the model frame to targets of the solver: poses of tips in the solver's base link.
"""

from collections.abc import Callable, Sequence
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import describe_choices, list_names, quote, SsikError
from ssik_ros.model.default_seed import default_seed
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import IkSolver, SolveRequest
from ssik_ros.results import IkResult
from ssik_ros.server.requests.ik_requests import AT_MODEL_FRAME, FullState, LinkGoal
from ssik_ros.server.requests.index_ranges import index_range
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.scene.frames import FrameReader
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.solvers.registry import create_solver
from ssik_ros.value_class import NEW_TUPLE

StateCheck = Callable[[FullState], bool]
"""Called with a candidate as a full state; false refuses it."""
BEYOND = 1e-6
"""A seed so little outside its limits is a rounded one [rad or m]."""
JointBounds = tuple[FloatArray, FloatArray]
"""(n,), (n,) lower and upper limits of a group for one request."""


class _TipLink(NamedTuple):
    """The tip to which a link is fixed, and the pose of the link there."""

    tip: int
    """Index of the tip in the solver's tip frames."""
    offset: FloatArray | None
    """(4, 4) pose of the link in the tip frame; None for the tip itself."""


def _offset_of(goal: LinkGoal, link: _TipLink) -> FloatArray | None:
    """Return the pose (4, 4), in the tip frame, of the link or carried object of a goal; None for the tip itself."""
    if goal.tool is None:
        return link.offset
    return goal.tool if link.offset is None else link.offset @ goal.tool


class GroupServer:
    """
    Solves requests for one planning group; several threads may call it at once.

    ``solver`` may be None; ``reason`` then has the error, and requests raise RequestRefused.
    """

    def __init__(
        self,
        frames: FrameReader,
        group: JointGroup,
        kinematics: GroupKinematics,
        cancel: NDArray[np.int64],
        untold: FloatArray | None = None,
    ) -> None:
        """
        Make the solver; if this fails, set ``solver`` to None and ``reason`` to the error text.

        :param frames: the frames of the robot.
        :param group: the group.
        :param kinematics: name and parameters of its solver.
        :param cancel: (1,) flag that ends every search.
        :param untold: positions array of the state that is used while no joint was reported. For this very array,
            searches start at the default seed of the group. None if such an array does not exist.
        """
        self.cancel = cancel
        self._untold, self._default_seed = untold, default_seed(frames.robot, group)
        self.robot: RobotModel = frames.robot
        self.group = group
        self.kinematics = kinematics
        self.solver: IkSolver | None = None
        self.reason = ''
        """Why this solver was chosen, or why the group has no solver."""
        self.warm_up_seconds = 0.0
        self.frames = frames
        self._links: dict[tuple[Sequence[str], str], _TipLink] = {}
        self.places = index_range(group.idx_q)
        """Where the group's variables are in a full state."""
        self.lowest = (group.lower - BEYOND).tolist()
        self.highest = (group.upper + BEYOND).tolist()
        """Limits of each variable, widened by rounding [rad or m]."""
        tree = self.robot.tree
        leaders = tree.idx_q[tree.leaders[tree.leaders >= 0]]
        self._moves_leaders = bool(np.isin(leaders, group.idx_q).any())
        try:
            self.solver = create_solver(
                kinematics.solver,
                self.robot,
                group,
                kinematics.parameters,
                position_only=kinematics.position_only,
            )
            self.reason = self._explain_choice(self.solver)
        except SsikError as error:
            self.reason = str(error)

    def _explain_choice(self, solver: IkSolver) -> str:
        """Return where the choice of the solver comes from, such as a file, and the solver's reason if it has one."""
        name, requested = self.kinematics.solver, self.kinematics.requested_solver
        if self.kinematics.is_foreign:
            why = f'stands in for {quote(requested)}, which is not a solver of this package'
        elif not requested:
            why = 'the default, none is named'
        else:
            where = self.kinematics.sources.get('solver', '')
            why = f'named in {where}' if where else 'named'
            if requested != name:
                why += f' as {quote(requested)}'
        choice = getattr(solver, 'reason', '')
        return f'{why}; {choice}' if choice else why

    @property
    def tier(self) -> str:
        """Return the kind of the solver, such as ``iterative``; empty without a solver or if the solver has no kind."""
        return str(getattr(self.solver, 'tier', ''))

    def warm_up(self) -> None:
        """Prepare the solver for the first request, and set ``warm_up_seconds``; nothing without a solver."""
        if self.solver is None:
            return
        start = time.perf_counter()
        self.solver.warm_up()
        self.warm_up_seconds = time.perf_counter() - start

    def solve(
        self,
        goals: Sequence[LinkGoal],
        state: FullState,
        *,
        timeout: float,
        accepts: StateCheck | None = None,
        limits: JointBounds | None = None,
        wants_nearest: bool = False,
    ) -> tuple[IkResult, int]:
        """
        Return the solver's result and the time within the solver [ns].

        :param goals: poses in the model frame, at most one for each tip; other tips keep their poses.
        :param state: seed, joints outside the group, and pose of the root link.
        :param timeout: wall-clock budget [s]; zero or less means the group's own.
        :param accepts: the check that a candidate's full state has to pass; None to accept all.
        :param limits: narrower limits for this request; None for the group's.
        :param wants_nearest: look for the nearest posture also where the poses are proved to be out of reach.
        :raises RequestRefused: for a group without solver, links that are not fixed to a tip, and two goals of one tip.
        """
        solver = self.require_solver()
        request = self.make_request(
            solver,
            goals,
            state,
            timeout=timeout,
            accepts=accepts,
            limits=limits,
        )
        request.wants_nearest = wants_nearest
        start = time.perf_counter_ns()
        result = solver.solve(request)
        return result, time.perf_counter_ns() - start

    def make_request(
        self,
        solver: IkSolver,
        goals: Sequence[LinkGoal],
        state: FullState,
        *,
        timeout: float,
        accepts: StateCheck | None = None,
        limits: JointBounds | None = None,
    ) -> SolveRequest:
        """
        Return the request to a solver for goals of this group: targets in the base link, seed, budget and checks.

        :param solver: the solver of the group, or another one for the same group.
        :param goals: poses in the model frame, at least one, at most one for each tip; other tips keep their poses.
        :param state: seed, joints outside the group, and pose of the root link.
        :param timeout: wall-clock budget [s]; zero or less means the budget of the group.
        :param accepts: the check that a candidate's full state has to pass; None to accept all.
        :param limits: narrower limits for this request; None for the limits of the group.
        :raises RequestRefused: for links that are not fixed to a tip of the solver, and for two goals of one tip.
        """
        link, pose, tool = goals[0]
        request = self.request_one(solver, link, pose, state, timeout)
        if len(goals) > 1 or len(solver.tip_frames) > 1:
            request.targets, request.tool_offsets = self._targets(solver, goals, state)
        elif tool is not None:
            offset = request.tool_offsets
            request.tool_offsets = tool[None] if offset is None else offset @ tool
        if limits is not None:
            request.lower, request.upper = limits
        if accepts is not None:
            request.validate = lambda q: accepts(self.with_group(state, q))
        return request

    def request_one(
        self, solver: IkSolver, link: str, pose: FloatArray, state: FullState, timeout: float
    ) -> SolveRequest:
        """
        Return the solver's request for one pose of one link: target in the base link, seed from the state, and budget.

        :param solver: the solver of the group, or another one for the same group.
        :param link: a link that is fixed to the first tip; empty for the only tip.
        :param pose: (4, 4) in the model frame.
        :param state: seed, joints outside the group, and pose of the root link.
        :param timeout: wall-clock budget [s]; zero or less means the budget of the group.
        :raises RequestRefused: for a link that is not fixed to a tip of the solver.
        """
        hangs = self._links.get((solver.tip_frames, link)) or self._tip_link(solver, link)
        if (
            state.root_pose is not AT_MODEL_FRAME
            or solver.base_frame not in self.frames.at_model_frame
        ):
            pose = self.frames.model_in_link(solver.base_frame, state) @ pose
        positions = state.positions
        seed = self._default_seed if positions is self._untold else positions[self.places]
        return SolveRequest(
            targets=pose,
            seed=seed,
            state=state.positions,
            tool_offsets=None if hangs.offset is None else np.array([hangs.offset]),
            timeout=timeout if timeout > 0.0 else self.kinematics.timeout,
            cancel=self.cancel,
        )

    def with_group(self, state: FullState, q: FloatArray) -> FullState:
        """
        Return a copy of a state with the group's variables replaced and all mimic joints set from their leaders.

        :param state: the state.
        :param q: (n,) the group's variables.
        """
        positions = state.positions.copy()
        positions[self.places] = q
        if self._moves_leaders:
            self.robot.set_followers(positions)
        return NEW_TUPLE(FullState, (positions, state.root_pose, ()))

    def require_solver(self) -> IkSolver:
        """
        Return the solver.

        :raises RequestRefused: for a group without one.
        """
        if self.solver is None:
            raise Refusal.NO_SOLVER.error(
                f'Group {quote(self.group.name)} has no solver: {self.reason}'
            )
        return self.solver

    def _targets(
        self, solver: IkSolver, goals: Sequence[LinkGoal], state: FullState
    ) -> tuple[FloatArray, FloatArray | None]:
        """
        Return the targets (t, 4, 4) in the base frame of the solver, and the tool offsets (t, 4, 4) in the tips.

        Tips without a goal keep their poses in ``state``. The offsets are None if all targets are poses of tips. Raise
        RequestRefused for a link that is not fixed to a tip, and for two goals of one tip.
        """
        links = [self._tip_link(solver, goal.link) for goal in goals]
        self._require_distinct(solver, goals, links)
        base_model = self.frames.model_in_link(solver.base_frame, state)
        count = len(solver.tip_frames)
        targets = np.empty((count, 4, 4))
        if len(goals) < count:
            targets[:] = self._present_poses(solver, state)
        tools = None
        offsets = [_offset_of(goal, link) for goal, link in zip(goals, links, strict=True)]
        if any(offset is not None for offset in offsets):
            tools = np.broadcast_to(np.eye(4), (count, 4, 4)).copy()
        for goal, link, offset in zip(goals, links, offsets, strict=True):
            np.matmul(base_model, goal.pose, out=targets[link.tip])
            if tools is not None and offset is not None:
                tools[link.tip] = offset
        return targets, tools

    def _require_distinct(
        self, solver: IkSolver, goals: Sequence[LinkGoal], links: Sequence[_TipLink]
    ) -> None:
        """Raise RequestRefused if two goals are for the same tip; ``links`` has the tip of each goal."""
        taken: dict[int, str] = {}
        for goal, link in zip(goals, links, strict=True):
            if link.tip in taken:
                raise Refusal.UNKNOWN_LINK.error(
                    f'Links {quote(taken[link.tip])} and {quote(goal.link)} both hang on tip '
                    f'{quote(solver.tip_frames[link.tip])} of group {quote(self.group.name)}, which can be '
                    'at one pose only.'
                )
            taken[link.tip] = goal.link

    def _present_poses(self, solver: IkSolver, state: FullState) -> FloatArray:
        """Return the pose (t, 4, 4) of each tip of a solver in a given state, in the base frame of the solver."""
        base_root = self.frames.model_in_link(solver.base_frame, state) @ state.root_pose
        poses = self.frames.links_in_root(list(solver.tip_frames), state)
        return np.array([base_root @ pose for pose in poses])

    def _tip_link(self, solver: IkSolver, link: str) -> _TipLink:
        """
        Return the tip to which a link is fixed, and the pose of the link in the tip, from a cache.

        Raise RequestRefused for a link that is not fixed to a tip.
        """
        key = (solver.tip_frames, link)
        tip_link = self._links.get(key)
        if tip_link is None:
            tip_link = self._find_tip_link(solver, link)
            self._links[key] = tip_link
        return tip_link

    def tip_of(self, solver: IkSolver, link: str) -> int:
        """
        Return the index of the tip that a link is, or to which it is fixed.

        :param solver: of this group.
        :param link: empty for the only tip.
        :raises RequestRefused: for a link that is not fixed to a tip of the solver, and an empty name if there are
            several tips.
        """
        return self._tip_link(solver, link).tip

    def _find_tip_link(self, solver: IkSolver, link: str) -> _TipLink:
        tips = solver.tip_frames
        if not link and len(tips) == 1:
            return _TipLink(0, None)
        if link in tips:
            return _TipLink(tips.index(link), None)
        if link in self.robot.tree.link_index:
            for index, tip in enumerate(tips):
                offset = self.robot.rigid_offset(tip, link)
                if offset is not None:
                    return _TipLink(index, offset)
        raise Refusal.UNKNOWN_LINK.error(self._describe_wrong_link(link, tips))

    def _describe_wrong_link(self, link: str, tips: Sequence[str]) -> str:
        """
        Return a sentence that says why a link cannot have a goal.

        Either it has no name, or the robot lacks it, or it is not fixed to one of the ``tips`` of the group.
        """
        tips_text = list_names(map(quote, tips))
        if not link:
            return f'Group {quote(self.group.name)} has several tips ({tips_text}): name the link of the pose.'
        if link not in self.robot.tree.link_index:
            choices = describe_choices(link, self.robot.tree.link_names)
            return f'Robot {quote(self.robot.name)} has no link {quote(link)}. {choices}'
        return f'Link {quote(link)} is not rigidly attached to a tip of group {quote(self.group.name)} ({tips_text}).'
