"""
Newton-Raphson, Gauss-Newton and Levenberg-Marquardt as solvers of the registry.

The mathematics stands in :mod:`ssik_ros.kernels.search`; the three differ only in the law of their steps.
"""

import dataclasses

from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.problem import position_rows
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.solvers.search.newton.options import (
    GAUSS_FILE,
    GaussNewtonOptions,
    LEVENBERG_FILE,
    LevenbergMarquardtOptions,
    NEWTON_FILE,
    NewtonRaphsonOptions,
)
from ssik_ros.solvers.search.settings import SearchSettings
from ssik_ros.solvers.search.solver import SearchSolver

Options = NewtonRaphsonOptions | GaussNewtonOptions | LevenbergMarquardtOptions
POLICIES: dict[type, tuple[str, str, str]] = {
    NewtonRaphsonOptions: ('NewtonRaphson', 'newton', NEWTON_FILE),
    GaussNewtonOptions: ('GaussNewton', 'gauss', GAUSS_FILE),
    LevenbergMarquardtOptions: ('LevenbergMarquardt', 'adaptive', LEVENBERG_FILE),
}
"""Solver, step law and parameter file of each kind of options."""


def make_newton(
    robot: RobotModel, group: JointGroup, options: Options, *, position_only: bool = False
) -> SearchSolver:
    """
    Return the solver that the options are for.

    :param position_only: leave the orientation of targets free.
    """
    solver, law, file = POLICIES[type(options)]
    checked = load_schema(file).resolve(dataclasses.asdict(options), type(options))
    values = dataclasses.asdict(checked)
    values['tolerance'] = values.pop('target_tolerance')
    values['law'] = values.pop('method', law)
    if values.get('k') == 0.0:
        values['k'] = None
    settings = SearchSettings(**values)
    settings.check_influence()
    rows = position_rows() if position_only else None
    return SearchSolver(robot, group, settings, f'ssik_ros/{solver}', rows=rows)
