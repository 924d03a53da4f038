"""
Functions of the simIK API that calculate: solves (``handleGroups``), searches for configurations, paths and Jacobians.

The package :mod:`ssik_ros.tasks.compat` lists the errors that every function may raise.
"""
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from ssik_ros.arguments import check_mapping, read_count, read_flag
from ssik_ros.errors import InvalidOption, quote
from ssik_ros.tasks.compat.registry import (
    current_scene,
    environment_of,
    keep_overlay,
    read_function,
    reference,
    task_set_of,
    task_sets_of,
    validation,
)

HANDLE_OPTIONS = ('syncWorlds', 'allowError', 'debug', 'callback')
SEARCH_PARAMS = {
    'maxDist': 'max_dist',
    'maxTime': 'max_time',
    'pMetric': 'p_metric',
    'cMetric': 'c_metric',
    'findAlt': 'find_alt',
    'findMultiple': 'find_multiple',
}
"""Option of a search for each parameter of the simIK API, without the two of a callback."""
MAX_DISTANCE = 0.3
"""``maxDist`` if a script names none."""


def _read_mapping(
    given: Mapping[str, Any] | None, names: Sequence[str], what: str
) -> Mapping[str, Any]:
    """
    Return ``given`` as a mapping, empty for None, after a check of its keys.

    :param names: the permitted keys.
    :param what: word for a key in messages, such as "parameter of a search".
    :raises InvalidOption: for another key, or if ``given`` is not a mapping.
    """
    mapping = {} if given is None else check_mapping(f'The {what}s', given, 'a mapping')
    for name in mapping:
        if name not in names:
            raise InvalidOption.unknown(f'{quote(name)} is no {what}', str(name), names)
    return mapping


def handleGroup(
    environmentHandle: int, ikGroupHandle: int, options: Mapping[str, Any] | None = None
) -> tuple[int, int, list[float]]:
    """
    Solve one task set and move its joints.

    :param options: None, or a mapping as for :func:`handleGroups`.
    :returns: a ``result_...`` number, the ``calc_...`` bits of reasons, and [distance, angle] left at the tips [m,
        rad].
    """
    return handleGroups(environmentHandle, [ikGroupHandle], options)


