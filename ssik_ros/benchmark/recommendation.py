"""
Choose the solver to write into a kinematics.yaml after a trial, with reasons.

Solvers with a wrong solution are left out. Of the others, only those count that reached nearly as many poses as the
best solver. They may lack one pose, or two in a thousand. The fastest of these is recommended. ``ssik_ros/Auto``, which
chooses a method for each request, is recommended instead if it takes little more time.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import yaml

from ssik_ros.benchmark.comparison import CheckedResult, Comparison, Entrant, Kind, MOST_SOLUTIONS
from ssik_ros.benchmark.harness import mean, percentile
from ssik_ros.benchmark.trials import TrialVerdict
from ssik_ros.errors import percent
from ssik_ros.solvers.registry import DEFAULT_SOLVER
from ssik_ros.value_class import dataclass

REACHABLE = (Kind.ANYWHERE, Kind.NEAR)
"""The kinds of requests that decide."""
FORGIVEN = 0.002
"""Share of poses that a solver may reach less than the best one."""
LITTLE_MORE = 1.2
"""Largest ratio of times for which ``ssik_ros/Auto`` is recommended; two trials differ by a tenth."""
OUTLIERS = 0.05
"""Share of the slowest calls that the compared time ignores: other processes cause them."""
MANY_MORE = 1.2
"""The report mentions a ratio of numbers of solutions above this."""


@dataclass(frozen=True, slots=True)
class Figures:
    """
    Statistics of one solver over the requests of one kind: numbers, times and failures.

    ``count`` is the number of requests. ``verified`` is the number of them with solutions of which all are correct.
    Means and percentiles of times [us] are None without requests.
    """

    count: int
    verified: int
    wrong: int
    """Number of requests with a solution that the independent check refuses."""
    mean_us: float | None
    median_us: float | None
    p95_us: float | None
    p99_us: float | None
    typical_us: float | None
    """Mean time without the slowest twentieth of the calls [us]."""
    solutions: float | None
    """Mean number of correct solutions of a request; None without requests."""
    seed_distance: float | None
    """
    Mean over verified requests: norm of the joint differences between first solution and seed [rad or m].

    None without a verified request.
    """
    causes: Mapping[str, float]
    """Share of all requests, 0 to 1, that the solver failed with a cause, by cause; the most frequent cause first."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The name of the recommended solver, and the reasons as sentences."""

    solver: str
    reasons: tuple[str, ...]


