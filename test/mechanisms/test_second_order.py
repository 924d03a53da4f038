"""The second-order terms complete J^T J to the Hessian: compared with differences of the gradient."""

import math

from test.mechanisms.mechanisms import add_arm, make_four_bar
from test.mechanisms.random_mechanisms import draw_mechanism

import numpy as np
import pytest

from ssik_ros.kernels.mechanisms import (
    acceleration,
    descent,
    layout,
    mechanism,
    normal,
    second_order,
)
from ssik_ros.mechanisms import DOF, Goal, Link, Solver

EPS = 1e-6
PROBE = 1e-3


def gather(program):
    """Write H and g at the state whose poses are at hand; return g in natural order."""
    mechanism.jacobian(program.address, True)
    normal.gather(program.address, math.inf)
    return program.view.gradient[program.tables.place].copy()


def hessians(solver):
    """Return the Hessian by differences and by the kernels."""
    storage, program = solver.mechanism.storage, solver.mechanism.chains[0].program
    t, v = layout.TABLES.show(program.ints, program.reals), program.view
    program.measure(storage.reals, storage.flags, solver.options.packed)
    state, moved = v.current.copy(), v.current.copy()
    columns = []
    for k in range(len(program.tables.keys)):
        ends = []
        for side in (EPS, -EPS):
            program.move(state, k, side, moved)
            program.evaluate(moved)
            ends.append(gather(program))
        columns.append(-(ends[0] - ends[1]) / (2 * EPS))
    program.evaluate(state)
    gather(program)
    second_order.add_second_order(program.address)
    n, profile = len(program.tables.keys), [layout.VARIABLE_FIRST, layout.VARIABLE_DIAGONAL]
    computed = np.zeros((n, n))
    for i, (first, diagonal) in enumerate(t.variable[:, profile]):
        computed[i, first : i + 1] = v.normal[diagonal - i + first : diagonal + 1]
    computed = np.tril(computed) + np.tril(computed, -1).T
    return np.array(columns).T, computed[np.ix_(program.tables.place, program.tables.place)]


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
    expected, computed = hessians(Solver(root, translation_factor=1.3, rotation_factor=0.7))
    assert np.abs(expected - computed).max() < 1e-6


def test_the_hessian_of_a_loop_is_exact():
    expected, computed = hessians(Solver(make_four_bar().root))
    assert np.abs(expected - computed).max() < 1e-7


def bends(solver, chain, rng):
    """Return J^T e_dd of a random step by differences and by the kernel, and the size of e_dd."""
    storage, program = solver.mechanism.storage, solver.mechanism.chains[chain].program
    t, v = layout.TABLES.show(program.ints, program.reals), program.view
    program.measure(storage.reals, storage.flags, solver.options.packed)
    state, step = v.current.copy(), rng.uniform(-1.0, 1.0, len(program.tables.keys))
    v.step[:] = step
    acceleration.bend(program.address)
    computed = v.right.copy()
    rows = []
    for share in (PROBE, 0.0, -PROBE):
        v.held[:] = 0.0
        v.current[:], v.step[:] = state, share * step
        descent.advance(program.address)
        program.evaluate(v.trial)
        rows.append(v.residual.copy())
    bent = (rows[0] - 2.0 * rows[1] + rows[2]) / PROBE**2
    expected = np.zeros_like(step)
    for c, row in enumerate(t.constraint):
        for k in range(row[11], row[11] + row[12]):
            expected[t.column[k]] += v.blocks[k] @ bent[c]
    return expected, computed, np.abs(bent).max()


@pytest.mark.parametrize('seed', range(40))
def test_the_bend_of_a_step_is_that_of_the_errors_along_it(seed):
    rng = np.random.default_rng(seed)
    solver = Solver(draw_mechanism(rng), translation_factor=1.3, rotation_factor=0.7)
    for chain in range(len(solver.mechanism.chains)):
        if solver.mechanism.chains[chain].program.tables.keys:
            expected, computed, size = bends(solver, chain, rng)
            assert np.abs(expected - computed).max() < 1e-3 * max(size, 1.0)


def test_the_bend_of_followers_is_that_of_the_errors_along_it():
    root, goal = Link('root'), Goal('goal')
    joints, hand = add_arm(root, 'a', (0, 0, 0))
    joints[4].follow(DOF.EZ, joints[2], DOF.EZ, 0.5, 0.1)
    goal.set_matrix(hand.matrix_world)
    goal.make_closure(hand)
    expected, computed, size = bends(Solver(root), 0, np.random.default_rng(0))
    assert size > 0.1 and np.abs(expected - computed).max() < 1e-5


@pytest.mark.parametrize('damping', [0.0, 1e-3, 0.5])
def test_the_decrease_of_a_step_that_solves_for_it_needs_no_product(damping):
    root, goal = Link('root'), Goal('goal')
    _, hand = add_arm(root, 'a', (0, 0, 0))
    goal.set_position(0.3, 0.9, -0.4)
    goal.make_closure(hand)
    solver = Solver(root)
    storage, program = solver.mechanism.storage, solver.mechanism.chains[0].program
    program.measure(storage.reals, storage.flags, solver.options.packed)
    gather(program)
    v = program.view
    v.low[:], v.high[:] = -np.inf, np.inf
    damping += 1e-9
    held = normal.bounded_step(program.address, damping, -1.0)
    expected = descent.predicted_decrease(program.address, -1.0)
    assert held == 0 and expected > 0.0
    assert descent.predicted_decrease(program.address, damping) == pytest.approx(
        expected, rel=1e-9
    )
