"""This package's solvers, made by the registry as a kinematics.yaml makes them, one request object per pose in the timed call."""

import functools

import numpy as np

from bench.arms import Arm, FloatArray
from bench.peers import check_limits, NotComparable, Prepared
from bench.peers.pairs import at_both_tolerances

SOLVERS = ('Auto', 'LevenbergMarquardt', 'PoseIK', 'Analytic')
EXACT_IN_ANY_CASE = ('ssik_ros/Analytic',)


def prepare(solver_name: str, arm: Arm, tolerance: float) -> Prepared:
    """
    Return the call for an arm.

    :param solver_name: as the registry knows it.
    :param arm: the arm.
    :param tolerance: norm over position [m] and rotation [rad] error; closed forms have their own.
    """
    # Imported late, so that the other peers can be measured where this package does not load.
    from ssik_ros.errors import SsikError
    from ssik_ros.model.loader import load_robot
    from ssik_ros.problem.contract import SolveRequest
    from ssik_ros.solvers.registry import create_solver

    parameters = {} if solver_name in EXACT_IN_ANY_CASE else {'target_tolerance': tolerance}
    robot = load_robot(arm.urdf_path)
    group = robot.group_from_links(arm.base, arm.tip)
    try:
        solver = create_solver(solver_name, robot, group, parameters)
    except (SsikError, NotImplementedError) as reason:
        raise NotComparable(str(reason)) from reason
    check_limits(arm, solver.joint_names, group.lower, group.upper)
    solver.warm_up()

    def solve(target: FloatArray, seed: FloatArray) -> FloatArray | None:
        result = solver.solve(SolveRequest(target, seed))
        return result.q if result.solved else None

    return Prepared(solve, np.ascontiguousarray)


PEERS = tuple(
    peer
    for short in SOLVERS
    for peer in at_both_tolerances(
        short,
        functools.partial(prepare, f'ssik_ros/{short}'),
        f"create_solver('ssik_ros/{short}', target_tolerance={{}}).solve(SolveRequest(T, seed))",
        module='ssik_ros',
        distribution='',
        slow=short == 'Analytic',
    )
)
