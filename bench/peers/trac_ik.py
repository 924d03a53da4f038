"""TRAC-IK through ``pytracik``: two solvers in two threads, the first solution counts."""

from collections.abc import Callable

import numpy as np

from bench.arms import Arm, FloatArray
from bench.classes import AT_MICRO, AT_MILLI
from bench.peers import NotComparable, Peer, Prepared

TIMEOUT = 0.05
"""Wall clock [s]: with its default of 5 ms up to 5 % of the poses stay without a solution."""
FK_AGREEMENT = 1e-9


def prepare_at(epsilon: float) -> Callable[[Arm], Prepared]:
    """
    Return a function that prepares the call for an arm.

    :param epsilon: of each component of the error [m, rad].
    """

    def prepare(arm: Arm) -> Prepared:
        from trac_ik import TracIK

        robot = TracIK(arm.base, arm.tip, str(arm.urdf_path), TIMEOUT, epsilon, 'Speed')
        if robot.dof != len(arm.joints):
            raise NotComparable(f'reads {robot.dof} joints')
        # It takes the limits of joints with a safety controller for zero.
        lower, upper = (np.array(bound) for bound in robot.joint_limits)
        robot.joint_limits = (
            np.where(np.isfinite(arm.lower), arm.lower, lower),
            np.where(np.isfinite(arm.upper), arm.upper, upper),
        )
        q = np.random.default_rng(0).uniform(*arm.sampling_bounds(), (20, robot.dof))
        for row, pose in zip(q, arm.fk(q), strict=True):
            position, rotation = robot.fk(row)
            difference = max(
                np.abs(position - pose[:3, 3]).max(), np.abs(rotation - pose[:3, :3]).max()
            )
            if difference > FK_AGREEMENT:
                raise NotComparable(f'its FK differs by {difference:.1e}')
        solver = robot.ik

        def solve(target: tuple[FloatArray, FloatArray], seed: FloatArray) -> FloatArray | None:
            solution: FloatArray | None = solver(*target, seed)
            return solution

        def convert(target: FloatArray) -> tuple[FloatArray, FloatArray]:
            return target[:3, 3].copy(), target[:3, :3].copy()

        return Prepared(solve, convert, note='two threads on the one core')

    return prepare


def _peer(name: str, epsilon: float, classes: tuple[str, ...]) -> Peer:
    """Return the peer of one tolerance."""
    return Peer(
        name=name,
        module='trac_ik',
        distribution='pytracik',
        call=f"TracIK(base, tip, urdf, {TIMEOUT}, {epsilon}, 'Speed').ik(p, R, seed)",
        prepare=prepare_at(epsilon),
        classes=classes,
        slow=True,
    )


PEERS = (_peer('TRAC-IK', 5e-4, AT_MILLI), _peer('TRAC-IK exact', 5e-7, AT_MICRO))
