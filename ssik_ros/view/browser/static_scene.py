"""A session as one HTML file that needs neither a server nor a network: a robot to look at, or a path that plays."""

import contextlib
import html
import io
from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.errors import SolverError, writing
from ssik_ros.view.browser.guard import Admission, Guard, import_extra
from ssik_ros.view.browser.link_meshes import (
    add_obstacle,
    add_tip_lines,
    GhostMeshes,
    page_pose,
    RobotMeshes,
    SEGMENTS,
)
from ssik_ros.view.browser.private_server import open_server
from ssik_ros.view.browser.scenery import bounds_of, set_scenery, size_of
from ssik_ros.view.pictures.robot_pictures import GHOSTS
from ssik_ros.view.pictures.robot_solids import RobotSolids
from ssik_ros.view.playback import Playback
from ssik_ros.view.recordings import check_suffix
from ssik_ros.view.sessions.posture_session import PostureSession

RATE = 20.0
"""Postures in a second of a path."""
MOST_POSTURES = 600
AXIS_LENGTH = 0.1
"""Length of the axes at a target, as a part of the robot's size."""
SUFFIXES = ('.html', '.htm')
PLAIN = '={darkMode:false}'
FOLLOWS = "={darkMode:matchMedia('(prefers-color-scheme: dark)').matches}"
HEIGHT = 420
"""Of a scene in a notebook [pixels]."""


def make_html(session: PostureSession, playback: Playback | None = None) -> str:
    """
    Return an HTML page that shows a session: the robot, obstacles, targets, and branches as ghosts.

    At most as many ghosts are shown as there are colours (GHOSTS).

    :param session: the session. Without a playback, this function calls its ``complete``, which finds the branches.
    :param playback: a joint path that the page plays; branches and targets are left out then.
    :raises SolverError: if viser is not installed, or if its version writes other pages.
    """
    import_extra('viser')
    if playback is None:
        session.complete()
    with contextlib.redirect_stdout(io.StringIO()):
        server = open_server(Guard(Admission()), '127.0.0.1', 0)
        try:
            return _record(server, session, playback)
        finally:
            server.stop()


def _record(server: Any, session: PostureSession, playback: Playback | None) -> str:
    """
    Add the contents of a session to the scene of a server, and return the scene as an HTML page.

    :raises SolverError: if this version of viser writes other pages.
    """
    solids = RobotSolids(session.robot, segments=SEGMENTS)
    bounds = bounds_of(solids, session.state)
    size = size_of(bounds)
    set_scenery(server, bounds, size)
    robot = RobotMeshes(server.scene, solids, '/robot')
    robot.place(session.state)
    for number, obstacle in enumerate(session.obstacles):
        add_obstacle(server.scene, f'/obstacles/{number}', obstacle)
    if playback is None:
        _add_targets(server.scene, session, size)
        states = [session.state_with(branch.positions) for branch in session.branches]
        if states:
            GhostMeshes(server.scene, solids, GHOSTS).place(states)
        recording = server.get_scene_serializer()
    else:
        recording = _play(server, robot, session, playback, size)
    page: str = recording.as_html()
    if PLAIN not in page:
        raise SolverError('This version of viser writes pages of another form.')
    return page.replace(PLAIN, FOLLOWS, 1)


def _add_targets(scene: Any, session: PostureSession, size: float) -> None:
    """Add coordinate axes to the scene at each target; ``size`` is the length of the robot, which scales them [m]."""
    for number, pose in enumerate(session.targets.values()):
        wxyz, position = page_pose(pose)
        lengths = {'axes_length': AXIS_LENGTH * size, 'axes_radius': 0.05 * AXIS_LENGTH * size}
        scene.add_frame(f'/targets/{number}', wxyz=wxyz, position=position, **lengths)


def _play(
    server: Any, robot: RobotMeshes, session: PostureSession, playback: Playback, size: float
) -> Any:
    """
    Return viser's recording of the robot that moves along a path, with the lines of its tips.

    The session stays as it is.

    :param size: length of the robot, which scales the lines [m].
    """
    add_tip_lines(server.scene, playback.tip_lines(session), size)
    count = min(MOST_POSTURES, max(2, round(RATE * playback.duration)))
    times = np.linspace(0.0, playback.duration, count)
    robot.place(playback.state_at(0.0, session.state))
    recording = server.get_scene_serializer()
    for pause, time in zip(np.diff(times), times[1:], strict=True):
        recording.insert_sleep(float(pause))
        robot.place(playback.state_at(float(time), session.state))
    return recording


def save_html(session: PostureSession, path: Path, playback: Playback | None = None) -> None:
    """
    Write a session as one HTML file.

    :param session: the session. Without a playback, this function calls its ``complete``, which finds the branches.
    :param path: the file.
    :raises InvalidOption: for a file that cannot be written, or has another ending.
    :raises SolverError: as :func:`make_html`.
    """
    check_suffix(path, SUFFIXES)
    with writing(path):
        path.write_text(make_html(session, playback), encoding='utf-8')


class InlineScene:
    """An HTML page that a notebook shows in place; ``html`` is its text."""

    def __init__(self, page: str) -> None:
        """Store the text of the HTML page."""
        self.html = page

    def _repr_html_(self) -> str:
        """Return HTML with the page in a frame; notebooks call this method to show the object."""
        source = html.escape(self.html, quote=True)
        style = f'width:100%;height:{HEIGHT}px;border:none;display:block'
        return f'<iframe srcdoc="{source}" style="{style}" title="robot"></iframe>'
