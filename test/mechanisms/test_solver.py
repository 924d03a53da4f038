"""The solver reports the truth: statuses, best states, limits, targets, rest poses, options."""

import copy

from test.mechanisms.mechanisms import add_arm, add_joint, make_hexapod
from test.mechanisms.random_mechanisms import draw_mechanism

import numpy as np
import pytest
from scipy.optimize import least_squares

from ssik_ros.errors import InvalidOption, InvalidTarget
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms import (
    DOF,
    Goal,
    Joint,
    Link,
    SOLVE_STATUS,
    SOLVE_STATUS_NAMES,
    Solver,
    WorkerSolver,
)
from ssik_ros.solvers.mechanisms.options import ClosedChainOptions


def make_planar(count, length=1.0, dof=(DOF.X, DOF.Y)):
    """Return a planar arm of equal links with a goal for its end: root, joints, goal."""
    root = link = Link('root')
    joints = []
    for k in range(count):
        joint, link = add_joint(link, [DOF.EZ], (length if k else 0, 0, 0), f'j{k}')
        joints.append(joint)
    end, tip = Joint('end'), Link('tip')
    end.set_position(length, 0, 0)
    link.add_child(end)
    end.add_child(tip)
    goal = Goal('goal')
    goal.set_goal_dof(*dof)
    goal.make_closure(tip)
    return root, joints, goal


def values(joints):
    return np.array([joint.get_dof_value(joint.dof[0]) for joint in joints])


def place(joints, angles):
    for joint, angle in zip(joints, angles, strict=True):
        joint.set_dof_values(angle)


def planar_end(angles, length=1.0):
    total = np.cumsum(angles)
    return length * np.array([np.cos(total).sum(), np.sin(total).sum()])


def test_a_reachable_goal_converges_and_an_unreachable_one_stalls_stretched():
    root, joints, goal = make_planar(3)
    solver = Solver(root)
    place(joints, [0.3, 0.4, 0.5])
    goal.set_position(1.2, 1.1, 0)
    (result,) = solver.solve()
    assert result == SOLVE_STATUS.CONVERGED
    assert SOLVE_STATUS_NAMES[result] == 'CONVERGED'
    assert np.allclose(planar_end(values(joints)), [1.2, 1.1], atol=1e-6)
    goal.set_position(4.0, 3.0, 0)
    (result,) = solver.solve()
    assert result == SOLVE_STATUS.STALLED
    assert result.error[0] == pytest.approx(2.0, abs=1e-9)
    assert result.cost == pytest.approx(2.0, abs=1e-9)


def test_a_stretched_arm_gets_out_of_its_singular_posture():
    root, joints, goal = make_planar(3)
    goal.set_position(1.5, 0, 0)
    (result,) = Solver(root).solve()
    assert result.converged and result.escapes > 0
    assert np.allclose(planar_end(values(joints)), [1.5, 0], atol=1e-6)


def draw_unreachable(rng):
    """Return a spatial arm within limits whose goal is out of reach: root, joints, goal."""
    root = Link('root')
    joints, hand = add_arm(root, 'a', (0, 0, 0))
    goal = Goal('goal')
    goal.make_closure(hand)
    direction = rng.normal(size=3)
    goal.set_position(*(direction / np.linalg.norm(direction) * 2.5))
    goal.set_quaternion(*rng.normal(size=4))
    return root, joints, goal


@pytest.mark.sampled
@pytest.mark.parametrize('seed', range(2))
def test_an_unreachable_goal_ends_at_an_optimum_that_many_starts_of_scipy_find(seed):
    rng = np.random.default_rng(seed)
    root, joints, _ = draw_unreachable(rng)
    solver = Solver(root)
    (result,) = solver.solve()
    assert result == SOLVE_STATUS.STALLED
    optimum = values(joints)
    assert (np.abs(optimum) <= 2.8).all()

    def residual(angles):
        place(joints, angles)
        return solver.residual()

    def slopes(angles):
        place(joints, angles)
        return -solver.jacobian()

    starts = [optimum.clip(-2.7999, 2.7999), *rng.uniform(-1.5, 1.5, (4, 7))]
    sharp = {'xtol': 1e-15, 'ftol': 1e-15, 'gtol': 1e-12, 'max_nfev': 200}
    fits = [least_squares(residual, s, slopes, bounds=(-2.8, 2.8), **sharp) for s in starts]
    # No better state is near the solver's last one, and other starts end at such an optimum, too.
    assert fits[0].cost > result.cost * (1 - 1e-7)
    assert min(abs(f.cost / result.cost - 1) for f in fits) < 1e-6


