"""Mode optimize_distance returns the solution nearest to the seed, compared with other ways to find it."""

from test.solvers.arms import closes, MAIN_GROUP, tip_poses, within

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import minimize

from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.search.pose_ik.solver import OPTIMIZE_SEARCHES, PoseIkSolver

BY_STARTS = PoseIkOptions(solve_mode='optimize_distance', optimization_timeout=60.0)
"""Ended by the number of starts, so that no result depends on the speed of the machine."""


class Arm:
    """A shipped robot, read only by pinocchio: its pose and its Jacobian as functions of the joints."""

    def __init__(self, robot):
        """Find the columns of the arm's joints, all of which come one after the other."""
        self.robot, self.group = robot, robot.group(MAIN_GROUP[robot.name])
        self.model = ReferenceKinematics(robot).model
        self.data = self.model.createData()
        self.q = pin.neutral(self.model)
        joints = [self.model.joints[self.model.getJointId(n)] for n in self.group.joint_names]
        self.place_q = [joint.idx_q for joint in joints]
        self.place_v = [joint.idx_v for joint in joints]
        self.frame = self.model.getFrameId(self.group.tip)
        pin.framesForwardKinematics(self.model, self.data, self.q)
        self.base = pin.SE3(self.data.oMf[self.model.getFrameId(self.group.base_link)])

    def error(self, x, goal):
        """Return the error to a goal (pin.SE3) as a twist in the tip's axes, and its Jacobian."""
        self.q[self.place_q] = x
        pin.computeJointJacobians(self.model, self.data, self.q)
        pose = pin.updateFramePlacement(self.model, self.data, self.frame)
        left = pin.log6(pose.actInv(self.base * goal))
        jacobian = pin.getFrameJacobian(
            self.model, self.data, self.frame, pin.ReferenceFrame.LOCAL
        )
        derivative = -pin.Jlog6(pose.actInv(self.base * goal).inverse()) @ jacobian
        return left.vector, derivative[:, self.place_v], jacobian[:, self.place_v]

    def descend(self, x, goal):
        """Return where plain damped Newton steps lead, or None when they lead nowhere."""
        for _ in range(40):
            left, _, jacobian = self.error(x, goal)
            if np.linalg.norm(left) < 1e-7:
                return x
            normal = jacobian @ jacobian.T + 1e-4 * left @ left * np.eye(6)
            step = jacobian.T @ np.linalg.lstsq(normal, left, rcond=None)[0]
            x = x + step * min(1.0, 0.7 / np.abs(step).max())
        return None

    def nearest_winding(self, x, seed):
        """Return the equivalent within the limits that is nearest to a seed, or None."""
        windings = x + 2.0 * np.pi * np.arange(-3, 4)[:, None]
        legal = (windings >= self.group.lower - 1e-9) & (windings <= self.group.upper + 1e-9)
        distances = np.where(legal, np.abs(windings - seed), np.inf)
        if not np.isfinite(distances.min(axis=0)).all():
            return None
        return windings[distances.argmin(axis=0), np.arange(len(x))]

    def branches(self, goal, seed, starts, rng):
        """Return all solutions within the limits that descents from many starts lead to."""
        branches = []
        for _ in range(starts):
            x = self.descend(rng.uniform(-np.pi, np.pi, len(seed)), goal)
            x = None if x is None else self.nearest_winding(x, seed)
            if x is not None and all(np.abs(x - y).max() > 1e-3 for y in branches):
                branches.append(x)
        return branches


def draw_requests(robot, count, seed):
    """Yield random reachable requests."""
    rng = np.random.default_rng(seed)
    group = robot.group(MAIN_GROUP[robot.name])
    for _ in range(count):
        target = tip_poses(robot, group, robot.sample(group, rng))
        yield SolveRequest(target, seed=robot.sample(group, rng))


def solver_for(robot, options=BY_STARTS):
    """Return PoseIK for the main group of a shipped robot."""
    return PoseIkSolver(robot, robot.group(MAIN_GROUP[robot.name]), options)


