"""SRDF: its content, its errors, and the groups that follow from it."""

from test.model.small_robots import joint, robot, TWO_ARMS, TWO_ARMS_SRDF

import numpy as np
import pytest

from ssik_ros.errors import FrameNotFound, GroupNotFound, ModelError
from ssik_ros.model.loader import load_robot


@pytest.fixture(scope='module')
def two_arms():
    """Return the two-armed robot."""
    return load_robot(TWO_ARMS, TWO_ARMS_SRDF)


def with_srdf(inside):
    """Return the two-armed robot with another semantic description."""
    return load_robot(TWO_ARMS, f'<robot name="two_arms">{inside}</robot>')


def test_a_chain_group_runs_from_base_to_tip(two_arms):
    group = two_arms.group('left')
    assert group.joint_names == ('left_1', 'left_2')
    assert group.all_joint_names == ('left_1', 'left_2', 'left_tool')
    assert (group.base_link, group.tips, group.is_chain) == ('b', ('e',), True)
    assert group.link_names == ('c', 'd', 'e')


def test_joints_of_a_group_come_in_model_order_whatever_the_file_says(two_arms):
    group = two_arms.group('right')
    assert group.joint_names == ('right_1', 'right_2')
    assert (group.base_link, group.tip, group.is_chain) == ('b', 'h', True)


def test_a_group_knows_where_its_variables_are_in_a_full_state(two_arms):
    names = two_arms.variable_names
    assert [names[i] for i in two_arms.group('right').idx_q] == ['right_1', 'right_2']


def test_subgroups_may_be_declared_after_their_use(two_arms):
    group = two_arms.group('all')
    assert group.joint_names == ('torso', 'left_1', 'left_2', 'right_1', 'right_2')
    assert group.subgroups == ('both',)


def test_a_branching_group_has_the_leaves_of_its_links_as_tips(two_arms):
    group = two_arms.group('both')
    assert group.tips == ('e', 'h')
    assert not group.is_chain
    assert group.base_link == 'b'


def test_a_branching_group_has_no_single_tip(two_arms):
    with pytest.raises(ModelError, match='2 tips'):
        _ = two_arms.group('both').tip


def test_followers_are_no_variables_of_a_group(two_arms):
    group = two_arms.group('hand')
    assert group.joint_names == ('grip',)
    assert group.mimic_joint_names == ('grip_mirror',)
    assert group.base_link == 'h'


def test_an_arm_with_its_hand_ends_where_the_hand_is_mounted(two_arms):
    assert two_arms.group('right_hand').tips == ('h',)


def test_a_chain_across_the_torso_has_the_joints_of_both_sides(two_arms):
    group = two_arms.group('across')
    assert group.joint_names == ('torso', 'left_1', 'left_2', 'right_1', 'right_2')
    assert not group.is_chain


PARENTS = dict(zip('bcdefghij', 'abcdbfghh', strict=True))
"""The link above each link of the two-armed robot; `a` is the root."""


def lineage(link):
    """Return a link of the two-armed robot and all links above it, the nearest first."""
    return [link] if link == 'a' else [link, *lineage(PARENTS[link])]


def moveit_chain(base, tip):
    """Return the links below the joints of a chain as MoveIt finds them; its root has a joint above it, too."""
    if base in lineage(tip):
        return set(lineage(tip)) - set(lineage(base))
    common = next(link for link in lineage(base) if link in lineage(tip))
    return set(lineage(base)) ^ set(lineage(tip)) | {common}


@pytest.mark.parametrize('base', 'abcdefghij')
def test_a_chain_between_any_two_links_has_the_joints_that_moveit_finds(base):
    tips = [tip for tip in 'abcdefghij' if tip != base]
    groups = with_srdf(
        ''.join(
            f'<group name="{tip}"><chain base_link="{base}" tip_link="{tip}"/></group>'
            for tip in tips
        )
    )
    assert {tip: set(groups.group(tip).link_names) for tip in tips} == {
        tip: moveit_chain(base, tip) for tip in tips
    }


def test_a_group_of_fixed_joints_has_no_variables(two_arms):
    group = two_arms.group('mount')
    assert group.variable_count == 0
    assert not group.is_chain
    assert group.tips == ('e',)


