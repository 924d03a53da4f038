"""
Every posture that reaches a pose: branches, their names, turns of joints, held joints, and a picture of them.

An arm with a closed form answers with all of them. With matplotlib and a file name as argument they are drawn.
"""

import sys

import numpy as np

from ssik_ros import Manipulator

arm = Manipulator.from_prebuilt('ur5e')
print(arm)
posture = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
target = arm.fk(posture)

solutions, diagnostic = arm.solve(target, q_seed=posture, explain=True)
names = arm.branch_names(np.array([solution.q for solution in solutions]))
for solution, name in zip(solutions, names, strict=True):
    print(f'{name:30s} {np.round(solution.q, 3).tolist()}  residual {solution.fk_residual:.0e}')
print(diagnostic.summary())

# Five joints turn twice around: each branch stands for many postures. The nearest three, without building all.
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
    import matplotlib

    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    body = arm.kinbody
    axes = plt.figure(figsize=(7.0, 6.0)).add_subplot(projection='3d')
    for solution, name in zip(solutions, names, strict=True):
        corners, pose = [np.zeros(3)], np.eye(4)
        for joint, angle in zip(body.joints, solution.q, strict=True):
            corners.append((pose @ [*joint.point, 1.0])[:3])
            pose = pose @ joint.motion(angle)
        axes.plot(*np.array([*corners, (pose @ body.home)[:3, 3]]).T, marker='o', label=name)
    axes.legend(fontsize=7)
    plt.savefig(sys.argv[1])
