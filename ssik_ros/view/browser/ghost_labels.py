"""
Ranks of ghosts as labels in a page, which do not overlap on the screen of any browser if there is room.

A ghost is a transparent robot that shows a branch; its rank is the number of the branch, from 1 on.
"""

from collections.abc import Sequence
import threading
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.view.browser.link_meshes import page_colour, read_page_pose
from ssik_ros.view.pictures.renderer import Colour

HEIGHT, DIGIT, PADDING = 20.0, 8.0, 8.0
"""Height of a label, width of a digit, and the space around digits [CSS pixels]."""
DENSEST = 2.0
"""Pixels of a canvas in a CSS pixel, at most."""
RINGS, DIRECTIONS = 24, 16
"""Places around an anchor that are tried: rings, half a label's height apart, and directions on each."""


def spread_boxes(centres: FloatArray, sizes: FloatArray, window: FloatArray) -> FloatArray:
    """
    Return new centres (n, 2) of boxes, near the given ones, such that boxes do not overlap if there is room [pixels].

    The boxes are placed in order. Each takes the nearest free place of those that are tried, or keeps its place if none
    is free. A box whose centre is in the window is placed in the window.

    :param centres: (n, 2) of the boxes [pixels].
    :param sizes: (n, 2) widths and heights [pixels].
    :param window: (2,) width and height [pixels].
    """
    angles = np.arange(DIRECTIONS) * 2.0 * np.pi / DIRECTIONS
    circle = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    rings = np.arange(1, RINGS + 1)[:, None, None] * 0.5 * sizes[:, 1].max(initial=0.0)
    offsets = np.vstack((np.zeros((1, 2)), (rings * circle).reshape(-1, 2)))
    placed = np.array(centres)
    for number, size in enumerate(sizes):
        places = centres[number] + offsets
        room = 0.5 * (sizes[:number] + size)
        apart = np.abs(places[:, None] - placed[None, :number])
        is_free = (apart >= room).any(axis=2).all(axis=1)
        if ((centres[number] >= 0.0) & (centres[number] <= window)).all():
            is_free &= ((places >= 0.5 * size) & (places <= window - 0.5 * size)).all(axis=1)
        if is_free.any():
            placed[number] = places[int(is_free.argmax())]
    return placed


class GhostLabels:
    """
    The labels of ghosts: each shows the rank of a ghost at the anchor, a point of this ghost.

    A label that would overlap another one is moved, with a line from its anchor to its place.

    Each browser has labels of its own, as each has its own camera. Any thread may call :meth:`place`. The thread of
    viser calls ``add_browser`` and ``remove_browser``, in the order of its events.
    """

    def __init__(self, colours: Sequence[Colour]) -> None:
        """
        Begin without labels and browsers.

        :param colours: colours of the ghosts, which the lines have.
        """
        self._colours = np.array(list(map(page_colour, colours)), dtype=np.uint8).reshape(-1, 3)
        self._anchors = np.zeros((0, 3))
        self._nodes: dict[int, tuple[Any, list[Any], Any]] = {}
        self._lock = threading.Lock()
        texts = [str(number + 1) for number in range(len(colours))]
        widths = [DIGIT * len(text) + PADDING for text in texts]
        self._sizes = DENSEST * np.array([(width, HEIGHT) for width in widths]).reshape(-1, 2)
        self._texts = texts

    def place(self, anchors: FloatArray) -> None:
        """
        Put a label at each anchor; labels that would overlap on a screen are moved aside.

        :param anchors: (n, 3) of the first n ghosts in the model frame [m]; other ghosts have no label.
        """
        with self._lock:
            self._anchors = anchors
            for client in self._nodes:
                self._lay(client)

    async def add_browser(self, client: Any) -> None:
        """
        Add the labels to a browser, and move them whenever its camera moves.

        :param client: viser's client of the browser.
        """
        with self._lock:
            labels = [
                client.scene.add_label(
                    f'/labels/{text}', text, visible=False, anchor='center-center'
                )
                for text in self._texts
            ]
            lines = client.scene.add_line_segments(
                '/labels/lines',
                np.zeros((len(labels), 2, 3), np.float32),
                np.repeat(self._colours[:, None], 2, axis=1),
                thickness=1.5,
                thickness_units='screen',
            )
            self._nodes[client.client_id] = (client, labels, lines)
            self._lay(client.client_id)

        async def follow(camera: Any) -> None:
            with self._lock:
                self._lay(client.client_id)

        client.camera.on_update(follow)

    async def remove_browser(self, client: Any) -> None:
        """
        Forget the labels of a browser that has closed the page.

        :param client: viser's client of the browser.
        """
        with self._lock:
            self._nodes.pop(client.client_id, None)

    def _lay(self, number: int) -> None:
        """Place the labels of one browser for its camera; ``number`` is viser's number of the browser."""
        if number not in self._nodes:
            return
        client, labels, lines = self._nodes[number]
        count, camera = len(self._anchors), client.camera
        places = spread_on_screen(self._anchors, self._sizes[:count], camera)
        ends = np.zeros((len(labels), 2, 3))
        ends[:count] = np.stack((self._anchors, places), axis=1)
        with client.atomic():
            for index, label in enumerate(labels):
                label.visible = index < count
                if index < count:
                    label.position = tuple(places[index])
            lines.points = ends.astype(np.float32)


def spread_on_screen(anchors: FloatArray, sizes: FloatArray, camera: Any) -> FloatArray:
    """
    Return a point (n, 3) for each label so that labels do not overlap on a screen, if there is room [m].

    Each point is near its anchor and as far from the camera.

    :param anchors: (n, 3) points to be labelled, in the model frame [m]. The result is in this frame, too.
    :param sizes: (n, 2) of the labels [pixels].
    :param camera: viser's camera of the browser.
    """
    window = np.array((camera.image_width, camera.image_height), dtype=float)
    focal = 0.5 * window[1] / np.tan(0.5 * camera.fov)
    pose = read_page_pose(camera.wxyz, camera.position)
    turn = pose[:3, :3]
    seen = (anchors - pose[:3, 3]) @ turn
    depth = np.maximum(seen[:, 2:], 1e-6)
    centres = 0.5 * window + focal * seen[:, :2] / depth
    moved = spread_boxes(centres, sizes, window) - centres
    places: FloatArray = anchors + (moved * depth / focal) @ turn[:, :2].T
    return places
