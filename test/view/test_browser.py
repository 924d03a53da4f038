"""The page in a real browser, moved with the mouse."""

import http.server
import threading

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from test.view.made_browser import open_browser, Screen, wait_for
from test.view.made_pages import browsers_of, open_page

import numpy as np

from ssik_ros.view.browser.link_meshes import link_poses
from ssik_ros.view.copied_commands import COMMANDS

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def browser():
    with open_browser() as opened:
        yield opened


def test_a_drag_moves_the_arm_and_a_drag_out_of_reach_shows_the_cause(browser, tmp_path):
    with open_page('ur5e') as page:
        screen = Screen(browser, page)
        screen.settle()
        before, target = page.session.joints, page.session.targets['tool0'].copy()
        middle, head = screen.arrow(0)
        direction = (head - middle) / np.linalg.norm(head - middle)
        screen.drag(head, head + 25.0 * direction)
        screen.wait_for(lambda: not np.array_equal(page.session.targets['tool0'], target))
        screen.settle()
        moved = page.session.targets['tool0'][:3, 3] - target[:3, 3]
        assert np.abs(np.cross(moved, target[:3, 0])).max() < 1e-6 < np.linalg.norm(moved)
        assert np.abs(page.session.joints - before).max() > 1e-3
        screen.drag(head + 25.0 * direction, head + 900.0 * direction, steps=12)
        screen.wait_for(lambda: not page.session.outcome.solved)
        screen.settle()
        screen.tab.get_by_text('Not at the target.').wait_for()
        screen.tab.get_by_role('tab', name='Why not').click()
        screen.tab.get_by_text('In the nearest posture the tip is').wait_for()
        report = screen.tab.get_by_text('No solution:')
        assert report.count() == 0 or not report.first.is_visible()
        screen.tab.get_by_text('Details').click()
        report.first.wait_for(state='visible')
        assert not screen.errors and not page.guard.dropped
        screen.tab.close()


def test_the_panels_are_as_wide_as_a_narrow_screen(browser):
    with open_page('ur5e') as page:
        screen = Screen(browser, page, size=(390, 844))
        screen.settle()
        width = 'e => Math.max(...e.map(one => one.getBoundingClientRect().width))'
        assert screen.tab.get_by_role('button', name='Go to pasted').evaluate_all(width) > 340
        assert screen.tab.get_by_role('tab').evaluate_all(
            'e => e.every(one => one.getBoundingClientRect().right < 391)'
        )
        assert not screen.errors
        screen.tab.close()


def test_the_private_file_leads_a_browser_to_the_page(browser, monkeypatch):
    opened = []
    monkeypatch.setattr('webbrowser.open', lambda url: opened.append(url) or True)
    with open_page('ur5e') as page:
        page.open_in_browser()
        tab = browser.new_page()
        tab.goto(opened[0])
        tab.wait_for_url(f'http://127.0.0.1:{page.port}/')
        tab.wait_for_selector('canvas', state='attached')
        wait_for(tab, lambda: browsers_of(page))
        assert not page.guard.refused
        tab.close()


def test_a_slider_moves_its_joint_and_home_and_undo_return(browser):
    with open_page('ur5e') as page:
        screen = Screen(browser, page)
        screen.settle()
        before = page.session.joints.copy()
        screen.tab.get_by_role('tab', name='Joints').click()
        thumb = screen.tab.get_by_role('slider').nth(1)
        thumb.focus()
        for _ in range(5):
            thumb.press('ArrowRight')
        screen.wait_for(lambda: page.session.joints[1] > before[1])
        screen.settle()
        assert (np.delete(page.session.joints, 1) == np.delete(before, 1)).all()
        screen.tab.get_by_role('tab', name='Target').click()
        screen.tab.get_by_role('button', name='Undo').click()
        screen.wait_for(lambda: np.array_equal(page.session.joints, before))
        assert not screen.errors and not page.guard.dropped
        screen.tab.close()


def test_two_windows_show_and_move_the_same_robot(browser):
    with open_page('ur5e') as page:
        screens = [Screen(browser, page, size=(760, 360)) for _ in range(2)]
        for screen in screens:
            screen.show_sliders()
        for mover, watcher in (screens, screens[::-1]):
            before = page.session.joints.copy()
            thumb = mover.tab.get_by_role('slider').nth(1)
            thumb.focus()
            thumb.press('ArrowRight')
            mover.wait_for(lambda before=before: page.session.joints[1] > before[1])
            mover.settle()
            joints = page.session.joints.copy()
            for screen in (mover, watcher):
                screen.wait_for(lambda s=screen, q=joints: np.allclose(s.slider_values(), q))
        for screen in screens:
            assert not screen.errors and not page.guard.dropped
        screens[0].tab.close()
        screens[1].wait_for(lambda: len(browsers_of(page)) == 1)
        before, (middle, head) = page.session.joints.copy(), screens[1].arrow(0)
        screens[1].drag(head, head + 25.0 * (head - middle) / np.linalg.norm(head - middle))
        screens[1].wait_for(lambda: np.abs(page.session.joints - before).max() > 1e-3)
        screens[1].tab.close()


