"""Start viser's server with a guard, which decides which browsers the server serves."""

import contextlib
import errno
import io
import logging
import socket
from typing import Any

from ssik_ros.arguments import as_integer, shown
from ssik_ros.errors import InvalidOption, quote
from ssik_ros.view.browser.guard import Guard, import_extra

_LOGGER = logging.getLogger('ssik_ros.view')

LOCAL = ('127.0.0.1', 'localhost', '::1')


def open_server(guard: Guard, host: str, port: int) -> Any:
    """
    Start viser's server with a guard that checks each request, and return the server.

    :param guard: the guard.
    :param host: address at which the server listens.
    :param port: 0 for any free one.
    :raises SolverError: if viser is not installed, or if its version cannot be guarded.
    :raises InvalidOption: if the server cannot listen at this address and port, naming the wrong option.
    """
    viser = import_extra('viser')
    check_address(host, port)

    class PrivateServer(viser.ViserServer):  # type: ignore[misc,name-defined]
        """Viser's server without its function that shares a page over the internet."""

        def request_share_url(self, verbose: bool = True) -> None:
            return None

    with guard.installed(), contextlib.redirect_stdout(io.StringIO()):
        server = PrivateServer(host=host, port=port, verbose=False)
    server.get_event_loop().set_exception_handler(
        lambda loop, context: _LOGGER.debug('Page: %s', context.get('message'))
    )
    return server


def check_address(host: str, port: int) -> None:
    """
    Raise InvalidOption if a server cannot listen at an address and port.

    Without this check viser would take another port, or wait forever.

    :param host: address of this machine.
    :param port: 0 for any free one.
    :raises InvalidOption: naming the option, ``--host`` or ``--port``, that is wrong.
    """
    number = as_integer(port)
    if number is None or not 0 <= number < 1 << 16:
        raise InvalidOption(f'--port takes a number from 0 to {(1 << 16) - 1}, not {shown(port)}.')
    try:
        family = socket.AF_INET6 if ':' in host else socket.AF_INET
        socket.create_server((host, port), family=family).close()
    except (OSError, UnicodeError) as error:
        if getattr(error, 'errno', None) == errno.EADDRINUSE:
            raise InvalidOption(
                f'Port {port} is taken; choose another one with --port.'
            ) from error
        reason = getattr(error, 'strerror', None) or error
        raise InvalidOption(
            f'--host takes an address of this machine, not {quote(host)}: {reason}.'
        ) from error
