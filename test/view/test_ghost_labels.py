"""Labels of ghosts do not overlap, on any screen and from any camera."""

import types

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from test.view.made_browser import open_browser, Screen
from test.view.made_pages import open_page

import numpy as np

from ssik_ros.view.browser.ghost_labels import HEIGHT, spread_boxes, spread_on_screen

WINDOW = np.array((400.0, 300.0))
BOXES = """() => {
    const inside = window.__viserMutable, canvas = document.querySelector('canvas[data-engine]');
    const box = canvas.getBoundingClientRect(), nodes = window.__viserSceneTree.getState();
    return Object.entries(nodes).filter(
        ([name, node]) => node?.message?.type === 'LabelMessage' && node.effectiveVisibility
    ).map(([name, node]) => {
        const point = inside.camera.position.clone().set(...inside.nodePoseData[name].position);
        point.applyMatrix4(inside.nodeRefFromName['/labels'].matrixWorld).project(inside.camera);
        const x = 0.5 * (1 + point.x) * box.width, y = 0.5 * (1 - point.y) * box.height;
        return [x, y, node.message.props.text.length];
    });
}"""

CAMERA = '() => window.__viserMutable.camera.position.toArray()'


def overlapping(centres, sizes):
    """Return the pairs of boxes that overlap."""
    first, second = np.triu_indices(len(centres), 1)
    apart = np.abs(centres[first] - centres[second])
    hit = (apart < 0.5 * (sizes[first] + sizes[second]) - 1e-9).all(axis=1)
    return list(zip(first[hit].tolist(), second[hit].tolist()))


@pytest.mark.parametrize('spread', [0.0, 5.0, 40.0])
@pytest.mark.parametrize('seed', range(5))
def test_boxes_are_moved_apart_and_stay_near_and_in_the_window(spread, seed):
    rng = np.random.default_rng(seed)
    sizes = np.column_stack((rng.uniform(20.0, 40.0, 16), np.full(16, 40.0)))
    centres = np.clip(rng.uniform(0.0, WINDOW) + rng.normal(0.0, spread, (16, 2)), 0.0, WINDOW)
    placed = spread_boxes(centres, sizes, WINDOW)
    assert not overlapping(placed, sizes)
    assert (placed >= 0.5 * sizes).all() and (placed <= WINDOW - 0.5 * sizes).all()
    assert np.linalg.norm(placed - centres, axis=1).max() < 250.0


def test_boxes_that_do_not_overlap_and_boxes_out_of_sight_stay_where_they_are():
    sizes = np.full((3, 2), 20.0)
    centres = np.array(((50.0, 50.0), (50.0, 71.0), (-30.0, 50.0)))
    assert (spread_boxes(centres, sizes, WINDOW) == centres).all()
    assert spread_boxes(np.zeros((0, 2)), np.zeros((0, 2)), WINDOW).shape == (0, 2)


def test_labels_keep_their_distance_from_the_camera():
    camera = types.SimpleNamespace(
        image_width=800,
        image_height=600,
        fov=0.8,
        wxyz=(0.5, -0.5, 0.5, -0.5),
        position=np.array((-2.0, 0.0, 0.0)),
    )
    anchors = np.array(((0.0, 0.1, 0.0), (0.5, 0.12, 0.0)))
    moved = spread_on_screen(anchors, np.full((2, 2), 40.0), camera) - anchors
    assert np.allclose(moved[0], 0.0)
    assert abs(moved[1, 0]) < 1e-9 < np.linalg.norm(moved[1])


@pytest.mark.slow
@pytest.mark.parametrize('size', [(1400, 900), (390, 844)], ids=['wide', 'narrow'])
@pytest.mark.parametrize('name', ['ur5e', 'panda', 'fanuc'])
def test_labels_of_ghosts_do_not_overlap_in_the_page(name, size):
    with open_browser() as browser, open_page(name) as page:
        page.drawing.shows_ghosts = True
        screen = Screen(browser, page, size)
        page.post(page.session.go_anywhere)
        screen.settle()
        middle, camera = page.drawing.robot_bounds().mean(axis=0), screen.client.camera
        for side in (0.3, -1.0, 0.0):
            screen.wait_for(lambda: len(boxes_of(screen)[0]) == len(page.session.branches) > 2)
            screen.wait_for(lambda: not overlapping(*boxes_of(screen)))
            before = screen.tab.evaluate(CAMERA)
            camera.position = middle + np.array((side, -2.0, 0.7)) * page.size
            camera.look_at = middle
            screen.wait_for(lambda place=before: screen.tab.evaluate(CAMERA) != place)
        screen.wait_for(lambda: not overlapping(*boxes_of(screen)))
        assert not overlapping(*boxes_of(screen))
        assert not screen.errors and not page.guard.dropped


def boxes_of(screen):
    """Return centres and sizes of the labels in a page [pixels]."""
    rows = np.array(screen.tab.evaluate(BOXES)).reshape(-1, 3)
    sizes = np.column_stack((9.0 + 7.0 * (rows[:, 2] - 1.0), np.full(len(rows), 0.8 * HEIGHT)))
    return rows[:, :2], sizes