def test_the_word_is_that_of_the_state_handed_back():
    """For every method, tolerance and budget: CONVERGED if and only if every error is within its tolerance."""
    rng = np.random.default_rng(0)
    seen = set()
    for number in range(60):
        roots = draw_mechanism(rng)
        solver = Solver(roots, method=['lm', 'dls', 'svd'][number % 3])
        solver.max_iterations = int(rng.integers(0, 40))
        for chain, result in enumerate(solver.solve()):
            seen.add(result.status)
            solver.configure(translation_factor=1.0)
            errors = result.closure_errors
            within = (errors[:, 0] < 1e-6).all() and (errors[:, 1] < 1e-6).all()
            assert result.converged == within
            assert solver.residual(chain) @ solver.residual(chain) == pytest.approx(
                2 * result.cost, rel=1e-9, abs=1e-15
            )
    assert {SOLVE_STATUS.CONVERGED, SOLVE_STATUS.STALLED, SOLVE_STATUS.TIMEOUT} <= seen


@pytest.mark.parametrize('method', ['lm', 'dls', 'svd'])
def test_a_solve_never_ends_worse_than_it_began(method):
    for seed in range(25):
        solver = Solver(draw_mechanism(np.random.default_rng(seed)), method=method, escapes=0)
        before = [solver.residual(k) for k in range(len(solver.mechanism.chains))]
        for start, result in zip(before, solver.solve(), strict=True):
            if method == 'lm' or result.converged:
                assert result.cost <= 0.5 * start @ start * (1 + 1e-12) + 1e-12


def test_limits_hold_to_the_last_bit_and_are_left_again():
    root, joints, goal = make_planar(3)
    solver = Solver(root)
    for joint in joints:
        joint.set_limits(DOF.EZ, -0.5, 0.7)
    place(joints, [0.3, 0.2, 0.1])
    goal.set_position(-1.0, 2.0, 0)
    (result,) = solver.solve()
    assert result == SOLVE_STATUS.STALLED
    assert values(joints).max() == 0.7
    assert result.limits_active == ('j0.EZ', 'j1.EZ', 'j2.EZ')
    goal.set_position(*planar_end([0.1, -0.2, 0.3]), 0)
    (result,) = solver.solve()
    assert result.converged
    assert np.abs(values(joints)).max() < 0.7


def test_locked_joints_stay_and_excluded_goals_do_not_count():
    root, joints, goal = make_planar(4)
    solver = Solver(root)
    place(joints, [0.3, 0.4, 0.5, 0.6])
    joints[1].locked = True
    goal.set_position(1.0, 2.0, 0)
    (result,) = solver.solve()
    assert result.converged and values(joints)[1] == 0.4
    assert result.locked == ('j1.EZ',)
    for joint in joints:
        joint.locked = True
    goal.set_position(1.0, 1.0, 0)
    assert solver.solve()[0] == SOLVE_STATUS.STALLED
    solver.exclude(goal)
    assert solver.solve()[0] == SOLVE_STATUS.CONVERGED
    solver.include(goal)
    assert solver.solve()[0] == SOLVE_STATUS.STALLED


