"""Solvers refuse poses that the hull of an arm proves to be out of reach, and no others."""

from test.solvers.arms import chain, tip_errors, X, Y, Z

import numpy as np
import pytest

from ssik_ros import ik_LM, Manipulator
from ssik_ros.kernels.rows import reach_hull
from ssik_ros.model.loader import load_robot
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.reach_hull import hull_of_wrist
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.registry import create_solver

ARMS = ('ur5e', 'jaco2', 'panda')
SOLVERS = ('Auto', 'Analytic', 'PoseIK', 'LevenbergMarquardt', 'NewtonRaphson', 'GaussNewton')
TURNED = np.array(
    [[0.0, -1.0, 0.0, 0.05], [1.0, 0.0, 0.0, -0.1], [0.0, 0.0, 1.0, 0.2], [0, 0, 0, 1]]
)


class Arm:
    """An arm of the catalogue, and poses at and beyond the edge of its wrist's reach."""

    def __init__(self, name):
        """Load it."""
        arm = Manipulator.from_prebuilt(name)
        self.arm, self.robot, self.group = arm, arm.robot, arm.group
        self.chain = SerialChain.from_group(arm.robot, arm.group)
        numbers = hull_of_wrist(self.chain)
        self.wrist, self.hull = numbers[:3], numbers[reach_hull.HULL :]
        self.rng = np.random.default_rng(7)

    def solver(self, name, **parameters):
        """Return a solver."""
        return create_solver(f'ssik_ros/{name}', self.robot, self.group, parameters)

    def wrist_of(self, pose):
        """Return where the wrist is at a pose."""
        moved = pose @ np.linalg.inv(self.chain.home)
        return moved[:3, :3] @ self.wrist + moved[:3, 3]

    def excess(self, pose):
        """Return how far the wrist is from its hull at least."""
        return reach_hull.excess(self.hull, *self.wrist_of(pose))

    def beyond(self, distance, q=None):
        """Return a pose, moved out from that at a posture, whose wrist is ``distance`` beyond its hull [m]."""
        pose = self.chain.pose(self.robot.sample(self.group, self.rng) if q is None else q)
        out = self.wrist_of(pose) - self.hull[:3]
        out /= np.linalg.norm(out)
        low, high = 0.0, 4.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            moved = pose.copy()
            moved[:3, 3] += middle * out
            low, high = (low, middle) if self.excess(moved) > distance else (middle, high)
        pose[:3, 3] += high * out
        return pose


@pytest.fixture(scope='module')
def arms():
    """Return the arms by name, each loaded once."""
    return {name: Arm(name) for name in ARMS}


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('name', ARMS)
def test_a_wrist_out_of_reach_is_refused_with_a_proof_and_without_a_start(arms, name, solver):
    arm = arms[name]
    asked = arm.solver(solver)
    for _ in range(5):
        result = asked.solve(SolveRequest(arm.beyond(0.005)))
        assert result.status is IkStatus.UNSOLVED and result.cause is Cause.UNREACHABLE
        assert result.searches == 0 and result.iterations == 0
        assert 'out of reach' in result.summary()
        assert ', proved by' in result.summary()


@pytest.mark.parametrize('solver', SOLVERS)
def test_refusing_depends_on_the_tool(arms, solver):
    arm = arms['ur5e']
    asked, pose = arm.solver(solver), arm.beyond(0.01)
    refused = asked.solve(SolveRequest(pose @ TURNED, tool_offsets=TURNED))
    assert refused.cause is Cause.UNREACHABLE and refused.searches == 0
    q = arm.robot.sample(arm.group, arm.rng)
    reached = SolveRequest(arm.chain.pose(q) @ TURNED, seed=q, tool_offsets=TURNED)
    assert asked.solve(reached).solved


