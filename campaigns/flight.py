"""Requests of a ROS client that are in flight, each with the function that judges its response."""

from collections.abc import Callable
from time import monotonic
from typing import Any, NamedTuple

from bench.ros.caller import Client


class _Sent(NamedTuple):
    """A request in flight."""

    future: Any
    end: float
    """When it counts as lost, by the monotonic clock [s]."""
    take: Callable[[Any], None]


class Flight:
    """Requests in flight of a client; each response goes to a function, None for a lost one."""

    def __init__(self, client: Client, limit: float) -> None:
        """
        Begin without requests.

        :param client: the client that sends.
        :param limit: time after which a response counts as lost [s].
        """
        self._client, self._limit = client, limit
        self._sent: list[_Sent] = []

    def __len__(self) -> int:
        """Return how many responses are missing."""
        return len(self._sent)

    def send(self, name: str, request: Any, take: Callable[[Any], None]) -> None:
        """
        Send a request.

        :param name: of the service.
        :param request: the request.
        :param take: gets the response.
        """
        end = monotonic() + self._limit
        self._sent.append(_Sent(self._client.send(name, request), end, take))

    def collect(self) -> None:
        """Handle the next event of the client, and hand over the responses that have arrived or are lost."""
        self._client.spin_once(0.05)
        over = [sent for sent in self._sent if sent.future.done() or monotonic() > sent.end]
        self._sent = [sent for sent in self._sent if sent not in over]
        for sent in over:
            sent.take(sent.future.result() if sent.future.done() else None)

    def drain(self) -> None:
        """Wait until no request is in flight."""
        while self._sent:
            self.collect()
