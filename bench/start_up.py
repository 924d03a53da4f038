"""
Measure the time until a solver's first solution, and its memory: ``python bench/start_up.py --help``.

Every solver gets a process of its own for each arm, from the arm's URDF to the first solution, twice; the faster one
counts. Compiled kernels and the caches of peers exist before, except in rows that say otherwise. Results go to
``bench_output/start_up.json`` and ``start_up.md``.

With ``--ratios`` it compares processor times with the unavoidable cost instead: the package with imports of numpy and
pinocchio, and the node with an empty node that imports the same third-party packages. The processes alternate on one
core, and the best of each counts. Results go to ``start_up_ratios.json``.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import functools
import importlib.util
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import threading
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import goals, pinning, program, ROOT
from bench.arms import Arm
from bench.catalogue_arms import find_arm
from bench.fresh_process import NO_PEER
from bench.peers import load_peers, Peer
from bench.ros.processes import claim_domain, node_words
from bench.run import CHOICES
from bench.tables import extended, table_of
from bench.usage import memory_mib, processor_seconds, RESIDENT

CLASS = 'start_up'
"""For solvers that take part in nothing else."""
CLASSES_OF_PEERS = ('first_found_1e-3', CLASS)
"""Classes whose peers are measured."""
OWN_MODULE = 'ssik_ros.manipulator.manipulator'
"""The module that users of this package import; the package itself is empty."""
BARE = ('numpy', 'numpy,pinocchio')
"""Imports of the processes for comparison; the second names the third-party imports of this package."""
COLUMNS = {
    'arm': '{arm}',
    'solver': '{solver}',
    'import s': '{imported:.3f}',
    'set-up s': '{set_up:.3f}',
    'first solution s': '{first_solution:.3f}',
    'together s': '{together:.3f}',
    'cpu s': '{cpu:.3f}',
    'peak MiB': '{peak_mib:.0f}',
    'remark': '{note}',
}
RATIO_ARM = 'panda'
RATIO_COLUMNS = {
    'what': '{name}',
    'ours': '{ours:.3f}',
    'compared with': '{compared:.3f}',
    'unit': '{unit}',
    'ratio': '{ratio:.2f}',
}
IMPORTS, OWN_START, EMPTY_NODE, OWN_NODE = 'imports', 'own', 'empty node', 'own node'
READY = 'Ready'
"""In the line that a node logs once it offers all of its services."""
EMPTY_PROGRAM = f"""
import numpy
import pinocchio
import rclpy
from rclpy.node import Node

import builtin_interfaces.msg
import diagnostic_msgs.msg
import geometry_msgs.msg
import moveit_msgs.srv
import rcl_interfaces.srv
import sensor_msgs.msg
import shape_msgs.msg
import ssik_msgs.srv
import std_msgs.msg
import tf2_msgs.msg
import trajectory_msgs.msg
import visualization_msgs.msg

rclpy.init()
node = Node('empty')
node.get_logger().info('{READY}')
rclpy.spin(node)
"""
"""A node without entities of its own, with the third-party imports of the product's node."""
OWN_PROGRAM = node_words(
    'ssik_ros.ros.executables ik_server', f'moveit_config_package:={RATIO_ARM}'
)


class NotMeasured(Exception):
    """Says why a process has no figures."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Our processor time and the unavoidable processor time [s]; or our memory [MiB]."""

    name: str
    ours: float
    compared: float | None
    """None for memory."""

    @property
    def ratio(self) -> float:
        """Return how many times as much ours is."""
        return self.ours / (self.compared or 1.0)

    @property
    def unit(self) -> str:
        """Return the unit of both figures."""
        return 'MiB' if self.name == goals.MEMORY else 's'


@dataclass(frozen=True, slots=True)
class Row:
    """One solver in a process of its own; seconds of wall clock but for the processor time of all steps."""

    arm: str
    solver: str
    note: str = ''
    imported: float | None = None
    set_up: float | None = None
    first_solution: float | None = None
    cpu: float | None = None
    peak_mib: float | None = None
    is_own: bool = False

    @property
    def together(self) -> float | None:
        """Return the seconds from the URDF to the first solution, the import left out."""
        if self.set_up is None or self.first_solution is None:
            return None
        return self.set_up + self.first_solution


