"""Groups A and B of the cases (docs/reference/cases.md): returned values, and limits, turns and endless joints."""

import json
import warnings

from test.cases.asked_robots import Asked, from_text, POSE_IK
from test.server.served_robots import ik_request, joint, pose_of, robot_text
from test.solvers import arms

import numpy as np
import pytest

from ssik_ros.cli.command import main
from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause
from ssik_ros.server.groups.batches import BatchRequest
from ssik_ros.server.paths.path_requests import PathRequest
from ssik_ros.server.requests.constraints import ConstraintsGiven, JointConstraintGiven
from ssik_ros.server.requests.ik_requests import BranchOptions, FkRequest, StateGiven
from ssik_ros.server.requests.poses import numbers_of_pose
from ssik_ros.server.requests.posture_order import PostureOrder
from ssik_ros.server.requests.refusals import Refusal

GROUPS = {
    'panda': 'panda_arm',
    'fanuc': 'manipulator',
    'gen3': 'manipulator',
    'ur5e': 'ur_manipulator',
}
POSES = {'panda': 3_000, 'fanuc': 2_000, 'gen3': 2_000, 'ur5e': 2_000}


@pytest.fixture(scope='module')
def shipped(robots):
    """Return the shipped arms by name."""
    return {name: Asked(robots[name], robots[name].group(group)) for name, group in GROUPS.items()}


@pytest.fixture(scope='module')
def panda(shipped):
    return shipped['panda']


# A. Returned values


@pytest.mark.sampled
@pytest.mark.parametrize('name', POSES)
def test_a01_every_success_of_many_random_poses_is_verified(shipped, name):
    arm, rng = shipped[name], np.random.default_rng(1)
    judge = ReferenceKinematics(arm.robot)
    tip, count = arm.group.tips[0], POSES[name]
    targets = []
    for _ in range(count):
        targets.append(judge.link_pose(arm.state(arm.robot.sample(arm.group, rng)).positions, tip))
    flat = np.array([numbers_of_pose(pose) for pose in targets]).ravel()
    response = arm.server.solve_batch(BatchRequest(arm.group.name, flat), arm.default)
    assert response.refusal is Refusal.NONE and response.solved_count >= 0.99 * count
    for q, cause, target in zip(response.positions, response.causes, targets, strict=True):
        if cause != Cause.NONE:
            assert np.isnan(q).all()
            continue
        errors = judge.pose_errors(judge.link_pose(arm.state(q).positions, tip), target)
        assert np.hypot(*errors) <= 1e-3 + 1e-9
        assert (q >= arm.group.lower).all() and (q <= arm.group.upper).all()


def test_a02_errors_are_those_of_the_vector_that_is_returned(shipped):
    """Seeds far outside the limits, so that solutions are wrapped or clamped."""
    for arm in shipped.values():
        rng = np.random.default_rng(2)
        for _ in range(50):
            q = arm.robot.sample(arm.group, rng)
            seed = arm.state(q + rng.uniform(-40.0, 40.0, len(q)))
            pose = arm.pose(q)
            response = arm.ask([('', pose)], seed)
            assert arm.is_verified(response, '', pose)
            left = ReferenceKinematics.pose_errors(arm.pose(arm.q(response)), pose)
            assert response.result.errors[0] == pytest.approx(left, abs=1e-8)


def test_a03_a_place_without_its_orientation_is_no_success():
    """Half a degree about an axis that four joints of a SCARA cannot turn about."""
    arm = from_text(arms.SCARA)
    pose = arm.pose([0.3, 0.6, 0.1, 0.2]) @ pose_of(rotation_vector=(0.01, 0.0, 0.0))
    response = arm.ask([('', pose)], timeout=0.1)
    assert not response.solved
    explanation = arm.server.explain(
        ik_request(arm.group.name, [('', pose)], timeout=0.1), arm.default
    )
    assert explanation.distance < 2e-3 and explanation.angle == pytest.approx(0.01, abs=2e-3)


