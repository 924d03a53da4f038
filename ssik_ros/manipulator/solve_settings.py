"""Check the arguments of ``Manipulator.solve``; the error for a wrong argument names the argument."""

from collections.abc import Callable, Mapping, Sequence
import functools
import math
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import (
    as_integer,
    check_callable,
    check_kind,
    read_choice,
    read_count,
    read_number,
    read_numbers,
    read_one_each,
    refuse,
    shown,
)
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    DimensionMismatch,
    InvalidOption,
    InvalidTarget,
    JointNotFound,
    quote,
    RequestError,
)
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.manipulator.tolerance_policy import DEFAULT_TOLERANCE_POLICY, TolerancePolicy
from ssik_ros.problem.pose_input import read_pose
from ssik_ros.problem.scheduling import processors

if TYPE_CHECKING:
    from ssik_ros.manipulator.arm_scene import ArmScene

METRICS = ('wrap_l2', 'wrap_linf')
WRAP = 'wrap'
SEED_NAMES = ('seed', 'q0')
"""Other names of ``q_seed``."""
REFINEMENT_MAX_ITERS = 15
"""Default of ``refinement_max_iters``."""
MOST_SAMPLES = 4096
"""Largest ``redundancy_samples``, as for the solver ssik_ros/Analytic."""
_FLOAT64 = np.dtype(np.float64)


class SolveSettings(NamedTuple):
    """
    The checked arguments of :meth:`Manipulator.solve`, except target, ``explain``, ``method`` and its parameters.

    Each field means the same as the argument of that name; ``seed`` is ``q_seed``.
    """

    seed: FloatArray
    """(dof,) reference of the order."""
    max_solutions: int | None = None
    respect_limits: bool | str = True
    """True, False or ``'wrap'``."""
    allow_refinement: bool = False
    policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY
    refinement_max_iters: int = REFINEMENT_MAX_ITERS
    seed_metric: str = 'wrap_l2'
    seed_tolerance: FloatArray | None = None
    """(dof,) largest difference of each joint from the seed."""
    enumerate_windings: bool = False
    hold: tuple[tuple[int, float], ...] = ()
    """Index and value of each joint that is held [rad or m]."""
    arm_angle: float | None = None
    redundancy_samples: int | None = None
    timeout: float | None = None
    scene: 'ArmScene | None' = None
    """Objects that solutions keep clear of."""
    cost: Callable[[FloatArray], float] | None = None
    """Function of a joint vector whose least value comes first."""

    @property
    def is_plain(self) -> bool:
        """
        Return whether the branches of the closed form need no further step.

        Further steps are held joints, windings, a seed tolerance, an arm angle, a scene and a cost.
        """
        return not (
            self.hold
            or self.enumerate_windings
            or self.seed_tolerance is not None
            or self.arm_angle is not None
            or self.is_chosen
        )

    @property
    def is_chosen(self) -> bool:
        """Return whether a scene or a cost is set, which drop or sort solutions after the solve."""
        return self.scene is not None or self.cost is not None


NAMES = frozenset(SolveSettings._fields) - {'seed'}
"""Keywords of every way to solve, without the seed."""


def check_settings(
    joint_names: Sequence[str], seed: FloatArray, values: Mapping[str, Any]
) -> SolveSettings:
    """
    Return the settings of a solve.

    :param joint_names: the joints, in the order of every joint vector.
    :param seed: (dof,) seed of requests that give none.
    :param values: given settings by their names in :data:`NAMES`; missing ones have their defaults.
    :raises ValueError: for a value that is out of range or has a wrong shape.
    :raises TypeError: for a value of a wrong type.
    """
    checked: dict[str, Any] = {}
    for name, value in values.items():
        if name in ('seed_tolerance', 'hold'):
            read = _tolerance if name == 'seed_tolerance' else _hold
            checked[name] = read(value, joint_names)
        elif value is not None or name not in MAY_BE_NONE:
            checked[name] = CHECKS[name](name, value)
    return SolveSettings(seed, **checked)


def read_target(T_target: ArrayLike) -> FloatArray:
    """
    Return a target as a contiguous array (4, 4), maybe the argument itself; do not check whether it is rigid.

    :param T_target: a pose in any form of :mod:`ssik_ros.problem.pose_input`.
    :raises TypeError: when it holds no real numbers.
    :raises ValueError: if it does not have the form of a pose.
    """
    if type(T_target) is np.ndarray and T_target.dtype == _FLOAT64:
        array = T_target
    else:
        return read_pose(T_target, 'T_target')
    if array.shape != (4, 4):
        return read_pose(array, 'T_target')
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def read_seed(q_seed: ArrayLike, dof: int) -> FloatArray:
    """
    Return a seed as an array (dof,), maybe the argument itself.

    :param q_seed: (dof,) joint vector [rad or m].
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
    if not math.hypot(*seed.tolist()) <= joint_values.LARGEST_JOINT_VALUE:
        _check_usable(seed, 'q_seed')
    return seed


def take_seed(q_seed: ArrayLike | None, options: dict[str, Any]) -> ArrayLike | None:
    """
    Return the seed, which may be given as ``q_seed``, or in the options as ``seed`` or ``q0``; None without a seed.

    A seed in the options is removed from them.

    :param q_seed: the seed under its first name, or None.
    :param options: all other keywords, changed in place; a whole number as ``seed`` stays, as the seed of random
        numbers.
    :raises InvalidOption: for two seeds.
    """
    for name in SEED_NAMES:
        if name not in options or (name == 'seed' and isinstance(options[name], int | np.integer)):
            continue
        value = options.pop(name)
        if value is not None and q_seed is not None:
            raise InvalidOption(f'q_seed and {name} are two names of one seed: give one of them.')
        q_seed = q_seed if value is None else value
    return q_seed


def repair_target(target: FloatArray, rigid: float) -> FloatArray:
    """
    Return a copy of a nearly rigid target with the nearest rotation and the last row 0, 0, 0, 1.

    :param target: (4, 4).
    :param rigid: largest Frobenius norm of R^T R - I, and largest deviation of the last row from 0, 0, 0, 1.
    :raises InvalidTarget: if the target is further from a rigid transform; names the defect.
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


