"""
Runs the solvers of a benchmark one after another on the same questions.

All calls of a solver come first and their checks after them, so that checking does not disturb caches between
calls; garbage collection is off in between, as ``timeit`` has it.
"""

from collections.abc import Callable, Mapping
import dataclasses
import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.benchmark.calls import Call, RemoteSolver, time_calls
from ssik_ros.benchmark.cases import BenchmarkCases
from ssik_ros.benchmark.config import BenchmarkConfig, SolverEntry
from ssik_ros.benchmark.oracle import GroupOracle
from ssik_ros.benchmark.trials import RunStatus, SolverRun, TrialRecord, TrialVerdict
from ssik_ros.errors import SolverError, SsikError
from ssik_ros.problem.contract import IkSolver, SolveRequest
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.solvers.registry import create_solver, make_options, solver_spec
from ssik_ros.value_class import dataclass

_LOGGER = logging.getLogger('ssik_ros.benchmark')

Progress = Callable[[str, int, int], None]
"""Called with the solver's label, the trials done and the trials to do."""
SolverMaker = Callable[[GroupKinematics, GroupOracle], IkSolver]
"""Returns the solver that answers for an entry, such as one behind a service."""

DEFAULT_TOLERANCE = 0.001
"""Used for a solver whose options have no ``target_tolerance``."""


def run_solver(
    entry: SolverEntry,
    kinematics: GroupKinematics,
    oracle: GroupOracle,
    cases: BenchmarkCases,
    config: BenchmarkConfig,
    progress: Progress | None = None,
    maker: SolverMaker | None = None,
) -> SolverRun:
    """
    Return what one solver does with all questions.

    :param entry: the solver's label and file.
    :param kinematics: what the file says about the group.
    :param oracle: the group and its judge.
    :param cases: the questions.
    :param config: budget and display step.
    :param progress: told every ``ik_iteration_display_step`` trials.
    :param maker: makes what answers for this solver; None makes the solver in this process.
    :returns: the run; a solver that is not ours, or that cannot be made, has no trials and a reason.
    """
    if maker is None and kinematics.is_foreign:
        reason = f"'{kinematics.requested_solver}' is not a solver of this package"
        return SolverRun(
            entry, RunStatus.NOT_INSTALLED, kinematics.requested_solver, reason=reason
        )
    requested = kinematics.requested_solver or kinematics.solver
    try:
        options = _options(kinematics)
        solver = _make_solver(kinematics, oracle, maker or _make_own_solver)
        order = joint_order(solver, oracle)
    except SsikError as error:
        _LOGGER.warning("Solver '%s' (%s) failed: %s", entry.name, requested, error)
        if error.__cause__ is not None:
            _LOGGER.info('It failed here:', exc_info=error)
        return SolverRun(entry, RunStatus.FAILED, requested, reason=str(error))
    tolerance = float(options.get('target_tolerance', DEFAULT_TOLERANCE))
    judge = _Judge(oracle, cases, order, tolerance, kinematics.position_only)
    requests = _requests(cases, order, config)
    calls = time_calls(solver, requests, _progress_of(entry, config, len(requests), progress))
    return SolverRun(
        entry,
        RunStatus.RAN,
        requested,
        parameters=options,
        tolerance=tolerance,
        trials=[judge.record(index, call) for index, call in enumerate(calls)],
        service=solver.service if isinstance(solver, RemoteSolver) else '',
    )


def _options(kinematics: GroupKinematics) -> Mapping[str, Any]:
    """Return the options of a solver of ours, defaults included; nothing is known of others."""
    if kinematics.is_foreign:
        return {}
    return dataclasses.asdict(make_options(solver_spec(kinematics.solver), kinematics.parameters))


def _make_own_solver(kinematics: GroupKinematics, oracle: GroupOracle) -> IkSolver:
    return create_solver(
        kinematics.solver,
        oracle.robot,
        oracle.group,
        kinematics.parameters,
        position_only=kinematics.position_only,
    )


