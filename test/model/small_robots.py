"""Small inline robots for tests."""


def joint(name, kind, parent, child, inside='', axis='0 0 1', limit='lower="-1" upper="1"'):
    """Return one joint element; ``limit`` may be empty."""
    limits = f'<limit {limit} effort="1" velocity="1"/>' if limit else ''
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<axis xyz="{axis}"/>{limits}{inside}</joint>'
    )


def robot(*joints, name='r', links=None, extra=''):
    """Return a robot element; by default with the links ``a`` to ``z`` that the joints name."""
    text = '\n'.join(joints)
    named = [c for c in 'abcdefghijklmnopqrstuvwxyz' if f'link="{c}"' in text] or ['a']
    elements = ''.join(f'<link name="{link}"/>' for link in (named if links is None else links))
    return f'<robot name="{name}">{elements}\n{text}\n{extra}</robot>'


TWO_ARMS = robot(
    joint('torso', 'prismatic', 'a', 'b', '<origin xyz="0 0 0.5"/>'),
    joint('left_1', 'revolute', 'b', 'c', '<origin xyz="0 0.2 0"/>'),
    joint('left_2', 'revolute', 'c', 'd', '<origin xyz="0.3 0 0"/>', axis='0 1 0'),
    joint('left_tool', 'fixed', 'd', 'e', '<origin xyz="0.1 0 0"/>', limit=''),
    joint('right_1', 'revolute', 'b', 'f', '<origin xyz="0 -0.2 0"/>'),
    joint('right_2', 'revolute', 'f', 'g', '<origin xyz="0.3 0 0"/>', axis='0 1 0'),
    joint('right_tool', 'fixed', 'g', 'h', '<origin xyz="0.1 0 0"/>', limit=''),
    joint('grip', 'prismatic', 'h', 'i', limit='lower="0" upper="0.04"'),
    joint(
        'grip_mirror', 'prismatic', 'h', 'j', '<mimic joint="grip"/>', limit='lower="0" upper="1"'
    ),
    name='two_arms',
)
"""a -torso- b -left_1- c -left_2- d = e; b -right_1- f -right_2- g = h -grip- i, -grip_mirror- j."""

TWO_ARMS_SRDF = """
<robot name="two_arms">
  <group name="left"><chain base_link="b" tip_link="e"/></group>
  <group name="right"><joint name="right_2"/><joint name="right_tool"/><joint name="right_1"/></group>
  <group name="all"><group name="both"/><joint name="torso"/></group>
  <group name="both"><group name="right"/><group name="left"/></group>
  <group name="hand"><link name="i"/><link name="j"/></group>
  <group name="right_hand"><group name="right"/><group name="hand"/></group>
  <group name="across"><chain base_link="e" tip_link="h"/></group>
  <group name="mount"><link name="e"/></group>
  <group_state name="up" group="left"><joint name="left_1" value="0.5"/></group_state>
  <end_effector name="gripper" parent_link="h" group="hand"/>
</robot>
"""
