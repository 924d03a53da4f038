"""
Read tool paths from files: :func:`read_problem` reads a YAML file with robot, tolerances, settings and obstacles.

The YAML file names a further file with the waypoints. This is a CSV table, or a nav_msgs/Path in YAML, which
:func:`read_waypoints` reads.
"""

from collections.abc import Mapping
import math
from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ConfigError, counted, InvalidOption, InvalidTarget, reads_file
from ssik_ros.kernels.geometry.rotations import matrix_of_quaternion, matrix_of_rpy, pose_matrix
from ssik_ros.model.collision.objects import check_shape, ObjectShape, SolidKind, WorldObject
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.forward_kinematics import compute_joint_poses, compute_link_pose
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_package, load_robot
from ssik_ros.model.number_tables import read_table
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.paths.requests import PathObjective, PathPenalties, PathTolerance
from ssik_ros.paths.waypoints import MOST_WAYPOINTS, wrong_poses
from ssik_ros.strict_yaml import checked_mapping, finite_number, read_yaml
from ssik_ros.value_class import dataclass

KEYS = (
    *('name', 'robot', 'urdf', 'srdf', 'base', 'tip', 'group', 'locked', 'waypoints'),
    *('offset_frame', 'offset_xyz', 'offset_rotation', 'tolerance', 'largest_step', 'boxes'),
    *('spin_axis', 'objective', 'clearance', 'start', 'end', 'collisions', 'freedom', 'closed'),
    *('passes', 'workpiece', 'tool_speed', 'corner', 'largest_deviation', 'penalties'),
)
FREEDOM_KEYS = ('axis', 'spin_deg', 'cone_deg', 'position', 'roll_deg', 'pitch_deg', 'yaw_deg')
RANGE_KEYS = ('from', 'to')
"""Waypoints that an entry of a list of freedoms is for, both included."""
STEP_KEYS = ('revolute_deg', 'prismatic')
WORLD = 'world'
COLUMNS = ('x', 'y', 'z', 'qw', 'qx', 'qy', 'qz')
FILE_TOLERANCES = {'position': 1e-4, 'angle_deg': 0.1}
"""Errors at a waypoint that a file may ask for [m, deg]; paths are exact to a micrometre in any case."""


@dataclass(frozen=True, eq=False)
class PathProblem:
    """Content of a tool path file: robot, planning group, waypoints, and settings of the plan."""

    name: str
    robot: RobotModel
    group: JointGroup
    waypoints: FloatArray
    """(m, 4, 4) poses of the tip in the base frame, or in the workpiece if the file names one."""
    settings: Mapping[str, Any]
    """Values by the names of fields of :class:`ssik_ros.paths.requests.ToolPathRequest`; others have their defaults."""


@reads_file(ConfigError)
def read_problem(path: str | Path) -> PathProblem:
    """
    Return the tool path that a YAML file describes, with its robot loaded and its waypoints read.

    :param path: the file; other files that it names are relative to it.
    :raises SsikError: for a file that cannot be read, unknown keys, and values that make no sense.
    """
    path = Path(path)
    data = checked_mapping(read_yaml(path), str(path), 'a tool path', KEYS)
    robot = _read_robot(data, path)
    group = _read_group(data, robot, path)
    locked = dict(checked_mapping(data.get('locked') or {}, str(path), 'locked'))
    poses = read_waypoints(path.parent / str(needed(data, 'waypoints', path)))
    return PathProblem(
        name=str(data.get('name', path.stem)),
        robot=robot,
        group=group,
        waypoints=_offset(data, robot, group, path) @ poses,
        settings={
            **_read_settings(data, path),
            **_read_freedom(data, len(poses), path),
            'locked': locked,
        },
    )


def needed(data: Mapping[str, Any], key: str, path: Path) -> Any:
    """
    Return the value of a required key of a file.

    :param data, path: content of the file, and the file.
    :param key: the key.
    :raises ConfigError: if the file does not have the key.
    """
    if key not in data:
        raise ConfigError(f"'{path}' has no key '{key}'.", path=str(path))
    return data[key]


def _read_robot(data: Mapping[str, Any], path: Path) -> RobotModel:
    """
    Return the robot that a file names by the key ``robot`` (a MoveIt configuration) or ``urdf``.

    Raise ConfigError unless exactly one of the keys is there.
    """
    if ('robot' in data) == ('urdf' in data):
        raise ConfigError(f"'{path}' names one robot: by robot or by urdf.", path=str(path))
    if 'urdf' in data:
        return load_described(data, path)
    return load_package(find_moveit_config(str(data['robot'])))


