"""Status and cause of a search without a solution, from the kernel's code and counters."""

import math

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidLimits, quote
from ssik_ros.kernels.search import causes, state
from ssik_ros.problem.problem import Problem
from ssik_ros.results import Cause, CAUSES, IkStatus
from ssik_ros.solvers.search.settings import tip_tolerances

MALFORMED = frozenset({state.BAD_TARGET, state.BAD_STATE})
"""Codes of a malformed target or seed."""


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
        beyond: Cause = Cause.LIMITS,
    ) -> tuple[IkStatus, Cause]:
        """
        Return (status, cause) of a search without a solution; :mod:`ssik_ros.kernels.search.causes` decides the cause.

        The status is REFUSED for a malformed target or seed, otherwise UNSOLVED.

        :param code: final code of the search.
        :param counters: counters of the search.
        :param targets: (4, 4) or (4 t, 4) or (t, 4, 4) targets of the search.
        :param problem, options: problem and options of the search; None means the defaults of the solver.
        :param beyond: cause if solutions were seen outside the limits: LIMITS or CONSISTENCY.
        """
        is_proved = code == state.OUT_OF_REACH and self.is_proved_without_slides(
            targets, problem, options
        )
        refusals = counters.item(state.REFUSALS)
        cause = causes.of_search(code, counters, refusals, is_proved, beyond)
        status = IkStatus.REFUSED if code in MALFORMED else IkStatus.UNSOLVED
        return status, CAUSES[cause]

    def is_proved_without_slides(
        self,
        targets: FloatArray,
        problem: Problem | None = None,
        options: FloatArray | None = None,
    ) -> bool:
        """
        Return whether targets that are proved to be out of reach stay so without limits of prismatic joints.

        :param targets: (4, 4) or (4 t, 4) or (t, 4, 4) targets that are proved to be out of reach.
        :param problem, options: problem and options of the search; None means the defaults of the solver.
        """
        reaches = (self._problem if problem is None else problem).reaches
        if not reaches:
            return True
        options = self._packed if options is None else options
        largest = tip_tolerances(options, self._problem.nv, self._tips).max(axis=1)
        norm = min(largest[state.NORM], math.sqrt(options[state.ERROR_SQUARED]))
        position, rotation = (float(min(norm, each)) for each in largest[1:])
        poses = np.reshape(targets, (-1, 4, 4))
        return any(
            reach is not None and reach.refuses(poses[target], position, rotation)
            for target, reach in reaches
        )
