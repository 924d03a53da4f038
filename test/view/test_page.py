"""The page over HTTP and websocket, without a browser."""

import contextlib
import html
from pathlib import Path
import socket
import stat
import urllib.parse

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from test.view.made_pages import (
    browsers_of,
    connect,
    connections_of,
    controls_of,
    drag,
    get,
    key_of,
    message,
    open_page,
    read_messages,
    say_hello,
)

import numpy as np
from websockets.exceptions import ConnectionClosed, InvalidStatus

from ssik_ros.errors import InvalidOption
from ssik_ros.server.requests.poses import numbers_of_pose
from ssik_ros.view.browser.guard import Admission, Guard, LARGEST_MESSAGE
from ssik_ros.view.browser.page import describe_access
from ssik_ros.view.browser.page_script import SCRIPT
from ssik_ros.view.browser.private_server import open_server

LINK = 'panda_link8'


@pytest.fixture(scope='module')
def page():
    with open_page() as opened:
        yield opened


def test_the_page_is_public_and_sets_no_cookie(page):
    """A browser sends the cookies of 127.0.0.1 to every port, so that another user's server would get them."""
    status, headers, body = get(page)
    assert status == 200 and b'<html' in body
    assert headers['X-Frame-Options'] == 'DENY'
    assert b'<head>' + SCRIPT in body and int(headers['Content-Length']) == len(body)
    assert page.guard.admission.token.encode() not in body
    asked = {'Authorization': f'Bearer {page.guard.admission.token}'}
    for path, given in (('/', {}), ('/session', asked), ('/session', {}), ('/?a=b', {})):
        assert 'Set-Cookie' not in get(page, path, **given)[1]


def test_the_token_of_an_address_is_good_for_one_browser(page):
    used = []
    page.guard.admission.on_use = lambda: used.append(page.url)
    before, token = page.url, page.guard.admission.token
    key = key_of(page)
    assert used == [page.url] and page.url != before
    assert get(page, '/session', Authorization=f'Bearer {token}')[0] == 403
    # A page that is loaded again keeps its session.
    status, _, body = get(page, '/session', Authorization=f'Bearer {key}')
    assert status == 200 and body.decode() == key and len(used) == 1
    with connect(page, key=key) as socket:
        say_hello(socket)


def test_the_token_is_in_no_request_for_the_page(page):
    place = urllib.parse.urlsplit(page.url)
    assert place.fragment == page.guard.admission.token and not place.query
    status, headers, _ = get(page, f'/?token={place.fragment}&websocket=ws://evil.example')
    assert status == 303 and headers['Location'] == '/'
    assert get(page, f'/session?token={place.fragment}')[0] == 403


@pytest.mark.parametrize(
    'host', ['evil.example', 'user@127.0.0.1', 'user:pass@localhost', 'localhost/x']
)
def test_nothing_is_served_by_another_name(page, host):
    status, _, body = get(page, '/', Host=host)
    assert status == 403 and b'<html' not in body


@pytest.mark.parametrize(
    'upgrades', [['websocket'], ['websocket', 'websocket'], ['h2c', 'websocket']]
)
def test_a_request_with_upgrade_headers_is_refused_in_words(page, upgrades):
    lines = ['GET / HTTP/1.1', f'Host: 127.0.0.1:{page.port}', 'Connection: Upgrade']
    lines += [f'Upgrade: {name}' for name in upgrades]
    with socket.create_connection(('127.0.0.1', page.port), timeout=30) as plain:
        plain.sendall('\r\n'.join([*lines, '', '']).encode())
        assert plain.recv(100).startswith(b'HTTP/1.1 403')


@pytest.mark.parametrize(
    'key, changes',
    [
        ('', {}),
        ('wrong', {}),
        ('%ff%fe', {}),
        (None, {'Origin': None}),
        (None, {'Origin': 'http://evil.example'}),
    ],
)
def test_a_websocket_without_key_or_from_another_page_is_refused(page, key, changes):
    with pytest.raises(InvalidStatus) as caught:
        connect(page, key=key, **changes)
    assert caught.value.response.status_code == 403


