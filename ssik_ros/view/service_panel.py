"""
Branches and causes of a running node, as a panel shows them: requests, rows and texts, without Qt and without ROS.

One thread calls it. No call waits: a response comes to a function, and the response to an earlier request is dropped.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, SsikError
from ssik_ros.markers import Color
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause
from ssik_ros.server.groups.explanations import Explanation
from ssik_ros.server.requests.ik_requests import Branch, FramedPose
from ssik_ros.view.branch_preview import BranchPreview, make_preview
from ssik_ros.view.branch_table import BranchRow, KEYS, sort_rows
from ssik_ros.view.limit_room import shared_unit
from ssik_ros.view.node_services import (
    Done,
    FoundBranches,
    GroupOption,
    NodeServices,
    PoseQuery,
    Posture,
    RobotSummary,
    ServiceFailure,
)
from ssik_ros.view.pose_text import read_pose, write_pose
from ssik_ros.view.reasons import AT_TARGET, describe_cause, describe_nearest, NOT_AT_TARGET
from ssik_ros.view.relaxations import Relaxations
from ssik_ros.view.remedies import FREE_ORIENTATION
from ssik_ros.view.sessions.posture_session import SolveOutcome
from ssik_ros.view.sessions.session_markers import NEAREST, REACHED

SOURCES = TIP, FRAME, MARKER, NUMBERS = 'tip as it is now', 'frame', 'marker in RViz', 'numbers'
"""Where a target comes from."""
TAKE_NEAREST = 'Move the target to the nearest posture'
IGNORE_COLLISIONS = 'Ignore collisions'
NO_NODE = 'No node of ssik_ros was found.'


class TargetChoice(NamedTuple):
    """A target as a user gives it in a panel: the kind of source, and a frame or numbers if the source needs them."""

    source: str = TIP
    """One of :data:`SOURCES`: the tip as it is now, a frame, the marker in RViz, or numbers."""
    frame: str = ''
    """Frame of the target for a frame or numbers; empty for the model frame."""
    numbers: str = ''
    """Position and orientation as text, for :data:`NUMBERS`."""


class ServiceRemedy(NamedTuple):
    """A change that may make the target reachable: the text of a button, and the function that a press calls."""

    label: str
    act: Callable[[], None]


class ServicePanel:
    """
    The state of a panel that asks a node: the chosen node, group, link and target, and the last response.

    The response has branches, or the cause of a failure. A window draws the attributes, calls the methods for actions
    of a user, and is called back after each change.
    """

    def __init__(self, services: NodeServices, changed: Callable[[], None]) -> None:
        """
        Begin without a node.

        :param services: calls the services of the chosen node.
        :param changed: called after each change that a user sees.
        """
        self._services, self._changed = services, changed
        self.nodes: tuple[str, ...] = ()
        self.node = ''
        self.summary: RobotSummary | None = None
        self.group: GroupOption | None = None
        self.link = ''
        self.target = TargetChoice()
        self.avoids_collisions = self.wants_windings = False
        self.order = next(iter(KEYS))
        self.status = f'{NO_NODE} {services.how_to_start}'
        self.relaxed: list[str] = []
        """A sentence for each remedy that was taken."""
        self.preview: BranchPreview | None = None
        self._robot: RobotModel | None = None
        self._before: tuple[TargetChoice, bool] | None = None
        """Target and collisions before the first remedy."""
        self._number = 0
        """Of the last request."""
        self.is_busy = False
        self._has_moved = False
        """Whether the marker has moved since the request that is under way."""
        self._forget()

    def _forget(self) -> None:
        self.response: FoundBranches | None = None
        self.explanation: Explanation | None = None
        self.shown = -1
        """Index of the shown branch."""

    # Node and group.

    def look(self) -> None:
        """
        Look for nodes, and ask the chosen one for its groups if they are missing; called once or twice a second.

        If the chosen node is gone, the first other one is chosen.
        """
        nodes = self._services.find_nodes()
        if nodes != self.nodes:
            self.nodes = nodes
            if self.node not in nodes:
                self.choose_node(nodes[0] if nodes else '')
            else:
                self._changed()
        if self.node and self.summary is None and not self.is_busy:
            self._ask(self._take_summary, self._services.describe)

    def choose_node(self, name: str) -> None:
        """
        Ask another node from now on.

        :param name: one of :attr:`nodes`; empty for none.
        """
        self.node, self.summary, self.group, self.link = name, None, None, ''
        self.preview = self._robot = None
        self._drop_requests()
        self._forget()
        self._services.use(name)
        self.status = f'Asking {name}.' if name else f'{NO_NODE} {self._services.how_to_start}'
        self._changed()

    def _take_summary(self, summary: RobotSummary) -> None:
        self.summary = summary
        if not summary.groups:
            self.status = 'The node serves no planning group.'
            return
        self.status = 'Choose a target and press Solve.'
        self.choose_group(
            next((g for g in summary.groups if not g.problem), summary.groups[0]).name
        )

    def choose_group(self, name: str) -> None:
        """
        Use another group and its first tip.

        :param name: its name; a name that the node does not have is ignored.
        """
        groups = () if self.summary is None else self.summary.groups
        self.group = next((group for group in groups if group.name == name), self.group)
        if self.group is None:
            return
        if self.group.problem:
            self.status = self.group.problem
        self._make_preview()
        self.choose_link(self.group.tips[0] if self.group.tips else '')

    def choose_link(self, name: str) -> None:
        """
        Use another link.

        :param name: a tip of the group, or a link that is rigidly attached to one.
        """
        self.link = name
        self._start_anew()

    def _start_anew(self) -> None:
        """Forget remedies, requests and responses: they belong to another target."""
        self._end_relaxing()
        self._drop_requests()
        self._forget()
        self._changed()

    def take_robot(self, robot: RobotModel) -> None:
        """
        Take the robot that the panel has loaded.

        :param robot: the robot; it is not used if the node has a robot of another name.
        """
        self._robot = robot
        self._make_preview()
        self._changed()

    def _make_preview(self) -> None:
        self.preview = None
        robot, summary = self._robot, self.summary
        if robot is None or summary is None or self.group is None or robot.name != summary.robot:
            return
        try:
            self.preview = make_preview(robot, self.group)
        except SsikError as error:
            self.status = f'Branches have no manipulability. {error}'

    # Targets and requests.

    def choose_target(self, target: TargetChoice) -> None:
        """
        Take a target; branches and causes of another one are forgotten.

        :param target: as the user gives it.
        """
        if target != self.target:
            self.target = target
            self._start_anew()

    def choose_options(self, avoids_collisions: bool, wants_windings: bool) -> None:
        """
        Take the options of a request.

        :param avoids_collisions: whether branches that collide are left out.
        :param wants_windings: whether the full turns of each branch are listed.
        """
        self.avoids_collisions, self.wants_windings = avoids_collisions, wants_windings

    def move_marker(self) -> None:
        """Solve again because the marker in RViz has moved; do nothing if the target has another source."""
        if self.target.source == MARKER and self.group is not None:
            if self.is_busy:
                self._has_moved = True
            else:
                self.solve()

    def solve(self) -> None:
        """Ask for all branches of the target."""
        self._with_query(partial(self._ask, self._take_branches, self._services.solve_all))

    def explain(self) -> None:
        """Ask why the target is not reached."""
        self._with_query(partial(self._ask, self._take_explanation, self._services.explain))

    def _with_query(self, send: Callable[[PoseQuery], None]) -> None:
        """Call ``send`` with the target; if that is the marker in RViz, ask the node for its pose first."""
        group, link, source = self.group, self.link, self.target.source
        if group is None:
            self._say('There is no planning group yet.')
        elif source == MARKER:
            self._ask(
                lambda pose: send(self._query(group, pose)), self._services.find_marker, link
            )
        else:
            try:
                send(self._query(group, self._given_target()))
            except SsikError as error:
                self._say(str(error))

    def _given_target(self) -> FramedPose:
        """Return the target of all sources but the marker; raise InvalidTarget for wrong numbers."""
        target = self.target
        if target.source == TIP:
            return FramedPose(self.link, np.eye(4))
        if target.source == FRAME:
            return FramedPose(target.frame.strip(), np.eye(4))
        return FramedPose(target.frame.strip(), read_pose(target.numbers))

    def _query(self, group: GroupOption, target: FramedPose) -> PoseQuery:
        return PoseQuery(
            group.name, self.link, target, self.avoids_collisions, self.wants_windings
        )

    def _ask(self, take: Done, send: Callable[..., None], *request: Any) -> None:
        """Send a request; call ``take`` with its response if no other request follows and the response is usable."""
        self._number += 1
        number, self.is_busy = self._number, True

        def done(response: Any) -> None:
            if number != self._number:
                return
            self.is_busy = False
            if isinstance(response, ServiceFailure):
                self.status = response.text
            else:
                take(response)
            # The table is drawn before the marker is followed: a drag without a pause shows each solve, too.
            if not self.is_busy:
                self._changed()
            self._follow_marker()

        send(*request, done)

    def _follow_marker(self) -> None:
        """Solve again if the marker has moved meanwhile and no request is under way."""
        if self._has_moved and not self.is_busy:
            self._has_moved = False
            self.move_marker()

    def _drop_requests(self) -> None:
        self._number += 1
        self.is_busy = self._has_moved = False

    def _say(self, text: str) -> None:
        self.status = text
        self._changed()

    # Responses.

    def _take_branches(self, response: FoundBranches) -> None:
        self._forget()
        self.response, outcome = response, response.outcome
        text = outcome.text or counted(len(response.branches), 'branch', 'branches')
        self.status = f'{AT_TARGET} {text}' if outcome.solved else _failure(outcome)
        self._show(None, REACHED)

    def _take_explanation(self, explanation: Explanation) -> None:
        self._forget()
        self.explanation = explanation
        if explanation.solved:
            self.status = AT_TARGET
            return
        self.status = _failure(SolveOutcome(False, explanation.cause, explanation.text))
        if explanation.nearest is not None:
            self._show(Posture(explanation.joint_names, explanation.nearest), NEAREST)

    @property
    def unit(self) -> str:
        """Return the unit of distances between postures."""
        return shared_unit([True, False], 'rad') if self.preview is None else self.preview.unit

    @property
    def branches(self) -> tuple[Branch, ...]:
        """Return the branches of the last response."""
        return () if self.response is None else self.response.branches

    def list_rows(self) -> list[BranchRow]:
        """Return a row for each branch, in the chosen order; NaN as manipulability without a ``preview``."""
        return sort_rows(self.branches, self._measure, self.order)

    def _measure(self, q: FloatArray) -> float:
        return float('nan') if self.preview is None else self.preview.manipulability(q)

    def show_branch(self, rank: int) -> None:
        """
        Show a branch in RViz.

        :param rank: from 1 on; a rank that no branch has is ignored.
        """
        if self.response is None or not 0 < rank <= len(self.branches):
            return
        self.shown = rank - 1
        self._show(
            Posture(self.response.joint_names, self.branches[self.shown].positions), REACHED
        )
        self._changed()

    def _show(self, posture: Posture | None, colour: Color) -> None:
        """Show a posture in RViz; None takes the markers of the last one away."""
        markers, frame = [], ''
        if self.preview is not None:
            markers = self.preview.draw(None if posture is None else posture.positions, colour)
            frame = self.preview.frame
        if posture is not None or markers:
            self._services.show(posture, markers, frame)

    # Causes and remedies.

    @property
    def nearest_text(self) -> str:
        """Return how far the nearest posture is from the target; empty if that is not known."""
        return describe_nearest(self.explanation)

    @property
    def details(self) -> list[str]:
        """Return the report of the node, and sentences with all numbers; each sentence once."""
        explanation = self.explanation
        if explanation is None or explanation.solved:
            return []
        return list(dict.fromkeys(filter(None, (explanation.text, *explanation.advice))))

    def list_remedies(self) -> list[ServiceRemedy]:
        """Return changes that the services of the node can try; none is certain to suffice."""
        explanation, group = self.explanation, self.group
        if explanation is None or explanation.solved or group is None:
            return []
        if explanation.cause == Cause.COLLISION:
            is_on = self.avoids_collisions
            return [ServiceRemedy(IGNORE_COLLISIONS, self._ignore_collisions)] if is_on else []
        remedies = []
        if explanation.nearest is not None:
            remedies.append(ServiceRemedy(TAKE_NEAREST, self._take_nearest))
        if not group.position_only:
            remedies.append(ServiceRemedy(FREE_ORIENTATION, self._free_orientation))
        return remedies

    def take_back(self) -> None:
        """Return to target and collisions as they were before the first remedy, and solve."""
        if self._before is not None:
            self.target, self.avoids_collisions = self._before
            self._end_relaxing()
            self.solve()

    def _end_relaxing(self) -> None:
        self._before, self.relaxed = None, []

    def _relax(self, sentence: str) -> None:
        """Store the target and options unless an earlier remedy did; add a sentence on this remedy to ``relaxed``."""
        self._before = self._before or (self.target, self.avoids_collisions)
        self.relaxed = list(dict.fromkeys((*self.relaxed, sentence)))

    def _ignore_collisions(self) -> None:
        self._relax('Collisions do not count.')
        self.avoids_collisions = False
        self.solve()

    def _take_nearest(self) -> None:
        explanation = self.explanation
        if explanation is not None and explanation.nearest is not None:
            posture = Posture(explanation.joint_names, explanation.nearest)
            self._move_to('The target is at the nearest posture.', posture)

    def _free_orientation(self) -> None:
        """Find a posture at the position of the target, and make the pose of the link there the target."""
        (sentence,) = Relaxations(orientation=True).describe()
        locked = () if self.preview is None else self.preview.others
        names = () if self.group is None else self.group.joint_names

        def send(query: PoseQuery) -> None:
            take = partial(self._move_to, sentence)
            self._ask(take, self._services.reach_position, query, names, locked)

        self._with_query(send)

    def _move_to(self, sentence: str, posture: Posture) -> None:
        """Make the pose of the link in a posture the target, and solve."""

        def take(pose: FramedPose) -> None:
            self._relax(sentence)
            self.target = TargetChoice(NUMBERS, pose.frame, write_pose(pose.pose))
            self.solve()

        self._ask(take, self._services.find_link, self.link, posture)


def _failure(outcome: SolveOutcome) -> str:
    return f'{NOT_AT_TARGET} {describe_cause(outcome)}'
