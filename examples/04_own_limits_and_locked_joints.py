"""
Restrict one request: own limits, locked joints, a tool, and a bound on the motion.

All restrictions belong to the ``SolveRequest``; the solver and the robot do not change and may be shared by threads.
"""

import numpy as np

from ssik_ros import create_solver, load_robot, RobotState, SolveRequest
from ssik_ros.model.description_files import find_moveit_config

files = find_moveit_config('gen3')
robot = load_robot(files.urdf_path, files.srdf_path, files.joint_limits_path)
group = robot.group('manipulator')
solver = create_solver('ssik_ros/PoseIK', robot, group)

state = RobotState(robot)
seed = np.array([0.2, 0.5, 0.1, 1.2, 0.1, 0.9, 0.3])
state.set_group_positions(group, seed + 0.1)
target = state.link_transform(group.tip)


def show(title: str, **wishes: object) -> None:
    """Solve with some options of the request and print the result."""
    result = solver.solve(SolveRequest(targets=target, seed=seed, **wishes))  # type: ignore[arg-type]
    print(f'{title}: {result.status.name}, q = {np.round(result.q, 3).tolist()}')


show('as the model says')
show('third joint locked', locked={group.joint_names[2]: 0.1})
show('all joints within 0.4 rad of the seed', consistency_limits=np.full(7, 0.4))
show('fourth joint at least 1.25', lower=np.where(np.arange(7) == 3, 1.25, -np.inf))

# The target is now meant for a point 10 cm in front of the flange.
tool = np.eye(4)
tool[2, 3] = 0.1
show('with a tool of 10 cm', tool_offsets=tool)
