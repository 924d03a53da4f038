"""The page that a browser shows: the robot, a handle at each target, ghosts of other branches, and panels."""

from collections.abc import Hashable, Sequence
from functools import partial
import logging
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, quote
from ssik_ros.view.browser.controls import fits
from ssik_ros.view.browser.guard import Admission, Guard, LARGEST_PICTURE
from ssik_ros.view.browser.link_meshes import (
    GhostMeshes,
    link_poses,
    page_pose,
    read_page_pose,
    RobotMeshes,
    SEGMENTS,
)
from ssik_ros.view.browser.panels import Extras
from ssik_ros.view.browser.private_opening import PrivateOpening
from ssik_ros.view.browser.private_server import LOCAL, open_server
from ssik_ros.view.browser.scenery import bounds_of, set_scenery, size_of, VIEW
from ssik_ros.view.browser.tabs import make_panels
from ssik_ros.view.limit_room import UNITS
from ssik_ros.view.mailbox import Event, Mailbox
from ssik_ros.view.pictures.renderer import Colour
from ssik_ros.view.pictures.robot_pictures import GHOSTS
from ssik_ros.view.pictures.robot_solids import RobotSolids
from ssik_ros.view.posture_session import PostureSession
from ssik_ros.view.session import Session

_LOGGER = logging.getLogger('ssik_ros.view')

AT_LIMIT: Colour = (0.98, 0.68, 0.15)
COLLIDING: Colour = (0.9, 0.15, 0.15)
MISSING = (242, 115, 25)
TARGET_HANDLE = 0.22
"""Size of the handle of a target, as a share of the robot's size [1]."""
LOWERED = 0.6
"""How much lower the camera of a narrow screen is, divided by the robot's size: the panels cover the lower half."""
HEAD = 0.04
"""Length of the head of the arrow to a target that is not reached, as a part of the robot's size."""
HIDDEN = np.zeros((1, 2, 3))
GHOST_DELAY = 0.25
"""Time without motion of a held handle before ghosts are shown: a browser without a graphics card takes long to
draw them [s]."""
HEAD_START = 0.002
"""Delay from the panels' values to the scene [s]: a browser shows values at once if no scene comes with them."""
PICTURE_TIMEOUT = 20.0
"""Longest wait for a picture of a browser [s]."""


