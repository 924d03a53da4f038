"""
Read the description and joint states of a running robot once; the call runs the node's callbacks until they have come.

:class:`RunningRobot` reads them; it raises :class:`RobotNotRunning` if they do not come in time.
"""

from collections.abc import Callable
import logging
import time
from typing import Any

from rclpy.executors import Executor, ExternalShutdownException
from rclpy.node import Node

from ssik_ros.arrays import FloatArray
from ssik_ros.benchmark.session import BenchmarkRobot
from ssik_ros.errors import quote, SolverError
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.inputs.robot_source import (
    RobotDescription,
    RobotSource,
    source_parameters,
    URDF_TOPIC,
)
from ssik_ros.server.groups.group_choice import choose_groups
from ssik_ros.server.scene.states import StateReader

_LOGGER = logging.getLogger('ssik_ros.running_robot')


class RobotNotRunning(SolverError):
    """Raised if a robot's description or joint states do not come on their topics in time."""


class RunningRobot:
    """Reads a robot's descriptions and joint states from topics, and ends its subscriptions."""

    def __init__(self, node: Node, executor: Executor, settings: Any) -> None:
        """
        Keep the node and its parameters.

        :param node: the node that subscribes for a while.
        :param executor: an executor that the node belongs to and that no other thread spins.
        :param settings: the parameters of ``ik_benchmark``.
        """
        self._node, self._executor, self._settings = node, executor, settings

    def read(self, group: str, needs_state: bool) -> BenchmarkRobot:
        """
        Return the running robot, a planning group and the full state; run callbacks until all have come.

        :param group: name of the group. If the robot has groups but not this one, its first group with one tip and only
            joints of one variable is taken.
        :param needs_state: whether all joints of the group have to be reported; if not, missing ones get default values
            after a wait, with a warning.
        :raises RobotNotRunning: when a message does not come in time.
        :raises SsikError: when a description is wrong or does not have the group.
        :raises KeyboardInterrupt: when ROS shuts down meanwhile.
        """
        before = {*self._node.subscriptions}
        timers = {*self._node.timers}
        try:
            # First, for its messages come while the description is waited for.
            live = LiveState(self._node)
            description = self._wait_for_description()
            robot = description.load()
            group = _existing_group(robot, group)
            base, tip = self._settings.base_link, self._settings.tip_link
            (chosen,) = choose_groups(robot, [group], base=base, tip=tip, name=group)
            state = self._wait_for_state(live, robot, chosen, needs_state)
            return BenchmarkRobot(robot, chosen, description.urdf.origin, state)
        finally:
            for subscription in {*self._node.subscriptions} - before:
                self._node.destroy_subscription(subscription)
            for timer in {*self._node.timers} - timers:
                self._node.destroy_timer(timer)

    def _wait_for_description(self) -> RobotDescription:
        delivered: list[RobotDescription] = []
        settings, timeout = self._settings, self._settings.service_timeout
        # The settings name files for the robot of the configuration, not for this one.
        parameters = source_parameters(settings, robot_description_file='', xacro_args='')
        source = RobotSource(self._node, parameters, delivered.append)
        source.start()
        limit = timeout + settings.semantic_timeout
        if not self._spin_until(lambda: bool(delivered), limit):
            topics = source.topics(URDF_TOPIC)
            raise RobotNotRunning(f'No robot came on the topic {topics} in {timeout:g} s.')
        return delivered[-1]

    def _wait_for_state(
        self, live: LiveState, robot: RobotModel, group: JointGroup, is_needed: bool
    ) -> FloatArray:
        """
        Return the full state (nq,) after all joints of the group were reported, or after a wait.

        Joints that no message reports have default values. If joints of the group are missing after the wait, raise
        RobotNotRunning if ``is_needed``, else log a warning.
        """
        settings = self._settings
        wait = settings.service_timeout if is_needed else settings.semantic_timeout
        if not self._spin_until(lambda: live.reported().issuperset(group.joint_names), wait):
            text = (
                f'Not all joints of group {quote(group.name)} were reported on {live.topics} in '
                f'{wait:g} s'
            )
            if is_needed:
                raise RobotNotRunning(f'{text}, where searches are to start.')
            _LOGGER.warning('%s; joints outside it may be elsewhere than assumed.', text)
        return live.current(StateReader(robot)).positions

    def _spin_until(self, is_done: Callable[[], bool], wait: float) -> bool:
        """
        Run callbacks until ``is_done`` returns true, at most ``wait`` [s]; return its last value.

        Raise KeyboardInterrupt if ROS shuts down meanwhile.
        """
        deadline = time.monotonic() + wait
        while not is_done() and time.monotonic() < deadline:
            try:
                self._executor.spin_once(0.05)
            except ExternalShutdownException:
                raise KeyboardInterrupt from None
            if not self._node.context.ok():
                raise KeyboardInterrupt
        return is_done()


def _existing_group(robot: RobotModel, wanted: str) -> str:
    """
    Return the wanted group; if the robot has groups but not this one, log a warning and return another group.

    It is the first group with one tip and only joints of one variable. Without such a group, return ``wanted``, and log
    nothing.
    """
    if not robot.groups or wanted in robot.groups:
        return wanted
    arms = (
        name
        for name, group in robot.groups.items()
        if len(group.tips) == 1 and group.variable_names == group.joint_names
    )
    chosen = next(arms, wanted)
    if chosen != wanted:
        _LOGGER.warning(
            'Robot %s has no group %s, which the configuration names. The benchmark uses its '
            'group %s instead; name a configuration of this robot by config.',
            quote(robot.name),
            quote(wanted),
            quote(chosen),
        )
    return chosen