SIDE_LINKS = robot(
    joint('i', 'revolute', 'a', 'b'),
    joint('j', 'revolute', 'b', 'c'),
    joint('camera', 'fixed', 'b', 'd', limit=''),
    joint('flange', 'fixed', 'c', 'e', limit=''),
    joint('tool', 'fixed', 'c', 'f', limit=''),
    joint('zone', 'fixed', 'a', 'g', limit=''),
)
ALL_LINKS = ''.join(f'<link name="{link}"/>' for link in 'abcdefg')


def test_links_fixed_beside_a_chain_do_not_make_branches():
    model = load_robot(SIDE_LINKS, f'<robot name="r"><group name="g">{ALL_LINKS}</group></robot>')
    assert model.group('g').is_chain
    assert model.group('g').tips == ('f',)


def test_a_gap_in_the_joints_breaks_a_chain():
    group = with_srdf('<group name="g"><joint name="torso"/><joint name="left_2"/></group>').group(
        'g'
    )
    assert not group.is_chain
    assert group.tips == ('d',)


def test_the_root_link_may_belong_to_a_group():
    group = with_srdf('<group name="g"><link name="a"/><joint name="torso"/></group>').group('g')
    assert group.link_names == ('a', 'b')
    assert group.base_link == 'a'


def test_limits_of_a_group_are_those_of_its_variables(two_arms):
    group = two_arms.group('hand')
    assert (group.lower.tolist(), group.upper.tolist()) == ([0.0], [0.04])


def test_arrays_of_a_group_are_read_only(two_arms):
    with pytest.raises(ValueError, match='read-only'):
        two_arms.group('left').lower[0] = 0.0


def test_an_unknown_group_is_an_error_with_the_nearest_name(two_arms):
    with pytest.raises(GroupNotFound, match="Did you mean 'left'"):
        two_arms.group('leftt')


def test_a_named_state_has_its_values_and_defaults_elsewhere(two_arms):
    np.testing.assert_array_equal(two_arms.named_state('left', 'up'), [0.5, 0.0])


def test_an_unknown_state_is_an_error_with_the_known_ones(two_arms):
    with pytest.raises(ModelError, match="'up'"):
        two_arms.named_state('left', 'upp')


def test_end_effectors_are_kept(two_arms):
    (effector,) = two_arms.end_effectors
    assert (effector.name, effector.parent_link, effector.group) == ('gripper', 'h', 'hand')


