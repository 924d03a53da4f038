"""What is added to J^T J makes it the Hessian: differences of the gradient."""

import math

from mechanisms import add_arm
from mechanisms import make_four_bar
import numpy as np
import pytest

from ssik_ros.closed_chain import DOF
from ssik_ros.closed_chain import Goal
from ssik_ros.closed_chain import Link
from ssik_ros.closed_chain import Solver
from ssik_ros.kernels.closed_chain import mechanism
from ssik_ros.kernels.closed_chain import normal
from ssik_ros.kernels.closed_chain import second_order

EPS = 1e-6


def gather(solver, program):
    """Write H and g at the state whose poses are at hand; return g in natural order."""
    t, v, flags = program._tables, program._view, solver.mechanism.storage.flags
    options = solver._packed
    mechanism.jacobian(
        flags, options, t.node, t.factors, t.constraint, t.path, v.poses, v.ends, v.blocks, v.scratch, True
    )  # fmt: skip
    normal.gather(
        options, math.inf, t.variable, t.constraint, t.column, v.blocks, v.residual, v.errors, v.normal,
        v.gradient, v.scratch
    )  # fmt: skip
    return v.gradient[program.place].copy()


def hessians(solver):
    """Return the Hessian by differences and by the kernels."""
    storage, program = solver.mechanism.storage, solver.mechanism.chains[0].program
    t, v = program._tables, program._view
    program.measure(storage.reals, storage.flags, solver._packed)
    state, moved = v.current.copy(), v.current.copy()
    columns = []
    for k in range(len(program.keys)):
        ends = []
        for side in (EPS, -EPS):
            program._move(state, k, side, moved)
            program._evaluate(moved, storage.flags, solver._packed)
            ends.append(gather(solver, program))
        columns.append(-(ends[0] - ends[1]) / (2 * EPS))
    program._evaluate(state, storage.flags, solver._packed)
    gather(solver, program)
    second_order.add_second_order(
        storage.flags, solver._packed, t.node, t.factors, t.variable, t.constraint, t.path, v.poses,
        v.ends, v.motions, v.normal, v.scratch
    )  # fmt: skip
    n = len(program.keys)
    found = np.zeros((n, n))
    for i, (first, diagonal) in enumerate(t.variable[:, 4:6]):
        found[i, first : i + 1] = v.normal[diagonal - i + first : diagonal + 1]
    found = np.tril(found) + np.tril(found, -1).T
    return np.array(columns).T, found[np.ix_(program.place, program.place)]


@pytest.mark.parametrize(
    'dof', [tuple(DOF), (DOF.X, DOF.Z), (DOF.EX, DOF.EY, DOF.EZ), (DOF.X, DOF.Y, DOF.Z)]
)
@pytest.mark.parametrize('frame', ['goal', 'world'])
def test_the_hessian_of_a_goal_is_exact(dof, frame):
    root, goal = Link('root'), Goal('goal')
    joints, hand = add_arm(root, 'a', (0, 0, 0))
    joints[4].follow(DOF.EZ, joints[2], DOF.EZ, 0.5, 0.1)
    goal.mask_frame = frame
    goal.set_goal_dof(*dof)
    goal.set_position(0.3, 0.9, -0.4)
    goal.set_euler(0.4, -0.3, 0.8)
    goal.make_closure(hand)
    expected, found = hessians(Solver(root, translation_factor=1.3, rotation_factor=0.7))
    assert np.abs(expected - found).max() < 1e-6


def test_the_hessian_of_a_loop_is_exact():
    expected, found = hessians(Solver(make_four_bar().root))
    assert np.abs(expected - found).max() < 1e-7
