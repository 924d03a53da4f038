"""This package's solvers, made by the registry as a kinematics.yaml makes them, one request object per pose in the timed call."""

from collections.abc import Callable

import numpy as np

from bench.arms import Arm, FloatArray
from bench.classes import AT_MICRO, AT_MILLI
from bench.peers import NotComparable, Peer, Prepared

SOLVERS = ('Auto', 'LevenbergMarquardt', 'PoseIK', 'Analytic')
EXACT_IN_ANY_CASE = ('ssik_ros/Analytic',)


def prepare_at(solver_name: str, tolerance: float) -> Callable[[Arm], Prepared]:
    """
    Return a function that prepares the call for an arm.

    :param solver_name: as the registry knows it.
    :param tolerance: norm over position [m] and rotation [rad] error; closed forms have their own.
    """
    parameters = {} if solver_name in EXACT_IN_ANY_CASE else {'target_tolerance': tolerance}

    def prepare(arm: Arm) -> Prepared:
        # Imported late, so that the other peers can be measured where this package does not load.
        from ssik_ros.errors import SsikError
        from ssik_ros.model.loader import load_robot
        from ssik_ros.problem.contract import SolveRequest
        from ssik_ros.solvers.registry import create_solver

        robot = load_robot(arm.urdf_path)
        group = robot.group_from_links(arm.base, arm.tip)
        try:
            solver = create_solver(solver_name, robot, group, parameters)
        except (SsikError, NotImplementedError) as reason:
            raise NotComparable(str(reason)) from reason
        if solver.joint_names != tuple(joint.name for joint in arm.joints) or not (
            np.array_equal(group.lower, arm.lower) and np.array_equal(group.upper, arm.upper)
        ):
            raise ValueError(f'{arm.name}: the package reads other joints or limits')
        solver.warm_up()

        def solve(target: FloatArray, seed: FloatArray) -> FloatArray | None:
            result = solver.solve(SolveRequest(target, seed))
            return result.q if result.solved else None

        return Prepared(solve, np.ascontiguousarray)

    return prepare


def _peer(short: str, tolerance: float, name: str, classes: tuple[str, ...]) -> Peer:
    """Return the peer of one solver at one tolerance."""
    solver_name = f'ssik_ros/{short}'
    options = f'target_tolerance={tolerance}'
    return Peer(
        name=name,
        module='ssik_ros',
        distribution='',
        call=f'create_solver({solver_name!r}, {options}).solve(SolveRequest(T, seed))',
        prepare=prepare_at(solver_name, tolerance),
        classes=classes,
        slow=short == 'Analytic',
    )


PEERS = (
    *(_peer(short, 1e-3, short, AT_MILLI) for short in SOLVERS),
    *(_peer(short, 1e-6, f'{short} exact', AT_MICRO) for short in SOLVERS),
)
