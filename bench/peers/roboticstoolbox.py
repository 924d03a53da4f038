"""Robotics Toolbox for Python: ``ETS.ik_LM`` with the settings that make it fastest at 1e-3."""

from typing import Any

import numpy as np

from bench.arms import Arm, FloatArray
from bench.peers import check_fk, Prepared
from bench.peers.pairs import at_both_tolerances

DAMPING = 0.1
TOLERANCE = 5e-7
"""It compares half the squared error with this: 1e-3 in the norm."""
EXACT_TOLERANCE = 1e-12
"""1.4e-6 in the norm, of which nearly all solutions are within 1e-6."""


def align_z(axis: FloatArray) -> FloatArray:
    """
    Return a rotation, as (4, 4), that takes +z to an axis; exact for the axes themselves.

    :param axis: (3,) unit vector.
    """
    second = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(second, axis)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack([x, np.cross(axis, x), axis])
    return pose if axis[2] < 1.0 else np.eye(4)


def make_chain(arm: Arm) -> Any:
    """
    Return an arm as the shortest chain of elementary transforms (ETS): one constant and one rotation a joint.

    :param arm: the arm.
    """
    from roboticstoolbox import ET, ETS

    elements, pending = [], np.eye(4)
    # One revolution for a continuous joint.
    for joint, *bounds in zip(arm.joints, *arm.sampling_bounds(), strict=True):
        frame = align_z(joint.axis)
        pending = pending @ joint.placement @ frame
        if not np.array_equal(pending, np.eye(4)):
            elements.append(ET.SE3(pending))
        move = ET.Rz if joint.is_revolute else ET.tz
        elements.append(move(qlim=bounds))
        pending = frame.T
    pending = pending @ arm.tip_placement
    if not np.array_equal(pending, np.eye(4)):
        elements.append(ET.SE3(pending))
    chain = ETS(elements)
    check_fk(arm, chain.fkine)
    return chain


def prepare(arm: Arm, tolerance: float) -> Prepared:
    """
    Return ``ik_LM`` on the chain of an arm.

    :param arm: the arm.
    :param tolerance: in its own sense.
    """
    chain = make_chain(arm)

    def solve(target: FloatArray, seed: FloatArray) -> FloatArray | None:
        solution = chain.ik_LM(target, q0=seed, k=DAMPING, tol=tolerance, joint_limits=True)
        if isinstance(solution, tuple):
            return solution[0] if solution[1] else None
        return solution.q if solution.success else None

    return Prepared(solve, np.ascontiguousarray)


PEERS = at_both_tolerances(
    'roboticstoolbox',
    prepare,
    f'ETS.ik_LM(T, q0=seed, k={DAMPING}, tol={{}}, joint_limits=True)',
    (TOLERANCE, EXACT_TOLERANCE),
    module='roboticstoolbox',
    distribution='roboticstoolbox-python',
)
