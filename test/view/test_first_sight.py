"""The first sight of a page: its camera, branches, the gap to a target, and waypoints."""

import itertools

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from test.view.made_pages import browsers_of, connect, looks, messages_of, open_page, say_hello
from test.view.test_page import wait_until

import numpy as np

from ssik_ros.view.browser.panels.target_panel import LISTED, NUMBERED
from ssik_ros.view.limit_room import short
from ssik_ros.view.waypoints import make_problem, plan_waypoints, record_waypoint


@pytest.mark.parametrize('name', ['ur5e', 'panda', 'fanuc'])
def test_the_first_camera_shows_the_surfaces_of_the_robot_and_its_target(name):
    with open_page(name) as opened:
        low, high = opened.drawing.bounds()
        surfaces, target = opened.drawing.robot_bounds(), opened.drawing.target_bounds(0.0)
        for inner in (surfaces, target):
            assert (low <= inner[0] + 1e-9).all() and (inner[1] <= high + 1e-9).all()


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
