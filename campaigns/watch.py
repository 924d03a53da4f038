"""A long run against the node: options, its process and memory, the faults, and the file of results."""

import argparse
from collections.abc import Callable
import math
from pathlib import Path
import subprocess
from typing import Any

from bench import program
from bench.ros.processes import claim_domain, ServerProcesses
from bench.usage import memory_mib, RESIDENT

START_LIMIT = 400.0
"""Time that the services have to appear; the machine may be busy [s]."""
RESPONSE_LIMIT = 30.0
"""Time after which a response counts as lost [s]."""
SHOWN = 10
"""Faults that are printed."""


def make_parser(
    purpose: str | None, growth: float, minutes: float = math.inf
) -> argparse.ArgumentParser:
    """
    Return the parser of a long run.

    :param purpose: docstring of the program.
    :param growth: bound of the growth of memory [MB].
    :param minutes: length.
    """
    return program.make_parser(
        purpose, is_pinned=False, minutes=minutes, seed=1, bound=growth, memory=300.0
    )


class Watch:
    """The node under test: whether it lives, its memory, and the faults."""

    def __init__(self, process: 'subprocess.Popen[bytes]') -> None:
        """
        Watch a process.

        :param process: the node.
        """
        self._process = process
        self.faults: list[str] = []
        self.memory: list[float] = []
        """Of the node after each round [MB]."""

    @property
    def is_alive(self) -> bool:
        """Return whether the node runs."""
        return self._process.poll() is None

    def fault(self, text: str) -> None:
        """Note a fault and print it."""
        self.faults.append(text)
        print(text, flush=True)

    def note_memory(self) -> float:
        """Note the memory of the node, and return it [MB]; 0 when it has ended."""
        self.memory.append(memory_mib(self._process.pid, RESIDENT) or 0.0)
        return self.memory[-1]

    def judge(self, options: argparse.Namespace, settling: float) -> None:
        """
        Note faults of the whole run.

        :param options: of :func:`make_parser`, with the bounds.
        :param settling: share of the rounds after which the memory counts as that at the start.
        """
        if not self.is_alive:
            self.fault(f'The node ended with {self._process.returncode}.')
        settled = self.memory[int(settling * len(self.memory)) :] or [0.0]
        grown, most = settled[-1] - settled[0], max(self.memory, default=0.0)
        if grown > options.bound:
            self.fault(
                f'The memory of the node grew by {grown:.1f} MB, more than {options.bound:g}.'
            )
        if most > options.memory:
            self.fault(f'The node had {most:.1f} MB, more than {options.memory:g}.')


def run_against_node(
    name: str,
    options: argparse.Namespace,
    command: list[str],
    attack: Callable[[Watch, argparse.Namespace], dict[str, Any]],
    settling: float,
) -> int:
    """
    Start the node, let something run against it, print and write; return 1 if something was wrong.

    :param name: of the run and its files.
    :param options: of :func:`make_parser`.
    :param command: of the node.
    :param attack: runs, and returns further content of the file; its entry ``text`` has paragraphs to show.
    :param settling: as for :meth:`Watch.judge`.
    """
    # A node of another run would take half of the requests.
    claim_domain()
    run = program.Run(name, options)
    minutes = min(options.minutes, 24.0 * 60.0)
    lifetime = int(60.0 * minutes + START_LIMIT + 2.0 * RESPONSE_LIMIT)
    log: Path = options.output / f'{name}.log'
    with ServerProcesses(None, lifetime) as servers:
        watch = Watch(servers.start(command, log))
        content = attack(watch, options)
        watch.judge(options, settling)
    memory = watch.memory or [0.0]
    log_kb = log.stat().st_size / 1024
    run.show(
        *content.pop('text'),
        f'Memory of the node: {memory[0]:.1f} MB after the first round, {memory[-1]:.1f} MB at the end (bound: '
        f'+{options.bound:g} MB), {max(memory):.1f} MB at most. Log: {log_kb:.1f} kB.',
        *(watch.faults[:SHOWN] or ['Nothing was wrong.']),
    )
    run.finish(**content, memory_mb=memory, log_kb=log_kb, faults=watch.faults)
    return int(bool(watch.faults))
