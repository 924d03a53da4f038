"""
Keep a hand at its pose while the elbow moves as far as it can: two task sets in order of priority.

Shows: a base, constraints, priorities, and the error that each of them leaves.
"""

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.tasks import Constraint, Environment, RobotScene

ready = {'panda_joint2': 0.3, 'panda_joint4': -1.8, 'panda_joint6': 2.0}
scene = RobotScene(find_moveit_config('panda').urdf_path, ready)
env = Environment.from_scene(scene)
env.add_dummy('goal', pose=env['panda_link8'].pose())
elbow = env.add_dummy('elbow', 'panda_link4')
env['panda_joint1'].position, env['panda_joint2'].position = 0.3, 0.4
env.add_dummy('elbow_goal', pose=elbow.pose())

hand = env.add_task_set('hand', max_iterations=200, ignore_max_steps=False)
hand.add_task('panda_link8', base='panda_link0', target='goal', precision=(1e-6, 1e-6))
posture = env.add_task_set('posture', method='dls', damping=0.1)
posture.add_task('elbow', target='elbow_goal', constraints=Constraint.POSITION)

for priority in ('strict', 'nested'):
    env.sync_from(scene)
    result = env.solve([hand, posture], priority=priority)
    (_, hand_left, _), (_, elbow_left, _) = result.per_task
    print(
        f'{priority}: hand off by {hand_left:.0e} m, elbow still {elbow_left:.3f} m from its goal'
    )

# The other way round the elbow arrives and the hand gives way.
env.sync_from(scene)
posture.max_iterations = 200
result = env.solve([posture, hand])
(_, elbow_left, _), (_, hand_left, _) = result.per_task
print(f'elbow first: elbow {elbow_left:.0e} m, hand {hand_left:.3f} m')
