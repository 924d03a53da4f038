"""The catalogue of arms: figures that hold together, geometry checked anew, and a strict reader."""

from itertools import pairwise
from pathlib import Path
import re
import sys

from test.model.plain_urdf_walker import link_pose, turn

import numpy as np
import pinocchio as pin
import pytest

from ssik_ros.errors import ConfigError, DescriptionNotFound, InvalidParameter
from ssik_ros.model.catalogue import (
    ARM_CLASSES,
    arm_data,
    catalogue_path,
    list_arms,
    load_arm,
    make_urdf,
    parse_catalogue,
    read_catalogue,
)
from ssik_ros.model.description_files import share_directories
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.strict_yaml import parse_yaml

ARMS = list_arms()
EXACT = 1e-9
SHIPPED_ARMS = {'panda': 'panda', 'fanuc': 'm10ia', 'gen3': 'gen3', 'ur5e': 'ur5e'}


def rng_of(name):
    """Return a generator that depends only on the name."""
    return np.random.default_rng(list(name.encode()))


def postures(arm, count):
    """Return random joint values within the limits, continuous joints within one turn."""
    lower = np.maximum([joint.lower for joint in arm.joints], -np.pi)
    upper = np.minimum([joint.upper for joint in arm.joints], np.pi)
    return rng_of(arm.name).uniform(lower, upper, (count, arm.dof))


def turned(rpy):
    """Return the rotation of roll, pitch and yaw."""
    x, y, z = np.eye(3)
    return turn(z, rpy[2]) @ turn(y, rpy[1]) @ turn(x, rpy[0])


def axis_lines(arm):
    """Return directions and points of the axes in the base frame, all joints at zero."""
    rotation, position = np.eye(3), np.zeros(3)
    directions, points = [], []
    for joint in arm.joints:
        position = position + rotation @ joint.xyz
        rotation = rotation @ turned(joint.rpy)
        directions.append(rotation @ joint.axis)
        points.append(position)
    return np.array(directions), np.array(points)


# --- The list -------------------------------------------------------------------------------------


def test_there_are_at_least_thirty_arms_and_the_named_ones():
    assert len(ARMS) >= 30
    assert {'jaco2', 'xarm6', 'iiwa14', 'rizon4', *SHIPPED_ARMS.values()} <= set(ARMS)


def test_names_differ_in_more_than_case_and_underscores():
    plain = [name.replace('_', '') for name in ARMS]
    assert len(set(plain)) == len(ARMS)
    assert all(re.fullmatch(r'[a-z][a-z0-9_]*', name) for name in ARMS)


@pytest.mark.parametrize('name', ARMS)
def test_an_arm_says_what_it_is_and_where_its_figures_come_from(name):
    arm = arm_data(name)
    assert arm.name == name and arm.vendor and arm.title
    assert re.fullmatch(r'[\w.-]+/[\w.-]+, \S.*', arm.source)


def test_titles_are_unique():
    titles = [(arm_data(name).vendor, arm_data(name).title) for name in ARMS]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize('name', ARMS)
def test_limits_and_lengths_are_those_of_an_arm(name):
    arm = arm_data(name)
    for joint in arm.joints:
        assert joint.lower < joint.upper
        if joint.type == 'revolute':
            assert 0.5 < joint.upper - joint.lower <= 4 * np.pi + 4.0
            assert -np.pi * 2.6 < joint.lower and joint.upper < np.pi * 2.6
        if joint.type == 'prismatic':
            assert joint.lower > -2.0 and joint.upper < 2.0
    reach = sum(np.linalg.norm(joint.xyz) for joint in arm.joints)
    assert 0.2 < reach < 5.0


# --- Robots ---------------------------------------------------------------------------------------


@pytest.mark.parametrize('name', ARMS)
def test_every_arm_loads_as_a_serial_chain_with_its_joints_and_limits(name):
    arm, model = arm_data(name), load_arm(name)
    chain = SerialChain.from_robot(model, arm.base_link, arm.tip_link)
    assert model.warnings == ()
    assert chain.joint_names == tuple(joint.name for joint in arm.joints)
    assert list(chain.lower) == [joint.lower for joint in arm.joints]
    assert list(chain.upper) == [joint.upper for joint in arm.joints]