def test_a04_errors_are_metres_and_radians_each_in_its_place():
    """A planar arm, its target 0.5 mm above the plane, then tilted by 0.7 mrad."""
    arm = from_text(arms.PLANAR_3R)
    here = arm.pose([0.3, 0.5, -0.4])
    for moved, expected in (
        (pose_of((0.0, 0.0, 5e-4)) @ here, (5e-4, 0.0)),
        (here @ pose_of(rotation_vector=(7e-4, 0.0, 0.0)), (0.0, 7e-4)),
    ):
        response = arm.ask([('', moved)], arm.state([0.3, 0.5, -0.4]))
        assert response.solved
        assert response.result.errors[0] == pytest.approx(expected, abs=1e-6)
        place, turn = expected
        row = arm.server.solve_batch(
            BatchRequest(arm.group.name, np.array(numbers_of_pose(moved))),
            arm.state([0.3, 0.5, -0.4]),
        )
        assert row.errors[0] == pytest.approx((place, turn), abs=1e-6)


def test_a05_a_rounded_pose_of_four_joints_fails_with_its_residual_and_their_number():
    arm = from_text(arms.SCARA)
    exact = arm.pose([0.3, 0.6, 0.1, 0.2]) @ pose_of(rotation_vector=(0.3, 0.2, 0.0))
    rounded = np.round(exact, 2)
    rounded[:3, :3] = exact[:3, :3]
    response = arm.ask([('', rounded)], timeout=0.1)
    assert not response.solved
    assert response.result.residual > 1e-3
    assert 'has 4 joints, a pose has 6 degrees of freedom' in response.text


def test_a06_a_sliding_joint_moves_along_its_axis():
    arm = from_text(arms.GANTRY)
    for place, axis in ((0, 0), (1, 1), (2, 2)):
        names = arm.group.variable_names
        poses = [
            arm.server.compute_fk(
                FkRequest(['tip'], '', StateGiven((names[place],), (value,))), arm.default
            ).poses[0]
            for value in (0.0, 0.35)
        ]
        moved = np.zeros(3)
        moved[axis] = 0.35
        assert poses[1][:3, 3] - poses[0][:3, 3] == pytest.approx(moved, abs=1e-12)
        assert np.array_equal(poses[0][:3, :3], poses[1][:3, :3])


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf, 1e300])
def test_a07_numbers_that_are_none_are_refused_by_name(panda, value):
    pose = panda.pose([0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0])
    bad = pose.copy()
    bad[1, 3] = value
    first = panda.group.variable_names[0]
    wrong = {
        'pose': ([('', bad)], {}),
        first: ([('', pose)], {'state': StateGiven((first,), (value,))}),
        f"'{first}'": (
            [('', pose)],
            {'constraints': ConstraintsGiven([JointConstraintGiven(first, value, 0.1, 0.1)])},
        ),
    }
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        for part, (goals, more) in wrong.items():
            response = panda.ask(goals, **more)
            assert not response.solved and part in response.text, response.text
        tolerance = JointConstraintGiven(first, 0.0, -1.0 if value == 1e300 else value, 0.1)
        if value != np.inf:
            response = panda.ask([('', pose)], constraints=ConstraintsGiven([tolerance]))
            assert response.refusal is Refusal.CONSTRAINTS and 'tolerance' in response.text
        assert panda.server.solve_batch(
            BatchRequest('panda_arm', np.full(7, value)), panda.default
        )
    assert panda.ask([('', pose)]).solved


def test_a08_joints_without_limits_are_never_drawn_as_none():
    for text in (arms.ENDLESS_6R, arms.MIMICS['continuous']):
        arm = from_text(text)
        rng = np.random.default_rng(8)
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            for _ in range(20):
                q = arm.robot.sample(arm.group, rng)
                response = arm.ask([('', arm.pose(q))])
                assert arm.is_verified(response, '', arm.pose(q)), response.text


def test_a09_an_arm_has_one_solution_however_it_was_described(robots):
    robot = robots['ur5e']
    group = robot.group('ur_manipulator')
    by_group = Manipulator(robot, group)
    by_links = Manipulator(robot, robot.group_from_links('base_link', 'tool0'))
    # Denavit-Hartenberg figures of the maker; the frames of base and tool are turned by half a turn.
    by_dh = Manipulator.from_dh(
        [np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0],
        [0.0, -0.425, -0.3922, 0.0, 0.0, 0.0],
        [0.1625, 0.0, 0.0, 0.1333, 0.0997, 0.0996],
        [(-2 * np.pi, 2 * np.pi)] * 6,
    )
    seed = np.array([0.1, -1.2, 1.3, -0.4, 0.5, 0.6])
    turn = np.diag([-1.0, -1.0, 1.0, 1.0])
    assert turn @ by_dh.fk(seed) == pytest.approx(by_group.fk(seed), abs=1e-6)
    q = seed + 0.05
    solutions = [
        arm.solver('ssik_ros/PoseIK').solve(SolveRequest(target, seed=seed)).q
        for arm, target in (
            (by_group, by_group.fk(q)),
            (by_links, by_group.fk(q)),
            (by_dh, by_dh.fk(q)),
        )
    ]
    assert np.array_equal(solutions[0], solutions[1])
    assert solutions[2] == pytest.approx(solutions[0], abs=2e-3)