def figures_of(results: Sequence[CheckedResult]) -> Figures:
    """
    Return statistics of a solver's results for one kind of request.

    :param results: the checked results of this kind.
    """
    times = np.sort([result.time_us for result in results])
    good = [result for result in results if result.verdict is TrialVerdict.VERIFIED]
    none = [result for result in results if result.verdict is TrialVerdict.NO_SOLUTION]
    causes = Counter(result.cause for result in none).most_common()
    usual = times[: max(1, round(len(times) * (1.0 - OUTLIERS)))]
    return Figures(
        count=len(results),
        verified=len(good),
        wrong=len(results) - len(good) - len(none),
        mean_us=mean(times),
        median_us=percentile(times, 50),
        p95_us=percentile(times, 95),
        p99_us=percentile(times, 99),
        typical_us=mean(usual),
        solutions=mean([result.solutions for result in results]),
        seed_distance=mean([result.seed_distance for result in good]),
        causes={cause: count / len(results) for cause, count in causes},
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A solver of a trial with its statistics for each kind of request, to be compared with others."""

    name: str
    kinds: Mapping[Kind, Figures]

    @property
    def count(self) -> int:
        return sum(self.kinds[kind].count for kind in REACHABLE)

    @property
    def verified(self) -> int:
        return sum(self.kinds[kind].verified for kind in REACHABLE)

    @property
    def wrong(self) -> int:
        return sum(figures.wrong for figures in self.kinds.values())

    @property
    def time_us(self) -> float:
        """Return the time by which solvers are compared: the mean over the kinds ANYWHERE and NEAR, without outliers [us]."""
        times = [self.kinds[kind].typical_us for kind in REACHABLE if self.kinds[kind].count]
        return float(np.mean([time for time in times if time is not None]))


def _candidate(entrant: Entrant) -> _Candidate:
    figures = {kind: figures_of(results) for kind, results in entrant.results.items()}
    return _Candidate(entrant.name, figures)


def recommend(comparison: Comparison) -> Recommendation | None:
    """
    Return the recommended solver with reasons, by the rule that the module describes.

    None if no solver took part, or if every solver returned a wrong solution or reached no pose.

    :param comparison: the results of a trial.
    """
    tried = [_candidate(entrant) for entrant in comparison.running]
    honest = [one for one in tried if not one.wrong and one.verified]
    if not honest:
        return None
    best = max(one.verified for one in honest)
    forgiven = max(1.0, FORGIVEN * honest[0].count)
    able = sorted(
        (one for one in honest if best - one.verified <= forgiven), key=lambda one: one.time_us
    )
    chosen = next(
        (
            one
            for one in able
            if one.name == DEFAULT_SOLVER and one.time_us <= LITTLE_MORE * able[0].time_us
        ),
        able[0],
    )
    reasons = [_say_reach(chosen, best), _say_time(chosen, able)]
    reasons += _say_out_of_reach(chosen) + _say_several(chosen, honest)
    reasons += [_say_wrong(one) for one in tried if one.wrong]
    return Recommendation(chosen.name, tuple(reasons))


def _say_reach(chosen: _Candidate, best: int) -> str:
    """
    Return a sentence about how many reachable poses the recommended solver reached.

    :param best: largest number that any solver without wrong solutions reached.
    """
    share = percent(chosen.verified / chosen.count)
    more = 'no solver reached more' if chosen.verified == best else f'the best one reached {best}'
    return f'It reached {chosen.verified} of {chosen.count} reachable poses ({share}); {more}.'


def _say_time(chosen: _Candidate, able: Sequence[_Candidate]) -> str:
    """
    Return a sentence that compares the time of the recommended solver with others.

    :param able: the solvers that reached nearly as many poses as the best, the fastest first.
    """
    took = f'{chosen.time_us:.3g} us a pose'
    if len(able) == 1:
        return f'It takes {took}; no other solver reached as many.'
    if chosen is able[0]:
        return f'It is the fastest of those: {took}; next is {able[1].name} with {able[1].time_us:.3g} us.'
    return (
        f'It takes {took}, hardly more than the fastest of those ({able[0].name}, {able[0].time_us:.3g} us), and '
        'chooses anew for every request.'
    )


def _say_out_of_reach(chosen: _Candidate) -> list[str]:
    """
    Return a list with a sentence about poses out of reach: the recommended solver's median time and most frequent cause.

    The list is empty if there were no such poses.
    """
    figures = chosen.kinds[Kind.OUT_OF_REACH]
    if not figures.causes:
        return []
    cause = next(iter(figures.causes))
    return [
        f'A pose out of reach takes it {figures.median_us:.3g} us (median); it says {cause} for '
        f'{percent(figures.causes[cause])} of them.'
    ]


def _say_several(chosen: _Candidate, honest: Sequence[_Candidate]) -> list[str]:
    """
    Return a list with a sentence about the solver that finds the most solutions for a pose.

    The list is empty if the recommended solver finds nearly as many, or if there were no such requests.

    :param honest: the solvers without wrong solutions.
    """
    mean_count = chosen.kinds[Kind.SEVERAL].solutions
    pairs = [(one.kinds[Kind.SEVERAL].solutions or 0.0, one) for one in honest]
    most, other = max(pairs, key=lambda pair: pair[0])
    if mean_count is None or other is chosen or most <= MANY_MORE * mean_count:
        return []
    return [
        f'Where up to {MOST_SOLUTIONS} solutions are wanted, {other.name} finds more: {most:.1f} instead of '
        f'{mean_count:.1f}.'
    ]


def _say_wrong(one: _Candidate) -> str:
    """Return a sentence that a solver is left out because some of its results are wrong."""
    return f'{one.name} is left out: it called {one.wrong} results solved that do not hold.'


def kinematics_snippet(group: str, solver: str, timeout: float) -> str:
    """
    Return the YAML text of a kinematics.yaml that selects a solver for one group.

    :param group: name of the group.
    :param solver: name of the solver.
    :param timeout: time limit of requests that do not give a time limit themselves [s].
    """
    entry = {'kinematics_solver': solver, 'kinematics_solver_timeout': timeout}
    return str(yaml.safe_dump({group: entry}, sort_keys=False))
