"""
Two arms hold one object: the pose of one hand in the other is a task whose tip and target both move.

Shows: ``closure``, a task without any target in the world, and a second one that moves the pair.
"""

import numpy as np

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.tasks import Constraint, Environment, RobotScene

urdf = find_moveit_config('ur5e').urdf_path
env = Environment('two arms')
ready = (0.0, -1.2, 1.6, -1.9, -1.57, 0.0)
for side, y in (('left', 0.4), ('right', -0.4)):
    root = env.add_dummy(side, pose=[0.0, y, 0.0, 0.0, 0.0, 0.0, 1.0])
    arm = Environment.from_scene(RobotScene(urdf))
    for name, item in arm.objects.items():
        above = root if item.parent is None else f'{side}_{item.parent.name}'
        if item in arm.joints:
            env.add_joint(
                'revolute', f'{side}_{name}', above, item.matrix(-11), limits=item.limits
            )
        else:
            env.add_dummy(f'{side}_{name}', above, item.matrix(-11))
for joint, value in zip(env.joints, 2 * ready, strict=True):
    joint.position = value

# The right hand is to stay where it is now in the left one, 10 cm further left in the world.
env.add_dummy('grip', 'left_tool0').set_pose(env['right_tool0'].pose())
env.add_dummy('goal', pose=env['left_tool0'].pose())
env['goal'].position = env['left_tool0'].position + np.array([0.0, 0.1, 0.05])
pair = env.add_task_set('pair', max_iterations=50)
pair.add_task('right_tool0', target='grip', closure=True, precision=(1e-6, 1e-6))
pair.add_task('left_tool0', target='goal', constraints=Constraint.POSITION)
before = env['right_tool0'].matrix('left_tool0')

result = pair.solve()
print(f'{len(pair.joints)} joints: {result.describe()}')
change = np.abs(env['right_tool0'].matrix('left_tool0') - before).max()
print(
    f'the grip changed by {change:.0e}, the left hand moved to {env["left_tool0"].position.round(3)}'
)
