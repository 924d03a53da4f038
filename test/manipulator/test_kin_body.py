"""Arms from axes, frames, Denavit-Hartenberg parameters, catalogue and URDF; forward kinematics by plain products."""

import math
from pathlib import Path

import numpy as np
import pytest

from ssik_ros import KinBody, KinBodyJoint, load_robot, Manipulator
from ssik_ros.kernels.geometry.rotations import rpy_of_matrix
from ssik_ros.model.arm_ends import find_ends
from ssik_ros.model.catalogue import arm_data, list_arms

ROBOTS = Path(__file__).resolve().parents[2] / 'config' / 'robots'
AXES = np.array([[0, 0, 1], [0, 1, 0], [0, -1, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]], dtype=float)
OFFSETS = np.array(
    [[0, 0, 0.3], [0.1, 0, 0.2], [0.4, 0, 0], [0.3, 0, 0.02], [0, 0, 0], [0, 0, 0], [0.1, 0, 0]]
)
PUMA = (
    [math.pi / 2, 0.0, -math.pi / 2, math.pi / 2, -math.pi / 2, 0.0],
    [0.0, 0.4318, 0.0203, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.15005, 0.4318, 0.0, 0.0],
)


def turn(axis, angle):
    """Return a rotation as a transform, by the exponential series in closed form."""
    k = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    skew = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    matrix = np.eye(4)
    matrix[:3, :3] += math.sin(angle) * skew + (1.0 - math.cos(angle)) * skew @ skew
    return matrix


def shift(vector):
    """Return a translation as a transform."""
    matrix = np.eye(4)
    matrix[:3, 3] = vector
    return matrix


def chain_pose(first, rest, axes, q):
    """Return first R(axis_1, q_1) rest_1 R(axis_2, q_2) rest_2 ..."""
    pose = first
    for axis, angle, part in zip(axes, q, rest, strict=True):
        pose = pose @ turn(axis, angle) @ part
    return pose


def check(arm, reference, tolerance=1e-12):
    """Compare forward kinematics, and find postures again without limits."""
    for q in np.random.default_rng(1).uniform(-3.0, 3.0, (20, arm.dof)):
        pose = reference(q)
        assert np.abs(arm.fk(q) - pose).max() < tolerance
        assert np.abs(arm.kinbody.fk(q) - pose).max() < tolerance
        rows = arm.solve_q(pose, q)
        assert rows[0] == pytest.approx(q, abs=1e-6)


def test_an_arm_from_axes():
    arm = Manipulator.from_axes(AXES, OFFSETS)
    assert arm.joint_limits == [None] * 6 and arm.solver_name == 'ikgeo.spherical_two_parallel'
    rest = [shift(p) for p in OFFSETS[1:]]
    check(arm, lambda q: chain_pose(shift(OFFSETS[0]), rest, AXES, q))


def test_the_length_of_an_axis_does_not_matter():
    lengths = np.array([[2.0], [0.5], [7.0], [1.0], [1e-3], [40.0]])
    q = np.full(6, 0.7)
    assert (
        np.abs(
            Manipulator.from_axes(lengths * AXES, OFFSETS).fk(q)
            - Manipulator.from_axes(AXES, OFFSETS).fk(q)
        ).max()
        < 1e-15
    )
    assert KinBody.from_axes(lengths * AXES, OFFSETS).axes == pytest.approx(AXES, abs=1e-15)


def test_an_arm_from_denavit_hartenberg_parameters():
    arm = Manipulator.from_dh(*PUMA)
    assert arm.solver_name == 'ikgeo.spherical_two_parallel'
    rest = [
        shift([0, 0, d]) @ shift([a, 0, 0]) @ turn([1, 0, 0], alpha)
        for alpha, a, d in zip(*PUMA, strict=True)
    ]
    check(arm, lambda q: chain_pose(np.eye(4), rest, [[0, 0, 1]] * 6, q))


