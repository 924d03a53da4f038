"""
Access control of the page: requests are checked before they reach viser, which has no access control of its own.

A request needs a Host header with an IP address or a name of this machine; so a page of another site cannot reach the
view through a name that it controls. The page itself is viser's public client. Everything about the robot comes over a
websocket, which needs an Origin that is the page itself, and the key of a session. The page gets a key for the token of
the printed address, which is good for one browser. No cookie is set: a browser sends the cookies of 127.0.0.1 to every
port, also to other users' servers. Token and key leave a browser only in requests that the script of the page makes to
its own origin, port included. Of the messages, only those that the page sends are passed on, with bounded numbers, and
only if a value is valid for its control.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator
import contextlib
import hmac
import http
import importlib
import ipaddress
import secrets
import socket
from typing import Any
import urllib.parse

from ssik_ros.errors import SolverError
from ssik_ros.view.browser.page_script import add_script

LARGEST_MESSAGE = 1 << 22
"""Bytes of a message from a page; pictures are the largest ones."""
LARGEST_PICTURE = 1920
"""Edge of a picture that a page sends [pixels]."""
PNG = b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR'
"""Beginning of a PNG; width and height follow, in four bytes each."""
LONGEST_TEXT = 8192
LARGEST_PAGE_COORDINATE = 1e4
"""Largest coordinate in a message [m]."""
HEADERS = (
    ('X-Frame-Options', 'DENY'),
    ('Content-Security-Policy', "frame-ancestors 'none'"),
    ('Referrer-Policy', 'no-referrer'),
    ('X-Content-Type-Options', 'nosniff'),
    ('Cache-Control', 'no-store'),
)
NO_TOKEN = (
    'This view needs the address that `ssik view` printed last. Each address is good for one browser; when it was used, '
    'the terminal shows another one.\n'
)
SESSION = '/session'
"""Path at which the page exchanges the token of its address for the key of a session."""
BEARER = 'Bearer '
MOST_SESSIONS = 64
"""Browsers that may hold a key; the oldest key ends when another one is given."""
Fields = dict[str, Any]


def import_extra(name: str) -> Any:
    """
    Import and return a module that comes with the optional extra ``view``.

    :param name: name of the module.
    :raises SolverError: if it is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SolverError(
            f"The view needs the package '{name.partition('.')[0]}', which is not installed: pip install 'ssik_ros[view]'."
        ) from error


class Admission:
    """Decides which requests are let in: checks of their headers, tokens for new browsers, and keys of admitted ones."""

    def __init__(self, hosts: Collection[str] = ()) -> None:
        """
        Make the token for the first browser.

        :param hosts: names that a Host header may have, in addition to IP addresses and this machine's own names.
        """
        names = {'localhost', socket.gethostname().lower(), *(host.lower() for host in hosts)}
        self.hosts = frozenset(names)
        self.token = secrets.token_urlsafe(24)
        """Of the next browser; each is good for one."""
        self.on_use: Callable[[], None] = lambda: None
        """Called when a browser has used the token, and there is another one."""
        self._keys: deque[str] = deque(maxlen=MOST_SESSIONS)

    def exchange(self, given: str) -> str:
        """
        Return the key of a session for the current token, and replace the token: each token works once.

        A valid key is returned unchanged, so that a reloaded page keeps its key.

        :param given: token or key.
        :returns: the key; an empty text if ``given`` is neither.
        """
        if self.has_key(given):
            return given
        if not _are_equal(given, self.token):
            return ''
        self._keys.append(secrets.token_urlsafe(24))
        self.token = secrets.token_urlsafe(24)
        self.on_use()
        return self._keys[-1]

    def has_key(self, given: str) -> bool:
        """
        Return whether a text is one of the last MOST_SESSIONS keys that browsers were given.

        :param given: the text.
        """
        return any(_are_equal(given, key) for key in self._keys)

    def refusal(self, path: str, headers: Any) -> str:
        """
        Return the text with which a request is refused; empty if it is let in.

        A request needs a Host header that names this machine. An Origin, if it has one, must be this page. A websocket
        needs this Origin and a valid key.

        :param path: requested path, with the query.
        :param headers: headers of the request.
        """
        hosts, upgrades = headers.get_all('Host'), headers.get_all('Upgrade')
        if len(hosts) != 1 or not self._knows(hosts[0]):
            return 'The Host header does not name this machine.\n'
        if len(upgrades) > 1:
            return 'The request has several Upgrade headers.\n'
        origins = headers.get_all('Origin')
        pages = [f'{scheme}://{hosts[0]}' for scheme in ('http', 'https')]
        if (origins or upgrades) and not (len(origins) == 1 and origins[0] in pages):
            return 'The Origin header does not name this page.\n'
        if upgrades and not self.has_key(_key_of_path(path)):
            return NO_TOKEN
        return ''

    def _knows(self, host: str) -> bool:
        """
        Return whether a Host header is an IP address or one of the allowed names of this machine.

        Any other name is refused, because a foreign site may have directed its own name to this machine (DNS
        rebinding).
        """
        try:
            place = urllib.parse.urlsplit(f'//{host}')
        except ValueError:
            return False
        # A valid header has neither user nor path. Text that other parsers may read differently is refused.
        if place.netloc != host or '@' in host:
            return False
        name = place.hostname or ''
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(name)
            return True
        return name in self.hosts