@pytest.mark.parametrize('name', ARMS)
def test_the_chain_follows_the_figures_and_another_reader_of_the_urdf(name):
    arm, model = arm_data(name), load_arm(name)
    chain = SerialChain.from_robot(model, arm.base_link, arm.tip_link)
    other = pin.buildModelFromXML(make_urdf(arm))
    for q in postures(arm, 3):
        expected = np.eye(4)
        for joint, value in zip(arm.joints, q, strict=True):
            expected = expected @ origin(joint.xyz, joint.rpy) @ joint_motion(joint, value)
        expected = expected @ origin(arm.flange_xyz, arm.flange_rpy)
        assert np.abs(chain.pose(q) - expected).max() < 1e-13
        assert np.abs(pinocchio_pose(other, arm, arm, q) - expected).max() < 1e-13


def origin(xyz, rpy):
    """Return a pose from position and roll, pitch, yaw."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turned(rpy), xyz
    return pose


def joint_motion(joint, value):
    """Return the transform of a joint at a value."""
    if joint.type == 'prismatic':
        return origin(value * np.array(joint.axis), (0, 0, 0))
    pose = np.eye(4)
    pose[:3, :3] = turn(np.array(joint.axis), value)
    return pose


def pinocchio_pose(model, arm, ends, q):
    """Return the pose of one link in another by pinocchio, other joints neutral."""
    data, state = model.createData(), pin.neutral(model)
    for joint, value in zip(arm.joints, q, strict=True):
        joint_model = model.joints[model.getJointId(joint.name)]
        both = [np.cos(value), np.sin(value)] if joint_model.nq == 2 else [value]
        state[joint_model.idx_q : joint_model.idx_q + joint_model.nq] = both
    pin.framesForwardKinematics(model, data, state)
    base, tip = (
        data.oMf[model.getFrameId(link, pin.FrameType.BODY)]
        for link in (ends.base_link, ends.tip_link)
    )
    return base.actInv(tip).homogeneous


def test_an_arm_is_built_once():
    assert load_arm('ur5e') is load_arm('ur5e')


def test_an_unknown_arm_is_refused_with_the_nearest_name():
    for ask in (arm_data, load_arm):
        with pytest.raises(DescriptionNotFound, match=r"no arm 'ur5_e'\. Did you mean 'ur5e'"):
            ask('ur5_e')


@pytest.mark.parametrize(('robot_name', 'name'), SHIPPED_ARMS.items())
def test_shipped_robots_are_the_same_in_the_catalogue(robots, robot_name, name):
    arm, robot = arm_data(name), robots[robot_name]
    urdf = robot.urdf_xml
    for q in postures(arm, 20):
        values = {joint.name: (value,) for joint, value in zip(arm.joints, q, strict=True)}
        base, tip = (link_pose(urdf, values, link) for link in (arm.base_link, arm.tip_link))
        ours = link_pose(make_urdf(arm), values, arm.tip_link)
        assert np.abs(np.linalg.inv(base) @ tip - ours).max() < EXACT
    shipped = SerialChain.from_robot(robot, arm.base_link, arm.tip_link)
    assert [joint.lower for joint in arm.joints] == list(shipped.lower)
    assert [joint.upper for joint in arm.joints] == list(shipped.upper)


# --- Figures of other origin ----------------------------------------------------------------------

HALF = np.pi / 2
UR_TWISTS = (HALF, 0, 0, HALF, -HALF, 0)
UR_SHEETS = {  # d1, a2, a3, d4, d5, d6 of the maker's table
    'ur3e': (0.15185, -0.24355, -0.2132, 0.13105, 0.08535, 0.0921),
    'ur5': (0.089159, -0.425, -0.39225, 0.10915, 0.09465, 0.0823),
    'ur5e': (0.1625, -0.425, -0.3922, 0.1333, 0.0997, 0.0996),
    'ur10e': (0.1807, -0.6127, -0.57155, 0.17415, 0.11985, 0.11655),
    'ur16e': (0.1807, -0.4784, -0.36, 0.17415, 0.11985, 0.11655),
    'ur20': (0.2363, -0.862, -0.7287, 0.201, 0.1593, 0.1543),
}


def slid(x, y, z):
    """Return a translation."""
    return origin((x, y, z), (0, 0, 0))


@pytest.mark.parametrize('name', UR_SHEETS)
def test_ur_arms_move_as_the_makers_table_says(name):
    d1, a2, a3, d4, d5, d6 = UR_SHEETS[name]
    arm = arm_data(name)
    chain = SerialChain.from_robot(load_arm(name), arm.base_link, arm.tip_link)
    for q in postures(arm, 5):
        # The controller's base is turned half a revolution against base_link.
        pose = origin((0, 0, 0), (0, 0, np.pi))
        rows = zip(q, (d1, 0, 0, d4, d5, d6), (0, a2, a3, 0, 0, 0), UR_TWISTS, strict=True)
        for angle, d, a, twist in rows:
            pose = pose @ origin((0, 0, d), (0, 0, angle)) @ origin((a, 0, 0), (twist, 0, 0))
        assert np.abs(chain.pose(q) - pose).max() < 1e-12


@pytest.mark.parametrize('name', ['panda', 'fr3'])
def test_franka_arms_move_as_the_makers_table_says(name):
    lengths = (0, 0, 0, 0.0825, -0.0825, 0, 0.088)
    twists = (0, -HALF, HALF, HALF, -HALF, HALF, HALF)
    offsets = (0.333, 0, 0.316, 0, 0.384, 0, 0)
    arm = arm_data(name)
    chain = SerialChain.from_robot(load_arm(name), arm.base_link, arm.tip_link)
    for q in postures(arm, 5):
        pose = np.eye(4)
        for angle, a, twist, d in zip(q, lengths, twists, offsets, strict=True):
            pose = pose @ origin((a, 0, 0), (twist, 0, 0)) @ origin((0, 0, d), (0, 0, angle))
        assert np.abs(chain.pose(q) - pose @ slid(0, 0, 0.107)).max() < 1e-12


@pytest.mark.parametrize(('name', 'base_to_shoulder'), [('iiwa7', 0.34), ('iiwa14', 0.36)])
def test_iiwa_arms_have_the_lengths_of_the_data_sheet(name, base_to_shoulder):
    upper = {'iiwa7': 0.4, 'iiwa14': 0.42}[name]
    twists = (-HALF, HALF, HALF, -HALF, -HALF, HALF, 0)
    offsets = (base_to_shoulder, 0, upper, 0, 0.4, 0, 0.126)
    arm = arm_data(name)
    chain = SerialChain.from_robot(load_arm(name), arm.base_link, arm.tip_link)
    for q in postures(arm, 5):
        pose = np.eye(4)
        for angle, d, twist in zip(q, offsets, twists, strict=True):
            pose = pose @ origin((0, 0, d), (0, 0, angle)) @ origin((0, 0, 0), (twist, 0, 0))
        assert np.abs(chain.pose(q) - pose).max() < 1e-12


GEN3_HEIGHT = 0.15643 + 0.12838 + 2 * 0.21038 + 0.20843 + 2 * 0.10593 + 0.061525
RIZON4_HEIGHT = 0.155 + 0.21 + 0.205 + 0.19 + 0.195 + 0.19 + 0.11


@pytest.mark.parametrize(
    ('name', 'home'),
    [
        # Sums of the published link lengths with all joints at zero.
        ('irb120', (0.302 + 0.072, 0, 0.29 + 0.27 + 0.07)),
        ('irb6700', (0.32 + 1.1425 + 0.2, 0, 0.78 + 1.125 + 0.2)),
        ('m10ia', (0.15 + 0.64 + 0.1, 0, 0.45 + 0.6 + 0.2)),
        ('kr6_r900', (0.025 + 0.455 + 0.42 + 0.08, 0, 0.4 + 0.035)),
        ('rx160', (0.15, 0, 0.55 + 0.825 + 0.625 + 0.11)),
        ('vs060', (-0.01, 0, 0.1815 + 0.1635 + 0.305 + 0.1645 + 0.1355 + 0.07)),
        ('gen3', (0, -(0.005375 + 3 * 0.006375 + 0.00017505 * 2), GEN3_HEIGHT)),
        ('rizon4', (0.055 + 0.081, 0.025 - 0.035 - 0.1, RIZON4_HEIGHT)),
    ],
)
def test_home_positions_are_those_of_the_link_lengths(name, home):
    arm = arm_data(name)
    chain = SerialChain.from_robot(load_arm(name), arm.base_link, arm.tip_link)
    position = chain.home[:3, 3]
    # The rounded right angles of the Gen3 move its tip by some micrometres.
    assert position == pytest.approx(home, abs=2e-5 if name == 'gen3' else 1e-9)


def test_the_wrist_of_the_jaco_bends_by_sixty_degrees():
    h, o = axis_lines(arm_data('jaco2'))
    assert abs(h[3] @ h[4]) == pytest.approx(0.5, abs=1e-12)
    assert abs(h[4] @ h[5]) == pytest.approx(0.5, abs=1e-12)
    assert np.linalg.norm(o[5] - o[4]) == pytest.approx(0.0741, abs=1e-4)


EXAMPLE_ARMS = (  # arm, description, its base and tip
    ('panda', 'panda_description/urdf/panda.urdf', 'panda_link0', 'panda_link8'),
    ('z1', 'z1_description/urdf/z1.urdf', 'link00', 'link06'),
    ('xarm7_published', 'xarm_description/urdf/xarm7.urdf', 'link_base', 'link_eef'),
    ('baxter_left', 'baxter_description/urdf/baxter.urdf', 'left_arm_mount', 'left_hand_link'),
    ('ur5', 'ur_description/urdf/ur5_robot.urdf', 'base', 'tool0'),
)


@pytest.mark.parametrize(('name', 'file', 'base', 'tip'), EXAMPLE_ARMS)
def test_arms_agree_with_example_robot_data(name, file, base, tip):
    text = example_description(file)
    arm = arm_data(name)
    ours = make_urdf(arm)
    for q in postures(arm, 10):
        values = {joint.name: (value,) for joint, value in zip(arm.joints, q, strict=True)}
        theirs = np.linalg.inv(link_pose(text, values, base)) @ link_pose(text, values, tip)
        if base == 'base':  # the controller's frame of the maker, half a turn from base_link
            theirs = origin((0, 0, 0), (0, 0, np.pi)) @ theirs
        assert np.abs(theirs - link_pose(ours, values, arm.tip_link)).max() < EXACT


def example_description(file):
    """Return a description of example-robot-data; skip the test if the package is not installed."""
    shares = [*share_directories(), *Path(sys.prefix).glob('lib/python*/*/cmeel.prefix/share')]
    paths = [share / 'example-robot-data' / 'robots' / file for share in shares]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        pytest.skip('example-robot-data is not installed')
    return path.read_text(encoding='utf-8')


# --- Geometry ------------------------------------------------------------------------------------- Conditions of each
# class: pairs of axes to be parallel, and sets of axes to meet, counted from 1. Of the classes that hold, the first one
# counts.

WRIST, SHOULDER = (4, 5, 6), (1, 2, 3)
CONDITIONS = {
    6: {
        'three_parallel': ([(2, 3), (3, 4)], []),
        'spherical_wrist_2_parallel_3': ([(2, 3)], [WRIST]),
        'spherical_wrist_1_parallel_2': ([(1, 2)], [WRIST]),
        'spherical_wrist_1_meets_2': ([], [WRIST, (1, 2)]),
        'spherical_wrist_2_meets_3': ([], [WRIST, (2, 3)]),
        'spherical_wrist': ([], [WRIST]),
        'spherical_shoulder_4_parallel_5': ([(4, 5)], [SHOULDER]),
        'spherical_shoulder_5_parallel_6': ([(5, 6)], [SHOULDER]),
        'spherical_shoulder_5_meets_6': ([], [SHOULDER, (5, 6)]),
        'spherical_shoulder_4_meets_5': ([], [SHOULDER, (4, 5)]),
        'spherical_shoulder_6r': ([], [SHOULDER]),
        'three_parallel_3_4_5': ([(3, 4), (4, 5)], []),
        'three_parallel_1_2_3': ([(1, 2), (2, 3)], [(5, 6)]),
        'three_parallel_4_5_6': ([(4, 5), (5, 6)], [(1, 2)]),
    },
    7: {
        'srs': ([], [SHOULDER, (5, 6, 7)]),
        'spherical_shoulder': ([], [SHOULDER, (5, 6)]),
        'reversed_spherical_shoulder': ([], [(5, 6, 7), (2, 3)]),
    },
}
NEAR_DISTANCE = {6: 0.005, 7: 0.025}
NEAR_ANGLE = 2e-3


def miss_of(lines, conditions):
    """Return by which distance [m] and sine an arm misses the conditions of a class."""
    h, o = lines
    parallel, meeting = conditions
    sines = [np.sqrt(max(0.0, 1 - (h[i - 1] @ h[k - 1]) ** 2)) for i, k in parallel]
    # The square root above has no digits below 1e-8; the vectors' difference has.
    close = [min(np.linalg.norm(h[i - 1] - s * h[k - 1]) for s in (1, -1)) for i, k in parallel]
    angles = [c if c < 1e-3 else s for c, s in zip(close, sines, strict=True)]
    return max([0.0, *(spread(h, o, axes) for axes in meeting)]), max([0.0, *angles])


def spread(h, o, axes):
    """Return how far the axes pass the point nearest to all of them (in the sense of least squares)."""
    rows = [i - 1 for i in axes]
    if any(np.linalg.norm(np.cross(h[i], h[k])) < EXACT for i, k in pairwise(rows)):
        return np.inf
    # A point x lies on a line when both of its offsets across the line vanish.
    across = [np.linalg.svd(h[i][None])[2][1:] for i in rows]
    offsets = [basis @ o[i] for basis, i in zip(across, rows, strict=True)]
    x, *_ = np.linalg.lstsq(np.vstack(across), np.concatenate(offsets), rcond=None)
    gaps = zip(across, offsets, strict=True)
    return max(np.linalg.norm(basis @ x - offset) for basis, offset in gaps)


def classify(arm):
    """Return class and near miss (class, distance, sine) of an arm."""
    if any(joint.type == 'prismatic' for joint in arm.joints):
        return 'prismatic', None
    if arm.dof < 6:
        return 'at_most_5r', None
    lines, near = axis_lines(arm), None
    for name, conditions in CONDITIONS[arm.dof].items():
        distance, angle = miss_of(lines, conditions)
        if distance < EXACT and angle < EXACT:
            return name, near
        if near is None and distance <= NEAR_DISTANCE[arm.dof] and angle <= NEAR_ANGLE:
            near = (name, distance, angle)
    if near and arm.dof == 7:
        return f'approximately_{near[0]}', near
    return f'general_{arm.dof}r', near


@pytest.mark.parametrize('name', ARMS)
def test_the_expected_class_is_that_of_the_axes(name):
    arm = arm_data(name)
    expected, near = classify(arm)
    assert arm.expected_class == expected
    if near is None:
        assert arm.near_miss is None
        return
    assert arm.near_miss.arm_class == near[0]
    assert arm.near_miss.distance == pytest.approx(near[1], rel=1e-5, abs=1e-12)
    assert arm.near_miss.angle == pytest.approx(near[2], rel=1e-5, abs=1e-12)


def test_the_names_of_classes_are_those_of_the_reader():
    named = {name for conditions in CONDITIONS.values() for name in conditions}
    approximate = {f'approximately_{name}' for name in CONDITIONS[7]}
    others = {'general_6r', 'general_7r', 'at_most_5r', 'prismatic'}
    assert set(ARM_CLASSES) == named | approximate | others


def test_the_catalogue_covers_the_main_classes():
    present = {arm_data(name).expected_class for name in ARMS}
    assert {
        'three_parallel',
        'spherical_wrist_2_parallel_3',
        'general_6r',
        'srs',
        'spherical_shoulder',
        'reversed_spherical_shoulder',
        'approximately_srs',
        'general_7r',
        'at_most_5r',
        'prismatic',
    } <= present


# --- The reader -----------------------------------------------------------------------------------

PLAIN = """\
arms:
  two_joints:
    vendor: Somebody
    title: Two joints
    dof: 2
    source: 'somebody/some_description, two'
    base_link: base
    tip_link: tip
    expected_class: at_most_5r
    near_miss: {class: srs, distance: 0.1, angle: 0}
    joints:
      - {name: one, type: continuous, xyz: [0, 0, 1], rpy: [0, 0, 0], axis: [0, 0, 1]}
      - {name: two, type: revolute, xyz: [0, 0, 1], rpy: [0, 1.5, 0], axis: [0, 1, 0], limits: [-1, 2]}
    flange: {xyz: [0, 0, 0.1], rpy: [0, 0, 0]}
