"""Opens an address in the user's browser without putting it on a command line, which every user of the machine can list."""

import html
from pathlib import Path
import tempfile
import webbrowser

PAGE = """<!doctype html>
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}">
<a href="{url}">Open the view</a>
"""


class PrivateOpening:
    """A file that only this user can read and that leads to the address; the browser gets the name of the file."""

    def __init__(self, url: str) -> None:
        """
        Write the file and open it.

        :param url: the address, which holds a secret.
        """
        # Temporary folders have the mode 0700.
        self._folder = tempfile.TemporaryDirectory(prefix='ssik_view_')
        file = Path(self._folder.name, 'open.html')
        file.touch(0o600)
        file.write_text(PAGE.format(url=html.escape(url)))
        self.has_browser = webbrowser.open(file.as_uri())
        """Whether there is a browser to open it."""

    def close(self) -> None:
        """Remove the file."""
        self._folder.cleanup()
