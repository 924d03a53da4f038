"""Robots only for the tests of the view: no visuals."""

import re

from ssik_ros.model.loader import load_robot

JOINT = """
  <link name="{child}"/>
  <joint name="{child}_joint" type="revolute">
    <parent link="{parent}"/> <child link="{child}"/> <origin xyz="{xyz}"/> <axis xyz="{axis}"/>
    <limit lower="-2.9" upper="2.9" effort="1" velocity="1"/>
  </joint>"""
AXES = ('0 0 1', '0 1 0', '0 1 0', '1 0 0', '0 1 0', '1 0 0')
OFFSETS = ('0 0 0.1', '0 0 0.1', '0.4 0 0', '0.1 0 0', '0.3 0 0', '0.1 0 0')


def arm_joints(side, y):
    names = ['torso', *(f'{side}_{i}' for i in range(1, 7))]
    rows = zip(names, names[1:], (f'0 {y} 0.4', *OFFSETS[1:]), AXES)
    return ''.join(JOINT.format(parent=a, child=b, xyz=o, axis=x) for a, b, o, x in rows)


def two_arms(shape=''):
    """Return a robot with one group of two arms on a torso that turns; each link has the same <collision>."""
    torso = JOINT.format(parent='base', child='torso', xyz='0 0 0.5', axis='0 0 1')
    arms = arm_joints('left', 0.2) + arm_joints('right', -0.2)
    links = f'<link name="base"/>{torso}{arms}'
    links = re.sub(r'<link name="(\w+)"/>', rf'<link name="\1">{shape}</link>', links)
    urdf = f'<robot name="duo">{links}</robot>'
    names = ['torso_joint', *(f'{s}_{i}_joint' for s in ('left', 'right') for i in range(1, 7))]
    members = ''.join(f'<joint name="{name}"/>' for name in names)
    return load_robot(urdf, f'<robot name="duo"><group name="both">{members}</group></robot>')
