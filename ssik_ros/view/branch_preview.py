"""
Draw postures of one planning group and measure them, for a panel that has loaded the robot of a node.

:func:`make_preview` makes a :class:`BranchPreview`, which returns markers and manipulability of a posture.
"""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ModelError
from ssik_ros.markers import Color, Marker
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.chain_kinematics import ChainKinematics, manipulability_of
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.view.limit_room import shared_unit
from ssik_ros.view.node_services import GroupOption
from ssik_ros.view.pictures.bars import bar_lines, length_of_bars
from ssik_ros.view.relaxations import are_angles
from ssik_ros.view.sessions.session_markers import NOTHING, WIDTH

NAMESPACE = 'chosen'
"""Of the markers of the chosen branch."""


class BranchPreview:
    """Draws postures of one planning group as markers, and computes their manipulability."""

    def __init__(self, robot: RobotModel, group: JointGroup) -> None:
        """
        Keep the robot and the group.

        :param robot: the robot.
        :param group: the group, with one tip.
        """
        self._robot, self._group = robot, group
        self._chain = ChainKinematics(robot, group, group.base_link, group.tip)
        self.frame = robot.tree.root_link
        """The frame of the markers."""
        self.unit = shared_unit(are_angles(robot, group.idx_q), 'rad')
        """Of distances between postures: ``rad``, ``m`` or ``rad or m``."""
        self.others = tuple(
            name
            for name, leader in zip(robot.tree.joint_names, robot.tree.leaders.tolist())
            if leader < 0 and name not in group.joint_names
        )
        """Joints outside of the group that move by themselves."""

    def manipulability(self, q: FloatArray) -> float:
        """
        Return the product of the singular values of the Jacobian of the tip; 0 at a singularity.

        :param q: (n,) posture [rad or m].
        """
        return float(manipulability_of(self._chain.jacobian(q)))

    def draw(self, q: FloatArray | None, colour: Color) -> list[Marker]:
        """
        Return the posture as lines and spheres in the frame of the root link; other joints have default positions.

        :param q: (n,) posture [rad or m]; None to remove the markers of an earlier call.
        :param colour: of the lines.
        """
        lines, width = NOTHING, 0.0
        if q is not None:
            positions = self._robot.default_positions()
            positions[self._group.idx_q] = q
            state = FullState(self._robot.with_mimic(positions), np.eye(4))
            lines = bar_lines(self._robot, state)
            width = WIDTH * length_of_bars(lines)
        return [
            Marker(NAMESPACE, 0, 'line_list', colour, width, lines),
            Marker(NAMESPACE, 1, 'sphere', colour, 2.0 * width, np.unique(lines, axis=0)),
        ]


def make_preview(robot: RobotModel, group: GroupOption) -> BranchPreview | None:
    """
    Return the preview of a group; None for a group with several tips, and if the robot does not have its chain.

    The chain from the base link to the tip must have the joints of the group.

    :param robot: the robot.
    :param group: as a node describes it.
    """
    if len(group.tips) != 1:
        return None
    try:
        named = robot.group_from_links(group.base, group.tips[0], group.name)
    except ModelError:
        return None
    return BranchPreview(robot, named) if named.variable_names == group.joint_names else None