def test_joint_targets_are_traded_off_as_weighted():
    root, joints, goal = make_planar(2)
    place(joints, [0.2, 0.9])
    goal.set_position(1.0, 1.0, 0)
    joints[0].target_set = True
    joints[0].set_target_values(0.6)
    solver = Solver(root)
    for weight in (0.1, 1.0, 10.0):
        joints[0].target_weight = weight
        (result,) = solver.solve()
        assert result == SOLVE_STATUS.STALLED

        def cost(q, w=weight):
            return np.append(planar_end(q) - [1, 1], w * (0.6 - q[0]))

        fit = least_squares(cost, values(joints), xtol=1e-15, ftol=1e-15, gtol=1e-15)
        assert np.allclose(values(joints), fit.x, atol=1e-6)
        assert result.cost == pytest.approx(fit.cost, rel=1e-9)


def test_low_targets_give_way_to_goals():
    root, joints, goal = make_planar(3)
    place(joints, [0.2, 0.9, 0.1])
    goal.set_position(1.0, 1.5, 0)
    joints[0].target_set = True
    joints[0].set_target_values(0.1)
    (result,) = Solver(root, target_priority='low').solve()
    assert result.converged
    assert values(joints)[0] == pytest.approx(0.1, abs=1e-5)
    joints[0].set_target_values(-2.0)
    (result,) = Solver(root, target_priority='low').solve()
    assert result.converged


def test_a_joint_in_no_chain_goes_to_its_target():
    root, _, goal = make_planar(2)
    free, _ = add_joint(root, [DOF.X, DOF.EZ], name='free')
    free.set_max_limits(0.5, 9.0)
    free.set_target_values(2.0, 1.0)
    free.target_set = True
    goal.set_position(1.0, 1.0, 0)
    Solver(root).solve()
    assert free.dof_values.tolist() == [0.5, 0, 0, 0, 0, 1.0]


@pytest.mark.parametrize('kind', ['euler', 'quaternion'])
def test_a_target_of_three_turns_is_one_rotation(kind):
    """The triple (x + pi, pi - y, z + pi) is the same rotation: nothing has to move."""
    root, tip, joint, goal = Link(), Link(), Joint('ball'), Goal()
    joint.set_dof(DOF.EX, DOF.EY, DOF.EZ)
    joint.rotation = kind
    joint.set_dof_values(0.2, 0.3, 0.4)
    joint.set_target_values(0.2 + np.pi, np.pi - 0.3, 0.4 + np.pi)
    joint.target_set = True
    root.add_child(joint)
    joint.add_child(tip)
    goal.set_goal_dof(DOF.X)
    goal.make_closure(tip)
    solver = Solver(root)
    (result,) = solver.solve()
    assert result.converged and result.iterations == 0
    joint.set_target_values(-1.2, 0.9, 2.5)
    (result,) = solver.solve()
    assert result.converged
    wanted = Joint()
    wanted.set_dof(DOF.EX, DOF.EY, DOF.EZ)
    wanted.set_dof_values(-1.2, 0.9, 2.5)
    assert np.allclose(joint.matrix_dof, wanted.matrix_dof, atol=1e-6)


@pytest.mark.sampled
@pytest.mark.parametrize('seed', range(4))
def test_rest_poses_end_at_the_attainable_optimum(seed):
    rng = np.random.default_rng(seed)
    root, joints, goal = make_planar(5)
    place(joints, rng.uniform(-1, 1, 5))
    goal.set_position(*(planar_end(rng.uniform(-1, 1, 5)) * 0.8), 0)
    rest = rng.uniform(-1, 1, 5)
    for joint, angle in zip(joints, rest, strict=True):
        joint.set_rest_pose_values(angle)
        joint.rest_pose_set = True
    (result,) = Solver(root).solve()
    assert result.converged
    distance = np.linalg.norm(values(joints) - rest)
    target = goal.position[:2]

    def rows(q):
        return np.append(1e5 * (planar_end(q) - target), q - rest)

    starts = [values(joints), *(rest + rng.normal(size=(6, 5)))]
    fits = [least_squares(rows, start, xtol=1e-15, ftol=1e-15) for start in starts]
    # The optimum that is nearest along the self motion; others may lie on other branches.
    assert distance <= 1.02 * np.linalg.norm(fits[0].x - rest)
    assert result.rest_cost == pytest.approx(distance**2 / 2, rel=1e-9)


