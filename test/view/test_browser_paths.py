"""Waypoints, paths and pictures of a page, in a real browser."""

import contextlib
import io

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from test.view.made_browser import open_browser, Screen
from test.view.made_pages import open_page
from test.view.test_copied_commands import reopen

import numpy as np
from PIL import Image
import yaml

from ssik_ros.view.copied_commands import write_view
from ssik_ros.view.playback import read_joint_path

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def browser():
    with open_browser() as opened:
        yield opened


@contextlib.contextmanager
def open_screen(browser, name='ur5e'):
    with open_page(name) as page:
        page.session.origin = {'robot': name}
        screen = Screen(browser, page, size=(1400, 900))
        screen.settle()
        yield page, screen
        assert not screen.errors and not page.guard.dropped
        screen.tab.close()


def press(screen, label):
    screen.tab.get_by_role('button', name=label, exact=True).click()


def open_tab(screen, name):
    screen.tab.get_by_role('tab', name=name, exact=True).click()


def drag_target(page, screen, pixels):
    """Drag an arrow of the target, and wait until the target has moved."""
    tip = page.session.tips[0]
    before = page.session.targets[tip].copy()
    middle, head = screen.grab()
    direction = (head - middle) / np.linalg.norm(head - middle)
    for part in (0.3, 0.6, 1.0):
        screen.tab.mouse.move(*(head + part * pixels * direction))
        screen.tab.wait_for_timeout(150)
    screen.tab.mouse.up()
    screen.wait_for(lambda: not np.array_equal(page.session.targets[tip], before))
    screen.settle()


def record_three(page, screen):
    """Record three waypoints by drag."""
    open_tab(screen, 'Path')
    press(screen, 'Add a waypoint')
    screen.wait_for(lambda: len(page.session.waypoints) == 1)
    for pixels in (30.0, -60.0):
        drag_target(page, screen, pixels)
        press(screen, 'Add a waypoint')
        screen.settle()
    screen.wait_for(lambda: len(page.session.waypoints) == 3)


def plan(page, screen):
    press(screen, 'Plan the path')
    screen.wait_for(lambda: page.extras.playback is not None)
    screen.settle()
    return page.extras.playback


def save(screen, form, label='Save the path'):
    """Return the bytes of the file that a button gives to the browser."""
    if form:
        screen.tab.get_by_role('combobox', name='save as').click()
        screen.tab.get_by_role('option', name=form, exact=True).click()
    with screen.tab.expect_download(timeout=120_000) as download:
        press(screen, label)
    with open(download.value.path(), 'rb') as file:
        return download.value.suggested_filename, file.read()


def test_waypoints_recorded_by_drag_are_planned_scrubbed_played_and_saved(browser, tmp_path):
    with open_screen(browser) as (page, screen):
        session = page.session
        record_three(page, screen)
        waypoints = [pose.copy() for pose in session.waypoints]
        screen.tab.get_by_text('mm', exact=False).nth(2).wait_for()
        path = plan(page, screen)
        for time, pose in ((0.0, waypoints[0]), (path.duration, waypoints[2])):
            reached = session.tip_pose('tool0', path.state_at(time, session.state))
            assert np.abs(reached - pose).max() < 1e-5
        thumb = screen.tab.get_by_role('slider')
        thumb.focus()
        thumb.press('End')
        screen.wait_for(lambda: np.allclose(session.joints, path.rows[-1], atol=1e-6))
        press(screen, 'Play')
        screen.wait_for(lambda: page.is_playing)
        screen.wait_for(lambda: not page.is_playing)
        screen.settle()
        assert np.allclose(session.joints, path.rows[-1], atol=1e-6)

        name, data = save(screen, 'CSV')
        (tmp_path / name).write_bytes(data)
        table = read_joint_path(tmp_path / name)
        assert table.names == path.names and np.allclose(table.rows, path.rows, atol=1e-12)
        assert np.allclose(table.times, path.times, atol=1e-12)

        name, data = save(screen, 'JointTrajectory (YAML)')
        message = yaml.safe_load(data)
        assert message['joint_names'] == list(path.names) and len(message['points']) == len(
            path.rows
        )
        last = message['points'][-1]
        seconds = last['time_from_start']['sec'] + 1e-9 * last['time_from_start']['nanosec']
        assert abs(seconds - path.duration) < 1e-8 and np.allclose(
            last['positions'], path.rows[-1]
        )
        assert len(last['velocities']) == 6

        name, data = save(screen, 'Python')
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(data, name, 'exec'), {})
        *_, final = out.getvalue().strip().split('[')
        q = np.array([float(word) for word in final.strip(' ]').split()])
        reached = session.tip_pose('tool0', session.state_with(q))
        assert np.abs(reached - waypoints[2]).max() < 2e-5