def ask(
    arm: Arm, module: str, name: str, seconds: float, environment: dict[str, str] | None = None
) -> dict[str, Any]:
    """
    Return the figures that a fresh process prints.

    :param arm: the arm.
    :param module: to import; several with commas between them.
    :param name: the peer, or :data:`~bench.fresh_process.NO_PEER`.
    :param seconds: time limit of the process; the result says if it was reached.
    :param environment: added to this process' own.
    """
    script = Path(__file__).with_name('fresh_process.py')
    words = [sys.executable, str(script), module, name, str(arm.urdf_path), arm.base, arm.tip]
    surroundings = _surroundings() | (environment or {})
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=seconds, env=surroundings
        )
    except subprocess.TimeoutExpired:
        return {'note': f'no solution after {seconds:g} s'}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f'ended with {done.returncode}']
        return {'note': lines[-1]}
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _surroundings() -> dict[str, str]:
    """Return the environment of a process that, as for any user, keeps the bytecode of sources for the next one."""
    return {k: value for k, value in os.environ.items() if k != 'PYTHONDONTWRITEBYTECODE'}


def make_row(
    arm: str, solver: str, figures: Mapping[str, Any], is_own: bool, note: str = ''
) -> Row:
    """
    Return the row of a solver.

    :param arm: the arm's name.
    :param solver: the solver's name.
    :param figures: from :func:`ask`.
    :param is_own: whether it is of this package.
    :param note: for readers of the figures.
    """
    if 'import' not in figures:
        return Row(arm, solver, figures['note'], is_own=is_own)
    steps = [figures[step] for step in ('import', 'set_up', 'first_solution') if step in figures]
    walls = [step['wall'] for step in steps] + [None] * (3 - len(steps))
    if not figures.get('solved', True):
        note = f'{note}; the first request got no solution'.removeprefix('; ')
    cpu = sum(step['cpu'] for step in steps)
    return Row(arm, solver, note, *walls, cpu=cpu, peak_mib=figures['peak_mib'], is_own=is_own)


def measure(arm: Arm, peer: Peer, seconds: float) -> Row:
    """
    Return the row of a peer: the better one of two processes.

    :param arm: the arm.
    :param peer: the peer.
    :param seconds: most for each process.
    """
    if not peer.available():
        return Row(arm.name, peer.name, 'not installed')
    module = OWN_MODULE if peer.is_own else peer.module
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(2):
            # A peer must not find results for this arm in its cache.
            place = {} if peer.is_own else {'XDG_CACHE_HOME': f'{folder}/{number}'}
            figures = ask(arm, module, peer.name, seconds, place)
            rows.append(make_row(arm.name, peer.name, figures, peer.is_own))
            if rows[-1].together is None:
                return rows[-1]
    return min(rows, key=lambda row: row.together or 0.0)


def processor_steps(arm: Arm, module: str, name: str, seconds: float) -> dict[str, float]:
    """
    Return the processor time of each step of a fresh process [s].

    :param arm, module, name, seconds: as for :func:`ask`.
    :raises NotMeasured: when it ends before.
    """
    figures = ask(arm, module, name, seconds)
    if 'import' not in figures:
        raise NotMeasured(figures['note'])
    return {step: times['cpu'] for step, times in figures.items() if isinstance(times, dict)}


def start_process(words: Sequence[str], seconds: float, mark: str = READY) -> dict[str, float]:
    """
    Return wall-clock and processor time [s] of a process from exec until it is ready, and its memory then [MiB].

    :param words: arguments of Python.
    :param seconds: after which it is ended.
    :param mark: in the line that tells that it is ready.
    :raises NotMeasured: when it ends before.
    """
    claim_domain()
    begin, lines = perf_counter(), ['it ended without a word']
    with subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=_surroundings(),
    ) as process:
        alarm = threading.Timer(seconds, process.kill)
        alarm.start()
        try:
            for line in process.stdout or ():
                lines.append(line.strip())
                if mark in line:
                    break
            else:
                raise NotMeasured(lines[-1])
            resident = memory_mib(process.pid, RESIDENT) or 0.0
            wall, cpu = perf_counter() - begin, processor_seconds(process.pid)
            return {'wall': wall, 'cpu': cpu, 'mib': resident}
        finally:
            alarm.cancel()
            process.kill()


