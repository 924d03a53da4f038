"""Cells among obstacles, compared with the collision library on the robot itself, and which of them are proved."""

from dataclasses import replace
import functools

from test.reach.reach_maps import bytes_below, random_poses, small_grid

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.cli.command import main
from ssik_ros.errors import InvalidOption, TopologyMismatch
from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.model.catalogue import load_arm
from ssik_ros.model.collision.checks import CollisionChecker, import_coal
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.collision.scene import CollisionScene
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach import cells, CellStatus, ReachMap
from ssik_ros.reach.cells import ReachSettings
from ssik_ros.reach.checked_cells import CheckedArm, make_arm
from ssik_ros.reach.collisions.chain_scene import make_scene
from ssik_ros.reach.collisions.posture_checks import LARGEST_POSTURE_CLEARANCE, PostureChecks
from ssik_ros.reach.engine import Workers
from ssik_ros.reach.mapping import make_map, make_plan
from ssik_ros.solvers.self_motions.tracer import SelfMotionTracer

ALONE = Workers(0)


@functools.cache
def robot_of(name):
    """Return a shipped robot with collision geometry, and the chain of its arm."""
    files = find_moveit_config(name)
    robot = load_robot(files.urdf_path, files.srdf_path)
    group = next(group for group in robot.groups.values() if len(group.tips) == 1)
    return robot, SerialChain.from_group(robot, group)


def solid(name, kind, sizes, place):
    """Return an obstacle."""
    shape = ObjectShape(kind, sizes, np.eye(4))
    return WorldObject(name, pose_matrix(np.array(place), np.eye(3)), (shape,))


def wedge():
    """Return an obstacle of triangles."""
    corners = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3]], dtype=np.float64)
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    shape = ObjectShape(SolidKind.MESH, (), np.eye(4), corners, faces)
    return WorldObject('wedge', pose_matrix(np.array([-0.4, 0.2, 0.1]), np.eye(3)), (shape,))


TABLE = solid('table', SolidKind.BOX, [0.6, 1.2, 0.04], [0.5, 0.0, 0.2])
POST = solid('post', SolidKind.CYLINDER, [1.0, 0.05], [0.3, -0.4, 0.5])
BALL = solid('ball', SolidKind.SPHERE, [0.1], [-0.3, -0.3, 0.6])
CONE = solid('cone', SolidKind.CONE, [0.4, 0.2], [0.0, 0.5, 0.4])
PLANE = solid('floor', SolidKind.PLANE, [0.0, 0.0, 1.0, 0.3], [0.0, 0.0, 0.0])
WORLD = (TABLE, POST, BALL, CONE, PLANE, wedge())


@functools.cache
def whole_robot(name):
    """Return the robot among all obstacles, with the pairs that joints move towards each other."""
    robot, _ = robot_of(name)
    scene = CollisionChecker(robot).scene(list(WORLD))
    moving = scene.moving_pairs(*(np.full(robot.tree.nq, value) for value in (0.3, -0.4)))
    return CollisionScene(robot, import_coal(), scene.shapes, moving, 0.0)


def judged(name, q):
    """Return which postures collide with nothing by the library on the whole robot, and the distances of its pairs."""
    robot, chain = robot_of(name)
    reference, state = whole_robot(name), robot.default_positions()
    free, apart = np.empty(len(q), dtype=bool), np.empty(len(q))
    for row, posture in enumerate(q):
        state[chain.idx_q] = posture
        free[row], apart[row] = (
            reference.colliding_pair(state) is None,
            reference.least_distance(state),
        )
    return free, apart


@pytest.mark.parametrize('name', ['ur5e', 'panda'])
def test_shapes_from_a_map_collide_as_those_of_the_robot(name):
    robot, chain = robot_of(name)
    checks = PostureChecks(chain, make_scene(robot, chain, WORLD).scene)
    low, high = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    q = np.random.default_rng(1).uniform(low, high, (300, len(low)))
    free, apart = checks.clearances(q)
    expected, distance = judged(name, q)
    assert 0.02 < free.mean() < 0.9
    assert np.array_equal(free, expected)
    assert np.array_equal(checks.free(q), expected)
    exact = np.minimum(distance[free], LARGEST_POSTURE_CLEARANCE)
    # The robots' shapes are solids, so that no hull stands for anything.
    assert (apart[free] <= exact + 1e-6).all()
    assert (apart[free] >= exact - 2e-3).all()
    first = int(np.argmax(free))
    assert checks.least_distance(q[first]) == pytest.approx(
        min(distance[first], LARGEST_POSTURE_CLEARANCE), abs=1e-6
    )


