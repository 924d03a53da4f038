"""Paths and pictures of an arm: calls that bring the planner and the viewer along, each at its first use."""

from pathlib import Path
import sys
import tempfile
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import names_keywords, refuse
from ssik_ros.errors import InvalidOption
from ssik_ros.manipulator.arm_geometry import ArmGeometry
from ssik_ros.problem.pose_input import read_poses

if TYPE_CHECKING:
    from ssik_ros.manipulator.arm_scene import ArmScene
    from ssik_ros.paths.requests import ToolPath
    from ssik_ros.view.session import Session


class ArmPicture:
    """A picture of an arm that notebooks show; ``png`` holds the bytes of the file."""

    def __init__(self, png: bytes) -> None:
        """Take the bytes of a PNG file."""
        self.png = png

    def _repr_png_(self) -> bytes:
        """Return the picture for a notebook."""
        return self.png


class ArmTasks(ArmGeometry):
    """An arm that plans tool paths and shows itself."""

    def plan(
        self, poses: ArrayLike, scene: 'ArmScene | None' = None, **settings: Any
    ) -> 'ToolPath':
        """
        Return the best joint path through poses, see :func:`ssik_ros.paths.planner.plan_tool_path`.

        :param poses: (m, 4, 4) poses of the end effector in the base, or a list of poses in any form.
        :param scene: objects that the path keeps clear of, from :meth:`scene`; None checks no collisions.
        :param settings: fields of :class:`ssik_ros.paths.requests.ToolPathRequest`, such as ``start``, ``tolerance``,
            ``spin_axis``, ``clearance`` and ``timeout``.
        :raises SsikError: for an arm without a closed form, and for invalid settings.
        """
        from ssik_ros.paths.planner import plan_tool_path

        if scene is not None:
            if 'obstacles' in settings:
                raise InvalidOption('Give a scene or obstacles, not both.')
            if not hasattr(scene, 'objects'):
                refuse('scene', scene, 'a scene, as arm.scene(boxes=...) returns it')
            settings['obstacles'] = scene.objects
        return plan_tool_path(self.robot, self.group, read_poses(poses), **settings)

    @names_keywords
    def show(
        self,
        q: ArrayLike | None = None,
        *,
        scene: 'ArmScene | None' = None,
        picture: str | Path | None = None,
        port: int = 8080,
    ) -> Any:
        """
        Show the arm in the browser, in a notebook, or as a file.

        :param q: (dof,) joint vector [rad or m]; None means :attr:`neutral`.
        :param scene: objects around the arm, from :meth:`scene`.
        :param picture: a PNG or JPEG file to draw instead of a page.
        :param port: port of the page.
        :returns: the path of the picture; in a notebook an :class:`ArmPicture`; else the page, which lives as long as the
            program or until its ``close()``.
        :raises SolverError: when viser is missing; ``pip install 'ssik_ros[view]'`` brings it.
        """
        session = self._session(self.neutral if q is None else q, scene)
        if picture is not None:
            return _draw(session, Path(picture))
        if 'ipykernel' in sys.modules:
            with tempfile.TemporaryDirectory() as folder:
                return ArmPicture(_draw(session, Path(folder) / 'arm.png').read_bytes())
        from ssik_ros.view.browser.page import describe_access, Page

        page = Page(session, port=port)
        print(describe_access(page), flush=True)
        page.open_in_browser()
        return page

    def _session(self, q: ArrayLike, scene: 'ArmScene | None') -> 'Session':
        """Return a viewer session that shows the arm at a joint vector, among objects."""
        from ssik_ros.view.session import Session

        rows = self._rows('show', q)
        if rows.ndim != 1:
            raise InvalidOption(f'show draws one posture, not {len(rows)}.')
        session = Session(self.robot, self.group)
        for item in () if scene is None else scene.in_model:
            session.put_obstacle(item)
        session.show_state(session.state_with(np.array(rows)))
        return session


def _draw(session: 'Session', path: Path) -> Path:
    """Draw a session into a file, and return its path."""
    from ssik_ros.view.recordings import take_snapshot

    take_snapshot(session, path)
    return path
