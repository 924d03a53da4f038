"""Floor, lights and the first camera position of viser's scene, and the box around a robot."""

import itertools
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.view.pictures.robot_solids import RobotSolids

VIEW = np.array((0.79, -0.79, 0.47))
"""Where the camera is, as seen from the middle of the robot and divided by its size."""
FIRST_DISTANCE = 0.8
"""Distance of the first camera of a wide screen, as a part of :data:`VIEW`."""
SKY, GROUND = (255, 255, 255), (190, 190, 200)
"""Colours of the light from above and from below."""


def bounds_of(solids: RobotSolids, state: FullState) -> FloatArray:
    """
    Return the corners (2, 3) of the box around a robot: least and largest coordinates in the model frame [m].

    :param solids: surfaces of the robot.
    :param state: full state of the robot.
    """
    bounds = solids.bounds(state.positions)
    # A base that has moved may be turned, so all corners of the box count.
    corners = np.array(list(itertools.product(*bounds.T)))
    moved = corners @ state.root_pose[:3, :3].T + state.root_pose[:3, 3]
    return np.array((moved.min(axis=0), moved.max(axis=0)))


def size_of(bounds: FloatArray) -> float:
    """
    Return the length of the diagonal of a box, at least 0.001 [m].

    :param bounds: (2, 3) corners of the box [m].
    """
    return max(float(np.linalg.norm(bounds[1] - bounds[0])), 1e-3)


def set_scenery(server: Any, bounds: FloatArray, size: float) -> None:
    """
    Add floor and lights to the scene, and set the camera position with which each browser begins.

    :param server: viser's server.
    :param bounds: (2, 3) corners of the box around the robot [m].
    :param size: length of the diagonal of this box [m].
    """
    scene, middle = server.scene, bounds.mean(axis=0)
    position = (0.0, 0.0, float(bounds[0, 2]))
    scene.add_grid('/floor', 4.0 * size, 4.0 * size, position=position)
    # Lights that a browser without a graphics card draws fast: no shadows, and no reflections of a room.
    scene.configure_default_lights(cast_shadow=False)
    scene.configure_environment_map(None)
    scene.add_light_hemisphere('/sky', sky_color=SKY, ground_color=GROUND, intensity=1.7)
    server.initial_camera.position = tuple(middle + FIRST_DISTANCE * size * VIEW)
    server.initial_camera.look_at = tuple(middle)
