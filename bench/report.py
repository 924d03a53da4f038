"""Figures out of measurements, as JSON, Markdown and text."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

from bench.arms import Arm, FloatArray
from bench.cases import Cases
from bench.classes import BenchClass
from bench.measure import Measurement
from bench.peers import Peer
from bench.verify import verify
from ssik_ros.benchmark.harness import markdown_row, write_atomically

HEADER = (
    *('arm', 'peer', 'poses', 'median us', 'mean', 'p95', 'p99', 'wall median', 'success %'),
    *('wrong', 'worst m', 'worst rad', 'x median', 'x mean', 'x p99', 'remark'),
)


@dataclass(frozen=True, slots=True)
class Times:
    """How one pass over all cases is distributed [us]."""

    median: float
    mean: float
    p95: float
    p99: float
    p05: float = np.nan
    p25: float = np.nan
    p75: float = np.nan


@dataclass(frozen=True, slots=True)
class Row:
    """One peer on one arm in one class."""

    bench_class: str
    arm: str
    peer: str
    note: str = ''
    """The reason if the row has no figures, else a note for their readers."""
    samples: int = 0
    cases: str = ''
    """Digest of goals and seeds."""
    cpu: Times | None = None
    """Processor time of the pass with the lowest median."""
    wall: Times | None = None
    cpu_medians: tuple[float, ...] = ()
    """Of every pass."""
    wall_medians: tuple[float, ...] = ()
    success: float = 0.0
    """Verified solutions over all passes [%]; for poses without a solution, verified refusals."""
    claimed_wrongly: int = 0
    """Solutions that do not hold; where no pose has one, all solutions."""
    own: bool = False
    """A solver of this package."""
    call: str = ''
    worst_position: float = np.nan
    worst_orientation: float = np.nan
    worst_norm: float = np.nan
    has_goals: bool = True
    """False where the class has no goals on this arm, so that no peer was called."""


def times_of(passes: FloatArray) -> tuple[Times, tuple[float, ...]]:
    """
    Return the distribution of the best pass, and the medians of all.

    :param passes: (r, k) [us].
    """
    medians = np.median(passes, axis=1)
    best = passes[int(np.argmin(medians))]
    p05, p25, median, p75, p95, p99 = map(float, np.percentile(best, [5, 25, 50, 75, 95, 99]))
    times = Times(median, float(best.mean()), p95, p99, p05, p25, p75)
    return times, tuple(float(value) for value in medians)


def make_row(
    bench_class: BenchClass,
    arm: Arm,
    peer: Peer,
    cases: Cases,
    measurement: Measurement,
    note: str = '',
) -> Row:
    """
    Return the figures of one peer.

    :param bench_class: workload and criterion of a solution.
    :param arm: the arm.
    :param peer: the peer.
    :param cases: goals and seeds.
    :param measurement: times and solutions of the calls.
    :param note: for readers of the figures.
    """
    cpu, cpu_medians = times_of(measurement.cpu)
    wall, wall_medians = times_of(measurement.wall)
    passes = len(measurement.solutions)
    verdict = verify(
        arm,
        list(itertools.chain.from_iterable(measurement.solutions)),
        np.tile(cases.targets, (passes, 1, 1)),
        bench_class.tolerance,
    )
    success, wrong = verdict.success, verdict.claimed_wrongly
    if not bench_class.reachable:
        wrong += verdict.solved
        success = 100.0 * (verdict.asked - wrong) / verdict.asked
        note = f'{note}; {verdict.solved} of the poses were reached!' if verdict.solved else note
    return Row(
        bench_class.name,
        arm.name,
        peer.name,
        note=note,
        own=peer.own,
        call=peer.call,
        samples=len(cases.q),
        cases=cases.digest,
        cpu=cpu,
        wall=wall,
        cpu_medians=cpu_medians,
        wall_medians=wall_medians,
        success=success,
        claimed_wrongly=wrong,
        worst_position=verdict.worst_position,
        worst_orientation=verdict.worst_orientation,
        worst_norm=verdict.worst_norm,
    )


def speedups(row: Row, reference: Row | None) -> dict[str, float] | None:
    """
    Return how many times faster a row is than the reference in processor time.

    :param row: the row.
    :param reference: the row of the peer to beat; None when it is missing.
    """
    if row.cpu is None or reference is None or reference.cpu is None:
        return None
    return {
        'median': reference.cpu.median / row.cpu.median,
        'mean': reference.cpu.mean / row.cpu.mean,
        'p99': reference.cpu.p99 / row.cpu.p99,
    }


def reference_of(row: Row, bench_class: BenchClass, rows: Sequence[Row]) -> Row | None:
    """
    Return the row that another one is divided by.

    :param row: the row.
    :param bench_class: its class, which names the peer to beat.
    :param rows: all rows.
    """
    wanted = (row.bench_class, row.arm, bench_class.reference)
    found = (r for r in rows if (r.bench_class, r.arm, r.peer) == wanted and r.cpu is not None)
    return next(found, None)


def cells(row: Row, faster: dict[str, float] | None) -> list[str]:
    """
    Return a row as text, in the order of :data:`HEADER`.

    :param row: the row.
    :param faster: its speed-ups.
    """
    if row.cpu is None or row.wall is None:
        return [row.arm, row.peer, *[''] * (len(HEADER) - 3), row.note]
    ratios = [f'{value:.2f}' for value in faster.values()] if faster else ['-'] * 3
    return [
        *(row.arm, row.peer, str(row.samples)),
        *(f'{value:.1f}' for value in (row.cpu.median, row.cpu.mean, row.cpu.p95, row.cpu.p99)),
        *(f'{row.wall.median:.1f}', f'{row.success:.2f}', str(row.claimed_wrongly)),
        *(f'{row.worst_position:.1e}', f'{row.worst_orientation:.1e}'),
        *ratios,
        row.note,
    ]


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """
    Return a table that reads as text and as Markdown.

    :param header: the columns' names.
    :param lines: as many cells each.
    """
    widths = [max(len(line[column]) for line in (header, *lines)) for column in range(len(header))]

    def line(values: Sequence[str]) -> str:
        return markdown_row(v.rjust(width) for v, width in zip(values, widths, strict=True))

    rule = '|' + '|'.join('-' * (width + 1) + ':' for width in widths) + '|'
    return '\n'.join([line(header), rule, *(line(values) for values in lines)])


def class_table(bench_class: BenchClass, rows: Sequence[Row]) -> str:
    """
    Return the table of one class.

    :param bench_class: the class.
    :param rows: all rows.
    """
    own = [row for row in rows if row.bench_class == bench_class.name]
    return table(
        HEADER,
        [cells(row, speedups(row, reference_of(row, bench_class, rows))) for row in own],
    )


def write_json(path: Path, content: dict[str, Any]) -> None:
    """
    Write a result file.

    :param path: the file; its folder is made.
    :param content: values of JSON; NaN and infinity become null.
    """
    write_atomically(path, json.dumps(_without_nan(content), indent=2) + '\n')


def _without_nan(value: Any) -> Any:
    """Return a value with null for NaN and infinity, which JSON cannot hold."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def as_json(rows: Sequence[Row], classes: Sequence[BenchClass]) -> list[dict[str, Any]]:
    """
    Return all rows with their speed-ups.

    :param rows: all rows.
    :param classes: their classes.
    """
    by_name = {bench_class.name: bench_class for bench_class in classes}
    return [
        asdict(row) | {'faster': speedups(row, reference_of(row, by_name[row.bench_class], rows))}
        for row in rows
    ]
