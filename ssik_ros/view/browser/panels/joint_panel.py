"""The panel of joints: a bar between the limits and a slider for each joint variable."""

from collections.abc import Sequence
from functools import partial
import html
import math
from typing import Any

import numpy as np

from ssik_ros.arrays import finite_range, FloatArray
from ssik_ros.view.browser.controls import on_change
from ssik_ros.view.browser.page_panels import BasePage, Panel, post_change
from ssik_ros.view.limit_room import find_room, from_unit, in_unit, LimitRoom, short, UNITS
from ssik_ros.view.relaxations import are_angles
from ssik_ros.view.sessions.posture_session import PostureSession

STEP, DIGITS = {'rad': 0.001, 'deg': 0.1, 'm': 0.001}, {'rad': 3, 'deg': 1, 'm': 3}
"""Step of a slider, and digits after the point, for each unit."""
COLOURS = {LimitRoom.FREE: '#4a90d9', LimitRoom.NEAR: '#f59f00', LimitRoom.AT: '#e03131'}
HINTS = {LimitRoom.FREE: '', LimitRoom.NEAR: 'near a limit', LimitRoom.AT: 'at a limit'}


class JointPanel(Panel):
    """Bars and sliders of all joint variables that a user moves; angles in radians or degrees."""

    def __init__(self, page: BasePage[PostureSession]) -> None:
        """
        Make the bars and sliders.

        :param page: the page.
        """
        self._page, self._gui, session = page, page.gui, page.session
        self._is_angle = are_angles(session.robot, session.places)
        unit = self._gui.add_dropdown('angles in', UNITS, initial_value=page.angle_unit)
        post_change(page, unit, self._measure_in)
        self._bars = self._gui.add_html('')
        self._folder = self._gui.add_folder('Move')
        self._sliders: list[tuple[Any, float, float, str]] = []
        self._make_sliders(session)

    def _make_sliders(self, session: PostureSession) -> None:
        """Replace all sliders by new ones in the unit that is chosen now."""
        for slider, *_ in self._sliders:
            slider.remove()
        self._sliders = []
        with self._folder:
            for place in range(len(session.variable_names)):
                self._add_slider(session, place)

    def _add_slider(self, session: PostureSession, place: int) -> None:
        unit = self._unit(place)
        low, high = slider_range(float(session.lower[place]), float(session.upper[place]))
        low, high = in_unit(low, unit), in_unit(high, unit)
        value = float(np.clip(in_unit(float(session.joints[place]), unit), low, high))
        step = min(STEP[unit], high - low)
        marks = ((low, short(low)), (high, short(high)))
        name = session.variable_names[place]
        slider = self._gui.add_slider(name, low, high, step, value, marks=marks)
        slider.precision = DIGITS[unit]
        self._sliders.append((slider, low, high, unit))
        on_change(slider, partial(self._move, place, unit))

    def _unit(self, place: int) -> str:
        return self._page.angle_unit if self._is_angle[place] else 'm'

    def _measure_in(self, unit: str) -> None:
        self._page.angle_unit = unit
        self._make_sliders(self._page.session)

    def _move(self, place: int, unit: str, value: float) -> None:
        session = self._page.session

        def move() -> None:
            q = session.joints.copy()
            q[place] = from_unit(value, unit)
            session.set_joints(q)

        self._page.post(move, ('joint', place), gesture=('joint', place))

    def show(self, session: PostureSession) -> None:
        self._move_sliders(session)
        # While a target is dragged, a browser without a graphics card has no time for more than the sliders.
        if not self._page.is_dragging:
            self._draw(session)

    def _move_sliders(self, session: PostureSession) -> None:
        for (slider, low, high, unit), value in zip(self._sliders, session.joints.tolist()):
            slider.value = min(max(in_unit(value, unit), low), high)

    def show_details(self, session: PostureSession) -> None:
        self._move_sliders(session)
        self._draw(session)

    def _draw(self, session: PostureSession) -> None:
        units = list(map(self._unit, range(len(self._sliders))))
        self._bars.content = draw_bars(
            session.variable_names, session.joints, (session.lower, session.upper), units
        )


def slider_range(low: float, high: float) -> tuple[float, float]:
    """
    Return the range (low, high) of a joint's slider [rad or m].

    :func:`finite_range` replaces infinite limits. Equal limits get a range that is not empty.

    :param low, high: limits of the joint [rad or m].
    """
    if not math.isfinite(high - low):
        low, high = map(float, finite_range(low, high))
    return (low, high) if high > low else (low, low + 1e-9)


def draw_bars(
    names: Sequence[str],
    q: FloatArray,
    limits: tuple[FloatArray, FloatArray],
    units: Sequence[str],
) -> str:
    """
    Return HTML with a row for each joint: name, bar between the limits, value.

    The bar is orange within 5 % of the range from a limit, and red at a limit. A joint that lacks a limit is never
    marked.

    :param names: names of the joint variables; they are escaped, because the URDF may be untrusted.
    :param q: (n,) posture [rad or m].
    :param limits: (n,) lower and upper limits [rad or m].
    :param units: unit of each shown value: ``rad``, ``deg`` or ``m``.
    """
    rooms = find_room(q, *limits)
    rows = [
        _draw_bar(name, float(value), (float(low), float(high)), unit, room)
        for name, value, low, high, unit, room in zip(names, q, *limits, units, rooms)
    ]
    return f'<table style="width:100%;font-size:12px;padding:0 0.6em">{"".join(rows)}</table>'


def _draw_bar(
    name: str, value: float, limits: tuple[float, float], unit: str, room: LimitRoom
) -> str:
    """
    Return the HTML of one joint's row.

    :param value, limits: [rad or m].
    :param unit: unit of the shown value.
    :param room: how near the joint is to a limit; chooses the colour.
    """
    low, high = slider_range(*limits)
    part = 100.0 * min(max((value - low) / (high - low), 0.0), 1.0)
    colour, hint = COLOURS[room], HINTS[room]
    track = 'height:8px;border-radius:4px;background:rgba(128,128,128,0.25);overflow:hidden'
    bar = f'<div style="width:{part:.1f}%;height:100%;background:{colour}"></div>'
    number = f'{short(in_unit(value, unit))} {unit}'
    weight = 'bold' if room else 'normal'
    return (
        f'<tr data-room="{room.name}" title="{hint}"><td>{html.escape(name)}</td>'
        f'<td style="width:45%"><div style="{track}">{bar}</div></td>'
        f'<td style="text-align:right;white-space:nowrap;font-weight:{weight}">{number}</td></tr>'
    )
