"""Who is let in, and which messages are passed on."""

import gzip

import numpy as np
import pytest

pytest.importorskip('websockets', reason='needs the extra view: pip install viser')
pytest.importorskip('msgspec', reason='needs the extra view: pip install viser')
import msgspec
from websockets.datastructures import Headers

from ssik_ros.view.browser.guard import Admission, Guard, is_allowed
from ssik_ros.view.browser.page_script import add_script, SCRIPT

ADMISSION = Admission('secret', frozenset({'localhost', 'robot.lab'}), 8080)
COOKIE = 'theme=dark; ssik_view_8080=secret'
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
def test_the_token_lets_a_page_in(host):
    assert not refusal('/?token=secret', Host=host)
    assert not refusal('/', Host=host, Cookie=COOKIE)
    assert not refusal('/', Host=host, Cookie=COOKIE, Upgrade='websocket', Origin=f'http://{host}')


@pytest.mark.parametrize(
    'given, reason',
    [
        ({'Host': 'localhost'}, 'token'),
        ({'Host': 'localhost', 'Cookie': 'ssik_view_8080=wrong'}, 'token'),
        ({'Host': 'localhost', 'Cookie': 'ssik_view_8080='}, 'token'),
        ({'Host': 'localhost', 'Cookie': 'ssik_view_8081=secret'}, 'token'),
        ({'Host': 'localhost', 'Cookie': 'ssik_view_8080=sécret'}, 'token'),
        ({'Cookie': COOKIE}, 'Host'),
        ({'Host': ['localhost', 'localhost'], 'Cookie': COOKIE}, 'Host'),
        ({'Host': 'evil.example', 'Cookie': COOKIE}, 'Host'),
        ({'Host': 'localhost.evil.example', 'Cookie': COOKIE}, 'Host'),
        ({'Host': 'evil.example@localhost@x', 'Cookie': COOKIE}, 'Host'),
        ({'Host': '[::1', 'Cookie': COOKIE}, 'Host'),
        ({'Host': 'localhost', 'Cookie': COOKIE, 'Origin': 'http://evil.example'}, 'Origin'),
        ({'Host': 'localhost', 'Cookie': COOKIE, 'Origin': 'null'}, 'Origin'),
        ({'Host': 'localhost', 'Cookie': COOKIE, 'Upgrade': 'websocket'}, 'Origin'),
        ({'Host': 'localhost', 'Cookie': COOKIE, 'Upgrade': 'WebSocket'}, 'Origin'),
        (
            {
                'Host': 'localhost:1',
                'Cookie': COOKIE,
                'Upgrade': 'websocket',
                'Origin': 'http://localhost:2',
            },
            'Origin',
        ),
    ],
)
def test_what_is_refused_says_which_header(given, reason):
    assert reason in refusal(**given)


def test_a_websocket_cannot_bring_the_token_in_its_url():
    given = {'Host': 'localhost', 'Upgrade': 'websocket', 'Origin': 'http://localhost'}
    assert 'token' in refusal('/?token=secret', **given)


def test_each_admission_has_a_long_token_of_its_own():
    tokens = {Admission.make().token for _ in range(100)}
    assert len(tokens) == 100 and all(len(token) >= 32 for token in tokens)


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
