"""Call the kernel that solves one chain of a mechanism, on one block of memory that holds the packed chain."""

import math
import time
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidTarget, quote
from ssik_ros.kernels.geometry import so3
from ssik_ros.kernels.geometry.addresses import address_of
from ssik_ros.kernels.mechanisms import descent, layout, mechanism
from ssik_ros.solvers.mechanisms.structure import ChainRows, Shape
from ssik_ros.solvers.mechanisms.tables import MechanismTables

BAD_FRAME = layout.BAD_FRAME
ENDLESS_TIME = 1e9
"""Times of at least thirty years mean no limit, because their nanoseconds do not fit an integer [s]."""
NOT_STOPPED = np.zeros(1, dtype=np.int64)


class ChainProgram:
    """
    One chain of a mechanism, packed for the kernel, together with the kernel's workspace.

    One instance runs one solve at a time, because all solves write to the same workspace.
    """

    def __init__(self, shape: Shape, chain: ChainRows) -> None:
        """
        Pack one chain of a mechanism into arrays for the kernel, and allocate the workspace.

        :param shape: the mechanism.
        :param chain: one of its chains.
        """
        self.shape, self.chain = shape, chain
        self.tables = MechanismTables(shape, chain)
        self._make_block(*self.tables.packed)
        self.view = layout.WORKSPACE.show(self.ints, self.work)
        """The arrays of the workspace by name, as kernels fill them."""
        self.view.fixed[:] = np.nan
        self.closure_count = len(chain.closures)
        ending = self.work[int(self.ints[layout.RESULT]) :]
        self.snapshot = ending.tobytes
        """Function that returns a copy of the result of the last solve, as bytes."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return constructor and arguments for copies and pickles; a copy packs the chain into memory of its own."""
        return ChainProgram, (self.shape, self.chain)

    def _make_block(self, ints: IntArray, reals: FloatArray) -> None:
        """
        Allocate one block for header, tables, counters and workspace, and copy the tables into the block.

        :param ints, reals: integers and real numbers from :attr:`MechanismTables.packed`.
        """
        size = layout.WORKSPACE.place(ints)
        ends = np.cumsum([layout.BLOCK, len(ints), layout.COUNTERS, len(reals), size]).tolist()
        self._block = np.zeros(ends[-1])
        self.address = address_of(self._block)
        """Address of the block, the argument of kernels."""
        integers: IntArray = self._block[: ends[2]].view(np.int64)
        self._head, self.ints, self._counters = np.split(integers, ends[:2])
        self.reals, self.work = np.split(self._block[ends[2] :], [len(reals)])
        self._head[layout.BLOCK_INTS :] = len(ints), len(reals), size
        self.ints[:] = ints
        self.reals[:] = reals
        self._bound: tuple[Any, ...] = (None,) * 4
        self._solve: Any = None

    def _bind(
        self, table: FloatArray, flags: IntArray, options: FloatArray, cancel: IntArray
    ) -> None:
        """
        Write the addresses of four arrays into the block, so that the kernel finds them; keep references to the arrays.

        :param table, flags: numbers and flags of the mechanism, one row for each frame.
        :param options: packed options.
        :param cancel: (1,) flag that stops a solve.
        """
        arrays = table, flags, options, cancel
        for array, kind in zip(arrays, (float, np.int64, float, np.int64), strict=True):
            assert array.dtype == kind and array.flags.c_contiguous
        if self._solve is None:
            self._solve = descent.solve
        # If an exception interrupts the writes, the next call binds the arrays again.
        self._bound = (None,) * 4
        self._head[: layout.BLOCK_FRAMES] = [address_of(array) for array in arrays]
        self._head[layout.BLOCK_FRAMES] = len(table)
        self._bound = arrays

    def solve(
        self,
        table: FloatArray,
        flags: IntArray,
        options: FloatArray,
        seed: int = 0,
        max_time: float = math.inf,
        cancel: IntArray = NOT_STOPPED,
    ) -> int:
        """
        Solve the chain from the joint values in ``table``, and write the final joint values into ``table``.

        :param table, flags: numbers and flags of the mechanism, one row for each frame; the table is changed in place.
        :param options: packed options, from :meth:`ClosedChainOptions.packed`.
        :param seed: seed of the random numbers of this solve.
        :param max_time: time limit [s]; infinite for no limit.
        :param cancel: (1,) flag; if another thread sets it to 1, the solve ends within one iteration.
        :returns: status code, such as ``layout.CONVERGED``.
        :raises InvalidTarget: when a pose or a value is not finite, or a quaternion is zero.
        """
        held = self._bound
        if (
            table is not held[0]
            or flags is not held[1]
            or options is not held[2]
            or cancel is not held[3]
        ):
            self._bind(table, flags, options, cancel)
        stop = 0 if max_time >= ENDLESS_TIME else time.monotonic_ns() + int(1e9 * max_time)
        status: int = self._solve(self.address, seed, stop)
        if status == BAD_FRAME:
            self._refuse_bad(int(self._counters[layout.BAD]))
        return status

    @staticmethod
    def number(snapshot: bytes, column: int) -> float:
        """
        Return one number of a finished solve, such as its cost or its count of steps.

        :param snapshot: bytes that :attr:`snapshot` returned after the solve.
        :param column: column of the number in :mod:`ssik_ros.kernels.mechanisms.layout`, such as ``layout.COST``.
        """
        return float(np.frombuffer(snapshot)[column - layout.NUMBERS])

    def measure(
        self, table: FloatArray, flags: IntArray, options: FloatArray, *, exact: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """
        Return the weighted errors of all closures at the joint values in ``table``, and the Jacobian of these errors.

        The rows are the constrained rows of the first closure, then of the second, and so on. The columns are the
        unknowns in the order of :attr:`MechanismTables.variables`.

        :param table, flags: numbers and flags of the mechanism, one row for each frame.
        :param options: packed options.
        :param exact: False leaves out the derivative of the logarithm of the rotation error.
        :returns: (m,) residual e and (m, n) J = -de/dq.
        :raises InvalidTarget: when a pose or a value is not finite, or a quaternion is zero.
        """
        view = self.view
        self._bind(table, flags, options, NOT_STOPPED)
        self._refuse_bad(mechanism.load(self.address))
        self.evaluate(view.current)
        mechanism.jacobian(self.address, exact)
        residual, rows, column = [], [], 0
        for c in range(self.closure_count):
            columns = self.tables.columns[c]
            dense = np.zeros((6, len(self.tables.keys)))
            dense[:, columns] = view.blocks[column : column + len(columns)].T
            column += len(columns)
            counted = self._counted(c)
            rows.append(dense[counted][:, self.tables.place])
            residual.append(view.residual[c, counted])
        return np.concatenate(residual), np.concatenate(rows)

    def check_jacobian(
        self, table: FloatArray, flags: IntArray, options: FloatArray, eps: float
    ) -> float:
        """
        Return the largest entry of the difference between the Jacobian and central differences of the residual.

        :param table, flags: numbers and flags of the mechanism, one row for each frame; they are not changed.
        :param options: packed options.
        :param eps: step of each unknown for the differences [m or rad].
        :raises InvalidTarget: when a pose or a value is not finite, or a quaternion is zero.
        """
        _, columns = self.measure(table, flags, options)
        view = self.view
        state, moved = view.current.copy(), view.current
        worst = 0.0
        for natural in range(len(self.tables.keys)):
            ends = []
            for side in (eps, -eps):
                self.move(state, natural, side, moved)
                self.evaluate(moved)
                rows = [view.residual[c, self._counted(c)] for c in range(self.closure_count)]
                ends.append(np.concatenate(rows))
            slope = -(ends[0] - ends[1]) / (2.0 * eps)
            worst = max(worst, float(np.abs(slope - columns[:, natural]).max(initial=0.0)))
        return worst

    def _refuse_bad(self, row: int) -> None:
        """
        Raise InvalidTarget with the name of the frame at ``row`` of the table; do nothing if ``row`` is -1.

        The kernel returns the row of the first frame with a number that is not finite or a zero quaternion, or -1.
        """
        if row >= 0:
            name = self.shape.names[row]
            text = f'The pose or the values of {quote(name)} are not finite, or its quaternion is zero.'
            raise InvalidTarget(text, frame=name)

    def evaluate(self, state: FloatArray) -> None:
        """
        Write the frame poses, the residual and the errors at a state into the workspace.

        :param state: value of each unknown in the kernel's order; a ball has a quaternion.
        """
        self.view.trial[:] = state
        mechanism.locate(self.address)

    def move(self, state: FloatArray, natural: int, amount: float, out: FloatArray) -> None:
        """
        Copy ``state`` into ``out`` and move one unknown of the copy.

        An unknown of a ball joint rotates its quaternion about the X, Y or Z axis; any other unknown is increased.

        :param state: value of each unknown in the kernel's order.
        :param natural: index of the unknown in ``tables.keys``.
        :param amount: the motion [m or rad].
        :param out: receives the moved copy.
        """
        frame, dof = self.tables.keys[natural]
        at = self.tables.states[frame, dof]
        out[:] = state
        if self.shape.is_ball(frame, dof):
            vector = amount * np.eye(3)[dof - layout.FIRST_TURN]
            so3.rotate_quaternion(out[at : at + 4], *vector)
        else:
            out[at] += amount

    def _counted(self, c: int) -> list[int]:
        """Return the indices, 0 to 5, of the error rows that closure number ``c`` of the chain constrains."""
        mask = self.shape.rows(self.chain.closures[c])
        return [k for k in range(6) if mask >> k & 1]
