"""
Refuse candidates by a function of your own, here because the arm would touch itself.

The search hands each verified candidate to the function and goes on until one is accepted. When all are refused, the
cause says so.
"""

import numpy as np

from ssik_ros import Cause, create_solver, load_robot, RobotState, SolveRequest
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.description_files import find_moveit_config

files = find_moveit_config('ur5e')
robot = load_robot(files.urdf_path, files.srdf_path, files.joint_limits_path)
group = robot.group('ur_manipulator')
solver = create_solver('ssik_ros/PoseIK', robot, group)
checker = CollisionChecker(robot)
state, candidate = RobotState(robot), RobotState(robot)
calls = 0


def is_free(q: np.ndarray) -> bool:
    """Return whether the arm does not touch itself at a joint vector."""
    global calls
    calls += 1
    candidate.set_group_positions(group, q)
    return checker.colliding_pair(candidate.positions) is None


generator = np.random.default_rng(3)
solved = 0
for _ in range(20):
    state.set_group_positions(group, robot.sample(group, generator))
    target = state.link_transform(group.tip)
    result = solver.solve(SolveRequest(targets=target, validate=is_free, max_searches=200))
    solved += result.solved
    if not result.solved:
        assert result.cause == Cause.VALIDATION
print(f'{solved} of 20 poses solved without self-collision, {calls} candidates checked')

refused = solver.solve(SolveRequest(targets=target, validate=lambda q: False, max_searches=50))
print(f'{refused.cause.name}: {refused.summary()}')
