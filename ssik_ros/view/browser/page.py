"""The page with its panels, and the texts that tell its address."""

from collections.abc import Sequence
from typing import Any

from ssik_ros.errors import quote
from ssik_ros.view.browser.page_panels import BasePage, Panel, Shown
from ssik_ros.view.browser.private_server import LOCAL
from ssik_ros.view.browser.tabs import make_panels


class Page(BasePage[Shown]):
    """A page that shows one session to any number of browsers, which all see and move the same robot."""

    def _make_panels(self) -> Sequence[Panel]:
        return make_panels(self)


def describe_access(page: Page[Any]) -> str:
    """
    Return lines of text: the address to open, which machines can open it, and how to get meshes if they are missing.

    :param page: the page.
    """
    note = f'\n{page.drawing.shape_note}' if page.drawing.shape_note else ''
    if page.host in LOCAL:
        access = 'Only this machine can open it. The address is good for one browser.'
        return f'{page.url}\n{access}{note}'
    return (
        f'{page.url}\nListening at {quote(page.host)}: every machine that reaches this address can open it. '
        f'The address is good for one browser. The connection is not encrypted.{note}'
    )


def announce_addresses(page: Page[Any]) -> None:
    """
    Print the address of the page now, and a new one whenever a browser has used the last one.

    :param page: the page.
    """
    page.guard.admission.on_use = lambda: print(f'For another browser: {page.url}', flush=True)
    print(describe_access(page), flush=True)
