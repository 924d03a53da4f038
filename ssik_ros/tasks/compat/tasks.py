"""Groups and elements, by the names of ported scripts."""
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Sequence

from ssik_ros.errors import DimensionMismatch
from ssik_ros.tasks.compat.registry import (
    element_of,
    environment_of,
    group_of,
    handle_of,
    reference,
)
from ssik_ros.tasks.constants import Constraint, WORLD


def createGroup(environmentHandle: int, ikGroupName: str = '') -> int:
    """Return the handle of a new group; an empty name means a free one."""
    group = environment_of(environmentHandle).add_group(ikGroupName or None, weights_mode='gain')
    return group.handle


def getGroupHandle(environmentHandle: int, ikGroupName: str) -> int:
    """Return the handle of a group; an unknown name is an error."""
    return environment_of(environmentHandle).group(str(ikGroupName)).handle


def doesGroupExist(environmentHandle: int, ikGroupName: str) -> bool:
    """Return whether a group of this name exists."""
    return ikGroupName in environment_of(environmentHandle).groups


def getGroupFlags(environmentHandle: int, ikGroupHandle: int) -> int:
    """Return the switches of a group as bits."""
    return int(group_of(environmentHandle, ikGroupHandle).flags)


def setGroupFlags(environmentHandle: int, ikGroupHandle: int, flags: int) -> None:
    """Write the switches of a group as bits."""
    group_of(environmentHandle, ikGroupHandle).flags = flags


def getGroupCalculation(environmentHandle: int, ikGroupHandle: int) -> tuple[int, float, int]:
    """Return method, damping and most iterations."""
    group = group_of(environmentHandle, ikGroupHandle)
    return int(group.method), group.damping, group.max_iterations


def setGroupCalculation(
    environmentHandle: int, ikGroupHandle: int, method: int, damping: float, maxIterations: float
) -> None:
    """Write method, damping and most iterations."""
    group = group_of(environmentHandle, ikGroupHandle)
    group.method = method
    group.damping = damping
    group.max_iterations = maxIterations


def getGroupJoints(environmentHandle: int, ikGroupHandle: int) -> list[int]:
    """Return the joints of the Jacobian's columns, spherical ones once."""
    return [joint.handle for joint in group_of(environmentHandle, ikGroupHandle).joints]


def getGroupJointLimitHits(
    environmentHandle: int, ikGroupHandle: int
) -> tuple[list[int], list[float]]:
    """Return the joints that stopped at a limit in the last handling, and their over- or undershoot."""
    hits = group_of(environmentHandle, ikGroupHandle).limit_hits
    return [joint.handle for joint in hits], list(hits.values())


def addElement(environmentHandle: int, ikGroupHandle: int, tipDummyHandle: int) -> int:
    """Return the handle of a new element: position only, the world as base."""
    group = group_of(environmentHandle, ikGroupHandle)
    return group.add_element(tipDummyHandle, constraints=Constraint.POSITION).handle


def getElementFlags(environmentHandle: int, ikGroupHandle: int, elementHandle: int) -> int:
    """Return 1 for an element that takes part, 0 otherwise."""
    return int(element_of(environmentHandle, ikGroupHandle, elementHandle).enabled)


def setElementFlags(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int, flags: int
) -> None:
    """Let an element take part (bit 0) or not."""
    element_of(environmentHandle, ikGroupHandle, elementHandle).enabled = bool(flags & 1)


def getElementBase(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int
) -> tuple[int, int]:
    """Return base and constraint base, -1 for the world and for the base."""
    element = element_of(environmentHandle, ikGroupHandle, elementHandle)
    return handle_of(element.base), handle_of(element.constraint_base)


def setElementBase(
    environmentHandle: int,
    ikGroupHandle: int,
    elementHandle: int,
    baseHandle: int,
    constraintsBaseHandle: int = WORLD,
) -> None:
    """Write base and constraint base, -1 for the world and for the base."""
    element = element_of(environmentHandle, ikGroupHandle, elementHandle)
    element.base = reference(baseHandle)
    element.constraint_base = reference(constraintsBaseHandle)


def getElementConstraints(environmentHandle: int, ikGroupHandle: int, elementHandle: int) -> int:
    """Return the constraint bits."""
    return int(element_of(environmentHandle, ikGroupHandle, elementHandle).constraints)


def setElementConstraints(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int, constraints: int
) -> None:
    """Write the constraint bits."""
    element = element_of(environmentHandle, ikGroupHandle, elementHandle)
    element.constraints = constraints


def getElementPrecision(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int
) -> list[float]:
    """Return linear and angular precision."""
    return list(element_of(environmentHandle, ikGroupHandle, elementHandle).precision)


def setElementPrecision(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int, precision: Sequence[float]
) -> None:
    """Write linear and angular precision."""
    if len(precision) != 2:
        raise DimensionMismatch(f'A precision is two numbers, not {list(precision)}.')
    element = element_of(environmentHandle, ikGroupHandle, elementHandle)
    element.precision = precision[0], precision[1]


def getElementWeights(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int
) -> list[float]:
    """Return linear, angular and overall weight."""
    return list(element_of(environmentHandle, ikGroupHandle, elementHandle).weights)


def setElementWeights(
    environmentHandle: int, ikGroupHandle: int, elementHandle: int, weights: Sequence[float]
) -> None:
    """Write linear, angular and overall weight."""
    if len(weights) != 3:
        raise DimensionMismatch(f'Weights are three numbers, not {list(weights)}.')
    element = element_of(environmentHandle, ikGroupHandle, elementHandle)
    element.weights = weights[0], weights[1], weights[2]
