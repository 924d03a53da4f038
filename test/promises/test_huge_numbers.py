"""Numbers that no robot has are refused by name, and overflow nowhere."""

import warnings

import numpy as np
import pytest

from ssik_ros import create_solver, KinBody, Manipulator
from ssik_ros.errors import ModelError, RequestError
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause, IkStatus

SOLVERS = ('Auto', 'Analytic', 'PoseIK', 'LevenbergMarquardt', 'NewtonRaphson', 'GaussNewton')
ARMS = ('ur5e', 'panda', 'hsr065')
HUGE = (1e151, -1e300, 1e308)


@pytest.fixture(autouse=True)
def no_warnings():
    """Make every warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        yield


@pytest.fixture(scope='module', params=ARMS)
def arm(request):
    """Return an arm."""
    return Manipulator.from_prebuilt(request.param)


def seeds(arm):
    """Return seeds with one huge value, and with nothing else."""
    for value in HUGE:
        yield np.full(arm.dof, value)
        one = np.full(arm.dof, 0.1)
        one[-1] = value
        yield one


def test_every_call_of_an_arm_refuses_a_huge_seed_by_name(arm):
    target = arm.fk(np.full(arm.dof, 0.1))
    for seed in seeds(arm):
        for call in (arm.solve_q, arm.ik_LM, arm.ik_NR, arm.ik_GN):
            with pytest.raises(RequestError, match=r'q(_seed|0) has values beyond 1e.150'):
                call(target, seed)
        with pytest.raises(RequestError, match=r'q_seed has values beyond 1e.150'):
            arm.solve(target, q_seed=seed)
        for call in (arm.solve_batch, arm.ik_LM):
            with pytest.raises(RequestError, match=r'beyond 1e.150'):
                call(target[None], seed)


@pytest.mark.parametrize('solver', SOLVERS)
def test_solvers_refuse_a_huge_seed_as_a_bad_state(arm, solver):
    asked = create_solver(f'ssik_ros/{solver}', arm.robot, arm.group)
    target = arm.fk(np.full(arm.dof, 0.1))
    for seed in seeds(arm):
        for more in ({}, {'tolerance': 1e-3}, {'max_solutions': 3}):
            result = asked.solve(SolveRequest(target, seed=seed, **more))
            assert (result.status, result.cause) == (IkStatus.REFUSED, Cause.BAD_STATE)
            assert 'beyond 1e150' in result.summary()


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_negative_time_is_refused_by_every_solver(arm, solver):
    asked = create_solver(f'ssik_ros/{solver}', arm.robot, arm.group)
    target = arm.fk(np.full(arm.dof, 0.1))
    for seconds in (-1.0, -1e-9, -np.inf):
        with pytest.raises(ValueError, match='timeout must be a number of seconds from 0 on'):
            asked.solve(SolveRequest(target, timeout=seconds))
    with pytest.raises(ValueError, match='timeout must be'):
        arm.ik_LM(target, timeout=-1)


@pytest.mark.parametrize('length', [1e13, 1e200, -1e300])
def test_lengths_that_no_robot_has_are_refused_by_name(length):
    axes = np.eye(3)[[2, 1, 1, 0, 1, 0]]
    points = np.full((7, 3), 0.1)
    points[2, 0] = length
    with pytest.raises(ModelError, match=r'P has values beyond 1e.12'):
        KinBody.from_axes(axes, points)
    with pytest.raises(ModelError, match=r'a has values beyond 1e.12'):
        KinBody.from_dh([1.5, 0.0, 0.0], [0.0, length, 0.4], [0.1, 0.0, 0.0])
