"""Kernels of tool paths against oracles: the collision library, brute force, dense sampling."""

import itertools
import math

from test.paths.made_paths import box, robot

import numpy as np
import pytest

from ssik_ros.kernels.geometry.rotations import pose_matrix, pose_numbers, rotate_about
from ssik_ros.kernels.paths import clearance, convex, layers
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.paths.collisions.bodies import make_core
from ssik_ros.paths.collisions.obstacles import Obstacles
from ssik_ros.paths.tool_chain import ToolChain

coal = pytest.importorskip('coal', reason='coal comes with pinocchio')


def random_pose(rng):
    """Return a random pose within a metre."""
    axis = rng.standard_normal(3)
    rotation = rotate_about(axis / np.linalg.norm(axis), rng.uniform(-3.0, 3.0))
    return pose_matrix(rng.uniform(-0.5, 0.5, 3), rotation)


def random_solid(rng):
    """Return a random solid of the collision library."""
    a, b, c = rng.uniform(0.05, 0.4, 3)
    kinds = (
        lambda: coal.Box(a, b, c),
        lambda: coal.Sphere(a),
        lambda: coal.Cylinder(a, b),
        lambda: coal.Capsule(a, b),
        lambda: coal.Cone(a, b),
    )
    return kinds[rng.integers(len(kinds))]()


def kernel_bounds(solids, poses, wanted=math.inf, hit=-math.inf):
    """Return the kernel's bounds on the distance of two solids."""
    cores = [make_core(solid) for solid in solids]
    return convex.bounds(
        np.array([core.kind for core in cores]),
        np.array([core.sizes for core in cores]),
        np.zeros((0, 3)),
        np.array([pose_numbers(pose) for pose in poses]),
        0,
        1,
        np.zeros(3, dtype=np.int64),
        np.zeros(3),
        wanted,
        hit,
        np.zeros(convex.BOUNDS_SCRATCH),
    )


def test_bounds_enclose_the_distance_of_the_collision_library():
    rng = np.random.default_rng(4)
    apart = 0
    for _ in range(2000):
        solids, poses = [random_solid(rng) for _ in range(2)], [random_pose(rng) for _ in range(2)]
        placed = [coal.Transform3s(pose[:3, :3], pose[:3, 3]) for pose in poses]
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        distance = coal.distance(solids[0], placed[0], solids[1], placed[1], request, result)
        low, high = kernel_bounds(solids, poses)
        if distance > 1e-3:
            apart += 1
            assert low <= distance + 1e-5 and high >= distance - 1e-5
            assert high - low < 0.02 * (distance + 0.4)
        elif distance < -1e-3:
            assert low <= 0.0
    assert apart > 500


def test_touching_and_concentric_bodies_are_never_called_apart():
    for place in ((0.0, 0.0, 0.0), (0.2, 0.0, 0.0), (0.2, 0.2, 0.2)):
        poses = [np.eye(4), pose_matrix(np.array(place), np.eye(3))]
        low, _ = kernel_bounds([coal.Box(0.2, 0.2, 0.2)] * 2, poses)
        assert low <= 1e-12


def connect(q, starts, row_costs, turning, largest, objective, key):
    """Return costs, lengths and parents of the dynamic programming."""
    k, n = q.shape
    costs, lengths = np.zeros(k), np.zeros(k, dtype=np.int64)
    parents = np.zeros(k, dtype=np.int64)
    shape = (len(starts) - 1, n)
    steps = np.broadcast_to(largest, shape).copy(), np.ones(shape)
    layers.connect(
        *(costs, lengths, parents, q, starts, row_costs, turning, *steps, objective, key),
        *(0, len(starts) - 1),
    )
    return costs, lengths, parents


@pytest.mark.parametrize('objective', range(5))
def test_the_cheapest_sequence_is_that_of_all_sequences(objective):
    rng = np.random.default_rng(objective)
    turning, largest = np.array([1, 0]), np.array([1.5, 1.0])
    for _ in range(30):
        parts = [rng.uniform(-math.pi, math.pi, (4, 2)) * [1.0, 0.4] for _ in range(4)]
        parts = [part[np.argsort(part[:, 0])] for part in parts]
        q, starts = np.vstack(parts), np.arange(0, 17, 4)
        row_costs = rng.uniform(0.0, 0.3, 16) * (objective != 2)
        costs, lengths, _ = connect(q, starts, row_costs, turning, largest, objective, 0)
        best = math.inf
        for rows in itertools.product(*(range(s, s + 4) for s in starts[:-1])):
            steps = np.diff(q[list(rows)], axis=0)
            steps[:, 0] = np.mod(steps[:, 0] + math.pi, 2.0 * math.pi) - math.pi
            if (np.abs(steps) <= largest).all():
                each = np.abs(steps)
                most = each.max(axis=1)
                values = (each.sum(), (each**2).sum(), each.max(), most.sum(), (most**16).sum())
                best = min(best, values[objective] + row_costs[list(rows)].sum())
        full = lengths[12:] == 4
        least = costs[12:][full].min() if full.any() else math.inf
        assert least == pytest.approx(best, rel=1e-12, abs=1e-12)


