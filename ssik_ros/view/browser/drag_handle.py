"""A handle in viser's scene with which a user drags a pose, from any browser."""

from collections.abc import Callable
from typing import Any

from ssik_ros.arrays import FloatArray
from ssik_ros.view.browser.controls import on_event
from ssik_ros.view.browser.link_meshes import page_pose, read_page_pose


class DragHandle:
    """Arrows, planes and arcs that a user drags; the program moves them only while nobody holds them."""

    def __init__(
        self,
        scene: Any,
        name: str,
        size: float,
        post: Callable[..., None],
        move: Callable[[FloatArray], None],
    ) -> None:
        """
        Add the handle to the scene.

        :param scene: viser's scene.
        :param name: name of the node in the scene.
        :param size: length of the arrows [m].
        :param post: puts an event into the queue of the session, as the method ``post`` of a page.
        :param move: called with the pose (4, 4) of the handle in the thread of the session.
        """
        self._post, self._move = post, move
        self.is_held = False
        """Whether a user holds the handle in any browser."""
        self._drags = 0
        self.node = scene.add_transform_controls(name, scale=size, depth_test=False)
        on_event(self.node.on_update, self._drag)

    def place(self, pose: FloatArray) -> None:
        """
        Move the handle to a pose, unless a user holds it.

        :param pose: (4, 4) in the model frame.
        """
        if not self.is_held:
            self.node.wxyz, self.node.position = page_pose(pose)

    def _drag(self, event: Any) -> None:
        """Post an event with the pose of the dragged handle; viser calls this in its own thread."""
        # viser sends the end of a drag also for a browser that disconnects in the middle of it.
        self.is_held = event.phase != 'end'
        self._drags += event.phase == 'start'
        pose, name = read_page_pose(event.target.wxyz, event.target.position), self.node.name
        self._post(lambda: self._move(pose), name, gesture=(name, self._drags))
