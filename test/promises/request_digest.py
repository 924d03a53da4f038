"""Solve 1,000 fixed requests and print one hash of every byte of the results: run as a program by a test."""

from collections.abc import Iterator
import hashlib
import itertools
import sys

from test.promises.shipped_arms import LINKS, load_arm

from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import IkResult

Task = tuple[str, str, SolveRequest]
OPTIMISED = 25
"""Requests of each arm that optimise; without a clock, by their budget of starts."""


def tasks(per_arm: int, seed: int = 21) -> Iterator[Task]:
    """
    Yield arm, mode and request of every task.

    :param per_arm: requests for each arm.
    :param seed: of the targets.
    """
    for name in LINKS:
        for index, (target, start) in enumerate(load_arm(name).reachable(per_arm, seed)):
            mode = 'optimize_distance' if index < OPTIMISED else 'first_found'
            searches = 10 if index < OPTIMISED else None
            yield name, mode, SolveRequest(targets=target, seed=start, max_searches=searches)


def solve_task(task: Task) -> IkResult:
    """
    Return the result of a task.

    :param task: arm, mode and request.
    """
    name, mode, request = task
    return SOLVERS[name, mode].solve(request)


def as_bytes(result: IkResult) -> bytes:
    """
    Return everything that a result says.

    :param result: of a solve.
    """
    nearest = b'' if result.nearest is None else result.nearest.tobytes()
    numbers = (*result[:2], result.residual, result.iterations, result.searches)
    text = repr((*(float(number) for number in numbers), result.clock_ended))
    return result.solutions.tobytes() + result.errors.tobytes() + nearest + text.encode()


SOLVERS = {
    (name, mode): load_arm(name).solver_with(solve_mode=mode, optimization_timeout=1000.0)
    for name, mode in itertools.product(LINKS, ('first_found', 'optimize_distance'))
}


if __name__ == '__main__':
    digest = hashlib.sha256()
    for task in tasks(int(sys.argv[1])):
        digest.update(as_bytes(solve_task(task)))
    print(digest.hexdigest())
