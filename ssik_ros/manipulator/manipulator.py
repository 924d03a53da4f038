"""
The class ``Manipulator``, the entry point for Python users: an arm with forward and inverse kinematics.

>>> arm = Manipulator.from_urdf('ur5e.urdf')
>>> solutions = arm.solve(arm.fk(arm.neutral), q_seed=arm.neutral)

Names, arguments and defaults are the same as in ssik's ``Manipulator``. If the arm has a closed form, ``solve`` returns
every branch; at a singular pose some may be missing. For an arm with a held joint these are the branches at samples of
this joint. For other arms, ``ssik_ros/Auto`` searches for one solution. ``method`` names another solver.
"""

import functools
from typing import Any, Literal, overload, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import names_keywords, read_numbers, shown
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    DimensionMismatch,
    InvalidOption,
)
from ssik_ros.manipulator.arm_sources import ArmSources
from ssik_ros.manipulator.batch_solutions import BatchSolutions
from ssik_ros.manipulator.diagnostic import Diagnostic
from ssik_ros.manipulator.kin_body import KinBody
from ssik_ros.manipulator.newton_family import ik_GN, ik_LM, ik_NR, NewtonFamily
from ssik_ros.manipulator.newton_solution import IkSolution
from ssik_ros.manipulator.solution import (
    as_solutions,
    no_solutions,
    Solution,
    Solutions,
    SolverFacts,
)
from ssik_ros.manipulator.solve_choice import SolveChoice
from ssik_ros.manipulator.solve_settings import (
    count_threads,
    read_seeds,
    read_target,
    REFINEMENT_MAX_ITERS,
    SEED_NAMES,
    take_seed,
)
from ssik_ros.manipulator.tolerance_policy import DEFAULT_TOLERANCE_POLICY
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.contract import IkSolver
from ssik_ros.problem.pose_input import pose, read_poses
from ssik_ros.solvers.closed_form.labels import name_branches
from ssik_ros.solvers.registry import DEFAULT_SOLVER
from ssik_ros.solvers.search.newton.tracker import Tracker

if TYPE_CHECKING:
    from ssik_ros.manipulator.self_motion_arms import SelfMotionArm
    from ssik_ros.solvers.self_motions.motions import SelfMotions

POSITION_ROWS = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
"""Weights of the rows of a pose error of which only the position counts."""


def _shown_solve(  # type: ignore[no-untyped-def]
    self,
    T_target,
    *,
    q_seed=None,
    max_solutions=None,
    explain=False,
    respect_limits=True,
    allow_refinement=False,
    policy=DEFAULT_TOLERANCE_POLICY,
    refinement_max_iters=REFINEMENT_MAX_ITERS,
    method=None,
    timeout=None,
    scene=None,
    cost=None,
    **solver_kwargs,
):
    """Signature that ``help`` shows for :meth:`Manipulator.solve`. Never called."""


