"""Environments, overlays, documents and scenes, by the names of ported scripts."""
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ssik_ros.arguments import check_kind, check_listed, read_count, shown
from ssik_ros.errors import InvalidOption
from ssik_ros.tasks.compat.registry import (
    current_scene,
    drop_environment,
    drop_overlay,
    environment_of,
    keep_overlay,
    reference,
    register,
    scene_handle,
    scene_name,
    task_set_of,
)
from ssik_ros.tasks.constants import WORLD
from ssik_ros.tasks.document import load as load_document
from ssik_ros.tasks.environment import Environment


def createEnvironment(flags: int = 0) -> int:
    """Return the handle of a new environment; ``flags`` is reserved."""
    if read_count('flags', flags) != 0:
        raise InvalidOption(f'The flags of an environment are reserved and 0, not {shown(flags)}.')
    return register(Environment(priority='nested'))


def eraseEnvironment(environmentHandle: int) -> None:
    """Drop an environment and its overlays."""
    drop_environment(environmentHandle)


def duplicateEnvironment(environmentHandle: int) -> int:
    """Return the handle of a copy, in which all handles are the same; dependencies keep their callbacks."""
    return register(environment_of(environmentHandle).copy())


def save(environmentHandle: int) -> bytes:
    """Return an environment as a document of this package."""
    return environment_of(environmentHandle).save()


def load(
    environmentHandle: int,
    data: bytes,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> None:
    """Fill an empty environment from a document of :func:`save`; ``functions`` as for ``Environment.load``."""
    check_kind('data', data, bytes)
    load_document(environment_of(environmentHandle), data, functions)


def createDebugOverlay(environmentHandle: int, tipHandle: int, baseHandle: int = WORLD) -> int:
    """Return the handle of marker data for a chain; again for the same tip replaces them."""
    environment = environment_of(environmentHandle)
    base = reference(baseHandle)
    return keep_overlay(environment.debug_overlay(tipHandle, base))


def eraseDebugOverlay(objectHandle: int) -> None:
    """Erase an overlay."""
    drop_overlay(objectHandle)


def addElementFromScene(
    environmentHandle: int,
    ikGroup: int,
    baseHandle: int,
    tipHandle: int,
    targetHandle: int,
    constraints: int,
) -> tuple[int, dict[int, int], dict[int, int]]:
    """Copy a chain from the scene in use; return the task and which scene object is which object here."""
    scene = current_scene()
    base = None if read_count('baseHandle', baseHandle, WORLD) == WORLD else scene_name(baseHandle)
    tip, target = scene_name(tipHandle), scene_name(targetHandle)
    task_set = task_set_of(environmentHandle, ikGroup)
    task, maps = task_set.add_task_from_scene(scene, base, tip, target, constraints)
    to_ik = {scene_handle(name): handle for name, handle in maps.to_ik.items()}
    return task.handle, to_ik, {handle: number for number, handle in to_ik.items()}


def syncFromSim(environmentHandle: int, ikGroups: Sequence[int]) -> None:
    """Take joint values and target poses of some task sets from the scene in use."""
    task_sets = [
        task_set_of(environmentHandle, handle) for handle in check_listed('ikGroups', ikGroups)
    ]
    environment_of(environmentHandle).sync_from(current_scene(), task_sets)


def syncToSim(environmentHandle: int, ikGroups: Sequence[int]) -> None:
    """Give the joint values of some task sets to the scene in use."""
    task_sets = [
        task_set_of(environmentHandle, handle) for handle in check_listed('ikGroups', ikGroups)
    ]
    environment_of(environmentHandle).sync_to(current_scene(), task_sets)