def test_the_middle_of_limits_is_a_secondary_objective():
    root, joints, goal = make_planar(4)
    for joint in joints:
        joint.set_limits(DOF.EZ, -2.0, 1.0)
    place(joints, [0.9, 0.9, -0.9, 0.9])
    goal.set_position(*planar_end([-0.5] * 4), 0)
    (result,) = Solver(root, secondary='limit_centre').solve()
    assert result.converged
    assert np.allclose(values(joints), -0.5, atol=1e-4)


def test_compatible_defaults_are_those_of_the_ancestor():
    options = ClosedChainOptions.compatible()
    assert (options.method, options.max_iterations, options.damping_factor) == ('dls', 5, 0.001)
    assert (options.stall_threshold, options.diverge_threshold) == (1e-4, 0.01)
    assert options.translation_converge_threshold == 1e-3
    assert options.rotation_converge_threshold == 1e-5
    hexapod = make_hexapod()
    hexapod.goal.position[2] += 0.004
    solver = Solver(hexapod.roots, compatible=True)
    (result,) = solver.solve()
    assert result.converged and result.iterations <= 5
    solver.useSVD = True
    assert solver.method == 'svd' and solver.use_svd
    with pytest.warns(UserWarning, match='exact'):
        solver.translationStep = 1e-3


def call_until_it_ends(solver, most=200):
    """Return the statuses of the first call of which no chain says TIMEOUT, as callers of the ancestor loop."""
    for _ in range(most):
        results = solver.solve()
        if SOLVE_STATUS.TIMEOUT not in results:
            return [result.status for result in results]
    return [result.status for result in results]


def two_arms_out_of_reach(rng):
    """Return the root of two planar arms, each with a goal that it cannot reach."""
    root, joints, goal = make_planar(3)
    goal.set_position(5, 1, 0)
    other, more, far = make_planar(3)
    (first,) = other.children
    other.remove_child(first)
    first.set_position(0, 3, 0)
    root.add_child(first)
    far.set_position(-4, 12, 0)
    place([*joints, *more], rng.uniform(-1, 1, 6))
    return root


@pytest.mark.parametrize('seed', range(8))
def test_compatible_calls_on_goals_out_of_reach_come_to_an_end(seed):
    rng = np.random.default_rng(seed)
    ended = {SOLVE_STATUS.DIVERGED, SOLVE_STATUS.STALLED}
    both = call_until_it_ends(Solver(two_arms_out_of_reach(rng), compatible=True))
    assert len(both) == 2 and set(both) <= ended
    root, joints, goal = make_planar(2)
    place(joints, rng.uniform(-1, 1, 2))
    goal.set_position(*rng.uniform(2, 4, 2), 0)
    (status,) = call_until_it_ends(Solver(root, compatible=True))
    assert status in ended


@pytest.mark.parametrize('seed', range(8))
def test_compatible_calls_on_goals_within_reach_converge(seed):
    rng = np.random.default_rng(seed)
    root, joints, goal = make_planar(4)
    place(joints, rng.uniform(-1, 1, 4))
    goal.set_position(*planar_end(rng.uniform(-0.9, 0.9, 4)), 0)
    assert call_until_it_ends(Solver(root, compatible=True)) == [SOLVE_STATUS.CONVERGED]


def test_a_compatible_worker_ends_where_goals_are_out_of_reach():
    root = two_arms_out_of_reach(np.random.default_rng(0))
    worker = WorkerSolver(root, compatible=True)
    results = worker.solve().result(timeout=60)
    worker.dispose()
    assert SOLVE_STATUS.TIMEOUT not in results


