"""Promise 3, deterministic: the same request gets the same bytes, for any caller, time and concurrent requests."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import subprocess
import sys

from test.promises.request_digest import as_bytes, solve_task, tasks
from test.promises.shipped_arms import LINKS, load_arm

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PER_ARM = 250
THREADS = 8


def digest_of_another_process() -> str:
    """Return the hash that a fresh process prints."""
    program = [sys.executable, '-m', 'test.promises.request_digest', str(PER_ARM)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_two_processes_give_the_same_bytes() -> None:
    first, second = digest_of_another_process(), digest_of_another_process()
    assert len(first) == 64 and first == second


def test_eight_threads_give_the_bytes_of_one() -> None:
    cases = list(tasks(60))
    serial = [as_bytes(solve_task(task)) for task in cases]
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(3):
            parallel = [as_bytes(result) for result in pool.map(solve_task, cases)]
            assert parallel == serial


@pytest.mark.parametrize('name', LINKS)
def test_what_was_asked_before_does_not_matter(name: str) -> None:
    arm = load_arm(name)
    cases = arm.reachable(30, seed=22)
    forwards = [as_bytes(arm.ask(target, seed)) for target, seed in cases]
    backwards = [as_bytes(arm.ask(target, seed)) for target, seed in reversed(cases)]
    assert forwards == backwards[::-1]


@pytest.mark.parametrize('name', LINKS)
def test_a_new_solver_gives_the_results_of_a_used_one(name: str) -> None:
    arm = load_arm(name)
    for target, seed in arm.reachable(5, seed=23):
        used, new = arm.ask(target, seed), load_arm.__wrapped__(name).ask(target, seed)
        assert as_bytes(used) == as_bytes(new)


def test_the_generator_of_numpy_has_no_say() -> None:
    arm = load_arm('panda')
    (target, seed), *_ = arm.reachable(1, seed=24)
    np.random.seed(1)
    first = arm.ask(target, seed)
    np.random.seed(2)
    state = np.random.get_state()[1].copy()
    second = arm.ask(target, seed)
    assert as_bytes(first) == as_bytes(second)
    assert np.array_equal(state, np.random.get_state()[1])


def test_a_request_is_left_as_it_was() -> None:
    arm = load_arm('gen3')
    (target, seed), *_ = arm.reachable(1, seed=25)
    before = target.tobytes(), seed.tobytes()
    result = arm.ask(target, seed)
    assert (target.tobytes(), seed.tobytes()) == before
    assert not np.shares_memory(result.solutions, seed)


def test_a_result_survives_the_next_request() -> None:
    arm = load_arm('ur5e')
    (first, seed), (second, other) = arm.reachable(2, seed=26)
    result = arm.ask(first, seed)
    before = as_bytes(result)
    arm.ask(second, other)
    arm.ask(second, np.full(6, np.nan))
    assert as_bytes(result) == before
    with pytest.raises(ValueError, match='read-only'):
        result.solutions[0, 0] = 0.0


def test_what_the_clock_ended_says_so() -> None:
    """Only results that the clock ended are exempt; an optimisation that ends after its last start is not."""
    arm = load_arm('fanuc')
    (target, seed), *_ = arm.reachable(1, seed=27)
    for timeout, ended in ((1e-3, True), (1000.0, False)):
        solver = arm.solver_with(solve_mode='optimize_distance', optimization_timeout=timeout)
        request = next(tasks(1))[2]
        request.targets, request.seed = target, seed
        request.max_searches = 10**6 if ended else 5
        assert solver.solve(request).clock_ended is ended
