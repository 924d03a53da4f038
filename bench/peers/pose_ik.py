"""This package's PoseIK, asked as a user asks it: one request object per pose, inside the timed call."""

import numpy as np

from bench.arms import Arm
from bench.arms import FloatArray
from bench.peers import Peer
from bench.peers import Prepared


def prepare(arm: Arm) -> Prepared:
    """
    Return a solver for an arm, its kernels loaded.

    :param arm: the arm.
    """
    # Imported late, so that the other peers can be measured where this package does not load.
    from ssik_ros.model.loader import load_robot
    from ssik_ros.solvers.base import SolveRequest
    from ssik_ros.solvers.pose_ik.solver import PoseIkSolver

    robot = load_robot(arm.urdf_path)
    group = robot.group_from_links(arm.base, arm.tip)
    solver = PoseIkSolver(robot, group)
    if solver.joint_names != tuple(joint.name for joint in arm.joints) or not (
        np.array_equal(group.lower, arm.lower) and np.array_equal(group.upper, arm.upper)
    ):
        raise ValueError(f'{arm.name}: the package reads other joints or limits than the harness')
    solver.warm_up()

    def solve(target: FloatArray, seed: FloatArray) -> FloatArray | None:
        result = solver.solve(SolveRequest(targets=target, seed=seed))
        return result.q if result.solved else None

    return Prepared(solve, np.ascontiguousarray)


PEER = Peer(
    name='ssik_ros',
    module='ssik_ros',
    distribution='',
    call='PoseIkSolver.solve(SolveRequest(targets=T, seed=seed))',
    prepare=prepare,
    classes=('first_found_1e-3', 'near_seed_1e-3'),
)
