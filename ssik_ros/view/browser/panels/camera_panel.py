"""The panel of the camera: buttons and keys that point the camera of one browser at the robot or at the targets."""

import math
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.view.browser.page_panels import Host
from ssik_ros.view.sessions.posture_session import PostureSession

ROBOT, TARGET = 'zoom to robot (Z)', 'frame target (F)'
KEYS = {ROBOT: 'Z', TARGET: 'F'}
"""viser moves the camera with W, A, S, D, Q, E and the arrows."""
TARGET_BOX = 0.3
"""Half the edge of the box around a target that fills the picture, as a part of the robot's size."""
CAMERA_MARGIN = 1.05
"""Distance of the camera, divided by the distance at which a sphere around the box touches the edges [1]."""


class CameraPanel:
    """Two buttons with keys that move the camera, only in the browser in which they are pressed."""

    def __init__(self, gui: Any, page: Host) -> None:
        """
        Make the buttons and keys.

        :param gui: viser's controls.
        :param page: the page.
        """
        self._page = page
        buttons = gui.add_button_group('camera', tuple(KEYS))

        async def on_button(event: Any) -> None:
            self._look(event.client, event.target.value)

        buttons.on_click(on_button)
        for label, key in KEYS.items():
            self._add_key(gui, label, key)

    def _add_key(self, gui: Any, label: str, key: str) -> None:
        async def on_key(event: Any) -> None:
            self._look(event.client, label)

        gui.add_command(label.partition(' (')[0].capitalize(), hotkey=key).on_trigger(on_key)

    def _look(self, client: Any, label: str) -> None:
        """
        Post an event that moves the camera of a browser to the robot or to the targets.

        :param client: viser's client of the browser; None does nothing.
        :param label: text of the pressed button.
        """

        def look() -> None:
            bounds = self._page.drawing.robot_bounds() if label == ROBOT else self._target_bounds()
            turn_camera(client, bounds)

        if client is not None:
            self._page.post(look)

    def _target_bounds(self) -> FloatArray:
        """Return the corners (2, 3) of a box around all targets [m]."""
        places = np.array([pose[:3, 3] for pose in self._page.session.targets.values()])
        margin = TARGET_BOX * self._page.size
        return np.array((places.min(axis=0) - margin, places.max(axis=0) + margin))

    def show(self, session: PostureSession) -> None:
        """Do nothing: the camera moves only when a button is pressed."""

    show_details = show


def turn_camera(client: Any, bounds: FloatArray) -> None:
    """
    Move the camera of a browser so that a box fills the picture; its direction of view stays.

    :param client: viser's client of the browser.
    :param bounds: (2, 3) corners of the box [m].
    """
    camera = client.camera
    middle = bounds.mean(axis=0)
    offset = np.asarray(camera.position) - np.asarray(camera.look_at)
    distance = distance_to_fit(bounds, float(camera.fov), float(camera.aspect))
    with client.atomic():
        camera.position = tuple(
            middle + offset * (distance / max(float(np.linalg.norm(offset)), 1e-9))
        )
        camera.look_at = tuple(middle)
    client.flush()


def distance_to_fit(bounds: FloatArray, fov: float, aspect: float) -> float:
    """
    Return the distance from a camera to the middle of a box at which the picture just shows the whole box [m].

    :param bounds: (2, 3) corners of the box [m].
    :param fov: vertical angle of view [rad].
    :param aspect: width of the picture divided by its height.
    """
    radius = 0.5 * float(np.linalg.norm(bounds[1] - bounds[0]))
    half = 0.5 * fov if aspect >= 1.0 else math.atan(aspect * math.tan(0.5 * fov))
    return CAMERA_MARGIN * radius / math.sin(half)
