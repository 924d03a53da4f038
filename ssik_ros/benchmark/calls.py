"""
Timed calls of a solver.

Only the call itself is timed. A solver elsewhere, behind a service, splits a call in three: preparing the message and
reading the answer are left out of the time.
"""

from collections.abc import Callable, Sequence
import gc
import time
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.problem.contract import IkSolver, SolveRequest
from ssik_ros.results import IkResult
from ssik_ros.value_class import dataclass


class RemoteAnswer(NamedTuple):
    """What came back from a solver elsewhere."""

    result: IkResult
    note: str = ''
    """What the server says about a failure."""
    server_time_ns: int | None = None
    """Time within the solver, as the server reports it; None when it does not."""


@runtime_checkable
class RemoteSolver(Protocol):
    """A solver elsewhere: ``solve`` in three steps, of which the second is timed."""

    service: str
    """Where it is asked, for reports."""

    def prepare(self, request: SolveRequest) -> Any:
        """Return the message of a request."""
        ...

    def call(self, message: Any) -> Any:
        """Send a message and return what comes back; bounded in time."""
        ...

    def read(self, reply: Any) -> RemoteAnswer:
        """Return the answer in what came back."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One timed call, not yet checked."""

    wall_ns: int
    cpu_ns: int
    result: IkResult | None
    answer: FloatArray
    """(n,) the solver's vector in its own joint order."""
    note: str
    """Text of an exception, or what a server says about a failure."""
    raised: bool
    server_time_ns: int | None = None


def time_calls(
    solver: IkSolver, requests: Sequence[SolveRequest], progress: Callable[[int], None]
) -> list[Call]:
    """
    Return a call for each request, made with garbage collection off.

    :param solver: the solver.
    :param requests: the requests.
    :param progress: told the number of calls after each of them.
    """
    remote = solver if isinstance(solver, RemoteSolver) else None
    messages = requests if remote is None else [remote.prepare(request) for request in requests]
    solve = solver.solve if remote is None else remote.call
    calls: list[Call] = []
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for message in messages:
            calls.append(_time_call(solve, message, remote))
            progress(len(calls))
    finally:
        if collecting:
            gc.enable()
    return calls


def _time_call(solve: Callable[[Any], Any], message: Any, remote: RemoteSolver | None) -> Call:
    """Return one call with its times; an exception is an answer too."""
    reply: Any = None
    error = ''
    cpu_start = time.process_time_ns()
    start = time.perf_counter_ns()
    try:
        reply = solve(message)
        stop = time.perf_counter_ns()
    except Exception as exception:
        stop = time.perf_counter_ns()
        error = f'{type(exception).__name__}: {exception}'
    cpu_stop = time.process_time_ns()
    answer = _read(reply, remote) if not error else None
    if answer is not None and not isinstance(answer.result, IkResult):
        error = f'returned a {type(answer.result).__name__} instead of an IkResult'
    result = answer.result if answer is not None and not error else None
    return Call(
        wall_ns=stop - start,
        cpu_ns=cpu_stop - cpu_start,
        result=result,
        answer=_read_vector(result),
        note=error or (answer.note if answer is not None else ''),
        raised=bool(error),
        server_time_ns=answer.server_time_ns if answer is not None else None,
    )


def _read(reply: Any, remote: RemoteSolver | None) -> RemoteAnswer:
    return RemoteAnswer(reply) if remote is None else remote.read(reply)


def _read_vector(result: IkResult | None) -> FloatArray:
    """Return a copy of the vector that a result offers; an empty one when it offers none."""
    if result is None:
        return np.empty(0)
    try:
        return np.array(result.solutions[0] if result.solved else result.q, dtype=np.float64)
    except (IndexError, TypeError, ValueError):
        return np.empty(0)
