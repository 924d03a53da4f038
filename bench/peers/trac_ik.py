"""TRAC-IK through ``pytracik``: two solvers in two threads, the first solution counts."""

import numpy as np

from bench.arms import Arm, FloatArray
from bench.peers import check_fk, NotComparable, Prepared
from bench.peers.pairs import at_both_tolerances

TIMEOUT = 0.05
"""Wall clock [s]: with its default of 5 ms up to 5 % of the poses stay without a solution."""


def prepare(arm: Arm, epsilon: float) -> Prepared:
    """
    Return the call for an arm.

    :param arm: the arm.
    :param epsilon: of each component of the error [m, rad].
    """
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

    def forward(q: FloatArray) -> FloatArray:
        position, rotation = robot.fk(q)
        return np.vstack([np.column_stack([rotation, position]), [0.0, 0.0, 0.0, 1.0]])

    check_fk(arm, forward)
    solver = robot.ik

    def solve(target: tuple[FloatArray, FloatArray], seed: FloatArray) -> FloatArray | None:
        solution: FloatArray | None = solver(*target, seed)
        return solution

    def convert(target: FloatArray) -> tuple[FloatArray, FloatArray]:
        return target[:3, 3].copy(), target[:3, :3].copy()

    return Prepared(solve, convert, note='two threads on the one core')


PEERS = at_both_tolerances(
    'TRAC-IK',
    prepare,
    f"TracIK(base, tip, urdf, {TIMEOUT}, {{}}, 'Speed').ik(p, R, seed)",
    (5e-4, 5e-7),
    module='trac_ik',
    distribution='pytracik',
    slow=True,
)
