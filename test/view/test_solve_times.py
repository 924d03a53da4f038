"""The last solves as columns for a plot."""

import math

from ssik_ros.results import Cause
from ssik_ros.view.sessions.posture_session import SolveOutcome
from ssik_ros.view.sessions.solve_times import KEPT, SolveTimes


def outcome(seconds, iterations):
    return SolveOutcome(True, Cause.NONE, '', seconds, iterations)


def test_each_solve_is_a_point_and_the_oldest_go():
    times = SolveTimes()
    for number in range(KEPT + 5):
        times.add(outcome(1e-3 * (number + 1), number), None)
    numbers, chosen, other = times.columns(0)
    assert len(numbers) == KEPT and numbers[-1] == KEPT + 5
    assert math.isclose(chosen[-1], KEPT + 5) and all(map(math.isnan, other))
    assert times.columns(1)[1][-1] == KEPT + 4


def test_a_compared_solver_has_a_column_of_its_own_and_postures_by_hand_are_no_solve():
    times = SolveTimes()
    shown = outcome(2e-3, 5)
    for _ in range(3):
        times.add(shown, outcome(4e-3, 9))
    times.add(SolveOutcome(True, Cause.NONE, 'by hand'), None)
    assert [column.tolist() for column in times.columns(0)] == [[1.0], [2.0], [4.0]]
    assert [column.tolist() for column in times.columns(1)] == [[1.0], [5.0], [9.0]]
