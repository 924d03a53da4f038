"""
Compute the joint limits of one request: the limits of the model, narrowed by the request.

Solvers share these functions, so that all of them refuse the same limits.
"""

from collections.abc import Mapping, Sequence
import math
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arguments import as_floats, check_mapping, read_float
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import (
    counted,
    DimensionMismatch,
    InvalidLimits,
    InvalidOption,
    JointNotFound,
    quote,
)
from ssik_ros.kernels.rows import layout
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import Problem


class Variables(NamedTuple):
    """
    The ``nv`` velocity variables of a solver, whose limits a request may narrow.

    Passive variables move a tip but are not in the group; a request holds them at their values in the seed.
    """

    group: JointGroup
    joints: tuple[str, ...]
    """(nv,) name of the joint of each variable."""
    places: IntArray
    """(nv,) index of the position variable of each variable in a seed (nq,)."""
    limited: IntArray | slice = slice(None)
    """Indices of the variables of the group that are no part of a ball joint."""
    limited_places: IntArray | slice = slice(None)
    """Index of each of them in a seed."""
    passive: tuple[int, ...] = ()
    """Indices of the passive variables."""
    balls: tuple[int, ...] = ()
    """Index of the first of the three variables of each ball joint of the group."""

    @classmethod
    def of_group(cls, group: JointGroup) -> 'Variables':
        """
        Return the variables of a group whose joints have one variable each, without passive variables.

        :param group: the group.
        """
        return cls(group, group.joint_names, np.arange(group.variable_count))

    @classmethod
    def of_problem(cls, problem: Problem, group: JointGroup) -> 'Variables':
        """
        Return the variables of a packed problem.

        :param group: group of the problem.
        """
        places, kinds = problem.variable_q, problem.variable_kind
        is_own = places < problem.group_size
        limited = np.flatnonzero(is_own & (kinds <= layout.LINEAR))
        balls = np.flatnonzero(is_own & (kinds == layout.BALL_FIRST))
        return cls(
            group,
            problem.joint_of_variable,
            places,
            limited,
            places[limited],
            tuple(np.flatnonzero(~is_own).tolist()),
            tuple(balls.tolist()),
        )

    def read(self, values: Any, what: str) -> FloatArray:
        """
        Return the numbers that a field has for the limited variables, in their order; not always a copy.

        The field has a number for each position variable of the group.

        :param values: (n,) the field of a request.
        :param what: the name of the field, for messages.
        :raises DimensionMismatch: for another shape, and for NaN.
        :raises InvalidOption: for anything but real numbers, and for finite limits of ball joints.
        """
        array = as_floats(what, values)
        names = self.group.variable_names
        if array.shape != (len(names),) or any(map(math.isnan, array.tolist())):
            raise DimensionMismatch(
                f'{what} must hold {counted(len(names), "number")} without NaN, one for each of '
                f'{list(names)}; got {values}.',
                expected=(len(names),),
                actual=array.shape,
            )
        for ball in self.balls:
            place = self.places[ball]
            if np.isfinite(array[place : place + 4]).any():
                raise InvalidOption(
                    f'{what} of joint {quote(self.joints[ball])} must be infinite: a quaternion '
                    'has no limits.'
                )
        return array[self.limited_places]


