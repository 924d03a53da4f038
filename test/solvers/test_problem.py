"""Packing: joints that take part, are constant, periodic or passive, and errors of descriptions."""

import math

from test.packed import Packed
from test.tree_factory import Joint, make_tree, pose, random_pose, random_state, walk

import numpy as np
import pytest

from ssik_ros.errors import (
    DimensionMismatch,
    FrameNotFound,
    InvalidOption,
    InvalidTarget,
    JointNotFound,
    ModelError,
)
from ssik_ros.kernels.rows import layout
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import (
    Axes,
    build_problem,
    PoseConstraint,
    rotation_to_axis,
    RotationKind,
    Rows,
)
from ssik_ros.results import Cause
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver

X_AXIS = (1.0, 0.0, 0.0)
Y_AXIS = np.array([0.0, 1.0, 0.0])


def torso_with_arms(rng=None):
    """Return a slide (the torso) that carries two arms of two joints each; random when asked."""
    joints = [
        Joint('torso', JointKind.PRISMATIC, lower=0.0, upper=0.5),
        Joint('left_1', parent='torso', placement=pose((0, 0.2, 0)), lower=-2.0, upper=2.0),
        Joint('left_2', parent='left_1', placement=pose((0.4, 0, 0)), axis=X_AXIS),
        Joint('right_1', parent='torso', placement=pose((0, -0.2, 0)), lower=-2.0, upper=2.0),
        Joint('right_2', parent='right_1', placement=pose((0.4, 0, 0)), axis=X_AXIS),
    ]
    for joint in joints if rng is not None else ():
        joint.placement, joint.link_placement = random_pose(rng), random_pose(rng)
    return make_tree(*joints)


LEFT = ('left_1', 'left_2')
TO_LEFT = PoseConstraint('link_torso', 'link_left_2', target=0)


def test_joints_above_the_base_frame_are_no_part_of_the_problem():
    problem = build_problem(torso_with_arms(), LEFT, [TO_LEFT])
    assert problem.joint_of_variable == LEFT
    assert problem.ints[layout.NODES] == 2


def test_joints_above_all_frames_are_no_part_of_the_problem():
    relative = PoseConstraint('link_left_2', 'link_right_2')
    problem = build_problem(torso_with_arms(), ('left_1', 'right_1'), [relative])
    assert 'torso' not in problem.joint_of_variable


def test_joints_of_the_group_that_move_no_frame_have_a_variable_and_no_effect():
    problem = build_problem(torso_with_arms(), ('torso', *LEFT, 'right_1'), [TO_LEFT])
    packed = Packed(problem, [np.eye(4)])
    _, jacobian, _ = packed.evaluate(np.array([0.1, 0.2, 0.3, 0.4]))
    assert problem.joint_of_variable == ('torso', *LEFT, 'right_1')
    assert not jacobian[:, [0, 3]].any()
    assert jacobian[:, 1:3].any(axis=0).all()


def test_variables_that_move_no_frame_are_marked():
    far = Joint('far', JointKind.SPHERICAL)
    driven = Joint('f', JointKind.PRISMATIC, 'j', leader='lead')
    tree = make_tree(far, Joint('lead'), Joint('j'), driven, Joint('b', JointKind.SPHERICAL, 'f'))
    tip = PoseConstraint('base', 'link_b', target=0)
    problem = build_problem(tree, ['far', 'lead', 'j', 'b'], [tip])
    start = problem.ints[layout.TABLES.entry('variable_i')]
    table = problem.ints[start : start + problem.nv * layout.VARIABLE_INTS].reshape(problem.nv, -1)
    expected = [layout.IDLE] * 3 + [layout.TURNS] * 5
    assert table[:, layout.VARIABLE_MOVES].tolist() == expected


def test_variables_follow_the_order_of_the_group():
    problem = build_problem(torso_with_arms(), LEFT[::-1], [TO_LEFT])
    assert problem.joint_of_variable == LEFT[::-1]
    np.testing.assert_array_equal(problem.idx_q, [2, 1])


def test_joints_outside_the_group_that_move_a_frame_follow_as_passive_variables():
    tip = PoseConstraint('base', 'link_left_2', target=0)
    problem = build_problem(torso_with_arms(), ['left_2'], [tip])
    assert problem.group_size == 1
    assert set(problem.joint_of_variable[1:]) == {'torso', 'left_1'}
    assert problem.nq == problem.nv == 3


def test_a_leader_outside_the_group_and_the_paths_is_passive():
    tree = make_tree(
        Joint('far'), Joint('j'), Joint('f', parent='j', leader='far', multiplier=2.0)
    )
    problem = build_problem(tree, ['j'], [PoseConstraint('base', 'link_f', target=0)])
    assert problem.joint_of_variable == ('j', 'far')
    assert problem.ints[layout.NODES] == 2


