"""
The façade for Python users: an arm from its URDF, forward and inverse kinematics in three lines.

>>> arm = Manipulator.from_urdf('ur5e.urdf')
>>> solutions = arm.solve(arm.fk(arm.neutral), q_seed=arm.neutral)

Names, arguments and defaults are the same as in ssik's ``Manipulator``. If the arm has a closed form, ``solve`` returns
every branch. If it has none, or if ``method`` names another solver, that solver searches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
import functools
import inspect
import operator
from pathlib import Path
from typing import Any, Literal, overload, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import check_kind, names_keywords, read_numbers, shown
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    DimensionMismatch,
    InvalidOption,
    quote,
    TopologyMismatch,
)
from ssik_ros.manipulator.arm_tasks import ArmTasks
from ssik_ros.manipulator.batch_solutions import BatchSolutions
from ssik_ros.manipulator.closed_form_solve import ArmClosedForm, ClosedFormSolve
from ssik_ros.manipulator.diagnostic import Diagnostic
from ssik_ros.manipulator.kin_body import KinBody, Limits
from ssik_ros.manipulator.named_robot import load_named
from ssik_ros.manipulator.newton_family import ik_GN, ik_LM, ik_NR, NewtonFamily
from ssik_ros.manipulator.newton_solution import IkSolution
from ssik_ros.manipulator.prepared_solve import PreparedSolve, SearchSolve
from ssik_ros.manipulator.solution import (
    as_solutions,
    no_solutions,
    Solution,
    Solutions,
    SolverFacts,
)
from ssik_ros.manipulator.solve_settings import (
    check_settings,
    count_threads,
    METRICS,
    NAMES,
    read_seeds,
    read_target,
    SEED_NAMES,
    SolveSettings,
    take_seed,
)
from ssik_ros.manipulator.tolerance_policy import DEFAULT_TOLERANCE_POLICY, TolerancePolicy
from ssik_ros.model.arm_ends import find_ends
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.contract import IkSolver
from ssik_ros.problem.pose_input import pose, read_poses
from ssik_ros.solvers.auto.policy import (
    find_closed_form,
    Knowledge,
    knowledge_of_arm,
    TOLERANCE,
    uses_closed_form,
)
from ssik_ros.solvers.closed_form.labels import name_branches
from ssik_ros.solvers.registry import create_solver, DEFAULT_SOLVER, solver_schema, solver_spec
from ssik_ros.solvers.search.newton.tracker import Tracker

if TYPE_CHECKING:
    from ssik_ros.manipulator.self_motion_arms import SelfMotionArm
    from ssik_ros.solvers.self_motions.motions import SelfMotions

ANALYTIC = 'ssik_ros/Analytic'
POSITION_ROWS = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
"""Weights of the rows of a pose error of which only the position counts."""
_EMPTY: Any = inspect.Parameter.empty
ITERATIVE_TIER = 3
REFINEMENT_ITERATIONS = 15
SHORT_SIGNATURE = inspect.Signature(
    [
        inspect.Parameter(name, kind, default=default)
        for kind, parameters in (
            (inspect.Parameter.POSITIONAL_OR_KEYWORD, {'self': _EMPTY, 'T_target': _EMPTY}),
            (
                inspect.Parameter.KEYWORD_ONLY,
                {
                    'q_seed': None,
                    'max_solutions': None,
                    'explain': False,
                    'respect_limits': True,
                    'allow_refinement': False,
                    'policy': DEFAULT_TOLERANCE_POLICY,
                    'refinement_max_iters': REFINEMENT_ITERATIONS,
                    'method': None,
                    'timeout': None,
                    'scene': None,
                    'cost': None,
                },
            ),
            (inspect.Parameter.VAR_KEYWORD, {'solver_kwargs': _EMPTY}),
        )
        for name, default in parameters.items()
    ]
)
"""Signature that ``help`` shows for :meth:`Manipulator.solve`; the docstring describes the other keywords."""
SETTINGS = (
    'max_solutions',
    'respect_limits',
    'allow_refinement',
    'policy',
    'refinement_max_iters',
    'seed_metric',
    'seed_tolerance',
    'enumerate_windings',
    'hold',
    'arm_angle',
    'redundancy_samples',
    'timeout',
)
"""Keywords of :meth:`Manipulator.solve` that are not parameters of a solver, in the order in which it passes them on."""
MOST_KEPT = 64
"""Combinations of options that an arm keeps prepared."""


class Manipulator(ArmTasks):
    """An arm between two links of a robot."""

    def __init__(
        self,
        kinbody_or_robot: KinBody | RobotModel,
        group: JointGroup | None = None,
        *,
        policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY,
    ) -> None:
        """
        Take an arm given by its axes, or a group of a loaded robot; most users call :meth:`from_urdf`.

        :param kinbody_or_robot: the arm's axes, or the robot.
        :param group: of a robot, a group with one tip.
        :param policy: tolerances that :meth:`solve` uses when it gets none.
        :raises ValueError: when the group has several tips.
        :raises TypeError: when the arguments are something else.
        """
        if not isinstance(policy, TolerancePolicy):
            raise InvalidOption(f'policy must be a TolerancePolicy, not {shown(policy)}.')
        if isinstance(kinbody_or_robot, KinBody) and group is None:
            body = kinbody_or_robot
            robot = load_robot(body.to_urdf())
            super().__init__(robot, robot.group_from_links(body.base_link, body.ee_link))
        elif isinstance(kinbody_or_robot, RobotModel) and isinstance(group, JointGroup):
            super().__init__(kinbody_or_robot, group)
        else:
            raise InvalidOption(
                'Manipulator takes a KinBody, or a RobotModel and one of its groups, not '
                f'{type(kinbody_or_robot).__name__} and {type(group).__name__}.'
            )
        self.policy = policy
        self._solvers: dict[tuple[str, str], IkSolver] = {}
        self._prepared: dict[Any, PreparedSolve] = {}
        self._last: tuple[str | None, tuple[str, ...], tuple[Any, ...], PreparedSolve | None]
        self._last = None, (), (), None

    @classmethod
    @names_keywords
    def from_urdf(
        cls,
        path: str | Path,
        *,
        base: str | None = None,
        ee: str | None = None,
        tip: str | None = None,
        policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY,
        joint_limits: Mapping[str, Any] | str | Path | None = None,
        xacro_args: Mapping[str, object] | None = None,
    ) -> 'Manipulator':
        """
        Load a URDF and take the chain between two links.

        :param path: URDF or xacro file, or the XML itself.
        :param base: link that targets are given in; None means the root link.
        :param ee, tip: link that is to reach them, by either name; None means the last moved link of the longest chain,
            hands left out.
        :param policy: tolerances.
        :param joint_limits: joint_limits.yaml (mapping or path), whose limits win, as in MoveIt.
        :param xacro_args: arguments of a xacro file by name.
        :raises FileNotFoundError: if the file does not exist.
        :raises ValueError: if the description is malformed, or if the chain does not exist or is ambiguous.
        """
        robot = load_robot(path, joint_limits=joint_limits, xacro_args=xacro_args)
        if ee is not None and tip is not None:
            raise InvalidOption('ee and tip are two names of one link: give one of them.')
        ends = find_ends(robot, base, tip if ee is None else ee)
        return cls(robot, robot.group_from_links(ends.base, ends.ee), policy=policy)

    @classmethod
    def from_group(
        cls, urdf: str | Path, srdf: str | Path, group: str, **options: Any
    ) -> 'Manipulator':
        """
        Load a URDF and take a group of its SRDF.

        :param urdf, srdf: files or the XML itself.
        :param group: the group's name.
        :param options: as for :func:`ssik_ros.load_robot`.
        """
        robot = load_robot(urdf, srdf, **options)
        return cls(robot, robot.group(group))

    @classmethod
    @names_keywords
    def from_axes(
        cls,
        H: ArrayLike,
        P: ArrayLike,
        limits: Sequence[Limits] | ArrayLike | None = None,
        *,
        joint_types: Sequence[str] | None = None,
        policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY,
    ) -> 'Manipulator':
        """
        Return the arm with given axes and offsets.

        :param H: (n, 3) directions of the axes in the base frame, all joints at zero.
        :param P: (n + 1, 3) offsets: base to axis 1, axis i to axis i + 1, axis n to the end effector [m].
        :param limits: (n, 2), or a pair or None for each joint; None means none at all [rad or m].
        :param joint_types: (n,) each ``revolute``, ``continuous`` or ``prismatic``; None means revolute ones.
        :param policy: tolerances.
        :raises ValueError: for wrong shapes, numbers that are not finite, axes without direction, and types that
            there are not.
        """
        return cls(KinBody.from_axes(H, P, limits, joint_types=joint_types), policy=policy)

    @classmethod
    @names_keywords
    def from_transforms(
        cls,
        T: ArrayLike,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        limits: Sequence[Limits] | ArrayLike | None = None,
        *,
        joint_types: Sequence[str] | None = None,
        policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY,
    ) -> 'Manipulator':
        """
        Return the arm with joints between given frames: T_0 J_1(q_1) T_1 ... J_n(q_n) T_n.

        :param T: (n + 1, 4, 4).
        :param axis: (3,) direction of every joint in its own frame, or (n, 3) of each.
        :param limits, joint_types: as for :meth:`from_axes`.
        :param policy: tolerances.
        :raises ValueError: as there, and for matrices that are not rigid transforms.
        """
        body = KinBody.from_transforms(T, axis, limits, joint_types=joint_types)
        return cls(body, policy=policy)

    @classmethod
    @names_keywords
    def from_dh(
        cls,
        alpha: ArrayLike,
        a: ArrayLike,
        d: ArrayLike,
        limits: Sequence[Limits] | ArrayLike | None = None,
        *,
        sigma: ArrayLike | None = None,
        theta: ArrayLike | None = None,
        policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY,
    ) -> 'Manipulator':
        """
        Return the arm with distal Denavit-Hartenberg parameters: Rz(theta + q) Tz(d) Tx(a) Rx(alpha) for each joint.

        :param alpha, a, d: (n,) [rad], [m], [m].
        :param limits: as for :meth:`from_axes`.
        :param sigma: (n,) 0 for a revolute joint, 1 for a prismatic one, Rz(theta) Tz(d + q); None means revolute ones.
        :param theta: (n,) angles about the joint axes [rad]; None means zeros.
        :param policy: tolerances.
        :raises ValueError: for lists of different length, numbers that are not finite, and a sigma that is neither 0
            nor 1.
        """
        return cls(KinBody.from_dh(alpha, a, d, limits, sigma=sigma, theta=theta), policy=policy)

    @classmethod
    @names_keywords
    def from_prebuilt(
        cls, name: str, *, policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY
    ) -> 'Manipulator':
        """
        Return the arm of a robot by name; ``ssik robots --all`` lists the names.

        :param name: a shipped robot, an arm of the catalogue (with or without ``_ik`` at the end), or an installed
            MoveIt configuration.
        :param policy: tolerances.
        :raises FileNotFoundError: with the nearest name.
        :raises ValueError: when the robot has several arms.
        """
        named = load_named(name)
        return cls(named.robot, named.arm(), policy=policy)

    def __repr__(self) -> str:
        """Return degrees of freedom, solver and tier."""
        return (
            f'<Manipulator: {self.dof} DOF, {self.solver_name} (tier {self.dispatch_plan.tier})>'
        )

    @property
    def solver_name(self) -> str:
        """Return the dotted name of the default solver, such as ``ikgeo.three_parallel``."""
        return self.dispatch_plan.solver_name

    @functools.cached_property
    def dispatch_plan(self) -> SolverFacts:
        """Return the default solver, and the reason for its choice."""
        if self._closed_form is not None:
            return self._closed_form.facts
        return SolverFacts(
            'numerical.pose_ik', ITERATIVE_TIER, self._no_closed_form, is_analytic=False
        )

    @functools.cached_property
    def kinbody(self) -> KinBody:
        """
        Return the arm as axes.

        :raises NotImplementedError: for arms with mimic joints or joints of several degrees of freedom.
        """
        return KinBody.from_chain(SerialChain.from_group(self.robot, self.group))

    def branch_names(self, q: ArrayLike) -> tuple[str, ...]:
        """
        Return the names of the branches of one pose, such as ``shoulder +, elbow -, wrist +``.

        :param q: (k, dof) joint vectors that reach one pose, one for each branch [rad].
        :raises TopologyMismatch: when the arm has no closed form.
        """
        rows = read_numbers('q', q)
        if rows.ndim != 2 or rows.shape[1] != self.dof or not np.isfinite(rows).all():
            raise DimensionMismatch(
                f'branch_names needs finite joint vectors (k, {self.dof}) in q, not {shown(q)}.',
                expected=(self.dof,),
            )
        return name_branches(self._require_closed_form().arm.plan, rows)

    @overload
    def solve(
        self, T_target: ArrayLike, *, explain: Literal[False] = False, **options: Any
    ) -> Solutions: ...

    @overload
    def solve(
        self, T_target: ArrayLike, *, explain: Literal[True], **options: Any
    ) -> tuple[Solutions, Diagnostic]: ...

    def solve(
        self,
        T_target: ArrayLike,
        *,
        explain: bool = False,
        max_solutions: int | None = None,
        q_seed: ArrayLike | None = None,
        respect_limits: bool | str = True,
        allow_refinement: bool = False,
        policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY,
        refinement_max_iters: int = REFINEMENT_ITERATIONS,
        seed_metric: str = 'wrap_l2',
        seed_tolerance: ArrayLike | None = None,
        enumerate_windings: bool = False,
        hold: Mapping[str | int, float] | None = None,
        arm_angle: float | None = None,
        redundancy_samples: int | None = None,
        method: str | None = None,
        timeout: float | None = None,
        **solver_kwargs: Any,
    ) -> Solutions | tuple[Solutions, Diagnostic]:
        """
        Find joint vectors with which the end effector is at a pose: verified, best first.

        Without ``method``, the closed form of the arm returns every branch. If the arm has none, or if
        ``solver_kwargs`` hold parameters of a search, ``ssik_ros/Auto`` returns one solution, or up to
        ``max_solutions``. A ``target_tolerance`` never changes which solver is called: of a closed form it bounds the
        residual.

        :param T_target: pose of the end effector in the base: (4, 4), x y z roll pitch yaw, x y z qx qy qz qw, (xyz,
            rotation), pin.SE3 or a geometry_msgs Pose, see :func:`ssik_ros.pose`.
        :param explain: return a :class:`ssik_ros.Diagnostic` with the solutions.
        :param max_solutions: most solutions that are returned, the best ones; None means all.
        :param q_seed: (dof,) reference of the order, and first start of iterative solvers; None means :attr:`neutral`.
        :param respect_limits: True drops solutions that no winding brings inside the limits. ``'wrap'`` moves joints by
            whole turns into their limits if it can, and drops nothing. False ignores limits and returns angles in (-pi,
            pi].
        :param allow_refinement: when nothing was found, iterate from the branches of nearby targets.
        :param policy: tolerances; the default stands for the arm's own.
        :param refinement_max_iters: most iterations for each candidate of ``allow_refinement``.
        :param seed_metric: ``'wrap_l2'``, the norm of the joint differences, or ``'wrap_linf'``, the largest; joints
            without limits are compared modulo 2 pi.
        :param seed_tolerance: largest difference of each joint from the seed, one number or (dof,) [rad or m].
        :param enumerate_windings: return every winding of joints whose range is more than 2 pi.
        :param hold: values of joints that are held, by name or index [rad or m].
        :param arm_angle: angle of the elbow about the line from shoulder to wrist, for arms with two spherical joints
            [rad], see :mod:`ssik_ros.solvers.closed_form.arm_angle`.
        :param redundancy_samples: values of the sampled joint of seven, spread over its limits.
        :param method: name of a solver, see ``ssik solvers``.
        :param timeout: wall-clock budget of an iterative solver [s]; a closed form needs no time worth limiting.
        :param solver_kwargs: parameters of the solver, such as ``target_tolerance=1e-6``; ``seed`` or ``q0``, other
            names of ``q_seed``; ``scene``, objects from :meth:`scene` that solutions keep clear of; ``cost``, a
            function of a joint vector whose least value comes first.
        :returns: the solutions; an empty list if the pose has none, whose ``reason`` says why.
        :raises ValueError: when the target is not a finite rigid transform or an argument is malformed.
        :raises TypeError: for unknown arguments and arguments of a wrong type.
        """
        if explain is not True and explain is not False:
            raise InvalidOption(f'explain must be True or False, not {shown(explain)}.')
        if (
            max_solutions is None
            and respect_limits is True
            and allow_refinement is False
            and policy is DEFAULT_TOLERANCE_POLICY
            and refinement_max_iters is REFINEMENT_ITERATIONS
            and seed_metric is METRICS[0]
            and seed_tolerance is None
            and enumerate_windings is False
            and hold is None
            and arm_angle is None
            and redundancy_samples is None
            and method is None
            and timeout is None
            and not solver_kwargs
        ):
            prepared = self._default
        else:
            names: tuple[str, ...] = SETTINGS
            values: tuple[Any, ...] = (
                max_solutions,
                respect_limits,
                allow_refinement,
                policy,
                refinement_max_iters,
                seed_metric,
                seed_tolerance,
                enumerate_windings,
                hold,
                arm_angle,
                redundancy_samples,
                timeout,
            )
            if solver_kwargs:
                if not solver_kwargs.keys().isdisjoint(SEED_NAMES):
                    q_seed = take_seed(q_seed, solver_kwargs)
                names, values = (*names, *solver_kwargs), (*values, *solver_kwargs.values())
            prepared = self._prepare(method, names, values)
        rows = None if explain else prepared.find(T_target, q_seed, True)
        if rows is not None and len(rows):
            return Solutions(map(Solution, rows[:, : prepared.dof], rows[:, -1].tolist()))
        if rows is not None:
            # The caller may change target and seed before asking for the reason.
            target, seed = (
                read_target(T_target).copy(),
                q_seed if q_seed is None else np.array(q_seed),
            )
            return no_solutions(
                lambda: prepared.explain(prepared.solve(target, seed), self.policy)
            )
        found = prepared.solve(T_target, q_seed)
        solutions = as_solutions(found) or no_solutions(
            lambda: prepared.explain(found, self.policy)
        )
        return (solutions, prepared.explain(found, self.policy)) if explain else solutions

    solve.__signature__ = SHORT_SIGNATURE  # type: ignore[attr-defined]
    ik = solve
    """The same call by the other name that ssik's documentation has for it."""

    def solve_q(
        self,
        T_target: ArrayLike,
        q_seed: ArrayLike | None = None,
        *,
        method: str | None = None,
        **options: Any,
    ) -> FloatArray:
        """
        Find the joint vectors (k, dof) that :meth:`solve` finds, as one array: the fast path.

        :param T_target: (4, 4) pose of the end effector in the base.
        :param q_seed: (dof,) reference of the order; None means :attr:`neutral`.
        :param method, options: as for :meth:`solve`.
        :returns: one solution in each row, best first; (0, dof) if the pose has no solution.
        :raises ValueError, TypeError: as :meth:`solve`.
        """
        if options and not options.keys().isdisjoint(SEED_NAMES):
            q_seed = take_seed(q_seed, options)
        prepared = self._default
        if options or method is not None:
            prepared = self._prepare(method, tuple(options), tuple(options.values()))
        rows = prepared.find(T_target, q_seed, False)
        return prepared.solve(T_target, q_seed).q if rows is None else rows

    def solve_batch(
        self,
        poses: ArrayLike,
        q_seed: ArrayLike | None = None,
        *,
        threads: int | None = None,
        method: str | None = None,
        **options: Any,
    ) -> BatchSolutions:
        """
        Find the joint vectors of many poses: for each the same bytes that :meth:`solve_q` returns.

        A pose that is not a rigid transform does not stop the others; its status is REFUSED.

        :param poses: (m, 4, 4) poses of the end effector in the base, or a list of poses in any form.
        :param q_seed: (dof,) one seed for all poses, or (m, dof) one for each; None means :attr:`neutral`.
        :param threads: threads that share the work of a closed form; None means one for each processor.
        :param method, options: as for :meth:`solve`.
        :raises ValueError, TypeError: as :meth:`solve`, for everything but a single pose.
        """
        targets = read_poses(poses)
        seeds = read_seeds(take_seed(q_seed, options), len(targets), self.dof)
        prepared = self._prepare(method, tuple(options), tuple(options.values()))
        return prepared.solve_batch(targets, seeds, count_threads(threads))

    def solve_position(
        self, xyz: ArrayLike, q_seed: ArrayLike | None = None, **options: Any
    ) -> IkSolution:
        """
        Find a joint vector with which the end effector is at a position, whatever its orientation.

        :param xyz: (3,) position in the base [m].
        :param q_seed: (dof,) where the search begins; None means :attr:`neutral`.
        :param options: as for :meth:`ik_LM`, which this calls with ``mask=(1, 1, 1, 0, 0, 0)``.
        :raises ValueError, TypeError: as :meth:`ik_LM`.
        """
        seed = take_seed(q_seed, options)
        found: IkSolution = self.ik_LM(pose(xyz), seed, mask=POSITION_ROWS, **options)
        return found

    @names_keywords
    def self_motions(
        self,
        T_target: ArrayLike,
        *,
        free_axis: str | ArrayLike | None = None,
        resolution: float | None = None,
    ) -> 'SelfMotions':
        """
        Find all solutions of a pose as curves within the limits, for an arm with one redundant joint.

        :param T_target: (4, 4) pose of the end effector in the base.
        :param free_axis: for six joints, the axis of the end effector about which it may spin: ``x``, ``y``, ``z`` or a
            vector in its frame.
        :param resolution: no curve is missed on which the held joint moves by more than this [rad or m]; None for the
            sixteenth part of its range, or less; at least a thousandth of it.
        :returns: the curves, empty if the pose has no solution; ``is_complete`` proves that none is missing. For six
            joints or fewer without a free axis: the curves at a singular pose, on which joints move while the tip
            stays.
        :raises TopologyMismatch: when the arm has not seven joints, or six and a free axis, or no closed form; when it
            has fewer joints and the pose has no curve.
        :raises ValueError: when the target is not a finite rigid transform.
        :raises TypeError: for arguments of a wrong type.
        """
        return self._self_motion_arm.find(T_target, free_axis, resolution)

    @functools.cached_property
    def _self_motion_arm(self) -> 'SelfMotionArm':
        """Return the finder of self-motions."""
        # Few users ask for curves, so that the tracer is imported on first use.
        from ssik_ros.manipulator.self_motion_arms import SelfMotionArm

        return SelfMotionArm(self.robot, self.group, self.policy)

    ik_NR = ik_NR
    ik_GN = ik_GN
    ik_LM = ik_LM

    @functools.cached_property
    def newton_family(self) -> NewtonFamily:
        """Return the solvers of :meth:`ik_NR`, :meth:`ik_GN` and :meth:`ik_LM`."""
        return NewtonFamily(self.robot, self.group)

    def tracker(self, q0: ArrayLike, **options: Any) -> Tracker:
        """
        Return a tracker for a control loop: each ``track(target)`` moves the joints by one cycle towards a target.

        :param q0: (dof,) where the arm is [rad or m].
        :param options: ``max_joint_step``, or ``dt`` and ``velocity_limits``; ``max_iterations``; ``mask`` or ``rows``;
            ``pos_tol``, ``rot_tol`` (both 1e-6 by default) and the other options of :meth:`ik_LM`.
        :raises ValueError: for wrong shapes and values.
        """
        return self.newton_family.tracker(q0, options)

    def solver(self, method: str = DEFAULT_SOLVER, **parameters: Any) -> IkSolver:
        """
        Return a solver for this arm; the same object for the same arguments.

        :param method: its name.
        :param parameters: its parameters.
        """
        # The key is text: 5, 5.0 and True are equal as keys but not as parameters, and a list is not hashable.
        check_kind('method', method, str, 'the name of a solver')
        try:
            key = (method, repr(sorted(parameters.items())))
        except RecursionError:
            # A list that contains itself: refused, and named.
            return create_solver(method, self.robot, self.group, parameters)
        if key not in self._solvers:
            self._solvers[key] = create_solver(method, self.robot, self.group, parameters)
        return self._solvers[key]

    @functools.cached_property
    def _default(self) -> PreparedSolve:
        """Return the prepared solve without options."""
        return self._make_solve(None, {})

    @functools.cached_property
    def _closed_form(self) -> ArmClosedForm | None:
        """Return the closed form; if the arm has none, ``_no_closed_form`` says why."""
        found, reason = find_closed_form(self._find_closed_form)
        self._no_closed_form = reason and f'no closed form: {reason}'
        return found

    def _find_closed_form(self) -> ArmClosedForm:
        chain = SerialChain.from_group(self.robot, self.group)
        if chain.joint_names != self.group.joint_names:
            raise TopologyMismatch('The group has joints beside the chain to its tip.')
        return ArmClosedForm(chain, self.policy)

    def _require_closed_form(self) -> ArmClosedForm:
        """Return the closed form; raise if the arm has none."""
        if self._closed_form is None:
            raise TopologyMismatch(self._no_closed_form)
        return self._closed_form

    def _prepare(
        self, method: str | None, names: tuple[str, ...], values: tuple[Any, ...]
    ) -> PreparedSolve:
        """Return the prepared solve for options, right or wrong; the same one for the same options."""
        last_method, last_names, last_values, kept = self._last
        # The same object has the same type, too; equal ones need not have.
        is_alike = method is last_method and names == last_names
        if kept is not None and is_alike and all(map(operator.is_, values, last_values)):
            return kept
        # With their types: 1, 1.0 and True are equal as keys, but not as values.
        key = (method, names, values, *map(type, values))
        try:
            known = self._prepared.get(key)
        except TypeError:
            return self._make_solve(method, dict(zip(names, values, strict=True)))
        if known is None:
            known = self._make_solve(method, dict(zip(names, values, strict=True)))
            if len(self._prepared) < MOST_KEPT:
                self._prepared[key] = known
        self._last = method, names, values, known
        return known

    def _make_solve(self, method: str | None, options: Mapping[str, Any]) -> PreparedSolve:
        """Check options, choose the solver by the policy, and prepare the solve."""
        given = {name: value for name, value in options.items() if name in NAMES}
        parameters = {name: value for name, value in options.items() if name not in NAMES}
        if given.get('policy', DEFAULT_TOLERANCE_POLICY) is DEFAULT_TOLERANCE_POLICY:
            given['policy'] = self.policy
        settings = check_settings(self.joint_names, self._seed, given)
        if method is not None:
            check_kind('method', method, str, 'the name of a solver')
        checked = self._check_parameters(method or DEFAULT_SOLVER, parameters)
        if method == ANALYTIC:
            if parameters:
                raise InvalidOption(
                    f'{", ".join(parameters)}: the parameters of {ANALYTIC} are keywords of solve.'
                )
            return ClosedFormSolve(self._require_closed_form(), settings)
        form = self._closed_form
        known = Knowledge.NOTHING if form is None else knowledge_of_arm(form.arm)
        if method is None and form is not None and uses_closed_form(known, checked):
            return ClosedFormSolve(form, _within(settings, checked.get(TOLERANCE)))
        solver = self.solver(method or DEFAULT_SOLVER, **parameters)
        facts = self.dispatch_plan
        if facts.is_analytic or method is not None:
            facts = SolverFacts(solver.name, ITERATIVE_TIER, 'named by method', None, False)
        return SearchSolve(solver, self._kinematics, self.group, settings, facts)

    def _check_parameters(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters of a solver under their own names; raise for one that neither solve nor the solver has."""
        if not parameters:
            return {}
        spec = solver_spec(method)
        schema = solver_schema(spec)
        names = {*schema.names, *spec.parameter_aliases}
        for name in parameters:
            if name not in names:
                choices = {*names, *NAMES, 'explain', 'q_seed', 'seed', 'q0', 'method'}
                raise InvalidOption.unknown(
                    f'solve has no keyword {quote(name)}, and {method} no such parameter',
                    name,
                    choices,
                )
        return schema.check(parameters, spec.parameter_aliases)


def _within(settings: SolveSettings, tolerance: float | None) -> SolveSettings:
    """Return settings of a closed form whose solutions are also within a tolerance."""
    if tolerance is None or tolerance >= settings.policy.fk_atol:
        return settings
    return settings._replace(policy=replace(settings.policy, subproblem_postverify=tolerance))
