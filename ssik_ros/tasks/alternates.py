"""Configurations that differ by windings of joints: same poses, other joint values."""

from __future__ import annotations

from collections.abc import Sequence
import itertools
import sys

import numpy as np

from ssik_ros.arguments import read_count, read_numbers
from ssik_ros.arrays import FloatArray, TURN, turns_within
from ssik_ros.errors import counted, DimensionMismatch, InvalidOption
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING
from ssik_ros.tasks.constants import JointType
from ssik_ros.tasks.joints import IkJoint, joint_values
from ssik_ros.tasks.objects import ObjectTable


def alternate_configs(
    world: ObjectTable,
    joints: Sequence[IkJoint],
    values: FloatArray,
    low: Sequence[float] | None = None,
    ranges: Sequence[float] | None = None,
    max_configs: int | None = None,
) -> FloatArray:
    """
    Return configurations (k, n): all combinations of windings of the joints, in increasing order.

    Revolute joints with limits have windings, unless they have a screw lead or a winding moves a dependent joint. All
    other joints keep their values.

    :param values: of all joints of the world; the configuration to start from.
    :param low, ranges: see :meth:`Environment.alternate_configs`.
    :param max_configs: most rows; None for all.
    :returns: no rows if a joint has no value in its interval.
    """
    low, ranges = (
        [] if numbers is None else read_numbers(name, numbers, (None,)).tolist()
        for name, numbers in (('low', low), ('ranges', ranges))
    )
    for name, numbers in (('low limits', low), ('ranges', ranges)):
        if len(numbers) not in (0, len(joints)):
            raise DimensionMismatch(
                f'There are {counted(len(joints), "joint")} and {len(numbers)} {name}.'
            )
    if ranges and not low and any(number > 0.0 for number in ranges):
        raise InvalidOption('Positive ranges need low limits.')
    if max_configs is not None and read_count('max_configs', max_configs) > sys.maxsize:
        max_configs = None
    choices: list[list[float]] = []
    for index, joint in enumerate(joints):
        numbers = [float(number) for number in joint_values([joint], values)]
        if not has_windings(world, joint):
            choices += [[number] for number in numbers]
            continue
        lower, upper = _interval(
            joint, numbers[0], low[index] if low else 0.0, ranges[index] if ranges else 0.0
        )
        choices.append(equivalents(numbers[0], lower, upper))
    rows = list(itertools.islice(itertools.product(*choices), max_configs))
    return np.array(rows, dtype=float).reshape(len(rows), len(choices))


def has_windings(world: ObjectTable, joint: IkJoint) -> bool:
    """Return whether a joint is a free revolute one with limits whose whole turns change no pose."""
    plain = joint.kind == JointType.REVOLUTE and joint.screw_lead == 0.0 and not joint.cyclic
    return plain and joint.dependency is None and world.wraps(joint)


def _interval(joint: IkJoint, value: float, low: float, width: float) -> tuple[float, float]:
    """Return the limits of a joint within [low, low + width]; a negative width is centred on the value, zero cuts nothing."""
    lower, upper = joint.limits
    if width > 0.0:
        return max(lower, low), min(upper, low + width)
    if width < 0.0:
        return max(lower, value + 0.5 * width), min(upper, value - 0.5 * width)
    return lower, upper


def equivalents(value: float, lower: float, upper: float) -> list[float]:
    """Return all value + 2 pi k in a closed interval [rad], increasing; k = 0 gives the very value, also outside."""
    first, last = map(int, turns_within(value, lower, upper, LIMIT_ROUNDING))
    return [
        value if k == 0 else min(max(value + TURN * k, lower), upper)
        for k in range(first, last + 1)
    ]