def _make_solver(kinematics: GroupKinematics, oracle: GroupOracle, maker: SolverMaker) -> IkSolver:
    """Return the warm solver."""
    solver = maker(kinematics, oracle)
    try:
        solver.warm_up()
    except SsikError:
        raise
    except Exception as error:
        raise SolverError(f'warm_up failed: {type(error).__name__}: {error}') from error
    return solver


def joint_order(solver: IkSolver, oracle: GroupOracle) -> NDArray[np.int64]:
    """
    Return the index (n,) in the group of each position of the solver's vectors.

    :param solver: the solver.
    :param oracle: the group.
    :raises SolverError: when the solver answers for other joints or frames than the group's.
    """
    group = oracle.group
    theirs = (solver.base_frame, tuple(solver.tip_frames))
    ours = (group.base_link, tuple(group.tips))
    if theirs != ours:
        raise SolverError(
            f'It answers for base and tips {theirs}, the benchmark asks about {ours}.'
        )
    names = tuple(solver.joint_names)
    if names == group.joint_names:
        return np.arange(group.variable_count)
    if sorted(names) != sorted(group.variable_names):
        raise SolverError(f'It answers for joints {names}, not for {group.joint_names}.')
    return np.array([group.variable_names.index(name) for name in names])


def _requests(
    cases: BenchmarkCases, order: NDArray[np.int64], config: BenchmarkConfig
) -> list[SolveRequest]:
    return [
        SolveRequest(targets=targets.copy(), seed=seed[order], timeout=config.ik_timeout)
        for targets, seed in zip(cases.targets, cases.seeds)
    ]


def _progress_of(
    entry: SolverEntry, config: BenchmarkConfig, total: int, progress: Progress | None
) -> Callable[[int], None]:
    """Return what is told the number of calls, and passes on every display step and the end."""
    step = config.ik_iteration_display_step

    def tell(done: int) -> None:
        if progress is not None and (done % step == 0 or done == total):
            progress(entry.name, done, total)

    return tell


@dataclass(frozen=True, slots=True)
class _Judge:
    """Turns calls into records by the independent check."""

    oracle: GroupOracle
    cases: BenchmarkCases
    order: NDArray[np.int64]
    tolerance: float
    position_only: bool

    def record(self, index: int, call: Call) -> TrialRecord:
        """Return the record of one call."""
        oracle, result = self.oracle, call.result
        answer = in_group_order(call.answer, self.order)
        check = oracle.verify(
            answer, self.cases.targets[index], self.tolerance, position_only=self.position_only
        )
        claim = result is not None and bool(result.solved)
        verdict = check.verdict if claim else TrialVerdict.NO_ANSWER
        return TrialRecord(
            trial=index + 1,
            verdict=TrialVerdict.EXCEPTION if call.raised else verdict,
            solve_time_ns=call.wall_ns,
            cpu_time_ns=call.cpu_ns,
            position_error=check.position_error,
            orientation_error=check.orientation_error,
            solver_claim=claim,
            within_limits=check.within_limits,
            cause=result.cause.name if result is not None else '',
            iterations=int(result.iterations) if result is not None else 0,
            searches=int(result.searches) if result is not None else 0,
            clock_ended=result is not None and bool(result.clock_ended),
            seed_distance=oracle.joint_distance(answer, self.cases.seeds[index]),
            note=' '.join(call.note.split()),
            server_time_ns=call.server_time_ns,
        )


def in_group_order(answer: FloatArray, order: NDArray[np.int64]) -> FloatArray:
    """
    Return a solver's vector in the group's order; one of the wrong size as it is.

    :param answer: the vector.
    :param order: the result of :func:`joint_order`.
    """
    if answer.shape != order.shape:
        return answer
    ordered = np.empty_like(answer)
    ordered[order] = answer
    return ordered
