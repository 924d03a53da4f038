"""The panel of self-motions of a seven-joint arm: a slider along each curve of postures, and the path of the elbow."""

from functools import partial
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.view.browser.controls import on_change
from ssik_ros.view.browser.link_meshes import line_segments, link_poses, page_colour, SceneLines
from ssik_ros.view.browser.page_panels import BasePage, Panel, plain, post_change
from ssik_ros.view.pictures.robot_pictures import GHOSTS
from ssik_ros.view.sessions.session import Session

MOST_CURVES = 6
"""Curves that have a slider."""
MOST_DRAWN = 24
"""Points of the line of an elbow."""
ON_CURVE_DISTANCE = 0.15
"""If a posture is nearer to a curve than this, it counts as on the curve [rad]."""


class CurvePanel(Panel):
    """
    Sliders that move the arm along its self-motions (curves of postures that all reach the target).

    At most MOST_CURVES curves have a slider and a line, the path of the elbow.
    """

    def __init__(self, page: BasePage[Session]) -> None:
        """
        Make the sliders, hidden until there are curves.

        :param page: the page.
        """
        self._page, gui = page, page.gui
        self._shown: object = None
        with gui.add_folder('Self-motion'):
            self._text = gui.add_markdown('')
            self._sliders = [
                gui.add_slider(f'curve {k + 1} [%]', 0.0, 100.0, 0.1, 0.0, visible=False)
                for k in range(MOST_CURVES)
            ]
            lines = gui.add_checkbox('draw the way of the elbow', True)
        for number, slider in enumerate(self._sliders):
            on_change(slider, partial(self._slide, number))
        post_change(page, lines, self._draw_lines)
        self._has_lines = True
        self._lines = [
            SceneLines(page.scene, f'/curves/{k}', page_colour(GHOSTS[k]), 0.008 * page.size)
            for k in range(MOST_CURVES)
        ]

    def _slide(self, number: int, value: float) -> None:
        session = self._page.session

        def slide() -> None:
            if number < len(session.curves):
                session.slide(number, 0.01 * value * session.curves[number].length)

        self._page.post(slide, ('curve', number), gesture=('curve', number))

    def _draw_lines(self, value: bool) -> None:
        self._has_lines, self._shown = value, None

    def show_details(self, session: Session) -> None:
        self._set_sliders(session)
        if self._page.is_dragging or session.curve_postures is self._shown:
            return
        self._shown = session.curve_postures
        curves = session.curves[:MOST_CURVES]
        paths = map(line_segments, elbow_paths(session) if self._has_lines else [])
        for number, (slider, line) in enumerate(zip(self._sliders, self._lines)):
            slider.visible = number < len(curves)
            line.draw(next(paths, None))
        lines = [
            f'{k + 1}\\. {c.length:.2f} rad, {plain(describe_ends(c))}'
            for k, c in enumerate(curves)
        ]
        none = 'Reach a pose to see its self-motions.'
        self._text.content = '\n\n'.join([plain(session.curves_text if curves else none), *lines])

    def _set_sliders(self, session: Session) -> None:
        """
        Set the slider of each curve near the shown posture to the nearest point of the curve.

        A curve is near if no joint differs by more than ON_CURVE_DISTANCE.
        """
        for slider, (arcs, postures) in zip(self._sliders, session.curve_postures):
            apart = np.abs(postures - session.joints).max(axis=1)
            if apart.min() < ON_CURVE_DISTANCE:
                slider.value = round(100.0 * arcs[apart.argmin()] / max(arcs[-1], 1e-9), 1)


def describe_ends(curve: Any) -> str:
    """
    Return as text how a self-motion ends at both sides, such as at a joint limit.

    :param curve: the self-motion.
    """
    first, last = str(curve.start), str(curve.end)
    return first if first == last else f'{first} to {last}'


def elbow_paths(session: Session) -> list[FloatArray]:
    """
    Return for each self-motion the path (m, 3) of the link origin that moves farthest, in the model frame [m].

    :param session: after :meth:`Session.complete`, which finds the self-motions.
    """
    paths = []
    for _, postures in session.curve_postures:
        rows = np.linspace(0, len(postures) - 1, min(MOST_DRAWN, len(postures))).round()
        states = [session.state_with(postures[int(row)]) for row in rows]
        origins = np.array([link_poses(session.robot, state)[:, :3, 3] for state in states])
        farthest = int(np.linalg.norm(np.ptp(origins, axis=0), axis=1).argmax())
        paths.append(origins[:, farthest])
    return paths
