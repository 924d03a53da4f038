"""Robots from URDFs with loops: frames against pinocchio, completed states against closed forms."""

import math
from pathlib import Path

from test.mechanisms.mechanisms import (
    BASE_RADIUS,
    Delta,
    hexagon,
    LEG_OFFSET,
    make_four_bar,
    PLATFORM_RADIUS,
)

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.errors import (
    ConfigError,
    DescriptionNotFound,
    DimensionMismatch,
    FrameNotFound,
    InvalidClosure,
    InvalidOption,
    InvalidTarget,
    JointNotFound,
)
from ssik_ros.mechanisms import (
    DOF,
    from_urdf,
    Goal,
    load_mechanism,
    LoopClosure,
    mechanism_names,
    Solver,
)
from ssik_ros.mechanisms.loop_closures import frame_pose, parse_loop_closures, z_to
from ssik_ros.mechanisms.shipped_mechanisms import mechanism_files
from ssik_ros.model.loader import load_robot

ROBOTS = Path(__file__).resolve().parents[2] / 'config' / 'robots'
PLANAR, FREE = ('x', 'y', 'theta'), ('trans_x', 'trans_y', 'trans_z')
TURNED = ('rot_x', 'rot_y', 'rot_z', 'rot_w')


class PinocchioPoses:
    """Poses of links in the root link, by pinocchio's own reading of a URDF."""

    def __init__(self, urdf):
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()

    def move(self, values):
        """Move to positions by MoveIt's variable names."""
        q = pin.neutral(self.model)
        for joint, name in zip(self.model.joints, self.model.names, strict=True):
            start = joint.idx_q
            if joint.shortname() == 'JointModelPlanar':
                x, y, theta = (values[f'{name}/{v}'] for v in PLANAR)
                q[start : start + 4] = x, y, math.cos(theta), math.sin(theta)
            elif joint.shortname() == 'JointModelFreeFlyer':
                q[start : start + 7] = [values[f'{name}/{v}'] for v in FREE + TURNED]
            elif joint.nq == 2:
                q[start : start + 2] = math.cos(values[name]), math.sin(values[name])
            elif name != 'universe':
                q[start] = values[name]
        pin.framesForwardKinematics(self.model, self.data, q)
        return self

    def __getitem__(self, link):
        return self.data.oMf[self.model.getFrameId(link, pin.FrameType.BODY)].homogeneous


def joint_text(name, kind, parent, child, origin='', rest=''):
    limit = '' if kind in ('fixed', 'floating', 'planar', 'continuous') else LIMIT
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin {origin}/>{rest}{limit}</joint>'
    )


LIMIT = '<limit lower="-2" upper="2" effort="1" velocity="1"/>'
ODD = (
    '<robot name="odd">'
    + ''.join(f'<link name="{n}"/>' for n in ('w', 'a', 'b', 'c', 'd', 'e', 'f', 'tool', 'tip'))
    + joint_text('float', 'floating', 'w', 'a', 'xyz="1 2 3" rpy="0.1 0.2 0.3"')
    + joint_text('plane', 'planar', 'a', 'b', 'rpy="-0.4 1 2"', '<axis xyz="0 0 1"/>')
    + joint_text('down', 'revolute', 'b', 'c', 'xyz="0 0 0.1"', '<axis xyz="0 0 -1"/>')
    + joint_text('tilted', 'continuous', 'c', 'd', 'rpy="0 0 1"', '<axis xyz="1 -2 0.5"/>')
    + joint_text('slide', 'prismatic', 'd', 'e', 'xyz="0.1 0 0"', '<axis xyz="-0.3 0.2 -0.9"/>')
    + joint_text(
        'follower',
        'revolute',
        'e',
        'f',
        'xyz="0.2 0 0"',
        '<axis xyz="0 1 0"/><mimic joint="slide" multiplier="-0.5" offset="0.3"/>',
    )
    + joint_text('mount', 'fixed', 'f', 'tool', 'xyz="0 0.3 0" rpy="1 1 1"')
    + joint_text('end', 'fixed', 'tool', 'tip', 'xyz="0 0 1"')
    + '</robot>'
)
A, B, C, D = make_four_bar().lengths


