"""Objects, joints and overlays: names, poses, values, and errors."""

from test.tasks.made_worlds import random_chain, random_pose, serial_arm, walk

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.errors import InvalidOption, SsikError
from ssik_ros.tasks import Environment, IkJoint
from ssik_ros.tasks.pose_formats import interpolate, read_pose

KINDS = ('revolute', 'prismatic', 'spherical', 'screw')


@pytest.fixture
def world():
    env = Environment()
    rng = np.random.default_rng(5)
    stem = random_chain(env, rng, 3, KINDS, stem='stem')
    random_chain(env, rng, 3, KINDS, stem, 'left')
    random_chain(env, rng, 3, KINDS, stem, 'right')
    return env


def test_poses_are_those_of_a_plain_walk(world):
    items = list(world.objects.values())
    for item in items:
        np.testing.assert_allclose(item.matrix(), walk(item, moved=False), atol=1e-12)
        for other in items[::3]:
            if other is item:
                continue
            relative = np.linalg.inv(walk(other)) @ walk(item, moved=False)
            np.testing.assert_allclose(item.matrix(other), relative, atol=1e-12)
        if isinstance(item, IkJoint):
            expected = np.linalg.inv(walk(item, moved=False)) @ walk(item)
            np.testing.assert_allclose(item.intrinsic, expected, atol=1e-12)


def test_setting_a_pose_and_reading_it_agree_in_every_form(world):
    rng = np.random.default_rng(2)
    item, other = world['left1'], world['right2']
    for relative in (None, other, 'stem1', -11):
        pose = random_pose(rng)
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = Rotation.from_quat(pose[3:]).as_matrix(), pose[:3]
        for form in (pose, matrix, matrix[:3], matrix[:3].ravel()):
            item.set_pose(form, -1 if relative is None else relative)
            result = item.matrix(-1 if relative is None else relative)
            np.testing.assert_allclose(result, matrix, atol=1e-12)
    item.euler = [0.3, -0.4, 0.5]
    np.testing.assert_allclose(item.euler, [0.3, -0.4, 0.5], atol=1e-12)
    expected = Rotation.from_euler('XYZ', [0.3, -0.4, 0.5]).as_matrix()
    np.testing.assert_allclose(item.matrix()[:3, :3], expected, atol=1e-12)


@pytest.mark.parametrize(
    'pose', [[1, 2, 3], np.zeros((4, 4)), [0, 0, 0, 0, 0, 0, 0], [np.nan] * 7, 2 * np.eye(4)]
)
def test_poses_that_are_none_are_refused(pose):
    with pytest.raises(SsikError):
        read_pose(pose)


def test_parents_cannot_form_a_cycle(world):
    with pytest.raises(SsikError, match='cannot carry'):
        world['stem0'].set_parent('left2')
    place = walk(world['left2'], moved=False)
    world['left2'].set_parent('right0')
    np.testing.assert_allclose(world['left2'].matrix(), place, atol=1e-12)


def test_erasing_keeps_the_others_where_they_are(world):
    before = {name: item.matrix() for name, item in world.objects.items()}
    values = {j.name: j.intrinsic for j in world.joints}
    world['stem1'].erase()
    assert 'stem1' not in world and len(world.q) == sum(joint.size for joint in world.joints)
    for name, item in world.objects.items():
        np.testing.assert_allclose(item.matrix(), before[name], atol=1e-12)
        if isinstance(item, IkJoint):
            np.testing.assert_allclose(item.intrinsic, values[name], atol=1e-12)
    assert [item.slot for item in world.slots] == list(range(len(world.slots)))


def test_all_values_are_one_vector():
    env = serial_arm(4, limits=(-1.0, 1.0))
    env.q = [0.5, 2.0, -3.0, 0.1]
    np.testing.assert_array_equal(env.q, [0.5, 1.0, -1.0, 0.1])
    env.q[0] = 9.0
    assert env['j0'].position == 0.5
    assert env.joint_names == ('j0', 'j1', 'j2', 'j3')
    for wrong in ([0.0] * 3, [np.nan] * 4):
        with pytest.raises(SsikError):
            env.q = wrong


def test_values_are_brought_inside_whenever_they_are_set():
    env = Environment()
    wheel = env.add_joint('revolute')
    wheel.position = -np.pi
    assert wheel.position == np.pi
    wheel.limits = (-1.0, 2.0)
    assert wheel.position == 2.0 and not wheel.cyclic
    wheel.screw_lead = 0.1
    wheel.cyclic = True
    assert wheel.limits == (-np.pi, np.pi) and wheel.screw_lead == 0.0
    wheel.screw_lead = 0.1
    assert not wheel.cyclic
    for bad in ((1.0, 0.0), (0.0, np.inf)):
        with pytest.raises(SsikError):
            wheel.limits = bad
    with pytest.raises(SsikError, match='cyclic'):
        env.add_joint('prismatic').cyclic = True
    with pytest.raises(SsikError, match='hinge'):
        env.add_joint('hinge')


