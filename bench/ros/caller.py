"""A client of servers under test: one call at a time, or many in flight, always with a deadline."""

from collections.abc import Sequence
from time import monotonic, perf_counter_ns, sleep
from types import TracebackType
from typing import Any

from moveit_msgs.srv import GetPositionIK
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from ssik_msgs.srv import SolveBatch

LAST_SERVICE = 'compute_cartesian_path'
"""One of the services that need the closed forms, which the product's node may still be loading."""
CALL_LIMIT = 5.0
"""Time after which a single call counts as lost [s]."""

FIRST_TRY = 2.0
"""Time after which a first request is sent again [s]."""


class NoResponse(RuntimeError):
    """A server did not respond in time."""


class Caller:
    """A node that calls ``compute_ik`` in several namespaces."""

    def __init__(self, namespaces: Sequence[str], domain: int | None = None) -> None:
        """
        Make a client for each namespace.

        :param namespaces: of the services.
        :param domain: ROS domain; None for the domain of the environment.
        """
        self._context = Context()
        rclpy.init(args=[], context=self._context, domain_id=domain)
        # A caller whose executor watches nothing but the clients, so that the servers weigh most.
        self._node = rclpy.create_node(
            'caller',
            context=self._context,
            start_parameter_services=False,
            enable_rosout=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._batch_client: Any = None
        self._clients = {
            name: self._node.create_client(
                GetPositionIK, f'{name}/compute_ik', qos_profile=QoSProfile(depth=1000)
            )
            for name in namespaces
        }

    def __enter__(self) -> 'Caller':
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the domain."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

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
        client = self._clients[namespace]
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
        Wait until the product's node offers all of its services: until then it compiles, and has ears for little else.

        :param namespace: whose.
        :param limit: how long [s].
        :raises NoResponse: when a service is missing then.
        """
        end = monotonic() + limit
        self.wait_for(namespace, limit)
        last = f'{namespace}/{LAST_SERVICE}'
        while last not in dict(self._node.get_service_names_and_types()):
            if monotonic() > end:
                raise NoResponse(f'{last} did not appear within {limit} s')
            sleep(0.1)

    def timed_batch(self, namespace: str, request: Any, limit: float) -> tuple[Any, int]:
        """
        Return the response to a request for many poses and the time of the round trip [ns].

        :param namespace: of the service.
        :param request: of ``~/solve_batch``.
        :param limit: longest wait for the service and for the response, each [s].
        :raises NoResponse: if no response came in time.
        """
        name = f'{namespace}/ssik_ros/solve_batch'
        if self._batch_client is None:
            self._batch_client = self._node.create_client(SolveBatch, name)
        if not self._batch_client.wait_for_service(limit):
            raise NoResponse(f'{name} did not appear within {limit} s')
        begin = perf_counter_ns()
        future = self._batch_client.call_async(request)
        self._executor.spin_until_future_complete(future, limit)
        elapsed = perf_counter_ns() - begin
        if not future.done():
            raise NoResponse(f'{name} did not respond within {limit} s')
        return future.result(), elapsed

    def call(self, namespace: str, request: Any, limit: float = CALL_LIMIT) -> Any:
        """
        Return the response to a request.

        :param namespace: of the service.
        :param request: of ``compute_ik``.
        :param limit: longest wait [s].
        :raises NoResponse: if no response came in time.
        """
        future = self._clients[namespace].call_async(request)
        self._executor.spin_until_future_complete(future, limit)
        if not future.done():
            raise NoResponse(f'{namespace}/compute_ik did not respond within {limit} s')
        return future.result()

    def timed_call(
        self, namespace: str, request: Any, limit: float = CALL_LIMIT
    ) -> tuple[Any, int]:
        """
        Return the response and the time of the round trip [ns].

        :param namespace: of the service.
        :param request: of ``compute_ik``.
        :param limit: longest wait [s].
        """
        begin = perf_counter_ns()
        response = self.call(namespace, request, limit)
        return response, perf_counter_ns() - begin

    def send(self, namespace: str, request: Any) -> Any:
        """
        Send a request and return the future of its response; :meth:`spin` completes it.

        :param namespace: of the service.
        :param request: of ``compute_ik``.
        """
        return self._clients[namespace].call_async(request)

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
