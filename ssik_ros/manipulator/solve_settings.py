"""The arguments of ``Manipulator.solve`` beside the target, checked: what is wrong is an error that names it."""

from collections.abc import Mapping, Sequence
import math
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    describe_choices,
    DimensionMismatch,
    InvalidOption,
    InvalidTarget,
    JointNotFound,
    quote,
    RequestError,
)
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.manipulator.tolerance_policy import DEFAULT_TOLERANCE_POLICY, TolerancePolicy

METRICS = ('wrap_l2', 'wrap_linf')
WRAP = 'wrap'
_FLOAT64 = np.dtype(np.float64)


class SolveSettings(NamedTuple):
    """What is asked beside the target."""

    max_solutions: int | None = None
    seed: FloatArray | None = None
    """(dof,) reference of the order."""
    respect_limits: bool | str = True
    """True, False or ``'wrap'``."""
    allow_refinement: bool = False
    policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY
    refinement_max_iters: int = 15
    seed_metric: str = 'wrap_l2'
    seed_tolerance: FloatArray | None = None
    """(dof,) largest difference of each joint from the seed."""
    enumerate_windings: bool = False
    hold: tuple[tuple[int, float], ...] = ()
    """Index and value of each joint that is held [rad or m]."""
    arm_angle: float | None = None
    redundancy_samples: int | None = None
    timeout: float | None = None


def check_settings(
    joint_names: Sequence[str],
    *,
    max_solutions: int | None,
    q_seed: ArrayLike | None,
    respect_limits: bool | str,
    allow_refinement: bool,
    policy: TolerancePolicy,
    refinement_max_iters: int,
    seed_metric: str,
    seed_tolerance: ArrayLike | None,
    enumerate_windings: bool,
    hold: Mapping[str | int, float] | None,
    arm_angle: float | None,
    redundancy_samples: int | None,
    timeout: float | None,
) -> SolveSettings:
    """
    Return the settings of a solve.

    :param joint_names: the joints, in the order of every joint vector.
    :raises ValueError: for a value that is out of range or has a wrong shape.
    :raises TypeError: for a value of a wrong type.
    """
    if not isinstance(policy, TolerancePolicy):
        _refuse('policy', policy, 'a TolerancePolicy')
    seed = None if q_seed is None else read_seed(q_seed, len(joint_names))
    if seed_tolerance is not None and seed is None:
        raise InvalidOption('seed_tolerance needs q_seed, the posture that it is measured from.')
    return SolveSettings(
        max_solutions=None if max_solutions is None else _count('max_solutions', max_solutions, 0),
        seed=seed,
        respect_limits=_limits_mode(respect_limits),
        allow_refinement=_flag('allow_refinement', allow_refinement),
        policy=policy,
        refinement_max_iters=_count('refinement_max_iters', refinement_max_iters, 0),
        seed_metric=check_metric(seed_metric),
        seed_tolerance=_tolerance(seed_tolerance, len(joint_names)),
        enumerate_windings=_flag('enumerate_windings', enumerate_windings),
        hold=_hold(hold, joint_names),
        arm_angle=None if arm_angle is None else _number('arm_angle', arm_angle),
        redundancy_samples=(
            None
            if redundancy_samples is None
            else _count('redundancy_samples', redundancy_samples, 1)
        ),
        timeout=None if timeout is None else _time('timeout', timeout),
    )


def read_target(T_target: ArrayLike) -> FloatArray:
    """
    Return a target as a contiguous array (4, 4); whether it is rigid is not looked at.

    :param T_target: what the caller gave.
    :raises TypeError: when it holds no real numbers.
    :raises ValueError: when it has another shape.
    """
    if type(T_target) is np.ndarray and T_target.dtype == _FLOAT64:
        array = T_target
    else:
        array = read_numbers('T_target', T_target)
    if array.shape != (4, 4):
        raise DimensionMismatch(
            f'T_target must have the shape (4, 4), not {array.shape}.',
            expected=(4, 4),
            actual=array.shape,
        )
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def read_seed(q_seed: ArrayLike, dof: int) -> FloatArray:
    """
    Return a seed as an array (dof,).

    :param q_seed: what the caller gave.
    :param dof: number of joint variables.
    :raises TypeError: when it holds no real numbers.
    :raises ValueError: when it has another shape, or a value is not finite or too large.
    """
    if type(q_seed) is np.ndarray and q_seed.dtype == _FLOAT64:
        seed = q_seed
    else:
        seed = read_numbers('q_seed', q_seed)
    if seed.shape != (dof,):
        raise DimensionMismatch(
            f'q_seed must hold {dof} joint values, not the shape {seed.shape}.',
            expected=(dof,),
            actual=seed.shape,
        )
    # The length is cheaper than a look at every value, and does not overflow.
    if not math.hypot(*seed.tolist()) <= joint_values.LARGEST:
        _check_usable(seed, 'q_seed')
    return seed


