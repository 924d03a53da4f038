"""Statistics over the trials of one solver, for comparing solvers."""

from collections.abc import Sequence

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.benchmark.harness import mean, percentile
from ssik_ros.benchmark.trials import SolverRun, TrialRecord, TrialVerdict
from ssik_ros.value_class import dataclass


@dataclass(frozen=True, slots=True)
class RunSummary:
    """
    Statistics over the trials of one solver in a benchmark; times in microseconds.

    Errors [m], [rad] are over trials with a verified solution; times, iterations and searches are over all trials.
    Without such trials they are None.
    """

    samples: int
    """Number of trials."""
    found: int
    """Number of trials with a verified solution."""
    claimed: int
    """Number of results that the solver itself calls solved."""
    false_claims: int
    """Number of claims that the independent check refuses."""
    exceptions: int
    """Number of trials in which the solver raised an exception or returned another type than IkResult."""
    success_rate: float
    """``found / samples``, 0 to 1; 0 without trials."""
    mean_us: float | None
    """Mean over all trials, as ik_benchmarking reports it."""
    mean_found_us: float | None
    """Mean over trials with a verified solution."""
    median_us: float | None
    p95_us: float | None
    p99_us: float | None
    max_us: float | None
    mean_cpu_us: float | None
    worst_position_error: float | None
    """Over verified solutions [m]."""
    worst_orientation_error: float | None
    """Over verified solutions [rad]."""
    mean_position_error: float | None
    mean_orientation_error: float | None
    mean_iterations: float | None
    mean_searches: float | None
    mean_seed_distance: float | None
    """Mean norm of the joint differences from the seed, over verified solutions [rad or m]."""
    clock_ended: int
    """Number of trials that the wall clock ended; with 0, the speed of the machine did not change the results."""
    server_mean_us: float | None
    """
    Mean time in the solver, as the server reports it; other times are then round trips.

    None without a server, or if it reports no time.
    """
    server_median_us: float | None
    server_p99_us: float | None


def summarise(run: SolverRun) -> RunSummary:
    """
    Return statistics over the trials of one solver.

    :param run: the trials; a solver that did not run has none.
    """
    trials = run.trials
    verified = [trial for trial in trials if trial.found_ik]
    times = np.array([trial.solve_time_ns for trial in trials]) / 1e3
    server_times = _server_times(trials)
    claimed = sum(trial.solver_claim for trial in trials)
    return RunSummary(
        samples=len(trials),
        found=len(verified),
        claimed=claimed,
        false_claims=sum(trial.solver_claim and not trial.found_ik for trial in trials),
        exceptions=sum(trial.verdict is TrialVerdict.EXCEPTION for trial in trials),
        success_rate=len(verified) / len(trials) if trials else 0.0,
        mean_us=mean(times),
        mean_found_us=mean(np.array([trial.solve_time_ns for trial in verified]) / 1e3),
        median_us=percentile(times, 50),
        p95_us=percentile(times, 95),
        p99_us=percentile(times, 99),
        max_us=percentile(times, 100),
        mean_cpu_us=mean(np.array([trial.cpu_time_ns for trial in trials]) / 1e3),
        worst_position_error=percentile(_column(verified, 'position_error'), 100),
        worst_orientation_error=percentile(_column(verified, 'orientation_error'), 100),
        mean_position_error=mean(_column(verified, 'position_error')),
        mean_orientation_error=mean(_column(verified, 'orientation_error')),
        mean_iterations=mean(_column(trials, 'iterations')),
        mean_searches=mean(_column(trials, 'searches')),
        mean_seed_distance=mean(_column(verified, 'seed_distance')),
        clock_ended=sum(trial.clock_ended for trial in trials),
        server_mean_us=mean(server_times),
        server_median_us=percentile(server_times, 50),
        server_p99_us=percentile(server_times, 99),
    )


def _server_times(trials: Sequence[TrialRecord]) -> FloatArray:
    """Return the times (k,) [us] that a server reported; responses without a time are left out."""
    reported = [trial.server_time_ns for trial in trials if trial.server_time_ns is not None]
    return np.array(reported, dtype=np.float64) / 1e3


def _column(trials: Sequence[TrialRecord], name: str) -> FloatArray:
    return np.array([getattr(trial, name) for trial in trials], dtype=np.float64)
