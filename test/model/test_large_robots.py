"""Robots with thousands of joints: time to load grows in proportion, and robots from untrusted sources are bounded."""

import gc
import time

from test.model.small_robots import joint

import numpy as np
import pytest

from ssik_ros.errors import ModelError, SsikError
from ssik_ros.mechanisms.urdf_robot import from_urdf
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.loader import load_robot, MOST_WARNINGS
from ssik_ros.model.srdf import MOST_GROUPS
from ssik_ros.model.urdf.xml_document import MOST_ELEMENTS, parse_xml, XmlElement

SMALL, FACTOR = 500, 8
TEXT_BETWEEN = 'text\n'


def text_of(joints):
    """Return a robot of joint elements, each from one link to another."""
    links = ''.join(f'<link name="l{i}"/>' for i in range(len(joints) + 1))
    return f'<robot name="large">{links}{"".join(joints)}</robot>'


def chain(n):
    """Return a chain of joints, and one group of all of them."""
    joints = [joint(f'j{i}', 'continuous', f'l{i}', f'l{i + 1}') for i in range(n)]
    states = ''.join(f'<joint name="j{i}" value="0.1"/>' for i in range(n))
    srdf = (
        f'<robot name="large"><group name="all"><chain base_link="l0" tip_link="l{n}"/></group>'
        f'<group_state name="home" group="all">{states}</group_state></robot>'
    )
    return text_of(joints), srdf


def fixed_chain(n):
    """Return a chain of fixed joints below one joint that moves."""
    kinds = ('continuous', *('fixed',) * (n - 1))
    return text_of([joint(f'j{i}', kinds[i], f'l{i}', f'l{i + 1}') for i in range(n)]), None


def star(n):
    """Return joints on one link, and one group that names each of them."""
    joints = [joint(f'j{i}', 'continuous', 'l0', f'l{i + 1}') for i in range(n)]
    names = ''.join(f'<joint name="j{i}"/>' for i in range(n))
    return text_of(joints), f'<robot name="large"><group name="all">{names}</group></robot>'


def comb(n):
    """Return a chain with a side joint on each link, and a group of their links."""
    joints = [
        joint(f'j{k:06d}', 'continuous', f'l{k - 2 + k % 2}', f'l{k}') for k in range(1, n + 1)
    ]
    links = ''.join(f'<link name="l{i}"/>' for i in range(n + 1))
    return text_of(joints), f'<robot name="large"><group name="all">{links}</group></robot>'


def followers(n):
    """Return joints on one link, each of which mimics the next one."""
    joints = [
        joint(
            f'j{i}',
            'continuous',
            'l0',
            f'l{i + 1}',
            inside=f'<mimic joint="j{i + 1}"/>' if i < n - 1 else '',
        )
        for i in range(n)
    ]
    return text_of(joints), None


def with_text_between(n):
    """Return a robot with text before each of its elements."""
    urdf, _ = star(n)
    return urdf.replace('<link', f'{TEXT_BETWEEN * 20}<link'), None


def excluded_pairs(n):
    """Return a chain with an excluded pair for each joint, half of them of links that do not exist."""
    pairs = ''.join(
        f'<disable_collisions link1="l{i}" link2="{"no" * (i % 2)}l{i + 1}" reason="Never"/>'
        for i in range(n)
    )
    return chain(n)[0], f'<robot name="large">{pairs}</robot>'


def processor_time(urdf, srdf):
    """Return how long a robot takes to load [s]: the lesser of two tries, without the garbage of other tests."""
    tries = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):
            start = time.process_time()
            load_robot(urdf, srdf)
            tries.append(time.process_time() - start)
    finally:
        gc.enable()
    return min(tries)


@pytest.mark.sampled
@pytest.mark.parametrize(
    'make', [chain, fixed_chain, star, comb, followers, with_text_between, excluded_pairs]
)
def test_loading_takes_time_in_proportion_to_the_joints(make):
    # Quadratic growth would be 8 times as much again.
    assert processor_time(*make(FACTOR * SMALL)) < 3.0 * FACTOR * processor_time(*make(SMALL))


@pytest.mark.slow
def test_frames_of_a_chain_take_time_in_proportion_to_the_joints():
    def frames_time(count):
        robot, tries = load_robot(chain(count)[0]), []
        for _ in range(2):
            start = time.process_time()
            from_urdf(robot)
            tries.append(time.process_time() - start)
        return min(tries)

    assert frames_time(FACTOR * SMALL) < 3.0 * FACTOR * frames_time(SMALL)


def test_a_chain_of_ten_thousand_joints_is_loaded_whole():
    robot = load_robot(*chain(10_000))
    assert robot.groups['all'].variable_count == 10_000
    assert robot.groups['all'].tips == ('l10000',)
    assert robot.tree.parents[-1] == 9_998


