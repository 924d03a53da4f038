"""Copies of environments that share nothing with the original."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, TYPE_CHECKING

from ssik_ros.tasks.joints import Joint
from ssik_ros.tasks.objects import Dummy, IkObject
from ssik_ros.tasks.task_set import TaskSet

if TYPE_CHECKING:
    from ssik_ros.tasks.environment import Environment


def duplicate(source: Environment, other: Environment) -> None:
    """
    Fill an empty environment with copies of another's objects and task sets; handles are the same.

    Functions of dependencies are shared, everything else is not.
    """
    source.find(None)
    other.poses, other.values = source.poses.copy(), source.values.copy()
    twins: dict[IkObject, IkObject] = {}
    for item in source.slots:
        twin = copy.copy(item)
        twin.world = other
        twins[item] = twin
        other.slots.append(twin)
        other._by_name[twin.name] = twin
        other._by_handle[twin.handle] = twin
    other._next_handle = source._next_handle
    for item, twin in twins.items():
        twin._parent = None if item._parent is None else twins[item._parent]
        if isinstance(item, Dummy) and item._target is not None:
            twin._target = twins[item._target]  # type: ignore[attr-defined]
        if isinstance(item, Joint) and item._dependency is not None:
            master: Any = twins[item._dependency.master]
            twin._dependency = replace(item._dependency, master=master)  # type: ignore[attr-defined]
    for name, task_set in source.task_sets.items():
        other.task_sets[name] = _copy_task_set(task_set, other, twins)
    other._next_task_set = source._next_task_set
    other.scene_maps = {key: maps.copy() for key, maps in source.scene_maps.items()}
    other.changed()


def _copy_task_set(
    task_set: TaskSet, other: Environment, twins: dict[IkObject, IkObject]
) -> TaskSet:
    """Return a copy of a task set for another environment."""
    twin = copy.copy(task_set)
    twin.world = other
    twin._last = None
    twin.tasks = []
    for task in task_set.tasks:
        own = copy.copy(task)
        own.task_set = twin
        own.tip = twins[task.tip]  # type: ignore[assignment]
        own._base = None if task._base is None else twins[task._base]
        below = task._constraint_base
        own._constraint_base = None if below is None else twins[below]
        twin.tasks.append(own)
    return twin