def best_of(
    starts: Mapping[str, Callable[[], dict[str, float]]], rounds: int
) -> dict[str, dict[str, float]]:
    """
    Return the smallest value of each figure of each process; the processes alternate.

    :param starts: by the name of the process, a function that runs it and returns its figures.
    :param rounds: number of runs of each process.
    """
    best: dict[str, dict[str, float]] = {name: {} for name in starts}
    for _ in range(rounds):
        for name, start in starts.items():
            for figure, value in start().items():
                best[name][figure] = min(value, best[name].get(figure, value))
    return best


def measure_ratios(arm: Arm, rounds: int, seconds: float) -> list[Ratio]:
    """
    Return the ratios; the node is measured only if ROS is installed.

    :param arm: the arm.
    :param rounds: how often each process is started.
    :param seconds: most for each process.
    """
    steps, partial = functools.partial(processor_steps, arm, seconds=seconds), functools.partial
    starts = {
        IMPORTS: partial(steps, BARE[-1], NO_PEER),
        OWN_START: partial(steps, OWN_MODULE, goals.OWN_ALL),
    }
    best = best_of(starts, rounds)
    own_start, unavoidable = best[OWN_START], best[IMPORTS]['import']
    solution = own_start['set_up'] + own_start['first_solution']
    ratios = [
        Ratio('import', own_start['import'], unavoidable),
        Ratio('URDF to first solution', solution, unavoidable),
    ]
    if any(importlib.util.find_spec(name) is None for name in ('rclpy', 'ssik_msgs')):
        print('No ratios of the node: rclpy and ssik_msgs are not here.')
        return ratios
    programs = {EMPTY_NODE: ('-c', EMPTY_PROGRAM), OWN_NODE: OWN_PROGRAM}
    nodes = best_of(
        {name: partial(start_process, words, seconds) for name, words in programs.items()}, rounds
    )
    own_node = nodes[OWN_NODE]
    return [
        *ratios,
        Ratio('node', own_node['cpu'], nodes[EMPTY_NODE]['cpu']),
        Ratio(goals.MEMORY, own_node['mib'], None),
    ]


def run_ratios(run: program.Run, options: argparse.Namespace) -> None:
    """Measure the ratios, print and write them."""
    arm = find_arm(RATIO_ARM, options.output)
    ratios = measure_ratios(arm, options.rounds, options.seconds)
    run.show(table_of(RATIO_COLUMNS, ratios))
    goals.finish(run, ratios=[extended(row, ratio=row.ratio) for row in ratios])


def run_peers(run: program.Run, peers: Sequence[Peer], options: argparse.Namespace) -> None:
    """Measure all solvers, print and write their rows."""
    arms = [find_arm(name, options.output) for name in options.arms]
    rows = [
        make_row('none', bare, ask(arms[0], bare, NO_PEER, options.seconds), False)
        for bare in BARE
    ]
    rows += [measure(arm, peer, options.seconds) for arm in arms for peer in peers]
    run.show(table_of(COLUMNS, rows))
    goals.finish(run, rows=[extended(row, together=row.together) for row in rows])


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    arms = ['panda', 'jaco2']
    parser = program.make_parser(__doc__, CHOICES, arms, rounds=8, seconds=30.0)
    parser.add_argument('--peers', nargs='+', choices=load_peers(), help='all by default')
    parser.add_argument('--ratios', action='store_true', help='measure only the ratios')
    options = parser.parse_args(arguments)
    if options.ratios:
        return run_ratios(program.Run('start_up_ratios', options), options)
    candidates = load_peers(options.peers).values()
    peers = [peer for peer in candidates if set(CLASSES_OF_PEERS) & set(peer.classes)]
    return run_peers(program.Run('start_up', options, peers), peers, options)


if __name__ == '__main__':
    pinning.limit_threads()
    main()
