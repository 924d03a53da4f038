"""Every error of a robot description is reported by name and line, and has no other effect."""

import contextlib
import re

from test.model.small_robots import joint, robot, TWO_ARMS, TWO_ARMS_SRDF

from hypothesis import given, settings, strategies as st
import pytest

from ssik_ros.errors import DescriptionNotFound, InvalidLimits, ModelError, SsikError
from ssik_ros.model.loader import load_robot

BILLION_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    '<robot name="&b;"><link name="a"/></robot>'
)
EXTERNAL_ENTITY = (
    '<!DOCTYPE r [<!ENTITY x SYSTEM "secret.txt">]><robot name="&x;"><link name="a"/></robot>'
)
BROKEN = {
    'a document type with nested entities': (BILLION_LAUGHS, 'DOCTYPE'),
    'an external entity': (EXTERNAL_ENTITY, 'DOCTYPE'),
    'text that is not XML': ('<robot name="r"><link name="a"></robot>', 'line 1'),
    'elements a thousand deep': (
        '<robot name="r">' + 1000 * '<a>' + 1000 * '</a>' + '</robot>',
        'The robot description nests elements more than 100 deep (line 1)',
    ),
    'an undefined entity': ('<robot name="&b;"><link name="a"/></robot>', 'undefined entity'),
    'another root element': ('<sdf><model/></sdf>', '<sdf>'),
    'no name': ('<robot><link name="a"/></robot>', "no 'name'"),
    'no links': ('<robot name="r"/>', 'no links'),
    'a link without a name': ('<robot name="r"><link/></robot>', "<link> has no 'name'"),
    'xacro that nobody expanded': ('<robot name="r"><xacro:arm/></robot>', 'xacro'),
    'a link twice': (robot(links='aa'), "Link 'a' is declared twice"),
    'an origin that is no length': (
        robot(joint('j', 'fixed', 'a', 'b', '<origin xyz="1e300 0 0"/>')),
        "<origin xyz='1e300 0 0'> is farther away than 1e+12 m (line 2)",
    ),
    'a joint twice': (
        robot(joint('j', 'fixed', 'a', 'b'), joint('j', 'fixed', 'a', 'c')),
        "Joint 'j' is declared twice",
    ),
    'two roots': (robot(links='ab'), '2 root links'),
    'a cycle of all joints': (
        robot(joint('j', 'fixed', 'a', 'b'), joint('k', 'fixed', 'b', 'a')),
        'cycle',
    ),
    'a cycle beside the tree': (
        robot(
            joint('i', 'fixed', 'a', 'b'),
            joint('j', 'fixed', 'c', 'd'),
            joint('k', 'fixed', 'd', 'c'),
        ),
        'cycle',
    ),
    'a link that is its own parent': (robot(joint('j', 'fixed', 'a', 'a')), 'cycle'),
    'a link with two parents': (
        robot(
            joint('i', 'fixed', 'a', 'b'),
            joint('j', 'fixed', 'a', 'c'),
            joint('k', 'fixed', 'b', 'c'),
        ),
        "child of two joints, 'j' and 'k'",
    ),
    'a parent link that is missing': (
        robot(joint('j', 'fixed', 'aaa', 'b'), links=['aab', 'b']),
        "Did you mean 'aab'",
    ),
    'a child link that is missing': (
        robot(joint('j', 'fixed', 'a', 'b'), links='a'),
        "child link 'b'",
    ),
    'no parent': (
        '<robot name="r"><link name="a"/><joint name="j" type="fixed"/></robot>',
        'parent',
    ),
    'an unknown joint type': (robot(joint('j', 'revolut', 'a', 'b')), "Did you mean 'revolute'"),
    'a joint without a type': (robot(joint('j', '', 'a', 'b')), "no 'type'"),
    'an axis of two numbers': (robot(joint('j', 'revolute', 'a', 'b', axis='0 1')), '3 finite'),
    'an axis that is not finite': (
        robot(joint('j', 'revolute', 'a', 'b', axis='0 nan 1')),
        'finite',
    ),
    'an origin that is not finite': (
        robot(joint('j', 'fixed', 'a', 'b', '<origin xyz="0 inf 0"/>')),
        'finite',
    ),
    'an origin that is not a number': (
        robot(joint('j', 'fixed', 'a', 'b', '<origin rpy="0 pi 0"/>')),
        'finite',
    ),
    'two rotations of one origin': (
        robot(joint('j', 'fixed', 'a', 'b', '<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>')),
        'both rpy and quat_xyzw',
    ),
    'a quaternion of another length': (
        robot(joint('j', 'fixed', 'a', 'b', '<origin quat_xyzw="0 0 0 2"/>')),
        'length 1',
    ),
    'a mimic multiplier that is not finite': (
        robot(
            joint('k', 'revolute', 'a', 'b'),
            joint('j', 'revolute', 'b', 'c', '<mimic joint="k" multiplier="inf"/>'),
        ),
        'not finite',
    ),
}
BROKEN_LIMITS = {
    'a limit that is not a number': 'lower="nan" upper="0"',
}