def repair_target(target: FloatArray, rigid: float) -> FloatArray:
    """
    Return the nearest rigid transform to a target that is nearly one.

    :param target: (4, 4).
    :param rigid: largest Frobenius norm of R^T R - I, and deviation of the last row.
    :raises InvalidTarget: when it is none; names what is wrong.
    """
    rotation = target[:3, :3]
    defect = ''
    if not np.isfinite(target).all():
        defect = 'values that are not finite'
    elif np.abs(target[3] - (0.0, 0.0, 0.0, 1.0)).max() > rigid:
        defect = f'the last row {target[3].tolist()} instead of 0, 0, 0, 1'
    elif np.linalg.det(rotation) <= 0.0:
        defect = (
            f'a rotation block of determinant {np.linalg.det(rotation):.3g} (mirrored or flat)'
        )
    else:
        off = float(np.linalg.norm(rotation.T @ rotation - np.eye(3)))
        if off > rigid:
            defect = f'a block that is off from a rotation by {off:.3g} (norm of R^T R - I)'
    if defect:
        raise InvalidTarget(
            f'T_target is no finite rigid transform: it has {defect}. T_target = {target.tolist()}',
            target=target,
        )
    u, _, v = np.linalg.svd(rotation)
    repaired = np.eye(4)
    repaired[:3, :3], repaired[:3, 3] = u @ v, target[:3, 3]
    return repaired


def check_metric(seed_metric: str) -> str:
    """
    Return the name of a metric.

    :param seed_metric: ``'wrap_l2'`` or ``'wrap_linf'``.
    :raises ValueError: for another one, with or without a seed.
    """
    if seed_metric not in METRICS:
        raise InvalidOption(
            f'seed_metric is {seed_metric!r}. {describe_choices(str(seed_metric), METRICS)}',
            name='seed_metric',
            value=seed_metric,
        )
    return seed_metric


def _limits_mode(value: bool | str) -> bool | str:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str) and value == WRAP:
        return value
    _refuse('respect_limits', value, "True, False or 'wrap'")


def _flag(name: str, value: bool) -> bool:
    if not isinstance(value, bool | np.bool_):
        _refuse(name, value, 'True or False')
    return bool(value)


def _count(name: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        _refuse(name, value, 'a whole number')
    if value < least:
        _refuse(name, value, f'at least {least}')
    return int(value)


def _number(name: str, value: float) -> float:
    number = isinstance(value, int | float | np.integer | np.floating)
    if isinstance(value, bool) or not number:
        _refuse(name, value, 'a number')
    if not math.isfinite(value):
        _refuse(name, value, 'finite')
    return float(value)


def _time(name: str, value: float) -> float:
    seconds = _number(name, value)
    if seconds < 0.0:
        _refuse(name, value, 'a number of seconds from 0 on; 0 and None set no limit')
    return seconds


def _refuse(name: str, value: object, wanted: str) -> NoReturn:
    raise InvalidOption(f'{name} must be {wanted}, not {value!r}.', name=name, value=value)


def _tolerance(value: ArrayLike | None, dof: int) -> FloatArray | None:
    if value is None:
        return None
    array = read_numbers('seed_tolerance', value)
    if array.shape not in ((), (dof,)):
        raise DimensionMismatch(
            f'seed_tolerance must be one number or {dof}, not the shape {array.shape}.',
            expected=(dof,),
            actual=array.shape,
        )
    if not (array >= 0.0).all():
        _refuse('seed_tolerance', value, 'zero or positive')
    return np.broadcast_to(array, (dof,)).astype(np.float64)


def _hold(
    hold: Mapping[str | int, float] | None, joint_names: Sequence[str]
) -> tuple[tuple[int, float], ...]:
    if hold is None:
        return ()
    if not isinstance(hold, Mapping):
        _refuse('hold', hold, 'a mapping from joint names or indices to values')
    held: dict[int, float] = {}
    for joint, value in hold.items():
        index = _joint_index(joint, joint_names)
        if index in held:
            raise InvalidOption(
                f'hold names the joint {quote(joint_names[index])} twice.', hold=hold
            )
        held[index] = _number(f'hold[{joint!r}]', value)
    return tuple(held.items())


def _joint_index(joint: str | int, joint_names: Sequence[str]) -> int:
    n = len(joint_names)
    if isinstance(joint, int | np.integer) and not isinstance(joint, bool):
        if not -n <= joint < n:
            _refuse('hold', joint, f'for joints 0 to {n - 1}')
        return int(joint) % n
    if joint not in joint_names:
        raise JointNotFound.unknown(f'hold names the joint {joint!r}', str(joint), joint_names)
    return joint_names.index(joint)


def read_numbers(name: str, value: Any) -> FloatArray:
    """
    Return an array of real numbers.

    :param name: the argument, for messages.
    :param value: what the caller gave.
    :raises TypeError: when it holds text, truth values, complex numbers or other things.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise DimensionMismatch(f'{name} is no array of numbers: {error}.') from error
    if array.dtype.kind not in 'fiu':
        _refuse(name, value, f'an array of real numbers (it is one of {array.dtype})')
    return array.astype(np.float64)


def _check_usable(array: FloatArray, name: str) -> None:
    if not joint_values.are_usable(array):
        raise RequestError(f'{name} {joint_values.describe_unusable(array)}.', name=name)