def test_a10_axes_of_any_length_and_angles_near_gimbal_lock_mean_what_they_say():
    half = 0.5 * np.pi
    text = robot_text(
        joint(
            'j1', 'revolute', 'l0', 'l1', '0.1 0.2 0.3', '0 0 -2', rpy=f'0.3 {half - 1e-9} -0.7'
        ),
        joint('j2', 'revolute', 'l1', 'l2', '0.3 0 0.1', '1 2 -2', rpy=f'-0.4 {-half} 1.1'),
        joint('j3', 'prismatic', 'l2', 'tip', '0 0.1 0', '0 -3 0', rpy='1 2 3'),
    )
    arm = from_text(text)
    assert arm.robot.tree.nq == 3

    def rotation(roll, pitch, yaw):
        c, s = np.cos, np.sin
        x = np.array([[1, 0, 0], [0, c(roll), -s(roll)], [0, s(roll), c(roll)]])
        y = np.array([[c(pitch), 0, s(pitch)], [0, 1, 0], [-s(pitch), 0, c(pitch)]])
        z = np.array([[c(yaw), -s(yaw), 0], [s(yaw), c(yaw), 0], [0, 0, 1]])
        return z @ y @ x

    def placed(xyz, rpy):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = rotation(*rpy), xyz
        return pose

    q = np.array([0.7, -1.1, 0.25])
    expected = (
        placed((0.1, 0.2, 0.3), (0.3, half - 1e-9, -0.7))
        @ arms.turned((0, 0, -1), q[0])
        @ placed((0.3, 0.0, 0.1), (-0.4, -half, 1.1))
        @ arms.turned((1, 2, -2), q[1])
        @ placed((0.0, 0.1, 0.0), (1.0, 2.0, 3.0))
        @ arms.moved(0.0, -q[2], 0.0)
    )
    given = StateGiven(arm.group.variable_names, q.tolist())
    computed = arm.server.compute_fk(FkRequest(['tip'], '', given), arm.default).poses[0]
    assert np.abs(computed - expected).max() < 1e-12


def test_a11_every_entrance_gives_the_same_numbers(robots, capsys):
    robot = robots['ur5e']
    group = robot.group('ur_manipulator')
    seed, q = [0.1, -1.2, 1.3, -0.4, 0.5, 0.6], [0.2, -1.0, 1.2, -0.5, 0.7, 0.3]
    arm = Asked(robot, group)
    pose = arm.pose(q)
    response = arm.ask([('', pose)], arm.state(seed))
    target = Manipulator(robot, group)
    result = target.solver(POSE_IK).solve(SolveRequest(pose, seed=np.array(seed)))
    rows = arm.server.solve_batch(
        BatchRequest(group.name, np.array(numbers_of_pose(pose))), arm.state(seed)
    )
    words = ['solve', '--robot', 'ur5e', '--solver', POSE_IK, '--json', '--pose']
    words += [repr(value) for value in numbers_of_pose(pose)]
    assert main([*words, '--seed', *map(repr, seed)]) == 0
    printed = json.loads(capsys.readouterr().out)['solutions'][0]['positions']
    for row in (result.q, rows.positions[0], printed):
        assert row == pytest.approx(arm.q(response), abs=1e-9)


# B. Limits, turns, endless joints


def limited(low, high, kind='revolute', name='j1'):
    """Return a joint with limits of its own."""
    made = joint(name, kind, 'l0', 'l1', '0 0 0.3')
    return made.replace('lower="-2.8" upper="2.8"', f'lower="{low}" upper="{high}"')


def two_joints(first, inside=''):
    return robot_text(
        first.replace('</joint>', f'{inside}</joint>'),
        joint('j2', 'revolute', 'l1', 'l2', '0.4 0 0', '0 1 0'),
        joint('tool', 'fixed', 'l2', 'tip', '0.3 0 0'),
    )


