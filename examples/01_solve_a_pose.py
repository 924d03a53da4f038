"""
Load an arm from its URDF, solve for a pose, and print the solution.

Shows: ``Manipulator.from_urdf``, forward kinematics, ``solve``, and the fields of a solution.
"""

import numpy as np

from ssik_ros import Manipulator
from ssik_ros.model.description_files import find_moveit_config

urdf = find_moveit_config('panda').urdf_path
arm = Manipulator.from_urdf(urdf, base='panda_link0', ee='panda_link8')
print(f'{arm.dof} joints: {", ".join(arm.joint_names)}')

# Half a metre in front of the base, half a metre up, looking down.
target = np.diag([1.0, -1.0, -1.0, 1.0])
target[:3, 3] = 0.5, 0.0, 0.5

solutions = arm.solve(target)
best = solutions[0]
reached = arm.fk(best.q)
print(f'q = {np.round(best.q, 4).tolist()}')
print(f'position error {np.linalg.norm(reached[:3, 3] - target[:3, 3]):.1e} m')

# Tighter than the default of 1 mm and 0.057 degrees, and four different postures.
for solution in arm.solve(target, max_solutions=4, target_tolerance=1e-9):
    print(f'{np.round(solution.q, 4).tolist()}  residual {solution.fk_residual:.1e}')