def finger_text(side, axis, mimic):
    """Return crank, coupler and rocker of a finger, and the pin that was cut, as <constraint>."""
    turn = '<axis xyz="0 0 1"/>'
    return (
        ''.join(f'<link name="{side}_{n}"/>' for n in ('crank', 'coupler', 'rocker'))
        + joint_text(
            f'{side}_drive', 'continuous', f'{side}_base', f'{side}_crank', rest=axis + mimic
        )
        + joint_text(
            f'{side}_knee',
            'continuous',
            f'{side}_crank',
            f'{side}_coupler',
            f'xyz="{A} 0 0"',
            turn,
        )
        + joint_text(
            f'{side}_swing', 'continuous', f'{side}_base', f'{side}_rocker', f'xyz="{D} 0 0"', turn
        )
        + f'<constraint name="{side}_pin" type="revolute"><parent link="{side}_coupler"/>'
        f'<child link="{side}_rocker"/><parent_origin xyz="{B} 0 0"/>'
        f'<child_origin xyz="{C} 0 0"/><parent_axis xyz="0 0 1"/><child_axis xyz="0 0 1"/>'
        '</constraint>'
    )


# The right finger is the left one turned over; its crank counts the other way round.
GRIPPER = (
    '<robot name="gripper">'
    + ''.join(f'<link name="{n}"/>' for n in ('palm', 'left_base', 'right_base'))
    + joint_text('left_mount', 'fixed', 'palm', 'left_base', 'xyz="0 0.05 0"')
    + joint_text('right_mount', 'fixed', 'palm', 'right_base', 'rpy="3.14159265358979 0 0"')
    + finger_text('left', '<axis xyz="0 0 1"/>', '')
    + finger_text(
        'right', '<axis xyz="0 0 -1"/>', '<mimic joint="left_drive" multiplier="-1" offset="0"/>'
    )
    + '</robot>'
)
OPEN = {
    f'{side}_{name}': v
    for side in ('left', 'right')
    for name, v in (('knee', 0.6), ('swing', 1.4))
}


def test_followers_go_with_their_leaders_in_a_solve():
    robot = from_urdf(ODD, free_root=False)
    goal = Goal('goal')
    goal.make_closure(robot.links['tip'])
    goal.set_position(1.5, 2.5, 3.5)
    before = robot.positions
    (result,) = Solver(robot.root).solve()
    assert result.converged
    state = dict(zip(*robot.to_joint_state(), strict=True))
    assert abs(state['slide'] - before[robot.variable_names.index('slide')]) > 1e-3
    assert state['follower'] == pytest.approx(0.3 - 0.5 * state['slide'], abs=1e-15)
    expected = PinocchioPoses(ODD).move(state)['tip']
    assert np.abs(robot.links['tip'].matrix_world - expected).max() < 1e-12
    assert np.abs(goal.matrix_world - expected).max() < 2e-6


@pytest.fixture
def gripper():
    robot = from_urdf(GRIPPER, free_root=False)
    robot.from_joint_state(OPEN.keys(), OPEN.values())
    robot.completion.translation_converge_threshold = 1e-11
    robot.completion.rotation_converge_threshold = 1e-11
    return robot


def draw_state(robot, rng):
    """Return random positions within limits, by variable."""
    model = robot.model
    lower, upper = np.maximum(model.tree.lower, -2.0), np.minimum(model.tree.upper, 2.0)
    values = model.with_mimic(rng.uniform(lower, upper))
    for k, name in enumerate(robot.variable_names):
        if name.endswith('rot_x'):
            # Both signs are one orientation; it comes back with this one.
            values[k : k + 4] /= np.copysign(np.linalg.norm(values[k : k + 4]), values[k + 3])
    return dict(zip(robot.variable_names, values, strict=True))


