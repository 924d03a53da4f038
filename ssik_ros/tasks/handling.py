"""Handling of task sets from Python: the result, and solves in which a Python function has a say in every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TYPE_CHECKING

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.tasks import handling, packing
from ssik_ros.tasks.constants import Outcome, Reason, REASON_TEXT, TaskSetFlag
from ssik_ros.tasks.jacobian_callback import combine
from ssik_ros.tasks.joints import Joint
from ssik_ros.tasks.plan import make_numbers, Plan
from ssik_ros.tasks.task import Task
from ssik_ros.tasks.world import World

if TYPE_CHECKING:
    from ssik_ros.tasks.overlay import Overlay

Callback = Callable[[Any], Mapping[str, Any] | None]
FAILED = int(Reason.NOT_PERFORMED | Reason.CANNOT_INVERT | Reason.NOT_WITHIN_TOLERANCE)
ENDS = Reason.CANNOT_INVERT | Reason.INVALID_CALLBACK_DATA
NOTHING: FloatArray = np.empty(0)


class SolveResult:
    """What a solve did; numbers belong to the joint values that it left."""

    __slots__ = ('_answer', '_overlays', '_plan', '_snapshot', 'q')

    def __init__(
        self,
        plan: Plan,
        answer: tuple[int, int, float, float],
        snapshot: FloatArray,
        q: FloatArray,
    ) -> None:
        """
        Keep the numbers; everything else is worked out on demand.

        :param answer: reason bits, steps, largest linear and angular error.
        :param snapshot: errors of all tasks, then limit hits of all columns.
        """
        self._plan = plan
        self._answer = answer
        self._snapshot = snapshot
        self.q = q
        """Values of all joints of the environment after the solve."""

    def __repr__(self) -> str:
        """Return the sentence of :meth:`describe`."""
        return f'<SolveResult: {self.describe()}>'

    def __bool__(self) -> bool:
        """Return whether the solve succeeded."""
        return self.success

    @property
    def success(self) -> bool:
        """Return whether every tip is within its precision."""
        return not self._answer[0] & FAILED

    @property
    def iterations(self) -> int:
        """Return how many steps were taken."""
        return self._answer[1]

    @property
    def linear(self) -> float:
        """Return the largest distance left at any tip, over its selected rows [m]."""
        return self._answer[2]

    @property
    def angular(self) -> float:
        """Return the largest angle left at any tip [rad]."""
        return self._answer[3]

    @property
    def overlays(self) -> tuple[Overlay, ...]:
        """Return the overlays that ``debug`` asked for."""
        return getattr(self, '_overlays', ())

    def with_overlays(self, overlays: tuple[Overlay, ...]) -> SolveResult:
        """Keep overlays, and return the result."""
        self._overlays = overlays
        return self

    @property
    def reason(self) -> Reason:
        """Return what happened, as bits."""
        return Reason(self._answer[0])

    @property
    def outcome(self) -> Outcome:
        """Return the result as ported scripts know it."""
        if self._answer[0] & Reason.NOT_PERFORMED:
            return Outcome.NOT_PERFORMED
        return Outcome.SUCCESS if self.success else Outcome.FAIL

    @property
    def precision(self) -> tuple[float, float]:
        """Return the largest distance and angle left."""
        return self.linear, self.angular

    @property
    def per_task(self) -> tuple[tuple[Task, float, float], ...]:
        """Return each task with its distance [m] and angle [rad]."""
        errors = self._snapshot[: 2 * len(self._plan.tasks)].reshape(-1, 2).tolist()
        return tuple(
            (task, linear, angular)
            for task, (linear, angular) in zip(self._plan.tasks, errors, strict=False)
        )

    @property
    def limit_hits(self) -> dict[Joint, float]:
        """Return the joints that stopped at a limit, and by how much they would have gone beyond, with sign."""
        found: dict[Joint, float] = {}
        hits = self._snapshot[2 * len(self._plan.tasks) :]
        column = 0
        for joint in self._plan.joints if len(hits) else ():
            if joint.columns == 1 and hits[column] != 0.0:
                found[joint] = float(hits[column])
            column += joint.columns
        return found

    def describe(self) -> str:
        """Return one sentence that says what happened."""
        texts = [text for bit, text in REASON_TEXT.items() if self._answer[0] & bit]
        state = 'solved' if self.success else 'not solved'
        left = f'{self.linear:.3g} m and {self.angular:.3g} rad left'
        return f'{state} after {counted(self.iterations, "step")}, {left}' + ''.join(
            f'; {t}' for t in texts
        )


def not_performed(plan: Plan, world: World) -> SolveResult:
    """Return the result of a solve that could not be started."""
    code = int(Reason.NOT_PERFORMED | Reason.NOT_WITHIN_TOLERANCE)
    return SolveResult(plan, (code, 0, 0.0, 0.0), NOTHING, world.q)


def write_rates(plan: Plan, values: FloatArray) -> None:
    """Write the derivatives of joints that depend on others through functions, at some joint values."""
    for node, joint in plan.slaves:
        rate, item = 1.0, joint
        while item.dependency is not None:
            master = item.dependency.master
            rate *= item.dependency.rate(item, float(values[master.place_in_values]))
            item = master
        plan.views.node_f[node, layout.NODE_RATE] = rate


def evaluate(
    plan: Plan, world: World, values: FloatArray, poses: FloatArray | None = None
) -> tuple[bool, float, float]:
    """
    Write errors and rows at some joint values.

    :param poses: local poses of all objects; None for those of the world.
    :returns: whether all is within precision, largest linear and angular error.
    """
    write_rates(plan, values)
    table = world.poses if poses is None else poses
    numbers = make_numbers(handling.EVALUATE, 0)
    answer = handling.run(plan.ints, plan.reals, plan.work, table, values, numbers)
    return bool(answer[0]), answer[2], answer[3]


def take_step(plan: Plan, world: World, values: FloatArray) -> int:
    """Take one step for the rows of :func:`evaluate`; return reason bits."""
    numbers = make_numbers(handling.STEP, 0)
    reason = handling.run(plan.ints, plan.reals, plan.work, world.poses, values, numbers)[0]
    return int(reason)


def protect(plan: Plan, world: World, values: FloatArray) -> None:
    """Bring the joints, moved by a step, to where no task set above lost by those below."""
    numbers = make_numbers(handling.PROTECT, 0)
    while True:
        evaluate(plan, world, values)
        packed = plan.ints, plan.reals, plan.work, world.poses, values, numbers
        if not handling.run(*packed)[0]:
            return
        world.follow()


def handle_by_steps(
    plan: Plan, world: World, max_iterations: int, callback: Callback | None
) -> tuple[int, int, float, float]:
    """
    Solve step by step from Python, where functions of the user have a say.

    :param callback: sees and may replace the rows of every task set in every step.
    :returns: reason bits, steps, largest linear and angular error.
    """
    start = world.q
    try:
        return _handle_by_steps(plan, world, max_iterations, callback, start)
    except Exception:
        world.values[:] = start
        raise


def _handle_by_steps(
    plan: Plan,
    world: World,
    max_iterations: int,
    callback: Callback | None,
    start: FloatArray,
) -> tuple[int, int, float, float]:
    """Take the steps; see :func:`handle_by_steps`."""
    values = world.values
    plan.views.hits[:] = 0.0
    stop = bool(plan.ints[packing.STOP_ON_LIMIT_HIT])
    reason, iterations = 0, 0
    within, linear, angular = evaluate(plan, world, values)
    while not within and iterations < max_iterations:
        flag, own = 0, True
        if callback is not None:
            flag, own = combine(plan, callback, iterations)
        if callback is None:
            flag = take_step(plan, world, values)
        elif not flag:
            flag = int(handling.move(plan.ints, plan.reals, plan.work, values))
        reason |= flag
        if flag & ENDS:
            break
        world.follow()
        if own and plan.protects:
            protect(plan, world, values)
        iterations += 1
        within, linear, angular = evaluate(plan, world, values)
        if flag & Reason.LIMIT_HIT and stop:
            break
    if not within:
        reason |= int(Reason.NOT_WITHIN_TOLERANCE)
        if _must_restore(plan, reason):
            values[:] = start
            within, linear, angular = evaluate(plan, world, values)
    return reason, iterations, linear, angular


def _must_restore(plan: Plan, reason: int) -> bool:
    """Return whether the failed part is one that puts the joints back."""
    if not plan.restore:
        return False
    if reason & ENDS:
        return True
    errors = plan.outcome[: 2 * len(plan.tasks)].reshape(-1, 2)
    wanted = np.array([task.precision for task in plan.tasks])
    bad = errors > wanted
    return bool(
        (bad[:, 0].any() and plan.restore & TaskSetFlag.RESTORE_ON_BAD_LINEAR)
        or (bad[:, 1].any() and plan.restore & TaskSetFlag.RESTORE_ON_BAD_ANGULAR)
    )
