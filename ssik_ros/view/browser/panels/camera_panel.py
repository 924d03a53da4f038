"""The panel of the camera: buttons and keys that point the camera of one browser at the robot or at the targets."""

from functools import partial
from typing import Any

from ssik_ros.view.browser.controls import on_event
from ssik_ros.view.browser.page_panels import BasePage, Panel
from ssik_ros.view.browser.scenery import turn_camera
from ssik_ros.view.sessions.posture_session import PostureSession

ROBOT, TARGET = 'zoom to robot (Z)', 'frame target (F)'
KEYS = {ROBOT: 'Z', TARGET: 'F'}
"""viser moves the camera with W, A, S, D, Q, E and the arrows."""
TARGET_BOX = 0.3
"""Half the edge of the box around a target that fills the picture, as a part of the robot's size."""


class CameraPanel(Panel):
    """Two buttons with keys that move the camera, only in the browser in which they are pressed."""

    def __init__(self, page: BasePage[PostureSession]) -> None:
        """
        Make the buttons and keys.

        :param page: the page.
        """
        self._page, gui = page, page.gui
        buttons = gui.add_button_group('camera', tuple(KEYS))
        on_event(buttons.on_click, lambda event: self._look(event.target.value, event))
        for label, key in KEYS.items():
            command = gui.add_command(label.partition(' (')[0].capitalize(), hotkey=key)
            on_event(command.on_trigger, partial(self._look, label))

    def _look(self, label: str, event: Any) -> None:
        """
        Post an event that moves the camera of a browser to the robot or to the targets.

        :param label: text of the pressed button.
        :param event: viser's event; without a browser nothing is moved.
        """

        def look() -> None:
            is_target, drawing = label == TARGET, self._page.drawing
            bounds = drawing.target_bounds(TARGET_BOX) if is_target else drawing.robot_bounds()
            turn_camera(event.client, bounds)

        if event.client is not None:
            self._page.post(look)
