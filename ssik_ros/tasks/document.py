"""
Environments as JSON documents: :func:`save` writes and :func:`load` reads them.

Numbers keep all digits, and objects refer to one another by name. Loading a saved document and saving the result gives
the same bytes. Functions of dependent joints are saved as 'module:name'. Loading imports nothing: the caller gives the
functions that a document may name. If an item is malformed, DocumentError names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
import importlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.arguments import check_mapping, read_path
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    ConfigError,
    describe_choices,
    DescriptionNotFound,
    ModelError,
    quote,
    shorten,
    SsikError,
    writing,
)
from ssik_ros.kernels.geometry import se3
from ssik_ros.kernels.geometry.rotations import pose_numbers
from ssik_ros.strict_yaml import EntryReader, finite_number, refuse
from ssik_ros.tasks.constants import JointType
from ssik_ros.tasks.joints import Dependency, IkJoint
from ssik_ros.tasks.objects import IkObject, ObjectTable
from ssik_ros.tasks.pose_formats import to_matrix
from ssik_ros.tasks.task_set import Task, TaskSetData
from ssik_ros.tasks.world import KIND_NAMES, read_priority, TaskWorld
from ssik_ros.tolerances import DEFAULT_TOLERANCES

FORMAT, VERSION = 'ik-env', 1
TOP = ('format', 'version', 'name', 'priority', 'objects', 'task_sets')
COMMON = ('name', 'kind', 'parent', 'pose')
DUMMY = (*COMMON, 'target')
JOINT = (
    *COMMON,
    'cyclic',
    'limits',
    'mode',
    'weight',
    'limit_margin',
    'max_step',
    'screw_lead',
    'position',
    'dependency',
)
DEPENDENCY = ('master', 'multiplier', 'offset', 'function', 'derivative', 'with_handles')
TASK_SET = ('name', 'flags', 'method', 'damping', 'max_iterations', 'weights_mode', 'tasks')
TASK_OBJECTS = ('tip', 'base', 'constraint_base')
MALFORMED = (
    SsikError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Exceptions that a malformed document may raise without a message of its own."""
LARGEST_INTEGER = 2**31 - 1
Functions = Mapping[str, Callable[..., Any]]


class DocumentError(ConfigError):
    """Raised for a malformed document, for other data, and if the environment that it is to fill is not empty."""


def save(environment: TaskWorld, path: str | os.PathLike[str] | None = None) -> bytes:
    """
    Return an environment as the bytes of a JSON document, and write them to the file ``path`` if given.

    :raises ModelError: if a function of a dependent joint cannot be imported by a name, such as a lambda.
    :raises InvalidOption: if ``path`` is not a path, or if the file cannot be written.
    :raises EnvironmentClosed: for a closed environment.
    """
    environment.find(None)
    lost = [
        f'{what} of {quote(joint.name)}'
        for joint in environment.joints
        for what, item in _functions(joint.dependency)
        if item is not None and _import_path(item) is None
    ]
    if lost:
        raise ModelError(
            f'These functions cannot be saved, because no module has them under a name: {", ".join(lost)}.',
            functions=tuple(lost),
        )
    document = {
        'format': FORMAT,
        'version': VERSION,
        'name': environment.name,
        'priority': environment.priority,
        'objects': [_object_entry(item) for item in environment.slots],
        'task_sets': [_entry(item, TASK_SET) for item in environment.task_sets.values()],
    }
    data = (json.dumps(document, indent=1, allow_nan=False) + '\n').encode()
    if path is not None:
        file = read_path('path', path)
        with writing(file):
            file.write_bytes(data)
    return data


def _functions(rule: Dependency | None) -> list[tuple[str, Callable[..., float] | None]]:
    """Return [('function', f), ('derivative', g)] of a dependency, where f and g may be None; an empty list for None."""
    if rule is None:
        return []
    return [('function', rule.function), ('derivative', rule.derivative)]


def _import_path(function: Callable[..., float] | None) -> str | None:
    """
    Return 'module:name' of a function, by which :func:`import_function` gives the same object back.

    Lambdas, local functions and functions of ``__main__`` cannot be imported: they give None, as None does.
    """
    if function is None:
        return None
    module, name = getattr(function, '__module__', ''), getattr(function, '__qualname__', '')
    if not module or module == '__main__':
        return None
    try:
        imported = import_function(f'{module}:{name}')
    except (ImportError, AttributeError, ValueError):
        return None
    return f'{module}:{name}' if imported is function else None


