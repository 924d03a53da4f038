"""Frames that hang on each other: the way to the nearest frame that is known, against products of matrices."""

from test.server.served_robots import pose_of, random_rigid

import numpy as np

from ssik_ros.model.collision.objects import LONGEST_NAME
from ssik_ros.server.scene.transform_tree import MOST_FRAMES, TransformTree
from ssik_ros.server.scene.world import PlacedFrame


def test_the_way_leads_up_and_down():
    rng = np.random.default_rng(1)
    a, b, c = (random_rigid(rng) for _ in range(3))
    tree = TransformTree()
    tree.put('map', 'odom', a)
    tree.put('odom', 'base_link', b)
    tree.put('map', 'table', c)
    placed = tree.find('table', {'base_link', 'tool'})
    assert isinstance(placed, PlacedFrame) and placed.base == 'base_link'
    assert np.allclose(placed.pose, np.linalg.inv(a @ b) @ c, atol=1e-12)
    assert np.allclose(tree.find('map', {'base_link'}).pose, np.linalg.inv(a @ b), atol=1e-12)


def test_the_nearest_known_frame_counts():
    tree = TransformTree()
    tree.put('base_link', 'wrist', pose_of((1.0, 0.0, 0.0)))
    tree.put('wrist', 'camera', pose_of((0.0, 1.0, 0.0)))
    placed = tree.find('camera', {'base_link', 'wrist'})
    assert placed.base == 'wrist' and np.allclose(placed.pose, pose_of((0.0, 1.0, 0.0)))


def test_the_latest_transform_counts_and_parents_may_change():
    tree = TransformTree()
    tree.put('base_link', 'cup', pose_of((1.0, 0.0, 0.0)))
    tree.put('base_link', 'cup', pose_of((2.0, 0.0, 0.0)))
    assert tree.find('cup', {'base_link'}).pose[0, 3] == 2.0
    tree.put('hand', 'cup', pose_of((3.0, 0.0, 0.0)))
    assert tree.find('cup', {'hand'}).pose[0, 3] == 3.0
    assert isinstance(tree.find('cup', {'base_link'}), str)


def test_slashes_are_dropped_and_nonsense_is_left_out():
    tree = TransformTree()
    tree.put('/base_link', '/cup', np.eye(4))
    assert tree.find('cup', {'base_link'}).base == 'base_link'
    tree.put('cup', 'cup', np.eye(4))
    tree.put('', 'orphan', np.eye(4))
    tree.put('base_link', 'broken', np.full((4, 4), np.nan))
    for name in ('orphan', 'broken'):
        assert isinstance(tree.find(name, {'base_link'}), str)


def test_a_circle_ends():
    tree = TransformTree()
    for parent, child in ('ab', 'bc', 'ca'):
        tree.put(parent, child, np.eye(4))
    assert 'lead to no frame' in tree.find('a', {'base_link'})


def test_why_a_frame_is_not_known():
    tree = TransformTree()
    assert 'No transforms' in tree.find('map', {'base_link'})
    tree.put('map', 'odom', np.eye(4))
    assert "'map'" in tree.find('mpa', {'base_link'}) or 'map' in tree.find('mpa', {'base_link'})
    assert 'lead to no frame' in tree.find('odom', {'base_link'})


def test_frames_beyond_a_number_are_left_out_and_known_ones_still_move():
    tree = TransformTree()
    for number in range(MOST_FRAMES):
        assert not tree.put('base_link', f'f{number}', np.eye(4))
    assert 'known already' in tree.put('base_link', 'one_more', np.eye(4))
    assert not tree.put('base_link', 'f7', pose_of((2.0, 0.0, 0.0)))
    assert tree.find('f7', {'base_link'}).pose[0, 3] == 2.0
    assert len(tree.names()) == MOST_FRAMES + 1


def test_parents_that_lost_their_children_are_forgotten():
    tree = TransformTree()
    for number in range(10):
        tree.put(f'parent_{number}', 'cup', np.eye(4))
    assert tree.names() == {'cup', 'parent_9'}


def test_what_is_left_out_is_told():
    tree = TransformTree()
    assert 'not finite' in tree.put('a', 'b', pose_of((1e300, 0.0, 0.0)))
    assert 'not finite' in tree.put('a', 'b', np.full((4, 4), np.nan))
    assert 'characters' in tree.put('a', 'x' * (LONGEST_NAME + 1), np.eye(4))
    assert 'itself' in tree.put('a', '/a', np.eye(4))
    assert not tree.names()
