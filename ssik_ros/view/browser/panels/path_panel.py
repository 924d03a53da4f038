"""The panel of a joint path: play, pause, a slider over the time, and files to save."""

from collections.abc import Callable
from functools import partial
import math
from pathlib import Path
import tempfile
import threading
import time
from typing import Any

import numpy as np

from ssik_ros.errors import InvalidOption
from ssik_ros.view.browser.background_job import BackgroundJob, JobRun
from ssik_ros.view.browser.controls import on_change, on_event, on_press
from ssik_ros.view.browser.link_meshes import add_tip_lines
from ssik_ros.view.browser.page_panels import BasePage, Panel
from ssik_ros.view.browser.scene_pictures import on_white
from ssik_ros.view.copied_commands import write_path_python
from ssik_ros.view.pictures.robot_pictures import save_animation
from ssik_ros.view.playback import Playback, write_csv, write_joint_trajectory
from ssik_ros.view.sessions.posture_session import PostureSession

FRAME_INTERVAL = 0.04
"""Time between two postures while a path plays [s]."""
SPEEDS = {'1/4': 0.25, '1': 1.0, '4': 4.0}
WRITERS: dict[str, tuple[str, Callable[[Any, Playback], str]]] = {
    'CSV': ('path.csv', lambda session, path: write_csv(path)),
    'JointTrajectory (YAML)': (
        'trajectory.yaml',
        lambda session, path: write_joint_trajectory(path),
    ),
    'Python': ('path.py', lambda session, path: write_path_python(session)),
}
"""Name of the file and its content, by the name of the form."""
FILM_FORM, FILM = 'film (GIF)', 'path.gif'
FILM_RATE, FILM_WIDTH, MOST_PICTURES = 10.0, 480, 60
"""Pictures in a second of a film, their width [pixels], and the most of a film."""


class PathPanel(Panel):
    """Plays and saves the joint path of a page; its controls are hidden while the page has no path."""

    def __init__(self, page: BasePage[PostureSession]) -> None:
        """
        Make the controls.

        :param page: the page; its ``extras`` may get a path at any time.
        """
        self._page, gui = page, page.gui
        self._path: Playback | None = None
        self._lines: list[Any] = []
        self._slider = gui.add_slider('time [s]', 0.0, 1.0, 1e-3, 0.0, visible=False)
        self._button = gui.add_button('Play', visible=False)
        self._speed = gui.add_dropdown('speed', tuple(SPEEDS), initial_value='1', visible=False)
        self._text = gui.add_markdown('Add waypoints, and plan a path through them.')
        self._form = gui.add_dropdown('save as', (*WRITERS, FILM_FORM), visible=False)
        save = gui.add_button('Save the path', visible=False)
        on_change(self._slider, self._scrub)
        on_press(self._button, self._press)
        on_event(save.on_click, lambda event: page.post(partial(self._save, event.client)))
        self._controls = (self._slider, self._button, self._speed, self._form, save)
        self._job = BackgroundJob(page, self._say)
        self._now = 0.0
        self._shown: object = None
        self._run: object = None
        """Identity of the present playback, so that an earlier one ends when Play is pressed again."""

    def _take(self, path: Playback | None) -> None:
        """Show the controls for a path and draw the lines of its tips; None hides the controls and removes the lines."""
        page, self._path, self._now = self._page, path, 0.0
        page.is_playing = False
        for line in self._lines:
            line.remove()
        self._lines = []
        for control in self._controls:
            control.visible = path is not None
        if path is None:
            return
        # The page writes the end below the slider: milliseconds are enough.
        self._slider.max = max(math.ceil(1e3 * path.duration), 1) / 1e3
        self._say('')
        self._lines = add_tip_lines(page.scene, path.tip_lines(page.session), page.size)

    def _say(self, text: str) -> None:
        """Show a text about the progress of a film; for an empty text, the number of points and the duration of the path."""
        if self._path is not None:
            size = f'{len(self._path.rows)} points, {self._path.duration:.2f} s.'
            self._text.content = text or size

    def _save(self, client: Any) -> None:
        """Send the path to a browser as a file of the chosen form; a film is recorded first."""
        path, form = self._path, str(self._form.value)
        if client is None or path is None:
            return
        if form == FILM_FORM:
            self._film(client)
            return
        name, write = WRITERS[form]
        text = write(self._page.session, path)
        client.send_file_download(name, text.encode(), save_immediately=True)

    def _film(self, client: Any) -> None:
        """
        Start a job that plays the path, takes pictures of the scene in a browser, and sends them to it as a film.

        If the job is running already, stop it.
        """
        if self._job.is_running:
            self._job.stop()
            return

        def work(run: JobRun) -> Callable[[], None]:
            data = self._take_pictures(client, run)
            return partial(client.send_file_download, FILM, data, save_immediately=True)

        self._page.is_playing = True
        self._shown = None
        self._job.start(work)

    def _take_pictures(self, client: Any, run: JobRun) -> bytes:
        """
        Show the path at regular times, take a picture of each in a browser, and return a GIF of the pictures as bytes.

        A cancelled job gives the pictures so far.

        :raises InvalidOption: if another event moves the robot meanwhile, if the path is paused or replaced, or as
            :meth:`BasePage.take_picture`.
        """
        path, page, images = self._path, self._page, []
        duration = 0.0 if path is None else path.duration
        count = min(MOST_PICTURES, max(2, round(FILM_RATE * duration)))
        for number, seconds in enumerate(np.linspace(0.0, duration, count).tolist(), 1):
            page.post(partial(self._go, seconds), 'path', gesture='path')
            images.append(on_white(page.take_picture(client, FILM_WIDTH)))
            if path is not self._path or not page.is_playing:
                raise InvalidOption('The film ended early: somebody moved the robot.')
            if run.is_cancelled:
                break
            run.say(f'Filming, {number} of {count} pictures. Press again to stop.')
        page.is_playing = False
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, FILM)
            save_animation(file, images, (count - 1) / max(duration, 0.1))
            return file.read_bytes()

    def _scrub(self, value: float) -> None:
        self._page.is_playing = False
        self._page.post(lambda: self._go(value), 'path', gesture='path')

    def _go(self, seconds: float) -> None:
        """Show the robot at a time of the path, clamped to its duration; only for the thread of the session."""
        if self._path is None:
            return
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
        """
        Post postures of the path at their times until its end, a pause, or another event that moves the robot.

        :param run: identity of this playback; a later one ends it.
        """
        path = self._path
        if path is None:
            self._page.is_playing = False
            return
        begun = 0.0 if self._now >= path.duration else self._now
        speed, start = SPEEDS[str(self._speed.value)], time.monotonic()
        self._page.post(lambda: self._go(begun), 'path', gesture='path')
        while self._page.is_playing and begun < path.duration:
            time.sleep(FRAME_INTERVAL)
            if run is not self._run or path is not self._path:
                return
            seconds = begun + speed * (time.monotonic() - start)
            self._page.post(partial(self._go, seconds), 'path', gesture='path')
            if seconds >= path.duration:
                break
        self._page.is_playing = False
        self._page.post(lambda: None, 'path end')

    def show(self, session: PostureSession) -> None:
        if self._page.extras.playback is not self._path:
            self._take(self._page.extras.playback)
        if (
            self._page.is_playing
            and self._shown is not None
            and session.outcome is not self._shown
        ):
            self._page.is_playing = False
        self._slider.value = self._now
        self._button.label = 'Pause' if self._page.is_playing else 'Play'
