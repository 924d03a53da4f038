"""
Six deprecated functions of the simIK API; each issues a DeprecationWarning that names the function to use instead.

The package :mod:`ssik_ros.tasks.compat` lists the errors that every function may raise.
"""
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
import warnings

from ssik_ros.arguments import read_flag
from ssik_ros.tasks.compat.calculation import handleGroup
from ssik_ros.tasks.compat.frames import getTargetDummy, setTargetDummy
from ssik_ros.tasks.compat.registry import environment_of, task_set_of, validation
from ssik_ros.tasks.compat.worlds import syncFromSim, syncToSim
from ssik_ros.tasks.constants import Outcome, WORLD
from ssik_ros.tasks.environment import TaskSet

METRIC = (1.0, 1.0, 1.0, 0.1)


def _warn(old: str, new: str) -> None:
    """Issue a DeprecationWarning that the function ``old`` is deprecated and that ``new`` replaces it."""
    warnings.warn(f'{old} is deprecated; use {new}.', DeprecationWarning, stacklevel=3)


def applySceneToIkEnvironment(environmentHandle: int, ikGroup: int) -> None:
    """
    Copy joint values and target poses of a task set from the scene in use into the environment.

    :raises RequestError: as :func:`~ssik_ros.tasks.compat.syncFromSim`.
    """
    _warn('applySceneToIkEnvironment', 'syncFromSim')
    syncFromSim(environmentHandle, [ikGroup])


def applyIkEnvironmentToScene(
    environmentHandle: int, ikGroup: int, applyOnlyWhenSuccessful: bool = False
) -> int:
    """
    Copy the scene in use into the environment, solve a task set, and set the joints of the scene to the solution.

    :param applyOnlyWhenSuccessful: leave the scene as it is after a failure; False writes to the scene in any case.
    :returns: ``result_success``, ``result_fail`` or ``result_not_performed``.
    :raises RequestError: as :func:`~ssik_ros.tasks.compat.syncFromSim`.
    """
    _warn('applyIkEnvironmentToScene', 'syncToSim')
    is_careful = read_flag('applyOnlyWhenSuccessful', applyOnlyWhenSuccessful)
    syncFromSim(environmentHandle, [ikGroup])
    result = handleGroup(environmentHandle, ikGroup)[0]
    if result == Outcome.SUCCESS or not is_careful:
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
    """
    Return the first configuration of some joints that meets all targets of a task set; an empty list if none is found.

    The joints do not move.

    :param thresholdDist: starts whose tips are further from their targets are left out, measured by ``metric``.
    :param maxTime: time limit [s].
    :param metric: weights of x, y, z and the angle in this distance.
    :param validationCallback: takes a configuration and ``auxData``; returns whether the configuration is acceptable.
    :raises KeyError: for an unknown handle.
    :raises RequestError: for a wrong number, or without any joint.
    """
    _warn('findConfig', 'findConfigs')
    task_set = task_set_of(environmentHandle, ikGroupHandle)
    validate = validation(validationCallback, auxData)
    return _first(task_set, jointHandles, thresholdDist, maxTime, metric, validate)


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
    Return the first acceptable configuration that meets all targets of a task set, as a list; empty if none is found.

    For each solution of the search, the windings within the intervals are tried until the callback accepts one. The
    joints do not move.

    :param jointHandles: the joints of a configuration, none of them spherical.
    :param thresholdDist: starts whose tips are further from their targets are left out, measured by ``metric``.
    :param maxTime: time limit [s].
    :param metric: weights of x, y, z and the angle in this distance.
    :param validationCallback: takes a configuration and ``auxData``; returns whether the configuration is acceptable.
    :param jointOptions: not used; dependent joints follow their masters in any case.
    :param lowLimits, ranges: lower end and width of the interval of each joint; without them the joint limits, as in
        ``getAlternateConfigs``.
    :raises KeyError: for an unknown handle.
    :raises RequestError: for a wrong number, or without any joint.
    :raises UnsupportedJoint: if the search finds a configuration that has a spherical joint.
    """
    _warn('getConfigForTipPose', 'findConfigs')
    environment = environment_of(environmentHandle)
    given = validation(validationCallback, auxData)
    chosen: list[list[float]] = []

    def accept(config: Any) -> bool:
        trial = environment.copy()
        for handle, value in zip(jointHandles, config, strict=True):
            twin = trial.joint(handle)
            if twin.dependency is None:
                twin.position = value
        for row in trial.alternate_configs(jointHandles, lowLimits, ranges):
            if given is None or given(row):
                chosen.append(row.tolist())
                return True
        return False

    task_set = task_set_of(environmentHandle, ikGroupHandle)
    _first(task_set, jointHandles, thresholdDist, maxTime, metric, accept)
    return chosen[0] if chosen else []


def _first(
    task_set: TaskSet,
    joints: Sequence[int],
    distance: float,
    seconds: float,
    metric: Sequence[float],
    validate: Callable[[Sequence[float]], Any] | None,
) -> list[float]:
    """
    Return the first configuration that a search finds, as a list; empty if it finds none. Windings are not added.

    :param distance, seconds, metric, validate: ``max_dist``, ``max_time``, ``p_metric`` and ``validate`` of
        :class:`ssik_ros.tasks.configuration_search.SearchOptions`.
    """
    rows = task_set.find_configs(
        joints,
        max_dist=distance,
        max_time=seconds,
        p_metric=metric,
        validate=validate,
        find_alt=False,
    )
    return rows[0].tolist() if len(rows) else []


def getLinkedDummy(environmentHandle: int, dummyHandle: int) -> int:
    """
    Return the handle of the dummy at the other end of a link between tip and target; -1 for a dummy without a link.

    For a tip this is its target, for a target the first tip that has it.
    """
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
    """
    Give the tip ``dummyHandle`` the target ``linkedDummyHandle``, instead of an earlier one; -1 removes the target.

    :raises KeyError: for an unknown handle.
    :raises InvalidOption: if the target is a joint or the tip itself.
    """
    _warn('setLinkedDummy', 'setTargetDummy')
    tip = environment_of(environmentHandle).dummy(dummyHandle)
    before, tip.target = tip.target, None
    try:
        setTargetDummy(environmentHandle, dummyHandle, linkedDummyHandle)
    except BaseException:
        tip.target = before
        raise