def load_described(data: Mapping[str, Any], path: Path) -> RobotModel:
    """
    Return the robot whose URDF a file names by the key ``urdf``, with the SRDF of the key ``srdf``, if any.

    :param data, path: content of the file, and the file; paths in it are relative to its folder.
    :raises SsikError: as :func:`load_robot`.
    """
    srdf = path.parent / str(data['srdf']) if 'srdf' in data else None
    return load_robot(path.parent / str(data['urdf']), srdf)


def _read_group(data: Mapping[str, Any], robot: RobotModel, path: Path) -> JointGroup:
    """
    Return the planning group that a file gives by its name, or by base and tip link; the name counts if it has both.

    Raise ConfigError if the file has neither the key ``group`` nor both ``base`` and ``tip``. Raise GroupNotFound for
    an unknown group, and FrameNotFound for an unknown link. Raise ModelError if no joint moves between the links, or if
    the tip is not below the base.
    """
    if 'group' in data:
        return robot.group(str(data['group']))
    return robot.group_from_links(str(needed(data, 'base', path)), str(needed(data, 'tip', path)))


def _offset(
    data: Mapping[str, Any], robot: RobotModel, group: JointGroup, path: Path
) -> FloatArray:
    """
    Return the pose (4, 4) that all waypoints of a file are multiplied with from the left.

    It is the link ``offset_frame`` in the workpiece or the base link, all joints at zero, times the offset of the file.
    In the frame WORLD, the default, it is only this offset.

    Raise ConfigError for malformed numbers and if ``offset_rotation`` is not a rotation; raise FrameNotFound for an
    unknown link.
    """
    xyz = read_numbers(data.get('offset_xyz', (0, 0, 0)), 3, path, 'offset_xyz')
    rows = read_list(data, 'offset_rotation', path) or np.eye(3).tolist()
    rotation = np.array([read_numbers(row, 3, path, 'a row of offset_rotation') for row in rows])
    if len(rotation) != 3 or len(wrong_poses(pose_matrix(xyz, rotation)[None])):
        raise ConfigError(f"'{path}': offset_rotation is no rotation matrix.", path=str(path))
    offset, frame = pose_matrix(xyz, rotation), str(data.get('offset_frame', WORLD))
    if frame == WORLD:
        return offset
    tree = robot.tree
    poses = compute_joint_poses(tree, np.zeros(tree.nq))
    base, frame_pose = (
        compute_link_pose(tree, poses, tree.link(link))
        for link in (str(data.get('workpiece') or group.base_link), frame)
    )
    placed: FloatArray = np.linalg.inv(base) @ frame_pose @ offset
    return placed


