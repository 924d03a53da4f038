"""
Ask for the solution that moves the joints least.

``first_found`` stops at the first verified solution; ``optimize_distance`` spends ``optimization_timeout`` on
finding one nearer to the seed, by more starts and by motion in the null space.
"""

import numpy as np

from ssik_ros import Manipulator
from ssik_ros.model.description_files import find_moveit_config

arm = Manipulator.from_urdf(
    find_moveit_config('panda').urdf_path, base='panda_link0', ee='panda_link8'
)
seed = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
generator = np.random.default_rng(7)
lower, upper = np.array(arm.joint_limits).T

distances: dict[str, list[float]] = {'first_found': [], 'optimize_distance': []}
for _ in range(20):
    target = arm.fk(generator.uniform(lower, upper))
    for mode, values in distances.items():
        solutions = arm.solve(target, q_seed=seed, solve_mode=mode, optimization_timeout=0.005)
        values.append(float(np.linalg.norm(solutions[0].q - seed)))

for mode, values in distances.items():
    print(f'{mode:18s} mean joint distance to the seed {np.mean(values):.2f} rad')