def test_keys_and_buttons_point_the_camera_at_the_target_and_at_the_robot(browser):
    with open_page('ur5e') as page:
        screen = Screen(browser, page, size=(1000, 620))
        screen.settle()
        camera, target = screen.client.camera, page.session.targets['tool0'][:3, 3]
        screen.tab.keyboard.press('f')
        screen.wait_for(lambda: np.allclose(camera.look_at, target, atol=1e-3))
        screen.tab.get_by_role('button', name='zoom to robot').click()
        middle = page.drawing.robot_bounds().mean(axis=0)
        screen.wait_for(lambda: np.allclose(camera.look_at, middle, atol=1e-3))
        assert not screen.errors and not page.guard.dropped
        screen.tab.close()


@pytest.mark.parametrize(
    'size', [(1400, 900), (800, 900), (390, 844)], ids=['wide', 'high', 'phone']
)
def test_the_first_picture_shows_the_robot_and_a_target_out_of_reach(browser, size):
    with open_page('ur5e') as page:
        far = page.session.targets['tool0'].copy()
        far[2, 3] += 1.0
        page.post(lambda: page.session.move_target('tool0', far))
        assert page.mailbox.wait_idle(60.0)
        screen = Screen(browser, page, size)
        screen.settle()
        panel = screen.tab.get_by_text('ur5e', exact=True).bounding_box()
        is_wide = size[0] > 600
        right, low = (panel['x'], size[1]) if is_wide else (size[0], panel['y'])
        links = link_poses(page.session.robot, page.session.state)[:, :3, 3]

        def places():
            points = np.array([screen.pixels(place) for place in (*links, far[:3, 3])])
            return (points > 0.0).all() and (points < (right, low)).all()

        screen.wait_for(places)
        screen.settle()
        assert places()
        box = screen.tab.locator('canvas').first.bounding_box()
        assert is_wide or 0.2 * size[1] < box['height'] < low
        assert not screen.errors and not page.guard.dropped
        screen.tab.close()


def test_a_click_on_a_row_of_the_table_takes_its_branch_and_the_order_can_be_chosen(browser):
    with open_page('ur5e') as page:
        screen = Screen(browser, page, size=(1400, 900))
        screen.settle()
        branches = page.session.branches
        screen.tab.get_by_role('tab', name='Branches').click()
        ranks = lambda: screen.tab.locator('tr[data-take] td:first-child').all_inner_texts()  # noqa: E731
        screen.wait_for(lambda: ranks() == list('1234567'))
        screen.tab.get_by_role('combobox').first.click()
        screen.tab.get_by_role('option', name='room to limits').click()
        most = sorted(range(7), key=lambda k: -branches[k].limit_margin)
        screen.wait_for(lambda: ranks() == [str(k + 1) for k in most])
        screen.tab.locator('tr[data-take]').nth(2).click()
        taken = branches[most[2]].positions
        screen.wait_for(lambda: np.array_equal(page.session.joints, taken))
        assert not screen.errors and not page.guard.dropped
        screen.tab.close()


def test_a_bar_turns_orange_and_red_and_angles_are_shown_in_degrees(browser):
    with open_page('panda') as page:
        session = page.session
        screen = Screen(browser, page, size=(1400, 900))
        screen.show_sliders()
        rooms = lambda: screen.tab.locator('tr[data-room]').evaluate_all(  # noqa: E731
            'rows => rows.map(row => row.dataset.room)'
        )
        assert rooms() == ['FREE'] * 7
        q = session.joints.copy()
        q[0], q[1] = session.upper[0], session.lower[1] + 0.03 * 3.5
        page.post(lambda: session.set_joints(q))
        screen.wait_for(lambda: rooms() == ['AT', 'NEAR'] + ['FREE'] * 5)
        screen.tab.get_by_role('combobox').first.click()
        screen.tab.get_by_role('option', name='deg').click()
        screen.wait_for(lambda: np.allclose(screen.slider_values(), np.degrees(q), atol=1e-6))
        screen.tab.get_by_text('166 deg').wait_for()
        thumb = screen.tab.get_by_role('slider').nth(6)
        thumb.focus()
        thumb.press('ArrowRight')
        screen.wait_for(lambda: np.degrees(session.joints[6] - q[6]) > 0.05)
        assert np.degrees(session.joints[6] - q[6]) < 0.15
        numbers = screen.tab.locator('input[class*=NumberInput]')
        shown = numbers.evaluate_all('all => all.map(e => e.value)')
        assert len(shown) >= 7 and max(sum(c.isdigit() for c in text) for text in shown) <= 4
        assert not screen.errors and not page.guard.dropped
        screen.tab.close()


