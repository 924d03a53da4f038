"""The button that saves a picture of the scene, which the asking browser itself draws."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssik_ros.view.browser.background_job import BackgroundJob, JobRun
from ssik_ros.view.browser.controls import on_event
from ssik_ros.view.browser.page_panels import BasePage, Panel
from ssik_ros.view.pictures.robot_pictures import write_png
from ssik_ros.view.sessions.posture_session import PostureSession

FILE = 'robot.png'


class PicturePanel(Panel):
    """A button that saves the scene as a PNG, as the browser in which it is pressed shows it."""

    def __init__(self, page: BasePage[PostureSession]) -> None:
        """
        Make the button.

        :param page: the page.
        """
        self._page, gui = page, page.gui
        self._job = BackgroundJob(page, lambda text: None)
        hint = 'the scene without its ground, as a PNG'
        button = gui.add_button('Save a picture', hint=hint)
        on_event(button.on_click, self._press)

    def _press(self, event: Any) -> None:
        if event.client is not None and not self._job.is_running:
            self._job.start(partial(self._take, event.client))

    def _take(self, client: Any, run: JobRun) -> Callable[[], None]:
        """Take a picture of the scene in a browser, and return a function that sends it to this browser as a file."""
        data = write_png(self._page.take_picture(client))
        return partial(client.send_file_download, FILE, data, save_immediately=True)


def on_white(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """
    Return a transparent picture on a white background, as (height, width, 3) bytes.

    :param image: (height, width, 4) bytes with transparency.
    """
    alpha = image[:, :, 3:] / 255.0
    return np.asarray(np.rint(image[:, :, :3] * alpha + 255.0 * (1.0 - alpha)), np.uint8)