def test_a_chain_of_followers_multiplies_its_factors():
    inside = '<mimic joint="j{}" multiplier="2" offset="1"/>'
    joints = [
        joint(
            f'j{i}', 'continuous', 'l0', f'l{i + 1}', inside=inside.format(i + 1) if i < 3 else ''
        )
        for i in range(4)
    ]
    tree = load_robot(text_of(joints)).tree
    assert np.array_equal(tree.multipliers, [8.0, 4.0, 2.0, 1.0])
    assert np.array_equal(tree.offsets, [7.0, 3.0, 1.0, 0.0])


def test_reading_ends_at_the_first_joint_too_many():
    urdf, _ = star(3)
    assert len(load_robot(urdf, max_joints=3).tree.joint_names) == 3
    broken_behind = urdf.replace('</robot>', '<joint')
    with pytest.raises(ModelError, match=r'more than 2 <joint> elements \(line 1\)'):
        load_robot(broken_behind, max_joints=2)


def test_joints_inside_other_elements_do_not_count():
    urdf, _ = star(2)
    other = '<transmission name="t"><joint name="j0"/><joint name="j1"/></transmission>'
    assert load_robot(urdf.replace('</robot>', f'{other}</robot>'), max_joints=2)


@pytest.mark.slow
@pytest.mark.parametrize('text', ['<a/>', '<a></a>'])
def test_a_document_of_too_many_elements_is_refused(text):
    with pytest.raises(ModelError, match=f'more than {MOST_ELEMENTS} elements'):
        parse_xml(f'<robot>{text * MOST_ELEMENTS}', 'robot description')


def refusal_of(text):
    """Return the reason why a document is refused; the exception and its contents are freed."""
    try:
        parse_xml(text, 'robot description')
    except ModelError as error:
        return str(error)
    return ''


def test_the_elements_of_a_refused_document_are_gone_at_once():
    gc.collect()
    gc.disable()
    try:
        text = refusal_of('<robot>' + '<a>' * 99)
        left = [item for item in gc.get_objects() if isinstance(item, XmlElement)]
    finally:
        gc.enable()
    assert 'no element found' in text
    assert not [element for element in left if element.tag == 'a']


@pytest.mark.parametrize('tag', ['group', 'end_effector'])
def test_a_semantic_description_of_too_many_groups_is_refused(tag):
    urdf, _ = star(1)
    many = ''.join(f'<{tag} name="g{i}"/>' for i in range(MOST_GROUPS + 1))
    with pytest.raises(ModelError, match=f'more than {MOST_GROUPS} <{tag}> elements'):
        load_robot(urdf, f'<robot name="large">{many}</robot>')


def test_groups_within_each_other_as_deep_as_they_may_be_are_one_group():
    urdf, _ = star(1)
    groups = ''.join(
        f'<group name="g{i}"><group name="g{i + 1}"/></group>' for i in range(MOST_GROUPS - 1)
    )
    last = f'<group name="g{MOST_GROUPS - 1}"><joint name="j0"/></group>'
    robot = load_robot(urdf, f'<robot name="large">{groups}{last}</robot>')
    assert robot.groups['g0'].joint_names == ('j0',)


def test_warnings_about_a_description_are_a_bounded_number():
    urdf, _ = chain(1)
    joints = ''.join(f'<passive_joint name="no{i}"/>' for i in range(500))
    robot = load_robot(urdf, f'<robot name="large">{joints}</robot>')
    assert len(robot.warnings) == MOST_WARNINGS + 1
    assert '400 more warnings' in robot.warnings[-1]


def test_excluded_pairs_of_unknown_links_are_one_warning_with_their_number():
    robot = load_robot(*excluded_pairs(1000))
    assert len(robot.warnings) == 1
    assert '499 more of them' in robot.warnings[0]


def test_a_robot_of_too_many_shapes_is_not_checked_for_collisions_and_says_so():
    shape = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    urdf = f'<robot name="ball"><link name="l0">{shape * 1001}</link></robot>'
    checker = CollisionChecker(load_robot(urdf))
    assert not checker.available
    assert checker.warnings == ('The robot has 1001 collision shapes; up to 1000 are checked.',)


def test_names_of_a_million_characters_are_cut_in_every_refusal():
    name = 'x' * 1_000_000
    broken = [
        f'<robot name="r"><link name="{name}"/><link name="{name}"/></robot>',
        f'<robot name="r"><link name="{name}"/><link name="{name}y"/></robot>',
        f'<robot name="r"><link name="a"/><joint name="{name}" type="{name}"/></robot>',
        f'<{name}/>',
        f'<robot name="r"><link name="a"/><joint name="j" type="fixed"><parent link="{name}"/>'
        '<child link="a"/></joint></robot>',
        f'<robot name="r"><link name="a"/><joint name="j" type="fixed"><origin xyz="{name}"/>'
        '<parent link="a"/><child link="a"/></joint></robot>',
    ]
    for text in broken:
        with pytest.raises(SsikError) as refused:
            load_robot(text)
        assert len(str(refused.value)) < 2_000