"""


def parse(text):
    """Return the arms of a text."""
    return parse_catalogue(parse_yaml(text, 'arms.yaml'), 'arms.yaml')


def test_a_file_is_read_as_it_stands(tmp_path):
    path = tmp_path / 'arms.yaml'
    path.write_text(PLAIN, encoding='utf-8')
    arm = read_catalogue(path)['two_joints']
    assert (arm.dof, arm.vendor, arm.flange_xyz) == (2, 'Somebody', (0.0, 0.0, 0.1))
    assert (arm.joints[0].lower, arm.joints[0].upper) == (-np.inf, np.inf)
    assert (arm.joints[1].lower, arm.joints[1].rpy) == (-1.0, (0.0, 1.5, 0.0))
    assert (arm.near_miss.arm_class, arm.near_miss.distance) == ('srs', 0.1)


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('vendor: Somebody', 'vender: Somebody', r"yaml:3: 'vender' .* Did you mean 'vendor'"),
        ('    vendor: Somebody\n', '', r"yaml:2: 'two_joints' has no vendor"),
        ('Somebody\n', "' '\n", r"yaml:3: 'vendor' of 'two_joints' is ' ' where a text"),
        ('dof: 2', 'dof: 3', r"yaml:5: 'dof' of 'two_joints' is 3, but the arm has 2 joints"),
        ('dof: 2', 'dof: true', r'yaml:5: .* is True, but'),
        ('at_most_5r', 'at_most_6r', r"yaml:9: .* is 'at_most_6r'. Did you mean 'at_most_5r'"),
        (
            'class: srs',
            'class: sss',
            r"yaml:10: 'class' of the near miss of 'two_joints' is 'sss'",
        ),
        ('distance: 0.1', 'distance: -1', r'yaml:10: .* number that is not negative'),
        ('distance: 0.1', f'distance: {10**400}', r'yaml:10: .* number that is not negative'),
        (', angle: 0}', '}', r"yaml:10: the near miss of 'two_joints' has no angle"),
        ('continuous', 'continous', r"yaml:12: 'type' of joint 1 of 'two_joints' .*'continuous'"),
        (
            '[0, 0, 1], rpy',
            '[0, 0], rpy',
            r"yaml:12: 'xyz' of joint 1 .* list of 3 finite numbers",
        ),
        ('[0, 0, 1], rpy', '[0, 0, .inf], rpy', r"yaml:12: 'xyz' .* 3 finite numbers"),
        ('[0, 0, 1], rpy', "[0, 0, '1'], rpy", r"yaml:12: 'xyz' .* 3 finite numbers"),
        ('axis: [0, 1, 0]', 'axis: [0, 2, 0]', r"yaml:13: 'axis' of joint 2 .* length is not 1"),
        (', limits: [-1, 2]', '', r"yaml:13: joint 2 of 'two_joints' has no limits"),
        ('[-1, 2]', '[2, -1]', r"yaml:13: 'limits' of joint 2 .* is \[2, -1\], which leaves no"),
        ('[0, 0, 1]}', '[0, 0, 1], limits: [0, 1]}', r"yaml:12: 'limits' .* continuous joint"),
        ('name: two', 'name: one', r"yaml:11: 'joints' .* two joints with the name 'one'"),
        ('tip_link: tip', 'tip_link: base', r"yaml:11: .* two links with the name 'base'"),
        ('flange: {xyz', 'flange: {xzy', r"yaml:14: 'xzy' of the flange of 'two_joints'"),
        ('two_joints:', 'Two-Joints:', r"yaml:2: the name 'Two-Joints' of an arm"),
        ('arms:', 'robots:', r"yaml:1: 'robots' of catalogue is unknown"),
    ],
)
def test_what_is_wrong_is_reported_by_file_and_line(old, new, message):
    text = PLAIN.replace(old, new, 1)
    assert text != PLAIN
    with pytest.raises(InvalidParameter, match='arms.' + message):
        parse(text)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('- 1', 'arms.yaml: catalogue is not a mapping'),
        ('arms: 3', r"arms.yaml:1: 'arms' is not a mapping"),
        ('arms:\n  one: 3', r"arms.yaml:2: 'one' is not a mapping"),
        (PLAIN + '  two_joints: {}\n', "'two_joints' stands already in line 2"),
        (PLAIN[: PLAIN.index('      - ')] + '      - 3\n', None),
        (PLAIN.replace('      - {name: one', '      - 3\n      - {name: one'), 'yaml:11: joint 1'),
    ],
)
def test_a_malformed_file_is_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        parse(text)


def test_an_arm_without_joints_is_refused():
    text = re.sub(r'    joints:\n(      - .*\n)+', '    joints: []\n', PLAIN)
    with pytest.raises(InvalidParameter, match=r"yaml:11: 'joints' .* not a list with an entry"):
        parse(text)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DescriptionNotFound, match=r'absent\.yaml'):
        read_catalogue(tmp_path / 'absent.yaml')


def test_the_shipped_catalogue_is_the_one_that_is_listed():
    assert tuple(read_catalogue(catalogue_path())) == ARMS