@pytest.mark.parametrize('name', ARMS)
def test_stretched_arms_are_never_refused(arms, name):
    arm = arms[name]
    solvers = [arm.solver(solver) for solver in ('Auto', 'Analytic', 'LevenbergMarquardt')]
    for _ in range(10):
        q = arm.robot.sample(arm.group, arm.rng)
        direction = arm.rng.normal(size=3)
        # The farthest posture of a few hundred in one direction.
        others = [q, *(arm.robot.sample(arm.group, arm.rng) for _ in range(300))]
        q = max(others, key=lambda q: arm.wrist_of(arm.chain.pose(q)) @ direction)
        for solver in solvers:
            result = solver.solve(SolveRequest(arm.chain.pose(q), seed=q))
            assert result.solved or result.cause is not Cause.UNREACHABLE


def test_what_a_tolerance_lets_in_is_not_refused(arms):
    arm = arms['ur5e']
    pose = arm.beyond(0.004)
    assert (
        arm.solver('LevenbergMarquardt', target_tolerance=1e-3).solve(SolveRequest(pose)).searches
        == 0
    )
    for solver in ('LevenbergMarquardt', 'PoseIK', 'Auto'):
        loose = arm.solver(solver, target_tolerance=0.05).solve(SolveRequest(pose))
        assert loose.iterations > 0


def test_limits_are_not_the_cause_of_a_proof():
    """The hull never calls a pose out of reach that only joint limits keep away."""
    joints = [('revolute', '0 0 0.3', Z, '-0.5 0.5'), ('revolute', '0 0 0.2', Y, '-0.5 0.5')]
    joints += [('revolute', '0 0 0.5', Y, '-0.3 0.3'), ('revolute', '0 0 0.4', X, '-1 1')]
    joints += [('revolute', '0 0 0', Y, '-1 1'), ('revolute', '0 0 0.1', Z, '-1 1')]
    robot = load_robot(chain(*joints))
    group = robot.group_from_links('l0', 'tip')
    pose = SerialChain.from_group(robot, group).pose(np.array([2.5, 1.2, 1.5, 0.3, 0.4, 0.5]))
    for solver in SOLVERS:
        result = create_solver(f'ssik_ros/{solver}', robot, group, {}).solve(SolveRequest(pose))
        assert not result.solved and result.searches > 0


def test_the_nearest_posture_is_looked_for_where_it_is_wanted(arms):
    arm = arms['ur5e']
    pose = arm.beyond(0.05)
    for solver in ('Auto', 'LevenbergMarquardt', 'PoseIK'):
        asked = arm.solver(solver)
        seed = arm.robot.sample(arm.group, arm.rng)
        refused = asked.solve(SolveRequest(pose, seed=seed))
        near = asked.solve(SolveRequest(pose, seed=seed, wants_nearest=True))
        assert not near.solved and near.iterations > 0
        error = np.hypot(*tip_errors(arm.robot, arm.group, near.q, pose[None])[0])
        assert near.residual == pytest.approx(error, rel=1e-6)
        assert error < 0.5 < refused.residual


def test_positions_without_orientation_are_refused_by_the_tip(arms):
    arm = arms['ur5e']
    reach = sum(np.linalg.norm(np.diff(arm.chain.points, axis=0), axis=1))
    pose = np.eye(4)
    # Nearer than all links in a row are long, and farther than the arm can be stretched.
    pose[:3, 3] = 0.0, 0.99, 0.16
    asked = create_solver(
        'ssik_ros/LevenbergMarquardt', arm.robot, arm.group, {}, position_only=True
    )
    assert np.linalg.norm(pose[:3, 3] - arm.chain.points[0]) < reach
    result = asked.solve(SolveRequest(pose))
    assert result.cause is Cause.UNREACHABLE and result.searches == 0
    for _ in range(20):
        q = arm.robot.sample(arm.group, arm.rng)
        pose = arm.chain.pose(q)
        pose[:3, :3] = np.eye(3)
        assert asked.solve(SolveRequest(pose, seed=q)).solved


def test_a_failed_search_of_the_toolbox_keeps_its_five_values(arms):
    arm = arms['panda']
    q0 = arm.robot.sample(arm.group, arm.rng)
    q, success, iterations, searches, residual = ik_LM(arm.arm, arm.beyond(0.02), q0)
    assert (success, iterations, searches) == (0, 0, 0)
    np.testing.assert_array_equal(q, q0)
    assert np.isfinite(residual) and residual > 1e-6


