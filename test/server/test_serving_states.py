"""States from names: requests strictly, live values leniently, against rules written another way."""

from array import array
from concurrent.futures import ThreadPoolExecutor
import gc
import itertools
import math
import weakref

from test.server.served_robots import (
    inner_multi_robot,
    mimic_rules,
    mobile_robot,
    pose_of,
    random_full_state,
    random_positions,
    random_rigid,
    standing_robot,
    torso_robot,
    TreeRobot,
    WatchedName,
)
from test.tree_factory import Joint, make_tree, random_tree

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.model.kinematic_tree import JointKind, POSITION_SIZE
from ssik_ros.server.requests.ik_requests import StateGiven
from ssik_ros.server.requests.refusals import Refusal, RequestRefused
from ssik_ros.server.scene.states import CACHED_NAME_LISTS, StateReader

LEADER, FOLLOWER = 'panda_finger_joint1', 'panda_finger_joint2'
VALUES = st.floats(-3.0, 3.0)


def merged(reader, names=(), values=(), multi=(), poses=(), current=None):
    """Return the state after a merge with the default or another state."""
    start = reader.default() if current is None else current
    return reader.merge(start, StateGiven(names, values, multi, poses))


def by_name(robot, positions):
    """Return the values of a full state by variable name."""
    return dict(zip(robot.variable_names, positions.tolist(), strict=True))


def expected_values(robot, start, names, values):
    """Return values by variable name after a merge, by the rules of the XML and one assignment at a time."""
    rules = mimic_rules(robot)
    result = by_name(robot, start)
    last = dict(zip(names, values, strict=True))
    for name, value in last.items():
        if name not in rules:
            result[name] = value
        elif rules[name][0] not in last:
            leader, multiplier, offset = rules[name]
            result[leader] = (value - offset) / multiplier
    for name, (leader, multiplier, offset) in rules.items():
        result[name] = multiplier * result[leader] + offset
    return result


def refusal_of(reader, *arguments, **more):
    """Return the refusal of a merge."""
    with pytest.raises(RequestRefused) as caught:
        merged(reader, *arguments, **more)
    assert caught.value.refusal is Refusal.BAD_STATE
    return str(caught.value)


@pytest.fixture(scope='module')
def panda(robots):
    return robots['panda']


@pytest.fixture(scope='module')
def panda_reader(panda):
    return StateReader(panda)


# Joints with one variable


@settings(max_examples=60)
@given(data=st.data())
def test_named_joints_get_their_last_value_and_the_others_stay(panda, panda_reader, data):
    names = data.draw(st.lists(st.sampled_from(panda.variable_names), max_size=14))
    values = [data.draw(VALUES) for _ in names]
    start = panda_reader.default()._replace(
        positions=random_positions(panda, np.random.default_rng(len(names)))
    )
    state = merged(panda_reader, names, values, current=start)
    expected = expected_values(panda, start.positions, names, values)
    assert by_name(panda, state.positions) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=30)
@given(order=st.permutations(range(9)))
def test_the_order_of_names_does_not_matter(panda, panda_reader, order):
    names, values = panda.variable_names, np.linspace(-1.0, 1.0, 9)
    straight = merged(panda_reader, names, values)
    mixed = merged(panda_reader, [names[i] for i in order], values[order])
    assert mixed.positions.tobytes() == straight.positions.tobytes()


def test_a_follower_alone_moves_its_leader(panda, panda_reader):
    state = by_name(panda, merged(panda_reader, [FOLLOWER], [0.02]).positions)
    assert state[LEADER] == state[FOLLOWER] == 0.02


@pytest.mark.parametrize('names', [(LEADER, FOLLOWER), (FOLLOWER, LEADER)])
def test_a_leader_wins_over_its_follower(panda, panda_reader, names):
    given_values = [{LEADER: 0.01, FOLLOWER: 0.03}[name] for name in names]
    state = by_name(panda, merged(panda_reader, names, given_values).positions)
    assert state[LEADER] == state[FOLLOWER] == 0.01


def test_a_repeated_name_keeps_its_last_value(panda, panda_reader):
    names = ('panda_joint1', 'panda_joint2', 'panda_joint1')
    state = by_name(panda, merged(panda_reader, names, (0.1, 0.2, 0.3)).positions)
    assert (state['panda_joint1'], state['panda_joint2']) == (0.3, 0.2)