@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize(
    ('frame_a', 'frame_b'),
    [
        ('base', 'link_left_2'),
        ('link_torso', 'link_left_2'),
        ('link_left_2', 'link_torso'),
        ('link_left_2', 'link_right_2'),
        ('link_left_1', 'link_left_1'),
    ],
)
def test_a_constraint_measures_the_pose_of_one_link_in_the_other(frame_a, frame_b, seed):
    rng = np.random.default_rng(seed)
    tree = torso_with_arms(rng)
    state, offset, tool = random_state(tree, rng), random_pose(rng), random_pose(rng)
    poses = walk(tree, state)
    target = np.linalg.inv(poses[frame_a] @ offset) @ poses[frame_b] @ tool
    constraint = PoseConstraint(frame_a, frame_b, offset, tool, target=0)
    packed = Packed(build_problem(tree, tree.joint_names, [constraint]), [target])
    residual, _, errors = packed.evaluate(state[packed.problem.idx_q])
    assert np.abs(residual).max() < 1e-12
    assert errors.max() < 1e-12


def test_world_axes_are_those_of_the_first_frame_where_it_is_fixed():
    tree = make_tree(Joint('j', link_placement=pose((1.0, 0, 0))), base_placement=pose((0, 0, 3)))
    packed = Packed(build_problem(tree, ['j'], [PoseConstraint('base', 'link_j', target=0)]))
    np.testing.assert_allclose(packed.frame_pose(0, [0.0])[:3, 3], [1.0, 0.0, -3.0])


def test_each_tip_has_its_own_target_rows_and_errors():
    tree = torso_with_arms()
    tips = [
        PoseConstraint('base', 'link_left_2', target=1),
        PoseConstraint('base', 'link_right_2', target=0),
    ]
    problem = build_problem(tree, ('torso', *LEFT, 'right_1', 'right_2'), tips)
    poses = walk(tree, np.zeros(5))
    near = poses['link_left_2'] @ pose((0.0, 0.0, 0.25))
    packed = Packed(problem, [poses['link_right_2'], near])
    residual, jacobian, errors = packed.evaluate(np.zeros(5))
    np.testing.assert_allclose(errors, [[0.25, 0.0], [0.0, 0.0]], atol=1e-15)
    np.testing.assert_allclose(residual, [0, 0, 0.25] + [0] * 9, atol=1e-15)
    assert not jacobian[:6, 3:].any()
    assert not jacobian[6:, 1:3].any()
    np.testing.assert_array_equal(jacobian[[2, 8], 0], [1.0, 1.0])


def kinds_of(*joints, group=None):
    """Return the kinds of the variables of a chain's problem."""
    tree = make_tree(*joints)
    constraint = PoseConstraint('base', f'link_{joints[-1].name}', target=0)
    names = [joint.name for joint in joints if joint.leader is None] if group is None else group
    return build_problem(tree, names, [constraint]).variable_kind.tolist()


@pytest.mark.parametrize(
    ('kind', 'expected'),
    [
        (JointKind.REVOLUTE, [layout.PERIODIC]),
        (JointKind.CONTINUOUS, [layout.PERIODIC]),
        (JointKind.PRISMATIC, [layout.LINEAR]),
        (JointKind.PLANAR, [layout.LINEAR, layout.LINEAR, layout.PERIODIC]),
        (JointKind.SPHERICAL, [layout.BALL_FIRST, layout.BALL_REST, layout.BALL_REST]),
        (
            JointKind.FLOATING,
            [layout.LINEAR] * 3 + [layout.BALL_FIRST, layout.BALL_REST, layout.BALL_REST],
        ),
    ],
)
def test_every_kind_of_joint_has_its_variables(kind, expected):
    assert kinds_of(Joint('j', kind)) == expected


@pytest.mark.parametrize(
    ('multiplier', 'periodic'), [(1.0, True), (-2.0, True), (0.5, False), (-1.5, False)]
)
def test_a_leader_is_periodic_while_its_followers_make_whole_turns(multiplier, periodic):
    follower = Joint('f', parent='j', leader='j', multiplier=multiplier)
    assert kinds_of(Joint('j'), follower) == [layout.PERIODIC if periodic else layout.LINEAR]


def test_a_leader_of_a_slide_is_not_periodic():
    follower = Joint('f', JointKind.PRISMATIC, parent='j', leader='j')
    assert kinds_of(Joint('j'), follower) == [layout.LINEAR]


