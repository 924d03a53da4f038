"""Robotics Toolbox for Python: ``ETS.ik_LM`` with the settings that make it fastest at 1e-3."""

import math
from typing import Any

import numpy as np

from bench.arms import Arm, ChainJoint, FloatArray
from bench.classes import AT_MICRO, AT_MILLI
from bench.peers import Peer, Prepared

DAMPING = 0.1
TOLERANCE = 5e-7
"""It compares half the squared error with this: 1e-3 in the norm."""
EXACT_TOLERANCE = 1e-12
"""1.4e-6 in the norm, of which nearly all solutions are within 1e-6."""
FK_AGREEMENT = 1e-9


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


def bounds(joint: ChainJoint) -> list[float]:
    """
    Return the limits it samples from and checks; one revolution for a continuous joint.

    :param joint: the joint.
    """
    return [
        joint.lower if math.isfinite(joint.lower) else -math.pi,
        joint.upper if math.isfinite(joint.upper) else math.pi,
    ]


def prepare(arm: Arm) -> Prepared:
    """
    Return ``ik_LM`` at 1e-3.

    :param arm: the arm.
    """
    return prepare_at(arm, TOLERANCE)


def prepare_exact(arm: Arm) -> Prepared:
    """
    Return ``ik_LM`` at 1e-6.

    :param arm: the arm.
    """
    return prepare_at(arm, EXACT_TOLERANCE)


def make_chain(arm: Arm) -> Any:
    """
    Return an arm as the shortest chain of elementary transforms (ETS): one constant and one rotation a joint.

    :param arm: the arm.
    """
    from roboticstoolbox import ET, ETS

    elements = []
    pending = np.eye(4)
    for joint in arm.joints:
        frame = align_z(joint.axis)
        pending = pending @ joint.placement @ frame
        if not np.array_equal(pending, np.eye(4)):
            elements.append(ET.SE3(pending))
        move = ET.Rz if joint.is_revolute else ET.tz
        elements.append(move(qlim=bounds(joint)))
        pending = frame.T
    pending = pending @ arm.tip_placement
    if not np.array_equal(pending, np.eye(4)):
        elements.append(ET.SE3(pending))
    chain = ETS(elements)
    check_fk(arm, chain)
    return chain


def prepare_at(arm: Arm, tolerance: float) -> Prepared:
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


def check_fk(arm: Arm, chain: object) -> None:
    """
    Refuse a chain that is not the arm.

    :param arm: the arm.
    :param chain: its ETS.
    """
    q = np.random.default_rng(0).uniform(*arm.sampling_bounds(), (20, len(arm.joints)))
    theirs = np.array([np.asarray(chain.fkine(row)) for row in q])  # type: ignore[attr-defined]
    difference = float(np.abs(theirs - arm.fk(q)).max())
    if difference > FK_AGREEMENT:
        raise ValueError(f'{arm.name}: FK of roboticstoolbox differs by {difference}')


PEER = Peer(
    name='roboticstoolbox',
    module='roboticstoolbox',
    distribution='roboticstoolbox-python',
    call=f'ETS.ik_LM(T, q0=seed, k={DAMPING}, tol={TOLERANCE}, joint_limits=True)',
    prepare=prepare,
    classes=AT_MILLI,
)
EXACT = Peer(
    name='roboticstoolbox exact',
    module='roboticstoolbox',
    distribution='roboticstoolbox-python',
    call=f'ETS.ik_LM(T, q0=seed, k={DAMPING}, tol={EXACT_TOLERANCE}, joint_limits=True)',
    prepare=prepare_exact,
    classes=AT_MICRO,
)

PEERS = (PEER, EXACT)
