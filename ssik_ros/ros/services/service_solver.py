"""A solver that calls a service of type ``moveit_msgs/srv/GetPositionIK``: a server of this package, or any other."""

from collections.abc import Mapping
import contextlib
import dataclasses
import logging
import time
from typing import Any

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
import numpy as np
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile

from ssik_ros.arrays import FloatArray
from ssik_ros.benchmark.calls import RemoteResult
from ssik_ros.errors import InvalidOption, quote, SolverError
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import IkResult
from ssik_ros.ros.conversions.joint_commands import make_duration
from ssik_ros.ros.conversions.messages import read_seconds, write_framed_pose
from ssik_ros.ros.services.service_responses import missing_response, read_response
from ssik_ros.ros.services.status_codes import read_text

_LOGGER = logging.getLogger('ssik_ros.service_solver')


DEPTH = 1000
"""Responses that the client keeps until it reads them."""
LOADING_PATIENCE = 10
"""How many times longer a server is waited for whose node is there and loads its robot."""
REPORT_EVERY = 5.0
"""Time between two lines about the missing service [s]."""
DESCRIBE_TYPE = 'ssik_msgs/srv/Describe'
ATTEMPTS = 5
"""First requests: while client and server discover each other, a response can be lost."""
ATTEMPT_WAIT = 2.0
"""Time that each of them has [s]."""
WARM_UP_CALLS = 20
MISSING_LIMIT = 10
"""After so many missing responses the server is not called any more, which bounds the whole run."""
_OUT_OF_REACH = 1e3
"""Distance [m] of a target that no arm reaches, so that a first request costs no search."""
_CARRIED = {'targets', 'seed', 'timeout'}
"""Fields of a request that MoveIt's message has."""


