"""Contents of a page around an arm, through a browser's messages: obstacles, paths, curves, tasks, mechanisms."""

import argparse

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from test.view.made_pages import browsers_of, connect, controls_of, drag, message, say_hello
from test.view.test_page import change, wait_until

import numpy as np
import viser

from ssik_ros.cli.verb.view import add_arguments
from ssik_ros.cli.viewed_robot import open_session
from ssik_ros.errors import InvalidOption
from ssik_ros.server.requests.poses import numbers_of_pose, pose_of_numbers
from ssik_ros.view.browser.link_meshes import read_page_pose
from ssik_ros.view.browser.page import Page
from ssik_ros.view.browser.static_scene import make_html
from ssik_ros.view.obstacles import make_solid, MOST_OBSTACLES

SECRET = '/etc/passwd'


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens the page of a command line."""
    pages = []

    def open_page(*words):
        parser = argparse.ArgumentParser()
        add_arguments(parser)
        session, extras = open_session(parser.parse_args(words))
        pages.append(Page(session, port=0, extras=extras))
        assert pages[-1].mailbox.wait_idle(30.0)
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()


@pytest.fixture
def path(tmp_path):
    """Return a file with a joint path."""
    file = tmp_path / 'path.csv'
    rows = ''.join(f'{0.05 * k},{0.01 * k}\n' for k in range(21))
    file.write_text(f'time,panda_joint1\n{rows}')
    return str(file)


def press(page, socket, label):
    """Press a button."""
    change(page, socket, label, True, lambda: True)


def choose(page, socket, label, option):
    """Press a button of a group."""
    change(page, socket, label, option, lambda: True)


@pytest.fixture
def added(monkeypatch):
    """Return a function that records later calls of a method of viser's scene: each node, and the arguments."""

    def record(method):
        calls, add = [], getattr(viser.SceneApi, method)

        def note(scene, *words, **settings):
            node = add(scene, *words, **settings)
            calls.append((node, *words))
            return node

        monkeypatch.setattr(viser.SceneApi, method, note)
        return calls

    return record


def test_page_and_file_draw_the_line_of_the_tip_through_its_positions(opened, path, added):
    calls = added('add_line_segments')
    page = opened('panda', '--path', path)
    session, playback = page.session, page.extras.playback
    make_html(session, playback)
    places = []
    for seconds in np.linspace(0.0, playback.duration, len(playback.rows)):
        playback.show(session, seconds)
        places.append(session.tip_pose('panda_link8')[:3, 3])
    drawn = [points for _, name, points, *_ in calls if name == '/path/0']
    assert len(drawn) == 2
    for segments in drawn:
        assert np.allclose(segments[:, 0], places[:-1], atol=1e-6)
        assert np.allclose(segments[:, 1], places[1:], atol=1e-6)


def test_page_and_file_draw_an_obstacle_at_its_pose(opened, added):
    page, calls = opened('panda'), added('add_mesh_simple')
    pose = pose_of_numbers(0.5, -0.3, 0.2, 0.5, 0.5, 0.5, 0.5)
    box = make_solid('box', 'box', [0.1, 0.2, 0.3], pose)
    page.post(lambda: page.session.put_obstacle(box))
    assert page.mailbox.wait_idle(30.0)
    make_html(page.session)
    drawn = [
        (node, corners) for node, name, corners, *_ in calls if name.startswith('/obstacles/')
    ]
    assert len(drawn) == 2
    for node, corners in drawn:
        assert np.allclose(read_page_pose(node.wxyz, node.position), pose, atol=1e-12)
        assert np.allclose(np.ptp(corners, axis=0), (0.1, 0.2, 0.3), atol=1e-6)


