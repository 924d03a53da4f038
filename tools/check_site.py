"""
Open every page of the site in a browser without a window: ``python tools/check_site.py [--pictures FOLDER]``.

A page fails if it has a missing picture, an error on the console, or a failed request. It fails if it is wider than the
window or longer than 8,000 pixels. It also fails if a part is cut off, or if a picture is white in the dark or dark in
the light. Each page is opened at 390 and 1,400 pixels in the dark, and at 1,400 pixels in the light. Each search has to
show its page among the first two. Needs the package playwright, and Chromium or Chrome. ``--files`` checks without a
browser: marks of white pictures, and searches in Node.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
import contextlib
import functools
import http.server
import io
import json
from pathlib import Path
import re
import shutil
import subprocess
import sys
import threading
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent))
from site_pages import has_white_ground, LARGE, WHITE_GROUND

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / 'build' / 'docs' / 'html'
SCENES = 'scenes/'
"""Folder of robots that pages show in a frame; these files are not pages to read."""
WINDOWS = (('dark', 390), ('dark', 1400), ('light', 1400))
"""Colour scheme and width of the windows."""
LEFT = 'net::ERR_ABORTED'
"""Fault of a request whose page was left before the response came."""
LONGEST = 8000
"""Height of a page [pixels] above which it has to be split: ``site_pages.height`` took it for a shorter one."""
SEARCHED = {
    'quaternion': 'how_to/make_a_target_pose',
    'timeout': 'how_to/limit_the_time',
    'singularity': 'how_to/measure_manipulability',
    'elbow flip': 'how_to/follow_a_path',
    'TRAC-IK': 'tutorials/moving_from/trac_ik',
    'redundancy': 'tutorials/redundancy',
    'no solution': 'tutorials/why_no_solution',
}
"""The page that a search has to show among the first two."""
BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
MISSING = """() => [...document.images]
    .filter(image => !(image.complete && image.naturalWidth))
    .map(image => image.src)"""
LOADED = '() => [...document.images].every(image => image.complete)'
"""Quicker than half a second without requests, for which Playwright waits on each page otherwise."""
OVERHANG = '() => document.documentElement.scrollWidth - document.documentElement.clientWidth'
HEIGHT = '() => document.documentElement.scrollHeight'
CUT = """() => {
    const isCut = element => {
        const right = element.getBoundingClientRect().right - 1;
        for (let e = element; e; e = e.parentElement) {
            const overflow = getComputedStyle(e).overflowX;
            if (['auto', 'scroll'].includes(overflow)) return false;
            if (overflow === 'visible') continue;
            if (right > e.getBoundingClientRect().right || e.scrollWidth > e.clientWidth + 1) return true;
        }
        return right > document.documentElement.clientWidth;
    };
    const parts = document.querySelectorAll('article :is(table, pre, img, dt, p, ul)');
    return [...parts].filter(isCut).map(e => `${e.tagName.toLowerCase()} ${e.textContent.trim().slice(0, 40)}`);
}"""
"""Parts of a page that are cut off: no scroll bar reaches their right edge."""
WHITE_PARTS = """() => [...document.body.querySelectorAll('*')].filter(e => {
    const [r, g, b, a] = (getComputedStyle(e).backgroundColor.match(/[0-9.]+/g) || []).map(Number);
    const box = e.getBoundingClientRect();
    return Math.min(r, g, b) > 200 && a !== 0 && box.width * box.height > 2000;
}).map(e => `${e.tagName.toLowerCase()}.${e.className}`)"""
"""Elements with a white background."""
BRIGHT, DARK = 200, 90
"""Least channel of a white pixel, and greatest of a dark one."""
FOLDS = "() => document.querySelectorAll('details.fold').forEach(fold => fold.open = true)"
SEARCH_ENDED = """() => document.querySelectorAll('#search-results li > a').length > 1
    || Boolean(document.querySelector('#search-results p.search-summary')?.textContent)"""
EAGER = "() => document.querySelectorAll('img').forEach(image => image.loading = 'eager')"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """
    Serve a folder on a free port of this machine, and give the address.

    :param folder: of the site.
    """
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}'
        server.shutdown()


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """Start a browser without a window; raise an OSError if no browser is installed."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise OSError(
            'playwright is not installed: pip install -r requirements/browser.txt'
        ) from None
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise OSError(f'no browser: none of {", ".join(BROWSERS)} is on the path')
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=program, args=['--no-sandbox'])
        yield started
        started.close()