@pytest.mark.parametrize('one_axis', [True, False])
def test_an_arm_from_frames(one_axis):
    rng = np.random.default_rng(4)
    frames = np.array(
        [
            turn(rng.normal(size=3), rng.uniform(-3, 3)) @ shift(rng.normal(size=3))
            for _ in range(7)
        ]
    )
    axes = [[0.0, 1.0, 0.0]] * 6 if one_axis else rng.normal(size=(6, 3))
    arm = Manipulator.from_transforms(frames, [0.0, 1.0, 0.0] if one_axis else axes)
    assert arm.solver_name == 'ikgeo.general_6r'
    check(arm, lambda q: chain_pose(frames[0], frames[1:], axes, q), 1e-11)


def test_limits_of_constructors():
    pairs = [(-1.0, 1.0), None, (-2.0, 3.0), (0.0, 0.5), (-math.pi, math.pi), None]
    arms = [
        Manipulator.from_axes(AXES, OFFSETS, pairs),
        Manipulator.from_dh(*PUMA, limits=pairs),
        Manipulator.from_transforms(np.tile(np.eye(4), (7, 1, 1)), limits=pairs),
    ]
    for arm in arms:
        assert arm.joint_limits == pairs and [j.limits for j in arm.kinbody.joints] == pairs
    square = Manipulator.from_axes(AXES, OFFSETS, np.tile([-1.0, 1.0], (6, 1)))
    assert square.joint_limits == [(-1.0, 1.0)] * 6


BAD = AXES.copy()
BAD[2] = 0.0


