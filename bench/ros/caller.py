"""A client of servers under test: one call at a time, or many in flight, always with a deadline."""

from collections.abc import Mapping, Sequence
from time import monotonic, perf_counter_ns, sleep
from typing import Any

from moveit_msgs.srv import GetPositionIK
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile

LAST_SERVICE = 'compute_cartesian_path'
"""One of the services that need the closed forms, which the product's node may still be loading."""
CALL_LIMIT = 5.0
"""Time after which a single call counts as lost [s]."""
FIRST_TRY = 2.0
"""Time after which a first request is sent again [s]."""
DEPTH = QoSProfile(depth=1000)


class NoResponse(RuntimeError):
    """A server did not respond in time."""


class Client:
    """A node that calls services; its executor watches nothing else, so that the servers weigh most."""

    def __init__(self, services: Mapping[str, tuple[Any, str]], domain: int | None = None) -> None:
        """
        Make a client for each service.

        :param services: type and name of each service, by the name that calls use.
        :param domain: ROS domain; None for the domain of the environment.
        """
        self._context = Context()
        rclpy.init(args=[], context=self._context, domain_id=domain)
        self.node = rclpy.create_node(
            'caller', context=self._context, start_parameter_services=False, enable_rosout=False
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.clients = {
            name: self.node.create_client(kind, service, qos_profile=DEPTH)
            for name, (kind, service) in services.items()
        }
        """Clients of rclpy by the names that calls use."""

    def __enter__(self) -> Any:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the domain."""
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)

    def wait_for_services(self, limit: float) -> None:
        """
        Wait until every service is there.

        :param limit: longest wait for all of them [s].
        :raises NoResponse: when one is missing then.
        """
        end = monotonic() + limit
        for name, client in self.clients.items():
            if not client.wait_for_service(max(0.1, end - monotonic())):
                raise NoResponse(f'{name} did not appear within {limit} s')

    def send(self, name: str, request: Any) -> Any:
        """
        Send a request and return the future of its response; :meth:`spin` completes it.

        :param name: of the service.
        :param request: the request.
        """
        return self.clients[name].call_async(request)

    def call(self, name: str, request: Any, limit: float = CALL_LIMIT) -> Any:
        """
        Return the response to a request.

        :param name: of the service.
        :param request: the request.
        :param limit: longest wait [s].
        :raises NoResponse: if no response came in time.
        """
        future = self.send(name, request)
        self._executor.spin_until_future_complete(future, limit)
        if not future.done():
            raise NoResponse(f'{name} did not respond within {limit} s')
        return future.result()

    def timed_call(self, name: str, request: Any, limit: float = CALL_LIMIT) -> tuple[Any, int]:
        """
        Return the response and the time of the round trip [ns].

        :param name, request, limit: as for :meth:`call`.
        """
        begin = perf_counter_ns()
        response = self.call(name, request, limit)
        return response, perf_counter_ns() - begin

    def spin_once(self, limit: float) -> None:
        """
        Handle the next event of the client.

        :param limit: longest wait [s].
        """
        self._executor.spin_once(limit)

    def spin(self, futures: Sequence[Any], limit: float) -> int:
        """
        Wait until all futures are done; return how many are.

        :param futures: of :meth:`send`.
        :param limit: how long to wait [s].
        """
        end = monotonic() + limit
        for future in futures:
            while not future.done() and monotonic() < end:
                self._executor.spin_once(end - monotonic())
        return sum(future.done() for future in futures)


class Caller(Client):
    """Calls ``compute_ik`` in several namespaces; calls name the namespace."""

    def __init__(
        self, namespaces: Sequence[str], domain: int | None = None, **more: tuple[Any, str]
    ) -> None:
        """
        Make a client for each namespace.

        :param namespaces: of the services.
        :param domain: ROS domain; None for the domain of the environment.
        :param more: type and name of further services.
        """
        services = {name: (GetPositionIK, f'{name}/compute_ik') for name in namespaces}
        super().__init__(services | more, domain)

    def wait_for(self, namespace: str, limit: float) -> None:
        """
        Wait until a service has responded to an empty request.

        A response is lost if the server has discovered the writer of a client's requests, but not yet the reader of
        its responses. So a call may fail although the service is listed.

        :param namespace: of the service.
        :param limit: longest wait [s].
        :raises NoResponse: if no response came in time.
        """
        end = monotonic() + limit
        client = self.clients[namespace]
        if not client.wait_for_service(limit):
            raise NoResponse(f'{namespace}/compute_ik did not appear within {limit} s')
        while monotonic() < end:
            future = client.call_async(GetPositionIK.Request())
            self._executor.spin_until_future_complete(future, min(FIRST_TRY, end - monotonic()))
            if future.done():
                return
            client.remove_pending_request(future)
        raise NoResponse(f'{namespace}/compute_ik is there and did not respond within {limit} s')

    def wait_for_all(self, namespace: str, limit: float) -> None:
        """
        Wait until the product's node offers all of its services.

        :param namespace: whose.
        :param limit: how long [s].
        :raises NoResponse: when a service is missing then.
        """
        end = monotonic() + limit
        self.wait_for(namespace, limit)
        last = f'{namespace}/{LAST_SERVICE}'
        while last not in dict(self.node.get_service_names_and_types()):
            if monotonic() > end:
                raise NoResponse(f'{last} did not appear within {limit} s')
            sleep(0.1)
