"""Six deprecated names of ported scripts; each warns and does the same as before."""
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
import warnings

from ssik_ros.tasks.compat.calculation import handleGroup
from ssik_ros.tasks.compat.frames import getTargetDummy, setTargetDummy
from ssik_ros.tasks.compat.registry import environment_of, task_set_of, validation
from ssik_ros.tasks.compat.worlds import syncFromSim, syncToSim
from ssik_ros.tasks.constants import Outcome, WORLD

METRIC = (1.0, 1.0, 1.0, 0.1)


def _warn(old: str, new: str) -> None:
    """Issue a DeprecationWarning that names the function to use instead."""
    warnings.warn(f'{old} is deprecated; use {new}.', DeprecationWarning, stacklevel=3)


def applySceneToIkEnvironment(environmentHandle: int, ikGroup: int) -> None:
    """Copy joint values and target poses of a task set from the scene in use into the environment."""
    _warn('applySceneToIkEnvironment', 'syncFromSim')
    syncFromSim(environmentHandle, [ikGroup])


def applyIkEnvironmentToScene(
    environmentHandle: int, ikGroup: int, applyOnlyWhenSuccessful: bool = False
) -> int:
    """Read the scene in use, solve a task set, and give the joint values to the scene; return the result number."""
    _warn('applyIkEnvironmentToScene', 'syncToSim')
    syncFromSim(environmentHandle, [ikGroup])
    result = handleGroup(environmentHandle, ikGroup)[0]
    if result == Outcome.SUCCESS or not applyOnlyWhenSuccessful:
        syncToSim(environmentHandle, [ikGroup])
    return result


def findConfig(
    environmentHandle: int,
    ikGroupHandle: int,
    jointHandles: Sequence[int],
    thresholdDist: float = 0.1,
    maxTime: float = 0.5,
    metric: Sequence[float] = METRIC,
    validationCallback: Callable[..., Any] | str | None = None,
    auxData: object = None,
) -> list[float]:
    """Return the first valid configuration of a search as a list; an empty list if the search fails."""
    _warn('findConfig', 'findConfigs')
    return _first(
        environmentHandle,
        ikGroupHandle,
        jointHandles,
        max_dist=thresholdDist,
        max_time=maxTime,
        p_metric=metric,
        validate=validation(validationCallback, auxData),
    )


def getConfigForTipPose(
    environmentHandle: int,
    ikGroupHandle: int,
    jointHandles: Sequence[int],
    thresholdDist: float = 0.1,
    maxTime: float = 0.5,
    metric: Sequence[float] = METRIC,
    validationCallback: Callable[..., Any] | str | None = None,
    auxData: object = None,
    jointOptions: Sequence[int] = (),
    lowLimits: Sequence[float] = (),
    ranges: Sequence[float] = (),
) -> list[float]:
    """
    Return the first valid configuration of a search, windings included, as a list; empty if the search fails.

    :param jointOptions: bit 0 marks dependent joints; they follow their masters here in any case.
    :param lowLimits, ranges: interval of each joint, as in ``getAlternateConfigs``.
    """
    _warn('getConfigForTipPose', 'findConfigs')
    environment = environment_of(environmentHandle)
    joints = [environment.joint(handle) for handle in jointHandles]
    given = validation(validationCallback, auxData)
    chosen: list[list[float]] = []

    def accept(config: Any) -> bool:
        own = environment.copy()
        for handle, value in zip(jointHandles, config, strict=True):
            twin = own.joint(handle)
            if twin.dependency is None:
                twin.position = value
        for row in own.alternate_configs([joint.handle for joint in joints], lowLimits, ranges):
            if given is None or given(row):
                chosen.append([float(number) for number in row])
                return True
        return False

    _first(
        environmentHandle,
        ikGroupHandle,
        jointHandles,
        max_dist=thresholdDist,
        max_time=maxTime,
        p_metric=metric,
        validate=accept,
    )
    return chosen[0] if chosen else []


def _first(environment: int, task_set: int, joints: Sequence[int], **options: Any) -> list[float]:
    """Return the first configuration of a search as a list; empty if none is found."""
    found = task_set_of(environment, task_set).find_configs(joints, find_alt=False, **options)
    return [float(number) for number in found[0]] if len(found) else []


def getLinkedDummy(environmentHandle: int, dummyHandle: int) -> int:
    """Return the dummy that a dummy is linked to, whichever of the two is the tip; -1 for none."""
    _warn('getLinkedDummy', 'getTargetDummy')
    target = getTargetDummy(environmentHandle, dummyHandle)
    if target != WORLD:
        return target
    dummy = environment_of(environmentHandle).dummy(dummyHandle)
    for other in environment_of(environmentHandle).slots:
        if getattr(other, 'target', None) is dummy:
            return other.handle
    return WORLD


def setLinkedDummy(environmentHandle: int, dummyHandle: int, linkedDummyHandle: int) -> None:
    """Link two dummies, the first as the tip; -1 detaches."""
    _warn('setLinkedDummy', 'setTargetDummy')
    setTargetDummy(environmentHandle, dummyHandle, WORLD)
    setTargetDummy(environmentHandle, dummyHandle, linkedDummyHandle)