def test_cells_of_six_joints_are_what_all_branches_say():
    robot, chain = robot_of('ur5e')
    settings = ReachSettings(measures=True, clearance=True)
    poses = random_poses(70, seed=5, reach=0.8)
    decided = make_arm(chain, settings, make_scene(robot, chain, WORLD).scene).decide(poses)
    arm = Manipulator.from_prebuilt('ur5e')
    solutions = arm.solve_batch(np.ascontiguousarray(poses))
    seen = set()
    for row, status in enumerate(decided.status.tolist()):
        q = solutions[row]
        free, apart = judged('ur5e', q) if len(q) else (np.zeros(0, dtype=bool), np.zeros(0))
        expected = CellStatus.OUT_OF_REACH
        if len(q):
            expected = CellStatus.REACHABLE if free.any() else CellStatus.COLLIDES
        assert status == expected
        assert decided.branches[row] == free.sum()
        seen.add(status)
        if free.any():
            best = min(apart[free].max(), LARGEST_POSTURE_CLEARANCE)
            assert best - 2e-3 <= decided.clearance[row] <= best + 1e-6
            margins = np.minimum(q[free] - chain.lower, chain.upper - q[free]).min(axis=1)
            assert decided.limit_margin[row] == pytest.approx(margins.max(), abs=1e-5)
        else:
            assert np.isnan(decided.clearance[row]) and np.isnan(decided.manipulability[row])
    assert seen == {CellStatus.REACHABLE, CellStatus.OUT_OF_REACH, CellStatus.COLLIDES}


def around_the_tip(pose):
    """Return a ball that every posture of a pose of the tip touches."""
    return solid('ball', SolidKind.SPHERE, [0.05], pose[:3, 3])


def test_a_singular_posture_that_collides_is_no_proof():
    robot, chain = robot_of('ur5e')
    singular, regular = (
        chain.pose(np.array([0.3, -1.2, 1.4, -0.6, bend, 0.4])) for bend in (0.0, 0.5)
    )
    for pose, expected in ((regular, CellStatus.COLLIDES), (singular, CellStatus.UNKNOWN)):
        scene = make_scene(robot, chain, [around_the_tip(pose)]).scene
        decided = make_arm(chain, ReachSettings(), scene).decide(pose[None])
        assert decided.status.tolist() == [expected]
        assert decided.branches[0] == 0


def test_seven_joints_among_obstacles_are_reachable_or_unknown_and_looked_at_along_their_curves():
    robot, chain = robot_of('panda')
    scene = make_scene(robot, chain, WORLD).scene
    poses = random_poses(120, seed=7, reach=0.7)
    plain = make_arm(chain, ReachSettings()).decide(poses)
    decided = make_arm(chain, ReachSettings(), scene).decide(poses)
    assert CellStatus.COLLIDES not in decided.status
    assert (
        (decided.status == CellStatus.OUT_OF_REACH) == (plain.status == CellStatus.OUT_OF_REACH)
    ).all()
    stuck = np.flatnonzero(
        (plain.status == CellStatus.REACHABLE) & (decided.status == CellStatus.UNKNOWN)
    )
    assert len(stuck) and (decided.effort[stuck] > 30).all()
    assert (decided.status == CellStatus.REACHABLE).any()
    arm, checks = Manipulator.from_prebuilt('panda'), PostureChecks(chain, scene)
    for pose in poses[stuck][:5]:
        # Eight times as fine as the cells look.
        q = arm.self_motions(pose).sample(0.0125)
        assert checks.free(q).mean() < 5e-3


def test_curves_find_a_posture_that_samples_miss(monkeypatch):
    robot, chain = robot_of('panda')
    scene = make_scene(robot, chain, WORLD).scene
    poses = random_poses(120, seed=7, reach=0.7)
    arm = CheckedArm(chain, ReachSettings(), scene)
    with_curves = arm.decide(poses)
    monkeypatch.setattr(SelfMotionTracer, 'motions', lambda self, pose: None)
    without = arm.decide(poses)
    gained = (with_curves.status == CellStatus.REACHABLE) & (
        without.status != CellStatus.REACHABLE
    )
    assert gained.any()
    assert (with_curves.branches[gained] > 0).all()


