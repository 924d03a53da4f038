"""
Solve task sets step by step from Python: for user functions that move joints, and for the Jacobian callback.

:func:`jacobian_of` returns the Jacobian of a task set without a solve.
"""

from __future__ import annotations

from ssik_ros.arguments import read_flag
from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.tasks import handling, packing
from ssik_ros.tasks.constants import Reason
from ssik_ros.tasks.jacobian_callback import Callback, replace_rows, task_set_rows
from ssik_ros.tasks.plan import Plan, plan_of, Purpose
from ssik_ros.tasks.task_set import TaskSetData
from ssik_ros.tasks.world import TaskWorld

ENDS = Reason.CANNOT_INVERT | Reason.INVALID_CALLBACK_DATA


def write_rates(plan: Plan, values: FloatArray) -> None:
    """
    Write the derivatives of the joints that user functions move into the workspace of a plan.

    Each is the derivative of the joint's value by the value of the joint that finally drives it.

    :param values: (nq,) joint values at which the derivatives are taken.
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
    Write the errors and the Jacobian of all tasks at joint values (nq,) into the workspace of a plan.

    :param poses: (slots, 12) local poses of all objects; None for the poses of the world.
    :returns: whether all tasks are within precision, the largest linear error [m] and the largest angular error [rad].
    :raises InvalidOption: if a user function of a dependent joint gives a derivative that is not finite.
    """
    write_rates(plan, values)
    table = world.poses if poses is None else poses
    result = plan.run(handling.EVALUATE, table, values)
    return bool(result[0]), result[2], result[3]


def take_step(plan: Plan, world: TaskWorld, values: FloatArray) -> int:
    """
    Add one step to joint values (nq,) in place, computed from the errors and the Jacobian of the last :func:`evaluate`.

    :returns: bits of :class:`Reason`: CANNOT_INVERT if the step is not finite, so that nothing moves, STEPS_TOO_BIG and
        LIMIT_HIT; 0 without any.
    """
    return int(plan.run(handling.STEP, world.poses, values)[0])


def protect(plan: Plan, world: TaskWorld, values: FloatArray) -> None:
    """
    Correct the last step in place, until no task set has lost too much accuracy to task sets of lower priority.

    A task set may lose at most half of its progress in the step, unless it is met to 1e-8 m and rad.

    :param values: (nq,) the joint values of the world after the step.
    """
    while True:
        evaluate(plan, world, values)
        if not plan.run(handling.PROTECT, world.poses, values)[0]:
            return
        world.follow()


def handle_by_steps(
    plan: Plan, world: TaskWorld, max_iterations: int, callback: Callback | None
) -> tuple[int, int, float, float]:
    """
    Solve the task sets of a plan step by step from Python, and leave the joint values of the world at the result.

    If a user function raises, the joint values are restored. They are also restored after a failure for which the flags
    of the first task set demand it.

    :param max_iterations: most steps.
    :param callback: sees and may replace the rows of every task set in every step; None for no callback.
    :returns: bits of :class:`Reason`, number of steps, largest linear [m] and angular [rad] error of the final values.
    """
    values, start = world.values, world.q
    plan.views.hits[:] = 0.0
    stop = bool(plan.ints[packing.STOP_ON_LIMIT_HIT])
    reason, iterations = 0, 0
    try:
        within, linear, angular = evaluate(plan, world, values)
        while not within and iterations < max_iterations:
            flag, is_unchanged = 0, True
            if callback is not None:
                flag, is_unchanged = replace_rows(plan, callback, iterations)
            if not flag:
                flag = take_step(plan, world, values)
                plan.views.given[:] = 0.0
            reason |= flag
            if flag & ENDS:
                break
            world.follow()
            if is_unchanged and plan.protects:
                protect(plan, world, values)
            iterations += 1
            within, linear, angular = evaluate(plan, world, values)
            if flag & Reason.LIMIT_HIT and stop:
                break
    except Exception:
        values[:] = start
        raise
    if not within:
        reason |= int(Reason.NOT_WITHIN_TOLERANCE)
        if _must_restore(plan, reason):
            values[:] = start
            within, linear, angular = evaluate(plan, world, values)
    return reason, iterations, linear, angular


def _must_restore(plan: Plan, reason: int) -> bool:
    """
    Return whether a failed solve must restore the joint values, by the flags of the first task set.

    :param reason: bits of :class:`Reason` of the solve.
    """
    if not plan.restore:
        return False
    if reason & ENDS:
        return True
    return bool(handling.must_restore(plan.ints, plan.reals, plan.work, reason, plan.restore))


def jacobian_of(
    world: TaskWorld, task_set: TaskSetData, *, exact: bool = True
) -> tuple[FloatArray, FloatArray]:
    """
    Return Jacobian (m, n) and error (m,) of a task set at the present joint values, without weights.

    :param exact: whether the Jacobian is the derivative -de/dq of the error; False gives the velocity of the tip, see
        :meth:`TaskSet.jacobian`.
    :raises InvalidOption: if ``exact`` is not a truth value.
    """
    exact = read_flag('exact', exact)
    jacobian, error = _rows_of(world, task_set, 'rows')
    return (jacobian if exact else _rows_of(world, task_set, 'geometry')[0]), error


def _rows_of(
    world: TaskWorld, task_set: TaskSetData, purpose: Purpose
) -> tuple[FloatArray, FloatArray]:
    """Return copies of Jacobian (m, n) and error (m,) of a task set, packed for a ``purpose`` of :func:`plan_of`."""
    plan = plan_of(world, (task_set,), purpose=purpose)
    evaluate(plan, world, world.values.copy())
    jacobian, error = task_set_rows(plan, 0)
    return jacobian.copy(), error.copy()
