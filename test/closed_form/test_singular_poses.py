"""Poses of singular postures, planted within limits: no proof against them, and curves of postures meet the limits."""

import dataclasses
import itertools

from test.closed_form.arms_under_test import catalogue_arm, catalogue_chain
from test.closed_form.synthetic_arms import make_six, serial_chain
from test.complete_oracle import wrap

import numpy as np
import pytest

from campaigns.postures.robots import random_robot
from ssik_ros import Manipulator
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.certification.ranking import KEEP_ALL
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.reach.cells import ReachArm, ReachSettings
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.results import Cause
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.batch import search_batch
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, cause_of_absence
from ssik_ros.solvers.closed_form.held_proof import AbsenceCauses
from ssik_ros.solvers.closed_form.plan import CERTIFIED_ERROR
from ssik_ros.solvers.closed_form.solver import AnalyticSolver

STRETCHED = {
    # Straight wrist or arm: the elimination has multiple roots, or none that are isolated.
    'gen3_6dof': [0.0, 0.0, 0.0, 0.07, 0.0, np.pi / 2],
    'm1013': [-1.485, 0.0, 0.0, -0.129, 0.0, 1.449],
}
STRAIGHT_WRISTS = ('irb120', 'puma560', 'vx300s', 'irb6700', 'ur5e')
FIVE_PARALLEL = (
    [[0, 0, 1], [0, 0, 1], [0, -1, 0], [0, 0, -1], [0, 0, -1], [0, 0, -1]],
    [[0, 0, 0], [0.1, 0, 0], [0, 0, 0], [0, 0.3, 0], [0.4, 0, 0.5], [-0.3, 0, 0], [0.2, 0, 0]],
)


def limits_around(rng, q, width=2.0):
    """Return random limits (n,), (n,) with a posture between them."""
    return q - width * rng.uniform(0.02, 1.0, len(q)), q + width * rng.uniform(0.02, 1.0, len(q))


def check_planted(arm, pose, lower, upper):
    """Check that the pose of a posture within limits has a solution within them, and return the branches."""
    result = arm.branches_refined(
        np.ascontiguousarray(pose), BranchRequest(lower=lower, upper=upper)
    )
    assert cause_of_absence(arm.plan, result, Cause.LIMITS) != Cause.UNREACHABLE
    assert len(result.q)
    assert (result.q >= lower).all()
    assert (result.q <= upper).all()
    assert result.errors[:, 2].max() <= CERTIFIED_ERROR
    return result


@pytest.mark.parametrize('name', STRETCHED)
def test_the_analytic_solver_finds_a_stretched_arm_within_limits(name):
    arm, q = Manipulator.from_prebuilt(name), np.array(STRETCHED[name])
    solver = AnalyticSolver(arm.robot, arm.group)
    result = solver.solve(SolveRequest(targets=arm.fk(q), lower=q - 2.0, upper=q + 2.0))
    assert result.solved
    assert not result.is_proved


@pytest.mark.heavy
@pytest.mark.parametrize('offset', [0.0, 1e-9, 1e-5, 1e-3])
def test_stretched_arms_are_found_with_joints_moved_a_little(offset):
    rng = np.random.default_rng(5)
    chain, arm = catalogue_chain('gen3_6dof'), catalogue_arm('gen3_6dof')
    for _ in range(12):
        q = np.array(
            [*rng.uniform(-3, 3, 1), 0, 0, rng.uniform(0.04, 0.18), 0, rng.uniform(-3, 3)]
        )
        q += offset * rng.uniform(-1.0, 1.0, 6)
        check_planted(arm, chain.poses(q)[0], q - 2.0, q + 2.0)


@pytest.mark.sampled
@pytest.mark.parametrize('offset', [0.0, 1e-5, 3e-5])
def test_an_arm_whose_middle_joint_makes_five_axes_parallel_is_solved(offset):
    rng = np.random.default_rng(6)
    arm = Manipulator.from_axes(*FIVE_PARALLEL)
    for _ in range(12):
        q = rng.uniform(-2.0, 2.0, 6)
        q[2] = offset
        solutions = arm.solve(arm.fk(q))
        assert solutions
        if offset:
            # The solution is isolated, though the Jacobian is nearly singular.
            assert min(np.abs(wrap(s.q - q)).max() for s in solutions) < 1e-4


def test_three_parallel_axes_at_the_base_are_solved_where_the_fourth_is_free():
    rng = np.random.default_rng(7)
    for _ in range(6):
        chain = make_six('three_parallel_base', rng)
        arm = AnalyticArm(serial_chain(chain))
        for _ in range(5):
            q = rng.uniform(-3.0, 3.0, 6)
            q[[2, 3, 4]] = np.pi / 2, 0.0, 0.0
            check_planted(arm, chain.poses(q)[0], *limits_around(rng, q))


