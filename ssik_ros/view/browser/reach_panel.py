"""A reach map on a page: a cloud coloured by what the map holds, cut open to look inside."""

from typing import Any

import numpy as np

from ssik_ros.view.browser.controls import on_change
from ssik_ros.view.browser.panels import Host
from ssik_ros.view.posture_session import PostureSession
from ssik_ros.view.reach_cloud import colour_values

CUTS = {'nothing': -1, 'x': 0, 'y': 1, 'z': 2}


class ReachPanel:
    """Chooses what the cloud shows."""

    def __init__(self, gui: Any, page: Host) -> None:
        """
        Make the controls and the cloud.

        :param gui: viser's controls.
        :param page: has a reach map.
        """
        assert page.extras.cloud is not None
        self._page, self._cloud = page, page.extras.cloud
        self._quantity = gui.add_dropdown('colour', self._cloud.quantities)
        self._least = gui.add_slider('at least [% of top]', 0.0, 100.0, 1.0, 0.0)
        self._cut = gui.add_dropdown('cut away along', tuple(CUTS), initial_value='y')
        self._part = gui.add_slider('up to [%]', 0.0, 100.0, 1.0, 50.0)
        self._shows = gui.add_checkbox('show the cloud', True)
        self._text = gui.add_markdown('')
        for control in (self._quantity, self._least, self._cut, self._part, self._shows):
            on_change(control, lambda _: page.post(self._draw, 'reach'))
        self._points = page.scene.add_point_cloud(
            '/reach', np.zeros((0, 3)), np.zeros((0, 3), dtype=np.uint8), point_shape='circle'
        )
        self._draw()

    def _draw(self) -> None:
        """Send the points that are wanted now."""
        quantity = str(self._quantity.value)
        points, values = self._cloud.points(quantity, 0.01 * float(self._least.value))
        top = float(values.max(initial=0.0))
        colours = colour_values(values)
        axis = CUTS[str(self._cut.value)]
        if axis >= 0 and len(points):
            along = points[:, axis]
            edge = along.min() + 0.01 * float(self._part.value) * np.ptp(along)
            points, colours = points[along >= edge], colours[along >= edge]
        self._points.points = points.astype(np.float32)
        self._points.colors = colours
        self._points.point_size = 0.22 * self._cloud.step
        self._points.visible = bool(self._shows.value)
        self._text.content = (
            f'{len(points)} positions. Dark is 0, yellow is {top:.4g}: {quantity}.'
        )

    def show(self, session: PostureSession) -> None:
        """Keep the cloud, which no posture changes."""

    def show_details(self, session: PostureSession) -> None:
        """Keep the cloud, which no posture changes."""
