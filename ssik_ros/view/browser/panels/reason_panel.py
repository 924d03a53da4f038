"""The panel that explains an unreached pose: the nearest posture, remedies as buttons, and details."""

from functools import partial
from typing import Any

from ssik_ros.view.browser.controls import on_press
from ssik_ros.view.browser.page_panels import BasePage, Panel, plain
from ssik_ros.view.reasons import DETAILS_TITLE, find_reason, HELP_TITLE, REACHED, TAKE_BACK
from ssik_ros.view.relaxations import Relaxations
from ssik_ros.view.remedies import Remedy
from ssik_ros.view.sessions.session import Session


class ReasonPanel(Panel):
    """
    Shows how near the nearest posture is, buttons that relax a constraint, and details of a failure.

    The cause itself is in the status line of the page.
    """

    def __init__(self, page: BasePage[Session]) -> None:
        """
        Make the controls.

        :param page: the page.
        """
        self._page, self._gui = page, page.gui
        self._text = self._gui.add_markdown('')
        self._folder = self._gui.add_folder(HELP_TITLE, visible=False)
        self._offered: list[Remedy] = []
        self._buttons: list[Any] = []
        self._relaxed = self._gui.add_markdown('')
        self._restore = self._gui.add_button(TAKE_BACK, visible=False)
        on_press(self._restore, lambda: page.post(lambda: self._relax(Relaxations())))
        self._details = self._gui.add_folder(DETAILS_TITLE, visible=False, expand_by_default=False)
        with self._details:
            self._report = self._gui.add_markdown('')

    def _relax(self, relaxations: Relaxations) -> None:
        self._page.session.relax(relaxations)

    def show_details(self, session: Session) -> None:
        reason = find_reason(session, self._page.angle_unit)
        is_solved = session.outcome.solved
        self._text.content = REACHED if is_solved else plain(reason.nearest)
        if reason.remedies != self._offered:
            self._offer(reason.remedies)
        self._folder.visible = bool(reason.remedies)
        self._relaxed.content = '\n\n'.join(map(plain, session.relaxations.describe()))
        self._restore.visible = session.relaxations != Relaxations()
        self._report.content = '\n\n'.join(map(plain, reason.details))
        self._details.visible = bool(reason.details)

    def _offer(self, offered: list[Remedy]) -> None:
        """Replace the buttons by one for each remedy; a press ignores its constraint and solves again."""
        for button in self._buttons:
            button.remove()
        self._offered, self._buttons = offered, []
        with self._folder:
            for remedy in offered:
                button = self._gui.add_button(remedy.label)
                self._buttons.append(button)
                on_press(
                    button, partial(self._page.post, partial(self._relax, remedy.relaxations))
                )