def test_a_press_copies_the_present_pose_as_a_command(browser):
    with open_page('ur5e') as page:
        page.session.origin = {'robot': 'ur5e'}
        screen = Screen(browser, page, size=(1400, 900))
        screen.tab.context.grant_permissions(['clipboard-read', 'clipboard-write'])
        screen.settle()
        for form, write in COMMANDS.items():
            screen.tab.get_by_role('tab', name='Copy').click()
            screen.tab.get_by_role('combobox').first.click()
            screen.tab.get_by_role('option', name=form, exact=True).click()
            text = write(page.session)
            shown = screen.tab.locator('pre')
            screen.wait_for(lambda shown=shown, text=text: shown.all_inner_texts() == [text])
            screen.tab.get_by_role('button', name='Copy', exact=True).click()
            screen.tab.get_by_role('button', name='Copied').wait_for()
            assert screen.tab.evaluate('() => navigator.clipboard.readText()') == text
        assert not screen.errors and not page.guard.dropped
        screen.tab.close()


def test_a_click_on_a_ghost_takes_its_branch(browser):
    with open_page('ur5e') as page:
        page.post(lambda: page.session.set_joints(np.array((0.3, -1.2, 1.4, -0.9, 1.1, 0.2))))
        screen = Screen(browser, page)
        screen.settle()
        branches, before = page.session.branches, page.session.joints.copy()
        assert len(branches) == 7
        for point in ghost_points(page):
            screen.tab.mouse.click(*screen.pixels(point))
            screen.tab.wait_for_timeout(300)
            screen.settle()
            if not np.array_equal(page.session.joints, before):
                break
        assert any(np.array_equal(page.session.joints, b.positions) for b in branches)
        screen.tab.get_by_text('Branch taken').wait_for()
        assert not screen.errors and not page.guard.dropped
        screen.tab.close()


def ghost_points(page):
    """Return points of ghosts, those farthest from the robot first."""
    session = page.session
    here = link_poses(session.robot, session.state)[:, :3, 3]
    states = [session.state_with(branch.positions) for branch in session.branches]
    there = np.concatenate([link_poses(session.robot, s)[:, :3, 3] for s in states])
    apart = np.linalg.norm(there[:, None] - here[None], axis=2).min(axis=1)
    return there[np.argsort(-apart)][:20]


def test_a_used_address_opens_nothing_and_a_tab_that_is_loaded_again_keeps_its_session(browser):
    with open_page('ur5e') as page:
        address = page.url
        screen = Screen(browser, page)
        assert '#' not in screen.tab.evaluate('() => location.href')
        before = set(browsers_of(page))
        screen.tab.reload()
        screen.wait_for(lambda: set(browsers_of(page)) - before)
        other = browser.new_page()
        # The page stops loading itself.
        other.goto(address, wait_until='commit')
        wait_for(other, lambda: 'good for one browser' in other.inner_text(':root'))
        assert not other.query_selector('canvas')


def test_another_port_of_this_machine_gets_nothing_from_a_browser(browser):
    """The server of another user, to which a page of the tab leads."""
    seen = []

    class Spy(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path + str(self.headers))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(
                b'<script>document.title = "[" + Object.keys(sessionStorage) + document.cookie + "]"</script>'
            )

        def log_message(self, *_):
            """Say nothing."""

    spy = http.server.HTTPServer(('127.0.0.1', 0), Spy)
    thread = threading.Thread(target=spy.serve_forever)
    thread.start()
    try:
        with open_page('ur5e') as page:
            secrets = [page.guard.admission.token]
            screen = Screen(browser, page)
            secrets.append(screen.tab.evaluate('() => sessionStorage.ssik_view_key'))
            screen.tab.goto(f'http://127.0.0.1:{spy.server_port}/')
            assert screen.tab.title() == '[]'
            assert all(secrets) and seen
            assert not any(secret in text for secret in secrets for text in seen)
    finally:
        spy.shutdown()
        thread.join()
        spy.server_close()
