"""
The robot descriptions under config/robots: kinematics, limits, groups, collisions, YAML files.

Kinematics are compared with tables written from the makers' documents, and pinocchio's reading of
each URDF with a plain XML walker.
"""

import math
from pathlib import Path
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest
import yaml

ROBOTS_DIR = Path(__file__).resolve().parents[2] / 'config' / 'robots'
ROBOTS = ('panda', 'fanuc', 'gen3', 'ur5e')
GROUP_AND_CHAIN = {
    'panda': ('panda_arm', 'panda_link0', 'panda_link8'),
    'fanuc': ('manipulator', 'base_link', 'tool0'),
    'gen3': ('manipulator', 'base_link', 'end_effector_link'),
    'ur5e': ('ur_manipulator', 'base_link', 'tool0'),
}
PI = math.pi

# Joint: lower, upper, velocity; None where a joint turns without end.
LIMITS = {
    'panda': {
        'panda_joint1': (-2.9671, 2.9671, 2.3925),
        'panda_joint2': (-1.8326, 1.8326, 2.3925),
        'panda_joint3': (-2.9671, 2.9671, 2.3925),
        'panda_joint4': (-3.1416, 0.0873, 2.3925),
        'panda_joint5': (-2.9671, 2.9671, 2.8710),
        'panda_joint6': (-0.0873, 3.8223, 2.8710),
        'panda_joint7': (-2.9671, 2.9671, 2.8710),
        'panda_finger_joint1': (0.0, 0.04, 0.2),
        'panda_finger_joint2': (0.0, 0.04, 0.2),
    },
    'fanuc': {
        'joint_1': (-3.14, 3.14, 3.67),
        'joint_2': (-1.57, 2.79, 3.32),
        'joint_3': (-3.14, 4.61, 3.67),
        'joint_4': (-3.31, 3.31, 6.98),
        'joint_5': (-3.31, 3.31, 6.98),
        'joint_6': (-6.28, 6.28, 10.47),
    },
    'gen3': {
        'joint_1': (None, None, 1.3963),
        'joint_2': (-2.24, 2.24, 1.3963),
        'joint_3': (None, None, 1.3963),
        'joint_4': (-2.57, 2.57, 1.3963),
        'joint_5': (None, None, 1.2218),
        'joint_6': (-2.09, 2.09, 1.2218),
        'joint_7': (None, None, 1.2218),
    },
    'ur5e': {
        'shoulder_pan_joint': (-2 * PI, 2 * PI, PI),
        'shoulder_lift_joint': (-2 * PI, 2 * PI, PI),
        'elbow_joint': (-PI, PI, PI),
        'wrist_1_joint': (-2 * PI, 2 * PI, PI),
        'wrist_2_joint': (-2 * PI, 2 * PI, PI),
        'wrist_3_joint': (-2 * PI, 2 * PI, PI),
    },
}
PANDA_SOFT_LIMITS = {
    'panda_joint1': (-2.8973, 2.8973),
    'panda_joint2': (-1.7628, 1.7628),
    'panda_joint3': (-2.8973, 2.8973),
    'panda_joint4': (-3.0718, 0.0175),
    'panda_joint5': (-2.8973, 2.8973),
    'panda_joint6': (-0.0175, 3.7525),
    'panda_joint7': (-2.8973, 2.8973),
}
# Rows of a, d, alpha: Franka's table is in Craig's convention, the other two are in Denavit's.
PANDA_DH = (
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -PI / 2),
    (0.0, 0.316, PI / 2),
    (0.0825, 0.0, PI / 2),
    (-0.0825, 0.384, -PI / 2),
    (0.0, 0.0, PI / 2),
    (0.088, 0.0, PI / 2),
)
UR5E_DH = (
    (0.0, 0.1625, PI / 2),
    (-0.425, 0.0, 0.0),
    (-0.3922, 0.0, 0.0),
    (0.0, 0.1333, PI / 2),
    (0.0, 0.0997, -PI / 2),
    (0.0, 0.0996, 0.0),
)
GEN3_DH = (
    (0.0, -0.2848, PI / 2),
    (0.0, -0.0118, PI / 2),
    (0.0, -0.4208, PI / 2),
    (0.0, -0.0128, PI / 2),
    (0.0, -0.3143, PI / 2),
    (0.0, 0.0, PI / 2),
    (0.0, -0.1674, PI),
)
# Zero position of the M-10iA in base_link: a point on each joint axis, and its direction.
FANUC_AXES = (
    ((0.0, 0.0, 0.45), (0, 0, 1)),
    ((0.15, 0.0, 0.45), (0, 1, 0)),
    ((0.15, 0.0, 1.05), (0, -1, 0)),
    ((0.15, 0.0, 1.25), (-1, 0, 0)),
    ((0.79, 0.0, 1.25), (0, -1, 0)),
    ((0.89, 0.0, 1.25), (-1, 0, 0)),
)
FANUC_TOOL_AT_ZERO = np.array([[0, 0, 1, 0.89], [0, -1, 0, 0], [1, 0, 0, 1.25], [0, 0, 0, 1]])
# Share of random states within limits that collide with themselves.
COLLIDING_SHARE = {
    'panda': (0.03, 0.12),
    'fanuc': (0.35, 0.70),
    'gen3': (0.001, 0.02),
    'ur5e': (0.08, 0.25),
}
KINEMATICS_FILES = {
    'kinematics.yaml': 'ssik_ros/Auto',
    'pose_ik_kinematics.yaml': 'ssik_ros/PoseIK',
    'pose_ik_distance_kinematics.yaml': 'ssik_ros/PoseIK',
    'kdl_kinematics.yaml': 'kdl_kinematics_plugin/KDLKinematicsPlugin',
    'trac_ik_kinematics.yaml': 'trac_ik_kinematics_plugin/TRAC_IKKinematicsPlugin',
    'bio_ik_kinematics.yaml': 'bio_ik/BioIKKinematicsPlugin',
}