@pytest.mark.parametrize('name', STRAIGHT_WRISTS)
def test_the_continuum_of_a_straight_wrist_is_met_within_any_limits(name):
    rng = np.random.default_rng(8)
    chain, arm = catalogue_chain(name), catalogue_arm(name)
    for _ in range(25):
        q = rng.uniform(-2.0, 2.0, 6)
        q[4] = 0.0
        lower, upper = limits_around(rng, q, rng.choice([0.1, 1.0, 2.0]))
        result = check_planted(arm, chain.poses(q)[0], lower, upper)
        is_there = np.abs(wrap(result.q - q)).max(axis=1).min() < 1e-6
        assert is_there or result.curves is not None


@pytest.mark.heavy
def test_no_branch_of_regular_poses_depends_on_the_second_look():
    rng = np.random.default_rng(9)
    for name in ('irb120', 'ur5e', 'gofa', 'jaco2', 'gen3_6dof'):
        chain, arm = catalogue_chain(name), catalogue_arm(name)
        poses = np.ascontiguousarray(chain.poses(rng.uniform(-3.0, 3.0, (200, 6))))
        results = [arm.branches(pose) for pose in poses]
        assert sum(each.is_doubtful for each in results) <= 2, name
        for pose, each in zip(poses, results, strict=True):
            if not each.is_doubtful:
                assert np.array_equal(arm.branches_refined(pose).q, each.q)


def test_none_of_sixteen_branches_is_lost_to_a_worse_candidate():
    """Two of them differ by 3e-3 rad: the elimination has more candidates than rows, and misses of other roots are larger."""
    chain, arm = catalogue_chain('crx10ial'), catalogue_arm('crx10ial')
    q = numbers(
        '-0.8762390013846071 0.6931673444521355 -2.2230583190663156 '
        '-0.5875895353102158 2.555677423461025 -0.1662333494136893'
    )
    result = arm.branches(np.ascontiguousarray(chain.poses(q)[0]), BranchRequest(mode=KEEP_ALL))
    assert len(result.q) == 16
    assert np.abs(wrap(result.q - q)).max(axis=1).min() < 1e-9


FOLDS = {
    # The elimination splits the double root of a fold: a pair that looks complex but has a close candidate.
    (47, 0): '0.30789829263792257 -1.5815966343851444 1.3647541438776716 '
    '-1.409491049415284 0.4569443126159062 -0.3291714073809862',
    (258, 0): '-0.2057624408878196 0.8836838931573725 1.4546765816979117 '
    '1.0401574498555697 0.8541015733067785 0.6420942651542347',
    # The pair is so far apart that it does not count as nearly real.
    (47, 1): '1.141293999748883 0.3929508393117993 0.7513930918798268 '
    '-0.3953731297140415 -1.5735612901718918 -2.6863181106956744',
}


@pytest.mark.parametrize('fold', FOLDS)
def test_an_elimination_that_loses_a_fold_proves_nothing(fold):
    robot, q = random_robot(fold[0]).manipulator(), numbers(FOLDS[fold])
    arm = AnalyticSolver(robot.robot, robot.group).arm
    pose = np.ascontiguousarray(robot.fk(q))
    request = BranchRequest(lower=q - 0.1, upper=q + 0.1)
    result = arm.branches(pose, request)
    assert len(result.q) or result.is_doubtful
    assert len(arm.branches_refined(pose, request).q)


def test_a_solution_says_along_which_curve_it_may_move_and_how_far():
    arm = Manipulator.from_prebuilt('irb120')
    target = arm.fk([1.105, 0.634, 0.242, -0.339, 0.0, -2.967])
    straight = [s for s in arm.solve(target) if s.continuum is not None]
    assert len(straight) == 1
    q, (direction, (back, forth)) = straight[0].q, straight[0].continuum
    assert np.linalg.norm(arm.jacobian(q) @ direction) < 1e-9
    assert back <= 0.0 <= forth
    assert forth - back > 0.9
    lower, upper = np.array(arm.joint_limits).T
    for end in (back, forth):
        # Only joints 4 and 6 move, so that the curve is a straight line.
        there = q + end * direction
        assert np.linalg.norm(arm.fk(there) - target) < 1e-9
        assert min((there - lower).min(), (upper - there).min()) > -1e-9
        beyond = q + (end + np.sign(end) * 1e-3) * direction
        assert min((beyond - lower).min(), (upper - beyond).min()) < 0.0


