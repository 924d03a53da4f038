"""Collisions with objects: shapes at known distances, pairs that may touch, positions of contacts."""

import numpy as np
import pytest

from ssik_ros.errors import ModelError
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.collision.objects import (
    CarriedObject,
    check_shape,
    ObjectShape,
    SolidKind,
    WorldObject,
)
from ssik_ros.model.collision.scene import BodyKind
from ssik_ros.model.loader import load_robot

BALL = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.1
FACES = np.array(
    [
        *((0, 1, 3), (0, 3, 2), (4, 7, 5), (4, 6, 7), (0, 5, 1), (0, 4, 5)),
        *((2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)),
    ]
)
SHAPES = {
    'box': (SolidKind.BOX, (0.2, 0.2, 0.2), 0.1),
    'sphere': (SolidKind.SPHERE, (0.1,), 0.1),
    'cylinder': (SolidKind.CYLINDER, (0.2, 0.1), 0.1),
    'mesh': (SolidKind.MESH, (), 0.1),
    'plane': (SolidKind.PLANE, (-2.0, 0.0, 0.0, -0.2), 0.1),
}
"""Kind, sizes, and extent along -x; the plane is at x = -0.1."""


def at(x, y=0.0, z=0.0):
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def shape(kind, sizes=(), pose=None):
    mesh = (CORNERS, FACES) if kind == SolidKind.MESH else (None, None)
    return ObjectShape(kind, sizes, at(0) if pose is None else pose, *mesh)


def thing(name, pose, *shapes):
    return WorldObject(name, pose, shapes or (shape(SolidKind.SPHERE, (0.1,)),))


@pytest.fixture(scope='module')
def checker():
    """Give a ball that slides along x from a base with another ball, far from each other."""
    text = (
        '<robot name="slider">'
        f'<link name="base">{BALL}</link><link name="ball">{BALL}</link><link name="tool"/>'
        '<joint name="slide" type="prismatic"><parent link="base"/><child link="ball"/>'
        '<origin xyz="1 0 0"/><axis xyz="1 0 0"/>'
        '<limit lower="-5" upper="5" effort="1" velocity="1"/></joint>'
        '<joint name="mount" type="fixed"><parent link="ball"/><child link="tool"/>'
        '<origin xyz="0 0.5 0"/></joint></robot>'
    )
    return CollisionChecker(load_robot(text))


@pytest.mark.parametrize('name', SHAPES)
def test_a_shape_is_touched_exactly_where_it_begins(checker, name):
    kind, sizes, reach = SHAPES[name]
    scene = checker.scene([thing('it', at(2.0), shape(kind, sizes))])
    edge = 2.0 - reach - 0.1 - 1.0
    assert scene.colliding_pair(np.array([edge - 1e-4])) is None
    assert scene.colliding_pair(np.array([edge + 1e-4])) == ('ball', 'it')


def test_a_cone_is_narrow_at_the_top(checker):
    cone = shape(SolidKind.CONE, (0.4, 0.2))
    hits = {}
    for height in (-0.2, 0.2):
        scene = checker.scene([thing('cone', at(2.0, 0.0, -height), cone)])
        hits[height] = [
            scene.colliding_pair(np.array([x])) is not None for x in (0.72, 0.92, 0.97)
        ]
    # At its bottom the ball is met 0.3 before the axis, at its tip 0.1.
    assert hits == {-0.2: [True, True, True], 0.2: [False, True, True]}


def test_the_model_frame_is_where_the_root_stands(checker):
    scene = checker.scene([thing('it', at(2.0))])
    assert scene.colliding_pair(np.zeros(1), at(1.0)) == ('ball', 'it')
    assert scene.colliding_pair(np.zeros(1), at(0.5)) is None
    assert scene.colliding_pair(np.zeros(1)) is None


def test_base_and_world_collide_too(checker):
    assert checker.scene([thing('it', at(0.0, 0.1))]).colliding_pair(np.zeros(1)) == ('base', 'it')


def test_padding_counts_for_objects(checker):
    padded = CollisionChecker(checker.robot, padding=0.05)
    for distance, hit in ((0.049, True), (0.051, False)):
        item = thing('it', at(1.2 + distance))
        assert (padded.scene([item]).colliding_pair(np.zeros(1)) is not None) is hit
        assert checker.scene([item]).colliding_pair(np.zeros(1)) is None


def test_a_scene_with_a_larger_padding_is_that_of_a_padded_checker(checker):
    """Two spheres on a shaft, 1 mm apart in all states: the larger padding makes them touch by construction."""
    ends = '<axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
    text = f'<robot name="shaft"><link name="a">{BALL}</link><link name="b"/><link name="c">{BALL}</link>'
    for name, place, (parent, child) in (('i', 0.0, 'ab'), ('j', 0.201, 'bc')):
        text += (
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{place} 0 0"/>{ends}</joint>'
        )
    for robot, dropped in ((checker.robot, 0), (load_robot(text + '</robot>'), 1)):
        small, large = CollisionChecker(robot), CollisionChecker(robot, 0.005)
        links = small.scene().pairs
        for world in ((), [thing('it', at(2.0))]):
            padded = small.with_padding(small.scene(world), 0.005)
            assert padded.padding == 0.005
            assert np.array_equal(padded.pairs, large.scene(world).pairs)
        assert len(links) - len(small.with_padding(small.scene(), 0.005).pairs) == dropped