def config_file(robot, name):
    return ROBOTS_DIR / f'{robot}_moveit_config' / 'config' / name


def xml_of(robot, kind='urdf'):
    return ElementTree.parse(config_file(robot, f'{robot}.{kind}')).getroot()


def yaml_of(robot, name):
    return yaml.safe_load(config_file(robot, name).read_text())


def numbers(text):
    return np.array([float(word) for word in text.split()])


def screw(axis, angle, offset=(0.0, 0.0, 0.0)):
    """
    Turn about a unit axis through the origin, then shift.

    :returns: 4x4 transform.
    """
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T = np.eye(4)
    T[:3, :3] += math.sin(angle) * K + (1 - math.cos(angle)) * K @ K
    T[:3, 3] = offset
    return T


def origin_of(joint):
    """
    Read the origin of a joint; rpy turns about the fixed axes x, y, z in this order.

    :returns: 4x4 transform.
    """
    origin = joint.find('origin')
    roll, pitch, yaw = numbers(origin.get('rpy', '0 0 0'))
    turn = screw((0, 0, 1), yaw) @ screw((0, 1, 0), pitch) @ screw((1, 0, 0), roll)
    turn[:3, 3] = numbers(origin.get('xyz'))
    return turn


def walk(robot, angles):
    """
    Return forward kinematics, read only from the XML elements.

    :param angles: joint name to position; missing joints are at zero.
    :returns: link name to 4x4 pose in the root link.
    """
    joints = {j.find('child').get('link'): j for j in xml_of(robot).iter('joint')}

    def pose(link):
        if link not in joints:
            return np.eye(4)
        joint, q = joints[link], angles.get(joints[link].get('name'), 0.0)
        above = pose(joint.find('parent').get('link')) @ origin_of(joint)
        if joint.get('type') == 'fixed':
            return above
        axis = numbers(joint.find('axis').get('xyz'))
        if joint.get('type') == 'prismatic':
            return above @ screw(axis, 0.0, q * axis)
        return above @ screw(axis, q)

    return {link.get('name'): pose(link.get('name')) for link in xml_of(robot).iter('link')}


def relative(robot, angles, base, tip):
    poses = walk(robot, angles)
    return np.linalg.inv(poses[base]) @ poses[tip]


def bounds(robot):
    """
    Return the effective limits: hard ones within soft ones, and +-pi for joints without limits.

    :returns: joint name to (lower, upper).
    """
    table = {}
    for name, (lower, upper, _) in LIMITS[robot].items():
        hard = (-PI, PI) if lower is None else (lower, upper)
        soft = PANDA_SOFT_LIMITS.get(name, hard)
        table[name] = (max(hard[0], soft[0]), min(hard[1], soft[1]))
    return table