@pytest.mark.parametrize('name', ['odd', 'panda', 'hexapod', 'delta', 'dual_arm'])
def test_every_link_is_where_pinocchio_has_it(name):
    if name == 'odd':
        urdf = ODD
    elif name == 'panda':
        urdf = (ROBOTS / 'panda_moveit_config' / 'config' / 'panda.urdf').read_text()
    else:
        urdf = mechanism_files(name)[0].read_text()
    robot, oracle = from_urdf(urdf), PinocchioPoses(urdf)
    robot.root.set_dof_values(0.4, -0.3, 0.2, 0.1, 0.5, -0.6)
    rng = np.random.default_rng(3)
    for _ in range(5):
        state = draw_state(robot, rng)
        assert robot.from_joint_state(state.keys(), state.values()) == ()
        oracle.move(state)
        for link, frame in robot.links.items():
            expected = robot.root.matrix_world @ oracle[link]
            assert np.abs(frame.matrix_world - expected).max() < 1e-12, link
        names, positions = robot.to_joint_state()
        kept = dict(zip(names, positions, strict=True))
        for variable, value in state.items():
            assert kept[variable] == pytest.approx(value, abs=1e-12)


def platform_pose(values):
    rotation = Rotation.from_euler(
        'ZYX', [values[f'platform_{n}'] for n in ('yaw', 'pitch', 'roll')]
    )
    return np.array([values[f'platform_{n}'] for n in 'xyz']), rotation.as_matrix()


def assert_closed(robot, values, tolerance):
    """Assert by pinocchio that the frames of every loop coincide, except along the loop's free axes."""
    oracle = PinocchioPoses(robot.model.urdf_xml).move(values)
    for name, joint in robot.closures.items():
        place = joint.child
        on_link = place.name in robot.links
        carrier = place if on_link else place.parent.parent
        child = oracle[carrier.name] @ (np.eye(4) if on_link else place.parent.matrix)
        gap = np.linalg.inv(oracle[joint.parent.name] @ joint.matrix) @ child
        turn = Rotation.from_matrix(gap[:3, :3]).as_rotvec()
        missed = np.concatenate([gap[:3, 3], turn])
        assert len(joint.dof) in (0, 1, 3)
        assert np.abs(np.delete(missed, list(joint.dof))).max() < tolerance, name


def test_a_hexapod_from_its_urdf_has_the_lengths_of_the_closed_form_both_ways():
    robot = load_mechanism('hexapod')
    (result,) = robot.complete_state().results
    assert len(result.variables) == 48
    goal = Goal('goal')
    goal.make_closure(robot.links['platform'])
    # Lengths are to be right to 1e-6, so the loops have to be better closed than that.
    solver = Solver(
        robot.root, translation_converge_threshold=1e-8, rotation_converge_threshold=1e-8
    )
    base = hexagon(BASE_RADIUS, 0.25, 0.0)
    ends = hexagon(PLATFORM_RADIUS, 0.25, math.pi / 3)[[5, 0, 1, 2, 3, 4]]
    rng = np.random.default_rng(11)
    reached = 0
    while reached < 15:
        position = rng.uniform(-0.015, 0.015, 3) + np.array([0, 0, 0.0975])
        turn = Rotation.from_rotvec(rng.uniform(-0.15, 0.15, 3)).as_matrix()
        lengths = np.linalg.norm(ends @ turn.T + position - base, axis=1)
        if not ((lengths > 0.085) & (lengths < 0.13)).all():
            continue
        reached += 1
        home = robot.positions
        goal.set_matrix(np.block([[turn, position[:, None]], [np.zeros(3), np.ones(1)]]))
        (result,) = solver.solve()
        assert result.converged
        state = dict(zip(*robot.to_joint_state(), strict=True))
        slides = np.array([state[name] for name in robot.active_joints])
        assert np.abs(slides + LEG_OFFSET - lengths).max() < 1e-6
        assert_closed(robot, state, 2e-6)
        # Back: from the former state, the lengths of the closed form lead to the pose.
        robot.from_joint_state(robot.variable_names, home)
        done = robot.complete_state(lengths - LEG_OFFSET, steps=3)
        assert done.converged
        pose = platform_pose(done.positions)
        assert np.abs(pose[0] - position).max() < 1e-6
        assert np.abs(pose[1] - turn).max() < 1e-6
        assert_closed(robot, done.positions, 1e-8)
    # A closed state that is read in is closed for the solver at once: the balls of the loops follow.
    robot.from_joint_state(robot.initial_state.keys(), robot.initial_state.values())
    assert robot.complete_state().converged
    robot.from_joint_state(done.positions.keys(), done.positions.values())
    solver.exclude(goal)
    assert np.abs(solver.residual()).max() < 1e-8


