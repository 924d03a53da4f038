"""
Inputs of the site from outside ``docs/``: examples with titles, links to files, and inventories of other sites.

:mod:`conf` of ``docs/`` imports it.
"""

import ast
from collections.abc import Mapping
from importlib.util import find_spec
import math
import os
from pathlib import Path
import re
from typing import Any
import urllib.request

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / 'docs'
INVENTORY_TIMEOUT = 3.0
"""Seconds that another site has for the first byte of its inventory."""
PAGES = {
    ROOT / 'CONTRIBUTING.md': 'contributing.md',
    ROOT / 'README.md': 'index.md',
    ROOT / 'CHANGELOG.rst': 'changes.md',
    ROOT / 'examples': 'examples/index.rst',
}
"""Pages of the site that stand for files outside ``docs/``."""
PICTURES = {
    '05': 'self_collision',
    '06': 'why_no_solution',
    '09': 'ur5e_branches',
    '12': 'hexapod',
    '14': 'dual_arm',
    '15': 'delta',
    '21': 'priorities',
}
"""Pictures of docs/images on the cards of examples, by the number of the example; others are in docs/images/cards."""
FENCE = re.compile(r'(^(`{3,}).*?^\2`*$)', re.M | re.S)
LINK = re.compile(r'(!?\[[^\]]*\])\(([^)\s]+)\)')


def reachable_inventories(sites: Mapping[str, str]) -> dict[str, tuple[str, None]]:
    """
    Return the sites whose inventory of names can be read, as ``intersphinx_mapping`` has them.

    :param sites: addresses by name.
    """
    return {name: (url, None) for name, url in sites.items() if _responds(url)}


def _responds(url: str) -> bool:
    """Return whether a site hands out its inventory."""
    try:
        with urllib.request.urlopen(f'{url}objects.inv', timeout=INVENTORY_TIMEOUT) as reply:
            return bool(reply.read(1))
    except OSError:
        return False


def example_title(path: Path) -> str:
    """
    Return the title of an example, from the name of its file.

    :param path: of the example, as in ``01_solve_a_pose.py``.
    """
    words = path.stem.partition('_')[2].replace('_', ' ')
    names = {'ik': 'IK', 'ros': 'ROS', 'urdf': 'URDF'}
    title = ' '.join(names.get(word, word) for word in words.split())
    return f'{title[:1].upper()}{title[1:]}'


def example_picture(path: Path) -> Path:
    """
    Return the picture on the card of an example.

    :param path: of the example.
    """
    number = path.name[:2]
    return DOCS / 'images' / f'{PICTURES.get(number, f"cards/{number}")}.png'


def with_title(path: Path) -> str:
    """
    Return the source of an example as sphinx-gallery wants it: with a heading in its docstring, and its picture.

    :param path: of the example.
    """
    text, title = path.read_text(encoding='utf-8'), example_title(path)
    lines = text.splitlines(keepends=True)
    first = ast.parse(text).body[0]
    doc = ast.get_docstring(ast.parse(text)) or ''
    head = f'"""\n{title}\n{"=" * len(title)}\n\n{doc}\n"""\n'
    picture = os.path.relpath(example_picture(path), DOCS)
    head += f"# sphinx_gallery_thumbnail_path = '{picture}'\n"
    return head + ''.join(lines[first.end_lineno or 0 :])


def copy_examples(source: Path, target: Path) -> Path:
    """
    Copy examples with headings; return the folder of the copies.

    Copies that would not differ stay as they are, so that sphinx-gallery does not run them again.

    :param source: the folder ``examples``.
    :param target: where the copies go.
    """
    target.mkdir(parents=True, exist_ok=True)
    wanted = {path.name: path for path in source.glob('*.py')}
    for old in target.glob('*.py'):
        if old.name not in wanted:
            old.unlink()
    texts = {name: with_title(path) for name, path in wanted.items()}
    texts['README.rst'] = (
        'Examples\n========\n\nEach runs from any folder, without arguments.\n'
        'The output stands below the code.\n'
    )
    for name, text in texts.items():
        file = target / name
        if not file.is_file() or file.read_text(encoding='utf-8') != text:
            file.write_text(text, encoding='utf-8')
    return target


def write_scenes(folder: Path) -> Path:
    """
    Write robots that pages show in a frame, and return the folder whose content belongs at the root of the site.

    :param folder: where the scenes are written.
    """
    from ssik_ros import Manipulator, pose
    from ssik_ros.cli.command import main
    from ssik_ros.manipulator.named_robot import load_named

    scenes = folder / 'scenes'
    scenes.mkdir(parents=True, exist_ok=True)
    if main(['view', 'ur5e', '--html', str(scenes / 'ur5e.html')]):
        raise RuntimeError('The scene of a UR5e was not written.')
    robot = load_named('panda').robot
    arm = Manipulator(robot, robot.group('panda_arm'))
    line = [pose((0.45, 0.01 * k, 0.4), rpy=(math.pi, 0.0, 0.0)) for k in range(-20, 26)]
    arm.plan(line).show(picture=scenes / 'panda_path.html')
    return folder


def runnable_examples() -> str:
    """Return the pattern of the examples that this machine can run."""
    return r'\.py$' if find_spec('moveit_msgs') else r'^(?!.*over_ros).*\.py$'


def rewrite_links(app: Any, docname: str, source: list[str]) -> None:
    """
    Replace links that leave ``docs/``, and links to folders, by links to pages of the site.

    :param app: of Sphinx.
    :param docname: of the page.
    :param source: its text, the only entry; it is replaced.
    """
    path = Path(app.env.doc2path(docname))
    if path.suffix == '.md':
        parts = FENCE.split(source[0])
        source[0] = ''.join(
            part
            if place % 3 == 1
            else LINK.sub(lambda match: _rewritten(match, path.parent), part)
            for place, part in enumerate(parts)
            if place % 3 != 2
        )


def _rewritten(link: re.Match[str], folder: Path) -> str:
    """Return a link of a page in a folder as the site needs it."""
    text, target = link.groups()
    path, mark, anchor = target.partition('#')
    if not path or re.match(r'[a-z]+:', target):
        return link[0]
    file = Path(os.path.normpath(folder / path))
    page = _page_of(file)
    if page:
        return f'{text}({os.path.relpath(DOCS / page, folder)}{mark}{anchor})'
    if file.is_dir():
        return text[1:-1]
    return link[0]


def _page_of(file: Path) -> str:
    """Return the page that stands for a file or folder, or an empty string."""
    if file in PAGES:
        return PAGES[file]
    if file.parent == ROOT / 'examples':
        return f'examples/{file.stem}.rst'
    if DOCS in file.parents and (file / 'index.md').is_file():
        return str(file.relative_to(DOCS) / 'index.md')
    return ''
