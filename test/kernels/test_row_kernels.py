"""Residual and Jacobian rows: formulas written anew, finite differences, boxes, weights, edges."""

import itertools
import math

from test.packed import difference, Packed
from test.tree_factory import Joint, make_tree, pose, random_pose, random_state, walk

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.kernels.rows import layout
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.problem.problem import (
    Axes,
    build_problem,
    PoseConstraint,
    RotationKind,
    Rows,
)

SPIN_WEIGHTS = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 1.0])
ROTATIONS = (
    *((RotationKind.FULL, axes) for axes in Axes),
    (RotationKind.ALIGN, Axes.GOAL),
    (RotationKind.ALIGN, Axes.FRAME_B),
    (RotationKind.SPIN, Axes.WORLD),
)
COMBINATIONS = list(itertools.product(Axes, ROTATIONS))
every_combination = pytest.mark.parametrize(
    ('position_axes', 'rotation'),
    COMBINATIONS,
    ids=[f'{p.name}-{kind.name}-{axes.name}' for p, (kind, axes) in COMBINATIONS],
)


def two_arms(rng):
    """Return a trunk with two arms: a mimic joint, a slide and a ball among their joints."""
    links = {name: random_pose(rng, 0.5) for name in ('trunk', 'a1', 'a2', 'a3', 'b1', 'b2', 'b3')}
    axes = {name: tuple(rng.normal(size=3)) for name in links}
    kinds = {'a2': JointKind.PRISMATIC, 'b1': JointKind.CONTINUOUS, 'b2': JointKind.SPHERICAL}
    above = {'trunk': None, 'a1': 'trunk', 'a2': 'a1', 'a3': 'a2', 'b1': 'trunk'}
    above.update(b2='b1', b3='b2')
    joints = [
        Joint(name, kinds.get(name, JointKind.REVOLUTE), above[name], links[name], axes[name])
        for name in links
    ]
    joints[-1].leader, joints[-1].multiplier, joints[-1].offset = 'a1', -0.7, 0.3
    return make_tree(*joints, base_placement=random_pose(rng))


ARM_JOINTS = ('trunk', 'a1', 'a2', 'a3', 'b1', 'b2')


def rows_of(position_axes=Axes.WORLD, rotation=ROTATIONS[0], **others):
    """Return rows whose weights suit the kind of rotation."""
    kind, axes = rotation
    if kind == RotationKind.SPIN:
        others.setdefault('weights', SPIN_WEIGHTS)
    return Rows(position_axes=position_axes, rotation_axes=axes, rotation=kind, **others)


class Relation:
    """The pose of one arm's end in the other's, below a trunk that moves both."""

    def __init__(self, rows, seed, closure=False):
        """Make a problem at a random configuration; a closure has no target."""
        rng = np.random.default_rng(seed)
        self.tree, self.rows = two_arms(rng), rows
        self.offset, self.tool = random_pose(rng), random_pose(rng)
        self.target = np.eye(4) if closure else random_pose(rng)
        state = random_state(self.tree, rng)
        # The first constraint ties the root to the base link and keeps the trunk in the problem.
        anchor = PoseConstraint(
            'base', 'link_a3', rows=Rows(weights=np.array([1.0, 0, 0, 0, 0, 0]))
        )
        relative = PoseConstraint(
            'link_a3', 'link_b3', self.offset, self.tool, None if closure else 0, rows
        )
        problem = build_problem(self.tree, ARM_JOINTS, [anchor, relative])
        self.packed = Packed(problem, [] if closure else [self.target])
        self.q = state[problem.idx_q]

    def residual_at(self, q):
        """Return only the rows of the relation."""
        return self.packed.evaluate(q)[0][1:]

    def frames(self, q):
        """Return frame a, goal and frame b in the base link by a plain walk."""
        full = np.zeros(self.tree.nq)
        full[self.packed.problem.idx_q] = q
        full[-1] = -0.7 * full[self.tree.idx_q[self.tree.joint('a1')]] + 0.3
        poses = walk(self.tree, full)
        to_base = np.linalg.inv(poses['base'])
        a = to_base @ poses['link_a3'] @ self.offset
        return a, a @ self.target, to_base @ poses['link_b3'] @ self.tool

    def reachable(self):
        """Make the present configuration meet the target."""
        a, _, b = self.frames(self.q)
        self.target = np.linalg.inv(a) @ b
        self.packed.set_targets([self.target])


