"""
MoveIt's KinematicsBase in Python: the methods that MoveIt's plugins have, for every solver of the registry.

Poses are (4, 4) transforms of the tips in the base frame, solutions are in the order of ``get_joint_names()``. Where
MoveIt fills references, the methods return values; error codes have the numbers of moveit_msgs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from enum import IntEnum
import itertools
import logging
import math
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ModelError, quote, SsikError
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.forward_kinematics import compute_joint_poses, compute_link_pose
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.moveit.nearest_steps import NearestSteps
from ssik_ros.problem.contract import BranchSolver, IkSolver, SolveRequest
from ssik_ros.results import Cause, CAUSE_TEXT, IkResult
from ssik_ros.solvers.auto.policy import Knowledge, knowledge_of
from ssik_ros.solvers.registry import create_solver, DEFAULT_SOLVER
from ssik_ros.value_class import dataclass

_LOGGER = logging.getLogger('ssik_ros.moveit.kinematics_base')

Vector = Sequence[float] | FloatArray

SUCCESS = 1
NO_IK_SOLUTION = -31
TIMED_OUT = -6
DEFAULT_SEARCH_DISCRETIZATION = 0.1
DEFAULT_TIMEOUT = 1.0
MOST_SOLUTIONS = 256
"""Solutions of one pose that are collected."""
COMPARED = 16
"""Solutions among which a cost function chooses."""
STARTS = 1000
"""Starts of a search for several solutions."""
RANDOM_SAMPLES = 16
"""Values of each redundant joint that are drawn where samples are random."""


class DiscretizationMethod(IntEnum):
    """How values of redundant joints are chosen, with MoveIt's numbers."""

    NO_DISCRETIZATION = 1
    ALL_DISCRETIZED = 2
    SOME_DISCRETIZED = 3
    ALL_RANDOM_SAMPLED = 4
    SOME_RANDOM_SAMPLED = 5


class KinematicError(IntEnum):
    """How a request for several solutions ended, with MoveIt's numbers (and spelling)."""

    OK = 1
    UNSUPORTED_DISCRETIZATION_REQUESTED = 2
    DISCRETIZATION_NOT_INITIALIZED = 3
    MULTIPLE_TIPS_NOT_SUPPORTED = 4
    EMPTY_TIP_POSES = 5
    IK_SEED_OUTSIDE_LIMITS = 6
    SOLVER_NOT_ACTIVE = 7
    NO_SOLUTION = 8


@dataclass(frozen=True)
class KinematicsQueryOptions:
    """Options that MoveIt's callers may set."""

    lock_redundant_joints: bool = False
    """Hold the redundant joints at the values of the seed."""
    return_approximate_solution: bool = False
    """
    Return the nearest posture where none is within tolerance; it is marked as approximate. For a pose that the joints may
    reach in one cycle, this is the step from the seed that comes nearest, see
    :mod:`ssik_ros.moveit.nearest_steps`.
    """
    discretization_method: DiscretizationMethod = DiscretizationMethod.NO_DISCRETIZATION


DEFAULT_OPTIONS = KinematicsQueryOptions()


class IkReply(NamedTuple):
    """One solution, or the cause of the failure."""

    solved: bool
    solution: FloatArray
    """(n); empty without a solution."""
    error_code: int
    cause: Cause
    text: str
    is_approximate: bool = False


class IkReplies(NamedTuple):
    """Several solutions of one pose."""

    solutions: list[FloatArray]
    """(n) each, nearest to the seed first."""
    kinematic_error: KinematicError
    solution_percentage: float
    """Part of the tried values of redundant joints that have a solution; 1 where none is sampled."""

    @property
    def solved(self) -> bool:
        """Return whether there is at least one solution."""
        return bool(self.solutions)


SolutionCallback = Callable[[FloatArray, FloatArray], int | bool]
"""Called with the (first) pose and a candidate; SUCCESS or true takes it, anything else goes on searching."""
CostFunction = Callable[[FloatArray, FloatArray, FloatArray], float]
"""Called with the (first) pose, a solution and the seed; the smallest value wins."""