def follow_the_formula(angles, goal, rest, factor):
    """Return the end of a planar arm's damped steps with a pull of the null space towards rest, in plain numpy."""
    q = np.array(angles)
    for _ in range(1000):
        error = goal - planar_end(q)
        if np.linalg.norm(error) < 1e-3:
            break
        error *= min(1.0, 0.1 / np.linalg.norm(error))
        total = np.cumsum(q)
        sines, cosines = (np.cumsum(f(total)[::-1])[::-1] for f in (np.sin, np.cos))
        jacobian = np.array([-sines, cosines])
        pinv = jacobian.T @ np.linalg.inv(jacobian @ jacobian.T + 1e-6 * np.eye(2))
        q = q + pinv @ error + factor * (np.eye(len(q)) - pinv @ jacobian) @ (rest - q)
    return q


@pytest.mark.parametrize('factor', [0.01, 0.2])
@pytest.mark.parametrize('seed', range(8))
def test_compatible_calls_pull_towards_rest_poses_on_their_way(seed, factor):
    rng = np.random.default_rng(seed)
    start, rest = rng.uniform(-1, 1, (2, 5))
    root, joints, goal = make_planar(5)
    place(joints, start)
    for joint, angle in zip(joints, rest, strict=True):
        joint.set_rest_pose_values(angle)
        joint.rest_pose_set = True
    point = planar_end(rng.uniform(-0.8, 0.8, 5))
    goal.set_position(*point, 0)
    solver = Solver(root, compatible=True, rest_pose_factor=factor)
    assert call_until_it_ends(solver) == [SOLVE_STATUS.CONVERGED]
    expected = follow_the_formula(start, point, rest, factor)
    # Iterations that are left in the last call go on pulling.
    assert np.linalg.norm(values(joints) - rest) < np.linalg.norm(expected - rest) + 0.01


@pytest.mark.parametrize('method', ['dls', 'svd'])
def test_other_methods_track_a_hexapod(method):
    hexapod = make_hexapod()
    solver = Solver(hexapod.roots, method=method, max_iterations=200)
    for k in range(10):
        hexapod.goal.position[0] = 0.001 * k
        (result,) = solver.solve()
        assert result.converged, result


def test_a_failed_solve_can_leave_the_joints_as_they_were():
    root, joints, goal = make_planar(2)
    place(joints, [0.5, 0.6])
    goal.set_position(5, 0, 0)
    (result,) = Solver(root, update_joints='converged').solve()
    assert result == SOLVE_STATUS.STALLED
    assert values(joints).tolist() == [0.5, 0.6]
    assert result.error[0] == pytest.approx(3.0, abs=1e-6)


def test_results_come_in_order_of_discovery_with_their_names():
    first, joints, goal = make_planar(2)
    place(joints, [0.5, 0.6])
    goal.set_position(1, 1, 0)
    second, _, far = make_planar(2)
    far.set_position(9, 0, 0)
    far.name = 'far'
    results = Solver([first, second]).solve()
    assert [r.status.name for r in results] == ['CONVERGED', 'STALLED']
    assert [r.goal_names for r in results] == [('goal',), ('far',)]
    assert results[0].variables == ('j0.EZ', 'j1.EZ')
    assert first in results[0].roots and second in results[1].roots


def test_a_follower_moves_with_its_leader_and_shares_its_limits():
    root, joints, goal = make_planar(3)
    joints[2].follow(DOF.EZ, joints[1], DOF.EZ, 2.0, 0.1)
    joints[2].set_max_limit(DOF.EZ, 1.0)
    place(joints[:2], [0.3, 0.4])
    goal.set_position(*planar_end([0.8, 0.3, 0.7]), 0)
    solver = Solver(root)
    (result,) = solver.solve()
    assert result.converged and len(result.variables) == 2
    assert values(joints)[2] == pytest.approx(2 * values(joints)[1] + 0.1)
    goal.set_position(*planar_end([0.8, 0.6, 1.3]), 0)
    solver.solve()
    assert values(joints)[2] <= 1.0 + 1e-12


