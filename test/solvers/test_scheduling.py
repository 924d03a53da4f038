"""Scheduling: which request and which search is next, which need not wait, and that slices change no result."""

import gc
import math
import threading
import time
import weakref

import numpy as np
import pytest

from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.scheduling import (
    LONGEST_RESPONSE,
    RequestQueue,
    RESPONSE_TIME,
    SearchSlots,
    Slices,
)
from ssik_ros.results import Cause
from ssik_ros.solvers.search.pose_ik import solver as pose_ik

LIMIT = 10.0
GOING = np.zeros(1, dtype=np.int64)


def waiting(slots, slices, order, name):
    """Start a thread that waits for a slot and then notes its name."""

    def wait():
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if slots.begin(slices, LIMIT):
                order.append(name)
                slots.end()
                return

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_the_search_with_the_fewest_slices_is_next():
    slots, order = SearchSlots(1), []
    assert slots.begin(0, 0.0)
    threads = []
    for slices in (5, 1, 9, 3):
        threads.append(waiting(slots, slices, order, slices))
    time.sleep(0.02)
    slots.end()
    for thread in threads:
        thread.join(LIMIT)
    assert order == [1, 3, 5, 9]


def test_no_more_at_once_than_allowed_and_more_when_allowed():
    slots = SearchSlots(2)
    assert slots.begin(0, 0.0)
    assert slots.begin(0, 0.0)
    assert not slots.begin(0, 0.01)
    slots.allow(3)
    assert slots.begin(0, 0.0)
    assert not slots.begin(0, 0.0)
    slots.end()
    assert slots.begin(0, 0.0)


def test_a_search_whose_time_is_over_is_not_kept_waiting():
    slots = SearchSlots(1)
    assert slots.begin(0, 0.0)
    slices = Slices(slots, 1000, time.perf_counter(), 20_000_000)
    begin = time.perf_counter()
    assert slices.pass_on(32, GOING)
    assert time.perf_counter() - begin < 1.0
    # One start, at whose first step the kernel finds that it is late.
    assert slices.limit == 33
    slices.close()
    slots.end()
    assert slots.begin(0, 0.0)


def test_a_cancelled_search_is_not_kept_waiting():
    slots = SearchSlots(1)
    assert slots.begin(0, 0.0)
    begin = time.perf_counter()
    assert Slices(slots, 1000, begin, 0).pass_on(32, np.ones(1, dtype=np.int64))
    assert time.perf_counter() - begin < 1.0


def test_a_search_at_the_end_of_its_budget_does_not_go_on():
    assert not Slices(SearchSlots(1), 32, time.perf_counter(), 0).pass_on(32, GOING)


@pytest.mark.parametrize('count', [1, 30])
def test_slices_change_no_result(robots, blocked, monkeypatch, count):
    robot = robots['panda']
    reachable = np.eye(4)
    reachable[:3, 3] = 0.4, 0.1, 0.4
    results = []
    for first in (10**9, 3):
        monkeypatch.setattr(pose_ik, 'FIRST_SLICE', first)
        solver = pose_ik.PoseIkSolver(robot, robot.group('panda_arm'))
        for pose in (blocked, reachable):
            result = solver.solve(
                SolveRequest(targets=pose, max_searches=600, max_solutions=count)
            )
            results.append(
                (
                    *(result.status, result.cause, result.searches, result.iterations),
                    *(result.solutions.tobytes(), result.q.tobytes()),
                )
            )
    assert results[:2] == results[2:]
    assert results[0][2] == 600


def test_a_search_in_slices_keeps_its_deadline_while_others_have_all_turns(
    robots, blocked, monkeypatch
):
    # Use separate slots: a search left over from another test may hold the process's slots, and give them back.
    slots, robot = SearchSlots(1), robots['panda']
    monkeypatch.setattr(pose_ik, 'SEARCH_SLOTS', slots)
    solver = pose_ik.PoseIkSolver(robot, robot.group('panda_arm'))
    solver.warm_up()
    assert slots.begin(0, 0.0)
    begin = time.perf_counter()
    result = solver.solve(SolveRequest(targets=blocked, timeout=0.1))
    took = time.perf_counter() - begin
    assert result.cause == Cause.DEADLINE
    assert 0.1 <= took < 5.0
    assert result.searches <= pose_ik.FIRST_SLICE + 1


def test_requests_have_their_turns_in_the_order_of_arrival():
    queue = RequestQueue(10)
    for number, budget in enumerate((5.0, 1.0, math.inf, 3.0)):
        queue.put(number, 100.0, budget)
    assert queue.take_late(100.5) is None
    assert [queue.take() for _ in range(5)] == [0, 1, 2, 3, None]


def test_late_requests_have_their_turns_at_once_the_earliest_deadline_first():
    queue = RequestQueue(10)
    for number, budget in enumerate((5.0, 3.0, math.inf, 1.0, 0.5)):
        queue.put(number, 100.0, budget)
    assert queue.take() == 0
    assert [queue.take_late(103.0) for _ in range(4)] == [4, 3, 1, None]
    assert queue.take() == 2
    assert len(queue) == 0


def test_a_request_is_late_while_there_is_time_for_the_responses_before_it():
    queue = RequestQueue(10)
    for number in range(5):
        queue.put(number, 100.0, 1.0)
    reserve = queue.reserve(1.0, 4)
    assert 0.0 < reserve <= 0.2
    assert queue.take_late(101.0 - reserve - 1e-6) is None
    assert queue.take_late(101.0 - reserve + 1e-6) == 0
    # One response less is waited for.
    assert queue.take_late(101.0 - reserve + 1e-6) is None


def test_the_responses_of_others_take_a_fifth_of_a_budget_at_most():
    queue = RequestQueue(10)
    assert queue.reserve(0.01, 1000) == pytest.approx(0.002)
    assert queue.reserve(1.0, 0) == 0.0
    assert queue.reserve(math.inf, 2) == 2.0 * RESPONSE_TIME


def test_slow_responses_of_others_get_more_time():
    queue = RequestQueue(10)
    queue.put('waits', 100.0, 1.0)
    queue.put('late', 100.0, 1.0)
    for _ in range(200):
        queue.note_response(0.003)
    assert queue.reserve(1.0, 1) == pytest.approx(0.003, rel=0.01)
    assert queue.take_late(100.996) is None
    assert queue.take_late(100.998) == 'waits'
    # One long stop of the machine does not count as a slow machine, and a quick response counts as the usual one.
    before = queue.reserve(1.0, 1)
    queue.note_response(10.0)
    assert queue.reserve(1.0, 1) - before < LONGEST_RESPONSE / 16.0
    for _ in range(400):
        queue.note_response(0.0)
    assert queue.reserve(1.0, 1) == pytest.approx(RESPONSE_TIME, rel=0.01)


class Budget(float):
    """A time that tells by weak references whether it is kept."""


def test_a_queue_of_requests_is_bounded_and_so_is_what_it_remembers():
    queue = RequestQueue(4)
    queue.put('first', 0.0, 1.0)
    kept = weakref.WeakSet()
    for number in range(1000):
        budget = Budget(1e6 + number)
        kept.add(budget)
        queue.put(number, 0.0, budget)
        assert queue.room == 2
        assert queue.take() == ('first' if number == 0 else number - 1)
    del budget
    gc.collect()
    assert 0 < len(kept) <= 2 * 4 + 1
    queue.clear()
    assert queue.take() is None
    assert queue.take_late(math.inf) is None
