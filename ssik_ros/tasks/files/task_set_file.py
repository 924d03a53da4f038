"""
Task set files: frames, joint settings, task sets and tasks for a robot, as YAML that people write.

The reader checks the content as far as possible without the robot, and names the line of each error.
:mod:`ssik_ros.tasks.files.task_set_builder` brings the content together with a scene.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import os
from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ConfigError, describe_choices, quote, reads_file
from ssik_ros.kernels.geometry.rotations import matrix_of_rpy
from ssik_ros.model.description_files import find_shipped_file
from ssik_ros.strict_yaml import EntryReader, location, read_yaml, refuse
from ssik_ros.tasks.constants import Constraint, TaskSetFlag
from ssik_ros.tasks.task_set import METHOD_NAMES
from ssik_ros.value_class import dataclass

FILE_KEYS = ('priority', 'frames', 'joints', 'task_sets')
FRAME_KEYS = ('parent', 'xyz', 'rpy', 'at', 'follow')
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
    """A frame that a task set file adds to the robot: its name, and a fixed pose or another frame that it is moved to."""

    name: str
    place: str
    """Where it was written, as ``file:line``."""
    parent: str | None = None
    """Name of the frame of the file or the robot that carries this frame; None for the world."""
    pose: FloatArray | None = None
    """(4, 4) pose in the parent; None for a frame with ``at`` or ``follow``."""
    at: str | None = None
    """Frame of the scene to whose pose this frame is moved before each calculation; it does not move along afterwards."""
    follow: str | None = None
    """Frame to whose latest pose this frame is moved before each calculation; it need not be part of the robot."""


@dataclass(frozen=True)
class FileEntry:
    """An item of a task set file: a joint, a task or a task set, with its settings by name."""

    name: str
    """Name of the joint or task set; for a task a text such as "task 1 of task set 'arm'"."""
    place: str
    """Where it was written, as ``file:line``."""
    settings: Mapping[str, Any]
    """Attributes of the joint, task or task set; a task also has ``tip``, ``target`` and ``base`` by name."""
    tasks: tuple[FileEntry, ...] = ()
    """The tasks of a task set; empty for joints and tasks."""


@dataclass(frozen=True)
class TaskSetFile:
    """The checked content of a task set file: frames, joint settings, task sets and the priority between task sets."""

    source: str
    """The file's name for messages."""
    task_sets: tuple[FileEntry, ...]
    """The first has the highest priority."""
    frames: tuple[FileFrame, ...] = ()
    """Frames that the file adds to the robot."""
    joints: tuple[FileEntry, ...] = ()
    """Settings of joints of the robot."""
    priority: str = 'strict'
    """``strict`` or ``nested``."""


def find_task_set_file(name: str) -> Path:
    """
    Return the path of a task set file.

    :param name: a path, or the name of a file that is shipped with this package, such as ``panda``.
    :raises DescriptionNotFound: if neither exists; the message lists the shipped names.
    """
    return find_shipped_file('task set file', name, 'task_sets')


@reads_file(ConfigError)
def read_task_set_file(path: str | os.PathLike[str]) -> TaskSetFile:
    """
    Return the content of a task set file.

    :param path: the file.
    :raises DescriptionNotFound: if the file does not exist.
    :raises ConfigError: for unknown keys and wrong values, with their place.
    """
    return parse_task_set_file(read_yaml(Path(path)), str(path))


def parse_task_set_file(content: Any, source: str = 'task set file') -> TaskSetFile:
    """
    Return the checked content of a task set file from its parsed YAML; names are not compared with a robot.

    :param content: the mapping at the top of the file, from :func:`ssik_ros.strict_yaml.parse_yaml`; any other mapping
        has no lines for messages.
    :param source: the file's name, which the result keeps.
    :raises ConfigError: for unknown keys and wrong values, and without a task set. The message has file and line, or
        only ``source`` if the mapping has no lines.
    """
    reader = _Reader(content, source, 'the file', FILE_KEYS)
    entries = reader.entry
    frames, joints, task_sets = map(reader.mapping, ('frames', 'joints', 'task_sets'))
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
        priority=_choice(reader, 'priority') if 'priority' in entries else 'strict',
    )


class _Reader(EntryReader):
    """
    Reads and checks the settings of one mapping of a task set file.

    :meth:`settings` returns many of them at once; the other methods each return the value of one key.
    """

    def settings(self, readers: Mapping[str, Callable[[_Reader, str], Any]]) -> dict[str, Any]:
        """
        Return the settings of this mapping by key, each read and checked by its function in ``readers``.

        Keys without a reader, and readers whose key is missing, are left out. A wrong value raises ConfigError with its
        place in the file.
        """
        return {key: readers[key](self, key) for key in self.entry if key in readers}

    def iterations(self, key: str) -> int:
        """
        Return the number of iterations under a key.

        Raise ConfigError if it is not a whole number from 0 to 100,000.
        """
        count = self.entry[key]
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            self.refuse(key, f'is {count!r}')
        if count > MOST_ITERATIONS:
            self.refuse(key, f'is above {MOST_ITERATIONS}: {count}')
        return count

    def limits(self, key: str) -> tuple[float, ...]:
        """Return (lower, upper) limit under a key [rad or m]; raise ConfigError if the lower one is larger."""
        limits = self.numbers(key, 2)
        if limits[0] > limits[1]:
            self.refuse(key, 'are reversed')
        return limits

    def positives(self, key: str) -> tuple[float, ...]:
        """Return the two numbers of ``precision`` or the three of ``weights``; raise ConfigError if one is negative."""
        values = self.numbers(key, 2 if key == 'precision' else 3)
        if min(values) < 0.0:
            self.refuse(key, 'has a negative number')
        return values

    def constraints(self, key: str) -> Constraint:
        """
        Return the bits of :class:`Constraint` for the name or list of names under a key, such as ``position``.

        :raises ConfigError: for an unknown name, an empty list, and anything but names.
        """
        names = self.entry[key]
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list) or not names:
            self.refuse(key, f'is no list of names but {names!r}')
        bits = Constraint(0)
        for name in names:
            if not isinstance(name, str) or name not in CONSTRAINT_NAMES:
                hint = describe_choices(str(name), CONSTRAINT_NAMES)
                self.refuse(key, f'has the unknown constraint {name!r}', hint)
            bits |= CONSTRAINT_NAMES[name]
        return bits


