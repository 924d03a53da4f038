"""
Functions of the simIK API for task sets (``Group``) and their tasks (``Element``): create, find and change settings.

The package :mod:`ssik_ros.tasks.compat` lists the errors that every function may raise.
"""
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Sequence

from ssik_ros.arguments import check_kind, read_count
from ssik_ros.tasks.compat.registry import (
    environment_of,
    handle_of,
    reference,
    task_of,
    task_set_of,
)
from ssik_ros.tasks.constants import Constraint, WORLD


def createGroup(environmentHandle: int, ikGroupName: str = '') -> int:
    """
    Add a task set whose weights scale errors only (``gain``), and return its handle.

    For an empty name, a free name is chosen.

    :raises ModelError: if the name is taken.
    """
    name = check_kind('ikGroupName', ikGroupName, str) or None
    return environment_of(environmentHandle).add_task_set(name, weights_mode='gain').handle


def getGroupHandle(environmentHandle: int, ikGroupName: str) -> int:
    """Return the handle of a task set by its name; raise TaskSetNotFound for an unknown name."""
    name = check_kind('ikGroupName', ikGroupName, str)
    return environment_of(environmentHandle).task_set(name).handle


def doesGroupExist(environmentHandle: int, ikGroupName: str) -> bool:
    """Return whether a task set of this name exists."""
    check_kind('ikGroupName', ikGroupName, str, 'a text')
    return ikGroupName in environment_of(environmentHandle).task_sets


def getGroupFlags(environmentHandle: int, ikGroupHandle: int) -> int:
    """Return the on/off settings of a task set as ``group_...`` bits, such as ``group_enabled`` (see ``TaskSetFlag``)."""
    return int(task_set_of(environmentHandle, ikGroupHandle).flags)


def setGroupFlags(environmentHandle: int, ikGroupHandle: int, flags: int) -> None:
    """Set all on/off settings of a task set by ``group_...`` bits, such as ``group_enabled`` (see ``TaskSetFlag``)."""
    task_set_of(environmentHandle, ikGroupHandle).flags = flags


def getGroupCalculation(environmentHandle: int, ikGroupHandle: int) -> tuple[int, float, int]:
    """Return the ``method_...`` number, the damping and the largest number of iterations of a task set."""
    task_set = task_set_of(environmentHandle, ikGroupHandle)
    return int(task_set.method), task_set.damping, task_set.max_iterations


def setGroupCalculation(
    environmentHandle: int, ikGroupHandle: int, method: int, damping: float, maxIterations: float
) -> None:
    """
    Set how a task set is solved: ``method_...`` number, damping (at least 0) and largest number of iterations.

    :raises InvalidOption: for an unknown method or a number out of range.
    """
    task_set = task_set_of(environmentHandle, ikGroupHandle)
    task_set.method = method
    task_set.damping = damping
    task_set.max_iterations = maxIterations


def getGroupJoints(environmentHandle: int, ikGroupHandle: int) -> list[int]:
    """
    Return the handles of the joints that a task set moves, in the order of the Jacobian's columns.

    A spherical joint has three columns and is listed once.
    """
    return [joint.handle for joint in task_set_of(environmentHandle, ikGroupHandle).joints]


def getGroupJointLimitHits(
    environmentHandle: int, ikGroupHandle: int
) -> tuple[list[int], list[float]]:
    """
    Return the handles of the joints that stopped at a limit in the last solve, and the list of their overshoots.

    An overshoot is how far the step would have passed the limit: positive at the upper, negative at the lower one [rad
    or m]. Both lists are empty before the first solve.
    """
    hits = task_set_of(environmentHandle, ikGroupHandle).limit_hits
    return [joint.handle for joint in hits], list(hits.values())


def addElement(environmentHandle: int, ikGroupHandle: int, tipDummyHandle: int) -> int:
    """
    Add a task for a tip to a task set, and return the handle of the task.

    The task constrains x, y and z of the tip, and its chain begins at the world; both can be changed afterwards.
    """
    task_set = task_set_of(environmentHandle, ikGroupHandle)
    return task_set.add_task(tipDummyHandle, constraints=Constraint.POSITION).handle


def getElementFlags(environmentHandle: int, ikGroupHandle: int, elementHandle: int) -> int:
    """Return 1 for a task that is enabled, 0 otherwise."""
    return int(task_of(environmentHandle, ikGroupHandle, elementHandle).enabled)


def setElementFlags(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int, flags: int
) -> None:
    """Enable a task if bit 0 of ``flags`` is set, else disable it; other bits are ignored."""
    task = task_of(environmentHandle, ikGroupHandle, elementHandle)
    task.enabled = bool(read_count('flags', flags) & 1)


def getElementBase(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int
) -> tuple[int, int]:
    """
    Return the handles of the base and the constraint base of a task.

    The chain to the tip begins at the base (-1: the world). Positions are measured in the axes of the constraint base
    (-1: the base).
    """
    task = task_of(environmentHandle, ikGroupHandle, elementHandle)
    return handle_of(task.base), handle_of(task.constraint_base)


def setElementBase(
    environmentHandle: int,
    ikGroupHandle: int,
    elementHandle: int,
    baseHandle: int,
    constraintsBaseHandle: int = WORLD,
) -> None:
    """
    Set the base and the constraint base of a task.

    :param baseHandle: object at which the chain to the tip begins; -1 for the world.
    :param constraintsBaseHandle: object in whose axes positions are measured; -1 for the base.
    """
    task = task_of(environmentHandle, ikGroupHandle, elementHandle)
    task.base = reference(baseHandle)
    task.constraint_base = reference(constraintsBaseHandle)


def getElementConstraints(environmentHandle: int, ikGroupHandle: int, elementHandle: int) -> int:
    """
    Return the coordinates of the tip that a task constrains, as a sum of ``constraint_...`` bits.

    The bits are x 1, y 2, z 4, direction of the z axis 8, and turn about it 16.
    """
    return int(task_of(environmentHandle, ikGroupHandle, elementHandle).constraints)


def setElementConstraints(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int, constraints: int
) -> None:
    """
    Set the coordinates of the tip that a task constrains, as a sum of ``constraint_...`` bits from 0 to 31.

    The bits are x 1, y 2, z 4, direction of the z axis 8, and turn about it 16. Raise InvalidOption for another number.
    """
    task_of(environmentHandle, ikGroupHandle, elementHandle).constraints = constraints


def getElementPrecision(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int
) -> list[float]:
    """Return the precision of a task: the largest distance [m] and angle [rad] between tip and target that count as met."""
    return list(task_of(environmentHandle, ikGroupHandle, elementHandle).precision)


def setElementPrecision(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int, precision: Sequence[float]
) -> None:
    """
    Set the precision of a task: the largest distance [m] and angle [rad] between tip and target that count as met.

    Both must be finite and not negative.
    """
    task_of(environmentHandle, ikGroupHandle, elementHandle).precision = precision


def getElementWeights(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int
) -> list[float]:
    """Return the weights of a task: of linear errors, of angular errors, and a factor on both."""
    return list(task_of(environmentHandle, ikGroupHandle, elementHandle).weights)


def setElementWeights(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int, weights: Sequence[float]
) -> None:
    """Set the weights of a task, each at least 0: of linear errors, of angular errors, and a factor on both."""
    task_of(environmentHandle, ikGroupHandle, elementHandle).weights = weights
