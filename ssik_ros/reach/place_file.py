"""Read work cells from YAML files, with arms, base places, boxes and a file of tasks; read tasks from CSV files."""

from collections.abc import Iterator, Mapping, Sequence
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ConfigError, InvalidTarget, reads_file
from ssik_ros.kernels.geometry.rotations import matrix_of_quaternion, pose_matrix
from ssik_ros.model.arm_ends import find_ends
from ssik_ros.model.catalogue import arm_data, list_arms, load_arm
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.model.description_files import find_moveit_config, list_shipped_robots
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_package
from ssik_ros.model.number_tables import read_table
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.paths.path_file import (
    load_described,
    needed,
    read_box,
    read_list,
    read_numbers,
)
from ssik_ros.reach.place import PlaceSettings
from ssik_ros.reach.placement import (
    BaseSpace,
    COORDINATES,
    MOST_TASKS,
    PlacedArm,
    PlaceTasks,
)
from ssik_ros.strict_yaml import checked_mapping, finite_number, read_yaml
from ssik_ros.value_class import dataclass

KEYS = ('name', 'arms', 'tasks', 'boxes', 'objective', 'places', 'apart', 'seed')
ARM_KEYS = ('robot', 'urdf', 'srdf', 'group', 'base', 'tip', 'place', 'rest')
PLACE_KEYS = (*COORDINATES, 'rail')
NEEDED = ('x', 'y', 'z', 'qw', 'qx', 'qy', 'qz')
EXTRA = {'weight': 1.0, 'tolerance': 0.0, 'tolerance_deg': 0.0, 'spin': 0.0}
"""Optional columns of tasks, and the values that replace missing ones."""
MOST_ROBOTS = 20
"""Robots to choose from."""
LARGEST_PLACE_COORDINATE = 1e3
"""Largest coordinate of a place [m]."""


@dataclass(frozen=True, eq=False)
class WorkCell:
    """Content of a work cell file: one arm or two, each with one or more robots to choose from, tasks, and settings."""

    name: str
    arms: tuple[tuple[PlacedArm, ...], ...]
    """For each arm, the robots to choose from."""
    tasks: PlaceTasks
    settings: PlaceSettings

    def choices(self) -> Iterator[tuple[PlacedArm, ...]]:
        """Yield each combination of robots: a tuple with one robot for each arm of the cell."""
        return itertools.product(*self.arms)


@reads_file(ConfigError)
def read_cell(path: str | Path) -> WorkCell:
    """
    Return the work cell that a YAML file describes, with its robots loaded and its tasks read.

    :param path: the file; other files that it names are relative to it.
    :raises SsikError: for a file that cannot be read, unknown keys, and values that make no sense.
    """
    path = Path(path)
    data = checked_mapping(read_yaml(path), str(path), 'a work cell', KEYS)
    arms, tasks = (needed(data, key, path) for key in ('arms', 'tasks'))
    world = [
        read_box(box, path, index) for index, box in enumerate(read_list(data, 'boxes', path))
    ]
    if not isinstance(arms, Sequence) or isinstance(arms, str) or not 1 <= len(arms) <= 2:
        raise ConfigError(f"'{path}': arms takes a list of one arm or two.", path=str(path))
    return WorkCell(
        name=str(data.get('name', path.stem)),
        arms=tuple(tuple(_read_arm(arm, path, world)) for arm in arms),
        tasks=read_tasks(path.parent / str(tasks)),
        settings=_read_settings(data, path),
    )


def _read_settings(data: Mapping[str, Any], path: Path) -> PlaceSettings:
    """
    Return the settings of the search in a file.

    Raise ConfigError for values of a wrong type, and InvalidOption for values out of range.
    """
    plain = PlaceSettings()
    whole = {}
    for key in ('places', 'seed'):
        whole[key] = data.get(key, getattr(plain, key))
        if isinstance(whole[key], bool) or not isinstance(whole[key], int):
            raise ConfigError(f"'{path}': {key} takes a whole number.", path=str(path))
    apart = finite_number(data.get('apart', plain.apart), str(path), 'apart')
    return PlaceSettings(str(data.get('objective', plain.objective)), apart=apart, **whole)


def _read_arm(content: Any, path: Path, world: Sequence[WorldObject]) -> Iterator[PlacedArm]:
    """Yield an arm of a file once for each robot that it may be."""
    data = checked_mapping(content, str(path), 'an arm', ARM_KEYS)
    space = _read_space(data.get('place') or {}, path)
    for robot, base, tip in _robots(data, path):
        group = _group(data, robot, base, tip)
        yield PlacedArm(robot, group, space, world, _read_rest(data, robot, group, path))


def _read_rest(
    data: Mapping[str, Any], robot: RobotModel, group: JointGroup, path: Path
) -> FloatArray | None:
    """
    Return the posture (n,) in which an arm waits; None if the file gives none.

    The file gives a named state of the SRDF or a list of joint values. Raise ModelError for an unknown state, and
    ConfigError for anything but finite numbers.
    """
    given = data.get('rest')
    if given is None or isinstance(given, str):
        return None if given is None else robot.named_state(group, given)
    return read_numbers(given, None, path, 'rest')