def test_a_delta_robot_from_its_urdf_follows_its_motors_in_one_assembly_mode():
    robot, delta = load_mechanism('delta'), Delta([], [], None, None)
    assert robot.initial_state['platform_z'] == -0.4
    for k in range(40):
        a = 2 * math.pi * k / 40
        position = (0.08 * math.cos(a), 0.08 * math.sin(a), -0.42 + 0.03 * math.sin(3 * a))
        angles = delta.motor_angles(position)
        done = robot.complete_state(angles)
        assert done.converged, done
        assert len(done.results[0].variables) == 39
        pose = platform_pose(done.positions)
        assert np.allclose(pose[0], delta.position(angles), atol=1e-7)
        assert np.allclose(pose[1], np.eye(3), atol=1e-7)
        assert [done.positions[name] for name in robot.active_joints] == list(angles)
    assert_closed(robot, done.positions, 1e-8)


def test_two_arms_move_the_object_that_both_hold():
    robot = load_mechanism('dual_arm')
    assert robot.complete_state().converged
    goal = Goal('goal')
    goal.make_closure(robot.links['object'])
    home = robot.links['object'].matrix_world
    solver = Solver(robot.root)
    rng = np.random.default_rng(5)
    for _ in range(10):
        moved = home.copy()
        moved[:3, 3] += rng.uniform(-0.08, 0.02, 3)
        moved[:3, :3] = Rotation.from_rotvec(rng.uniform(-0.2, 0.2, 3)).as_matrix() @ home[:3, :3]
        goal.set_matrix(moved)
        (result,) = solver.solve()
        assert result.converged
        state = dict(zip(*robot.to_joint_state(), strict=True))
        assert_closed(robot, state, 2e-6)
        poses = PinocchioPoses(robot.model.urdf_xml).move(state)
        assert np.abs(poses['object'] - moved).max() < 2e-6
    # Torso and left arm say where the right arm is; the goal does not count there.
    left = [state[name] + 0.02 for name in robot.active_joints]
    done = robot.complete_state(left)
    assert done.converged
    assert [done.positions[name] for name in robot.active_joints] == left
    assert_closed(robot, done.positions, 1e-8)
    assert np.abs(robot.links['object'].matrix_world - goal.matrix_world).max() > 1e-3


def test_a_gripper_of_two_four_bars_follows_one_crank_over_a_full_turn(gripper):
    curve = make_four_bar()
    for k in range(91):
        angle = 0.3 + math.radians(4 * k)
        done = gripper.complete_state({'left_drive': angle})
        assert done.converged, (k, done)
        assert done.positions['left_drive'] == angle
        assert done.positions['right_drive'] == -angle
        for side in ('left', 'right'):
            miss = done.positions[f'{side}_swing'] - curve.rocker_angle(angle)
            assert abs(math.remainder(miss, 2 * math.pi)) < 1e-9, (side, k)
    assert_closed(gripper, done.positions, 1e-10)


def test_a_long_way_in_steps_stays_in_the_assembly_mode(gripper):
    assert gripper.complete_state({'left_drive': 0.3}).converged
    done = gripper.complete_state({'left_drive': 3.3}, steps=8)
    assert done.converged
    miss = done.positions['left_swing'] - make_four_bar().rocker_angle(3.3)
    assert abs(math.remainder(miss, 2 * math.pi)) < 1e-9


LEFT_LOOP = {
    'type': 'revolute',
    'axis': [0, 0, 1],
    'parent': {'link': 'left_coupler', 'xyz': [B, 0, 0]},
    'child': {'link': 'left_rocker', 'xyz': [C, 0, 0]},
}


def at(x):
    return frame_pose((x, 0.0, 0.0), (0.0, 0.0, 0.0), np.eye(3))


