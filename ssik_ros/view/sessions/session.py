"""A session for one planning group: a target for each tip, the posture that follows, branches, and causes of failures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption
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
from ssik_ros.view.relaxations import Relaxations, same_group
from ssik_ros.view.sessions.first_posture import find_first_state
from ssik_ros.view.sessions.posture_session import BEGIN, BY_HAND, PostureSession, SolveOutcome
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
    """A session for one group of a robot, with the branches of a reached pose and an explanation of an unreached one."""

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
        Begin at the posture of :func:`ssik_ros.view.sessions.first_posture.find_first_state`.

        :param robot: the robot.
        :param group: the group whose tips have targets.
        :param kinematics: solver and parameters; None for the default solver.
        :param most_branches: largest number of branches that :meth:`complete` keeps; it prefers branches that differ.
        :param origin: the options of ``ssik`` that named the robot, for test cases and copied commands; None if
            unknown.
        :param server: solves the requests while no constraint is ignored; None for a new one.
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
        """Make the server for the robot with its present relaxations, read the limits, and mark self-motions as outdated."""
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
        """Return a copy of solver settings that leaves the orientation free if the relaxations or the settings say so."""
        is_free = self.relaxations.orientation or kinematics.position_only
        return replace(kinematics, position_only=is_free)

    def refuse_relaxed(self, noun: str) -> None:
        """
        Raise InvalidOption if constraints are ignored, because text or files about the robot cannot say so.

        :param noun: name of the text or file, such as ``A command``.
        :raises InvalidOption: if a limit, a collision or the orientation is ignored.
        """
        if self.relaxations != Relaxations():
            raise InvalidOption(f'{noun} is of the robot as it is: take back what you released.')

    @property
    def model_in_base(self) -> FloatArray:
        """Return the pose (4, 4) of the model frame in the base link of the group."""
        return self.server.frames.model_in_link(self.group.base_link, self.state)

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
        Choose a second solver that gets the same requests from now on; its outcome is in ``rival_outcome``.

        :param name: name of the solver; empty for no second solver.
        :raises SsikError: for an unknown solver.
        """
        server = None
        if name:
            kinematics = make_kinematics(self.server.groups[self.group.name].kinematics, name, {})
            server = self.server.with_kinematics(kinematics)
        self._rival_server, self.rival, self.rival_outcome = server, name, None

    def take(self, branch: Branch) -> None:
        """
        Show another branch, which reaches the same targets; the present state is stored for undo.

        :param branch: one of ``branches``.
        """
        with self.undo_step():
            self._show(self.state_with(branch.positions))
        self.outcome = SolveOutcome(True, Cause.NONE, f'Branch taken: {branch.label}.')

    def relax(self, relaxations: Relaxations) -> None:
        """
        Ignore other constraints than before, and solve for the present targets again.

        :param relaxations: the constraints that are ignored from now on.
        """
        self.relaxations = relaxations
        self._start()
        self._show(self._inside(self._solved))
        self.solve()

    def use_solver(self, name: str, parameters: Mapping[str, Any]) -> None:
        """
        Change the solver, and solve for the present targets again.

        :param name: name of the solver.
        :param parameters: values of parameters that differ from the solver's defaults, by name.
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
        response = self.server.solve_all(self._request(SEARCH_BUDGET), self.state)
        self.branches_complete = response.report.complete
        others = [
            branch for branch in response.branches if branch.distance > SHOWN_BRANCH_DISTANCE
        ]
        self.branches = choose_different(others, self.joints, self.most_branches)
        self.branches_text = response.text
        if len(others) > len(self.branches):
            self.branches_text += f' {len(self.branches)} are shown, nearest first.'

    @property
    def is_redundant(self) -> bool:
        """Return whether the postures at one pose are curves, of which branches are samples: seven joints and one tip."""
        return len(self.tips) == 1 and len(self.places) == REDUNDANT

    def _find_curves(self) -> None:
        """
        Find the self-motions of the shown target and store them in ``curves``.

        Only for an arm of seven joints and one tip.

        Nothing is done if the target has not changed since the last call.
        """
        target = self.targets.get(self.tips[0])
        if not self.is_redundant or target is None:
            return
        if self._curves_of is not None and np.array_equal(self._curves_of, target):
            return
        response = self.server.self_motions(self._request(SEARCH_BUDGET), self.state)
        self.curves = () if response.motions is None else response.motions.curves
        self.curves_text = response.text
        self.curve_postures, self._curves_of = response.postures, target.copy()

    def slide(self, number: int, length: float) -> None:
        """
        Show a posture on a self-motion, a curve of postures that all reach the target.

        :param number: index of the curve in ``curves``; if no curve has it, nothing changes.
        :param length: arc length from the beginning of the curve, clamped to its ends [rad].
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
        Return the manipulability of a posture: the product of the singular values of the tip's Jacobian.

        It is 0 at a singularity, and NaN for a group with several tips.

        :param q: (n,) posture [rad or m].
        """
        if self._chain is None:
            return float('nan')
        return float(manipulability_of(self._chain.jacobian(q)))

    def velocity_ellipsoid(self) -> VelocityEllipsoid | None:
        """Return the manipulability ellipsoid of the tip in the shown posture; None for several tips."""
        if self._chain is None:
            return None
        base = self.tip_pose(self.group.base_link)[:3, :3]
        jacobian = base @ self._chain.jacobian(self.joints)[:3]
        return make_ellipsoid(jacobian, self.tip_pose(self.tips[0])[:3, 3])

    def _explain(self) -> None:
        """
        Store the explanation of an unreached target, and show the nearest posture if it has one.

        Do nothing for several targets.
        """
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
    Return at most ``most`` branches that look different, in the order of ``branches``.

    If there are at most ``most`` branches, all are returned. Otherwise the nearest branch of each label is taken first;
    the position of a held joint in the label does not count. Then the branch that differs most from the posture and
    from all taken ones is added, again and again; a branch that is equal to one of them never is. A seven-joint arm has
    many similar branches of one label on one self-motion.

    :param branches: the branches, nearest first.
    :param q: (n,) the shown posture [rad or m].
    :param most: largest number of returned branches.
    """
    if len(branches) <= most:
        return tuple(branches)
    signs = [branch.label.partition(HELD)[0] for branch in branches]
    chosen = [signs.index(sign) for sign in dict.fromkeys(signs)][:most]
    postures = np.array([branch.positions for branch in branches])
    taken = np.vstack((q, postures[chosen]))
    apart = np.abs(postures[:, None] - taken).max(axis=2).min(axis=1)
    while len(chosen) < most and apart.max() > 0.0:
        chosen.append(int(apart.argmax()))
        apart = np.minimum(apart, np.abs(postures - postures[chosen[-1]]).max(axis=1))
    return tuple(branches[place] for place in sorted(chosen))


def make_kinematics(
    kinematics: GroupKinematics, name: str, parameters: Mapping[str, Any]
) -> GroupKinematics:
    """
    Return a copy of a group's solver settings with another solver and its parameters.

    :param kinematics: settings of the group.
    :param name: name of the solver.
    :param parameters: values of parameters that differ from the solver's defaults, by name.
    :raises SsikError: for an unknown solver and for wrong parameters.
    """
    spec = solver_spec(name)
    checked = solver_schema(spec).check(dict(parameters), spec.parameter_aliases, 'solver panel')
    return replace(kinematics, requested_solver=spec.name, solver=spec.name, parameters=checked)


def _outcome_of(response: IkResponse) -> SolveOutcome:
    """Return success, cause, text, time and iterations of a response as a SolveOutcome."""
    result = response.result
    seconds, iterations = 1e-9 * response.solve_ns, 0 if result is None else result.iterations
    return SolveOutcome(response.solved, response.cause, response.text, seconds, iterations)
