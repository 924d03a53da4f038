"""The panel of the camera: buttons and keys that point the camera of one browser at the robot or at the targets."""

from typing import Any

from ssik_ros.view.browser.page_panels import Host
from ssik_ros.view.browser.scenery import turn_camera
from ssik_ros.view.sessions.posture_session import PostureSession

ROBOT, TARGET = 'zoom to robot (Z)', 'frame target (F)'
KEYS = {ROBOT: 'Z', TARGET: 'F'}
"""viser moves the camera with W, A, S, D, Q, E and the arrows."""
TARGET_BOX = 0.3
"""Half the edge of the box around a target that fills the picture, as a part of the robot's size."""


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
            is_target, drawing = label == TARGET, self._page.drawing
            turn_camera(
                client, drawing.target_bounds(TARGET_BOX) if is_target else drawing.robot_bounds()
            )

        if client is not None:
            self._page.post(look)

    def show(self, session: PostureSession) -> None:
        """Do nothing: the camera moves only when a button is pressed."""

    show_details = show
