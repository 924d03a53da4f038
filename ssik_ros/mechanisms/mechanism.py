"""
A mechanism, compiled for solving: the numbers of its frames in one storage, and a program for each chain.

A chain is a set of joints that closures and goals couple, so that they must be solved together. The leaders of these
joints belong to it, too.
"""

from collections.abc import Sequence
import math

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.geometry.rotations import matrix_of_rpy, quaternion_of_matrix
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms.frame import Frame
from ssik_ros.mechanisms.graph import describe, find_roots, list_frames, topmost
from ssik_ros.mechanisms.joint import Joint
from ssik_ros.mechanisms.names import DOF
from ssik_ros.mechanisms.result import ChainResult, CompiledChain
from ssik_ros.mechanisms.storage import gather, six_from, Storage
from ssik_ros.solvers.mechanisms.options import ClosedChainOptions
from ssik_ros.solvers.mechanisms.program import ChainProgram, NOT_STOPPED
from ssik_ros.solvers.mechanisms.restarts import solve_with_restarts
from ssik_ros.solvers.mechanisms.structure import find_chains


class Mechanism:
    """
    A mechanism compiled for solving: the given frames and all frames that are connected with them.

    ``frames`` has them depth first; ``storage`` has their numbers, one row for each, and ``shape`` their structure.
    ``chains`` has a :class:`CompiledChain` for each chain. ``loose`` are the rows of joints that are in no chain and
    have degrees of freedom, ``chain_joints`` the rows of joints in chains.
    """

    def __init__(self, roots: Sequence[Frame]) -> None:
        """
        Move the numbers of the frames into one table and compile their chains.

        :param roots: any frames of the mechanism.
        :raises InvalidClosure: for anything but frames, or if a leader has lost the degree of freedom that a joint
            follows.
        """
        self.roots_given = list(roots)
        self.roots = find_roots(roots)
        self.frames = list_frames(self.roots)
        self.shape = shape = describe(self.frames)
        self.storage = gather(self.frames)
        self.chains = []
        in_chains: set[int] = set()
        for chain in find_chains(shape):
            in_chains.update(chain.joints)
            ends = [*chain.joints, *(shape.closes[c] for c in chain.closures)]
            tops = dict.fromkeys(topmost(self.frames[f]) for f in ends)
            goals = [c for c in chain.closures if shape.kinds[c] == 'goal']
            self.chains.append(
                CompiledChain(
                    ChainProgram(shape, chain),
                    tuple(tops),
                    tuple(shape.names[j] for j in chain.joints),
                    tuple(shape.names[g] for g in goals),
                    tuple(shape.names[c] for c in chain.closures),
                )
            )
        joints = [k for k, frame in enumerate(self.frames) if isinstance(frame, Joint)]
        self.loose = [k for k in joints if k not in in_chains and shape.free(k)]
        self.chain_joints = in_chains

    def solve(
        self,
        options: ClosedChainOptions,
        reals: FloatArray,
        flags: IntArray,
        cancel: IntArray = NOT_STOPPED,
    ) -> list[ChainResult]:
        """
        Solve every chain, starting from the values in two tables, and write the solved values into the same tables.

        Joints that are in no chain are set to their targets, clamped to their limits, if their flag TARGET_SET is 1.
        Locked degrees of freedom and followers stay.

        :param options: the options of the solve.
        :param reals, flags: tables with a row for each frame, laid out as in :attr:`storage`; they may be its tables.
        :param cancel: (1,) flag; if another thread sets it to 1, the solve ends.
        :returns: one result per chain, in the order of :attr:`chains`.
        :raises InvalidTarget: when a pose or a value is not finite, or a quaternion is zero.
        """
        for row in self.loose:
            if flags[row, layout.TARGET_SET]:
                self._move_loose_joint(row, reals[row], flags[row])
        packed, seed, limit = options.packed, options.seed, options.max_time
        results = []
        for chain in self.chains:
            program = chain[0]
            if options.restarts:
                attempts = solve_with_restarts(program, options, reals, flags, cancel)
                result = ChainResult(attempts.status)
                result._made_of = chain, options.method, attempts.snapshot
                result._tries = attempts.restarts, attempts.iterations
            else:
                result = ChainResult(program.solve(reals, flags, packed, seed, limit, cancel))
                result._made_of = chain, options.method, program.snapshot()
            results.append(result)
        return results

    def _move_loose_joint(self, row: int, numbers: NDArray[np.float64], flags: IntArray) -> None:
        """
        Set a joint that is in no chain to its targets, clamped to its limits.

        :param row: row of the joint in the tables.
        :param numbers, flags: this row of both tables; ``numbers`` is changed in place.
        """
        for dof in self.shape.free(row):
            wanted = float(numbers[layout.TARGET + dof])
            follows = (row, dof) in self.shape.followers
            if not flags[layout.LOCKED + dof] and not follows and math.isfinite(wanted):
                low, high = numbers[layout.LOWER + dof], numbers[layout.UPPER + dof]
                numbers[layout.VALUES + dof] = min(max(wanted, low), high)
        angles = numbers[six_from(layout.VALUES)][DOF.EX :]
        numbers[layout.ROTATION : layout.ROTATION + 4] = quaternion_of_matrix(
            matrix_of_rpy(*angles)
        )

    def copy(self) -> 'Mechanism':
        """Return the same mechanism with separate tables and workspaces, for another thread; frames are shared."""
        twin = object.__new__(Mechanism)
        twin.__dict__.update(self.__dict__)
        twin.storage = Storage(len(self.frames))
        with self.storage.lock:
            twin.storage.reals[:] = self.storage.reals
            twin.storage.flags[:] = self.storage.flags
        twin.chains = [
            chain._replace(program=ChainProgram(self.shape, chain.program.chain))
            for chain in self.chains
        ]
        return twin
