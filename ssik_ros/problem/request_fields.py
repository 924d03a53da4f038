"""
Read fields of one request: poses, tools, seed, state, tolerance, numbers of solutions and searches, budget, cancel flag.

Solvers share these functions, so that all of them refuse the same values.
:mod:`ssik_ros.problem.request_limits` reads limits and locked joints.
"""

import math
from typing import Any

import numpy as np

from ssik_ros.arguments import as_floats, read_count, read_float
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import counted, DimensionMismatch, InvalidOption, InvalidTarget, quote
from ssik_ros.kernels.geometry import joint_values, se3
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.tolerances import DEFAULT_TOLERANCES

LARGEST_TIMEOUT = 1e9
"""Budgets of at least this many seconds mean no budget; their nanoseconds would not fit an integer [s]."""
NDARRAY, FLOAT64 = np.ndarray, np.dtype(np.float64)
"""Kept as module constants: looking up an attribute costs time at every solve."""


class RequestReader:
    """Reads fields of the requests to one solver; several threads may use it at once."""

    def __init__(
        self, name: str, robot: RobotModel, group: JointGroup, tips: tuple[str, ...]
    ) -> None:
        """
        Store the sizes that requests are checked against.

        :param name: name of the solver, for messages.
        :param robot, group: robot and group of the solver.
        :param tips: links that have a target.
        """
        self._name, self._robot, self._group, self._tips = name, robot, group, tips
        self.stack = (len(tips), 4, 4)
        """Shape of one pose for each tip."""
        self.state_shape = (robot.tree.nq,)
        """Shape of a full state of the robot."""
        self._seed_shape = (group.variable_count,)
        self._tolerance_shapes = (), (len(tips),)

    def poses(self, poses: Any, name: str = 'targets') -> FloatArray:
        """
        Return a field with one pose for each tip as an array (t, 4, 4), or (4, 4) for one tip; not always a copy.

        Whether the poses are rigid is not checked.

        :param name: the field, for messages.
        :raises RequestError: for another shape, and for anything but real numbers.
        """
        array = as_floats(name, poses)
        shape = array.shape
        if shape != self.stack and (shape != (4, 4) or self.stack[0] != 1):
            raise DimensionMismatch(
                f'{self._name} has the tips {list(self._tips)} and needs {name} of shape '
                f'{self.stack}, not {shape}.',
                expected=self.stack,
                actual=shape,
            )
        return array

    def tools(self, tools: Any) -> FloatArray:
        """
        Return the field ``tool_offsets``, the pose of a tool in each tip frame, as a new array (t, 4, 4).

        :param tools: (t, 4, 4), or (4, 4) for one tip.
        :raises RequestError: for another shape, for anything but real numbers, and for a pose that is not a finite
            rigid transform.
        """
        array = self.poses(tools, 'tool_offsets').copy().reshape(self.stack)
        rows = array.reshape(-1, 4)
        for index, tip in enumerate(self._tips):
            if not se3.is_rigid(rows, 4 * index, DEFAULT_TOLERANCES.rigid):
                raise InvalidTarget(
                    f'tool_offsets at {quote(tip)} is not a finite rigid 4x4 transform: '
                    f'{array[index].tolist()}.'
                )
        return array

    def seed(self, seed: Any) -> FloatArray:
        """
        Return a seed as an array (n,), not always a copy.

        :raises RequestError: for another shape, and for anything but real numbers.
        """
        array = as_floats('seed', seed)
        if array.shape != self._seed_shape:
            names = list(self._group.variable_names)
            raise DimensionMismatch(
                f'Group {quote(self._group.name)} has {len(names)} joint variables '
                f'{names}; the seed has the shape {array.shape}.',
                expected=self._seed_shape,
                actual=array.shape,
            )
        return array

    def is_state_usable(self, state: Any) -> bool:
        """
        Return whether all values of a full state (nq,) are finite and small enough.

        See :func:`ssik_ros.kernels.geometry.joint_values.are_usable`.

        :raises RequestError: for another shape, and for anything but real numbers.
        """
        values = as_floats('state', state)
        if values.shape != self.state_shape:
            values = self._robot.tree.full_state(state)
        return joint_values.are_usable(values)

    def tolerance(self, tolerance: Any) -> FloatArray:
        """
        Return a checked tolerance as an array, not always a copy: one number for all tips, or (t,).

        :raises InvalidOption: when it is not positive and finite, or has another shape.
        """
        if type(tolerance) is float and 0.0 < tolerance < math.inf:
            return np.array(tolerance)
        value = as_floats('tolerance', tolerance)
        is_usable = value.shape in self._tolerance_shapes
        for number in value.tolist() if value.ndim else [value.item()]:
            is_usable = is_usable and 0.0 < number < math.inf
        if not is_usable:
            raise InvalidOption(
                f'The tolerance must be a positive number, or one for each of the '
                f'{counted(len(self._tips), "tip")}, not {tolerance}.'
            )
        return value

    def check_budgets(self, request: SolveRequest) -> None:
        """
        Check the fields that bound a search, for a solver that does not search.

        They are ``max_solutions``, ``max_searches``, ``timeout``, ``tolerance`` and ``cancel`` of ``request``.

        :raises RequestError: if one of them has a wrong value.
        """
        read_count('max_solutions', request.max_solutions, 1)
        if request.max_searches is not None:
            read_count('max_searches', request.max_searches, 1)
        if request.timeout is not None:
            nanoseconds(request.timeout)
        if request.tolerance is not None:
            self.tolerance(request.tolerance)
        if request.cancel is not None:
            checked_flag(request.cancel)


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
    Return a budget as whole nanoseconds; 0 stands for no budget.

    :param seconds: the budget [s]; 0 and budgets from LARGEST_TIMEOUT on mean no budget, others are at least 1 ns.
    :raises InvalidOption: for NaN, negative numbers, and anything but a number.
    """
    if type(seconds) is not float:
        seconds = read_float('timeout', seconds)
    if not seconds >= 0.0:
        raise InvalidOption(
            f'timeout must be a number of seconds from 0 on (0 and None set no limit), not {seconds}.',
            name='timeout',
            value=seconds,
        )
    return 0 if seconds == 0.0 or seconds >= LARGEST_TIMEOUT else max(1, round(seconds * 1e9))
