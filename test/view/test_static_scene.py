"""Scenes as HTML files and in notebooks: opened in a real browser, from a file, without a network."""

import io
import socket
import sys

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from test.view.made_browser import open_browser, PATIENCE

import numpy as np
from PIL import Image

from ssik_ros import Manipulator, pose
from ssik_ros.cli.command import main
from ssik_ros.errors import InvalidOption
from ssik_ros.view.browser import static_scene

DOWN = (np.pi, 0.0, 0.0)
LINE = [pose((0.5, y, 0.3), rpy=DOWN) for y in np.linspace(-0.2, 0.2, 9)]


@pytest.fixture(scope='module')
def arm():
    return Manipulator.from_prebuilt('ur5e')


@pytest.fixture(scope='module')
def browser():
    with open_browser() as opened:
        yield opened


class Tab:
    """A file in a browser that has no network."""

    def __init__(self, browser, path, scheme='light'):
        size = {'width': 800, 'height': 600}
        self.context = browser.new_context(viewport=size, offline=True, color_scheme=scheme)
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(1e3 * PATIENCE)
        self.asked, self.errors = [], []
        self.tab.on('request', lambda request: self.asked.append(request.url))
        self.tab.on('pageerror', lambda error: self.errors.append(str(error)))
        self.tab.goto(path.as_uri())

    def see(self):
        """Return the picture of the tab."""
        data = self.tab.screenshot(timeout=1e3 * PATIENCE)
        return np.array(Image.open(io.BytesIO(data)).convert('RGB'), dtype=float)

    def wait_for(self, condition):
        for _ in range(round(4 * PATIENCE)):
            image = self.see()
            if condition(image):
                return image
            self.tab.wait_for_timeout(250)
        raise AssertionError('what was waited for did not come')

    def close(self, path):
        urls = [url for url in self.asked if not url.startswith(('data:', 'blob:', 'about:'))]
        assert urls == [path.as_uri()] and not self.errors
        self.context.close()


def is_robot(image):
    """Return whether a bluish arm is in the middle of a picture."""
    middle = image[150:500, 200:600]
    return (middle[:, :, 2] > middle[:, :, 0] + 25.0).mean() > 0.02


@pytest.mark.slow
def test_a_scene_in_a_file_is_drawn_without_a_network_and_can_be_turned(browser, tmp_path):
    path = tmp_path / 'arm.html'
    assert main(['view', 'ur5e', '--html', str(path)]) == 0
    tab = Tab(browser, path)
    before = tab.wait_for(is_robot)
    mouse = tab.tab.mouse
    mouse.move(400, 450)
    mouse.down()
    mouse.move(550, 450, steps=5)
    mouse.up()
    after = tab.wait_for(lambda image: np.abs(image - before)[150:500, 200:600].mean() > 3.0)
    assert is_robot(after)
    tab.close(path)


@pytest.mark.slow
def test_a_scene_is_dark_where_pages_are_dark(browser, tmp_path, arm):
    path = arm.show(arm.neutral, picture=tmp_path / 'arm.html')
    for scheme, limit in (('light', lambda x: x > 230.0), ('dark', lambda x: x < 60.0)):
        tab = Tab(browser, path, scheme)
        corner = tab.wait_for(is_robot)[500:, 700:]
        assert limit(np.median(corner))
        tab.close(path)


@pytest.mark.slow
def test_a_path_in_a_file_plays(browser, tmp_path, arm):
    path = arm.plan(LINE).show(picture=tmp_path / 'path.html')
    tab = Tab(browser, path)
    tab.wait_for(is_robot)
    field, images = tab.tab.locator('input').first, []
    first = field.input_value()
    tab.wait_for(lambda _: field.input_value() != first)
    for time in ('0.1', '1'):
        # A time that is typed stops the path there.
        field.fill(time)
        tab.tab.wait_for_timeout(1500)
        images.append(tab.wait_for(is_robot))
    assert np.abs(images[0] - images[1])[150:500, 200:600].mean() > 2.0
    tab.close(path)


@pytest.mark.slow
def test_a_notebook_shows_a_scene_that_needs_no_server(browser, tmp_path, monkeypatch, arm):
    monkeypatch.setitem(sys.modules, 'ipykernel', sys)
    shown = arm.show(arm.neutral)
    path = tmp_path / 'cell.html'
    path.write_text(f'<body style="margin:0">{shown._repr_html_()}</body>')
    tab = Tab(browser, path)
    tab.wait_for(lambda image: is_robot(image[:430].repeat(2, axis=0)[:600]))
    tab.close(path)


def test_no_port_stays_open(arm, tmp_path, monkeypatch):
    ports = []
    opened = static_scene.open_server

    def note(*given):
        server = opened(*given)
        ports.append(server.get_port())
        return server

    monkeypatch.setattr(static_scene, 'open_server', note)
    arm.show(arm.neutral, picture=tmp_path / 'arm.html')
    (port,) = ports
    with pytest.raises(ConnectionError):
        socket.create_connection(('127.0.0.1', port), timeout=5.0)


def test_a_notebook_without_viser_shows_a_picture_of_an_arm(arm, monkeypatch):
    monkeypatch.setitem(sys.modules, 'ipykernel', sys)
    from ssik_ros.manipulator import arm_display

    monkeypatch.setattr(arm_display, 'find_spec', lambda name: None)
    shown = arm.show(arm.neutral)
    assert shown._repr_png_().startswith(b'\x89PNG') and not hasattr(shown, '_repr_html_')


def test_what_cannot_be_shown_is_refused(arm, tmp_path):
    with pytest.raises(InvalidOption, match='HTML file'):
        arm.plan(LINE).show(picture=tmp_path / 'a.png')
    far = arm.plan([pose((3.0, 0.0, 0.3), rpy=DOWN), pose((3.0, 0.1, 0.3), rpy=DOWN)])
    assert not far.valid
    with pytest.raises(InvalidOption, match='There is no joint path to show'):
        far.show(picture=tmp_path / 'a.html')
    with pytest.raises(InvalidOption, match='no folder'):
        arm.show(arm.neutral, picture=tmp_path / 'none' / 'a.html')


def test_the_command_writes_the_path_of_a_file(tmp_path, arm):
    rows = '\n'.join(f'{k / 10},{k / 10}' for k in range(11))
    (tmp_path / 'path.csv').write_text(f'time,shoulder_pan_joint\n{rows}\n')
    words = ['view', 'ur5e', '--path', str(tmp_path / 'path.csv'), '--html']
    assert main([*words, str(tmp_path / 'a.html')]) == 0
    still, moving = tmp_path / 'still.html', tmp_path / 'a.html'
    arm.show(arm.neutral, picture=still)
    assert len(moving.read_text()) != len(still.read_text())
    assert main([*words, str(tmp_path / 'a.txt')]) == 2