@dataclass(frozen=True)
class _Setup:
    """Everything that initialization decides."""

    robot: RobotModel
    group: JointGroup
    solver: IkSolver
    tip_frames: tuple[str, ...]
    tools: FloatArray | None
    """(t, 4, 4) poses of the tips in the solver's; None where they are the same."""
    redundant: tuple[int, ...] = ()
    discretization: Mapping[int, float] = field(default_factory=dict)


class KinematicsBase:
    """A group's kinematics with MoveIt's methods; several threads may call it at once."""

    def __init__(
        self,
        solver: str = DEFAULT_SOLVER,
        parameters: Mapping[str, Any] | None = None,
        *,
        position_only: bool = False,
    ) -> None:
        """
        Choose a solver; :meth:`initialize` makes it.

        :param solver: a name of the registry.
        :param parameters: of the solver.
        :param position_only: leave the orientation of poses free (``position_only_ik``).
        """
        self._solver_name = solver
        self._parameters = dict(parameters or {})
        self._position_only = position_only
        self._setup: _Setup | None = None
        self._timeout = DEFAULT_TIMEOUT
        self._steps: NearestSteps | None = None
        self.reason = 'initialize() has not been called'
        """Why initialization failed."""

    # Initialization and names

    def initialize(
        self,
        robot: RobotModel,
        group_name: str,
        base_frame: str = '',
        tip_frames: Sequence[str] = (),
        search_discretization: float = DEFAULT_SEARCH_DISCRETIZATION,
    ) -> bool:
        """
        Make the solver; return whether that worked, else ``reason`` says why not.

        :param robot: the robot.
        :param group_name: one of its groups.
        :param base_frame: of all poses; empty for the group's, which it has to be.
        :param tip_frames: links that poses are for, in the order of the group's tips; each a tip or rigid with one.
        :param search_discretization: step of redundant joints [rad or m].
        """
        try:
            group = robot.group(group_name)
            solver = self._make_solver(robot, group)
            setup = self._place_tips(robot, group, solver, base_frame, tip_frames)
        except SsikError as error:
            self.reason = str(error)
            _LOGGER.error('%s', self.reason)
            return False
        self._setup, self._steps, self.reason = setup, None, ''
        self.set_search_discretization(search_discretization)
        solver.warm_up()
        return True

    def _make_solver(self, robot: RobotModel, group: JointGroup) -> IkSolver:
        """Return the solver that was chosen, for a group."""
        return create_solver(
            self._solver_name, robot, group, self._parameters, position_only=self._position_only
        )

    def _place_tips(
        self,
        robot: RobotModel,
        group: JointGroup,
        solver: IkSolver,
        base_frame: str,
        tip_frames: Sequence[str],
    ) -> _Setup:
        base = base_frame.removeprefix('/')
        if base not in ('', solver.base_frame):
            raise ModelError(
                f'The base of group {quote(group.name)} is {quote(solver.base_frame)}, not {quote(base)}.'
            )
        names = [name.removeprefix('/') for name in tip_frames] or list(solver.tip_frames)
        if len(names) != len(solver.tip_frames):
            raise ModelError(
                f'Group {quote(group.name)} has the tips {list(solver.tip_frames)}, not {names}.'
            )
        tools = np.empty((len(names), 4, 4))
        for index, (own, wanted) in enumerate(zip(solver.tip_frames, names, strict=True)):
            offset = robot.rigid_offset(own, wanted)
            if offset is None:
                raise ModelError(f'Link {quote(wanted)} is not rigid with the tip {quote(own)}.')
            tools[index] = offset
        same = names == list(solver.tip_frames)
        return _Setup(robot, group, solver, tuple(names), None if same else tools)

    def supports_group(self, group: JointGroup) -> tuple[bool, str]:
        """
        Return whether the solver serves a group, and why not.

        :param group: of the robot of :meth:`initialize`.
        """
        if self._setup is None:
            return False, self.reason
        try:
            self._make_solver(self._setup.robot, group)
        except SsikError as error:
            return False, str(error)
        return True, ''

    def get_group_name(self) -> str:
        """Return the name of the group; empty before initialization."""
        return '' if self._setup is None else self._setup.group.name

    def get_base_frame(self) -> str:
        """Return the link that all poses are in; empty before initialization."""
        return '' if self._setup is None else self._setup.solver.base_frame

    def get_tip_frame(self) -> str:
        """Return the link that poses are for; of several the first, with an error in the log."""
        tips = self.get_tip_frames()
        if len(tips) > 1:
            _LOGGER.error("Group '%s' has several tips: %s.", self.get_group_name(), tips)
        return tips[0] if tips else ''

    def get_tip_frames(self) -> tuple[str, ...]:
        """Return the links that poses are for."""
        return () if self._setup is None else self._setup.tip_frames

    def get_joint_names(self) -> tuple[str, ...]:
        """Return the variables of seeds and solutions, in their order."""
        return () if self._setup is None else self._setup.group.variable_names

    def get_link_names(self) -> tuple[str, ...]:
        """Return the links of the group."""
        return () if self._setup is None else self._setup.group.link_names

    def get_solver(self) -> IkSolver:
        """
        Return the solver, whose targets are poses of its own tip frames.

        :raises ModelError: before initialization.
        """
        if self._setup is None:
            raise ModelError(f'Not initialized: {self.reason}.')
        return self._setup.solver

    def has_own_tips(self) -> bool:
        """Return whether poses are for the tip frames of the solver, not for links rigid with them."""
        return self._setup is not None and self._setup.tools is None

    # Redundant joints, timeouts

    def set_redundant_joints(self, joints: Sequence[int | str]) -> bool:
        """
        Choose the joints that are redundant; return false, and change nothing, when one does not exist.

        :param joints: indices into the joint names, or names.
        """
        names = self.get_joint_names()
        indices = [names.index(j) if j in names else -1 for j in joints if isinstance(j, str)]
        indices += [j for j in joints if not isinstance(j, str)]
        if self._setup is None or not all(0 <= index < len(names) for index in indices):
            return False
        steps = dict.fromkeys(indices, DEFAULT_SEARCH_DISCRETIZATION)
        self._setup = replace(self._setup, redundant=tuple(indices), discretization=steps)
        return True

    def get_redundant_joints(self) -> tuple[int, ...]:
        """Return the indices of the redundant joints."""
        return () if self._setup is None else self._setup.redundant

    def set_search_discretization(self, step: float | Mapping[int, float]) -> None:
        """
        Set the step of redundant joints.

        :param step: for all of them, or by index [rad or m].
        """
        if self._setup is None:
            return
        steps = (
            dict(step) if isinstance(step, Mapping) else dict.fromkeys(self._setup.redundant, step)
        )
        self._setup = replace(self._setup, discretization=steps)

    def get_search_discretization(self, joint: int) -> float:
        """
        Return the step of a joint; 0 if the joint has none.

        :param joint: its index.
        """
        return 0.0 if self._setup is None else self._setup.discretization.get(joint, 0.0)

    def get_supported_discretization_methods(self) -> tuple[DiscretizationMethod, ...]:
        """Return how values of redundant joints can be chosen."""
        return tuple(DiscretizationMethod)

    def set_default_timeout(self, timeout: float) -> None:
        """
        Set the budget of searches that have none.

        :param timeout: [s], above zero.
        """
        self._timeout = timeout

    def get_default_timeout(self) -> float:
        """Return the budget of searches that have none [s]."""
        return self._timeout

    # Forward kinematics

    def get_position_fk(
        self, link_names: Sequence[str], joint_angles: Vector
    ) -> list[FloatArray] | None:
        """
        Return the poses (4, 4) of links in the base frame; None for unknown links or a wrong number of values.

        :param link_names: names.
        :param joint_angles: (n).
        """
        setup = self._setup
        if setup is None or not all(name in setup.robot.tree.link_index for name in link_names):
            return None
        q = np.asarray(joint_angles, dtype=np.float64)
        if q.shape != (len(setup.group.idx_q),) or not np.isfinite(q).all():
            return None
        positions = setup.robot.default_positions()
        positions[setup.group.idx_q] = q
        tree = setup.robot.tree
        joints = compute_joint_poses(tree, setup.robot.with_mimic(positions))
        base = invert_pose(compute_link_pose(tree, joints, tree.link(setup.solver.base_frame)))
        return [base @ compute_link_pose(tree, joints, tree.link(name)) for name in link_names]

    # Inverse kinematics

    def get_position_ik(
        self,
        pose: FloatArray,
        seed: Vector,
        options: KinematicsQueryOptions = DEFAULT_OPTIONS,
    ) -> IkReply:
        """
        Return the solution next to the seed, in one attempt without other starts.

        Of a solver that knows the branches of a pose it is the nearest one as MoveIt measures it, the first of
        :meth:`get_position_ik_solutions`; of others the one that the seed leads to.

        :param pose: (4, 4), or (t, 4, 4) for several tips.
        :param seed: (n).
        :param options: MoveIt's options.
        """
        solver = None if self._setup is None else self._setup.solver
        knowledge = Knowledge.NOTHING if solver is None else knowledge_of(solver)
        several = {'max_solutions': MOST_SOLUTIONS}
        if isinstance(solver, BranchSolver):
            return self._find(pose, seed, options, cost=_sum_of_steps, **several)
        own = self._find(pose, seed, options, max_searches=1)
        if knowledge == Knowledge.NOTHING:
            return own
        known = self._find(pose, seed, options, _sum_of_steps, max_searches=STARTS, **several)
        if not known.solved or known.is_approximate:
            return own
        # If joints are sampled, the posture that the seed leads to may be nearer than all samples.
        is_nearer = own.solved and not own.is_approximate and _is_nearer(own, known, seed)
        return own if is_nearer else known

    def search_position_ik(
        self,
        poses: FloatArray | Sequence[FloatArray],
        seed: Vector,
        timeout: float,
        *,
        consistency_limits: Vector | None = None,
        solution_callback: SolutionCallback | None = None,
        cost_function: CostFunction | None = None,
        options: KinematicsQueryOptions = DEFAULT_OPTIONS,
        context_state: FloatArray | None = None,
    ) -> IkReply:
        """
        Search for a solution; every form of MoveIt's method.

        :param poses: (4, 4), or one for each tip in the order of the tip frames.
        :param seed: (n).
        :param timeout: budget [s]; zero or less means the default.
        :param consistency_limits: (n) largest distance of each joint from the seed; empty for none.
        :param solution_callback: tells whether a candidate is valid; the search goes on until one is.
        :param cost_function: of several solutions the one with the smallest cost is returned.
        :param options: MoveIt's options.
        :param context_state: (nq) full state, read for joints outside the group; None for default values.
        """
        first = np.asarray(poses, dtype=np.float64).reshape(-1, 4, 4)[:1]
        more: dict[str, Any] = {'timeout': timeout if timeout > 0.0 else self._timeout}
        is_plain = consistency_limits is None and cost_function is None and context_state is None
        if options.return_approximate_solution and is_plain and len(first) == 1:
            step = self._nearest_step(first[0], seed, more['timeout'], options)
            if step is not None and (
                solution_callback is None
                or int(solution_callback(first[0], step.solution)) == SUCCESS
            ):
                return step
        if consistency_limits is not None and len(consistency_limits):
            more['consistency_limits'] = np.asarray(consistency_limits, dtype=np.float64)
        if solution_callback is not None and len(first):
            more['validate'] = lambda q: int(solution_callback(first[0], q)) == SUCCESS
        if cost_function is not None and len(first):
            more['max_solutions'], more['max_searches'] = COMPARED, STARTS
        return self._find(poses, seed, options, state=context_state, cost=cost_function, **more)

    def _nearest_step(
        self, pose: FloatArray, seed: Vector, budget: float, options: KinematicsQueryOptions
    ) -> IkReply | None:
        """Return the step of one cycle, or None if the request asks for something else; see :mod:`.nearest_steps`."""
        setup, q = self._setup, np.asarray(seed, dtype=np.float64)
        if setup is None or len(setup.tip_frames) != 1 or self._locked(setup, options):
            return None
        is_usable = q.shape == (len(setup.group.idx_q),) and np.isfinite(q).all()
        if not is_usable or not np.isfinite(pose).all():
            return None
        if self._steps is None:
            ends = setup.solver.base_frame, setup.solver.tip_frames[0]
            self._steps = NearestSteps(setup.robot, setup.group, *ends, self._position_only)
        own = pose if setup.tools is None else pose @ invert_pose(setup.tools[0])
        step = self._steps.take(own, q, budget)
        if step is None:
            return None
        return IkReply(
            True, step.q, SUCCESS, step.cause, step.text, is_approximate=not step.is_exact
        )

    def get_position_ik_solutions(
        self,
        poses: FloatArray | Sequence[FloatArray],
        seed: Vector,
        options: KinematicsQueryOptions = DEFAULT_OPTIONS,
    ) -> IkReplies:
        """
        Return several solutions of one pose for each tip, nearest to the seed first.

        Without discretization these are all branches where the solver knows them, else distinct solutions of a search.
        With it, the redundant joints are held at values over their limits, at steps or at random.

        :param poses: one for each tip.
        :param seed: (n).
        :param options: MoveIt's options.
        """
        setup = self._setup
        if setup is None:
            return _no_replies(KinematicError.SOLVER_NOT_ACTIVE)
        if not len(poses):
            return _no_replies(KinematicError.EMPTY_TIP_POSES)
        if len(poses) != len(setup.tip_frames):
            return _no_replies(KinematicError.MULTIPLE_TIPS_NOT_SUPPORTED)
        if np.shape(seed) != (len(setup.group.idx_q),) or not np.isfinite(seed).all():
            return _no_replies(KinematicError.NO_SOLUTION)
        held: list[dict[str, float | None]] = [{}]
        if options.discretization_method != DiscretizationMethod.NO_DISCRETIZATION:
            if not setup.redundant or any(
                self.get_search_discretization(joint) <= 0.0 for joint in setup.redundant
            ):
                return _no_replies(KinematicError.DISCRETIZATION_NOT_INITIALIZED)
            held = self._held_values(setup, np.asarray(seed), options.discretization_method)
        found, hits = [], 0
        for values in held:
            locked = {**self._locked(setup, options), **values}
            result = self._solve(
                setup,
                poses,
                seed,
                max_solutions=MOST_SOLUTIONS,
                max_searches=STARTS,
                locked=locked,
            )
            hits += isinstance(result, IkResult) and result.solved
            if isinstance(result, IkResult):
                found += list(result.solutions)
            found += self._led_to(setup, poses, seed, locked)
        if not found:
            return _no_replies(KinematicError.NO_SOLUTION)
        found.sort(key=lambda q: _sum_of_steps(np.empty(0), q, np.asarray(seed)))
        return IkReplies(found, KinematicError.OK, hits / len(held))

    def _led_to(
        self,
        setup: _Setup,
        poses: FloatArray | Sequence[FloatArray],
        seed: Vector,
        locked: Mapping[str, float | None],
    ) -> list[FloatArray]:
        """Return the solution that the seed leads to, where it may be missing among the branches."""
        if isinstance(setup.solver, BranchSolver) or not knowledge_of(setup.solver):
            return []
        result = self._solve(setup, poses, seed, max_searches=1, locked=locked)
        return list(result.solutions) if isinstance(result, IkResult) else []

    def _held_values(
        self, setup: _Setup, seed: FloatArray, method: DiscretizationMethod
    ) -> list[dict[str, float | None]]:
        """Return the values of the redundant joints that are tried, the seed's first."""
        rng = np.random.default_rng(0)
        low, high = setup.robot.sampling_bounds(setup.group)
        axes: list[list[float]] = []
        is_random = method in (
            DiscretizationMethod.ALL_RANDOM_SAMPLED,
            DiscretizationMethod.SOME_RANDOM_SAMPLED,
        )
        some = method in (
            DiscretizationMethod.SOME_DISCRETIZED,
            DiscretizationMethod.SOME_RANDOM_SAMPLED,
        )
        for place in setup.redundant[:1] if some else setup.redundant:
            step = setup.discretization[place]
            values = [float(np.clip(seed[place], low[place], high[place]))]
            if is_random:
                values += rng.uniform(low[place], high[place], RANDOM_SAMPLES).tolist()
            else:
                values += np.arange(low[place], high[place], step).tolist()
            axes.append(values)
        names = [setup.group.variable_names[place] for place in setup.redundant]
        return [dict(zip(names, choice)) for choice in itertools.product(*axes)]

    def _locked(self, setup: _Setup, options: KinematicsQueryOptions) -> dict[str, float | None]:
        """Return the joints that are held at the values of the seed."""
        if not options.lock_redundant_joints:
            return {}
        return dict.fromkeys(setup.group.variable_names[place] for place in setup.redundant)

    def _find(
        self,
        poses: FloatArray | Sequence[FloatArray],
        seed: Vector,
        options: KinematicsQueryOptions,
        cost: CostFunction | None = None,
        **more: Any,
    ) -> IkReply:
        """Return one solution."""
        setup = self._setup
        if setup is None:
            return _no_reply(Cause.UNKNOWN_GROUP, f'Not initialized: {self.reason}.')
        more['wants_nearest'] = options.return_approximate_solution
        result = self._solve(setup, poses, seed, locked=self._locked(setup, options), **more)
        if isinstance(result, str):
            return _no_reply(Cause.BAD_TARGET, result)
        if result.solved:
            solution = result.solutions[0]
            if cost is not None:
                first = np.asarray(poses, dtype=np.float64).reshape(-1, 4, 4)[0]
                own = np.asarray(seed, dtype=np.float64)
                solution = min(result.solutions, key=lambda q: cost(first, q, own))
            return IkReply(True, solution.copy(), SUCCESS, Cause.NONE, result.summary())
        if options.return_approximate_solution and _is_usable(result):
            text = f'Approximate, off by {result.residual:.3g} (norm over m and rad). {result.summary()}'
            assert result.nearest is not None
            nearest = result.nearest.copy()
            return IkReply(True, nearest, SUCCESS, result.cause, text, is_approximate=True)
        return _no_reply(result.cause, result.summary(), error_code_of(result))

    def _solve(
        self,
        setup: _Setup,
        poses: FloatArray | Sequence[FloatArray],
        seed: Vector,
        **more: Any,
    ) -> IkResult | str:
        """Return the solver's result, or why the request is malformed."""
        targets = np.asarray(poses, dtype=np.float64)
        targets = targets.reshape(1, 4, 4) if targets.shape == (4, 4) else targets
        if targets.shape != (len(setup.tip_frames), 4, 4):
            return f'There are {len(setup.tip_frames)} tips, and poses of shape {targets.shape}.'
        own = np.asarray(seed, dtype=np.float64)
        if own.shape != (len(setup.group.idx_q),) or not np.isfinite(own).all():
            return f'The seed has to hold {len(setup.group.idx_q)} finite values.'
        try:
            return setup.solver.solve(
                SolveRequest(targets=targets, seed=own, tool_offsets=setup.tools, **more)
            )
        except SsikError as error:
            return str(error)