def test_limits_are_those_of_the_tree_and_none_for_balls():
    tree = make_tree(Joint('j', lower=-1.0, upper=2.0), Joint('b', JointKind.SPHERICAL, 'j'))
    problem = build_problem(tree, ['j', 'b'], [PoseConstraint('base', 'link_b', target=0)])
    np.testing.assert_array_equal(problem.lower, [-1.0] + [-math.inf] * 3)
    np.testing.assert_array_equal(problem.upper, [2.0] + [math.inf] * 3)


def reach_of(problem, constraint=0):
    """Return centre and radius of the ball that the tip cannot leave."""
    start = (
        int(problem.ints[layout.TABLES.entry('constraint_f')])
        + constraint * layout.CONSTRAINT_REALS
    )
    centre = start + layout.CONSTRAINT_REACH_CENTRE
    return problem.reals[centre : centre + 3], problem.reals[start + layout.CONSTRAINT_REACH]


def distances(packed, states):
    """Return how far the tip is from the centre of its reach in each state."""
    centre, _ = reach_of(packed.problem)
    tips = np.array([packed.frame_pose(0, q)[:3, 3] for q in states])
    return np.linalg.norm(tips - centre, axis=1)


def arm_of(robot):
    """Return the group of a shipped robot's arm."""
    return next(group for group in robot.groups.values() if group.is_chain)


@pytest.mark.sampled
def test_no_state_of_a_shipped_robot_leaves_its_reach_which_is_not_much_too_wide(robot):
    rng, group = np.random.default_rng(1), arm_of(robot)
    constraint = PoseConstraint(group.base_link, group.tip, target=0)
    packed = Packed(build_problem(robot.tree, group.joint_names, [constraint]))
    states = [robot.sample(group, rng) for _ in range(10_000)]
    farthest, (_, reach) = distances(packed, states).max(), reach_of(packed.problem)
    assert farthest <= reach < 1.2 * farthest


@pytest.mark.parametrize('seed', range(10))
def test_no_state_leaves_the_reach_of_a_chain_with_slides(seed):
    rng = np.random.default_rng(seed)
    kinds = [JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.PRISMATIC, JointKind.REVOLUTE]
    names = [f'j{i}' for i in range(4)]
    joints = [
        Joint(n, k, p, random_pose(rng), tuple(rng.normal(size=3)), -0.3, 0.8)
        for n, k, p in zip(names, rng.permutation(kinds), [None, *names[:-1]], strict=True)
    ]
    joints.append(
        Joint('f', JointKind.PRISMATIC, 'j3', random_pose(rng), leader='j0', multiplier=-1.7)
    )
    joints[-1].offset = 0.4
    tip = PoseConstraint('base', 'link_f', tool=random_pose(rng), target=0)
    packed = Packed(build_problem(make_tree(*joints), names, [tip]))
    _, reach = reach_of(packed.problem)
    assert math.isfinite(reach)
    assert distances(packed, rng.uniform(-0.3, 0.8, (1000, 4))).max() <= reach


def test_a_target_a_fifth_beyond_the_reach_is_refused_without_a_search(robot):
    group = arm_of(robot)
    solver = PoseIkSolver(robot, group)
    problem = build_problem(
        robot.tree, group.joint_names, [PoseConstraint(group.base_link, group.tip, target=0)]
    )
    centre, reach = reach_of(problem)
    result = solver.solve(SolveRequest(targets=pose(centre + 1.2 * reach * Y_AXIS)))
    assert result.cause == Cause.UNREACHABLE
    assert result.searches == 0


@pytest.mark.parametrize('frames', [('link_left_2', 'link_right_2'), ('base', 'link_left_2')])
def test_where_passive_joints_move_a_frame_by_any_amount_nothing_is_out_of_reach(frames):
    problem = build_problem(torso_with_arms(), ['left_2'], [PoseConstraint(*frames, target=0)])
    _, reach = reach_of(problem)
    assert math.isinf(reach)


def test_a_slide_without_limits_reaches_anywhere():
    tree = make_tree(Joint('j', JointKind.PRISMATIC))
    problem = build_problem(tree, ['j'], [PoseConstraint('base', 'link_j', target=0)])
    assert math.isinf(reach_of(problem)[1])


def test_packed_arrays_are_read_only():
    problem = build_problem(torso_with_arms(), LEFT, [TO_LEFT])
    arrays = (problem.ints, problem.reals, problem.lower, problem.upper, problem.idx_q)
    assert not any(array.flags.writeable for array in arrays)


def test_tables_and_work_arrays_do_not_overlap():
    problem = build_problem(torso_with_arms(), LEFT, [TO_LEFT])
    places = problem.ints[layout.WORKSPACE.entry('poses') : layout.WORK_SIZE + 1]
    assert (np.diff(places) > 0).all()
    integers = problem.ints[layout.TABLES.entry('node_i') : layout.TABLES.entry('path') + 1]
    assert (np.diff(integers) > 0).all()
    assert integers[-1] + layout.PATH_INTS * problem.ints[layout.PATHS] == len(problem.ints)