def _are_equal(given: str, secret: str) -> bool:
    """Return whether a text equals a secret; the time of the comparison does not tell how much of the text is right."""
    # Headers may hold bytes that are not text.
    return hmac.compare_digest(given.encode(errors='surrogateescape'), secret.encode())


def _key_of_path(path: str) -> str:
    """Return the key in the query of a websocket's URL; empty without a key."""
    return urllib.parse.parse_qs(path.partition('?')[2]).get('key', [''])[0]


def _key_of_headers(headers: Any) -> str:
    """Return the token or key in the Authorization header of a request; empty without exactly one such header."""
    lines = headers.get_all('Authorization')
    return str(lines[0]).removeprefix(BEARER) if len(lines) == 1 else ''


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= LARGEST_PAGE_COORDINATE


def _are_numbers(count: int) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        return isinstance(value, list) and len(value) == count and all(map(_is_number, value))

    return check


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def _is_update(value: Any) -> bool:
    """Return whether a message's update of a control sets the value and nothing else, to a bool, a bounded number or a text."""
    if not isinstance(value, dict) or list(value) != ['value']:
        return False
    new = value['value']
    return isinstance(new, bool) or _is_number(new) or _is_text(new)


def _is_index(value: Any) -> bool:
    return value is None or (type(value) is int and 0 <= value < 1 << 16)


def _is_optional_text(value: Any) -> bool:
    return value is None or _is_text(value)


def _is_picture(value: Any) -> bool:
    """
    Return whether a value is the bytes of a PNG whose edges are at most LARGEST_PICTURE pixels.

    The limit bounds the memory that decoding needs.
    """
    if not isinstance(value, bytes) or not value.startswith(PNG):
        return False
    edges = (int.from_bytes(value[k : k + 4]) for k in (len(PNG), len(PNG) + 4))
    return all(0 < edge <= LARGEST_PICTURE for edge in edges)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


THREE, FOUR = _are_numbers(3), _are_numbers(4)
PICTURE = 'GetRenderResponseMessage'
MESSAGES: dict[str, dict[str, Callable[[Any], bool]]] = {
    'GuiUpdateMessage': {'uuid': _is_text, 'updates': _is_update},
    'TransformControlsUpdateMessage': {
        'name': _is_text,
        'wxyz': FOUR,
        'position': THREE,
        'owner': _is_text,
    },
    'TransformControlsDragStartMessage': {'name': _is_text, 'owner': _is_text},
    'TransformControlsDragEndMessage': {'name': _is_text, 'owner': _is_text},
    'SceneNodeClickMessage': {
        'name': _is_text,
        'instance_index': _is_index,
        'ray_origin': THREE,
        'ray_direction': THREE,
        'screen_pos': _are_numbers(2),
        'modifier': _is_optional_text,
        'owner': _is_text,
    },
    'CommandTriggerMessage': {'uuid': _is_text},
    PICTURE: {'payload': _is_picture, 'render_uuid': _is_text},
    'ViewerCameraMessage': {
        'wxyz': FOUR,
        'position': THREE,
        'fov': _is_positive,
        'near': _is_positive,
        'far': _is_positive,
        'image_height': _is_positive,
        'image_width': _is_positive,
        'look_at': THREE,
        'up_direction': THREE,
    },
}
"""The messages of a page that are passed on, with a check of each field; ``owner`` may be absent."""


def is_allowed(fields: Any) -> bool:
    """
    Return whether a decoded message has a type that pages send (see MESSAGES), with valid fields only.

    :param fields: the message, a mapping with the key ``type``.
    """
    if not isinstance(fields, dict) or not isinstance(fields.get('type'), str):
        return False
    checks = MESSAGES.get(fields['type'])
    if checks is None:
        return False
    given = {name: value for name, value in fields.items() if name != 'type'}
    if not set(checks) - {'owner'} <= set(given) <= set(checks):
        return False
    return all(checks[name](value) for name, value in given.items())