@pytest.mark.parametrize(
    ('make', 'words'),
    [
        (
            lambda: Manipulator.from_axes(np.zeros((6, 2)), OFFSETS),
            r'H must have the shape \(n, 3\)',
        ),
        (lambda: Manipulator.from_axes(np.zeros((0, 3)), OFFSETS), 'H must have'),
        (lambda: Manipulator.from_axes(AXES, OFFSETS[:6]), r'P must have the shape \(7, 3\)'),
        (lambda: Manipulator.from_axes(BAD, OFFSETS), 'joint 3 in H is degenerate'),
        (lambda: Manipulator.from_axes(AXES * np.nan, OFFSETS), 'not finite'),
        (lambda: Manipulator.from_axes('x', OFFSETS), 'H must be an array of real numbers'),
        (lambda: Manipulator.from_axes(AXES, OFFSETS, [(0, 1)]), 'limits must have a row'),
        (lambda: Manipulator.from_axes(AXES, OFFSETS, [(1, 0)] * 6), 'leave no room'),
        (lambda: Manipulator.from_axes(AXES, OFFSETS, [(0, math.nan)] * 6), 'leave no room'),
        (lambda: Manipulator.from_axes(AXES, OFFSETS, [(0, 1, 2)] * 6), 'no pair'),
        (lambda: Manipulator.from_dh([0, 0], [1], [0, 0]), r'a must have the shape \(2,\)'),
        (lambda: Manipulator.from_transforms(np.zeros((7, 3, 4))), 'T must have'),
        (lambda: Manipulator.from_transforms(np.zeros((7, 4, 4))), 'no rigid transform'),
        (lambda: Manipulator.from_transforms(np.eye(4)[None]), 'end effector'),
        (lambda: KinBody((), np.eye(4)), 'needs a tuple of joints'),
        (lambda: KinBody.from_axes(AXES, OFFSETS, joint_types=['revolute']), 'each of 6 joints'),
        (lambda: KinBody.from_axes(AXES, OFFSETS, joint_types='revolute'), 'each of 6 joints'),
        (lambda: KinBody.from_axes(AXES, OFFSETS, joint_types=['slide'] * 6), "cannot be 'slide'"),
        (
            lambda: KinBody.from_axes(
                AXES, OFFSETS, [(-1, 1)] * 6, joint_types=['continuous'] * 6
            ),
            'has no limits',
        ),
        (lambda: KinBody.from_dh([0, 0], [1, 1], [0, 0], sigma=[0, 2]), 'sigma must be 0'),
        (lambda: KinBody.from_dh([0, 0], [1, 1], [0, 0], theta=[0]), 'theta must have'),
    ],
)
def test_wrong_arms_are_value_errors(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_kinbody_makes_an_arm_and_an_arm_a_kinbody():
    arm = Manipulator.from_prebuilt('iiwa14')
    again = Manipulator(arm.kinbody)
    q = np.array([0.3, 0.8, -0.4, -1.1, 0.2, 0.9, 0.1])
    assert np.abs(again.fk(q) - arm.fk(q)).max() < 1e-14
    assert again.joint_limits == arm.joint_limits and again.joint_names == arm.joint_names
    assert again.solver_name == arm.solver_name


def test_a_sliding_joint_in_a_kinbody():
    z, x = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    joints = (
        KinBodyJoint('turn', 'revolute', z, np.zeros(3), (-1.0, 1.0)),
        KinBodyJoint('slide', 'prismatic', x, np.array([0.2, 0.0, 0.1]), (0.0, 0.5)),
    )
    body = KinBody(joints, shift([0.3, 0.0, 0.1]))
    expected = turn(z, 0.4) @ shift([0.25 + 0.3, 0.0, 0.1])
    assert body.fk([0.4, 0.25]) == pytest.approx(expected, abs=1e-15)
    assert Manipulator(body).fk([0.4, 0.25]) == pytest.approx(expected, abs=1e-15)


SLIDING = ('revolute', 'prismatic', 'revolute', 'revolute', 'revolute', 'revolute')


def mixed_pose(first, rest, axes, types, q):
    """Return first J_1(q_1) rest_1 J_2(q_2) rest_2 ... of joints that turn or slide."""
    pose = first
    for axis, kind, value, part in zip(axes, types, q, rest, strict=True):
        moved = shift(value * axis) if kind == 'prismatic' else turn(axis, value)
        pose = pose @ moved @ part
    return pose


def check_sliding(arm, reference):
    """Compare forward kinematics, and find postures again without limits."""
    for q in np.random.default_rng(7).uniform(-1.0, 1.0, (10, arm.dof)):
        pose = reference(q)
        assert np.abs(arm.fk(q) - pose).max() < 1e-12
        assert np.abs(arm.kinbody.fk(q) - pose).max() < 1e-12
        rows = arm.solve_q(pose, q)
        assert rows[0] == pytest.approx(q, abs=1e-6)


def test_sliding_joints_from_axes():
    body = KinBody.from_axes(AXES, OFFSETS, joint_types=SLIDING)
    assert [joint.type for joint in body.joints] == list(SLIDING)
    rest = [shift(p) for p in OFFSETS[1:]]
    check_sliding(
        Manipulator(body), lambda q: mixed_pose(shift(OFFSETS[0]), rest, AXES, SLIDING, q)
    )


def test_sliding_joints_from_transforms():
    rng = np.random.default_rng(8)
    frames = [
        shift(rng.uniform(-0.3, 0.3, 3)) @ turn([1, 2, 3], rng.uniform(-1, 1)) for _ in '123'
    ]
    types, z = ('prismatic', 'revolute'), np.array([0.0, 0.0, 1.0])
    body = KinBody.from_transforms(np.array(frames), joint_types=types)
    for q in rng.uniform(-1.0, 1.0, (5, 2)):
        expected = mixed_pose(frames[0], frames[1:], [z, z], types, q)
        assert np.abs(body.fk(q) - expected).max() < 1e-14


def test_sliding_joints_from_denavit_hartenberg_parameters():
    # The arm of Stanford: its third joint slides, with a fixed angle about its axis.
    alpha = [-math.pi / 2, math.pi / 2, 0.0, -math.pi / 2, math.pi / 2, 0.0]
    d, sigma = [0.412, 0.154, 0.3, 0.0, 0.0, 0.263], [0, 0, 1, 0, 0, 0]
    theta = [0.2, 0.0, -math.pi / 2, 0.0, 0.0, 0.0]
    body = KinBody.from_dh(alpha, [0.0] * 6, d, sigma=sigma, theta=theta)
    assert [joint.type for joint in body.joints].index('prismatic') == 2
    z, x = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])

    def reference(q):
        pose = np.eye(4)
        for value, kind, angle, offset, twist in zip(q, sigma, theta, d, alpha, strict=True):
            angle, offset = (angle, offset + value) if kind else (angle + value, offset)
            pose = pose @ turn(z, angle) @ shift(offset * z) @ turn(x, twist)
        return pose

    check_sliding(Manipulator(body), reference)


