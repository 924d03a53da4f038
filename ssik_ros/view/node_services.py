"""
Interface through which a panel calls the services of a running node, without ROS: :class:`NodeServices`.

Other classes are the requests and results as plain data.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from ssik_ros.arrays import FloatArray
from ssik_ros.markers import Marker
from ssik_ros.server.requests.ik_requests import Branch, FramedPose
from ssik_ros.view.sessions.posture_session import SolveOutcome


class GroupOption(NamedTuple):
    """One planning group of the robot of a node: its links, its joints, and whether it has a solver."""

    name: str
    base: str
    """Name of the base link."""
    tips: tuple[str, ...]
    """Names of the tip links."""
    joint_names: tuple[str, ...]
    position_only: bool = False
    """Whether the node ignores the orientation of targets."""
    problem: str = ''
    """Why the group has no solver; empty if it has one."""


class RobotSummary(NamedTuple):
    """The robot of a node, and its planning groups."""

    robot: str
    """Name of the robot."""
    groups: tuple[GroupOption, ...]


class PoseQuery(NamedTuple):
    """One target pose of a link of a group, and the options of the request."""

    group: str
    """Name of the planning group."""
    link: str
    """Name of the link that is to be at the target."""
    target: FramedPose
    avoids_collisions: bool = False
    """Whether postures that collide are left out."""
    wants_windings: bool = False
    """Whether a branch is listed once for each winding (whole turns of its joints) within the limits."""


class FoundBranches(NamedTuple):
    """The branches of a pose in the response of a node; if it has no branch, ``outcome`` has the cause."""

    outcome: SolveOutcome
    joint_names: tuple[str, ...]
    """The order of the positions of each branch."""
    branches: tuple[Branch, ...]


class Posture(NamedTuple):
    """Positions (n,) of some joints [rad or m]."""

    joint_names: tuple[str, ...]
    positions: FloatArray


class ServiceFailure(NamedTuple):
    """A sentence that says why a service sent no response that can be used."""

    text: str


Done = Callable[[Any], None]
"""Takes a response, or a :class:`ServiceFailure`; called once, in the thread of the panel."""


class NodeServices(Protocol):
    """
    Interface of a class that calls the services of one node; no method waits for a response.

    Each ``done`` is called once, with the result or with a :class:`ServiceFailure`.
    """

    how_to_start: str
    """How a user starts a node; one line."""

    def find_nodes(self) -> tuple[str, ...]:
        """Return the full names of the nodes that can be asked."""

    def use(self, node: str) -> None:
        """
        Ask another node from now on; responses of the earlier node are dropped.

        :param node: its full name.
        """

    def describe(self, done: Done) -> None:
        """
        Ask for the :class:`RobotSummary`.

        :param done: called with the summary, or with a :class:`ServiceFailure`.
        """

    def solve_all(self, query: PoseQuery, done: Done) -> None:
        """
        Ask for the :class:`FoundBranches` of a pose.

        :param query: the target.
        :param done: called with the branches, or with a :class:`ServiceFailure`.
        """

    def explain(self, query: PoseQuery, done: Done) -> None:
        """
        Ask for the :class:`~ssik_ros.server.groups.explanations.Explanation` of a failure.

        :param query: the target.
        :param done: called with the explanation, or with a :class:`ServiceFailure`.
        """

    def find_marker(self, link: str, done: Done) -> None:
        """
        Ask for the :class:`FramedPose` of the interactive marker of a link.

        :param link: the link.
        :param done: called with the pose, or with a :class:`ServiceFailure`.
        """

    def find_link(self, link: str, posture: Posture, done: Done) -> None:
        """
        Ask for the :class:`FramedPose` of a link in a posture, in the model frame.

        :param link: the link.
        :param posture: joints that are not in it are where they are now.
        :param done: called with the pose, or with a :class:`ServiceFailure`.
        """

    def reach_position(
        self, query: PoseQuery, joint_names: Sequence[str], locked: Sequence[str], done: Done
    ) -> None:
        """
        Ask for a :class:`Posture` in which the link is at the position of the target, with any orientation.

        :param query: the target.
        :param joint_names: the joints of the posture.
        :param locked: joints that stay where they are.
        :param done: takes the posture, or a :class:`ServiceFailure` if no posture was found or the service does not
            respond.
        """

    def show(self, posture: Posture | None, markers: Sequence[Marker], frame: str) -> None:
        """
        Show a posture in RViz.

        :param posture: for robot_state_publisher; None leaves the robot as it is.
        :param markers: the same posture as lines.
        :param frame: of the markers.
        """
