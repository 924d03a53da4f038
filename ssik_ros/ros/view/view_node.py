"""
The node ``ik_view``: the page in the browser, attached to a running robot and to a running node.

Solutions come from the solver of the running node, with the node's parameters, but in this process. They are the same
as the node's for the same request, parameters, objects and version, unless the clock ends a search. A drag sends 60
requests a second, and a page also tries other solvers and released limits. The clients of the running node must not
wait for them.
"""

from collections.abc import Sequence
import logging
import sys
import threading
from types import SimpleNamespace
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from std_msgs.msg import String

from ssik_ros.errors import describe_choices, list_names, quote, SsikError
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.ros.inputs.aged_state import AgedState
from ssik_ros.ros.inputs.input_topics import InputTopic
from ssik_ros.ros.inputs.robot_source import (
    LATCHED,
    LIMITS_PREFIX,
    RobotDescription,
    RobotSource,
    source_parameters,
    URDF_TOPIC,
)
from ssik_ros.ros.parameters.override_check import check_overrides
from ssik_ros.ros.parameters.parameter_listener import ParamListener
from ssik_ros.ros.process.node_process import ProcessNode, run_node
from ssik_ros.ros.process.steady_timers import make_steady_timer
from ssik_ros.ros.view.goal_sender import GoalSender
from ssik_ros.ros.view.node_settings import NodeSettings, read_settings
from ssik_ros.ros.view.real_robot import RunningGroup
from ssik_ros.server.groups.group_choice import choose_groups
from ssik_ros.solvers.kinematics_yaml import GroupKinematics, parse_kinematics
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.view.browser.guard import import_extra
from ssik_ros.view.browser.page import announce_addresses, Page
from ssik_ros.view.browser.panels.robot_panel import RobotPanel
from ssik_ros.view.sessions.session import Session

NAME = 'ik_view'
PARAMETERS_FILE = 'ssik_ros.ros:ik_view_parameters.yaml'
_LOGGER = logging.getLogger('ssik_ros.ik_view')
FRAME_TIME = 0.04
"""Time between two pictures of the real robot [s]."""
LOOK_TIME = 1.0
"""Time between two looks for receivers of goals [s]."""


