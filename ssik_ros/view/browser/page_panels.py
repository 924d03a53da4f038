"""The interfaces of a page and of its panels, and two panels: the status line, and targets to copy and paste."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, Protocol, TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.view.browser.controls import on_change, on_choice, on_press
from ssik_ros.view.browser.drag_handle import DragHandle
from ssik_ros.view.browser.guard import LARGEST_PICTURE
from ssik_ros.view.browser.session_drawing import SessionDrawing
from ssik_ros.view.playback import Playback
from ssik_ros.view.pose_text import FORMS, read_numbers, read_pose, write_numbers, WRITERS
from ssik_ros.view.reach_cloud import ReachCloud
from ssik_ros.view.reasons import AT_TARGET, describe_cause, NOT_AT_TARGET
from ssik_ros.view.sessions.posture_session import BEGIN, PostureSession
from ssik_ros.view.sessions.session import Session

if TYPE_CHECKING:
    from viser import SceneApi


NUMBERED = ' Numbers mark other postures that reach it; click a pale one to take it.'
LISTED = (
    ' Other postures that reach it: tab Branches. The thick line shows where the elbow can be.'
)
LOOPS_FOLLOW = ' The whole robot follows, and its loops stay closed.'
"""Ends of the first status line: with branches drawn, with branches listed, and of a mechanism."""


class Extras(NamedTuple):
    """Further contents of a page next to its session: a joint path to play, and the cloud of a reach map; None if missing."""

    playback: Playback | None = None
    cloud: ReachCloud | None = None


Shown = TypeVar('Shown', bound=PostureSession, covariant=True)


class Host(Protocol[Shown]):
    """Interface of the page for its panels; the class Page implements it."""

    gui: Any
    """Viser's controls."""
    scene: 'SceneApi'
    """Viser's scene."""
    size: float
    """Length of the robot: the diagonal of the box around its first shown posture [m]."""
    extras: Extras
    is_playing: bool
    """Whether postures follow each other so fast that branches are not looked for."""
    note: str
    """Why the last event failed, for the status line; empty if it did not fail."""
    drawing: SessionDrawing
    """The robot, its ghosts and marks."""
    angle_unit: str
    """Unit in which angles are shown: ``rad`` or ``deg``."""

    @property
    def session(self) -> Shown:
        """Return the session that is shown."""

    @property
    def is_dragging(self) -> bool:
        """Return whether a user holds the handle of a target or obstacle in any browser; slow work must wait then."""

    def add_handle(
        self, name: str, size: float, move: Callable[[FloatArray], None]
    ) -> DragHandle: ...

    def post(
        self,
        event: Callable[[], object],
        kind: Hashable = None,
        *,
        gesture: Hashable = None,
    ) -> None: ...

    def take(self, index: int) -> None: ...

    def highlight(self, rank: int) -> None:
        """Make the ghost of the branch with this rank, from 1 on, less transparent than the others; 0 for none."""

    def take_picture(self, client: Any, most: int = LARGEST_PICTURE) -> NDArray[np.uint8]:
        """Return a picture of the scene (height, width, 4) as a browser shows it, with edges of at most ``most`` pixels."""

    def use_theme(self, is_dark: bool) -> None: ...


class Panel:
    """A group of controls and drawings on the page that show the session; by itself it changes nothing."""

    def show(self, session: Any) -> None:
        """Update the parts that are fast to draw; called after every event."""

    def show_details(self, session: Any) -> None:
        """Update the parts that are slow to draw or need branches and contacts; called when no event waits."""


def post_change(page: Host[Any], handle: Any, react: Callable[[Any], object]) -> None:
    """
    Post an event with the new value whenever a user changes a control.

    :param page: the page.
    :param handle: viser's control.
    :param react: takes the new value in the thread of the session.
    """
    on_change(handle, lambda value: page.post(lambda: react(value)))


def post_refresh(page: Host[Any], handle: Any) -> None:
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