@pytest.mark.parametrize('number', [np.nan, np.inf])
def test_numbers_that_are_none_raise_before_anything_moves(number):
    root, joints, goal = make_planar(2)
    solver = Solver(root)
    solver.solve()
    mechanism = solver.mechanism
    position = mechanism.storage.reals[mechanism.frames.index(goal), layout.POSITION :]
    position[0] = number
    before = values(joints)
    for _ in range(2):
        # The second time the kernel has seen these numbers already.
        with pytest.raises(InvalidTarget, match='goal'):
            solver.solve()
    assert (values(joints) == before).all()
    position[0] = 1.3
    assert solver.solve()[0].converged


def test_every_number_of_a_pose_is_read_anew_once_it_has_changed():
    root, joints, _ = make_planar(3, dof=tuple(DOF))
    solver = Solver(root)
    place(joints, [0.3, 0.4, 0.5])
    tip = joints[-1].child.children[0]
    solver.solve()
    numbers = solver.mechanism.storage.reals[solver.mechanism.frames.index(tip)]
    for k in range(layout.FIXED):
        before = solver.residual()
        numbers[k] += 0.01
        assert (solver.residual() != before).any(), k


def test_a_program_is_copied_with_memory_of_its_own():
    root, joints, goal = make_planar(2)
    goal.set_position(1.2, 0.4, 0.0)
    solver = Solver(root)
    place(joints, [0.3, 0.4])
    (result,) = solver.solve()
    program = result.chain.program
    twin = copy.copy(program)
    assert not np.shares_memory(twin.work, program.work)
    storage = solver.mechanism.storage
    assert twin.solve(storage.reals, storage.flags, solver.options.packed) == result
    assert twin.snapshot() != program.snapshot()


@pytest.mark.parametrize(
    'options',
    [
        {'max_iteration': 5},
        {'method': 'newton'},
        {'max_iterations': -1},
        {'rotation_factor': -1.0},
        {'translation_converge_threshold': 0.0},
        {'stall_threshold': float('nan')},
        {'rest_pose_factor': 2.0},
    ],
)
def test_wrong_options_are_errors(options):
    with pytest.raises(InvalidOption):
        Solver(Link(), **options)


def test_the_same_request_gives_the_same_bytes():
    results = []
    for _ in range(2):
        solver = Solver(draw_mechanism(np.random.default_rng(5)))
        results.append([r.q.tobytes() for r in solver.solve()])
    assert results[0] == results[1]


def test_time_budgets_and_unbounded_iterations_end():
    root, _, goal = make_planar(6)
    goal.set_position(20, 0, 0)
    solver = Solver(
        root, max_time=0.0001, max_iterations=10**9, stall_threshold=0.0, escapes=10**6
    )
    (result,) = solver.solve()
    assert result.status in (SOLVE_STATUS.TIMEOUT, SOLVE_STATUS.STALLED)
    goal.set_position(4, 1, 0)
    solver.configure(max_time=1e30)
    assert solver.solve()[0].converged


def test_random_mechanisms_end_with_finite_numbers_within_limits():
    for seed in range(60):
        rng = np.random.default_rng(1000 + seed)
        solver = Solver(draw_mechanism(rng))
        joints = [f for f in solver.mechanism.frames if isinstance(f, Joint)]
        for joint in joints:
            for dof in joint.dof if not isinstance(joint, Goal) else ():
                if joint.rotation == 'euler' and rng.random() < 0.3:
                    joint.set_limits(dof, -rng.uniform(0, 1), rng.uniform(0, 1))
        for result in solver.solve():
            assert np.isfinite(result.q).all() and np.isfinite(result.cost)
        for joint in joints:
            inside = (joint.dof_values >= joint.min_dof_limit).all()
            assert inside and (joint.dof_values <= joint.max_dof_limit).all()


def make_boxed(seed):
    """Return a planar arm in narrow limits, far from a goal that random postures within them reach: root, joints."""
    rng = np.random.default_rng(seed)
    root, joints, goal = make_planar(4)
    low, high = -2.6, 2.6
    for joint in joints:
        joint.set_limits(DOF.EZ, low, high)
    place(joints, [low + 0.05] * 4)
    goal.set_position(*planar_end(rng.uniform(1.0, high, 4)), 0)
    return root, joints


