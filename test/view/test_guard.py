"""Admission of clients, and the messages that are passed on."""

import gzip

import numpy as np
import pytest

pytest.importorskip('websockets', reason='needs the extra view: pip install viser')
pytest.importorskip('msgspec', reason='needs the extra view: pip install viser')
from test.view.made_pages import CAMERA

import msgspec
from websockets.datastructures import Headers

from ssik_ros.view.browser.guard import (
    Admission,
    Guard,
    is_allowed,
    LARGEST_PICTURE,
    MOST_SESSIONS,
    PICTURE,
    PNG,
)
from ssik_ros.view.browser.page_script import add_script, SCRIPT

ADMISSION = Admission({'robot.lab'})
KEY = ADMISSION.exchange(ADMISSION.token)
SOCKET = f'/?key={KEY}'
UPDATE = {'type': 'GuiUpdateMessage', 'uuid': 'a', 'updates': {'value': 0.5}}
HANDLE = {
    'type': 'TransformControlsUpdateMessage',
    'name': '/targets/tool0',
    'wxyz': [1.0, 0.0, 0.0, 0.0],
    'position': [0.1, 0.2, 3],
    'owner': '',
}


def refusal(path='/', **given):
    headers = Headers()
    for name, values in given.items():
        for value in [values] if isinstance(values, str) else values:
            headers[name] = value
    return ADMISSION.refusal(path, headers)


@pytest.mark.parametrize(
    'host', ['127.0.0.1:8080', 'localhost:8080', '[::1]:8080', '192.168.1.7', 'robot.lab']
)
def test_a_key_lets_a_websocket_in(host):
    assert not refusal('/', Host=host)
    assert not refusal(SOCKET, Host=host, Upgrade='websocket', Origin=f'http://{host}')


@pytest.mark.parametrize(
    'given, reason',
    [
        ({}, 'Host'),
        ({'Host': ['localhost', 'localhost']}, 'Host'),
        ({'Host': 'evil.example'}, 'Host'),
        ({'Host': 'localhost.evil.example'}, 'Host'),
        ({'Host': 'evil.example@localhost@x'}, 'Host'),
        ({'Host': 'user@localhost'}, 'Host'),
        ({'Host': 'localhost?x'}, 'Host'),
        ({'Host': '[::1'}, 'Host'),
        ({'Host': 'localhost', 'Origin': 'http://evil.example'}, 'Origin'),
        ({'Host': 'localhost', 'Origin': 'null'}, 'Origin'),
        ({'Host': 'localhost', 'Upgrade': 'websocket'}, 'Origin'),
        ({'Host': 'localhost', 'Upgrade': 'WebSocket'}, 'Origin'),
        ({'Host': 'localhost', 'Upgrade': ['websocket', 'websocket']}, 'Upgrade'),
        (
            {'Host': 'localhost:1', 'Upgrade': 'websocket', 'Origin': 'http://localhost:2'},
            'Origin',
        ),
    ],
)
def test_what_is_refused_says_which_header(given, reason):
    assert reason in refusal(SOCKET, **given)


@pytest.mark.parametrize('path', ['/', '/?key=', '/?key=wrong', '/?key=s\udce9cret', '/?token={}'])
def test_a_websocket_needs_a_key(path):
    given = {'Host': 'localhost', 'Upgrade': 'websocket', 'Origin': 'http://localhost'}
    assert 'address' in refusal(path.format(KEY), **given)


def test_tokens_and_keys_are_long_and_the_oldest_key_ends():
    admission, tokens = Admission(), set()
    keys = []
    for _ in range(MOST_SESSIONS + 1):
        tokens.add(admission.token)
        keys.append(admission.exchange(admission.token))
    assert len({*tokens, *keys}) == 2 * (MOST_SESSIONS + 1)
    assert all(len(text) >= 32 for text in (*tokens, *keys))
    assert not admission.has_key(keys[0]) and all(map(admission.has_key, keys[1:]))
    assert not admission.exchange('') and not admission.exchange('wrong')