def shortest_turn(start, end):
    """Return the rotation vector that takes one unit vector to another."""
    axis = np.cross(start, end)
    angle = math.atan2(np.linalg.norm(axis), start @ end)
    return angle * axis / np.linalg.norm(axis)


def expected_error(frames, rows):
    """Return the six components as the documentation defines them."""
    a, goal, b = (np.array(frame) for frame in frames)
    measuring = {Axes.WORLD: np.eye(4), Axes.FRAME_A: a, Axes.GOAL: goal, Axes.FRAME_B: b}
    position = measuring[rows.position_axes][:3, :3].T @ (goal[:3, 3] - b[:3, 3])
    rotation_frame = measuring[rows.rotation_axes][:3, :3]
    if rows.rotation == RotationKind.FULL:
        turn = Rotation.from_matrix(goal[:3, :3] @ b[:3, :3].T).as_rotvec()
        return np.concatenate([position, rotation_frame.T @ turn])
    if rows.rotation == RotationKind.ALIGN:
        return np.concatenate([position, rotation_frame.T @ shortest_turn(b[:3, 2], goal[:3, 2])])
    quaternion = Rotation.from_matrix(b[:3, :3].T @ goal[:3, :3]).as_quat()
    twist = math.remainder(2.0 * math.atan2(quaternion[2], quaternion[3]), 2.0 * math.pi)
    return np.concatenate([position, [0.0, 0.0, twist]])


def assert_jacobian_is_the_derivative(relation, tolerance=1e-7):
    relation.packed.evaluate(relation.q)
    jacobian = relation.packed.jacobian[1:]
    expected = -difference(relation.residual_at, relation.packed, relation.q)
    np.testing.assert_allclose(jacobian, expected, rtol=0, atol=tolerance)


@every_combination
@pytest.mark.parametrize('seed', range(3))
def test_the_exact_jacobian_is_the_derivative_of_the_residual(position_axes, rotation, seed):
    assert_jacobian_is_the_derivative(Relation(rows_of(position_axes, rotation), seed))


@every_combination
def test_the_exact_jacobian_of_a_closure_is_the_derivative(position_axes, rotation):
    relation = Relation(rows_of(position_axes, rotation), 7, closure=True)
    assert_jacobian_is_the_derivative(relation)


@every_combination
@pytest.mark.parametrize('seed', range(3))
def test_the_residual_is_what_its_definition_says(position_axes, rotation, seed):
    relation = Relation(rows_of(position_axes, rotation), seed)
    expected = expected_error(relation.frames(relation.q), relation.rows)
    expected = expected[relation.rows.weights > 0.0]
    actual = relation.residual_at(relation.q)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


@every_combination
def test_at_the_target_the_fast_jacobian_is_exact(position_axes, rotation):
    relation = Relation(rows_of(position_axes, rotation), 4)
    relation.reachable()
    _, fast, _ = relation.packed.evaluate(relation.q, exact=False)
    _, exact, _ = relation.packed.evaluate(relation.q, exact=True)
    np.testing.assert_allclose(fast, exact, rtol=0, atol=1e-12)


@every_combination
def test_at_the_target_the_residual_vanishes_and_the_jacobian_is_still_the_derivative(
    position_axes, rotation
):
    relation = Relation(rows_of(position_axes, rotation), 5)
    relation.reachable()
    assert np.abs(relation.residual_at(relation.q)).max() < 1e-14
    assert_jacobian_is_the_derivative(relation)