GOOD = '<group name="ok"><chain base_link="b" tip_link="e"/></group>'
G = '<group name="g"><link name="b"/></group>'
FAULTS = {
    'an unknown joint in a group': (
        '<group name="g"><joint name="torzo"/><joint name="torso"/></group>',
        "<joint> names the unknown joint 'torzo' and is left out. Did you mean 'torso'?",
        lambda r: r.group('g').joint_names == ('torso',),
    ),
    'an unknown link in a group': (
        '<group name="g"><link name="zz"/><link name="b"/></group>',
        "unknown link 'zz'",
        lambda r: r.group('g').joint_names == ('torso',),
    ),
    'a chain to an unknown tip': (
        '<group name="g"><chain base_link="a" tip_link="zz"/><link name="b"/></group>',
        "unknown link 'zz'",
        lambda r: r.group('g').joint_names == ('torso',),
    ),
    'a chain without a base': (
        '<group name="g"><chain tip_link="e"/></group>',
        "<chain> without 'base_link'",
        lambda r: 'g' not in r.groups,
    ),
    'an unknown subgroup': (
        '<group name="g"><group name="h"/></group>',
        "Group 'g' is left out: it names the unknown group 'h'",
        lambda r: 'g' not in r.groups,
    ),
    'a group in itself': (
        '<group name="g"><group name="h"/></group><group name="h"><group name="g"/></group>',
        "Group 'h' is left out: it contains 'g'",
        lambda r: {'g', 'h'}.isdisjoint(r.groups),
    ),
    'a group twice': (
        G + '<group name="g"><link name="c"/></group>',
        "Group 'g' is declared twice; the one of line 2 counts",
        lambda r: r.group('g').joint_names == ('torso',),
    ),
    'a group without a name': ('<group><link name="b"/></group>', "<group> without 'name'", None),
    'a state of an unknown group': (
        '<group_state name="s" group="h"/>',
        "<group_state> names the unknown group 'h'",
        lambda r: r.srdf.states == (),
    ),
    'a state of an unknown joint': (
        G + '<group_state name="s" group="g"><joint name="torzo" value="1"/></group_state>',
        "unknown joint 'torzo'",
        lambda r: r.named_state('g', 's') == [0.0],
    ),
    'a state that is not a number': (
        G + '<group_state name="s" group="g"><joint name="torso" value="high"/></group_state>',
        "State 's' is read without joint 'torso'",
        lambda r: r.named_state('g', 's') == [0.0],
    ),
    'a state with too many values': (
        G + '<group_state name="s" group="g"><joint name="torso" value="1 2"/></group_state>',
        '2 values instead of 1',
        lambda r: r.named_state('g', 's') == [0.0],
    ),
    'a state twice': (
        G
        + '<group_state name="s" group="g"><joint name="torso" value="0.1"/></group_state>'
        + '<group_state name="s" group="g"><joint name="torso" value="0.2"/></group_state>',
        'this one counts',
        lambda r: r.named_state('g', 's') == [0.2],
    ),
    'an end effector on an unknown link': (
        G + '<end_effector name="x" group="g" parent_link="zz"/>',
        "<end_effector> names the unknown link 'zz'",
        lambda r: r.end_effectors == (),
    ),
    'an end effector of an unknown group': (
        '<end_effector name="x" group="hand" parent_link="e"/>',
        "<end_effector> names the unknown group 'hand'",
        lambda r: r.end_effectors == (),
    ),
    'an end effector below an unknown group': (
        G + '<end_effector name="x" group="g" parent_link="e" parent_group="arm"/>',
        "unknown parent group 'arm'",
        lambda r: r.end_effectors[0].parent_group == '',
    ),
    'a virtual joint without a name': (
        '<virtual_joint type="fixed" parent_frame="w" child_link="a"/>',
        "<virtual_joint> without 'name'",
        lambda r: r.virtual_joints == (),
    ),
    'a virtual joint of an unknown type': (
        '<virtual_joint name="v" type="plane" parent_frame="w" child_link="a"/>',
        "unknown type 'plane' and is read as fixed. Did you mean 'planar'?",
        lambda r: r.virtual_joints[0].type == 'fixed',
    ),
    'a virtual joint to an unknown link': (
        '<virtual_joint name="v" type="fixed" parent_frame="w" child_link="zz"/>',
        "unknown link 'zz'",
        lambda r: r.virtual_joints == (),
    ),
    'an unknown passive joint': (
        '<passive_joint name="torzo"/>',
        "unknown joint 'torzo'",
        lambda r: r.srdf.passive_joints == (),
    ),
    'a pair of one link': (
        '<disable_collisions link1="a"/>',
        "<disable_collisions> without 'link2'",
        lambda r: r.srdf.disabled_collisions == (),
    ),
}


@pytest.mark.parametrize('case', FAULTS)
def test_a_fault_that_moveit_accepts_is_a_warning_with_file_and_line(case, tmp_path):
    inside, message, holds = FAULTS[case]
    path = tmp_path / 'made.srdf'
    path.write_text(f'<robot name="two_arms">{GOOD}\n{inside}</robot>')
    model = load_robot(TWO_ARMS, path)
    assert any(w.startswith(f'{path}:2: ') and message in w for w in model.warnings)
    assert model.group('ok').joint_names == ('left_1', 'left_2')
    assert holds is None or holds(model)


def test_the_type_of_a_virtual_joint_may_be_written_in_capitals():
    model = with_srdf('<virtual_joint name="v" type="Planar" parent_frame="w" child_link="a"/>')
    assert (model.virtual_joints[0].type, model.warnings) == ('planar', ())


def test_another_root_element_is_refused():
    with pytest.raises(ModelError, match='<srdf>'):
        load_robot(TWO_ARMS, '<srdf/>')


def test_a_group_of_groups_that_are_left_out_is_left_out_too():
    """The semantic description of another robot names no group of this one, so that nothing is served."""
    loaded = load_robot('<robot name="other"><link name="l"/></robot>', TWO_ARMS_SRDF)
    assert not loaded.groups


def test_an_empty_group_is_left_out_and_said():
    model = with_srdf(
        '<group name="g"/><group name="h"><group name="g"/><joint name="torso"/></group>'
    )
    assert list(model.groups) == ['h']
    assert "'g'" in model.warnings[0]


def test_collisions_of_links_that_are_gone_are_left_out_and_said():
    model = with_srdf('<disable_collisions link1="a" link2="zz" reason="Never"/>')
    assert model.srdf.disabled_collisions == ()
    assert "'zz'" in model.warnings[0]


