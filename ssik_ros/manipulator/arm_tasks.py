"""Methods of an arm that plan paths and show the arm; planner and viewer are imported at their first use."""

from collections.abc import Mapping
import dataclasses
from functools import partial
from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import names_keywords, refuse
from ssik_ros.errors import InvalidOption
from ssik_ros.manipulator.arm_geometry import ArmGeometry
from ssik_ros.problem.pose_input import read_poses

if TYPE_CHECKING:
    from ssik_ros.manipulator.arm_path import ArmPath
    from ssik_ros.manipulator.arm_scene import ArmScene
    from ssik_ros.view.sessions.session import Session


class ArmTasks(ArmGeometry):
    """An arm with the methods ``plan``, for joint paths through tool poses, and ``show``, for pages and pictures."""

    def plan(
        self, poses: ArrayLike, scene: 'ArmScene | None' = None, **settings: Any
    ) -> 'ArmPath':
        """
        Return a joint path through tool poses; ``show()`` plays it.

        If no path exists, the result has the cause; see :func:`ssik_ros.paths.planner.plan_tool_path`.

        :param poses: (m, 4, 4) poses of the end effector in the base, or a list of poses in any form.
        :param scene: objects that the path keeps clear of, from :meth:`scene`; None checks no collisions, not even of
            the arm with itself.
        :param settings: fields of :class:`ssik_ros.paths.requests.ToolPathRequest`, such as ``start``, ``tolerance``,
            ``spin_axis``, ``clearance`` and ``timeout``.
        :raises SsikError: for an arm without a closed form, invalid settings, and anything but poses.
        """
        from ssik_ros.manipulator.arm_path import ArmPath
        from ssik_ros.paths.planner import plan_tool_path

        if scene is not None:
            if 'obstacles' in settings:
                raise InvalidOption('Give a scene or obstacles, not both.')
            if not hasattr(scene, 'objects'):
                refuse('scene', scene, 'a scene, as arm.scene(boxes=...) returns it')
            settings['obstacles'] = scene.objects
        path = plan_tool_path(self.robot, self.group, read_poses(poses), **settings)
        values = {field.name: getattr(path, field.name) for field in dataclasses.fields(path)}
        session = partial(self._session, None, scene, settings.get('locked'))
        return ArmPath(**values, open_session=session)

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
        :param picture: an HTML file or a picture (PNG, JPEG, BMP, TIFF or WebP) to write instead of opening a page.
        :param port: port of the page.
        :returns: the path of the picture; in a notebook a scene that can be turned, or a picture without viser;
            else the page. The page lives as long as the program or until its ``close()``.
        :raises SolverError: when viser is missing for a page or an HTML file; ``pip install 'ssik_ros[view]'``
            brings it.
        :raises InvalidOption: for a picture of another kind or that cannot be written, for a port that cannot be used,
            and for several joint vectors.
        :raises DimensionMismatch: for another number of joint values, or one that is not finite.
        """
        from ssik_ros.manipulator.arm_display import show_session

        return show_session(self._session(q, scene), picture, port)

    def _session(
        self,
        q: ArrayLike | None,
        scene: 'ArmScene | None' = None,
        locked: Mapping[str, float] | None = None,
    ) -> 'Session':
        """
        Return a viewer session that shows the arm at a posture among objects.

        :param q: (dof,) joint vector [rad or m]; None means :attr:`neutral`.
        :param scene: the objects; None means an empty scene.
        :param locked: values of further variables of the robot, by name.
        :raises InvalidOption: for several postures.
        :raises DimensionMismatch: for another number of joint values, or one that is not finite.
        :raises ValueError: for a name in ``locked`` that the robot does not have.
        """
        from ssik_ros.view.sessions.session import Session

        rows = self._rows('show', self.neutral if q is None else q)
        if rows.ndim != 1:
            raise InvalidOption(f'show draws one posture, not {len(rows)}.')
        session = Session(self.robot, self.group)
        for item in () if scene is None else scene.in_model:
            session.put_obstacle(item)
        state = session.state_with(np.array(rows))
        for name, value in (locked or {}).items():
            state.positions[self.robot.variable_names.index(name)] = value
        session.show_state(state._replace(positions=self.robot.with_mimic(state.positions)))
        return session
