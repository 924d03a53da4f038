"""One planning group in a viewer: a target for each tip, the posture that follows, branches, and causes of failures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.chain_kinematics import ChainKinematics, manipulability_of
from ssik_ros.results import Cause
from ssik_ros.server.requests.ik_requests import (
    Branch,
    BranchOptions,
    FramedPose,
    FullState,
    IkRequest,
    IkResponse,
    StateRequest,
)
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.server.scene.world import SceneWorld
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.solvers.registry import solver_schema, solver_spec
from ssik_ros.solvers.self_motions.curve import SelfMotion
from ssik_ros.view.first_posture import find_first_state
from ssik_ros.view.posture_session import BEGIN, BY_HAND, PostureSession, SolveOutcome
from ssik_ros.view.relaxations import Relaxations, same_group
from ssik_ros.view.velocity_ellipsoid import make_ellipsoid, VelocityEllipsoid

DRAG_TIMEOUT = 0.05
"""Budget of a request while a target is dragged [s]."""
SEARCH_BUDGET = 0.3
"""Time budget of a search for branches or for an explanation [s]."""
REDUNDANT = 7
"""Joints of an arm whose postures at one pose are curves."""
MOST_FOUND = 128
"""Most branches of a request; the shown branches are chosen among them."""
HELD = ' at '
"""Text in a label between the signs and the position of the joint that a solver holds."""
SHOWN_BRANCH_DISTANCE = 0.05
"""Largest distance of a branch that counts as the shown posture [rad or m]."""


class Session(PostureSession):
    """One group of a robot with the solver of an arm: every branch, causes of failures, and remedies."""

    can_avoid = True

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
        Begin at the posture of :func:`ssik_ros.view.first_posture.find_first_state`.

        :param robot: the robot.
        :param group: its group whose tips have targets.
        :param kinematics: solver and parameters; None for the default solver.
        :param most_branches: branches that :meth:`complete` shows; of more, those that differ most.
        :param origin: the options of ``ssik`` that chose the robot, for test cases.
        :param server: responds to the requests while nothing is relaxed; None for a new one with the given solver.
        """
        super().__init__(robot)
        self.origin = origin or {}
        self._given = server
        self._world = SceneWorld() if server is None else server.scene.world
        self.group = group
        self.variable_names, self.places = group.variable_names, group.idx_q
        self.links = dict(zip(group.tips, group.tips))
        ends = (group.base_link, group.tips[0])
        self._chain = ChainKinematics(robot, group, *ends) if len(group.tips) == 1 else None
        self.kinematics = kinematics or GroupKinematics(group.name)
        self.most_branches = most_branches
        self.relaxations = Relaxations()
        self.wants_windings = False
        self.rival = ''
        """A solver that gets the same requests, for comparison; empty without one."""
        self.rival_outcome: SolveOutcome | None = None
        self._rival_server: RobotServer | None = None
        self.waypoints: list[FloatArray] = []
        """(4, 4) recorded poses of the target in the model frame."""
        self.curves: Sequence[SelfMotion] = ()
        """The self-motions of a pose that an arm with a redundant joint reaches; found by :meth:`complete`."""
        self.curve_postures: Sequence[tuple[FloatArray, FloatArray]] = ()
        """Arc lengths (m,) and postures (m, n) of each."""
        self.curves_text = ''
        self._curves_of: FloatArray | None
        self._start()
        self.state = self._first_state()
        self.set_joints(self.joints)
        self.outcome = BEGIN

    def _start(self) -> None:
        """Make the server of the robot as it is relaxed now; self-motions depend on limits."""
        self._curves_of = None
        if self._given is not None and self.relaxations == Relaxations():
            self.server = self._given
            self.lower, self.upper = self.group.lower, self.group.upper
            return
        robot = self.relaxations.apply(self.robot)
        group = same_group(robot, self.group)
        kinematics = {group.name: self._relaxed(self.kinematics)}
        scene = PlanningScene(robot, self._world)
        self.server = RobotServer(robot, [group], kinematics, scene=scene)
        self.server.groups[group.name].warm_up()
        self.lower, self.upper = group.lower, group.upper
        self.compare_with(self.rival)

    def _relaxed(self, kinematics: GroupKinematics) -> GroupKinematics:
        """Return kinematics that also leave the orientation free if that is relaxed now."""
        is_free = self.relaxations.orientation or kinematics.position_only
        return replace(kinematics, position_only=is_free)

    def _first_state(self) -> FullState:
        default = self.server.states.default()

        def is_free(positions: FloatArray) -> bool:
            state = default._replace(positions=positions)
            return not self.server.check_state(StateRequest(), state).contacts

        positions = find_first_state(self.robot, self.group, is_free)
        return default._replace(positions=positions)

    def home_joints(self) -> FloatArray:
        return self._first_state().positions[self.places]

    def random_joints(self) -> FloatArray:
        return self.server.robot.sample(self.group, self._rng)

    def show_state(self, state: FullState, outcome: SolveOutcome = BY_HAND) -> None:
        super().show_state(state, outcome)
        self.seed = self.joints.copy()

    def solve(self) -> None:
        self.seed = self._solved.positions[self.places].copy()
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

        :param name: the solver; empty to compare with none.
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

    def relax(self, relaxations: Relaxations) -> None:
        """
        Try the present targets with other relaxations.

        :param relaxations: the constraints that are ignored from now on.
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
        kinematics = make_kinematics(self.kinematics, name, parameters)
        self.server = self.server.with_kinematics(self._relaxed(kinematics))
        self.kinematics = kinematics
        self.compare_with(self.rival)
        self.solve()

    def complete(self) -> None:
        if self.outcome.solved:
            self._find_branches()
            self._find_curves()
        else:
            self._explain()
            self.curves, self.curve_postures, self._curves_of = (), (), None
        super().complete()

    def _find_branches(self) -> None:
        found = self.server.solve_all(self._request(SEARCH_BUDGET), self.state)
        self.branches_complete = found.report.complete
        others = [branch for branch in found.branches if branch.distance > SHOWN_BRANCH_DISTANCE]
        self.branches = choose_different(others, self.joints, self.most_branches)
        self.branches_text = found.text
        if len(others) > len(self.branches):
            self.branches_text += f' {len(self.branches)} are shown, nearest first.'

    def _find_curves(self) -> None:
        """Find the self-motions of the shown pose, where the arm has any and the pose is new."""
        target = self.targets.get(self.tips[0])
        if len(self.tips) != 1 or len(self.places) != REDUNDANT or target is None:
            return
        if self._curves_of is not None and np.array_equal(self._curves_of, target):
            return
        found = self.server.self_motions(self._request(SEARCH_BUDGET), self.state)
        self.curves = () if found.motions is None else found.motions.curves
        self.curves_text = found.text
        self.curve_postures, self._curves_of = found.postures, target.copy()

    def slide(self, number: int, length: float) -> None:
        """
        Show a posture of a self-motion; the target stays.

        :param number: index of the curve; a number that no curve has is ignored.
        :param length: along the curve, cut to its ends [rad].
        """
        if not number < len(self.curves):
            return
        curve = self.curves[number]
        q = curve(float(np.clip(length, 0.0, curve.length)))
        self._show(self.state_with(np.clip(q, self.lower, self.upper)))
        text = f'Posture {length:.2f} rad along curve {number + 1}.'
        self.outcome = SolveOutcome(True, Cause.NONE, text)

    def manipulability(self, q: FloatArray) -> float:
        """
        Return the product of the singular values of the Jacobian of the tip; 0 at a singularity, NaN for several tips.

        :param q: (n) posture [rad or m].
        """
        if self._chain is None:
            return float('nan')
        return float(manipulability_of(self._chain.jacobian(q)))

    def velocity_ellipsoid(self) -> VelocityEllipsoid | None:
        """Return the velocities of the tip in the shown posture; None for several tips."""
        if self._chain is None:
            return None
        base = self.tip_pose(self.group.base_link)[:3, :3]
        jacobian = base @ self._chain.jacobian(self.joints)[:3]
        return make_ellipsoid(jacobian, self.tip_pose(self.tips[0])[:3, 3])

    def _explain(self) -> None:
        """Show the nearest posture, and keep why it is not at the target; do nothing for several targets."""
        if len(self.targets) == 1:
            self.explanation = self.server.explain(self._request(SEARCH_BUDGET), self._solved)
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
            branches=BranchOptions(MOST_FOUND, self.wants_windings),
        )


def choose_different(branches: Sequence[Branch], q: FloatArray, most: int) -> tuple[Branch, ...]:
    """
    Return the nearest branch of each label, then the branches that differ most from those chosen; in their order.

    A seven-joint arm has many branches on one self-motion, which have one label and look alike.

    :param branches: the branches, nearest first.
    :param q: (n) the posture [rad or m].
    :param most: how many are chosen.
    """
    if len(branches) <= most:
        return tuple(branches)
    signs = [branch.label.partition(HELD)[0] for branch in branches]
    chosen = [signs.index(sign) for sign in dict.fromkeys(signs)][:most]
    postures = np.array([branch.positions for branch in branches])
    taken = np.vstack((q, postures[chosen]))
    apart = np.abs(postures[:, None] - taken).max(axis=2).min(axis=1)
    while len(chosen) < most:
        chosen.append(int(apart.argmax()))
        apart = np.minimum(apart, np.abs(postures - postures[chosen[-1]]).max(axis=1))
    return tuple(branches[place] for place in sorted(chosen))


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
