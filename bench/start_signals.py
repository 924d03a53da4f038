"""
Signals while an executable starts: ``python bench/start_signals.py --help``.

Starts an executable again and again, sends SIGINT and SIGTERM in turn at a time drawn from a seed, and counts the exit
codes. The time counts from the moment when the process blocks or handles signals, a few milliseconds after its start; with
``--from-exec`` from its start. It ends with 1 if a start ended with another exit code than it has to, or printed a fault.
Needs ROS (``. ./activate``).
"""

import argparse
from collections import Counter
from collections.abc import Sequence
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import conditions
from bench.ros.processes import claim_domain

SCRIPTS = Path(__file__).resolve().parents[1] / 'install' / 'ssik_ros' / 'lib' / 'ssik_ros'
PARAMETERS = {
    'ik_server': ('-p', 'moveit_config_package:=panda'),
    'ik_stream': ('-p', 'moveit_config_package:=panda', '-p', 'task_sets_file:=panda'),
    'ik_view': ('-p', 'moveit_config_package:=panda', '-p', 'port:=0'),
    'joint_state_relay': ('-p', 'loop_closures_file:=four_bar'),
    'ik_benchmark': ('-p', 'robot:=topics', '-p', 'config:=panda'),
}
INTERRUPTED = {'ik_benchmark': 1}
"""Exit codes that are not zero."""
END_LIMIT = 15.0
"""Time after which a process counts as not ended [s]."""
FAULTS = 'Traceback', 'Exception', 'terminate called', 'core dumped', 'Segmentation'
SHOWN = 10


class Start(NamedTuple):
    """One start."""

    number: int
    """Of the signal."""
    delay: float
    """To the signal [s]."""
    code: int | None
    """Exit code; None if the process did not end."""
    text: str
    """Output of the process."""

    def is_right(self, name: str) -> bool:
        """
        Return whether the process ended as it has to, without a word about a fault.

        :param name: of the executable.
        """
        is_quiet = not any(fault in self.text for fault in FAULTS)
        return self.code == INTERRUPTED.get(name, 0) and is_quiet


def wait_for_guard(process: 'subprocess.Popen[bytes]') -> None:
    """
    Wait until a process blocks or handles SIGTERM, or has ended.

    :param process: the process.
    """
    bit, end = 1 << (signal.SIGTERM - 1), time.monotonic() + END_LIMIT
    while process.poll() is None and time.monotonic() < end:
        status = Path(f'/proc/{process.pid}/status').read_text(encoding='ascii')
        masks = (status.partition(f'{name}:')[2].split()[0] for name in ('SigBlk', 'SigCgt'))
        if any(int(mask, 16) & bit for mask in masks):
            return
        time.sleep(0.001)


def run_starts(
    name: str, script: Path, count: int, longest: float, seed: int, *, from_exec: bool = False
) -> list[Start]:
    """
    Start an executable again and again, with a signal each time.

    :param name: of the executable.
    :param script: its file.
    :param count: number of starts.
    :param longest: latest signal [s].
    :param seed: of the times.
    :param from_exec: whether times count from the start of the process, not from :func:`wait_for_guard`.
    """
    rng, starts = random.Random(seed), []
    command = [str(script), '--ros-args', *PARAMETERS[name]]
    for index in range(count):
        number = (signal.SIGINT, signal.SIGTERM)[index % 2]
        delay = rng.uniform(0.0, longest)
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
            try:
                if not from_exec:
                    wait_for_guard(process)
                time.sleep(delay)
                process.send_signal(number)
                code: int | None = process.wait(END_LIMIT)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                process.kill()
                process.wait()
            log.seek(0)
            text = log.read().decode(errors='replace')
        starts.append(Start(number, delay, code, text))
    return starts


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Start, print; return 1 if a start ended wrongly.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='Signals while an executable starts.')
    parser.add_argument('executable', nargs='?', choices=PARAMETERS, default='ik_server')
    parser.add_argument('--starts', type=int, default=400, help='how many (%(default)s)')
    parser.add_argument(
        '--longest',
        type=float,
        default=1.5,
        help='latest signal after the start [s] (%(default)s)',
    )
    parser.add_argument('--seed', type=int, default=1, help='of the times')
    options = parser.parse_args(arguments)
    claim_domain()
    print(conditions.as_text(conditions.describe(None, ())), flush=True)
    name = options.executable
    starts = run_starts(
        name,
        SCRIPTS / name,
        options.starts,
        options.longest,
        options.seed,
        from_exec=options.from_exec,
    )
    wrong = [start for start in starts if not start.is_right(name)]
    for start in wrong[:SHOWN]:
        last = start.text.strip().rpartition('\n')[2]
        print(f'signal {start.number} after {start.delay:.3f} s: {start.code} {last}')
    codes = dict(Counter(start.code for start in starts))
    load = round(os.getloadavg()[0], 1)
    print(f'{len(starts)} starts of {name}, {len(wrong)} wrong; exit codes {codes}; load {load}')
    return int(bool(wrong))


if __name__ == '__main__':
    sys.exit(main())