@pytest.mark.parametrize('source', ['file', 'class', 'tuple', 'turned round'])
def test_a_loop_is_the_same_from_a_file_and_from_code(source, tmp_path):
    if source == 'file':
        path = tmp_path / 'loop_closures.yaml'
        path.write_text(
            'active_joints: [left_drive]\n'
            'initial_positions: {left_drive: 0.3, left_knee: 0.6, left_swing: 1.4}\n'
            f'loops:\n  pin: {LEFT_LOOP}\n'
        )
        given = {'loops': path}
    elif source == 'turned round':
        given = {
            'closures': [
                LoopClosure('pin', 'left_rocker', 'left_coupler', (DOF.EZ,), at(C), at(B))
            ]
        }
    elif source == 'class':
        given = {
            'closures': [
                LoopClosure('pin', 'left_coupler', 'left_rocker', (DOF.EZ,), at(B), at(C))
            ]
        }
    else:
        given = {'closures': [(('left_coupler', at(B)), ('left_rocker', at(C)), [DOF.EZ])]}
    robot = from_urdf(GRIPPER, use_constraints=False, free_root=False, **given)
    assert len(robot.closures) == 1
    if source == 'file':
        assert robot.active_joints == ('left_drive',)
        assert dict(zip(*robot.to_joint_state(), strict=True))['right_drive'] == -0.3
    else:
        robot.from_joint_state(OPEN.keys(), OPEN.values())
    done = robot.complete_state({'left_drive': 0.5})
    assert done.converged
    assert done.positions['left_swing'] == pytest.approx(
        make_four_bar().rocker_angle(0.5), abs=1e-7
    )
    # The other finger is in no loop: its crank follows all the same.
    assert done.positions['right_drive'] == -0.5
    assert done.positions['right_swing'] == robot.joints['right_swing'].get_dof_value(DOF.EZ)


def test_axes_of_constraints_are_one_line(gripper):
    """The same pin, its axis as x of frames that are turned, one of them upside down."""
    text = GRIPPER
    for end, x in (('parent', B), ('child', C)):
        text = text.replace(
            f'<{end}_origin xyz="{x} 0 0"/>',
            f'<{end}_origin xyz="{x} 0 0" rpy="0 -{math.pi / 2} 0"/>',
        ).replace(f'<{end}_axis xyz="0 0 1"/>', f'<{end}_axis xyz="2 0 0"/>')
    robot = from_urdf(text, free_root=False)
    robot.from_joint_state(OPEN.keys(), OPEN.values())
    completed = robot.complete_state({'left_drive': 0.8})
    assert completed.converged
    assert completed.positions['left_swing'] == pytest.approx(
        make_four_bar().rocker_angle(0.8), abs=1e-7
    )


def test_a_rotation_takes_z_to_any_axis():
    rng = np.random.default_rng(8)
    axes = [*rng.normal(size=(50, 3)), (0, 0, 1), (0, 0, -2), (1e-7, 0, -1), (1, 0, 0)]
    for axis in axes:
        turn = z_to(axis)
        assert np.abs(turn.T @ turn - np.eye(3)).max() < 1e-14
        assert np.linalg.det(turn) > 0
        assert np.abs(turn[:, 2] - np.asarray(axis) / np.linalg.norm(axis)).max() < 1e-14


WRONG_FILES = {
    'no mapping': ([], 'is no mapping'),
    'unknown key': ({'loop': {}}, "unknown key 'loop'.*Did you mean 'loops'"),
    'unknown key of a loop': (
        {'loops': {'pin': {**LEFT_LOOP, 'axes': 1}}},
        "unknown key 'axes' in loop 'pin'",
    ),
    'unknown key of an end': (
        {'loops': {'pin': {**LEFT_LOOP, 'child': {'link': 'a', 'xzy': []}}}},
        "unknown key 'xzy' in the child",
    ),
    'unknown type': ({'loops': {'pin': {**LEFT_LOOP, 'type': 'revolut'}}}, "mean 'revolute'"),
    'type and dof': ({'loops': {'pin': {**LEFT_LOOP, 'dof': ['EZ']}}}, "either 'type' or 'dof'"),
    'no axis': (
        {'loops': {'pin': {k: LEFT_LOOP[k] for k in ('type', 'parent', 'child')}}},
        'axis',
    ),
    'axis of zeros': ({'loops': {'pin': {**LEFT_LOOP, 'axis': [0, 0, 0]}}}, 'is zero'),
    'useless axis': ({'loops': {'pin': {**LEFT_LOOP, 'type': 'spherical'}}}, 'no use'),
    'no child': (
        {'loops': {'pin': {k: LEFT_LOOP[k] for k in ('type', 'axis', 'parent')}}},
        "no 'child'",
    ),
    'no link': ({'loops': {'pin': {**LEFT_LOOP, 'parent': {}}}}, "names no 'link'"),
    'two numbers': (
        {'loops': {'pin': {**LEFT_LOOP, 'parent': {'link': 'a', 'xyz': [1, 2]}}}},
        'no list of 3 numbers',
    ),
    'a word for a number': ({'initial_positions': {'a': 'b'}}, "'a' is no finite number"),
    'names that are none': ({'active_joints': 'a'}, 'no list of names'),
    'unknown dof': (
        {'loops': {'pin': {'dof': ['E'], 'parent': {'link': 'a'}, 'child': {'link': 'b'}}}},
        "unknown degree of freedom 'E'",
    ),
}