@pytest.mark.parametrize('seed', range(12))
def test_followers_of_random_trees_agree_with_their_leaders(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, count=9 if seed % 2 else 30, mimic=0.6)
    robot = TreeRobot(tree)
    reader = StateReader(robot)
    names = [n for n in robot.variable_names if '/' not in n and rng.random() < 0.6]
    state = merged(reader, names, rng.uniform(-2.0, 2.0, len(names)))
    for joint in np.flatnonzero(tree.leaders >= 0):
        expected = (
            tree.multipliers[joint] * state.positions[tree.idx_q[tree.leaders[joint]]]
            + tree.offsets[joint]
        )
        assert state.positions[tree.idx_q[joint]] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize('multiplier', [-2.0, -1.0, 0.25, 3.0])
def test_a_follower_alone_gets_its_value_whatever_the_gear(multiplier):
    gear = {'leader': 'a', 'multiplier': multiplier, 'offset': 0.3}
    robot = TreeRobot(make_tree(Joint('a'), Joint('b', parent='a', **gear)))
    state = merged(StateReader(robot), ['b'], [0.9])
    assert state.positions == pytest.approx([(0.9 - 0.3) / multiplier, 0.9], abs=1e-15)


def test_a_follower_that_its_leader_cannot_move_keeps_its_value():
    robot = TreeRobot(
        make_tree(Joint('a'), Joint('still', parent='a', leader='a', multiplier=0.0, offset=0.3))
    )
    reader = StateReader(robot)
    state = merged(reader, ['a', 'still'], [0.5, 2.0])
    assert state.positions.tolist() == [0.5, 0.3]
    assert merged(reader, ['still'], [2.0]).positions.tolist() == [0.0, 0.3]


def test_nothing_given_is_the_current_state(panda_reader):
    current = panda_reader.default()
    assert merged(panda_reader, current=current) is current


# Errors of a state


def test_an_unknown_joint_is_refused_with_the_nearest_name(panda_reader):
    text = refusal_of(panda_reader, ['panda_joint1', 'panda_jiont3'], [0.0, 0.0])
    assert "'panda_jiont3'" in text and "Did you mean 'panda_joint3'?" in text


def test_a_fixed_joint_is_named_as_fixed(panda_reader):
    assert 'fixed' in refusal_of(panda_reader, ['panda_joint8'], [0.0])
    assert 'fixed' in refusal_of(panda_reader, multi=['panda_joint8'], poses=[np.eye(4)])


def test_a_joint_with_several_variables_takes_no_single_value():
    assert 'several variables' in refusal_of(StateReader(mobile_robot('planar')), ['base'], [1.0])


def test_a_joint_with_one_variable_takes_no_transform(panda_reader):
    text = refusal_of(panda_reader, multi=['panda_joint1'], poses=[np.eye(4)])
    assert 'panda_joint1' in text


@pytest.mark.parametrize(
    ('names', 'values'), [(['panda_joint1'], []), ([], [0.1]), (['a'], [1, 2])]
)
def test_other_numbers_of_names_and_values_are_refused(panda_reader, names, values):
    text = refusal_of(panda_reader, names, values)
    assert str(len(names)) in text and str(len(values)) in text


@pytest.mark.parametrize(('names', 'poses'), [(['virtual_joint'], []), ([], [np.eye(4)])])
def test_other_numbers_of_joints_and_transforms_are_refused(panda_reader, names, poses):
    refusal_of(panda_reader, multi=names, poses=poses)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_refused_by_name(panda_reader, bad):
    text = refusal_of(panda_reader, ['panda_joint1', 'panda_joint4'], [0.0, bad])
    assert 'panda_joint4' in text and 'panda_joint1' not in text
    pose = np.eye(4)
    pose[1, 3] = bad
    assert 'virtual_joint' in refusal_of(panda_reader, multi=['virtual_joint'], poses=[pose])


def test_a_refused_state_leaves_the_current_one_alone(panda_reader):
    current = panda_reader.default()
    before = current.positions.tobytes()
    refusal_of(panda_reader, ['panda_joint1', 'nobody'], [1.0, 1.0], current=current)
    assert current.positions.tobytes() == before


# Joints with several variables


@pytest.mark.parametrize('seed', range(5))
def test_a_floating_joint_takes_a_transform_or_its_variables(seed):
    robot, rng = inner_multi_robot(), np.random.default_rng(seed)
    reader, pose = StateReader(robot), random_rigid(rng)
    state = merged(reader, multi=['loose'], poses=[pose])
    values = by_name(robot, state.positions)
    place = [values[f'loose/trans_{axis}'] for axis in 'xyz']
    turn = Rotation.from_quat([values[f'loose/rot_{axis}'] for axis in 'xyzw'])
    assert place == pytest.approx(pose[:3, 3].tolist(), abs=1e-15)
    assert turn.as_matrix() == pytest.approx(pose[:3, :3], abs=1e-12)
    names = [name for name in robot.variable_names if name.startswith('loose/')]
    again = merged(reader, names, [values[name] for name in names])
    assert again.positions.tobytes() == state.positions.tobytes()


