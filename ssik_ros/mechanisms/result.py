"""The result of the solve of one chain: a status with errors, iterations and values; and the chain that was solved."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted
from ssik_ros.kernels.geometry.rotations import matrix_of_quaternion
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.kernels.mechanisms.mechanism import zyx_angles
from ssik_ros.mechanisms.frame import Frame
from ssik_ros.mechanisms.names import DOF, SOLVE_STATUS
from ssik_ros.solvers.mechanisms.program import ChainProgram

VECTORS = 9
"""Vectors with one number per unknown, between the errors and the state of a snapshot."""


class CompiledChain(NamedTuple):
    """
    One chain of a mechanism, a set of joints that must be solved together.

    It has the compiled program, the root frames, and the names of joints, goals and closures.
    """

    program: ChainProgram
    roots: tuple[Frame, ...]
    """Roots of the trees that the chain is in."""
    joint_names: tuple[str, ...]
    goal_names: tuple[str, ...]
    closure_names: tuple[str, ...]
    """Names of closures and goals, in the order of their errors."""


class ChainResult(int):
    """
    Result of the solve of one chain: an integer, the status, which also has errors and values of the final state.

    ``SOLVE_STATUS_NAMES[result]`` and ``result == SOLVE_STATUS.CONVERGED`` work as with a bare status.
    """

    _made_of: tuple[CompiledChain, str, bytes]
    """The chain, the name of the method, and the numbers of the solve."""
    _tries: tuple[int, int] | None = None
    """Restarts, and iterations of all starts; None for a single start."""

    def with_names(
        self, joint_names: tuple[str, ...], closure_names: tuple[str, ...]
    ) -> 'ChainResult':
        """Return a copy of the result with other names of joints and closures, as many as before and in the same order."""
        named, (chain, method, snapshot) = ChainResult(self), self._made_of
        chain = chain._replace(joint_names=joint_names, closure_names=closure_names)
        named._made_of = chain, method, snapshot
        named._tries = self._tries
        return named

    @property
    def chain(self) -> CompiledChain:
        """The chain that was solved."""
        return self._made_of[0]

    @property
    def method(self) -> str:
        """Name of the method that solved the chain."""
        return self._made_of[1]

    @property
    def _snapshot(self) -> FloatArray:
        return np.frombuffer(self._made_of[2])

    @property
    def status(self) -> SOLVE_STATUS:
        """Status at the end of the solve."""
        return SOLVE_STATUS(int(self))

    @property
    def iterations(self) -> int:
        """Number of iterations, of all starts if there were restarts."""
        return int(self._number(layout.STEPS)) if self._tries is None else self._tries[1]

    @property
    def restarts(self) -> int:
        """Number of restarts from random states."""
        return 0 if self._tries is None else self._tries[0]

    @property
    def escapes(self) -> int:
        """Number of attempts to escape from a stall at which errors were still too large."""
        return int(self._number(layout.TRIED))

    @property
    def converged(self) -> bool:
        """Whether every closure, goal and target is within its tolerances."""
        return int(self) == SOLVE_STATUS.CONVERGED

    success = converged
    """The same as ``converged``; all results have the attribute ``success``."""

    @property
    def closure_errors(self) -> FloatArray:
        """
        (C, 2) remaining distance [m] and angle [rad] of each closure and goal.

        Only degrees of freedom that the closure or goal fixes are counted.
        """
        count = self.chain.program.closure_count
        return self._snapshot[: 2 * count].reshape(-1, 2).copy()

    @property
    def target_error(self) -> tuple[float, float]:
        """Largest remaining translation [m] and rotation [rad] of a joint target."""
        return self._number(layout.TARGET_TRANSLATION), self._number(layout.TARGET_ROTATION)

    def _number(self, which: int) -> float:
        return self.chain.program.number(self._made_of[2], which)

    @property
    def cost(self) -> float:
        """Half the sum of the squared weighted errors of closures, goals and targets at the end."""
        return self._number(layout.COST)

    @property
    def rest_cost(self) -> float:
        """The secondary objective: half the squared weighted distance to rest poses."""
        return self._number(layout.REST_COST)

    @property
    def error(self) -> tuple[float, float]:
        """Largest remaining length [m] and angle [rad] of all closures, goals and joint targets."""
        translation, rotation = self.target_error
        for length, angle in self.closure_errors:
            translation, rotation = max(translation, length), max(rotation, angle)
        return float(translation), float(rotation)

    @property
    def roots(self) -> tuple[Frame, ...]:
        """The roots of the trees that the chain is in."""
        return self.chain.roots

    @property
    def closures(self) -> tuple[str, ...]:
        """Names of closures and goals, in the order of :attr:`closure_errors`."""
        return self.chain.closure_names

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints of the chain."""
        return self.chain.joint_names

    @property
    def goal_names(self) -> tuple[str, ...]:
        """Names of the goals of the chain."""
        return self.chain.goal_names

    @property
    def variables(self) -> tuple[str, ...]:
        """Joint and degree of freedom of each value of :attr:`q`."""
        return tuple(self.chain.program.tables.variables)

    @property
    def q(self) -> FloatArray:
        """(n,) values of the final state [m, rad], as :attr:`variables` names them; of balls the three angles."""
        program, numbers = self.chain.program, self._snapshot
        state = numbers[self._vector_start(VECTORS) :]
        values = np.empty(len(program.tables.keys))
        for k, (frame, dof) in enumerate(program.tables.keys):
            at = program.tables.states[frame, dof]
            values[k] = state[at]
            if program.shape.is_ball(frame, dof):
                rotation = matrix_of_quaternion(state[at : at + 4])
                values[k] = zyx_angles(rotation.ravel())[dof - DOF.EX]
        return values

    @property
    def limits_active(self) -> tuple[str, ...]:
        """Names of the variables that are at a limit."""
        values = self.q
        return self._where((values <= self._vector(3)) | (values >= self._vector(4)))

    @property
    def locked(self) -> tuple[str, ...]:
        """Names of the variables that were locked."""
        return self._where(self._vector(5) == 2.0)

    def _vector(self, number: int) -> FloatArray:
        """
        Return one of the stored vectors with a number for each unknown, in the order of :attr:`variables`.

        :param number: index of the vector in the snapshot, the flat array of all numbers of the solve.
        """
        tables, start = self.chain.program.tables, self._vector_start(number)
        return self._snapshot[start : start + len(tables.keys)][tables.place]

    def _vector_start(self, number: int) -> int:
        """Return the index in the snapshot at which vector ``number`` begins; the state follows the last vector."""
        program = self.chain.program
        return 2 * program.closure_count + number * len(program.tables.keys)

    def _where(self, chosen: NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(name for name, yes in zip(self.variables, chosen, strict=True) if yes)

    def __repr__(self) -> str:
        """Return a text with status, iterations, largest errors [m, rad], and the names of closures and goals."""
        length, angle = self.error
        return (
            f'<{self.status.name} after {counted(self.iterations, "iteration")}, '
            f'{length:.1e} m, {angle:.1e} rad, chain of {", ".join(self.closures)}>'
        )
