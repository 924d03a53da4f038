"""Rows of the comparisons: the times of one peer on one arm, with the verdict on its solutions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import itertools
from typing import Any

import numpy as np

from bench.arms import Arm
from bench.branch_sets import BranchSets
from bench.cases import Cases
from bench.classes import BenchClass
from bench.measure import Measurement
from bench.peers import Peer
from bench.tables import extended, table_of
from bench.times import best_pass, TIME_COLUMNS, Times
from bench.verify import verify

COLUMNS = {
    'arm': '{arm}',
    'peer': '{peer}',
    'poses': '{samples}',
    **TIME_COLUMNS,
    'success %': '{success:.2f}',
    'wrong': '{claimed_wrongly}',
    'worst m': '{worst_position:.1e}',
    'worst rad': '{worst_orientation:.1e}',
    'x median': '{faster.median:.2f}',
    'x mean': '{faster.mean:.2f}',
    'x p99': '{faster.p99:.2f}',
    'remark': '{note}',
}


@dataclass(frozen=True, slots=True)
class Row:
    """One peer on one arm in one class."""

    bench_class: str
    arm: str
    peer: str
    note: str = ''
    """The reason if the row has no figures, else a note for their readers."""
    is_own: bool = False
    """A solver of this package."""
    call: str = ''
    samples: int = 0
    cases: str = ''
    """Digest of goals and seeds."""
    cpu: Times | None = None
    """Processor time of the pass with the lowest median [us]."""
    wall: Times | None = None
    cpu_medians: tuple[float, ...] = ()
    """Of every pass."""
    wall_medians: tuple[float, ...] = ()
    success: float = 0.0
    """Verified solutions over all passes [%]; for poses without a solution, verified refusals."""
    claimed_wrongly: int = 0
    """Solutions that do not hold; where no pose has one, all solutions."""
    worst_position: float = np.nan
    worst_orientation: float = np.nan
    sets: BranchSets | None = None
    """The verdict on all branches."""
    has_goals: bool = True
    """False where the class has no goals on this arm, so that no peer was called."""


def timed_row(
    name: str, arm: Arm, peer: Peer, cases: Cases, measurement: Measurement, note: str
) -> Row:
    """
    Return the times of one peer, without a verdict.

    :param name: of the class.
    :param arm, peer, cases: the arm, the peer that was called, and its goals.
    :param measurement: times and solutions of the calls.
    :param note: for readers of the figures.
    """
    cpu, cpu_medians = best_pass(measurement.cpu)
    wall, wall_medians = best_pass(measurement.wall)
    figures = len(cases.q), cases.digest, cpu, wall, cpu_medians, wall_medians
    return Row(name, arm.name, peer.name, note, peer.is_own, peer.call, *figures)


def make_row(
    bench_class: BenchClass,
    arm: Arm,
    peer: Peer,
    cases: Cases,
    measurement: Measurement,
    note: str = '',
) -> Row:
    """
    Return the figures of one peer in a class with one solution for each goal.

    :param bench_class: workload and criterion of a solution.
    :param arm, peer, cases, measurement, note: as for :func:`timed_row`.
    """
    passes = len(measurement.solutions)
    solutions = list(itertools.chain.from_iterable(measurement.solutions))
    targets = np.tile(cases.targets, (passes, 1, 1))
    verdict = verify(arm, solutions, targets, bench_class.tolerance)
    success, wrong = verdict.success, verdict.claimed_wrongly
    if not bench_class.reachable:
        wrong += verdict.solved
        success = 100.0 * (verdict.asked - wrong) / verdict.asked
        note = f'{note}; {verdict.solved} of the poses were reached!' if verdict.solved else note
    return replace(
        timed_row(bench_class.name, arm, peer, cases, measurement, note),
        success=success,
        claimed_wrongly=wrong,
        worst_position=verdict.worst_position,
        worst_orientation=verdict.worst_orientation,
    )


def find(rows: Sequence[Row], bench_class: str, arm: str, peer: str) -> Row | None:
    """Return the row of a peer on an arm if it has figures, else None."""
    wanted = bench_class, arm, peer
    fitting = (r for r in rows if (r.bench_class, r.arm, r.peer) == wanted and r.cpu is not None)
    return next(fitting, None)


def speedups(row: Row | None, reference: Row | None) -> dict[str, float] | None:
    """
    Return how many times as much processor time another row takes; None without figures of both.

    :param row: the row.
    :param reference: the other one.
    """
    if row is None or reference is None or row.cpu is None or reference.cpu is None:
        return None
    ours, theirs = row.cpu, reference.cpu
    return {
        name: getattr(theirs, name) / getattr(ours, name) for name in ('median', 'mean', 'p99')
    }


def as_json(rows: Sequence[Row], reference: str) -> list[dict[str, Any]]:
    """
    Return rows with how many times faster they are than the peer to beat.

    :param rows: all rows of the classes and arms in them.
    :param reference: name of that peer.
    """
    return [
        extended(row, faster=speedups(row, find(rows, row.bench_class, row.arm, reference)))
        for row in rows
    ]


def class_table(lines: Sequence[Mapping[str, Any]]) -> str:
    """
    Return the table of one class.

    :param lines: from :func:`as_json`.
    """
    without = ('arm', 'peer', 'note')
    return table_of(
        COLUMNS, [line if line['cpu'] else {k: line[k] for k in without} for line in lines]
    )
