"""
The Jacobian callback: a function that sees the rows of every task set in every step and may replace them.

The function gets a :class:`CallbackData` and returns None for no change, or a mapping with any of

===============  ==============================================================================
``jacobian``     (m, n) used instead of the Jacobian of the task set
``e``            (m,) used instead of the errors of the task set
``dq``           (n,) the motion itself; nothing is inverted
``jacobianPinv`` (n, m) the motion is this times e; joint weights are not used
===============  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import DimensionMismatch, InvalidOption, quote
from ssik_ros.kernels.tasks import packing
from ssik_ros.tasks.constants import Method, Reason, WORLD
from ssik_ros.tasks.plan import Plan, PSEUDO_INVERSE_DAMPING
from ssik_ros.value_class import dataclass

LIMIT_ROW = 6
"""Stands for the constraint of a row that keeps a joint away from its limits."""
COVERED = 1e-10
"""Singular values below this share of the largest one do not count."""
KEYS = ('jacobian', 'e', 'dq', 'jacobianPinv')


@dataclass
class CallbackData:
    """Argument of the Jacobian callback: the rows and columns of one task set in one step; the arrays may be changed."""

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


@dataclass
class _Stage:
    """The rows of one task set after the callback, or the motion or inverse that replaces them."""

    jacobian: FloatArray
    """(m, n) Jacobian, of the callback if it returned one."""
    e: FloatArray
    """(m,) error, of the callback if it returned one."""
    dq: FloatArray | None
    """(n,) the motion; None if the callback returned none."""
    inverse: FloatArray | None
    """(n, m) the matrix from errors to the motion; None if the callback returned none."""
    method: Method
    """How the task set inverts the Jacobian."""
    damping: float
    """Damping of this method."""
    is_unchanged: bool
    """Whether the callback left everything as it was."""


def combine(
    plan: Plan, callback: Callable[[Any], Mapping[str, Any] | None], iteration: int
) -> tuple[int, bool]:
    """
    Call the callback for every task set, and write the joint motion that results into the workspace of the plan.

    :param iteration: number of the step, from 0, for the callback.
    :returns: bits of :class:`Reason`, 0 if a motion was written; and whether the callback changed nothing.
    :raises InvalidOption: if the callback returns an unknown key. Also if it returns ``dq`` without ``jacobianPinv``
        for a task set that another one follows.
    :raises DimensionMismatch: if it returns an array of a wrong shape.
    """
    stages = []
    for index in range(len(plan.task_sets)):
        stage = _call(plan, callback, iteration, index)
        if stage is None:
            return int(Reason.INVALID_CALLBACK_DATA), False
        stages.append(stage)
    for stage in stages[:-1]:
        if stage.dq is not None and stage.inverse is None:
            raise InvalidOption(
                'A callback that returns dq for a task set must return jacobianPinv too when a task set of lower priority '
                'follows: its motion is projected by it.'
            )
    scales = _scales(plan)
    nested = bool(plan.ints[packing.NESTED])
    levels = [_nested(stages, scales)] if nested else _strict(stages, scales)
    if not np.isfinite(levels).all():
        return int(Reason.CANNOT_INVERT), False
    moves = np.array(levels) / scales
    plan.views.move[:] = moves.sum(axis=0)
    plan.views.levels[:] = moves
    return 0, all(stage.is_unchanged for stage in stages)


def _call(
    plan: Plan,
    callback: Callable[[Any], Mapping[str, Any] | None],
    iteration: int,
    index: int,
) -> _Stage | None:
    """
    Call the callback for the task set number ``index`` of a plan, and return the rows that it leaves.

    :param iteration: number of the step, from 0.
    :returns: the rows; None if the callback returned a number that is not finite.
    :raises InvalidOption: if it returned an unknown key.
    :raises DimensionMismatch: if it returned an array of a wrong shape.
    """
    jacobian, e = task_set_rows(plan, index)
    task_set = plan.task_sets[index]
    names = [{'constraint': k, 'element': task.handle} for task, k in plan.rows[index]]
    names += [{'constraint': LIMIT_ROW, 'element': WORLD}] * (len(e) - len(names))
    columns = [
        {'joint': joint.handle, 'dof': dof}
        for joint in plan.joints
        for dof in range(joint.columns)
    ]
    data = CallbackData(jacobian.copy(), e.copy(), names, columns, task_set.handle, iteration)
    returned = callback(data) or {}
    unknown = [key for key in returned if key not in KEYS]
    if unknown:
        raise InvalidOption.unknown(f'The callback returned {quote(unknown[0])}', unknown[0], KEYS)
    m, n = jacobian.shape
    shapes = {'jacobian': (m, n), 'e': (m,), 'dq': (n,), 'jacobianPinv': (n, m)}
    arrays: dict[str, FloatArray] = {}
    for key, value in returned.items():
        if value is None:
            continue
        array = np.asarray(value, dtype=float)
        if array.shape != shapes[key]:
            raise DimensionMismatch(
                f"The callback's {key} must have shape {shapes[key]}, not {array.shape}.",
                expected=shapes[key],
                actual=array.shape,
            )
        if not np.isfinite(array).all():
            return None
        arrays[key] = array
    damping = (
        PSEUDO_INVERSE_DAMPING if task_set.method == Method.PSEUDO_INVERSE else task_set.damping
    )
    return _Stage(
        arrays.get('jacobian', jacobian),
        arrays.get('e', e),
        arrays.get('dq'),
        arrays.get('jacobianPinv'),
        task_set.method,
        damping,
        not arrays,
    )


def task_set_rows(plan: Plan, index: int) -> tuple[FloatArray, FloatArray]:
    """
    Return Jacobian (m, n) and error (m,) of a task set from the last evaluation, as views of the workspace.

    :param plan: the packed task sets.
    :param index: number of the task set in the plan.
    """
    groups = packing.TABLES.show(plan.ints, plan.reals).set_i
    first, count = int(groups[index, packing.SET_ROW]), int(plan.views.counts[index])
    end = first + count
    return plan.views.jacobian[first:end], plan.views.residual[first:end]


def _scales(plan: Plan) -> FloatArray:
    """Return the square roots (n,) of the joint weights, one for each column of the Jacobian."""
    return packing.TABLES.show(plan.ints, plan.reals).variable_f[:, packing.VARIABLE_SCALE]


def invert_rows(jacobian: FloatArray, e: FloatArray, method: Method, damping: float) -> FloatArray:
    """
    Return the matrix (n, m) that maps the errors of some rows to a joint motion, by a method.

    :param jacobian: (m, n) the rows.
    :param e: (m,) errors; only the transpose method uses them, for the length of its step.
    :param damping: not used by the transpose and the undamped pseudo-inverse.
    """
    if method == Method.JACOBIAN_TRANSPOSE:
        ahead = jacobian @ (jacobian.T @ e)
        length = float(ahead @ ahead)
        return jacobian.T * (float(e @ ahead) / length if length > 0.0 else 0.0)
    if method == Method.UNDAMPED_PSEUDO_INVERSE:
        return np.asarray(np.linalg.pinv(jacobian, rcond=1e-8), dtype=np.float64)
    gram = jacobian @ jacobian.T + damping * damping * np.eye(len(jacobian))
    return np.asarray(np.linalg.solve(gram, jacobian).T, dtype=np.float64)


def _nested(stages: list[_Stage], scales: FloatArray) -> FloatArray:
    """
    Return the joint motion (n,) of all task sets by the formula ``dq0 + N0 (dq1 + N1 (...))``.

    ``dqk`` is the motion of task set k by itself, and ``Nk = I - Jk^+ Jk`` projects onto its null space.

    :param scales: (n,) square roots of the joint weights.
    """
    total = np.zeros(len(scales))
    for stage in reversed(stages):
        inverse = stage.inverse
        if inverse is None:
            scaled = stage.jacobian * scales
            inverse = scales[:, None] * invert_rows(scaled, stage.e, stage.method, stage.damping)
        motion = inverse @ stage.e if stage.dq is None else stage.dq
        total = motion + total - inverse @ (stage.jacobian @ total)
    return total


def _strict(stages: list[_Stage], scales: FloatArray) -> list[FloatArray]:
    """
    Return a joint motion (n,) for each task set, in the null space of all task sets before it; their sum is the step.

    :param scales: (n,) square roots of the joint weights.
    """
    levels = []
    total = np.zeros(len(scales))
    projector = np.eye(len(scales))
    for stage in stages:
        rows = (stage.jacobian * scales) @ projector
        left = stage.e - (stage.jacobian * scales) @ total
        if stage.dq is not None:
            added = projector @ (stage.dq / scales)
        elif stage.inverse is not None:
            added = projector @ (stage.inverse @ left / scales)
        else:
            added = projector @ (invert_rows(rows, left, stage.method, stage.damping) @ left)
        total = total + added
        levels.append(added * scales)
        sizes, axes = np.linalg.svd(rows, full_matrices=False)[1:]
        used = axes[sizes > COVERED * max(1.0, float(sizes.max(initial=0.0)))]
        projector = projector - used.T @ used
    return levels
