"""
Let the Panda's flange follow a moving target, in an environment made from its URDF.

Shows: ``RobotScene``, ``add_task_from_scene``, ``solve`` and its result, values back into the scene.
"""

import numpy as np

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.tasks import Constraint, Environment, RobotScene

ready = {'panda_joint2': 0.2, 'panda_joint4': -1.6, 'panda_joint6': 1.8}
scene = RobotScene(find_moveit_config('panda').urdf_path, ready)
scene.set_frame('goal', scene.pose('panda_link8'))

env = Environment('tracking')
arm = env.add_task_set('arm', method='dls', damping=0.02, max_iterations=20)
task, _ = arm.add_task_from_scene(scene, 'panda_link0', 'panda_link8', 'goal')
task.precision = (1e-4, 1e-3)
env.sync_from(scene)
print(f'{len(env.objects)} objects, {len(arm.joints)} joints, rows {task.constraints!r}')

# A circle of 10 cm across, one step of the target after the other.
centre, goal = env['goal'].matrix(), env['goal']
steps = []
for angle in np.linspace(0.0, 2.0 * np.pi, 100):
    pose = centre.copy()
    pose[:3, 3] += 0.05 * (np.cos(angle) - 1.0), 0.05 * np.sin(angle), 0.0
    goal.set_pose(pose)
    result = arm.solve()
    steps.append(result.iterations)
    assert result.success, result.describe()
print(f'100 of 100 poses, {np.mean(steps):.1f} steps each; the last one: {result.describe()}')

env.sync_to(scene)
print(f'flange in the scene: {np.round(scene.pose("panda_link8")[:3, 3], 3).tolist()}')

# Out of reach: no exception, but numbers and a reason.
goal.set_pose([3.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0])
task.constraints = Constraint.POSITION
result = arm.solve()
print(f'{result.reason!r}: {result.linear:.2f} m left')
