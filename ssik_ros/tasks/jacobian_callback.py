"""
The Jacobian callback: a function that sees the rows of every task set in every step and may replace them.

The function gets a :class:`CallbackData` and returns None for no change, or a mapping with any of

===============  ==============================================================================
``jacobian``     (m, n) used instead of the Jacobian of the task set
``e``            (m,) used instead of the errors of the task set
``dq``           (n,) the motion itself; nothing is inverted
``jacobianPinv`` (n, m) the motion is this times e; joint weights are not used
===============  ==============================================================================

A mapping with ``dq`` also needs ``jacobianPinv`` if a task set of lower priority follows. Numbers that are not finite
end the solve with the reason INVALID_CALLBACK_DATA.

The kernel then takes the step with the same priorities and within the limits of the joints. With the priority
``strict``, steps are usually corrected so that a task set loses little to task sets after it. This correction is left
out for a step in which the callback returned arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ssik_ros.arguments import read_numbers
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, quote
from ssik_ros.kernels.tasks import packing
from ssik_ros.tasks.constants import Reason, WORLD
from ssik_ros.tasks.plan import Plan
from ssik_ros.value_class import dataclass

LIMIT_ROW = 6
"""Stands for the constraint of a row that keeps a joint away from its limits."""
Callback = Callable[[Any], Mapping[str, Any] | None]


@dataclass
class CallbackData:
    """
    Argument of the Jacobian callback: Jacobian, error, rows and columns of one task set in one step.

    The arrays are copies: they may be changed, but only arrays that the callback returns have an effect.
    """

    jacobian: FloatArray
    """(m, n) Jacobian of the task set."""
    e: FloatArray
    """(m,) error of the rows."""
    rows: list[dict[str, int]]
    """
    ``constraint`` and ``element`` of each row.

    ``constraint`` is 0 to 5 for x, y, z, alpha, beta, gamma, and 6 for a limit. ``element`` is the handle of the task,
    and -1 for a limit.
    """
    cols: list[dict[str, int]]
    """``joint`` (handle) and ``dof`` (0 to 2) of each column."""
    group: int
    """Handle of the task set."""
    iteration: int
    """Number of the step, from 0."""

    def __getitem__(self, name: str) -> Any:
        """Return the field of this name, as ``data['jacobian']``, which scripts of the simIK API write."""
        return getattr(self, name)


def replace_rows(plan: Plan, callback: Callback, iteration: int) -> tuple[int, bool]:
    """
    Call the callback for every task set, and write the returned arrays into the workspace of the plan, for the next step.

    :param iteration: number of the step, from 0, for the callback.
    :returns: bits of :class:`Reason`, 0 if a step is possible; and whether the callback changed nothing.
    :raises InvalidOption: if the callback returns an unknown key. Also if it returns ``dq`` without ``jacobianPinv``
        for a task set that another one follows.
    :raises DimensionMismatch: if it returns an array of a wrong shape.
    """
    replacements: list[dict[str, FloatArray]] = []
    for index in range(len(plan.task_sets)):
        arrays = _call(plan, callback, iteration, index)
        if not all(np.isfinite(array).all() for array in arrays.values()):
            return int(Reason.INVALID_CALLBACK_DATA), False
        replacements.append(arrays)
    for arrays in replacements[:-1]:
        if 'dq' in arrays and 'jacobianPinv' not in arrays:
            raise InvalidOption(
                'A callback that returns dq for a task set must return jacobianPinv too when a task set of lower priority '
                'follows: its motion is projected by it.'
            )
    for index, arrays in enumerate(replacements):
        _replace(plan, index, **arrays)
    return 0, not any(replacements)


def _call(plan: Plan, callback: Callback, iteration: int, index: int) -> dict[str, FloatArray]:
    """
    Call the callback for the task set number ``index`` of a plan, and return the arrays that it returns, by key.

    :param iteration: number of the step, from 0.
    :raises InvalidOption: if it returned an unknown key.
    :raises DimensionMismatch: if it returned an array of a wrong shape.
    """
    jacobian, e = task_set_rows(plan, index)
    names = [{'constraint': k, 'element': task.handle} for task, k in plan.rows[index]]
    names += [{'constraint': LIMIT_ROW, 'element': WORLD}] * (len(e) - len(names))
    columns = [
        {'joint': joint.handle, 'dof': dof}
        for joint in plan.joints
        for dof in range(joint.columns)
    ]
    handle = plan.task_sets[index].handle
    data = CallbackData(jacobian.copy(), e.copy(), names, columns, handle, iteration)
    m, n = jacobian.shape
    shapes = {'jacobian': (m, n), 'e': (m,), 'dq': (n,), 'jacobianPinv': (n, m)}
    arrays: dict[str, FloatArray] = {}
    for key, value in (callback(data) or {}).items():
        if key not in shapes:
            raise InvalidOption.unknown(f'The callback returned {quote(key)}', key, shapes)
        if value is None:
            continue
        arrays[key] = read_numbers(f"The callback's {key}", value, shapes[key])
    return arrays


def _replace(
    plan: Plan,
    index: int,
    jacobian: FloatArray | None = None,
    e: FloatArray | None = None,
    dq: FloatArray | None = None,
    jacobianPinv: FloatArray | None = None,
) -> None:
    """
    Write arrays that the callback returned for the task set number ``index`` into the workspace of a plan.

    :param jacobian, e, dq, jacobianPinv: the arrays (m, n), (m,), (n,) and (n, m); None for one that it did not return.
    """
    views, rows = plan.views, _rows_of(plan, index)
    if jacobian is not None:
        views.jacobian[rows] = jacobian
    if e is not None:
        views.residual[rows] = e
    if dq is None and jacobianPinv is None:
        return
    views.given[index], views.motion[index], views.inverse[rows] = 1.0, 0.0, 0.0
    is_nested = bool(plan.ints[packing.NESTED])
    if jacobianPinv is not None and (dq is None or is_nested):
        views.inverse[rows] = jacobianPinv.T
    if dq is not None:
        # The part of the inverse in the motion is dq if no other task set moves anything.
        views.motion[index] = dq - views.residual[rows] @ views.inverse[rows]


def task_set_rows(plan: Plan, index: int) -> tuple[FloatArray, FloatArray]:
    """
    Return Jacobian (m, n) and error (m,) of a task set from the last evaluation, as views of the workspace.

    :param plan: the packed task sets.
    :param index: number of the task set in the plan.
    """
    rows = _rows_of(plan, index)
    return plan.views.jacobian[rows], plan.views.residual[rows]


def _rows_of(plan: Plan, index: int) -> slice:
    """Return the rows of the task set number ``index`` in the Jacobian of a plan, as the last evaluation wrote them."""
    first = int(packing.TABLES.show(plan.ints, plan.reals).set_i[index, packing.SET_ROW])
    return slice(first, first + int(plan.views.counts[index]))