@pytest.mark.parametrize('seed', range(5))
def test_a_joint_above_both_frames_changes_nothing_measured_in_their_own_axes(seed):
    relation = Relation(rows_of(Axes.FRAME_A, (RotationKind.FULL, Axes.FRAME_B)), seed)
    relation.packed.evaluate(relation.q)
    np.testing.assert_allclose(relation.packed.jacobian[1:, 0], 0.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize('seed', range(3))
def test_weights_multiply_rows_and_columns_and_zeros_leave_rows_out(seed):
    weights = np.array([2.0, 0.0, 0.5, 0.0, 3.0, 1e-3])
    weighted, plain = Relation(rows_of(weights=weights), seed), Relation(rows_of(), seed)
    residual, jacobian, _ = weighted.packed.evaluate(weighted.q)
    full_residual, full_jacobian, _ = plain.packed.evaluate(plain.q)
    kept = weights > 0.0
    np.testing.assert_allclose(residual[1:], (weights * full_residual[1:])[kept], rtol=1e-15)
    expected = (weights[:, None] * full_jacobian[1:])[kept]
    np.testing.assert_allclose(jacobian[1:], expected, rtol=1e-15, atol=1e-300)


def test_errors_are_norms_of_the_selected_rows_without_weights():
    weights = np.array([2.0, 0.0, 0.5, 0.0, 3.0, 1e-3])
    relation = Relation(rows_of(weights=weights), 1)
    components = expected_error(relation.frames(relation.q), relation.rows)
    _, _, errors = relation.packed.evaluate(relation.q)
    position, rotation = components[[0, 2]], components[[4, 5]]
    expected = [np.linalg.norm(position), np.linalg.norm(rotation)]
    np.testing.assert_allclose(errors[1], expected, rtol=1e-12)


def test_a_relation_does_not_touch_the_rows_of_another():
    both = Relation(rows_of(), 2)
    _, jacobian, _ = both.packed.evaluate(both.q)
    tree, alone = both.tree, PoseConstraint('base', 'link_a3')
    problem = build_problem(tree, ARM_JOINTS, [alone])
    _, expected, _ = Packed(problem).evaluate(both.q)
    np.testing.assert_allclose(jacobian[0], expected[0], rtol=0, atol=1e-14)
    assert np.isfinite(jacobian).all()


def with_room(seed, inside):
    """Return a relation whose box contains the deviation of rows in ``inside`` and no other."""
    bare = Relation(rows_of(Axes.FRAME_A, (RotationKind.FULL, Axes.GOAL)), seed)
    deviation = -bare.residual_at(bare.q)
    lower, upper = np.full(6, -1e-3), np.full(6, 1e-3)
    lower[inside] = np.minimum(deviation[inside] - 0.1, 0.0)
    upper[inside] = np.maximum(deviation[inside] + 0.1, 0.0)
    rows = rows_of(Axes.FRAME_A, (RotationKind.FULL, Axes.GOAL), lower=lower, upper=upper)
    return Relation(rows, seed), deviation, lower, upper


@pytest.mark.parametrize('inside', [[], [0], [1, 4], [0, 1, 2, 3, 4, 5]])
def test_rows_inside_their_box_are_zero_and_others_measure_the_way_to_it(inside):
    relation, deviation, lower, upper = with_room(3, inside)
    residual = relation.residual_at(relation.q)
    expected = np.clip(deviation, lower, upper) - deviation
    np.testing.assert_allclose(residual, expected, rtol=0, atol=1e-12)
    assert (residual[inside] == 0.0).all()


@pytest.mark.parametrize('inside', [[], [0], [1, 4], [0, 1, 2, 3, 4, 5]])
def test_the_jacobian_of_boxed_rows_is_their_derivative(inside):
    relation, _, _, _ = with_room(3, inside)
    assert_jacobian_is_the_derivative(relation)
    assert not relation.packed.jacobian[1:][inside].any()


def test_infinite_boxes_leave_a_row_free_whatever_the_deviation():
    infinite = np.array([np.inf, 0.0, 0.0, 0.0, 0.0, 0.0])
    relation = Relation(rows_of(lower=-infinite, upper=infinite), 3)
    assert relation.residual_at(relation.q)[0] == 0.0
    assert_jacobian_is_the_derivative(relation)


def hinge(rows, lever=1.0, **others):
    """Return a problem of one joint about z that carries a point."""
    tree = make_tree(Joint('j', **others))
    constraint = PoseConstraint(
        'base', 'link_j', tool=pose((lever, 0.0, 0.0)), target=0, rows=rows
    )
    return build_problem(tree, ['j'], [constraint])


def test_an_equality_row_beside_a_box_keeps_its_derivative_at_zero_error():
    rows = Rows(lower=np.array([-0.1, 0, 0, 0, 0, 0]))
    packed = Packed(hinge(rows), [pose((1.0, 0.0, 0.0))])
    _, jacobian, _ = packed.evaluate([0.0])
    assert jacobian[1, 0] == pytest.approx(1.0)


def test_a_deviation_that_is_no_number_is_not_inside_a_box():
    packed = Packed(hinge(Rows(lower=np.full(6, -0.1), upper=np.full(6, 0.1))), [np.eye(4)])
    _, _, errors = packed.evaluate([math.nan])
    assert not (errors <= 1.0).any()


def test_an_error_that_is_no_number_is_none_either_without_a_box():
    packed = Packed(hinge(Rows()), [np.eye(4)])
    _, _, errors = packed.evaluate([math.nan], exact=False)
    assert not (errors <= 1.0).any()


def tip_problem(seed):
    """Return a problem of the common kind, six rows of a tip in a fixed base, and a state."""
    rng = np.random.default_rng(seed)
    tree = two_arms(rng)
    constraint = PoseConstraint('base', 'link_b3', tool=random_pose(rng), target=0)
    problem = build_problem(tree, ('trunk', 'a1', 'b1', 'b2'), [constraint])
    return problem, random_pose(rng), random_state(tree, rng)[problem.idx_q]


def replaced(problem, entry, column, value, node=0, stride=layout.NODE_INTS):
    """Return a copy of the problem's integers with one number of a table changed."""
    ints = problem.ints.copy()
    ints[problem.ints[entry] + node * stride + column] = value
    return ints


@pytest.mark.parametrize('seed', range(10))
def test_the_short_way_for_one_pose_gives_the_numbers_of_the_general_one(seed):
    problem, target, q = tip_problem(seed)
    general = replaced(problem, layout.TABLES.entry('constraint_i'), layout.CONSTRAINT_PLAIN, 0)
    assert (
        problem.ints[problem.ints[layout.TABLES.entry('constraint_i')] + layout.CONSTRAINT_PLAIN]
        == 1
    )
    short = Packed(problem, [target]).evaluate(q, exact=False)
    long = Packed(problem, [target], ints=general).evaluate(q, exact=False)
    for one, other in zip(short, long, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=4e-15)


@pytest.mark.parametrize('plain', [0, 1])
def test_the_jacobian_of_a_screw_is_the_derivative(plain):
    tree = make_tree(Joint('j', axis=(1, 2, 3)), Joint('k', parent='j', axis=(-1, 0, 2)))
    constraint = PoseConstraint('base', 'link_k', tool=pose((0.3, -0.2, 0.5)), target=0)
    problem = build_problem(tree, ['j', 'k'], [constraint])
    ints = replaced(problem, layout.TABLES.entry('constraint_i'), layout.CONSTRAINT_PLAIN, plain)
    reals = problem.reals.copy()
    for node, lead in enumerate((0.05, -0.4)):
        ints[problem.ints[layout.TABLES.entry('node_i')] + node * layout.NODE_INTS] = layout.SCREW
        place = problem.ints[layout.TABLES.entry('node_f')] + node * layout.NODE_REALS
        reals[place + layout.NODE_LEAD] = lead
    packed = Packed(problem, [np.eye(4)], ints, reals)
    q = np.array([0.7, -1.1])
    packed.set_targets([packed.frame_pose(0, q)])
    _, jacobian, _ = packed.evaluate(q, exact=False)
    expected = -difference(lambda at: packed.evaluate(at)[0], packed, q)
    np.testing.assert_allclose(jacobian, expected, rtol=0, atol=1e-9)


@every_combination
@pytest.mark.parametrize('axis', [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0, -0.8)])
def test_rows_are_finite_at_half_a_turn(position_axes, rotation, axis):
    rows = rows_of(position_axes, rotation)
    relation = Relation(rows, 6)
    a, _, b = relation.frames(relation.q)
    half_turn = pose(rotation_vector=math.pi * np.array(axis))
    relation.packed.set_targets([np.linalg.inv(a) @ b @ half_turn])
    for exact in (False, True):
        residual, jacobian, errors = relation.packed.evaluate(relation.q, exact)
        assert np.isfinite(residual).all()
        assert np.isfinite(jacobian).all()
        assert np.isfinite(errors).all()


