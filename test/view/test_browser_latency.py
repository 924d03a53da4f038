"""From a handle that the mouse drags to new joint values in the page, in a real browser."""

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from made_browser import open_browser, Screen
from made_pages import open_page
import numpy as np

pytestmark = pytest.mark.slow
MOVES = 12


def test_new_joint_values_stand_in_the_page_while_the_mouse_drags():
    with open_browser() as browser, open_page('panda') as page:
        screen, before = Screen(browser, page, size=(760, 360)), page.session.joints.copy()
        times = screen.time_drags(MOVES, 60)
        assert np.abs(page.session.joints - before).max() > 1e-4
        print('mouse to joint values in the page, ms:', np.percentile(times, (0, 50, 99)))
        assert np.isfinite(times).all() and (times > 0.0).all()
        assert not screen.errors and not page.guard.dropped


def test_a_browser_without_a_graphics_card_draws_without_smooth_edges():
    with open_browser() as browser, open_page('ur5e') as page:
        screen = Screen(browser, page, size=(760, 360))
        context = "document.querySelector('canvas').getContext('webgl2')"
        assert screen.tab.evaluate(f'{context}.getContextAttributes().antialias') is False
        assert not screen.errors
