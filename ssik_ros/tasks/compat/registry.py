"""
Tables of environments and overlays by integer handles, as scripts of the simIK API use them, and the scene in use.

Functions return objects, task sets and tasks of an environment by their handles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import itertools
from typing import Any

from ssik_ros.arguments import as_integer, check_callable, check_kind, check_listed, refuse, shown
from ssik_ros.errors import InvalidOption, list_names, quote, RequestError
from ssik_ros.tasks.constants import WORLD
from ssik_ros.tasks.document import import_function
from ssik_ros.tasks.environment import Environment, TaskSet
from ssik_ros.tasks.objects import IkObject
from ssik_ros.tasks.overlay import Overlay
from ssik_ros.tasks.scene import Scene
from ssik_ros.tasks.task_set import Task, TaskSetNotFound


class UnknownHandle(RequestError, KeyError):
    """Raised if no environment, no overlay or no object of the scene has a handle, or if a handle is not an integer."""


_environments: dict[int, Environment] = {}
_overlays: dict[int, Overlay] = {}
_environment_handles, _overlay_handles = itertools.count(1), itertools.count(1)
_scenes: list[Scene] = []


def register(environment: Environment) -> int:
    """Store an environment under a new handle and return the handle."""
    environment.handle = next(_environment_handles)
    _environments[environment.handle] = environment
    return environment.handle


def _number(what: str, handle: int) -> int:
    """Return a handle as an int; raise UnknownHandle if it is not an integer. ``what`` names its kind in the message."""
    number = as_integer(handle)
    if number is None:
        raise UnknownHandle(
            f'The handle of an {what} is a number, not {shown(handle)}.', handle=handle
        )
    return number


def environment_of(handle: int) -> Environment:
    """
    Return the environment of a handle.

    :raises UnknownHandle: if the handle is unknown or its environment was erased.
    """
    if _number('environment', handle) not in _environments:
        raise UnknownHandle(
            f'There is no environment with the handle {shown(handle)}; there are {list_names(_environments)}.',
            handle=handle,
        )
    return _environments[handle]


def drop_environment(handle: int) -> None:
    """
    Close an environment, and erase the environment and its overlays from the tables: their handles become unknown.

    :raises UnknownHandle: if the handle is unknown.
    """
    environment = environment_of(handle)
    for number, overlay in tuple(_overlays.items()):
        if overlay.world is environment:
            drop_overlay(number)
    del _environments[handle]
    environment.close()


def keep_overlay(overlay: Overlay) -> int:
    """
    Store an overlay and return its handle.

    If the tip has an overlay in the table, the new overlay replaces it under the same handle.
    """
    for number, other in _overlays.items():
        if other.world is overlay.world and other.tip is overlay.tip:
            _overlays[number] = overlay
            return number
    number = next(_overlay_handles)
    _overlays[number] = overlay
    return number


def overlay_of(handle: int) -> Overlay:
    """
    Return the overlay of a handle, to draw its markers.

    :raises UnknownHandle: if the handle is unknown or its overlay was erased.
    """
    if _number('overlay', handle) not in _overlays:
        raise UnknownHandle(f'There is no overlay with the handle {shown(handle)}.', handle=handle)
    return _overlays[handle]


def drop_overlay(handle: int) -> None:
    """Erase an overlay, so that it has no more markers, and remove its handle; raise UnknownHandle for an unknown handle."""
    overlay_of(handle).erase()
    del _overlays[handle]


def use_scene(scene: Scene) -> None:
    """
    Make a scene the one that all functions of the simIK API read and write; it replaces an earlier scene.

    The handle of an object of the scene is its index in ``scene.structure()``.

    :raises InvalidOption: if the scene lacks a method of :class:`Scene`.
    """
    for method in ('structure', 'joint_positions', 'pose', 'apply'):
        if not callable(getattr(scene, method, None)):
            refuse('scene', scene, 'a scene such as RobotScene')
    _scenes[:] = [scene]


def current_scene() -> Scene:
    """Return the scene in use; raise RequestError if :func:`use_scene` was never called."""
    if not _scenes:
        raise RequestError('There is no scene; call use_scene first.')
    return _scenes[0]


def scene_handle(name: str) -> int:
    """
    Return the handle of an object of the scene in use by its name; raise UnknownHandle for an unknown name.

    :raises RequestError: without a scene.
    """
    names = [item.name for item in current_scene().structure()]
    if not isinstance(name, str) or name not in names:
        raise UnknownHandle(
            f'The scene has no object of the name {shown(name)}; it has {list_names(names)}.',
            handle=name,
        )
    return names.index(name)


def scene_name(handle: int) -> str:
    """
    Return the name of an object of the scene in use by its handle; raise UnknownHandle for an unknown handle.

    :raises RequestError: without a scene.
    """
    items = current_scene().structure()
    if not 0 <= _number('object', handle) < len(items):
        raise UnknownHandle(f'The scene has no object with the handle {handle}.', handle=handle)
    return items[handle].name


def object_of(environment: int, handle: int) -> IkObject:
    """Return the object of an environment by both handles; raise FrameNotFound or UnknownHandle for an unknown handle."""
    return environment_of(environment)[_number('object', handle)]


def reference(handle: int) -> int | None:
    """Return a handle as an int, or None for -1, the handle of the world; raise UnknownHandle if it is not an integer."""
    number = _number('object', handle)
    return None if number == WORLD else number


def handle_of(item: IkObject | None) -> int:
    """Return the handle of an object; -1 for None."""
    return WORLD if item is None else item.handle


def task_set_of(environment: int, handle: int) -> TaskSet:
    """
    Return a task set of an environment by both handles.

    :raises UnknownHandle: if the environment is unknown.
    :raises TaskSetNotFound: if the task set is unknown.
    """
    if as_integer(handle) is None:
        raise TaskSetNotFound(f'A task set handle is a number, not {shown(handle)}.', name=handle)
    return environment_of(environment).task_set(handle)


def task_sets_of(environment: int, name: str, handles: Sequence[int]) -> list[TaskSet]:
    """
    Return task sets of an environment by its handle and theirs.

    :param name: name of the argument that lists the handles, for messages.
    :raises UnknownHandle: if the environment is unknown.
    :raises TaskSetNotFound: if a task set is unknown.
    :raises InvalidOption: if ``handles`` is not a list.
    """
    return [task_set_of(environment, handle) for handle in check_listed(name, handles)]


def task_of(environment: int, task_set: int, handle: int) -> Task:
    """
    Return a task of a task set by its handle; raise TaskSetNotFound for an unknown task set or task.

    The handle of the tip plus ``handleflag_tipdummy`` gives the first task with this tip.

    :raises UnknownHandle: for an unknown environment, and a handle of the task that is not an integer.
    """
    return task_set_of(environment, task_set).task(_number('element', handle))


def read_function(function: Callable[..., Any] | str | None) -> Callable[..., Any] | None:
    """
    Return a function that is given as itself or as the text 'module:function'; None stays None.

    The module of a text is imported.

    :raises InvalidOption: if the text does not name a function.
    """
    if function is None or callable(function):
        return function
    try:
        member = import_function(check_kind('function', function, str))
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidOption(
            f"{quote(function)} is no function; write 'module:function'. {error}"
        ) from error
    checked: Callable[..., Any] = check_callable(quote(function), member)
    return checked


def validation(
    function: Callable[..., Any] | str | None, data: object
) -> Callable[[Sequence[float]], Any] | None:
    """
    Return a function of a configuration that calls ``function(list of numbers, data)``; None for ``function=None``.

    :param function: the callback of the script: a function, or the text 'module:function'.
    :param data: passed to each call of the callback.
    :raises InvalidOption: as :func:`read_function`.
    """
    callback = read_function(function)
    if callback is None:
        return None
    return lambda config: callback([float(number) for number in config], data)
