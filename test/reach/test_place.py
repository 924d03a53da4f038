"""Where a base is put: against an exhaustive fine search, with reasons where no place serves."""

import functools
import itertools

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidTarget, SsikError
from ssik_ros.kernels.geometry.rotations import matrix_of_rpy, pose_matrix
from ssik_ros.model.catalogue import load_arm
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.reach.place import find_places, PlaceResult, PlaceSettings
from ssik_ros.reach.place_file import read_cell
from ssik_ros.reach.placement import BaseSpace, PlacedArm, PlaceTasks

MARGIN = PlaceSettings(objective='limit_margin')
DOWN = np.diag([1.0, -1.0, -1.0])


def task(x: float, y: float, z: float, roll: float = 0.0, pitch: float = 0.0) -> FloatArray:
    """Return a pose with the tool down, tilted where wanted."""
    return pose_matrix(np.array([x, y, z]), matrix_of_rpy(roll, pitch, 0.0) @ DOWN)


@functools.cache
def manipulator(name: str) -> Manipulator:
    """Return an arm of the catalogue."""
    return Manipulator.from_prebuilt(name)


def placed(name: str, space: BaseSpace) -> PlacedArm:
    """Return an arm of the catalogue to be placed."""
    arm = manipulator(name)
    return PlacedArm(arm.robot, arm.group, space)


def space_of(**ranges: float | tuple[float, float]) -> BaseSpace:
    """Return places by the ranges of coordinates, others zero."""
    names = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')
    pairs = [ranges.get(name, 0.0) for name in names]
    ends = [pair if isinstance(pair, tuple) else (pair, pair) for pair in pairs]
    return BaseSpace.box([low for low, _ in ends], [high for _, high in ends])


def worst_margins(name: str, places: FloatArray, poses: FloatArray) -> FloatArray:
    """Return the limit margin (c,) of the worst task at each place, -1 where one fails; by the solver of users."""
    arm = manipulator(name)
    bases = np.array([pose_matrix(row[:3], matrix_of_rpy(*row[3:])) for row in places])
    targets = np.linalg.inv(bases)[:, None] @ poses[None]
    worst = np.full(len(places), np.inf)
    for column in range(len(poses)):
        solutions = arm.solve_batch(np.ascontiguousarray(targets[:, column]))
        counts = np.diff(solutions.offsets)
        best = np.full(len(places), -1.0)
        group = arm.group
        lower, upper = np.array(group.lower), np.array(group.upper)
        margins = np.minimum(solutions.q - lower, upper - solutions.q).min(axis=1)
        np.maximum.at(best, np.repeat(np.arange(len(places)), counts), margins)
        worst = np.minimum(worst, best)
    return np.minimum(worst, np.pi)


def finest(name: str, axes: dict[int, FloatArray], poses: FloatArray) -> tuple[FloatArray, float]:
    """Return the best place of a fine grid, and its worst margin."""
    grid = np.array(list(itertools.product(*axes.values())))
    places = np.zeros((len(grid), 6))
    places[:, list(axes)] = grid
    worst = worst_margins(name, places, poses)
    return places[int(np.argmax(worst))], float(worst.max())


def assert_found(result: PlaceResult, best: FloatArray, value: float) -> None:
    """Check that the best placement agrees with a fine grid's best, or is better and close to it."""
    first = result.placements[0]
    differences = np.abs(first.coordinates[0] - best)
    assert result.reaches_all
    assert first.value >= value - 1e-9
    assert differences[:3].max() <= 0.01 and np.degrees(differences[3:]).max() <= 1.0


def test_a_base_on_a_rail_stands_at_the_optimum() -> None:
    poses = np.array([task(0.35, 0.3, 0.2), task(-0.1, 0.35, 0.3, 0.4), task(0.2, 0.4, 0.1)])
    result = find_places(
        [placed('irb120', space_of(x=(-1.0, 1.0)))], PlaceTasks.exact(poses), MARGIN
    )
    best, value = finest('irb120', {0: np.arange(-1.0, 1.0, 0.002)}, poses)
    assert_found(result, best, value)


@pytest.mark.slow
def test_a_base_on_the_floor_stands_at_the_optimum() -> None:
    poses = np.array([task(0.3, 0.25, 0.2), task(0.35, -0.3, 0.3), task(-0.1, 0.1, 0.25)])
    space = space_of(x=(-0.6, 0.6), y=(-0.6, 0.6))
    result = find_places([placed('irb120', space)], PlaceTasks.exact(poses), MARGIN)
    steps = np.arange(-0.6, 0.6, 0.01)
    coarse, _ = finest('irb120', {0: steps, 1: steps}, poses)
    near = np.arange(-0.03, 0.03, 0.002)
    best, value = finest('irb120', {0: coarse[0] + near, 1: coarse[1] + near}, poses)
    assert_found(result, best, value)