def test_an_arm_without_a_closed_form_tries_other_postures(monkeypatch):
    robot, chain = robot_of('ur5e')
    scene = make_scene(robot, chain, WORLD).scene
    expected = CheckedArm(chain, ReachSettings(), scene)
    expected = expected.decide(random_poses(40, seed=9, reach=0.7)).status

    def fit_none(chain):
        raise TopologyMismatch('no class fits')

    monkeypatch.setattr(cells, 'AnalyticArm', fit_none)
    searched = CheckedArm(chain, ReachSettings(), scene).decide(
        random_poses(40, seed=9, reach=0.7)
    )
    assert not (
        (searched.status == CellStatus.REACHABLE) & (expected != CellStatus.REACHABLE)
    ).any()
    missed = (expected == CellStatus.REACHABLE) & (searched.status != CellStatus.REACHABLE)
    assert missed.mean() < 0.1
    stuck = (expected == CellStatus.COLLIDES) & (searched.status == CellStatus.UNKNOWN)
    assert stuck.any() and (searched.effort[stuck] >= 16).all()


def test_self_motions_are_those_that_users_get():
    _, chain = robot_of('panda')
    poses, arm = random_poses(40, seed=11, reach=0.6), Manipulator.from_prebuilt('panda')
    decided = make_arm(chain, ReachSettings(self_motions=True)).decide(poses)
    reachable = np.flatnonzero(decided.status == CellStatus.REACHABLE)
    assert len(reachable) > 5
    user_chain = SerialChain.from_group(arm.robot, arm.group)
    if np.allclose(user_chain.home, chain.home):
        for row in reachable:
            assert decided.self_motions[row] == len(arm.self_motions(poses[row]))
    assert (decided.self_motions[decided.status == CellStatus.OUT_OF_REACH] == 0).all()


def plan_with(world=WORLD, robot='ur5e', **changes):
    """Return the plan of a small map among obstacles."""
    model, chain = robot_of(robot)
    scene = make_scene(model, chain, world).scene
    return make_plan(chain, robot, small_grid(0.5, 4, 64), scene=scene, **changes)


def test_a_map_among_obstacles_has_the_same_bytes_and_brings_its_shapes(tmp_path):
    plan = plan_with(quantities=('clearance',))

    def stop(progress, units):
        if progress.units == 2:
            raise KeyboardInterrupt

    for name in ('whole', 'stopped'):
        if name == 'stopped':
            with pytest.raises(KeyboardInterrupt):
                make_map(plan, tmp_path / name, ALONE, stop)
        make_map(plan, tmp_path / name, ALONE)
    assert bytes_below(tmp_path / 'whole') == bytes_below(tmp_path / 'stopped')
    reach_map = ReachMap.open(tmp_path / 'whole')
    cells = np.argwhere(reach_map.read() != CellStatus.NOT_ASKED)
    poses = np.tile(np.eye(4), (len(cells), 1, 1))
    poses[:, :3, :3] = reach_map.grid.rotations[cells[:, 3]]
    poses[:, :3, 3] = reach_map.grid.positions(cells[:, :3])
    exact, status = reach_map.query(poses, exact=True), reach_map.read()[tuple(cells.T)]
    assert (exact.status == status).all()
    assert {CellStatus.COLLIDES, CellStatus.REACHABLE} <= set(status.tolist())
    assert np.isfinite(reach_map.read('clearance')[reach_map.read() == CellStatus.REACHABLE]).all()


def test_other_obstacles_and_changed_shapes_are_refused(tmp_path):
    make_map(plan_with(), tmp_path / 'map', ALONE)
    with pytest.raises(InvalidOption, match=r"with other obstacles .*'table'.* not .*'post'"):
        make_map(plan_with((POST,)), tmp_path / 'map', ALONE)
    moved = replace(TABLE, pose=pose_matrix(np.array([0.5, 0.0, 0.21]), np.eye(3)))
    with pytest.raises(InvalidOption, match='places of robot and obstacles that have changed'):
        make_map(plan_with((moved, *WORLD[1:])), tmp_path / 'map', ALONE)
    _, chain = robot_of('ur5e')
    with pytest.raises(InvalidOption, match='with collisions'):
        make_map(make_plan(chain, 'ur5e', small_grid(0.5, 4, 64)), tmp_path / 'map', ALONE)


