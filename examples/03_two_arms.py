"""
Solve for two arms on one torso at once: one group, two tips, one target for each.

The torso joint is shared, so that the arms cannot be solved one after the other. ``solve_ik`` takes its targets in
the root link, by name, and updates the robot state.
"""

import numpy as np

from ssik_ros import load_robot, PoseTarget, RobotState, solve_ik

JOINT = """
  <link name="{child}"/>
  <joint name="{child}_joint" type="revolute">
    <parent link="{parent}"/> <child link="{child}"/> <origin xyz="{xyz}"/> <axis xyz="{axis}"/>
    <limit lower="-2.9" upper="2.9" effort="1" velocity="1"/>
  </joint>"""
AXES = ('0 0 1', '0 1 0', '0 1 0', '1 0 0', '0 1 0', '1 0 0')
OFFSETS = ('0 0 0.1', '0 0 0.1', '0.4 0 0', '0.1 0 0', '0.3 0 0', '0.1 0 0')


def make_arm(side: str, y: float) -> str:
    """Return the joints of one arm with six joints."""
    names = ['torso', *(f'{side}_{i}' for i in range(1, 7))]
    offsets = (f'0 {y} 0.4', *OFFSETS[1:])
    rows = zip(names, names[1:], offsets, AXES)
    return ''.join(JOINT.format(parent=a, child=b, xyz=o, axis=x) for a, b, o, x in rows)


torso = JOINT.format(parent='base', child='torso', xyz='0 0 0.5', axis='0 0 1')
urdf = f'<robot name="duo"><link name="base"/>{torso}{make_arm("left", 0.2)}{make_arm("right", -0.2)}</robot>'
joints = ['torso_joint', *(f'{s}_{i}_joint' for s in ('left', 'right') for i in range(1, 7))]
members = ''.join(f'<joint name="{name}"/>' for name in joints)
srdf = f'<robot name="duo"><group name="both_arms">{members}</group></robot>'

robot = load_robot(urdf, srdf)
wanted = RobotState(robot)
wanted.set_group_positions('both_arms', np.linspace(-0.8, 0.9, len(joints)))
targets = [PoseTarget(link, wanted.link_transform(link)) for link in ('left_6', 'right_6')]

state = RobotState(robot)
outcome = solve_ik(state, 'both_arms', targets, timeout=0.5)
print(outcome.result.summary())
for target in targets:
    distance = np.linalg.norm(state.link_transform(target.link)[:3, 3] - target.pose[:3, 3])
    print(f'{target.link}: {distance:.1e} m from its target')
