"""Status and cause of a search without a solution, from the kernel's code and counters."""

import math

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidLimits, quote
from ssik_ros.kernels.search import state
from ssik_ros.problem.problem import Problem
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.search.settings import tip_tolerances

EVIDENCE = 100
"""If at least this many starts were made and all stalled, the cause is NOT_FOUND instead of SINGULAR or BUDGET."""


class SearchFailures:
    """Determines status and cause of failed searches of one solver, and the error for a joint without finite limits."""

    def __init__(self, problem: Problem, packed: FloatArray, tips: int) -> None:
        """
        Store problem and options of plain requests.

        :param problem: packed problem of the solver.
        :param packed: kernel options of plain requests.
        :param tips: number of links that have a target.
        """
        self._problem, self._packed, self._tips = problem, packed, tips

    def unsampled(self, variable: int) -> InvalidLimits:
        """
        Return the error about a prismatic joint without limits, for which random starts cannot be drawn.

        :param variable: index of the joint's velocity variable.
        """
        name = self._problem.joint_of_variable[variable]
        return InvalidLimits(
            f'The seed did not lead to a solution, and other starts cannot be drawn: joint {quote(name)} '
            'has no finite limits. Give it limits in the URDF or in the request.',
            joint=name,
        )

    def explain(
        self,
        code: int,
        counters: IntArray,
        targets: FloatArray,
        problem: Problem | None = None,
        options: FloatArray | None = None,
    ) -> tuple[IkStatus, Cause]:
        """
        Return (status, cause) of a search without a solution.

        The status is REFUSED for a malformed target or seed, otherwise UNSOLVED.

        :param code: final code of the search.
        :param counters: counters of the search.
        :param targets: (4, 4) or (4 t, 4) or (t, 4, 4) targets of the search.
        :param problem, options: problem and options of the search; None means the defaults of the solver.
        """
        if code == state.BAD_TARGET:
            return IkStatus.REFUSED, Cause.BAD_TARGET
        if code == state.BAD_STATE:
            return IkStatus.REFUSED, Cause.BAD_STATE
        if code == state.OUT_OF_REACH:
            return IkStatus.UNSOLVED, self._cause_of_proof(targets, problem, options)
        if counters[state.REFUSALS]:
            return IkStatus.UNSOLVED, Cause.VALIDATION
        if code in (state.DEADLINE, state.CANCELLED):
            return IkStatus.UNSOLVED, Cause.DEADLINE
        if counters[state.LIMITS_SEEN]:
            return IkStatus.UNSOLVED, Cause.LIMITS
        searches = counters[state.SEARCHES]
        if searches >= EVIDENCE and counters[state.STALLED] == searches:
            return IkStatus.UNSOLVED, Cause.NOT_FOUND
        is_singular = counters[state.SINGULAR_SEEN] and counters[state.SINGULAR_SEEN] == searches
        return IkStatus.UNSOLVED, Cause.SINGULAR if is_singular else Cause.BUDGET

    def _cause_of_proof(
        self, targets: FloatArray, problem: Problem | None, options: FloatArray | None
    ) -> Cause:
        """
        Return the cause of a pose that is proved to be out of reach.

        It is UNREACHABLE if the proof holds without limits of prismatic joints, else LIMITS.

        :param targets: targets of the search.
        :param problem, options: problem and options of the search; None means the defaults of the solver.
        """
        reaches = (self._problem if problem is None else problem).reaches
        if not reaches:
            return Cause.UNREACHABLE
        options = self._packed if options is None else options
        largest = tip_tolerances(options, self._problem.nv, self._tips).max(axis=1)
        norm = min(largest[state.NORM], math.sqrt(options[state.ERROR_SQUARED]))
        position, rotation = (float(min(norm, each)) for each in largest[1:])
        poses = np.reshape(targets, (-1, 4, 4))
        for target, reach in reaches:
            if reach is not None and reach.refuses(poses[target], position, rotation):
                return Cause.UNREACHABLE
        return Cause.LIMITS
