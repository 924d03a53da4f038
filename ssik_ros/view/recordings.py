"""Pictures and films of a session, without a window and without a browser."""

from collections.abc import Callable, Mapping, Sequence
import logging
from pathlib import Path
import shutil
import subprocess

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.view.obstacles import OBSTACLE, obstacle_surface
from ssik_ros.view.pictures import RobotPictures, save_animation, save_picture
from ssik_ros.view.sessions.posture_session import PostureSession

_LOGGER = logging.getLogger('ssik_ros.view')

RATE = 20.0
"""Pictures in a second of a film."""
STILLS = ('.png', '.jpg', '.jpeg', '.bmp', '.tiff', '.webp')
FILMS = ('.gif', '.mp4')
Targets = Mapping[str, FloatArray]
"""(4, 4) pose of each tip in the model frame."""


def check_suffix(path: Path, suffixes: Sequence[str]) -> None:
    """
    Raise InvalidOption if a picture or film cannot be written under a name: call this before drawing.

    :param path: the file.
    :param suffixes: the allowed endings, such as ``.png``.
    :raises InvalidOption: for another ending, a missing folder, or an .mp4 without the program ffmpeg.
    """
    if path.suffix.lower() not in suffixes:
        raise InvalidOption(f"The name '{path}' ends in none of {', '.join(suffixes)}.")
    if not path.absolute().parent.is_dir():
        raise InvalidOption(f"There is no folder '{path.absolute().parent}'.")
    if path.suffix.lower() == '.mp4' and shutil.which('ffmpeg') is None:
        raise InvalidOption(
            'An .mp4 needs the program ffmpeg, which is not installed; a .gif needs nothing.'
        )


def take_snapshot(session: PostureSession, path: Path) -> None:
    """
    Write a picture of a session: robot, obstacles, targets, other branches as ghosts, and lines to unreached targets.

    :param session: the session. This function calls its ``complete``, which finds branches and collisions.
    :param path: a file name with one of the endings STILLS.
    :raises InvalidOption: for another ending or a missing folder.
    """
    check_suffix(path, STILLS)
    session.complete()
    states = [session.state, *(session.state_with(b.positions) for b in session.branches)]
    pictures = _pictures_of(session, states)
    save_picture(path, draw(session, pictures, states[1:]))


def _pictures_of(session: PostureSession, states: Sequence[FullState]) -> RobotPictures:
    """Return an object that draws the session's robot among its obstacles, with a camera that sees all the states."""
    to_root = np.linalg.inv(session.state.root_pose)
    scenery = [
        (obstacle_surface(item).moved(to_root @ item.pose), OBSTACLE) for item in session.obstacles
    ]
    positions = [state.positions for state in states]
    pictures = RobotPictures(session.robot, positions, scenery=scenery)
    for warning in pictures.solids.warnings:
        _LOGGER.warning('%s', warning)
    if pictures.solids.note:
        _LOGGER.info('%s', pictures.solids.note)
    return pictures


def draw(
    session: PostureSession, pictures: RobotPictures, ghosts: Sequence[FullState] = ()
) -> NDArray[np.uint8]:
    """
    Return a picture (height, width, 3) of a session: the robot, its targets and obstacles; colliding links are red.

    :param session: after :meth:`Session.complete`.
    :param pictures: an object that draws the session's robot.
    :param ghosts: full states that are drawn as transparent robots.
    """
    to_root = np.linalg.inv(session.state.root_pose)
    frames = [to_root @ pose for pose in session.targets.values()]
    gaps = session.gaps() @ to_root[:3, :3].T + to_root[:3, 3]
    return pictures.draw(
        [state.positions for state in (session.state, *ghosts)],
        frames=frames,
        lines=() if session.outcome.solved else list(gaps),
        marked=session.colliding_links(),
    )


def record(
    session: PostureSession,
    targets: Targets,
    path: Path,
    report: Callable[[float, str], None] = lambda part, text: None,
    seconds: float = 3.0,
) -> None:
    """
    Move the targets of a session on straight lines to given poses, and write a film of the robot that follows them.

    :param session: begins at its present targets and ends at ``targets``.
    :param targets: the last pose of each target.
    :param path: a .gif, or an .mp4 if ffmpeg is installed.
    :param report: called with the part that is done, from 0 to 1, and the name of the step.
    :param seconds: duration of the film [s].
    :raises InvalidOption: if the file cannot be written.
    """
    check_suffix(path, FILMS)
    states = []
    for between in interpolate(dict(session.targets), targets, max(2, round(RATE * seconds))):
        for link, pose in between.items():
            session.targets[link] = pose
        session.solve()
        session.complete()
        states.append((session.state, dict(session.targets), session.outcome, session.contacts))
    pictures = _pictures_of(session, [state[0] for state in states])
    images: list[NDArray[np.uint8]] = []
    for session.state, session.targets, session.outcome, session.contacts in states:
        report(len(images) / len(states), f'picture {len(images) + 1} of {len(states)}')
        images.append(draw(session, pictures))
    report(1.0, 'writing the film')
    save_film(path, images)


def interpolate(start: Targets, end: Targets, count: int) -> list[dict[str, FloatArray]]:
    """
    Return ``count`` sets of targets from ``start`` to ``end``, by tip.

    Positions move on straight lines, orientations turn about one axis.

    :param start, end: poses (4, 4) of the same tips.
    :param count: number of sets, both ends included.
    """
    # Imported late: a page in the browser records nothing.
    from scipy.spatial.transform import Rotation, Slerp

    parts = np.linspace(0.0, 1.0, count)
    targets: list[dict[str, FloatArray]] = [{} for _ in parts]
    for link, first in start.items():
        last = end[link]
        path = Slerp((0.0, 1.0), Rotation.from_matrix(np.stack((first, last))[:, :3, :3]))
        for between, part, rotation in zip(targets, parts, path(parts).as_matrix()):
            position = first[:3, 3] + part * (last[:3, 3] - first[:3, 3])
            between[link] = pose_matrix(position, rotation)
    return targets


def save_film(path: Path, images: Sequence[NDArray[np.uint8]]) -> None:
    """
    Write pictures as a film with RATE pictures in a second.

    :param path: a .gif or an .mp4.
    :param images: (height, width, 3) bytes each.
    :raises InvalidOption: if ffmpeg fails, with the last line of its output.
    """
    if path.suffix.lower() == '.gif':
        save_animation(path, images, RATE)
        return
    height, width, _ = images[0].shape
    raw = ('-f', 'rawvideo', '-pix_fmt', 'rgb24', '-s', f'{width}x{height}', '-r', f'{RATE:g}')
    command = ('ffmpeg', '-y', '-loglevel', 'error', *raw, '-i', '-', '-pix_fmt', 'yuv420p')
    data = b''.join(image.tobytes() for image in images)
    done = subprocess.run([*command, str(path.absolute())], input=data, capture_output=True)
    if done.returncode != 0:
        said = done.stderr.decode(errors='replace').strip().splitlines() or ['no reason given']
        raise InvalidOption(f"ffmpeg cannot write '{path}': {said[-1]}")
