"""
Task set files: frames, joint settings, task sets and tasks for a robot, as YAML that people write.

The reader checks what can be checked without the robot, and names the line of whatever is wrong;
:mod:`ssik_ros.tasks.files.task_set_builder` brings the content together with a scene.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
import os
from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, describe_choices, DescriptionNotFound, quote
from ssik_ros.kernels.geometry.rotations import matrix_of_rpy
from ssik_ros.model.description_files import config_directory
from ssik_ros.strict_yaml import checked_mapping, finite_number, location, read_yaml, refuse
from ssik_ros.tasks.constants import Constraint
from ssik_ros.tasks.task_set import METHOD_NAMES, PRECISION
from ssik_ros.value_class import dataclass

FILE_KEYS = ('priority', 'frames', 'joints', 'task_sets')
FRAME_KEYS = ('parent', 'xyz', 'rpy', 'at', 'follow')
JOINT_KEYS = ('limits', 'weight', 'limit_margin', 'max_step', 'passive')
SWITCHES = (
    'enabled',
    'ignore_max_steps',
    'restore_on_bad_linear',
    'restore_on_bad_angular',
    'stop_on_limit_hit',
    'avoid_limits',
)
TASK_SET_KEYS = ('method', 'damping', 'max_iterations', 'weights_mode', *SWITCHES, 'tasks')
TASK_NAMES = ('tip', 'target', 'base', 'constraint_base')
TASK_SWITCHES = ('enabled', 'target_motion', 'closure')
TASK_KEYS = (*TASK_NAMES, 'constraints', 'precision', 'weights', *TASK_SWITCHES)
CONSTRAINT_NAMES = {name.lower(): item for name, item in Constraint.__members__.items()}
CHOICES = {
    'method': tuple(METHOD_NAMES),
    'weights_mode': ('least_squares', 'gain'),
    'priority': ('strict', 'nested'),
}
MOST_ITERATIONS = 100_000
"""Of one solve: no file and no request is to keep a thread for minutes."""


@dataclass(frozen=True, eq=False)
class FileFrame:
    """A frame that the file adds to those of the scene."""

    name: str
    place: str
    """Where it was written, as ``file:line``."""
    parent: str | None = None
    """None for the world."""
    pose: FloatArray | None = None
    """(4, 4) in the parent; None for a frame that takes its place from another one."""
    at: str | None = None
    """A frame of the scene at whose place it is put before each calculation, to be left there by the motion."""
    follow: str | None = None
    """A frame that need not be part of the robot: what is known about its place at each reading counts."""


@dataclass(frozen=True)
class FileJoint:
    """Settings of a joint."""

    name: str
    place: str
    settings: Mapping[str, Any]
    """Attributes of :class:`ssik_ros.tasks.joints.Joint`."""


@dataclass(frozen=True)
class FileTask:
    """One task."""

    place: str
    names: Mapping[str, str]
    """``tip``, and of ``target``, ``base`` and ``constraint_base`` those that are given."""
    constraints: Constraint = Constraint.POSE
    precision: tuple[float, float] = PRECISION
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    switches: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class FileTaskSet:
    """One task set."""

    name: str
    place: str
    settings: Mapping[str, Any]
    """Attributes of :class:`ssik_ros.tasks.task_set.TaskSet`."""
    tasks: tuple[FileTask, ...]


@dataclass(frozen=True)
class TaskSetFile:
    """What a task set file says."""

    source: str
    """The file's name for messages."""
    task_sets: tuple[FileTaskSet, ...]
    """The first has the highest priority."""
    frames: tuple[FileFrame, ...] = ()
    joints: tuple[FileJoint, ...] = ()
    priority: str = 'strict'


