"""Show an arm or a path: as a page in the browser, as a scene in a notebook, or as a file."""

from importlib.util import find_spec
from pathlib import Path
import sys
import tempfile
from typing import Any

import numpy as np

from ssik_ros.arguments import read_path
from ssik_ros.errors import InvalidOption
from ssik_ros.paths.requests import ToolPath
from ssik_ros.view.browser.page import describe_access, Page
from ssik_ros.view.browser.page_panels import Extras
from ssik_ros.view.browser.static_scene import InlineScene, make_html, save_html, SUFFIXES
from ssik_ros.view.playback import JointPath, Playback
from ssik_ros.view.recordings import take_snapshot
from ssik_ros.view.sessions.session import Session


class ArmPicture:
    """A PNG picture of an arm that notebooks display; ``png`` has the bytes of the file."""

    def __init__(self, png: bytes) -> None:
        """Store the bytes of a PNG file."""
        self.png = png

    def _repr_png_(self) -> bytes:
        """Return the bytes of the PNG file; notebooks call this method."""
        return self.png


def show_session(
    session: Session,
    picture: str | Path | None,
    port: int,
    playback: Playback | None = None,
) -> Any:
    """
    Show a robot with its surroundings, and return the result.

    With ``picture``, write a file and return its path. In a notebook, return a scene that the notebook displays;
    without viser and without ``playback``, a still picture. Otherwise open a page in the browser and return the page.

    :param session: the robot, its state and its surroundings, from the viewer.
    :param picture: HTML file or picture (PNG, JPEG, BMP, TIFF or WebP) to write; None for a notebook or a page.
    :param port: port of the page.
    :param playback: a path that is played; it cannot be written as a picture.
    :raises InvalidOption: for a file of another kind or that cannot be written, and for a port that cannot be used.
    :raises SolverError: when viser is missing; pictures do not need it.
    """
    if picture is not None:
        return _write(session, read_path('picture', picture), playback)
    if 'ipykernel' in sys.modules:
        return _inline(session, playback)
    page = Page(session, port=port, extras=Extras(playback))
    print(describe_access(page), flush=True)
    page.open_in_browser()
    return page


def _write(session: Session, path: Path, playback: Playback | None) -> Path:
    """
    Write the session as an HTML file or as a picture, by the suffix of ``path``; return the path.

    Raise InvalidOption for an unknown suffix, for a file that cannot be written, and for a picture of a playback. Raise
    SolverError if viser is missing for HTML.
    """
    if path.suffix.lower() in SUFFIXES:
        save_html(session, path, playback)
        return path
    if playback is not None:
        raise InvalidOption(f"A path is written as an HTML file, not as '{path}'.")
    take_snapshot(session, path)
    return path


def _inline(session: Session, playback: Playback | None) -> Any:
    """
    Return an interactive scene for a notebook; without viser and without a playback, a still picture.

    Raise SolverError if viser is missing for a playback.
    """
    if find_spec('viser') is None and playback is None:
        with tempfile.TemporaryDirectory() as folder:
            return ArmPicture(_write(session, Path(folder, 'arm.png'), None).read_bytes())
    return InlineScene(make_html(session, playback))


def show_path(session: Session, path: ToolPath, picture: str | Path | None, port: int) -> Any:
    """
    Play a path in the browser, in a notebook or as an HTML file; return the page, the scene or the path of the file.

    :param session: viewer session with the robot of the path.
    :param path: the path, with at least one posture.
    :param picture: HTML file to write; None for a notebook or a page.
    :param port: port of the page.
    :raises InvalidOption: for a file that is not HTML or cannot be written, and for a port that cannot be used.
    :raises SolverError: when viser is missing.
    """
    rows = np.concatenate([stretch.positions for stretch in path.stretches] or [path.positions])
    playback = Playback(session.robot, JointPath(path.joint_names, rows))
    playback.show(session, 0.0)
    return show_session(session, picture, port, playback)