def error_code_of(result: IkResult) -> int:
    """
    Return MoveIt's code for a solver's result.

    :param result: the result.
    """
    if result.solved:
        return SUCCESS
    is_late = result.cause == Cause.DEADLINE or result.clock_ended
    return TIMED_OUT if is_late else NO_IK_SOLUTION


def _sum_of_steps(pose: FloatArray, q: FloatArray, seed: FloatArray) -> float:
    """Return how far a solution (n) is from a seed (n), as MoveIt measures it: the sum over the joints."""
    del pose
    return float(np.abs(q - seed).sum())


def _is_nearer(reply: IkReply, other: IkReply, seed: Vector) -> bool:
    """Return whether a solution is nearer to the seed (n) than another one, as MoveIt measures it."""
    own = np.asarray(seed, dtype=np.float64)
    first = np.empty(0)
    return _sum_of_steps(first, reply.solution, own) < _sum_of_steps(first, other.solution, own)


def _is_usable(result: IkResult) -> bool:
    """Return whether the closest state of a failed search is finite and may be returned."""
    nearest = result.nearest
    return (
        nearest is not None and math.isfinite(result.residual) and bool(np.isfinite(nearest).all())
    )


def _no_reply(cause: Cause, text: str, code: int = NO_IK_SOLUTION) -> IkReply:
    return IkReply(False, np.empty(0), code, cause, text or CAUSE_TEXT[cause])


def _no_replies(error: KinematicError) -> IkReplies:
    return IkReplies([], error, 0.0)
