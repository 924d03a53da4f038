"""Tool paths of the tests: short lines for arms that come along."""

import numpy as np

from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot

DOWN = np.diag([1.0, -1.0, -1.0])


def robot(name):
    """Return a robot that comes along."""
    files = find_moveit_config(name)
    return load_robot(files.urdf_path, files.srdf_path, files.joint_limits_path)


def line(start, end, count, rotation=DOWN):
    """Return the poses of a straight line."""
    parts = np.linspace(0.0, 1.0, count)[:, None]
    places = np.asarray(start) + parts * (np.asarray(end) - np.asarray(start))
    return np.array([pose_matrix(place, rotation) for place in places])


def box(size, place, name='table'):
    """Return a box in the world."""
    shape = ObjectShape(SolidKind.BOX, size, np.eye(4))
    return WorldObject(name, pose_matrix(np.asarray(place, dtype=float), np.eye(3)), (shape,))
