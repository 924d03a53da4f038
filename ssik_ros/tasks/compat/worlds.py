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
    """Create an environment with nested priorities and return its handle; ``flags`` is reserved and must be 0."""
    if read_count('flags', flags) != 0:
        raise InvalidOption(f'The flags of an environment are reserved and 0, not {shown(flags)}.')
    return register(Environment(priority='nested'))


def eraseEnvironment(environmentHandle: int) -> None:
    """Close an environment and erase its overlays; their handles become invalid."""
    drop_environment(environmentHandle)


def duplicateEnvironment(environmentHandle: int) -> int:
    """Copy an environment and return the handle of the copy; its objects keep their handles and callbacks."""
    return register(environment_of(environmentHandle).copy())


def save(environmentHandle: int) -> bytes:
    """Return an environment as the bytes of a document of this package."""
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
    """Create marker data for the chain from a base to a tip and return their handle; a second call replaces them."""
    environment = environment_of(environmentHandle)
    base = reference(baseHandle)
    return keep_overlay(environment.debug_overlay(tipHandle, base))


def eraseDebugOverlay(objectHandle: int) -> None:
    """Erase an overlay; its handle becomes invalid."""
    drop_overlay(objectHandle)


def addElementFromScene(
    environmentHandle: int,
    ikGroup: int,
    baseHandle: int,
    tipHandle: int,
    targetHandle: int,
    constraints: int,
) -> tuple[int, dict[int, int], dict[int, int]]:
    """
    Copy the objects that carry tip and target from the scene in use, and add a task for them.

    :returns: the handle of the task, handles here by handle in the scene, and the inverse of this mapping.
    """
    scene = current_scene()
    base = None if read_count('baseHandle', baseHandle, WORLD) == WORLD else scene_name(baseHandle)
    tip, target = scene_name(tipHandle), scene_name(targetHandle)
    task_set = task_set_of(environmentHandle, ikGroup)
    task, maps = task_set.add_task_from_scene(scene, base, tip, target, constraints)
    to_ik = {scene_handle(name): handle for name, handle in maps.to_ik.items()}
    return task.handle, to_ik, {handle: number for number, handle in to_ik.items()}


def syncFromSim(environmentHandle: int, ikGroups: Sequence[int]) -> None:
    """Copy joint values and target poses of some task sets from the scene in use into an environment."""
    task_sets = [
        task_set_of(environmentHandle, handle) for handle in check_listed('ikGroups', ikGroups)
    ]
    environment_of(environmentHandle).sync_from(current_scene(), task_sets)


def syncToSim(environmentHandle: int, ikGroups: Sequence[int]) -> None:
    """Apply the joint values of some task sets to the scene in use."""
    task_sets = [
        task_set_of(environmentHandle, handle) for handle in check_listed('ikGroups', ikGroups)
    ]
    environment_of(environmentHandle).sync_to(current_scene(), task_sets)