@pytest.mark.parametrize('seed', range(20))
def test_the_rotation_to_an_axis_takes_z_there(seed):
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    turn = rotation_to_axis(axis)[:3, :3]
    np.testing.assert_allclose(turn[:, 2], axis, rtol=0, atol=1e-15)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), rtol=0, atol=1e-15)
    assert np.linalg.det(turn) == pytest.approx(1.0)


def test_an_unknown_link_is_named_with_the_nearest_one():
    for constraint in (PoseConstraint('bsae', 'link_left_2'), PoseConstraint('base', 'link_left')):
        with pytest.raises(FrameNotFound, match=r"(bsae|link_left)'\. Did you mean"):
            build_problem(torso_with_arms(), LEFT, [constraint])


def test_an_unknown_joint_is_named_with_the_nearest_one():
    with pytest.raises(JointNotFound, match=r"'left1'.*'left_1'"):
        build_problem(torso_with_arms(), ['left1'], [TO_LEFT])


def test_a_follower_cannot_be_solved_for_and_its_leader_is_named():
    tree = make_tree(Joint('j'), Joint('f', parent='j', leader='j'))
    with pytest.raises(ModelError, match="'f' only follows 'j'"):
        build_problem(tree, ['f'], [PoseConstraint('base', 'link_f', target=0)])


def test_a_problem_without_constraints_is_refused():
    with pytest.raises(InvalidOption, match='at least one constraint'):
        build_problem(torso_with_arms(), LEFT, [])


def test_a_joint_named_twice_is_refused():
    with pytest.raises((InvalidOption, ModelError), match='left_1'):
        build_problem(torso_with_arms(), ['left_1', 'left_1'], [TO_LEFT])


NOT_RIGID = (
    np.full((4, 4), np.nan),
    np.diag([2.0, 2.0, 2.0, 1.0]),
    np.diag([1.0, 1.0, -1.0, 1.0]),
)


@pytest.mark.parametrize('name', ['offset', 'tool'])
@pytest.mark.parametrize('value', [*NOT_RIGID, np.eye(3)])
def test_a_constraint_takes_only_rigid_transforms(name, value):
    with pytest.raises(InvalidTarget, match=name):
        PoseConstraint('base', 'tip', **{name: value})


def test_a_constraint_keeps_its_own_copy_of_a_transform():
    offset = np.eye(4)
    constraint = PoseConstraint('base', 'tip', offset)
    offset[0, 3] = 9.0
    assert constraint.offset[0, 3] == 0.0


def test_a_target_has_no_negative_index():
    with pytest.raises(InvalidOption, match='target'):
        PoseConstraint('base', 'tip', target=-1)


@pytest.mark.parametrize('name', ['weights', 'lower', 'upper'])
@pytest.mark.parametrize('value', [np.ones(5), np.ones((6, 1)), 1.0])
def test_rows_need_six_numbers(name, value):
    with pytest.raises(DimensionMismatch, match=name):
        Rows(**{name: value})


@pytest.mark.parametrize('name', ['weights', 'lower', 'upper'])
def test_rows_refuse_what_is_no_number(name):
    with pytest.raises(InvalidOption, match=name):
        Rows(**{name: np.array([0, 0, math.nan, 0, 0, 0])})


@pytest.mark.parametrize('weights', [[0] * 6, [1, 1, 1, 1, 1, -1], [1, 1, 1, 1, 1, math.inf]])
def test_weights_must_be_finite_not_negative_and_not_all_zero(weights):
    with pytest.raises(InvalidOption, match='weights'):
        Rows(weights=np.array(weights, dtype=float))


def test_a_box_must_contain_zero():
    for box in ({'lower': np.full(6, 0.1)}, {'upper': np.full(6, -0.1)}):
        with pytest.raises(InvalidOption, match='contain zero'):
            Rows(**box)


@pytest.mark.parametrize('axes', [Axes.WORLD, Axes.FRAME_A])
def test_an_alignment_is_measured_in_one_of_the_aligned_frames(axes):
    with pytest.raises(InvalidOption, match='alignment'):
        Rows(rotation=RotationKind.ALIGN, rotation_axes=axes)


def test_a_spin_has_one_row():
    with pytest.raises(InvalidOption, match='spin'):
        Rows(rotation=RotationKind.SPIN)


def test_rows_are_immutable_and_own_their_arrays():
    weights = np.ones(6)
    rows = Rows(weights=weights)
    weights[0] = 9.0
    assert rows.weights[0] == 1.0
    with pytest.raises(ValueError, match='read-only'):
        rows.weights[0] = 2.0