def random_angles(robot, rng):
    angles = {name: rng.uniform(*limits) for name, limits in bounds(robot).items()}
    if 'panda_finger_joint2' in angles:
        angles['panda_finger_joint2'] = angles['panda_finger_joint1']
    return angles


def arm_angles(robot, count, rng):
    names = list(LIMITS[robot])[:count]
    angles = {name: rng.uniform(-PI, PI) for name in names}
    return angles, list(angles.values())


def model_of(robot):
    return pin.buildModelFromUrdf(str(config_file(robot, f'{robot}.urdf')))


def configuration(model, angles):
    tangent = np.zeros(model.nv)
    for name, angle in angles.items():
        tangent[model.idx_vs[model.getJointId(name)]] = angle
    return pin.integrate(model, pin.neutral(model), tangent)


def named_states(robot):
    """
    Read the named states, each upon the first state of the arm, so that every joint is given.

    :returns: state name to joint name to position.
    """
    states = {
        state.get('name'): {j.get('name'): float(j.get('value')) for j in state.iter('joint')}
        for state in xml_of(robot, 'srdf').iter('group_state')
    }
    first = next(iter(states.values()))
    return {name: {**first, **state} for name, state in states.items()}


def disabled_pairs(robot):
    return [
        frozenset((pair.get('link1'), pair.get('link2')))
        for pair in xml_of(robot, 'srdf').iter('disable_collisions')
    ]


class SelfCollision:
    """All pairs of links with shapes, rigid neighbours included."""

    def __init__(self, robot):
        path = str(config_file(robot, f'{robot}.urdf'))
        self.model = model_of(robot)
        self.geometry = pin.buildGeomFromUrdf(self.model, path, pin.GeometryType.COLLISION)
        links = [self.model.frames[o.parentFrame].name for o in self.geometry.geometryObjects]
        self.pairs = []
        for i, first in enumerate(links):
            for j, second in enumerate(links[:i]):
                if first != second:
                    self.geometry.addCollisionPair(pin.CollisionPair(j, i))
                    self.pairs.append(frozenset((first, second)))
        self.links = set(links)
        self.data = self.model.createData(), self.geometry.createData()

    def touching(self, angles):
        """Give the set of pairs of links in contact."""
        q = configuration(self.model, angles)
        data, contacts = self.data
        pin.computeCollisions(self.model, data, self.geometry, contacts, q, False)
        hits = (result.isCollision() for result in contacts.collisionResults)
        return {pair for pair, hit in zip(self.pairs, hits) if hit}


@pytest.fixture(scope='module', params=ROBOTS)
def robot(request):
    return request.param


@pytest.fixture(scope='module')
def checker(robot):
    return SelfCollision(robot)


def test_pinocchio_finds_every_moving_joint(robot):
    assert set(model_of(robot).names) == {'universe', *LIMITS[robot]}


def test_pinocchio_places_every_link_where_the_xml_says(robot):
    model, rng = model_of(robot), np.random.default_rng(7)
    data = model.createData()
    for _ in range(20):
        angles = random_angles(robot, rng)
        pin.framesForwardKinematics(model, data, configuration(model, angles))
        for link, pose in walk(robot, angles).items():
            placed = data.oMf[model.getFrameId(link, pin.FrameType.BODY)].homogeneous
            np.testing.assert_allclose(placed, pose, rtol=0, atol=1e-12)


def test_panda_follows_the_makers_table():
    angles, q = arm_angles('panda', 7, np.random.default_rng(1))
    expected = np.eye(4)
    for (a, d, alpha), angle in zip(PANDA_DH, q):
        expected = expected @ screw((1, 0, 0), alpha, (a, 0, 0)) @ screw((0, 0, 1), angle)
        expected = expected @ screw((0, 0, 1), 0.0, (0, 0, d))
    expected = expected @ screw((0, 0, 1), 0.0, (0, 0, 0.107))
    pose = relative('panda', angles, 'panda_link0', 'panda_link8')
    np.testing.assert_allclose(pose, expected, rtol=0, atol=1e-12)


def denavit(table, q):
    pose = np.eye(4)
    for (a, d, alpha), angle in zip(table, q):
        lift = screw((0, 0, 1), angle, (0, 0, d))
        pose = pose @ lift @ screw((1, 0, 0), alpha, (a, 0, 0))
    return pose


def test_ur5e_follows_the_makers_table():
    angles, q = arm_angles('ur5e', 6, np.random.default_rng(2))
    pose = relative('ur5e', angles, 'base', 'tool0')
    np.testing.assert_allclose(pose, denavit(UR5E_DH, q), rtol=0, atol=1e-12)


