"""The order of joints in the vectors of a solver, which may differ from the group's."""

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import SolverError
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.problem.contract import IkSolver


def joint_order(group: JointGroup, solver: IkSolver) -> IntArray:
    """
    Return for each element of a solver's joint vector its index in the group's joint vector, as an array (n,).

    :param group: the group.
    :param solver: the solver.
    :raises SolverError: if the solver has other joints or frames than the group.
    """
    theirs = (solver.base_frame, tuple(solver.tip_frames))
    ours = (group.base_link, tuple(group.tips))
    if theirs != ours:
        raise SolverError(f'The solver has base and tips {theirs}, the group has {ours}.')
    names = tuple(solver.joint_names)
    if names == group.joint_names:
        return np.arange(group.variable_count)
    if sorted(names) != sorted(group.variable_names):
        raise SolverError(f'The solver has joints {names}, not {group.joint_names}.')
    return np.array([group.variable_names.index(name) for name in names])


def in_group_order(vector: FloatArray, order: IntArray) -> FloatArray:
    """
    Return a solver's joint vector in the group's order; a vector of another size is returned unchanged.

    :param vector: (n,) joint vector of the solver [rad or m].
    :param order: the result of :func:`joint_order`.
    """
    if vector.shape != order.shape:
        return vector
    ordered = np.empty_like(vector)
    ordered[order] = vector
    return ordered
