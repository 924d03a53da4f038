"""The limits of one request, per velocity variable: the model's, narrowed by the request."""

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
    Narrow limits in place by a request: its own limits, consistency, locked and passive joints.

    :param seed: (nq,) the request's seed, passive variables included.
    :param lower, upper: (nv,) limits of the problem at the call, limits of the request on return.
    :returns: False when the consistency limits leave no room: then no state can be a solution.
    :raises InvalidLimits: when the request's own limits leave none, naming the joint.
    :raises JointNotFound: for an unknown locked joint.
    """
    scalar = problem.variable_kind <= layout.LINEAR
    own = scalar & (problem.variable_q < problem.group_size)
    place = problem.variable_q[own]
    for what in ('lower', 'upper', 'consistency_limits'):
        _refuse_ball_limits(getattr(request, what), what, problem)
    if request.lower is not None:
        lower[own] = np.maximum(lower[own], _per_variable(request.lower, 'lower', group)[place])
    if request.upper is not None:
        upper[own] = np.minimum(upper[own], _per_variable(request.upper, 'upper', group)[place])
    _require_room(problem, lower, upper)
    if request.consistency_limits is not None:
        width = _per_variable(request.consistency_limits, 'consistency_limits', group)[place]
        lower[own] = np.maximum(lower[own], seed[place] - width)
        upper[own] = np.minimum(upper[own], seed[place] + width)
        if not (lower <= upper).all():
            return False
    passive = problem.variable_q >= problem.group_size
    lower[passive] = upper[passive] = seed[problem.variable_q[passive]]
    for name, value in (request.locked or {}).items():
        _lock(name, value, problem, group, seed, (lower, upper))
    return True


def _per_variable(values: FloatArray, what: str, group: JointGroup) -> FloatArray:
    """Return an array of one number per position variable of the group."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (group.variable_count,) or np.isnan(array).any():
        raise DimensionMismatch(
            f'{what} must hold {counted(group.variable_count, "number")} without NaN, one for each of '
            f'{list(group.variable_names)}; got {values}.',
            expected=(group.variable_count,),
            actual=array.shape,
        )
    return array


def _refuse_ball_limits(values: FloatArray | None, what: str, problem: Problem) -> None:
    """Refuse finite limits on the quaternion of a ball joint, which would have no effect."""
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


def _require_room(problem: Problem, lower: FloatArray, upper: FloatArray) -> None:
    """Refuse limits of which none is left."""
    for v in np.flatnonzero(lower > upper):
        raise InvalidLimits(
            f'Joint {quote(problem.joint_of_variable[v])} has no room: the request and the model leave '
            f'[{lower[v]}, {upper[v]}].',
            joint=problem.joint_of_variable[v],
        )


def _lock(
    name: str,
    value: float | None,
    problem: Problem,
    group: JointGroup,
    seed: FloatArray,
    limits: tuple[FloatArray, FloatArray],
) -> None:
    """Hold a joint at a value, or at the seed's value brought inside the limits, by equal limits."""
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
        own = seed[problem.variable_q[v]] if value is None else float(value)
        held = min(max(own, lower[v]), upper[v]) if value is None else own
        if not lower[v] <= held <= upper[v]:
            raise InvalidLimits(
                f'Joint {quote(name)} cannot be locked at {held}: its limits are '
                f'[{lower[v]}, {upper[v]}].',
                joint=name,
            )
        lower[v] = upper[v] = held
