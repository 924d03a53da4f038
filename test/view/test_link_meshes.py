"""The meshes of a robot in a page: only changes are given to the library of the page."""

import numpy as np
import pytest

from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.view.browser.link_meshes import RobotMeshes
from ssik_ros.view.pictures.robot_solids import RobotSolids


class NodeDouble:
    """Adds each assignment to a log, as (name of the node, name of the property)."""

    def __init__(self, log, name):
        vars(self).update(log=log, name=name)

    def __setattr__(self, key, value):
        self.log.append((self.name, key))


class SceneDouble:
    """A scene of such nodes."""

    def __init__(self):
        self.log = []

    def add_frame(self, name, **options):
        return NodeDouble(self.log, name)

    def add_mesh_simple(self, name, *shape, **options):
        return NodeDouble(self.log, name)


@pytest.fixture(scope='module')
def robot():
    files = find_moveit_config('panda')
    return load_robot(files.urdf_path, files.srdf_path)


@pytest.fixture
def meshes(robot):
    """Give the meshes of a robot that is shown in its default state, and the log of its scene."""
    scene = SceneDouble()
    meshes = RobotMeshes(scene, RobotSolids(robot), '/robot')
    meshes.place(FullState(robot.default_positions(), np.eye(4)))
    assert {name for name, _ in scene.log} == {f'/robot/{link}' for link in meshes.links}
    scene.log.clear()
    return meshes, scene.log


def test_a_robot_at_rest_sends_nothing(robot, meshes):
    shown, log = meshes
    shown.mark({})
    shown.place(FullState(robot.default_positions(), np.eye(4)))
    assert not log
    red = {'panda_link3': (1.0, 0.0, 0.0)}
    shown.mark(red)
    assert log
    log.clear()
    shown.mark(dict(red))
    assert not log
    shown.mark({})
    assert log


def test_only_links_that_move_are_placed(robot, meshes):
    shown, log = meshes
    positions = robot.default_positions()
    positions[robot.group('panda_arm').idx_q[3]] += 0.1
    shown.place(FullState(positions, np.eye(4)))
    moved = {name for name, _ in log}
    assert '/robot/panda_link4' in moved and '/robot/panda_link7' in moved
    assert '/robot/panda_link3' not in moved
    log.clear()
    lifted = np.eye(4)
    lifted[2, 3] = 0.1
    shown.place(FullState(positions, lifted))
    assert {name for name, _ in log} == {f'/robot/{link}' for link in shown.links}