def test_an_obstacle_is_added_dragged_and_removed(opened):
    page = opened('panda')
    session = page.session
    with connect(page) as socket:
        say_hello(socket)
        change(page, socket, 'size [m]', '0.1', lambda: True)
        change(page, socket, 'shape', 'sphere', lambda: True)
        press(page, socket, 'Add an obstacle')
        wait_until(lambda: session.obstacles)
        assert page.mailbox.wait_idle(30.0)
        (ball,) = session.obstacles
        assert ball.name == 'sphere 1' and session.avoids_collisions
        pose = np.eye(4)
        pose[:3, 3] = session.tip_pose('panda_link4')[:3, 3]
        x, y, z, *_ = numbers_of_pose(pose)
        fields = {'wxyz': (1.0, 0, 0, 0), 'position': (x, y, z), 'owner': ''}
        socket.send(message('TransformControlsUpdateMessage', name='/obstacle_handle', **fields))
        wait_until(lambda: np.allclose(session.obstacles[0].pose, pose))
        assert page.mailbox.wait_idle(30.0)
        assert session.outcome.solved and not session.contacts
        press(page, socket, 'Remove the chosen one')
        wait_until(lambda: not session.obstacles)
        sphere = make_solid('sphere 2', 'sphere', [0.1], pose)
        page.post(lambda: session.put_obstacle(sphere))
        press(page, socket, 'Add an obstacle')
        wait_until(lambda: len(session.obstacles) == 2)
        assert [item.name for item in session.obstacles] == ['sphere 2', 'sphere 3']


@pytest.mark.parametrize('option', ['--group', '--urdf', '--loops', '--tasks'])
def test_the_file_of_a_tool_path_leaves_no_room_for_another_robot(opened, option):
    with pytest.raises(InvalidOption, match=f'leave out {option}'):
        opened('--path', 'weld.yaml', option, 'x')


def test_the_scrubber_goes_to_a_time_and_play_goes_to_the_end(opened, path):
    page = opened('panda', '--path', path)
    with connect(page) as socket:
        say_hello(socket)
        change(page, socket, 'time [s]', 0.5, lambda: page.session.joints[0] > 0.0)
        assert page.session.joints[0] == pytest.approx(0.1, abs=1e-9)
        press(page, socket, 'Play')
        wait_until(lambda: page.session.joints[0] == pytest.approx(0.2, abs=1e-9))
        wait_until(lambda: not page.is_playing)
        assert page.mailbox.wait_idle(30.0)
        choose(page, socket, 'posture', 'Undo')
        wait_until(lambda: page.session.joints[0] == 0.0)


def test_a_path_stops_when_somebody_moves_the_robot(opened, path):
    page = opened('panda', '--path', path)
    with connect(page) as socket:
        say_hello(socket)
        change(page, socket, 'speed', '1/4', lambda: True)
        press(page, socket, 'Play')
        wait_until(lambda: page.session.joints[0] > 0.0)
        choose(page, socket, 'posture', 'Home')
        wait_until(lambda: not page.is_playing)
        assert page.mailbox.wait_idle(30.0)


def test_a_slider_along_a_curve_keeps_the_target(opened):
    page = opened('panda')
    session = page.session
    target, before = session.targets['panda_link8'].copy(), session.joints.copy()
    with connect(page) as socket:
        say_hello(socket)
        moved = lambda: np.abs(session.joints - before).max() > 0.01  # noqa: E731
        change(page, socket, 'curve 1 [%]', 40.0, moved)
        assert np.abs(session.tip_pose('panda_link8') - target).max() < 1e-6


def test_the_orientation_of_a_mechanism_is_switched_and_tasks_too(opened):
    page = opened('delta')
    with connect(page) as socket:
        say_hello(socket)
        label = 'platform keeps its orientation'
        change(page, socket, label, False, lambda: not page.session.turning['platform'])
    page = opened('dual_arm', '--tasks', 'dual_arm')
    with connect(page) as socket:
        say_hello(socket)
        change(page, socket, '2. carry', False, lambda: not page.session.on['carry'])
        change(page, socket, '1. hold', False, lambda: 'switched off' in page.note)
        (box,) = [handle for handle in controls_of(page).values() if handle.label == '1. hold']
        assert page.session.on['hold'] and box.value


def test_a_refused_gesture_leaves_nothing_to_undo(opened):
    page = opened('dual_arm')
    session = page.session
    before, joints = session.state, np.full(len(session.joints), np.nan)
    page.post(lambda: session.set_joints(joints), gesture='drag')
    assert page.mailbox.wait_idle(30.0) and 'finite' in page.note and not session.undo()
    page.post(lambda: session.set_joints(session.joints + 0.01), gesture='drag')
    assert page.mailbox.wait_idle(30.0)
    assert session.undo() and session.state.positions == pytest.approx(before.positions)


