"""Small inline robots for the tests of solvers, and an independent judge of their results."""

from functools import cache

import numpy as np

from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics

MAIN_GROUP = {
    'panda': 'panda_arm',
    'fanuc': 'manipulator',
    'gen3': 'manipulator',
    'ur5e': 'ur_manipulator',
}


def joint(name, kind, parent, child, xyz='0 0 0', axis='0 0 1', limit='', mimic=''):
    """Return one joint element; ``limit`` is 'lower upper', ``mimic`` 'leader multiplier offset'."""
    parts = [f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>']
    if limit:
        lower, upper = limit.split()
        parts.append(f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/>')
    if mimic:
        leader, multiplier, offset = mimic.split()
        parts.append(f'<mimic joint="{leader}" multiplier="{multiplier}" offset="{offset}"/>')
    head = f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
    return head + ''.join(parts) + '</joint>'


def describe(*joints, name='made'):
    """Return a robot element with all links that the joints name."""
    words = ''.join(joints).split('link="')[1:]
    links = dict.fromkeys(word.split('"')[0] for word in words)
    return (
        f'<robot name="{name}">{"".join(f"<link name={chr(34)}{k}{chr(34)}/>" for k in links)}'
        + (''.join(joints) + '</robot>')
    )


def chain(*moving, tool='0.1 0 0'):
    """Return a serial robot ``l0`` ... ``tip``; each entry is (kind, xyz, axis, limit[, mimic])."""
    joints = [
        joint(f'j{i}', entry[0], f'l{i - 1}', f'l{i}', *entry[1:])
        for i, entry in enumerate(moving, start=1)
    ]
    return describe(*joints, joint('tool', 'fixed', f'l{len(moving)}', 'tip', tool))


HALF_TURN = '-3.1 3.1'
X, Y, Z = '1 0 0', '0 1 0', '0 0 1'

SWING = chain(('revolute', '0 0 0', Z, HALF_TURN), tool='1 0 0')
TWO_LINK = chain(
    ('revolute', '0 0 0', Z, HALF_TURN), ('revolute', '0.6 0 0', Z, HALF_TURN), tool='0.4 0 0'
)
PLANAR_3R = chain(
    ('revolute', '0 0 0.2', Z, HALF_TURN),
    ('revolute', '0.5 0 0', Z, HALF_TURN),
    ('revolute', '0.4 0 0', Z, HALF_TURN),
    tool='0.2 0 0',
)
SCARA = chain(
    ('revolute', '0 0 0.3', Z, '-2.5 2.5'),
    ('revolute', '0.4 0 0', Z, '-2.5 2.5'),
    ('prismatic', '0.3 0 0', '0 0 -1', '0 0.2'),
    ('revolute', '0 0 0', Z, HALF_TURN),
)
GANTRY = chain(
    ('prismatic', '0 0 0', X, '-1 2'),
    ('prismatic', '0 0 0', Y, '-1 1'),
    ('prismatic', '0 0 1', Z, '-0.5 0.5'),
    ('revolute', '0 0 0', Z, HALF_TURN),
)
ENDLESS_RAIL = chain(
    ('prismatic', '0 0 0', X, '-inf inf'),
    ('prismatic', '0 0 0', Y, '-1 1'),
    ('revolute', '0 0 0', Z, HALF_TURN),
)
POLAR = chain(
    ('revolute', '0 0 0.5', Z, HALF_TURN),
    ('revolute', '0 0 0', Y, '-1.2 1.2'),
    ('prismatic', '0.2 0 0', X, '0 0.8'),
)
RAIL_6R = chain(
    ('prismatic', '0 0 0', Y, '-1 1'),
    ('revolute', '0 0 0.3', Z, HALF_TURN),
    ('revolute', '0.1 0 0.1', Y, '-2 2'),
    ('revolute', '0 0 0.4', Y, '-2.5 2.5'),
    ('revolute', '0.2 0 0', X, HALF_TURN),
    ('revolute', '0.2 0 0', Y, '-2 2'),
    ('revolute', '0.1 0 0', X, HALF_TURN),
)
ENDLESS_6R = chain(
    ('continuous', '0 0 0.3', Z),
    ('continuous', '0 0 0.1', Y),
    ('continuous', '0 0 0.5', Y),
    ('continuous', '0.1 0 0.2', X),
    ('continuous', '0.3 0 0', Y),
    ('continuous', '0.1 0 0', X),
)
SNAKE_9R = chain(
    *((('revolute', '0 0 0.2', axis, '-2 2')) for axis in (Z, Y, X, Z, Y, X, Z, Y, X)),
    tool='0 0 0.2',
)
FIXED_BETWEEN = describe(
    joint('j1', 'revolute', 'l0', 'l1', '0 0 0.3', Z, HALF_TURN),
    joint('spacer', 'fixed', 'l1', 'l1b', '0.1 0.05 0'),
    joint('flat', 'fixed', 'l1b', 'l1c', '0 0 0'),
    joint('j2', 'revolute', 'l1c', 'l2', '0.3 0 0', Y, HALF_TURN),
    joint('j3', 'revolute', 'l2', 'l3', '0.3 0 0', Y, HALF_TURN),
    joint('flange', 'fixed', 'l3', 'l3b', '0.1 0 0'),
    joint('tool', 'fixed', 'l3b', 'tip', '0 0.02 0.1'),
)
STUCK = chain(
    ('revolute', '0 0 0.2', Z, HALF_TURN),
    ('revolute', '0.5 0 0', Z, '0.4 0.4'),
    ('revolute', '0.4 0 0', Z, HALF_TURN),
    tool='0.2 0 0',
)

SERIAL = {
    'swing': SWING,
    'two links': TWO_LINK,
    'planar 3R': PLANAR_3R,
    'scara': SCARA,
    'gantry': GANTRY,
    'polar': POLAR,
    'rail and 6R': RAIL_6R,
    'endless 6R': ENDLESS_6R,
    'snake 9R': SNAKE_9R,
    'fixed joints between': FIXED_BETWEEN,
    'joint without range': STUCK,
}
"""Serial robots from ``l0`` to ``tip``, from one to nine joints."""

MIMICS = {
    'multiplier -1 and offset': chain(
        ('revolute', '0 0 0.2', Z, HALF_TURN),
        ('revolute', '0.4 0 0', Y, '-2 2'),
        ('revolute', '0.4 0 0', Y, '-3 3', 'j2 -1 0.3'),
        ('revolute', '0.2 0 0', Y, '-2 2'),
    ),
    'leader below its follower': chain(
        ('revolute', '0 0 0.2', Z, '-3 3', 'j3 0.5 0.1'),
        ('revolute', '0.4 0 0', Y, '-2 2'),
        ('revolute', '0.4 0 0', Y, '-2 2'),
    ),
    'follower of a follower': chain(
        ('revolute', '0 0 0.2', Y, '-1.5 1.5'),
        ('revolute', '0.4 0 0', Y, '-3 3', 'j1 -1 0.2'),
        ('revolute', '0.4 0 0', Y, '-3 3', 'j2 2 -0.1'),
        ('revolute', '0.1 0 0', X, '-2 2'),
    ),
    'continuous': chain(
        ('continuous', '0 0 0.2', Z),
        ('continuous', '0.4 0 0', Z, '', 'j1 -1 0'),
        ('revolute', '0.4 0 0', Y, '-2 2'),
    ),
    'pair of lifts': chain(
        ('prismatic', '0 0 0.2', Z, '0 0.4'),
        ('prismatic', '0 0 0.1', Z, '0 0.4', 'j1 1 0'),
        ('revolute', '0 0 0', Z, HALF_TURN),
        ('revolute', '0.3 0 0', Y, '-2 2'),
    ),
    'slide geared to a turn': chain(
        ('revolute', '0 0 0.2', Z, '-6 6'),
        ('prismatic', '0 0 0', Z, '-1 1', 'j1 0.05 0.1'),
        ('revolute', '0.3 0 0', Y, '-2 2'),
    ),
}
"""Serial robots in which a joint follows another one."""


def _six_axes(side, y):
    """Return the joints of an arm on ``chest``, its links prefixed with its side."""
    axes = (Z, Y, Y, X, Y, X)
    places = (f'0 {y} 0.2', '0.05 0 0.1', '0 0 0.35', '0.3 0 0', '0.1 0 0', '0.05 0 0')
    links = ['chest', *(f'{side}_l{i}' for i in range(1, 7))]
    arm = [
        joint(
            f'{side}_j{i + 1}', 'revolute', links[i], links[i + 1], places[i], axes[i], '-2.8 2.8'
        )
        for i in range(6)
    ]
    return [*arm, joint(f'{side}_wrist', 'fixed', links[6], f'{side}_tool', '0.1 0 0')]


TWO_ARMED = describe(
    joint('torso', 'revolute', 'pelvis', 'chest', '0 0 0.5', Z, '-1.5 1.5'),
    *_six_axes('left', 0.25),
    *_six_axes('right', -0.25),
    name='two_armed',
)
TWO_ARMED_SRDF = """
<robot name="two_armed">
  <group name="left"><chain base_link="chest" tip_link="left_tool"/></group>
  <group name="right"><chain base_link="chest" tip_link="right_tool"/></group>
  <group name="arms"><group name="left"/><group name="right"/></group>
  <group name="upper_body"><joint name="torso"/><group name="arms"/></group>
</robot>
"""


def on_mobile_base(kind):
    """Return a robot of four joints whose SRDF puts it on a planar or floating virtual joint."""
    urdf = chain(
        ('revolute', '0 0 0.3', Z, '-3 3'),
        ('revolute', '0.4 0 0', Y, '-3 3'),
        ('revolute', '0.4 0 0', Y, '-3 3'),
        ('revolute', '0.1 0 0', X, '-3 3'),
    )
    srdf = (
        f'<robot name="made"><virtual_joint name="float" type="{kind}" parent_frame="world" '
        'child_link="l0"/><group name="arm"><chain base_link="l0" tip_link="tip"/></group>'
        '<group name="whole"><joint name="float"/><chain base_link="l0" tip_link="tip"/></group>'
        '</robot>'
    )
    return load_robot(urdf, srdf)


@cache
def load_arm(urdf):
    """Return the robot of a serial description, and its group from ``l0`` to ``tip``."""
    robot = load_robot(urdf)
    return robot, robot.group_from_links('l0', 'tip')


def full_state(robot, group, q, state=None):
    """Return the full state (nq,) with a group's positions and all followers set."""
    positions = np.array(robot.default_positions() if state is None else state)
    positions[group.idx_q] = q
    return robot.with_mimic(positions)


def tip_poses(robot, group, q, base=None, tips=None, state=None):
    """Return the poses (t, 4, 4) of tips in a base, computed by pinocchio."""
    reference = ReferenceKinematics(robot)
    positions = full_state(robot, group, q, state)
    start = np.linalg.inv(reference.link_pose(positions, base or group.base_link))
    return np.array([start @ reference.link_pose(positions, tip) for tip in tips or group.tips])


def tip_errors(robot, group, q, targets, **frames):
    """Return the position and rotation error (t, 2) at each tip, computed by pinocchio."""
    poses = tip_poses(robot, group, q, **frames)
    targets = np.asarray(targets).reshape(-1, 4, 4)
    return np.array(
        [ReferenceKinematics.pose_errors(*pair) for pair in zip(poses, targets, strict=True)]
    )


def closes(robot, group, q, targets, tolerance=1e-3, **frames):
    """Return whether every tip is at its target within the norm over position and rotation."""
    errors = tip_errors(robot, group, q, targets, **frames)
    return bool((np.linalg.norm(errors, axis=1) <= tolerance * (1.0 + 1e-9) + 1e-12).all())


def within(group, q):
    """Return whether joint values are finite and inside their closed limits."""
    return bool(np.isfinite(q).all() and (q >= group.lower).all() and (q <= group.upper).all())


def turned(axis, angle):
    """Return the transform (4, 4) that turns about an axis."""
    x, y, z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    result = np.eye(4)
    result[:3, :3] += np.sin(angle) * skew + (1.0 - np.cos(angle)) * skew @ skew
    return result


def moved(x=0.0, y=0.0, z=0.0):
    """Return the transform (4, 4) that shifts."""
    result = np.eye(4)
    result[:3, 3] = x, y, z
    return result
