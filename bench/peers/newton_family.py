"""This package's ``ik_LM``, asked as a user of the toolbox asks it; at 1e-3 and at 1e-6."""

from collections.abc import Callable

import numpy as np

from bench.arms import Arm, FloatArray
from bench.classes import AT_MICRO, AT_MILLI
from bench.peers import Peer, Prepared


def prepare_at(tolerance: float) -> Callable[[Arm], Prepared]:
    """
    Return a function that prepares the call for an arm.

    :param tolerance: for position [m] and for rotation [rad].
    """

    def prepare(arm: Arm) -> Prepared:
        # Imported late, so that the other peers can be measured where this package does not load.
        from ssik_ros.manipulator.manipulator import Manipulator

        own = Manipulator.from_urdf(arm.urdf_path, base=arm.base, ee=arm.tip)
        if own.joint_names != tuple(joint.name for joint in arm.joints) or not (
            np.array_equal(own.group.lower, arm.lower)
            and np.array_equal(own.group.upper, arm.upper)
        ):
            raise ValueError(f'{arm.name}: the package reads other joints or limits')

        def solve(target: FloatArray, seed: FloatArray) -> FloatArray | None:
            solution = own.ik_LM(target, seed, pos_tol=tolerance, rot_tol=tolerance)
            q: FloatArray = solution[0]
            return q if solution[1] else None

        return Prepared(solve, np.ascontiguousarray)

    return prepare


def _peer(name: str, tolerance: float, classes: tuple[str, ...]) -> Peer:
    """Return the peer of one tolerance."""
    return Peer(
        name=name,
        module='ssik_ros',
        distribution='',
        call=f'Manipulator.ik_LM(T, seed, pos_tol={tolerance}, rot_tol={tolerance})',
        prepare=prepare_at(tolerance),
        classes=classes,
    )


PEERS = (_peer('ik_LM', 1e-3, AT_MILLI), _peer('ik_LM exact', 1e-6, AT_MICRO))
