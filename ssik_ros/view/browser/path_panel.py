"""A joint path with a scrubber: play, pause, and a slider over the time."""

from functools import partial
import threading
import time
from typing import Any

import numpy as np

from ssik_ros.view.browser.controls import on_change, on_press
from ssik_ros.view.browser.link_meshes import page_colour
from ssik_ros.view.browser.panels import Host
from ssik_ros.view.posture_session import PostureSession

FRAME_INTERVAL = 0.04
"""Time between two postures while a path plays [s]."""
SPEEDS = {'1/4': 0.25, '1': 1.0, '4': 4.0}
LINE = page_colour((0.1, 0.55, 0.75))


class PathPanel:
    """Plays the path of a page."""

    def __init__(self, gui: Any, page: Host) -> None:
        """
        Make the controls, and draw the line of each tip.

        :param gui: viser's controls.
        :param page: has a path.
        """
        assert page.extras.playback is not None
        self._page, self._path = page, page.extras.playback
        duration = max(self._path.duration, 1e-3)
        self._slider = gui.add_slider('time [s]', 0.0, duration, duration / 1000.0, 0.0)
        self._button = gui.add_button('Play')
        self._speed = gui.add_dropdown('speed', tuple(SPEEDS), initial_value='1')
        gui.add_markdown(f'{len(self._path.rows)} points, {duration:.2f} s.')
        on_change(self._slider, self._scrub)
        on_press(self._button, self._press)
        for number, points in enumerate(self._path.tip_lines(page.session)):
            page.scene.add_line_segments(
                f'/path/{number}',
                np.stack((points[:-1], points[1:]), axis=1).astype(np.float32),
                LINE,
                thickness=0.005 * page.size,
            )
        self._now = 0.0
        self._shown: object = None
        self._run: object = None
        """Identity of the present playback, so that an earlier one ends when Play is pressed again."""

    def _scrub(self, value: float) -> None:
        self._page.is_playing = False
        self._page.post(lambda: self._go(value), 'path', gesture='path')

    def _go(self, seconds: float) -> None:
        """Show the robot at a time; called in the thread of the session."""
        self._now = min(max(seconds, 0.0), self._path.duration)
        self._path.show(self._page.session, self._now)
        self._shown = self._page.session.outcome

    def _press(self) -> None:
        if self._page.is_playing:
            self._page.is_playing = False
            self._page.post(lambda: None)
            return
        self._page.is_playing = True
        run = self._run = object()
        threading.Thread(target=self._play, args=(run,), name='path', daemon=True).start()

    def _play(self, run: object) -> None:
        """Post one posture after the other until the end, a press, or another event that moves the robot."""
        begun = 0.0 if self._now >= self._path.duration else self._now
        speed, start = SPEEDS[str(self._speed.value)], time.monotonic()
        self._page.post(lambda: self._go(begun), 'path', gesture='path')
        while self._page.is_playing and begun < self._path.duration:
            time.sleep(FRAME_INTERVAL)
            if run is not self._run:
                return
            seconds = begun + speed * (time.monotonic() - start)
            self._page.post(partial(self._go, seconds), 'path', gesture='path')
            if seconds >= self._path.duration:
                break
        self._page.is_playing = False
        self._page.post(lambda: None, 'path end')

    def show(self, session: PostureSession) -> None:
        if (
            self._page.is_playing
            and self._shown is not None
            and session.outcome is not self._shown
        ):
            self._page.is_playing = False
        self._slider.value = self._now
        label = 'Pause' if self._page.is_playing else 'Play'
        if self._button.label != label:
            self._button.label = label

    def show_details(self, session: PostureSession) -> None:
        """Everything is shown at once."""