class Page:
    """A page that shows one session to any number of browsers, which all see and move the same robot."""

    def __init__(
        self,
        session: PostureSession,
        *,
        host: str = '127.0.0.1',
        port: int = 8080,
        admission: Admission | None = None,
        extras: Extras | None = None,
    ) -> None:
        """
        Start the server and make the page.

        :param session: the session that is shown.
        :param host: address at which the server listens; only this machine by default.
        :param port: 0 for any free one.
        :param admission: decides which browsers are let in; None for a new one-time token.
        :param extras: a joint path or a cloud to show as well.
        :raises SolverError: if viser is not installed.
        :raises InvalidOption: if the port is taken or invalid, or if the address does not belong to this machine.
        """
        self.session, self.extras = session, extras or Extras()
        self.is_playing, self.angle_unit = False, UNITS[0]
        named = () if host in LOCAL else (host,)
        self.guard = Guard(admission or Admission(named))
        self.host = host
        self._viser = open_server(self.guard, host, port)
        self.port = int(self._viser.get_port())
        self._gesture: Hashable = None
        self._opening: PrivateOpening | None = None
        self.note = ''
        """Message of the last failure; shown until the next event."""
        self._build()
        self.guard.accepts = self._accepts
        self.mailbox = Mailbox(self._show, self._rest, self._report, pause=self._pause)
        self.post(lambda: None)

    @property
    def url(self) -> str:
        """Return the address of the page with a token that lets one browser in; each token works once."""
        name = f'[{self.host}]' if ':' in self.host else self.host
        name = '127.0.0.1' if name in ('0.0.0.0', '[::]') else name
        return f'http://{name}:{self.port}/#{self.guard.admission.token}'

    @property
    def is_dragging(self) -> bool:
        """Return whether a user holds the handle of a target or obstacle in any browser."""
        return bool(self._grabbed)

    def open_in_browser(self) -> None:
        """Open the page in the user's browser, by means of a private file, so that the token is not on a command line."""
        opening = self._opening = PrivateOpening(self.url)
        self._viser.on_client_connect(lambda client: opening.close())
        if not opening.has_browser:
            _LOGGER.warning('No browser was found: open the printed address yourself.')

    def close(self) -> None:
        """Stop the server and the thread of the session."""
        self.is_playing = False
        if self._opening is not None:
            self._opening.close()
        self.mailbox.close()
        self._viser.stop()

    def post(self, event: Event, kind: Hashable = None, *, gesture: Hashable = None) -> None:
        """
        Put an event into the queue of the session's thread.

        :param event: the function that the thread calls.
        :param kind: a waiting event of the same kind is replaced.
        :param gesture: identity of a gesture, such as one drag. Before its first event the state is stored for undo;
            None stores nothing.
        """

        def handle() -> None:
            self.note = ''
            if gesture is not None and gesture != self._gesture:
                self.session.remember()
            self._gesture = gesture
            event()

        self.mailbox.put(handle, kind)

    def _build(self) -> None:
        """Make the scene and the panels."""
        scene, session = self._viser.scene, self.session
        solids = RobotSolids(session.robot, segments=SEGMENTS)
        for warning in solids.warnings:
            _LOGGER.warning('%s', warning)
        self._solids, self.shape_note = solids, solids.note
        bounds = self.robot_bounds()
        self.scene, self.gui = scene, self._viser.gui
        self.size = size_of(bounds)
        self._look(bounds)
        self._robot = RobotMeshes(scene, solids, '/robot')
        colours = [GHOSTS[i % len(GHOSTS)] for i in range(session.most_branches)]
        self._ghosts = GhostMeshes(scene, solids, colours) if colours else None
        for mesh in self._ghosts.meshes.values() if self._ghosts is not None else ():
            mesh.on_click(self._on_ghost)
        self._bodies: RobotMeshes | None = None
        self.shows_ghosts = True
        # These two nodes are parents of all ghosts and labels, so that a drag can hide them.
        self._details = [scene.add_frame(name, show_axes=False) for name in ('/ghosts', '/labels')]
        self._labels = [
            scene.add_label(f'/labels/{i}', '', visible=False) for i in range(len(colours))
        ]
        self._handles = {link: self._add_handle(link) for link in session.tips}
        self._gap = scene.add_line_segments('/gap', HIDDEN, MISSING, thickness=0.006 * self.size)
        self._panels = make_panels(self._viser.gui, self)
        self._grabbed: dict[str, int] = {}
        """The browser that holds a handle, by the name of the handle."""
        self._viser.on_client_disconnect(lambda client: self._let_go(client.client_id))
        self._drags = 0

    def robot_bounds(self) -> FloatArray:
        """Return the corners (2, 3) of the box around the robot in its shown posture [m]."""
        return bounds_of(self._solids, self.session.state)

    def _accepts(self, control: str, value: object) -> bool:
        """Return whether a browser may set the control with this identity to a value; False for an unknown control."""
        # A control that a browser names may just be removed; only the library knows which there are.
        handle = self._viser.gui._gui_input_handle_from_uuid.get(control)
        return handle is not None and fits(handle, value)

    def _look(self, bounds: FloatArray) -> None:
        """Add floor and lights, and set the first camera, which is farther away on narrow screens, for a box (2, 3) [m]."""
        set_scenery(self._viser, bounds, self.size)
        middle = bounds.mean(axis=0)

        async def step_back(client: Any) -> None:
            aspect = float(client.camera.aspect)
            if 0.1 < aspect < 1.0:
                place = middle - (0.0, 0.0, LOWERED * self.size)
                client.camera.position = tuple(place + self.size / aspect * VIEW)
                client.camera.look_at = tuple(place)

        self._viser.on_client_connect(step_back)
        self.use_theme(False)
        self._viser.gui.main_panel.dock_right()

    def use_theme(self, is_dark: bool) -> None:
        """
        Choose a bright or a dark theme of the panels.

        :param is_dark: True for bright letters on a dark background.
        """
        self._viser.gui.configure_theme(
            control_width='large', show_logo=False, show_share_button=False, dark_mode=is_dark
        )

    def _add_handle(self, link: str) -> Any:
        """Add to the scene the handle with which a user drags a target, and return it."""
        wxyz, position = page_pose(self.session.targets[link])
        handle = self._viser.scene.add_transform_controls(
            f'/targets/{link}',
            scale=TARGET_HANDLE * self.size,
            wxyz=wxyz,
            position=position,
            depth_test=False,
        )

        handle.on_update(partial(self._on_handle, link))
        return handle

    async def _on_handle(self, link: str, event: Any) -> None:
        """Post an event that moves a target to its dragged handle; viser calls this in its own thread."""
        self._drags += self.hold(link, event)
        pose = read_page_pose(event.target.wxyz, event.target.position)
        self.post(
            lambda: self.session.move_target(link, pose),
            ('target', link),
            gesture=('target', self._drags),
        )

    def hold(self, name: str, event: Any) -> bool:
        """
        Store that a browser drags a handle, or that it released the handle.

        :param name: name of the handle.
        :param event: viser's event of the handle.
        :returns: whether a drag begins with this event.
        """
        if event.phase == 'end':
            self._grabbed.pop(name, None)
        else:
            self._grabbed[name] = event.client_id
        return bool(event.phase == 'start')

    def holds(self, name: str) -> bool:
        """
        Return whether a user drags a handle in any browser.

        :param name: name of the handle.
        """
        return name in self._grabbed

    def _let_go(self, client: int) -> None:
        """Release the handles that a browser held when it disconnected in the middle of a drag."""
        held = dict(self._grabbed)
        self._grabbed = {name: holder for name, holder in held.items() if holder != client}

    async def _on_ghost(self, event: Any) -> None:
        index = event.instance_index
        if index is not None:
            self.post(lambda: self.take(index))

    def take(self, index: int) -> None:
        """
        Show another branch of the pose as the posture of the session.

        :param index: index of the branch in ``session.branches``; nothing happens if it no longer exists.
        """
        session = self.session
        if isinstance(session, Session) and index < len(session.branches):
            session.take(session.branches[index])

    def highlight(self, rank: int) -> None:
        """
        Make one ghost less transparent than the others, at once and not in the thread of the session.

        :param rank: rank of the ghost's branch, from 1 on; 0 for none.
        """
        if self._ghosts is not None:
            with self._viser.atomic():
                self._ghosts.highlight(rank - 1)
            self._viser.flush()

    def take_picture(self, client: Any, most: int = LARGEST_PICTURE) -> NDArray[np.uint8]:
        """
        Return a picture of the scene (height, width, 4) as a browser shows it, after all waiting events.

        Never call this in the thread of the session, for which it waits.

        :param client: viser's client of the browser.
        :param most: largest edge of the picture [pixels].
        :raises InvalidOption: if the browser sends no picture.
        """
        self.mailbox.wait_idle(PICTURE_TIMEOUT)
        edges = np.array((client.camera.image_height, client.camera.image_width))
        height, width = np.maximum(edges * min(1.0, most / max(edges)), 1.0).astype(int).tolist()
        self.guard.awaited_pictures += 1
        try:
            image = client.get_render(
                height, width, transport_format='png', timeout=PICTURE_TIMEOUT
            )
        except (RuntimeError, TimeoutError, OSError, ValueError) as error:
            raise InvalidOption(f'The browser sent no picture: {error}') from error
        finally:
            self.guard.awaited_pictures -= 1
        return np.asarray(image, np.uint8)

    def show_bodies(self, is_shown: bool) -> None:
        """
        Show or hide the collision bodies.

        :param is_shown: whether they are shown.
        """
        if self._bodies is None and is_shown:
            solids = RobotSolids(self.session.robot, 'collision', SEGMENTS)
            self._bodies = RobotMeshes(self._viser.scene, solids, '/bodies', opacity=0.5)
        if self._bodies is not None:
            self._bodies.root.visible = is_shown

    def _report(self, text: str) -> None:
        self.note = text
        self._show()

    def _show(self) -> None:
        """Update everything that is fast to draw: panels, robot and handles; called after each event."""
        session = self.session
        with self._viser.atomic():
            for panel in self._panels:
                panel.show(session)
        self._viser.flush()
        if self.is_dragging:
            time.sleep(HEAD_START)
        with self._viser.atomic():
            self._show_details(not self.is_dragging)
            self._robot.place(session.state)
            if self._bodies is not None:
                self._bodies.place(session.state)
            for link, handle in self._handles.items():
                if not self.holds(link):
                    handle.wxyz, handle.position = page_pose(session.targets[link])
        self._viser.flush()

    def _pause(self) -> float:
        """Return how long no event must come before slow work begins [s]: GHOST_DELAY during a drag that is solved, else 0."""
        return GHOST_DELAY if self.is_dragging and self.session.outcome.solved else 0.0

    def _show_details(self, is_shown: bool) -> None:
        """Show or hide all ghosts and their labels."""
        for node in self._details:
            if node.visible != is_shown:
                node.visible = is_shown

    def _rest(self) -> None:
        """Do the slow work for the shown posture, and draw it: branches as ghosts, collisions, labels, and details of panels."""
        session = self.session
        if self.is_playing:
            session.check_collisions()
        else:
            session.complete()
        states = [session.state_with(branch.positions) for branch in session.branches]
        with self._viser.atomic():
            if self._ghosts is not None:
                self._ghosts.place(states if self.shows_ghosts else [])
            self._label(states if self.shows_ghosts else [])
            self._show_details(True)
            self._robot.place(session.state)
            self._robot.mark(self._marks())
            self._draw_gap()
            for panel in self._panels:
                panel.show_details(session)
        self._viser.flush()

    def _label(self, states: list[Any]) -> None:
        """
        Write the rank of each ghost at the link that is farthest from the robot and from the labels of other ghosts.

        :param states: full states of the ghosts.
        """
        robot = self.session.robot
        here = link_poses(robot, self.session.state)[:, :3, 3]
        places = place_labels(here, [link_poses(robot, state)[:, :3, 3] for state in states])
        for number, label in enumerate(self._labels):
            label.visible = number < len(states)
            if label.visible:
                label.position = tuple(places[number])
                label.text = str(number + 1)

    def _marks(self) -> dict[str, Colour]:
        """Return the colours of links to be marked, by name: links moved by joints at their limits, and colliding links."""
        session, tree = self.session, self.session.robot.tree
        known = session.explanation
        joints = [limit.joint.partition('/')[0] for limit in known.limits] if known else []
        moved = {tree.joint_index[name] for name in joints}
        carriers = zip(tree.link_names, tree.link_joints.tolist())
        marks = {link: AT_LIMIT for link, carrier in carriers if carrier in moved}
        hit = {name for contact in session.contacts for name in (contact.first, contact.second)}
        return marks | dict.fromkeys(hit & set(tree.link_index), COLLIDING)

    def _draw_gap(self) -> None:
        """Draw an arrow from each tip to its target if the targets are not reached; remove the arrows otherwise."""
        session = self.session
        lines = HIDDEN
        if not session.outcome.solved:
            ends = [(session.tip_pose(k)[:3, 3], p[:3, 3]) for k, p in session.targets.items()]
            lines = np.concatenate([draw_arrow(*pair, HEAD * self.size) for pair in ends])
        self._gap.points = lines.astype(np.float32)


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


def describe_access(page: Page) -> str:
    """
    Return lines of text: the address to open, which machines can open it, and how to get meshes if they are missing.

    :param page: the page.
    """
    note = f'\n{page.shape_note}' if page.shape_note else ''
    if page.host in LOCAL:
        access = 'Only this machine can open it. The address is good for one browser.'
        return f'{page.url}\n{access}{note}'
    return (
        f'{page.url}\nListening at {quote(page.host)}: every machine that reaches this address can open it. '
        f'The address is good for one browser. The connection is not encrypted.{note}'
    )


def announce_addresses(page: Page) -> None:
    """
    Print the address of the page now, and a new one whenever a browser has used the last one.

    :param page: the page.
    """
    page.guard.admission.on_use = lambda: print(f'For another browser: {page.url}', flush=True)
    print(describe_access(page), flush=True)
