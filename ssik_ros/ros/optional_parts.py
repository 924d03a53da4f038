"""Parts of the node with modules of their own: task sets, a reach map, targets to drag, and tool paths."""

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
    """Refuse a parameter whose services have messages of a package that is missing."""
    if not HAS_OWN_MESSAGES:
        raise ConfigError(f'{parameter} needs the package ssik_msgs. Install it.')


class OptionalParts:
    """
    Services and topics that a node offers after the others, most of them only if a parameter asks for them.

    Each part imports tens of modules, for which a node without the part does not wait.
    """

    def __init__(
        self, node: Node, settings: Any, handlers: ServiceHandlers, live: LiveState
    ) -> None:
        """
        Make the parts that parameters name.

        :param node: the node.
        :param settings: its parameters.
        :param handlers: has the robot that is served.
        :param live: where the robot is.
        :raises SsikError: when a named file is missing or malformed, or a package is missing.
        """
        self._node, self._settings, self._handlers = node, settings, handlers
        self._task_sets = self._make_task_sets()
        self._targets = self._make_targets(live)
        self._reach = self._make_reach()
        self._tool_paths: ToolPathAction | None = None

    def _make_task_sets(self) -> 'TaskSetsOverRos | None':
        """Read the task set file, if there is one."""
        if not self._settings.task_sets_file:
            return None
        _require_messages('task_sets_file')
        from ssik_ros.ros.services.task_set_services import TaskSetsOverRos

        return TaskSetsOverRos(self._settings.task_sets_file)

    def _make_targets(self, live: LiveState) -> 'InteractiveTargets | None':
        """Offer targets to drag in RViz, if a group is named for that."""
        if not self._settings.interactive_group:
            return None
        from ssik_ros.ros.interactive_targets import InteractiveTargets

        def served() -> RobotServer | None:
            robot = self._handlers.served
            return None if robot is None else robot.server

        return InteractiveTargets(self._node, self._settings.interactive_group, served, live)

    def _make_reach(self) -> 'ReachOverRos | None':
        """Offer the reach map that a parameter names, if there is one."""
        if not self._settings.reach_map:
            return None
        _require_messages('reach_map')
        from ssik_ros.ros.services.reach_services import ReachOverRos

        return ReachOverRos(self._node, self._settings.reach_map, self._settings.reach_measure)

    @property
    def services(self) -> list[Service]:
        """Return the services of all parts; they need a robot."""
        parts = (self._task_sets, self._reach)
        return [service for part in parts if part is not None for service in part.services]

    def load(self, server: RobotServer) -> dict[str, Any]:
        """
        Return the fields of :class:`Served` that the parts fill for a robot, warmed up.

        :param server: the robot that is served from now on.
        """
        parts = {'task_sets': self._task_sets, 'reach': self._reach}
        return {name: part.load(server) for name, part in parts.items() if part is not None}

    def offer_tool_paths(self, is_cancelled: Callable[[], bool], group: 'CallbackGroup') -> None:
        """
        Offer the action that plans tool paths, where the package of its messages is installed.

        :param is_cancelled: returns whether all searches are to end.
        :param group: of its callbacks.
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
        """Begin the parts that need a robot."""
        if self._targets is not None:
            self._targets.begin()

    def close(self) -> None:
        """End the parts that run by themselves."""
        if self._targets is not None:
            self._targets.close()
