"""
Base of the page that a browser shows: the robot, a handle at each target, and ghosts of other branches.

:class:`Panel` is the base of the panels of a page.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from functools import partial
import logging
import time
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption
from ssik_ros.view.browser.controls import fits, on_change
from ssik_ros.view.browser.drag_handle import DragHandle
from ssik_ros.view.browser.guard import Admission, Guard, LARGEST_PICTURE
from ssik_ros.view.browser.private_opening import PrivateOpening
from ssik_ros.view.browser.private_server import LOCAL, open_server
from ssik_ros.view.browser.scenery import set_first_camera, set_scenery, turn_camera
from ssik_ros.view.browser.session_drawing import SessionDrawing, TARGET_HANDLE
from ssik_ros.view.limit_room import UNITS
from ssik_ros.view.mailbox import Event, Mailbox
from ssik_ros.view.playback import Playback
from ssik_ros.view.reach_cloud import ReachCloud
from ssik_ros.view.sessions.posture_session import PostureSession
from ssik_ros.view.sessions.session import Session

_LOGGER = logging.getLogger('ssik_ros.view')

GHOST_DELAY = 0.25
"""Time without motion of a held handle before ghosts are shown: a browser without a graphics card takes long to
draw them [s]."""
HEAD_START = 0.002
"""Delay from the panels' values to the scene [s]: a browser shows values at once if no scene comes with them."""
LONGEST_NAME = 40
"""Characters of a robot's name in the heading of the panels."""
PICTURE_TIMEOUT = 20.0
"""Longest wait for a picture of a browser [s]."""

Shown = TypeVar('Shown', bound=PostureSession)


class Extras(NamedTuple):
    """Further contents of a page next to its session: a joint path to play, and the cloud of a reach map; None if missing."""

    playback: Playback | None = None
    cloud: ReachCloud | None = None


