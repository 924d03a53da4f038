"""Handling, searches, paths and Jacobians, by the names of ported scripts."""
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from ssik_ros.arguments import check_listed, check_mapping, read_count, read_flag
from ssik_ros.errors import InvalidOption, quote
from ssik_ros.tasks.compat.registry import (
    current_scene,
    environment_of,
    keep_overlay,
    read_function,
    reference,
    task_set_of,
    validation,
)

HANDLE_OPTIONS = ('syncWorlds', 'allowError', 'debug', 'callback')
SEARCH_PARAMS = {
    'maxDist': 0.3,
    'maxTime': 0.2,
    'pMetric': (1.0, 1.0, 1.0, 0.1),
    'cMetric': None,
    'findAlt': True,
    'findMultiple': False,
    'cb': None,
    'auxData': None,
}


def _known(given: Mapping[str, Any] | None, names: Sequence[str], what: str) -> Mapping[str, Any]:
    """Return options as a mapping, empty for None; raise InvalidOption for an unknown name."""
    known = {} if given is None else check_mapping(f'The {what}s', given, 'a mapping')
    for name in known:
        if name not in names:
            raise InvalidOption.unknown(f'{quote(name)} is no {what}', str(name), names)
    return known


def handleGroup(
    environmentHandle: int, ikGroupHandle: int, options: Mapping[str, Any] | None = None
) -> tuple[int, int, list[float]]:
    """Solve one task set; return the same as :func:`handleGroups`."""
    return handleGroups(environmentHandle, [ikGroupHandle], options)


def handleGroups(
    environmentHandle: int,
    ikGroupHandles: Sequence[int],
    options: Mapping[str, Any] | None = None,
) -> tuple[int, int, list[float]]:
    """
    Solve task sets in order of priority and move the joints.

    :param options: ``syncWorlds``, ``allowError``, ``debug``, ``callback``.
    :returns: result, reason bits, and the largest distance [m] and angle [rad] that are left at any tip.
    """
    chosen = _known(options, HANDLE_OPTIONS, 'option of a handling')
    result = environment_of(environmentHandle).solve(
        [
            task_set_of(environmentHandle, handle)
            for handle in check_listed('ikGroupHandles', ikGroupHandles)
        ],
        sync=current_scene() if chosen.get('syncWorlds') else None,
        allow_error=read_flag('allowError', chosen.get('allowError')),
        debug=read_count('debug', chosen.get('debug', 0)),
        callback=read_function(chosen.get('callback')),
    )
    for overlay in result.overlays:
        keep_overlay(overlay)
    return int(result.outcome), int(result.reason), [result.linear, result.angular]


def findConfigs(
    environmentHandle: int,
    ikGroupHandle: int,
    jointHandles: Sequence[int],
    params: Mapping[str, Any] | None = None,
    configs: ArrayLike = (),
) -> list[list[float]]:
    """
    Return configurations that meet all targets of a task set, the nearest first.

    :param params: ``maxDist``, ``maxTime``, ``pMetric``, ``cMetric``, ``findAlt``, ``findMultiple``, ``cb``, ``auxData``.
    :param configs: configurations known before, merged into the result.
    """
    chosen = {**SEARCH_PARAMS, **_known(params, tuple(SEARCH_PARAMS), 'parameter of a search')}
    found = task_set_of(environmentHandle, ikGroupHandle).find_configs(
        jointHandles,
        max_dist=chosen['maxDist'],
        max_time=chosen['maxTime'],
        p_metric=chosen['pMetric'],
        c_metric=chosen['cMetric'],
        find_alt=chosen['findAlt'],
        find_multiple=chosen['findMultiple'],
        validate=validation(chosen['cb'], chosen['auxData']),
        configs=configs,
    )
    return [[float(number) for number in row] for row in found]


def getAlternateConfigs(
    environmentHandle: int,
    jointHandles: Sequence[int],
    lowLimits: Sequence[float] | None = None,
    ranges: Sequence[float] | None = None,
) -> list[float]:
    """Return all configurations that differ from the current one by windings of joints, as one flat list."""
    found = environment_of(environmentHandle).alternate_configs(jointHandles, lowLimits, ranges)
    return [float(number) for number in found.ravel()]


def generatePath(
    environmentHandle: int,
    ikGroupHandle: int,
    jointHandles: Sequence[int],
    tipHandle: int,
    pathPointCount: int,
    validationCallback: Callable[..., Any] | str | None = None,
    auxData: object = None,
) -> list[float]:
    """Return configurations that move a tip straight to its target, as one flat list; an empty list after a failure."""
    path = task_set_of(environmentHandle, ikGroupHandle).generate_path(
        jointHandles,
        tipHandle,
        pathPointCount,
        validate=validation(validationCallback, auxData),
        tolerance=None,
    )
    return [float(number) for number in path.configs.ravel()]


def computeJacobian(
    environmentHandle: int,
    baseObject: int,
    lastJoint: int,
    constraints: int,
    tipMatrix: ArrayLike,
    targetMatrix: ArrayLike | None = None,
    constrBaseMatrix: ArrayLike | None = None,
) -> tuple[list[float], list[float]]:
    """
    Return Jacobian, row by row, and error of a chain; poses are in the world.

    The rows are geometric, as the document has them: the target enters the error only.
    """
    jacobian, error = environment_of(environmentHandle).jacobian(
        lastJoint,
        tipMatrix,
        targetMatrix,
        base=reference(baseObject),
        constraints=constraints,
        constraint_base_pose=constrBaseMatrix,
        exact=False,
    )
    return jacobian.ravel().tolist(), error.tolist()


def computeGroupJacobian(
    environmentHandle: int, ikGroupHandle: int
) -> tuple[list[float], list[float]]:
    """Return Jacobian, row by row, and error of a task set at the present joint values, as :func:`computeJacobian`."""
    jacobian, error = task_set_of(environmentHandle, ikGroupHandle).jacobian(exact=False)
    return jacobian.ravel().tolist(), error.tolist()
