"""Two arms on one cell never collide: judged by one robot that is made of both."""

import functools
from xml.etree import ElementTree

import numpy as np
import pytest

from ssik_ros.arrays import FloatArray
from ssik_ros.cli.command import main
from ssik_ros.errors import SsikError
from ssik_ros.kernels.geometry.rotations import pose_matrix
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.reach.arm_pairs import ArmPair
from ssik_ros.reach.place import find_places, PlaceResult, PlaceSettings
from ssik_ros.reach.place_file import read_cell
from ssik_ros.reach.placement import BaseSpace, PlacedArm, PlaceTasks

DOWN = np.diag([1.0, -1.0, -1.0])
UP = np.array([0.0, -1.57, 0.0, -1.57, 0.0, 0.0])
STRETCHED = np.zeros(6)


def task(x: float, y: float, z: float) -> FloatArray:
    """Return a pose with the tool down."""
    return pose_matrix(np.array([x, y, z]), DOWN)


@functools.cache
def loaded():
    """Return the robot, and the group of its arm."""
    files = find_moveit_config('ur5e')
    robot = load_robot(files.urdf_path, files.srdf_path)
    return robot, next(group for group in robot.groups.values() if len(group.tips) == 1)


def ur5e(x, y=0.0, rest=None) -> PlacedArm:
    """Return an arm whose base is in a range of x."""
    robot, group = loaded()
    low, high = (x, x) if np.isscalar(x) else x
    space = BaseSpace.box((low, y, 0, 0, 0, 0), (high, y, 0, 0, 0, 0))
    return PlacedArm(robot, group, space, (), rest)


@functools.cache
def urdf_text() -> str:
    """Return the URDF of an arm whose shapes are solids."""
    return find_moveit_config('ur5e').urdf_path.read_text(encoding='utf-8')


class BothArms:
    """Both arms as one robot, by names with a prefix."""

    def __init__(self, places: FloatArray) -> None:
        """Write the URDF of two arms with their base links at places (2, 6)."""
        whole = ElementTree.Element('robot', name='both')
        ElementTree.SubElement(whole, 'link', name='cell')
        for side, place in zip('ab', places, strict=True):
            for element in ElementTree.fromstring(urdf_text()):
                if element.tag not in ('link', 'joint'):
                    continue
                for part in element.iter():
                    for key in ('name', 'link', 'joint'):
                        if (
                            part.tag in ('link', 'joint', 'parent', 'child', 'mimic')
                            and key in part.attrib
                        ):
                            part.set(key, f'{side}_{part.get(key)}')
                whole.append(element)
            root = loaded()[0].tree.root_link
            joint = ElementTree.SubElement(whole, 'joint', name=f'{side}_stand', type='fixed')
            ElementTree.SubElement(joint, 'parent', link='cell')
            ElementTree.SubElement(joint, 'child', link=f'{side}_{root}')
            xyz, rpy = (' '.join(map(str, numbers)) for numbers in (place[:3], place[3:]))
            ElementTree.SubElement(joint, 'origin', xyz=xyz, rpy=rpy)
        self.robot = load_robot(ElementTree.tostring(whole, encoding='unicode'))
        self.scene = CollisionChecker(self.robot).scene()

    def collide(self, first: FloatArray, second: FloatArray) -> bool:
        """Return whether a link of one arm touches one of the other arm."""
        state = self.robot.default_positions()
        for side, q in (('a', first), ('b', second)):
            names = [f'{side}_{name}' for name in loaded()[1].joint_names]
            state[[self.robot.tree.idx_q[self.robot.require_joint(name)] for name in names]] = q
        touching = self.scene.touching_pairs(state)
        names = [entry.shape.link for entry in self.scene.shapes]
        return any(names[a][0] != names[b][0] for a, b in touching)


def test_links_of_two_arms_touch_where_those_of_one_robot_do() -> None:
    rng, seen = np.random.default_rng(2), set()
    for _ in range(6):
        places = np.zeros((2, 6))
        places[1, :2], places[1, 2:] = rng.uniform(0.2, 0.9, 2), rng.uniform(-0.5, 0.5, 4)
        both, arms = BothArms(places), [ur5e(0.0), ur5e(0.0)]
        for _ in range(25):
            q = rng.uniform(-np.pi, np.pi, (2, 6))
            pair = ArmPair(arms, list(places))
            hits = [pair.accept(arm, q[arm]) for arm in (0, 1)]
            assert (hits != [None, None]) == both.collide(q[0], q[1])
            seen.add(hits == [None, None])
    assert seen == {True, False}