def test_what_cannot_be_checked_is_refused():
    robot = load_arm('irb120')
    chain = robot_of('ur5e')[1]
    with pytest.raises(InvalidOption, match="'irb120' has no collision geometry"):
        make_scene(robot, chain)
    with pytest.raises(InvalidOption, match='seven joints'):
        make_plan(chain, 'arm', small_grid(), ('self_motions',))
    with pytest.raises(InvalidOption, match='clearance needs the shapes'):
        make_plan(chain, 'arm', small_grid(), ('clearance',))


ONE_BOX = """
<robot name="one_box">
  <link name="base"/>
  <link name="box">
    <collision><origin xyz="0.5 0 0"/><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
  </link>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="box"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/>
  </joint>
</robot>
"""


def one_box():
    """Return a robot whose only shape is a box of 0.2 m, 0.5 m from the axis of its joint, and its chain."""
    robot = load_robot(ONE_BOX)
    return robot, SerialChain.from_group(robot, robot.group_from_links('base', 'box'))


def fork():
    """Return two triangles on both sides of the box, as one obstacle: only the hull around both overlaps the box."""
    corners = [[x, y, z] for y in (-0.4, 0.4) for x, z in ((0.2, -0.4), (0.8, -0.4), (0.5, 0.8))]
    shape = ObjectShape(
        SolidKind.MESH, (), np.eye(4), np.array(corners), np.array([[0, 1, 2], [3, 4, 5]])
    )
    return WorldObject('fork', np.eye(4), (shape,))


@pytest.mark.parametrize(('height', 'is_free'), [(0.16, True), (0.14, False)])
def test_a_solid_collides_although_a_hull_overlaps_the_robot_more(height, is_free):
    robot, chain = one_box()
    cube = solid('cube', SolidKind.BOX, [0.1, 0.1, 0.1], [0.5, 0.0, height])
    for world in ([fork(), cube], [cube, fork()]):
        checks = PostureChecks(chain, make_scene(robot, chain, world).scene)
        assert checks.free(np.zeros((1, 1))).tolist() == [is_free]


def test_a_robot_that_cannot_collide_with_anything_is_refused():
    robot, chain = one_box()
    with pytest.raises(InvalidOption, match="no joint of 'one_box' moves two shapes"):
        make_scene(robot, chain)


def test_an_object_that_always_touches_the_base_is_noted():
    robot, chain = robot_of('ur5e')
    under = solid('plinth', SolidKind.BOX, [0.3, 0.3, 0.3], [0.0, 0.0, -0.1])
    plan = make_scene(robot, chain, [under])
    assert [note for note in plan.notes if 'plinth' in note and 'every posture' in note]
    assert make_scene(robot, chain, [TABLE]).notes == ()


SCENE = """
obstacles:
  table: {box: [0.6, 1.2, 0.04], xyz: [0.5, 0.0, 0.2]}
  ball: {sphere: 0.1, xyz: [-0.3, -0.3, 0.6]}
"""


def test_the_command_makes_a_map_among_obstacles(tmp_path, capsys):
    (tmp_path / 'scene.yaml').write_text(SCENE)
    cells = ['--grid', '0.4', '--orientations', '4', '--region', 'sphere:0.9', '--workers', '0']
    words = ['reach', 'ur5e', *cells, '-o', str(tmp_path / 'map.zarr')]
    more = ['--obstacles', str(tmp_path / 'scene.yaml'), '--with', 'clearance,branches']
    assert main([*words, *more]) == 0
    assert 'collides' in capsys.readouterr().out
    assert main(words) == 2
    assert 'with collisions' in capsys.readouterr().err
    (tmp_path / 'scene.yaml').write_text('obstacles: {table: {cube: 1}}')
    assert main([*words, *more]) == 2
    assert 'cube' in capsys.readouterr().err
    assert main([*words, '--with', 'clearence']) == 2
    assert 'clearance' in capsys.readouterr().err
