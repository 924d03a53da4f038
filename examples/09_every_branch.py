"""
Compute every posture that reaches a pose: branches, their names, windings, held joints, and a picture of the postures.

A file name as argument, such as ``branches.png``, is where the picture goes.
"""

import sys

import numpy as np

from ssik_ros import Manipulator, RobotState
from ssik_ros.model.description_files import find_moveit_config

arm = Manipulator.from_urdf(find_moveit_config('ur5e').urdf_path, base='base_link', ee='tool0')
print(arm)
posture = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
target = arm.fk(posture)

solutions, diagnostic = arm.solve(target, q_seed=posture, explain=True)
names = arm.branch_names(np.array([solution.q for solution in solutions]))
for solution, name in zip(solutions, names, strict=True):
    print(f'{name:30s} {np.round(solution.q, 3).tolist()}  residual {solution.fk_residual:.0e}')
print(diagnostic.summary())

# Five joints make two revolutions, so each branch stands for many postures. This solve returns the nearest three only.
_, windings = arm.solve(
    target, q_seed=posture, enumerate_windings=True, max_solutions=3, explain=True
)
print(f'{windings.geometric_branches} branches, {windings.winding_representatives} postures')

# Seven joints: hold one of them, or the elbow's angle about the line from shoulder to wrist.
iiwa = Manipulator.from_prebuilt('iiwa14')
posture = np.array([0.3, 0.8, -0.4, -1.1, 0.2, 0.9, 0.1])
target = iiwa.fk(posture)
print(f'{len(iiwa.solve(target))} at samples of {iiwa.dispatch_plan.held_joint}')
print(f'{len(iiwa.solve(target, hold={2: -0.4}))} with joint 3 held, ', end='')
print(f'{len(iiwa.solve(target, arm_angle=0.5))} with the elbow held')

if len(sys.argv) > 1:
    from ssik_ros.view.pictures import RobotPictures, save_picture

    states = []
    for solution in solutions:
        state = RobotState(arm.robot)
        state.set_group_positions(arm.group, solution.q)
        states.append(state.positions)
    picture = RobotPictures(arm.robot, states).draw(states, frames=[arm.fk(solutions[0].q)])
    save_picture(sys.argv[1], picture)