def test_of_a_curve_the_point_nearest_to_the_seed_is_returned():
    arm = Manipulator.from_prebuilt('irb120')
    q = np.array([1.105, 0.634, 0.242, -0.339, 0.0, -2.967])
    target = arm.fk(q)
    for shift in (0.0, 0.2, -0.4):
        # Joints 4 and 6 have one sum: the nearest point halves the difference.
        seed = q + np.array([0.0, 0.0, 0.0, shift, 0.0, 0.0])
        nearest = arm.solve(target, q_seed=seed)[0]
        wanted = q + np.array([0.0, 0.0, 0.0, 0.5 * shift, 0.0, -0.5 * shift])
        lower, upper = np.array(arm.joint_limits).T
        if (wanted >= lower).all() and (wanted <= upper).all():
            assert np.abs(nearest.q - wanted).max() < 1e-4


@pytest.mark.heavy
def test_batches_and_maps_know_the_postures_of_straight_wrists():
    rng = np.random.default_rng(10)
    for name in ('irb120', 'ur5e', 'gen3_6dof'):
        chain, robot_chain = catalogue_chain(name), catalogue_arm(name).chain
        q = rng.uniform(-2.0, 2.0, (20, 6))
        q[:, 4] = 0.0
        poses = np.ascontiguousarray(chain.poses(q))
        for posture, pose in zip(q, poses, strict=True):
            lower, upper = limits_around(rng, posture)
            narrow = dataclasses.replace(robot_chain, lower=lower, upper=upper)
            for measures in (False, True):
                decided = ReachArm(narrow, ReachSettings(measures=measures)).decide(pose[None])
                assert decided.status[0] == CellStatus.REACHABLE
            arm = AnalyticArm(narrow)
            many = search_batch(arm, pose[None], None, BranchRequest(), 1)
            assert np.array_equal(many.q, arm.branches_refined(pose).q)


def test_limits_are_applied_before_solutions_beside_a_fold_are_merged():
    rng = np.random.default_rng(11)
    chain, arm = catalogue_chain('irb120'), catalogue_arm('irb120')
    lost = 0
    for _ in range(40):
        q = rng.uniform(-1.5, 1.5, 6)
        # Both elbows of a nearly stretched arm are as close as this.
        q[2] = np.arctan2(302.0, 70.0) - np.pi / 2 + rng.choice([1e-4, 3e-5, 1e-5, -1e-5])
        width = 1e-6
        lower, upper = q - width, q + width
        pose = np.ascontiguousarray(chain.poses(q)[0])
        lost += not len(arm.branches_refined(pose, BranchRequest(lower=lower, upper=upper)).q)
    assert lost == 0


def test_a_pose_far_outside_is_still_proved_out_of_reach():
    for name in ('irb120', 'ur5e', 'gofa'):
        chain, arm = catalogue_chain(name), catalogue_arm(name)
        rng, proved = np.random.default_rng(12), 0
        for _ in range(60):
            pose = chain.poses(rng.uniform(-3.0, 3.0, 6))[0]
            pose[:3, 3] *= 1.05
            result = arm.branches_refined(np.ascontiguousarray(pose))
            if not len(result.q) and not result.certified:
                proved += cause_of_absence(arm.plan, result, Cause.LIMITS) == Cause.UNREACHABLE
                assert not result.is_doubtful
        assert proved > 0


def numbers(text):
    """Return the numbers of a text as an array."""
    return np.array(text.split(), dtype=np.float64)