def narrow_limits(
    request: SolveRequest,
    variables: Variables,
    seed: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> bool:
    """
    Narrow limits in place by a request: its own limits, consistency limits, locked joints and passive joints.

    Passive joints, which move a tip but are not in the group, are held at the seed's values by equal limits.

    :param variables: variables of the solver.
    :param seed: (nq,) the request's seed, passive variables included [rad or m].
    :param lower, upper: (nv,) limits of the solver at the call, limits of the request on return [rad or m].
    :returns: False if a joint has no value within both the limits and the consistency limits, so that no solution
        exists; passive and locked joints are not held then. Else True.
    :raises DimensionMismatch: for limits of another size, and for NaN.
    :raises InvalidLimits: if a lower limit is above an upper limit, or a joint is locked outside of its limits.
    :raises InvalidOption: for limits that are not numbers, finite limits of ball joints, locked joints that are not
        a mapping to numbers, or a value for a locked joint with several variables.
    :raises JointNotFound: for an unknown locked joint.
    """
    narrow_by_own(request, variables, lower, upper)
    if request.consistency_limits is not None:
        width = variables.read(request.consistency_limits, 'consistency_limits')
        at, near = variables.limited, seed[variables.limited_places]
        lower[at] = np.maximum(lower[at], near - width)
        upper[at] = np.minimum(upper[at], near + width)
        if _without_room(lower, upper):
            return False
    for v in variables.passive:
        lower[v] = upper[v] = seed[variables.places[v]]
    for name, value in locked_joints(request).items():
        _lock(name, value, variables, seed, (lower, upper))
    return True


def narrow_by_own(
    request: SolveRequest, variables: Variables, lower: FloatArray, upper: FloatArray
) -> None:
    """
    Narrow limits in place by ``request.lower`` and ``request.upper``.

    :param variables: variables of the solver.
    :param lower, upper: (nv,) limits of the solver at the call, limits of the request on return [rad or m].
    :raises DimensionMismatch: for limits of another size, and for NaN.
    :raises InvalidOption: for limits that are not numbers, and for finite limits of ball joints.
    :raises InvalidLimits: if a lower limit is above an upper limit.
    """
    at = variables.limited
    if request.lower is not None:
        lower[at] = np.maximum(lower[at], variables.read(request.lower, 'lower'))
    if request.upper is not None:
        upper[at] = np.minimum(upper[at], variables.read(request.upper, 'upper'))
    _require_room(variables.joints, lower, upper)


def locked_joints(request: SolveRequest) -> Mapping[str, float | None]:
    """
    Return the locked joints of a request with their values; empty for None and for any other empty value.

    :raises InvalidOption: for anything else but a mapping.
    """
    if not request.locked:
        return {}
    return check_mapping('locked', request.locked, 'a mapping from joint names to values')


def _require_room(names: Sequence[str], lower: FloatArray, upper: FloatArray) -> None:
    """Raise InvalidLimits for the first joint whose lower limit is above its upper limit."""
    for v in _without_room(lower, upper):
        raise InvalidLimits(
            f'Joint {quote(names[v])} has no room: the request and the model leave '
            f'[{lower[v]}, {upper[v]}].',
            joint=names[v],
        )


def _without_room(lower: FloatArray, upper: FloatArray) -> list[int]:
    """Return the indices of the variables whose lower limit is above their upper limit."""
    above: list[int] = (lower > upper).nonzero()[0].tolist()
    return above


def _lock(
    name: str,
    value: float | None,
    variables: Variables,
    seed: FloatArray,
    limits: tuple[FloatArray, FloatArray],
) -> None:
    """
    Set both limits of a joint to a value in place; None uses the seed's value, moved inside the limits.

    :param name: name of the joint.
    :param variables: variables of the solver.
    :param seed: (nq,) seed, passive variables included.
    :param limits: lower and upper limits, (nv,) each.
    :raises JointNotFound, InvalidOption, InvalidLimits: for an unknown joint, a value that is not a number or is for
        a joint with several variables, and a value outside the limits.
    """
    lower, upper = limits
    group = variables.group
    if name not in group.joint_names:
        raise JointNotFound.unknown(
            f'Group {quote(group.name)} has no joint {quote(name)} to lock',
            name,
            group.joint_names,
        )
    places = [v for v, joint in enumerate(variables.joints) if joint == name]
    if value is not None and len(places) > 1:
        raise InvalidOption(f'Joint {quote(name)} has several variables; lock it with None.')
    for v in places:
        position = seed[variables.places[v]]
        held = (
            min(max(position, lower[v]), upper[v])
            if value is None
            else read_float(f'The value of the locked joint {quote(name)}', value)
        )
        if not (lower[v] <= held <= upper[v] and math.isfinite(held)):
            raise InvalidLimits(
                f'Joint {quote(name)} cannot be locked at {held}: its limits are '
                f'[{lower[v]}, {upper[v]}].',
                joint=name,
            )
        lower[v] = upper[v] = held
