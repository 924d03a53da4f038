"""
Run the solvers of a benchmark one after another on the same requests: :class:`BenchmarkSession`.

All calls of a solver are made before its results are checked, so that the checks do not disturb the processor's caches
between calls. Garbage collection is off meanwhile, as in ``timeit``.
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import logging
from typing import Any

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.benchmark.calls import Call, describe_exception, RemoteSolver, time_calls
from ssik_ros.benchmark.cases import BenchmarkCases
from ssik_ros.benchmark.config import BenchmarkConfig, SolverEntry
from ssik_ros.benchmark.machine import describe_machine
from ssik_ros.benchmark.oracle import DEFAULT_TOLERANCE, GroupOracle
from ssik_ros.benchmark.published import published_for
from ssik_ros.benchmark.report import BenchmarkReport
from ssik_ros.benchmark.trials import RunStatus, SolverRun, TrialRecord, TrialVerdict
from ssik_ros.errors import SolverError, SsikError
from ssik_ros.problem.contract import IkSolver, SolveRequest
from ssik_ros.problem.solver_order import in_group_order, joint_order
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.solvers.registry import create_solver, make_options, solver_spec
from ssik_ros.value_class import dataclass

_LOGGER = logging.getLogger('ssik_ros.benchmark')

Progress = Callable[[str, int, int], None]
"""Called with the solver's label, the trials done and the trials to do."""
SolverMaker = Callable[[GroupKinematics, GroupOracle], IkSolver]
"""Returns the solver of an entry, such as a service."""


