"""Long searches that take turns: who is next, who need not wait, and that slices change no answer."""

import threading
import time

import numpy as np
import pytest

from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.scheduling import SearchTurns, Slices, TURNS
from ssik_ros.results import Cause
from ssik_ros.solvers.search.pose_ik import solver as pose_ik

LIMIT = 10.0
GOING = np.zeros(1, dtype=np.int64)


def waiting(turns, slices, order, name):
    """Start a thread that waits for a turn and notes its name when it has it."""

    def wait():
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if turns.begin(slices, LIMIT):
                order.append(name)
                turns.end()
                return

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_who_had_the_fewest_slices_is_next():
    turns, order = SearchTurns(1), []
    assert turns.begin(0, 0.0)
    threads = []
    for slices in (5, 1, 9, 3):
        threads.append(waiting(turns, slices, order, slices))
    time.sleep(0.02)
    turns.end()
    for thread in threads:
        thread.join(LIMIT)
    assert order == [1, 3, 5, 9]


def test_no_more_at_once_than_allowed_and_more_when_allowed():
    turns = SearchTurns(2)
    assert turns.begin(0, 0.0)
    assert turns.begin(0, 0.0)
    assert not turns.begin(0, 0.01)
    turns.allow(3)
    assert turns.begin(0, 0.0)
    assert not turns.begin(0, 0.0)
    turns.end()
    assert turns.begin(0, 0.0)


def test_a_search_whose_time_is_over_is_not_kept_waiting():
    turns = SearchTurns(1)
    assert turns.begin(0, 0.0)
    slices = Slices(turns, 1000, time.perf_counter(), 20_000_000)
    begin = time.perf_counter()
    assert slices.pass_on(32, GOING)
    assert time.perf_counter() - begin < 1.0
    # One start, at whose first step the kernel finds that it is late.
    assert slices.limit == 33
    slices.close()
    turns.end()
    assert turns.begin(0, 0.0)


def test_a_cancelled_search_is_not_kept_waiting():
    turns = SearchTurns(1)
    assert turns.begin(0, 0.0)
    begin = time.perf_counter()
    assert Slices(turns, 1000, begin, 0).pass_on(32, np.ones(1, dtype=np.int64))
    assert time.perf_counter() - begin < 1.0


def test_a_search_at_the_end_of_its_budget_does_not_go_on():
    assert not Slices(SearchTurns(1), 32, time.perf_counter(), 0).pass_on(32, GOING)


@pytest.mark.parametrize('count', [1, 30])
def test_slices_change_no_answer(robots, blocked, monkeypatch, count):
    robot = robots['panda']
    reachable = np.eye(4)
    reachable[:3, 3] = 0.4, 0.1, 0.4
    answers = []
    for first in (10**9, 3):
        monkeypatch.setattr(pose_ik, 'FIRST_SLICE', first)
        solver = pose_ik.PoseIkSolver(robot, robot.group('panda_arm'))
        for pose in (blocked, reachable):
            result = solver.solve(
                SolveRequest(targets=pose, max_searches=600, max_solutions=count)
            )
            answers.append(
                (
                    *(result.status, result.cause, result.searches, result.iterations),
                    *(result.solutions.tobytes(), result.q.tobytes()),
                )
            )
    assert answers[:2] == answers[2:]
    assert answers[0][2] == 600


def test_a_search_in_slices_keeps_its_deadline_while_others_have_all_turns(robots, blocked):
    robot = robots['panda']
    solver = pose_ik.PoseIkSolver(robot, robot.group('panda_arm'))
    solver.warm_up()
    held = [TURNS.begin(0, LIMIT) for _ in range(TURNS.at_once)]
    try:
        begin = time.perf_counter()
        result = solver.solve(SolveRequest(targets=blocked, timeout=0.1))
        took = time.perf_counter() - begin
    finally:
        for _ in held:
            TURNS.end()
    assert result.cause == Cause.DEADLINE
    assert 0.1 <= took < 5.0
    assert result.searches <= pose_ik.FIRST_SLICE + 1