@pytest.mark.slow
def test_a_base_that_tilts_stands_at_the_optimum() -> None:
    poses = np.array([task(1.5, 0.6, 0.9), task(1.2, -1.0, 1.2, 0.3), task(0.9, 1.2, 1.6)])
    space = space_of(x=(-1.0, 1.0), pitch=(-0.6, 0.6))
    result = find_places([placed('irb6700', space)], PlaceTasks.exact(poses), MARGIN)
    steps, turns = np.arange(-1.0, 1.0, 0.01), np.arange(-0.6, 0.6, np.radians(1.0))
    coarse, _ = finest('irb6700', {0: steps, 4: turns}, poses)
    near = np.arange(-0.02, 0.02, 0.002)
    turned = coarse[4] + np.radians(np.arange(-2.0, 2.0, 0.2))
    best, value = finest('irb6700', {0: coarse[0] + near, 4: turned}, poses)
    assert_found(result, best, value)


@functools.cache
def boxed_arm() -> PlacedArm:
    """Return a UR5e with its meshes, next to a table."""
    files = find_moveit_config('ur5e')
    robot = load_robot(files.urdf_path, files.srdf_path)
    group = next(group for group in robot.groups.values() if len(group.tips) == 1)
    return PlacedArm(robot, group, space_of(x=(-0.5, 0.9), y=(-0.4, 0.4)), [table()])


def table() -> WorldObject:
    """Return a table under the tasks."""
    shape = ObjectShape(SolidKind.BOX, [0.5, 0.5, 0.6], np.eye(4))
    return WorldObject('table', pose_matrix(np.array([0.4, 0.0, 0.0]), np.eye(3)), (shape,))


@pytest.mark.slow
def test_no_posture_of_a_place_collides_with_the_cell() -> None:
    arm, poses = boxed_arm(), np.array([task(0.4, 0.1, 0.45), task(0.4, -0.1, 0.45)])
    result = find_places([arm], PlaceTasks.exact(poses))
    assert result.reaches_all
    checker = CollisionChecker(arm.robot)
    for placement in result.placements[:2]:
        base = pose_matrix(placement.coordinates[0][:3], np.eye(3))
        moved = WorldObject('table', np.linalg.inv(base) @ table().pose, table().shapes)
        # The root link of this robot is where its base link is.
        scene = checker.scene([moved])
        for done in placement.tasks:
            state = arm.robot.default_positions()
            state[arm.chain.idx_q] = done.q
            assert scene.colliding_pair(state) is None
    # The table is where the arm would be best.
    free = PlacedArm(arm.robot, manipulator_group(arm), arm.space)
    better = find_places([free], PlaceTasks.exact(poses))
    assert better.placements[0].value >= result.placements[0].value


def manipulator_group(arm: PlacedArm):
    """Return the group of an arm."""
    return next(group for group in arm.robot.groups.values() if len(group.tips) == 1)


def test_collisions_are_those_of_the_base_where_it_stands() -> None:
    arm, rng, seen = boxed_arm(), np.random.default_rng(4), set()
    checker = CollisionChecker(arm.robot)
    for _ in range(40):
        place = np.concatenate([rng.uniform(-0.8, 0.8, 3), rng.uniform(-1.0, 1.0, 3)])
        q = rng.uniform(-np.pi, np.pi, 6)
        base = pose_matrix(place[:3], matrix_of_rpy(*place[3:]))
        # The root link of this robot is where its base link is: move the table instead of the robot.
        moved = WorldObject('table', np.linalg.inv(base) @ table().pose, table().shapes)
        state = arm.robot.default_positions()
        state[arm.chain.idx_q] = q
        expected = checker.scene([moved]).colliding_pair(state)
        assert arm.colliding_pair(place, q) == expected
        seen.add(None if expected is None else 'table' in expected)
    assert seen == {None, True, False}


def test_a_task_in_an_obstacle_is_said_to_collide() -> None:
    poses = np.array([task(0.4, 0.0, 0.05)])
    result = find_places([boxed_arm()], PlaceTasks.exact(poses))
    assert not result.reaches_all and result.hopeless == ()
    assert 'collides' in result.placements[0].tasks[0].reason
    assert 'table' in result.placements[0].tasks[0].reason


def test_a_cell_without_solution_is_explained() -> None:
    poses = np.array([task(0.3, 0.0, 0.3), task(1.6, 0.0, 0.3), task(0.0, 0.0, 4.0)])
    space = space_of(x=(-0.5, 2.0), y=(-0.3, 0.3))
    result = find_places([placed('irb120', space)], PlaceTasks.exact(poses, [1.0, 2.0, 1.0]))
    assert not result.reaches_all
    assert result.hopeless == (2,) and result.conflicts == ((0, 1),)
    reasons = [done.reason for done in result.placements[0].tasks]
    # The heavier of both tasks that exclude each other is reached.
    assert result.placements[0].weight == 2.0 and reasons[1] == ''
    assert 'out of reach' in reasons[0] and 'out of reach' in reasons[2]


