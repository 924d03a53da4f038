"""
Compute the joint limits of one request: the limits of the model, narrowed by the request.

Solvers share these functions, so that all of them refuse the same limits.
"""

from collections.abc import Sequence

import numpy as np

from ssik_ros.arrays import FloatArray
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


def narrow_limits(
    request: SolveRequest,
    problem: Problem,
    group: JointGroup,
    seed: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> bool:
    """
    Narrow limits in place by a request: its own limits, consistency limits, locked joints and passive joints.

    Passive joints, which move a tip but are not in the group, are held at the seed's values by equal limits.

    :param seed: (nq,) the request's seed, passive variables included [rad or m].
    :param lower, upper: (nv,) limits of the problem at the call, limits of the request on return [rad or m].
    :returns: False if a joint has no value within both the limits and the consistency limits, so that no solution
        exists; passive and locked joints are not held then. Else True.
    :raises DimensionMismatch: for limits of another size, and for NaN.
    :raises InvalidLimits: if a lower limit is above an upper limit, or a joint is locked outside of its limits.
    :raises InvalidOption: for finite limits of ball joints, or a value for a locked joint with several variables.
    :raises JointNotFound: for an unknown locked joint.
    """
    scalar = problem.variable_kind <= layout.LINEAR
    is_limited = scalar & (problem.variable_q < problem.group_size)
    place = problem.variable_q[is_limited]
    for what in ('lower', 'upper', 'consistency_limits'):
        _refuse_ball_limits(getattr(request, what), what, problem)
    names = group.variable_names
    if request.lower is not None:
        lower[is_limited] = np.maximum(
            lower[is_limited], one_each(request.lower, 'lower', names)[place]
        )
    if request.upper is not None:
        upper[is_limited] = np.minimum(
            upper[is_limited], one_each(request.upper, 'upper', names)[place]
        )
    _require_room(problem.joint_of_variable, lower, upper)
    if request.consistency_limits is not None:
        width = one_each(request.consistency_limits, 'consistency_limits', names)[place]
        lower[is_limited] = np.maximum(lower[is_limited], seed[place] - width)
        upper[is_limited] = np.minimum(upper[is_limited], seed[place] + width)
        if not (lower <= upper).all():
            return False
    passive = problem.variable_q >= problem.group_size
    lower[passive] = upper[passive] = seed[problem.variable_q[passive]]
    for name, value in (request.locked or {}).items():
        _lock(name, value, problem, group, seed, (lower, upper))
    return True


def narrow_by_own(
    request: SolveRequest, names: Sequence[str], lower: FloatArray, upper: FloatArray
) -> None:
    """
    Narrow limits of joints in place by ``request.lower`` and ``request.upper``.

    :param names: names of the joints, for messages.
    :param lower, upper: (n,) limits, changed in place [rad or m].
    :raises DimensionMismatch: for arrays of another size, and for NaN.
    :raises InvalidLimits: if a lower limit is above an upper limit.
    """
    if request.lower is not None:
        np.maximum(lower, one_each(request.lower, 'lower', names), out=lower)
    if request.upper is not None:
        np.minimum(upper, one_each(request.upper, 'upper', names), out=upper)
    _require_room(names, lower, upper)


def one_each(values: FloatArray, what: str, names: Sequence[str]) -> FloatArray:
    """
    Return values as an array (n,), after a check that they have one number for each of n names.

    :param what: the name of the array, for messages.
    :param names: names of the joints.
    :raises DimensionMismatch: for another shape, and for NaN.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(names),) or np.isnan(array).any():
        raise DimensionMismatch(
            f'{what} must hold {counted(len(names), "number")} without NaN, one for each of '
            f'{list(names)}; got {values}.',
            expected=(len(names),),
            actual=array.shape,
        )
    return array


def _refuse_ball_limits(values: FloatArray | None, what: str, problem: Problem) -> None:
    """Raise InvalidOption for finite limits on the quaternion of a ball joint, which would have no effect."""
    if values is None:
        return
    array = np.asarray(values, dtype=np.float64)
    for v in np.flatnonzero(problem.variable_kind == layout.BALL_FIRST):
        place = int(problem.variable_q[v])
        if place < problem.group_size and np.isfinite(array[place : place + 4]).any():
            raise InvalidOption(
                f'{what} of joint {quote(problem.joint_of_variable[v])} must be infinite: a quaternion '
                'has no limits.'
            )


def _require_room(names: Sequence[str], lower: FloatArray, upper: FloatArray) -> None:
    """Raise InvalidLimits for the first joint whose lower limit is above its upper limit."""
    for v in np.flatnonzero(lower > upper).tolist():
        raise InvalidLimits(
            f'Joint {quote(names[v])} has no room: the request and the model leave '
            f'[{lower[v]}, {upper[v]}].',
            joint=names[v],
        )


def _lock(
    name: str,
    value: float | None,
    problem: Problem,
    group: JointGroup,
    seed: FloatArray,
    limits: tuple[FloatArray, FloatArray],
) -> None:
    """
    Set both limits of a joint to a value in place; None uses the seed's value, moved inside the limits.

    :param seed: (nq,) seed, passive variables included.
    :param limits: lower and upper limits, (nv,) each.
    :raises JointNotFound, InvalidOption, InvalidLimits: for an unknown joint, a value of a joint with several
        variables, and a value outside the limits.
    """
    lower, upper = limits
    variables = [v for v, joint in enumerate(problem.joint_of_variable) if joint == name]
    if name not in group.joint_names:
        raise JointNotFound.unknown(
            f'Group {quote(group.name)} has no joint {quote(name)} to lock',
            name,
            group.joint_names,
        )
    if value is not None and len(variables) > 1:
        raise InvalidOption(f'Joint {quote(name)} has several variables; lock it with None.')
    for v in variables:
        position = seed[problem.variable_q[v]] if value is None else float(value)
        held = min(max(position, lower[v]), upper[v]) if value is None else position
        if not lower[v] <= held <= upper[v]:
            raise InvalidLimits(
                f'Joint {quote(name)} cannot be locked at {held}: its limits are '
                f'[{lower[v]}, {upper[v]}].',
                joint=name,
            )
        lower[v] = upper[v] = held
