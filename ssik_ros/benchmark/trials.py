"""The measurements of a benchmark: a record for each trial, all trials of a solver, and their CSV file."""

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
    """Verdict on a solver's result by independent kinematics, or its own report of a failure."""

    VERIFIED = 'verified'
    NO_SOLUTION = 'no solution'
    """The solver itself reports that it found no solution."""
    NOT_FINITE = 'not finite'
    """The solver claims success, but the vector has the wrong size or is not finite."""
    OUTSIDE_LIMITS = 'outside limits'
    """A claimed solution is outside the joint limits, perhaps also outside the tolerance."""
    OUTSIDE_TOLERANCE = 'outside tolerance'
    EXCEPTION = 'exception'
    """The solver raised an exception or returned another type than IkResult."""


class RunStatus(str, Enum):
    """Whether a solver ran in a benchmark, and if not, why."""

    RAN = 'ran'
    NOT_INSTALLED = 'not installed'
    """Its kinematics file names a solver that this package does not have."""
    FAILED = 'failed'
    """The solver has a wrong parameter, or could not be made or warmed up for this group."""


class TrialRecord(NamedTuple):
    """A trial of a benchmark: one call of a solver, with its times, its result and the verdict of the independent check."""

    trial: int
    """Number of the trial, from 1."""
    solver_claim: bool
    """Whether the solver calls its result solved."""
    verdict: TrialVerdict
    """Verdict of the independent check on a claimed solution; else NO_SOLUTION or EXCEPTION."""
    solve_time_ns: int
    """Wall time of the call [ns]."""
    cpu_time_ns: int
    """Processor time of the call [ns]."""
    position_error: float
    """Largest distance of a tip from its target, by independent FK at the solution or best state [m]; else NaN."""
    orientation_error: float
    """Largest orientation error of a tip, by independent FK at the same state [rad]; NaN without a state."""
    within_limits: bool
    """Whether the solution or best state is within the joint limits."""
    cause: str
    """Name of the cause that the solver gives; empty without a result."""
    iterations: int
    searches: int
    clock_ended: bool
    """Whether the time budget ended the search."""
    seed_distance: float
    """Norm of the joint differences from the seed [rad or m]; continuous joints are compared modulo 2 pi."""
    note: str = ''
    """Text of an exception, or the server's text about a failure."""
    server_time_ns: int | None = None
    """Time in the solver [ns], if a service reports it; else None."""

    @property
    def found_ik(self) -> bool:
        """Return whether the solver claims a solution that the independent check accepts."""
        return self.verdict is TrialVerdict.VERIFIED

    @property
    def solve_time(self) -> int:
        """Return the wall time of the call in whole microseconds."""
        return self.solve_time_ns // 1000


@dataclass(frozen=True, slots=True)
class SolverRun:
    """All trials of one solver in one benchmark, or why it did not run."""

    entry: SolverEntry
    status: RunStatus
    requested_solver: str
    """The name in the kinematics file."""
    reason: str = ''
    """Why it did not run; empty if it ran."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The solver's options, defaults included."""
    tolerance: float = 0.0
    """Largest norm of position [m] and orientation [rad] error of a verified solution."""
    trials: Sequence[TrialRecord] = ()
    """A record for each request, in the order of the requests; empty if it did not run."""
    service: str = ''
    """Name of the service; empty for a solver in this process."""

    @property
    def name(self) -> str:
        """Return the label of the solver."""
        return self.entry.name

    @property
    def title(self) -> str:
        """
        Return the label of the solver, followed by the requested solver in brackets.

        The brackets are left out for a solver that did not run, and if the requested name contains the label. Upper
        case and other characters than letters and digits do not count.
        """
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
    Write the trials of a solver to a CSV file, one row each; an older file is replaced.

    :param run: the trials of the solver.
    :param path: the file.
    :raises InvalidOption: if the file cannot be written.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator='\n')
    writer.writerow(CSV_COLUMNS)
    writer.writerows([_cell(getattr(trial, name)) for name in CSV_COLUMNS] for trial in run.trials)
    write_atomically(path, text.getvalue())


def _cell(value: Any) -> str:
    """
    Return a value as the text of a CSV cell.

    It is empty for None, ``true`` or ``false`` for a bool, nine significant digits for a float, and the value of an
    enum.
    """
    if value is None:
        return ''
    if isinstance(value, bool):
        return 'true' if value else 'false'
    return f'{value:.9g}' if isinstance(value, float) else str(getattr(value, 'value', value))