@pytest.mark.parametrize('case', BROKEN)
def test_a_description_is_refused_that_has(case):
    text, message = BROKEN[case]
    with pytest.raises(ModelError) as caught:
        load_robot(text)
    assert message in str(caught.value)


@pytest.mark.parametrize('case', BROKEN_LIMITS)
def test_limits_are_refused_that_have(case):
    with pytest.raises(ModelError, match='line 2'):
        load_robot(robot(joint('j', 'revolute', 'a', 'b', limit=BROKEN_LIMITS[case])))


def test_an_error_names_the_line_where_it_was_made():
    text = '\n\n' + robot(joint('i', 'fixed', 'a', 'b'), joint('j', 'elastic', 'b', 'c'))
    with pytest.raises(ModelError) as caught:
        load_robot(text)
    assert caught.value.line == 5


def test_a_revolute_joint_without_limits_is_refused_by_name():
    with pytest.raises(InvalidLimits, match=r"'j'.*continuous"):
        load_robot(robot(joint('j', 'revolute', 'a', 'b', limit='')))


SAFETY = '<safety_controller soft_lower_limit="{}" soft_upper_limit="{}" k_velocity="1"/>'
FAULTS = {
    'a zero axis': (
        joint('j', 'revolute', 'b', 'c', axis='0 0 0'),
        'read as fixed',
        lambda r: 'j' not in r.tree.joint_index,
    ),
    'a mimic of a joint that does not exist': (
        joint('j', 'revolute', 'b', 'c', '<mimic joint="k"/>'),
        "mimics 'k', which is not a joint",
        lambda r: r.tree.leaders.tolist() == [-1, -1],
    ),
    'a mimic of itself': (
        joint('j', 'revolute', 'b', 'c', '<mimic joint="j"/>'),
        'j -> j',
        lambda r: r.tree.leaders.tolist() == [-1, -1],
    ),
    'a mimic cycle': (
        joint('j', 'revolute', 'b', 'c', '<mimic joint="k"/>')
        + joint('k', 'revolute', 'c', 'd', '<mimic joint="j"/>'),
        'j -> k -> j',
        lambda r: r.tree.leaders[r.tree.joint('k')] == -1,
    ),
    'a planar joint that mimics': (
        joint('j', 'planar', 'b', 'c', '<mimic joint="arm"/>'),
        'cannot mimic',
        lambda r: r.tree.leaders.tolist() == [-1, -1],
    ),
    'lower above upper': (
        joint('j', 'revolute', 'b', 'c', limit='lower="0" upper="-0.8"'),
        'read in the other order',
        lambda r: (r.tree.lower[1], r.tree.upper[1]) == (-0.8, 0.0),
    ),
    'soft limits outside the limits': (
        joint('j', 'revolute', 'b', 'c', SAFETY.format(2, 3)),
        'the <safety_controller> is not used',
        lambda r: (r.tree.lower[1], r.tree.upper[1]) == (-1.0, 1.0),
    ),
    'soft limits of zero': (
        joint('j', 'revolute', 'b', 'c', SAFETY.format(0, 0)),
        'leave no range',
        lambda r: (r.tree.lower[1], r.tree.upper[1]) == (-1.0, 1.0),
    ),
    'a negative velocity limit': (
        joint('j', 'revolute', 'b', 'c').replace('velocity="1"', 'velocity="-2"'),
        'read as 2',
        lambda r: r.tree.velocity[1] == 2.0,
    ),
    'a constraint on a link that does not exist': (
        joint('j', 'revolute', 'b', 'c')
        + '<constraint name="l" type="fixed"><parent link="a"/><child link="tip"/></constraint>',
        "constraint 'l'",
        lambda r: r.constraints == (),
    ),
}


@pytest.mark.parametrize('case', FAULTS)
def test_a_fault_beyond_the_arm_is_a_warning_with_file_and_line(case, tmp_path):
    elements, message, holds = FAULTS[case]
    path = tmp_path / 'made.urdf'
    path.write_text(robot(joint('arm', 'revolute', 'a', 'b'), elements))
    model = load_robot(path)
    assert any(w.startswith(f'{path}:3: ') and message in w for w in model.warnings)
    assert model.group_from_links('a', 'b').joint_names == ('arm',)
    assert holds(model)


