"""The steps of a solve's tail, one by one."""

import math

import numpy as np
import pytest

from ssik_ros import KinBody, KinBodyJoint, Manipulator, postprocess, Solution

TURN = 2.0 * math.pi


def body(*joints):
    """Return an arm of joints given by type and limits."""
    return KinBody(
        tuple(
            KinBodyJoint(f'j{i}', kind, np.array([0.0, 0.0, 1.0]), np.zeros(3), limits)
            for i, (kind, limits) in enumerate(joints)
        ),
        np.eye(4),
    )


def solutions(*rows):
    """Return solutions with given joint vectors; the residual numbers them."""
    return [Solution(np.array(row, dtype=float), float(i)) for i, row in enumerate(rows)]


def numbers(sols):
    """Return the numbers of solutions."""
    return [int(sol.fk_residual) for sol in sols]


ARM = body(('revolute', (-math.pi, math.pi)), ('continuous', None), ('prismatic', (0.0, 1.0)))


def test_limits_include_their_bounds_and_keep_the_order():
    sols = solutions(
        (math.pi, 100.0, 1.0), (3.2, 0.0, 0.5), (-math.pi, 0.0, 0.0), (0.0, 0.0, 1.0 + 1e-12)
    )
    assert numbers(postprocess.respect_limits(sols, ARM)) == [0, 2]


def test_wrapping_moves_by_the_fewest_turns():
    wide = body(('revolute', (1.0, 20.0)), ('continuous', None), ('prismatic', (0.0, 1.0)))
    sols = solutions((4.0, 9.0, 9.0), (0.5, 0.0, 0.0), (-10.0, 0.0, 0.0), (40.0, 0.0, 0.0))
    wrapped = postprocess.wrap_to_limits(sols, wide)
    assert wrapped[0].q.tolist() == [4.0, 9.0, 9.0]
    assert wrapped[1].q[0] == pytest.approx(0.5 + TURN)
    assert wrapped[2].q[0] == pytest.approx(-10.0 + 2 * TURN)
    assert wrapped[3].q[0] == 40.0
    assert numbers(wrapped) == [0, 1, 2, 3] and sols[1].q[0] == 0.5
    assert postprocess.wrap_to_limits(solutions((4.0, 0.0, 0.0)), ARM)[0].q[0] == pytest.approx(
        4.0 - TURN
    )


@pytest.mark.parametrize('function', [postprocess.respect_limits, postprocess.wrap_to_limits])
def test_another_number_of_joints_is_a_value_error(function):
    with pytest.raises(ValueError, match='3 joints'):
        function(solutions((0.0, 0.0)), ARM)


def test_the_nearest_comes_first_modulo_a_turn():
    sols = solutions((-3.0, 0.0), (2.5, 0.0), (2.5 + TURN, 0.0), (2.9, 0.3))
    ordered = postprocess.nearest_to_seed(sols, [3.0, 0.0])
    assert numbers(ordered) == [0, 3, 1, 2]
    assert numbers(postprocess.nearest_to_seed(sols, [3.0, 0.0], 'wrap_linf')) == [0, 3, 1, 2]
    apart = solutions((0.5, 0.5, 0.5), (0.7, 0.0, 0.0))
    assert numbers(postprocess.nearest_to_seed(apart, np.zeros(3), metric='wrap_l2')) == [1, 0]
    assert numbers(postprocess.nearest_to_seed(apart, np.zeros(3), metric='wrap_linf')) == [0, 1]


def test_equal_distances_keep_their_order():
    sols = solutions((0.1, 0.0), (-0.1, 0.0), (0.0, 0.1))
    assert numbers(postprocess.nearest_to_seed(sols, [0.0, 0.0])) == [0, 1, 2]
    assert numbers(postprocess.nearest_to_seed(sols[::-1], [0.0, 0.0])) == [2, 1, 0]


@pytest.mark.parametrize(
    ('seed', 'metric', 'words'),
    [
        ([0.0, 0.0], 'l2', 'wrap_l2'),
        ([0.0], 'wrap_l2', '1 joint'),
        ([np.nan, 0], 'wrap_l2', 'finite'),
    ],
)
def test_a_wrong_order_is_a_value_error(seed, metric, words):
    with pytest.raises(ValueError, match=words):
        postprocess.nearest_to_seed(solutions((0.0, 0.0)), seed, metric)


@pytest.mark.parametrize(
    ('k', 'expected'), [(-1, []), (0, []), (1, [0]), (2, [0, 1]), (9, [0, 1, 2])]
)
def test_the_first_ones(k, expected):
    assert numbers(postprocess.take_first(solutions((0,), (1,), (2,)), k)) == expected


def test_the_steps_together_are_a_solve():
    arm = Manipulator.from_prebuilt('irb120')
    limits = np.array(arm.joint_limits)
    rng = np.random.default_rng(3)
    for q in rng.uniform(limits[:, 0], limits[:, 1], (20, 6)):
        sols = arm.solve(arm.fk(q), respect_limits=False)
        inside = postprocess.respect_limits(
            postprocess.wrap_to_limits(sols, arm.kinbody), arm.kinbody
        )
        solved = arm.solve_q(arm.fk(q))
        assert len(inside) == len(solved)
        for sol in inside:
            differences = np.mod(solved - sol.q + math.pi, TURN) - math.pi
            assert np.abs(differences).max(axis=1).min() < 1e-9
