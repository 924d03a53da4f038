"""
Environments as JSON documents: :func:`save` writes and :func:`load` reads them.

Numbers keep all digits, and objects refer to one another by name. Saving a loaded document gives the same bytes.
Functions of dependent joints are saved as 'module:name'. Loading imports nothing: the caller gives the functions that a
document may name. If anything is malformed, DocumentError names the item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
import importlib
import json
import math
import os
from typing import Any

import numpy as np

from ssik_ros.arguments import read_path
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ConfigError, counted, ModelError, quote, SsikError
from ssik_ros.kernels.geometry import se3
from ssik_ros.tasks.constants import JointType
from ssik_ros.tasks.joints import Dependency, IkJoint
from ssik_ros.tasks.objects import Dummy, IkObject
from ssik_ros.tasks.pose_formats import to_matrix
from ssik_ros.tasks.task_set import TaskSetData
from ssik_ros.tasks.world import TaskWorld
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
TASK_VALUES: dict[str, type | int] = {
    'handle': int,
    'constraints': int,
    'precision': 2,
    'weights': 3,
    'enabled': bool,
    'target_motion': bool,
    'closure': bool,
}
"""Type of each value of a task, or how many numbers it has."""
TASK = ('handle', *TASK_OBJECTS, *list(TASK_VALUES)[1:])


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
    """Raised for data that is not a document of an environment, or for a malformed document."""


def save(environment: TaskWorld, path: str | os.PathLike[str] | None = None) -> bytes:
    """
    Return an environment as the bytes of a JSON document, and write them to the file ``path`` if given.

    :raises ModelError: if a function of a dependent joint cannot be imported by a name, such as a lambda.
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
        'task_sets': [_task_set_entry(task_set) for task_set in environment.task_sets.values()],
    }
    data = (json.dumps(document, indent=1, allow_nan=False) + '\n').encode()
    if path is not None:
        read_path('path', path).write_bytes(data)
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
    local = item.world.poses[item.slot]
    matrix = to_matrix(local)
    entry: dict[str, Any] = {
        'name': item.name,
        'kind': item.kind.name.lower() if isinstance(item, IkJoint) else 'dummy',
        'parent': _plain(item.parent),
        'pose': matrix[:3].tolist(),
    }
    if isinstance(item, Dummy):
        entry['target'] = _plain(item.target)
    if isinstance(item, IkJoint):
        entry |= _joint_entry(item)
    return entry


def _joint_entry(joint: IkJoint) -> dict[str, Any]:
    """Return the keys that only joints have in a document: limits, mode, weight, position, dependency and others."""
    place, rule = joint.place_in_values, joint.dependency
    special = {
        'mode': joint.mode.name.lower(),
        'position': joint.world.values[place : place + joint.size].tolist(),
        'dependency': None if rule is None else _saved(rule, DEPENDENCY),
    }
    return {**_saved(joint, JOINT[len(COMMON) :], special), **special}


def _task_set_entry(task_set: TaskSetData) -> dict[str, Any]:
    """Return a task set as an item of the list ``task_sets`` of a document: name, settings and tasks."""
    tasks = [_saved(task, TASK) for task in task_set.tasks]
    return {'name': task_set.name, **task_set.settings(), 'tasks': tasks}


def _saved(item: object, keys: Iterable[str], special: Iterable[str] = ()) -> dict[str, Any]:
    """
    Return the attributes ``keys`` of an item by name, as JSON values of :func:`_plain`.

    Keys in ``special`` get None, because the caller writes them.
    """
    return {key: None if key in special else _plain(getattr(item, key)) for key in keys}


def _plain(value: Any) -> Any:
    """
    Return a value as JSON can hold it.

    An object becomes its name, a function its path 'module:name', a tuple a list; other values stay as they are.
    """
    if isinstance(value, IkObject):
        return value.name
    if callable(value):
        return _import_path(value)
    return list(value) if isinstance(value, tuple) else value