def distance(robot, q, seed):
    """Return the joint distance, modulo full turns where a joint has no limits."""
    endless = np.isinf(robot.group(MAIN_GROUP[robot.name]).lower)
    differences = np.abs(q - seed)
    turns = np.abs(np.arctan2(np.sin(differences), np.cos(differences)))
    return np.linalg.norm(np.where(endless, turns, differences))


@pytest.mark.sampled
def test_no_solution_is_farther_than_the_first_one_found(robot):
    best, first = solver_for(robot), solver_for(robot, PoseIkOptions())
    for request in draw_requests(robot, 50, seed=11):
        near, any_ = best.solve(request), first.solve(request)
        assert closes(robot, best.group, near.q, request.targets) and within(best.group, near.q)
        gap = distance(robot, any_.q, request.seed)
        assert distance(robot, near.q, request.seed) <= gap + 1e-9


def test_the_first_solution_found_is_among_those_compared(robots):
    robot = robots['panda']
    best, first = solver_for(robot), solver_for(robot, PoseIkOptions())
    for request in list(draw_requests(robot, 300, seed=3))[255:]:
        gap = np.linalg.norm(first.solve(request).q - request.seed)
        assert np.linalg.norm(best.solve(request).q - request.seed) <= gap + 1e-9


@pytest.mark.sampled
@pytest.mark.parametrize('name', ['fanuc', 'ur5e'])
def test_the_solution_is_the_nearest_of_all_branches(robots, name):
    robot = robots[name]
    arm, solver, rng = Arm(robot), solver_for(robot), np.random.default_rng(12)
    for request in draw_requests(robot, 20, seed=13):
        branches = arm.branches(pin.SE3(request.targets[0]), request.seed, 48, rng)
        assert len(branches) >= 2
        nearest = min(np.linalg.norm(q - request.seed) for q in branches)
        gap = np.linalg.norm(solver.solve(request).q - request.seed)
        assert gap <= 1.001 * nearest + 5e-3


def constrained_optimum(arm, goal, seed, starts):
    """Return the smallest distance to the seed that SLSQP finds on the solutions of a goal."""
    best = np.inf
    for start in starts:
        optimum = minimize(
            lambda x: ((x - seed) ** 2).sum(),
            start,
            jac=lambda x: 2.0 * (x - seed),
            method='SLSQP',
            bounds=list(zip(arm.group.lower, arm.group.upper, strict=True)),
            constraints={
                'type': 'eq',
                'fun': lambda x: arm.error(x, goal)[0],
                'jac': lambda x: arm.error(x, goal)[1],
            },
            options={'maxiter': 100, 'ftol': 1e-9},
        )
        if optimum.success and np.linalg.norm(arm.error(optimum.x, goal)[0]) < 1e-5:
            best = min(best, np.sqrt(optimum.fun))
    return best


def test_the_oracle_differentiates_its_own_error(robots):
    arm = Arm(robots['panda'])
    x = np.array([0.2, 0.1, -0.3, -1.8, 0.2, 1.9, 0.4])
    goal = pin.SE3(tip_poses(arm.robot, arm.group, x + 0.5)[0])
    steps = 1e-6 * np.eye(7)
    slopes = [(arm.error(x + h, goal)[0] - arm.error(x - h, goal)[0]) / 2e-6 for h in steps]
    assert arm.error(x, goal)[1] == pytest.approx(np.array(slopes).T, abs=1e-6)


@pytest.mark.slow
def test_a_redundant_arm_comes_near_to_the_constrained_optimum(robots):
    robot = robots['panda']
    arm, solver, rng = Arm(robot), solver_for(robot), np.random.default_rng(14)
    for request in draw_requests(robot, 5, seed=15):
        starts = [robot.sample(arm.group, rng) for _ in range(25)]
        best = constrained_optimum(arm, pin.SE3(request.targets[0]), request.seed, starts)
        assert np.isfinite(best)
        assert np.linalg.norm(solver.solve(request).q - request.seed) <= 1.02 * best


