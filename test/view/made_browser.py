"""A real browser without window, and where things of the scene are on its screen."""

import contextlib
import shutil
import time

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
    """Yield a browser; skip where there is none."""
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


class Screen:
    """One tab that shows a page."""

    def __init__(self, browser, page, size=(900, 600)):
        """Open the page and wait until it has drawn."""
        self.page, self.errors = page, []
        self.tab = browser.new_page(viewport={'width': size[0], 'height': size[1]})
        self.tab.set_default_timeout(1e3 * PATIENCE)
        self.tab.on('console', lambda m: m.type == 'error' and self.errors.append(m.text))
        self.tab.on('pageerror', lambda error: self.errors.append(str(error)))
        before = set(page._viser.get_clients())
        self.tab.goto(page.url)
        self.tab.wait_for_selector('canvas', state='attached')
        self.wait_for(lambda: set(page._viser.get_clients()) - before)
        # A note about rendering by software lies over the scene.
        self.tab.add_style_tag(content='[class*=Notification-root] { display: none; }')
        self.client = page._viser.get_clients()[max(set(page._viser.get_clients()) - before)]

    def wait_for(self, condition):
        """Wait until a condition holds."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, 'what was waited for did not come'
            self.tab.wait_for_timeout(50)

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

    def shoot(self, path):
        """Save a picture of the tab."""
        self.tab.screenshot(path=str(path), timeout=1e3 * PATIENCE)