@pytest.mark.parametrize('value', [0.5, 3, True, 'text', ''])
def test_messages_of_a_page_are_passed_on(value):
    assert is_allowed({**UPDATE, 'updates': {'value': value}})
    assert is_allowed(HANDLE)
    assert is_allowed({name: HANDLE[name] for name in HANDLE if name != 'owner'})


@pytest.mark.parametrize(
    'message',
    [
        None,
        [],
        {},
        {'type': 1},
        {'type': 'ShareUrlRequest'},
        {'type': 'FileTransferStartUpload', 'uuid': 'a'},
        {**UPDATE, 'uuid': 5},
        {**UPDATE, 'updates': {'value': float('nan')}},
        {**UPDATE, 'updates': {'value': 10**400}},
        {**UPDATE, 'updates': {'value': {}}},
        {**UPDATE, 'updates': {'update_cb': 'x'}},
        {**UPDATE, 'updates': {'value': 1, 'removed': True}},
        {**UPDATE, 'updates': []},
        {**UPDATE, 'more': 1},
        {**UPDATE, 'updates': {'value': 'x' * 100_000}},
        {'type': 'ViewerCameraMessage', **CAMERA, 'image_height': 0},
        {'type': 'ViewerCameraMessage', **CAMERA, 'image_width': -1},
        {'type': 'ViewerCameraMessage', **CAMERA, 'fov': 0.0},
        {**HANDLE, 'position': [0.0, 0.0]},
        {**HANDLE, 'position': [0.0, 0.0, float('inf')]},
        {**HANDLE, 'position': [0.0, 0.0, 1e300]},
        {**HANDLE, 'position': [0.0, 0.0, '1']},
        {**HANDLE, 'wxyz': 'wxyz'},
        {name: HANDLE[name] for name in HANDLE if name != 'wxyz'},
    ],
)
def test_anything_else_is_dropped(message):
    assert not is_allowed(message)


def test_bytes_that_are_no_message_are_dropped():
    guard, rng = Guard(ADMISSION), np.random.default_rng(0)
    assert guard.passes(msgspec.msgpack.encode(HANDLE))
    whole = msgspec.msgpack.encode(HANDLE)
    for _ in range(2000):
        assert not guard.passes(rng.bytes(int(rng.integers(0, 60))))
        guard.passes(whole[: int(rng.integers(0, len(whole)))])
    assert not guard.passes('text') and not guard.passes(b'\x91' * 100_000)


def test_the_script_comes_first_in_a_page_and_nowhere_else():
    page = b'<html><head><title>Viser</title></head><body><head></body></html>'
    whole = add_script(page, is_packed=False)
    assert whole == page.replace(b'<head>', b'<head>' + SCRIPT, 1)
    assert gzip.decompress(add_script(gzip.compress(page), is_packed=True)) == whole
    for body, is_packed in ((b'no page', False), (gzip.compress(b'no page'), True)):
        assert add_script(body, is_packed) == body


def picture_of(width, height, start=PNG):
    edges = width.to_bytes(4, 'big') + height.to_bytes(4, 'big')
    return {'type': PICTURE, 'payload': start + edges + bytes(20), 'render_uuid': 'a'}


def test_a_picture_passes_only_while_one_is_awaited_and_only_as_a_small_png():
    guard = Guard(Admission())
    good = msgspec.msgpack.encode(picture_of(800, 600))
    assert not guard.passes(good)
    guard.awaited_pictures += 1
    assert guard.passes(good)
    for wrong in (
        picture_of(LARGEST_PICTURE + 1, 600),
        picture_of(800, 1 << 31),
        picture_of(0, 600),
        picture_of(800, 600, b'GIF89a' + bytes(10)),
        {**picture_of(800, 600), 'payload': 'text'},
        {**picture_of(800, 600), 'payload': PNG},
    ):
        assert not guard.passes(msgspec.msgpack.encode(wrong))