HARDLY_REACHED = {
    # A straight wrist, and joint 2 exactly on its limit.
    'ur5': (
        numbers(
            '4.1358921014302 5.984773973942641 0.8373531127840135 -6.25321121706327 '
            '3.141592617599937 -3.9220491632542553'
        ),
        numbers(
            '-6.283185307179586 5.984773973942641 -0.16264687037849068 -7.253211199751568 '
            '2.1415926535897936 -6.283185307179586'
        ),
        numbers(
            '6.283185307179586 6.984773973942641 1.8373531296215093 -5.253211199751568 '
            '4.141592653589793 6.283185307179586'
        ),
    ),
    # Shoulder and elbow straight at once: Newton converges slowly.
    'panda': (
        numbers(
            '-1.5424279477315137 6.944782761253427e-08 1.557201556348 3.7876396324261406e-08 '
            '2.771339660024132 1.6829670232935365 2.276870469218825'
        ),
        numbers(
            '-2.8973 -0.33772546608203496 1.1278791688360608 -0.08516298489286511 '
            '-2.8973 -0.0175 2.078459789497097'
        ),
        numbers(
            '2.8973 0.037807289846938985 1.727938175274919 0.45303199487655804 '
            '2.8973 3.7525 2.4568980144727055'
        ),
    ),
    # Four joints on limits: the curve of postures has one point within them.
    'yumi_right': (
        numbers(
            '-2.94087978961 -2.50454747661 2.94087978958277 1.3962634016 '
            '5.061454830759064 0.5645833963926588 -3.9968039870097973'
        ),
        None,
        None,
    ),
    # Most descents end on a limit, a little too far from the pose.
    'm1013_published': (
        numbers(
            '-5.631251649414315e-10 4.803378044763513e-09 -7.607571198794733e-09 -0.10878062987752178 '
            '2.32304102618035e-09 -0.14787996776690004'
        ),
        numbers('-0.1 -0.1 -2.7925 -6.2832 -0.1 -0.15157832467250973'),
        numbers('0.1 0.1 2.7925 6.2832 0.1 0.04842167532749028'),
    ),
    # All joints on limits or next to them: refinement has to move joints off their limits again.
    'yumi_left': (
        numbers(
            '2.94087978961 -2.504545779171802 2.94087978961 1.3962634016 '
            '-5.0614482735115 -1.5358825509479304 3.99680398707'
        ),
        None,
        None,
    ),
    # Nearly of its class and nearly singular.
    'j2s7s300': (
        numbers(
            '2.0907361965029647 3.5088435978221204 3.1219455546298396 3.1415926535902323 '
            '-0.9784999202240755 3.4882687394674523 2.6586863166028833'
        ),
        None,
        None,
    ),
}
"""Postures, lower and upper limits; None for the limits of the arm."""


@pytest.mark.parametrize('name', HARDLY_REACHED)
def test_postures_that_descents_hardly_reach_are_found(name):
    arm, (q, lower, upper) = catalogue_arm(name), HARDLY_REACHED[name]
    pose = catalogue_chain(name).poses(q)[0]
    lower = arm.chain.lower if lower is None else lower
    upper = arm.chain.upper if upper is None else upper
    middle = 0.5 * np.add(
        lower, upper, out=np.zeros(len(q)), where=np.isfinite(lower) & np.isfinite(upper)
    )
    for seed in (middle, np.clip(0.0, lower, upper)):
        request = BranchRequest(seed=seed, lower=lower, upper=upper)
        result = arm.branches_refined(pose, request)
        assert len(result.q)
        assert ((result.q >= lower) & (result.q <= upper)).all()
        assert result.errors[:, 2].max() <= CERTIFIED_ERROR


@pytest.mark.slow
def test_a_wrist_on_axis_1_is_found_by_elimination():
    # The roots belong to a curve of postures, and are arbitrary.
    arm, rng = catalogue_arm('hc10'), np.random.default_rng(206)
    lower = numbers('-0.34 -3.14 -0.087 0.587 0.4695 -3.14')
    upper = numbers('0.441 3.14 6.19 0.9298 1.1157 3.14')
    for _ in range(200):
        q = np.array([rng.uniform(-0.3, 0.4), 0.0, np.pi, 0.25 * np.pi, 0.25 * np.pi, 0.0])
        q[1:] += rng.normal(size=5) * 1e-12
        request = BranchRequest(seed=np.clip(0.0, lower, upper), lower=lower, upper=upper)
        result = arm.branches_refined(catalogue_chain('hc10').poses(q)[0], request)
        assert len(result.q)
        assert result.errors[:, 2].max() <= CERTIFIED_ERROR


def test_a_stretched_arm_with_offset_axes_is_found():
    # Descents end up to 0.1 rad from the few postures of the pose, and moving only the held joint leads nowhere.
    arm = Manipulator.from_prebuilt('gen3')
    q = [0.7071888463278374, -0.8147753900031337, -2.0994207010730826e-06, 5.1977009309150285e-06]
    q += [-6.569510191596995e-07, -0.5736588406422727, 7.050966530403469e-06]
    pose = arm.fk(q)
    solutions = arm.solve_q(pose)
    assert len(solutions)
    assert np.abs(arm.fk(solutions) - pose).max() < CERTIFIED_ERROR


def test_branches_outside_the_limits_prove_nothing_at_a_singular_pose():
    arm = catalogue_arm('ur5e')
    result = arm.branches_refined(catalogue_chain('ur5e').poses(np.full(6, 0.4))[0])
    beyond = result._replace(q=result.q[:0], dropped=len(result.q))
    assert cause_of_absence(arm.plan, beyond, Cause.LIMITS) == Cause.LIMITS
    doubtful = beyond._replace(is_doubtful=True)
    assert cause_of_absence(arm.plan, doubtful, Cause.LIMITS) == Cause.NOT_FOUND