def handleGroups(
    environmentHandle: int,
    ikGroupHandles: Sequence[int],
    options: Mapping[str, Any] | None = None,
) -> tuple[int, int, list[float]]:
    """
    Solve task sets together, the first with the highest priority, and move the joints of the environment.

    :param options: with ``syncWorlds`` the scene in use is read before, and written after a success; with
        ``allowError`` also after a failure. Bit 0 of ``debug`` stores an overlay of each tip, whose handle is not
        returned. ``callback`` is called in every step as in :mod:`ssik_ros.tasks.jacobian_callback`.
    :returns: a ``result_...`` number, the ``calc_...`` bits of reasons, and [distance, angle]: the largest that are
        left at any tip [m, rad].
    :raises KeyError: for an unknown environment or task set.
    :raises RequestError: for an unknown or wrong option. Also for ``syncWorlds`` without a scene, or if nothing in the
        environment came from it.
    """
    chosen = _read_mapping(options, HANDLE_OPTIONS, 'option of a handling')
    result = environment_of(environmentHandle).solve(
        task_sets_of(environmentHandle, 'ikGroupHandles', ikGroupHandles),
        sync=current_scene() if read_flag('syncWorlds', chosen.get('syncWorlds')) else None,
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
    Return configurations of some joints that meet all targets of a task set, the nearest to the current one first.

    By default the search ends after the first configuration, whose windings are added. If the search finds none, the
    list has only ``configs``; this does not prove that none exists. The joints do not move.

    :param params: mapping with any of ``maxDist`` (default 0.3), ``maxTime`` [s], ``pMetric``, ``cMetric``, ``findAlt``
        (windings, default True) and ``findMultiple`` (go on after the first, default False). They are options of
        :class:`ssik_ros.tasks.configuration_search.SearchOptions`. ``cb`` is a function of a configuration and
        ``auxData`` that returns whether the configuration is acceptable.
    :param configs: configurations that the caller has already; they are merged into the result without a check of the
        targets.
    :raises KeyError: for an unknown handle.
    :raises RequestError: for an unknown or wrong parameter, or without any joint.
    """
    names = (*SEARCH_PARAMS, 'cb', 'auxData')
    given = dict(_read_mapping(params, names, 'parameter of a search'))
    validate = validation(given.pop('cb', None), given.pop('auxData', None))
    options = {'max_dist': MAX_DISTANCE, **{SEARCH_PARAMS[key]: given[key] for key in given}}
    task_set = task_set_of(environmentHandle, ikGroupHandle)
    rows = task_set.find_configs(jointHandles, validate=validate, configs=configs, **options)
    return [row.tolist() for row in rows]


def getAlternateConfigs(
    environmentHandle: int,
    jointHandles: Sequence[int],
    lowLimits: Sequence[float] | None = None,
    ranges: Sequence[float] | None = None,
) -> list[float]:
    """
    Return all configurations of some joints that differ by whole turns and reach the same poses, as one flat list.

    The current configuration is one of them if it is inside the intervals. The list is empty if a joint has no winding
    in its interval.

    :param lowLimits, ranges: lower end and width of the interval of each joint, cut by its limits. Without them, and
        for width 0, the interval is the limits. A negative width means an interval of that width centred on the current
        value.
    :raises KeyError: for an unknown handle.
    :raises RequestError: if the lists have another length than ``jointHandles``, or for positive ranges without
        ``lowLimits``.
    """
    rows = environment_of(environmentHandle).alternate_configs(jointHandles, lowLimits, ranges)
    return [float(number) for number in rows.ravel()]


def generatePath(
    environmentHandle: int,
    ikGroupHandle: int,
    jointHandles: Sequence[int],
    tipHandle: int,
    pathPointCount: int,
    validationCallback: Callable[..., Any] | str | None = None,
    auxData: object = None,
) -> list[float]:
    """
    Return configurations that move a tip from its pose straight to its target, one after the other in a flat list.

    The list is empty if a point of the path fails. The joints do not move.

    :param jointHandles: the joints of a configuration.
    :param pathPointCount: number of configurations, the current one included; at least 2.
    :param validationCallback: takes a configuration and ``auxData``, and returns whether the configuration is
        acceptable.
    :raises KeyError: for an unknown handle.
    :raises RequestError: for a wrong number of points. Also for a tip without a target, or without a task that can move
        it.
    """
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
    Return the Jacobian of a chain, row by row as a flat list, and the error of its tip as a list.

    The Jacobian maps joint velocities to the velocity of the tip and does not depend on the target. Its rows are x, y,
    z in the axes of the constraint base, then rotations about the axes of the tip, as far as constrained. The error is
    zero without a target.

    :param baseObject: handle of the object at which the chain begins; -1 for the world.
    :param lastJoint: handle of the joint that carries the tip.
    :param constraints: ``constraint_...`` bits; they choose the rows.
    :param tipMatrix, targetMatrix: poses in the world: twelve numbers of a 3x4 matrix row by row, or a matrix.
    :param constrBaseMatrix: pose in the world in whose axes positions are measured; None for the base.
    :raises KeyError: for an unknown handle.
    :raises ValueError, TypeError: for a pose or constraints of a wrong form.
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
    """
    Return the Jacobian of a task set, row by row as a flat list, and its error as a list, at the present joint values.

    The Jacobian maps joint velocities to the velocities of the tips and does not depend on the targets. For each task
    its rows are x, y, z in the axes of the constraint base, then rotations about the axes of the tip, as far as
    constrained. If the task set avoids limits, a row for each joint near a limit follows.

    :raises KeyError: for an unknown environment or task set.
    """
    jacobian, error = task_set_of(environmentHandle, ikGroupHandle).jacobian(exact=False)
    return jacobian.ravel().tolist(), error.tolist()
