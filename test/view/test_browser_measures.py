"""Hints of a page about branches and postures, in a real browser: ghost under the mouse, ellipsoid, nearest pair."""

import io

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from test.view.made_browser import open_browser, Screen
from test.view.made_pages import open_page, shape_of

import numpy as np
from PIL import Image

from ssik_ros.view.obstacles import make_solid

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def browser():
    with open_browser() as opened:
        yield opened


def see(screen):
    """Return the scene of a tab once two pictures agree."""
    box = screen.tab.locator('canvas').first.bounding_box()
    last = None
    for _ in range(40):
        image = Image.open(io.BytesIO(screen.tab.screenshot(clip=box, timeout=60_000)))
        now = np.array(image.convert('RGB'), dtype=float)
        if last is not None and np.array_equal(now, last):
            return now
        last = now
        screen.tab.wait_for_timeout(400)
    return last


def test_the_mouse_over_a_row_shows_its_ghost_clearly(browser):
    with open_page('ur5e') as page:
        screen = Screen(browser, page, size=(1400, 900))
        screen.settle()
        screen.tab.get_by_role('tab', name='Branches').click()
        rows = screen.tab.locator('tr[data-take]')
        screen.wait_for(lambda: rows.count() == 7)
        screen.tab.mouse.move(300, 850)
        before, meshes = see(screen), list(page.drawing.ghosts.meshes.values())
        strengths = lambda: meshes[0].batched_opacities  # noqa: E731
        assert np.ptp(strengths()) == 0.0
        rows.nth(2).hover()
        screen.wait_for(lambda: strengths().argmax() == 2 and strengths()[2] > 1.0)
        assert (see(screen) < before - 20.0).any(axis=2).mean() > 0.003
        rows.nth(4).hover()
        screen.wait_for(lambda: strengths().argmax() == 4 and strengths()[2] == 1.0)
        screen.tab.mouse.move(300, 850)
        screen.wait_for(lambda: np.ptp(strengths()) == 0.0)
        assert (np.abs(see(screen) - before) > 20.0).any(axis=2).mean() < 0.001
        assert not screen.errors and not page.guard.dropped
        screen.tab.close()


def go_singular(session):
    """Stretch the elbow, and turn the wrist until the tip can hardly move in one direction."""
    q, ratios = session.joints.copy(), {}
    q[2] = 0.0
    for angle in np.linspace(-3.0, 3.0, 61):
        q[3] = angle
        session.set_joints(q)
        ratios[angle] = session.velocity_ellipsoid().ratio
    q[3] = min(ratios, key=ratios.get)
    assert ratios[q[3]] < 0.05
    session.set_joints(q)


def test_the_ellipsoid_follows_the_tip_and_warns_at_a_singularity(browser):
    with open_page('ur5e') as page:
        session = page.session
        screen = Screen(browser, page, size=(1400, 900))
        screen.settle()
        before = see(screen)
        screen.tab.get_by_role('tab', name='Measures').click()
        screen.tab.get_by_text('manipulability ellipsoid').click()
        screen.tab.get_by_text('The tip moves least along').wait_for()
        assert (np.abs(see(screen) - before) > 20.0).any(axis=2).mean() > 0.005
        assert screen.tab.get_by_text('Nearly singular').count() == 0
        page.post(lambda: go_singular(session))
        screen.tab.get_by_text('Nearly singular').wait_for()
        ball = shape_of(page, '/ellipsoid')
        assert np.allclose(ball.position, session.tip_pose('tool0')[:3, 3])
        assert not screen.errors and not page.guard.dropped
        screen.tab.close()


def test_the_nearest_pair_is_named_with_its_distance(browser):
    with open_page('ur5e') as page:
        session = page.session
        screen = Screen(browser, page, size=(1400, 900))
        pose = np.eye(4)
        pose[:3, 3] = session.tip_pose('tool0')[:3, 3]
        pose[2, 3] -= 0.25
        page.post(lambda: session.put_obstacle(make_solid('ball', 'sphere', [0.2], pose)))
        screen.settle()
        screen.tab.get_by_role('tab', name='Measures').click()
        screen.tab.get_by_text('nearest pair of bodies').click()
        screen.wait_for(lambda: shape_of(page, '/nearest_pair').visible)
        pair = session.nearest_pair()
        screen.tab.get_by_text(f'{1e3 * abs(pair.distance):.0f} mm').wait_for()
        screen.tab.get_by_text('ball', exact=False).first.wait_for()
        assert not screen.errors and not page.guard.dropped
        screen.tab.close()
