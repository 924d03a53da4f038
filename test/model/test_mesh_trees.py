"""Trees of meshes: built only when a check needs them, and the same results as from trees of all meshes."""

from test.model.small_robots import joint, robot

import coal
import numpy as np
import pytest

from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.collision.geometry import as_coal, Mesh
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.loader import load_robot
from ssik_ros.server.scene.robot_collisions import RobotCollisions

WEDGE = """
v 0 0 0\nv 0.3 0 0\nv 0 0.2 0\nv 0 0 0.1\nv 0.25 0.05 0.05
f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 5 4\nf 5 3 4\nf 2 3 5
"""
SOLIDS = {
    'box': (SolidKind.BOX, (0.2, 0.1, 0.3)),
    'cone': (SolidKind.CONE, (0.2, 0.1)),
    'plane': (SolidKind.PLANE, (1.0, 2.0, -1.0, 0.1)),
}
COLLISIONS, DISTANCES = coal.BVHModelOBB, coal.BVHModelOBBRSS


@pytest.fixture
def slider(tmp_path):
    """Return a robot: the wedges a, b and c in a row, 1 m from one another; b and c slide along x."""
    (tmp_path / 'wedge.obj').write_text(WEDGE)
    limit = 'lower="-1" upper="1"'
    text = robot(
        joint('j', 'prismatic', 'a', 'r', axis='1 0 0', limit=limit),
        joint('k', 'prismatic', 'r', 'b', '<origin xyz="1 0 0"/>', axis='1 0 0', limit=limit),
        joint('l', 'prismatic', 'r', 'c', '<origin xyz="2.6 0 0"/>', axis='1 0 0', limit=limit),
    )
    # Each scale is a mesh of its own.
    for number, link in enumerate('abc', start=1):
        path = f'file://{tmp_path}/wedge.obj'
        mesh = f'<mesh filename="{path}" scale="1 1 {number}"/>'
        shape = f'<collision><geometry>{mesh}</geometry></collision>'
        text = text.replace(f'<link name="{link}"/>', f'<link name="{link}">{shape}</link>')
    return load_robot(text)


def trees(shapes):
    """Return the kinds of trees of the mesh of each link."""
    return {shape.link: set(shape.geometry.trees) for shape in shapes}


def test_a_tree_is_built_when_a_check_needs_it_first(slider):
    checker = CollisionChecker(slider)
    # 5 cm apart: the bounding spheres overlap, the boxes do not.
    assert checker.colliding_pair(np.array((0.0, -0.65, 0.0))) is None
    assert trees(checker.shapes) == {'a': set(), 'b': set(), 'c': set()}
    assert checker.colliding_pair(np.array((0.0, -1.0, 0.0))) == ('a', 'b')
    assert trees(checker.shapes) == {'a': {COLLISIONS}, 'b': {COLLISIONS}, 'c': set()}
    assert checker.scene().nearest_pair(np.array((0.0, 0.0, 0.5))).distance > 0.0
    both = {COLLISIONS, DISTANCES}
    assert trees(checker.shapes) == {'a': both, 'b': both, 'c': set()}


def test_the_first_two_meshes_that_overlap_are_the_nearest(slider):
    """The distance of other meshes cannot be less, and their trees are not built."""
    checker = CollisionChecker(slider)
    assert checker.scene().nearest_pair(np.array((0.0, -1.0, -2.6))).distance == 0.0
    assert sorted(map(len, trees(checker.shapes).values())) == [0, 1, 1]


def test_a_warm_up_builds_the_trees_of_collision_checks(slider):
    checker, collisions = CollisionChecker(slider), RobotCollisions(slider)
    collisions.warm_up()
    assert trees(checker.shapes) == {link: {COLLISIONS} for link in 'abc'}


def test_a_mesh_of_an_object_needs_no_tree_while_it_is_far(slider):
    checker, vertices = CollisionChecker(slider), np.eye(4)[:, :3] * 0.1
    shape = ObjectShape(SolidKind.MESH, (), np.eye(4), vertices, np.array([[0, 1, 2], [0, 2, 3]]))
    pose = np.eye(4)
    pose[1, 3] = 0.5
    scene = checker.scene([WorldObject('flag', pose, (shape,))])
    assert scene.colliding_pair(np.zeros(3)) is None
    assert trees(entry.shape for entry in scene.shapes)['flag'] == set()
    assert scene.colliding_pair(np.array((0.0, 0.0, -2.6))) == ('a', 'c')


def of_library(scene, positions, padding):
    """Return (colliding pairs, least distance) with the trees of all meshes and no bounds."""
    poses = scene.shape_poses(positions, None)
    placed = [coal.Transform3s(pose[:3, :3], pose[:3, 3]) for pose in poses]
    request, hits, least = coal.CollisionRequest(), set(), np.inf
    request.security_margin = padding
    for pair in map(tuple, scene.pairs.tolist()):
        ends = [(scene.shapes[k].shape.geometry, placed[k]) for k in pair]
        one, two = ([as_coal(g, DISTANCES), pose] for g, pose in ends)
        result = coal.CollisionResult()
        coal.collide(*one, *two, request, result)
        hits |= {pair} if result.isCollision() else set()
        to, into = coal.DistanceRequest(), coal.DistanceResult()
        least = min(least, coal.distance(*one, *two, to, into))
    return hits, least


@pytest.mark.parametrize('padding', [0.0, 0.05])
@pytest.mark.parametrize('name', SOLIDS)
def test_bounding_boxes_change_no_result(slider, name, padding):
    checker, rng = CollisionChecker(slider, padding), np.random.default_rng(4)
    hit = 0
    for _ in range(60):
        pose = np.eye(4)
        pose[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        pose[:3, 0] *= np.linalg.det(pose[:3, :3])
        pose[:3, 3] = rng.uniform((0.0, -0.4, -0.4), (2.0, 0.4, 0.4))
        scene = checker.scene([WorldObject('it', pose, (ObjectShape(*SOLIDS[name], np.eye(4)),))])
        positions = rng.uniform(-1.0, 1.0, 3)
        hits, least = of_library(scene, positions, padding)
        assert scene.touching_pairs(positions) == hits
        assert scene.least_distance(positions) == least
        hit += bool(hits)
    assert hit > 10


def test_a_face_that_touches_the_face_of_another_box_collides():
    """The boxes around both meshes touch, and rounding must not part them."""
    corners = np.array([(x, y, z) for x in (0.0, 0.1) for y in (0.0, 0.1) for z in (0.0, 0.1)])
    faces = np.array([(0, 1, 3), (0, 3, 2), (4, 7, 5), (4, 6, 7)])
    shape = ObjectShape(SolidKind.MESH, (), np.eye(4), corners, faces)
    box = '<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>'
    checker = CollisionChecker(load_robot(f'<robot name="r"><link name="a">{box}</link></robot>'))
    pose = np.eye(4)
    pose[0, 3] = 0.1
    assert checker.scene([WorldObject('it', pose, (shape,))]).colliding_pair(np.zeros(0))


def test_a_tree_is_kept_and_has_the_bounds_of_the_mesh():
    mesh = Mesh(np.random.default_rng(2).normal(size=(9, 3)), np.arange(9).reshape(3, 3))
    tree = mesh.tree(DISTANCES)
    assert mesh.tree(DISTANCES) is tree
    tree.computeLocalAABB()
    assert np.array_equal(mesh.low, np.ravel(tree.aabb_local.min_))
    assert np.array_equal(mesh.high, np.ravel(tree.aabb_local.max_))
