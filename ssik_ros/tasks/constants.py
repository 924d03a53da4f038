"""Constants of environments and task sets as enums; the numbers are the ones of CoppeliaSim's simIK, which scripts use."""

from collections.abc import Mapping
from enum import IntEnum, IntFlag
from typing import Any, TypeVar

from ssik_ros.arguments import shown
from ssik_ros.errors import InvalidOption, quote
from ssik_ros.kernels.rows import layout

Member = TypeVar('Member', bound=IntEnum)

WORLD = -1
"""Handle of the world, and of nothing."""
PARENT = -11
"""Stands for the parent of the object at hand where a pose is relative to something."""
TIP_FLAG = 0x00400000
"""Added to the handle of a tip to address the first task that has this tip."""


class Constraint(IntFlag):
    """Coordinates of a tip that a task constrains, as bits: x, y, z, the direction of the z axis, the turn about it."""

    X = 1
    Y = 2
    Z = 4
    ALPHA_BETA = 8
    """The z axes of tip and target coincide (with GAMMA: together the whole orientation)."""
    GAMMA = 16
    """The turn about z."""
    POSITION = 7
    ORIENTATION = 24
    POSE = 31


class TaskSetFlag(IntFlag):
    """On/off settings of a task set, as bits; the attributes of the same name of TaskSetData explain them."""

    ENABLED = 1
    IGNORE_MAX_STEPS = 2
    RESTORE_ON_BAD_LINEAR = 4
    RESTORE_ON_BAD_ANGULAR = 8
    STOP_ON_LIMIT_HIT = 16
    AVOID_LIMITS = 64


class Reason(IntFlag):
    """
    Events of a solve as bits.

    The solve failed if NOT_PERFORMED, CANNOT_INVERT or NOT_WITHIN_TOLERANCE is set. STEPS_TOO_BIG and LIMIT_HIT may be
    set after a success and after a failure. INVALID_CALLBACK_DATA ends a solve, and comes with NOT_WITHIN_TOLERANCE.
    """

    NONE = 0
    NOT_PERFORMED = 1
    CANNOT_INVERT = 2
    NOT_WITHIN_TOLERANCE = 16
    STEPS_TOO_BIG = 32
    LIMIT_HIT = 64
    INVALID_CALLBACK_DATA = 128


REASON_TEXT: dict[Reason, str] = {
    Reason.NOT_PERFORMED: 'a task set is disabled or has no valid task',
    Reason.CANNOT_INVERT: 'a step was not finite',
    Reason.NOT_WITHIN_TOLERANCE: 'a tip is not within the precision of its target',
    Reason.STEPS_TOO_BIG: 'a step was longer than the largest step of a joint',
    Reason.LIMIT_HIT: 'a joint stopped at a limit',
    Reason.INVALID_CALLBACK_DATA: 'the callback returned numbers that are not finite',
}


class Outcome(IntEnum):
    """Outcome of a solve: not performed, success or failure."""

    NOT_PERFORMED = 0
    SUCCESS = 1
    FAIL = 2


class Method(IntEnum):
    """Methods by which a task set computes a joint step from its errors and its Jacobian."""

    PSEUDO_INVERSE = 0
    """With a tiny damping."""
    DAMPED_LEAST_SQUARES = 1
    JACOBIAN_TRANSPOSE = 2
    UNDAMPED_PSEUDO_INVERSE = 3


class JointType(IntEnum):
    """Types of joints, with the numbers of simIK."""

    REVOLUTE = 10
    PRISMATIC = 11
    SPHERICAL = 12


class JointMode(IntEnum):
    """Whether solves may move a joint (IK) or not (PASSIVE)."""

    PASSIVE = 0
    IK = 2


class ObjectType(IntEnum):
    """Types of objects in an environment: a joint, or a dummy (a plain frame)."""

    JOINT = 1
    DUMMY = 4


NODE_KIND = {
    JointType.REVOLUTE: layout.REVOLUTE,
    JointType.PRISMATIC: layout.PRISMATIC,
    JointType.SPHERICAL: layout.SPHERICAL,
}
"""Kinds as the kernels call them."""


def read_member(
    kind: type[Member], value: Any, noun: str, names: Mapping[str, Member] | None = None
) -> Member:
    """
    Return the member of an enum that a value names.

    :param kind: the enum.
    :param value: the member, its number, or one of ``names``.
    :param noun: name of a member in messages, such as "joint type".
    :param names: members by name; None if names are not allowed.
    :raises InvalidOption: for any other value.
    """
    if names is not None and isinstance(value, str):
        if value not in names:
            raise InvalidOption.unknown(f'{quote(value)} is no {noun}', value, names)
        return names[value]
    try:
        return kind(value)
    except (RecursionError, ValueError):
        choices = {int(item): item.name.lower() for item in kind}
        raise InvalidOption(f'{shown(value)} is no {noun}; there are {choices}.') from None
