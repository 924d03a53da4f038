"""Open the address of the page in the user's browser without a secret on a command line, which all users can read."""

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
    """A temporary HTML file, readable only by this user, that redirects to a secret address; the browser opens the file."""

    def __init__(self, url: str) -> None:
        """
        Write the file and open it in the user's browser.

        :param url: the address, which contains a token.
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