def test_refused_texts_change_no_option_and_leave_nothing_to_undo(opened):
    page = opened('panda')
    with connect(page) as socket:
        say_hello(socket)
        change(page, socket, 'size [m]', '0.1 -1 0.1', lambda: True)
        change(page, socket, 'Add an obstacle', True, lambda: 'above zero' in page.note)
        assert not page.session.avoids_collisions
        change(page, socket, 'paste', '1 2 3', lambda: True)
        change(page, socket, 'paste to', 'joints', lambda: True)
        change(page, socket, 'Go to pasted', True, lambda: '7 joint variables' in page.note)
        assert not page.session.undo()


@pytest.mark.parametrize('words', [('hexapod',), ('dual_arm', '--tasks', 'dual_arm')])
def test_a_handle_of_a_mechanism_or_of_tasks_is_dragged(opened, words):
    page = opened(*words)
    session = page.session
    with connect(page) as socket:
        say_hello(socket)
        pose = session.targets[session.tips[0]].copy()
        pose[2, 3] += 0.005
        drag(socket, session.tips[0], numbers_of_pose(pose))
        wait_until(lambda: np.allclose(session.targets[session.tips[0]], pose, atol=1e-9))
        assert page.mailbox.wait_idle(30.0) and session.outcome.solved
        # The task set leaves the rotation about one axis free.
        here = session.tip_pose(session.tips[0])
        assert np.abs(here[:3, 3] - pose[:3, 3]).max() < 1e-4


def nasty_values(handle):
    """Return values that a control must not have, and some that it may."""
    ends = [getattr(handle, 'min', 0.0), getattr(handle, 'max', 0.0)]
    chosen = list(getattr(handle, 'options', ()))[:1]
    wrong = [float('nan'), -1e300, 10**18, 'x' * 9000, None, [], {}, SECRET, '1e999 1 1', '-1 -1']
    return [*wrong, *ends, *chosen, '0.1 0.1 0.1', True, 0.5]


def spoil(page, rng):
    """Return one message to something that the page has, with a value that makes no sense."""
    handles = list(controls_of(page).items())
    uuid, handle = handles[int(rng.integers(len(handles)))]
    values = nasty_values(handle)
    if rng.random() < 0.7:
        value = values[int(rng.integers(len(values)))]
        return message('GuiUpdateMessage', uuid=uuid, updates={'value': value})
    names = ('/obstacle_handle', '/targets/panda_link8', '/path/0', '/obstacles/1', SECRET, '')
    wild = rng.choice((0.0, 1.0, 1e4, -1e4, 1e-300), 7).tolist()
    return message(
        'TransformControlsUpdateMessage',
        name=names[int(rng.integers(len(names)))],
        wxyz=wild[:4],
        position=wild[4:],
        owner='',
    )


@pytest.mark.slow
def test_10000_malformed_messages_to_all_controls_end_nothing(opened, path):
    page = opened('panda', '--path', path)
    rng = np.random.default_rng(11)
    with connect(page) as socket:
        say_hello(socket)
        wait_until(lambda: browsers_of(page))
        for _ in range(10_000):
            socket.send(spoil(page, rng))
        assert page.mailbox.wait_idle(60.0)
        assert page.guard.dropped > 2000 and len(page.session.obstacles) <= MOST_OBSTACLES
        wait_until(lambda: not page.is_playing)
        assert np.isfinite(page.session.joints).all()
        # It still handles its buttons, and its panels still follow.
        choose(page, socket, 'posture', 'Home')
        wait_until(lambda: not page.note)
        target = page.session.targets['panda_link8'].copy()
        target[:3, 3] += 0.01
        drag(socket, 'panda_link8', numbers_of_pose(target))
        wait_until(lambda: np.allclose(page.session.targets['panda_link8'], target, atol=1e-9))
        assert page.mailbox.wait_idle(30.0)
