"""Check the arrays of requests to a search, and make the kernel options of requests with special fields."""

from typing import Any

import numpy as np

from ssik_ros.arguments import read_count
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import counted, DimensionMismatch, InvalidOption, quote
from ssik_ros.kernels.search import state
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import Problem
from ssik_ros.problem.request_limits import narrow_limits
from ssik_ros.solvers.search.settings import joint_rows, tip_tolerances

LARGEST_TIMEOUT = 1e9
"""Budgets of at least this many seconds mean no budget; their nanoseconds would not fit an integer [s]."""


class SearchRequests:
    """
    Checks the requests of one solver and converts them to kernel arrays; several threads may use it at once.

    Variables of joints outside the group that still move a tip are called passive.
    """

    def __init__(
        self,
        name: str,
        robot: RobotModel,
        group: JointGroup,
        problem: Problem,
        tips: tuple[str, ...],
        packed: FloatArray,
        start: FloatArray,
    ) -> None:
        """
        Store the sizes and defaults that requests are checked against.

        :param name: name of the solver, for messages.
        :param robot, group, problem: robot, group and packed problem of the solver.
        :param tips: links that have a target.
        :param packed: kernel options of plain requests.
        :param start: (nq,) first start of a request without a seed.
        """
        self._name, self._robot, self._group, self._problem = name, robot, group, problem
        self._tips, self._packed, self._start = tips, packed, start
        self._size = problem.group_size
        self.defaults = robot.default_positions()[problem.idx_q]
        """Values of passive variables if a request has no state (nq,); values of the group are not used."""
        self._passive = problem.nq != problem.group_size
        self.stack = (len(tips), 4, 4)
        """Shape of one pose for each tip."""
        self._seed_shape = (problem.group_size,)

    def poses(self, poses: FloatArray | None) -> FloatArray:
        """Return an argument as one pose for each tip: (t, 4, 4), or (4, 4) for one tip; else raise DimensionMismatch."""
        array = poses if isinstance(poses, np.ndarray) else np.array(poses, dtype=np.float64)
        shape = array.shape
        if shape != self.stack and (shape != (4, 4) or self.stack[0] != 1):
            raise DimensionMismatch(
                f'{self._name} has the tips {list(self._tips)} and needs poses of shape '
                f'{self.stack}, not {shape}.',
                expected=self.stack,
                actual=shape,
            )
        return array

    def write_seed(self, request: SolveRequest, reference: FloatArray) -> None:
        """
        Write the seed of a request into ``reference`` (nq,); without a seed, the default start.

        Variables of joints outside the group come from the state of the request, or from their defaults.
        """
        seed, size = request.seed, self._size
        if seed is None:
            reference[:] = self._start
        else:
            reference[:size] = self.seed(seed)
        if self._passive or request.state is not None:
            passive = self.defaults
            if request.state is not None:
                passive = self._robot.tree.full_state(request.state)[self._problem.idx_q]
            reference[size:] = passive[size:]

    def seed(self, seed: Any) -> FloatArray:
        """
        Return a seed as an array (n,), not always a copy.

        :raises DimensionMismatch: when it has another shape.
        """
        array = seed if isinstance(seed, np.ndarray) else np.array(seed, dtype=np.float64)
        if array.shape != self._seed_shape:
            raise DimensionMismatch(
                f'Group {quote(self._group.name)} has {self._size} joint variables '
                f'{list(self._group.variable_names)}; the seed has the shape {array.shape}.',
                expected=self._seed_shape,
                actual=array.shape,
            )
        return array

    def full_states(self, seeds: FloatArray | None) -> FloatArray:
        """
        Return seeds as full states (k, nq); joints outside the group have their default values.

        :param seeds: (k, n); None returns the default start (1, nq).
        """
        if seeds is None:
            return self._start[None].copy()
        states = np.tile(self._start, (len(seeds), 1))
        states[:, : self._size] = seeds
        return states

    def is_special(self, request: SolveRequest) -> bool:
        """
        Return whether a request has a special field, for which :meth:`options` makes kernel options of its own.

        Special fields are limits, a tolerance, a validation, locked joints, a number of searches, ``wants_nearest`` and
        a ``max_solutions`` that is not a positive int. All requests are special if joints outside the group move a tip.
        """
        return bool(
            self._passive
            or request.validate is not None
            or request.tolerance is not None
            or request.lower is not None
            or request.upper is not None
            or request.consistency_limits is not None
            or request.max_searches is not None
            or request.wants_nearest
            or type(request.max_solutions) is not int
            or request.max_solutions < 1
            or request.locked
        )

    def options(
        self, request: SolveRequest, problem: Problem, seed: FloatArray
    ) -> FloatArray | None:
        """
        Return the kernel's options for a request with special fields.

        Return None if the limits of the request exclude all values of a joint.

        :param problem: packed problem, with the tools of the request.
        :param seed: (nq,) seed, joints outside the group included.
        :raises RequestError: for a malformed field of the request.
        :raises JointNotFound, InvalidLimits: for an unknown locked joint, a joint locked outside its limits, and a
            lower limit above an upper limit.
        """
        read_count('max_solutions', request.max_solutions, 1)
        options = self._packed.copy()
        options[state.VALIDATED] = float(request.validate is not None)
        options[state.KEEPS_LOOKING] = float(request.wants_nearest)
        if request.max_searches is not None:
            options[state.MAX_SEARCHES] = read_count('max_searches', request.max_searches, 1)
        rows = joint_rows(options, problem.nv)
        lower, upper = rows[state.LOWER], rows[state.UPPER]
        room = narrow_limits(request, problem, self._group, seed, lower, upper)
        if request.tolerance is not None:
            norm = tip_tolerances(options, problem.nv, len(self._tips))[state.NORM]
            norm[:] = self.tolerance(request.tolerance)
        if not room:
            return None
        for row in (state.SAMPLING_LOWER, state.SAMPLING_UPPER):
            np.clip(rows[row], lower, upper, out=rows[row])
        return options

    def tolerance(self, tolerance: float | FloatArray) -> FloatArray:
        """
        Return a checked tolerance as an array: one number for all tips, or (t,).

        :raises InvalidOption: when it is not positive and finite, or has another shape.
        """
        value = np.asarray(tolerance, dtype=np.float64)
        positive = (value > 0.0) & np.isfinite(value)
        if value.shape not in ((), (len(self._tips),)) or not positive.all():
            raise InvalidOption(
                f'The tolerance must be a positive number, or one for each of the '
                f'{counted(len(self._tips), "tip")}, not {tolerance}.'
            )
        return value


def checked_flag(flag: IntArray) -> IntArray:
    """
    Check that a cancel flag is a writeable int64 array of shape (1,), and return it.

    :raises InvalidOption: when it has another type or shape.
    """
    usable = isinstance(flag, np.ndarray) and flag.dtype == np.int64 and flag.shape == (1,)
    if not usable or not flag.flags.writeable or not flag.flags.c_contiguous:
        raise InvalidOption(f'cancel must be a writeable int64 array of shape (1,), not {flag!r}.')
    return flag


def nanoseconds(seconds: float) -> int:
    """
    Return a budget in nanoseconds; 0 means no budget.

    :raises InvalidOption: for NaN and negative numbers.
    """
    if not seconds >= 0.0:
        raise InvalidOption(
            f'timeout must be a number of seconds from 0 on (0 and None set no limit), not {seconds}.',
            name='timeout',
            value=seconds,
        )
    return 0 if seconds == 0.0 or seconds >= LARGEST_TIMEOUT else max(1, round(seconds * 1e9))
