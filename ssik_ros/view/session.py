"""
What a viewer shows: one group of a robot, the target of each tip, the posture that follows, and why it does not.

A session knows neither browser nor ROS. One thread at a time calls it. The request that follows a dragged target is answered at once;
what takes longer (other branches, an explanation, collisions) waits for :meth:`Session.complete`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidTarget, quote
from ssik_ros.model.collision.scene import Contact
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause
from ssik_ros.server.groups.explanations import Explanation
from ssik_ros.server.requests.ik_requests import (
    Branch,
    BranchOptions,
    FramedPose,
    FullState,
    IkRequest,
    IkResponse,
    StateRequest,
)
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.solvers.registry import solver_schema, solver_spec
from ssik_ros.view.relaxations import Relaxations, same_group

DRAG_TIMEOUT = 0.05
"""Budget of a request while a target is dragged [s]."""
PATIENCE = 0.3
"""Budget of a search for branches or for an explanation [s]."""
MOST_UNDONE = 100
SAME = 0.05
"""A branch nearer than this to the shown posture counts as the shown posture [rad or m]."""


class SolveOutcome(NamedTuple):
    """How the last request ended."""

    solved: bool
    cause: Cause
    text: str
    seconds: float = 0.0
    """Time within the solver [s]."""
    iterations: int = 0


class Earlier(NamedTuple):
    """What undo returns to."""

    state: FullState
    targets: dict[str, FloatArray]


BY_HAND = SolveOutcome(True, Cause.NONE, 'The joints are set by hand.')


class Session:
    """A robot, its targets and its posture."""

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        kinematics: GroupKinematics | None = None,
        *,
        most_branches: int = 8,
        origin: Mapping[str, Any] | None = None,
        server: RobotServer | None = None,
    ) -> None:
        """
        Begin at the first named posture of the group, or at the robot's default.

        :param robot: the robot.
        :param group: its group whose tips have targets.
        :param kinematics: solver and parameters; None for the default solver.
        :param most_branches: branches that :meth:`complete` looks for.
        :param origin: the options of ``ssik`` that chose the robot, for test cases.
        :param server: responds to the requests while nothing is relaxed; None for a new one with the given solver.
        """
        self.origin = origin or {}
        self._given = server
        self.robot, self.group = robot, group
        self.kinematics = kinematics or GroupKinematics(group.name)
        self.most_branches = most_branches
        self.relaxations = Relaxations()
        self.avoids_collisions = False
        self.wants_windings = False
        self.rival = ''
        """A solver that gets the same requests; empty for none."""
        self.rival_outcome: SolveOutcome | None = None
        self._rival_server: RobotServer | None = None
        self._rng = np.random.default_rng(0)
        self.branches: tuple[Branch, ...] = ()
        self.explanation: Explanation | None = None
        self.contacts: tuple[Contact, ...] = ()
        self._earlier: list[Earlier] = []
        self._start()
        self.state = self._first_state()
        self._solved = self.state
        self.targets: dict[str, FloatArray] = {}
        self.set_joints(self.joints)

    def _start(self) -> None:
        """Make the server of the robot as it is relaxed now."""
        if self._given is not None and self.relaxations == Relaxations():
            self.server = self._given
            self.lower, self.upper = self.group.lower, self.group.upper
            return
        robot = self.relaxations.apply(self.robot)
        group = same_group(robot, self.group)
        kinematics = self.kinematics
        if self.relaxations.orientation:
            kinematics = replace(kinematics, position_only=True)
        self.server = RobotServer(robot, [group], {group.name: kinematics})
        self.server.groups[group.name].warm_up()
        self.lower, self.upper = group.lower, group.upper
        self.compare_with(self.rival)

    def _first_state(self) -> FullState:
        state = self.server.states.default()
        for named in self.robot.srdf.states:
            if named.group == self.group.name:
                q = self.robot.named_state(self.group, named.name)
                return self.state_with(q, state)
        return state

    @property
    def joints(self) -> FloatArray:
        """Return the posture (n) of the group [rad or m]."""
        return self.state.positions[self.group.idx_q]

    @property
    def tips(self) -> tuple[str, ...]:
        """Return the links that have targets."""
        return self.group.tips

    def tip_pose(self, link: str, state: FullState | None = None) -> FloatArray:
        """
        Return the pose (4, 4) of a link in the model frame.

        :param link: its name.
        :param state: a state; None for the shown one.
        """
        state = state or self.state
        return state.root_pose @ self.server.frames.link_in_root(link, state)

    def set_joints(self, q: FloatArray) -> None:
        """
        Move the joints; the targets follow.

        :param q: (n) posture, brought inside the limits [rad or m].
        """
        if np.shape(q) != self.group.idx_q.shape or not np.isfinite(q).all():
            raise InvalidTarget(
                f'Group {quote(self.group.name)} takes {len(self.group.idx_q)} finite joint values, not {np.size(q)}.'
            )
        self._show(self.state_with(np.clip(q, self.lower, self.upper)))
        self.targets = {link: self.tip_pose(link) for link in self.tips}
        self.outcome, self.seed = BY_HAND, self.joints.copy()

    def move_target(self, link: str, pose: FloatArray) -> None:
        """
        Move the target of a tip; the posture follows if the solver finds one.

        :param link: the tip.
        :param pose: (4, 4) in the model frame.
        """
        if link not in self.targets or not np.isfinite(pose).all():
            raise InvalidTarget(f'{quote(link)} with this pose is no target of the group.')
        self.targets[link] = np.array(pose, dtype=np.float64)
        self.solve()

    def solve(self) -> None:
        """Ask for the present targets again."""
        self.seed = self._solved.positions[self.group.idx_q].copy()
        response = self.server.solve(self._request(DRAG_TIMEOUT), self._solved)
        self._forget_details()
        self.outcome = _outcome_of(response)
        self.rival_outcome = None
        if self._rival_server is not None:
            rival = self._rival_server.solve(self._request(DRAG_TIMEOUT), self._solved)
            self.rival_outcome = _outcome_of(rival)
        if response.state is not None:
            self._show(response.state)

    def compare_with(self, name: str) -> None:
        """
        Give another solver the same requests.

        :param name: the solver; empty for none.
        :raises SsikError: for an unknown solver.
        """
        self._rival_server = None
        if name:
            kinematics = make_kinematics(self.server.groups[self.group.name].kinematics, name, {})
            self._rival_server = self.server.with_kinematics(kinematics)
        self.rival, self.rival_outcome = name, None

    def take(self, branch: Branch) -> None:
        """
        Show another branch of the same pose.

        :param branch: one of ``branches``.
        """
        self.remember()
        self._show(self.state_with(branch.positions))
        self.outcome = SolveOutcome(True, Cause.NONE, f'Branch taken: {branch.label}.')

    def go_home(self) -> None:
        """Show the first posture again."""
        self.remember()
        self.set_joints(self._first_state().positions[self.group.idx_q])

    def go_anywhere(self) -> None:
        """Show a random posture; the sequence of postures is the same in each session."""
        self.remember()
        self.set_joints(self.server.robot.sample(self.group, self._rng))

    def remember(self) -> None:
        """Keep what is shown for :meth:`undo`."""
        self._earlier.append(Earlier(self._solved, dict(self.targets)))
        del self._earlier[:-MOST_UNDONE]

    def undo(self) -> bool:
        """Return to what was kept last; return whether there was anything."""
        if not self._earlier:
            return False
        earlier = self._earlier.pop()
        self._show(self._inside(earlier.state))
        self.targets = dict(earlier.targets)
        if self.state is not earlier.state:
            # Limits that were released then count again.
            self.solve()
            return True
        self.outcome = SolveOutcome(True, Cause.NONE, 'Undone.')
        return True

    def relax(self, relaxations: Relaxations) -> None:
        """
        Try the present targets with other relaxations.

        :param relaxations: what is let go of from now on.
        """
        self.relaxations = relaxations
        self._start()
        self._show(self._inside(self._solved))
        self.solve()

    def use_solver(self, name: str, parameters: Mapping[str, Any]) -> None:
        """
        Try the present targets with another solver.

        :param name: its name.
        :param parameters: those that differ from their defaults.
        :raises SsikError: for an unknown solver and for wrong parameters.
        """
        self.kinematics = make_kinematics(self.kinematics, name, parameters)
        self._start()
        self.solve()

    def complete(self) -> None:
        """Find what takes longer: the branches of a pose, or why it has none; and what collides."""
        if self.outcome.solved:
            self._find_branches()
        else:
            self._explain()
        response = self.server.check_state(StateRequest(), self.state)
        self.contacts = tuple(response.contacts)
        self.unchecked = response.text if response.refusal is not Refusal.NONE else ''

    def _find_branches(self) -> None:
        found = self.server.solve_all(self._request(PATIENCE), self.state)
        self.branches_text = found.text
        self.branches_complete = found.report.complete
        self.branches = tuple(b for b in found.branches if b.distance > SAME)

    def _explain(self) -> None:
        """Show the nearest posture, and keep why it is not at the target."""
        if len(self.targets) == 1:
            self.explanation = self.server.explain(self._request(PATIENCE), self._solved)
            nearest = self.explanation.nearest
            if nearest is not None and np.isfinite(nearest).all():
                self.state = self.state_with(nearest)

    def _request(self, timeout: float) -> IkRequest:
        frame = self.robot.model_frame
        return IkRequest(
            self.group.name,
            list(self.targets),
            [FramedPose(frame, pose) for pose in self.targets.values()],
            timeout=timeout,
            avoid_collisions=self.avoids_collisions,
            branches=BranchOptions(self.most_branches + 1, self.wants_windings),
        )

    def _show(self, state: FullState) -> None:
        self.state = self._solved = state
        self._forget_details()

    def _forget_details(self) -> None:
        self.branches, self.contacts, self.explanation = (), (), None
        self.branches_text, self.branches_complete, self.unchecked = '', False, ''

    def state_with(self, q: FloatArray, state: FullState | None = None) -> FullState:
        """
        Return a state with other joint values of the group.

        :param q: (n) posture of the group [rad or m].
        :param state: gives all other joints; None for the shown state.
        """
        state = state or self.state
        positions = state.positions.copy()
        positions[self.group.idx_q] = q
        return state._replace(positions=self.robot.with_mimic(positions))

    def _inside(self, state: FullState) -> FullState:
        """Return a state with the group inside its limits; the same state if it is inside."""
        q = state.positions[self.group.idx_q]
        inside = np.clip(q, self.lower, self.upper)
        return state if np.array_equal(q, inside) else self.state_with(inside, state)


def make_kinematics(
    kinematics: GroupKinematics, name: str, parameters: Mapping[str, Any]
) -> GroupKinematics:
    """
    Return kinematics with another solver.

    :param kinematics: the group's own.
    :param name: the solver.
    :param parameters: those that differ from their defaults.
    :raises SsikError: for an unknown solver and for wrong parameters.
    """
    spec = solver_spec(name)
    checked = solver_schema(spec).check(dict(parameters), spec.parameter_aliases, 'solver panel')
    return replace(kinematics, requested_solver=spec.name, solver=spec.name, parameters=checked)


def _outcome_of(response: IkResponse) -> SolveOutcome:
    """Return how a request ended."""
    result = response.result
    seconds, iterations = 1e-9 * response.solve_ns, 0 if result is None else result.iterations
    return SolveOutcome(response.solved, response.cause, response.text, seconds, iterations)