@pytest.mark.parametrize('yaw', [-3.1, -1.0, 0.0, 0.5, math.pi / 2, 3.1])
def test_a_planar_joint_takes_place_and_turn_about_z(yaw):
    robot = inner_multi_robot()
    state = merged(StateReader(robot), multi=['slide'], poses=[pose_of((1, 2, 0), (0, 0, yaw))])
    values = by_name(robot, state.positions)
    assert [values[f'slide/{n}'] for n in ('x', 'y', 'theta')] == pytest.approx([1, 2, yaw])


def test_a_planar_joint_leaves_the_rest_of_a_transform_out():
    robot = inner_multi_robot()
    tilted = pose_of((1, 2, 3))
    tilted[:3, :3] = Rotation.from_euler('ZYX', [0.4, 0.3, 0.2]).as_matrix()
    values = by_name(robot, merged(StateReader(robot), multi=['slide'], poses=[tilted]).positions)
    assert [values[f'slide/{n}'] for n in ('x', 'y', 'theta')] == pytest.approx([1, 2, 0.4])


def test_a_spherical_joint_takes_the_rotation():
    tree = make_tree(Joint('hip', JointKind.SPHERICAL), Joint('knee', parent='hip'))
    pose = random_rigid(np.random.default_rng(4))
    state = merged(StateReader(TreeRobot(tree)), multi=['hip'], poses=[pose])
    turn = Rotation.from_quat(state.positions[:4]).as_matrix()
    assert turn == pytest.approx(pose[:3, :3], abs=1e-12)
    assert state.positions[4] == 0.0


@pytest.mark.parametrize('kind', ['planar', 'floating'])
def test_a_virtual_joint_that_a_group_moves_is_a_joint_like_others(kind):
    robot = mobile_robot(kind)
    state = merged(StateReader(robot), multi=['base'], poses=[pose_of((1, 2, 0), (0, 0, 0.3))])
    assert state.root_pose.tolist() == np.eye(4).tolist()
    size = POSITION_SIZE[JointKind[kind.upper()]]
    assert state.positions[:2].tolist() == [1.0, 2.0] and len(state.positions) == size + 4


def test_a_virtual_joint_that_does_not_move_places_the_root_link():
    pose = random_rigid(np.random.default_rng(1))
    reader = StateReader(standing_robot('floating'))
    state = merged(reader, multi=['stand'], poses=[pose])
    assert state.root_pose == pytest.approx(pose, abs=0.0)
    assert state.positions.tobytes() == reader.default().positions.tobytes()


def test_a_planar_virtual_joint_takes_the_part_it_can_have():
    pose = pose_of((1, 2, 3))
    pose[:3, :3] = Rotation.from_euler('ZYX', [0.4, 0.3, 0.2]).as_matrix()
    state = merged(StateReader(standing_robot('planar')), multi=['stand'], poses=[pose])
    assert state.root_pose == pytest.approx(pose_of((1, 2, 0), (0, 0, 0.4)))


def test_a_fixed_virtual_joint_does_not_move():
    reader = StateReader(standing_robot('fixed'))
    assert 'fixed' in refusal_of(reader, multi=['stand'], poses=[pose_of((1, 0, 0))])


@pytest.mark.parametrize('length', [0.0, 1e-200])
def test_a_quaternion_that_cannot_be_normalised_is_refused(length):
    reader = StateReader(mobile_robot('floating'))
    assert 'base' in refusal_of(reader, ['base/rot_w'], [length])
    assert 'base' in refusal_of(reader, ['base/rot_w'], [1e200])
    live = reader.update(reader.default(), ['base/rot_w', 'j1'], [length, 0.5])
    assert live.positions.tobytes() == reader.default().positions.tobytes()


# Live values


def test_live_values_of_other_robots_are_left_out(panda, panda_reader):
    state = panda_reader.update(panda_reader.default(), ['elevator', 'panda_joint2'], [3.0, 0.25])
    assert by_name(panda, state.positions)['panda_joint2'] == 0.25
    assert panda_reader.update(state, ['elevator'], [1.0]) is state


@settings(max_examples=40)
@given(data=st.data())
def test_live_values_that_are_not_finite_are_left_out(panda, panda_reader, data):
    names = data.draw(st.lists(st.sampled_from((*panda.variable_names, 'alien')), max_size=10))
    values = [data.draw(VALUES | st.sampled_from([math.nan, math.inf])) for _ in names]
    good = [(n, v) for n, v in zip(names, values, strict=True) if math.isfinite(v)]
    kept = [(n, v) for n, v in good if n != 'alien']
    state = panda_reader.update(panda_reader.default(), names, values)
    expected = expected_values(
        panda, panda_reader.default().positions, [n for n, _ in kept], [v for _, v in kept]
    )
    assert by_name(panda, state.positions) == pytest.approx(expected, abs=1e-12)


