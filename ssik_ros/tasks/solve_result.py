"""The result of a solve: success, reasons, errors of each task, and the joints that stopped at limits."""

from __future__ import annotations

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted
from ssik_ros.tasks.constants import Outcome, Reason, REASON_TEXT
from ssik_ros.tasks.joints import IkJoint
from ssik_ros.tasks.overlay import Overlay
from ssik_ros.tasks.plan import Plan
from ssik_ros.tasks.task_set import Task
from ssik_ros.tasks.world import TaskWorld

FAILED = int(Reason.NOT_PERFORMED | Reason.CANNOT_INVERT | Reason.NOT_WITHIN_TOLERANCE)
NOTHING: FloatArray = np.empty(0)


class SolveResult:
    """
    How a solve of task sets ended; it is true as a bool if every tip is within its precision.

    All errors belong to the joint values ``q`` after the solve. Without a solve, if it was not performed, they are 0.
    """

    __slots__ = ('_plan', '_snapshot', '_summary', 'overlays', 'q')

    def __init__(
        self,
        plan: Plan,
        summary: tuple[int, int, float, float],
        snapshot: FloatArray,
        q: FloatArray,
    ) -> None:
        """
        Store the numbers that the kernel returns; the properties are computed from them when they are read.

        :param plan: the solved task sets.
        :param summary: bits of :class:`Reason`, number of steps, largest linear [m] and angular [rad] error.
        :param snapshot: linear and angular error of each task, then the overshoot of each column at a limit; may be
            empty.
        :param q: (nq,) joint values after the solve.
        """
        self._plan = plan
        self._summary = summary
        self._snapshot = snapshot
        self.overlays: tuple[Overlay, ...] = ()
        """Overlays of all tasks, if ``debug`` asks for them."""
        self.q = q
        """Values of all joints of the environment after the solve."""

    def __repr__(self) -> str:
        """Return ``<SolveResult: ...>`` with the sentence of :meth:`describe`."""
        return f'<SolveResult: {self.describe()}>'

    def __bool__(self) -> bool:
        """Return :attr:`success`."""
        return self.success

    @property
    def success(self) -> bool:
        """Return whether every tip is within its precision; False if the solve was not performed or a step was not finite."""
        return not self._summary[0] & FAILED

    @property
    def iterations(self) -> int:
        """Return the number of steps."""
        return self._summary[1]

    @property
    def linear(self) -> float:
        """
        Return the largest distance of a tip from its target, measured only along constrained directions [m].

        It is 0 if the solve was not performed.
        """
        return self._summary[2]

    @property
    def angular(self) -> float:
        """
        Return the largest angle between a tip and its target, of the constrained rotations only [rad].

        It is 0 if the solve was not performed.
        """
        return self._summary[3]

    @property
    def reason(self) -> Reason:
        """Return the events of the solve, such as a joint at a limit, as bits of :class:`Reason`."""
        return Reason(self._summary[0])

    @property
    def outcome(self) -> Outcome:
        """Return NOT_PERFORMED, SUCCESS or FAIL, with the numbers that scripts of the simIK API expect."""
        if self._summary[0] & Reason.NOT_PERFORMED:
            return Outcome.NOT_PERFORMED
        return Outcome.SUCCESS if self.success else Outcome.FAIL

    @property
    def precision(self) -> tuple[float, float]:
        """Return ``linear`` [m] and ``angular`` [rad]."""
        return self.linear, self.angular

    @property
    def per_task(self) -> tuple[tuple[Task, float, float], ...]:
        """
        Return (task, remaining distance [m], remaining angle [rad]) of each task that was solved.

        Empty without a solve.
        """
        errors = self._snapshot[: self._error_count].reshape(-1, 2).tolist()
        return tuple(
            (task, linear, angular)
            for task, (linear, angular) in zip(self._plan.tasks, errors, strict=False)
        )

    @property
    def _error_count(self) -> int:
        """Return how many numbers of the snapshot are errors: two for each task. The overshoots follow."""
        return 2 * len(self._plan.tasks)

    @property
    def limit_hits(self) -> dict[IkJoint, float]:
        """
        Return the joints that stopped at a limit, with the overshoot of each [rad or m].

        The overshoot is how far the step would have passed the limit: positive at the upper, negative at the lower one.
        """
        overshoots: dict[IkJoint, float] = {}
        hits = self._snapshot[self._error_count :]
        column = 0
        for joint in self._plan.joints if len(hits) else ():
            if joint.columns == 1 and hits[column] != 0.0:
                overshoots[joint] = float(hits[column])
            column += joint.columns
        return overshoots

    def describe(self) -> str:
        """Return one sentence about success, steps, errors and reasons."""
        texts = [text for bit, text in REASON_TEXT.items() if self._summary[0] & bit]
        state = 'solved' if self.success else 'not solved'
        left = f'{self.linear:.3g} m and {self.angular:.3g} rad left'
        return f'{state} after {counted(self.iterations, "step")}, {left}' + ''.join(
            f'; {t}' for t in texts
        )


def not_performed(plan: Plan, world: TaskWorld) -> SolveResult:
    """
    Return the result of a solve that did not start.

    The cause is that no task set is enabled, or that an enabled one has no enabled task with a free joint.

    Its reasons are NOT_PERFORMED and NOT_WITHIN_TOLERANCE.
    """
    code = int(Reason.NOT_PERFORMED | Reason.NOT_WITHIN_TOLERANCE)
    return SolveResult(plan, (code, 0, 0.0, 0.0), NOTHING, world.q)
