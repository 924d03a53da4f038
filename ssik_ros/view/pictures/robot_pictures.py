"""Pictures and animations of a robot in several states, as arrays and as files."""

from collections.abc import Collection, Sequence
import io
import itertools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ssik_ros.arrays import FloatArray
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.view.pictures.renderer import Camera, Colour, Picture
from ssik_ros.view.pictures.robot_solids import RobotSolids
from ssik_ros.view.pictures.solids import box_around, make_frame, make_tube, Surface

GHOSTS: tuple[Colour, ...] = (
    (0.25, 0.5, 0.9),
    (0.95, 0.55, 0.2),
    (0.3, 0.7, 0.4),
    (0.7, 0.35, 0.75),
    (0.9, 0.3, 0.35),
    (0.25, 0.7, 0.75),
    (0.75, 0.7, 0.2),
    (0.45, 0.4, 0.35),
)
"""Colours of ghosts, one after the other."""
PICTURED_GHOST_OPACITY = 0.3
"""Opacity of a ghost in a picture [1]."""
FRAME = 0.16
"""Length of the arrows of a frame, as a part of the robot's size."""
LINE_RADIUS = 0.006
"""Radius of a line, as a part of the robot's size."""
NEARLY_WHITE = 250
"""Colours of a palette that are lighter than this are white: a palette averages colours."""
LINE_COLOUR: Colour = (0.95, 0.45, 0.1)
NO_POINTS = np.empty((0, 3))


class RobotPictures:
    """Draws pictures of one robot in different states, all with the same camera."""

    def __init__(
        self,
        robot: RobotModel,
        states: Sequence[FloatArray],
        *,
        direction: tuple[float, float, float] = (1.0, -0.9, 0.55),
        size: tuple[int, int] = (960, 640),
        scenery: Sequence[tuple[Surface, Colour]] = (),
        points: FloatArray = NO_POINTS,
    ) -> None:
        """
        Choose the nearest camera that sees the robot in all states.

        :param robot: the robot.
        :param states: full states (nq) of the robot.
        :param direction: vector from the robot to the camera, in the root frame.
        :param size: width and height of the pictures [pixels].
        :param scenery: solids in the root frame with their colours, which are part of every picture.
        :param points: (n, 3) further points in the root frame that the camera sees, such as points of lines [m].
        """
        self.solids, self.scenery = RobotSolids(robot), scenery
        # One state after the other: a film of a robot with fine meshes would not fit into the memory at once.
        bounds = [solid.bounds() for state in states for solid, _ in self.solids.at(state)]
        bounds += [solid.bounds() for solid, _ in scenery]
        low, high = box_around(np.concatenate(bounds))
        self._size = float(np.linalg.norm(high - low))
        self._floor = float(low[2])
        corners = [list(itertools.product(*box.T)) for box in bounds]
        seen = np.concatenate([*corners, points])
        self._camera = Camera.around(seen, direction, size)

    def draw(
        self,
        states: Sequence[FloatArray],
        *,
        frames: Sequence[FloatArray] = (),
        lines: Sequence[FloatArray] = (),
        marked: Collection[str] = (),
        is_transparent: bool = False,
    ) -> NDArray[np.uint8]:
        """
        Return a picture of the robot in the first state, with ghosts of it in all other states.

        The picture has the shape (height, width, 3), or (height, width, 4) if it is transparent.

        :param states: full states (nq) of the robot.
        :param frames: (4, 4) poses in the root frame that are drawn as three arrows.
        :param lines: (k, 3) points of lines in the root frame [m].
        :param marked: names of links that are red in the first state.
        :param is_transparent: leave out the white background, so that the picture suits light and dark pages.
        :raises FrameNotFound: for an unknown name in ``marked``.
        """
        picture = Picture(self._camera)
        for solid, colour in [*self.scenery, *self.solids.at(states[0], marked=marked)]:
            picture.add(solid, colour)
        for number, state in enumerate(states[1:]):
            colour = GHOSTS[number % len(GHOSTS)]
            picture.add_ghost(self.solids.at(state, colour), PICTURED_GHOST_OPACITY)
        for pose in frames:
            for solid, colour in make_frame(FRAME * self._size):
                picture.add(solid.moved(pose), colour)
        for points in lines:
            picture.add(make_tube(points, LINE_RADIUS * self._size), LINE_COLOUR)
        return picture.draw(self._floor, is_transparent=is_transparent)


def save_picture(path: str | Path, image: NDArray[np.uint8]) -> None:
    """
    Write a picture to a file; the suffix of its name chooses the format.

    :param path: the file.
    :param image: (height, width, 3) bytes, or (height, width, 4) for a format with transparency.
    """
    Image.fromarray(image).save(path)


def write_png(image: NDArray[np.uint8]) -> bytes:
    """
    Return a picture as the bytes of a PNG file.

    :param image: (height, width, 3) bytes, or (height, width, 4) with transparency.
    """
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, 'PNG')
    return stream.getvalue()


def save_animation(path: str | Path, images: Sequence[NDArray[np.uint8]], rate: float) -> None:
    """
    Write an animation that repeats forever.

    :param path: a file whose name ends in ``.gif``, or in ``.webp`` for transparent pictures.
    :param images: (height, width, 3) bytes each; WebP also takes (height, width, 4).
    :param rate: pictures in a second.
    """
    pause = round(1000.0 / rate)
    if Path(path).suffix == '.webp':
        first, *rest = map(Image.fromarray, images)
        first.save(path, save_all=True, append_images=rest, duration=pause, loop=0, quality=80)
        return
    # One palette for all: the colours of a still part do not flicker, and a white background stays white.
    palette = Image.fromarray(np.concatenate(images[:: max(1, len(images) // 4)])).quantize(255)
    colours = np.array(palette.getpalette()).reshape(-1, 3)
    colours[(colours >= NEARLY_WHITE).all(axis=1)] = 255
    palette.putpalette(colours.ravel().tolist())
    first, *rest = [
        Image.fromarray(image).quantize(palette=palette, dither=Image.Dither.NONE)
        for image in images
    ]
    first.save(path, save_all=True, append_images=rest, duration=pause, loop=0)