def needs_restarts():
    """Return a seed of :func:`make_boxed` whose goal is missed from its start."""
    for seed in range(200):
        root, _ = make_boxed(seed)
        if not Solver(root, escapes=0).solve()[0].converged:
            return seed
    raise AssertionError('every goal is reached at once')


def test_restarts_find_what_the_first_start_misses_and_depend_on_the_seed_alone():
    seed = needs_restarts()
    results = []
    for _ in range(2):
        root, joints = make_boxed(seed)
        (result,) = Solver(root, escapes=0, restarts=50, seed=3).solve()
        assert result.converged and 0 < result.restarts <= 50
        assert result.q.tolist() == values(joints).tolist()
        assert (np.abs(values(joints)) <= 2.6).all()
        results.append((result.restarts, result.iterations, values(joints).tolist()))
    assert results[0] == results[1]


def test_a_start_that_converges_needs_no_restarts():
    root, joints, goal = make_planar(3)
    place(joints, [0.3, 0.4, 0.5])
    goal.set_position(1.2, 1.1, 0)
    (plain,) = Solver(root).solve()
    plain_values = values(joints)
    place(joints, [0.3, 0.4, 0.5])
    (result,) = Solver(root, restarts=20).solve()
    assert result.converged and result.restarts == 0 and result.iterations == plain.iterations
    assert values(joints).tolist() == plain_values.tolist()


def test_restarts_of_a_goal_out_of_reach_keep_the_best_start_and_say_so():
    root, joints, goal = make_planar(3)
    goal.set_position(4.0, 3.0, 0)
    place(joints, [0.3, 0.4, 0.5])
    (first,) = Solver(root, max_iterations=2).solve()
    place(joints, [0.3, 0.4, 0.5])
    (result,) = Solver(root, max_iterations=30, restarts=5).solve()
    assert result == SOLVE_STATUS.STALLED and result.restarts == 5
    assert result.error[0] == pytest.approx(2.0, abs=1e-6)
    assert result.cost <= first.cost and result.iterations > 30
    assert np.linalg.norm(planar_end(values(joints)) - [4.0, 3.0]) == pytest.approx(2.0, abs=1e-6)
    place(joints, [0.3, 0.4, 0.5])
    (kept,) = Solver(root, restarts=5, update_joints='converged').solve()
    assert kept == SOLVE_STATUS.STALLED and values(joints).tolist() == [0.3, 0.4, 0.5]


def test_restarts_end_with_the_time():
    root, _, goal = make_planar(3)
    goal.set_position(4.0, 3.0, 0)
    (result,) = Solver(root, restarts=10**9, max_time=0.05).solve()
    assert result == SOLVE_STATUS.TIMEOUT and result.restarts > 0


def test_restarts_leave_locked_joints_and_slides_without_limits_where_they_are():
    root, joints, goal = make_planar(4)
    slide, _ = add_joint(joints[-1].child, [DOF.Z], name='slide')
    place(joints, [0.1, 0.2, 0.3, 0.4])
    joints[1].locked = True
    goal.set_position(9.0, 0, 0)
    Solver(root, restarts=3).solve()
    assert joints[1].get_dof_value(DOF.EZ) == 0.2 and slide.get_dof_value(DOF.Z) == 0.0


def test_numbers_belong_to_the_state_handed_back_after_restarts_too():
    """Loops, balls, followers and targets: the numbers of the result belong to the final joint values."""
    rng = np.random.default_rng(4)
    restarted = 0
    for number in range(30):
        solver = Solver(draw_mechanism(rng), max_iterations=4, restarts=6, seed=number, escapes=0)
        for chain, result in enumerate(solver.solve()):
            restarted += result.restarts > 0
            residual = solver.residual(chain)
            assert residual @ residual == pytest.approx(2 * result.cost, rel=1e-9, abs=1e-15)
            assert result.converged == (max(result.error) < 1e-6)
    assert restarted > 5
