"""
The drawing of a session in a page: the robot, ghosts of other branches with labels, and arrows to missed targets.

Links that collide, or that joints at their limits move, have other colours.
"""

from collections.abc import Callable, Sequence
import logging
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.view.browser.controls import on_event
from ssik_ros.view.browser.ghost_labels import GhostLabels
from ssik_ros.view.browser.link_meshes import (
    GhostMeshes,
    link_poses,
    RobotMeshes,
    SceneLines,
    SEGMENTS,
)
from ssik_ros.view.browser.scenery import bounds_of, size_of
from ssik_ros.view.limit_room import short
from ssik_ros.view.pictures.renderer import Colour
from ssik_ros.view.pictures.robot_pictures import GHOSTS
from ssik_ros.view.pictures.robot_solids import RobotSolids
from ssik_ros.view.pictures.solids import box_around
from ssik_ros.view.sessions.posture_session import PostureSession
from ssik_ros.view.sessions.session import Session

_LOGGER = logging.getLogger('ssik_ros.view')

AT_LIMIT: Colour = (0.98, 0.68, 0.15)
COLLIDING: Colour = (0.9, 0.15, 0.15)
MISSING = (242, 115, 25)
SHORTEST_GAP = 1e-3
"""Distance from tip to target above which it is written next to the arrow [m]."""
TARGET_HANDLE = 0.22
"""Size of the handle of a target, as a part of the robot's size [1]."""
HEAD = 0.04
"""Length of the head of the arrow to a target that is not reached, as a part of the robot's size."""


