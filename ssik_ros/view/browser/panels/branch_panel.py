"""
The panel of branches: a table of the postures that were found for the pose, in the colours of their ghosts.

A ghost is a transparent robot in the scene.
"""

from collections.abc import Sequence
from functools import partial
import html

from ssik_ros.view.branch_table import (
    BranchRow,
    column_titles,
    KEYS,
    list_branches,
    name_of,
    write_numbers,
)
from ssik_ros.view.browser.controls import on_change, on_choice
from ssik_ros.view.browser.link_meshes import page_colour
from ssik_ros.view.browser.page_panels import BasePage, Panel, plain, post_change, post_refresh
from ssik_ros.view.limit_room import shared_unit
from ssik_ros.view.pictures.robot_pictures import GHOSTS
from ssik_ros.view.reasons import REACHED_HAS_BRANCHES
from ssik_ros.view.relaxations import are_angles
from ssik_ros.view.sessions.session import Session

TAKE = 'take '
"""Text of a button before the rank; the script of the page presses it for a click on a row."""


class BranchPanel(Panel):
    """
    A table of the shown posture and of the branches that were found for the pose.

    The ghost of the row under the mouse is highlighted. A click on a row or its button makes its branch the shown
    posture.
    """

    def __init__(self, page: BasePage[Session]) -> None:
        """
        Make the controls.

        :param page: the page.
        """
        self._page, gui = page, page.gui
        ghosts = gui.add_checkbox('show ghosts', page.drawing.shows_ghosts)
        post_change(page, ghosts, partial(setattr, page.drawing, 'shows_ghosts'))
        windings = gui.add_checkbox('list windings', False)
        post_change(page, windings, partial(setattr, page.session, 'wants_windings'))
        self._order = gui.add_dropdown('sort by', tuple(KEYS))
        post_refresh(page, self._order)
        self._table = gui.add_html('')
        # The script of the page sets this control, which nobody sees, to the row under the mouse.
        self._hovered = gui.add_text('row under the mouse', '', visible=False)
        on_change(self._hovered, lambda row: page.highlight(rank_of(str(row))))
        ranks = tuple(f'{TAKE}{rank + 1}' for rank in range(page.session.most_branches))
        self._all = ranks
        self._buttons = gui.add_button_group('branch', ranks, visible=False)
        on_choice(
            self._buttons, lambda name: page.post(partial(page.take, rank_of(str(name)) - 1))
        )
        self._text = gui.add_markdown('')
        self._is_angle = are_angles(page.session.robot, page.session.places)

    def show_details(self, session: Session) -> None:
        count = len(session.branches)
        self._text.content = plain(session.branches_text or REACHED_HAS_BRANCHES)
        self._buttons.visible = count > 0
        if count:
            self._buttons.options = self._all[:count]
        rows = list_branches(session, str(self._order.value)) if session.outcome.solved else []
        unit = shared_unit(self._is_angle, self._page.angle_unit)
        control = self._hovered._impl.uuid
        self._table.content = draw_table(rows, unit, control) if rows else ''


def rank_of(text: str) -> int:
    """
    Return the rank of a branch, from 1 on, in the text of its button ("take 3"); 0 for any other text.

    :param text: text that a page sends.
    """
    rank = text.removeprefix(TAKE)
    return int(rank) if rank.isascii() and rank.isdigit() and len(rank) < 4 else 0


def draw_table(rows: Sequence[BranchRow], unit: str, control: str = '') -> str:
    """
    Return a table of branches as HTML.

    :param rows: the branches, in the order of the table.
    :param unit: unit of distances: ``rad``, ``deg``, ``m`` or ``rad or m``.
    :param control: identity of the hidden control to which the script of the page writes the row under the mouse.
    """
    head = ''.join(
        f'<th style="text-align:left;padding-left:0.5em">{title}</th>'
        for title in column_titles(unit)
    ).replace('manipulability', 'manipul&shy;ability')
    style = 'width:100%;font-size:12px;padding:0 0.6em;border-collapse:collapse'
    body = ''.join(_draw_row(row, unit) for row in rows)
    return f'<table data-hover="{control}" style="{style}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _draw_row(row: BranchRow, unit: str) -> str:
    """Return the HTML of one row of the table; the number of a branch has the colour of its ghost."""
    cells = ''.join(
        f'<td style="padding-left:0.5em">{number}</td>' for number in write_numbers(row, unit)
    )
    if not row.rank:
        return f'<tr><td>now</td><td style="padding-left:0.5em">shown posture</td>{cells}</tr>'
    colour = ','.join(map(str, page_colour(GHOSTS[(row.rank - 1) % len(GHOSTS)])))
    swatch = f'background:rgb({colour});color:white;text-align:center;border-radius:3px'
    # A colour of the row under the mouse needs a style sheet; the mouse itself shows that a row can be clicked.
    begin = (
        f'<tr data-take="{TAKE}{row.rank}" style="cursor:pointer" title="click: take this branch">'
    )
    return f'{begin}<td style="{swatch}">{row.rank}</td><td style="padding-left:0.5em">{html.escape(name_of(row))}</td>{cells}</tr>'