@pytest.mark.parametrize('case', list(WRONG_FILES))
def test_a_wrong_file_of_loops_is_refused_by_name(case):
    content, message = WRONG_FILES[case]
    with pytest.raises(ConfigError, match=message):
        parse_loop_closures(content, 'loops.yaml')


def test_a_wrong_file_of_loops_is_refused_with_its_line(tmp_path):
    path = tmp_path / 'loops.yaml'
    path.write_text('loops:\n  pin:\n    typ: revolute\n')
    with pytest.raises(ConfigError, match=r"loops.yaml:3: unknown key 'typ'"):
        from_urdf(GRIPPER, loops=path)


@pytest.mark.parametrize(
    ('given', 'error', 'message'),
    [
        (
            {'loops': parse_loop_closures({'active_joints': ['drive']})},
            JointNotFound,
            'left_drive',
        ),
        ({'closures': [('left_crnk', 'palm', [])]}, FrameNotFound, "mean 'left_crank'"),
        ({'closures': [('left_crank', 'palm')]}, InvalidClosure, 'two frames'),
        ({'closures': [LoopClosure('left_pin', 'palm', 'palm')]}, InvalidClosure, 'are called'),
        ({'trim_unused': True, 'keep': ['plam']}, FrameNotFound, "mean 'palm'"),
    ],
)
def test_names_that_do_not_fit_the_robot_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        from_urdf(GRIPPER, **given)


def test_constraints_that_say_too_little_are_refused():
    with pytest.raises(InvalidClosure, match=r"'left_pin' \(line \d+\) has no known type: 'gear'"):
        from_urdf(
            GRIPPER.replace(
                'type="revolute"><parent link="left_c', 'type="gear"><parent link="left_c'
            )
        )
    slide = GRIPPER.replace(
        'type="revolute"><parent link="left_coupler"/><child',
        'type="prismatic"><parent link="left_coupler"/><child',
    )
    with pytest.raises(InvalidClosure, match='two axes differ'):
        from_urdf(slide.replace('<child_axis xyz="0 0 1"/>', '<child_axis xyz="0 1 1"/>'))
    robot = from_urdf(GRIPPER.replace('</constraint>', '<limit lower="0"/></constraint>', 1))
    assert any("<limit> of constraint 'left_pin'" in text for text in robot.warnings)


def test_what_carries_nothing_is_trimmed_unless_it_is_kept_or_in_a_loop():
    whole, trimmed = from_urdf(ODD), from_urdf(ODD, trim_unused=True)
    assert set(whole.links) - set(trimmed.links) == {'tool', 'tip'}
    assert set(whole.joints) - set(trimmed.joints) == {'mount', 'end'}
    assert 'tip' not in from_urdf(ODD, trim_unused=True, keep=['tool']).links
    closed = from_urdf(ODD, trim_unused=True, closures=[('tip', 'w', list(DOF)[:5])])
    assert set(closed.links) == set(whole.links)


def test_joint_states_go_by_name_and_change_nothing_when_wrong(gripper):
    before = gripper.positions
    wrong = [
        (JointNotFound, ['left_drive', 'left_dirve'], [1.0, 2.0]),
        (InvalidTarget, ['left_drive', 'left_knee'], [1.0, math.nan]),
        (DimensionMismatch, ['left_drive'], [1.0, 2.0]),
        (DimensionMismatch, ['left_drive', 'left_drive'], [1.0, 2.0]),
    ]
    for error, names, positions in wrong:
        with pytest.raises(error):
            gripper.from_joint_state(names, positions)
        assert np.array_equal(gripper.positions, before)
    gripper.from_joint_state(['other', 'right_drive'], [9.0, 0.7], ignore_unknown=True)
    now = dict(zip(*gripper.to_joint_state(), strict=True))
    assert (now['left_drive'], now['right_drive']) == (-0.7, 0.7)
    gripper.from_joint_state(['right_drive', 'left_drive'], [0.7, 0.1])
    now = dict(zip(*gripper.to_joint_state(), strict=True))
    assert (now['left_drive'], now['right_drive']) == (0.1, -0.1)