class Guard:
    """Access control in front of viser's server: it refuses requests and drops messages that the page would not send."""

    def __init__(self, admission: Admission) -> None:
        """
        Prepare the guard; :meth:`installed` puts it in front of a server.

        :param admission: decides which requests are let in.
        :raises SolverError: if viser is not installed.
        """
        self.admission = admission
        self.refused = 0
        """Requests that were not let in."""
        self.accepts: Callable[[str, Any], bool] = lambda control, value: True
        """Whether a control, by its identity, may have a new value."""
        self.dropped = 0
        """Messages that were not passed on."""
        self.awaited_pictures = 0
        """Pictures that a browser was asked for; others are not passed on."""
        self._sockets = import_extra('websockets.asyncio.server')
        self._decode = import_extra('msgspec.msgpack').decode
        self._was_used = False

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """
        Put this guard in front of each server that is started within the ``with`` block.

        :raises SolverError: at the end of the block, if no server was started by the expected function, as in another
            version of viser.
        """
        serve = self._sockets.serve
        self._sockets.serve = self._make_serve(serve)
        try:
            yield
        finally:
            self._sockets.serve = serve
        if not self._was_used:
            raise SolverError(
                'This version of viser opens its port in a way that cannot be guarded; the view does not start.'
            )

    def _make_serve(self, serve: Callable[..., Any]) -> Callable[..., Any]:
        """Return a replacement for the function ``serve`` of websockets that opens a port with the checks of this guard."""
        guard = self

        class GuardedConnection(self._sockets.ServerConnection):  # type: ignore[misc,name-defined]
            """A connection that drops each received message that :meth:`Guard.passes` refuses."""

            async def recv(self, decode: bool | None = None) -> Any:
                while True:
                    data = await super().recv(decode)
                    if guard.passes(data):
                        return data
                    guard.dropped += 1

        def guarded(handler: Any, host: Any, port: int, **options: Any) -> Any:
            self._was_used = True
            options.update(
                create_connection=GuardedConnection,
                process_request=self._check_before(options['process_request']),
                max_size=LARGEST_MESSAGE,
            )
            return serve(handler, host, port, **options)

        return guarded

    def passes(self, data: Any) -> bool:
        """
        Return whether a message may reach viser's server: it is well-formed, allowed, and valid for its control.

        Pictures pass only while the server has asked for one.

        :param data: the received message; bytes for a valid one.
        """
        if not isinstance(data, bytes):
            return False
        try:
            fields = self._decode(data)
            if not is_allowed(fields):
                return False
            if fields['type'] == PICTURE:
                return self.awaited_pictures > 0
            is_update = fields['type'] == 'GuiUpdateMessage'
            return not is_update or self.accepts(fields['uuid'], fields['updates']['value'])
        except (ValueError, RecursionError):
            return False

    def _check_before(self, respond: Callable[..., Any]) -> Callable[..., Any]:
        """
        Return a function that refuses a request, exchanges a token for a key, or lets viser respond.

        A page that is requested with a query is redirected to its address without the query.

        :param respond: viser's function that responds to a request.
        """

        def check(connection: Any, request: Any) -> Any:
            response = choose(connection, request)
            if response is not None:
                _finish(response)
            return response

        def choose(connection: Any, request: Any) -> Any:
            refusal = self.admission.refusal(request.path, request.headers)
            path, _, query = request.path.partition('?')
            if not refusal and path == SESSION:
                key = self.admission.exchange(_key_of_headers(request.headers))
                if key:
                    return connection.respond(http.HTTPStatus.OK, key)
                refusal = NO_TOKEN
            if refusal:
                self.refused += 1
                return connection.respond(http.HTTPStatus.FORBIDDEN, refusal)
            if query and 'Upgrade' not in request.headers:
                # The redirect removes the query: viser's client would read settings from it, such as another
                # websocket's address.
                moved = connection.respond(http.HTTPStatus.SEE_OTHER, '')
                moved.headers['Location'] = '/'
                return moved
            return respond(connection, request)

        return check


def _finish(response: Any) -> None:
    """Add security headers to a response, and this package's script to an HTML page."""
    headers = response.headers
    for name, value in HEADERS:
        headers[name] = value
    if headers.get('Content-Type', '').startswith('text/html'):
        response.body = add_script(response.body, headers.get('Content-Encoding') == 'gzip')
        del headers['Content-Length']
        headers['Content-Length'] = str(len(response.body))
