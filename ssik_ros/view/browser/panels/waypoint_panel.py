"""The panel of waypoints: record the target, list and remove waypoints, and plan the joint path through them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ssik_ros.errors import counted
from ssik_ros.paths.requests import PathProgress
from ssik_ros.server.requests.poses import numbers_of_pose
from ssik_ros.view.browser.background_job import BackgroundJob, JobRun
from ssik_ros.view.browser.controls import on_press
from ssik_ros.view.browser.link_meshes import line_segments, page_colour, page_pose
from ssik_ros.view.browser.page_panels import BasePage, Panel, plain
from ssik_ros.view.playback import Playback
from ssik_ros.view.sessions.session import Session
from ssik_ros.view.waypoints import (
    make_problem,
    plan_waypoints,
    record_waypoint,
    waypoints_in_base,
)

PLAN, STOP = 'Plan the path', 'Stop planning'
NONE = 'none'
WAYPOINT_AXIS_LENGTH = 0.06
"""Length of the axes of a waypoint, as a part of the robot's size."""
LINE = page_colour((0.55, 0.55, 0.6))


class WaypointPanel(Panel):
    """Records waypoints and plans a joint path through them; PathPanel plays the path."""

    def __init__(self, page: BasePage[Session]) -> None:
        """
        Make the controls.

        :param page: shows a session with one tip.
        """
        self._page, gui = page, page.gui
        self._drawn: list[Any] = []
        self._nodes: list[Any] = []
        on_press(gui.add_button('Add a waypoint', hint='where the target is now'), self._add)
        self._text = gui.add_markdown('')
        self._choice = gui.add_dropdown('waypoint', (NONE,))
        waypoints = page.session.waypoints
        actions: dict[str, Callable[[int], object]] = {
            'Go to this waypoint': self._go_to,
            'Remove this waypoint': waypoints.pop,
            'Remove all waypoints': lambda index: waypoints.clear(),
        }
        self._handles = [gui.add_button(label, visible=False) for label in actions]
        for handle, action in zip(self._handles, actions.values(), strict=True):
            on_press(handle, partial(page.post, partial(self._act, action)))
        self._plan_button = gui.add_button(PLAN, disabled=True)
        on_press(self._plan_button, self._press_plan)
        self._progress = gui.add_markdown('')
        self._job = BackgroundJob(page, self._say)

    def _say(self, text: str) -> None:
        self._progress.content = text

    def _add(self) -> None:
        def add() -> None:
            record_waypoint(self._page.session)
            self._list(self._page.session)
            self._choice.value = str(len(self._page.session.waypoints))

        self._page.post(add)

    def _act(self, action: Callable[[int], object]) -> None:
        """Call a function with the index of the chosen waypoint; do nothing if there are no waypoints."""
        name = str(self._choice.value)
        if name != NONE and int(name) <= len(self._page.session.waypoints):
            action(int(name) - 1)

    def _go_to(self, index: int) -> None:
        session = self._page.session
        with session.undo_step():
            session.move_target(session.tips[0], session.waypoints[index])

    def _press_plan(self) -> None:
        self._job.stop() if self._job.is_running else self._page.post(self._plan)

    def _plan(self) -> None:
        """Start a background job that plans the joint path through the present waypoints."""
        session = self._page.session
        problem, corners = make_problem(session), list(waypoints_in_base(session))

        def work(run: JobRun) -> Callable[[], None]:
            playback = plan_waypoints(
                problem,
                corners,
                lambda progress: run.say(describe(progress)),
                lambda: run.is_cancelled,
            )
            return lambda: self._take(playback)

        self._job.start(work)

    def _take(self, playback: Playback) -> None:
        """Make a planned path the path of the page, and show the robot at its start."""
        page = self._page
        page.extras = page.extras._replace(playback=playback)
        with page.session.undo_step():
            playback.show(page.session, 0.0)

    def show(self, session: Session) -> None:
        if len(session.waypoints) != len(self._drawn) or any(
            waypoint is not drawn for waypoint, drawn in zip(session.waypoints, self._drawn)
        ):
            self._list(session)
        self._plan_button.disabled = len(session.waypoints) < 2
        self._plan_button.label = STOP if self._job.is_running else PLAN

    def _list(self, session: Session) -> None:
        """Update the list of waypoints, the choices of the dropdown, and the drawn waypoints."""
        self._drawn = list(session.waypoints)
        count = len(self._drawn)
        names = tuple(str(k + 1) for k in range(count)) or (NONE,)
        chosen = self._choice.value
        if tuple(self._choice.options) != names:
            self._choice.options = names
            self._choice.value = chosen if chosen in names else names[-1]
        for handle in self._handles:
            handle.visible = count > 0
        self._text.content = '\n'.join(
            [f'{counted(count, "waypoint")}; a path needs two.' if count < 2 else '', '']
            + [
                f'{k + 1}. {plain(describe_place(waypoint))}'
                for k, waypoint in enumerate(self._drawn)
            ]
        )
        self._draw()

    def _draw(self) -> None:
        """Draw coordinate axes at each waypoint, and straight lines from each waypoint to the next."""
        for node in self._nodes:
            node.remove()
        self._nodes = []
        if not self._drawn:
            return
        scene, size, poses = self._page.scene, self._page.size, np.array(self._drawn)
        rows = [page_pose(pose) for pose in poses]
        axes = scene.add_batched_axes(
            '/waypoints/axes',
            np.array([row[0] for row in rows]),
            np.array([row[1] for row in rows]),
            axes_length=WAYPOINT_AXIS_LENGTH * size,
            axes_radius=0.06 * WAYPOINT_AXIS_LENGTH * size,
        )
        self._nodes.append(axes)
        self._nodes += [
            scene.add_label(f'/waypoints/{number}', f'waypoint {number}', position=row[1])
            for number, row in enumerate(rows, 1)
        ]
        if len(rows) > 1:
            lines = line_segments(poses[:, :3, 3])
            self._nodes.append(
                scene.add_line_segments('/waypoints/lines', lines, LINE, thickness=0.003 * size)
            )


def describe(progress: PathProgress) -> str:
    """
    Return a sentence about how far planning is: percentage and phase.

    :param progress: the progress.
    """
    return f'Planning, {100.0 * progress.part:.0f} %: {progress.phase}.'


def describe_place(pose: Any) -> str:
    """
    Return the position of a pose as text in whole millimetres, such as "x 400, y 0, z 500 mm".

    :param pose: (4, 4).
    """
    x, y, z, *_ = numbers_of_pose(pose)
    return f'x {1e3 * x:.0f}, y {1e3 * y:.0f}, z {1e3 * z:.0f} mm'
