"""
MoveIt's KinematicsBase in Python: the methods that MoveIt's plugins have, for every solver of the registry.

Poses are (4, 4) transforms of links in the base frame, solutions are in the order of ``get_joint_names()``. Where
MoveIt fills references, the methods return values. The error codes of replies have the numbers of moveit_msgs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
import logging
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidLimits, ModelError, SsikError
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.moveit.group_setup import GroupSetup, place_tips
from ssik_ros.moveit.nearest_steps import NearestSteps
from ssik_ros.moveit.queries import (
    CostFunction,
    DEFAULT_OPTIONS,
    DiscretizationMethod,
    error_code_of,
    has_usable_nearest,
    IkReplies,
    IkReply,
    KinematicError,
    KinematicsQueryOptions,
    no_replies,
    no_reply,
    SolutionCallback,
    SUCCESS,
    Vector,
)
from ssik_ros.problem.contract import BranchSolver, IkSolver
from ssik_ros.results import Cause, IkResult
from ssik_ros.solvers.auto.policy import Knowledge, knowledge_of
from ssik_ros.solvers.registry import create_solver, DEFAULT_SOLVER

_LOGGER = logging.getLogger('ssik_ros.moveit.kinematics_base')

DEFAULT_SEARCH_DISCRETIZATION = 0.1
DEFAULT_TIMEOUT = 1.0
MOST_SOLUTIONS = 256
"""Solutions of one pose that are collected."""
COMPARED = 16
"""Solutions among which a cost function chooses."""
STARTS = 1000
"""Starts of a search for several solutions."""


class KinematicsBase:
    """
    Inverse and forward kinematics of one planning group, with the methods of MoveIt's ``KinematicsBase``.

    After :meth:`initialize`, several threads may send requests to one instance at once.
    """

    def __init__(
        self,
        solver: str = DEFAULT_SOLVER,
        parameters: Mapping[str, Any] | None = None,
        *,
        position_only: bool = False,
    ) -> None:
        """
        Keep the name and the parameters of a solver; :meth:`initialize` makes it.

        :param solver: name of the solver in the registry.
        :param parameters: parameters of the solver; None for its defaults.
        :param position_only: leave the orientation of poses free (``position_only_ik``).
        """
        self._solver_name = solver
        self._parameters = dict(parameters or {})
        self._position_only = position_only
        self._setup: GroupSetup | None = None
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
        Make the solver and warm it up; return whether that worked.

        If the solver cannot be made, or a frame does not fit, the error is logged, and ``reason`` has its text. An
        earlier setup stays in use then. After a success no joint is redundant, until :meth:`set_redundant_joints` is
        called.

        :param robot: the robot.
        :param group_name: name of one of its planning groups.
        :param base_frame: link in which all poses are given; only the group's base is allowed, empty means the same.
        :param tip_frames: links whose poses are given, in the order of the group's tips; each a tip or a link fixed to
            it. Empty means the tips.
        :param search_discretization: without effect, because :meth:`set_redundant_joints` sets the steps.
        """
        try:
            group = robot.group(group_name)
            solver = self._make_solver(robot, group)
            setup = place_tips(robot, group, solver, base_frame, tip_frames)
        except SsikError as error:
            self.reason = str(error)
            _LOGGER.error('%s', self.reason)
            return False
        self._setup, self._steps, self.reason = setup, None, ''
        self.set_search_discretization(search_discretization)
        solver.warm_up()
        return True

    def _make_solver(self, robot: RobotModel, group: JointGroup) -> IkSolver:
        """Return a new solver for a group, with the name and the parameters given to ``__init__``."""
        return create_solver(
            self._solver_name, robot, group, self._parameters, position_only=self._position_only
        )

    def supports_group(self, group: JointGroup) -> tuple[bool, str]:
        """
        Make a solver for a group; return (True, '') if that works, otherwise (False, reason).

        Before initialization return False with the reason.

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
        """Return the name of the link in whose frame all poses are given; empty before initialization."""
        return '' if self._setup is None else self._setup.solver.base_frame

    def get_tip_frame(self) -> str:
        """Return the first tip link, empty before initialization; log an error if there are several tips."""
        tips = self.get_tip_frames()
        if len(tips) > 1:
            _LOGGER.error("Group '%s' has several tips: %s.", self.get_group_name(), tips)
        return tips[0] if tips else ''

    def get_tip_frames(self) -> tuple[str, ...]:
        """Return the names of the links whose poses are given; empty before initialization."""
        return () if self._setup is None else self._setup.tip_frames

    def get_joint_names(self) -> tuple[str, ...]:
        """Return the names of the joint variables in the order of seeds and solutions; empty before initialization."""
        return () if self._setup is None else self._setup.group.variable_names

    def get_link_names(self) -> tuple[str, ...]:
        """Return the names of the links of the group; empty before initialization."""
        return () if self._setup is None else self._setup.group.link_names

    def get_solver(self) -> IkSolver:
        """
        Return the solver; its targets are poses of the solver's tip frames, which may differ from the requested links.

        :raises ModelError: before initialization.
        """
        if self._setup is None:
            raise ModelError(f'Not initialized: {self.reason}.')
        return self._setup.solver

    # Redundant joints, timeouts

    def set_redundant_joints(self, joints: Sequence[int | str]) -> bool:
        """
        Replace the choice of redundant joints and set their sampling steps to 0.1 rad or m; return True on success.

        If a joint does not exist, or before initialization, change nothing and return False.

        :param joints: indices into the joint names, or names. In a mixed list names come first. Some methods sample
            only the first joint.
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
        """Return the indices of the redundant joints in the joint names."""
        return () if self._setup is None else self._setup.redundant

    def set_search_discretization(self, step: float | Mapping[int, float]) -> None:
        """
        Replace the steps at which redundant joints are sampled; does nothing before initialization.

        :param step: one step for all redundant joints, or a step by index of the joint [rad or m]. It is not checked;
            joints that the mapping lacks have no step.
        """
        if self._setup is None:
            return
        steps = (
            dict(step) if isinstance(step, Mapping) else dict.fromkeys(self._setup.redundant, step)
        )
        self._setup = replace(self._setup, discretization=steps)

    def get_search_discretization(self, joint: int) -> float:
        """
        Return the sampling step of a joint [rad or m]; 0 if the joint has none.

        :param joint: index in the joint names.
        """
        return 0.0 if self._setup is None else self._setup.discretization.get(joint, 0.0)

    def get_supported_discretization_methods(self) -> tuple[DiscretizationMethod, ...]:
        """Return the methods for sampling redundant joints: all members of :class:`DiscretizationMethod`."""
        return tuple(DiscretizationMethod)

    def set_default_timeout(self, timeout: float) -> None:
        """
        Set the time budget of searches whose request gives none.

        :param timeout: [s], above zero.
        """
        self._timeout = timeout

    def get_default_timeout(self) -> float:
        """Return the time budget of searches whose request gives none [s]."""
        return self._timeout

    # Forward kinematics

    def get_position_fk(
        self, link_names: Sequence[str], joint_angles: Vector
    ) -> list[FloatArray] | None:
        """
        Return the poses (4, 4) of links in the base frame; None before initialization, or for wrong arguments.

        Joints outside the group have default positions.

        :param link_names: names of links of the robot; an unknown one gives None.
        :param joint_angles: (n,) finite values of the group's variables; others give None.
        """
        setup = self._setup
        if setup is None or not all(name in setup.robot.tree.link_index for name in link_names):
            return None
        q = np.asarray(joint_angles, dtype=np.float64)
        if q.shape != (len(setup.group.idx_q),) or not np.isfinite(q).all():
            return None
        return setup.link_poses(link_names, q)

    # Inverse kinematics

    def get_position_ik(
        self,
        pose: FloatArray,
        seed: Vector,
        options: KinematicsQueryOptions = DEFAULT_OPTIONS,
    ) -> IkReply:
        """
        Return the solution nearest to the seed by the sum of the joint differences, as MoveIt measures it.

        Only a solver that knows branches of a pose compares solutions, at most 256. Any other runs one search, which
        starts at the seed. Without a solution, ``solved`` of the reply is False, and the reply has the error code and
        the cause. If the options allow approximate solutions and the search has a nearest posture, the reply has it,
        and ``solved`` is True.

        :param pose: (4, 4) in the base frame, or (t, 4, 4) for several tips.
        :param seed: (n,).
        :param options: MoveIt's options.
        """
        solver = None if self._setup is None else self._setup.solver
        knowledge = Knowledge.NOTHING if solver is None else knowledge_of(solver)
        several = {'max_solutions': MOST_SOLUTIONS}
        if isinstance(solver, BranchSolver):
            return self._find(pose, seed, options, cost=_sum_of_steps, **several)
        from_seed = self._find(pose, seed, options, max_searches=1)
        if knowledge == Knowledge.NOTHING:
            return from_seed
        nearest = self._find(pose, seed, options, _sum_of_steps, max_searches=STARTS, **several)
        if not nearest.solved or nearest.is_approximate:
            return from_seed
        # If joints are sampled, the posture that the seed leads to may be nearer than all samples.
        start = np.asarray(seed, dtype=np.float64)
        exact = [r for r in (nearest, from_seed) if r.solved and not r.is_approximate]
        return min(exact, key=lambda reply: _sum_of_steps(pose, reply.solution, start))

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
        Search for one solution within a time budget; the arguments cover all forms of MoveIt's ``searchPositionIK``.

        Without a solution, ``solved`` of the reply is False, and the reply has the error code and the cause. If the
        options allow approximate solutions and the search has a nearest posture, the reply has it, and ``solved`` is
        True.

        With such options a request for one tip that seems to come from a control loop first gets one step towards the
        pose, see :mod:`.nearest_steps`. It must come without consistency limits, cost function and state. If the
        callback refuses the step, a search follows.

        :param poses: (4, 4) in the base frame, or one for each tip in the order of the tip frames.
        :param seed: (n,).
        :param timeout: budget [s]; zero or less means the default.
        :param consistency_limits: (n,) largest difference of each joint from the seed; None or empty for no limit.
        :param solution_callback: called with the first pose and a candidate; the search goes on until it returns
            SUCCESS or the budget ends.
        :param cost_function: called with the first pose, a solution and the seed. Of at most 16 solutions that are
            found, the one of the smallest cost wins.
        :param options: MoveIt's options.
        :param context_state: (nq,) full state, read for joints outside the group; None for default values.
        """
        given = np.asarray(poses, dtype=np.float64)
        # Poses of another shape have no first one; they are refused with a text below.
        first = given.reshape(-1, 4, 4)[:1] if given.shape[-2:] == (4, 4) else given[:0]
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
        """
        Return the step of one control cycle from the seed (n,) towards a pose (4, 4), within velocity limits.

        Return None before initialization, if the group has several tips, if joints are locked, or if numbers are
        invalid. Return None also if :meth:`NearestSteps.take` does, as for a request that does not seem to come from a
        control loop.

        :param budget: time budget of the request, half of a cycle [s].
        """
        setup, q = self._setup, np.asarray(seed, dtype=np.float64)
        if setup is None or len(setup.tip_frames) != 1 or setup.locked(options):
            return None
        is_usable = q.shape == (len(setup.group.idx_q),) and np.isfinite(q).all()
        if not is_usable or not np.isfinite(pose).all():
            return None
        if self._steps is None:
            ends = setup.solver.base_frame, setup.solver.tip_frames[0]
            self._steps = NearestSteps(setup.robot, setup.group, *ends, self._position_only)
        tip_pose = pose if setup.tools is None else pose @ invert_pose(setup.tools[0])
        step = self._steps.take(tip_pose, q, budget)
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
        Return several solutions for the poses of all tips, those with the least sum of joint steps from the seed first.

        Without discretization these are all branches, if the solver knows them; otherwise different solutions of a
        search. With discretization, the redundant joints are held at sampled values, at steps or at random, and each
        combination is solved. The solver returns at most 256 solutions for each combination. If it searches, the
        solution to which the seed leads is added, maybe a second time.

        :param poses: (t, 4, 4) in the base frame, one for each tip.
        :param seed: (n,).
        :param options: MoveIt's options.
        :returns: the solutions; on failure none, with the reason as ``kinematic_error``. It is SOLVER_NOT_ACTIVE before
            initialization. A wrong number of poses gives MULTIPLE_TIPS_NOT_SUPPORTED, none EMPTY_TIP_POSES, a bad seed
            NO_SOLUTION. Sampling without redundant joints, without a step, or of a slide without limits gives
            DISCRETIZATION_NOT_INITIALIZED.
        """
        setup = self._setup
        if setup is None:
            return no_replies(KinematicError.SOLVER_NOT_ACTIVE)
        if not len(poses):
            return no_replies(KinematicError.EMPTY_TIP_POSES)
        if len(poses) != len(setup.tip_frames):
            return no_replies(KinematicError.MULTIPLE_TIPS_NOT_SUPPORTED)
        if np.shape(seed) != (len(setup.group.idx_q),) or not np.isfinite(seed).all():
            return no_replies(KinematicError.NO_SOLUTION)
        held: list[dict[str, float | None]] = [{}]
        if options.discretization_method != DiscretizationMethod.NO_DISCRETIZATION:
            if not setup.redundant or any(
                self.get_search_discretization(joint) <= 0.0 for joint in setup.redundant
            ):
                return no_replies(KinematicError.DISCRETIZATION_NOT_INITIALIZED)
            try:
                held = setup.held_values(np.asarray(seed), options.discretization_method)
            except InvalidLimits:
                return no_replies(KinematicError.DISCRETIZATION_NOT_INITIALIZED)
        solutions, hits = [], 0
        for values in held:
            locked = {**setup.locked(options), **values}
            result = setup.solve(
                poses,
                seed,
                max_solutions=MOST_SOLUTIONS,
                max_searches=STARTS,
                locked=locked,
            )
            hits += isinstance(result, IkResult) and result.solved
            if isinstance(result, IkResult):
                solutions += list(result.solutions)
            solutions += setup.led_to(poses, seed, locked)
        if not solutions:
            return no_replies(KinematicError.NO_SOLUTION)
        solutions.sort(key=lambda q: _sum_of_steps(np.empty(0), q, np.asarray(seed)))
        return IkReplies(solutions, KinematicError.OK, hits / len(held))

    def _find(
        self,
        poses: FloatArray | Sequence[FloatArray],
        seed: Vector,
        options: KinematicsQueryOptions,
        cost: CostFunction | None = None,
        **more: Any,
    ) -> IkReply:
        """
        Return the first solution of a request, or its solution with the smallest ``cost``.

        If no solution is found, the reply has the cause; a malformed request has the cause BAD_TARGET. If the options
        allow approximate solutions and the search has a nearest posture, the reply has it, and ``solved`` is True.

        :param cost: called with the first pose, a solution and the seed; None takes the first solution.
        :param more: further fields of :class:`SolveRequest`.
        """
        setup = self._setup
        if setup is None:
            return no_reply(Cause.UNKNOWN_GROUP, f'Not initialized: {self.reason}.')
        more['wants_nearest'] = options.return_approximate_solution
        result = setup.solve(poses, seed, locked=setup.locked(options), **more)
        if isinstance(result, str):
            return no_reply(Cause.BAD_TARGET, result)
        if result.solved:
            solution = result.solutions[0]
            if cost is not None:
                first = np.asarray(poses, dtype=np.float64).reshape(-1, 4, 4)[0]
                start = np.asarray(seed, dtype=np.float64)
                solution = min(result.solutions, key=lambda q: cost(first, q, start))
            return IkReply(True, solution.copy(), SUCCESS, Cause.NONE, result.summary())
        if options.return_approximate_solution and has_usable_nearest(result):
            text = f'Approximate, off by {result.residual:.3g} (norm over m and rad). {result.summary()}'
            assert result.nearest is not None
            nearest = result.nearest.copy()
            return IkReply(True, nearest, SUCCESS, result.cause, text, is_approximate=True)
        return no_reply(result.cause, result.summary(), error_code_of(result))


def _sum_of_steps(pose: FloatArray, q: FloatArray, seed: FloatArray) -> float:
    """
    Return the sum of the absolute joint differences between a solution (n,) and a seed (n,), as MoveIt measures it.

    :param pose: ignored; it makes this function a cost function.
    """
    del pose
    return float(np.abs(q - seed).sum())
