"""
The façade for Python users: an arm from its URDF, forward and inverse kinematics in three lines.

>>> arm = Manipulator.from_urdf('panda.urdf', base='panda_link0', ee='panda_link8')
>>> solutions = arm.solve(arm.fk(arm.neutral), q_seed=arm.neutral)

Names, arguments and defaults are those of ssik's ``Manipulator``; ``method`` and ``timeout`` choose among this package's
solvers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import Literal
from typing import NamedTuple
from typing import overload

import numpy as np
from numpy.typing import ArrayLike
from numpy.typing import NDArray

from ssik_ros.errors import DimensionMismatch
from ssik_ros.errors import InvalidTarget
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import IkResult
from ssik_ros.results import IkStatus
from ssik_ros.solvers.base import Solver
from ssik_ros.solvers.base import SolveRequest
from ssik_ros.solvers.chain_kinematics import ChainKinematics
from ssik_ros.solvers.registry import create_solver
from ssik_ros.solvers.registry import DEFAULT_SOLVER

FloatArray = NDArray[np.float64]


class Solution(NamedTuple):
    """One inverse-kinematics solution."""

    q: FloatArray
    """(dof,) joint vector [rad or m]."""
    fk_residual: float
    """Frobenius norm of FK(q) - T_target."""
    refinement_used: str = 'none'
    """``'none'``, or ``'lm'`` when an iteration produced or polished the solution."""


class Manipulator:
    """An arm between two links of a robot."""

    def __init__(self, robot: RobotModel, group: JointGroup) -> None:
        """
        Take a group of a loaded robot; most users call :meth:`from_urdf` or :meth:`from_group`.

        :param robot: the robot.
        :param group: a group with one tip.
        """
        self.robot = robot
        self.group = group
        self._kinematics = ChainKinematics(robot, group, group.base_link, group.tip)
        self._solvers: dict[tuple[str, str], Solver] = {}

    @classmethod
    def from_urdf(
        cls,
        path: str | Path,
        *,
        base: str,
        ee: str,
        joint_limits: Mapping[str, Any] | str | Path | None = None,
    ) -> 'Manipulator':
        """
        Load a URDF and take the chain between two links.

        :param path: URDF or xacro file, or the XML itself.
        :param base: link that targets are given in.
        :param ee: link that is to reach them.
        :param joint_limits: joint_limits.yaml (mapping or path), which may only tighten the limits.
        :raises FileNotFoundError: when there is no such file.
        :raises ValueError: when the description is malformed or there is no such chain.
        """
        robot = load_robot(path, joint_limits=joint_limits)
        return cls(robot, robot.group_from_links(base, ee))

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

    @property
    def dof(self) -> int:
        """Return the number of joint variables."""
        return self.group.variable_count

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the names of the joints, in the order of every joint vector."""
        return self.group.joint_names

    @property
    def joint_limits(self) -> list[tuple[float, float] | None]:
        """Return (lower, upper) of each joint variable, None for one without limits [rad or m]."""
        return [
            (float(lo), float(hi)) if np.isfinite([lo, hi]).any() else None
            for lo, hi in zip(self.group.lower, self.group.upper, strict=True)
        ]

    @property
    def neutral(self) -> FloatArray:
        """Return the default posture (dof,): 0, or mid-range where 0 is outside the limits."""
        return self.robot.default_positions()[self.group.idx_q]

    def fk(self, q: ArrayLike) -> FloatArray:
        """
        Return the pose (4, 4) of the end effector in the base at a joint vector.

        :param q: (dof,) joint vector [rad or m].
        :raises ValueError: when the size is another or a value is not finite.
        """
        vector = np.asarray(q, dtype=np.float64)
        if vector.shape != (self.dof,) or not np.isfinite(vector).all():
            raise DimensionMismatch(
                f'fk needs {self.dof} finite joint values, not {q!r}.', expected=(self.dof,)
            )
        return self._kinematics.pose(vector)

    def jacobian(self, q: ArrayLike) -> FloatArray:
        """
        Return the Jacobian (6, m) of the end effector: its twist (linear, angular) in base axes per joint velocity.

        :param q: (dof,) joint vector [rad or m].
        """
        return self._kinematics.jacobian(np.asarray(q, dtype=np.float64))

    @overload
    def solve(
        self, T_target: ArrayLike, *, explain: Literal[False] = False, **options: Any
    ) -> list[Solution]: ...

    @overload
    def solve(
        self, T_target: ArrayLike, *, explain: Literal[True], **options: Any
    ) -> tuple[list[Solution], IkResult]: ...

    def solve(
        self,
        T_target: ArrayLike,
        *,
        explain: bool = False,
        max_solutions: int | None = None,
        q_seed: ArrayLike | None = None,
        method: str = DEFAULT_SOLVER,
        timeout: float | None = None,
        **parameters: Any,
    ) -> list[Solution] | tuple[list[Solution], IkResult]:
        """
        Find joint vectors with which the end effector is at a pose: verified, within limits, best first.

        :param T_target: (4, 4) pose of the end effector in the base.
        :param explain: return the :class:`IkResult` with it, which says why there is no solution.
        :param max_solutions: how many distinct solutions to look for; one by default with iterative solvers.
        :param q_seed: (dof,) first start, and reference of the order of solutions.
        :param method: name of a solver, see ``ssik solvers``.
        :param timeout: wall-clock budget [s]; without one the number of starts bounds the search.
        :param parameters: parameters of the solver, such as ``target_tolerance=1e-6``.
        :returns: the solutions, empty when there is none.
        :raises ValueError: when the target is not a finite rigid transform or an argument is malformed.
        """
        target = np.asarray(T_target, dtype=np.float64)
        request = SolveRequest(
            targets=target,
            seed=None if q_seed is None else np.asarray(q_seed, dtype=np.float64),
            max_solutions=1 if max_solutions is None else max_solutions,
            timeout=timeout,
        )
        result = self.solver(method, **parameters).solve(request)
        if result.status == IkStatus.REFUSED:
            raise InvalidTarget(
                f'Target or seed is not usable: {result.summary()} T_target = {target.tolist()}',
                result=result,
            )
        solutions = [self._solution(q, target) for q in result.solutions]
        return (solutions, result) if explain else solutions

    def solver(self, method: str = DEFAULT_SOLVER, **parameters: Any) -> Solver:
        """
        Return a solver for this arm; the same object for the same arguments.

        :param method: its name.
        :param parameters: its parameters.
        """
        # By their text: 5, 5.0 and True are equal as keys but not as parameters, and a list is no key.
        key = (method, repr(sorted(parameters.items())))
        if key not in self._solvers:
            self._solvers[key] = create_solver(method, self.robot, self.group, parameters)
        return self._solvers[key]

    def _solution(self, q: FloatArray, target: FloatArray) -> Solution:
        """Return a joint vector with the residual measured at it."""
        residual = float(np.linalg.norm(self._kinematics.pose(q) - target))
        return Solution(q, residual, 'lm')