def import_function(path: str) -> Callable[..., Any]:
    """
    Return the function of a path like module:name.

    :param path: the module, a colon, and the name within the module.
    :raises ImportError: if the module does not exist.
    :raises AttributeError, ValueError: if the module does not have the name.
    """
    module, _, name = path.partition(':')
    member: Any = importlib.import_module(module)
    for part in name.split('.'):
        member = getattr(member, part)
    return member  # type: ignore[no-any-return]


def _object_entry(item: IkObject) -> dict[str, Any]:
    """Return an object as an item of the list ``objects`` of a document: name, kind, parent, local pose and further keys."""
    pose = to_matrix(item.world.poses[item.slot])[:3].tolist()
    if not isinstance(item, IkJoint):
        return _entry(item, DUMMY, kind='dummy', pose=pose)
    place = item.place_in_values
    values = item.world.values[place : place + item.size].tolist()
    return _entry(item, JOINT, pose=pose, position=values)


def _entry(item: object, keys: Iterable[str], **given: Any) -> dict[str, Any]:
    """
    Return a mapping with a JSON value (see :func:`_plain`) for each of ``keys``.

    The value is taken from ``given`` if it has the key, else from the attribute of ``item`` with this name.
    """
    return {key: given[key] if key in given else _plain(getattr(item, key)) for key in keys}


def _plain(value: Any) -> Any:
    """
    Return a value as JSON can hold it.

    An object becomes its name, and a function its path 'module:name', or None if it cannot be imported. A task or a
    dependency becomes a mapping, a tuple a list, and a member of an IntEnum its name in lower case. Other values stay
    as they are, also flags.
    """
    kind = type(value)
    if value is None or kind in (float, bool, str):
        return value
    if kind is tuple:
        return list(value)
    if isinstance(value, IkObject):
        return value.name
    if kind in KEYS:
        return _entry(value, KEYS[kind])
    if kind is list:
        return list(map(_plain, value))
    if isinstance(value, IntEnum):
        return value.name.lower()
    if callable(value):
        return _import_path(value)
    return value


def load(
    environment: TaskWorld,
    source: bytes | str | os.PathLike[str],
    functions: Functions | None = None,
) -> None:
    """
    Fill an empty environment from a document; if the document is refused, the environment stays empty.

    :param source: the bytes of a document, or the path of its file.
    :param functions: the functions that the document may name, by 'module:name' as the document writes it.
    :raises DocumentError: if the environment is not empty, or with the item of the document that is wrong.
    :raises DescriptionNotFound: (a FileNotFoundError) if the file cannot be read.
    :raises InvalidOption: if ``source`` is neither bytes nor a path, or ``functions`` not a mapping.
    """
    if functions is not None:
        check_mapping('functions', functions, 'functions by their names')
    if environment.slots or environment.task_sets:
        raise DocumentError(f'Environment {quote(environment.name)} is not empty.')
    data = source if isinstance(source, bytes) else _read(read_path('source', source))
    try:
        _fill(environment, _parse(data), functions or {})
    except BaseException as error:
        _empty(environment)
        if isinstance(error, DocumentError) or not isinstance(error, MALFORMED):
            raise
        raise DocumentError(f'The document is refused: {error}') from error


