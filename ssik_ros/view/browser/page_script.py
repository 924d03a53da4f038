"""
The script that this package adds to viser's page; it runs before viser's own script.

It exchanges the token in the address for a key of the session, and opens the websocket with the key. The key stays in
the storage of the tab, which only this origin, port included, can read. Without a graphics card it turns off smooth
edges, which are slow to draw.

While a button is held in the scene, joint values do not wait for slow frames. The script passes each motion of the mouse
on at once, where browsers wait for the next frame, and applies the messages of the server at once. Without a
graphics card it halves the resolution of the scene. It halves the resolution again while frames take longer than 30 ms.
The full resolution returns 0.4 s after the button is released.

On a narrow screen the panels are as wide as the screen, of which viser leaves a third empty, and the scene ends where they
begin, because viser covers its lower half.

In the table of branches, a click on a row presses the button that takes the branch. The row under the mouse is sent as
the value of a hidden control. A button marked ``data-copy`` copies the text after it.
"""

import functools
import gzip
from pathlib import Path

HEAD = b'<head>'
SCRIPT = Path(__file__).with_suffix('.html').read_bytes().rstrip()
"""The address of the websocket is always the page's own. Smooth edges take a processor as long to draw as everything else: each pixel is drawn four times."""


@functools.lru_cache(maxsize=4)
def add_script(body: bytes, is_packed: bool) -> bytes:
    """
    Return a page with the script of this package inserted after its head tag; unchanged without a head tag.

    :param body: bytes of the page, as the server sends them.
    :param is_packed: whether they are compressed by gzip; the result is so, too.
    """
    page = gzip.decompress(body) if is_packed else body
    if HEAD not in page:
        return body
    page = page.replace(HEAD, HEAD + SCRIPT, 1)
    return gzip.compress(page) if is_packed else page