def _read_settings(data: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """
    Return the fields of :class:`ToolPathRequest` that a file sets, except for tolerance and locked joints.

    Raise ConfigError for a wrong entry.

    :param data: content of the file.
    :param path: the file, for messages.
    """
    settings: dict[str, Any] = {}
    steps = checked_mapping(data.get('largest_step') or {}, str(path), 'largest_step', STEP_KEYS)
    if 'revolute_deg' in steps:
        degrees = finite_number(steps['revolute_deg'], str(path), 'revolute_deg')
        settings['largest_turn'] = math.radians(degrees)
    if 'prismatic' in steps:
        settings['largest_slide'] = finite_number(steps['prismatic'], str(path), 'prismatic')
    checked_mapping(data.get('tolerance') or {}, str(path), 'tolerance', FILE_TOLERANCES)
    for key in ('spin_axis', 'start', 'end'):
        if data.get(key) is not None:
            settings[key] = read_numbers(data[key], None, path, key)
    for key in ('clearance', 'tool_speed', 'corner', 'largest_deviation'):
        if data.get(key) is not None:
            settings[key] = finite_number(data[key], str(path), key)
    if data.get('workpiece') is not None:
        settings['workpiece'] = str(data['workpiece'])
    settings |= _read_shape(data, path)
    if data.get('collisions', True):
        settings['obstacles'] = [
            read_box(box, path, index) for index, box in enumerate(read_list(data, 'boxes', path))
        ]
    return settings


def _read_shape(data: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """
    Return the request fields objective, penalties and passes that a file sets, and ``is_closed`` in any case.

    Raise InvalidOption for an unknown objective, and ConfigError for a value of a wrong type.
    """
    settings: dict[str, Any] = {}
    if data.get('objective') is not None:
        names = {objective.name.lower(): objective for objective in PathObjective}
        name = str(data['objective']).lower()
        if name not in names:
            raise InvalidOption.unknown(f"'{path}': there is no objective '{name}'", name, names)
        settings['objective'] = names[name]
    if data.get('penalties') is not None:
        fields = PathPenalties.__dataclass_fields__
        weights = checked_mapping(data['penalties'], str(path), 'penalties', fields)
        settings['penalties'] = PathPenalties(
            **{key: finite_number(value, str(path), key) for key, value in weights.items()}
        )
    if data.get('passes') is not None:
        passes = read_numbers(data['passes'], None, path, 'passes')
        settings['passes'] = [_whole(number, path, 'passes') for number in passes.tolist()]
    if not isinstance(data.get('closed', False), bool):
        raise ConfigError(f"'{path}': closed is true or false.", path=str(path))
    settings['is_closed'] = data.get('closed', False)
    return settings


def _read_freedom(data: Mapping[str, Any], count: int, path: Path) -> dict[str, Any]:
    """
    Return the request field ``tolerance`` from the key ``freedom`` of a file; an empty mapping without the key.

    It is one tolerance for all waypoints, or a list with one for each; None is an exact pose. If entries of a list
    overlap, the last one counts. Raise ConfigError for values of a wrong type, and for waypoints that do not exist.

    :param count: number of waypoints.
    """
    given = data.get('freedom')
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {'tolerance': _read_tolerance(given, path, FREEDOM_KEYS)}
    if not isinstance(given, list):
        raise ConfigError(f"'{path}': freedom is a mapping or a list of such.", path=str(path))
    tolerances: list[PathTolerance | None] = [None] * count
    for entry in given:
        content = checked_mapping(entry, str(path), 'freedom', (*FREEDOM_KEYS, *RANGE_KEYS))
        begin, end = (
            _whole(finite_number(content.get(key, other), str(path), key), path, key)
            for key, other in zip(RANGE_KEYS, (0, count - 1), strict=True)
        )
        if not 0 <= begin <= end < count:
            raise ConfigError(
                f"'{path}': freedom from {begin} to {end} is not within waypoints 0 to {count - 1}.",
                path=str(path),
            )
        tolerance = _read_tolerance(content, path, (*FREEDOM_KEYS, *RANGE_KEYS))
        tolerances[begin : end + 1] = [tolerance] * (end + 1 - begin)
    return {'tolerance': tolerances}


def _whole(number: float, path: Path, key: str) -> int:
    """Return a finite number of the file as an int; raise ConfigError if it is not whole."""
    if not number.is_integer():
        raise ConfigError(f"'{path}': {key} takes whole numbers, not {number:g}.", path=str(path))
    return int(number)


def _read_tolerance(data: Any, path: Path, keys: tuple[str, ...]) -> PathTolerance:
    """
    Return the tolerance that an entry of the file gives; angles in the entry are in degrees.

    Raise ConfigError for a wrong entry.

    :param data: the entry.
    :param path: the file, for messages.
    :param keys: the keys that the entry may have.
    """
    content = checked_mapping(data, str(path), 'freedom', keys)
    fields: dict[str, Any] = {}
    if 'axis' in content:
        fields['axis'] = read_numbers(content['axis'], 3, path, 'axis').tolist()
    if 'cone_deg' in content:
        fields['cone'] = math.radians(finite_number(content['cone_deg'], str(path), 'cone_deg'))
    for name in ('spin', 'roll', 'pitch', 'yaw'):
        key = f'{name}_deg'
        if key in content:
            fields[name] = tuple(np.radians(read_numbers(content[key], 2, path, key)).tolist())
    if 'position' in content:
        corners = content['position'] if isinstance(content['position'], list) else []
        if len(corners) != 2:
            raise ConfigError(f"'{path}': position takes two corners of a box.", path=str(path))
        fields['position'] = tuple(read_numbers(c, 3, path, 'position').tolist() for c in corners)
    return PathTolerance(**fields)


def read_list(data: Mapping[str, Any], key: str, path: Path) -> list[Any]:
    """
    Return the list of a key; an empty list if the key is missing or has no value.

    :param data: a mapping of the file.
    :param key: its key.
    :param path: the file, for messages.
    :raises ConfigError: for any other value that is not a list.
    """
    values = data.get(key)
    if values is None:
        return []
    if not isinstance(values, list):
        raise ConfigError(f"'{path}': {key} takes a list, not {values!r}.", path=str(path))
    return values


def read_box(box: Any, path: Path, index: int) -> WorldObject:
    """
    Return a box obstacle from its entry in a file, placed in the base frame.

    :param box: a mapping with ``size`` [m], and optionally ``xyz`` [m], ``rpy`` [rad] and ``name``.
    :param path, index: the file, and the index of the box in it, for messages.
    :raises SsikError: for values that make no sense.
    """
    name = f'box {index + 1}'
    content = checked_mapping(box, str(path), name, ('size', 'xyz', 'rpy', 'name'))
    xyz, rpy = (read_numbers(content.get(key, (0, 0, 0)), 3, path, key) for key in ('xyz', 'rpy'))
    size = read_numbers(needed(content, 'size', path), 3, path, 'size')
    shape = ObjectShape(SolidKind.BOX, size.tolist(), np.eye(4))
    check_shape(shape, name)
    return WorldObject(
        str(content.get('name', name)), pose_matrix(xyz, matrix_of_rpy(*rpy.tolist())), (shape,)
    )


def read_numbers(values: Any, count: int | None, path: Path, key: str) -> FloatArray:
    """
    Return a list of finite numbers as an array.

    :param values: a list.
    :param count: how many; None for any.
    :param path, key: the file and the key of the list, for messages.
    :raises ConfigError: for anything else.
    """
    if not isinstance(values, list | tuple) or count not in (None, len(values)):
        wanted = 'a list of' if count is None else str(count)
        raise ConfigError(f"'{path}': {key} takes {wanted} finite numbers.", path=str(path))
    return np.array([finite_number(value, str(path), key) for value in values], dtype=np.float64)


@reads_file(ConfigError)
def read_waypoints(path: Path) -> FloatArray:
    """
    Return the waypoints (m, 4, 4) in a file, a pose each.

    :param path: a CSV with the columns x, y, z, qw, qx, qy, qz, or a nav_msgs/Path as YAML (``.yaml`` or ``.yml``).
    :raises InvalidTarget: for quaternions that are not of length 1, within 1 %, and fewer than two rows or too many.
    :raises SsikError: for a file that cannot be read or has another form.
    """
    if path.suffix.lower() in ('.yaml', '.yml'):
        rows = np.array(_rows_of_path(path))
    else:
        table = read_table(path, MOST_WAYPOINTS, COLUMNS)
        rows = np.column_stack([table[name] for name in ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')])
    if not 2 <= len(rows) <= MOST_WAYPOINTS:
        number_text = counted(len(rows), 'waypoint')
        text = f"'{path}' has {number_text}; a path has 2 to {MOST_WAYPOINTS}."
        raise InvalidTarget(text, path=str(path))
    wrong = np.flatnonzero(~(np.abs(np.linalg.norm(rows[:, 3:], axis=1) - 1.0) < 1e-2))
    if len(wrong):
        raise InvalidTarget(
            f"'{path}': waypoint {int(wrong[0])} is not a finite pose with a unit quaternion.",
            path=str(path),
        )
    return np.array([pose_matrix(row[:3], matrix_of_quaternion(row[3:])) for row in rows])


def _rows_of_path(path: Path) -> list[list[float]]:
    """
    Return rows x, y, z, qx, qy, qz, qw of a nav_msgs/Path as YAML; of several documents, the first one.

    Quaternions are not normalised. Raise ConfigError for a file that is not such a path.
    """
    data = checked_mapping(read_yaml(path), str(path), 'a path', ('header', 'poses'))
    rows = []
    for index, stamped in enumerate(read_list(data, 'poses', path)):
        place = f'{path}: poses[{index}]'
        pose = checked_mapping(stamped, place, 'a stamped pose', ('header', 'pose')).get('pose')
        content = checked_mapping(pose, place, 'a pose', ('position', 'orientation'))
        position, turn = (
            checked_mapping(content.get(key) or {}, place, key)
            for key in ('position', 'orientation')
        )
        values = [(position, key) for key in 'xyz'] + [(turn, key) for key in 'xyzw']
        rows.append([finite_number(part.get(key), place, key) for part, key in values])
    return rows
