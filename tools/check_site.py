"""
Open every page of the site in a browser without a window: ``python tools/check_site.py [--pictures FOLDER]``.

A page fails if it has a missing picture, an error on the console, a failed request, or if it is wider than the window. Each page
is opened at 390 and at 1,400 pixels. Words are searched for too. Needs the package playwright, and Chromium or Chrome.
"""

import argparse
from collections.abc import Iterator, Sequence
import contextlib
import functools
import http.server
from pathlib import Path
import shutil
import sys
import threading
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / 'build' / 'docs' / 'html'
WIDTHS = (390, 1400)
SEARCHED = ('redundancy', 'why no solution', 'TRAC-IK')
BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
MISSING = """() => [...document.images]
    .filter(image => !(image.complete && image.naturalWidth))
    .map(image => image.src)"""
OVERHANG = '() => document.documentElement.scrollWidth - document.documentElement.clientWidth'
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

    def __init__(self, started: Any, address: str, width: int) -> None:
        """
        Open an empty window.

        :param started: the browser.
        :param address: of the site.
        :param width: in pixels.
        """
        self.page = started.new_page(viewport={'width': width, 'height': 900})
        self.address = address
        self._wrong: list[str] = []
        self.page.on('console', self._note_message)
        self.page.on('pageerror', lambda error: self._wrong.append(f'error: {error}'))
        self.page.on('requestfailed', lambda request: self._wrong.append(f'failed: {request.url}'))

    def _note_message(self, message: Any) -> None:
        """Keep an error of the console."""
        if message.type == 'error':
            self._wrong.append(f'console: {message.text}')

    def open(self, name: str) -> list[str]:
        """
        Open a page, and return its faults.

        :param name: of the page, relative to the site.
        """
        self._wrong = []
        self.page.goto(f'{self.address}/{name}')
        self.page.evaluate(EAGER)
        self.page.wait_for_load_state('networkidle')
        wrong = [*self._wrong, *(f'missing: {source}' for source in self.page.evaluate(MISSING))]
        overhang = self.page.evaluate(OVERHANG)
        return [*wrong, *([f'{overhang} pixels too wide'] if overhang > 0 else [])]

    def search(self, words: str) -> list[str]:
        """
        Return the titles of the pages that the site's search finds.

        :param words: what to look for.
        """
        self.page.goto(f'{self.address}/search.html?q={words.replace(" ", "+")}')
        self.page.wait_for_selector('#search-results p.search-summary')
        return list(self.page.locator('#search-results li > a').all_text_contents())


def page_names(site: Path) -> list[str]:
    """
    Return the names of all pages of a site.

    :param site: its folder.
    """
    return sorted(str(path.relative_to(site)) for path in site.rglob('*.html'))


def check(site: Path, pictures: Path | None = None) -> Iterator[str]:
    """
    Yield a line for all that is wrong with a site.

    :param site: its folder.
    :param pictures: where pictures of all pages go.
    """
    with served(site) as address, browser() as started:
        for width in WIDTHS:
            window = Window(started, address, width)
            for name in page_names(site):
                yield from (f'{name} at {width}: {wrong}' for wrong in window.open(name))
                if pictures:
                    file = pictures / str(width) / f'{name.replace("/", "-")}.png'
                    window.page.screenshot(path=file, full_page=True)
        yield from (
            f'the search for {w!r} finds nothing' for w in SEARCHED if not window.search(w)
        )


def main(words: Sequence[str] | None = None) -> int:
    """
    Check the site; return 1 if something is wrong.

    :param words: of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or '').strip().partition('\n\n')[0])
    parser.add_argument('--site', type=Path, default=SITE, help='(%(default)s)')
    parser.add_argument('--pictures', type=Path, metavar='FOLDER', help='a picture of each page')
    options = parser.parse_args(words)
    wrong = 0
    for line in check(options.site, options.pictures):
        print(line)
        wrong += 1
    print(f'{len(page_names(options.site))} pages at {len(WIDTHS)} widths, {wrong} wrong')
    return int(wrong > 0)


if __name__ == '__main__':
    sys.exit(main())
