"""
Compare two checkouts of the package: each runs in processes of its own, and their rounds alternate on one core.

A round of one checkout and the next round of the other make a pair. A disturbance of the core that lasts longer than
two rounds slows both. The addresses of code and data in a process make short calls faster or slower by some percent,
in every round of that process. So one start of both checkouts counts as one observation, and the spread over starts
gives the confidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import json
from pathlib import Path
import subprocess
import sys

import numpy as np

from bench import ROOT
from bench.arms import Arm

PAIRS = 21
"""Rounds of both checkouts per kernel and start."""
FEWEST_STARTS = 5
ALLOWED = 1.03
"""A kernel counts as slower if it takes more than this many times the other checkout's time."""
CONFIDENCE = 0.95
HEADER = ('kernel', 'us before', 'us now', 'times', f'{CONFIDENCE:.0%} from', 'to', 'starts', '')


class Worker:
    """The kernels of one checkout in a process of their own."""

    def __init__(self, checkout: Path, arms: Sequence[Arm]) -> None:
        """
        Start the process and wait until all kernels have run once.

        :param checkout: folder that holds ``ssik_ros``.
        :param arms: the arms.
        """
        told = json.dumps([(arm.name, arm.base, arm.tip, str(arm.urdf_path)) for arm in arms])
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'bench.hot_kernels', str(checkout), told],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.names: list[str] = json.loads(self._ask(''))

    def _ask(self, line: str) -> str:
        """Return the response to a line."""
        assert self._process.stdin is not None and self._process.stdout is not None
        if line:
            self._process.stdin.write(line + '\n')
            self._process.stdin.flush()
        response = self._process.stdout.readline()
        if not response:
            raise SystemExit(f'bench: the process of a checkout ended with {self._process.wait()}')
        return response

    def time(self, name: str) -> float:
        """
        Return the processor time of one round of a kernel [ns].

        :param name: of the kernel.
        """
        return float(self._ask(name))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a kernel compares, with the bounds of its confidence interval."""

    times: float
    """Time now over time before."""
    low: float
    high: float
    starts: int

    @property
    def text(self) -> str:
        """Return SLOWER, 'faster', 'unclear' or nothing."""
        if self.low > ALLOWED:
            return 'SLOWER'
        if self.high > ALLOWED:
            return 'unclear'
        return 'faster' if self.high < 1.0 / ALLOWED else ''


def judge(logarithms: Sequence[float]) -> Verdict:
    """
    Return the verdict over the starts of a kernel, by Student's t.

    :param logarithms: of the ratio of both times; the median over the pairs of each start.
    """
    from scipy.special import stdtrit

    values, count = np.asarray(logarithms), len(logarithms)
    middle = float(values.mean())
    half = float(stdtrit(count - 1, 0.5 + 0.5 * CONFIDENCE) * values.std(ddof=1) / count**0.5)
    low, times, high = np.exp([middle - half, middle, middle + half]).tolist()
    return Verdict(times, low, high, count)


class Comparison:
    """The results of all starts."""

    def __init__(self, names: Sequence[str]) -> None:
        """
        Begin with no start.

        :param names: of the kernels.
        """
        self.logarithms: dict[str, list[float]] = {name: [] for name in names}
        self.times: dict[str, list[tuple[float, float]]] = {name: [] for name in names}

    def add(self, before: Worker, now: Worker) -> None:
        """
        Add one start of both checkouts.

        :param before, now: their processes.
        """
        for name in self.logarithms:
            pairs = np.empty((PAIRS, 2))
            for number in range(PAIRS):
                # The first process alternates: the second one finds the core's caches as the first one left them.
                order = (0, 1) if number % 2 else (1, 0)
                for side in order:
                    pairs[number, side] = (before, now)[side].time(name)
            ratios = np.log(pairs[:, 1] / pairs[:, 0])
            self.logarithms[name].append(float(np.median(ratios)))
            self.times[name].append((float(np.median(pairs[:, 0])), float(np.median(pairs[:, 1]))))

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict of each kernel."""
        return {name: judge(values) for name, values in self.logarithms.items()}

    def lines(self, poses: int) -> list[list[str]]:
        """
        Return the table.

        :param poses: of a round.
        """
        rows = []
        for name, verdict in self.verdicts().items():
            before, now = np.median(self.times[name], axis=0) / poses * 1e-3
            numbers = f'{verdict.times:.3f}', f'{verdict.low:.3f}', f'{verdict.high:.3f}'
            shown = f'{before:.2f}', f'{now:.2f}', *numbers, str(verdict.starts), verdict.text
            rows.append([name, *shown])
        return rows


def compare(before: Path, now: Path, arms: Sequence[Arm], most_starts: int) -> Comparison:
    """
    Return the comparison of two checkouts: after as many starts as it takes to be clear, within limits.

    :param before, now: folders that hold ``ssik_ros``.
    :param arms: the arms.
    :param most_starts: of both checkouts.
    """
    comparison: Comparison | None = None
    for start in range(1, most_starts + 1):
        workers = [Worker(checkout, arms) for checkout in (before, now)]
        comparison = comparison or Comparison(
            [n for n in workers[1].names if n in workers[0].names]
        )
        comparison.add(*workers)
        for worker in workers:
            worker.close()
        if start >= FEWEST_STARTS and all(
            verdict.text != 'unclear' for verdict in comparison.verdicts().values()
        ):
            break
    assert comparison is not None
    return comparison
