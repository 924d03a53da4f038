"""Buttons and keys that move the camera."""

import math

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from test.view.made_pages import (
    browsers_of,
    connect,
    controls_of,
    keys_of,
    looks,
    message,
    open_page,
    say_hello,
)
from test.view.test_page import wait_until

import numpy as np

from ssik_ros.view.browser.panels.camera_panel import ROBOT, TARGET
from ssik_ros.view.browser.scenery import place_camera, VIEW
from ssik_ros.view.browser.session_drawing import draw_arrow, place_labels

CUBE = np.array(((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0)))
SHIFT = np.array((3.0, -2.0, 0.5))


@pytest.mark.parametrize('fov', [0.5, 1.3])
@pytest.mark.parametrize('aspect', [0.5, 1.0, 2.0])
def test_a_box_fits_into_the_picture_and_nearly_fills_it(fov, aspect):
    position, _ = place_camera(CUBE + SHIFT, VIEW, fov, aspect)
    distance = np.linalg.norm(position - SHIFT)
    narrow = min(1.0, aspect) * math.tan(0.5 * fov)
    # The tangents from the camera to the sphere around the box.
    half = math.asin(math.sqrt(3.0) / distance)
    assert 0.85 * narrow < math.tan(half) < narrow


def test_labels_of_ghosts_with_one_elbow_do_not_lie_on_each_other():
    here = np.zeros((3, 3))
    ghost = np.array(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.6, 0.0)))
    first, second = place_labels(here, [ghost, ghost])
    assert (first == ghost[1]).all() and (second == ghost[2]).all()


@pytest.mark.parametrize('end', [(1.0, 0.0, 0.0), (0.0, 0.0, -2.0), (0.3, 0.2, 0.1)])
def test_the_head_of_an_arrow_is_at_its_end_and_not_longer_than_a_third(end):
    start, end = np.zeros(3), np.array(end)
    shaft, *edges = draw_arrow(start, end, 0.5)
    assert (shaft == (start, end)).all() and len(edges) == 4
    for tip, back in edges:
        along = (end - back) @ end / np.linalg.norm(end)
        assert (tip == end).all()
        assert along == pytest.approx(min(0.5, np.linalg.norm(end) / 3.0))
    assert np.mean([back for _, back in edges], axis=0) @ end > 0.0
    assert np.isfinite(draw_arrow(start, start, 0.5)).all()


@pytest.fixture(scope='module')
def page():
    with open_page('ur5e') as opened:
        yield opened


def target_of(page):
    return page.session.targets['tool0'][:3, 3]


def test_the_buttons_look_at_the_target_and_at_the_middle_of_the_robot(page):
    buttons = next(
        uuid
        for uuid, handle in controls_of(page).items()
        if getattr(handle, 'options', None) == (ROBOT, TARGET)
    )
    with connect(page) as socket:
        say_hello(socket)
        wait_until(lambda: browsers_of(page))
        for label, place in (
            (TARGET, target_of(page)),
            (ROBOT, page.drawing.robot_bounds().mean(axis=0)),
        ):
            socket.send(message('GuiUpdateMessage', uuid=buttons, updates={'value': label}))
            assert any(np.allclose(look, place, atol=1e-6) for look in looks(socket))


def test_a_key_looks_at_the_target_and_an_unknown_command_does_nothing(page):
    keys = keys_of(page)
    assert set(keys) == {'F', 'Z'}
    dropped = page.guard.dropped
    with connect(page) as socket:
        say_hello(socket)
        wait_until(lambda: browsers_of(page))
        for uuid in ('no such command', keys['F']):
            socket.send(message('CommandTriggerMessage', uuid=uuid))
        assert any(np.allclose(look, target_of(page), atol=1e-6) for look in looks(socket))
        assert page.guard.dropped == dropped
        socket.send(message('CommandTriggerMessage', uuid=keys['F'], more=1))
        wait_until(lambda: page.guard.dropped == dropped + 1)
