"""
Change finished pages of the site: mark pictures with a white ground, and fold sections of long pages.

:mod:`conf` of ``docs/`` connects :func:`mark_white_pictures` and :func:`fold_sections`.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
import numpy as np
from PIL import Image

WHITE_GROUND = 'white-ground'
"""Class of pictures with a white ground: ``site.css`` inverts their lightness on a dark page."""
LIGHT = 225
"""Least value of each channel of a white pixel."""
OPAQUE = 200
"""Least alpha of an opaque pixel."""
LARGE = 0.3
"""Part of a picture that is its ground: a white robot covers less."""
LONG = 6900
"""Estimated height of a page, or of a section, that is folded, 390 pixels wide: ``tools/check_site.py`` finds pages above 8,000."""
OPEN = 3000
"""Estimated height of the first sections of a folded page, which stay open."""
PAGE, BLOCK, LINE, ROW, CELL_LINE, PICTURE = 420, 27, 19, 52, 11, 60
"""Heights of the parts of a page, 390 pixels wide: fitted to all pages, 500 off in the mean."""
LINE_LENGTH, CELL_LENGTH = 42, 22
"""Number of characters in a line of text and of a table's cell."""
TEXTS = nodes.paragraph | nodes.title | nodes.term | nodes.field_name
"""Nodes that are blocks of lines."""


@cache
def has_white_ground(path: Path) -> bool:
    """
    Return whether a large part of a picture is opaque and nearly white.

    :param path: the file of the picture.
    """
    try:
        picture = np.asarray(Image.open(path).convert('RGBA'))
    except OSError:
        return False
    is_white = (picture[..., :3].min(axis=2) >= LIGHT) & (picture[..., 3] >= OPAQUE)
    return bool(is_white.mean() > LARGE)


def mark_white_pictures(app: Any, doctree: nodes.document, docname: str) -> None:
    """
    Give pictures with a white ground the class that ``site.css`` inverts on a dark page.

    :param app: of Sphinx.
    :param doctree: the page.
    :param docname: its name.
    """
    for picture in doctree.findall(nodes.image):
        if has_white_ground(Path(app.srcdir) / picture['uri']):
            picture['classes'].append(WHITE_GROUND)


def fold_sections(app: Any, doctree: nodes.document, docname: str) -> None:
    """
    Fold the sections of a long page: a click on a heading opens its section.

    The first sections stay open. Of a section that is long itself, the sections in it are folded instead.

    :param app: of Sphinx.
    :param doctree: the page.
    :param docname: its name.
    """
    title = doctree.first_child_matching_class(nodes.section)
    if app.builder.format != 'html' or title is None or PAGE + height(doctree) <= LONG:
        return
    shown = 0
    for section in list(_parts(doctree[title])):
        shown += height(section)
        if shown > OPEN:
            _fold(section)


def height(node: nodes.Node) -> int:
    """
    Return about how high a part of a page is in a window of 390 pixels.

    :param node: the part.
    """
    if isinstance(node, nodes.row):
        return ROW + CELL_LINE * max(_lines(cell, CELL_LENGTH) for cell in node)
    if isinstance(node, nodes.literal_block):
        return BLOCK + LINE * (node.astext().count('\n') + 1)
    if isinstance(node, nodes.image):
        return PICTURE
    if isinstance(node, TEXTS):
        return BLOCK + LINE * _lines(node, LINE_LENGTH)
    extra = BLOCK if node.tagname in ('desc_signature', 'math_block') else 0
    return extra + sum(map(height, node.children))


def _lines(node: nodes.Node, length: int) -> int:
    """Return the number of lines of a text."""
    return -(-len(node.astext()) // length)


def _parts(section: nodes.section) -> Iterator[nodes.section]:
    """Give the sections in a section; for long ones with sections in them, these instead."""
    for part in section.children:
        if isinstance(part, nodes.section):
            inner = list(_parts(part)) if height(part) > LONG else []
            yield from inner or [part]


def _fold(section: nodes.section) -> None:
    """Close a section below its heading, which opens it."""
    place = section.first_child_matching_class(nodes.title)
    if place is not None:
        section.insert(place + 1, _raw('</summary>'))
        section.insert(place, _raw('<details class="fold"><summary>'))
        section.append(_raw('</details>'))


def _raw(html: str) -> nodes.raw:
    """Return HTML as a node."""
    return nodes.raw('', html, format='html')
