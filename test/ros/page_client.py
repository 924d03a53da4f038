"""A browser without a screen: reads the contents of a page in another process, and presses its buttons."""

from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')

from test.view.made_pages import CAMERA, message, read_messages

import viser
from websockets.sync.client import connect


class PageClient:
    """One client of a page; it knows the last value of every property."""

    def __init__(self, url):
        """
        Connect.

        :param url: with the token.
        """
        place = urlsplit(url)
        ask = Request(f'http://{place.netloc}/session')
        ask.add_header('Authorization', f'Bearer {place.fragment}')
        with urlopen(ask, timeout=30) as response:
            key = response.read().decode()
        self._socket = connect(
            f'ws://{place.netloc}/?key={key}',
            subprotocols=[f'viser-v{viser.__version__}'],
            additional_headers={'Origin': f'http://{place.netloc}'},
            max_size=None,
            proxy=None,
            compression=None,
        )
        self.kinds = {}
        """Messages that made the controls and the nodes, by uuid or name."""
        self.values = {}
        """The latest properties, by uuid or name."""
        self._send('ViewerCameraMessage', **CAMERA)

    def close(self):
        """Leave the page."""
        self._socket.close()

    def read(self, timeout=0.05):
        """Read a message that comes within a time [s]."""
        try:
            data = self._socket.recv(timeout=timeout)
        except TimeoutError:
            return
        for told in read_messages(data):
            self._take(told)

    def _take(self, told):
        name = told.get('uuid') or told.get('name')
        changes = told.get('updates') or told.get('props')
        if 'props' in told:
            self.kinds[name] = told
        values = self.values.setdefault(name, {})
        values.update(changes or {})
        values.update({k: told[k] for k in ('position', 'wxyz', 'visible', 'value') if k in told})

    def find(self, label):
        """Return the uuid of the control with a label, or else of the first whose label begins with it, or None."""
        labels = {uuid: str(v['label']) for uuid, v in self.values.items() if v.get('label')}
        exact = (uuid for uuid, text in labels.items() if text == label)
        return next(exact, next((u for u, text in labels.items() if text.startswith(label)), None))

    def texts(self):
        """Return all that the page says."""
        return '\n'.join(
            str(values.get('_markdown') or values.get('content') or '')
            for values in self.values.values()
        )

    def press(self, label):
        """Press a button."""
        self._send('GuiUpdateMessage', uuid=self.find(label), updates={'value': True})

    def set(self, label, value):
        """Change the value of a control."""
        self._send('GuiUpdateMessage', uuid=self.find(label), updates={'value': value})

    def drag(self, link, pose):
        """
        Drag the target of a tip.

        :param link: the tip.
        :param pose: x y z qx qy qz qw.
        """
        x, y, z, qx, qy, qz, qw = map(float, pose)
        fields = {'wxyz': (qw, qx, qy, qz), 'position': (x, y, z), 'owner': ''}
        self._send('TransformControlsUpdateMessage', name=f'/targets/{link}', **fields)

    def _send(self, kind, **fields):
        self._socket.send(message(kind, **fields))