def test_a_dragged_handle_moves_the_robot(page):
    with connect(page) as socket:
        say_hello(socket)
        pose = page.session.targets[LINK].copy()
        pose[:3, 3] += (0.05, 0.02, -0.04)
        before = page.session.joints.copy()
        drag(socket, LINK, numbers_of_pose(pose))
        wait_until(lambda: np.allclose(page.session.targets[LINK], pose, atol=1e-9))
        assert page.mailbox.wait_idle(30.0)
        assert page.session.outcome.solved and np.abs(page.session.joints - before).max() > 0.01


def test_during_a_drag_joint_values_come_first_and_ghosts_when_it_pauses():
    with open_page() as page, connect(page) as socket:
        say_hello(socket)
        wait_until(lambda: browsers_of(page))
        assert page.mailbox.wait_idle(30.0)
        begin, ghosts = page.session.targets[LINK].copy(), page.drawing.details[0]
        assert ghosts.visible and page.session.branches
        for step in range(1, 9):
            list(frames_until_quiet(socket))
            pose = begin.copy()
            pose[2, 3] += 0.005 * step
            drag(socket, LINK, numbers_of_pose(pose))
            frames = list(frames_until_quiet(socket))
            joints = first_place(frames, 'GuiUpdateMessage')
            if joints < first_place(frames, 'SetPositionMessage'):
                break
        # The first frame with joint values brings nothing to be drawn, or a browser would wait until it draws.
        assert all(kind.startswith('Gui') for kind in frames[joints])
        assert not ghosts.visible and page.is_dragging
        assert page.mailbox.wait_idle(30.0)
        assert ghosts.visible and page.is_dragging


def frames_until_quiet(socket):
    """Yield the kinds of messages of each frame, until none comes for a while."""
    with contextlib.suppress(TimeoutError):
        while True:
            data = socket.recv(timeout=0.1)
            yield [m['type'] for m in read_messages(data)]


def first_place(frames, kind):
    """Return which frame is the first with a kind of message."""
    return next((n for n, kinds in enumerate(frames) if kind in kinds), len(frames))


def wait_until(condition):
    """Wait until a condition holds."""
    import time

    deadline = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_two_clients_see_the_same_joints_whoever_drags(page):
    labels = {uuid: handle.label for uuid, handle in controls_of(page).items()}
    with connect(page) as first, connect(page) as second:
        for socket, step in ((first, 0.02), (second, -0.03)):
            say_hello(socket)
            pose = page.session.targets[LINK].copy()
            pose[:3, 3] += step
            drag(socket, LINK, numbers_of_pose(pose))
            wait_until(lambda pose=pose: np.allclose(page.session.targets[LINK], pose, atol=1e-9))
            assert page.mailbox.wait_idle(30.0)
            expected = dict(zip(page.session.group.variable_names, page.session.joints.tolist()))
            for client in (first, second):
                assert sliders_of(client, labels, expected) == expected


def sliders_of(socket, labels, expected):
    """Return the values of sliders that a client has, once they are as expected or no more come."""
    values = {}
    while {name: values.get(name) for name in expected} != expected:
        for told in read_messages(socket.recv(timeout=10)):
            if told['type'] == 'GuiUpdateMessage' and 'value' in told['updates']:
                values[labels.get(told['uuid'])] = told['updates']['value']
    return {name: values[name] for name in expected}


def test_the_browser_is_started_without_the_token_on_its_command_line(monkeypatch):
    opened = []
    monkeypatch.setattr('webbrowser.open', lambda url: opened.append(url) or True)
    with open_page('ur5e') as page:
        page.open_in_browser()
        file = Path(urllib.parse.urlsplit(opened[0]).path)
        assert opened[0].startswith('file:') and page.guard.admission.token not in opened[0]
        assert html.escape(page.url) in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        with connect(page) as socket:
            say_hello(socket)
            wait_until(lambda: not file.parent.exists())
    with open_page('ur5e') as page:
        page.open_in_browser()
        file = Path(urllib.parse.urlsplit(opened[1]).path)
        assert file.exists()
    assert not file.parent.exists()


