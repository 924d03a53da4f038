"""A cancel flag ends a search at its next iteration, from any thread."""

import threading
import time

import numpy as np
import pytest

from ssik_ros.errors import InvalidOption
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver

ENDLESS = 10**9
"""Starts that no test waits for."""


@pytest.fixture
def solver(robots):
    return PoseIkSolver(robots['gen3'], robots['gen3'].group('manipulator'))


def hopeless(cancel):
    """Return a request for a pose inside the reach sphere that no configuration has."""
    target = np.eye(4)
    target[2, 3] = 0.02
    return SolveRequest(target, cancel=cancel, max_searches=ENDLESS, timeout=60.0)


def test_a_flag_that_is_set_leaves_no_iteration(solver):
    result = solver.solve(hopeless(np.ones(1, dtype=np.int64)))
    assert (result.cause, result.clock_ended) == (Cause.DEADLINE, True)
    assert result.iterations == 0


def test_another_thread_ends_a_running_search(solver):
    flag = np.zeros(1, dtype=np.int64)
    results = []
    thread = threading.Thread(target=lambda: results.append(solver.solve(hopeless(flag))))
    thread.start()
    time.sleep(0.05)
    flag[0] = 1
    thread.join(timeout=30.0)
    assert not thread.is_alive()
    assert (results[0].cause, results[0].clock_ended) == (Cause.DEADLINE, True)


def test_a_flag_that_is_not_set_changes_nothing(solver):
    target = np.diag([1.0, -1.0, -1.0, 1.0])
    target[:3, 3] = 0.4, 0.1, 0.4
    request = SolveRequest(target)
    plain = solver.solve(request)
    request.cancel = np.zeros(1, dtype=np.int64)
    assert solver.solve(request).solutions.tobytes() == plain.solutions.tobytes()


@pytest.mark.parametrize('flag', [np.zeros(1), np.zeros(2, dtype=np.int64), 0, [0]])
def test_a_flag_of_another_kind_is_refused(solver, flag):
    with pytest.raises(InvalidOption, match='cancel must be'):
        solver.solve(hopeless(flag))
