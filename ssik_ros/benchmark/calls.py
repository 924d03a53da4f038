"""
Timed calls of a solver.

Only the call itself is timed. A remote solver, which is a service, is called in three steps: preparing the message
and reading the response are not timed.
"""

from collections.abc import Callable, Sequence
import time
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.benchmark.harness import no_garbage_collection, timed_call
from ssik_ros.problem.contract import IkSolver, SolveRequest
from ssik_ros.results import IkResult
from ssik_ros.value_class import dataclass


class RemoteResult(NamedTuple):
    """The result of a remote solver, with texts and times of its server."""

    result: IkResult
    note: str = ''
    """The server's text about a failure."""
    server_time_ns: int | None = None
    """Time in the solver [ns], as the server reports it; None if the server does not."""


@runtime_checkable
class RemoteSolver(Protocol):
    """A solver in another process, called through a ROS service; only ``call`` is timed, ``prepare`` and ``read`` are not."""

    service: str
    """Name of the service, for reports."""

    def prepare(self, request: SolveRequest) -> Any:
        """Return the message for a request."""
        ...

    def call(self, message: Any) -> Any:
        """Send a message and return the response; must end within a bounded time."""
        ...

    def read(self, reply: Any) -> RemoteResult:
        """Return the result in a response."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One timed call, whose result is not checked yet."""

    wall_ns: int
    cpu_ns: int
    result: IkResult | None
    vector: FloatArray
    """(n,) the first solution, or the best state, in the solver's joint order; empty without a result."""
    note: str
    """Text of an exception, or the server's text about a failure."""
    raised: bool
    """Whether the solver raised an exception or returned another type."""
    server_time_ns: int | None = None


def time_calls(
    solver: IkSolver, requests: Sequence[SolveRequest], progress: Callable[[int], None]
) -> list[Call]:
    """
    Call a solver once for each request and return the calls; the garbage collector is off meanwhile.

    :param solver: the solver.
    :param requests: the requests.
    :param progress: called after each call with the number of calls.
    """
    remote = solver if isinstance(solver, RemoteSolver) else None
    messages = requests if remote is None else [remote.prepare(request) for request in requests]
    solve = solver.solve if remote is None else remote.call
    calls: list[Call] = []
    with no_garbage_collection():
        for message in messages:
            calls.append(_time_call(solve, message, remote))
            progress(len(calls))
    return calls


def _time_call(solve: Callable[[Any], Any], message: Any, remote: RemoteSolver | None) -> Call:
    """
    Make one call and return it with its times, and its result or the text of the exception that it raised.

    Reading the reply of a remote solver is not timed.
    """
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    try:
        reply, wall_ns, cpu_ns = timed_call(solve, message)
    except Exception as error:
        spent = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
        return Call(*spent, None, np.empty(0), describe_exception(error), raised=True)
    read = RemoteResult(reply) if remote is None else remote.read(reply)
    result, note, raised = read.result, read.note, False
    if not isinstance(result, IkResult):
        note, raised = f'returned a {type(result).__name__} instead of an IkResult', True
        result = None
    vector = _read_vector(result)
    return Call(wall_ns, cpu_ns, result, vector, note, raised, read.server_time_ns)


def describe_exception(error: Exception) -> str:
    """Return the type and the text of an exception as text."""
    return f'{type(error).__name__}: {error}'


def _read_vector(result: IkResult | None) -> FloatArray:
    """Return a copy of the first solution or best state of a result; empty if it has none."""
    if result is None:
        return np.empty(0)
    try:
        return np.array(result.solutions[0] if result.solved else result.q, dtype=np.float64)
    except (IndexError, TypeError, ValueError):
        return np.empty(0)
