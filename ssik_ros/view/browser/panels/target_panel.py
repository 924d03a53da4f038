"""Two panels of a page: the status line, and targets to copy and paste."""

import numpy as np

from ssik_ros.view.browser.controls import on_change, on_choice, on_press
from ssik_ros.view.browser.page_panels import BasePage, Panel, plain, post_change, post_refresh
from ssik_ros.view.pose_text import FORMS, read_numbers, read_pose, write_numbers, WRITERS
from ssik_ros.view.reasons import AT_TARGET, describe_cause, NOT_AT_TARGET
from ssik_ros.view.sessions.posture_session import BEGIN, PostureSession
from ssik_ros.view.sessions.session import Session

NUMBERED = ' Numbers mark other postures that reach it; click a pale one to take it.'
LISTED = (
    ' Other postures that reach it: tab Branches. The thick line shows where the elbow can be.'
)
LOOPS_FOLLOW = ' The whole robot follows; its loops stay closed while it reaches the target.'
"""Ends of the first status line: with branches drawn, with branches listed, and of a mechanism."""


class StatusPanel(Panel):
    """The status line of the page: whether the posture reaches the target, the cause if not, and colliding bodies."""

    def __init__(self, page: BasePage[PostureSession]) -> None:
        """
        Make the line.

        :param page: the page.
        """
        self._page, gui = page, page.gui
        self._line = gui.add_markdown('')

    def show(self, session: PostureSession) -> None:
        self._line.content = self._describe(session)

    def show_details(self, session: PostureSession) -> None:
        pairs = ', '.join(f'{c.first} and {c.second}' for c in session.contacts)
        collisions = f'\n\n**In collision:** {plain(pairs)}.' if pairs else ''
        # Now the branches are known, too.
        self._line.content = self._describe(session) + collisions

    def _describe(self, session: PostureSession) -> str:
        """Return the line as Markdown, without collisions."""
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
        return f'**{how}** {plain(text)}{note}'


class TargetPanel(Panel):
    """Texts of the target poses and joints to copy and paste, and buttons for home, a random posture and undo."""

    def __init__(self, page: BasePage[PostureSession]) -> None:
        """
        Make the controls.

        :param page: the page.
        """
        self._page, gui, session = page, page.gui, page.session
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
                with session.undo_step():
                    session.set_joints(q)
            else:
                pose = read_pose(text)
                with session.undo_step():
                    session.move_target(where, pose)

        page.post(go)

    def show(self, session: PostureSession) -> None:
        write = WRITERS[str(self._form.value)]
        for link, text in self._texts.items():
            text.value = write(session.targets[link])
        self._avoids.value = session.avoids_collisions
        self._joints.value = write_numbers(session.joints)

    show_details = show