@pytest.mark.parametrize('short', [1e-3, 1e-6, 1e-9])
def test_rows_near_half_a_turn_measure_the_turn(short):
    problem = hinge(Rows())
    packed = Packed(problem, [pose((1.0, 0.0, 0.0), (0.0, 0.0, math.pi - short))])
    for exact in (False, True):
        residual, _, errors = packed.evaluate([0.0], exact)
        assert residual[5] == pytest.approx(math.pi - short, abs=1e-15)
        assert errors[0, 1] == pytest.approx(math.pi - short, abs=1e-15)


OPPOSED = pose(rotation_vector=(math.pi, 0.0, 0.0))


@pytest.mark.parametrize('axes', [Axes.GOAL, Axes.FRAME_B])
def test_opposed_axes_are_half_a_turn_apart(axes):
    packed = Packed(hinge(rows_of(rotation=(RotationKind.ALIGN, axes))), [OPPOSED])
    _, _, errors = packed.evaluate([0.0])
    assert errors[0, 1] == pytest.approx(math.pi)


def test_a_spin_between_opposed_axes_never_passes_for_solved():
    packed = Packed(hinge(rows_of(rotation=(RotationKind.SPIN, Axes.WORLD))), [OPPOSED])
    for angle in np.linspace(-3.0, 3.0, 7):
        assert packed.evaluate([angle])[2][0, 1] == pytest.approx(math.pi)