def test_live_values_of_another_number_than_names_are_left_out(panda_reader):
    current = panda_reader.default()
    assert panda_reader.update(current, ['panda_joint1'], []) is current


def test_no_state_shares_its_positions_with_another(panda_reader):
    current = panda_reader.default()
    first = merged(panda_reader, ['panda_joint1'], [0.5], current=current)
    second = panda_reader.update(first, ['panda_joint2'], [0.5])
    third = merged(panda_reader, multi=['virtual_joint'], poses=[np.eye(4)], current=second)
    states = [current, first, second, third]
    for a in range(4):
        for b in range(a):
            assert not np.shares_memory(states[a].positions, states[b].positions)


@pytest.mark.parametrize('joint', ['loose', 'slide'])
def test_a_transform_changes_the_new_state_only(joint):
    reader = StateReader(inner_multi_robot())
    current = reader.default()
    before = current.positions.tobytes()
    state = merged(reader, multi=[joint], poses=[pose_of((1, 2, 3))], current=current)
    assert current.positions.tobytes() == before != state.positions.tobytes()


# The memory of name lists


def test_the_memory_of_name_lists_is_bounded(panda, panda_reader):
    reader, kept = StateReader(panda), weakref.WeakSet()
    for count in range(5 * CACHED_NAME_LISTS):
        name = WatchedName(f'other_{count}')
        kept.add(name)
        reader.update(reader.default(), ['panda_joint1', name], [0.1, 0.2])
    del name
    gc.collect()
    assert 0 < len(kept) <= CACHED_NAME_LISTS


@settings(max_examples=40)
@given(data=st.data())
def test_remembered_lists_are_never_mixed(panda, data):
    warm, names = StateReader(panda), st.lists(st.sampled_from(panda.variable_names), max_size=4)
    lists = data.draw(st.lists(names, min_size=2, max_size=6))
    for chosen in lists * 2:
        values = np.linspace(0.1, 0.9, len(chosen))
        fresh = StateReader(panda)
        assert (
            merged(warm, chosen, values).positions.tobytes()
            == merged(fresh, chosen, values).positions.tobytes()
        )


def test_lists_of_the_same_names_in_another_order_are_other_lists(panda):
    reader = StateReader(panda)
    names = ('panda_joint1', 'panda_joint2', 'panda_joint3')
    for order in [*itertools.permutations(names), *itertools.permutations(names)]:
        values = by_name(panda, merged(reader, order, (0.1, 0.2, 0.3)).positions)
        assert [values[name] for name in order] == [0.1, 0.2, 0.3]


def test_threads_get_the_results_of_one_thread():
    robot = torso_robot()
    reader, rng = StateReader(robot), np.random.default_rng(8)
    names = [rng.permutation(robot.variable_names).tolist()[: 1 + i % 14] for i in range(400)]
    values = [rng.uniform(-1.0, 1.0, len(n)) for n in names]
    start = random_full_state(robot, rng)
    alone = [StateReader(robot).merge(start, StateGiven(*pair)) for pair in zip(names, values)]
    with ThreadPoolExecutor(8) as pool:
        together = list(
            pool.map(lambda n, v: reader.merge(start, StateGiven(n, v)), names, values)
        )
    assert all(
        a.positions.tobytes() == b.positions.tobytes()
        for a, b in zip(alone, together, strict=True)
    )


@pytest.mark.parametrize('frame, refused', [('', False), ('world', False), ('map', True)])
def test_transforms_of_joints_are_in_the_model_frame_or_refused(robots, frame, refused):
    reader = StateReader(robots['panda'])
    pose = np.eye(4)
    given = StateGiven(
        multi_dof_names=['virtual_joint'], multi_dof_poses=[pose], multi_dof_frame=frame
    )
    if refused:
        with pytest.raises(RequestRefused, match="'map'") as caught:
            reader.merge(reader.default(), given)
        assert caught.value.refusal is Refusal.BAD_STATE
    else:
        assert (reader.merge(reader.default(), given).root_pose == pose).all()


@pytest.mark.parametrize('values', [[], [1.5], [1.5, -2.0, 3.0]])
def test_numbers_of_any_container_are_the_same_state(robots, values):
    reader = StateReader(robots['panda'])
    names = robots['panda'].variable_names[: len(values)]
    for given_values in (values, array('d', values), array('f', values), np.array(values)):
        merged = reader.merge(reader.default(), StateGiven(names, given_values))
        assert merged.positions.dtype == np.float64
        assert merged.positions[: len(values)].tolist() == values
