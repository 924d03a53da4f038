"""The panels of a page: status and pose."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.view.browser.controls import on_change, on_press
from ssik_ros.view.browser.guard import LARGEST_PICTURE
from ssik_ros.view.playback import Playback
from ssik_ros.view.pose_text import FORMS, read_numbers, read_pose, write_numbers, WRITERS
from ssik_ros.view.posture_session import PostureSession
from ssik_ros.view.reach_cloud import ReachCloud
from ssik_ros.view.reasons import describe_cause
from ssik_ros.view.session import Session


class Extras(NamedTuple):
    """Further content of a page, in addition to its session."""

    playback: Playback | None = None
    cloud: ReachCloud | None = None


class Host(Protocol):
    """Interface of the page that panels use."""

    session: Any
    """A :class:`ssik_ros.view.posture_session.PostureSession`; some panels need one subclass of it."""
    scene: Any
    """Viser's scene."""
    size: float
    """Of the robot [m]."""
    extras: Extras
    is_playing: bool
    """Whether postures follow each other so fast that branches are not looked for."""
    note: str
    shows_ghosts: bool
    angle_unit: str
    """Unit in which angles are shown: ``rad`` or ``deg``."""

    @property
    def is_dragging(self) -> bool:
        """Return whether a handle is held, so that nothing may take long."""

    def robot_bounds(self) -> FloatArray:
        """Return the corners (2, 3) of the box around the robot in its shown posture [m]."""

    def hold(self, name: str, event: Any) -> bool:
        """Note whether a browser holds a handle; return whether it has just begun to."""

    def holds(self, name: str) -> bool:
        """Return whether a browser holds a handle."""

    def post(
        self,
        event: Callable[[], None],
        kind: Hashable = None,
        *,
        gesture: Hashable = None,
    ) -> None: ...

    def take(self, index: int) -> None: ...

    def highlight(self, rank: int) -> None:
        """Show one ghost clearly; 0 for none."""

    def take_picture(self, client: Any, most: int = LARGEST_PICTURE) -> NDArray[np.uint8]:
        """Return the scene (height, width, 4) as a browser shows it."""

    def show_bodies(self, is_shown: bool) -> None: ...

    def use_theme(self, is_dark: bool) -> None: ...


class Panel(Protocol):
    """A part of the page."""

    def show(self, session: Any) -> None:
        """Draw the parts that every event changes."""

    def show_details(self, session: Any) -> None:
        """Draw the parts that take longer."""


def plain(text: str) -> str:
    """
    Return a text that Markdown shows as it is.

    :param text: may hold names of a URDF from an untrusted source.
    """
    return ''.join(f'\\{c}' if c in '\\`*_{}[]()<>#+-!|~' else c for c in text)


class StatusPanel:
    """One line: whether the posture is at the target, and why not."""

    def __init__(self, gui: Any, page: Host) -> None:
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
        how = 'At the target.' if outcome.solved else 'Not at the target.'
        text = outcome.text
        if isinstance(session, Session):
            # The other tabs have the details: of the solve, and of a failure.
            if not outcome.solved:
                text = describe_cause(outcome)
            elif outcome.seconds:
                text = f'Solved in {1e3 * outcome.seconds:.2f} ms.'
        self._line.content = f'**{how}** {plain(text)}{note}'

    def show_details(self, session: PostureSession) -> None:
        pairs = ', '.join(f'{c.first} and {c.second}' for c in session.contacts)
        if pairs:
            self.show(session)
            self._line.content += f'\n\n**In collision:** {plain(pairs)}.'


class TargetPanel:
    """Poses to copy and paste, and postures to go to."""

    def __init__(self, gui: Any, page: Host) -> None:
        """
        Make the controls.

        :param gui: viser's controls.
        :param page: the page.
        """
        self._page, session = page, page.session
        buttons = {
            'Home': session.go_home,
            'Random posture': session.go_anywhere,
            'Undo': self._undo,
        }
        for label, action in buttons.items():
            on_press(gui.add_button(label), partial(page.post, action))
        self._form = gui.add_dropdown('copy poses as', tuple(WRITERS))
        on_change(self._form, lambda form: page.post(lambda: None))
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
        on_change(self._avoids, lambda value: page.post(lambda: self._avoid(value)))
        bodies = gui.add_checkbox('show collision bodies', False)
        on_change(bodies, lambda value: page.post(lambda: page.show_bodies(value)))
        dark = gui.add_checkbox('dark page', False)
        on_change(dark, page.use_theme)

    def _undo(self) -> None:
        if not self._page.session.undo():
            self._page.note = 'There is nothing to undo.'

    def _avoid(self, value: bool) -> None:
        self._page.session.avoids_collisions = value
        self._page.session.solve()

    def _go(self) -> None:
        """Go to the pasted pose or posture."""
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

    def show_details(self, session: PostureSession) -> None:
        self._joints.value = write_numbers(session.joints)