def test_equal_requests_get_equal_bytes_unless_the_clock_ended_them(robot):
    solver, other = solver_for(robot), solver_for(robot)
    for request in draw_requests(robot, 10, seed=16):
        first, again, fresh = solver.solve(request), solver.solve(request), other.solve(request)
        assert not first.clock_ended
        assert first.q.tobytes() == again.q.tobytes() == fresh.q.tobytes()
        assert first.iterations == again.iterations == fresh.iterations


def test_several_nearest_solutions_are_sorted_and_begin_with_the_nearest(robots):
    robot = robots['ur5e']
    solver = solver_for(robot)
    for request in draw_requests(robot, 5, seed=17):
        alone = solver.solve(request).q
        request.max_solutions = 4
        several = solver.solve(request).solutions
        gaps = np.linalg.norm(several - request.seed, axis=1)
        assert len(several) > 1 and (np.diff(gaps) >= 0.0).all()
        assert gaps[0] <= np.linalg.norm(alone - request.seed) + 3e-2
        assert all(closes(robot, solver.group, q, request.targets) for q in several)


def test_validation_holds_while_optimising(robots):
    robot = robots['ur5e']
    solver = solver_for(robot)
    for request in draw_requests(robot, 5, seed=18):
        free = solver.solve(request).q
        request.validate = lambda q, free=free: np.abs(q - free).max() > 0.1
        result = solver.solve(request)
        assert result.solved and np.abs(result.q - free).max() > 0.1
        assert (
            np.linalg.norm(result.q - request.seed) >= np.linalg.norm(free - request.seed) - 5e-3
        )


def test_locked_joints_and_limits_hold_while_optimising(robots):
    robot = robots['panda']
    solver = solver_for(robot)
    group = solver.group
    rng = np.random.default_rng(19)
    for _ in range(10):
        q = robot.sample(group, rng)
        lower, upper = np.maximum(group.lower, q - 0.5), np.minimum(group.upper, q + 0.5)
        target, seed = tip_poses(robot, group, q), robot.sample(group, rng)
        lock = {'panda_joint3': q[2]}
        result = solver.solve(
            SolveRequest(target, seed=seed, locked=lock, lower=lower, upper=upper)
        )
        assert result.solved and result.q[2] == q[2]
        assert (result.q >= lower).all() and (result.q <= upper).all()
        assert closes(robot, group, result.q, target)


def test_a_seed_that_solves_is_already_the_nearest(robot):
    solver = solver_for(robot)
    rng = np.random.default_rng(20)
    for _ in range(5):
        q = robot.sample(solver.group, rng)
        result = solver.solve(SolveRequest(tip_poses(robot, solver.group, q), seed=q))
        assert result.q == pytest.approx(q, abs=1e-12)


def test_an_unreachable_target_stays_unsolved(robot):
    solver = solver_for(robot)
    target = next(draw_requests(robot, 1, seed=21)).targets
    target[0, :3, 3] += 10.0
    assert not solver.solve(SolveRequest(target)).solved


def test_without_optimisation_time_left_the_first_solution_is_returned(robots):
    robot = robots['fanuc']
    options = PoseIkOptions(solve_mode='optimize_distance', optimization_timeout=1e-9)
    solver = solver_for(robot, options)
    for request in draw_requests(robot, 10, seed=22):
        result = solver.solve(request)
        assert result.solved and result.clock_ended
        assert closes(robot, solver.group, result.q, request.targets)


def test_an_endless_optimization_timeout_leaves_the_end_to_the_starts(robots):
    robot = robots['ur5e']
    group = robot.group('ur_manipulator')
    options = PoseIkOptions(solve_mode='optimize_distance', optimization_timeout=1e300)
    q = np.array([0.3, -1.2, 1.4, -0.9, 0.8, 0.2])
    target = ChainKinematics(robot, group, group.base_link, group.tip).pose(q)
    result = PoseIkSolver(robot, group, options).solve(SolveRequest(target, seed=q + 0.4))
    assert (result.searches, result.clock_ended) == (OPTIMIZE_SEARCHES, False)