def _read(path: Path) -> bytes:
    """Return the bytes of a file; raise DescriptionNotFound if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise DescriptionNotFound(f'{quote(path)} cannot be read: {reason}.', path=path) from error


def _empty(environment: TaskWorld) -> None:
    """Remove all task sets and objects from an environment."""
    environment.task_sets.clear()
    for item in tuple(environment.slots)[::-1]:
        environment.erase(item)


class _Reader(EntryReader):
    """Reads and checks the values of one mapping of a document, which must have exactly the given keys."""

    def __init__(self, content: Any, noun: str, keys: tuple[str, ...]) -> None:
        """
        Keep the mapping; raise ConfigError for anything but a mapping with exactly these keys.

        :param content: the mapping.
        :param noun: its name in messages.
        :param keys: the keys that it must have.
        """
        super().__init__(content, noun, noun, keys)
        if len(self.entry) < len(keys):
            lost = next(key for key in keys if key not in self.entry)
            refuse(noun, f'{noun} lacks {quote(lost)}')

    def typed(self, key: str, kind: type) -> Any:
        """
        Return the value of a key; raise ConfigError if it is not of the type ``kind``, or a boolean.

        An integer must not be beyond +-(2^31 - 1).
        """
        value = self.entry[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            self.refuse(key, f'is no {kind.__name__}: {value!r}')
        if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            self.refuse(key, f'is beyond {LARGEST_INTEGER}')
        return value

    def member(self, key: str, environment: ObjectTable) -> IkObject:
        """Return the object that the value of a key names; raise ConfigError for an unknown one."""
        name = self.entry[key]
        if not isinstance(name, str) or name not in environment:
            hint = describe_choices(str(name), environment.objects)
            self.refuse(key, f'is {name!r}, no object', hint)
        return environment[name]


TASK_VALUES: dict[str, Callable[[_Reader, str], Any]] = {
    **dict.fromkeys(('handle', 'constraints'), lambda entry, key: entry.typed(key, int)),
    'precision': lambda entry, key: entry.numbers(key, 2),
    'weights': lambda entry, key: entry.numbers(key, 3),
    **dict.fromkeys(('enabled', 'target_motion', 'closure'), EntryReader.switch),
}
"""Function that reads each value of a task."""
TASK = ('handle', *TASK_OBJECTS, *list(TASK_VALUES)[1:])
KEYS = {Task: TASK, Dependency: DEPENDENCY}
"""Keys of values that a document has as mappings."""


def _parse(data: bytes) -> _Reader:
    """
    Return the top mapping of a document after a check of its keys, format and version.

    :raises DocumentError, ConfigError: if the data is not such a JSON document.
    """
    if b'\0' in data:
        raise DocumentError(
            "This is binary data. CoppeliaSim's private format cannot be read; documents come from Environment.save."
        )
    try:
        content = json.loads(data.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DocumentError(
            f"This is no document of an environment (CoppeliaSim's private format cannot be read): {error}"
        ) from None
    document = _Reader(content, 'the document', TOP)
    name, version = document.entry['format'], document.entry['version']
    if (name, version) != (FORMAT, VERSION):
        raise DocumentError(
            f'The format is {quote(name)} version {version}, not {quote(FORMAT)} version {VERSION}.'
        )
    return document


def _refuse_constant(name: str) -> float:
    """Raise ValueError; the JSON parser calls this for NaN and infinity, with their ``name``."""
    raise ValueError(f'{name} is not a finite number')


def _fill(environment: TaskWorld, document: _Reader, functions: Functions) -> None:
    """
    Fill an environment from the parsed document: objects, then parents, then dependencies and targets, then task sets.

    :raises SsikError: with the item that is wrong. Malformed content may also raise the other exceptions of
        ``MALFORMED``.
    """
    name, priority = document.typed('name', str), read_priority(document.entry['priority'])
    objects, task_sets = (document.typed(key, list) for key in ('objects', 'task_sets'))
    made = [_make_object(environment, content) for content in objects]
    for item, entry in made:
        if entry.entry['parent'] is not None:
            _hang(item, entry.member('parent', environment))
    for item, entry in made:
        if isinstance(item, IkJoint):
            _depend(environment, item, entry.entry['dependency'], functions)
        elif entry.entry['target'] is not None:
            environment.dummy(item).target = entry.member('target', environment)
    for content in task_sets:
        _make_task_set(environment, content)
    environment.name, environment.priority = name, priority


def _noun(kind: str, content: Any) -> str:
    """Return a kind of entry and the name that its content has, such as ``object 'tip'``, for messages."""
    name = content.get('name') if isinstance(content, dict) else None
    return f'{kind} {shorten(repr(name))}'


def _make_object(environment: TaskWorld, content: Any) -> tuple[IkObject, _Reader]:
    """
    Add an object of a document with its local pose and, for a joint, its settings; its parent is set later.

    :returns: the object, and the reader of its entry.
    :raises SsikError: for a name that is taken, an unknown kind or a wrong value.
    """
    kind = content.get('kind') if isinstance(content, dict) else None
    entry = _Reader(content, _noun('object', content), DUMMY if kind == 'dummy' else JOINT)
    name, pose = entry.text('name'), _pose(entry)
    if name in environment:
        raise DocumentError(f'There are two objects of the name {name!r}.')
    item: IkObject
    if kind == 'dummy':
        item = environment.add_dummy(name)
    else:
        item = environment.add_joint(entry.choice('kind', ('dummy', *KIND_NAMES)), name)
        _set_joint(item, entry)
    # The very numbers of the file: bringing them onto SO(3) once more would change last bits.
    environment.poses[item.slot] = pose
    return item, entry


def _pose(entry: _Reader) -> FloatArray:
    """Return the 3x4 matrix of an entry as a pose (12,); raise ConfigError if it is not rigid."""
    rows = entry.typed('pose', list)
    if len(rows) != 3 or not all(isinstance(row, list) and len(row) == 4 for row in rows):
        entry.refuse('pose', f'is not a 3x4 matrix: {rows!r}')
    matrix = np.eye(4)
    matrix[:3] = [[finite_number(value, entry.place, "'pose'") for value in row] for row in rows]
    if not se3.is_rigid(matrix, 0, DEFAULT_TOLERANCES.rigid):
        entry.refuse('pose', f'is not a rigid transform: {rows}')
    return pose_numbers(matrix)


def _set_joint(joint: IkJoint, entry: _Reader) -> None:
    """
    Write limits, mode, weight and the other settings of an entry, and its value, into a joint.

    :raises SsikError: for a wrong setting, if settings contradict one another, or if the value is outside the limits.
    """
    lead, cyclic = entry.number('screw_lead'), entry.switch('cyclic')
    lower, upper = entry.numbers('limits', 2)
    if joint.kind != JointType.SPHERICAL:
        joint.limits = lower, upper
        if cyclic:
            joint.cyclic = True
    if lead != 0.0:
        joint.screw_lead = lead
    if joint.cyclic != cyclic or joint.limits != (lower, upper):
        raise DocumentError(
            f'Limits, cyclic and screw lead of {entry.noun} contradict one another.'
        )
    joint.passive = entry.choice('mode', ('passive', 'ik')) == 'passive'
    for key in ('weight', 'limit_margin', 'max_step'):
        setattr(joint, key, entry.number(key))
    values = entry.numbers('position', joint.size)
    if joint.size == 4 and not abs(math.hypot(*values) - 1.0) < 1e-9:
        entry.refuse('position', f'is no unit quaternion: {values}')
    limited = joint.size == 1 and entry.entry['dependency'] is None and not cyclic
    if limited and not lower <= values[0] <= upper:
        entry.refuse('position', f'is outside the limits: {values[0]}')
    place = joint.place_in_values
    joint.world.values[place : place + joint.size] = values


def _hang(item: IkObject, parent: IkObject) -> None:
    """
    Make ``parent`` the parent of an object; the local pose stays, the pose in the world may change.

    :raises DocumentError: if the parents form a cycle.
    """
    if item in parent.ancestors():
        raise DocumentError(f'The parents of {quote(item.name)} form a cycle.')
    item._parent = parent
    item.world.changed()


def _depend(environment: TaskWorld, joint: IkJoint, content: Any, given: Functions) -> None:
    """
    Let a joint follow another joint as a document says; content None leaves the joint independent.

    :param given: the functions that the document may name, by 'module:name'.
    :raises ConfigError: for an unknown master or function, or if the dependencies form a cycle.
    """
    if content is None:
        return
    entry = _Reader(content, f'the dependency of {quote(joint.name)}', DEPENDENCY)
    master = entry.member('master', environment)
    if not isinstance(master, IkJoint) or JointType.SPHERICAL in (master.kind, joint.kind):
        raise DocumentError(f'{entry.noun} is on something that no joint can depend on.')
    if master.driver() is joint or master is joint:
        raise DocumentError(f'{entry.noun} closes a cycle.')
    functions = {}
    for key in ('function', 'derivative'):
        path = entry.entry[key]
        if path is not None and (not isinstance(path, str) or ':' not in path):
            entry.refuse(key, f"is no 'module:name': {path!r}")
        if path is not None and path not in given:
            raise DocumentError(
                f'The {key} in {entry.noun} is {quote(path)}. Documents import no modules: give the function itself, '
                f'functions={{{quote(path)}: ...}}, if you trust the document.',
                path=path,
            )
        functions[key] = None if path is None else given[path]
    joint._dependency = Dependency(
        master,
        entry.number('multiplier'),
        entry.number('offset'),
        with_handles=entry.switch('with_handles'),
        **functions,
    )
    environment.changed()


def _make_task_set(environment: TaskWorld, content: Any) -> None:
    """Add a task set of a document, with its tasks and their handles; raise SsikError for wrong content."""
    entry = _Reader(content, _noun('task set', content), TASK_SET)
    task_set = environment.add_task_set(
        entry.text('name'),
        method=entry.text('method'),
        damping=entry.number('damping'),
        max_iterations=entry.typed('max_iterations', int),
        weights_mode=entry.entry['weights_mode'],
        flags=entry.typed('flags', int),
    )
    for index, item in enumerate(entry.typed('tasks', list)):
        _make_task(task_set, _Reader(item, f'task {index} of {entry.noun}', TASK))
    task_set.tasks.sort(key=lambda task: task.handle)


def _make_task(task_set: TaskSetData, entry: _Reader) -> None:
    """Add a task of a document to a task set; raise SsikError for wrong content."""
    ends: dict[str, Any] = {
        key: entry.member(key, task_set.world)
        for key in TASK_OBJECTS
        if key == 'tip' or entry.entry[key] is not None
    }
    values = {key: read(entry, key) for key, read in TASK_VALUES.items()}
    handle = values.pop('handle')
    if handle < 0 or any(other.handle == handle for other in task_set.tasks):
        entry.refuse('handle', f'is taken or negative: {handle}')
    task_set.add_task(**ends, **values).handle = handle
