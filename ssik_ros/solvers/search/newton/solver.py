"""
The solvers ``ssik_ros/NewtonRaphson``, ``ssik_ros/GaussNewton`` and ``ssik_ros/LevenbergMarquardt`` of the registry.

:func:`make_newton` makes them from their options. All three are
:class:`ssik_ros.solvers.search.solver.SearchSolver` with different step laws; the mathematics is in
:mod:`ssik_ros.kernels.search`.
"""

import dataclasses
from typing import Any

from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.problem import position_rows
from ssik_ros.solvers.search.newton.options import (
    GaussNewtonOptions,
    LevenbergMarquardtOptions,
    NewtonRaphsonOptions,
)
from ssik_ros.solvers.search.settings import SearchSettings
from ssik_ros.solvers.search.solver import SearchSolver

POLICIES: dict[type, tuple[str, str]] = {
    NewtonRaphsonOptions: ('NewtonRaphson', 'newton'),
    GaussNewtonOptions: ('GaussNewton', 'gauss'),
    LevenbergMarquardtOptions: ('LevenbergMarquardt', 'adaptive'),
}
"""Solver and step law of each kind of options."""


def make_newton(
    robot: RobotModel, group: JointGroup, options: Any, *, position_only: bool = False
) -> SearchSolver:
    """
    Return the solver for a set of options; their type selects the step law.

    :param robot: the robot.
    :param group: one of its groups.
    :param options: options of a Newton solver.
    :param position_only: True leaves the orientation of targets free.
    :raises InvalidOption: if ``pinv`` is False and the Jacobian is not square, or if ``kq`` is positive and ``pi`` is
        not larger than ``ps``.
    """
    solver, law = POLICIES[type(options)]
    values = dataclasses.asdict(options)
    values['tolerance'] = values.pop('target_tolerance')
    values['law'] = values.pop('method', law)
    if values.get('k') == 0.0:
        values['k'] = None
    settings = SearchSettings(**values)
    settings.check_influence()
    rows = position_rows() if position_only else None
    return SearchSolver(robot, group, settings, f'ssik_ros/{solver}', rows=rows)
