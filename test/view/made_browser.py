"""A real browser without window, and where things of the scene are on its screen."""

import contextlib
import shutil
import time

from test.view.made_pages import browsers_of, shape_of

import numpy as np
import pytest

BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
FLAGS = (
    '--use-gl=angle',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--no-sandbox',
)
PATIENCE = 60.0
"""Software renders the pages of these tests, and other tests may have the processors [s]."""


@contextlib.contextmanager
def open_browser():
    """Yield a browser; skip the test if none is installed."""
    reason = 'needs playwright: pip install -r requirements/browser.txt'
    playwright = pytest.importorskip('playwright.sync_api', reason=reason)
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip('needs Chromium: apt-get install chromium')
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


REACH = 0.8
"""Where the head of an arrow is, as a part of the handle's size."""
BENT = (0.4, -0.5, 0.2, -2.0, 0.1, 1.7, 0.6)
"""A posture of a Panda in which no link hides an arrow of its target."""
LONGEST = 10.0
"""New values that have not come after this time do not come [s]."""
WATCH = """() => {
    window.moves = []; window.seen = [];
    const note = () => window.seen.push(performance.now());
    const what = {subtree: true, attributes: true, attributeFilter: ['aria-valuenow']};
    new MutationObserver(note).observe(document.body, what);
    const begin = e => e.isTrusted && window.moves.push(e.timeStamp);
    for (const kind of ['pointerrawupdate', 'pointermove']) window.addEventListener(kind, begin, true);
}"""
WAIT_FOR_VALUES = """limit => new Promise(done => {
    const begun = performance.now();
    const look = () => {
        const moved = window.moves[0], next = window.seen.find(time => time > moved);
        if (next !== undefined) done(next - moved);
        else if (performance.now() - begun > limit) done(null);
        else setTimeout(look, 1);
    };
    look();
})"""


def wait_for(tab, condition):
    """Wait until a condition holds, and let a tab work meanwhile."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, 'what was waited for did not come'
        tab.wait_for_timeout(50)


class Screen:
    """One tab that shows a page."""

    def __init__(self, browser, page, size=(900, 600)):
        """Open the page and wait until it has drawn."""
        self.page, self.errors = page, []
        self.tab = browser.new_page(viewport={'width': size[0], 'height': size[1]})
        self.tab.set_default_timeout(1e3 * PATIENCE)
        self.tab.on('console', lambda m: m.type == 'error' and self.errors.append(m.text))
        self.tab.on('pageerror', lambda error: self.errors.append(str(error)))
        before = set(browsers_of(page))
        self.tab.goto(page.url)
        self.tab.wait_for_selector('canvas', state='attached')
        self.wait_for(lambda: set(browsers_of(page)) - before)
        # A note about rendering by software lies over the scene.
        self.tab.add_style_tag(content='[class*=Notification-root] { display: none; }')
        self.client = browsers_of(page)[max(set(browsers_of(page)) - before)]

    def wait_for(self, condition):
        """Wait until a condition holds."""
        wait_for(self.tab, condition)

    def settle(self):
        """Wait until the page is handled and drawn."""
        assert self.page.mailbox.wait_idle(PATIENCE)
        self.tab.evaluate(
            '() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))'
        )

    def pixels(self, point):
        """Return where a point of the world is on the screen."""
        camera = self.client.camera
        w, x, y, z = camera.wxyz
        rotation = np.array(
            (
                (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
                (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
                (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
            )
        )
        right, down, ahead = rotation.T @ (np.asarray(point) - camera.position)
        box = self.tab.locator('canvas').first.bounding_box()
        focal = 0.5 * box['height'] / np.tan(0.5 * camera.fov)
        return (
            box['x'] + 0.5 * box['width'] + focal * right / ahead,
            box['y'] + 0.5 * box['height'] + focal * down / ahead,
        )

    def drag(self, start, end, steps=6):
        """Drag the mouse from one pixel to another."""
        mouse = self.tab.mouse
        mouse.move(*start)
        self.tab.wait_for_timeout(500)
        mouse.down()
        for step in range(1, steps + 1):
            part = step / steps
            mouse.move(*(a + part * (b - a) for a, b in zip(start, end)))
            self.tab.wait_for_timeout(150)
        mouse.up()

    def arrow(self, axis):
        """Return the pixels of the first handle's middle and of the head of one of its arrows."""
        session = self.page.session
        target = session.targets[session.tips[0]]
        size = shape_of(self.page, f'/targets/{session.tips[0]}').scale
        head = target[:3, 3] + REACH * size * target[:3, axis]
        return np.array(self.pixels(target[:3, 3])), np.array(self.pixels(head))

    def show_sliders(self):
        """Open the tab with the sliders."""
        self.tab.get_by_role('tab', name='Joints').click()
        self.wait_for(self.slider_values)
        self.settle()

    def slider_values(self):
        """Return the values of the sliders."""
        sliders = self.tab.get_by_role('slider')
        return sliders.evaluate_all('all => all.map(e => Number(e.ariaValueNow))')

    def grab(self):
        """Press the mouse on the longest arrow that takes it; return the pixels of its handle's middle and of the arrow's head."""
        arrows = sorted(map(self.arrow, range(3)), key=lambda e: -np.linalg.norm(e[1] - e[0]))
        for middle, head in arrows:
            self.tab.mouse.move(*head)
            self.tab.wait_for_timeout(500)
            self.tab.mouse.down()
            for _ in range(40):
                if self.page.is_dragging:
                    return middle, head
                self.tab.wait_for_timeout(50)
            self.tab.mouse.up()
        raise AssertionError('no arrow of the handle can be grabbed')

    def time_drags(self, count, pause):
        """
        Return how long after each of many motions of the mouse new joint values stood in the page [ms]; a Panda is shown.

        Each motion waits until the values of the one before have come, so that no value is taken for another one; motions without
        new values are counted as infinitely long. The page sends a motion at most every 50 ms.
        """
        session = self.page.session
        self.page.post(lambda: session.set_joints(np.array(BENT)))
        self.show_sliders()
        self.tab.evaluate(WATCH)
        middle, head = self.grab()
        mouse, times = self.tab.mouse, []
        for number in range(1, count + 1):
            # Always a few pixels, and never the place before.
            part = 0.06 * (7 * number % 11 - 5)
            self.tab.evaluate('() => { window.moves = []; }')
            mouse.move(*(head + part * (head - middle)))
            delay = self.tab.evaluate(WAIT_FOR_VALUES, 1e3 * LONGEST)
            times.append(np.inf if delay is None else delay)
            self.tab.wait_for_timeout(pause)
        mouse.up()
        self.settle()
        return np.array(times)

    def shoot(self, path):
        """Save a picture of the tab."""
        self.tab.screenshot(path=str(path), timeout=1e3 * PATIENCE)
