"""Pages for tests, and clients that speak viser's protocol without a browser."""

import contextlib
import http.client

import msgspec
import numpy as np
import pytest
import zstandard

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot

ROBOTS = {'panda': 'panda_arm', 'ur5e': 'ur_manipulator', 'fanuc': 'manipulator'}


@contextlib.contextmanager
def open_page(name='panda', **options):
    """Yield a page of a shipped robot at a free port; skip without viser."""
    pytest.importorskip('viser', reason='needs the extra view: pip install viser')
    from ssik_ros.view.browser.page import Page
    from ssik_ros.view.sessions.session import Session

    files = find_moveit_config(name)
    robot = load_robot(files.urdf_path, files.srdf_path)
    page = Page(Session(robot, robot.group(ROBOTS[name])), port=0, **options)
    try:
        yield page
    finally:
        page.close()


def browsers_of(page):
    """Return viser's clients that are connected with a page, by their identities."""
    return page._viser.get_clients()


def connections_of(page):
    """Return the states that viser keeps of websockets."""
    return page._viser._websock_server._client_state_from_id


def controls_of(page):
    """Return viser's handles of sliders, buttons and texts, by their identities in messages."""
    return dict(page.gui._gui_input_handle_from_uuid)


def keys_of(page):
    """Return the identities in messages of viser's commands, by their keys."""
    return {handle.hotkey: uuid for uuid, handle in page.gui._command_handle_from_uuid.items()}


def shape_of(page, name):
    """Return viser's handle of a shape of the scene."""
    return page.scene._handle_from_node_name[name]


def get(page, path='/', **headers):
    """Return status, headers and body of a page's response."""
    connection = http.client.HTTPConnection('127.0.0.1', page.port, timeout=30)
    names = {name.replace('_', '-'): value for name, value in headers.items()}
    connection.request('GET', path, headers=names)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, response.headers, body


def key_of(page):
    """Return the key of a new session, as the page's script gets it."""
    status, _, body = get(page, '/session', Authorization=f'Bearer {page.guard.admission.token}')
    assert status == 200
    return body.decode()


def connect(page, compression=None, key=None, **changes):
    """Return a websocket connection, as the page's script opens one."""
    import viser
    from websockets.sync.client import connect as open_socket

    host = f'127.0.0.1:{page.port}'
    headers = {'Origin': f'http://{host}'} | changes
    return open_socket(
        f'ws://{host}/?key={key_of(page) if key is None else key}',
        subprotocols=[f'viser-v{viser.__version__}'],
        additional_headers={k: v for k, v in headers.items() if v is not None},
        max_size=None,
        proxy=None,
        compression=compression,
    )


def message(kind, **fields):
    """Return the bytes of a message."""
    return msgspec.msgpack.encode({'type': kind, **fields})


CAMERA = {
    'wxyz': (1.0, 0.0, 0.0, 0.0),
    'position': (1.0, 1.0, 1.0),
    'fov': 0.7,
    'near': 0.01,
    'far': 100.0,
    'image_height': 600,
    'image_width': 900,
    'look_at': (0.0, 0.0, 0.0),
    'up_direction': (0.0, 0.0, 1.0),
}


def read_messages(data):
    """Return the messages of one frame of viser's protocol."""
    packed = int.from_bytes(data[8:16], 'little')
    inner = zstandard.ZstdDecompressor().decompress(data[16 : 16 + packed])
    return msgspec.msgpack.decode(inner)['messages']


def messages_of(socket):
    """Yield the messages that a browser gets."""
    while True:
        yield from read_messages(socket.recv(timeout=30))


def looks(socket):
    """Yield the points that the camera is told to look at."""
    for one in messages_of(socket):
        if one['type'] == 'SetCameraLookAtMessage':
            yield np.array(one['look_at'])


def say_hello(socket):
    """Send the first message of a page, after which viser counts a client."""
    socket.send(message('ViewerCameraMessage', **CAMERA))


def drag(socket, link, pose_numbers):
    """Send where a handle is dragged to: x y z qx qy qz qw."""
    x, y, z, qx, qy, qz, qw = map(float, pose_numbers)
    fields = {'wxyz': (qw, qx, qy, qz), 'position': (x, y, z), 'owner': ''}
    socket.send(message('TransformControlsUpdateMessage', name=f'/targets/{link}', **fields))