def test_a_machine_without_browser_is_told_to_open_the_address(page, monkeypatch, caplog):
    monkeypatch.setattr('webbrowser.open', lambda url: False)
    page.open_in_browser()
    assert 'open the printed address' in caplog.text


def test_nobody_makes_the_page_public(page):
    server = open_server(Guard(Admission()), '127.0.0.1', 0)
    assert server.request_share_url() is None
    server.stop()
    with connect(page) as socket:
        say_hello(socket)
        dropped = page.guard.dropped
        socket.send(message('ShareUrlRequest'))
        wait_until(lambda: page.guard.dropped > dropped)


@pytest.mark.parametrize('compression', [None, 'deflate'])
def test_a_message_that_is_too_large_ends_its_connection_alone(page, compression):
    with connect(page) as other:
        say_hello(other)
        with connect(page, compression) as large:
            say_hello(large)
            # The compressed message is small, but its size in memory counts.
            large.send(bytes(64 * LARGEST_MESSAGE))
            with pytest.raises(ConnectionClosed) as caught:
                while True:
                    large.recv(timeout=30)
        assert caught.value.rcvd is None or caught.value.rcvd.code == 1009
        pose = numbers_of_pose(page.session.tip_pose(LINK))
        drag(other, LINK, (pose[0] + 0.01, *pose[1:]))
        wait_until(lambda: np.isclose(page.session.targets[LINK][0, 3], pose[0] + 0.01))


def test_connections_that_say_nothing_keep_nobody_out(page):
    with contextlib.ExitStack() as stack:
        for number in range(100):
            silent = stack.enter_context(socket.create_connection(('127.0.0.1', page.port)))
            silent.sendall(b'GET / HTTP/1.1\r\nHost: '[: number % 30])
        assert get(page)[0] == 200
        with connect(page) as other:
            say_hello(other)
            assert other.recv(timeout=30)


def test_a_browser_that_goes_away_lets_go_of_its_handles_alone(page):
    start = message('TransformControlsDragStartMessage', name=f'/targets/{LINK}', owner='')
    with connect(page) as second:
        with connect(page) as first:
            for socket_ in (first, second):
                say_hello(socket_)
            wait_until(lambda: len(browsers_of(page)) == 2)
            second.send(start)
            wait_until(lambda: page.is_dragging)
        wait_until(lambda: len(browsers_of(page)) == 1)
        assert page.is_dragging
    wait_until(lambda: not page.is_dragging)


def test_a_taken_port_is_an_error_that_names_the_option(page):
    from ssik_ros.view.browser.page import Page

    with pytest.raises(InvalidOption, match='--port'):
        Page(page.session, port=page.port)


@pytest.mark.parametrize(
    ('host', 'port', 'what'),
    [
        ('127.0.0.1', 1 << 16, '--port takes'),
        ('127.0.0.1', -1, '--port takes'),
        ('127.0.0.1', '8080', '--port takes'),
        ('192.0.2.1', 0, "--host .* '192.0.2.1'"),
        ('nowhere.invalid', 0, "--host .* 'nowhere.invalid'"),
    ],
)
def test_what_cannot_be_listened_at_is_refused_at_once(host, port, what):
    from ssik_ros.view.browser.private_server import check_address

    with pytest.raises(InvalidOption, match=what):
        check_address(host, port)


def test_the_printed_line_says_who_can_open_the_page(page):
    assert 'Only this machine' in describe_access(page) and page.url in describe_access(page)