class ViewNode(ProcessNode):
    """Shows one group of a running robot on a page in the browser."""

    def __init__(self, **options: Any) -> None:
        """
        Declare parameters and subscribe to joint states; :meth:`start` looks for the robot.

        :param options: arguments of ``rclpy.node.Node``.
        :raises SsikError: when a parameter is misspelt, or viser is not installed.
        :raises ParameterException: (of rclpy) when a parameter is missing, has a wrong type or is out of range.
        """
        super().__init__(NAME, **options)
        import_extra('viser')
        self._settings = ParamListener(self, load_schema(PARAMETERS_FILE)).get_params()
        check_overrides(self, (LIMITS_PREFIX,))
        self._live = AgedState(self)
        self._asked = NodeSettings()
        self._page: Page[Session] | None = None
        self._source: RobotSource | None = None
        self._real: RunningGroup | None = None
        self._urdf = ''
        """Description of the shown robot, as its topic has it; empty as long as the topic has brought none."""
        InputTopic(
            self,
            String,
            URDF_TOPIC,
            self._hear_robot,
            LATCHED,
            callback_group=MutuallyExclusiveCallbackGroup(),
        )
        self._is_ending = False

    @property
    def threads(self) -> int:
        """Return the number of callbacks that may run at once; one may load the robot."""
        return 4

    def start(self) -> None:
        """Start the thread that looks for the robot and opens the page."""
        threading.Thread(target=self._look_for_robot, name='robot search', daemon=True).start()

    def stop(self) -> bool:
        """Close the page; return true."""
        self._is_ending = True
        page, self._page = self._page, None
        if page is not None:
            page.close()
        return True

    def fail(self, reason: object) -> None:
        """
        Log a fatal error, and shut ROS down; the process ends with exit code 1. Do nothing while the node ends.

        :param reason: the error.
        """
        if not self._is_ending:
            super().fail(reason)

    def _look_for_robot(self) -> None:
        try:
            self._asked = read_settings(self, self._settings.node)
            parameters = _source_parameters(self._settings, self._asked)
            self._source = RobotSource(self, parameters, self._load)
            self._source.start()
        except SsikError as error:
            self.fail(error)
        except Exception as error:
            if self.context.ok():
                self.fail(error)

    def _load(self, description: RobotDescription) -> None:
        """
        Show the first robot; a later robot is not shown, and goals are refused if it differs from the first one.

        If the first robot cannot be shown, the node ends unless a topic can bring another description.
        """
        if self._page is not None:
            _LOGGER.warning('Another robot came. To see it, start the view again.')
            self._compare(str(description.urdf.source))
            return
        self.load_by(lambda: self._show(description), may_mend=lambda: self._may_mend(description))

    def _hear_robot(self, message: String) -> None:
        """
        Keep the description on the topic; once a robot is shown, compare it with the one that was kept.

        If none was kept, which happens with a robot from a file, it is kept without a comparison.
        """
        if self._real is not None and self._urdf:
            self._compare(message.data)
        else:
            self._urdf = message.data

    def _compare(self, urdf: str) -> None:
        """Refuse all goals from now on if a description differs from the shown robot's."""
        if self._real is not None and urdf != self._urdf:
            self._real.refuse(
                'Another robot description came, perhaps of another robot. Start the view again to send goals.'
            )

    def _may_mend(self, description: RobotDescription) -> bool:
        """Return whether a later message may repair a description."""
        return self._source is not None and self._source.may_mend(description)

    def _show(self, description: RobotDescription) -> None:
        """Load the robot, open the page, and start the timers that refresh it."""
        settings = self._settings
        robot = description.load()
        group = self._choose(robot)
        session = Session(robot, group, self._kinematics(group))
        sender = GoalSender(self, settings.send_to)
        real = RunningGroup(
            self, robot, group, self._live, max_age=settings.max_state_age, sender=sender
        )
        if description.urdf.origin.startswith('topic'):
            self._urdf = str(description.urdf.source)
        self._real = real
        there = real.where()
        if there.state is not None:
            session.begin_at(there.state)
        page = self._page = Page(session, host=settings.host, port=settings.port)
        self._refresh_by_timers(RobotPanel(page, real), real)
        self._announce(page, description, session)

    def _choose(self, robot: RobotModel) -> JointGroup:
        """
        Return the group to show: the parameter ``group``, else the first group with a single tip, else the first group.

        If the robot has several groups and the parameter is empty, log a warning. If the robot has none, return the
        chain between a base link and a tip link. The parameters name them, else the running node.

        :raises GroupNotFound: if the robot has groups, but not the one that the parameter names.
        :raises ModelError: if the robot has no group, and a link does not exist, the tip is not clear, or nothing moves
            between base and tip.
        """
        settings, wanted = self._settings, self._settings.group
        if not wanted and len(robot.groups) > 1:
            single = [name for name, group in robot.groups.items() if len(group.tips) == 1]
            wanted = (single or list(robot.groups))[0]
            _LOGGER.warning(
                'Group %s is shown, of %s. Name another one by --group, or by the parameter group.',
                quote(wanted),
                list_names(robot.groups),
            )
        base, tip, name = settings.base_link, settings.tip_link, ''
        if not robot.groups and not (base or tip):
            base, tip, name = self._asked.base_link, self._asked.tip_link, self._asked.group
        (group,) = choose_groups(
            robot,
            [wanted] if wanted else [],
            base=base,
            tip=tip,
            name=wanted or name,
        )
        return group

    def _kinematics(self, group: JointGroup) -> GroupKinematics | None:
        """
        Return the running node's solver and parameters of a group; None without a node.

        If the node has no valid entry for the group, log a warning and return None.
        """
        asked = self._asked
        if not asked.node:
            return None
        if group.name not in asked.kinematics:
            choices = describe_choices(group.name, asked.kinematics)
            _LOGGER.warning(
                'Node %s has no group %s, so the default solver is used. %s',
                quote(asked.node),
                quote(group.name),
                choices,
            )
            return None
        try:
            return parse_kinematics({group.name: asked.kinematics[group.name]}, source=asked.node)[
                group.name
            ]
        except SsikError as error:
            _LOGGER.warning('The default solver is used. %s', error)
            return None

    def _refresh_by_timers(self, panel: RobotPanel, real: RunningGroup) -> None:
        def draw() -> None:
            # While the node ends, the page is gone.
            if self._page is not None:
                real.step()
                panel.refresh()

        for period, call in ((FRAME_TIME, draw), (LOOK_TIME, real.look)):
            make_steady_timer(self, period, call)

    def _announce(
        self, page: Page[Session], description: RobotDescription, session: Session
    ) -> None:
        """
        Log the robot, print the address of the page, and open the page in a browser if the settings say so.

        The address holds a token and must not be in a log or topic. Each time a browser has used it, a new one is
        printed.
        """
        _LOGGER.info(
            f'Ready: robot {quote(session.robot.name)} (URDF: {description.urdf.origin}), group '
            f'{quote(session.group.name)}, solver {session.kinematics.solver}'
            + (f' as in node {self._asked.node}' if self._asked.node else '')
        )
        announce_addresses(page)
        print('Press Ctrl+C to end.', flush=True)
        if self._settings.open_browser:
            page.open_in_browser()


def _source_parameters(settings: Any, asked: NodeSettings) -> SimpleNamespace:
    """
    Return the parameters that tell where the robot's descriptions are.

    If none of them names a URDF, the URDF of the running node ``asked`` is used, and its SRDF unless one is named.
    """
    given = source_parameters(settings)
    if not (
        given.robot_description or given.robot_description_file or given.moveit_config_package
    ):
        given.robot_description = asked.urdf
        if not given.robot_description_semantic and not given.semantic_file:
            given.robot_description_semantic = asked.srdf
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the node until SIGINT, SIGTERM or a fatal error; return the exit code.

    :param arguments: arguments of ROS; None means the arguments of the process.
    """
    return run_node(NAME, ViewNode, arguments)


if __name__ == '__main__':
    sys.exit(main())