def test_waypoints_are_chosen_removed_and_cleared(browser):
    with open_screen(browser) as (page, screen):
        record_three(page, screen)
        kept = [pose.copy() for pose in page.session.waypoints]
        screen.tab.get_by_role('combobox', name='waypoint').click()
        screen.tab.get_by_role('option', name='2', exact=True).click()
        press(screen, 'Go to this waypoint')
        screen.wait_for(lambda: np.allclose(page.session.targets['tool0'], kept[1], atol=1e-9))
        press(screen, 'Remove this waypoint')
        screen.wait_for(lambda: len(page.session.waypoints) == 2)
        assert np.array_equal(page.session.waypoints[1], kept[2])
        press(screen, 'Remove all waypoints')
        screen.wait_for(lambda: not page.session.waypoints)
        screen.settle()
        assert screen.tab.get_by_role('button', name='Plan the path').is_disabled()


def test_a_path_that_cannot_be_is_told_with_the_waypoints_between_which_it_ends(browser):
    with open_screen(browser) as (page, screen):
        session = page.session
        far = session.targets['tool0'].copy()
        far[0, 3] += 3.0
        page.post(lambda: session.waypoints.extend([session.targets['tool0'].copy(), far]))
        open_tab(screen, 'Path')
        screen.settle()
        press(screen, 'Plan the path')
        screen.tab.get_by_text('It fails between waypoints 1 and 2').wait_for()
        assert page.extras.playback is None


def test_a_press_saves_the_scene_as_a_picture(browser):
    with open_screen(browser) as (page, screen):
        name, data = save(screen, '', 'Save a picture')
        image = np.array(Image.open(io.BytesIO(data)))
        box = screen.tab.locator('canvas').first.bounding_box()
        assert name == 'robot.png' and image.shape[2] == 4
        assert abs(image.shape[0] - box['height']) < 2 and abs(image.shape[1] - box['width']) < 2
        shown = image[:, :, 3] > 0
        assert 0.02 < shown.mean() < 1.0 and len(np.unique(image[shown], axis=0)) > 100
        assert page.guard.awaited_pictures == 0


def test_a_film_of_a_path_moves_and_ends_where_the_path_ends(browser):
    with open_screen(browser) as (page, screen):
        record_three(page, screen)
        path = plan(page, screen)
        name, data = save(screen, 'film (GIF)')
        film = Image.open(io.BytesIO(data))
        assert name == 'path.gif' and film.n_frames > 10
        first = np.array(film.convert('RGB'), dtype=float)
        film.seek(film.n_frames - 1)
        assert np.abs(np.array(film.convert('RGB'), dtype=float) - first).mean() > 0.2
        assert np.allclose(page.session.joints, path.rows[-1], atol=1e-6)


def test_the_copied_command_opens_the_same_view(browser):
    with open_screen(browser) as (page, screen):
        drag_target(page, screen, 30.0)
        open_tab(screen, 'Copy')
        screen.tab.get_by_role('combobox').first.click()
        screen.tab.get_by_role('option', name='ssik view', exact=True).click()
        command = screen.tab.locator('pre')
        screen.wait_for(lambda: command.all_inner_texts()[:1] == [write_view(page.session)])
        again = reopen(command.inner_text())
        assert np.abs(again.joints - page.session.joints).max() < 1e-5
        target = page.session.targets['tool0']
        assert np.abs(again.targets['tool0'] - target).max() < 1e-8