def test_forbidden_rows_are_not_taken_and_the_longest_piece_is_known():
    q = np.zeros((6, 1))
    row_costs = np.array([0.0, 0.0, math.inf, 0.0, 0.0, 0.0])
    one = np.ones(1)
    costs, lengths, parents = connect(
        q, np.arange(7), row_costs, np.zeros(1, dtype=np.int64), one, 0, 0
    )
    assert lengths.tolist() == [1, 2, 0, 1, 2, 3]
    assert parents.tolist() == [-1, 0, -1, -1, 3, 4]
    assert math.isinf(costs[2])


def among(chain, world, distance=0.0):
    """Return the collision checks of an arm, whose base link is its root, among objects."""
    return Obstacles(chain, CollisionChecker(chain.robot, distance).scene(world))


@pytest.fixture(scope='module')
def panda():
    """Return the Panda's chain and a table that it may hit."""
    arm = robot('panda')
    chain = ToolChain(arm, arm.group('panda_arm'))
    return chain, among(chain, [box((0.25, 0.25, 0.25), (0.3, 0.2, 0.6))])


def random_postures(chain, count):
    """Return postures within limits."""
    rng = np.random.default_rng(0)
    return rng.uniform(chain.chain.lower, chain.chain.upper, (count, chain.size))


def test_postures_collide_where_the_collision_library_says_so(panda):
    chain, obstacles = panda
    q = random_postures(chain, 400)
    judged = obstacles.check(q)
    assert judged.are_hits.tolist() == [obstacles.is_colliding(posture) for posture in q]
    assert 50 < judged.are_hits.sum() < 350
    assert ((judged.pairs >= 0) == judged.are_hits).all()


def test_motions_that_are_free_collide_nowhere(panda):
    chain, obstacles = panda
    free = [q for q in random_postures(chain, 300) if not obstacles.is_colliding(q)]
    other = np.roll(free, 1, axis=0)
    verdicts = []
    for a, b in zip(free, other, strict=True):
        motion = np.array([a, a + 0.15 * (b - a)])
        reached, _ = obstacles.follow(motion)
        between = [motion[0] + t * (motion[1] - motion[0]) for t in np.linspace(0.0, 1.0, 41)]
        is_hit = any(obstacles.is_colliding(q) for q in between)
        verdicts.append(is_hit)
        assert not (is_hit and reached[0] == 1.0)
        if not is_hit and reached[0] < 1.0:
            stop = motion[0] + reached[0] * (motion[1] - motion[0])
            close = among(chain, [box((0.25, 0.25, 0.25), (0.3, 0.2, 0.6))], 0.01)
            assert close.is_colliding(stop)
    assert 5 < sum(verdicts) < len(verdicts) - 5


def surface(size, count, height):
    """Return a mesh over a square."""
    x, y = np.meshgrid(*[np.linspace(-size, size, count)] * 2, indexing='ij')
    vertices = np.column_stack([x.ravel(), y.ravel(), height(x, y).ravel()])
    at = np.arange(count * count).reshape(count, count)
    corners = [at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]]
    a, b, c, d = (corner.ravel() for corner in corners)
    triangles = np.vstack([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    return ObjectShape(SolidKind.MESH, (), np.eye(4), vertices, triangles)


def test_a_large_mesh_is_cut_into_patches_that_leave_little_doubt(panda):
    chain, _ = panda
    shape = surface(0.35, 40, lambda x, y: 0.15 * np.sin(6.0 * x) * np.cos(6.0 * y))
    part = WorldObject('part', pose_matrix(np.array([0.75, 0.0, 0.35]), np.eye(3)), (shape,))
    obstacles, rng = among(chain, [part]), np.random.default_rng(5)
    middle = np.array([0.0, 0.3, 0.0, -2.0, 0.0, 2.3, 0.8])
    q = middle + rng.uniform(-0.7, 0.7, (300, 7))
    verdicts = obstacles.judge(q).verdicts
    hits = np.array([obstacles.is_colliding(posture) for posture in q])
    is_free = verdicts == clearance.COLLISION_FREE
    assert not (is_free & hits).any()
    assert 30 < hits.sum() < 270 and is_free[~hits].mean() > 0.9


def test_motions_over_a_mesh_are_judged_by_the_mesh_and_not_by_its_hull(panda):
    chain, _ = panda
    # A bowl: its hull fills it.
    shape = surface(0.4, 12, lambda x, y: x**2 + y**2)
    bowl = WorldObject('bowl', pose_matrix(np.array([0.5, 0.0, 0.12]), np.eye(3)), (shape,))
    obstacles = among(chain, [bowl])
    over = np.array([0.0, 0.3, 0.0, -2.0, 0.0, 2.3, 0.8])
    inside = next(
        over + s * np.array([0.0, 0.5, 0.0, 0.1, 0.0, 0.0, 0.0])
        for s in np.linspace(1.0, 0.0, 41)
        if not obstacles.is_colliding(over + s * np.array([0.0, 0.5, 0.0, 0.1, 0.0, 0.0, 0.0]))
    )
    assert not obstacles.check(np.array([over, inside])).are_hits.any()
    motions = np.array([over, over + 0.9 * (inside - over), over + 1.4 * (inside - over)])
    reached, pairs = obstacles.follow(motions)
    assert reached[0] == 1.0 and reached[1] < 1.0
    assert 'bowl' in obstacles.describe(int(pairs[1]))