class BasePage(ABC, Generic[Shown]):
    """
    Base of a page that shows a session: it has the server, the scene, the handles of targets and the queue of events.

    The derived class makes the panels.
    """

    def __init__(
        self,
        session: Shown,
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
        :raises SolverError: if viser is not installed, or if its version cannot be guarded.
        :raises InvalidOption: if the port is taken or invalid, or if the address does not belong to this machine.
        """
        self.session, self.extras = session, extras or Extras()
        self.is_playing = False
        """Whether postures follow each other so fast that branches are not looked for."""
        self.angle_unit = UNITS[0]
        """Unit in which angles are shown: ``rad`` or ``deg``."""
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

    @abstractmethod
    def _make_panels(self) -> Sequence['Panel']:
        """Make the panels of the page; return them in the order of the page."""

    @property
    def url(self) -> str:
        """Return the address of the page with a token that lets one browser in; each token works once."""
        name = f'[{self.host}]' if ':' in self.host else self.host
        name = '127.0.0.1' if name in ('0.0.0.0', '[::]') else name
        return f'http://{name}:{self.port}/#{self.guard.admission.token}'

    @property
    def is_dragging(self) -> bool:
        """Return whether a user holds the handle of a target or obstacle in any browser."""
        return any(handle.is_held for handle in self._handles)

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
        :param gesture: identity of a gesture, such as one drag. The state before its first event is stored for undo,
            unless the event raises an exception; None stores nothing.
        """

        def handle() -> None:
            self.note = ''
            is_new = gesture is not None and gesture != self._gesture
            with self.session.undo_step() if is_new else nullcontext():
                event()
            self._gesture = gesture

        self.mailbox.put(handle, kind)

    def _build(self) -> None:
        """Make the scene and the panels."""
        self.scene, self.gui = self._viser.scene, self._viser.gui
        self.drawing = SessionDrawing(
            self.scene, self.session, lambda index: self.post(lambda: self.take(index))
        )
        self.size = self.drawing.size
        """Length of the robot: the diagonal of the box around its first shown posture [m]."""
        self._look()
        self._handles: list[DragHandle] = []
        self._targets = {
            link: self.add_handle(
                f'/targets/{link}', TARGET_HANDLE, partial(self.session.move_target, link)
            )
            for link in self.session.tips
        }
        self._panels = self._make_panels()
        self._viser.on_client_connect(self.drawing.labels.add_browser)
        self._viser.on_client_disconnect(self.drawing.labels.remove_browser)

    def _accepts(self, control: str, value: object) -> bool:
        """Return whether a browser may set the control with this identity to a value; False for an unknown control."""
        # A control that a browser names may just be removed; only the library knows which there are.
        handle = self._viser.gui._gui_input_handle_from_uuid.get(control)
        return handle is not None and fits(handle, value)

    def _look(self) -> None:
        """Add floor and lights, and show each new browser the robot and its targets."""
        set_scenery(self._viser, self.drawing.robot_bounds(), self.size)
        self._viser.on_client_connect(self._step_back)
        self.use_theme(False)
        self._viser.gui.main_panel.dock_right()
        self._viser.gui.set_panel_label(self.session.robot.name[:LONGEST_NAME])

    async def _step_back(self, client: Any) -> None:
        """
        Move the first camera of a browser so that a picture that is higher than wide shows robot and targets.

        This happens once, as soon as the camera has its first place.
        """
        is_placed = False

        async def place(camera: Any) -> None:
            nonlocal is_placed
            first = self._viser.initial_camera.position
            if not is_placed and np.allclose(camera.position, first, atol=1e-3 * self.size):
                is_placed = True
                if camera.aspect < 1.0:
                    turn_camera(client, self.drawing.bounds())

        client.camera.on_update(place)
        await place(client.camera)

    def use_theme(self, is_dark: bool) -> None:
        """
        Choose a bright or a dark theme of the panels.

        :param is_dark: True for bright letters on a dark background.
        """
        self._viser.gui.configure_theme(
            control_width='large', show_logo=False, show_share_button=False, dark_mode=is_dark
        )

    def add_handle(self, name: str, size: float, move: Callable[[FloatArray], None]) -> DragHandle:
        """
        Add to the scene a handle that a user drags, and return it.

        :param name: name of the node in the scene.
        :param size: length of its arrows, as a part of the robot's size.
        :param move: called with the pose (4, 4) of the handle in the thread of the session.
        """
        handle = DragHandle(self.scene, name, size * self.size, self.post, move)
        self._handles.append(handle)
        return handle

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
        with self._viser.atomic():
            self.drawing.highlight(rank)
        self._viser.flush()

    def take_picture(self, client: Any, most: int = LARGEST_PICTURE) -> NDArray[np.uint8]:
        """
        Return a picture of the scene (height, width, 4) as a browser shows it, after all waiting events.

        It waits at most PICTURE_TIMEOUT for the events, and as long for the picture. Never call this in the thread of
        the session, for which it waits.

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
            self.drawing.move(has_details=not self.is_dragging)
            for link, handle in self._targets.items():
                handle.place(session.targets[link])
        self._viser.flush()

    def _pause(self) -> float:
        """Return how long no event must come before slow work begins [s]: GHOST_DELAY during a drag that is solved, else 0."""
        return GHOST_DELAY if self.is_dragging and self.session.outcome.solved else 0.0

    def _rest(self) -> None:
        """Do the slow work for the shown posture, and draw it: branches as ghosts, collisions, labels, and details of panels."""
        session = self.session
        if self.is_playing:
            session.check_collisions()
        else:
            session.complete()
            if not self.is_dragging:
                set_first_camera(self._viser, self.drawing.bounds())
        with self._viser.atomic():
            self.drawing.complete()
            for panel in self._panels:
                panel.show_details(session)
        self._viser.flush()


class Panel:
    """
    Base of a group of controls and drawings on the page that show the session.

    The page calls :meth:`show` and :meth:`show_details`, which do nothing here.
    """

    def show(self, session: Any) -> None:
        """Update the parts that are fast to draw; called after every event."""

    def show_details(self, session: Any) -> None:
        """Update the parts that are slow to draw or need branches and contacts; called when no event waits."""


def post_change(page: BasePage[Any], handle: Any, react: Callable[[Any], object]) -> None:
    """
    Post an event with the new value whenever a user changes a control.

    :param page: the page.
    :param handle: viser's control.
    :param react: takes the new value in the thread of the session.
    """
    on_change(handle, lambda value: page.post(lambda: react(value)))


def post_refresh(page: BasePage[Any], handle: Any) -> None:
    """
    Update the page whenever a user changes a control, whose value the panels read.

    :param page: the page.
    :param handle: viser's control.
    """
    post_change(page, handle, lambda value: None)


def plain(text: str) -> str:
    """
    Return a text with its Markdown characters escaped, so that a page shows exactly this text.

    :param text: the text; it may hold names from an untrusted URDF.
    """
    return ''.join(f'\\{c}' if c in '\\`*_{}[]()<>#+-!|~' else c for c in text)
