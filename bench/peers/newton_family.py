"""This package's ``ik_LM``, asked as a user of the toolbox asks it; at 1e-3 and at 1e-6."""

import numpy as np

from bench.arms import Arm, FloatArray
from bench.peers import check_limits, Prepared
from bench.peers.pairs import at_both_tolerances


def prepare(arm: Arm, tolerance: float) -> Prepared:
    """
    Return the call for an arm.

    :param arm: the arm.
    :param tolerance: for position [m] and for rotation [rad].
    """
    # Imported late, so that the other peers can be measured where this package does not load.
    from ssik_ros.manipulator.manipulator import Manipulator

    manipulator = Manipulator.from_urdf(arm.urdf_path, base=arm.base, ee=arm.tip)
    check_limits(arm, manipulator.joint_names, manipulator.group.lower, manipulator.group.upper)

    def solve(target: FloatArray, seed: FloatArray) -> FloatArray | None:
        solution = manipulator.ik_LM(target, seed, pos_tol=tolerance, rot_tol=tolerance)
        q: FloatArray = solution[0]
        return q if solution[1] else None

    return Prepared(solve, np.ascontiguousarray)


PEERS = at_both_tolerances(
    'ik_LM',
    prepare,
    'Manipulator.ik_LM(T, seed, pos_tol={0}, rot_tol={0})',
    module='ssik_ros',
    distribution='',
)
