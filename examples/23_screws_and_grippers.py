"""
A screw that lifts, and a gripper whose second finger follows the first: joints that are more than hinges.

Shows: ``screw_lead``, ``depend_on`` with a multiplier and with a function, spherical joints, limit hits, saving.
"""

import math

from ssik_ros.tasks import Constraint, Environment

env = Environment('press')

# 5 mm per turn, forty turns: the nut rises by 0.2 m.
screw = env.add_joint('revolute', 'screw', limits=(0.0, 80.0 * math.pi), screw_lead=0.005)
env.add_dummy('nut', screw)
env.add_dummy('height', pose=[0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 1.0])
lift = env.add_task_set('lift', max_iterations=50)
lift.add_task('nut', target='height', constraints=Constraint.Z, precision=(1e-9, 1.0))
lift.solve()
turns = screw.position / (2.0 * math.pi)
print(f'{turns:.3f} turns lift the nut to {env["nut"].position[2]:.4f} m')

env['height'].position = 0.0, 0.0, 0.5
result = lift.solve()
print(
    f'{result.reason!r}: {screw.name} would go {result.limit_hits[screw]:.0f} rad beyond its limit'
)

# Fingers that close together: one column of the Jacobian moves both.
left = env.add_joint(
    'prismatic', 'left_finger', screw, [0, 0.02, 0, -0.5, 0.5, 0.5, 0.5], limits=(0.0, 0.04)
)
right = env.add_joint(
    'prismatic', 'right_finger', screw, [0, -0.02, 0, 0.5, 0.5, -0.5, 0.5], limits=(0.0, 0.04)
)
right.depend_on(left)
left.position = 0.03
print(f'fingers: {left.position} and {right.position}')

# A crank that drives a slide by its sine; the derivative makes the steps exact.
crank = env.add_joint('revolute', 'crank', limits=(-1.5, 1.5))
slide = env.add_joint('prismatic', 'slide', limits=(-1.0, 1.0))
slide.depend_on(crank, function=math.sin, derivative=math.cos)
env.add_dummy('piston', slide)
env.add_dummy('stroke', pose=[0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0])
drive = env.add_task_set('drive', max_iterations=20)
drive.add_task('piston', target='stroke', constraints=Constraint.Z, precision=(1e-9, 1.0))
print(f'{drive.solve().describe()}: crank at {math.degrees(crank.position):.2f} degrees')
# A ball joint that points.
ball = env.add_joint('spherical', 'ball')
env.add_dummy('pointer', ball)
env.add_dummy('there', pose=[0, 0, 0, 0.5, 0.5, 0.5, 0.5])
point = env.add_task_set('point', max_iterations=30)
point.add_task('pointer', target='there', constraints=Constraint.ALPHA_BETA)
print('pointing:', point.solve().success, env['pointer'].matrix()[:3, 2].round(3).tolist())

data = env.save()
# A document imports nothing: the functions that it names are given.
loaded = Environment.load(data, {'math:sin': math.sin, 'math:cos': math.cos})
print('loaded and saved again:', loaded.save() == data)