def test_gen3_follows_the_makers_table_to_its_rounding():
    angles, q = arm_angles('gen3', 7, np.random.default_rng(3))
    shifted = [q[0], *(angle + PI for angle in q[1:])]
    expected = screw((1, 0, 0), PI) @ denavit(GEN3_DH, shifted)
    pose = relative('gen3', angles, 'base_link', 'end_effector_link')
    np.testing.assert_allclose(pose, expected, rtol=0, atol=3e-4)


def test_gen3_keeps_the_published_rounding_of_pi():
    rolls = [numbers(j.find('origin').get('rpy'))[0] for j in xml_of('gen3').iter('joint')][:7]
    assert rolls == [3.1416, 1.5708, -1.5708, 1.5708, -1.5708, 1.5708, -1.5708]


def test_fanuc_follows_its_axes_at_zero():
    angles, q = arm_angles('fanuc', 6, np.random.default_rng(4))
    expected = np.eye(4)
    for (point, axis), angle in zip(FANUC_AXES, q):
        shift = screw(axis, 0.0, point)
        expected = expected @ shift @ screw(axis, angle) @ np.linalg.inv(shift)
    pose = relative('fanuc', angles, 'base_link', 'tool0')
    np.testing.assert_allclose(pose, expected @ FANUC_TOOL_AT_ZERO, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ('robot', 'state', 'base', 'tip', 'position'),
    [
        ('panda', 'ready', 'panda_link0', 'panda_link8', (0.3070, 0.0, 0.5903)),
        ('fanuc', 'all-zeros', 'base_link', 'tool0', (0.89, 0.0, 1.25)),
        ('fanuc', 'all-zeros', 'base', 'tool0', (0.89, 0.0, 0.8)),
        ('gen3', 'vertical', 'base_link', 'end_effector_link', (0.0, -0.02485, 1.18739)),
        ('ur5e', None, 'base', 'tool0', (-0.8172, -0.2329, 0.0628)),
        ('ur5e', None, 'base_link', 'tool0', (0.8172, 0.2329, 0.0628)),
    ],
)
def test_a_known_state_puts_the_tip_where_it_is_known_to_be(robot, state, base, tip, position):
    angles = named_states(robot)[state] if state else {}
    origin = relative(robot, angles, base, tip)[:3, 3]
    np.testing.assert_allclose(origin, position, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ('robot', 'first', 'second'),
    [
        ('panda', 'panda_link7', 'panda_link8'),
        ('panda', 'panda_link8', 'panda_hand'),
        ('fanuc', 'link_6', 'tool0'),
        ('gen3', 'bracelet_link', 'end_effector_link'),
        ('ur5e', 'wrist_3_link', 'tool0'),
    ],
)
def test_tips_of_one_rigid_body_do_not_move_against_each_other(robot, first, second):
    angles = random_angles(robot, np.random.default_rng(5))
    moved, still = relative(robot, angles, first, second), relative(robot, {}, first, second)
    np.testing.assert_allclose(moved, still, rtol=0, atol=1e-12)


def test_ur5e_tool_coincides_with_the_last_wrist():
    pose = relative('ur5e', {}, 'wrist_3_link', 'tool0')
    np.testing.assert_allclose(pose, np.eye(4), rtol=0, atol=1e-12)


def test_limits_are_the_published_ones(robot):
    limits = {}
    for joint in xml_of(robot).iter('joint'):
        if joint.get('type') != 'fixed':
            limit = joint.find('limit')
            texts = [limit.get(key) for key in ('lower', 'upper', 'velocity')]
            limits[joint.get('name')] = tuple(t and float(t) for t in texts)
    assert limits == LIMITS[robot]


def test_joints_without_limits_are_continuous(robot):
    types = {j.get('name'): j.get('type') for j in xml_of(robot).iter('joint')}
    endless = {name for name, (lower, _, _) in LIMITS[robot].items() if lower is None}
    assert {name for name, kind in types.items() if kind == 'continuous'} == endless


def test_soft_limits_are_those_of_the_panda(robot):
    limits = {}
    for joint in xml_of(robot).iter('joint'):
        soft = joint.find('safety_controller')
        if soft is not None:
            edges = soft.get('soft_lower_limit'), soft.get('soft_upper_limit')
            limits[joint.get('name')] = tuple(map(float, edges))
    assert limits == (PANDA_SOFT_LIMITS if robot == 'panda' else {})