def test_disabled_collisions_are_kept_with_their_reasons():
    model = with_srdf('<disable_collisions link1="a" link2="b" reason="Adjacent"/>')
    (pair,) = model.srdf.disabled_collisions
    assert (pair.link1, pair.link2, pair.reason) == ('a', 'b', 'Adjacent')


def test_a_description_of_another_robot_is_said():
    assert 'other' in load_robot(TWO_ARMS, '<robot name="other"/>').warnings[0]


def test_a_passive_joint_may_stand_inside_a_group():
    model = with_srdf('<group name="g"><link name="b"/><passive_joint name="grip"/></group>')
    assert model.srdf.passive_joints == ('grip',)


def test_a_robot_without_semantic_description_has_no_groups():
    assert dict(load_robot(TWO_ARMS).groups) == {}


VIRTUAL = '<virtual_joint name="v" type="{}" parent_frame="world" child_link="{}"/>'


@pytest.mark.parametrize(
    ('kind', 'child', 'frame'),
    [
        ('fixed', 'a', 'a'),
        ('floating', 'a', 'world'),
        ('planar', 'a', 'world'),
        ('planar', 'b', 'a'),
    ],
)
def test_the_model_frame_is_where_a_moving_virtual_joint_hangs(kind, child, frame):
    assert with_srdf(VIRTUAL.format(kind, child)).model_frame == frame


def test_a_virtual_joint_that_no_group_moves_is_no_variable():
    model = with_srdf(VIRTUAL.format('floating', 'a'))
    assert model.tree.root_link == 'a'
    assert 'v' not in model.tree.joint_names


MOBILE = VIRTUAL.format('planar', 'a') + (
    '<group name="base"><joint name="v"/></group>'
    '<group name="mobile"><group name="base"/><chain base_link="a" tip_link="e"/></group>'
)


def test_a_virtual_joint_that_a_group_moves_is_a_joint_of_the_tree():
    model = with_srdf(MOBILE)
    assert model.tree.root_link == model.model_frame == 'world'
    assert model.group('mobile').variable_names[:4] == ('v/x', 'v/y', 'v/theta', 'torso')
    assert model.group('mobile').tips == ('e',)
    assert model.group('base').base_link == 'world'


def test_a_mobile_base_carries_the_whole_robot():
    model = with_srdf(MOBILE)
    assert model.rigid_offset('world', 'a') is None


def test_a_mobile_base_that_reuses_a_link_s_name_does_not_move():
    model = with_srdf(MOBILE.replace('"world"', '"c"'))
    assert model.tree.root_link == 'a'
    assert "'v' from 'c' does not move" in model.warnings[0]


def test_variables_of_a_mobile_base_may_get_limits_by_name():
    limits = {
        'joint_limits': {
            'v/x': {'has_position_limits': True, 'min_position': -5, 'max_position': 5}
        }
    }
    model = load_robot(TWO_ARMS, f'<robot name="two_arms">{MOBILE}</robot>', limits)
    assert (model.tree.lower[0], model.tree.upper[0]) == (-5.0, 5.0)
    assert np.isinf(model.tree.upper[1])


def test_links_make_a_group_without_semantic_description():
    group = load_robot(TWO_ARMS).group_from_links('b', 'e')
    assert group.joint_names == ('left_1', 'left_2')
    assert (group.name, group.base_link, group.tip, group.is_chain) == ('b-e', 'b', 'e', True)


@pytest.mark.parametrize('ends', [('zz', 'e'), ('b', 'zz')])
def test_a_group_between_unknown_links_is_an_error(ends):
    with pytest.raises(FrameNotFound, match="'zz'"):
        load_robot(TWO_ARMS).group_from_links(*ends)


@pytest.mark.parametrize(
    ('base', 'tip', 'message'),
    [
        ('e', 'b', 'swapped'),
        ('e', 'h', 'not below'),
        ('d', 'e', 'No joint moves'),
        ('b', 'b', 'moves'),
    ],
)
def test_a_group_between_links_without_a_chain_is_an_error(base, tip, message):
    with pytest.raises(ModelError, match=message):
        load_robot(TWO_ARMS).group_from_links(base, tip)


def test_a_fixed_joint_in_the_middle_does_not_break_a_chain():
    text = robot(
        joint('j', 'revolute', 'a', 'b'),
        joint('k', 'fixed', 'b', 'c'),
        joint('l', 'revolute', 'c', 'd'),
    )
    group = load_robot(text).group_from_links('a', 'd')
    assert group.is_chain
    assert group.joint_names == ('j', 'l')