def test_a_carried_object_moves_with_its_link(checker):
    carried = CarriedObject(thing('cup', at(0.3)), 'tool')
    scene = checker.scene([thing('wall', at(2.0, 0.5))], [carried])
    # At 0: cup at x = 1.3, wall from 1.9 on.
    assert scene.colliding_pair(np.array([0.49])) is None
    assert scene.colliding_pair(np.array([0.51])) == ('cup', 'wall')


def test_a_carried_object_may_touch_whom_it_may(checker):
    cup = thing('cup', at(0.0, -0.5))
    near = np.zeros(1)
    # Its link has no geometry, and the ball next to it is another link.
    assert checker.scene((), [CarriedObject(cup, 'tool')]).colliding_pair(near) == ('ball', 'cup')
    allowed = CarriedObject(cup, 'tool', frozenset({'ball'}))
    assert checker.scene((), [allowed]).colliding_pair(near) is None
    on_ball = CarriedObject(thing('cup', at(0.0)), 'ball')
    assert checker.scene((), [on_ball]).colliding_pair(near) is None
    # Others still collide.
    assert checker.scene((), [on_ball]).colliding_pair(np.array([-0.9])) is not None


def test_carried_objects_collide_with_each_other_unless_one_link_carries_both(checker):
    first, second = thing('first', at(0.0, 3.0)), thing('second', at(0.0, 3.1))
    on_base = CarriedObject(thing('second', at(1.0, 3.1)), 'base')
    both = [CarriedObject(first, 'ball'), CarriedObject(second, 'ball')]
    assert checker.scene((), both).colliding_pair(np.zeros(1)) is None
    apart = [CarriedObject(first, 'ball'), on_base]
    assert checker.scene((), apart).colliding_pair(np.zeros(1)) == ('first', 'second')


def test_contacts_name_bodies_and_places(checker):
    carried = CarriedObject(thing('cup', at(0.0, 1.0)), 'ball')
    walls = [thing('wall', at(1.15, 0.0)), thing('shelf', at(1.0, 1.15))]
    scene = checker.scene(walls, [carried])
    contacts = {(c.first, c.second): c for c in scene.contacts(np.zeros(1), at(0), lambda _: True)}
    assert set(contacts) == {('ball', 'wall'), ('cup', 'shelf')}
    wall = contacts['ball', 'wall']
    assert wall.kinds == (BodyKind.LINK, BodyKind.WORLD)
    assert contacts['cup', 'shelf'].kinds == (BodyKind.CARRIED, BodyKind.WORLD)
    assert wall.depth == pytest.approx(0.05, abs=1e-6)
    assert np.allclose(wall.position, (1.075, 0.0, 0.0), atol=1e-6)
    assert np.allclose(wall.normal, (1.0, 0.0, 0.0), atol=1e-6)


def test_contacts_are_in_the_model_frame(checker):
    turned = np.eye(4)
    turned[:2, :2] = [[0.0, -1.0], [1.0, 0.0]]
    turned[:3, 3] = 0.0, 0.0, 2.0
    scene = checker.scene([thing('wall', at(0.0, 1.15, 2.0))])
    (contact,) = scene.contacts(np.zeros(1), turned, lambda _: True)
    assert np.allclose(contact.position, (0.0, 1.075, 2.0), atol=1e-6)
    assert np.allclose(contact.normal, (0.0, 1.0, 0.0), atol=1e-6)


def test_contacts_of_what_does_not_count_are_left_out(checker):
    walls = [thing('wall', at(1.15)), thing('floor', at(0.0, 0.0, -0.15))]
    scene = checker.scene(walls)
    contacts = scene.contacts(np.zeros(1), at(0), lambda entry: entry.shape.carrier >= 0)
    assert [(c.first, c.second) for c in contacts] == [('ball', 'wall')]


BAD = {
    'sizes': shape(SolidKind.BOX, (0.1, 0.1)),
    'nan': shape(SolidKind.SPHERE, (np.nan,)),
    'zero': shape(SolidKind.CYLINDER, (0.0, 1.0)),
    'pose': shape(SolidKind.SPHERE, (0.1,), at(np.nan)),
    'plane': shape(SolidKind.PLANE, (0.0, 0.0, 0.0, 1.0)),
    'kind': shape(SolidKind.UNKNOWN),
    'no triangles': ObjectShape(SolidKind.MESH, (), at(0), CORNERS, FACES[:0]),
    'index': ObjectShape(SolidKind.MESH, (), at(0), CORNERS, FACES + 1),
    'vertex': ObjectShape(SolidKind.MESH, (), at(0), CORNERS * np.inf, FACES),
}


@pytest.mark.parametrize('name', BAD)
def test_what_is_no_shape_is_refused(name):
    with pytest.raises(ModelError, match='the thing'):
        check_shape(BAD[name], 'the thing')
