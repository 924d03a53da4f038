"""
Change finished pages of the site: mark pictures with a white ground, and fold sections of long pages.

:mod:`conf` of ``docs/`` connects :func:`mark_white_pictures` and :func:`fold_sections`.
"""

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
FOLDED = {
    'benchmarks/method': 2,
    'benchmarks/results': 2,
    'changes': 2,
    'explanation/architecture': 2,
    'explanation/how_this_is_tested': 2,
    'how_to/view': 2,
    'math/general_6r': 2,
    'math/pose_ik': 2,
    'math/self_motions': 2,
    'modules': 2,
    'reference/benchmark': 2,
    'reference/cases': 2,
    'reference/causes': 2,
    'reference/cli': 2,
    'reference/closed_chain': 2,
    'reference/interfaces': 3,
    'reference/moveit': 2,
    'reference/parameters': 2,
    'reference/python/compat': 2,
    'reference/python/manipulator': 2,
    'reference/python/mechanisms': 2,
    'reference/python/newton': 2,
    'reference/python/paths': 2,
    'reference/python/pose_ik': 2,
    'reference/python/solvers': 2,
    'reference/python/tasks': 2,
    'reference/reach_maps': 2,
    'reference/ros2': 2,
    'reference/task_sets': 2,
    'reference/tool_paths': 2,
}
"""Level of the headings below which a long page is folded, by its name. ``tools/check_site.py`` finds pages that belong here."""
OPEN_SECTIONS = {
    'benchmarks/results': 2,
    'changes': 1,
    'explanation/architecture': 3,
    'how_to/view': 3,
    'reference/moveit': 2,
}
"""Sections at the start of a folded page that stay open; the others have none."""


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

    :param app: of Sphinx.
    :param doctree: the page.
    :param docname: its name.
    """
    level = FOLDED.get(docname)
    if level is None or app.builder.format != 'html':
        return
    sections = [section for section in doctree.findall(nodes.section) if _level(section) == level]
    for section in sections[OPEN_SECTIONS.get(docname, 0) :]:
        place = section.first_child_matching_class(nodes.title)
        if place is not None:
            section.insert(place + 1, _raw('</summary>'))
            section.insert(place, _raw('<details class="fold"><summary>'))
            section.append(_raw('</details>'))


def _level(section: nodes.Node) -> int:
    """Return the level of a section's heading: 1 for the title of a page."""
    level = 1
    while isinstance(section.parent, nodes.section):
        section, level = section.parent, level + 1
    return level


def _raw(html: str) -> nodes.raw:
    """Return HTML as a node."""
    return nodes.raw('', html, format='html')
