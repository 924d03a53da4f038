"""The panel of obstacles: add a box, a sphere or a cylinder, drag it, remove it."""

from functools import partial
import itertools
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.view.browser.controls import on_event, on_press
from ssik_ros.view.browser.link_meshes import add_obstacle, page_colour, page_pose
from ssik_ros.view.browser.page_panels import BasePage, Panel, plain, post_refresh
from ssik_ros.view.obstacles import KINDS, make_solid, MOST_OBSTACLES, OBSTACLE
from ssik_ros.view.pose_text import read_numbers
from ssik_ros.view.sessions.posture_session import PostureSession

COLOUR = page_colour(OBSTACLE)
CHOSEN = page_colour((0.85, 0.65, 0.3))
COLLIDING = page_colour((0.9, 0.15, 0.15))
FORMS = 'box: the lengths of its edges; sphere: its radius; cylinder: height and radius'
FIRST_SIZE = {'box': 3, 'sphere': 1, 'cylinder': 2}
NOTHING = 'none'
TURN = 0.7
"""Between two new obstacles, as seen from the target [rad]."""
OBSTACLE_HANDLE = 0.18
"""Size of the handle of an obstacle, as a share of the robot's size [1]."""


class ObstaclePanel(Panel):
    """Adds and removes obstacles, and draws them."""

    def __init__(self, page: BasePage[PostureSession]) -> None:
        """
        Make the controls, and the handle of the chosen obstacle.

        :param page: the page.
        """
        self._page, gui = page, page.gui
        self._meshes: dict[str, Any] = {}
        self._drawn: tuple[WorldObject, ...] = ()
        self._added = self._count = 0
        with gui.add_folder('Add'):
            self._kind = gui.add_dropdown('shape', tuple(KINDS))
            size = round(0.12 * page.size, 2)
            self._size = gui.add_text('size [m]', f'{size:g} {size:g} {size:g}', hint=FORMS)
            on_press(gui.add_button('Add an obstacle'), self._add)
        self._choice = gui.add_dropdown('chosen', (NOTHING,), hint='or click it in the scene')
        self._remove_button = gui.add_button('Remove the chosen one', disabled=True)
        on_press(self._remove_button, self._remove)
        self._text = gui.add_markdown('')
        post_refresh(page, self._choice)
        self._handle = page.add_handle('/obstacle_handle', OBSTACLE_HANDLE, self._move)
        self._handle.node.visible = False

    def _move(self, pose: FloatArray) -> None:
        """Move the chosen obstacle to a pose (4, 4) in the model frame."""
        name = str(self._choice.value)
        if name != NOTHING:
            self._page.session.move_obstacle(name, pose)

    def _add(self) -> None:
        """Post an event that adds an obstacle of the chosen shape and size near the first target, and chooses it."""
        kind, text, page = str(self._kind.value), str(self._size.value), self._page

        def add() -> None:
            session = page.session
            if len(session.obstacles) >= MOST_OBSTACLES:
                raise InvalidOption(f'There are {MOST_OBSTACLES} obstacles; remove one first.')
            names = {item.name for item in session.obstacles}
            number = next(
                k for k in itertools.count(self._added + 1) if f'{kind} {k}' not in names
            )
            name, sizes = f'{kind} {number}', read_numbers(text)[: FIRST_SIZE[kind]]
            obstacle = make_solid(name, kind, sizes, self._free_place(number))
            self._added, session.avoids_collisions = number, session.can_avoid
            session.put_obstacle(obstacle)
            self._show_names(session)
            self._choice.value = name

        page.post(add)

    def _free_place(self, number: int) -> FloatArray:
        """
        Return a pose (4, 4) in the model frame for a new obstacle, at some distance from the first target.

        The first obstacle is beyond the target as seen from the base; each further one is TURN radians further around
        the target.

        :param number: number of the obstacle, from 1 on.
        """
        session = self._page.session
        target = next(iter(session.targets.values()))[:3, 3]
        out = (target - session.state.root_pose[:3, 3])[:2]
        angle = np.arctan2(out[1], out[0]) + TURN * (number - 1)
        apart = 0.3 * self._page.size * np.array((np.cos(angle), np.sin(angle), 0))
        return pose_matrix(target + apart, np.eye(3))

    def _remove(self) -> None:
        name = str(self._choice.value)
        if name != NOTHING:
            self._page.post(partial(self._page.session.remove_obstacle, name))

    def show(self, session: PostureSession) -> None:
        if session.obstacles is not self._drawn:
            self._draw(session)
        name = str(self._choice.value)
        chosen = next((item for item in session.obstacles if item.name == name), None)
        self._handle.node.visible = chosen is not None
        self._remove_button.disabled = chosen is None
        if chosen is not None:
            self._handle.place(chosen.pose)

    def _draw(self, session: PostureSession) -> None:
        """Add, move and remove meshes so that they show the obstacles of the session."""
        before = {item.name: item for item in self._drawn}
        self._drawn = session.obstacles
        now = {item.name: item for item in self._drawn}
        for name in set(self._meshes) - set(now):
            self._meshes.pop(name).remove()
        for name, item in now.items():
            if name in before and before[name].shapes is not item.shapes:
                self._meshes.pop(name).remove()
            if name not in self._meshes:
                self._meshes[name] = self._add_mesh(item)
            mesh = self._meshes[name]
            mesh.wxyz, mesh.position = page_pose(item.pose)
        self._show_names(session)

    def _add_mesh(self, item: WorldObject) -> Any:
        """Add the mesh of an obstacle to the scene, and return it; a click on it chooses the obstacle."""
        self._count += 1
        mesh = add_obstacle(self._page.scene, f'/obstacles/{self._count}', item)
        on_event(mesh.on_click, lambda event: self._choose(item.name))
        return mesh

    def _choose(self, name: str) -> None:
        self._choice.value = name
        self._page.post(lambda: None)

    def _show_names(self, session: PostureSession) -> None:
        names = (NOTHING, *(item.name for item in session.obstacles))
        # viser chooses the first name if the chosen one is not among them.
        if tuple(self._choice.options) != names:
            self._choice.options = names

    def show_details(self, session: PostureSession) -> None:
        hit = {name for c in session.contacts for name in (c.first, c.second)}
        for name, mesh in self._meshes.items():
            colour = CHOSEN if name == self._choice.value else COLOUR
            mesh.color = COLLIDING if name in hit else colour
        self._text.content = self._say(session)

    def _say(self, session: PostureSession) -> str:
        if session.unchecked:
            return f'Collisions are not checked: {plain(session.unchecked)}'
        if not session.can_avoid:
            return 'Collisions are shown in red; this solver does not avoid them.'
        how = 'avoids' if session.avoids_collisions else 'ignores'
        return f'The solver {how} collisions; tick or untick it in the tab *Target*.'