def test_why_seven_joints_fail_is_proved() -> None:
    arm, base = placed('panda', space_of()), np.zeros(6)
    tasks = PlaceTasks.exact(np.array([task(0.0, 0.0, 0.5), task(0.0, 0.0, 1.0)]))
    assert arm.why_not(base, tasks, 0) == 'every posture is outside the joint limits'
    assert arm.why_not(base, tasks, 1) == 'out of reach, 1.00 m from the base link'


def test_why_six_joints_fail_is_proved() -> None:
    """Some postures beyond the limits have other branches within; all others are proved to have none."""
    rng, arm, base = np.random.default_rng(5), placed('irb120', space_of()), np.zeros(6)
    chain = arm.chain
    free = Manipulator.from_prebuilt('irb120')
    proved = 0
    for _ in range(40):
        q = rng.uniform(-np.pi, np.pi, 6)
        q[1] = rng.uniform(2.2, 3.0)
        assert q[1] > chain.upper[1]
        pose = chain.pose(q)
        if not free.solve_q(pose).size:
            tasks = PlaceTasks.exact(pose[None])
            assert arm.why_not(base, tasks, 0) == 'every posture is outside the joint limits'
            proved += 1
    assert proved > 5


@pytest.mark.sampled
@pytest.mark.parametrize('spins', [False, True])
@pytest.mark.parametrize('name', ['irb120', 'ur5e', 'puma560'])
def test_no_reason_claims_what_a_straight_wrist_disproves(name: str, spins: bool) -> None:
    """Each task is the pose of a posture within the limits, which the branches of the pose need not hold."""
    rng, arm, base = np.random.default_rng(3), placed(name, space_of()), np.zeros(6)
    chain = arm.chain
    for _ in range(40):
        q = rng.uniform(np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi))
        q[4] = 0.0
        pose = chain.pose(q)
        if spins:
            pose = pose @ pose_matrix(np.zeros(3), matrix_of_rpy(0.0, 0.0, rng.uniform(-3.0, 3.0)))
        zero = np.zeros(1)
        tasks = PlaceTasks(pose[None], np.ones(1), zero, zero, np.array([spins]))
        reason = arm.why_not(base, tasks, 0)
        assert 'out of reach' not in reason and 'limits' not in reason


def test_a_tolerance_that_is_out_of_reach_is_proved() -> None:
    arm, base = placed('irb120', space_of()), np.zeros(6)
    poses = np.array([task(1.2, 0.0, 0.3)] * 2)
    # The wrist is 0.52 m away from the shoulder at most.
    tasks = PlaceTasks(
        poses, np.ones(2), np.array([0.05, 2.0]), np.full(2, 0.1), np.full(2, fill_value=True)
    )
    assert arm.why_not(base, tasks, 0) == 'out of reach, 1.24 m from the base link'
    assert 'out of reach' not in arm.why_not(base, tasks, 1)


@pytest.mark.slow
def test_two_arms_share_tasks_that_one_cannot_reach() -> None:
    poses = np.array([task(0.3, 0.0, 0.3), task(1.9, 0.0, 0.3)])
    tasks = PlaceTasks.exact(poses)
    one, two = (placed('irb120', space_of(x=(-0.5, 2.5), y=(-0.3, 0.3))) for _ in range(2))
    alone, together = find_places([one], tasks), find_places([one, two], tasks)
    assert not alone.reaches_all and together.reaches_all
    assert {done.arm for done in together.placements[0].tasks} == {0, 1}
    apart = find_places([one, two], tasks, PlaceSettings(apart=2.0))
    for placement in apart.placements:
        offset = placement.coordinates[0, :3] - placement.coordinates[1, :3]
        assert placement.weight < 0.0 or np.linalg.norm(offset) >= 2.0


def test_tolerances_reach_what_exact_poses_do_not() -> None:
    far = task(0.0, 0.0, 0.0, 0.0, 0.0)
    far[:3, 3] = 0.62, 0.0, 0.3
    exact = PlaceTasks.exact(far[None])
    loose = PlaceTasks(far[None], np.ones(1), np.full(1, 0.1), np.full(1, 0.6), np.ones(1, bool))
    arm = placed('irb120', space_of(x=(-0.01, 0.01)))
    assert not find_places([arm], exact).reaches_all
    result = find_places([arm], loose)
    assert result.reaches_all


def test_the_same_request_has_the_same_places() -> None:
    poses = np.array([task(0.3, 0.2, 0.3), task(0.2, -0.2, 0.2)])
    arm = placed('irb120', space_of(x=(-0.5, 0.5), y=(-0.5, 0.5)))
    first, second = (find_places([arm], PlaceTasks.exact(poses)) for _ in range(2))
    for one, other in zip(first.placements, second.placements, strict=True):
        assert np.array_equal(one.coordinates, other.coordinates)


