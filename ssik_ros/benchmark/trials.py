"""Measurements: one record per trial, all records of a solver, and their data file."""

from collections.abc import Mapping, Sequence
import csv
from dataclasses import field
from enum import Enum
import io
from pathlib import Path
from typing import Any, NamedTuple

from ssik_ros.benchmark.config import SolverEntry
from ssik_ros.benchmark.harness import write_atomically
from ssik_ros.value_class import dataclass


class TrialVerdict(str, Enum):
    """The verdict of the independent check of a result."""

    VERIFIED = 'verified'
    NO_SOLUTION = 'no solution'
    """The solver itself reports that it found nothing."""
    NOT_FINITE = 'not finite'
    """The solver claims success, but the vector has the wrong size or is not finite."""
    OUTSIDE_LIMITS = 'outside limits'
    OUTSIDE_TOLERANCE = 'outside tolerance'
    EXCEPTION = 'exception'
    """The solver raised an exception."""


class RunStatus(str, Enum):
    """The state of a solver in a benchmark."""

    RAN = 'ran'
    NOT_INSTALLED = 'not installed'
    """Its kinematics file names a solver that this package does not have."""
    FAILED = 'failed'
    """It could not be made or warmed up for this group."""


class TrialRecord(NamedTuple):
    """One solve, timed and checked."""

    trial: int
    """Counted from one."""
    solver_claim: bool
    verdict: TrialVerdict
    solve_time_ns: int
    cpu_time_ns: int
    position_error: float
    """Largest distance of a tip from its target, by independent FK [m]."""
    orientation_error: float
    """Largest rotation left at a tip, by independent FK [rad]."""
    within_limits: bool
    cause: str
    iterations: int
    searches: int
    clock_ended: bool
    seed_distance: float
    """Norm of the joint distance to the seed; joints without limits modulo 2 pi."""
    note: str = ''
    """Text of an exception, or the server's text about a failure."""
    server_time_ns: int | None = None
    """Time within the solver, if a service reports it."""

    @property
    def found_ik(self) -> bool:
        """Return whether the independent check accepts the solution."""
        return self.verdict is TrialVerdict.VERIFIED

    @property
    def solve_time(self) -> int:
        """Return the wall time of the call in whole microseconds."""
        return self.solve_time_ns // 1000


@dataclass(frozen=True, slots=True)
class SolverRun:
    """Everything that one solver did in one benchmark."""

    entry: SolverEntry
    status: RunStatus
    requested_solver: str
    """The name in the kinematics file."""
    reason: str = ''
    """Why it did not run."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The solver's options, defaults included."""
    tolerance: float = 0.0
    """Norm of position and orientation error that counts as reached."""
    trials: Sequence[TrialRecord] = ()
    service: str = ''
    """The service; empty for a solver in this process."""

    @property
    def name(self) -> str:
        """Return the solver's label."""
        return self.entry.name

    @property
    def title(self) -> str:
        """Return the label, with the name of the solver if the label differs."""
        if self.status is not RunStatus.RAN or _plain(self.name) in _plain(self.requested_solver):
            return self.name
        return f'{self.name} ({self.requested_solver})'


def _plain(name: str) -> str:
    return ''.join(letter for letter in name.lower() if letter.isalnum())


_OF_IK_BENCHMARKING = ('trial', 'found_ik', 'solve_time', 'position_error', 'orientation_error')
CSV_COLUMNS = tuple(dict.fromkeys((*_OF_IK_BENCHMARKING, *TrialRecord._fields)))
"""The five columns of ik_benchmarking, then ours."""


def write_csv(run: SolverRun, path: Path) -> None:
    """
    Write the data file of a solver in place of an older one.

    :param run: the solver's trials.
    :param path: the file.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator='\n')
    writer.writerow(CSV_COLUMNS)
    writer.writerows([_cell(getattr(trial, name)) for name in CSV_COLUMNS] for trial in run.trials)
    write_atomically(path, text.getvalue())


def _cell(value: Any) -> str:
    """Return a value as ik_benchmarking writes it."""
    if value is None:
        return ''
    if isinstance(value, bool):
        return 'true' if value else 'false'
    return f'{value:.9g}' if isinstance(value, float) else str(getattr(value, 'value', value))