def test_chains_of_dependencies_and_cycles_of_them():
    env = Environment()
    a, b, c = (env.add_joint('prismatic', name, limits=(-9, 9)) for name in 'abc')
    b.depend_on(a, 2.0, 0.1)
    c.depend_on(b, -1.0)
    a.position = 0.5
    assert (b.position, c.position) == (1.1, -1.1)
    assert c.driver() is a
    b.limits = (-0.1, 0.1)
    a.position = 1.0
    assert b.position == 2.1, 'dependent joints have no limits of their own'
    a.depend_on(c)
    assert b.dependency is None, 'the joint that closed the cycle is released'
    with pytest.raises(SsikError):
        a.depend_on(a)
    with pytest.raises(SsikError):
        a.depend_on(env.add_joint('spherical'))


def test_a_refused_dependency_leaves_all_dependencies_as_they_were():
    env = Environment()
    a, b = (env.add_joint('prismatic', name, limits=(-9, 9)) for name in 'ab')
    b.depend_on(a, 2.0)
    with pytest.raises(InvalidOption):
        a.depend_on(b, function=lambda value: np.nan)
    assert a.dependency is None and b.dependency.master is a
    a.position = 1.5
    assert b.position == 3.0


def test_dependencies_and_overlays_refuse_options_without_a_meaning():
    env = Environment()
    a, b = env.add_joint('revolute'), env.add_joint('revolute')
    with pytest.raises(InvalidOption, match='with_handles'):
        a.depend_on(b, with_handles=np.zeros(2))
    tip = env.add_dummy()
    with pytest.raises(InvalidOption, match='scale'):
        env.debug_overlay(tip, scales=2.0)
    with pytest.raises(InvalidOption, match='limits'):
        env.debug_overlay(tip, limits=np.zeros(2))


def test_names_and_handles_stay_what_they_are():
    env = Environment()
    first = env.add_dummy('first')
    with pytest.raises(KeyError, match="Did you mean 'first'"):
        env['frist']
    with pytest.raises(SsikError, match='already'):
        env.add_joint('revolute', 'first')
    first.erase()
    assert env.add_dummy().handle != first.handle
    with pytest.raises(KeyError, match='erased'):
        env.add_dummy('child', first)
    other = Environment()
    with pytest.raises(KeyError, match='another environment'):
        other.add_dummy('child', env.add_dummy())


def test_orientations_between_two_poses_turn_at_constant_speed():
    start, end = read_pose(random_pose(np.random.default_rng(1))), read_pose([1, 1, 1, 0, 0, 0, 1])
    middle = interpolate(start, end, 0.5)
    turns = [Rotation.from_matrix(pose[:9].reshape(3, 3)) for pose in (start, middle, end)]
    first, second = turns[0].inv() * turns[1], turns[1].inv() * turns[2]
    np.testing.assert_allclose(first.as_rotvec(), second.as_rotvec(), atol=1e-12)
    np.testing.assert_array_equal(interpolate(start, end, 1.0), end)


def test_markers_keep_their_numbers_and_follow_the_environment():
    env = serial_arm(4)
    env['j1'].passive = True
    env.add_joint('prismatic', 'rail').depend_on('j0')
    overlay = env.debug_overlay('tip', 'j0', scale=2.0, text=True)
    before = {marker.number: marker for marker in overlay.markers()}
    env.q = np.full(5, 0.3)
    after = {marker.number: marker for marker in overlay.markers()}
    assert before.keys() == after.keys()
    assert not np.array_equal(before[1].points, after[1].points)
    place = np.linalg.inv(walk(env['j0'])) @ walk(env['tip'])
    np.testing.assert_allclose(after[1].points, [place[:3, 3]], atol=1e-12)
    assert after[0].size == pytest.approx(0.024) and overlay.frame == 'j0'
    orange, grey = after[5].points, after[9].points
    assert len(orange) == 4 and len(grey) == 2
    np.testing.assert_allclose(np.linalg.norm(np.diff(grey, axis=0)), 0.1, atol=1e-12)
    assert 'arm' in after[12].text
    overlay.erase()
    assert overlay.markers() == ()


@pytest.mark.parametrize('kind', ['revolute', 'prismatic', 'screw'])
def test_overlays_show_where_joints_are_between_their_limits(kind):
    """The mark meets an end of the arc, or of the line, exactly where the joint is at that limit."""
    env = Environment()
    limits = (-0.4, 0.9)
    lead = 0.3 if kind == 'screw' else 0.0
    kind = 'revolute' if kind == 'screw' else kind
    place = random_pose(np.random.default_rng(8))
    joint = env.add_joint(kind, 'joint', pose=place, limits=limits, screw_lead=lead)
    env.add_joint('revolute', 'free', 'joint')
    env.add_dummy('tip', 'free')
    env['tip'].target = env.add_dummy('goal')
    overlay = env.debug_overlay('tip', limits=True, scale=2.0)
    ends = []
    for value in (*limits, 0.25):
        joint.position = value
        shapes = {marker.number: marker.points for marker in overlay.markers()}
        arc, (origin, mark) = shapes[13], shapes[14]
        np.testing.assert_allclose(np.linalg.norm(mark - origin), 0.08, atol=1e-12)
        ends.append(arc[[0, -1]])
        if value in limits:
            np.testing.assert_allclose(mark, arc[-limits.index(value)], atol=1e-12)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)
    np.testing.assert_allclose(ends[0], ends[2], atol=1e-12)
    assert 13 not in {marker.number for marker in env.debug_overlay('tip').markers()}