def test_b01_a_seed_outside_the_limits_is_moved_inside_and_named(panda):
    q = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    response = panda.ask(
        [('', panda.pose(q))], panda.state(q + np.array([9.0, 0, 0, 0, 0, 0, -9.0]))
    )
    assert panda.is_verified(response, '', panda.pose(q))
    assert 'outside the limits at panda_joint1, panda_joint7' in response.text
    assert 'outside the limits' not in panda.ask([('', panda.pose(q))], panda.state(q)).text


def test_b02_seeds_on_a_limit_joints_without_range_and_limits_the_wrong_way(panda):
    seed = np.where([True, False] * 3 + [True], panda.group.lower, panda.group.upper)
    q = 0.9 * panda.group.lower + 0.1 * panda.group.upper
    response = panda.ask([('', panda.pose(q))], panda.state(seed))
    assert panda.is_verified(response, '', panda.pose(q)) and 'outside' not in response.text
    stuck = from_text(arms.STUCK)
    wanted = stuck.pose([0.5, 0.4, -0.3])
    response = stuck.ask([('', wanted)])
    assert stuck.is_verified(response, '', wanted) and stuck.q(response)[1] == 0.4
    swapped = load_robot(two_joints(limited(1.0, -1.0)))
    assert (swapped.tree.lower[0], swapped.tree.upper[0]) == (-1.0, 1.0)
    assert "'j1'" in swapped.warnings[0] and 'read in the other order' in swapped.warnings[0]


def test_b03_a_joint_of_two_turns_stays_at_the_turn_of_its_seed():
    arm = from_text(two_joints(limited(-2 * np.pi, 2 * np.pi)))
    pose = arm.pose([np.radians(-10.0), 0.4])
    response = arm.ask([('', pose)], arm.state([np.radians(345.0), 0.35]))
    assert arm.is_verified(response, '', pose)
    assert np.degrees(arm.q(response)[0]) == pytest.approx(350.0, abs=0.1)


def test_b04_a_continuous_joint_stays_within_pi_of_its_seed():
    arm = from_text(two_joints(joint('j1', 'continuous', 'l0', 'l1', '0 0 0.3')))
    for value in (0.2, 1.9, -2.9):
        pose = arm.pose([value, 0.4])
        response = arm.ask([('', pose)], arm.state([47.0, 0.3]))
        assert arm.is_verified(response, '', pose)
        assert abs(arm.q(response)[0] - 47.0) <= np.pi + 1e-3


def test_b05_a_path_across_half_a_turn_of_an_endless_joint_has_no_long_step():
    arm = from_text(two_joints(joint('j1', 'continuous', 'l0', 'l1', '0 0 0.3')))
    start = arm.state([np.pi - 0.1, 0.4])
    ends = [arm.pose([np.pi + turn, 0.4]) for turn in np.linspace(-0.08, 0.1, 10)]
    response = arm.server.follow_path(PathRequest(arm.group.name, ends, max_step=0.05), start)
    assert response.fraction == 1.0, response.text
    points = response.path.positions
    assert np.abs(np.diff(points, axis=0)).max() < 0.05
    assert points[-1, 0] == pytest.approx(np.pi + 0.1, abs=1e-3)


def test_b06_the_nearest_of_all_turns_of_six_joints_is_found_at_once(shipped):
    arm = shipped['ur5e']
    order, rng = PostureOrder(arm.robot, arm.group), np.random.default_rng(6)
    turns = 2.0 * np.pi * np.stack(np.meshgrid(*[[-1, 0, 1]] * 6), -1).reshape(-1, 6)
    for _ in range(20):
        q, seed = rng.uniform(-np.pi, np.pi, (2, 6))
        seed *= 1.9
        every = q + turns
        inside = ((every >= arm.group.lower) & (every <= arm.group.upper)).all(axis=1)
        nearest = np.linalg.norm(every[inside] - seed, axis=1).min()
        best = order.nearest_windings(q[None], seed)[0]
        assert np.linalg.norm(best - seed) == pytest.approx(nearest, abs=1e-9)
    kept = order.arrange(q[None], seed, BranchOptions(max_solutions=3, enumerate_windings=True))
    assert len(kept.q) == 3 and kept.total == inside.sum()
    assert kept.q[0] == pytest.approx(best, abs=1e-12)


