"""
Promise 4, deadline kept: nanoseconds count, and at most one iteration lies beyond a reading of the clock.

``bench/load.py --late`` measures the overrun at a client; here iterations are counted.
"""

import functools
import json
from pathlib import Path
import subprocess
import sys
import time
from typing import Any

from test.promises.shipped_arms import Arm, assert_holds, blocked_target, LINKS, load_arm

import pytest

from ssik_ros.errors import InvalidOption
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause, IkStatus

ROOT = Path(__file__).resolve().parents[2]
ENDLESS = 10**9
"""Budget of starts that only a clock can end."""


@pytest.fixture(params=LINKS)
def arm(request: pytest.FixtureRequest) -> Arm:
    return load_arm(request.param)


@functools.cache
def ticking_runs() -> list[dict[str, Any]]:
    """Return the searches of :mod:`ticking_clock`."""
    done = subprocess.run(
        [sys.executable, '-m', 'test.promises.ticking_clock'],
        cwd=ROOT,
        input=json.dumps(blocked_target('panda').tolist()),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    runs: list[dict[str, Any]] = json.loads(done.stdout)
    return runs


def test_a_search_ends_by_its_clock_and_says_so(arm: Arm) -> None:
    result = arm.ask(blocked_target(arm.name), timeout=5e-3, max_searches=ENDLESS)
    assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.DEADLINE)
    assert result.clock_ended and result.iterations > 10


@pytest.mark.parametrize('timeout', [1e-9, 1e-8, 1e-15])
def test_a_timeout_of_nanoseconds_leaves_no_room_for_iterations(arm: Arm, timeout: float) -> None:
    target, seed = arm.reachable(1, seed=32)[0]
    result = arm.ask(target, seed, timeout=timeout)
    assert result.clock_ended and result.cause == Cause.DEADLINE
    assert result.iterations <= 1


def test_longer_timeouts_leave_room_for_more_iterations(arm: Arm) -> None:
    target = blocked_target(arm.name)
    short, long = (
        max(arm.ask(target, timeout=t, max_searches=ENDLESS).iterations for _ in range(3))
        for t in (1e-4, 2e-2)
    )
    assert long > 10 * short > 0


def test_the_search_takes_about_its_time(arm: Arm) -> None:
    """The best of several, with room for a busy machine."""
    target, timeout = blocked_target(arm.name), 0.02
    elapsed = []
    for _ in range(5):
        begin = time.monotonic()
        arm.ask(target, timeout=timeout, max_searches=ENDLESS)
        elapsed.append(time.monotonic() - begin)
    assert timeout <= min(elapsed) <= timeout + 0.05


def test_the_shorter_of_both_times_ends_an_optimisation(arm: Arm) -> None:
    target, seed = arm.reachable(1, seed=33)[0]
    for configured, asked in ((1000.0, 0.01), (0.01, 1000.0)):
        solver = arm.solver_with(solve_mode='optimize_distance', optimization_timeout=configured)
        request = SolveRequest(targets=target, seed=seed, timeout=asked, max_searches=10**6)
        result = solver.solve(request)
        assert result.clock_ended
        assert_holds(arm, result, target)


@pytest.mark.parametrize('timeout', [None, 0.0, 1e12, float('inf')])
def test_no_timeout_means_that_starts_alone_end_the_search(arm: Arm, timeout: float) -> None:
    result = arm.ask(blocked_target(arm.name), timeout=timeout, max_searches=20)
    assert not result.solved and not result.clock_ended
    assert result.searches == 20


def test_a_timeout_that_is_no_number_is_refused(arm: Arm) -> None:
    with pytest.raises(InvalidOption):
        arm.ask(blocked_target(arm.name), timeout=float('nan'))


@pytest.mark.slow
def test_every_iteration_looks_at_the_clock() -> None:
    for run in ticking_runs():
        assert run['iterations'] <= run['ticks'], run
        assert run['iterations'] <= run['readings'], run


@pytest.mark.slow
def test_a_clock_that_ticks_ends_every_search() -> None:
    for run in ticking_runs():
        assert run['clock_ended'], run
        # The first reading sets the deadline; one more may find that it has passed.
        assert run['readings'] <= run['ticks'] + 2, run
        if run['mode'] == 'first_found':
            assert run['cause'] == 'DEADLINE', run


def test_optimising_goes_on_until_the_last_tick() -> None:
    optimised = [run for run in ticking_runs() if run['mode'] == 'optimize_distance']
    longest = max(optimised, key=lambda run: run['ticks'])
    assert longest['cause'] == 'NONE'
    assert longest['iterations'] > longest['ticks'] / 2
