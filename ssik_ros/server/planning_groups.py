"""
The planning groups of a robot, each with its solver and with finders for branches, self-motions, steps and tool paths.

:class:`PlanningGroups` maps group names to :class:`GroupServer`; its ``finders`` has the :class:`GroupFinders` of each.
:class:`RobotReport` responds to the request for the groups that are served.
"""

from collections.abc import Iterable, Mapping, Sequence
import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.errors import describe_choices, list_names, quote
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.results import Cause
from ssik_ros.server.groups.all_branches import BranchFinder
from ssik_ros.server.groups.cycle_steps import StepFinder
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.groups.self_motion_finder import SelfMotionFinder
from ssik_ros.server.paths.tool_path_finder import ToolPathFinder
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.solvers.kinematics_yaml import GroupKinematics


class RobotReport(NamedTuple):
    """Response to a request for the planning groups of a robot: the groups, or the reason of a refusal."""

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """Cause of the refusal; NONE for a success, and for some refusals such as FAULT."""
    text: str
    """Why the request was refused; empty for a success."""
    groups: Sequence[GroupServer] = ()
    """The groups; empty for a refused request."""


class GroupFinders(NamedTuple):
    """The finders of one group: objects that find branches, self-motions, steps of control cycles, and tool paths."""

    branches: BranchFinder
    """Finds the branches of a pose."""
    self_motions: SelfMotionFinder
    """Finds self-motions of a pose: curves of postures that reach the pose."""
    steps: StepFinder
    """Finds the motion in one control cycle towards a pose."""
    tool_paths: ToolPathFinder
    """Plans the cheapest joint path along a tool path that its search finds."""


class PlanningGroups(dict[str, GroupServer]):
    """
    The planning groups of a robot: a mapping from group name to :class:`GroupServer`.

    ``finders`` maps the same names to :class:`GroupFinders`. A mapping is never changed: :meth:`with_kinematics` makes
    another one, which shares all other groups.
    """

    def __init__(
        self,
        scene: PlanningScene,
        groups: Iterable[JointGroup],
        kinematics: Mapping[str, GroupKinematics],
        cancel: NDArray[np.int64],
    ) -> None:
        """
        Make a solver for every group.

        :param scene: the robot among objects.
        :param groups: the groups.
        :param kinematics: solver and parameters by group; other groups have the default solver.
        :param cancel: (1) flag that ends all searches.
        """
        self._scene, self._cancel = scene, cancel
        super().__init__(
            (group.name, self._make_server(group, kinematics.get(group.name))) for group in groups
        )
        self.finders = {name: self._make_finders(server) for name, server in self.items()}

    def _make_server(self, group: JointGroup, kinematics: GroupKinematics | None) -> GroupServer:
        settings = kinematics or GroupKinematics(group.name)
        states, frames = self._scene.states, self._scene.frames
        return GroupServer(frames, group, settings, self._cancel, states.untold)

    def _make_finders(self, server: GroupServer) -> GroupFinders:
        branches = BranchFinder(server)
        paths = ToolPathFinder(self._scene, server.group)
        return GroupFinders(branches, SelfMotionFinder(branches), StepFinder(server), paths)

    def with_kinematics(self, kinematics: GroupKinematics) -> 'PlanningGroups':
        """
        Return a copy in which one group has a new solver or new parameters; this solver is warmed up.

        The group is the one that ``kinematics.group`` names.

        :param kinematics: the new solver and parameters of the group.
        :raises KeyError: for a group that is not in the mapping.
        """
        name = kinematics.group
        server = self._make_server(self[name].group, kinematics)
        server.warm_up()
        before = self.finders[name]
        branches = before.branches.with_server(server)
        motions, steps = SelfMotionFinder(branches), StepFinder(server)
        finders = GroupFinders(branches, motions, steps, before.tool_paths)
        other = copy.copy(self)
        other[name] = server
        other.finders = {**self.finders, name: finders}
        return other

    def find(self, name: str) -> GroupServer:
        """
        Return a group by name.

        :param name: its name.
        :raises RequestRefused: for an unknown name, with the names that exist.
        """
        group = self.get(name)
        if group is None:
            text = f'There is no group {quote(name)}.' if name else 'The group name is empty.'
            names_text = list_names(self) or 'none'
            robot = quote(self._scene.robot.name)
            raise Refusal.UNKNOWN_GROUP.error(f'{text} Groups of robot {robot}: {names_text}.')
        return group

    def report(self, name: str) -> RobotReport:
        """
        Return a report on one group, or on all of them; an unknown name gets a refusal.

        :param name: name of the group; empty for all.
        """
        if name and name not in self:
            text = f'There is no group {quote(name)}. {describe_choices(name, self)}'
            return RobotReport(Refusal.UNKNOWN_GROUP, Cause.UNKNOWN_GROUP, text)
        chosen = [self[name]] if name else list(self.values())
        return RobotReport(Refusal.NONE, Cause.NONE, '', chosen)
