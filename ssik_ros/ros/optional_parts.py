"""
Parts of the server node that are imported only if parameters ask for them: task sets, reach map, draggable targets.

:class:`OptionalParts` makes them, and the action that plans tool paths.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TYPE_CHECKING

from rclpy.node import Node

from ssik_ros.errors import ConfigError
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.services.service_handlers import Service, ServiceHandlers
from ssik_ros.server.robot_server import RobotServer

if TYPE_CHECKING:
    from rclpy.callback_groups import CallbackGroup

    from ssik_ros.ros.interactive_targets import InteractiveTargets
    from ssik_ros.ros.services.reach_services import ReachOverRos
    from ssik_ros.ros.services.task_set_services import TaskSetsOverRos
    from ssik_ros.ros.services.tool_path_action import ToolPathAction

HAS_OWN_MESSAGES = find_spec('ssik_msgs') is not None


def _require_messages(parameter: str) -> None:
    """Raise ConfigError, which names the parameter, if the package ssik_msgs is missing."""
    if not HAS_OWN_MESSAGES:
        raise ConfigError(f'{parameter} needs the package ssik_msgs. Install it.')


class OptionalParts:
    """
    The optional parts of the server node: task sets, reach map, draggable targets, and the action for tool paths.

    The first three are made if a parameter asks for them, the action if ssik_msgs is installed. Each part imports tens
    of modules, for which a node without the part does not wait.
    """

    def __init__(
        self, node: Node, settings: Any, handlers: ServiceHandlers, live: LiveState
    ) -> None:
        """
        Make the parts that parameters ask for.

        :param node: the node.
        :param settings: its parameters.
        :param handlers: has the robot that is served.
        :param live: the current state of the robot.
        :raises SsikError: when a named file is missing or malformed, or a package is missing.
        """
        self._node, self._settings, self._handlers = node, settings, handlers
        self._task_sets = self._make_task_sets()
        self._targets = self._make_targets(live)
        self._reach = self._make_reach()
        self._tool_paths: ToolPathAction | None = None

    def _make_task_sets(self) -> 'TaskSetsOverRos | None':
        """Read the task set file that a parameter names, and return its services; None without a file."""
        if not self._settings.task_sets_file:
            return None
        _require_messages('task_sets_file')
        from ssik_ros.ros.services.task_set_services import TaskSetsOverRos

        return TaskSetsOverRos(self._settings.task_sets_file)

    def _make_targets(self, live: LiveState) -> 'InteractiveTargets | None':
        """Return the draggable targets of the group that a parameter names; None without a group."""
        if not self._settings.interactive_group:
            return None
        from ssik_ros.ros.interactive_targets import InteractiveTargets

        def served() -> RobotServer | None:
            robot = self._handlers.served
            return None if robot is None else robot.server

        return InteractiveTargets(self._node, self._settings.interactive_group, served, live)

    def _make_reach(self) -> 'ReachOverRos | None':
        """Return the services of the reach map that a parameter names; None without a map."""
        if not self._settings.reach_map:
            return None
        _require_messages('reach_map')
        from ssik_ros.ros.services.reach_services import ReachOverRos

        return ReachOverRos(self._node, self._settings.reach_map, self._settings.reach_measure)

    @property
    def services(self) -> list[Service]:
        """Return the services of all parts; each needs a robot."""
        parts = (self._task_sets, self._reach)
        return [service for part in parts if part is not None for service in part.services]

    def load(self, server: RobotServer) -> dict[str, Any]:
        """
        Make the task sets and the reach map for a robot and warm them up; return them as fields of :class:`Served`.

        The result has no entry for a part that no parameter asks for.

        :param server: the robot that is going to be served.
        """
        parts = {'task_sets': self._task_sets, 'reach': self._reach}
        return {name: part.load(server) for name, part in parts.items() if part is not None}

    def offer_tool_paths(self, is_cancelled: Callable[[], bool], group: 'CallbackGroup') -> None:
        """
        Create the action that plans tool paths; do nothing without ssik_msgs.

        :param is_cancelled: returns whether all searches have to end.
        :param group: callback group of the action.
        """
        if not HAS_OWN_MESSAGES:
            return
        from ssik_ros.ros.services.tool_path_action import GoalLimits, ToolPathAction

        given = self._settings
        limits = GoalLimits(
            given.tool_path_goals, given.tool_path_waypoints, given.tool_path_timeout
        )
        self._tool_paths = ToolPathAction(self._node, self._handlers, limits, is_cancelled, group)

    def begin(self) -> None:
        """Start the draggable targets with the robot that is served now."""
        if self._targets is not None:
            self._targets.begin()

    def close(self) -> None:
        """End the thread of the draggable targets."""
        if self._targets is not None:
            self._targets.close()