class Manipulator(ArmSources):
    """An arm between two links of a robot: forward and inverse kinematics, paths, collisions and pictures."""

    def __repr__(self) -> str:
        """Return a text with the degrees of freedom, and name and tier of the solver."""
        return (
            f'<Manipulator: {self.dof} DOF, {self.solver_name} (tier {self.dispatch_plan.tier})>'
        )

    @functools.cached_property
    def _choice(self) -> SolveChoice:
        """Return the object that chooses a solver for the options of a call; made at the first access and kept."""
        return SolveChoice(self.robot, self.group, self._kinematics, self.policy, self._seed)

    @property
    def solver_name(self) -> str:
        """Return the dotted name of the default solver, such as ``ikgeo.three_parallel``."""
        return self.dispatch_plan.solver_name

    @property
    def dispatch_plan(self) -> SolverFacts:
        """Return name and tier of the default solver, and the reason for its choice."""
        return self._choice.facts

    @functools.cached_property
    def kinbody(self) -> KinBody:
        """
        Return the arm as the axes of its joints and the pose of its end effector, all joints at zero.

        :raises NotImplementedError: for arms with mimic joints or joints of several degrees of freedom.
        """
        return KinBody.from_chain(SerialChain.from_group(self.robot, self.group))

    def branch_names(self, q: ArrayLike) -> tuple[str, ...]:
        """
        Return one name for each branch of a pose, such as ``shoulder +, elbow -, wrist +``; all names differ.

        :param q: (k, dof) joint vectors that reach one pose, one for each branch [rad or m].
        :raises TopologyMismatch: when the arm has no closed form.
        :raises ValueError: for another shape, or values that are not finite.
        """
        rows = read_numbers('q', q)
        if rows.ndim != 2 or rows.shape[1] != self.dof or not np.isfinite(rows).all():
            raise DimensionMismatch(
                f'branch_names needs finite joint vectors (k, {self.dof}) in q, not {shown(q)}.',
                expected=(self.dof,),
            )
        return name_branches(self._choice.require_closed_form().arm.plan, rows)

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
        q_seed: ArrayLike | None = None,
        method: str | None = None,
        **options: Any,
    ) -> Solutions | tuple[Solutions, Diagnostic]:
        """
        Find joint vectors with which the end effector is at a pose: verified, best first.

        Without ``method``, the closed form of the arm returns every branch; at a singular pose some may be missing. For
        an arm with a held joint, such as one of seven, these are the branches at samples of this joint. If the arm has
        no closed form, or if ``solver_kwargs`` hold parameters of a search, ``ssik_ros/Auto`` returns one solution, or
        up to ``max_solutions``. A ``target_tolerance`` never changes which solver is called: of a closed form it bounds
        the residual.

        :param T_target: pose of the end effector in the base: (4, 4), x y z roll pitch yaw, x y z qx qy qz qw, (xyz,
            rotation), pin.SE3 or a geometry_msgs Pose, see :func:`ssik_ros.pose`.
        :param explain: return a :class:`ssik_ros.Diagnostic` with the solutions.
        :param max_solutions: most solutions that are returned, the best ones; None means all. Of a search None means
            one, or up to 16 with a ``cost``.
        :param q_seed: (dof,) reference of the order, and first start of iterative solvers; None means :attr:`neutral`.
        :param respect_limits: True drops solutions that no winding brings inside the limits. ``'wrap'`` moves joints by
            whole turns into their limits if it can, and drops nothing. False ignores limits and returns angles in (-pi,
            pi].
        :param allow_refinement: when nothing was found, iterate from the branches of nearby targets.
        :param policy: tolerances; the default means those that the arm was made with.
        :param refinement_max_iters: most iterations for each candidate of ``allow_refinement``.
        :param seed_metric: ``'wrap_l2'``, the norm of the joint differences, or ``'wrap_linf'``, the largest; joints
            without limits are compared modulo 2 pi.
        :param seed_tolerance: largest difference of each joint from the seed, one number or (dof,) [rad or m].
        :param enumerate_windings: return every winding of joints whose range is more than 2 pi.
        :param hold: values of joints that are held, by name or index [rad or m].
        :param arm_angle: angle of the elbow about the line from shoulder to wrist, for arms with two spherical joints
            [rad], see :mod:`ssik_ros.solvers.closed_form.arm_angle`.
        :param redundancy_samples: number of values of the sampled joint of seven, spread over its limits.
        :param method: name of a solver, see ``ssik solvers``.
        :param timeout: wall-clock budget of an iterative solver [s]; a closed form ignores it.
        :param scene: objects from :meth:`scene` that solutions must not collide with; None means no objects.
        :param cost: function that returns a number for a joint vector (dof,); solutions are sorted by it, the least
            first. None means the order by distance from the seed.
        :param solver_kwargs: parameters of the solver, such as ``target_tolerance=1e-6``; or ``seed`` or ``q0``, which
            are other names of ``q_seed``. A whole number as ``seed`` is the seed of random numbers.
        :returns: the solutions; an empty list if none was found, whose ``reason`` says why. ``cause`` is UNREACHABLE
            only if it is proved that the pose has no solution.
        :raises ValueError: when the target is not a finite rigid transform or an argument is malformed.
        :raises TypeError: for unknown arguments and arguments of a wrong type.
        :raises UnknownSolver: for a ``method`` that does not exist.
        """
        if explain is not True and explain is not False:
            raise InvalidOption(f'explain must be True or False, not {shown(explain)}.')
        if options and not options.keys().isdisjoint(SEED_NAMES):
            q_seed = take_seed(q_seed, options)
        prepared = self._choice.default
        if options or method is not None:
            prepared = self._choice.prepare(method, options)
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
        candidates = prepared.solve(T_target, q_seed)
        solutions = as_solutions(candidates) or no_solutions(
            lambda: prepared.explain(candidates, self.policy)
        )
        return (solutions, prepared.explain(candidates, self.policy)) if explain else solutions

    solve.__wrapped__ = _shown_solve  # type: ignore[attr-defined]
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
        :param method: name of a solver; None means the closed form, or a search for an arm without closed form.
        :param options: further keywords of :meth:`solve`, except ``explain``.
        :returns: one solution in each row, best first; (0, dof) if no solution was found.
        :raises ValueError, TypeError: as :meth:`solve`.
        """
        if options and not options.keys().isdisjoint(SEED_NAMES):
            q_seed = take_seed(q_seed, options)
        prepared = self._choice.default
        if options or method is not None:
            prepared = self._choice.prepare(method, options)
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
        :param method: name of a solver; None means the closed form, or a search for an arm without closed form.
        :param options: further keywords of :meth:`solve`, except ``explain``.
        :raises ValueError, TypeError: as :meth:`solve`, for everything but a single pose.
        """
        targets = read_poses(poses)
        seeds = read_seeds(take_seed(q_seed, options), len(targets), self.dof)
        return self._choice.prepare(method, options).solve_batch(
            targets, seeds, count_threads(threads)
        )

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
        solution: IkSolution = self.ik_LM(pose(xyz), seed, mask=POSITION_ROWS, **options)
        return solution

    @names_keywords
    def self_motions(
        self,
        T_target: ArrayLike,
        *,
        free_axis: str | ArrayLike | None = None,
        resolution: float | None = None,
    ) -> 'SelfMotions':
        """
        Find the solutions of a pose as curves within the limits, for an arm with one redundant joint.

        :param T_target: (4, 4) pose of the end effector in the base.
        :param free_axis: for six joints, the axis of the end effector about which it may spin: ``x``, ``y``, ``z`` or a
            vector in its frame.
        :param resolution: a curve on which the held joint moves by less than this may be missed [rad or m]. None means
            a sixteenth of the joint's range, or less; the smallest value used is a 1024th of the range.
        :returns: the curves, empty if none was found. If ``is_complete`` is True, it is proved that no curve is missing
            on which the held joint moves by more than ``resolution``; else ``reason`` says why one may be missing. For
            six joints or fewer without a free axis: curves at a singular pose, on which joints move while the tip
            stays.
        :raises TopologyMismatch: unless the arm has seven joints, or six and a free axis, and a closed form. For fewer
            joints, also if the pose has no curve.
        :raises ValueError: when the target is not a finite rigid transform.
        :raises TypeError: for arguments of a wrong type.
        """
        return self._self_motion_arm.find(T_target, free_axis, resolution)

    @functools.cached_property
    def _self_motion_arm(self) -> 'SelfMotionArm':
        """Return the object that finds the self-motions of this arm, made at the first access."""
        # Few users ask for curves, so that the tracer is imported on first use.
        from ssik_ros.manipulator.self_motion_arms import SelfMotionArm

        return SelfMotionArm(self.robot, self.group, self.policy)

    ik_NR = ik_NR
    ik_GN = ik_GN
    ik_LM = ik_LM

    @functools.cached_property
    def newton_family(self) -> NewtonFamily:
        """Return the object with the Newton solvers that :meth:`ik_NR`, :meth:`ik_GN` and :meth:`ik_LM` call."""
        return NewtonFamily(self.robot, self.group)

    def tracker(self, q0: ArrayLike, **options: Any) -> Tracker:
        """
        Return a tracker for a control loop: each ``track(target)`` moves the joints by one cycle towards a target.

        :param q0: (dof,) where the arm is [rad or m].
        :param options: ``max_joint_step``, or ``dt`` with ``velocity_limits`` and ``acceleration_limits``;
            ``max_iterations``; ``mask`` or ``rows``; ``pos_tol``, ``rot_tol`` (both 1e-6 by default) and the other
            options of :meth:`ik_LM`.
        :raises ValueError: for wrong shapes and values, and for unknown options.
        """
        return self.newton_family.tracker(q0, options)

    def solver(self, method: str = DEFAULT_SOLVER, **parameters: Any) -> IkSolver:
        """
        Return a solver of the registry for this arm; the same object for the same arguments.

        :param method: name of a solver, see ``ssik solvers``.
        :param parameters: parameters of the solver.
        :raises SsikError: for an unknown solver or parameter, and if the solver does not support the arm.
        """
        return self._choice.solver(method, **parameters)
