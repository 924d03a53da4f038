"""This package's ``ssik_ros/Auto``, the solver of a kinematics.yaml that names none; at 1e-3 and at 1e-6."""

from collections.abc import Callable

import numpy as np

from bench.arms import Arm
from bench.arms import FloatArray
from bench.peers import Peer
from bench.peers import Prepared

NAME = 'ssik_ros/Auto'


def prepare_at(tolerance: float) -> Callable[[Arm], Prepared]:
    """
    Return what prepares the call for an arm.

    :param tolerance: norm over position [m] and rotation [rad] error.
    """

    def prepare(arm: Arm) -> Prepared:
        # Imported late, so that the other peers can be measured where this package does not load.
        from ssik_ros.model.loader import load_robot
        from ssik_ros.solvers.base import SolveRequest
        from ssik_ros.solvers.registry import create_solver

        robot = load_robot(arm.urdf_path)
        group = robot.group_from_links(arm.base, arm.tip)
        solver = create_solver(NAME, robot, group, {'target_tolerance': tolerance})
        if solver.joint_names != tuple(joint.name for joint in arm.joints) or not (
            np.array_equal(group.lower, arm.lower) and np.array_equal(group.upper, arm.upper)
        ):
            raise ValueError(f'{arm.name}: the package reads other joints or limits')
        solver.warm_up()

        def solve(target: FloatArray, seed: FloatArray) -> FloatArray | None:
            result = solver.solve(SolveRequest(targets=target, seed=seed))
            return result.q if result.solved else None

        return Prepared(solve, np.ascontiguousarray, note=getattr(solver, 'reason', ''))

    return prepare


def _peer(name: str, tolerance: float, classes: tuple[str, ...]) -> Peer:
    """Return the peer of one tolerance."""
    return Peer(
        name=name,
        module='ssik_ros',
        distribution='',
        call=f'create_solver({NAME!r}, target_tolerance={tolerance}).solve(SolveRequest(T, seed))',
        prepare=prepare_at(tolerance),
        classes=classes,
    )


PEER = _peer('Auto', 1e-3, ('first_found_1e-3', 'near_seed_1e-3'))
EXACT = _peer('Auto exact', 1e-6, ('first_found_1e-6', 'near_seed_1e-6'))
