"""How an arm and its paths are shown: a page in the browser, a scene in a notebook, or a file."""

from importlib.util import find_spec
from pathlib import Path
import sys
import tempfile
from typing import Any

import numpy as np

from ssik_ros.errors import InvalidOption
from ssik_ros.paths.requests import ToolPath
from ssik_ros.view.browser.page import describe_access, Page
from ssik_ros.view.browser.panels import Extras
from ssik_ros.view.browser.static_scene import InlineScene, make_html, save_html, SUFFIXES
from ssik_ros.view.playback import JointPath, Playback
from ssik_ros.view.recordings import take_snapshot
from ssik_ros.view.session import Session


class ArmPicture:
    """A picture of an arm that notebooks show; ``png`` holds the bytes of the file."""

    def __init__(self, png: bytes) -> None:
        """Take the bytes of a PNG file."""
        self.png = png

    def _repr_png_(self) -> bytes:
        """Return the picture for a notebook."""
        return self.png


def show_session(
    session: Session,
    picture: str | Path | None,
    port: int,
    playback: Playback | None = None,
) -> Any:
    """
    Write a file and return its path; else return a scene in a notebook; else open a page in the browser and return it.

    :param session: the session.
    :param picture: the file; None for a notebook or a page.
    :param port: of the page.
    :param playback: a path that is played; it cannot be written as a picture.
    :raises InvalidOption: for a file of another kind.
    :raises SolverError: when viser is missing.
    """
    if picture is not None:
        return _write(session, Path(picture), playback)
    if 'ipykernel' in sys.modules:
        return _inline(session, playback)
    page = Page(session, port=port, extras=Extras(playback))
    print(describe_access(page), flush=True)
    page.open_in_browser()
    return page


def _write(session: Session, path: Path, playback: Playback | None) -> Path:
    """
    Write a session into an HTML file, or a picture if the suffix is another; return the path.

    Raise InvalidOption for a picture of a playback.
    """
    if path.suffix.lower() in SUFFIXES:
        save_html(session, path, playback)
        return path
    if playback is not None:
        raise InvalidOption(f"A path is written as an HTML file, not as '{path}'.")
    take_snapshot(session, path)
    return path


def _inline(session: Session, playback: Playback | None) -> Any:
    """Return a scene for a notebook; a picture if viser is missing and no path is played."""
    if find_spec('viser') is None and playback is None:
        with tempfile.TemporaryDirectory() as folder:
            return ArmPicture(_write(session, Path(folder, 'arm.png'), None).read_bytes())
    return InlineScene(make_html(session, playback))


def show_path(session: Session, path: ToolPath, picture: str | Path | None, port: int) -> Any:
    """
    Play a path as :func:`show_session` shows a session.

    :param session: its robot is the robot of the path.
    :param path: the path, with one row at least.
    :param picture, port: as for :func:`show_session`.
    """
    rows = np.concatenate([own.positions for own in path.stretches] or [path.positions])
    playback = Playback(session.robot, JointPath(path.joint_names, rows))
    playback.show(session, 0.0)
    return show_session(session, picture, port, playback)
