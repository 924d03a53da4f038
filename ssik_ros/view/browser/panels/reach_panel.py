"""The panel of a reach map: draws the cells as coloured points, and can hide all points on one side of a plane."""

import numpy as np

from ssik_ros.reach.reach_map import MEASURES
from ssik_ros.reach.store import STATUS
from ssik_ros.view.browser.controls import on_change
from ssik_ros.view.browser.page_panels import BasePage, Panel
from ssik_ros.view.sessions.posture_session import PostureSession

LEGEND = 'Most orientations: green reachable, yellow unknown, red colliding'
CUTS = {'nothing': -1, 'x': 0, 'y': 1, 'z': 2}


class ReachPanel(Panel):
    """Controls of the cloud: the measure that colours it, the least shown value, and the part that is cut away."""

    def __init__(self, page: BasePage[PostureSession]) -> None:
        """
        Make the controls and draw the cloud.

        :param page: a page whose ``extras`` have a cloud.
        """
        assert page.extras.cloud is not None
        self._page, gui, self._cloud = page, page.gui, page.extras.cloud
        self._measure = gui.add_dropdown('colour', self._cloud.measures)
        self._least = gui.add_slider('at least [% of top]', 0.0, 100.0, 1.0, 0.0)
        self._cut = gui.add_dropdown('cut away along', tuple(CUTS), initial_value='y')
        self._part = gui.add_slider('up to [%]', 0.0, 100.0, 1.0, 50.0)
        self._shows = gui.add_checkbox('show the cloud', True)
        self._text = gui.add_markdown('')
        for control in (self._measure, self._least, self._cut, self._part, self._shows):
            on_change(control, lambda _: page.post(self._draw, 'reach'))
        self._points = page.scene.add_point_cloud(
            '/reach', np.zeros((0, 3)), np.zeros((0, 3), dtype=np.uint8), point_shape='circle'
        )
        self._draw()

    def _draw(self) -> None:
        """Draw the points that the present values of the controls choose."""
        measure = str(self._measure.value)
        points = self._cloud.points(measure, 0.01 * float(self._least.value))
        places, colours, axis = points.places, points.colours, CUTS[str(self._cut.value)]
        if axis >= 0 and len(places):
            along = places[:, axis]
            edge = along.min() + 0.01 * float(self._part.value) * np.ptp(along)
            places, colours = places[along >= edge], colours[along >= edge]
        self._points.points = places.astype(np.float32)
        self._points.colors = colours
        self._points.point_size = 0.22 * points.step
        self._points.visible = bool(self._shows.value)
        legend = f'Dark is 0, yellow is {points.top:.4g} {MEASURES[measure]}'.rstrip()
        self._text.content = f'{len(places)} positions. {LEGEND if measure == STATUS else legend}.'