def test_a_continuous_joint_stays_one_in_the_urdf():
    types = ['continuous', *['revolute'] * 5]
    body = KinBody.from_axes(AXES, OFFSETS, [None, *[(-1.0, 1.0)] * 5], joint_types=types)
    assert body.joints[0].type == 'continuous'
    assert Manipulator(body).joint_limits[0] is None


@pytest.mark.parametrize('pitch', [0.0, 1.0, math.pi / 2, -math.pi / 2, math.pi / 2 - 1e-9])
def test_roll_pitch_yaw_is_exact_at_right_angles_too(pitch):
    for roll, yaw in np.random.default_rng(6).uniform(-3.0, 3.0, (20, 2)):
        rotation = (turn([0, 0, 1], yaw) @ turn([0, 1, 0], pitch) @ turn([1, 0, 0], roll))[:3, :3]
        r, p, y = rpy_of_matrix(rotation)
        again = (turn([0, 0, 1], y) @ turn([0, 1, 0], p) @ turn([1, 0, 0], r))[:3, :3]
        assert np.abs(again - rotation).max() < 1e-15


@pytest.mark.parametrize('name', list_arms())
def test_every_arm_of_the_catalogue_is_prebuilt(name):
    arm, data = Manipulator.from_prebuilt(name), arm_data(name)
    assert arm.joint_names == tuple(joint.name for joint in data.joints)
    assert Manipulator.from_prebuilt(f'{name}_ik').joint_names == arm.joint_names
    assert find_ends(arm.robot).base == data.base_link


@pytest.mark.parametrize(
    ('name', 'base', 'ee'),
    [
        ('ur5e', 'base_link', 'wrist_3_link'),
        ('panda', 'panda_link0', 'panda_link7'),
        ('fanuc', 'base_link', 'link_6'),
        ('gen3', 'base_link', 'bracelet_link'),
    ],
)
def test_ends_are_found_and_hands_left_out(name, base, ee):
    path = ROBOTS / f'{name}_moveit_config' / 'config' / f'{name}.urdf'
    arm = Manipulator.from_urdf(path)
    assert (arm.group.base_link, arm.group.tip) == (base, ee)
    assert Manipulator.from_urdf(path, base=base).group.tip == ee
    assert Manipulator.from_urdf(path, ee=ee).group.base_link == base


def tree(*joints):
    """Return the text of a URDF with joints (name, type, parent, child)."""
    links = dict.fromkeys(link for _, _, *ends in joints for link in ends)
    parts = [f'<link name="{link}"/>' for link in links]
    for name, kind, parent, child in joints:
        limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
        parts.append(
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<axis xyz="0 0 1"/>{limit if kind != "fixed" else ""}</joint>'
        )
    return f'<robot name="r">{"".join(parts)}</robot>'


ARM = [
    ('a', 'revolute', 'root', 'l1'),
    ('b', 'revolute', 'l1', 'l2'),
    ('c', 'revolute', 'l2', 'l3'),
]


def test_a_long_branch_is_followed_past_a_short_one():
    text = tree(('t', 'revolute', 'world', 'root'), *ARM, ('head', 'revolute', 'root', 'h'))
    assert find_ends(load_robot(text)) == ('world', 'l3')


def test_a_hand_ends_an_arm_and_a_fixed_frame_is_passed_over():
    hand = [
        ('mount', 'fixed', 'l3', 'palm'),
        ('f1', 'prismatic', 'palm', 'left'),
        ('f2', 'prismatic', 'palm', 'right'),
    ]
    assert find_ends(load_robot(tree(*ARM, *hand))) == ('root', 'l3')
    assert find_ends(load_robot(tree(*ARM, ('tool', 'fixed', 'l3', 'tcp')))) == ('root', 'l3')


def with_end(limit, kind='revolute', axis='1 0 0', inside='', further=''):
    """Return an arm of three joints about z, and one more joint at its end."""
    end = (
        f'<joint name="end" type="{kind}"><parent link="l3"/><child link="e"/><axis xyz="{axis}"/>'
        f'<limit {limit} effort="1" velocity="1"/>{inside}</joint><link name="e"/>{further}'
    )
    return load_robot(tree(*ARM).replace('</robot>', f'{end}</robot>'))


