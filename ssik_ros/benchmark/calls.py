"""
Timed calls of a solver.

Only the solve itself is timed. A remote solver, which is a ROS service, is called in three steps: prepare the message,
call the service, read the response. Only the second step is timed.
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
    """The result of a solver that is a ROS service, with the text and the solve time that its server reports."""

    result: IkResult
    note: str = ''
    """The server's text about a failure."""
    server_time_ns: int | None = None
    """Time in the solver [ns], as the server reports it; None if the server does not."""


@runtime_checkable
class RemoteSolver(Protocol):
    """Interface of a solver that is called through a ROS service, in three steps of which only ``call`` is timed."""

    service: str
    """Name of the service, for reports."""

    def prepare(self, request: SolveRequest) -> Any:
        """Return the service message that carries a request."""
        ...

    def call(self, message: Any) -> Any:
        """Send a message of :meth:`prepare` to the service and return its response; it must not wait forever."""
        ...

    def read(self, reply: Any) -> RemoteResult:
        """Return the solver's result that a response of :meth:`call` carries."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """A timed call of a solver: its wall time and processor time, and the result, which is not checked yet."""

    wall_ns: int
    """Wall time of the call [ns]."""
    cpu_ns: int
    """Processor time of this process during the call [ns]."""
    result: IkResult | None
    """The solver's result; None if it raised an exception or returned another type."""
    vector: FloatArray
    """(n,) the first solution, or the best state, in the solver's joint order; empty without a result."""
    note: str
    """Text of an exception, or the server's text about a failure."""
    raised: bool
    """Whether the solver raised an exception or returned another type."""
    server_time_ns: int | None = None
    """Time in the solver [ns], as a remote server reports it; None otherwise."""


def time_calls(
    solver: IkSolver, requests: Sequence[SolveRequest], progress: Callable[[int], None]
) -> list[Call]:
    """
    Call a solver once for each request in turn, and return the timed calls; garbage collection is off meanwhile.

    Exceptions of the timed function are stored in its calls. Exceptions of ``prepare`` and ``read`` of a remote solver
    pass through.

    :param solver: the solver; of a :class:`RemoteSolver` only ``call`` is timed.
    :param requests: the requests.
    :param progress: called after each call with the number of calls so far.
    """
    remote = solver if isinstance(solver, RemoteSolver) else None
    messages = requests if remote is None else [remote.prepare(request) for request in requests]
    solve = solver.solve if remote is None else remote.call
    calls: list[Call] = []
    with no_garbage_collection():
        for message in messages:
            calls.append(time_call(solve, message, remote))
            progress(len(calls))
    return calls


def time_call(
    solve: Callable[[Any], Any], message: Any, remote: RemoteSolver | None = None
) -> Call:
    """
    Time one call of a solver, and return it with its result, or with the text of an exception that it raised.

    A result of another type than IkResult counts as an exception.

    :param solve: the function to time.
    :param message: its argument.
    :param remote: reads the response afterwards, without being timed; its exceptions pass through. None for a solver in
        this process.
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
    """Return an exception as text on one line: "Type: message"."""
    return ' '.join(f'{type(error).__name__}: {error}'.split())


def _read_vector(result: IkResult | None) -> FloatArray:
    """
    Return a copy of the first solution of a result, or of the best joint vector of a failed search.

    The array is empty if the result has no valid vector.
    """
    if result is None:
        return np.empty(0)
    try:
        return np.array(result.solutions[0] if result.solved else result.q, dtype=np.float64)
    except (IndexError, TypeError, ValueError):
        return np.empty(0)