@pytest.mark.parametrize('axes', [Axes.GOAL, Axes.FRAME_B])
@pytest.mark.parametrize('tilt', [0.0, 1e-13, 1e-9, 9.9e-5, 1.01e-4, 1e-2, 3.1, math.pi - 1e-5])
def test_an_alignment_measures_the_angle_between_the_axes(axes, tilt):
    rows = Rows(
        weights=np.array([0, 0, 0, 1.0, 1.0, 0]), rotation_axes=axes, rotation=RotationKind.ALIGN
    )
    packed = Packed(hinge(rows), [pose(rotation_vector=(0.6 * tilt, 0.8 * tilt, 0.0))])
    assert packed.evaluate([0.4])[2][0, 1] == pytest.approx(tilt, abs=1e-12)


@pytest.mark.parametrize('tilt', [0.0, 1e-9, 0.5e-4, 0.99e-4, 1.01e-4, 1e-3])
@pytest.mark.parametrize('axes', [Axes.GOAL, Axes.FRAME_B])
def test_the_derivative_of_an_alignment_holds_where_its_series_ends(axes, tilt):
    tree = make_tree(Joint('j', JointKind.SPHERICAL))
    rows = Rows(rotation_axes=axes, rotation=RotationKind.ALIGN)
    problem = build_problem(tree, ['j'], [PoseConstraint('base', 'link_j', target=0, rows=rows)])
    packed = Packed(problem, [pose(rotation_vector=(0.6 * tilt, 0.8 * tilt, 1.0))])
    q = np.array([0.0, 0.0, 0.0, 1.0])
    _, jacobian, _ = packed.evaluate(q)
    expected = -difference(lambda at: packed.evaluate(at)[0], packed, q, 1e-5)
    np.testing.assert_allclose(jacobian, expected, rtol=0, atol=1e-7)
