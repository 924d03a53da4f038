"""
Measure the time that a Dask scheduler spends on the units of a reach map: ``python bench/reach_scheduler.py --help``.

The scheduler is a process of its own. All workers live in one other process and do units that only wait, so that they
need no processors. The program prints three figures: the scheduler's cost of a task, the number of units that the
engine puts into a task, and the number of workers that can be kept busy.
"""

import argparse
import asyncio
from collections.abc import Sequence
import inspect
import logging
import multiprocessing
import os
from pathlib import Path
import sys
import time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import distributed
import numpy as np
from numpy.typing import NDArray

from ssik_ros.reach.engine import Progress, run_units, Workers


class Waiting:
    """Units that wait."""

    def __init__(self, seconds: float) -> None:
        """
        Keep the time.

        :param seconds: of a unit.
        """
        self._seconds = seconds

    def run(self, unit: int) -> NDArray[np.int64]:
        """Return the counts of an empty unit, after a while."""
        del unit
        time.sleep(self._seconds)
        return np.zeros(4, dtype=np.int64)


async def _serve(pipe: Any) -> None:
    """Run a scheduler, and send its address."""
    async with distributed.Scheduler(host='127.0.0.1', port=0, dashboard_address=None) as server:
        pipe.send(server.address)
        await server.finished()


async def _work(address: str, count: int, pipe: Any) -> None:
    """Run workers, and send a word when all are there."""
    workers = [distributed.Worker(address, nthreads=1, memory_limit=0) for _ in range(count)]
    await asyncio.gather(*workers)
    pipe.send(count)
    await asyncio.gather(*(worker.finished() for worker in workers))


def _start(function: Any, *arguments: Any) -> tuple[multiprocessing.process.BaseProcess, Any]:
    """Start a process; return it, and the first object that it sends."""
    context = multiprocessing.get_context('spawn')
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(function, *arguments, there), daemon=True)
    process.start()
    if not here.poll(120.0):
        sys.exit('reach_scheduler: a process of the cluster did not start')
    return process, here.recv()


def _run(function: Any, *arguments: Any) -> None:
    """Run a coroutine to its end."""
    logging.getLogger('distributed').setLevel(logging.ERROR)
    asyncio.run(function(*arguments))


def count_messages(dask_scheduler: Any) -> None:
    """Count the messages of a scheduler from now on."""
    counts = dask_scheduler.messages = {'received': 0, 'sent': 0}
    handlers, send = dask_scheduler.stream_handlers, distributed.batched.BatchedSend.send

    def counted(handler: Any) -> Any:
        def handle(*arguments: Any, **named: Any) -> Any:
            counts['received'] += 1
            return handler(*arguments, **named)

        async def handle_later(*arguments: Any, **named: Any) -> Any:
            return await handle(*arguments, **named)

        return handle_later if inspect.iscoroutinefunction(handler) else handle

    def counted_send(channel: Any, *messages: Any) -> Any:
        counts['sent'] += len(messages)
        return send(channel, *messages)

    for name in list(handlers):
        handlers[name] = counted(handlers[name])
    distributed.batched.BatchedSend.send = counted_send


def read_counts(dask_scheduler: Any) -> tuple[float, int, int]:
    """Return the processor time of a scheduler [s], and the messages that it received and sent."""
    return time.process_time(), *dask_scheduler.messages.values()


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure and print.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='What a Dask scheduler spends on a unit.')
    parser.add_argument('--workers', type=int, default=64, help='simulated (%(default)s)')
    parser.add_argument('--units', type=int, default=100_000, help='in all (%(default)s)')
    text = 'length of a unit [s] (%(default)s)'
    parser.add_argument('--seconds', type=float, default=0.015, help=text)
    options = parser.parse_args(arguments)
    scheduler, address = _start(_serve)
    workers, _ = _start(_work, address, options.workers)
    job, tasks = Waiting(options.seconds), 0

    def count(progress: Progress) -> None:
        nonlocal tasks
        tasks += 1

    with distributed.Client(address) as client:
        client.run_on_scheduler(count_messages)
        run_units(job, iter(range(options.workers)), Workers(scheduler=address))
        before, begun = client.run_on_scheduler(read_counts), time.perf_counter()
        units = iter(range(options.units))
        run_units(job, units, Workers(scheduler=address), count, options.units)
        seconds = time.perf_counter() - begun
        after = client.run_on_scheduler(read_counts)
    processor, received, sent = np.subtract(after, before) / tasks
    busy = options.seconds * options.units / (options.workers * seconds)
    print(f'{options.workers} workers, {options.units} units, load {os.getloadavg()[0]:.1f}')
    print(
        f'{tasks} tasks of {options.units / tasks:.1f} units, {options.units / seconds:.0f} units a second'
    )
    print(f'{1e6 * processor:.0f} us of processor time of the scheduler for a task')
    print(f'{received:.1f} messages received and {sent:.1f} sent for a task')
    print(f'workers busy {busy:.0%} of the time, scheduler {processor * tasks / seconds:.0%}')
    for process in (workers, scheduler):
        process.terminate()


if __name__ == '__main__':
    main()