def load(
    environment: TaskWorld,
    source: bytes | str | os.PathLike[str],
    functions: Functions | None = None,
) -> None:
    """
    Fill an empty environment from a document; if the document is refused, the environment is empty afterwards.

    :param source: the bytes of a document, or the path of its file.
    :param functions: the functions that the document may name, by 'module:name' as the document writes it.
    :raises DocumentError: if the environment is not empty, or with the item of the document that is wrong.
    :raises OSError: if the file cannot be read.
    """
    if environment.slots or environment.task_sets:
        raise DocumentError(f'Environment {quote(environment.name)} is not empty.')
    data = source if isinstance(source, bytes) else read_path('source', source).read_bytes()
    document = _parse(data)
    try:
        _fill(environment, document, functions or {})
    except BaseException as error:
        _empty(environment)
        if isinstance(error, DocumentError) or not isinstance(error, MALFORMED):
            raise
        raise DocumentError(f'The document is refused: {error}') from error


def _empty(environment: TaskWorld) -> None:
    """Remove all task sets and objects from an environment."""
    environment.task_sets.clear()
    for item in tuple(environment.slots)[::-1]:
        environment.erase(item)


def _parse(data: bytes) -> Mapping[str, Any]:
    """
    Return the top mapping of a document after a check of its keys, format and version.

    :raises DocumentError: if the data is not such a JSON document.
    """
    if b'\0' in data:
        raise DocumentError(
            "This is binary data. CoppeliaSim's private format cannot be read; documents come from Environment.save."
        )
    try:
        document = json.loads(data.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DocumentError(
            f"This is no document of an environment (CoppeliaSim's private format cannot be read): {error}"
        ) from None
    _keys(document, TOP, 'document')
    if document['format'] != FORMAT or document['version'] != VERSION:
        raise DocumentError(
            f'The format is {quote(document["format"])} version {document["version"]}, not {quote(FORMAT)} version {VERSION}.'
        )
    for key in ('objects', 'task_sets'):
        if not isinstance(document[key], list):
            raise DocumentError(f'{quote(key)} is not a list.')
    return document  # type: ignore[no-any-return]


def _refuse_constant(name: str) -> float:
    """Raise ValueError; the JSON parser calls this for NaN and infinity, with their ``name``."""
    raise ValueError(f'{name} is not a finite number')


def _keys(entry: object, keys: tuple[str, ...], what: str) -> None:
    """
    Check that an entry is a mapping with exactly the ``keys``; raise DocumentError otherwise.

    ``what`` names the entry in the message.
    """
    if not isinstance(entry, dict):
        raise DocumentError(f'The {what} is not a mapping: {entry!r}.')
    for key in entry:
        if key not in keys:
            raise DocumentError.unknown(f'The {what} has {quote(key)}', key, keys)
    for key in keys:
        if key not in entry:
            raise DocumentError(f'The {what} lacks {quote(key)}.')


def _numbers(value: object, count: int, what: str) -> list[float]:
    """Return a list of ``count`` finite numbers; raise DocumentError for anything else."""
    if not isinstance(value, list) or len(value) != count:
        raise DocumentError(f'The {what} is not a list of {counted(count, "number")}: {value!r}.')
    return [_number(item, what) for item in value]


def _number(value: object, what: str) -> float:
    """Return a finite number; raise DocumentError for anything else."""
    try:
        if not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    except OverflowError:
        raise DocumentError(f'The {what} is too large for a number.') from None
    raise DocumentError(f'The {what} is not a finite number: {value!r}.')


def _typed(value: object, type_: type, what: str) -> Any:
    """Return a value of a type; raise DocumentError for another type or an integer that is too large."""
    if not isinstance(value, type_) or (type_ is int and isinstance(value, bool)):
        raise DocumentError(f'The {what} is no {type_.__name__}: {value!r}.')
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        raise DocumentError(f'The {what} is beyond {LARGEST_INTEGER}.')
    return value


def _named(entry: object, kind: str) -> str:
    """Return the name of an entry; raise DocumentError if the name is missing or empty."""
    name = entry.get('name') if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        raise DocumentError(f'An entry of the {kind}s has no name: {entry!r}.')
    return name


def _fill(environment: TaskWorld, document: Mapping[str, Any], functions: Functions) -> None:
    """
    Fill an environment from the parsed document: objects, then parents, then dependencies and targets, then task sets.

    :raises DocumentError: with the item that is wrong.
    """
    environment.name = _typed(document['name'], str, 'name of the environment')
    if document['priority'] not in ('strict', 'nested'):
        raise DocumentError(
            f'The priority is {quote(document["priority"])}, not strict or nested.'
        )
    environment.priority = document['priority']
    for entry in document['objects']:
        _make_object(environment, entry)
    for entry in document['objects']:
        item = environment[entry['name']]
        _hang(environment, item, entry)
    for entry in document['objects']:
        item = environment[entry['name']]
        if isinstance(item, IkJoint):
            _depend(environment, item, entry['dependency'], functions)
        elif entry['target'] is not None:
            _require_object(environment, entry['target'], f'target of {quote(item.name)}')
            environment.dummy(item).target = entry['target']
    for entry in document['task_sets']:
        _make_task_set(environment, entry)


def _require_object(environment: TaskWorld, name: object, what: str) -> None:
    """Raise DocumentError if an environment has no object of the given name; ``what`` is its role in the message."""
    if not isinstance(name, str) or name not in environment:
        raise DocumentError.unknown(
            f'The {what}, {name!r}, is no object', str(name), environment.objects
        )


def _make_object(environment: TaskWorld, entry: Any) -> None:
    """
    Add the object of an entry with its local pose and, for a joint, its settings; its parent is set later.

    :raises DocumentError: for a name that is taken, an unknown kind or a wrong value.
    """
    name = _named(entry, 'object')
    what = f'object {quote(name)}'
    if name in environment:
        raise DocumentError(f'There are two objects of the name {name!r}.')
    kind = entry.get('kind')
    _keys(entry, DUMMY if kind == 'dummy' else JOINT, what)
    pose = _pose(entry['pose'], what)
    if kind == 'dummy':
        item: IkObject = environment.add_dummy(name)
    elif isinstance(kind, str) and kind.upper() in JointType.__members__:
        item = environment.add_joint(kind, name)
        _set_joint(item, entry, what)
    else:
        raise DocumentError(f'The kind of {what} is {kind!r}, no joint type and not dummy.')
    # The very numbers of the file: bringing them onto SO(3) once more would change last bits.
    environment.poses[item.slot] = pose


def _pose(value: object, what: str) -> FloatArray:
    """Return a 3x4 matrix of a document as a pose (12,); raise DocumentError if it is not rigid."""
    if not isinstance(value, list) or len(value) != 3:
        raise DocumentError(f'The pose of {what} is not a 3x4 matrix: {value!r}.')
    rows = np.array([_numbers(row, 4, f'pose of {what}') for row in value])
    if not se3.is_rigid(np.vstack([rows, [0.0, 0.0, 0.0, 1.0]]), 0, DEFAULT_TOLERANCES.rigid):
        raise DocumentError(f'The pose of {what} is not a rigid transform: {value}.')
    return np.concatenate([rows[:, :3].ravel(), rows[:, 3]])


def _set_joint(joint: IkJoint, entry: Mapping[str, Any], what: str) -> None:
    """
    Write limits, mode, weight and the other settings of an entry, and its value, into a joint.

    :raises DocumentError: if settings contradict one another, or if the value is outside the limits.
    """
    lead = _number(entry['screw_lead'], f'screw lead of {what}')
    lower, upper = _numbers(entry['limits'], 2, f'limits of {what}')
    cyclic = _typed(entry['cyclic'], bool, f'cyclic of {what}')
    if joint.kind != JointType.SPHERICAL:
        joint.limits = lower, upper
        if cyclic:
            joint.cyclic = True
    if lead != 0.0:
        joint.screw_lead = lead
    if joint.cyclic != cyclic or joint.limits != (lower, upper):
        raise DocumentError(f'Limits, cyclic and screw lead of {what} contradict one another.')
    if entry['mode'] not in ('passive', 'ik'):
        raise DocumentError(f'The mode of {what} is {entry["mode"]!r}, not passive or ik.')
    joint.passive = entry['mode'] == 'passive'
    for key in ('weight', 'limit_margin', 'max_step'):
        setattr(joint, key, _number(entry[key], f'{key} of {what}'))
    values = _numbers(entry['position'], joint.size, f'position of {what}')
    if joint.size == 4 and not abs(math.hypot(*values) - 1.0) < 1e-9:
        raise DocumentError(f'The position of {what} is no unit quaternion: {values}.')
    limited = joint.size == 1 and entry['dependency'] is None and not cyclic
    if limited and not lower <= values[0] <= upper:
        raise DocumentError(f'The position of {what}, {values[0]}, is outside its limits.')
    place = joint.place_in_values
    joint.world.values[place : place + joint.size] = values


def _hang(environment: TaskWorld, item: IkObject, entry: Mapping[str, Any]) -> None:
    """
    Attach an object to the parent that its entry names; the local pose stays, the pose in the world may change.

    :raises DocumentError: for an unknown parent, or if the parents form a cycle.
    """
    if entry['parent'] is None:
        return
    _require_object(environment, entry['parent'], f'parent of {quote(item.name)}')
    parent = environment[entry['parent']]
    if item in parent.ancestors():
        raise DocumentError(f'The parents of {quote(item.name)} form a cycle.')
    item._parent = parent
    environment.changed()


def _depend(environment: TaskWorld, joint: IkJoint, entry: Any, given: Functions) -> None:
    """
    Let a joint follow another joint as its entry says; an entry None leaves the joint independent.

    :param given: the functions that the document may name, by 'module:name'.
    :raises DocumentError: for an unknown master or function, or if the dependencies form a cycle.
    """
    if entry is None:
        return
    what = f'dependency of {quote(joint.name)}'
    _keys(entry, DEPENDENCY, what)
    _require_object(environment, entry['master'], f'master in the {what}')
    master = environment[entry['master']]
    if not isinstance(master, IkJoint) or JointType.SPHERICAL in (master.kind, joint.kind):
        raise DocumentError(f'The {what} is on something that no joint can depend on.')
    if master.driver() is joint or master is joint:
        raise DocumentError(f'The {what} closes a cycle.')
    functions = {}
    for key in ('function', 'derivative'):
        path = entry[key]
        if path is not None and (not isinstance(path, str) or ':' not in path):
            raise DocumentError(f"The {key} in the {what} is no 'module:name': {path!r}.")
        if path is not None and path not in given:
            raise DocumentError(
                f'The {key} in the {what} is {quote(path)}. Documents import no modules: give the function itself, '
                f'functions={{{quote(path)}: ...}}, if you trust the document.',
                path=path,
            )
        functions[key] = None if path is None else given[path]
    joint._dependency = Dependency(
        master,
        _number(entry['multiplier'], f'multiplier in the {what}'),
        _number(entry['offset'], f'offset in the {what}'),
        with_handles=_typed(entry['with_handles'], bool, f'with_handles in the {what}'),
        **functions,
    )
    environment.changed()


def _make_task_set(environment: TaskWorld, entry: Any) -> None:
    """Add the task set of an entry, with its tasks and their handles; raise DocumentError for wrong content."""
    name = _named(entry, 'task set')
    what = f'task set {quote(name)}'
    _keys(entry, TASK_SET, what)
    if not isinstance(entry['tasks'], list):
        raise DocumentError(f'The tasks of {what} are not a list.')
    task_set = environment.add_task_set(
        name,
        method=_typed(entry['method'], str, f'method of {what}'),
        damping=_number(entry['damping'], f'damping of {what}'),
        max_iterations=_typed(entry['max_iterations'], int, f'max_iterations of {what}'),
        weights_mode=entry['weights_mode'],
        flags=_typed(entry['flags'], int, f'flags of {what}'),
    )
    for index, item in enumerate(entry['tasks']):
        label = f'task {index} of {what}'
        _keys(item, TASK, label)
        for key in TASK_OBJECTS:
            if key == 'tip' or item[key] is not None:
                _require_object(environment, item[key], f'{key} of {label}')
        values: dict[str, Any] = {
            key: _numbers(item[key], kind, f'{key} of {label}')
            if isinstance(kind, int)
            else _typed(item[key], kind, f'{key} of {label}')
            for key, kind in TASK_VALUES.items()
        }
        handle = values.pop('handle')
        task = task_set.add_task(**{key: item[key] for key in TASK_OBJECTS}, **values)
        if handle < 0 or any(o is not task and o.handle == handle for o in task_set.tasks):
            raise DocumentError(f'The handle of {label} is taken or negative: {handle}.')
        task.handle = handle
    task_set.tasks.sort(key=lambda task: task.handle)