def _choice(reader: EntryReader, key: str) -> str:
    """Return the word under a key; raise ConfigError if it is not one of ``CHOICES[key]``."""
    return reader.choice(key, CHOICES[key])


JOINT_READERS: dict[str, Callable[[_Reader, str], Any]] = {
    'limits': _Reader.limits,
    **dict.fromkeys(('weight', 'limit_margin', 'max_step'), _Reader.positive),
    'passive': _Reader.switch,
}
SWITCHES = tuple(name.lower() for name in TaskSetFlag.__members__)
TASK_SET_READERS: dict[str, Callable[[_Reader, str], Any]] = {
    'method': _choice,
    'damping': _Reader.positive,
    'max_iterations': _Reader.iterations,
    'weights_mode': _choice,
    **dict.fromkeys(SWITCHES, _Reader.switch),
}
TASK_READERS: dict[str, Callable[[_Reader, str], Any]] = {
    **dict.fromkeys(('tip', 'target', 'base', 'constraint_base'), _Reader.text),
    'constraints': _Reader.constraints,
    **dict.fromkeys(('precision', 'weights'), _Reader.positives),
    **dict.fromkeys(('enabled', 'target_motion', 'closure'), _Reader.switch),
}


def _read_frame(name: str, content: Any, place: str) -> FileFrame:
    """
    Return a frame from its mapping in the file; raise ConfigError for wrong content.

    ``place`` is the file and line of the mapping, for messages.
    """
    what = f'frame {quote(name)}'
    reader = _Reader(content, place, what, FRAME_KEYS)
    keys = [key for key in ('xyz', 'rpy', 'at', 'follow') if key in reader.entry]
    if len(keys) > 1 and keys != ['xyz', 'rpy']:
        refuse(place, f'{what} has {" and ".join(map(repr, keys))}, which exclude each other')
    names = reader.settings(dict.fromkeys(('parent', 'at', 'follow'), _Reader.text))
    if 'at' in names or 'follow' in names:
        return FileFrame(name, place, **names)
    pose = np.eye(4)
    if 'rpy' in reader.entry:
        pose[:3, :3] = matrix_of_rpy(*reader.numbers('rpy', 3))
    if 'xyz' in reader.entry:
        pose[:3, 3] = reader.numbers('xyz', 3)
    return FileFrame(name, place, pose=pose, **names)


def _read_joint(name: str, content: Any, place: str) -> FileEntry:
    """
    Return the checked settings of a joint from its mapping in the file; raise ConfigError for wrong content.

    ``place`` is the file and line of the mapping, for messages.
    """
    reader = _Reader(content, place, f'joint {quote(name)}', JOINT_READERS)
    return FileEntry(name, place, reader.settings(JOINT_READERS))


def _read_task_set(name: str, content: Any, place: str) -> FileEntry:
    """
    Return a task set with its tasks from its mapping in the file; raise ConfigError for wrong content.

    ``place`` is the file and line of the mapping, for messages.
    """
    what = f'task set {quote(name)}'
    reader = _Reader(content, place, what, (*TASK_SET_READERS, 'tasks'))
    settings = reader.settings(TASK_SET_READERS)
    tasks, where = reader.entry.get('tasks'), reader.where('tasks')
    if not isinstance(tasks, list) or not tasks:
        refuse(where, f"{what} has no list of 'tasks'")
    file_tasks = (
        _read_task(f'task {number} of {what}', item, where) for number, item in enumerate(tasks, 1)
    )
    return FileEntry(name, place, settings, tuple(file_tasks))


def _read_task(name: str, content: Any, place: str) -> FileEntry:
    """
    Return a task from its mapping in the file; raise ConfigError for wrong content, such as a missing tip.

    :param name: name of the task in messages, such as "task 1 of task set 'arm'".
    :param place: file and line of the list of tasks; the result has the line of the task instead.
    """
    reader = _Reader(content, place, name, TASK_READERS)
    # A list does not know the lines of its items: the first key of the task does.
    reader.place = place = reader.where(next(iter(reader.entry), ''))
    if 'tip' not in reader.entry:
        refuse(place, f"{name} has no 'tip'")
    return FileEntry(name, place, reader.settings(TASK_READERS))