def test_an_orientation_is_given_whole():
    robot = from_urdf(ODD)
    with pytest.raises(InvalidTarget, match='all four'):
        robot.from_joint_state(['float/rot_x'], [0.1])
    turned = ['float/rot_x', 'float/rot_y', 'float/rot_z', 'float/rot_w']
    with pytest.raises(InvalidTarget, match='zero'):
        robot.from_joint_state(turned, [0, 0, 0, 0])
    robot.from_joint_state(turned, [0, 0, 2, 0])
    assert robot.joints['float'].dof_quaternion == pytest.approx([0, 0, 1, 0])


def test_what_cannot_be_had_is_never_called_converged(gripper):
    # The rocker of a crank-rocker never turns over; there the loop stays open.
    done = gripper.complete_state({'left_swing': -1.0}, steps=4)
    assert not done.converged and done.status.name == 'STALLED'
    assert done.positions['left_swing'] == -1.0
    gripper.from_joint_state(gripper.initial_state.keys(), gripper.initial_state.values())
    gripper.from_joint_state(OPEN.keys(), OPEN.values())
    assert gripper.complete_state({'left_drive': 0.4}).converged
    robot = load_mechanism('hexapod')
    lengths = [robot.positions[robot.variable_names.index(name)] for name in robot.active_joints]
    lengths[2] = 0.081
    done = robot.complete_state(lengths)
    assert done.clamped == ('leg3_slide',)
    assert done.positions['leg3_slide'] == 0.08
    assert all(result.converged for result in done.results)
    assert done.status.name == 'STALLED' and not done.converged
    lengths[2] = 0.079
    assert robot.complete_state(lengths).converged


def test_completion_leaves_locks_goals_targets_and_the_root_as_they_were():
    robot = from_urdf(GRIPPER)
    robot.from_joint_state(OPEN.keys(), OPEN.values())
    robot.root.set_dof_values(1.0, 2.0, 3.0, 0.4, 0.5, 0.6)
    goal = Goal('far')
    goal.make_closure(robot.links['left_crank'])
    goal.set_position(10, 0, 0)
    robot.joints['left_knee'].target_set = True
    robot.root.rest_pose_set = True
    before = robot.root.dof_values
    done = robot.complete_state({'left_drive': 0.4})
    assert done.converged
    # A ball keeps a quaternion: its angles come back to the last bit but one.
    assert np.abs(robot.root.dof_values - before).max() < 1e-15
    assert robot.joints['left_knee'].target_set
    assert not any(joint.locked_dof for joint in robot.joints.values())
    assert robot.root.locked_dof == ()
    assert all(robot.completion.residual(k).size for k in range(len(done.results)))
    robot.save_rest_pose()
    assert robot.joints['left_drive'].get_rest_pose_value(DOF.EZ) == 0.4
    with pytest.raises(InvalidOption):
        robot.complete_state({}, steps=0)


def test_a_loaded_robot_hands_on_its_tightened_limits():
    limits = {'slide': {'has_position_limits': True, 'min_position': -0.1, 'max_position': 0.2}}
    robot = from_urdf(load_robot(ODD, joint_limits={'joint_limits': limits}))
    assert robot.from_joint_state(['slide', 'down'], [0.5, 1.0]) == ('slide',)
    now = dict(zip(*robot.to_joint_state(), strict=True))
    assert now['slide'] == 0.2
    assert now['follower'] == pytest.approx(0.2)


def test_mechanisms_that_do_not_come_with_the_package_are_refused():
    assert mechanism_names() == ('delta', 'dual_arm', 'hexapod')
    with pytest.raises(DescriptionNotFound, match="mean 'hexapod'"):
        load_mechanism('hexpod')