def _robots(
    data: Mapping[str, Any], path: Path
) -> Iterator[tuple[RobotModel, str | None, str | None]]:
    """
    Yield each robot that an arm of a file may be, with its base link and tip link.

    The links are None unless the robot is from the catalogue and not shipped. Raise ConfigError unless the arm names
    either ``robot`` or ``urdf``, and for an empty list of robots or more than MOST_ROBOTS. Raise an SsikError if a
    robot cannot be loaded.
    """
    if ('robot' in data) == ('urdf' in data):
        raise ConfigError(f"'{path}': an arm names robot or urdf.", path=str(path))
    if 'urdf' in data:
        yield load_described(data, path), None, None
        return
    given = data['robot']
    names = given if isinstance(given, list) else [given]
    if not 1 <= len(names) <= MOST_ROBOTS:
        raise ConfigError(
            f"'{path}': robot takes a name or a list of up to {MOST_ROBOTS}.", path=str(path)
        )
    for name in map(str, names):
        if name in list_arms() and name not in list_shipped_robots():
            yield load_arm(name), arm_data(name).base_link, arm_data(name).tip_link
            continue
        yield load_package(find_moveit_config(name)), None, None


def _group(
    data: Mapping[str, Any], robot: RobotModel, base: str | None, tip: str | None
) -> JointGroup:
    """
    Return the planning group of an arm: the named group, the only chain of the robot, or a chain of links.

    The only chain is taken if neither the file nor the catalogue gives a link. Otherwise the chain leads from base to
    tip link. Links in the file come before links of the catalogue, and :func:`find_ends` finds missing ones. Raise
    ModelError if this fails.

    :param base, tip: links from the catalogue, or None.
    """
    if 'group' in data:
        return robot.group(str(data['group']))
    links = [str(data[key]) if key in data else None for key in ('base', 'tip')]
    chains = [group for group in robot.groups.values() if len(group.tips) == 1]
    if links == [None, None] and base is None and len(chains) == 1:
        return chains[0]
    return robot.group_from_links(*find_ends(robot, links[0] or base, links[1] or tip))


def _read_space(content: Any, path: Path) -> BaseSpace:
    """
    Return the places that a file allows for a base: a range of each coordinate.

    A straight rail may replace the ranges of x, y and z. Angles in the file are in degrees. Raise ConfigError for
    malformed values and for coordinates beyond 1 km or 360 degrees. Raise InvalidOption if a range ends before it
    begins.
    """
    data = checked_mapping(content, str(path), 'a place', PLACE_KEYS)
    ends = np.zeros((2, 6))
    for index, key in enumerate(COORDINATES):
        value = data.get(key, 0.0)
        pair = value if isinstance(value, list) else [value, value]
        low, high = read_numbers(pair, 2, path, key).tolist()
        is_angle = index >= 3
        if max(abs(low), abs(high)) > (360.0 if is_angle else LARGEST_PLACE_COORDINATE):
            raise ConfigError(
                f"'{path}': {key} is beyond {'360 degrees' if is_angle else '1 km'}.",
                path=str(path),
            )
        ends[:, index] = (math.radians(low), math.radians(high)) if is_angle else (low, high)
    space = BaseSpace.box(ends[0].tolist(), ends[1].tolist())
    if 'rail' not in data:
        return space
    if any(key in data for key in 'xyz'):
        raise ConfigError(f"'{path}': a place has a rail, or x, y and z.", path=str(path))
    rail = checked_mapping(data['rail'], str(path), 'a rail', ('from', 'to'))
    first, last = (read_numbers(rail.get(key), 3, path, f'rail {key}') for key in ('from', 'to'))
    origin, direction = space.origin.copy(), np.zeros((1, 6))
    origin[:3], direction[0, :3] = first, last - first
    if (
        not direction.any()
        or max(np.abs(first).max(), np.abs(last).max()) > LARGEST_PLACE_COORDINATE
    ):
        raise ConfigError(f"'{path}': a rail has two ends, up to 1 km away.", path=str(path))
    return BaseSpace(origin, np.vstack([direction, space.directions]))


@reads_file(ConfigError)
def read_tasks(path: Path) -> PlaceTasks:
    """
    Return the tasks in a CSV file.

    :param path: a file with columns x, y, z [m], qw, qx, qy, qz. Optional columns are weight, tolerance [m],
        tolerance_deg and spin (0 or 1).
    :raises SsikError: for a file that cannot be read, and rows that are not tasks.
    """
    return _tasks(read_table(path, MOST_TASKS, NEEDED, EXTRA), path)


def _tasks(columns: Mapping[str, FloatArray], path: Path) -> PlaceTasks:
    """
    Return the tasks in columns of a table; a missing optional column has its default of EXTRA.

    Raise InvalidTarget for quaternions whose length is not 1, within 1 %, and for weights and tolerances that make no
    sense.
    """
    numbers = np.column_stack([columns[name] for name in NEEDED])
    lengths = np.linalg.norm(numbers[:, 3:], axis=1)
    wrong = np.flatnonzero(np.abs(lengths - 1.0) > 1e-2)
    if len(wrong):
        raise InvalidTarget(
            f"'{path}': task {int(wrong[0])} has no unit quaternion.", task=int(wrong[0])
        )
    poses = [pose_matrix(row[:3], matrix_of_quaternion(row[[4, 5, 6, 3]])) for row in numbers]
    extra = {
        name: columns.get(name, np.full(len(poses), default)) for name, default in EXTRA.items()
    }
    return PlaceTasks(
        np.array(poses),
        extra['weight'],
        extra['tolerance'],
        np.radians(extra['tolerance_deg']),
        extra['spin'] != 0.0,
    )