def test_the_second_finger_follows_the_first():
    mimics = [
        (j.get('name'), j.find('mimic').attrib)
        for j in xml_of('panda').iter('joint')
        if j.find('mimic') is not None
    ]
    assert mimics == [('panda_finger_joint2', {'joint': 'panda_finger_joint1'})]


def test_no_file_needs_a_mesh(robot):
    assert not list(xml_of(robot).iter('mesh'))


def test_visual_and_collision_shapes_are_the_same(robot):
    def shapes(link, tag):
        return [
            tuple(
                ElementTree.tostring(element.find(part)).strip() for part in ('origin', 'geometry')
            )
            for element in link.iter(tag)
        ]

    for link in xml_of(robot).iter('link'):
        assert shapes(link, 'visual') == shapes(link, 'collision')


def test_files_carry_the_name_of_the_robot(robot):
    assert {xml_of(robot, kind).get('name') for kind in ('urdf', 'srdf')} == {robot}


def test_srdf_names_only_links_and_joints_of_the_urdf(robot):
    links = {link.get('name') for link in xml_of(robot).iter('link')}
    joints = {joint.get('name') for joint in xml_of(robot).iter('joint')}
    semantic = xml_of(robot, 'srdf')
    keys = ('base_link', 'tip_link', 'link1', 'link2', 'parent_link', 'child_link')
    named = {e.get(key) for e in semantic.iter() for key in keys if e.get(key)}
    named |= {link.get('name') for link in semantic.iter('link')}
    assert named <= links
    assert {joint.get('name') for joint in semantic.iter('joint')} <= joints


def test_srdf_names_only_groups_that_it_defines(robot):
    semantic = xml_of(robot, 'srdf')
    groups = {group.get('name') for group in semantic.findall('group')}
    inner = {sub.get('name') for group in semantic.findall('group') for sub in group.iter('group')}
    keys = ('group', 'parent_group')
    named = {e.get(key) for e in semantic.iter() for key in keys if e.get(key)}
    assert inner | named <= groups


def test_the_arm_is_one_chain(robot):
    name, base, tip = GROUP_AND_CHAIN[robot]
    chain = xml_of(robot, 'srdf').find(f"group[@name='{name}']/chain")
    assert (chain.get('base_link'), chain.get('tip_link')) == (base, tip)


@pytest.mark.parametrize(
    ('robot', 'joint'),
    [
        ('panda', ('virtual_joint', 'floating', 'world', 'panda_link0')),
        ('fanuc', ('FixedBase', 'fixed', 'world', 'base_link')),
        ('gen3', None),
        ('ur5e', None),
    ],
)
def test_the_virtual_joint_is_the_published_one(robot, joint):
    element = xml_of(robot, 'srdf').find('virtual_joint')
    keys = ('name', 'type', 'parent_frame', 'child_link')
    assert (element if element is None else tuple(element.get(key) for key in keys)) == joint


def test_the_panda_has_its_hand_as_end_effector():
    effector = xml_of('panda', 'srdf').find('end_effector')
    assert effector.attrib == {
        'name': 'hand',
        'parent_link': 'panda_link8',
        'group': 'hand',
        'parent_group': 'panda_arm',
    }


@pytest.mark.parametrize(
    ('robot', 'names'),
    [
        ('panda', ['ready', 'extended', 'transport', 'open', 'close']),
        ('fanuc', ['all-zeros']),
        ('gen3', ['home', 'retract', 'vertical']),
        ('ur5e', ['home', 'up', 'test_configuration']),
    ],
)
def test_named_states_are_the_published_ones(robot, names):
    assert list(named_states(robot)) == names


def test_named_states_are_within_the_limits_that_hold(robot):
    limits = bounds(robot)
    for state in named_states(robot).values():
        assert all(limits[name][0] <= q <= limits[name][1] for name, q in state.items())


def test_named_states_give_every_joint_of_the_arm(robot):
    arm = {name for name in LIMITS[robot] if 'finger' not in name}
    assert all(arm <= set(state) for state in named_states(robot).values())


def test_named_states_are_free_of_self_collision(robot, checker):
    allowed = set(disabled_pairs(robot))
    for name, state in named_states(robot).items():
        assert not checker.touching(state) - allowed, name