MIMIC = (
    '<joint name="f" type="revolute"><parent link="e"/><child link="f"/><mimic joint="end"/>'
    '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint><link name="f"/>'
)
HANDS = {
    'a jaw that closes at zero': {'limit': 'lower="0" upper="0.8"'},
    'a jaw that closes near zero': {'limit': 'lower="-0.17" upper="1.9"'},
    'a jaw that opens to negative angles': {'limit': 'lower="-1.2" upper="0"'},
    'a sliding jaw': {'limit': 'lower="0" upper="0.04"', 'kind': 'prismatic'},
    'a joint that a finger mimics': {'limit': 'lower="-1" upper="1"', 'further': MIMIC},
}
ENDS = {
    'a wrist with symmetric limits': {'limit': 'lower="-1.2" upper="1.2"'},
    'a joint that turns far': {'limit': 'lower="0" upper="3.5"'},
    'a joint parallel to the one before': {'limit': 'lower="0" upper="0.8"', 'axis': '0 0 1'},
    'a quill': {'limit': 'lower="0" upper="0.18"', 'kind': 'prismatic', 'axis': '0 0 1'},
    'a long slide': {'limit': 'lower="0" upper="0.4"', 'kind': 'prismatic'},
}


@pytest.mark.parametrize('case', HANDS)
def test_a_hand_is_left_out_with_one_line(case, caplog):
    assert find_ends(with_end(**HANDS[case])).ee == 'l3'
    (line,) = caplog.messages
    assert "ends at link 'l3'. The hand is left out (joint end" in line


@pytest.mark.parametrize('case', ENDS)
def test_the_last_joint_of_an_arm_is_no_hand(case, caplog):
    assert find_ends(with_end(**ENDS[case])).ee == 'e'
    assert caplog.messages == []


def test_a_tip_in_the_hand_can_be_named(caplog):
    assert find_ends(with_end('lower="0" upper="0.8"'), ee='e').ee == 'e'
    assert caplog.messages == []


def test_two_equal_arms_are_an_error_that_names_both():
    left = [('x1', 'revolute', 'torso', 'x'), ('x2', 'revolute', 'x', 'xx')]
    right = [('y1', 'revolute', 'torso', 'y'), ('y2', 'revolute', 'y', 'yy')]
    with pytest.raises(ValueError, match=r"'x1', 'y1'.*base and ee"):
        Manipulator.from_urdf(tree(('t', 'revolute', 'root', 'torso'), *left, *right))


def test_a_robot_without_joints_is_an_error():
    with pytest.raises(ValueError, match='no joint that moves'):
        Manipulator.from_urdf(tree(('t', 'fixed', 'root', 'torso')))


def test_an_arm_of_a_manipulator_slides_as_that_of_its_body():
    d, alpha, sigma = [0.412, 0.154, 0.3, 0.0, 0.0, 0.263], [0.0] * 6, [0, 0, 1, 0, 0, 0]
    alpha[0], alpha[1], alpha[3], alpha[4] = -1.5707, 1.5707, -1.5707, 1.5707
    theta = [0.0, 0.0, -1.5707, 0.0, 0.0, 0.0]
    frames = [np.eye(4), *(shift([0.1, 0.0, 0.2]) for _ in range(6))]
    types = ['prismatic', *(['revolute'] * 5)]
    pairs = (
        (Manipulator.from_axes, KinBody.from_axes, (AXES, OFFSETS), {'joint_types': SLIDING}),
        (
            Manipulator.from_transforms,
            KinBody.from_transforms,
            (np.array(frames),),
            {'joint_types': types},
        ),
        (
            Manipulator.from_dh,
            KinBody.from_dh,
            (alpha, [0.0] * 6, d),
            {'sigma': sigma, 'theta': theta},
        ),
    )
    q = np.array([0.3, -0.2, 0.4, 0.5, -0.6, 0.7])
    for make_arm, make_body, positional, keywords in pairs:
        arm, body = make_arm(*positional, **keywords), make_body(*positional, **keywords)
        assert arm.fk(q) == pytest.approx(Manipulator(body).fk(q), abs=1e-12)
        turning = make_arm(*positional)
        assert np.abs(arm.fk(q) - turning.fk(q)).max() > 0.01