def test_a_control_loop_goes_towards_poses_that_are_out_of_reach(arms):
    arm = arms['ur5e']
    q = np.array([0.1, -1.2, 1.0, -0.8, 0.5, 0.2])
    far = arm.beyond(0.02, q)
    refused = arm.solver('LevenbergMarquardt').solve(SolveRequest(far))
    assert refused.cause is Cause.UNREACHABLE and refused.searches == 0
    tracker = arm.arm.tracker(q, max_joint_step=0.02)
    begun = np.linalg.norm(arm.chain.pose(q)[:3, 3] - far[:3, 3])
    for _ in range(40):
        tracker.track(far)
    assert np.linalg.norm(arm.chain.pose(tracker.q)[:3, 3] - far[:3, 3]) < 0.8 * begun


def test_batches_refuse_as_single_requests_do(arms):
    for name in ARMS:
        arm = arms[name]
        q = arm.robot.sample(arm.group, arm.rng)
        poses = np.array([arm.beyond(0.01), arm.chain.pose(q), arm.beyond(0.02)])
        many = arm.arm.solve_batch(poses, q_seed=q)
        assert [len(solutions) for solutions in many][0::2] == [0, 0] and len(many[1]) > 0


def test_mimic_slides_and_locked_joints_keep_every_reachable_pose():
    rng = np.random.default_rng(3)
    robot = load_robot(
        chain(
            ('prismatic', '0 0 0.1', X, '-0.5 0.5'),
            ('revolute', '0 0 0.3', Z, '-3 3'),
            ('revolute', '0.1 0 0', Y, '-3 3'),
            ('prismatic', '0.4 0 0', X, '0 0.3'),
            ('revolute', '0.1 0 0', X, '-3 3'),
            ('revolute', '0.1 0 0', Y, '-3 3'),
            ('revolute', '0.1 0 0', Z, '-3 3'),
        )
    )
    group = robot.group_from_links('l0', 'tip')
    solver = create_solver('ssik_ros/LevenbergMarquardt', robot, group, {})
    serial = SerialChain.from_group(robot, group)
    for _ in range(200):
        q = robot.sample(group, rng)
        # The ends of the slides as often as their middle.
        q[[0, 3]] = rng.choice([-0.5, q[0], 0.5]), rng.choice([0.0, q[3], 0.3])
        held = {group.joint_names[0]: q[0]}
        assert solver.solve(SolveRequest(serial.pose(q), seed=q, locked=held)).solved
    far = serial.pose(np.array([0.5, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0]))
    far[0, 3] += 0.02
    result = solver.solve(SolveRequest(far))
    assert result.cause is Cause.LIMITS and result.searches == 0


def test_no_proof_relies_on_the_limits_of_slides_where_these_are_ignored():
    # A rail before an arm: the hull moves with it, and the length of links grows by it.
    robot = load_robot(
        chain(
            ('prismatic', '0 0 0.1', X, '-0.5 0.5'),
            ('revolute', '0 0 0.3', Z, '-3 3'),
            ('revolute', '0 0 0.2', Y, '-3 3'),
            ('revolute', '0.4 0 0', Y, '-3 3'),
            ('revolute', '0.4 0 0', X, '-3 3'),
            ('revolute', '0.1 0 0', Y, '-3 3'),
            ('revolute', '0.1 0 0', X, '-3 3'),
        )
    )
    arm = Manipulator(robot, robot.group_from_links('l0', 'tip'))
    rng = np.random.default_rng(5)
    for beyond in rng.uniform(2.0, 4.0, 20):
        q = rng.uniform(-2.0, 2.0, 7)
        q[0] = rng.choice([-beyond, beyond])
        pose = arm.fk(q)
        free = arm.ik_LM(pose, joint_limits=False, seed=3)
        assert free.success and np.linalg.norm(arm.fk(free.q) - pose) < 1e-2
        kept = arm.ik_LM(pose, seed=3)
        assert not kept.success and kept.cause is Cause.LIMITS and kept.searches == 0
