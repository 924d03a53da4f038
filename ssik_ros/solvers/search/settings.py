"""
The settings of an iterative search: step law, tolerances and budgets, checked and packed as the kernel's options.

:class:`SearchSettings` has the settings, and :func:`make_settings` makes them from keywords. The packed options are one
flat array, see :mod:`ssik_ros.kernels.search.state`.
"""

from collections.abc import Mapping
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import (
    check_mapping,
    read_count,
    read_float,
    read_number,
    read_numbers,
    refuse,
)
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    counted,
    describe_choices,
    DimensionMismatch,
    InvalidLimits,
    InvalidOption,
    JointNotFound,
    quote,
)
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.search import laws, serial, state
from ssik_ros.problem.problem import Problem
from ssik_ros.problem.seeded_numbers import uniform_numbers
from ssik_ros.tolerances import DEFAULT_TOLERANCES
from ssik_ros.value_class import dataclass

LAWS = {
    'newton': laws.NEWTON,
    'gauss': laws.GAUSS,
    'chan': laws.CHAN,
    'wampler': laws.WAMPLER,
    'sugihara': laws.SUGIHARA,
    'adaptive': laws.ADAPTIVE,
}
METHODS = ('adaptive', 'chan', 'wampler', 'sugihara')
"""Step laws of Levenberg-Marquardt."""
DEFAULT_K = {'chan': 1.0, 'wampler': 1e-4, 'sugihara': 1e-4, 'adaptive': 0.01}
FIRST_SEED = 0x5331C0DE
"""Default seed of the deterministic sequences."""
LARGEST_INTEGER = 2**52 - 1
"""Largest number of iterations, searches and seed."""
LARGEST_STEP = {'newton': 1.5, 'gauss': 1.5}
OTHER_STEP = 2.0
"""Longest step of a revolute joint [rad] for other laws. Beyond it, the linear model has no meaning."""
LONG_SLIDE = 100.0
"""If the range of a prismatic joint is larger than this, its steps are scaled by the range [m]."""
NEWTON_POLICY = {
    state.PROGRESS_STEPS: 5,
    state.PROGRESS: 0.6,
    state.POLISH_STEPS: 6,
    state.POLISH_GAIN: 0.5,
}
"""Numbers of NR, GN and LM."""
MOST_NEAR_MISSES = 24
"""Number of near misses after which a search takes the best one."""
NEAR_MISSES_OF_FEW_JOINTS = 4
"""As MOST_NEAR_MISSES, for problems with more rows than variables, in which most targets are near misses."""
JOINT_ARRAYS = ('joint_weights', 'pi', 'posture')


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """
    Settings of a search: step law, budgets, tolerances, limits, secondary objectives and starts.

    ``n`` is the number of joint variables of the group, ``t`` the number of tips.
    """

    law: str = 'adaptive'
    """A key of :data:`LAWS`."""
    ilimit: int = 30
    """Most updates of one search."""
    slimit: int = 100
    """Most searches."""
    tol: float = math.inf
    """A solution has E = e^T W e / 2 below this; e has the pose errors of all tips, W their weights."""
    tolerance: float = math.inf
    """Largest norm over position [m] and rotation [rad] error at each tip."""
    pos_tol: float | None = None
    """Largest position error at each tip [m]."""
    rot_tol: float | None = None
    """Largest rotation error at each tip [rad]."""
    joint_limits: bool = True
    """True keeps the joints within the limits of the robot, False ignores these limits."""
    k: float | None = None
    """Damping parameter of Levenberg-Marquardt, as its law defines it; None means the default of the law."""
    pinv: bool = True
    """True uses the pseudo-inverse, False the plain inverse, which needs as many rows as velocity variables."""
    pinv_damping: float = 0.0
    """d in s / (s^2 + d^2) for each singular value s."""
    seed: int | None = None
    """Seed of the random and low-discrepancy sequences; None means a fixed default."""
    max_step: float | None = None
    """Longest step of a revolute joint [rad]; None means the default of the law."""
    joint_weights: tuple[float, ...] | None = None
    """(n,) positive price of moving each joint: a larger number lets the joint move less."""
    kq: float = 0.0
    """Weight of keeping away from limits."""
    km: float = 0.0
    """Weight of manipulability."""
    kp: float = 0.0
    """Weight of being near ``posture``."""
    ps: float = 0.0
    """Distance from a limit at which the push away from it has the weight ``kq`` [rad or m]; less than ``pi``."""
    pi: float | tuple[float, ...] = 0.3
    """Distance below which a limit has influence: one number or (n,) [rad or m]."""
    posture: tuple[float, ...] | None = None
    """(n,) preferred configuration; None means the default seed."""
    sample_range: tuple[float, float] | None = None
    """Range that replaces infinite limits if starts are drawn [rad or m]."""
    hold: tuple[tuple[str, float], ...] = ()
    """Name and value of each joint that is held [rad or m]."""
    gives_up: bool = True
    """True ends starts with little progress before ``ilimit``."""

    def __post_init__(self) -> None:
        """Raise InvalidOption for a wrong value, and DimensionMismatch if ``sample_range`` is not two numbers."""
        for name, least in (('ilimit', 1), ('slimit', 1)):
            read_count(name, getattr(self, name), least, LARGEST_INTEGER)
        if self.seed is not None:
            read_count('seed', self.seed, most=LARGEST_INTEGER)
        for name in ('tol', 'tolerance', 'pos_tol', 'rot_tol', 'max_step'):
            _require_number(name, getattr(self, name), positive=True, infinite=name[:3] == 'tol')
        for name in ('k', 'pinv_damping', 'kq', 'km', 'kp', 'ps'):
            _require_number(name, getattr(self, name), positive=False)
        for name in ('joint_limits', 'pinv', 'gives_up'):
            if not isinstance(getattr(self, name), bool | np.bool_ | int):
                refuse(name, getattr(self, name), 'True or False')
        if self.law not in LAWS:
            raise InvalidOption(
                f'method is {self.law!r}. {describe_choices(str(self.law), METHODS)}',
                name='method',
                value=self.law,
            )
        if self.sample_range is not None:
            low, high = read_numbers('sample_range', self.sample_range, (2,)).tolist()
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                refuse('sample_range', self.sample_range, 'two finite numbers, the smaller first')

    @property
    def is_improving(self) -> bool:
        """Return whether a secondary objective has a weight: distance from limits, manipulability or a preferred posture."""
        return self.kq > 0.0 or self.km > 0.0 or self.kp > 0.0

    def pack(self, problem: Problem, start: FloatArray, seeded: bool = True) -> FloatArray:
        """
        Return the settings as the kernel's options, one flat array.

        :param problem: packed problem of the search.
        :param start: (nq,) default posture, and values of the joints outside the group.
        :param seeded: True starts the first search at the given state, False at the best of a few other states.
        :raises InvalidOption: if ``pinv`` is False and the Jacobian is not square, or an array has a bad value.
        :raises DimensionMismatch: if an array does not have one number for each joint variable.
        :raises JointNotFound, InvalidLimits: for an unknown held joint, or a value outside its limits.
        """
        nv, tips = problem.nv, len(problem.constraints)
        self._check_inverse(problem)
        lower, upper = self._limits(problem, start)
        per_tip = [
            np.full(tips, math.inf if value is None else value)
            for value in (self.tolerance, self.pos_tol, self.rot_tol)
        ]
        scales = self._scales(problem)
        posture = start.copy()
        if self.posture is not None:
            posture[: problem.group_size] = _check_size('posture', self.posture, problem)
        head = np.zeros(state.OPTIONS)
        for place, value in self._numbers(problem).items():
            head[place] = value
        head[state.SEEDED] = seeded
        head[state.WEIGHTED] = (scales != 1.0).any()
        return np.concatenate(
            [
                *(head, lower, upper, *self._sampling(lower, upper)),
                _sequence(nv, FIRST_SEED if self.seed is None else self.seed).ravel(),
                *(*per_tip, scales, _per_variable('pi', self.pi, problem, True), posture),
            ]
        )

    def _numbers(self, problem: Problem) -> dict[int, float]:
        """Return the scalar options of the kernel: a value for each index into the head of the options."""
        k = DEFAULT_K.get(self.law, 0.0) if self.k is None else self.k
        own_step = LARGEST_STEP.get(self.law, OTHER_STEP)
        return {
            **NEWTON_POLICY,
            state.LAW: LAWS[self.law],
            state.GAIN: k,
            state.OWN_DAMPING: self.pinv_damping * self.pinv_damping,
            state.PLAIN_INVERSE: not self.pinv,
            state.MAX_ITERATIONS: self.ilimit,
            state.MAX_SEARCHES: self.slimit,
            state.ERROR_SQUARED: 2.0 * self.tol,
            state.LIMITED: bool(self.joint_limits),
            state.RIGID_TOLERANCE: DEFAULT_TOLERANCES.rigid,
            state.SOLUTION_SEPARATION: DEFAULT_TOLERANCES.same_solution,
            state.RANDOM_SEED: FIRST_SEED if self.seed is None else self.seed,
            state.SERIAL: serial.is_serial(problem.ints, problem.reals),
            state.LARGEST_STEP: own_step if self.max_step is None else self.max_step,
            state.GIVES_UP: bool(self.gives_up),
            state.CONSTANT: self._has_constant_damping(k),
            state.IMPROVES: self.is_improving and problem.rows < problem.nv,
            state.LIMIT_GAIN: self.kq,
            state.MANIPULABILITY_GAIN: self.km,
            state.POSTURE_GAIN: self.kp,
            state.CLOSEST: self.ps,
            state.MOST_NEAR_MISSES: NEAR_MISSES_OF_FEW_JOINTS
            if problem.rows > problem.nv
            else MOST_NEAR_MISSES,
        }

    def _has_constant_damping(self, k: float) -> bool:
        """
        Return whether the damping stays above zero when the error goes to zero.

        This slows convergence, so the kernel leaves the damping out of the last steps.

        :param k: damping parameter of the step law.
        """
        if self.law in ('wampler', 'sugihara'):
            return k > 0.0
        return self.law in ('newton', 'gauss') and self.pinv_damping > 0.0

    def _check_inverse(self, problem: Problem) -> None:
        """Raise InvalidOption if ``pinv`` is False and the Jacobian is not square."""
        if not self.pinv and problem.rows != problem.nv:
            raise InvalidOption(
                f'pinv=False needs as many joints as rows, and here are {counted(problem.nv, "joint")} and '
                f'{counted(problem.rows, "row")}; a redundant or partly constrained arm needs pinv=True.',
                name='pinv',
                joints=problem.nv,
                rows=problem.rows,
            )

    def _limits(self, problem: Problem, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """
        Return lower and upper limits (nv,) of the velocity variables.

        Both are the fixed value for joints that are held or outside the group.

        :param start: (nq,) gives the values of joints outside the group.
        :raises JointNotFound: for an unknown held joint.
        :raises InvalidLimits: for a held joint with several variables, or a value outside its limits.
        """
        lower, upper = problem.lower.copy(), problem.upper.copy()
        for v, place in enumerate(problem.variable_q):
            if place >= problem.group_size:
                lower[v] = upper[v] = start[place]
        names = problem.joint_of_variable
        for name, value in self.hold:
            if name not in names:
                raise JointNotFound.unknown(f'hold names the joint {quote(name)}', name, names)
            v = names.index(name)
            if names.count(name) > 1 or not lower[v] <= value <= upper[v]:
                raise InvalidLimits(
                    f'Joint {quote(name)} cannot be held at {value}: it must have one variable, and its '
                    f'limits are [{lower[v]}, {upper[v]}].',
                    joint=name,
                )
            lower[v] = upper[v] = value
        return lower, upper

    def _sampling(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """
        Return the lower and upper ends (nv,) of the ranges of random starts.

        Infinite limits are replaced by ``sample_range``, if it is given.
        """
        lower, upper = lower.copy(), upper.copy()
        if self.sample_range is not None:
            lower[np.isinf(lower)] = self.sample_range[0]
            upper[np.isinf(upper)] = self.sample_range[1]
        return lower, upper

    def _scales(self, problem: Problem) -> FloatArray:
        """
        Return the scale (nv,) by which the search multiplies each velocity variable: 1 / sqrt(joint weight).

        Without weights the scale is 1, but range / 2 pi for a prismatic joint with a range above 100 m. Otherwise
        revolute joints would take part of its motion and shorten each step. Raise InvalidOption for a weight that is
        not positive and finite.
        """
        if self.joint_weights is None:
            span = problem.upper - problem.lower
            slides = layout.TABLES.show(problem.ints, problem.reals).variable_i
            is_long = slides[:, layout.VARIABLE_MOVES] == layout.SLIDES
            is_long &= np.isfinite(span) & (span > LONG_SLIDE)
            return np.where(is_long, span / (2.0 * math.pi), 1.0)
        weights = _per_variable('joint_weights', self.joint_weights, problem, False)
        if not ((weights > 0.0) & np.isfinite(weights)).all():
            refuse('joint_weights', self.joint_weights, 'positive and finite')
        scales: FloatArray = 1.0 / np.sqrt(weights)
        return scales

    def check_influence(self) -> None:
        """Raise InvalidOption if limits have a weight and ``pi`` is not larger than ``ps``."""
        if self.kq > 0.0 and not (np.asarray(self.pi) > self.ps).all():
            refuse('pi', self.pi, f'larger than ps, which is {self.ps}')


_SCALARS = (int, float, str, tuple, np.generic, type(None))


def make_settings(values: Mapping[str, Any]) -> SearchSettings:
    """
    Return settings from keywords; arrays of joints become tuples.

    :raises InvalidOption: for an unknown keyword, with a similar one, if any, or for a value that is not valid.
    :raises DimensionMismatch: for a ``sample_range`` that is not two numbers.
    """
    names = set(SearchSettings.__dataclass_fields__)
    for name in values:
        if name not in names:
            raise InvalidOption.unknown(f'There is no option {quote(name)}', name, names - {'law'})
    arrays = {
        name: tuple(read_numbers(name, values[name]).ravel().tolist())
        for name in JOINT_ARRAYS
        if values.get(name) is not None and not isinstance(values[name], int | float | np.number)
    }
    values = {**values, **arrays}
    if 'hold' in values:
        hold = {} if values['hold'] is None else values['hold']
        check_mapping('hold', hold, 'a mapping from joint names to values')
        values['hold'] = tuple(
            (str(name), read_number('hold', value)) for name, value in hold.items()
        )
    for name, value in values.items():
        # Settings are keys of the solvers that an arm keeps.
        if not isinstance(value, _SCALARS):
            refuse(name, value, 'a number, a flag or a word')
    settings = SearchSettings(**values)
    settings.check_influence()
    return settings


def joint_rows(options: FloatArray, nv: int) -> FloatArray:
    """
    Return a view (JOINT_ROWS, nv) of the per-variable part of packed options.

    Its rows are limits, ranges of starts and the sequence of starts, indexed by constants of ``state``.
    """
    end = state.OPTIONS + state.JOINT_ROWS * nv
    return options[state.OPTIONS : end].reshape(state.JOINT_ROWS, nv)


def tip_tolerances(options: FloatArray, nv: int, tips: int) -> FloatArray:
    """
    Return a view (TOLERANCES, t) of the tolerances in packed options, one column for each tip.

    Its rows are the largest norm of both errors, position error [m] and rotation error [rad].
    """
    start = state.OPTIONS + state.JOINT_ROWS * nv
    return options[start : start + state.TOLERANCES * tips].reshape(state.TOLERANCES, tips)


def _sequence(nv: int, seed: int) -> FloatArray:
    """
    Return the increments and offsets (2, nv) of a low-discrepancy sequence of starts in the unit cube.

    The increments are negative powers of the generalised golden ratio, the root above one of x^(nv+1) = x + 1. The
    offsets are random numbers.
    """
    ratio = 1.5
    for _ in range(64):
        ratio = (1.0 + ratio) ** (1.0 / (nv + 1))
    alpha = np.array([ratio ** -(k + 1.0) % 1.0 for k in range(nv)])
    return np.stack([alpha, uniform_numbers(seed, nv)])


def _check_size(name: str, values: ArrayLike, problem: Problem) -> FloatArray:
    """
    Return an argument as an array (n,) of finite numbers, one for each joint variable of the group.

    Raise DimensionMismatch for another shape, and InvalidOption for a value that is not finite.
    """
    array = read_numbers(name, values)
    if array.shape != (problem.group_size,):
        raise DimensionMismatch(
            f'{name} must hold {counted(problem.group_size, "number")}, one for each joint variable, not '
            f'the shape {array.shape}.',
            expected=(problem.group_size,),
            actual=array.shape,
        )
    if not np.isfinite(array).all():
        refuse(name, values, 'finite')
    return array


def _per_variable(name: str, values: Any, problem: Problem, single: bool) -> FloatArray:
    """
    Return an argument as one number for each velocity variable (nv,).

    Joints outside the group get 1, and a ball joint the mean of its first three numbers. One number for all counts for
    every variable.

    :param values: (n,) numbers, or with ``single`` one number.
    :param single: True allows one number for all variables.
    """
    if single and np.ndim(values) == 0:
        return np.full(problem.nv, read_number(name, values))
    array = _check_size(name, values, problem)
    result = np.ones(problem.nv)
    for v in range(problem.nv):
        at = int(problem.variable_q[v])
        if at < problem.group_size:
            ball = problem.variable_kind[v] > layout.LINEAR
            result[v] = array[at : at + 3].mean() if ball else array[at]
    return result


def _require_number(name: str, value: Any, positive: bool, infinite: bool = False) -> None:
    """
    Raise InvalidOption unless a value is a finite number with an allowed sign, or None where None is the default.

    :param positive: True requires a number above zero, False allows zero.
    :param infinite: True allows infinity.
    """
    if value is None and SearchSettings.__dataclass_fields__[name].default is None:
        return
    number = read_float(name, value)
    inside = number > 0.0 if positive else number >= 0.0
    if not inside or not (infinite or math.isfinite(number)):
        refuse(name, value, 'positive' if positive else 'zero or positive, and finite')
