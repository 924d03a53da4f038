"""From a handle that the mouse drags to new joint values in the page, in a real browser."""

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from test.view.made_browser import BENT, open_browser, Screen
from test.view.made_pages import open_page

import numpy as np

from ssik_ros.view.browser import page_script

pytestmark = pytest.mark.slow
MOVES = 12


def test_new_joint_values_stand_in_the_page_while_the_mouse_drags():
    with open_browser() as browser, open_page('panda') as page:
        page.drawing.shows_ghosts = True
        screen, before = Screen(browser, page, size=(1400, 900)), page.session.joints.copy()
        times = screen.time_drags(MOVES, 60)
        assert np.abs(page.session.joints - before).max() > 1e-4
        print('mouse to joint values in the page, ms:', np.percentile(times, (0, 50, 99)))
        assert np.isfinite(times).all() and (times > 0.0).all()
        assert not screen.errors and not page.guard.dropped


def test_a_browser_without_a_graphics_card_draws_without_smooth_edges():
    with open_browser() as browser, open_page('ur5e') as page:
        screen = Screen(browser, page, size=(760, 360))
        context = "document.querySelector('canvas[data-engine]').getContext('webgl2')"
        assert screen.tab.evaluate(f'{context}.getContextAttributes().antialias') is False
        assert not screen.errors


SHARPNESS = "(() => { const c = document.querySelector('canvas[data-engine]'); return c.width / c.clientWidth; })()"
MOVE_AT_ONCE = """([x, y]) => document.querySelector('canvas[data-engine]').dispatchEvent(new PointerEvent(
    'pointerrawupdate', {bubbles: true, pointerId: 1, isPrimary: true, clientX: x, clientY: y, buttons: 1}
))"""


def test_a_drag_is_drawn_coarsely_and_the_scene_at_rest_is_sharp_again():
    with open_browser() as browser, open_page('panda') as page:
        screen = Screen(browser, page, size=(1400, 900))
        page.post(lambda: page.session.set_joints(np.array(BENT)))
        screen.settle()
        assert screen.tab.evaluate(SHARPNESS) == 1.0
        middle, head = screen.grab()
        assert screen.tab.evaluate(SHARPNESS) == 1.0, 'the mouse has not moved'
        for step in range(1, 6):
            screen.tab.mouse.move(*(head + 0.1 * step * (head - middle)))
        screen.wait_for(lambda: screen.tab.evaluate(SHARPNESS) < 0.6)
        assert screen.client.camera.image_width >= 900, 'pictures keep the full resolution'
        screen.tab.mouse.up()
        screen.wait_for(lambda: screen.tab.evaluate(SHARPNESS) == 1.0)
        assert not screen.errors


def test_joint_values_of_a_drag_do_not_wait_for_frames():
    with open_browser() as browser, open_page('panda') as page:
        screen = Screen(browser, page, size=(760, 360))
        page.post(lambda: page.session.set_joints(np.array(BENT)))
        screen.show_sliders()
        middle, head = screen.grab()
        screen.tab.evaluate('() => { window.requestAnimationFrame = () => 0; }')
        values = [screen.slider_values()]
        for part in (0.2, 0.4):
            screen.tab.evaluate(MOVE_AT_ONCE, (head + part * (head - middle)).tolist())
            screen.wait_for(lambda: screen.slider_values() != values[-1])
            values.append(screen.slider_values())
        assert page.mailbox.wait_idle(60.0)
        assert np.allclose(screen.slider_values(), page.session.joints, atol=1e-3)
        assert not screen.errors and not page.guard.dropped


def test_no_motion_is_lost_where_the_mouse_returns(monkeypatch):
    # After the first motion none is passed on before the browser reports it.
    rare = page_script.SCRIPT.replace(
        b'last.timeStamp + 12', b'last.timeStamp + 1e9 * last.timeStamp'
    )
    assert rare != page_script.SCRIPT
    monkeypatch.setattr(page_script, 'SCRIPT', rare)
    page_script.add_script.cache_clear()
    with open_browser() as browser, open_page('panda') as page:
        screen, ends = Screen(browser, page, size=(760, 360)), []
        tip = page.session.tips[0]

        def distance_from(place):
            return np.linalg.norm(page.session.targets[tip][:3, 3] - place)

        page.post(lambda: page.session.set_joints(np.array(BENT)))
        screen.settle()
        middle, head = screen.grab()
        for part in (0.1, 0.4, 0.1):
            before = page.session.targets[tip][:3, 3]
            screen.tab.mouse.move(*(head + part * (head - middle)))
            screen.wait_for(lambda place=before: distance_from(place) > 1e-4)
            screen.settle()
            ends.append(page.session.targets[tip][:3, 3])
        assert np.linalg.norm(ends[1] - ends[0]) > 1e-3
        assert np.allclose(ends[0], ends[2], atol=1e-4)
        assert not screen.errors and not page.guard.dropped
    page_script.add_script.cache_clear()
