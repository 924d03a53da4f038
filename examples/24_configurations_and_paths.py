"""
All configurations of a pose, and a straight way to the best of them.

Shows: ``find_configs`` with validation, whole turns, ``generate_path``, failures that name point and reason.
"""

import numpy as np

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.tasks import Environment, RobotScene

names = ('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint')
scene = RobotScene(
    find_moveit_config('ur5e').urdf_path, dict(zip(names, (0.3, -1.2, 1.4), strict=True))
)
scene.set_frame('goal', scene.pose('tool0'))
env = Environment('ur5e')
arm = env.add_task_set('arm')
arm.add_task_from_scene(scene, 'base_link', 'tool0', 'goal')
env.sync_from(scene)
env['wrist_1_joint'].position, env['wrist_2_joint'].position = -1.8, -1.5
pose = env['tool0'].matrix()
pose[:3, 3] += 0.05, 0.1, -0.1
env['goal'].set_pose(pose)
before = env.save()

branches = arm.find_configs(find_multiple=True, find_alt=False, max_samples=300)
every = arm.find_configs(find_multiple=True, max_samples=300, max_configs=500)
print(f'{len(branches)} configurations, {len(every)} with all whole turns, the nearest first')
print(np.round(branches[0], 3).tolist())

elbow = list(arm.joints).index(env['elbow_joint'])
up = arm.find_configs(
    find_multiple=True, max_samples=300, find_alt=False, validate=lambda q: q[elbow] > 0
)
print(f'{len(up)} of them with the elbow up')

path = arm.generate_path(None, 'tool0', 20)
steps = np.abs(np.diff(path.configs, axis=0)).max()
print(f'{len(path.configs)} points, complete: {path.ok}, largest joint step {steps:.3f} rad')

env['goal'].set_pose([2.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0])
path = arm.generate_path(None, 'tool0', 20, partial=True)
print(f'stopped at point {path.failed_index} after {path.fraction:.0%}: {path.reason}')

env['goal'].set_pose(pose)
print('environment as before:', env.save() == before)