@pytest.mark.sampled
def test_random_states_collide_in_a_plausible_share(robot, checker):
    rng, allowed = np.random.default_rng(11), set(disabled_pairs(robot))
    states = [random_angles(robot, rng) for _ in range(1500)]
    share = np.mean([bool(checker.touching(state) - allowed) for state in states])
    lower, upper = COLLIDING_SHARE[robot]
    assert lower < share < upper


def test_pairs_said_never_to_touch_do_not_touch(robot, checker):
    pairs = xml_of(robot, 'srdf').iter('disable_collisions')
    never = {
        frozenset((p.get('link1'), p.get('link2'))) for p in pairs if p.get('reason') == 'Never'
    }
    rng = np.random.default_rng(12)
    for _ in range(500):
        assert not checker.touching(random_angles(robot, rng)) & never


def test_pairs_said_to_be_adjacent_are_neighbours(robot, checker):
    up = {
        j.find('child').get('link'): j.find('parent').get('link')
        for j in xml_of(robot).iter('joint')
    }

    def neighbour(link):
        link = up.get(link)
        return link if link is None or link in checker.links else neighbour(link)

    pairs = xml_of(robot, 'srdf').iter('disable_collisions')
    adjacent = {
        frozenset((p.get('link1'), p.get('link2'))) for p in pairs if p.get('reason') == 'Adjacent'
    }
    assert adjacent == {frozenset((k, neighbour(k))) for k in checker.links if neighbour(k)}


def test_each_disabled_pair_is_listed_once_with_a_reason(robot, checker):
    pairs = disabled_pairs(robot)
    reasons = {p.get('reason') for p in xml_of(robot, 'srdf').iter('disable_collisions')}
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) <= set(checker.pairs)
    assert reasons <= {'Adjacent', 'Default', 'Never'}


@pytest.mark.parametrize('name', KINEMATICS_FILES)
def test_kinematics_files_configure_the_arm(robot, name):
    group = GROUP_AND_CHAIN[robot][0]
    content = yaml_of(robot, name)
    assert list(content) == [group]
    assert content[group]['kinematics_solver'] == KINEMATICS_FILES[name]


@pytest.mark.parametrize('name', [*KINEMATICS_FILES, 'joint_limits.yaml'])
def test_numbers_in_yaml_are_floats(robot, name):
    def leaves(value):
        return [x for v in value.values() for x in leaves(v)] if type(value) is dict else [value]

    values = leaves(yaml_of(robot, name))
    words = {*KINEMATICS_FILES.values(), 'optimize_distance', 'Speed', 'gd_c_4'}
    assert all(type(v) in (float, bool) or v in words for v in values)


def test_only_the_distance_file_asks_for_the_nearest_solution(robot):
    group = GROUP_AND_CHAIN[robot][0]
    modes = {name: yaml_of(robot, name)[group].get('solve_mode') for name in KINEMATICS_FILES}
    assert {name: mode for name, mode in modes.items() if mode} == {
        'pose_ik_distance_kinematics.yaml': 'optimize_distance',
    }


def test_joint_limits_cover_every_joint_and_only_tighten(robot):
    limits = yaml_of(robot, 'joint_limits.yaml')['joint_limits']
    assert set(limits) == set(LIMITS[robot])
    for name, limit in limits.items():
        assert 0 < limit['max_velocity'] <= LIMITS[robot][name][2]
        assert limit['has_acceleration_limits'] is (limit['max_acceleration'] > 0)
        assert not {'min_position', 'max_position'} & set(limit)


def test_aliases_lead_to_what_is_shipped():
    aliases = yaml.safe_load((ROBOTS_DIR / 'aliases.yaml').read_text())
    packages = {f'{robot}_moveit_config' for robot in ROBOTS}
    assert set(aliases) == {'packages', 'robots'}
    assert set(aliases['packages'].values()) == packages
    assert set(aliases['robots'].values()) == set(ROBOTS)
    assert not set(aliases['packages']) & packages
    assert not set(aliases['robots']) & set(ROBOTS)


@pytest.mark.parametrize('robot', ['panda', 'fanuc'])
def test_the_names_of_moveit_resources_are_known(robot):
    aliases = yaml.safe_load((ROBOTS_DIR / 'aliases.yaml').read_text())
    package = aliases['packages'][f'moveit_resources_{robot}_moveit_config']
    assert (package, aliases['robots'][f'moveit_resources_{robot}']) == (
        f'{robot}_moveit_config',
        robot,
    )