def test_broken_messages_do_not_end_it(page):
    rng = np.random.default_rng(3)
    whole = message(
        'TransformControlsUpdateMessage',
        name=f'/targets/{LINK}',
        owner='',
        wxyz=(1, 0, 0, 0),
        position=(0, 0, 9),
    )
    control = next(iter(controls_of(page)))
    values = (float('nan'), 'x' * 9000, -1e300, None, [], {}, '5', True, 10**18)
    count, dropped = 0, page.guard.dropped
    with connect(page) as socket:
        say_hello(socket)
        for number in range(10_000):
            kind = number % 5
            if kind == 0:
                data = rng.bytes(int(rng.integers(0, 80)))
            elif kind == 1:
                spoilt = bytearray(whole)
                spoilt[int(rng.integers(len(whole)))] = int(rng.integers(256))
                data = bytes(spoilt)
            elif kind == 2:
                value = values[int(rng.integers(len(values)))]
                data = message('GuiUpdateMessage', uuid=control, updates={'value': value})
            elif kind == 3:
                data = message(
                    'SceneNodeClickMessage',
                    name='/ghosts/panda_link5',
                    instance_index=int(rng.integers(-5, 99)),
                    ray_origin=(0, 0, 0),
                    ray_direction=(0, 0, 1),
                    screen_pos=(0, 0),
                    modifier=None,
                    owner='',
                )
            else:
                data = whole[: int(rng.integers(len(whole)))]
            socket.send(data)
            count += 1
        socket.send('text instead of bytes')
        pose = numbers_of_pose(page.session.tip_pose(LINK))

        def follows():
            # A full mailbox drops events, as the clicks above may fill it; a page sends a drag again and again.
            drag(socket, LINK, pose)
            return np.allclose(page.session.targets[LINK][:3, 3], pose[:3], atol=1e-9)

        wait_until(follows)
    assert count == 10_000 and page.guard.dropped > dropped + 4000
    assert page.mailbox.wait_idle(60.0)
    assert np.isfinite(page.session.joints).all() and get(page)[0] == 200


@pytest.mark.slow
def test_200_connections_leave_nothing_behind(page):
    import gc
    import threading

    def visit():
        with connect(page) as socket:
            say_hello(socket)
            socket.recv(timeout=30)
            wait_until(lambda: browsers_of(page))

    for _ in range(10):
        visit()
    wait_until(lambda: not browsers_of(page))
    gc.collect()
    threads, objects = threading.active_count(), count_clients()
    for _ in range(200):
        visit()
    wait_until(lambda: not browsers_of(page))
    gc.collect()
    assert threading.active_count() <= threads + 32
    assert count_clients() <= objects + 2
    assert not connections_of(page)


def count_clients():
    """Return how many clients are kept in memory."""
    import gc

    import viser

    return sum(isinstance(thing, viser.ClientHandle) for thing in gc.get_objects())


def change(page, socket, label, value, is_handled):
    """Give a control another value, and wait until the page has handled it."""

    def uuids():
        return [uuid for uuid, handle in controls_of(page).items() if handle.label == label]

    wait_until(uuids)
    socket.send(message('GuiUpdateMessage', uuid=uuids()[0], updates={'value': value}))
    wait_until(is_handled)
    assert page.mailbox.wait_idle(30.0)


def test_solvers_and_their_parameters_change_in_their_panel(page):
    with connect(page) as socket:
        say_hello(socket)
        wait_until(lambda: browsers_of(page))
        session, search = page.session, 'ssik_ros/LevenbergMarquardt'
        change(page, socket, 'solver', search, lambda: session.kinematics.solver == search)
        change(page, socket, 'ilimit', '55', lambda: session.kinematics.parameters)
        assert session.kinematics.parameters == {'ilimit': 55}
        change(page, socket, 'ilimit', '-1', lambda: 'ilimit' in page.note)
        assert session.kinematics.parameters == {'ilimit': 55}
        rival = 'ssik_ros/PoseIK'
        change(page, socket, 'compare with', rival, lambda: session.rival == rival)
        dropped = page.guard.dropped
        change(page, socket, 'solver', 'no such solver', lambda: page.guard.dropped > dropped)
        assert session.kinematics.solver == search
        change(page, socket, 'compare with', 'none', lambda: session.rival != rival)
        auto = 'ssik_ros/Auto'
        change(page, socket, 'solver', auto, lambda: session.kinematics.solver == auto)