class StatusPanel(Panel):
    """The status line of the page: whether the posture reaches the target, the cause if not, and colliding bodies."""

    def __init__(self, gui: Any, page: Host[PostureSession]) -> None:
        """
        Make the line.

        :param gui: viser's controls.
        :param page: the page.
        """
        self._page = page
        self._line = gui.add_markdown('')

    def show(self, session: PostureSession) -> None:
        outcome = session.outcome
        note = f'\n\n**Not done.** {plain(self._page.note)}' if self._page.note else ''
        how = AT_TARGET if outcome.solved else NOT_AT_TARGET
        text = outcome.text
        if isinstance(session, Session):
            # The other tabs have the details: of the solve, and of a failure.
            if not outcome.solved:
                text = describe_cause(outcome)
            elif outcome.seconds:
                text = f'Solved in {1e3 * outcome.seconds:.2f} ms.'
            elif outcome is BEGIN and session.branches:
                is_drawn = self._page.drawing.shows_ghosts
                text += NUMBERED if is_drawn else LISTED
        elif outcome is BEGIN:
            text += LOOPS_FOLLOW
        self._line.content = f'**{how}** {plain(text)}{note}'

    def show_details(self, session: PostureSession) -> None:
        # Now the branches are known, too.
        self.show(session)
        pairs = ', '.join(f'{c.first} and {c.second}' for c in session.contacts)
        if pairs:
            self._line.content += f'\n\n**In collision:** {plain(pairs)}.'


class TargetPanel(Panel):
    """Texts of the target poses and joints to copy and paste, and buttons for home, a random posture and undo."""

    def __init__(self, gui: Any, page: Host[PostureSession]) -> None:
        """
        Make the controls.

        :param gui: viser's controls.
        :param page: the page.
        """
        self._page, session = page, page.session
        actions = {'Home': session.go_home, 'Random': session.go_anywhere, 'Undo': self._undo}
        group = gui.add_button_group('posture', tuple(actions))
        on_choice(group, lambda name: page.post(actions[name]))
        self._form = gui.add_dropdown('copy poses as', tuple(WRITERS))
        post_refresh(page, self._form)
        self._texts = {
            link: gui.add_text(link, '', hint='the target in the model frame; copy it here')
            for link in session.tips
        }
        self._joints = gui.add_text('joints', '', hint='in the order of the sliders; copy it here')
        self._tip = gui.add_dropdown('paste to', (*session.tips, 'joints'))
        self._paste = gui.add_text('paste', '', hint=f'{FORMS}; or joint values')
        on_press(gui.add_button('Go to pasted'), self._go)
        self._avoids = gui.add_checkbox(
            'avoid collisions', session.avoids_collisions, visible=session.can_avoid
        )
        post_change(page, self._avoids, self._avoid)
        bodies = gui.add_checkbox('show collision bodies', False)
        post_change(page, bodies, page.drawing.show_bodies)
        dark = gui.add_checkbox('dark page', False)
        on_change(dark, page.use_theme)

    def _undo(self) -> None:
        if not self._page.session.undo():
            self._page.note = 'There is nothing to undo.'

    def _avoid(self, value: bool) -> None:
        self._page.session.avoids_collisions = value
        self._page.session.solve()

    def _go(self) -> None:
        """Post an event that moves a target to the pasted pose, or the joints to the pasted values."""
        text, where, page = str(self._paste.value), str(self._tip.value), self._page

        def go() -> None:
            session = page.session
            if where == 'joints':
                q = np.array(read_numbers(text))
                session.remember()
                session.set_joints(q)
            else:
                pose = read_pose(text)
                session.remember()
                session.move_target(where, pose)

        page.post(go)

    def show(self, session: PostureSession) -> None:
        write = WRITERS[str(self._form.value)]
        for link, text in self._texts.items():
            text.value = write(session.targets[link])
        self._avoids.value = session.avoids_collisions
        self._joints.value = write_numbers(session.joints)

    show_details = show
