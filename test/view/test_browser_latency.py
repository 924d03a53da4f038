"""From a handle that the mouse drags to new joint values in the page, in a real browser."""

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from made_browser import open_browser, Screen
from made_pages import open_page
import numpy as np
from test_browser import arrow

pytestmark = pytest.mark.slow
MOVES = 20
WATCH = """() => {
    window.sent = []; window.seen = [];
    const text = () => Array.from(document.querySelectorAll('input'), box => box.value).join('|');
    let last = text();
    const watch = () => {
        const now = text();
        if (now !== last) { last = now; window.seen.push(performance.now()); }
        setTimeout(watch, 1);
    };
    window.addEventListener('pointermove', () => window.sent.push(performance.now()), true);
    watch();
}"""


def latencies(sent, seen):
    """Return how long after each motion of the mouse the next new values stood in the page [ms]."""
    sent, seen = np.array(sent), np.array(seen)
    later = np.searchsorted(seen, sent)
    return (seen[later[later < len(seen)]] - sent[later < len(seen)]).tolist()


def test_new_joint_values_stand_in_the_page_while_the_mouse_drags():
    with open_browser() as browser, open_page('panda') as page:
        screen = Screen(browser, page, size=(760, 360))
        screen.tab.get_by_role('tab', name='Joints').dispatch_event('click')
        screen.settle()
        screen.tab.evaluate(WATCH)
        middle, head = arrow(page, screen, 2)
        way = (head - middle) / np.linalg.norm(head - middle)
        mouse, before = screen.tab.mouse, page.session.joints.copy()
        mouse.move(*head)
        screen.tab.wait_for_timeout(500)
        mouse.down()
        for number in range(MOVES):
            mouse.move(*(head + 15.0 * np.sin(0.2 * number) * way))
            screen.tab.wait_for_timeout(60)
        mouse.up()
        screen.settle()
        assert np.abs(page.session.joints - before).max() > 1e-4
        found = latencies(*screen.tab.evaluate('() => [window.sent, window.seen]'))
        print('mouse to joint values in the page, ms:', np.percentile(found, (0, 50, 99)))
        assert len(found) > MOVES // 4
        assert not screen.errors and not page.guard.dropped
