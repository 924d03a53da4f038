"""Steps of a solve from Python: evaluation, and solves in which a function of the user takes part in every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ssik_ros.arguments import read_flag
from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.tasks import handling, packing
from ssik_ros.tasks.constants import Reason
from ssik_ros.tasks.jacobian_callback import combine, task_set_rows
from ssik_ros.tasks.plan import make_numbers, Plan, plan_of, Purpose
from ssik_ros.tasks.task_set import TaskSetData
from ssik_ros.tasks.world import TaskWorld

Callback = Callable[[Any], Mapping[str, Any] | None]
ENDS = Reason.CANNOT_INVERT | Reason.INVALID_CALLBACK_DATA


def write_rates(plan: Plan, values: FloatArray) -> None:
    """
    Write, for each joint that user functions move, its derivative by its driving joint into a plan's workspace.

    ``values`` (nq,) are the joint values at which the derivatives are taken.
    """
    for node, joint in plan.slaves:
        rate, item = 1.0, joint
        while item.dependency is not None:
            master = item.dependency.master
            rate *= item.dependency.rate(item, float(values[master.place_in_values]))
            item = master
        plan.views.node_f[node, layout.NODE_RATE] = rate


def evaluate(
    plan: Plan, world: TaskWorld, values: FloatArray, poses: FloatArray | None = None
) -> tuple[bool, float, float]:
    """
    Write errors and rows at joint values (nq,) into the workspace of a plan.

    :param poses: (slots, 12) local poses of all objects; None for the poses of the world.
    :returns: whether all tasks are within precision, the largest linear [m] and the largest angular error [rad].
    """
    write_rates(plan, values)
    table = world.poses if poses is None else poses
    numbers = make_numbers(handling.EVALUATE, 0)
    result = handling.run(plan.ints, plan.reals, plan.work, table, values, numbers)
    return bool(result[0]), result[2], result[3]


def take_step(plan: Plan, world: TaskWorld, values: FloatArray) -> int:
    """Change joint values in place by one step for the rows of the last :func:`evaluate`; return reason bits."""
    numbers = make_numbers(handling.STEP, 0)
    reason = handling.run(plan.ints, plan.reals, plan.work, world.poses, values, numbers)[0]
    return int(reason)


def protect(plan: Plan, world: TaskWorld, values: FloatArray) -> None:
    """Move joint values back, in place, until no task set has lost accuracy to task sets of lower priority."""
    numbers = make_numbers(handling.PROTECT, 0)
    while True:
        evaluate(plan, world, values)
        packed = plan.ints, plan.reals, plan.work, world.poses, values, numbers
        if not handling.run(*packed)[0]:
            return
        world.follow()


def handle_by_steps(
    plan: Plan, world: TaskWorld, max_iterations: int, callback: Callback | None
) -> tuple[int, int, float, float]:
    """
    Solve step by step from Python, with functions of the user. The joint values of the world change.

    If a function raises, the joint values are restored.

    :param callback: sees and may replace the rows of every task set in every step.
    :returns: reason bits, steps, largest linear [m] and angular [rad] error.
    """
    start = world.q
    try:
        return _handle_by_steps(plan, world, max_iterations, callback, start)
    except Exception:
        world.values[:] = start
        raise


def _handle_by_steps(
    plan: Plan,
    world: TaskWorld,
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
    """Return whether joint values must be restored after a failure with these reason bits, by the first set's flags."""
    if not plan.restore:
        return False
    if reason & ENDS:
        return True
    return bool(handling.must_restore(plan.ints, plan.reals, plan.work, reason, plan.restore))


def jacobian_of(
    world: TaskWorld, task_set: TaskSetData, *, exact: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return Jacobian and error of a task set; see :meth:`TaskSet.jacobian`."""
    exact = read_flag('exact', exact)
    jacobian, error = _rows_of(world, task_set, 'rows')
    return (jacobian if exact else _rows_of(world, task_set, 'geometry')[0]), error


def _rows_of(
    world: TaskWorld, task_set: TaskSetData, purpose: Purpose
) -> tuple[FloatArray, FloatArray]:
    """Return copies of Jacobian and error of a task set at the present joint values; ``purpose`` as in make_plan."""
    plan = plan_of(world, (task_set,), purpose=purpose)
    evaluate(plan, world, world.values.copy())
    jacobian, error = task_set_rows(plan, 0)
    return jacobian.copy(), error.copy()