class SessionDrawing:
    """Draws one session into viser's scene; only the thread of the session calls it."""

    def __init__(
        self, scene: Any, session: PostureSession, on_ghost: Callable[[int], None]
    ) -> None:
        """
        Add the robot and hidden ghosts to a scene.

        :param scene: viser's scene of a server.
        :param session: the session that is drawn.
        :param on_ghost: is called with the index of a branch when a user clicks on its ghost.
        """
        self._scene, self._session, self._on_ghost = scene, session, on_ghost
        solids = RobotSolids(session.robot, segments=SEGMENTS)
        for warning in solids.warnings:
            _LOGGER.warning('%s', warning)
        self._solids = solids
        first = self.robot_bounds()
        self.size = size_of(first)
        """Length of the robot in its first posture [m]."""
        self._skin = first - self._origin_bounds()
        """Corners (2, 3) of the box around the robot, relative to the box around the origins of its links [m]."""
        self._robot = RobotMeshes(scene, solids, '/robot')
        colours = [GHOSTS[i % len(GHOSTS)] for i in range(session.most_branches)]
        self.ghosts = GhostMeshes(scene, solids, colours) if colours else None
        """The ghosts; None if the session has no branches."""
        for mesh in self.ghosts.meshes.values() if self.ghosts is not None else ():
            on_event(mesh.on_click, self._click)
        self._bodies: RobotMeshes | None = None
        self.shows_ghosts = not (isinstance(session, Session) and session.is_redundant)
        """Whether branches are drawn; not at first where they are samples, in which the robot would be lost."""
        self.details = [scene.add_frame(name, show_axes=False) for name in ('/ghosts', '/labels')]
        """The parents of all ghosts and labels, which a drag hides."""
        self.labels = GhostLabels(colours)
        self._gap = SceneLines(scene, '/gap', MISSING, 0.006 * self.size)
        self._lengths = [
            scene.add_label(f'/lengths/{number}', '', visible=False, anchor='center-left')
            for number in range(len(session.tips))
        ]

    @property
    def shape_note(self) -> str:
        """Return how to get the meshes of the robot if they are missing; empty if they are here."""
        return self._solids.note

    def robot_bounds(self) -> FloatArray:
        """Return the corners (2, 3) of the box around the robot in its shown posture [m]."""
        return bounds_of(self._solids, self._session.state)

    def target_bounds(self, margin: float) -> FloatArray:
        """
        Return the corners (2, 3) of a box around all targets [m].

        :param margin: least distance from a target to a side of the box, as a part of the robot's size.
        """
        places = [pose[:3, 3] for pose in self._session.targets.values()]
        return box_around(places, margin * self.size)

    def _origin_bounds(self) -> FloatArray:
        """Return the corners (2, 3) of the box around the origins of all links in the shown posture [m]."""
        return box_around(link_poses(self._session.robot, self._session.state)[:, :3, 3])

    def bounds(self) -> FloatArray:
        """
        Return the corners (2, 3) of a box around the robot and the handles of its targets [m].

        Links are taken to be as thick as in the first posture, which takes far less time than their surfaces do.
        """
        robot = self._origin_bounds() + self._skin
        return box_around(np.concatenate((robot, self.target_bounds(TARGET_HANDLE))))

    def _click(self, event: Any) -> None:
        if event.instance_index is not None:
            self._on_ghost(event.instance_index)

    def highlight(self, rank: int) -> None:
        """
        Make one ghost less transparent than the others.

        :param rank: rank of the ghost's branch, from 1 on; 0 for none.
        """
        if self.ghosts is not None:
            self.ghosts.highlight(rank - 1)

    def show_bodies(self, is_shown: bool) -> None:
        """
        Show or hide the collision bodies.

        :param is_shown: whether they are shown.
        """
        if self._bodies is None and is_shown:
            solids = RobotSolids(self._session.robot, 'collision', SEGMENTS)
            self._bodies = RobotMeshes(self._scene, solids, '/bodies', opacity=0.5)
        if self._bodies is not None:
            self._bodies.root.visible = is_shown

    def move(self, *, has_details: bool) -> None:
        """
        Draw the posture of the session, which takes little time.

        :param has_details: whether ghosts and labels are shown, where the last :meth:`complete` put them.
        """
        self._show_details(has_details)
        self._robot.place(self._session.state)
        if self._bodies is not None:
            self._bodies.place(self._session.state)

    def _show_details(self, is_shown: bool) -> None:
        """Show or hide all ghosts and their labels."""
        for node in self.details:
            node.visible = is_shown

    def complete(self) -> None:
        """Draw the parts that take longer: branches as ghosts with labels, marked links, and arrows to missed targets."""
        session = self._session
        has_ghosts = self.shows_ghosts and not session.outcome.is_on_path
        branches = session.branches if has_ghosts else []
        states = [session.state_with(branch.positions) for branch in branches]
        if self.ghosts is not None:
            self.ghosts.place(states)
        self._label(states)
        self._show_details(True)
        self._robot.place(session.state)
        self._robot.mark(self._marks())
        self._draw_gap()

    def _label(self, states: list[Any]) -> None:
        """
        Label each ghost with its rank, at the link that is farthest from the robot and from the labels of other ghosts.

        :param states: full states of the ghosts.
        """
        robot = self._session.robot
        here = link_poses(robot, self._session.state)[:, :3, 3]
        places = place_labels(here, [link_poses(robot, state)[:, :3, 3] for state in states])
        self.labels.place(np.array(places).reshape(-1, 3))

    def _marks(self) -> dict[str, Colour]:
        """Return the colours of links to be marked, by name: links moved by joints at their limits, and colliding links."""
        session, tree = self._session, self._session.robot.tree
        reasons = session.explanation
        joints = [limit.joint.partition('/')[0] for limit in reasons.limits] if reasons else []
        moved = {tree.joint_index[name] for name in joints}
        carriers = zip(tree.link_names, tree.link_joints.tolist())
        marks = {link: AT_LIMIT for link, carrier in carriers if carrier in moved}
        return marks | dict.fromkeys(session.colliding_links(), COLLIDING)

    def _draw_gap(self) -> None:
        """Draw an arrow with its length from each tip to a target that is not reached; remove the arrows otherwise."""
        session = self._session
        lines, is_solved = None, session.outcome.solved
        gaps = session.gaps()
        if not is_solved:
            lines = np.concatenate(
                [draw_arrow(start, end, HEAD * self.size) for start, end in gaps]
            )
        self._gap.draw(lines)
        for label, (start, end) in zip(self._lengths, gaps, strict=True):
            length = float(np.linalg.norm(end - start))
            label.visible = not is_solved and length > SHORTEST_GAP
            if label.visible:
                label.text, label.position = f'{short(length)} m', tuple(0.5 * (start + end))


def draw_arrow(start: FloatArray, end: FloatArray, head: float) -> FloatArray:
    """
    Return the line segments (5, 2, 3) of an arrow: the shaft and four edges of the head [m].

    :param start, end: (3,) positions [m].
    :param head: length of the head, at most a third of the arrow's length [m].
    """
    shaft = end - start
    length = float(np.linalg.norm(shaft))
    along = shaft / max(length, 1e-12)
    # The axis that is farthest from the shaft gives two directions across it.
    side = np.cross(along, np.eye(3)[int(np.abs(along).argmin())])
    across = (side, -side, np.cross(along, side), -np.cross(along, side))
    head = min(head, length / 3.0)
    edges = [(end, end - head * (along - 0.5 * turn)) for turn in across]
    return np.array([(start, end), *edges])


def place_labels(here: FloatArray, ghosts: Sequence[FloatArray]) -> list[FloatArray]:
    """
    Return the position (3,) of a label for each ghost [m].

    It is the link of the ghost that is farthest from the same link of the robot and from the labels placed before.

    :param here: (nl, 3) positions of the robot's links [m].
    :param ghosts: (nl, 3) positions of the links of each ghost [m].
    """
    places: list[FloatArray] = []
    for there in ghosts:
        apart = np.linalg.norm(there - here, axis=1)
        for taken in places:
            apart = np.minimum(apart, np.linalg.norm(there - taken, axis=1))
        places.append(there[int(apart.argmax())])
    return places