class Window:
    """A browser's window of one width, with the faults of its page."""

    def __init__(self, started: Any, address: str, width: int, scheme: str = 'light') -> None:
        """
        Open an empty window.

        :param started: the browser.
        :param address: of the site.
        :param width: in pixels.
        :param scheme: ``light`` or ``dark``.
        """
        size = {'width': width, 'height': 900}
        self.page = started.new_page(viewport=size, color_scheme=scheme)
        self.address, self.scheme = address, scheme
        self._wrong: list[str] = []
        self.page.on('console', self._note_message)
        self.page.on('pageerror', lambda error: self._wrong.append(f'error: {error}'))
        self.page.on('requestfailed', self._note_request)

    def _note_message(self, message: Any) -> None:
        """Keep an error of the console."""
        if message.type == 'error':
            self._wrong.append(f'console: {message.text}')

    def _note_request(self, request: Any) -> None:
        """Keep a request that failed, unless the window left its page first."""
        if request.failure != LEFT:
            self._wrong.append(f'failed: {request.url}')

    def open(self, name: str) -> list[str]:
        """
        Open a page, and return its faults.

        :param name: of the page, relative to the site.
        """
        self._wrong = []
        self.page.goto(f'{self.address}/{name}')
        self.page.evaluate(EAGER)
        self.page.wait_for_function(LOADED)
        wrong = [*self._wrong, *(f'missing: {source}' for source in self.page.evaluate(MISSING))]
        height = self.page.evaluate(HEIGHT)
        if height > LONGEST:
            wrong.append(f'{height} pixels high')
        self.page.evaluate(FOLDS)
        overhang = self.page.evaluate(OVERHANG)
        if overhang > 0:
            wrong.append(f'{overhang} pixels too wide')
        wrong += [f'cut: {part}' for part in self.page.evaluate(CUT)]
        if self.scheme == 'dark':
            wrong += [f'white: {part}' for part in self.page.evaluate(WHITE_PARTS)]
        return [*wrong, *self._glaring_pictures()]

    def _glaring_pictures(self) -> list[str]:
        """Return a line for each picture whose ground is white on a dark page, or dark on a light one."""
        wrong = []
        for picture in self.page.locator('article img').all():
            box = picture.bounding_box()
            if box and min(box['width'], box['height']) > 30:
                file = io.BytesIO(picture.screenshot(animations='allow'))
                shot, is_dark = np.asarray(Image.open(file).convert('RGB')), self.scheme == 'dark'
                glares = shot.min(axis=2) > BRIGHT if is_dark else shot.max(axis=2) < DARK
                if glares.mean() > LARGE:
                    name = 'white' if is_dark else 'dark'
                    wrong.append(f'{name}: {picture.get_attribute("src")}')
        return wrong

    def search(self, words: str) -> list[str]:
        """
        Return the addresses of the first pages that the site's search finds.

        :param words: the words to look for.
        """
        self.page.goto(f'{self.address}/search.html?q={words.replace(" ", "+")}')
        self.page.wait_for_function(SEARCH_ENDED)
        links = self.page.locator('#search-results li > a')
        return [link.get_attribute('href') for link in links.all()[:6]]


def page_names(site: Path) -> list[str]:
    """
    Return the names of all pages of a site.

    :param site: its folder.
    """
    names = sorted(str(path.relative_to(site)) for path in site.rglob('*.html'))
    return [name for name in names if not name.startswith(SCENES)]


def check(site: Path, pictures: Path | None = None) -> Iterator[str]:
    """
    Yield a line for all that is wrong with a site.

    :param site: its folder.
    :param pictures: where pictures of all pages go.
    """
    with served(site) as address, browser() as started:
        for scheme, width in WINDOWS:
            window = Window(started, address, width, scheme)
            for name in page_names(site):
                faults = window.open(name)
                yield from (f'{name} at {width}, {scheme}: {wrong}' for wrong in faults)
                if pictures:
                    file = pictures / f'{scheme}{width}' / f'{name.replace("/", "-")}.png'
                    window.page.screenshot(path=file, full_page=True)
        results = {words: window.search(words) for words in SEARCHED}
    yield from misplaced(results)


def misplaced(results: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """
    Yield a line for each search that does not show its page among the first two.

    :param results: names or addresses of pages for each search, best first.
    """
    for words, pages in results.items():
        first = list(dict.fromkeys(re.sub(r'(\.html)?(#.*|\?.*)?$', '', page) for page in pages))
        if SEARCHED[words] not in first[:2]:
            yield f'the search for {words!r} finds {", ".join(first[:2]) or "nothing"}'


def search_in_node(site: Path, searched: Iterable[str] = SEARCHED) -> dict[str, list[str]]:
    """
    Return the pages that searches find, best first, by the site's own scripts in Node.

    :param site: its folder.
    :param searched: the searches.
    :raises OSError: if Node is not installed, or does not run the scripts.
    """
    node = shutil.which('node')
    if node is None:
        raise OSError('node is not installed: apt-get install nodejs')
    script = Path(__file__).with_name('search_site.js')
    command = [node, str(script), str(site), *searched]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise OSError(f'{script.name} failed: {run.stderr}')
    return {words: [name for name, _ in pages] for words, pages in json.loads(run.stdout).items()}


def unmarked_pictures(site: Path) -> Iterator[str]:
    """
    Yield a line for each picture with a white ground that ``site.css`` does not invert in the dark.

    :param site: its folder.
    """
    for name in page_names(site):
        file = site / name
        _, _, article = file.read_text(encoding='utf-8').partition('<article')
        for image in re.findall(r'<img[^>]*>', article):
            source, marks = (re.search(rf'{key}="([^"]*)"', image) for key in ('src', 'class'))
            marked = marks is not None and WHITE_GROUND in marks[1].split()
            if source and not marked and has_white_ground((file.parent / source[1]).resolve()):
                yield f'{name}: white: {source[1]}'


def check_files(site: Path) -> Iterator[str]:
    """
    Yield a line for all that is wrong with a site, as far as its files tell.

    :param site: its folder.
    """
    yield from unmarked_pictures(site)
    yield from misplaced(search_in_node(site))


def main(words: Sequence[str] | None = None) -> int:
    """
    Check the site; return 1 if something is wrong.

    :param words: of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or '').strip().partition('\n\n')[0])
    parser.add_argument('--site', type=Path, default=SITE, help='(%(default)s)')
    parser.add_argument('--files', action='store_true', help='check without a browser')
    parser.add_argument('--pictures', type=Path, metavar='FOLDER', help='a picture of each page')
    options = parser.parse_args(words)
    wrong = 0
    lines = check_files(options.site) if options.files else check(options.site, options.pictures)
    for line in lines:
        print(line, flush=True)
        wrong += 1
    print(f'{len(page_names(options.site))} pages, {wrong} wrong')
    return int(wrong > 0)


if __name__ == '__main__':
    sys.exit(main())