def test_a_fixed_base_is_judged_where_it_stands() -> None:
    poses = np.array([task(0.3, 0.1, 0.3)])
    result = find_places([placed('irb120', space_of())], PlaceTasks.exact(poses))
    assert len(result.placements) == 1 and result.reaches_all


CELL = """
arms:
  - robot: irb120
    place: {x: [-0.5, 0.5], y: 0.1, yaw: [-90, 90]}
tasks: tasks.csv
objective: limit_margin
places: 3
"""
TASKS = 'x,y,z,qw,qx,qy,qz,weight\n0.3,0.1,0.3,0,1,0,0,2\n0.2,-0.1,0.2,0,1,0,0,1\n'


def test_a_cell_is_read_from_files(tmp_path) -> None:
    (tmp_path / 'cell.yaml').write_text(CELL)
    (tmp_path / 'tasks.csv').write_text(TASKS)
    cell = read_cell(tmp_path / 'cell.yaml')
    assert len(cell.arms) == 1 and len(cell.arms[0]) == 1
    assert cell.arms[0][0].space.size == 2 and cell.settings.places == 3
    assert cell.tasks.weights.tolist() == [2.0, 1.0]
    assert np.allclose(cell.tasks.poses[0], task(0.3, 0.1, 0.3))
    assert cell.arms[0][0].robot is load_arm('irb120')


BAD_CELLS = {
    'unknown key': CELL + 'speed: 3\n',
    'no arms': 'tasks: tasks.csv\n',
    'three arms': CELL.replace('arms:', 'arms: [{robot: a}, {robot: b}, {robot: c}]\nboxes:'),
    'unknown robot': CELL.replace('irb120', 'irb121'),
    'range that ends first': CELL.replace('[-0.5, 0.5]', '[0.5, -0.5]'),
    'far away': CELL.replace('[-0.5, 0.5]', '[0.5, 1e9]'),
    'not a number': CELL.replace('[-0.5, 0.5]', '[a, b]'),
    'no whole number': CELL.replace('places: 3', 'places: 2.5'),
    'unknown objective': CELL.replace('limit_margin', 'speed'),
    'boxes that are a number': CELL + 'boxes: 3\n',
    'rail and x': CELL.replace('y: 0.1', 'rail: {from: [0, 0, 0], to: [1, 0, 0]}'),
}


@pytest.mark.parametrize('text', BAD_CELLS.values(), ids=BAD_CELLS)
def test_a_wrong_cell_is_one_error(text: str, tmp_path) -> None:
    (tmp_path / 'cell.yaml').write_text(text)
    (tmp_path / 'tasks.csv').write_text(TASKS)
    with pytest.raises(SsikError):
        read_cell(tmp_path / 'cell.yaml')


BAD_TASKS = {
    'no rows': 'x,y,z,qw,qx,qy,qz\n',
    'no columns': '',
    'unknown column': TASKS.replace('weight', 'mass'),
    'not a number': TASKS.replace('0.3,0.1', 'nan,0.1'),
    'text': TASKS.replace('0.3,0.1', 'far,0.1'),
    'short row': 'x,y,z,qw,qx,qy,qz\n1,2\n',
    'long row': 'x,y,z,qw,qx,qy,qz\n1,2,3,1,0,0,0,4\n',
    'no unit quaternion': TASKS.replace('0,1,0,0,2', '0,3,0,0,2'),
    'no weight': TASKS.replace('0,1,0,0,2', '0,1,0,0,-2'),
}


@pytest.mark.parametrize('text', BAD_TASKS.values(), ids=BAD_TASKS)
def test_wrong_tasks_are_one_error(text: str, tmp_path) -> None:
    (tmp_path / 'cell.yaml').write_text(CELL)
    (tmp_path / 'tasks.csv').write_text(text)
    with pytest.raises(SsikError):
        read_cell(tmp_path / 'cell.yaml')


@pytest.mark.parametrize('pose', [np.diag([2.0, 2.0, 2.0, 1.0]), np.full((4, 4), np.nan)])
def test_a_task_that_is_no_rigid_pose_is_named(pose):
    with pytest.raises(InvalidTarget, match='Task 1 needs a finite rigid pose'):
        PlaceTasks.exact(np.array([np.eye(4), pose]))


@pytest.mark.parametrize('weight', [0.0, -1.0, np.nan])
def test_a_task_without_a_positive_weight_is_named(weight):
    with pytest.raises(InvalidTarget, match=r'Task 1 needs .* a positive weight'):
        PlaceTasks.exact(np.array([np.eye(4), np.eye(4)]), [1.0, weight])
