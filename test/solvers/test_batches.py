"""Many targets in one call: the same results as one by one, for every solver, and never after the deadline."""

import time

import numpy as np
import pytest

from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.scheduling import SearchSlots
from ssik_ros.solvers.search import batches
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver

COUNT = 300


@pytest.fixture(scope='module')
def solver(robots):
    robot = robots['panda']
    return PoseIkSolver(robot, robot.group('panda_arm'))


@pytest.fixture(scope='module')
def targets():
    """Return poses (COUNT, 4, 4), every fiftieth out of reach."""
    rng = np.random.default_rng(8)
    poses = np.tile(np.diag([1.0, -1.0, -1.0, 1.0]), (COUNT, 1, 1))
    poses[:, :3, 3] = rng.uniform([0.3, -0.3, 0.2], [0.6, 0.3, 0.6], (COUNT, 3))
    poses[::50, 0, 3] = 9.0
    return poses


@pytest.mark.parametrize('threads', [1, 3])
def test_results_are_those_of_single_requests(solver, targets, monkeypatch, threads):
    monkeypatch.setattr(batches, 'MOST_THREADS', threads)
    monkeypatch.setattr(batches, 'processors', lambda: threads)
    request = SolveRequest(targets=targets[0], seed=np.linspace(-0.2, 0.2, 7))
    batch = solver.solve_many(request, targets)
    assert not batch.solved[::50].any() and np.isnan(batch.positions[::50]).all()
    assert batch.solved.sum() > 0.9 * COUNT
    for row in np.flatnonzero(batch.solved):
        request.targets = targets[row]
        single = solver.solve(request)
        assert single.q.tobytes() == batch.positions[row].tobytes()
        assert single.errors[0].tobytes() == batch.errors[row].tobytes()


def test_nothing_is_begun_after_the_time(solver, targets):
    request = SolveRequest(targets=targets[0])
    assert not solver.solve_many(request, targets, 1e-9).solved.any()


def test_what_takes_long_takes_turns_and_keeps_its_time(solver, targets, monkeypatch):
    slots = SearchSlots(1)
    monkeypatch.setattr(batches, 'TOGETHER', 0.0)
    monkeypatch.setattr(batches, 'SEARCH_SLOTS', slots)
    assert slots.begin(0, 0.0)
    begin = time.perf_counter()
    solver.solve_many(SolveRequest(targets=targets[0]), targets, 0.2)
    assert time.perf_counter() - begin < 5.0
    slots.end()
    assert slots.begin(0, 0.0), 'every slot is given back'


def test_special_requests_are_left_to_single_calls(solver, targets):
    request = SolveRequest(targets=targets[0], validate=lambda q: False)
    assert not solver.solve_many(request, targets).solved.any()
