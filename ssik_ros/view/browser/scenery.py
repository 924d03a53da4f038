"""Floor, lights and cameras of viser's scene, and the box around a robot."""

import itertools
import math
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.view.pictures.robot_solids import RobotSolids
from ssik_ros.view.pictures.solids import box_around

VIEW = np.array((0.65, -0.65, 0.39))
"""Direction from the middle of the robot to the first camera; its length is nearly 1."""
FOV = math.radians(75.0)
"""Vertical angle of view with which viser begins [rad]."""
CAMERA_MARGIN = 1.05
"""Distance of the camera, divided by the distance at which a sphere around the box touches the edges [1]."""
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
    return box_around(corners @ state.root_pose[:3, :3].T + state.root_pose[:3, 3])


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
    scene = server.scene
    position = (0.0, 0.0, float(bounds[0, 2]))
    scene.add_grid('/floor', 4.0 * size, 4.0 * size, position=position)
    # Lights that a browser without a graphics card draws fast: no shadows, and no reflections of a room.
    scene.configure_default_lights(cast_shadow=False)
    scene.configure_environment_map(None)
    scene.add_light_hemisphere('/sky', sky_color=SKY, ground_color=GROUND, intensity=1.7)
    set_first_camera(server, bounds)


def set_first_camera(server: Any, bounds: FloatArray) -> None:
    """
    Set the camera with which each new browser begins, so that a box fills a wide picture.

    The cameras of other browsers stay where they are.

    :param server: viser's server.
    :param bounds: (2, 3) corners of the box [m].
    """
    place, look_at = place_camera(bounds, VIEW, FOV, 1.0)
    camera = server.initial_camera
    if not np.array_equal(camera.position, place):
        camera.position, camera.look_at = tuple(place), tuple(look_at)


def turn_camera(client: Any, bounds: FloatArray) -> None:
    """
    Move the camera of a browser so that a box fills the picture; its direction of view stays.

    :param client: viser's client of the browser.
    :param bounds: (2, 3) corners of the box [m].
    """
    camera = client.camera
    direction = np.asarray(camera.position) - np.asarray(camera.look_at)
    position, look_at = place_camera(bounds, direction, float(camera.fov), float(camera.aspect))
    with client.atomic():
        camera.position = tuple(position)
        camera.look_at = tuple(look_at)
    client.flush()


def place_camera(
    bounds: FloatArray, direction: FloatArray, fov: float, aspect: float
) -> tuple[FloatArray, FloatArray]:
    """
    Return the position of a camera, and the point at which it looks, so that the picture just shows a whole box [m].

    :param bounds: (2, 3) corners of the box [m].
    :param direction: (3,) from the box to the camera, of any length.
    :param fov: vertical angle of view [rad].
    :param aspect: width of the picture divided by its height.
    """
    middle, radius = bounds.mean(axis=0), 0.5 * float(np.linalg.norm(bounds[1] - bounds[0]))
    back = direction / max(float(np.linalg.norm(direction)), 1e-9)
    half = math.atan(math.tan(0.5 * fov) * min(1.0, aspect))
    return middle + CAMERA_MARGIN * radius / math.sin(half) * back, middle