class ServiceSolver:
    """
    A solver of one group that calls a service for each request; serves one thread.

    After ``MISSING_LIMIT`` missing responses it calls the service no more, and every request fails at once.
    """

    name = 'service'

    def __init__(
        self,
        node: Node,
        executor: Executor,
        service: str,
        group: JointGroup,
        *,
        service_timeout: float,
        response_timeout: float,
        sends_seed: bool = True,
    ) -> None:
        """
        Create the client; :meth:`warm_up` waits for the server.

        :param node: the node of the client; the fewer other entities it has, the shorter is a round trip.
        :param executor: an executor that the node belongs to and that no other thread spins.
        :param service: name of the service, relative to the node.
        :param group: the group; every joint of it has one variable.
        :param service_timeout: time to wait for the server [s].
        :param response_timeout: time to wait for a response, beyond the budget of the request [s].
        :param sends_seed: whether requests contain a seed; without one, the server starts at the robot's current state.
        :raises SolverError: for a group with a joint of several variables.
        """
        if group.variable_names != group.joint_names:
            raise SolverError(
                f'Group {quote(group.name)} has a joint with several variables, which a response does not '
                'name.'
            )
        self.service = node.resolve_service_name(service)
        self.joint_names = group.joint_names
        self.base_frame = group.base_link
        self.tip_frames = group.tips
        self._group = group.name
        self._node = node
        self._executor = executor
        self._service_timeout = service_timeout
        self._response_timeout = response_timeout
        self._sends_seed = sends_seed
        self._missing = 0
        self._client = node.create_client(
            GetPositionIK, service, qos_profile=QoSProfile(depth=DEPTH)
        )

    def solve(self, request: SolveRequest) -> IkResult:
        """
        Call the service and return its result; a missing response is a failure with the cause DEADLINE.

        :param request: the request; only fields that MoveIt's message has may be set.
        :raises InvalidOption: for a request that the message cannot carry.
        :raises KeyboardInterrupt: when ROS shuts down meanwhile.
        """
        return self.read(self.call(self.prepare(request))).result

    def prepare(self, request: SolveRequest) -> GetPositionIK.Request:
        """
        Return the message for a request.

        :param request: the request.
        :raises InvalidOption: for a request that the message cannot carry.
        """
        _refuse_unsayable(request)
        message = GetPositionIK.Request()
        inner = message.ik_request
        inner.group_name = self._group
        self._write_targets(inner, request.targets.reshape(-1, 4, 4))
        # Everything that is not named stays as the server knows it.
        inner.robot_state.is_diff = True
        if self._sends_seed and request.seed is not None:
            inner.robot_state.joint_state.name = list(self.joint_names)
            inner.robot_state.joint_state.position = request.seed.tolist()
        inner.timeout = make_duration(max(request.timeout or 0.0, 0.0))
        return message

    def call(self, message: GetPositionIK.Request) -> GetPositionIK.Response | str:
        """
        Send a message and return the response, or a text why no response came.

        After ``MISSING_LIMIT`` missing responses, nothing more is sent and each call returns a text at once.

        :param message: the message; the wait ends after its timeout plus ``response_timeout``.
        :raises KeyboardInterrupt: when ROS shuts down meanwhile.
        """
        if self._missing >= MISSING_LIMIT:
            return f'not called: {MISSING_LIMIT} responses have not come before'
        budget = read_seconds(message.ik_request.timeout)
        response = self._call(message, budget + self._response_timeout)
        if response is not None:
            return response
        self._missing += 1
        text = f'no response from {self.service} in time'
        _LOGGER.warning('%s (%d of at most %d).', text, self._missing, MISSING_LIMIT)
        return text

    def read(self, reply: GetPositionIK.Response | str) -> RemoteResult:
        """
        Return the result in the reply of :meth:`call`.

        :param reply: the response, or the reason of a failure.
        """
        if isinstance(reply, str):
            return missing_response(reply)
        return read_response(reply, self.joint_names, len(self.tip_frames))

    def warm_up(self) -> None:
        """
        Wait for the server, call it until a response comes, and then ``WARM_UP_CALLS`` times more.

        The target of these calls is out of reach. At most ``ATTEMPTS`` calls wait for the first response.

        :raises SolverError: when the server does not come, does not respond or does not know the group.
        :raises KeyboardInterrupt: when ROS shuts down meanwhile.
        """
        self._wait_for_service()
        far = np.broadcast_to(np.eye(4), (len(self.tip_frames), 4, 4)).copy()
        far[:, 2, 3] = _OUT_OF_REACH
        message = self.prepare(SolveRequest(targets=far, timeout=1e-3))
        response = None
        for _ in range(ATTEMPTS):
            response = response or self._call(message, ATTEMPT_WAIT)
        if response is None:
            raise SolverError(
                f'{self.service} is there, but responded to none of {ATTEMPTS} requests.'
            )
        if response.error_code.val == MoveItErrorCodes.INVALID_GROUP_NAME:
            text = read_text(response.error_code) or 'it does not say which it knows'
            raise SolverError(f'{self.service} has no group {quote(self._group)}: {text}')
        for _ in range(WARM_UP_CALLS):
            self._call(message, ATTEMPT_WAIT)

    def _wait_for_service(self) -> None:
        start = said = time.monotonic()
        # In slices, for a signal is to end the wait.
        while not self._client.wait_for_service(0.25):
            self._require_ros()
            now, is_loading = time.monotonic(), self._is_server_loading()
            limit = self._service_timeout * (LOADING_PATIENCE if is_loading else 1)
            if now - start > limit:
                raise SolverError(f'There is no service {self.service} after {now - start:.1f} s.')
            if now - said >= REPORT_EVERY:
                said = now
                cause = 'its node is loading the robot' if is_loading else 'no node offers it yet'
                _LOGGER.info(
                    'Waiting for %s: %s. %.0f s so far, at most %.0f s.',
                    self.service,
                    cause,
                    now - start,
                    limit,
                )

    def _is_server_loading(self) -> bool:
        """Return whether a node of this package exists: it offers ``~/describe`` before it has a robot."""
        offered = self._node.get_service_names_and_types()
        return any(DESCRIBE_TYPE in types for _, types in offered)

    def _call(self, message: GetPositionIK.Request, timeout: float) -> Any:
        """
        Send a message and return the response; None if it does not come within ``timeout`` [s].

        Raise KeyboardInterrupt if ROS shuts down meanwhile.
        """
        future = self._client.call_async(message)
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin_until_future_complete(future, timeout)
        if future.done():
            return future.result()
        self._client.remove_pending_request(future)
        self._require_ros()
        return None

    def _require_ros(self) -> None:
        if not self._node.context.ok():
            raise KeyboardInterrupt

    def _write_targets(self, request: Any, targets: FloatArray) -> None:
        """Write poses (t, 4, 4) and links into a message: the single fields for one tip, the vector for several."""
        if len(targets) == 1:
            request.ik_link_name = self.tip_frames[0]
            write_framed_pose(request.pose_stamped, self.base_frame, targets[0])
            return
        request.ik_link_names = list(self.tip_frames)
        kind = type(request.pose_stamped)
        request.pose_stamped_vector = [kind() for _ in targets]
        for stamped, target in zip(request.pose_stamped_vector, targets, strict=True):
            write_framed_pose(stamped, self.base_frame, target)


def _is_set(value: Any, default: Any) -> bool:
    """Return whether a field of a request differs from its default; an empty mapping is like the default."""
    return bool(value) if isinstance(value, Mapping) else not np.array_equal(value, default)


def _refuse_unsayable(request: SolveRequest) -> None:
    """Raise InvalidOption if a field of the request is set that MoveIt's message does not have."""
    lost = [
        each.name
        for each in dataclasses.fields(request)
        if each.name not in _CARRIED and _is_set(getattr(request, each.name), each.default)
    ]
    if lost:
        raise InvalidOption(f"MoveIt's message cannot carry {', '.join(lost)} of a request.")