def test_maps_and_requests_decide_the_same_cause():
    """Maps read counters, a request reads branches; a doubtful pose proves neither limits nor reach in either."""
    arm, pose = catalogue_arm('ur5e'), np.eye(4)
    result = arm.branches_refined(pose)
    kinds = list(itertools.product((0, 1), repeat=3))
    counts = np.zeros((len(kinds), search.COUNTERS), dtype=np.int64)
    counts[:, (search.PROVED, search.DOUBT, search.DROPPED)] = kinds
    expected = [
        cause_of_absence(
            arm.plan,
            result._replace(
                is_too_far=bool(far), is_doubtful=bool(doubt), certified=dropped, dropped=dropped
            ),
            Cause.LIMITS,
        )
        for far, doubt, dropped in kinds
    ]
    poses = np.tile(pose, (len(kinds), 1, 1))
    assert AbsenceCauses(arm).explain(poses, counts).tolist() == expected
    assert expected[0b011] == Cause.NOT_FOUND


def test_a_map_takes_no_doubtful_pose_for_one_outside_the_limits():
    counts = np.zeros((1, search.COUNTERS), dtype=np.int64)
    counts[0, [search.DOUBT, search.DROPPED]] = 1
    causes = AbsenceCauses(catalogue_arm('ur5e')).explain(np.eye(4)[None], counts)
    assert causes.tolist() == [Cause.NOT_FOUND]


@pytest.mark.parametrize(('tilt', 'is_proof'), [(0.0, True), (5e-12, True), (1e-9, False)])
def test_axes_that_are_parallel_only_nearly_prove_nothing(tilt, is_proof):
    """Next to a fold an error of the class of 1e-9 hides solutions."""
    chain = catalogue_arm('ur5e').chain
    axes = chain.axes.copy()
    axes[1] += tilt * np.array([0.0, 0.0, 1.0])
    axes[1] /= np.linalg.norm(axes[1])
    arm = AnalyticArm(dataclasses.replace(chain, axes=axes))
    assert arm.plan.name == 'three_parallel'
    # The wrist on axis 1, which the shoulder keeps away from it.
    pose = arm.plan.chain.pose(np.array([0.3, -1.0, 1.5, -0.9, -1.1, 0.4]))
    pose[:2, 3] = 0.0
    result = arm.branches_refined(pose, BranchRequest())
    assert not result.is_too_far
    assert not len(result.q)
    cause = cause_of_absence(arm.plan, result, Cause.LIMITS)
    assert cause == (Cause.UNREACHABLE if is_proof else Cause.NOT_FOUND)


def test_no_branch_of_a_straight_arm_is_returned_twice():
    # More than sixteen branches are at the same distance from the seed.
    lower = numbers('-2.967 -0.8190935485981234 -2.967 -2.0 -4.284090202817533 -2.0 -3.0543')
    upper = numbers('2.967 3.1809064514018766 2.967 2.0 -0.2840902028175334 2.0 3.0543')
    q = numbers(
        '2.3229125113110194 0.1274709068328168 -1.466933978375651 -3.9399649597215895e-09 '
        '-1.0417151560534303 6.067522200232616e-09 2.007751567175684'
    )
    assert_different('iiwa7', q, np.clip(0.0, lower, upper), lower, upper)


def test_no_branch_with_the_elbow_on_its_limit_is_returned_twice():
    # Copies differ less in their joints than in the squares of their distances from the seed.
    q = numbers(
        '1.1814442576198496 -0.16798639057201264 2.9670597283903604 -2.0846302976832933 '
        '2.9670597283903604 2.0943951023931953 3.0446036236932947'
    )
    chain = catalogue_arm('iiwa7').chain
    assert_different('iiwa7', q, np.zeros(7), chain.lower, chain.upper)


def assert_different(name, q, seed, lower, upper):
    """Assert that all branches of the pose at a posture differ by more than 1e-9 rad."""
    pose = catalogue_chain(name).poses(q)[0]
    request = BranchRequest(seed=seed, lower=lower, upper=upper)
    solutions = catalogue_arm(name).branches_refined(pose, request).q
    distances = np.abs(solutions[:, None] - solutions).max(axis=2)
    assert len(solutions) > 16
    assert (distances[np.triu_indices(len(solutions), 1)] > 1e-9).all()
