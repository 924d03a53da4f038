"""
Functions of the simIK API for whole environments: create, copy, save, overlays, exchange with the scene in use.

The package :mod:`ssik_ros.tasks.compat` lists the errors that every function may raise.
"""
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ssik_ros.arguments import check_kind, read_count, shown
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
    task_sets_of,
)
from ssik_ros.tasks.constants import WORLD
from ssik_ros.tasks.document import load as load_document
from ssik_ros.tasks.environment import Environment


def createEnvironment(flags: int = 0) -> int:
    """
    Create an empty environment and return its handle; its task sets have the priority ``nested``.

    Each task set then moves only in the null space of the ones before it.

    :param flags: reserved; must be 0, else InvalidOption is raised.
    """
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
    """
    Return an environment as a JSON document, which :func:`load` reads; it is not CoppeliaSim's format.

    :raises UnknownHandle: for an unknown environment.
    :raises ModelError: if a function of a dependent joint cannot be imported by a name, such as a lambda.
    """
    return environment_of(environmentHandle).save()


def load(
    environmentHandle: int,
    data: bytes,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> None:
    """
    Fill an empty environment from a document of :func:`save`.

    :param data: the bytes of the document.
    :param functions: the functions of dependent joints that the document names, by 'module:name'. Nothing is imported.
    :raises UnknownHandle: for an unknown environment.
    :raises DocumentError: for a malformed document or an environment that is not empty.
    """
    check_kind('data', data, bytes)
    load_document(environment_of(environmentHandle), data, functions)


def createDebugOverlay(environmentHandle: int, tipHandle: int, baseHandle: int = WORLD) -> int:
    """
    Create an overlay, the marker data of the chain from a base to a tip, and return its handle.

    A second call for the same tip replaces the overlay and returns the same handle.

    :param baseHandle: object at which the chain begins; -1 for the world.
    """
    environment = environment_of(environmentHandle)
    base = reference(baseHandle)
    return keep_overlay(environment.debug_overlay(tipHandle, base))


def eraseDebugOverlay(objectHandle: int) -> None:
    """
    Erase an overlay, the marker data of a chain: it gives no more markers, and its handle becomes invalid.

    Markers that a viewer already shows are not deleted.

    :param objectHandle: handle of the overlay, from :func:`createDebugOverlay`.
    :raises UnknownHandle: for an unknown handle.
    """
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
    Copy tip, target and the objects that carry them from the scene in use, and add a task for them to a task set.

    :param baseHandle, tipHandle, targetHandle: handles in the scene; -1 for the world as base.
    :param constraints: ``constraint_...`` bits.
    :returns: handle of the task, a mapping from handles in the scene to handles in the environment, and its inverse.
    :raises RequestError: without a scene.
    :raises InvalidOption: if tip or target is a joint, or if the base does not carry the tip.
    """
    scene = current_scene()
    base = None if read_count('baseHandle', baseHandle, WORLD) == WORLD else scene_name(baseHandle)
    tip, target = scene_name(tipHandle), scene_name(targetHandle)
    task_set = task_set_of(environmentHandle, ikGroup)
    task, maps = task_set.add_task_from_scene(scene, base, tip, target, constraints)
    to_ik = {scene_handle(name): handle for name, handle in maps.to_ik.items()}
    return task.handle, to_ik, {handle: number for number, handle in to_ik.items()}


def syncFromSim(environmentHandle: int, ikGroups: Sequence[int]) -> None:
    """
    Copy joint values and target poses from the scene in use into an environment.

    :param ikGroups: handles of the task sets whose joints and targets are copied.
    :raises KeyError: for an unknown handle.
    :raises RequestError: without a scene, or if nothing in the environment came from this scene.
    """
    task_sets = task_sets_of(environmentHandle, 'ikGroups', ikGroups)
    environment_of(environmentHandle).sync_from(current_scene(), task_sets)


def syncToSim(environmentHandle: int, ikGroups: Sequence[int]) -> None:
    """
    Set joints of the scene in use to the values that their copies have in an environment.

    :param ikGroups: handles of the task sets whose joints are set.
    :raises KeyError: for an unknown handle.
    :raises RequestError: without a scene, or if nothing in the environment came from this scene.
    """
    task_sets = task_sets_of(environmentHandle, 'ikGroups', ikGroups)
    environment_of(environmentHandle).sync_to(current_scene(), task_sets)
