"""
A script written for a simulator's IK plugin: only its import line, and where the scene comes from, are new.

Shows: ``ssik_ros.tasks.compat`` with integer handles: environment, joints, dummies, task set, task, handling, path.
"""

import math

from ssik_ros.tasks import compat as simIK  # noqa: N812

env = simIK.createEnvironment()

# A planar arm of three links, 0.4 m each.
base = simIK.createDummy(env, 'base')
parent, joints = base, []
for i in range(3):
    joint = simIK.createJoint(env, simIK.jointtype_revolute, f'joint{i + 1}')
    simIK.setObjectParent(env, joint, parent, False)
    simIK.setObjectPose(env, joint, [0.4 if i else 0.0, 0, 0, 0, 0, 0, 1], simIK.handle_parent)
    simIK.setJointInterval(env, joint, False, [-2.5, 5.0])
    simIK.setJointPosition(env, joint, 0.4)
    joints.append(joint)
    parent = joint
tip = simIK.createDummy(env, 'tip')
simIK.setObjectParent(env, tip, parent, False)
simIK.setObjectPose(env, tip, [0.4, 0, 0, 0, 0, 0, 1], simIK.handle_parent)
target = simIK.createDummy(env, 'target')
simIK.setTargetDummy(env, tip, target)

task_set = simIK.createGroup(env, 'undamped')
simIK.setGroupCalculation(env, task_set, simIK.method_pseudo_inverse, 0, 10)
task = simIK.addElement(env, task_set, tip)
simIK.setElementBase(env, task_set, task, base)
simIK.setElementConstraints(env, task_set, task, simIK.constraint_x | simIK.constraint_y)

position, _, _ = simIK.getObjectTransformation(env, tip)
simIK.setObjectTransformation(env, target, [position[0] - 0.1, position[1] + 0.1, 0], [0, 0, 0])
result, reason, precision = simIK.handleGroup(env, task_set)
print(f'success: {result == simIK.result_success}, reason {reason}, {precision[0]:.1e} m left')

simIK.setObjectTransformation(env, target, [0.5, 0.7, 0], [0, 0, 0])
path = simIK.generatePath(
    env, task_set, joints, tip, 10, lambda config, data: config[0] < data, 2.0
)
print(f'a path of {len(path) // len(joints)} points ends at', [round(q, 3) for q in path[-3:]])

configs = simIK.findConfigs(env, task_set, joints, {'maxDist': 1, 'maxTime': 0.5})
print(f'{len(configs)} configuration: {[round(math.degrees(q)) for q in configs[0]]} degrees')
jacobian, error = simIK.computeGroupJacobian(env, task_set)
print(f'Jacobian of {len(jacobian)} numbers, error {[round(e, 3) for e in error]}')
simIK.eraseEnvironment(env)
