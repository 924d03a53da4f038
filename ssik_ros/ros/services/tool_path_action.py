"""The action ``~/plan_tool_path``: :class:`ToolPathAction` plans tool paths; goals can be cancelled and get feedback."""

from collections.abc import Callable
import threading
import time
from typing import Any, NamedTuple

from moveit_msgs.msg import MoveItErrorCodes
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from ssik_msgs.action import PlanToolPath

from ssik_ros.errors import counted
from ssik_ros.paths.requests import PathProgress
from ssik_ros.ros.conversions.tool_path_messages import (
    empty_result,
    read_goal,
    write_feedback,
    write_result,
)
from ssik_ros.ros.services.service_handlers import Service, ServiceHandlers
from ssik_ros.ros.services.status_codes import read_text, write_code
from ssik_ros.server.paths.tool_path_requests import PlanWatch, ToolPathGoal
from ssik_ros.server.requests.refusals import Refusal

NAME = '~/plan_tool_path'
LOOKS = 0.005
"""Time between two looks at whether a goal is cancelled [s]."""
CANCEL_TIME = 0.01
"""Longest wait for a cancelled plan to end by itself before its goal ends without it [s]."""
HANDOVER = 3.0
"""Longest wait of a goal for the end of another one, if as many goals are planned as the node allows [s]."""
KEPT = 60
"""How long a result is kept for clients that ask for it [s]."""
CANCELLED = 'No path: the goal was cancelled.'


class GoalLimits(NamedTuple):
    """Limits of goals, from the node's parameters."""

    goals: int
    """Largest number of goals that are planned at once."""
    waypoints: int
    """Largest number of waypoints of one goal."""
    timeout: float
    """Budget of a goal that gives no budget [s]."""


class _Goal(NamedTuple):
    """
    A goal of the action with its callbacks, in the form of a request for the service handler.

    ``has_place`` tells whether the goal may be planned now: the node plans a limited number of goals at once.
    """

    request: PlanToolPath.Goal
    watch: PlanWatch
    has_place: bool
    """Whether the node may plan it, as fewer than ``GoalLimits.goals`` are planned."""


class _Exchange:
    """Replacement for a service type in the description of the action, as the handler only needs its ``Response``."""

    Response = staticmethod(empty_result)


class ToolPathAction:
    """
    Serves the action that plans tool paths.

    A goal with too many waypoints ends with the reason. If too many goals are planned, a goal waits up to ``HANDOVER``
    [s] for one of them to end; then it ends with the reason, too.
    """

    def __init__(
        self,
        node: Node,
        handlers: ServiceHandlers,
        limits: GoalLimits,
        is_stopped: Callable[[], bool],
        group: CallbackGroup,
    ) -> None:
        """
        Create the action server.

        :param node: the node.
        :param handlers: handlers of its services, which also handle goals.
        :param limits: the limits of goals.
        :param is_stopped: returns whether the node ends.
        :param group: callback group of the action.
        """
        self._limits, self._is_stopped = limits, is_stopped
        self._places = threading.BoundedSemaphore(limits.goals)
        self._waiting = threading.BoundedSemaphore(limits.goals)
        service = Service(_Exchange, NAME, 'plan_tool_path', self._read, write_result)
        self._handle = handlers.handler(service)
        self._server = ActionServer(
            node,
            PlanToolPath,
            NAME,
            self._execute,
            callback_group=group,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
            result_timeout=KEPT,
        )

    def _execute(self, goal: Any) -> PlanToolPath.Result:
        """
        Plan one goal in another thread, wait for its end or for a cancellation, and return the result.

        After a cancellation the plan has ``CANCEL_TIME`` [s] to end by itself. If it has no valid path then, the goal
        ends as cancelled with the code PREEMPTED. A path that is valid by then is returned, and the goal succeeds.
        Without a cancellation, a goal without a valid path is aborted.
        """
        results: list[PlanToolPath.Result] = []
        # A goal that has ended forgets that it was cancelled, and its plan may not have looked yet.
        cancelled = threading.Event()
        work = threading.Thread(target=self._work, args=(goal, cancelled, results), daemon=True)
        work.start()
        while work.is_alive() and not goal.is_cancel_requested:
            work.join(LOOKS)
        is_cancelled = goal.is_cancel_requested
        if is_cancelled:
            cancelled.set()
        work.join(CANCEL_TIME if is_cancelled else None)
        result = results[0] if results else empty_result()
        if is_cancelled and not result.valid:
            result.reason = CANCELLED
            write_code(result.error_code, int(MoveItErrorCodes.PREEMPTED), CANCELLED)
        elif not result.valid and not result.reason:
            result.reason = read_text(result.error_code)
        end = goal.succeed if result.valid else goal.canceled if is_cancelled else goal.abort
        try:
            end()
        except rclpy_implementation.RCLError:
            # The goal was cancelled after the check above: an aborted goal may be cancelled.
            goal.canceled()
        return result

    def _work(
        self, goal: Any, cancelled: threading.Event, results: list[PlanToolPath.Result]
    ) -> None:
        """
        Wait for a free place among the goals planned at once, plan a goal, and append its result to ``results``.

        If no place becomes free, the result is a refusal. The plan ends early if ``cancelled`` is set, the goal is
        cancelled, or the node ends.
        """
        start = time.monotonic()

        def is_cancelled() -> bool:
            return bool(cancelled.is_set() or goal.is_cancel_requested or self._is_stopped())

        def report(progress: PathProgress) -> None:
            goal.publish_feedback(write_feedback(progress, time.monotonic() - start))

        has_place = self._take_place()
        try:
            watched = _Goal(goal.request, PlanWatch(is_cancelled, report), has_place)
            results.append(self._handle(watched, empty_result()))
        finally:
            if has_place:
                self._places.release()

    def _take_place(self) -> bool:
        """
        Wait up to ``HANDOVER`` [s] for a place among the goals planned at once; return whether the goal got one.

        Return False at once if as many goals wait as there are places: each waiting goal holds a thread of the
        services.
        """
        if not self._waiting.acquire(blocking=False):
            return False
        try:
            return self._places.acquire(timeout=HANDOVER)
        finally:
            self._waiting.release()

    def _read(self, goal: _Goal) -> ToolPathGoal:
        """
        Return the request for a plan from a goal message, with the default time budget if the message has none.

        Raise RequestRefused if too many goals are planned already, for too many waypoints, and for an unknown
        objective.
        """
        limits, count = self._limits, len(goal.request.waypoints)
        if not goal.has_place:
            text = f'The node plans {counted(limits.goals, "tool path")} at once (parameter tool_path_goals).'
            raise Refusal.BUSY.error(f'{text} Send the goal again when one has ended.')
        if count > limits.waypoints:
            text = f'The goal has {count} waypoints; at most {limits.waypoints} are worked on (parameter tool_path_waypoints).'
            raise Refusal.BAD_TARGET.error(text)
        request: ToolPathGoal = read_goal(goal.request)
        request.watch = goal.watch
        if not request.timeout > 0.0:
            request.timeout = limits.timeout
        return request
