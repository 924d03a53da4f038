"""Buttons and keys that move the camera."""

import itertools
import math

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from made_pages import (
    browsers_of,
    connect,
    controls_of,
    keys_of,
    message,
    open_page,
    read_messages,
    say_hello,
)
import numpy as np
from test_page import wait_until

from ssik_ros.view.browser.page_panels import LISTED, NUMBERED
from ssik_ros.view.browser.panels.camera_panel import ROBOT, TARGET
from ssik_ros.view.browser.scenery import place_camera, VIEW
from ssik_ros.view.browser.session_drawing import draw_arrow, place_labels
from ssik_ros.view.limit_room import short
from ssik_ros.view.waypoints import make_problem, plan_waypoints, record_waypoint

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


def messages_of(socket):
    """Yield the messages that a browser gets."""
    while True:
        yield from read_messages(socket.recv(timeout=30))


def looks(socket):
    """Yield the points that the camera is told to look at."""
    for one in messages_of(socket):
        if one['type'] == 'SetCameraLookAtMessage':
            yield np.array(one['look_at'])


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


def test_a_new_browser_sees_a_target_that_is_far_from_the_robot():
    with open_page('ur5e') as opened:
        with connect(opened) as socket:
            say_hello(socket)
            wait_until(lambda: browsers_of(opened))
        far = opened.session.targets['tool0'].copy()
        far[2, 3] += 3.0
        opened.post(lambda: opened.session.move_target('tool0', far))
        assert opened.mailbox.wait_idle(30.0)
        with connect(opened) as socket:
            say_hello(socket)
            place = opened.drawing.bounds().mean(axis=0)
            assert any(np.allclose(look, place, atol=1e-6) for look in looks(socket))
        assert place[2] > 1.0


END = {True: NUMBERED, False: LISTED}


def status_of(socket):
    """Return the first status line that a browser gets."""
    texts = (str(one.get('props', {}).get('_markdown', '')) for one in messages_of(socket))
    return next(text for text in texts if text.startswith('**At the target'))


@pytest.mark.parametrize(('name', 'is_drawn'), [('ur5e', True), ('panda', False)])
def test_branches_are_drawn_at_first_unless_they_are_samples_of_curves(name, is_drawn):
    with open_page(name) as opened:
        assert opened.mailbox.wait_idle(30.0) and opened.session.branches
        assert opened.drawing.shows_ghosts is is_drawn
        with connect(opened) as socket:
            say_hello(socket)
            assert status_of(socket).endswith(END[is_drawn])


def test_the_gap_to_a_target_out_of_reach_is_written_beside_its_arrow():
    with open_page('ur5e') as opened, connect(opened) as socket:
        say_hello(socket)
        far = opened.session.targets['tool0'].copy()
        far[2, 3] += 3.0
        opened.post(lambda: opened.session.move_target('tool0', far))
        assert opened.mailbox.wait_idle(30.0)
        gap = opened.session.targets['tool0'][:3, 3] - opened.session.tip_pose('tool0')[:3, 3]
        text = f'{short(float(np.linalg.norm(gap)))} m'
        named = (one for one in messages_of(socket) if '/lengths/0' in str(one.get('name')))
        assert any(text in str(one) for one in named)


def drawn_names(socket, kind):
    """Yield the names of nodes of a kind that a browser gets, one for each message about them."""
    return (one['name'] for one in messages_of(socket) if one['type'] == kind)


def test_waypoints_are_named_and_a_path_has_no_ghosts(monkeypatch):
    with open_page('ur5e') as opened:
        session = opened.session
        target = session.targets['tool0'].copy()
        opened.post(lambda: record_waypoint(session))
        target[0, 3] += 0.05
        opened.post(lambda: session.move_target('tool0', target))
        opened.post(lambda: record_waypoint(session))
        assert opened.mailbox.wait_idle(30.0) and session.branches
        with connect(opened) as socket:
            say_hello(socket)
            names = drawn_names(socket, 'LabelMessage')
            assert {'/waypoints/1', '/waypoints/2'} <= set(itertools.islice(names, 3))
        placed = []
        monkeypatch.setattr(opened.drawing.ghosts, 'place', placed.append)
        path = plan_waypoints(make_problem(session))
        opened.post(lambda: path.show(session, 0.5 * path.duration))
        assert opened.mailbox.wait_idle(30.0) and session.branches and placed[-1] == []
        opened.post(session.go_home)
        assert opened.mailbox.wait_idle(30.0) and len(placed[-1]) == len(session.branches)
