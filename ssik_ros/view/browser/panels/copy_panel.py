"""The panel that shows the present request as text to copy: Python, ``ssik solve`` and others."""

import html

from ssik_ros.errors import SsikError
from ssik_ros.view.browser.page_panels import BasePage, Panel, post_refresh
from ssik_ros.view.copied_commands import COMMANDS
from ssik_ros.view.sessions.session import Session


class CopyPanel(Panel):
    """A choice of the kind of text, the text itself, and a button that copies it."""

    def __init__(self, page: BasePage[Session]) -> None:
        """
        Make the controls.

        :param page: the page.
        """
        self._form = page.gui.add_dropdown('copy as', tuple(COMMANDS))
        post_refresh(page, self._form)
        self._text = page.gui.add_html('')

    def show_details(self, session: Session) -> None:
        try:
            self._text.content = draw_command(COMMANDS[str(self._form.value)](session))
        except SsikError as error:
            self._text.content = f'<p style="padding:0 0.6em">{html.escape(str(error))}</p>'


def draw_command(text: str) -> str:
    """
    Return HTML with a text and a button that copies the text, by means of the page's script.

    :param text: the text; it is escaped, because it may hold names from an untrusted URDF.
    """
    style = (
        'white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px;user-select:all;margin:0.5em 0'
    )
    return (
        '<div style="padding:0 0.6em"><button data-copy style="cursor:pointer">Copy</button>'
        f'<pre style="{style}">{html.escape(text)}</pre></div>'
    )