def _limits_mode(name: str, value: bool | str) -> bool | str:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str) and value == WRAP:
        return value
    refuse(name, value, "True, False or 'wrap'")


def _flag(name: str, value: bool) -> bool:
    if not isinstance(value, bool | np.bool_):
        refuse(name, value, 'True or False')
    return bool(value)


def _samples(name: str, value: int) -> int:
    return read_count(name, value, 1, MOST_SAMPLES)


def _time(name: str, value: float) -> float:
    seconds = read_number(name, value)
    if seconds < 0.0:
        refuse(name, value, 'a number of seconds from 0 on; 0 and None set no limit')
    return seconds


def _scene(name: str, value: Any) -> Any:
    if not hasattr(value, 'colliding_pair'):
        refuse(name, value, 'a scene, as arm.scene(boxes=...) returns it')
    return value


def _tolerance(value: ArrayLike | None, joint_names: Sequence[str]) -> FloatArray | None:
    if value is None:
        return None
    array = read_one_each('seed_tolerance', value, len(joint_names))
    if not (array >= 0.0).all():
        refuse('seed_tolerance', value, 'zero or positive')
    return array


def _hold(
    hold: Mapping[str | int, float] | None, joint_names: Sequence[str]
) -> tuple[tuple[int, float], ...]:
    if hold is None:
        return ()
    if not isinstance(hold, Mapping):
        refuse('hold', hold, 'a mapping from joint names or indices to values')
    held: dict[int, float] = {}
    for joint, value in hold.items():
        index = _joint_index(joint, joint_names)
        if index in held:
            raise InvalidOption(
                f'hold names the joint {quote(joint_names[index])} twice.', hold=hold
            )
        held[index] = read_number(f'hold[{shown(joint)}]', value)
    return tuple(held.items())


def _joint_index(joint: str | int, joint_names: Sequence[str]) -> int:
    n = len(joint_names)
    index = as_integer(joint)
    if index is not None:
        if not 0 <= index < n:
            refuse('hold', joint, f'for joints 0 to {n - 1}')
        return index
    if joint not in joint_names:
        raise JointNotFound.unknown(
            f'hold names the joint {shown(joint)}', shown(joint), joint_names
        )
    return joint_names.index(joint)


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    'max_solutions': read_count,
    'respect_limits': _limits_mode,
    'allow_refinement': _flag,
    'policy': functools.partial(check_kind, kind=TolerancePolicy),
    'refinement_max_iters': read_count,
    'seed_metric': functools.partial(read_choice, choices=METRICS),
    'enumerate_windings': _flag,
    'arm_angle': read_number,
    'redundancy_samples': _samples,
    'timeout': _time,
    'scene': _scene,
    'cost': functools.partial(
        check_callable, wanted='a function of a joint vector that returns a number'
    ),
}
"""Each returns the checked value of a setting, called with its name and the value given."""
MAY_BE_NONE = ('max_solutions', 'arm_angle', 'redundancy_samples', 'timeout', 'scene', 'cost')


def read_seeds(q_seed: ArrayLike | None, poses: int, dof: int) -> FloatArray | None:
    """
    Return seeds as a contiguous array: (m, n), or (1, n) for one common seed; None without seeds, and for (0, n).

    :param q_seed: joint values (n,) or (m, n) [rad or m].
    :param poses: number of poses m.
    :param dof: number of joint variables n.
    :raises ValueError: when it has another shape, or a value is not finite or too large.
    """
    if q_seed is None:
        return None
    array = read_numbers('q_seed', q_seed)
    if array.shape == (dof,):
        array = array.reshape(1, dof)
    elif array.shape != (poses, dof):
        raise DimensionMismatch(
            f'q_seed must have the shape ({dof},) or ({poses}, {dof}), not {array.shape}.',
            expected=(poses, dof),
            actual=array.shape,
        )
    for row, seed in enumerate(array if not joint_values.are_usable(array) else ()):
        _check_usable(seed, f'q_seed {row}')
    return np.ascontiguousarray(array) if len(array) else None


def count_threads(threads: int | None) -> int:
    """
    Return the number of threads to use, at least 1.

    :param threads: the caller's number; None means one for each processor.
    :raises InvalidOption: for anything but a whole number of at least 1.
    """
    return processors() if threads is None else read_count('threads', threads, 1)


def _check_usable(array: FloatArray, name: str) -> None:
    if not joint_values.are_usable(array):
        raise RequestError(f'{name} {joint_values.describe_unusable(array)}.', name=name)
