"""Forward kinematics of packed trees against a plain walk and against pinocchio."""

from test.packed import Packed
from test.tree_factory import Joint, make_tree, pose, random_pose, random_state, random_tree, walk

import numpy as np
import pytest

from ssik_ros.kernels.rows import layout, tree as tree_kernel
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.problem.problem import build_problem, PoseConstraint

TOLERANCE = 1e-12
AXES = (
    (0, 0, 1),
    (0, 0, -1),
    (1, 0, 0),
    (0, -1, 0),
    (1, 1, 1),
    (1, 0, 1e-9),
    (1e-7, 0, 1),
    (0, 0, 5),
)
NEARLY_MINUS_Z = (1e-3, 1e-5, 1.5e-6, 1e-6, 1e-7)


def pack_all_links(tree):
    """Return a problem with one constraint from the base to each link, and a joint that drives it."""
    constraints = [PoseConstraint('base', link, target=0) for link in tree.link_names[1:]]
    joints = [n for n, leader in zip(tree.joint_names, tree.leaders, strict=True) if leader < 0]
    return Packed(build_problem(tree, joints, constraints), [np.eye(4)])


def assert_walks_agree(tree, q):
    packed = pack_all_links(tree)
    poses = walk(tree, q)
    variables = q[packed.problem.idx_q]
    for index, link in enumerate(tree.link_names[1:]):
        expected = np.linalg.inv(poses['base']) @ poses[link]
        actual = packed.frame_pose(index, variables)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize('seed', range(30))
def test_every_link_of_a_random_tree_is_where_a_plain_walk_puts_it(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    assert_walks_agree(tree, random_state(tree, rng))


@pytest.mark.parametrize('kind', JointKind)
def test_every_kind_of_joint_moves_as_it_should(kind):
    rng = np.random.default_rng(int(kind))
    axis = (0, 0, 1) if kind == JointKind.PLANAR else (1, -2, 3)
    tree = make_tree(Joint('j', kind, placement=random_pose(rng), axis=axis))
    assert_walks_agree(tree, random_state(tree, rng))


@pytest.mark.parametrize('axis', AXES)
@pytest.mark.parametrize('kind', [JointKind.REVOLUTE, JointKind.PRISMATIC])
def test_every_axis_is_turned_to_z_without_a_trace(kind, axis):
    rng = np.random.default_rng(1)
    tree = make_tree(Joint('j', kind, axis=axis), Joint('k', kind, parent='j', axis=axis))
    assert_walks_agree(tree, random_state(tree, rng))


@pytest.mark.parametrize('tilt', NEARLY_MINUS_Z)
def test_an_axis_nearly_opposite_to_z_is_not_taken_for_another(tilt):
    tree = make_tree(Joint('j', axis=(tilt, -tilt, -1.0)), Joint('k', parent='j'))
    assert_walks_agree(tree, np.array([0.8, -1.9]))


@pytest.mark.parametrize('multiplier', [1.0, -1.0, 0.5, 3.0, 0.0])
@pytest.mark.parametrize('kind', [JointKind.REVOLUTE, JointKind.PRISMATIC])
def test_a_follower_moves_by_multiplier_and_offset(kind, multiplier):
    rng = np.random.default_rng(2)
    follower = Joint(
        'f', kind, 'j', random_pose(rng), (1, 2, 3), leader='j', multiplier=multiplier, offset=0.4
    )
    tree = make_tree(Joint('j', axis=(0, 1, 0)), follower)
    assert_walks_agree(tree, random_state(tree, rng))


def test_a_follower_may_stand_above_its_leader():
    joints = Joint('f', leader='j', multiplier=2.0, offset=0.1), Joint('j', parent='f')
    tree = make_tree(*joints)
    assert_walks_agree(tree, np.array([2.0 * 0.3 + 0.1, 0.3]))


@pytest.mark.parametrize('angle', [0.0, np.pi / 2, np.pi, -np.pi, 1e-9, 7.0, 1e4, 3e5])
def test_special_and_large_angles_turn_as_the_library_says(angle):
    tree = make_tree(Joint('j'), Joint('k', parent='j', placement=pose((1.0, 0.0, 0.0))))
    assert_walks_agree(tree, np.array([angle, -angle]))


def test_a_ball_takes_quaternions_of_any_length():
    tree = make_tree(Joint('j', JointKind.SPHERICAL))
    packed = pack_all_links(tree)
    q = np.array([0.1, -0.5, 0.3, 0.8])
    one, other = packed.frame_pose(0, q), packed.frame_pose(0, -7.0 * q)
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-15)


def test_a_screw_slides_by_its_lead_while_it_turns():
    tree = make_tree(Joint('j', placement=pose((1.0, 2.0, 3.0), (0.4, 0.0, 0.0))))
    problem = build_problem(tree, ['j'], [PoseConstraint('base', 'link_j', target=0)])
    ints, reals = problem.ints.copy(), problem.reals.copy()
    ints[problem.ints[layout.TABLES.entry('node_i')] + layout.NODE_KIND] = layout.SCREW
    reals[problem.ints[layout.TABLES.entry('node_f')] + layout.NODE_LEAD] = 0.05
    actual = Packed(problem, ints=ints, reals=reals).frame_pose(0, [1.2])
    motion = pose((0.0, 0.0, 0.05 * 1.2), (0.0, 0.0, 1.2))
    np.testing.assert_allclose(actual, tree.placements[0] @ motion, rtol=0, atol=1e-15)


def test_frames_of_a_state_come_as_matrices_fixed_ones_included():
    rng = np.random.default_rng(4)
    tree = random_tree(rng, count=3, kinds=(JointKind.REVOLUTE,), mimic=0.0)
    packed, q = pack_all_links(tree), random_state(tree, rng)
    count = int(packed.ints[layout.NODES])
    node_i = packed.ints[layout.HEADER : layout.HEADER + 4 * count].reshape(count, 4)
    node_f = packed.reals[: count * layout.NODE_REALS].reshape(count, -1)
    placements = np.tile([1.0, 0, 0, 0, 0, -1.0, 0, 1.0, 0, 0.1, 0.2, 0.3], (2, 1))
    out, nodes = np.full((2, 4, 4), np.nan), np.array([-1, count - 1])
    variables = q[packed.problem.idx_q]
    tree_kernel.frame_poses(
        out, node_i, node_f, variables, np.empty((count, 12)), nodes, placements
    )
    placement = pose((0.1, 0.2, 0.3), (np.pi / 2, 0.0, 0.0))
    expected = [placement, packed.node_poses(variables)[-1] @ placement]
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-15)


def arm_of(robot):
    """Return the group of a shipped robot's arm."""
    return next(group for group in robot.groups.values() if group.is_chain)


def test_tips_of_the_shipped_robots_are_where_pinocchio_puts_them(robot):
    rng, group, reference = np.random.default_rng(5), arm_of(robot), ReferenceKinematics(robot)
    constraint = PoseConstraint(group.base_link, group.tip, target=0)
    problem = build_problem(robot.tree, group.joint_names, [constraint])
    packed, state = Packed(problem), robot.default_positions()
    for _ in range(100):
        state[group.idx_q] = robot.sample(group, rng)
        expected = reference.group_tip_poses(state, group)[0]
        actual = packed.frame_pose(0, state[problem.idx_q])
        np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE)
