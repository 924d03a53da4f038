"""Joint steps: damped least squares, limits as an active set, pulls, and turns of periodic joints."""

import math

from test.packed import Packed
from test.tree_factory import Joint, make_tree

from hypothesis import assume, given, strategies as st
import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING
from ssik_ros.kernels.rows import layout, steps
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.problem.problem import build_problem, PoseConstraint, Rows

TURN = 2.0 * math.pi
SHAPES = ((1, 1), (3, 7), (6, 6), (6, 7), (6, 3), (7, 6), (5, 8), (12, 4))
DAMPINGS = (1e-12, 1e-5, 1e-2, 10.0)

angles = st.floats(-30.0, 30.0)
limits = st.one_of(
    st.tuples(angles, angles).map(sorted),
    st.tuples(angles, st.just(math.inf)),
    st.tuples(st.just(-math.inf), angles),
    st.just((-math.inf, math.inf)),
    # Ranges of about a turn, where an angle may fit twice, once or just not.
    st.tuples(angles, st.sampled_from([TURN, TURN - 1e-9, TURN + 1e-9, 0.0])).map(
        lambda pair: (pair[0], pair[0] + pair[1])
    ),
)


def damped_step(jacobian, residual, damping):
    """Return the kernel's step."""
    m, nv = jacobian.shape
    side = min(m, nv)
    step, normal, right = np.full(nv, np.nan), np.full((side, side), np.nan), np.full(side, np.nan)
    steps.damped_step(jacobian, residual, damping, normal, right, step)
    return step


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('damping', DAMPINGS)
def test_a_damped_step_solves_the_normal_equations(shape, damping):
    rng = np.random.default_rng(shape)
    J, e = rng.normal(size=shape), rng.normal(size=shape[0])
    expected = np.linalg.solve(J.T @ J + damping * np.eye(shape[1]), J.T @ e)
    if shape[0] < shape[1]:
        expected = J.T @ np.linalg.solve(J @ J.T + damping * np.eye(shape[0]), e)
    np.testing.assert_allclose(damped_step(J, e, damping), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize('shape', [(6, 7), (6, 6), (8, 5)])
def test_a_damped_step_is_the_smallest_of_the_sum_it_minimises(shape):
    rng = np.random.default_rng(9)
    J, e, damping = rng.normal(size=shape), rng.normal(size=shape[0]), 0.1

    def cost(step):
        return np.sum((J @ step - e) ** 2) + damping * np.sum(step**2)

    step = damped_step(J, e, damping)
    assert all(cost(step) < cost(step + 1e-3 * rng.normal(size=shape[1])) for _ in range(50))


@pytest.mark.parametrize('shape', [(6, 7), (6, 6), (8, 5)])
def test_a_rank_deficient_jacobian_gives_a_finite_step(shape):
    rng = np.random.default_rng(10)
    J = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
    e = rng.normal(size=shape[0])
    step = damped_step(J, e, 1e-6)
    expected = np.linalg.pinv(J, rcond=1e-9) @ e
    np.testing.assert_allclose(step, expected, rtol=0, atol=1e-4)


class Stepper:
    """A chain of joints for which rows can be made up."""

    def __init__(self, joints, rows=6, lower=-1.0, upper=1.0, kind=JointKind.REVOLUTE):
        """Make a problem with as many rows and joints."""
        names = [f'j{i}' for i in range(joints)]
        above = [None, *names[:-1]]
        tree = make_tree(
            *(
                Joint(n, kind, p, lower=lower, upper=upper)
                for n, p in zip(names, above, strict=True)
            )
        )
        weights = np.array([1.0] * rows + [0.0] * (6 - rows))
        constraint = PoseConstraint(
            'base', f'link_{names[-1]}', target=0, rows=Rows(weights=weights)
        )
        self.packed = Packed(build_problem(tree, names, [constraint]), [np.eye(4)])

    def step(self, jacobian, residual, state, damping=1e-6, limited=True):
        """Return the limited step."""
        self.packed.set_rows(jacobian, residual)
        self.packed.set_state(state)
        return self.packed.limited_step(damping, limited)


def random_rows(rng, shape):
    """Return a random Jacobian and residual."""
    return rng.normal(size=shape), rng.normal(size=shape[0])


@pytest.mark.parametrize('seed', range(20))
@pytest.mark.parametrize('shape', [(6, 7), (6, 4), (3, 3)])
def test_no_joint_at_a_limit_is_pushed_outward(seed, shape):
    rng = np.random.default_rng(seed)
    stepper = Stepper(shape[1], shape[0])
    state = rng.choice([-1.0, 0.0, 1.0, 0.3], shape[1])
    step = stepper.step(*random_rows(rng, shape), state)
    assert not ((state <= -1.0) & (step < 0.0)).any()
    assert not ((state >= 1.0) & (step > 0.0)).any()


@pytest.mark.parametrize('seed', range(20))
def test_joints_that_may_move_solve_their_own_least_squares(seed):
    rng = np.random.default_rng(seed)
    stepper, damping = Stepper(7), 1e-4
    J, e = random_rows(rng, (6, 7))
    step = stepper.step(J, e, rng.choice([-1.0, 0.0, 1.0], 7), damping)
    free = stepper.packed.free == 1.0
    assert (step[~free] == 0.0).all()
    columns = J[:, free]
    expected = np.linalg.solve(columns.T @ columns + damping * np.eye(free.sum()), columns.T @ e)
    np.testing.assert_allclose(step[free], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize('seed', range(20))
def test_the_first_pass_fixes_what_the_optimum_fixes_when_it_is_the_only_one(seed):
    rng = np.random.default_rng(seed)
    stepper, damping = Stepper(5), 1e-2
    J, e = random_rows(rng, (6, 5))
    state = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    step = stepper.step(J, e, state, damping)
    bounds = np.where(state >= 1.0, 0.0, np.inf)
    stacked = np.vstack([J, math.sqrt(damping) * np.eye(5)])
    best = lsq_linear(stacked, np.append(e, np.zeros(5)), (-np.inf, bounds + 1e-300), tol=1e-14)
    np.testing.assert_allclose(step, best.x, rtol=0, atol=1e-6)


@pytest.mark.parametrize('seed', range(20))
def test_a_limited_step_never_makes_the_linear_model_worse_than_standing_still(seed):
    rng = np.random.default_rng(seed)
    stepper = Stepper(7)
    J, e = random_rows(rng, (6, 7))
    step = stepper.step(J, e, rng.choice([-1.0, 0.0, 1.0], 7))
    assert np.linalg.norm(J @ step - e) <= np.linalg.norm(e) + 1e-12


def test_a_joint_at_its_limit_may_move_inward():
    stepper = Stepper(1, 1)
    step = stepper.step(np.array([[1.0]]), np.array([-0.3]), np.array([1.0]), damping=0.0)
    assert step[0] == pytest.approx(-0.3)


def test_a_joint_beyond_its_limit_counts_as_at_it():
    stepper = Stepper(1, 1)
    assert stepper.step(np.array([[1.0]]), np.array([0.3]), np.array([1.5]))[0] == 0.0


def test_without_limits_a_joint_at_its_limit_moves_outward():
    stepper = Stepper(1, 1)
    J, e = np.array([[1.0]]), np.array([0.3])
    step = stepper.step(J, e, np.array([1.0]), damping=0.0, limited=False)
    assert step[0] == pytest.approx(0.3)


@pytest.mark.parametrize('limited', [True, False])
def test_a_held_joint_stays_whether_limits_count_or_not(limited):
    stepper = Stepper(2, 1)
    stepper.packed.set_limits(np.array([0.5, -1.0]), np.array([0.5, 1.0]))
    J, e = np.array([[1.0, 1.0]]), np.array([0.4])
    step = stepper.step(J, e, np.array([0.5, 0.0]), damping=0.0, limited=limited)
    np.testing.assert_allclose(step, [0.0, 0.4])
    np.testing.assert_array_equal(stepper.packed.free, [0.0, 1.0])


def test_when_every_joint_is_fixed_the_step_is_zero():
    stepper = Stepper(3, 3)
    step = stepper.step(np.eye(3), np.ones(3), np.ones(3))
    np.testing.assert_array_equal(step, 0.0)


@pytest.mark.parametrize('seed', range(10))
def test_a_pull_changes_no_row_to_first_order(seed):
    rng = np.random.default_rng(seed)
    J, e = random_rows(rng, (4, 7))
    normal, right, step = np.zeros((4, 4)), np.zeros(4), np.zeros(7)
    steps.damped_step(J, e, 1e-12, normal, right, step)
    pulled, wish = step.copy(), rng.normal(size=7)
    steps.add_null_space_pull(J, normal, right, wish, np.ones(7), pulled)
    np.testing.assert_allclose(J @ pulled, J @ step, rtol=0, atol=1e-9)


@pytest.mark.parametrize('seed', range(10))
def test_a_pull_is_the_wish_projected_into_the_null_space(seed):
    rng = np.random.default_rng(seed)
    J, wish = rng.normal(size=(4, 7)), rng.normal(size=7)
    normal, right, step = np.zeros((4, 4)), np.zeros(4), np.zeros(7)
    steps.damped_step(J, np.zeros(4), 1e-12, normal, right, step)
    steps.add_null_space_pull(J, normal, right, wish, np.ones(7), step)
    expected = wish - np.linalg.pinv(J) @ J @ wish
    np.testing.assert_allclose(step, expected, rtol=0, atol=1e-9)


def test_a_pull_moves_no_fixed_joint():
    rng = np.random.default_rng(5)
    J, wish = rng.normal(size=(3, 6)), rng.normal(size=6)
    free = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    J *= free
    normal, right, step = np.zeros((3, 3)), np.zeros(3), np.zeros(6)
    steps.damped_step(J, np.zeros(3), 1e-12, normal, right, step)
    steps.add_null_space_pull(J, normal, right, wish, free, step)
    assert (step[free == 0.0] == 0.0).all()
    np.testing.assert_allclose(J @ step, 0.0, rtol=0, atol=1e-9)


def fits(value, lower, upper):
    """Return whether an equivalent of an angle lies clearly inside limits, or clearly does not."""
    for end in (lower, upper):
        # A value within the slack of an end is put onto the end; these values have tests of their own.
        assume(math.isinf(end) or abs(math.remainder(end - value, TURN)) > 2.0 * LIMIT_ROUNDING)
    if math.isinf(lower) or math.isinf(upper):
        return True
    return value + TURN * math.ceil((lower - value) / TURN) < upper


@given(value=angles, bounds=limits)
def test_unwinding_brings_an_angle_inside_when_an_equivalent_fits(value, bounds):
    lower, upper = bounds
    inside = fits(value, lower, upper)
    assert (lower <= steps.unwind(value, lower, upper) <= upper) == inside


@given(value=angles, bounds=limits)
def test_unwinding_shifts_by_whole_turns_or_not_at_all(value, bounds):
    fits(value, *bounds)
    shift = (steps.unwind(value, *bounds) - value) / TURN
    assert shift == pytest.approx(round(shift), abs=1e-12)


@given(value=angles, bounds=limits)
def test_an_angle_inside_or_without_a_fit_is_not_unwound(value, bounds):
    lower, upper = bounds
    if lower <= value <= upper or not fits(value, lower, upper):
        assert steps.unwind(value, lower, upper) == value


@given(value=angles, wish=angles, bounds=limits)
def test_the_nearest_winding_is_inside_when_an_equivalent_fits(value, wish, bounds):
    lower, upper = bounds
    assume(fits(value, lower, upper))
    assert lower <= steps.nearest_winding(value, wish, lower, upper) <= upper


@given(value=angles, wish=angles, bounds=limits)
def test_no_equivalent_inside_is_nearer_to_the_wish_than_the_nearest_winding(value, wish, bounds):
    lower, upper = bounds
    assume(fits(value, lower, upper))
    chosen = steps.nearest_winding(value, wish, lower, upper)
    turns = value + TURN * np.arange(-12, 13)
    inside = turns[(turns >= lower) & (turns <= upper)]
    assert abs(chosen - wish) <= np.abs(inside - wish).min(initial=math.inf) + 1e-12


@given(value=angles, wish=angles)
def test_without_limits_the_nearest_winding_is_at_most_half_a_turn_away(value, wish):
    chosen = steps.nearest_winding(value, wish, -math.inf, math.inf)
    assert abs(chosen - wish) <= math.pi + 1e-12
    assert math.remainder(chosen - value, TURN) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize('turns', [-3, -1, 1, 2])
@pytest.mark.parametrize('end', [-1.0, -math.pi, 0.7, math.pi])
@pytest.mark.parametrize('rounding', [0.0, 1e-15, -1e-15, 1e-10, -1e-10])
def test_an_end_of_the_limits_shifted_by_turns_comes_back_inside(end, turns, rounding):
    for lower, upper in ((end, end + 1.0), (end - 1.0, end)):
        back = steps.unwind(end + turns * TURN + rounding, lower, upper)
        assert lower <= back <= upper
        assert back == pytest.approx(end, abs=2e-10)


def test_an_angle_beyond_the_slack_is_not_put_onto_a_limit():
    assert steps.unwind(1.0 + 1e-8, -1.0, 1.0) == 1.0 + 1e-8
    assert steps.unwind(TURN + 1.0 + 1e-8, -1.0, 1.0) == TURN + 1.0 + 1e-8


def test_an_angle_at_a_limit_stays_there_when_no_nearer_turn_fits():
    for limit in np.random.default_rng(1).uniform(1.7, 3.1, 200):
        assert steps.nearest_winding(-limit, 0.95 * limit, -limit, limit) == -limit
        assert steps.nearest_winding(limit, -0.95 * limit, -limit, limit) == limit


KINDS = np.array([[layout.PERIODIC, 0, 1], [layout.LINEAR, 1, 1], [layout.PERIODIC, 2, 1]])


def advance(q, step, lower, upper, limited=True, scale=1.0):
    """Return a configuration moved by a step."""
    moved = np.array(q, dtype=float)
    bounds = np.array(lower, dtype=float), np.array(upper, dtype=float)
    steps.advance(KINDS, *bounds, limited, scale, np.array(step, dtype=float), moved)
    return moved


def test_a_step_is_scaled():
    moved = advance([0.1, 0.2, 0.3], [0.2, 0.4, -0.6], [-9] * 3, [9] * 3, scale=0.5)
    np.testing.assert_allclose(moved, [0.2, 0.4, 0.0], atol=1e-15)


def test_a_slide_stops_at_its_limit():
    moved = advance([0.0, 0.5, 0.0], [0.0, 9.0, 0.0], [-1] * 3, [1] * 3)
    assert moved[1] == 1.0


def test_a_turning_joint_goes_on_one_turn_back_where_that_is_inside():
    moved = advance([3.0, 0.0, 0.0], [0.5, 0.0, 0.0], [-3.1, 0, 0], [3.1, 0, 0])
    assert moved[0] == pytest.approx(3.5 - TURN)


def test_a_turning_joint_stops_at_its_limit_where_no_turn_fits():
    moved = advance([0.9, 0.0, 0.0], [0.5, 0.0, 0.0], [-1, 0, 0], [1, 0, 0])
    assert moved[0] == 1.0


def test_without_limits_a_step_goes_where_it_leads():
    moved = advance([0.9, 0.9, 0.0], [0.5, 0.5, 0.0], [-1] * 3, [1] * 3, limited=False)
    np.testing.assert_allclose(moved, [1.4, 1.4, 0.0])


def test_a_joint_without_a_step_is_not_touched_even_outside():
    assert advance([5.0, 5.0, 5.0], [0.0] * 3, [-1] * 3, [1] * 3).tolist() == [5.0] * 3


@given(q=st.tuples(*[st.floats(-1, 1)] * 3), step=st.tuples(*[st.floats(-20, 20)] * 3))
def test_a_limited_step_from_inside_ends_inside(q, step):
    moved = advance(q, step, [-1, -1, -1], [1, 1, 1])
    assert (np.abs(moved) <= 1.0).all()


BALL = np.array([[layout.BALL_FIRST, 0, 1], [layout.BALL_REST, 0, 1], [layout.BALL_REST, 0, 1]])
WIDE = np.full(3, np.inf)


def test_a_ball_turns_in_its_own_frame():
    rng = np.random.default_rng(1)
    start, turn = Rotation.random(None, rng), rng.normal(size=3)
    q = start.as_quat()
    steps.advance(BALL, -WIDE, WIDE, True, 0.5, turn, q)
    expected = (start * Rotation.from_rotvec(0.5 * turn)).as_matrix()
    np.testing.assert_allclose(Rotation.from_quat(q).as_matrix(), expected, rtol=0, atol=1e-15)


def clamp(seed, lower, upper):
    """Return a seed brought inside."""
    q = np.full(3, np.nan)
    bounds = np.array(lower, dtype=float), np.array(upper, dtype=float)
    steps.clamp_seed(KINDS, *bounds, np.array(seed, dtype=float), q)
    return q


def test_a_seed_inside_stays_as_it_is():
    assert clamp([0.1, 0.2, 0.3], [-1] * 3, [1] * 3).tolist() == [0.1, 0.2, 0.3]


def test_a_seed_comes_inside_by_full_turns_or_to_the_nearer_limit():
    q = clamp([TURN + 0.1, TURN + 0.1, -2.0], [-1] * 3, [1] * 3)
    np.testing.assert_allclose(q, [0.1, 1.0, -1.0], atol=1e-15)


@given(seed=st.tuples(*[angles] * 3), bounds=st.tuples(limits, limits, limits))
def test_a_clamped_seed_is_inside(seed, bounds):
    lower, upper = zip(*bounds, strict=True)
    q = clamp(seed, lower, upper)
    assert (np.array(lower) <= q).all()
    assert (q <= np.array(upper)).all()


def difference(seed, q, lower, upper):
    """Return the way from a configuration to a seed."""
    out = np.full(3, np.nan)
    arrays = (np.array(values, dtype=float) for values in (lower, upper, seed, q))
    steps.difference_to(KINDS, *arrays, out)
    return out


def test_the_way_to_the_seed_is_a_plain_difference_for_joints_with_limits():
    change = difference([3.0, 1.0, 3.0], [-3.0, -1.0, -3.0], [-4] * 3, [4] * 3)
    np.testing.assert_array_equal(change, [6.0, 2.0, 6.0])


def test_the_way_to_the_seed_is_the_short_one_for_joints_without_limits():
    change = difference([3.0, 9.0, 0.0], [-3.0, -9.0, 0.0], [-math.inf] * 3, [math.inf] * 3)
    np.testing.assert_allclose(change, [6.0 - TURN, 18.0, 0.0], atol=1e-15)


def ball_difference(a, b):
    """Return the kernel's rotation vector between two quaternions."""
    out = np.full(3, np.nan)
    steps.ball_difference(a, b, out)
    return out


@pytest.mark.parametrize(
    'angle', [0.0, 1e-12, 1e-8, 0.99e-4, 1.01e-4, 0.1, 1.0, 3.0, math.pi - 1e-9]
)
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_the_way_between_two_balls_is_a_rotation_vector(angle, sign):
    start = Rotation.random(None, np.random.default_rng(2))
    vector = angle * np.array([2 / 3, -1 / 3, 2 / 3])
    end = (start * Rotation.from_rotvec(vector)).as_quat()
    change = ball_difference(start.as_quat(), sign * end)
    np.testing.assert_allclose(change, vector, rtol=0, atol=3e-12)


def test_advancing_a_ball_by_the_way_to_the_seed_arrives_there():
    rng = np.random.default_rng(3)
    q, seed = (Rotation.random(None, rng).as_quat() for _ in range(2))
    change = np.zeros(3)
    steps.difference_to(BALL, -WIDE, WIDE, seed, q, change)
    steps.advance(BALL, -WIDE, WIDE, True, 1.0, change, q)
    assert abs(q @ seed) == pytest.approx(1.0, abs=1e-15)


def test_a_squared_norm_is_one():
    assert steps.squared_norm(np.array([3.0, 4.0])) == 25.0
    assert steps.squared_norm(np.empty(0)) == 0.0
