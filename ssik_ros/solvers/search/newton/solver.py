"""
Newton-Raphson, Gauss-Newton and Levenberg-Marquardt as solvers of the registry.

The mathematics stands in :mod:`ssik_ros.kernels.search`; the three differ in the law of their steps alone.
"""

import dataclasses
import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.search import newton_search, pose_search
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import position_rows, Problem, Rows
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.solvers.search.iterative_solver import IterativeSolver
from ssik_ros.solvers.search.newton.options import (
    GAUSS_FILE,
    GaussNewtonOptions,
    LEVENBERG_FILE,
    LevenbergMarquardtOptions,
    NEWTON_FILE,
    NewtonRaphsonOptions,
)
from ssik_ros.solvers.search.newton.single import SingleSearch
from ssik_ros.solvers.search.newton_settings import NewtonSettings


class NewtonSolver(IterativeSolver):
    """A Newton search for one group; may be asked from several threads at once."""

    kernel = staticmethod(newton_search.search)
    at_lower = newton_search.OPTIONS
    at_max_searches = newton_search.MAX_SEARCHES
    at_keeps_looking = newton_search.KEEPS_LOOKING

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        settings: NewtonSettings,
        *,
        name: str = 'ssik_ros/LevenbergMarquardt',
        base_frame: str | None = None,
        tip_frames: tuple[str, ...] | None = None,
        rows: Rows | None = None,
    ) -> None:
        """
        Prepare the group's problem.

        :param settings: law, tolerances, budgets.
        :param base_frame: link that targets are given in; None means the group's base.
        :param tip_frames: links that targets are for; None means the group's tips.
        :param rows: which rows of each target count; None means all six.
        """
        self.settings, self.keeps_limits = settings, settings.joint_limits
        super().__init__(robot, group, name, base_frame, tip_frames, rows or Rows())
        self.seeded = settings.pack(self.problem, self.middle, True)
        self.unseeded = settings.pack(self.problem, self.middle, False)
        # A request without a seed starts in the middle of the limits.
        self.packed = self.seeded

    def _build(self, tools: FloatArray | None) -> Problem:
        """Return the packed problem, in arrays of the kind that the kernels are compiled for."""
        problem = super()._build(tools)
        return dataclasses.replace(problem, ints=problem.ints.copy(), reals=problem.reals.copy())

    @functools.cached_property
    def single(self) -> SingleSearch:
        """Return the solver as a plain call for one pose."""
        options = self.unseeded, self.seeded
        return SingleSearch(self.problem, options, self.middle)

    def narrowed_options(
        self, options: FloatArray, request: SolveRequest, lower: FloatArray, upper: FloatArray
    ) -> None:
        """Write sampling ranges inside the request's limits, and its tolerance, into the options."""
        nv, tips = self.problem.nv, len(self.tip_frames)
        start = newton_search.OPTIONS + 2 * nv
        sample_lower, sample_upper = (
            options[start : start + nv],
            options[start + nv : start + 2 * nv],
        )
        sample_lower[:] = np.maximum(sample_lower, lower)
        sample_upper[:] = np.minimum(sample_upper, upper)
        if request.tolerance is not None:
            start = newton_search.OPTIONS + 6 * nv
            options[start : start + tips] = self.checked_tolerance(request.tolerance)

    def largest_errors(self, options: FloatArray) -> tuple[float, float]:
        """Return the largest position error [m] and rotation error [rad] that a solution may have at a tip."""
        tips, start = len(self.tip_frames), newton_search.OPTIONS + 6 * self.problem.nv
        norm, position, rotation = options[start : start + 3 * tips].reshape(3, tips).max(axis=1)
        norm = min(norm, math.sqrt(options[newton_search.ERROR_SQUARED]))
        return float(min(norm, position)), float(min(norm, rotation))

    def explain(
        self,
        code: int,
        counters: NDArray[np.int64],
        targets: FloatArray,
        problem: Problem | None = None,
        options: FloatArray | None = None,
    ) -> tuple[IkStatus, Cause]:
        """Return status and cause of a search without a solution."""
        status, cause = super().explain(code, counters, targets, problem, options)
        singular, searches = counters[newton_search.SINGULAR_SEEN], counters[pose_search.SEARCHES]
        if cause == Cause.BUDGET and singular and singular == searches:
            return status, Cause.SINGULAR
        return status, cause


def _settings(law: str, options: Any, file: str) -> NewtonSettings:
    """Return the settings of checked options."""
    checked = load_schema(file).resolve(dataclasses.asdict(options), type(options))
    values = dataclasses.asdict(checked)
    values['tolerance'] = values.pop('target_tolerance')
    values['law'] = values.pop('method', law)
    if values.get('k') == 0.0:
        values['k'] = None
    settings = NewtonSettings(**values)
    settings.check_influence()
    return settings


def _rows(position_only: bool) -> Rows:
    return position_rows() if position_only else Rows()


def make_newton_raphson(
    robot: RobotModel,
    group: JointGroup,
    options: NewtonRaphsonOptions | None = None,
    *,
    position_only: bool = False,
) -> NewtonSolver:
    """
    Return the solver ``ssik_ros/NewtonRaphson``.

    :param options: its parameters; None means the defaults.
    :param position_only: leave the orientation of targets free.
    """
    settings = _settings('newton', options or NewtonRaphsonOptions(), NEWTON_FILE)
    rows = _rows(position_only)
    return NewtonSolver(robot, group, settings, name='ssik_ros/NewtonRaphson', rows=rows)


def make_gauss_newton(
    robot: RobotModel,
    group: JointGroup,
    options: GaussNewtonOptions | None = None,
    *,
    position_only: bool = False,
) -> NewtonSolver:
    """
    Return the solver ``ssik_ros/GaussNewton``.

    :param options: its parameters; None means the defaults.
    :param position_only: leave the orientation of targets free.
    """
    settings = _settings('gauss', options or GaussNewtonOptions(), GAUSS_FILE)
    rows = _rows(position_only)
    return NewtonSolver(robot, group, settings, name='ssik_ros/GaussNewton', rows=rows)


def make_levenberg_marquardt(
    robot: RobotModel,
    group: JointGroup,
    options: LevenbergMarquardtOptions | None = None,
    *,
    position_only: bool = False,
) -> NewtonSolver:
    """
    Return the solver ``ssik_ros/LevenbergMarquardt``.

    :param options: its parameters; None means the defaults.
    :param position_only: leave the orientation of targets free.
    """
    settings = _settings('adaptive', options or LevenbergMarquardtOptions(), LEVENBERG_FILE)
    rows = _rows(position_only)
    return NewtonSolver(robot, group, settings, name='ssik_ros/LevenbergMarquardt', rows=rows)