def find_task_set_file(name: str) -> Path:
    """
    Return the path of a task set file given by path or by the name of a shipped one.

    :param name: a path, or a name such as ``panda``.
    :raises DescriptionNotFound: when there is neither; with the shipped names.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return path
    folder = config_directory() / 'task_sets'
    shipped = folder / f'{name.removesuffix(".yaml")}.yaml'
    if shipped.is_file() and '/' not in name:
        return shipped
    names = ', '.join(sorted(file.stem for file in folder.glob('*.yaml')))
    raise DescriptionNotFound(
        f'There is no task set file {quote(name)}, neither as a file nor among the shipped ones: {names}.',
        name=name,
    )


def read_task_set_file(path: str | os.PathLike[str]) -> TaskSetFile:
    """
    Return what a task set file says.

    :param path: the file.
    :raises DescriptionNotFound: when there is no such file.
    :raises ConfigError: for unknown keys and wrong values, with their place.
    """
    return parse_task_set_file(read_yaml(Path(path)), str(path))


def parse_task_set_file(content: Any, source: str = 'task set file') -> TaskSetFile:
    """
    Return what the content of a task set file says.

    :param content: the mapping.
    :param source: the file's name for messages.
    :raises ConfigError: for unknown keys and wrong values, with their place.
    """
    entries = checked_mapping(content, source, 'the file', FILE_KEYS)
    frames, joints, task_sets = (
        checked_mapping(entries.get(key, {}), location(entries, key, source), quote(key))
        for key in ('frames', 'joints', 'task_sets')
    )
    if not task_sets:
        refuse(location(entries, 'task_sets', source), 'there is no task set')
    for mapping in (frames, joints, task_sets):
        for name in mapping:
            if not name:
                refuse(location(mapping, name, source), 'a name is empty')
    return TaskSetFile(
        source,
        task_sets=tuple(
            _read_task_set(name, entry, location(task_sets, name, source))
            for name, entry in task_sets.items()
        ),
        frames=tuple(
            _read_frame(name, entry, location(frames, name, source))
            for name, entry in frames.items()
        ),
        joints=tuple(
            _read_joint(name, entry, location(joints, name, source))
            for name, entry in joints.items()
        ),
        priority=_choice(entries, 'priority', source) if 'priority' in entries else 'strict',
    )


def _choice(entry: Mapping[str, Any], key: str, place: str) -> str:
    """Return one of some words."""
    value = entry[key]
    if value not in CHOICES[key]:
        hint = describe_choices(str(value), CHOICES[key])
        refuse(location(entry, key, place), f'{quote(key)} is {value!r}', hint)
    return str(value)


def _text(entry: Mapping[str, Any], key: str, place: str) -> str:
    """Return a name."""
    value = entry[key]
    if not isinstance(value, str) or not value:
        refuse(location(entry, key, place), f'{quote(key)} is no name but {value!r}')
    return str(value)


def _switch(entry: Mapping[str, Any], key: str, place: str) -> bool:
    """Return true or false."""
    value = entry[key]
    if not isinstance(value, bool):
        refuse(location(entry, key, place), f'{quote(key)} is not true or false but {value!r}')
    return bool(value)


def _positive(entry: Mapping[str, Any], key: str, place: str) -> float:
    """Return a number of at least zero."""
    number = finite_number(entry[key], location(entry, key, place), quote(key))
    if number < 0.0:
        refuse(location(entry, key, place), f'{quote(key)} is negative: {number:g}')
    return number


def _numbers(entry: Mapping[str, Any], key: str, place: str, count: int) -> tuple[float, ...]:
    """Return so many finite numbers."""
    values, place = entry[key], location(entry, key, place)
    if not isinstance(values, list) or len(values) != count:
        refuse(place, f'{quote(key)} is no list of {counted(count, "number")} but {values!r}')
    return tuple(finite_number(value, place, quote(key)) for value in values)


def _read_frame(name: str, content: Any, place: str) -> FileFrame:
    """Return one frame."""
    what = f'frame {quote(name)}'
    entry = checked_mapping(content, place, what, FRAME_KEYS)
    ways = [key for key in ('xyz', 'rpy', 'at', 'follow') if key in entry]
    if len(ways) > 1 and ways != ['xyz', 'rpy']:
        refuse(place, f'{what} has {" and ".join(map(repr, ways))}, which exclude each other')
    parent = _text(entry, 'parent', place) if 'parent' in entry else None
    if 'at' in entry:
        return FileFrame(name, place, parent, at=_text(entry, 'at', place))
    if 'follow' in entry:
        return FileFrame(name, place, parent, follow=_text(entry, 'follow', place))
    pose = np.eye(4)
    if 'rpy' in entry:
        pose[:3, :3] = matrix_of_rpy(*_numbers(entry, 'rpy', place, 3))
    if 'xyz' in entry:
        pose[:3, 3] = _numbers(entry, 'xyz', place, 3)
    return FileFrame(name, place, parent, pose)


def _read_joint(name: str, content: Any, place: str) -> FileJoint:
    """Return the settings of one joint."""
    entry = checked_mapping(content, place, f'joint {quote(name)}', JOINT_KEYS)
    settings: dict[str, Any] = {}
    for key in entry:
        if key == 'limits':
            lower, upper = _numbers(entry, key, place, 2)
            if lower > upper:
                refuse(
                    location(entry, key, place), f"'limits' of joint {quote(name)} are reversed"
                )
            settings[key] = (lower, upper)
        elif key == 'passive':
            settings[key] = _switch(entry, key, place)
        else:
            settings[key] = _positive(entry, key, place)
    return FileJoint(name, place, settings)


def _read_task_set(name: str, content: Any, place: str) -> FileTaskSet:
    """Return one task set."""
    entry = checked_mapping(content, place, f'task set {quote(name)}', TASK_SET_KEYS)
    settings: dict[str, Any] = {key: _choice(entry, key, place) for key in entry if key in CHOICES}
    settings |= {key: _switch(entry, key, place) for key in entry if key in SWITCHES}
    if 'damping' in entry:
        settings['damping'] = _positive(entry, 'damping', place)
    if 'max_iterations' in entry:
        count = entry['max_iterations']
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            refuse(location(entry, 'max_iterations', place), f"'max_iterations' is {count!r}")
        if count > MOST_ITERATIONS:
            text = f"'max_iterations' is above {MOST_ITERATIONS}: {count}"
            refuse(location(entry, 'max_iterations', place), text)
        settings['max_iterations'] = count
    tasks = entry.get('tasks')
    where = location(entry, 'tasks', place)
    if not isinstance(tasks, list) or not tasks:
        refuse(where, f"task set {quote(name)} has no list of 'tasks'")
    return FileTaskSet(
        name,
        place,
        settings,
        tuple(
            _read_task(item, where, f'task {number} of task set {quote(name)}')
            for number, item in enumerate(tasks, 1)
        ),
    )


def _read_task(content: Any, place: str, what: str) -> FileTask:
    """Return one task."""
    entry = checked_mapping(content, place, what, TASK_KEYS)
    for key in entry:
        # The line of the task itself, which a list does not know.
        place = location(entry, key, place)
        break
    if 'tip' not in entry:
        refuse(place, f"{what} has no 'tip'")
    precision, weights = PRECISION, (1.0, 1.0, 1.0)
    if 'precision' in entry:
        linear, angular = _numbers(entry, 'precision', place, 2)
        precision = linear, angular
    if 'weights' in entry:
        linear, angular, overall = _numbers(entry, 'weights', place, 3)
        weights = linear, angular, overall
    for key, values in (('precision', precision), ('weights', weights)):
        if min(values) < 0.0:
            refuse(location(entry, key, place), f'{quote(key)} of {what} has a negative number')
    constraints = Constraint.POSE
    if 'constraints' in entry:
        constraints = _read_constraints(entry, place, what)
    return FileTask(
        place,
        {key: _text(entry, key, place) for key in TASK_NAMES if key in entry},
        constraints,
        precision,
        weights,
        {key: _switch(entry, key, place) for key in TASK_SWITCHES if key in entry},
    )


def _read_constraints(entry: Mapping[str, Any], place: str, what: str) -> Constraint:
    """Return the bits of one name, or of a list of names."""
    names, place = entry['constraints'], location(entry, 'constraints', place)
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not names:
        refuse(place, f"'constraints' of {what} is no list of names but {names!r}")
    bits = Constraint(0)
    for name in names:
        if name not in CONSTRAINT_NAMES:
            hint = describe_choices(str(name), CONSTRAINT_NAMES)
            refuse(place, f'{what} has the unknown constraint {name!r}', hint)
        bits |= CONSTRAINT_NAMES[name]
    return bits