def test_two_hyphens_in_a_comment_do_no_harm():
    text = robot(joint('j', 'elastic', 'a', 'b')).replace(
        '<link', '<!-- --- arm\n --- -->\n<link', 1
    )
    with pytest.raises(ModelError, match=r'elastic.*line 4'):
        load_robot(text)


def test_a_document_type_without_entities_does_no_harm():
    text = '<!DOCTYPE robot>' + robot(joint('j', 'revolute', 'a', 'b'))
    assert load_robot(text).tree.joint_names == ('j',)


def test_a_file_that_is_not_in_its_encoding_is_read_and_said(tmp_path):
    path = tmp_path / 'made.urdf'
    text = robot(joint('j', 'revolute', 'a', 'b')).replace(
        '<link', '\n<!-- K\xf6rper -->\n<link', 1
    )
    path.write_bytes(text.encode('latin-1'))
    model = load_robot(path)
    assert model.tree.joint_names == ('j',)
    assert model.warnings[0].startswith(f'{path}:2: The file is not utf-8 text')


def test_a_missing_file_is_an_error_with_its_name():
    with pytest.raises(DescriptionNotFound, match='nowhere'):
        load_robot('nowhere/robot.urdf')


@pytest.mark.parametrize('source', ['', ' ', 'x' * 100_000, 'a\0b'])
def test_text_that_is_no_path_and_no_xml_is_an_error(source):
    with pytest.raises(DescriptionNotFound):
        load_robot(source)


def test_lone_surrogates_are_an_error_of_ours():
    with pytest.raises(SsikError):
        load_robot('<robot name="\udc80"><link name="a"/></robot>')


def test_nothing_is_printed_for_a_broken_description(capfd):
    with pytest.raises(ModelError):
        load_robot(BROKEN['two roots'][0])
    captured = capfd.readouterr()
    assert captured.out + captured.err == ''


def test_nothing_is_printed_for_a_careless_description(capfd):
    visual = '<visual><geometry><mesh filename="package://gone/x.dae"/></geometry></visual>'
    load_robot(
        robot(joint('j', 'revolute', 'a', 'b')).replace(
            '<link name="b"/>', f'<link name="b">{visual}<material name="m"/><inertial/></link>'
        )
    )
    captured = capfd.readouterr()
    assert captured.out + captured.err == ''


def test_names_may_need_escaping_in_xml():
    text = robot(joint('a&amp;&lt;j&quot;', 'revolute', 'a', 'b'))
    assert load_robot(text).tree.joint_names == ('a&<j"',)


def test_links_and_joints_may_share_a_name_even_with_pinocchio_s_own():
    text = robot(joint('universe', 'revolute', 'universe', 'b'), links=['universe', 'b'])
    assert load_robot(text).tree.joint_names == ('universe',)


def test_a_constraint_is_kept_as_data():
    constraint = (
        '<constraint name="loop" type="revolute"><parent link="a"/><child link="b"/>'
        '<parent_origin xyz="1 2 3" rpy="0 0 0.5"/><child_axis xyz="0 1 0"/></constraint>'
    )
    (loop,) = load_robot(robot(joint('j', 'fixed', 'a', 'b'), extra=constraint)).constraints
    assert (loop.name, loop.type, loop.parent, loop.child) == ('loop', 'revolute', 'a', 'b')
    assert loop.parent_xyz == (1.0, 2.0, 3.0)
    assert loop.child_axis == (0.0, 1.0, 0.0)


@settings(deadline=None)
@given(data=st.data())
def test_a_damaged_description_is_read_or_refused_but_never_crashes(data):
    text, semantics = TWO_ARMS, TWO_ARMS_SRDF
    damage = st.sampled_from(['', '"', '<', '/>', 'nan', 'a', '-1', '0', 'left_1', '&amp;', '\0'])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text) - 1))
        length = data.draw(st.integers(0, 12))
        text = text[:start] + data.draw(damage) + text[start + length :]
        start = data.draw(st.integers(0, len(semantics) - 1))
        semantics = semantics[:start] + data.draw(damage) + semantics[start + length :]
    for srdf in (None, semantics):
        with contextlib.suppress(SsikError):
            load_robot(text, srdf)


@settings(deadline=None)
@given(data=st.data())
def test_damaged_values_are_read_or_refused_but_never_crash(data):
    values = sorted(set(re.findall(r'"([^"]*)"', TWO_ARMS)))
    old = data.draw(st.sampled_from(values))
    new = data.draw(
        st.sampled_from([*values, 'nan', 'inf', '-inf', '1e400', '', '0 0', '1_0', '١'])
    )
    with contextlib.suppress(SsikError):
        load_robot(TWO_ARMS.replace(f'"{old}"', f'"{new}"'), TWO_ARMS_SRDF)