def test_b07_a_file_tightens_limits_and_widens_them_with_a_warning():
    text = two_joints(limited(-2.0, 2.0))
    entry = {'has_position_limits': True, 'min_position': -0.5, 'max_position': 0.5}
    tight = load_robot(text, None, {'joint_limits': {'j1': entry}})
    arm = Asked(tight, tight.group_from_links('l0', 'tip'))
    inside, outside = arm.pose([0.45, 0.3]), arm.pose([0.8, 0.3])
    assert arm.is_verified(arm.ask([('', inside)]), '', inside)
    response = arm.ask([('', outside)])
    assert response.cause is Cause.LIMITS, response.text
    wide = load_robot(text, None, {'joint_limits': {'j1': {**entry, 'max_position': 2.5}}})
    assert wide.tree.upper[0] == 2.5
    assert '[-0.5, 2.5] counts, which is wider than [-2, 2] of the URDF' in wide.warnings[0]


def test_b08_soft_limits_count_and_a_start_beyond_them_moves_inward():
    soft = '<safety_controller k_velocity="1" soft_lower_limit="-1" soft_upper_limit="1"/>'
    arm = from_text(two_joints(limited(-2.0, 2.0), soft))
    assert (arm.group.lower[0], arm.group.upper[0]) == (-1.0, 1.0)
    between = arm.state([1.5, 0.3])
    pose = arm.pose([0.9, 0.3])
    response = arm.ask([('', pose)], between)
    assert arm.is_verified(response, '', pose) and 'outside the limits at j1' in response.text
    assert arm.ask([('', arm.pose([1.5, 0.3]))], between).cause is Cause.LIMITS


def test_b09_limits_of_one_request_hold_and_name_the_joint_where_none_is_left(panda):
    q = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    name = 'panda_joint3'
    for middle in (0.3, -0.4):
        wish = JointConstraintGiven(name, middle, 0.05, 0.05)
        response = panda.ask(
            [('', panda.pose(q))], panda.state(q), constraints=ConstraintsGiven([wish])
        )
        assert panda.is_verified(response, '', panda.pose(q)), response.text
        assert abs(panda.q(response)[2] - middle) <= 0.05 + 1e-9
    wish = JointConstraintGiven(name, 4.0, 0.1, 0.1)
    response = panda.ask([('', panda.pose(q))], constraints=ConstraintsGiven([wish]))
    assert response.cause is Cause.CONSTRAINTS and f"'{name}'" in response.text


def test_b10_a_joint_at_its_limit_does_not_hold_up_the_others():
    """Four joints in a plane for three numbers; the first one starts at its limit, pressed outward."""
    row = [('revolute', '0.4 0 0', arms.Z, arms.HALF_TURN)] * 3
    arm = from_text(arms.chain(('revolute', '0 0 0', arms.Z, '-0.5 0.5'), *row, tool='0.3 0 0'))
    rng, solved = np.random.default_rng(10), 0
    for _ in range(50):
        q = np.array([0.5, *rng.uniform(0.2, 1.2, 3)])
        pose = arm.pose(q)
        response = arm.ask([('', pose)], arm.state([0.5, 0.1, 0.1, 0.1]))
        solved += arm.is_verified(response, '', pose)
    assert solved == 50


def test_b11_a_step_of_the_tracker_keeps_the_velocity_limits(robots):
    robot = robots['panda']
    arm = Manipulator(robot, robot.group('panda_arm'))
    q = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    limits = robot.tree.velocity[robot.group('panda_arm').idx_q]
    tracker = arm.tracker(q, dt=0.002, velocity_limits=limits)
    target = arm.fk(q + np.array([0.4, 0.2, -0.2, 0.3, 0.1, -0.3, 0.5]))
    before = tracker.q.copy()
    for _ in range(400):
        tracker.track(target)
        assert (np.abs(tracker.q - before) <= 0.002 * limits + 1e-12).all()
        before = tracker.q.copy()
    # A target beyond a limit: the arm comes to rest at it.
    wide = q.copy()
    wide[6] = arm.joint_limits[6][1] - 0.01
    tracker.reset(wide)
    beyond = arm.fk(wide) @ arms.turned((0, 0, 1), 0.3)
    for _ in range(300):
        tracker.track(beyond)
    rest = []
    for _ in range(50):
        tracker.track(beyond)
        rest.append(tracker.q.copy())
    assert np.ptp(np.array(rest), axis=0).max() < 1e-6
