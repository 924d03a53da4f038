"""Pictures and animations of a robot in several states, as arrays and as files."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ssik_ros.arrays import FloatArray
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.view.renderer import Camera, Colour, Picture
from ssik_ros.view.robot_solids import RobotSolids
from ssik_ros.view.solids import make_frame, make_tube

GHOSTS: tuple[Colour, ...] = (
    (0.25, 0.5, 0.9),
    (0.95, 0.55, 0.2),
    (0.3, 0.7, 0.4),
    (0.7, 0.35, 0.75),
    (0.9, 0.3, 0.35),
    (0.25, 0.7, 0.75),
    (0.75, 0.7, 0.2),
)
"""Colours of ghosts, one after the other."""
OPACITY = 0.3
FRAME = 0.16
"""Length of the arrows of a frame, as a part of the robot's size."""
LINE = 0.006
"""Radius of a line, as a part of the robot's size."""
LINE_COLOUR: Colour = (0.95, 0.45, 0.1)


class RobotPictures:
    """Draws one robot in different states from one place."""

    def __init__(
        self,
        robot: RobotModel,
        states: Sequence[FloatArray],
        *,
        direction: tuple[float, float, float] = (1.0, -0.9, 0.55),
        size: tuple[int, int] = (960, 640),
    ) -> None:
        """
        Choose a camera that sees the robot in all states.

        :param robot: the robot.
        :param states: full states (nq) of the robot.
        :param direction: from the robot to the camera.
        :param size: width and height of the pictures [pixels].
        """
        self.solids = RobotSolids(robot)
        bounds = np.array([self.solids.bounds(state) for state in states])
        low, high = bounds[:, 0].min(axis=0), bounds[:, 1].max(axis=0)
        self._size = float(np.linalg.norm(high - low))
        self._floor = float(low[2])
        self._camera = Camera.around(np.stack((low, high)), direction, size)

    def draw(
        self,
        states: Sequence[FloatArray],
        *,
        frames: Sequence[FloatArray] = (),
        lines: Sequence[FloatArray] = (),
    ) -> NDArray[np.uint8]:
        """
        Return a picture (height, width, 3): the robot in the first state, and ghosts of it in all others.

        :param states: full states (nq) of the robot.
        :param frames: (4, 4) poses that are drawn as three arrows, in the root frame.
        :param lines: (k, 3) points of lines, in the root frame [m].
        """
        picture = Picture(self._camera)
        for solid, colour in self.solids.at(states[0]):
            picture.add(solid, colour)
        for number, state in enumerate(states[1:]):
            colour = GHOSTS[number % len(GHOSTS)]
            picture.add_ghost(self.solids.at(state, colour), OPACITY)
        for pose in frames:
            for solid, colour in make_frame(FRAME * self._size):
                picture.add(solid.moved(pose), colour)
        for points in lines:
            picture.add(make_tube(points, LINE * self._size), LINE_COLOUR)
        return picture.draw(self._floor)


def save_picture(path: str | Path, image: NDArray[np.uint8]) -> None:
    """
    Write a picture to a file; the suffix of its name chooses the format.

    :param path: the file.
    :param image: (height, width, 3) bytes.
    """
    Image.fromarray(image).save(path)


def save_animation(path: str | Path, images: Sequence[NDArray[np.uint8]], rate: float) -> None:
    """
    Write an animation that begins anew after its end.

    :param path: a file whose name ends in ``.gif``.
    :param images: (height, width, 3) bytes each.
    :param rate: pictures in a second.
    """
    # One palette for all: the colours of a still part do not flicker.
    palette = Image.fromarray(np.concatenate(images[:: max(1, len(images) // 4)])).quantize(255)
    first, *rest = [
        Image.fromarray(image).quantize(palette=palette, dither=Image.Dither.NONE)
        for image in images
    ]
    first.save(path, save_all=True, append_images=rest, duration=round(1000.0 / rate), loop=0)