@dataclass(frozen=True, slots=True)
class BenchmarkSession:
    """A benchmark that is ready to run: robot, requests and solver parameters are loaded."""

    config: BenchmarkConfig
    description: str
    """Path of the robot description, or the topic that brought it."""
    oracle: GroupOracle
    kinematics: tuple[tuple[SolverEntry, GroupKinematics], ...]
    """Each solver with its name and parameters from the kinematics file."""
    cases: BenchmarkCases
    """The requests: goals and seeds."""
    goals_source: str
    """Text about the source of goals and seeds, for the report."""

    def run(
        self,
        progress: Progress | None = None,
        makers: Mapping[str, SolverMaker] | None = None,
    ) -> BenchmarkReport:
        """
        Run every solver on all requests, and return the report.

        A solver that cannot be made is in the report with the reason; an exception of a call is the verdict of its
        trial. Exceptions outside the timed call of a service pass through.

        :param progress: called with label, trials done, and trials in all: every ``ik_iteration_display_step`` trials,
            and after the last one. None for no reports.
        :param makers: functions that make a solver, by its label; other solvers are made in this process.
        """
        made = makers or {}
        runs = tuple(
            self._run_solver(entry, kinematics, progress, made.get(entry.name))
            for entry, kinematics in self.kinematics
        )
        return BenchmarkReport(
            config=self.config,
            robot=self.oracle.robot.name,
            description=self.description,
            goals_source=self.goals_source,
            machine=describe_machine(),
            runs=runs,
            published=published_for(self.config.robot_name, self.oracle.group),
        )

    def from_live_state(self, state: FloatArray) -> 'BenchmarkSession':
        """
        Return a copy in which all requests have the current state of the robot as their seed.

        :param state: (nq,) full state of the robot.
        """
        return dataclasses.replace(
            self,
            cases=self.cases.from_one_seed(state[self.oracle.group.idx_q]),
            goals_source=f'{self.goals_source}; each search starts at the live state instead',
        )

    def _run_solver(
        self,
        entry: SolverEntry,
        kinematics: GroupKinematics,
        progress: Progress | None,
        maker: SolverMaker | None,
    ) -> SolverRun:
        """
        Make a solver, call it for all requests, and return the checked trials.

        A solver of another package without ``maker``, and one that cannot be made, gets no trials but a reason.

        :param entry, kinematics: the solver and its parameters.
        :param maker: makes the solver; None for a solver of this package in this process.
        """
        requested = kinematics.requested_solver or kinematics.solver
        if maker is None and kinematics.is_foreign:
            reason = f"'{kinematics.requested_solver}' is not a solver of this package"
            return SolverRun(
                entry, RunStatus.NOT_INSTALLED, kinematics.requested_solver, reason=reason
            )
        try:
            options = _options(kinematics)
            solver = _make_solver(kinematics, self.oracle, maker or _make_own_solver)
            order = joint_order(self.oracle.group, solver)
        except SsikError as error:
            _LOGGER.warning("Solver '%s' (%s) failed: %s", entry.name, requested, error)
            if error.__cause__ is not None:
                _LOGGER.info('It failed here:', exc_info=error)
            return SolverRun(entry, RunStatus.FAILED, requested, reason=str(error))
        tolerance = float(options.get('target_tolerance', DEFAULT_TOLERANCE))
        calls = time_calls(solver, self._requests(order), self._on_call(entry, progress))
        return SolverRun(
            entry,
            RunStatus.RAN,
            requested,
            parameters=options,
            tolerance=tolerance,
            trials=self._check(calls, order, tolerance, kinematics.position_only),
            service=solver.service if isinstance(solver, RemoteSolver) else '',
        )

    def _requests(self, order: IntArray) -> list[SolveRequest]:
        """
        Return the requests for a solver, with seeds in its joint order.

        :param order: (n,) index in the group of each joint position of the solver.
        """
        timeout = self.config.ik_timeout
        return [
            SolveRequest(targets=targets.copy(), seed=seed[order], timeout=timeout)
            for targets, seed in zip(self.cases.targets, self.cases.seeds)
        ]

    def _on_call(self, entry: SolverEntry, progress: Progress | None) -> Callable[[int], None]:
        """
        Return a function of the number of calls so far, which reports the progress of a solver.

        It calls ``progress`` at every multiple of the display step and after the last call.
        """
        step, total = self.config.ik_iteration_display_step, len(self.cases)

        def report(done: int) -> None:
            if progress is not None and (done % step == 0 or done == total):
                progress(entry.name, done, total)

        return report

    def _check(
        self, calls: Sequence[Call], order: IntArray, tolerance: float, position_only: bool
    ) -> list[TrialRecord]:
        """
        Return a record for each call; the first solution that the solver claims is checked by independent kinematics.

        For a failure, the errors in the record are the ones of the solver's best state, NaN without such a state.

        :param order: (n,) index in the group of each joint position of the solver.
        :param tolerance: bound of the norm of position [m] and orientation error [rad].
        :param position_only: whether only position errors count.
        """
        records = []
        for index, call in enumerate(calls):
            result, vector = call.result, in_group_order(call.vector, order)
            check = self.oracle.verify(
                vector, self.cases.targets[index], tolerance, position_only=position_only
            )
            claim = result is not None and bool(result.solved)
            verdict = check.verdict if claim else TrialVerdict.NO_SOLUTION
            record = TrialRecord(
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
                seed_distance=self.oracle.joint_distance(vector, self.cases.seeds[index]),
                note=' '.join(call.note.split()),
                server_time_ns=call.server_time_ns,
            )
            records.append(record)
        return records


def _options(kinematics: GroupKinematics) -> Mapping[str, Any]:
    """
    Return the options of a solver by name, defaults included; empty for a solver of another package.

    :raises SsikError: for an unknown solver or a wrong parameter.
    """
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
    """
    Make a solver by ``maker`` and warm it up.

    :raises SsikError: if the solver cannot be made for the group; a SolverError for other exceptions of the warm-up.
    """
    solver = maker(kinematics, oracle)
    try:
        solver.warm_up()
    except SsikError:
        raise
    except Exception as error:
        raise SolverError(f'warm_up failed: {describe_exception(error)}') from error
    return solver
