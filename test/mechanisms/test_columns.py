"""The Jacobian of any mechanism equals finite differences of a residual computed without the kernels."""

import itertools

from test.mechanisms.random_mechanisms import draw_mechanism

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.mechanisms import DOF, Goal, Joint, Link, Solver

EPS = 1e-6


def closing_joints(roots):
    """Return closures and goals in the order of a depth-first walk."""
    closures, pending = [], list(roots)[::-1]
    while pending:
        frame = pending.pop()
        if isinstance(frame, Joint) and frame.is_closure:
            closures.append(frame)
        pending += frame.children[::-1]
    return closures


def plain_residual(closure):
    """Return the rows of one closure by scipy, from the matrices of the façade."""
    a, b = closure.matrix_world, closure.child.matrix_world
    goal = isinstance(closure, Goal)
    if not (goal and closure.mask_frame == 'world'):
        d = np.linalg.inv(a) @ b
        e = -np.concatenate([d[:3, 3], Rotation.from_matrix(d[:3, :3]).as_rotvec()])
    else:
        turn = Rotation.from_matrix(a[:3, :3] @ b[:3, :3].T).as_rotvec()
        e = np.concatenate([a[:3, 3] - b[:3, 3], turn])
    return e[list(closure.dof)] if goal else e


def move(joint, dof, amount):
    """Move one degree of freedom; a ball turns about an axis of its own."""
    if joint.rotation == 'quaternion' and dof >= DOF.EX:
        turn = Rotation.from_rotvec(amount * np.eye(3)[dof - 3])
        joint.dof_quaternion = (Rotation.from_quat(joint.dof_quaternion) * turn).as_quat()
    else:
        joint.set_dof_value(dof, joint.get_dof_value(dof) + amount)


def differences(chain, closures, joints):
    """Return -de/dq by central differences."""
    columns = []
    for name in chain.program.tables.variables:
        joint, dof = joints[name.rsplit('.', 1)[0]], DOF[name.rsplit('.', 1)[1]]
        values, quaternion = joint.dof_values, joint.dof_quaternion
        ends = []
        for side in (EPS, -EPS):
            move(joint, dof, side)
            ends.append(np.concatenate([plain_residual(c) for c in closures]))
            joint.set_dof_values(*values[list(joint.dof)])
            if joint.rotation == 'quaternion':
                joint.dof_quaternion = quaternion
        columns.append(-(ends[0] - ends[1]) / (2 * EPS))
    return np.array(columns).T


def compare(solver):
    """Return the largest differences of residuals and of columns over all chains."""
    mechanism = solver.mechanism
    joints = {frame.name: frame for frame in mechanism.frames if isinstance(frame, Joint)}
    worst = 0.0
    for k, chain in enumerate(mechanism.chains):
        closures = [joints[name] for name in chain.closure_names]
        expected = np.concatenate([plain_residual(c) for c in closures])
        assert np.abs(solver.residual(k) - expected).max() < 1e-9
        if chain.program.tables.variables:
            slopes = differences(chain, closures, joints)
            worst = max(worst, np.abs(solver.jacobian(k) - slopes).max())
    return worst


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_columns_of_random_mechanisms_are_exact(seed):
    """Left out are rotations that miss by more than 2.5 rad, where differences of the logarithm lose digits."""
    mechanism = draw_mechanism(np.random.default_rng(seed))
    assert compare(Solver(mechanism)) < 1e-6


ALL_DOF = [dof for n in range(1, 7) for dof in itertools.combinations(DOF, n)]


@pytest.mark.sampled
@pytest.mark.parametrize('kind', ['goal', 'fork', 'closure', 'moving goal'])
def test_columns_are_exact_for_every_combination_of_degrees_of_freedom(kind):
    rng = np.random.default_rng(3)
    for dof in ALL_DOF:
        root, joint, body = Link('root'), Joint('j'), Link('body')
        joint.set_dof(*dof)
        joint.set_dof_values(*rng.uniform(-0.7, 0.7, len(dof)))
        joint.set_position(*rng.normal(size=3))
        joint.set_euler(*rng.uniform(-1, 1, 3))
        root.add_child(joint)
        joint.add_child(body)
        arm, tip = Joint('arm'), Link('tip')
        arm.set_dof(DOF.EX, DOF.EZ)
        arm.set_dof_values(0.3, -0.4)
        arm.set_position(0.4, 0.1, 0.2)
        body.add_child(arm)
        arm.add_child(tip)
        closing = Joint('closing') if kind in ('fork', 'closure') else Goal('closing')
        closing.set_position(*rng.normal(size=3))
        if kind == 'closure':
            closing.set_dof(*dof)
            closing.set_dof_values(*rng.uniform(-0.7, 0.7, len(dof)))
        if kind != 'goal':
            body.add_child(closing)
        closing.make_closure(tip)
        assert compare(Solver(root)) < 1e-6, dof


def test_the_fast_columns_differ_away_from_zero_error_only():
    root, joint, tip, goal = Link(), Joint('j'), Link(), Goal('g')
    joint.set_dof(DOF.EX, DOF.EY, DOF.EZ)
    root.add_child(joint)
    joint.add_child(tip)
    goal.make_closure(tip)
    solver = Solver(root)
    assert np.allclose(solver.jacobian(exact=False), solver.jacobian(), atol=1e-12)
    goal.set_euler(0.5, 0.4, -0.8)
    assert np.abs(solver.jacobian(exact=False) - solver.jacobian()).max() > 0.1


def test_a_slide_counts_from_where_the_joint_has_moved_to():
    """The lever arm of a joint's rotations begins after its own slides."""
    root, joint, tip, goal = Link(), Joint('j'), Link(), Goal('g')
    joint.set_dof(DOF.X, DOF.EZ)
    joint.set_dof_values(2.0, 0.0)
    root.add_child(joint)
    joint.add_child(tip)
    goal.make_closure(tip)
    turn = Solver(root).jacobian()[:, 1]
    assert np.allclose(turn, [0, 0, 0, 0, 0, 1])