def postures(result: PlaceResult, arm: int) -> list[FloatArray]:
    """Return the postures of the tasks that an arm does at the best place."""
    return [
        done.q for done in result.placements[0].tasks if done.arm == arm and done.q is not None
    ]


def test_postures_of_arms_that_work_at_a_time_are_free_of_each_other() -> None:
    poses = np.array(
        [task(0.4, 0.25, 0.3), task(0.55, -0.25, 0.3), task(0.45, 0.0, 0.5), task(0.7, 0.1, 0.2)]
    )
    arms = [ur5e((-0.2, 0.1)), ur5e((0.8, 1.2))]
    result = find_places(arms, PlaceTasks.exact(poses), PlaceSettings(places=1))
    assert result.notes == ()
    both = BothArms(result.placements[0].coordinates)
    mine, others = postures(result, 0), postures(result, 1)
    assert mine and others
    assert not any(both.collide(a, b) for a in mine for b in others)


def test_an_arm_at_rest_in_the_way_is_avoided() -> None:
    # The task lies where the second arm waits.
    spot = ur5e(0.0).chain.pose(STRETCHED)[:3, 3]
    tasks = PlaceTasks.exact(np.array([task(*spot)]))
    first, settings = ur5e(1.6 * float(spot[0])), PlaceSettings(places=1)
    alone = find_places([first, _idle(ur5e(0.0, rest=UP))], tasks, settings)
    assert alone.reaches_all and alone.placements[0].tasks[0].arm == 0
    blocked = find_places([first, _idle(ur5e(0.0, rest=STRETCHED))], tasks, settings)
    assert not blocked.reaches_all
    assert 'of the other arm' in blocked.placements[0].tasks[0].reason


def _idle(arm: PlacedArm) -> PlacedArm:
    """Return an arm that does no task itself."""
    arm.postures = lambda places, variants, objective: type(
        'None',
        (),
        {  # type: ignore[method-assign]
            'q': np.empty((0, 6)),
            'cells': np.empty(0, dtype=np.int64),
            'values': np.empty(0),
        },
    )()
    return arm


def test_arms_whose_rest_postures_collide_have_no_place() -> None:
    arms = [ur5e(0.0, rest=UP), ur5e(0.05, rest=UP)]
    result = find_places(
        arms, PlaceTasks.exact(np.array([task(0.4, 0.2, 0.3)])), PlaceSettings(places=1)
    )
    assert not result.reaches_all
    assert 'the arms collide before they work' in result.placements[0].tasks[0].reason


CELL = """
arms:
  - robot: ur5e
    place: {x: [-0.2, 0.1]}
    rest: [0, -1.57, 0, -1.57, 0, 0]
  - robot: ur5e
    place: {x: [0.8, 1.2], yaw: 180}
    rest: REST
tasks: tasks.csv
places: 1
"""
TASKS = 'x,y,z,qw,qx,qy,qz\n0.3,0.2,0.3,0,1,0,0\n0.7,-0.2,0.3,0,1,0,0\n'


def test_a_rest_posture_is_read_from_the_file(tmp_path, capsys) -> None:
    (tmp_path / 'tasks.csv').write_text(TASKS)
    for rest, error in (
        ('[0, 0]', '2 values'),
        ('[0, 0, 0, 0, 0, 99]', 'outside its limits'),
        ('ready', "no state 'ready'"),
        ('{a: 1}', 'finite numbers'),
    ):
        (tmp_path / 'cell.yaml').write_text(CELL.replace('REST', rest))
        with pytest.raises(SsikError, match=error):
            read_cell(tmp_path / 'cell.yaml')
    (tmp_path / 'cell.yaml').write_text(CELL.replace('REST', '[0, -1.57, 0, -1.57, 0, 0]'))
    assert read_cell(tmp_path / 'cell.yaml').arms[0][0].rest is not None
    assert main(['place', str(tmp_path / 'cell.yaml')]) == 0
    assert 'every task' in capsys.readouterr().out
